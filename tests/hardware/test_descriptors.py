"""Descriptors of wgmma and tcgen05.mma: their bits, published ones, what they read, and the mistakes that are told."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simlayout as sl
from simlayout.algebra.swizzle_modes import ATOM_32B, EVERY_MODE, SWIZZLE_MODES
from simlayout.errors import InstructionError, LayoutError, VerificationError
from simlayout.hardware.matrix.descriptor import Descriptor, illegal, readers_of
from simlayout.hardware.matrix.diagnosis import diagnose, operand_layout, reader_of
from simlayout.hardware.matrix.operand_tile import OperandTile, majors_of, operand_addresses
from simlayout.hardware.tables.operand_readers import READERS, takes_swizzle

SIXTEENS = st.integers(0, 2**14 - 1).map(lambda n: 16 * n)

PUBLISHED = {
    # bits: (address, leading, stride, swizzle), and who has it
    0x4000404000010000: (0, 16, 1024, 128),             # pyptx, TIRx kernels: K-major operands
    0x4000404002000000: (0, 8192, 1024, 128),           # TIRx kernels: MN-major operands
    0x0000400800010000: (0, 16, 128, 0),                # TIRx kernels: a copy of scale factors
    0x4000404000010200: (0x2000, 16, 1024, 128),
    0x8000402000000000: (0, 0, 512, 64),
    0xC000401000000000: (0, 0, 256, 32),
    0x0000401000080000: (0, 128, 256, 0),
}


@pytest.mark.parametrize("bits", PUBLISHED)
def test_published_descriptors_of_tcgen05_have_the_fields_that_their_kernels_mean(bits):
    address, leading, stride, swizzle = PUBLISHED[bits]
    made = Descriptor(address, leading, stride, swizzle, reader="tcgen05")
    assert Descriptor.decode(bits, "tcgen05") == made and made.encode() == bits and readers_of(bits) == ["tcgen05"]


def test_the_high_word_of_nvfp4_kernels_for_sm_103_has_an_address_as_its_leading_offset():
    found = Descriptor.decode(0x4010404000100000, "tcgen05")
    assert (found.absolute, found.stride, found.swizzle, found.leading) == (True, 1024, 128, 256)
    with pytest.raises(LayoutError, match="sm_103's instructions with 96 of K, whose addresses k96_addresses"):
        operand_addresses(found, 128, 16, "f16", "K")


@given(SIXTEENS, SIXTEENS, SIXTEENS, st.integers(0, 7), st.sampled_from(list(READERS)), st.sampled_from(list(EVERY_MODE)),
       st.booleans())
def test_a_descriptor_decodes_to_itself_and_is_no_other_readers(address, leading, stride, base, reader, swizzle, absolute):
    if reader == "wgmma" and (swizzle == ATOM_32B or absolute):
        with pytest.raises(LayoutError, match="wgmma descriptor: it"):
            Descriptor(address, leading, stride, swizzle, base, reader, absolute)
        return
    made = Descriptor(address, leading, stride, swizzle, base, reader, absolute)
    assert Descriptor.decode(made.encode(), reader) == made
    assert readers_of(made.encode()) == [reader] and reader_of(made.encode()) == reader


@given(st.integers(0, 2**64 - 1), st.sampled_from(list(READERS)))
def test_bits_are_a_descriptor_if_and_only_if_one_encodes_to_them(bits, reader):
    if not illegal(bits, reader):
        assert Descriptor.decode(bits, reader).encode() == bits
    else:
        with pytest.raises(LayoutError, match=f"no {reader} descriptor"):
            Descriptor.decode(bits, reader)


def test_bits_are_fields_one_by_one():
    """Field by field, from the PTX ISA's tables, without the table of readers."""
    for low, name in ((0, "address"), (16, "leading"), (32, "stride")):
        for i in range(14):
            fields = {"address": 0, "leading": 0, "stride": 0, "swizzle": 0, name: 16 << i}
            assert Descriptor(**fields).encode() == 1 << low + i
            assert Descriptor(**fields, reader="tcgen05").encode() == 1 << low + i | 1 << 46
    numbers = {swizzle: Descriptor(0, 0, 0, swizzle, reader="tcgen05").encode() >> 61 for swizzle in EVERY_MODE}
    assert numbers == {0: 0, ATOM_32B: 1, 128: 2, 64: 4, 32: 6}
    assert [Descriptor(0, 0, 0, s).encode() >> 62 for s in SWIZZLE_MODES] == [0, 3, 2, 1]
    assert [illegal(n << 61 | 1 << 46, "tcgen05") == [] for n in range(8)] == [n not in (3, 5, 7) for n in range(8)]


# ---- what they read -----------------------------------------------------------------------------------------------------

def walked(descriptor, mn, k, size, major):
    """Where element (mn, k) is read, by core matrices of CUTLASS's table of make_umma_desc in units of 16 bytes, with the
    swizzle bit by bit: an independent twin of `operand_addresses`."""
    bits, chunk, shift, wide = next(row for mode, *row in (
        (0, 0, 4, 3, 1), (32, 1, 4, 3, 2), (64, 2, 4, 3, 4), (128, 3, 4, 3, 8), (ATOM_32B, 2, 5, 2, 8))
        if mode == descriptor.swizzle)
    if major == "K":
        chunks, inside = divmod(k * size, 16)
        unit = mn % 8 * wide + chunks * (1 if bits else descriptor.leading // 16) + mn // 8 * (descriptor.stride // 16)
    else:
        chunks, inside = divmod(mn * size, 16)
        deep = 4 if chunk == 5 else 8
        sbo, lbo = (descriptor.stride // 16, descriptor.leading // 16)
        across, down = (lbo, sbo) if bits else (sbo, lbo)
        unit = chunks % wide + chunks // wide * across + k % deep * wide + k // deep * down
    byte = descriptor.address + 16 * unit + inside
    flips = sum(1 << chunk + i for i in range(bits) if byte >> chunk + shift + i & 1)
    return byte ^ flips


CASES = [(reader, dtype, major, swizzle) for reader, row in READERS.items() for dtype, majors in row.types
         for major in majors for swizzle in EVERY_MODE if takes_swizzle(row, dtype, major, swizzle)]


@given(st.sampled_from(CASES), SIXTEENS, SIXTEENS, SIXTEENS, st.integers(1, 32).map(lambda n: 8 * n))
def test_addresses_are_those_of_a_walk_through_core_matrices(case, address, leading, stride, mn):
    reader, dtype, major, swizzle = case
    size = sl.dtype_of(dtype).bytes
    descriptor = Descriptor(address, leading, stride, swizzle, reader=reader)
    found = operand_addresses(descriptor, mn, 32 // size, dtype, major)
    rng = np.random.default_rng(address + mn)
    for row, k in zip(rng.integers(0, mn, 20).tolist(), rng.integers(0, 32 // size, 20).tolist()):
        assert found[row, k] == walked(descriptor, row, k, size, major)


@given(st.sampled_from(CASES), SIXTEENS, SIXTEENS, SIXTEENS, st.sampled_from([8, 64, 128, 256]))
def test_the_layout_in_elements_gives_the_addresses(case, address, leading, stride, mn):
    reader, dtype, major, swizzle = case
    size = sl.dtype_of(dtype).bytes
    descriptor = Descriptor(address, leading, stride, swizzle, reader=reader)
    layout = operand_layout(descriptor, mn, dtype, major)
    origin = address - (address % descriptor.mode.period if descriptor.mode.span else 0)
    row, k = np.meshgrid(np.arange(mn), np.arange(32 // size), indexing="ij")
    found = operand_addresses(descriptor, mn, 32 // size, dtype, major)
    np.testing.assert_array_equal(origin + size * layout(row, k), found)
    assert sl.parse(str(layout)) == layout


@pytest.mark.parametrize("reader, dtype, major, swizzle", CASES)
def test_every_operand_is_read_where_tma_put_it_and_proved(reader, dtype, major, swizzle):
    span, size = EVERY_MODE[swizzle].row, sl.dtype_of(dtype).bytes
    rows, depth = (64, max(span, 64) // size) if major == "K" else (max(span, 128) // size, 64 // size)
    tile = OperandTile(rows, depth, dtype, major, swizzle, reader)
    assert tile.prove(4096).elements == rows * depth
    wide = tile.box[0]
    tensor = sl.TensorMap(dtype, (256, 256), (256 * size,), tile.box, swizzle=swizzle)
    loads = [((wide * i, 0), 4096 + tile.box_bytes * i) for i in range(tile.boxes)]
    steps = [tile.descriptor(4096).encode() + (start >> 4) for start in tile.starts]
    certificate = sl.prove_operand(tensor, loads, steps, rows, major=major, reader=reader)
    assert certificate.arch == READERS[reader].arch and f"{len(steps)} {reader} read each" in certificate.claims[1]
    wrong = [replace(Descriptor.decode(step, reader), stride=48) for step in steps]
    with pytest.raises(VerificationError, match=f"is read at|{reader} reads it"):
        sl.prove_operand(tensor, loads, wrong, rows, major=major, reader=reader)


def test_a_descriptor_of_another_reader_is_not_mixed_in():
    tensor = sl.TensorMap("f16", (256, 256), (512,), (64, 64), swizzle=128)
    with pytest.raises(LayoutError, match="say reader='tcgen05'"):
        sl.prove_operand(tensor, [((0, 0), 0)], [Descriptor(0, 16, 1024, 128, reader="tcgen05")], 64)
    with pytest.raises(InstructionError, match="no reader 'umma'.* wgmma, tcgen05"):
        Descriptor(0, 16, 1024, 128, reader="umma")


@pytest.mark.parametrize("arguments, fault", [
    ((64, 32, "tf32", "MN", 128, "tcgen05"), "MN-major tf32, 128-byte swizzle: tcgen05 takes it with '128B_ATOM_32B' alone"),
    ((64, 64, "f16", "MN", ATOM_32B, "tcgen05"), "operands MN-major tf32 has these; give 0, 32, 64 or 128"),
    ((64, 32, "tf32", "K", ATOM_32B, "tcgen05"), "operands MN-major tf32 has these"),
    ((64, 64, "f16", "K", ATOM_32B), "of wgmma's operands none has these; give 0, 32, 64 or 128"),
    ((64, 64, "f32", "K", 128, "tcgen05"), "tcgen05 takes f16, bf16, tf32")])
def test_what_tcgen05_does_not_take_is_refused(arguments, fault):
    with pytest.raises(LayoutError, match=fault):
        OperandTile(*arguments)


def test_readers_take_eight_bits_in_both_orders_from_tcgen05_on():
    assert majors_of("e4m3") == ("K",) and majors_of("e4m3", "tcgen05") == ("K", "MN")


# ---- mistakes -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("reader, dtype, major, swizzle", [case for case in CASES if case[1] in ("f16", "tf32")])
def test_exchanged_offsets_are_told_and_their_exchange_reads_the_tile(reader, dtype, major, swizzle):
    span, size = EVERY_MODE[swizzle].row, sl.dtype_of(dtype).bytes
    rows, depth = (128, max(span, 64) // size) if major == "K" else (max(2 * span, 128) // size, 64 // size)
    right = OperandTile(rows, depth, dtype, major, swizzle, reader).descriptor(2048)
    wrong = replace(right, leading=right.stride, stride=right.leading)
    assert diagnose(right.encode(), None, dtype, rows, depth, major).mistakes == ()
    found = diagnose(wrong.encode(), None, dtype, rows, depth, major)
    if right.leading != right.stride:
        assert f"LBO and SBO are exchanged: LBO {right.leading} and SBO {right.stride} read the tile right" in found.mistakes
        assert "is read at" in found.verdict


def test_a_tile_of_the_other_order_is_told():
    right = OperandTile(128, 64, "f16", "K", 128, "tcgen05").descriptor(0)
    found = diagnose(right.encode(), rows=128, depth=64, major="MN")
    assert "it reads a K-major tile: the tile, or the instruction's transpose bit, is MN-major" in found.mistakes


def test_another_swizzle_is_told():
    bits = replace(OperandTile(64, 64, "f16", "MN").descriptor(0), swizzle=32).encode()
    found = diagnose(bits, rows=64, depth=16, major="MN")
    assert found.mistakes and "read at" in found.verdict


@pytest.mark.parametrize("bits, arch, told", [
    (0x4000004000010040, "sm_100", "it is a legal descriptor of wgmma (sm_90)"),
    (0x4000004000010040, "sm_100", "with bits 46-48 1, 0x4000404000010040, it is one of tcgen05"),
    (0x4000404000010040, "sm_90a", "it is a legal descriptor of tcgen05 (sm_100)"),
    (0x4000404000018000, None, "keep its low 18 bits"),
    (0x4002404000010040, None, "base offset 1: what it does is not modelled"),
    (0x4000404000010010, None, "needs the base offset 2"),
    (0x0000400800010000, None, "tcgen05.cp")])
def test_the_usual_mistakes_have_names(bits, arch, told):
    assert any(told in mistake for mistake in diagnose(bits, arch).mistakes)


def test_a_start_inside_of_a_row_is_a_step_along_k():
    tile = OperandTile(64, 64, "f16")
    for step, start in enumerate(tile.starts):
        found = diagnose(tile.descriptor(1024).encode() + (start >> 4), rows=64, depth=64, major="K")
        assert found.mistakes == () and found.verdict.startswith(f"step {step} along K")


def test_what_has_no_descriptors_is_refused():
    with pytest.raises(InstructionError, match="sm_80 reads no operands by descriptors; sm_90 .wgmma., sm_100 .tcgen05., "
                       "sm_103 .tcgen05., sm_110 .tcgen05. do"):
        diagnose(0, "sm_80")
    with pytest.raises(LayoutError, match="wgmma takes K-major ones"):
        diagnose(0x4000004000010040, dtype="tf32", major="MN")
