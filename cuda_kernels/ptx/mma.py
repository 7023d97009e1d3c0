"""mma.sync m16n8k16 and the conversions around it."""

from functools import lru_cache

import numpy as np

from cuda_kernels.ptx.instruction import instruction
from simlayout.hardware import fragment

_F32 = "m16n8k16.f32.f16.f16.f32"
_F16 = "m16n8k16.f16.f16.f16.f16"


def _packed(registers):
    """Registers of a warp, each [32] or uniform, as one uint32 array [registers, 32]."""
    made = np.empty((len(registers), 32), np.uint32)
    for i, r in enumerate(registers):
        made[i] = r & 0xFFFFFFFF if isinstance(r, int) else r
    return made


@lru_cache(None)
def _places(name):
    """Where the elements of A (16, 16), then of B (16, 8), lie among the halves of six registers [6, 32]: int [384]."""
    table = []
    for operand, first in (("A", 0), ("B", 4)):
        made = fragment(name, operand)
        lane, value = np.meshgrid(np.arange(made.lanes), np.arange(made.values), indexing="ij")
        rows, cols = np.moveaxis(made.coordinates(), -1, 0)
        place = np.empty(made.shape, np.int64)
        place[rows, cols] = ((first + value // 2) * 32 + lane) * 2 + value % 2
        table.append(place.reshape(-1))
    return np.concatenate(table)


@lru_cache(None)
def _results(name):
    """Which element of D, counted row by row, each lane holds: int [registers, 32], or [registers, 64] for halves."""
    made = fragment(name, "D")
    rows, cols = np.moveaxis(made.coordinates(), -1, 0)
    element = rows * made.shape[1] + cols                                             # [lane, value]
    return np.ascontiguousarray(np.moveaxis(element.reshape(32, made.registers, -1), 1, 0)).reshape(made.registers, -1)


def _product(name, registers):
    """A B as the lanes hold it, float64: exact products, summed in float64. registers: four of A, two of B."""
    values = _packed(registers).view(np.float16).reshape(-1).take(_places(name)).astype(np.float64)
    return (values[:256].reshape(16, 16) @ values[256:].reshape(16, 8)).reshape(-1).take(_results(name))


@instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
             " {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};",
             "f32 f32 f32 f32 <- b32 b32 b32 b32 b32 b32 f32 f32 f32 f32", ordered=False, converged=True)
def mma_m16n8k16_f32_f16_f16_f32(warp, a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
    """D = A B + C, f16 operands, f32 accumulator (PTX ISA: mma.sync.m16n8k16)."""
    d = _product(_F32, (a0, a1, a2, a3, b0, b1))
    for row, c in zip(d, (c0, c1, c2, c3), strict=True):
        row += c
    return tuple(d.astype(np.float32))


@instruction("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {$0, $1}, {$2, $3, $4, $5}, {$6, $7}, {$8, $9};",
             "b32 b32 <- b32 b32 b32 b32 b32 b32 b32 b32", ordered=False, converged=True)
def mma_m16n8k16_f16_f16_f16_f16(warp, a0, a1, a2, a3, b0, b1, c0, c1):
    """D = A B + C, f16 operands and f16 accumulator, two values per register (PTX ISA: mma.sync.m16n8k16)."""
    d = _product(_F16, (a0, a1, a2, a3, b0, b1)) + _packed((c0, c1)).view(np.float16)
    return tuple(d.astype(np.float16).view(np.uint32).astype(np.int64))


@instruction("cvt.rn.f16x2.f32 $0, $1, $2;", "b32 <- f32 f32", ordered=False)
def cvt_rn_f16x2_f32(warp, high, low):
    """Two f32 rounded to nearest even into one register: `high` in the upper half (PTX ISA: cvt)."""
    halves = np.empty((32, 2), np.float16)
    halves[:, 0], halves[:, 1] = np.asarray(low, np.float32), np.asarray(high, np.float32)
    return halves.view(np.uint32)[:, 0].astype(np.int64)


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
    return _packed((packed,)).view(np.float16).reshape(32, 2).astype(np.float32)
