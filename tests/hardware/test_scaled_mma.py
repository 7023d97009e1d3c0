"""mma.sync of sm_120: fragments against the sentences of the PTX ISA and CUTLASS's layouts; instructions against ptxas."""

import numpy as np
import pytest
from ptxas_says import complaints, needs_ptxas
from tiers import sweep_but

import simlayout as sl
from simlayout.errors import InstructionError
from simlayout.hardware import ARCHES
from simlayout.hardware.matrix.scaled_mma import BYTE_IDS, SCALED_FRAGMENTS, SCALED_MMAS, THREAD_IDS, ScaleSource
from simlayout.sources import statements

every_mma = pytest.mark.parametrize("name", SCALED_MMAS)


@every_mma
def test_a_and_b_are_where_the_ptx_isa_says(name):
    """PTX ISA, Matrix Fragments for mma.m16n8k32 (types of 8 bits) and mma.m16n8k64 (.e2m1)."""
    mma = SCALED_MMAS[name]
    each = mma.k // 8                                        # elements of a register: 4, or 8 of half a byte
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for i in range(16 * mma.k // 32):
            row = group if i < each or 2 * each <= i < 3 * each else group + 8
            column = thread * each + (i & each - 1) + (0 if i < 2 * each else 4 * each)
            assert sl.fragment(name, "A")(lane, i) == (row, column)
        for i in range(8 * mma.k // 32):
            row = thread * each + (i & each - 1) + (0 if i < each else 4 * each)
            assert sl.fragment(name, "B")(lane, i) == (row, group)
        for i in range(4):
            assert sl.fragment(name, "D")(lane, i) == (group + 8 * (i >= 2), thread * 2 + (i & 1))


# (thread, value) -> m + 16 k of A, n + 8 k of B. Source: CUTLASS, cute/atom/mma_traits_sm120.hpp; for k = 32 those of
# SM80_16x8x32_S32S8S8S32_TN. Of scale factors, each for `vector` elements of k, value v is element v of k.
CUTE = {
    (32, "A"): "((4,8),(4,2,2)):((64,1),(16,8,256))", (32, "B"): "((4,8),(4,2)):((32,1),(8,128))",
    (64, "A"): "((4,8),(8,2,2)):((128,1),(16,8,512))", (64, "B"): "((4,8),(8,2)):((64,1),(8,256))",
    (32, "SA"): "((2,2,8),32):((8,0,1),16)", (32, "SB"): "((4,8),32):((0,1),8)",
    (64, "SA"): "((2,2,8),64):((8,0,1),16)", (64, "SB"): "((4,8),64):((0,1),8)",
}


@pytest.mark.parametrize("key", sweep_but([*SCALED_FRAGMENTS][::4], SCALED_FRAGMENTS), ids=" ".join)
def test_fragments_are_equal_to_cutlasss(key):
    (name, operand), fragment = key, SCALED_FRAGMENTS[key]
    mma = SCALED_MMAS[name]
    layout = sl.parse(CUTE.get((mma.k, operand), "((4,8),(2,2)):((32,1),(16,8))"))         # SM80_16x8_Row
    high = 8 if operand in ("B", "SB") else 16
    every = mma.k // mma.vectors if operand in ("SA", "SB") else 1
    for lane in range(32):
        for value in range(fragment.values):
            row, column = fragment(lane, value)
            point = (column, row) if operand in ("B", "SB") else (row, column)
            assert int(layout(lane, every * value)) == point[0] + high * every * point[1]


def test_scale_factors_of_one_lane_of_each_kind():
    a = sl.fragment("m16n8k64.f32.e2m1.e2m1.f32.mxf4nvf4.4X.ue4m3", "SA")
    assert (a.shape, a.values, a.copies, a.registers, a.source.kind) == ((16, 4), 4, 2, 1, "documented")
    assert a.coordinates()[5].tolist() == a.coordinates()[7].tolist() == [[9, 0], [9, 1], [9, 2], [9, 3]]
    b = sl.fragment("m16n8k32.f32.e4m3.e2m1.f32.mxf8f6f4.1X.ue8m0", "SB")
    assert (b.coordinates()[:, 0, 1] == np.arange(32) // 4).all() and b.registers == 1


def _spelled(mma):
    """A line of PTX with as many registers as the fragments have."""
    def of(operand):
        count = sl.fragment(mma.name, operand).values // sl.fragment(mma.name, operand).per_register
        return "{" + ", ".join(f"r{i}" for i in range(count)) + "}"

    scales = ", r1, {h1, h2}, r2, {h1, h2}" if mma.vectors else ""
    return f"{mma.opcode} {', '.join(map(of, 'DABC'))}{scales};"


@needs_ptxas
@pytest.mark.parametrize("arch", [name for name, chip in ARCHES.items() if chip.capability >= (9, 0)])
def test_ptxas_takes_them_on_the_chips_that_have_their_fragments(arch, tmp_path):
    own = {name for s in statements(arch) if s.what == "mma.sync with a .kind" for name in s.names}
    refused = complaints(list(map(_spelled, SCALED_MMAS.values())), tmp_path, f"{arch}a", "9.1")
    assert own == {name for name, why in zip(SCALED_MMAS, refused) if why is None}, refused[:3]
    assert bool(own) == (ARCHES[arch].capability >= (12, 0))


# ---- selectors of scale factors ------------------------------------------------------------------------------------------

SCALED = [mma for mma in SCALED_MMAS.values() if mma.vectors]
OF_EACH = list({(mma.kind, mma.vectors, mma.scale): mma for mma in SCALED}.values())
"""An instruction of every kind, number and type of scale factors."""


@pytest.mark.parametrize("mma", OF_EACH, ids=lambda mma: mma.name)
def test_scale_factors_come_from_the_lanes_and_bytes_that_the_ptx_isa_says(mma):
    """PTX ISA, Block Scaling for mma.sync: thread-id-a 0 is the lanes with %laneid % 4 of 0 or 1, 1 those with 2 or 3, and
    thread-id-b is %laneid % 4; the bytes go on from byte-id. Which row a lane has is the fragment's."""
    for operand, lines in (("SA", 16), ("SB", 8)):
        fragment = sl.fragment(mma.name, operand)
        for byte in BYTE_IDS[mma.vectors]:
            for thread in THREAD_IDS[operand]:
                made, found = ScaleSource(mma.name, operand, byte, thread), set()
                for line in range(lines):
                    for factor in range(mma.vectors):
                        lane, at = made(line, factor)
                        assert lane % 4 in ((2 * thread, 2 * thread + 1) if operand == "SA" else (thread,))
                        assert at == byte + factor < 4
                        assert fragment(lane, factor) == ((line, factor) if operand == "SA" else (factor, line))
                        found.add((lane, at))
                assert len(found) == lines * mma.vectors
                scales = np.random.default_rng(byte).integers(1, 255, fragment.shape, np.uint8)
                held = made.registers(scales).view(np.uint8).reshape(32, 4)
                assert all(held[made(*(index if operand == "SA" else index[::-1]))] == value
                           for index, value in np.ndenumerate(scales))
                assert np.count_nonzero(held) == scales.size


@needs_ptxas
@pytest.mark.parametrize("mma", OF_EACH, ids=lambda mma: mma.name)
def test_ptxas_takes_the_selectors_that_there_are_and_no_others(mma, tmp_path):
    of_a, of_b = ([(b, t) for b in range(5) for t in range(5)] for _ in range(2))
    line = _spelled(mma).removesuffix(" r1, {h1, h2}, r2, {h1, h2};")
    assert line != _spelled(mma)
    lines = [f"{line} r1, {{{b}, {t}}}, r2, {{0, 0}};" for b, t in of_a]
    lines += [f"{line} r1, {{0, 0}}, r2, {{{b}, {t}}};" for b, t in of_b]
    taken = [why is None for why in complaints(lines, tmp_path, "sm_120a", "9.1")]
    allowed = [b in BYTE_IDS[mma.vectors] and t in THREAD_IDS[operand] for operand, pairs in (("SA", of_a), ("SB", of_b))
               for b, t in pairs]
    assert taken == allowed


@pytest.mark.parametrize("operand, byte, thread, fault", [
    ("SA", 4, 0, "byte-ids 0, 1, 2, 3 and thread-ids 0, 1"), ("SA", 0, 2, "thread-ids 0, 1"), ("SB", 0, 4, "0, 1, 2, 3$"),
    ("A", 0, 0, "has no scale factors 'A'"), (None, 0, 0, "has no scale factors None")])
def test_selectors_that_there_are_not_are_refused(operand, byte, thread, fault):
    name = "m16n8k32.f32.e4m3.e4m3.f32.mxf8f6f4.1X.ue8m0"
    with pytest.raises(InstructionError, match=fault):
        ScaleSource(name, operand, byte, thread)
    with pytest.raises(InstructionError, match="no scale factor 1 of 0; there are 16 with 1 each"):
        ScaleSource(name, "SA")(0, 1)
    with pytest.raises(InstructionError, match=r"uint8 \[16, 1\], not float64 \[16\]"):
        ScaleSource(name, "SA").registers(np.ones(16))
    with pytest.raises(InstructionError, match="has no scale factors 'SA'"):
        ScaleSource("m16n8k32.f32.e4m3.e2m1.f32.f8f6f4", "SA")
