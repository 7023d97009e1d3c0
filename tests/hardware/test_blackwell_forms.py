"""Sparse A and 96 of K of tcgen05.mma: metadata in TMEM, operands over three buffers, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlayout.errors import AddressError, InstructionError, LayoutError, VerificationError
from simlayout.hardware import (
    Descriptor,
    InstructionDescriptor,
    OperandTile,
    ScalesInTmem,
    TmemAddress,
    accumulator,
    diagnose,
    instruction_descriptors,
    scale_id,
    scale_layout,
    tmem_allocation,
    tmem_copy,
    tmem_fragment,
)
from simlayout.hardware.matrix.operand_k96 import OperandK96, k96_addresses
from simlayout.hardware.matrix.sparse_tmem import MetadataInTmem
from simlayout.hardware.tables.tcgen05 import KINDS, check_shape
from simlayout.numerics import narrow_mma

ZEROS = np.zeros((1, 64), np.uint8)

METADATA = [MetadataInTmem(kind, rows, ws) for kind, row in KINDS.items() for rows, ws in
            ((128, False), *(((rows, True) for rows in (32, 64, 128)) if not row.scaled else ()))]


# ---- metadata of a sparse A ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("made", METADATA, ids=lambda m: f"{m.kind} {m.rows} {m.ws}")
def test_the_metadata_of_an_instruction_fill_their_columns_once(made):
    """4 bits for each group, and half of a group is stored: a column of 128 lanes has 4,096 bits."""
    places = [(lane, column, bit) for row in range(made.rows) for group in range(made.groups)
              for lane, column, bit in made(row, group)]
    bits = {(lane, column, bit + i) for lane, column, bit in places for i in range(4)}
    assert len(bits) == 4 * len(places) == 128 * 32 * made.columns
    assert bits == {(lane, column, bit) for lane in range(128) for column in range(made.columns) for bit in range(32)}
    first, second = made(made.rows - 1, 3), made(made.rows - 1, 3 + 2 * made.groups)
    assert [(lane, column - 2 * made.columns, bit) for lane, column, bit in second] == list(first)


def test_eight_rows_and_the_next_share_a_column_of_halves():
    made = MetadataInTmem("f16")
    assert [made(row, 0)[0] for row in (0, 7, 8, 15, 16)] == [(0, 0, 0), (7, 0, 0), (0, 0, 16), (7, 0, 16), (16, 0, 0)]
    assert [made(0, group)[0] for group in (3, 4, 7, 8)] == [(0, 0, 12), (8, 0, 0), (8, 0, 12), (0, 1, 0)]
    assert [made.selector(step) for step in range(3)] == [0, 1, 0] and MetadataInTmem("i8").selector(1) == 0
    assert [MetadataInTmem(kind).groups for kind in KINDS] == [8, 8, 16, 16, 16, 16, 16]


def test_metadata_that_no_source_places_are_refused():
    for kind, rows, ws in (("f16", 64, False), ("mxf4", 64, True), ("f16", 256, False), ("f16", 48, True)):
        with pytest.raises(InstructionError, match=f"metadata of {rows} rows in a CTA; known is"):
            MetadataInTmem(kind, rows, ws)
    with pytest.raises(InstructionError, match="no group 0 of row 128"):
        MetadataInTmem("f16")(128, 0)
    with pytest.raises(InstructionError, match="no kind 'f64'"):
        MetadataInTmem("f64")


# ---- 96 of K ------------------------------------------------------------------------------------------------------------

@given(st.integers(1, 32), st.permutations(range(3)), st.integers(0, 3))
def test_every_byte_of_a_tile_with_768_of_k_is_read_where_it_was_put(eights, order, gap):
    """By the words of the swizzle: chunks of 16 bytes change places by the number of their row of 128 bytes in eight."""
    rows = 8 * eights
    size = -(-rows * 128 // 1024) * 1024 + 1024 * gap
    tile = OperandK96(rows, tuple(size * i for i in order))
    assert tile.prove() == rows * 384
    read, dice = tile.read(), np.random.default_rng(rows)
    for row, byte in zip(dice.integers(0, rows, 20).tolist(), dice.integers(0, 384, 20).tolist()):
        chunk, inside = divmod(byte % 128, 16)
        assert read[row, byte] == tile.addresses[byte // 128] + 128 * row + 16 * (chunk ^ row % 8) + inside


def test_an_instruction_that_does_not_cross_reads_48_bytes_of_one_buffer():
    crosses = [len({d.address // 16384, d.leading // 16384}) for d in OperandK96(128, (0, 16384, 32768)).descriptors()]
    assert crosses == [1, 1, 2, 1, 1, 2, 1, 1]


def test_the_next_buffer_has_to_be_the_next_one():
    class Wrong(OperandK96):
        def descriptors(self):
            right = super().descriptors()
            return (*right[:2], right[1], *right[3:])

    with pytest.raises(VerificationError, match="row 0, byte 96 lies at 96 and is read at 48"):
        Wrong(64, (0, 8192, 16384)).prove()


@pytest.mark.parametrize("rows, addresses, error, fault", [
    (12, (0, 16384, 32768), LayoutError, "a multiple of 8"), (264, (0, 65536, 131072), LayoutError, "to 256"),
    (128, (0, 16384), AddressError, "3 buffers"), (128, (0, 16384, 32896), AddressError, "multiples of 1024"),
    (128, (0, 8192, 32768), AddressError, "overlap"), (128, (0, 16384, 1 << 18), AddressError, "below 2..18")])
def test_tiles_that_there_are_not_are_refused(rows, addresses, error, fault):
    with pytest.raises(error, match=fault):
        OperandK96(rows, addresses)


def test_descriptors_that_are_not_for_96_of_k_are_refused():
    for changes, fault in (({"absolute": False}, "absolute=True"), ({"swizzle": 64}, "128-byte swizzle"),
                           ({"base_offset": 1}, "base offset 0"), ({"address": 128 + 48}, "start on multiples of 1024"),
                           ({"leading": 16}, "not at 0 and 16")):
        given = {"address": 48, "leading": 1024, "stride": 1024, "swizzle": 128, "reader": "tcgen05", "absolute": True}
        with pytest.raises(LayoutError, match=fault):
            k96_addresses(Descriptor(**given | changes), 8)


# ---- what is asked for wrongly is refused, by name ----------------------------------------------------------------------

WRONG = [
    (lambda: InstructionDescriptor("f16", "f16", "f16", "f32", 128.0, 64), InstructionError, "m is an integer, not 128.0"),
    (lambda: InstructionDescriptor("f16", "f16", "f16", "f32", 128, True), InstructionError, "n is an integer, not True"),
    (lambda: InstructionDescriptor("f16", "f16", "f16", "f32", 128, 64, selector="1"), InstructionError, "selector is"),
    (lambda: InstructionDescriptor.decode("0x1", "f16"), InstructionError, "bits is an integer"),
    (lambda: instruction_descriptors("x"), InstructionError, "bits is an integer"),
    (lambda: Descriptor(0.0, 16, 1024, 128), LayoutError, "address is an integer"),
    (lambda: Descriptor(0, 16, 1024, [128]), LayoutError, r"swizzle of \[128\] bytes"),
    (lambda: Descriptor.decode("0x40"), LayoutError, "bits is an integer"),
    (lambda: diagnose(1.5), LayoutError, "bits is an integer"),
    (lambda: OperandTile(-8, 64, "f16"), LayoutError, "a side of a box has 1 to 256"),
    (lambda: OperandTile(0, 64, "f16"), LayoutError, "a side of a box has 1 to 256"),
    (lambda: OperandTile(64.0, 64, "f16"), LayoutError, "rows is an integer"),
    (lambda: OperandTile(64, 64, "f16").descriptor(-1024), AddressError, "not be negative"),
    (lambda: OperandK96("128", (0, 16384, 32768)), LayoutError, "rows is an integer"),
    (lambda: OperandK96(128, 0), AddressError, "addresses of its 3 buffers, not 0"),
    (lambda: OperandK96(128, ("a", "b", "c")), AddressError, "address is an integer"),
    (lambda: accumulator("64", 8), InstructionError, "m is an integer"),
    (lambda: accumulator(64, 8)("a", 0), InstructionError, "named by integers"),
    (lambda: accumulator(64, 8)(np.array([], int), 0), InstructionError, "named by integers"),
    (lambda: tmem_allocation(8.5), InstructionError, "columns is an integer"),
    (lambda: TmemAddress("a", 0), AddressError, "lane is an integer"),
    (lambda: tmem_fragment("tcgen05.ld.16x32bx2.x128", 385), InstructionError, "leaves its columns below 512"),
    (lambda: tmem_fragment("tcgen05.ld.16x32bx2.x1", "a"), InstructionError, "split is an integer"),
    (lambda: tmem_copy(["a"]), InstructionError, "no shape"),
    (lambda: tmem_copy("128x256b")(1.5, 0), AddressError, "row is an integer"),
    (lambda: scale_layout("a", 4), LayoutError, "rows is an integer"),
    (lambda: ScalesInTmem("128"), LayoutError, "rows is an integer"),
    (lambda: ScalesInTmem(128)(0, 512), LayoutError, "has room for 512 of 128 rows"),
    (lambda: ScalesInTmem(256).columns(257), LayoutError, "room for 1 to 256"),
    (lambda: ScalesInTmem(128).columns(0), LayoutError, "room for 1 to 512"),
    (lambda: scale_id("mxf4", 32, -1), InstructionError, "counted from 0"),
    (lambda: scale_id("mxf4", 32, 0, "x"), InstructionError, "no form 'x'"),
    (lambda: check_shape("f16", 128, 64, form="x"), InstructionError, "no form 'x'"),
    (lambda: MetadataInTmem("f16", "128"), InstructionError, "rows is an integer"),
    (lambda: narrow_mma("f8f6f4", ZEROS, ZEROS.T, types=("e4m3",)), InstructionError, "types are those of A and B"),
    (lambda: narrow_mma("f8f6f4", ZEROS, ZEROS.T, types=None), InstructionError, "types are those of A and B"),
]


@pytest.mark.parametrize("call, error, words", WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_no_number_or_outside_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_numbers_of_numpy_are_numbers():
    m, n = np.int64(128), np.uint8(64)
    made = InstructionDescriptor("f16", "f16", "f16", "f32", m, n)
    assert made.encode() == InstructionDescriptor("f16", "f16", "f16", "f32", 128, 64).encode()
    assert OperandTile(np.int32(64), np.int16(64), "f16").prove().elements == 4096
    assert ScalesInTmem(128).columns(512) == 512 and tmem_fragment("tcgen05.ld.16x32bx2.x128", 384).shape == (16, 512)
