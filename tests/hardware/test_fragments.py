"""Fragments of mma and ldmatrix against CuTe's MMA_Traits and against the sentences of the PTX ISA."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import sweep_but

import simlayout as sl
from simlayout.errors import InstructionError
from simlayout.hardware import FRAGMENTS, MMAS, QUAD_PAIR_MMAS, fragment, mma_of

KEYS = sorted(FRAGMENTS, key=str)
IDS = [name + (f"-{operand}" if operand else "") for name, operand in KEYS]
every_fragment = pytest.mark.parametrize("key", sweep_but(KEYS[::4], KEYS), ids=IDS)


@every_fragment
def test_every_element_of_an_operand_is_held_as_often_as_its_fragment_says(key):
    f = fragment(*key)
    made = f.coordinates()
    assert made.shape == (f.lanes, f.values, 2)
    rows, cols = f.shape
    held = made.reshape(-1, 2)
    assert (held >= 0).all() and (held < (rows, cols)).all()
    times = np.zeros(f.shape, int)
    np.add.at(times, (held[:, 0], held[:, 1]), 1)
    assert (times == f.copies).all() and (f.copies == 1 or "wmma" in f.name or f.operand in ("SA", "SB"))
    assert f.registers == max(1, f.values // f.per_register)
    assert f.source.kind in ("measured", "documented", "disputed", "assumed")


@every_fragment
def test_ints_and_arrays_agree(key):
    f = fragment(*key)
    made = f.coordinates().tolist()
    for lane in (0, 1, 6, 31):
        for value in range(f.values):
            point = f(lane, value)
            assert all(type(c) is int for c in point) and list(point) == made[lane][value]


@every_fragment
def test_a_fragment_is_the_lanes_of_an_access_which_is_proved_and_emitted(key):
    f = fragment(*key)
    rows, columns = f.shape
    access = sl.Access("piece", "ld.shared.b8", sl.Layout(f.shape, (columns, 1)), lambda tid, v: f(tid % f.lanes, v),
                       {"tid": f.lanes, "v": f.values}, "u8", excess=None)
    row, column = f.coordinates().T
    assert (access.offsets() == row * columns + column).all()
    assert sl.emit(access).function(f.lanes - 1, f.values - 1) == access.offsets()[-1, -1]
    beyond = replace(access, domain={"tid": f.lanes, "v": f.values + 1})
    with pytest.raises(InstructionError, match=f"value {f.values}, and there are 0 to {f.values - 1}"):
        sl.verify(beyond)


class Symbol:
    """An integer that only knows the operators of index functions."""

    def __init__(self, value):
        self.value = value

    def __bool__(self):
        raise TypeError("an index function branched on a value")

    def __int__(self):
        raise TypeError("an index function asked for a value")


def _operator(name):
    def forward(self, other):
        return Symbol(getattr(int, name)(self.value, other.value if isinstance(other, Symbol) else other))

    def backward(self, other):
        return Symbol(getattr(int, name)(other, self.value))

    return forward, backward


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
    for _prefix, _method in zip(("__", "__r"), _operator(f"__{_name}__"), strict=True):
        setattr(Symbol, f"{_prefix}{_name}__", _method)


@given(st.sampled_from(KEYS), st.integers(0, 31), st.data())
def test_symbols_and_ints_agree(key, lane, data):
    f = fragment(*key)
    value = data.draw(st.integers(0, f.values - 1))
    assert tuple(c.value for c in f(Symbol(lane), Symbol(value))) == f(lane, value)


# CuTe's MMA_Traits: (thread, value) layouts whose offset is row + col * rows, for A (m, k), B (n, k) and C (m, n).
# Source: CUTLASS, cute/atom/mma_traits_sm80.hpp and mma_traits_sm90.hpp.

ROW_8x4 = ((4, 8), (1,)), ((8, 1), (0,))
ROW_8x8 = ((4, 8), (2,)), ((16, 1), (8,))
ROW_16x8 = ((4, 8), (2, 2)), ((32, 1), (16, 8))
CUTE = {
    "m16n8k16.f32.f16.f16.f32": (
        (((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))), (((4, 8), (2, 2)), ((16, 1), (8, 64))), ROW_16x8),
    "m16n8k16.f32.bf16.bf16.f32": (
        (((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))), (((4, 8), (2, 2)), ((16, 1), (8, 64))), ROW_16x8),
    "m16n8k8.f16.f16.f16.f16": (ROW_16x8, ROW_8x8, ROW_16x8),
    "m16n8k4.f32.tf32.tf32.f32": ((((4, 8), (2,)), ((16, 1), (8,))), ROW_8x4, ROW_16x8),
    "m16n8k8.f32.tf32.tf32.f32": (
        (((4, 8), (2, 2)), ((16, 1), (8, 64))), (((4, 8), (2,)), ((8, 1), (32,))), ROW_16x8),
    "m16n8k16.s32.s8.s8.s32": (
        (((4, 8), (4, 2)), ((64, 1), (16, 8))), (((4, 8), (4,)), ((32, 1), (8,))), ROW_16x8),
    "m16n8k32.s32.s8.s8.s32.satfinite": (
        (((4, 8), (4, 2, 2)), ((64, 1), (16, 8, 256))), (((4, 8), (4, 2)), ((32, 1), (8, 128))), ROW_16x8),
    "m8n8k16.s32.s8.s8.s32": (
        (((4, 8), (4,)), ((32, 1), (8,))), (((4, 8), (4,)), ((32, 1), (8,))), ROW_8x8),
    "m8n8k4.f64.f64.f64.f64": (ROW_8x4, ROW_8x4, ROW_8x8),
    "m16n8k4.f64.f64.f64.f64": ((((4, 8), (2,)), ((16, 1), (8,))), ROW_8x4, ROW_16x8),
    "m16n8k8.f64.f64.f64.f64": (
        (((4, 8), (2, 2)), ((16, 1), (8, 64))), (((4, 8), (2,)), ((8, 1), (32,))), ROW_16x8),
    "m16n8k16.f64.f64.f64.f64": (
        (((4, 8), (2, 4)), ((16, 1), (8, 64))), (((4, 8), (4,)), ((8, 1), (32,))), ROW_16x8),
    "m16n8k256.s32.b1.b1.s32.xor.popc": (
        (((4, 8), (32, 2, 2)), ((512, 1), (16, 8, 2048))), (((4, 8), (32, 2)), ((256, 1), (8, 1024))), ROW_16x8),
    "m16n8k128.s32.b1.b1.s32.and.popc": (
        (((4, 8), (32, 2)), ((512, 1), (16, 8))), (((4, 8), (32,)), ((256, 1), (8,))), ROW_16x8),
    "m8n8k128.s32.b1.b1.s32.xor.popc": (
        (((4, 8), (32,)), ((256, 1), (8,))), (((4, 8), (32,)), ((256, 1), (8,))), ROW_8x8),
}


def crd_offset(index, shape, stride):
    """Offset of a colexicographic index in one mode of a CuTe layout."""
    offset = 0
    for size, step in zip(shape, stride, strict=True):
        offset += index % size * step
        index //= size
    return offset


@pytest.mark.parametrize("name", CUTE)
@pytest.mark.parametrize("operand", "ABCD")
def test_fragments_are_those_of_cutes_mma_traits(name, operand):
    (thread, value), (thread_step, value_step) = CUTE[name]["ABCD".index(operand) - (operand == "D")]
    f = fragment(name, operand)
    rows = f.shape[1] if operand == "B" else f.shape[0]
    assert f.values == np.prod(value)
    for lane in range(32):
        for v in range(f.values):
            offset = crd_offset(lane, thread, thread_step) + crd_offset(v, value, value_step)
            expected = (offset % rows, offset // rows)
            assert f(lane, v) == (expected[::-1] if operand == "B" else expected)


PACKED = [
    # elements in a register, A and B of PTX ISA's figures
    (2, "m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16"),
    (4, "m16n8k32.f32.e4m3.e5m2.f32", "m16n8k32.s32.u8.s8.s32"),
    (8, "m16n8k64.s32.s4.u4.s32", "m16n8k64.s32.u4.u4.s32.satfinite"),
]


@pytest.mark.parametrize("lane", range(32))
@pytest.mark.parametrize("each, of_a, of_b", PACKED, ids=str)
def test_operands_of_16_8_and_4_bits_are_as_the_ptx_isa_puts_them(each, of_a, of_b, lane):
    group, thread = lane >> 2, lane % 4
    for i in range(4 * each):
        row = group if 0 <= i < each or 2 * each <= i < 3 * each else group + 8
        col = thread * each + (i & each - 1) + (4 * each if i >= 2 * each else 0)
        assert fragment(of_a, "A")(lane, i) == (row, col)
    for i in range(2 * each):
        assert fragment(of_b, "B")(lane, i) == (thread * each + (i & each - 1) + (4 * each if i >= each else 0), group)


@pytest.mark.parametrize("lane", range(32))
def test_results_and_8_rows_of_4_bits_are_as_the_ptx_isa_puts_them(lane):
    group, thread = lane >> 2, lane % 4
    for i in range(4):
        row = group if i < 2 else group + 8
        assert fragment("m16n8k16.f16.f16.f16.f16", "D")(lane, i) == (row, thread * 2 + (i & 1))
    for i in range(8):
        assert fragment("m8n8k32.s32.s4.s4.s32", "A")(lane, i) == (group, thread * 8 + i)


# CuTe's MMA_Traits of one quad-pair, as above; its thread t is lane t % 4 + 16 (t // 4), and 4 more for the next quad-pair.
# Source: CUTLASS, cute/atom/mma_traits_sm70.hpp.

QUAD_PAIR_CUTE = {"row": (((8,), (4,)), ((1,), (8,))), "col": (((4, 2), (4,)), ((8, 4), (1,))),
                  "f16": (((8,), (8,)), ((1,), (8,))), "f32": (((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))}


@pytest.mark.parametrize("name", QUAD_PAIR_MMAS)
@pytest.mark.parametrize("operand", "ABCD")
def test_quad_pairs_hold_what_cutes_mma_traits_say(name, operand):
    mma = QUAD_PAIR_MMAS[name]
    f = fragment(name, operand)
    layout = {"A": mma.layouts[0], "B": {"row": "col", "col": "row"}[mma.layouts[1]]}.get(operand, f.dtype)   # B is (n, k)
    (thread, value), (thread_step, value_step) = QUAD_PAIR_CUTE[layout]
    for q in range(4):
        for t in range(8):
            for v in range(f.values):
                offset = crd_offset(t, thread, thread_step) + crd_offset(v, value, value_step)
                row, col = (offset % 8, offset // 8)
                expected = (4 * q + col, row) if operand == "B" else (8 * q + row, col)
                assert f(t % 4 + 16 * (t // 4) + 4 * q, v) == expected


def test_movmatrix_gives_every_lane_the_transpose_of_what_it_gave():
    source, result = (fragment("movmatrix.trans", operand).coordinates() for operand in "AD")
    np.testing.assert_array_equal(source[..., ::-1], result)
    np.testing.assert_array_equal(source, fragment("ldmatrix.x1").coordinates())


@pytest.mark.parametrize("name, opcode", [
    ("m16n8k16.f16.f16.f16.f16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"),
    ("m16n8k64.s32.s4.u4.s32.satfinite", "mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.u4.s32"),
    ("m8n8k128.s32.b1.b1.s32.and.popc", "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc"),
])
def test_an_mma_knows_how_ptx_writes_it(name, opcode):
    assert mma_of(name).opcode == opcode


def test_ldmatrix_deals_out_the_a_fragment():
    """Matrices 0 to 3 of ldmatrix.x4 are the top left, bottom left, top right and bottom right 8 x 8 of A."""
    stack = fragment("ldmatrix.x4").coordinates()
    matrix, row, col = stack[..., 0] // 8, stack[..., 0] % 8, stack[..., 1]
    dealt = np.stack([row + 8 * (matrix % 2), col + 8 * (matrix // 2)], axis=-1)
    np.testing.assert_array_equal(dealt, fragment("m16n8k16.f32.f16.f16.f32", "A").coordinates())


@pytest.mark.parametrize("count", (1, 2, 4))
def test_trans_transposes_every_matrix_and_stmatrix_is_ldmatrix_backwards(count):
    plain, trans = (fragment(f"ldmatrix.x{count}{suffix}").coordinates() for suffix in ("", ".trans"))
    np.testing.assert_array_equal(trans[..., 0] % 8, plain[..., 1])
    np.testing.assert_array_equal(trans[..., 1], plain[..., 0] % 8)
    np.testing.assert_array_equal(trans[..., 0] // 8, plain[..., 0] // 8)
    for suffix in ("", ".trans"):
        np.testing.assert_array_equal(fragment(f"stmatrix.x{count}{suffix}").coordinates(),
                                      fragment(f"ldmatrix.x{count}{suffix}").coordinates())


def test_registers_hold_32_bits_or_one_f64():
    registers = {(name, o): fragment(name, o).registers for name in CUTE for o in "ABD"}
    assert [registers["m16n8k16.f32.f16.f16.f32", o] for o in "ABD"] == [4, 2, 4]
    assert [registers["m16n8k8.f16.f16.f16.f16", o] for o in "ABD"] == [2, 1, 2]
    assert [registers["m16n8k32.s32.s8.s8.s32.satfinite", o] for o in "ABD"] == [4, 2, 4]
    assert [registers["m16n8k16.f64.f64.f64.f64", o] for o in "ABD"] == [8, 4, 4]


def test_the_name_of_an_mma_says_its_shape_and_types():
    for name, row in MMAS.items():
        assert mma_of(name) is row and name.startswith(row.shape + "." + ".".join(row.types))
        assert {o: (*fragment(name, o).shape, fragment(name, o).dtype) for o in "ABCD"} == row.operands()
    for name, row in QUAD_PAIR_MMAS.items():
        assert row.opcode == f"mma.sync.aligned.{name}"
        assert {o: (*fragment(name, o).shape, fragment(name, o).dtype) for o in "ABCD"} == row.operands()


@pytest.mark.parametrize("name, operand, words", [
    ("m16n8k16.f32.f16.f16", "A", "did you mean m16n8k16.f32.f16.f16.f32"),
    ("m16n8k16", "A", "did you mean m16n8k16.f32.f16.f16.f32 or m16n8k16.f32.bf16"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16", "A", "did you mean m16n8k16.f32.f16.f16.f32"),
    ("m16n8k16.f32.f16.f16.f32", "E", "no operand 'E'; it has A, B, C, D"),
    ("m16n8k16.f32.f16.f16.f32", None, "for each operand: name one of A, B, C, D"),
    ("wmma.m16n16k16.f16.row", "A", "no operand 'A'; it has load.a, load.b, load.c, store.d"),
    ("m8n8k4.row.f32.f16.f16.f32", "A", "did you mean m8n8k4.row"),
    ("ldmatrix.x4", "A", "one fragment and no operands"), ("ldmatrix.x3", None, "did you mean ldmatrix.x"),
    ("", "A", "known are m16n8k8, m16n8k16"), (None, None, "no fragment known"),
])
def test_unknown_fragments_are_refused_with_what_is_known(name, operand, words):
    with pytest.raises(InstructionError, match=words) as caught:
        fragment(name, operand)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("written, name", [
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "m16n8k16.f32.f16.f16.f32"),
    ("m16n8k16.row.col.f32.f16.f16.f32", "m16n8k16.f32.f16.f16.f32"),
    ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "m8n8k4.row.col.f32.f16.f16.f32"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "mma.sp.m16n8k32.f32.f16.f16.f32"),
    ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "wgmma.m64n64k16.f32.f16.f16")])
def test_an_mma_may_be_named_as_ptx_writes_it(written, name):
    assert fragment(written, "D") == fragment(name, "D")


def test_an_unknown_mma_is_refused_with_near_matches():
    with pytest.raises(InstructionError, match="did you mean m16n8k16"):
        mma_of("m16n8k16.f32.f16.f16")
    with pytest.raises(InstructionError, match="unknown mma 'ldmatrix.x4'; known are m16n8k8"):
        mma_of("ldmatrix.x4")
