"""mma.sync, every one of them, and the conversions around it.

`mma_sync(name)` makes the instruction of a name: its PTX text and operand types from the registers of its fragments, its
twin from `simlayout.numerics`, which returns the bits that an sm_90 GPU returns.
"""

import inspect
from functools import lru_cache

import numpy as np

from cuda_kernels.intrinsics.instruction import Instruction, instruction
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware import fragment, mma_of
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.matrices import mma
from simlayout.numerics.formats import bf16_bits


@lru_cache(None)
def mma_sync(name):
    """The instruction of an mma name, for kernels: `mma_sync("m16n8k16.f32.f16.f16.f32")`, outside of them.

    It takes the registers of A, then of B, then of C, and returns those of D (PTX ISA, mma: registers of b32, or f32, f64
    and s32 where these are the types of the elements). Raises InstructionError for an unknown name.

    >>> mma_sync("m8n8k4.f64.f64.f64.f64").text
    'mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$4, $5};'
    """
    row = mma_of(name)
    fragments = [fragment(name, operand) for operand in "DABC"]
    first, groups = 0, []
    for f in fragments:
        groups.append("{" + ", ".join(f"${i}" for i in range(first, first + f.registers)) + "}")
        first += f.registers
    text = f"{row.opcode} {', '.join(groups)};"
    results, *operands = ((TYPES[f.dtype].register,) * f.registers for f in fragments)
    twin = _twin(name, *(f.registers for f in fragments[1:]))
    new = Instruction("mma_" + name.replace(".", "_"), text, results, sum(operands, ()), twin, ordered=False,
                      converged=True)
    object.__setattr__(new, "__doc__", f"D = A B + C (PTX ISA: mma.sync.{name}).")
    return new


def _twin(name, *counts):
    """The CPU meaning of an mma. counts: registers of A, of B and of C."""
    product = mma(name)

    def twin(warp, *registers):
        return product(*registers)

    names = ["warp", *(f"{letter}{i}" for letter, count in zip("abc", counts, strict=True) for i in range(count))]
    twin.__signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])
    return twin


mma_m16n8k16_f32_f16_f16_f32 = mma_sync("m16n8k16.f32.f16.f16.f32")
mma_m16n8k8_f32_f16_f16_f32 = mma_sync("m16n8k8.f32.f16.f16.f32")
mma_m16n8k16_f16_f16_f16_f16 = mma_sync("m16n8k16.f16.f16.f16.f16")


@instruction("cvt.rn.f16x2.f32 $0, $1, $2;", "b32 <- f32 f32", ordered=False)
def cvt_rn_f16x2_f32(warp, high, low):
    """Two f32 rounded to nearest even into one register: `high` in the upper half (PTX ISA: cvt)."""
    halves = np.empty((LANES, 2), np.float16)
    halves[:, 0], halves[:, 1] = np.asarray(low, np.float32), np.asarray(high, np.float32)
    return halves.view(np.uint32)[:, 0].astype(np.int64)


@instruction("cvt.rn.bf16x2.f32 $0, $1, $2;", "b32 <- f32 f32", ordered=False)
def cvt_rn_bf16x2_f32(warp, high, low):
    """Two f32 rounded to nearest even into one register of bf16: `high` in the upper half (PTX ISA: cvt; NaN is 0x7fff)."""
    low, high = (bf16_bits(np.broadcast_to(np.asarray(x, np.float32), (LANES,))).astype(np.int64) for x in (low, high))
    return high << 16 | low


@instruction("{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, l; }", "f32 <- b32", ordered=False)
def cvt_f32_f16_low(warp, packed):
    """The lower half of a register as f32."""
    return _halves(packed)[:, 0]


@instruction("{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, h; }", "f32 <- b32", ordered=False)
def cvt_f32_f16_high(warp, packed):
    """The upper half of a register as f32."""
    return _halves(packed)[:, 1]


def _halves(packed):
    """The two halves of a register as f32 [32, 2]."""
    words = np.array(np.broadcast_to(packed, LANES), np.uint32, copy=None)
    return words.view(np.float16).reshape(LANES, 2).astype(np.float32)
