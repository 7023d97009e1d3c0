"""What a kernel on CUDA cores needs beside the rest: bf16 as f32, and 8 bytes of global memory."""

import numpy as np

from cuda_kernels.intrinsics.copy import _bytes_if, _read_valid
from cuda_kernels.intrinsics.instruction import instruction
from cuda_kernels.intrinsics.shared import _bytes, _registers


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


# ---- global memory --------------------------------------------------------------------------------------------------

@instruction("{ .reg .pred p; setp.ne.u32 p, $3, 0; mov.b32 $0, 0; mov.b32 $1, 0; @p ld.global.v2.b32 {$0, $1}, [$2]; }",
             "b32 b32 <- u64 u32")
def ld_global_v2_b32(warp, source, valid):
    """8 bytes per lane, 8-byte aligned; zeros (and no access) where `valid` is 0."""
    return _registers(_read_valid(warp, source, _bytes_if(valid, 8), 8))


@instruction("st.global.v2.b32 [$0], {$1, $2};", "<- u64 b32 b32")
def st_global_v2_b32(warp, destination, v0, v1):
    """8 bytes per lane, 8-byte aligned."""
    destination.write(warp.active, _bytes(v0, v1), width=4)
