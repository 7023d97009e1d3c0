"""TMEM: who holds what of it, against PTX's pictures; accumulators, copies, scale factors, instruction descriptors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simlayout as sl
from simlayout.errors import AddressError, InstructionError, LayoutError
from simlayout.hardware.matrix.instruction_descriptor import (
    DENSE,
    SCALED,
    InstructionDescriptor,
    instruction_descriptors,
)
from simlayout.hardware.matrix.scale_factors import ScalesInTmem, copied_scales, scale_id, scale_layout
from simlayout.hardware.matrix.tmem import (
    DATA_PATHS,
    TMEM_COPIES,
    TMEM_SHAPES,
    TmemAddress,
    accumulator,
    tmem_allocation,
    tmem_copy,
    tmem_fragment,
)
from simlayout.hardware.tables.tcgen05 import FORMS, KINDS, check_shape, shapes_of

LOADS = [f"tcgen05.ld.{shape}.x{1 << i}" for shape, row in TMEM_SHAPES.items() for i in range(row.most.bit_length())]


# ---- addresses ----------------------------------------------------------------------------------------------------------

@given(st.integers(0, 127), st.integers(0, 511))
def test_an_address_is_its_lane_and_its_column(lane, column):
    bits = TmemAddress(lane, column).encode()
    assert bits == lane * 65536 + column and TmemAddress.decode(bits) == TmemAddress(lane, column)


def test_what_lies_outside_of_tmem_is_refused():
    for lane, column in ((128, 0), (0, 512), (-1, 0)):
        with pytest.raises(AddressError, match="128 lanes of 512 columns"):
            TmemAddress(lane, column)


@given(st.integers(1, 512))
def test_an_allocation_is_the_smallest_power_of_two_from_32_on(columns):
    given = tmem_allocation(columns)
    assert given in (32, 64, 128, 256, 512) and given >= columns and (given == 32 or given // 2 < columns)


def test_an_allocation_of_nothing_or_too_much_is_refused():
    for columns in (0, 513):
        with pytest.raises(InstructionError, match="32, 64, 128, 256 or 512"):
            tmem_allocation(columns)


# ---- tcgen05.ld and st --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", LOADS)
def test_a_load_brings_every_element_of_its_lanes_and_columns_once(name):
    for each in (name, name.replace(".ld.", ".st."), f"{name}.pack::16b", f"{name.replace('.ld.', '.st.')}.unpack::16b"):
        made = tmem_fragment(each)
        places = made.coordinates().reshape(-1, 2)
        lanes, columns = made.shape
        assert sorted(map(tuple, places.tolist())) == [(i, j) for i in range(lanes) for j in range(columns)]
        assert made.registers == made.values // made.per_register and lanes * columns == 32 * made.values


def test_the_256_bit_shape_is_the_accumulator_of_a_warp_level_mma():
    d = sl.fragment("m16n8k16.f32.f16.f16.f32", "D")
    np.testing.assert_array_equal(sl.fragment("tcgen05.ld.16x256b.x1").coordinates(), d.coordinates())
    wide = sl.fragment("wgmma.m64n64k16.f32.f16.f16", "D").coordinates()[:32]
    np.testing.assert_array_equal(sl.fragment("tcgen05.ld.16x256b.x8").coordinates(), wide)


def test_threads_read_the_lanes_that_the_ptx_manual_draws():
    at = {name: tmem_fragment(f"tcgen05.ld.{name}") for name in ("32x32b.x2", "16x64b.x1", "16x128b.x1", "16x256b.x1")}
    assert [at["32x32b.x2"](31, r) for r in (0, 1)] == [(31, 0), (31, 1)]
    assert [at["16x64b.x1"](t, 0) for t in range(5)] == [(0, 0), (8, 0), (0, 1), (8, 1), (1, 0)]
    assert [at["16x128b.x1"](1, r) for r in (0, 1)] == [(0, 1), (8, 1)]
    assert [at["16x256b.x1"](4, r) for r in range(4)] == [(1, 0), (1, 1), (9, 0), (9, 1)]


def test_the_second_half_of_16x32bx2_is_as_far_as_the_split_says():
    assert [tmem_fragment("tcgen05.ld.16x32bx2.x4", split)(16, 1) for split in (None, 4, 100)] == [(0, 5), (0, 5), (0, 101)]
    assert tmem_fragment("tcgen05.ld.16x32bx2.x4", 100).shape == (16, 104)


@pytest.mark.parametrize("name, fault", [
    ("tcgen05.ld.32x32b.x3", "powers of two"), ("tcgen05.ld.16x256b.x64", "x1 to .x32"), 
    ("tcgen05.ld.8x8b.x1", "one of 32x32b"),
    ("tcgen05.mma.32x32b.x1", "write tcgen05"), ("tcgen05.st.32x32b.x1.pack::16b", "write tcgen05"), (5, "known for 5"),
    ("tcgen05.ld.32x32b.x1.unpack::16b", "write tcgen05"), ("tcgen05.ld.32x32b", "and xN"),
    ("tcgen05.ld.32x32b.x1.y", "write tcgen05")])
def test_a_load_that_there_is_not_is_refused(name, fault):
    with pytest.raises(InstructionError, match=fault):
        tmem_fragment(name)


def test_only_one_shape_has_a_split_and_fragments_of_tmem_no_operand():
    with pytest.raises(InstructionError, match="a split is of 16x32bx2"):
        tmem_fragment("tcgen05.ld.32x32b.x1", 4)
    with pytest.raises(InstructionError, match="leave out 'A'"):
        sl.fragment("tcgen05.ld.32x32b.x1", "A")


# ---- accumulators -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", DATA_PATHS, ids=lambda p: f"{p.letter}{p.m}")
@pytest.mark.parametrize("n", [64, 128, 256])
def test_every_element_of_an_accumulator_has_a_place_of_its_own(path, n):
    made = accumulator(path.m, n, path.ctas, path.ws, bool(path.sparse))
    places = made.places().reshape(-1, 3)
    assert made.letter == path.letter and len(np.unique(places, axis=0)) == path.m * n
    assert places[:, 0].max() == path.ctas - 1 and places[:, 1].max() < 128 and places[:, 2].max() == made.columns - 1
    free = 128 * path.ctas * made.columns - path.m * n
    assert free == (path.m * n if path.scattered else 0)


def test_warps_find_their_rows_of_64_in_the_first_half_of_their_lanes():
    made = accumulator(64, 8)
    assert [made(16 * w + i, 3) for w in range(4) for i in (0, 15)] == [
        (0, 0, 3), (0, 15, 3), (0, 32, 3), (0, 47, 3), (0, 64, 3), (0, 79, 3), (0, 96, 3), (0, 111, 3)]


def test_shapes_that_a_kind_lacks_are_refused():
    for kind, m, n, ctas, ws in (("f16", 64, 12, 1, False), ("mxf4", 64, 64, 1, False), ("i8", 64, 40, 1, False),
                                 ("f16", 32, 64, 1, False), ("f16", 128, 8, 2, False), ("mxf4", 128, 64, 1, True)):
        with pytest.raises(InstructionError, match="has no M|there is no"):
            check_shape(kind, m, n, ctas, ws)
    check_shape("i8", 64, 24)
    for kind, m, n, ctas, ws, form in (("f16", 64, 256, 1, True, "sparse"), ("mxf4", 128, 64, 2, False, "sparse"),
                                       ("mxf4", 128, 24, 1, False, "k96"), ("mxf8f6f4", 128, 64, 1, False, "k96")):
        with pytest.raises(InstructionError, match="has no M|there is no"):
            check_shape(kind, m, n, ctas, ws, form)
    with pytest.raises(InstructionError, match="sparse, of 1 CTA with .ws has no M 64, N 256: .* N is 64, 128"):
        accumulator(64, 256, ws=True, sparse=True)
    with pytest.raises(InstructionError, match="has no M 64, N 40"):
        accumulator(64, 40, kind="i8")
    with pytest.raises(InstructionError, match="no kind 'f64'"):
        shapes_of("f64")
    with pytest.raises(InstructionError, match="no form 'thin'"):
        shapes_of("f16", "thin")
    with pytest.raises(InstructionError, match="has no element .64, 0."):
        accumulator(64, 8)(64, 0)


# ---- copies and scale factors -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape", TMEM_COPIES)
def test_a_copy_fills_lanes_that_no_other_row_has(shape):
    copy = tmem_copy(shape)
    lanes = [lane for row in range(copy.rows) for lane, column, byte in copy(row, 0)]
    assert len(set(lanes)) == len(lanes) == {"4x256b": 4}.get(shape, 128)
    assert copy(0, copy.bytes - 1)[0][1:] == (copy.bytes // 4 - 1, 3)


def test_copies_that_there_are_not_are_refused():
    with pytest.raises(InstructionError, match="it has 128x256b"):
        tmem_copy("8x8b")
    with pytest.raises(AddressError, match="no row 32"):
        tmem_copy("32x128b.warpx4")(32, 0)


SCALES = [((0, 0), 0), ((1, 0), 16), ((31, 0), 496), ((32, 0), 4), ((33, 1), 21), ((127, 3), 511)]


def test_scale_factors_have_the_published_offsets():
    layout = scale_layout(128, 4)
    assert [(at, layout(*at)) for at, _ in SCALES] == SCALES


@given(st.integers(1, 700), st.integers(1, 40), st.data())
def test_scale_factors_lie_in_blocks_of_512_bytes_along_k_first(rows, columns, data):
    """By the words of cuBLAS's documentation, one at a time."""
    layout = scale_layout(rows, columns)
    m, k = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    block = m // 128 * -(-columns // 4) + k // 4
    assert layout(m, k) == 512 * block + 16 * (m % 32) + 4 * (m % 128 // 32) + k % 4
    assert layout.cosize == layout.size == 512 * -(-rows // 128) * -(-columns // 4)


def test_a_copied_block_is_where_the_mma_reads_it():
    scales = ScalesInTmem(128)
    found = list(copied_scales())
    assert len(found) == 512 and sorted(byte for _, byte, _ in found) == list(range(512))
    assert all(places == scales(*scale) for scale, _, places in found)


def test_halves_of_b_lie_with_the_halves_of_the_data_path():
    scales = ScalesInTmem(128, halves=True)
    assert scales(63, 0) == ((31, 1, 0), (63, 1, 0)) and scales(64, 5) == ((64, 2, 1), (96, 2, 1))
    assert scales.columns(4) == 2 and ScalesInTmem(256).columns(5) == 16


def test_ids_go_round_the_four_bytes_of_a_column():
    assert [scale_id("mxf8f6f4", 32, i) for i in range(5)] == [0, 1, 2, 3, 0]
    assert [scale_id("mxf4", 32, i) for i in range(3)] == [0, 2, 0] and scale_id("mxf4nvf4", 16, 7) == 0
    for kind, vector, form in (("mxf4", 16, "dense"), ("f16", 32, "dense"), ("mxf8f6f4", 32, "k96")):
        with pytest.raises(InstructionError, match="has no scale factor for"):
            scale_id(kind, vector, 0, form)
    for rows in (48, 0, 288):
        with pytest.raises(LayoutError, match="a multiple of 32"):
            ScalesInTmem(rows)
    with pytest.raises(LayoutError, match="at least one"):
        scale_layout(0, 4)


@given(st.sampled_from(["mxf4", "mxf4nvf4"]), st.integers(0, 15), st.sampled_from([128, 256]), st.integers(0, 127))
def test_scale_factors_of_96_of_k_go_on_in_the_next_column(kind, step, rows, row):
    for vector, count in KINDS[kind].vectors_of("k96"):
        assert vector * count == 96
        column, first = ScalesInTmem(rows).begin(count * step)
        assert first == scale_id(kind, vector, step, "k96")
        for i in range(count):
            lane, at, byte = ScalesInTmem(rows)(row, count * step + i)[0]
            each = rows // 32
            assert lane == row % 32 and 4 * ((at - row // 32) // each) + byte == 4 * (column // each) + first + i


# ---- instruction descriptors --------------------------------------------------------------------------------------------

PUBLISHED = [
    # bits, kind, and what kernels mean by them
    (0x04400490, "f16", dict(a="bf16", b="bf16", d="f32", m=64, n=256)),                     # TIRx, attention with .ws
    (0x04410490, "f16", dict(a="bf16", b="bf16", d="f32", m=64, n=256, b_major="MN")),
    (0x08B00000, "mxf8f6f4", dict(a="e4m3", b="e4m3", d="f32", m=128, n=192, scale="ue8m0")),
    (0x10400480, "mxf4nvf4", dict(a="e2m1", b="e2m1", d="f32", m=256, n=256, scale="ue4m3")),
    (0x90400480, "mxf4nvf4", dict(a="e2m1", b="e2m1", d="f32", m=256, n=256, scale="ue4m3", k96=True)),
    (0x08400010, "f16", dict(a="f16", b="f16", d="f32", m=128, n=256)),
    (0x10400490, "f16", dict(a="bf16", b="bf16", d="f32", m=256, n=256)),
]


@pytest.mark.parametrize("bits, kind, fields", PUBLISHED)
def test_published_instruction_descriptors_have_the_fields_that_their_kernels_mean(bits, kind, fields):
    made = InstructionDescriptor(kind, **fields)
    assert InstructionDescriptor.decode(bits, kind) == made and made.encode() == bits
    assert made in instruction_descriptors(bits)


@st.composite
def instructions(draw):
    row = draw(st.sampled_from(list(KINDS.values())))
    types, majors = st.sampled_from([t for t, _ in row.formats]), st.sampled_from(["K", "MN"])
    a, b = draw(types), draw(types)
    orders = {f"{x}_major": draw(majors) for x, t in (("a", a), ("b", b)) if t not in ("e2m3", "e3m2", "e2m1")}
    form = draw(st.sampled_from([form for form in FORMS if shapes_of(row.name, form)]))
    _, ws, ms, ns = draw(st.sampled_from(shapes_of(row.name, form)))
    if orders.get("b_major") == "MN" and b in ("e4m3", "e5m2", "s8", "u8"):
        ns = [n for n in ns if n % 16 == 0]
    sparse = form == "sparse"
    more = {"sparse": sparse, "selector": draw(st.integers(0, 3)) if sparse and row.name not in ("i8", "f8f6f4") else 0}
    if row.name == "i8":
        more["saturate"] = draw(st.booleans())
    else:
        more |= {"negate_a": draw(st.booleans()), "negate_b": draw(st.booleans())}
    if row.scaled:
        scale = draw(st.sampled_from([s for s, _ in row.scales]))
        vector = draw(st.sampled_from([v for v, _ in row.vectors_of(form) if scale != "ue4m3" or v == 16]))
        more |= {"scale": scale, "k96": form == "k96",
                 **{f"scale_{x}_id": scale_id(row.name, vector, draw(st.integers(0, 7)), form) for x in "ab"}}
    else:
        more["max_shift"] = draw(st.sampled_from([0, 8, 16, 32]))
    d = "f32" if "bf16" in (a, b) else draw(st.sampled_from([t for t, _ in row.results]))
    return InstructionDescriptor(row.name, a, b, d, draw(st.sampled_from(ms)), draw(st.sampled_from(ns)), **orders, **more)


@given(instructions())
def test_an_instruction_descriptor_decodes_to_itself(made):
    assert InstructionDescriptor.decode(made.encode(), made.kind) == made


@given(st.integers(0, 2**32 - 1))
def test_bits_are_an_instruction_descriptor_if_one_encodes_to_them(bits):
    assert all(made.encode() == bits for made in instruction_descriptors(bits))


def test_fields_do_not_overlap():
    for fields in (DENSE, SCALED):
        masks = [field.mask for field in fields.values()]
        assert sum(masks) == np.bitwise_or.reduce(masks)


@pytest.mark.parametrize("bits, kind, fault", [
    (0x08400050, "f16", "reserved bits 0x40"), (0x08400110, "f16", "2 is no type of A; it has f16 .0., bf16 .1."),
    (0x08400020, "f16", "it has f16 .0., f32 .1."), (0x00400010, "f16", "no M 0 with N 256"),
    (1 << 32, "f16", "not 32 bits"), (0x08418490, "f8f6f4", "no MN-major A of"), (0x28800000, "mxf4", "0 is no type of A")])
def test_bits_that_a_kind_does_not_have_are_refused(bits, kind, fault):
    if "MN-major" in fault:
        bits = InstructionDescriptor("f8f6f4", "e2m1", "e4m3", "f32", 128, 64).encode() | 1 << 15
    with pytest.raises(InstructionError, match=fault):
        InstructionDescriptor.decode(bits, kind)


@pytest.mark.parametrize("changes, fault", [
    ({"saturate": True}, "only kind::i8"), ({"k96": True}, "96 elements"), ({"max_shift": 4}, "no shift of 4"),
    ({"selector": 1}, "without sparsity"), ({"b": "bf16", "d": "f16"}, "no D of f16 for A of f16 and B of bf16"),
    ({"scale": "ue4m3"}, "it has none"), ({"scale": "ue8m0"}, "it has none"), ({"d": "s32"}, "no D of s32"),
    ({"a": "e4m3"}, "no A of e4m3"), ({"n": 12}, "no M 128 with N 12"), ({"scale_a_id": 4}, "ids are 0 to 3")])
def test_what_a_kind_does_not_have_is_refused(changes, fault):
    with pytest.raises(InstructionError, match=fault):
        InstructionDescriptor(**{"kind": "f16", "a": "f16", "b": "f16", "d": "f32", "m": 128, "n": 64, **changes})
    for more, fault in (({"scale": "ue8m0", "scale_a_id": 1}, "id 1, where an instruction takes 2 or 4 from byte 0 or 2 on"),
                        ({"scale": "ue4m3", "scale_b_id": 2}, "id 2, where an instruction takes 4 from byte 0 on"),
                        ({"scale": "ue4m3", "k96": True, "scale_b_id": 3}, "id 3, where an instruction takes 6 from byte 0"),
                        ({"scale": "ue4m3", "k96": True, "n": 24}, "no M 128 with N 24")):
        with pytest.raises(InstructionError, match=fault):
            InstructionDescriptor(**{"kind": "mxf4nvf4", "a": "e2m1", "b": "e2m1", "d": "f32", "m": 128, "n": 64, **more})
    for more, fault in (({"sparse": True, "selector": 1}, "it must be 0"),
                        ({"n": 24, "b_major": "MN"}, "no N 24 for MN-major B")):
        with pytest.raises(InstructionError, match=fault):
            InstructionDescriptor(**{"kind": "i8", "a": "s8", "b": "s8", "d": "s32", "m": 128, "n": 64, **more})
