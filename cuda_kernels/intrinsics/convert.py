"""Conversions between f32 and registers of two 16-bit floats, around mma and what stores its sums."""

import numpy as np

from cuda_kernels.intrinsics.instruction import instruction
from simlayout.hardware.tables.arch import LANES


@instruction("cvt.rn.f16x2.f32 $0, $1, $2;", "b32 <- f32 f32", ordered=False)
def cvt_rn_f16x2_f32(warp, high, low):
    """Two f32 rounded to nearest even into one register: `high` in the upper half (PTX ISA: cvt)."""
    halves = np.empty((LANES, 2), np.float16)
    halves[:, 0], halves[:, 1] = np.asarray(low, np.float32), np.asarray(high, np.float32)
    return halves.view(np.uint32)[:, 0].astype(np.int64)


@instruction("cvt.rn.bf16x2.f32 $0, $1, $2;", "b32 <- f32 f32", ordered=False)
def cvt_rn_bf16x2_f32(warp, high, low):
    """Two f32 rounded to nearest even into one register of bf16: `high` in the upper half (PTX ISA: cvt; NaN is 0x7fff)."""
    from simlayout.numerics.formats import bf16_bits

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


@instruction("shl.b32 $0, $1, 16;", "f32 <- b32", ordered=False)
def cvt_f32_bf16_low(warp, packed):
    """The bf16 in the lower half of a register as f32: the same bits above 16 zeros."""
    return _words(packed << 16)


@instruction("and.b32 $0, $1, 0xffff0000;", "f32 <- b32", ordered=False)
def cvt_f32_bf16_high(warp, packed):
    """The bf16 in the upper half of a register as f32."""
    return _words(packed & 0xFFFF0000)


def _words(bits):
    """The low 32 bits of integers as f32 [32] (or one)."""
    return np.asarray(bits).astype(np.uint32).view(np.float32)
