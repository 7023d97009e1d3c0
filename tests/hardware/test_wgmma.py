"""wgmma's descriptors and the layouts behind them, against CUTLASS's canonical layouts; and that TMA and wgmma meet."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simlayout as sl
from simlayout.errors import AddressError, InstructionError, LayoutError, VerificationError
from simlayout.hardware.matrix.descriptor import Descriptor
from simlayout.hardware.matrix.operand_tile import OperandTile, operand_addresses
from simlayout.hardware.matrix.wgmma import fewest_clocks, operand_wavefronts
from simlayout.hardware.tables.tensor_ops import TENSOR_OPS

STRIDES = st.integers(1, 255).map(lambda n: 16 * n)


def canonical(major, swizzle, leading, stride):
    """CUTLASS's canonical layout for 16-bit elements (mma_sm90_desc / make_gmma_desc, comments there) as a simlayout Layout
    in elements, T = 8 per 16 bytes, over ((8, m), (T, 2)) or ((T, W, m), (8, k)); and its swizzle on bytes."""
    lbo, sbo, wide = leading // 2, stride // 2, max(swizzle // 16, 1)
    if major == "K":
        shape = ((8, 8), (8, 2))
        steps = ((8 * wide, sbo), (1, 8)) if swizzle else ((8, sbo), (1, lbo))
    else:
        shape = ((8, wide, 64 // (8 * wide)), (8, 2))
        steps = ((1, 8, lbo), (8 * wide, sbo)) if swizzle else ((1, 8, sbo), (8, lbo))
    return sl.Layout(shape, steps), {0: 0, 32: 1, 64: 2, 128: 3}[swizzle]


@given(st.sampled_from(["K", "MN"]), st.sampled_from([0, 32, 64, 128]), STRIDES, STRIDES, st.integers(0, 15))
def test_the_addresses_are_those_of_the_canonical_layouts(major, swizzle, leading, stride, start):
    layout, bits = canonical(major, swizzle, leading, stride)
    read = operand_addresses(Descriptor(1024 * start, leading, stride, swizzle), 64, 16, "f16", major)
    mn, k = np.meshgrid(np.arange(64), np.arange(16), indexing="ij")
    byte = 1024 * start + 2 * layout(mn, k)
    for bit in range(bits):                          # Swizzle<bits, 4, 3>
        byte = byte ^ (byte >> (7 + bit) & 1) << (4 + bit)
    np.testing.assert_array_equal(read, byte)


@pytest.mark.parametrize("dtype, size", [("tf32", 4), ("e4m3", 1), ("e5m2", 1), ("s8", 1), ("u8", 1), ("bf16", 2)])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_every_type_is_read_as_the_bytes_of_16_bit_elements(dtype, size, swizzle):
    """All of them are core matrices of 8 rows of 16 bytes."""
    descriptor = Descriptor(4096, 128, 2048, swizzle)
    halves = operand_addresses(descriptor, 64, 16, "f16", "K")
    made = operand_addresses(descriptor, 64, 32 // size, dtype, "K")
    for k in range(32 // size):
        np.testing.assert_array_equal(made[:, k], halves[:, k * size // 2] + k * size % 2)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("major", ["K", "MN"])
def test_a_core_matrix_lies_in_all_32_banks_once(major, swizzle):
    read = OperandTile(64, 64, "f16", major, swizzle).read()
    for mn in range(0, 64, 8):
        for k in range(0, 64, 8):
            words = np.unique(read[mn:mn + 8, k:k + 8] // 4)
            assert len(words) == 32 and len(np.unique(words % 32)) == 32


def test_the_descriptor_of_a_k_major_128_byte_tile_has_the_fields_that_kernels_write():
    """Not rows and columns: 16 bytes as the leading offset, which is not used, 1024 as the stride, mode 1 of two bits."""
    address = 0x3_4C00
    bits = (address & 0x3FFFF) >> 4 | 1 << 16 | 64 << 32 | 1 << 62
    assert Descriptor.decode(bits) == Descriptor(address, 16, 1024, 128) == OperandTile(64, 64, "f16").descriptor(address)
    rest = Descriptor(address, 4096, 1024, 128)
    np.testing.assert_array_equal(operand_addresses(Descriptor.decode(bits), 64, 16, "f16", "K"),
                                  operand_addresses(rest, 64, 16, "f16", "K"))


@pytest.mark.parametrize("arguments, fault", [
    ((64, 8, "f16", "K"), "16 elements of f16, not 8"), ((64, 16, "f16", "N"), "N-major f16"),
    ((64, 8, "tf32", "MN"), "MN-major tf32"), ((60, 16, "f16", "K"), "60 rows"), ((264, 16, "f16", "K"), "264 rows"),
    ((64, 8, "f32", "K"), "operand of f32: wgmma takes f16, bf16, tf32")])
def test_an_operand_that_wgmma_does_not_have_is_refused(arguments, fault):
    with pytest.raises(LayoutError, match=fault):
        operand_addresses(Descriptor(0, 16, 1024, 128), *arguments)


def test_a_base_offset_is_encoded_and_not_guessed_at():
    descriptor = Descriptor(512, 16, 1024, 128, base_offset=4)
    assert descriptor.encode() >> 49 & 7 == 4
    with pytest.raises(LayoutError, match="base offset 4: .* on a multiple of 1024 bytes"):
        operand_addresses(descriptor, 64, 16, "f16", "K")


@given(st.integers(0, 2**14 - 1), st.integers(0, 2**14 - 1), st.integers(0, 2**14 - 1), st.sampled_from([0, 32, 64, 128]),
       st.integers(0, 7))
def test_a_descriptor_decodes_to_itself(address, leading, stride, swizzle, base):
    made = Descriptor(16 * address, 16 * leading, 16 * stride, swizzle, base)
    assert Descriptor.decode(made.encode()) == made


@pytest.mark.parametrize("change, fault", [
    ({"address": 8}, "address 8 bytes"), ({"leading": 2**18}, "below 2\\*\\*18"), ({"stride": -16}, "stride -16"),
    ({"swizzle": 16}, "swizzle of 16"), ({"base_offset": 8}, "3 bits")])
def test_what_the_fields_cannot_hold_is_refused(change, fault):
    with pytest.raises(LayoutError, match=fault):
        Descriptor(**{"address": 0, "leading": 16, "stride": 1024, "swizzle": 128, **change})


@pytest.mark.parametrize("dtype, depths", [("f16", (64, 128)), ("bf16", (64,)), ("tf32", (32, 64)), ("e4m3", (128,)),
                                           ("s8", (128,))])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("rows", [8, 64, 192, 256])
def test_wgmma_reads_every_element_of_a_k_major_tile_where_tma_put_it(dtype, depths, swizzle, rows):
    for depth in depths:
        tile = OperandTile(rows, depth, dtype, "K", swizzle)
        assert tile.prove(4096).elements == rows * depth
        assert len(np.unique(tile.put())) == rows * depth and tile.boxes * tile.box_bytes == tile.bytes


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("rows, depth", [(64, 64), (256, 64), (128, 32), (64, 16)])
def test_wgmma_reads_every_element_of_an_mn_major_tile_where_tma_put_it(swizzle, rows, depth):
    assert OperandTile(rows, depth, "bf16", "MN", swizzle).prove(8192).elements == rows * depth


def test_a_tile_off_the_pattern_is_refused_and_a_wrong_stride_would_be_found(monkeypatch):
    tile = OperandTile(64, 64, "f16")
    with pytest.raises(AddressError, match="repeats every 1024"):
        tile.descriptor(512)
    wrong = Descriptor(0, 16, 512, 128)
    monkeypatch.setattr(OperandTile, "descriptor", lambda self, address=0: wrong)
    with pytest.raises(VerificationError, match="row 8, k 0.* lies at byte 1024 and is read at 576"):
        tile.prove()


@pytest.mark.parametrize("arguments, fault", [
    ((60, 64, "f16"), "rows go by 8: make rows a multiple of 8"),
    ((64, 96, "e4m3"), "a row of a box has 128 bytes: make depth a multiple of 128, or take a narrower swizzle"),
    ((64, 24, "f16", "K", 0), "make depth a multiple of 16$"), ((64, 64, "s8", "MN"), "ones of f16, bf16"),
    ((64, 64, "f16", "N"), "N-major"), ((512, 64, "f16"), "1 to 256"), ((64, 64, "f16", "K", 16), "swizzle of 16")])
def test_a_tile_that_wgmma_cannot_read_is_refused(arguments, fault):
    with pytest.raises(LayoutError, match=fault):
        OperandTile(*arguments)


def test_operands_cost_16_wavefronts_for_a_and_a_quarter_of_n_for_b():
    for n in (8, 64, 256):
        for types in ("k16.f32.bf16.bf16", "k32.s32.s8.s8", "k32.f32.e4m3.e5m2", "k8.f32.tf32.tf32"):
            count, provenance = operand_wavefronts(f"wgmma.m64n{n}{types}")
            assert (count, provenance.kind) == (16 + n // 4, "measured")
        assert operand_wavefronts(f"wgmma.m64n{n}k16.f32.bf16.bf16", "registers")[0] == n // 4
    for arguments in (("m16n8k16.f32.f16.f16.f32",), ("wgmma.m64n8k16.f32.f16.f16", "memory")):
        with pytest.raises(InstructionError, match="give a wgmma"):
            operand_wavefronts(*arguments)


def test_no_wgmma_was_faster_than_its_fewest_clocks():
    """Clocks per wgmma, issued back to back, the same for every layout: measured on one NVIDIA H200 (driver 580.159, CUDA
    13.0), 2026-11-21."""
    for n, measured in ((8, 32.7), (64, 35.6), (128, 68), (256, 133)):
        assert fewest_clocks(f"wgmma.m64n{n}k16.f32.f16.f16") <= measured
    assert [fewest_clocks("wgmma.m64n32k16.f32.f16.f16", a) for a in ("shared", "registers")] == [24, 16]


def test_every_width_of_wgmma_is_there():
    for types in ("k16.f32.f16.f16", "k16.f16.f16.f16", "k16.f32.bf16.bf16", "k8.f32.tf32.tf32", "k32.f32.e4m3.e5m2"):
        assert all(f"wgmma.m64n{n}{types}" in TENSOR_OPS for n in range(8, 257, 8))


# ---- fragments: CuTe's layouts (thread, value) -> row + 64 col, cute/atom/mma_traits_sm90_gmma.hpp ----------------------

CUTE_A = {
    "k8.f32.tf32.tf32": ((2, 2), (64, 1, 16), (8, 256)), "k16.f32.f16.f16": ((2, 2, 2), (128, 1, 16), (64, 8, 512)),
    "k32.f32.e4m3.e4m3": ((4, 2, 2), (256, 1, 16), (64, 8, 1024)), "k32.s32.s8.u8": ((4, 2, 2), (256, 1, 16), (64, 8, 1024)),
}


@pytest.mark.parametrize("n", [8, 24, 64, 128, 256])
@pytest.mark.parametrize("types", ["k16.f32.f16.f16", "k16.f16.f16.f16", "k8.f32.tf32.tf32", "k32.s32.s8.s8"])
def test_d_lies_in_the_warpgroup_as_cutes_clayout_says(n, types):
    fragment = sl.fragment(f"wgmma.m64n{n}{types}", "D")
    assert_fragment(fragment, sl.Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512))), n)
    assert fragment.registers == n // (4 if types.startswith("k16.f16") else 2)


@pytest.mark.parametrize("types", CUTE_A)
def test_a_in_registers_lies_as_cutes_alayout_says(types):
    values, thread_steps, value_steps = CUTE_A[types]
    fragment = sl.fragment(f"wgmma.m64n64{types}", "A")
    assert_fragment(fragment, sl.Layout(((4, 8, 4), values), (thread_steps, value_steps)), fragment.shape[1])
    assert fragment.registers == 4


def assert_fragment(fragment, layout, cols):
    """That a fragment is a layout (thread, value) -> row + 64 col, and that it holds every element once."""
    assert (fragment.lanes, fragment.shape) == (128, (64, cols))
    tid, value = np.meshgrid(np.arange(128), np.arange(fragment.values), indexing="ij")
    row, col = fragment(tid, value)
    np.testing.assert_array_equal(row + 64 * col, layout(tid, value))
    assert sorted((row + 64 * col).ravel().tolist()) == list(range(64 * cols))


@pytest.mark.parametrize("tid", [0, 5, 37, 66, 127])
def test_the_accumulators_of_a_thread_are_where_the_ptx_manual_puts_them(tid):
    d = sl.fragment("wgmma.m64n256k16.f32.f16.f16", "D")
    for i in range(128):
        row = 16 * (tid // 32) + tid % 32 // 4 + 8 * ((i >> 1) & 1)
        assert d(tid, i) == (row, 8 * (i >> 2) + 2 * (tid % 4) + (i & 1))


@pytest.mark.parametrize("name, operand, fault", [
    ("wgmma.m64n64k16.f32.f16.f16", "B", "B always lies in shared memory"),
    ("wgmma.m64n64k16.f32.f16.f16", None, "no fragment None"),
    ("wgmma.m64n12k16.f32.f16.f16", "D", "did you mean")])
def test_a_fragment_that_no_warpgroup_has_is_refused(name, operand, fault):
    with pytest.raises(InstructionError, match=fault):
        sl.fragment(name, operand)


@pytest.mark.parametrize("n", [8, 64, 128, 256])
def test_the_bits_of_a_wgmma_are_those_of_its_columns_by_themselves(n):
    generator = np.random.default_rng(n)
    a, b = (generator.standard_normal(shape).astype(np.float16) for shape in ((64, 16), (16, n)))
    whole = sl.mma(f"wgmma.m64n{n}k16.f32.f16.f16", a, b)
    narrow = np.concatenate([sl.mma("wgmma.m64n8k16.f32.f16.f16", a, b[:, i:i + 8]) for i in range(0, n, 8)], axis=1)
    np.testing.assert_array_equal(whole.view(np.uint32), narrow.view(np.uint32))
