"""PTX instructions for kernels written in Python, named as in the PTX ISA.

Each has a Numba lowering and a CPU-machine twin side by side; see `cuda_kernels.intrinsics.instruction`.
"""

from simlayout.lazy import when_used

_MODULES = {
    "arithmetic": ("add_rn_f32", "f32_of_bits", "fma_rn_f32", "fma_rn_f64", "mul_rn_f32", "mul_rn_f64"),
    "barrier": ("bar_arrive_some", "bar_sync", "bar_sync_some", "bar_sync_zero", "bar_warp_sync",
                "cluster_arrive_relaxed", "cluster_sync", "cluster_wait"),
    "bulk": ("bulk_commit_group", "bulk_commit_group_if", "bulk_load", "bulk_load_multicast", "bulk_reduce",
             "bulk_send", "bulk_send_reduce", "bulk_store", "bulk_wait_group", "bulk_wait_group_read_if",
             "prefetch_tensormap", "tma_load_3d", "tma_load_3d_multicast", "tma_store_3d_if"),
    "cluster": ("griddepcontrol_launch_dependents", "griddepcontrol_wait", "ld_shared_cluster_v4_f32",
                "st_async_b128", "st_async_v4_f32"),
    "convert": ("cvt_f32_f16_high", "cvt_f32_f16_low", "cvt_rn_bf16x2_f32", "cvt_rn_f16x2_f32"),
    "copy": ("atom_add_acq_rel_gpu", "cp_async_ca_4", "cp_async_cg_16", "cp_async_cg_16_zfill", "cp_async_commit_group",
             "cp_async_wait_group", "ld_global_b8", "ld_global_b16", "ld_global_b32", "ld_global_b64", "ld_global_b128",
             "ld_global_bf16_if", "ld_global_bf16x2_if", "ld_global_f16_if", "ld_global_f16x2_if", "ld_global_f32",
             "ld_global_f32_if", "ld_global_f64", "ld_relaxed_b128", "ld_relaxed_v4_f32", "st_global_b8", "st_global_b16",
             "st_global_b32", "st_global_b128", "st_global_f32", "st_global_f64", "st_global_v4_f32",
             "wait_global_at_least"),
    "instruction": ("Instruction", "Scalar", "b32", "f32", "f64", "s32", "u32", "u64"),
    "lanes": ("redux_sync_add", "shfl_sync_idx", "shfl_sync_up_or_zero", "vote_sync_count"),
    "ldmatrix": ("ldmatrix_sync", "ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4"),
    "mbarrier": ("cp_async_mbarrier_arrive", "fence_mbarrier_init", "fence_proxy_async", "mbarrier_arrive_cluster_if",
                 "mbarrier_arrive_expect_tx", "mbarrier_arrive_if", "mbarrier_init", "mbarrier_wait"),
    "mma": ("mma_m16n8k8_f32_f16_f16_f32", "mma_m16n8k16_f16_f16_f16_f16", "mma_m16n8k16_f32_f16_f16_f32", "mma_sync"),
    "registers": ("aligned_shared", "clock64", "cluster_ctarank", "ctaid_x", "ctaid_y", "ctaid_z", "dynamic_shared",
                  "here", "laneid", "nctaid_x", "nctaid_y", "nctaid_z", "ntid_x", "ntid_y", "ntid_z", "register_array",
                  "setmaxnreg", "smid", "successor", "tid_x", "tid_y", "tid_z", "uniform"),
    "shared": ("ld_shared_b8", "ld_shared_b16", "ld_shared_b32", "ld_shared_b64", "ld_shared_b128", "ld_shared_f32",
               "ld_shared_f64", "ld_shared_v2_f32", "ld_shared_v4_f32", "ld_volatile_shared_b128", "ld_volatile_shared_f32",
               "ld_volatile_shared_v2_f32", "st_shared_b8", "st_shared_b16", "st_shared_b32", "st_shared_b64",
               "st_shared_b128", "st_shared_f32", "st_shared_f64", "st_shared_v2_f32", "st_shared_v4_f32",
               "stmatrix_x2", "stmatrix_x2_trans", "stmatrix_x4", "stmatrix_x4_trans"),
    "simt": ("cvt_f32_bf16_high", "cvt_f32_bf16_low", "ld_global_v2_b32", "st_global_v2_b32"),
    "wgmma": ("wgmma_steps", "wgmma_wait_group"),
    "wmma": ("wmma_load", "wmma_mma", "wmma_store"),
}
"""The modules of the package, each with the names that bring it when they are first used."""

__getattr__, __dir__, __all__ = when_used(__name__, _MODULES)
