# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from cuda_kernels.intrinsics.arithmetic import (
    add_rn_f32 as add_rn_f32, f32_of_bits as f32_of_bits, fma_rn_f32 as fma_rn_f32, fma_rn_f64 as fma_rn_f64,
    mul_rn_f32 as mul_rn_f32, mul_rn_f64 as mul_rn_f64
)
from cuda_kernels.intrinsics.barrier import (
    bar_arrive_some as bar_arrive_some, bar_sync as bar_sync, bar_sync_some as bar_sync_some, bar_sync_zero as bar_sync_zero,
    bar_warp_sync as bar_warp_sync, cluster_arrive_relaxed as cluster_arrive_relaxed, cluster_sync as cluster_sync,
    cluster_wait as cluster_wait
)
from cuda_kernels.intrinsics.bulk import (
    bulk_commit_group as bulk_commit_group, bulk_commit_group_if as bulk_commit_group_if, bulk_load as bulk_load,
    bulk_load_multicast as bulk_load_multicast, bulk_reduce as bulk_reduce, bulk_send as bulk_send,
    bulk_send_reduce as bulk_send_reduce, bulk_store as bulk_store, bulk_wait_group as bulk_wait_group,
    bulk_wait_group_read_if as bulk_wait_group_read_if, prefetch_tensormap as prefetch_tensormap, tma_load_3d as tma_load_3d,
    tma_load_3d_multicast as tma_load_3d_multicast, tma_prefetch_3d as tma_prefetch_3d, tma_store_3d_if as tma_store_3d_if
)
from cuda_kernels.intrinsics.cluster import (
    griddepcontrol_launch_dependents as griddepcontrol_launch_dependents, griddepcontrol_wait as griddepcontrol_wait,
    ld_shared_cluster_v4_f32 as ld_shared_cluster_v4_f32, st_async_b128 as st_async_b128, st_async_v4_f32 as st_async_v4_f32
)
from cuda_kernels.intrinsics.convert import (
    cvt_f32_bf16_high as cvt_f32_bf16_high, cvt_f32_bf16_low as cvt_f32_bf16_low, cvt_f32_f16_high as cvt_f32_f16_high,
    cvt_f32_f16_low as cvt_f32_f16_low, cvt_rn_bf16x2_f32 as cvt_rn_bf16x2_f32, cvt_rn_f16x2_f32 as cvt_rn_f16x2_f32
)
from cuda_kernels.intrinsics.copy import (
    atom_add_acq_rel_gpu as atom_add_acq_rel_gpu, cp_async_ca_4 as cp_async_ca_4, cp_async_cg_16 as cp_async_cg_16,
    cp_async_cg_16_zfill as cp_async_cg_16_zfill, cp_async_commit_group as cp_async_commit_group,
    cp_async_wait_group as cp_async_wait_group, ld_global_b16 as ld_global_b16, ld_global_b128 as ld_global_b128,
    ld_global_bf16_if as ld_global_bf16_if, ld_global_bf16x2_if as ld_global_bf16x2_if, ld_global_f16_if as ld_global_f16_if,
    ld_global_f16x2_if as ld_global_f16x2_if, ld_global_f32_if as ld_global_f32_if, ld_global_v2_b32 as ld_global_v2_b32,
    wait_global_at_least as wait_global_at_least
)
from cuda_kernels.intrinsics.instruction import (
    Instruction as Instruction, Scalar as Scalar, b32 as b32, f32 as f32, f64 as f64, s32 as s32, u32 as u32, u64 as u64
)
from cuda_kernels.intrinsics.lanes import (
    redux_sync_add as redux_sync_add, shfl_sync_idx as shfl_sync_idx, shfl_sync_up_or_zero as shfl_sync_up_or_zero,
    vote_sync_count as vote_sync_count
)
from cuda_kernels.intrinsics.matrices import (
    ldmatrix_sync as ldmatrix_sync, ldmatrix_x1 as ldmatrix_x1, ldmatrix_x2 as ldmatrix_x2, ldmatrix_x4 as ldmatrix_x4,
    stmatrix_x2 as stmatrix_x2, stmatrix_x2_trans as stmatrix_x2_trans, stmatrix_x4 as stmatrix_x4,
    stmatrix_x4_trans as stmatrix_x4_trans
)
from cuda_kernels.intrinsics.mbarrier import (
    cp_async_mbarrier_arrive as cp_async_mbarrier_arrive, fence_mbarrier_init as fence_mbarrier_init,
    fence_proxy_async as fence_proxy_async, mbarrier_arrive_cluster_if as mbarrier_arrive_cluster_if,
    mbarrier_arrive_expect_tx as mbarrier_arrive_expect_tx, mbarrier_arrive_if as mbarrier_arrive_if,
    mbarrier_init as mbarrier_init, mbarrier_wait as mbarrier_wait
)
from cuda_kernels.intrinsics.mma import (
    mma_m16n8k8_f32_f16_f16_f32 as mma_m16n8k8_f32_f16_f16_f32, mma_m16n8k16_f16_f16_f16_f16 as mma_m16n8k16_f16_f16_f16_f16,
    mma_m16n8k16_f32_f16_f16_f32 as mma_m16n8k16_f32_f16_f16_f32, mma_sp as mma_sp, mma_sync as mma_sync
)
from cuda_kernels.intrinsics.plain import (
    ld_global_b8 as ld_global_b8, ld_global_b32 as ld_global_b32, ld_global_b64 as ld_global_b64,
    ld_global_f32 as ld_global_f32, ld_global_f64 as ld_global_f64, ld_relaxed_b128 as ld_relaxed_b128,
    ld_relaxed_v4_f32 as ld_relaxed_v4_f32, ld_shared_b8 as ld_shared_b8, ld_shared_b16 as ld_shared_b16,
    ld_shared_b32 as ld_shared_b32, ld_shared_b64 as ld_shared_b64, ld_shared_b128 as ld_shared_b128,
    ld_shared_f32 as ld_shared_f32, ld_shared_f64 as ld_shared_f64, ld_shared_v2_f32 as ld_shared_v2_f32,
    ld_shared_v4_f32 as ld_shared_v4_f32, ld_volatile_shared_b128 as ld_volatile_shared_b128,
    ld_volatile_shared_f32 as ld_volatile_shared_f32, ld_volatile_shared_v2_f32 as ld_volatile_shared_v2_f32,
    st_global_b8 as st_global_b8, st_global_b16 as st_global_b16, st_global_b32 as st_global_b32,
    st_global_b128 as st_global_b128, st_global_f32 as st_global_f32, st_global_f64 as st_global_f64,
    st_global_v2_b32 as st_global_v2_b32, st_global_v2_f32 as st_global_v2_f32, st_global_v4_f32 as st_global_v4_f32,
    st_shared_b8 as st_shared_b8, st_shared_b16 as st_shared_b16, st_shared_b32 as st_shared_b32,
    st_shared_b64 as st_shared_b64, st_shared_b128 as st_shared_b128, st_shared_f32 as st_shared_f32,
    st_shared_f64 as st_shared_f64, st_shared_v2_f32 as st_shared_v2_f32, st_shared_v4_f32 as st_shared_v4_f32
)
from cuda_kernels.intrinsics.registers import (
    aligned_shared as aligned_shared, clock64 as clock64, cluster_ctarank as cluster_ctarank, ctaid_x as ctaid_x,
    ctaid_y as ctaid_y, ctaid_z as ctaid_z, dynamic_shared as dynamic_shared, here as here, laneid as laneid,
    nctaid_x as nctaid_x, nctaid_y as nctaid_y, nctaid_z as nctaid_z, ntid_x as ntid_x, ntid_y as ntid_y, ntid_z as ntid_z,
    register_array as register_array, setmaxnreg as setmaxnreg, smid as smid, successor as successor, tid_x as tid_x,
    tid_y as tid_y, tid_z as tid_z, uniform as uniform
)
from cuda_kernels.intrinsics.wgmma import wgmma_steps as wgmma_steps, wgmma_wait_group as wgmma_wait_group
from cuda_kernels.intrinsics.wmma import wmma_load as wmma_load, wmma_mma as wmma_mma, wmma_store as wmma_store
