"""Index functions of warptile, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def store_a(tid, i, e):
    """store A: st.shared.b16, bf16, sm_90: proved for every tid < 128, i < 4, e < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 4096 coordinates
    - in bounds: offsets 0..4095
    - addresses 0..4095 bytes, aligned to 2
    - no two lanes of an instruction store to the same bytes
    - excess exactly 3 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 64
    - wavefront rule: explains 3,121 of 3,121 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest dfcd300a8f9b7911191cfb4007694bdae806711a0ea21e8bbe0527f9167c7315
    """
    return ((tid >> 2) << 1) + (i << 6) + ((tid & 3) << 10) + (e << 8)


store_a.access_name = "store A"


def store_b(tid, i):
    """store B: st.shared.b64, bf16, sm_90: proved for every tid < 128, i < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 4096 coordinates
    - in bounds: offsets 0..4095
    - the 4 elements of each 8-byte access are neighbours along coordinate 0
    - addresses 4096..8191 bytes, aligned to 8
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 2 wavefronts per instruction
    - 16 instructions, 32 wavefronts, ideal 32
    - wavefront rule: explains 2,811 of 2,811 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest cb57ed4f7d4f0b5b047cdba20ea0a130b014b24e81990625397d7e47576b55df
    """
    return ((tid & 31) << 3) + ((tid >> 5) << 8) + (i << 10) + 4096


store_b.access_name = "store B"


def load_a(tid, k):
    """load A: ld.shared.b128, bf16, sm_90: proved for every tid < 128, k < 16

    Returns bytes from the start of the tile.
    - one-to-one on its 4096 coordinates
    - in bounds: offsets 0..4095
    - the 8 elements of each 16-byte access are neighbours along coordinate 0
    - addresses 0..4095 bytes, aligned to 16
    - conflict-free: 2 wavefronts per instruction
    - 64 instructions, 128 wavefronts, ideal 128
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 5583fd4bd2c5fe2fabc5ed32e0a152e08450bc5e762743e700fe6372de8c3ebe
    """
    return ((tid >> 6) << 7) + (((tid >> 2) & 7) << 4) + (k << 8)


load_a.access_name = "load A"


def load_b(tid, j, k):
    """load B: ld.shared.b64, bf16, sm_90: proved for every tid < 128, j < 4, k < 16

    Returns bytes from the start of the tile.
    - one-to-one on its 4096 coordinates
    - in bounds: offsets 0..4095
    - the 4 elements of each 8-byte access are neighbours along coordinate 0
    - addresses 4096..8191 bytes, aligned to 8
    - conflict-free: 2 wavefronts per instruction
    - 256 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 2,240 of 2,240 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 1f01bf23b78b51b97c70cdf284a41e8e85b1a83e6f6a2b6e82a05689c6c842f5
    """
    return (((tid >> 5) & 1) << 7) + (j << 5) + ((tid & 3) << 3) + (k << 8) + 4096


load_b.access_name = "load B"
