"""What a simulated device says of itself, as the CUDA driver's attributes name it."""

from simlayout.hardware.tables.arch import FEATURES, LANES, MOST_STATIC, MOST_THREADS, cuda_arch_of

_GUIDE = {
    # capability: registers of an SM, threads of an SM, CTAs of an SM
    (7, 5): (65536, 1024, 16),
    (8, 0): (65536, 2048, 32),
    (8, 6): (65536, 1536, 16),
    (8, 9): (65536, 1536, 24),
    (9, 0): (65536, 2048, 32),
    (10, 0): (65536, 2048, 32),
}
"""CUDA C++ Programming Guide, table of technical specifications per compute capability."""

_BOARDS = {
    # capability: name, SMs, kHz, kHz of memory, bits of its bus, bytes of memory, bytes of the L2 cache
    (7, 5): ("Tesla T4", 40, 1590000, 5001000, 256, 16 << 30, 4 << 20),
    (8, 0): ("NVIDIA A100-SXM4-80GB", 108, 1410000, 1593000, 5120, 80 << 30, 40 << 20),
    (8, 6): ("NVIDIA GeForce RTX 3090", 82, 1695000, 9751000, 384, 24 << 30, 6 << 20),
    (8, 9): ("NVIDIA L4", 58, 2040000, 6251000, 192, 24 << 30, 48 << 20),
    (9, 0): ("NVIDIA H100 80GB HBM3", 132, 1980000, 2619000, 5120, 80 << 30, 50 << 20),
    (10, 0): ("NVIDIA B200", 148, 1965000, 3996000, 8192, 180 << 30, 126 << 20),
}
"""Vendor's data sheets and architecture papers: one board of each architecture, which programs see."""


def board_name(arch: str) -> str:
    """The name of the board that stands for an architecture.

    >>> board_name("sm_90")
    'NVIDIA H100 80GB HBM3 (simulated)'
    """
    return f"{_BOARDS[cuda_arch_of(arch).capability][0]} (simulated)"


def attributes_of(arch: str) -> dict[str, int]:
    """{name without CU_DEVICE_ATTRIBUTE_: value}, and TOTAL_MEMORY in bytes.

    >>> attributes_of("sm_90")["MULTIPROCESSOR_COUNT"], attributes_of("sm_80")["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"]
    (132, 166912)
    """
    row = cuda_arch_of(arch)
    registers, threads, ctas = _GUIDE[row.capability]
    clusters = int(FEATURES["clusters"].on(row.capability))
    _, sms, clock, memory_clock, bus, memory, cache = _BOARDS[row.capability]
    return {
        "MAX_THREADS_PER_BLOCK": MOST_THREADS, "MAX_BLOCK_DIM_X": 1024, "MAX_BLOCK_DIM_Y": 1024, "MAX_BLOCK_DIM_Z": 64,
        "MAX_GRID_DIM_X": 2**31 - 1, "MAX_GRID_DIM_Y": 65535, "MAX_GRID_DIM_Z": 65535,
        "MAX_SHARED_MEMORY_PER_BLOCK": MOST_STATIC, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": row.shared_bytes_per_cta,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": row.shared_bytes_per_sm,
        "RESERVED_SHARED_MEMORY_PER_BLOCK": row.reserved_bytes_per_cta,
        "MAX_REGISTERS_PER_BLOCK": registers, "MAX_REGISTERS_PER_MULTIPROCESSOR": registers,
        "MAX_THREADS_PER_MULTIPROCESSOR": threads, "MAX_BLOCKS_PER_MULTIPROCESSOR": ctas, "WARP_SIZE": LANES,
        "MULTIPROCESSOR_COUNT": sms, "CLOCK_RATE": clock, "MEMORY_CLOCK_RATE": memory_clock,
        "GLOBAL_MEMORY_BUS_WIDTH": bus, "L2_CACHE_SIZE": cache, "TOTAL_MEMORY": memory,
        "TOTAL_CONSTANT_MEMORY": 64 << 10, "MAX_PITCH": 2**31 - 1, "TEXTURE_ALIGNMENT": 512, "SURFACE_ALIGNMENT": 512,
        "COMPUTE_CAPABILITY_MAJOR": row.capability[0], "COMPUTE_CAPABILITY_MINOR": row.capability[1],
        "PCI_DOMAIN_ID": 0, "PCI_BUS_ID": 0, "PCI_DEVICE_ID": 0, "COMPUTE_MODE": 0, "ECC_ENABLED": 1, "INTEGRATED": 0,
        "KERNEL_EXEC_TIMEOUT": 0, "GPU_OVERLAP": 1, "ASYNC_ENGINE_COUNT": 3, "CONCURRENT_KERNELS": 1,
        "CAN_MAP_HOST_MEMORY": 1, "UNIFIED_ADDRESSING": 1, "MANAGED_MEMORY": 1, "CONCURRENT_MANAGED_ACCESS": 1,
        "PAGEABLE_MEMORY_ACCESS": 0, "COOPERATIVE_LAUNCH": 1, "COOPERATIVE_MULTI_DEVICE_LAUNCH": 1,
        "COMPUTE_PREEMPTION_SUPPORTED": 1, "STREAM_PRIORITIES_SUPPORTED": 1, "GLOBAL_L1_CACHE_SUPPORTED": 1,
        "LOCAL_L1_CACHE_SUPPORTED": 1, "TCC_DRIVER": 0, "MULTI_GPU_BOARD": 0, "MULTI_GPU_BOARD_GROUP_ID": 0,
        "HOST_NATIVE_ATOMIC_SUPPORTED": 0, "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
        "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM": 1, "HOST_REGISTER_SUPPORTED": 1, "MEMORY_POOLS_SUPPORTED": 1,
        "CLUSTER_LAUNCH": clusters, "TENSOR_MAP_ACCESS_SUPPORTED": clusters,
    }
