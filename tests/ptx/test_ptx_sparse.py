"""Products with a sparse A in PTX: mma.sp and wgmma.sp give the bits of `mma`, by every selector, and their counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import sweep_but

from cuda_kernels.conformance.products import wgmma_sp
from cuda_kernels.conformance.products.cases import stored_part, tiles
from cuda_kernels.conformance.products.common import pack, raw, unpack
from simlayout import InstructionError, ptx
from simlayout.hardware import SPARSE_MMAS, Descriptor, fragment, metadata_registers, operand_addresses, sparse_metadata
from simlayout.numerics import mma, tensor_op

SELECTED = [(name, selector) for name, row in SPARSE_MMAS.items() for selector in range(row.selectors)]
HEAD = """.version 8.5
.target sm_90a
.address_size 64
.visible .entry product(.param .u64 words)
{
    .reg .b32 %r<40>;
    .reg .f32 %f<40>;
    .reg .b64 %words;
    ld.param.u64 %words, [words];
    mov.u32 %r39, %ctaid.x;
    shl.b32 %r39, %r39, 5;
    mov.u32 %r38, %tid.x;
    add.u32 %r39, %r39, %r38;
    mad.wide.u32 %words, %r39, 128, %words;
"""


def text_of(name, selector, opcode):
    """A kernel whose lanes load 128 bytes, the registers of A, B and C, then metadata, and store D behind them."""
    lines, operands, at = [], [], 0
    for operand in "ABC":
        f = fragment(name, operand)
        letter, kind = ("f", "f32") if f.dtype == "f32" else ("r", "b32")
        operands.append([f"%{letter}{at + i}" for i in range(f.registers)])
        lines += [f"ld.global.{kind} {register}, [%words+{4 * (at + i)}];" for i, register in enumerate(operands[-1])]
        at += f.registers
    a, b, c = ("{" + ", ".join(registers) + "}" for registers in operands)
    lines += [f"ld.global.b32 %r{at}, [%words+{4 * at}];", f"{opcode} {c}, {a}, {b}, {c}, %r{at}, {selector};"]
    lines += [f"st.global.{'f32' if register[1] == 'f' else 'b32'} [%words+{4 * (at + 1 + i)}], {register};"
              for i, register in enumerate(operands[-1])]
    return HEAD + "\n".join(f"    {line}" for line in (*lines, "ret;")) + "\n}\n", at


def product_of(name, selector, opcode, a, b, c, registers):
    """D of tiles by the kernel; registers: the metadata of the lanes, uint32 [tiles, 32]."""
    text, at = text_of(name, selector, opcode)
    words, column = np.zeros((len(a), 32, 32), np.uint32), 0
    for operand, x in (("A", a), ("B", b), ("C", c)):
        held = pack(name, operand, x).view(np.uint32).reshape(len(a), 32, -1)
        words[:, :, column:column + held.shape[2]] = held
        column += held.shape[2]
    words[:, :, at] = registers
    ptx.load(text)["product"].run(len(a), 32, words)
    d = np.ascontiguousarray(words[:, :, at + 1:at + 1 + fragment(name, "D").registers])
    return unpack(name, d.view(np.uint8).reshape(len(a), -1), c.dtype)


@pytest.mark.parametrize("way", sweep_but(SELECTED[::5], SELECTED))
def test_mma_sp_in_ptx_has_the_bits_of_mma_in_both_spellings_whatever_the_other_lanes_bring(way):
    name, selector = way
    a, b, c, _ = tiles(name, 3, seed=8)
    a, metadata = stored_part(name, a, seed=8)
    registers = np.array([metadata_registers(name, nibbles, selector) for nibbles in metadata])
    ignored = (sparse_metadata(name, selector) < 0).all(axis=(1, 2))
    registers[:, ignored] = np.random.default_rng(selector).integers(0, 2**32, (3, int(ignored.sum())))
    expected = raw(mma(name, a, b, c, metadata=metadata))
    for opcode in (SPARSE_MMAS[name].opcode, SPARSE_MMAS[name].opcode.replace("::ordered_metadata", "")):
        assert np.array_equal(raw(product_of(name, selector, opcode, a, b, c, registers)), expected)


def small_product(text, name):
    """The Trace of a kernel of `wgmma_sp` on two tiles, and whether D has the bits of `mma`."""
    a, b, c, _ = tiles(name, 2, seed=3)
    a, metadata = stored_part(name, a, seed=3)
    registers = np.array([metadata_registers(name, nibbles, 0) for nibbles in metadata])
    d = pack(name, "D", c)
    trace = ptx.load(text)["wgmma_sp"].run(2, 128, wgmma_sp.image(name, a, b), pack(name, "A", a), registers, d,
                                           shared_bytes=wgmma_sp.image_bytes(name), hazards="report")
    return trace, np.array_equal(raw(unpack(name, d, c.dtype)), raw(mma(name, a, b, c, metadata=metadata)))


@pytest.mark.parametrize("a, reads", [("shared", 16), ("registers", 0)])
@pytest.mark.parametrize("name", ["wgmma.sp.m64n64k32.f32.f16.f16", "wgmma.sp.m64n8k64.f32.e4m3.e5m2"])
def test_wgmma_sp_in_ptx_has_the_bits_of_mma_and_reads_all_of_b(name, a, reads):
    trace, equal = small_product(wgmma_sp.text_of(name, 0, a), name)
    (count,) = (line for line in trace.lines if line.instruction == name)
    assert equal and not trace.hazards and count.wavefronts == 2 * (reads + tensor_op(name).n // 2)


@pytest.mark.parametrize("dropped, hazard", [
    ("fence.proxy.async.shared::cta;", "missing proxy fence"), ("bar.sync 0;", "read after write"),
    ("wgmma.fence.sync.aligned;", "missing wgmma fence")])
def test_a_wgmma_sp_without_its_fences_is_told(dropped, hazard):
    name = "wgmma.sp.m64n8k32.f32.f16.f16"
    trace, _ = small_product(wgmma_sp.text_of(name, 0, "shared").replace(dropped, ""), name)
    assert hazard in {found.kind for found in trace.hazards}


def test_warps_that_give_another_selector_are_refused_when_the_module_is_loaded():
    text = wgmma_sp.text_of("wgmma.sp.m64n8k32.f32.f16.f16", 2, "shared")
    with pytest.raises(InstructionError, match="sparsity selectors 0 to 1, not 2"):
        ptx.load(text)


@given(st.sampled_from((0, 32, 64, 128)), st.integers(1, 6), st.integers(1, 8), st.integers(0, 7))
def test_the_b_of_wgmma_sp_is_two_operands_of_half_its_k_side_by_side(swizzle, stride, leading, start):
    """A B that is twice as deep has its second 32 bytes where the leading offset leads, or further on in the same row."""
    period = 8 * max(swizzle, 16)
    first = Descriptor(start * period, leading * period, stride * period, swizzle)
    both = operand_addresses(first, 64, 32, "f16", "K")
    assert np.array_equal(both[:, :16], operand_addresses(first, 64, 16, "f16", "K"))
    step = 2 * leading * period if not swizzle else leading * period if swizzle == 32 else 32
    second = Descriptor(start * period + step, leading * period, stride * period, swizzle)
    assert np.array_equal(both[:, 16:], operand_addresses(second, 64, 16, "f16", "K"))
