"""PTX instructions for kernels written in Python, named as in the PTX ISA.

Each has a Numba lowering and a CPU-machine twin side by side; see `cuda_kernels.ptx.instruction`.
"""

from cuda_kernels.ptx.barrier import bar_sync, bar_sync_zero
from cuda_kernels.ptx.copy import (
    cp_async_cg_16,
    cp_async_cg_16_zfill,
    cp_async_commit_group,
    cp_async_wait_group,
    ld_global_b16,
    ld_global_b32,
    ld_global_b64,
    ld_global_b128,
    st_global_b16,
    st_global_b32,
    st_global_b128,
)
from cuda_kernels.ptx.instruction import Instruction, Scalar, b32, f32, f64, instruction, s32, u32, u64
from cuda_kernels.ptx.mma import (
    cvt_f32_f16_high,
    cvt_f32_f16_low,
    cvt_rn_f16x2_f32,
    mma_m16n8k16_f16_f16_f16_f16,
    mma_m16n8k16_f32_f16_f16_f32,
    mma_sync,
)
from cuda_kernels.ptx.registers import clock64, ctaid_x, ctaid_y, ctaid_z, dynamic_shared, register_array, tid_x
from cuda_kernels.ptx.shared import (
    ld_shared_b32,
    ld_volatile_shared_b128,
    ld_volatile_shared_f32,
    ldmatrix_x1,
    ldmatrix_x2,
    ldmatrix_x4,
    st_shared_b32,
    st_shared_b128,
    st_shared_f32,
    st_shared_v2_f32,
)

__all__ = [
    "b32", "bar_sync", "bar_sync_zero", "clock64", "cp_async_cg_16", "cp_async_cg_16_zfill",
    "cp_async_commit_group", "cp_async_wait_group", "ctaid_x", "ctaid_y", "ctaid_z", "cvt_f32_f16_high",
    "cvt_f32_f16_low", "cvt_rn_f16x2_f32", "dynamic_shared", "f32", "f64", "Instruction", "instruction", "ld_global_b128",
    "ld_global_b16", "ld_global_b32", "ld_global_b64", "ld_shared_b32", "ld_volatile_shared_b128",
    "ld_volatile_shared_f32", "ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4", "mma_m16n8k16_f16_f16_f16_f16",
    "mma_m16n8k16_f32_f16_f16_f32", "mma_sync", "register_array", "s32", "Scalar", "st_global_b128", "st_global_b16",
    "st_global_b32", "st_shared_b128", "st_shared_b32", "st_shared_f32", "st_shared_v2_f32", "tid_x", "u32", "u64",
]
