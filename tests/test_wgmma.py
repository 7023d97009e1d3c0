"""wgmma's descriptors and the layouts behind them, against CUTLASS's canonical layouts; and that TMA and wgmma meet."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simlayout as sl
from simlayout.errors import AddressError, LayoutError, VerificationError
from simlayout.hardware.wgmma import Descriptor, OperandTile, operand_addresses, operand_wavefronts

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
    for mn, k in ((0, 0), (1, 0), (0, 1), (7, 15), (8, 8), (33, 9), (63, 15), (40, 3)):
        byte = 1024 * start + 2 * layout(mn, k)
        for bit in range(bits):                      # Swizzle<bits, 4, 3>
            byte ^= (byte >> (7 + bit) & 1) << (4 + bit)
        assert read[mn, k] == byte


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
    ((60, 64, "f16"), "groups of 8"), ((64, 24, "f16"), "must fill rows"), ((64, 64, "s8", "MN"), "MN-major ones of 16"),
    ((64, 64, "f16", "N"), "N-major"), ((512, 64, "f16"), "more than 256"), ((64, 64, "f16", "K", 16), "swizzle of 16")])
def test_a_tile_that_wgmma_cannot_read_is_refused(arguments, fault):
    with pytest.raises(LayoutError, match=fault):
        OperandTile(*arguments)


def test_operands_cost_16_wavefronts_for_a_and_a_quarter_of_n_for_b():
    for n in (8, 64, 256):
        count, provenance = operand_wavefronts(f"wgmma.m64n{n}k16.f32.bf16.bf16")
        assert (count, provenance.kind) == (16 + n // 4, "measured")
    assert operand_wavefronts("wgmma.m64n64k32.s32.s8.s8")[1].kind == "assumed"
    with pytest.raises(LayoutError, match="give a wgmma"):
        operand_wavefronts("m16n8k16.f32.f16.f16.f32")


@pytest.mark.parametrize("n", [8, 64, 256])
def test_the_bits_of_a_wgmma_are_those_of_its_columns_by_themselves(n):
    generator = np.random.default_rng(n)
    a, b = (generator.standard_normal(shape).astype(np.float16) for shape in ((64, 16), (16, n)))
    whole = sl.mma(f"wgmma.m64n{n}k16.f32.f16.f16", a, b)
    narrow = np.concatenate([sl.mma("wgmma.m64n8k16.f32.f16.f16", a, b[:, i:i + 8]) for i in range(0, n, 8)], axis=1)
    np.testing.assert_array_equal(whole.view(np.uint32), narrow.view(np.uint32))
