"""PTX instructions for kernels written in Python, named as in the PTX ISA.

Each has a Numba lowering and a CPU-machine twin side by side; see `cuda_kernels.intrinsics.instruction`.
"""

from cuda_kernels.intrinsics.arithmetic import fma_rn_f32, fma_rn_f64, mul_rn_f32, mul_rn_f64
from cuda_kernels.intrinsics.barrier import (
    bar_arrive_some,
    bar_sync,
    bar_sync_some,
    bar_sync_zero,
    bar_warp_sync,
    cluster_arrive_relaxed,
    cluster_sync,
    cluster_wait,
)
from cuda_kernels.intrinsics.bulk import (
    bulk_commit_group,
    bulk_commit_group_if,
    bulk_load,
    bulk_load_multicast,
    bulk_reduce,
    bulk_send,
    bulk_send_reduce,
    bulk_store,
    bulk_wait_group,
    bulk_wait_group_read_if,
    prefetch_tensormap,
    tma_load_3d,
    tma_load_3d_multicast,
    tma_store_3d_if,
)
from cuda_kernels.intrinsics.cluster import (
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    ld_shared_cluster_b128,
    ld_shared_cluster_v4_f32,
)
from cuda_kernels.intrinsics.copy import (
    atom_add_acq_rel_gpu,
    cp_async_ca_4,
    cp_async_cg_16,
    cp_async_cg_16_zfill,
    cp_async_commit_group,
    cp_async_wait_group,
    ld_global_b8,
    ld_global_b16,
    ld_global_b32,
    ld_global_b64,
    ld_global_b128,
    ld_global_f32,
    ld_relaxed_b128,
    ld_relaxed_v4_f32,
    st_global_b8,
    st_global_b16,
    st_global_b32,
    st_global_b128,
    st_global_f32,
    st_global_v4_f32,
    wait_global_at_least,
)
from cuda_kernels.intrinsics.instruction import Instruction, Scalar, b32, f32, f64, instruction, s32, u32, u64
from cuda_kernels.intrinsics.lanes import redux_sync_add, shfl_sync_idx, shfl_sync_up_or_zero, vote_sync_count
from cuda_kernels.intrinsics.ldmatrix import ldmatrix_sync, ldmatrix_x1, ldmatrix_x2, ldmatrix_x4
from cuda_kernels.intrinsics.mbarrier import (
    cp_async_mbarrier_arrive,
    fence_mbarrier_init,
    fence_proxy_async,
    mbarrier_arrive_cluster_if,
    mbarrier_arrive_expect_tx,
    mbarrier_arrive_if,
    mbarrier_init,
    mbarrier_wait,
)
from cuda_kernels.intrinsics.mma import (
    cvt_f32_f16_high,
    cvt_f32_f16_low,
    cvt_rn_bf16x2_f32,
    cvt_rn_f16x2_f32,
    mma_m16n8k8_f32_f16_f16_f32,
    mma_m16n8k16_f16_f16_f16_f16,
    mma_m16n8k16_f32_f16_f16_f32,
    mma_sync,
)
from cuda_kernels.intrinsics.registers import (
    aligned_shared,
    clock64,
    cluster_ctarank,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    dynamic_shared,
    here,
    laneid,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    register_array,
    setmaxnreg,
    smid,
    successor,
    tid_x,
    tid_y,
    tid_z,
    uniform,
)
from cuda_kernels.intrinsics.shared import (
    ld_shared_b32,
    ld_shared_v2_f32,
    ld_volatile_shared_b128,
    ld_volatile_shared_f32,
    st_shared_b16,
    st_shared_b32,
    st_shared_b128,
    st_shared_f32,
    st_shared_v2_f32,
    st_shared_v4_f32,
    stmatrix_x2,
    stmatrix_x2_trans,
    stmatrix_x4,
    stmatrix_x4_trans,
)
from cuda_kernels.intrinsics.wgmma import wgmma_steps, wgmma_wait_group
from cuda_kernels.intrinsics.wmma import wmma_load, wmma_mma, wmma_store

__all__ = [
    "aligned_shared", "atom_add_acq_rel_gpu", "b32", "bar_arrive_some", "bar_sync", "bar_sync_some", "bar_sync_zero",
    "bar_warp_sync", "bulk_commit_group", "bulk_commit_group_if", "bulk_load", "bulk_load_multicast", "bulk_reduce",
    "bulk_send", "bulk_send_reduce", "bulk_store", "bulk_wait_group", "bulk_wait_group_read_if", "clock64",
    "cluster_arrive_relaxed", "cluster_ctarank", "cluster_sync", "cluster_wait", "cp_async_ca_4", "cp_async_cg_16",
    "cp_async_cg_16_zfill", "cp_async_commit_group", "cp_async_mbarrier_arrive", "cp_async_wait_group", "ctaid_x",
    "ctaid_y", "ctaid_z", "cvt_f32_f16_high", "cvt_f32_f16_low", "cvt_rn_bf16x2_f32", "cvt_rn_f16x2_f32", "dynamic_shared",
    "f32", "f64", "fma_rn_f32", "fma_rn_f64", "fence_mbarrier_init", "fence_proxy_async",
    "griddepcontrol_launch_dependents", "griddepcontrol_wait", "here", "instruction", "Instruction", "ld_global_b128",
    "ld_global_b16", "ld_global_b8", "ld_global_b32", "ld_global_b64", "ld_global_f32", "laneid", "mul_rn_f32",
    "mul_rn_f64", "nctaid_y", "nctaid_z", "ntid_x", "ntid_y", "ntid_z", "tid_y", "tid_z", "ld_relaxed_b128",
    "ld_relaxed_v4_f32", "ld_shared_b32", "ld_shared_cluster_b128", "ld_shared_cluster_v4_f32", "ld_shared_v2_f32",
    "ld_volatile_shared_b128", "ld_volatile_shared_f32", "ldmatrix_sync", "ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4",
    "mbarrier_arrive_cluster_if", "mbarrier_arrive_expect_tx", "mbarrier_arrive_if", "mbarrier_init", "mbarrier_wait",
    "mma_m16n8k16_f16_f16_f16_f16", "mma_m16n8k16_f32_f16_f16_f32", "mma_m16n8k8_f32_f16_f16_f32", "mma_sync", "nctaid_x",
    "prefetch_tensormap", "redux_sync_add", "register_array", "s32", "Scalar", "setmaxnreg", "shfl_sync_idx",
    "shfl_sync_up_or_zero", "smid", "st_global_b128", "st_global_b16",
    "st_global_b8", "st_global_b32", "st_global_f32", "st_global_v4_f32", "st_shared_b128", "st_shared_b16",
    "st_shared_b32", "st_shared_f32", "st_shared_v2_f32", "st_shared_v4_f32", "stmatrix_x2", "stmatrix_x2_trans",
    "stmatrix_x4", "stmatrix_x4_trans", "successor", "tid_x", "tma_load_3d", "tma_load_3d_multicast", "tma_store_3d_if",
    "u32", "u64", "uniform", "vote_sync_count", "wait_global_at_least", "wgmma_steps", "wgmma_wait_group", "wmma_load",
    "wmma_mma", "wmma_store",
]
