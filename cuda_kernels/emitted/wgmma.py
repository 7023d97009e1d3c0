"""Index functions of wgmma, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def store_n64(tid, i):
    """store n64: stmatrix.x4, f16, sm_90: proved for every tid < 128, i < 16

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 99575b57f48ae6cfc25d9a45db5e556ed7867f76ca32c730623669c5c4830612
    """
    t0 = tid & 7
    return (((tid >> 5) << 11) + (((tid >> 3) & 1) << 10) + (t0 << 7) + ((i >> 2) << 13)
            + (((((i & 3) << 1) + ((tid >> 4) & 1)) ^ t0) << 4))


store_n64.access_name = "store n64"


def store_n32(tid, i):
    """store n32: stmatrix.x4, f16, sm_90: proved for every tid < 128, i < 16

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 1bbd2127c9dbaf8cec403a3981b4c193416acfa5d9cea3a0a8fa49133d243cb5
    """
    return (((tid >> 5) << 10) + (((tid >> 3) & 1) << 9) + ((tid & 7) << 6) + ((i >> 1) << 12)
            + (((((i & 1) << 1) + ((tid >> 4) & 1)) ^ ((tid >> 1) & 3)) << 4))


store_n32.access_name = "store n32"


def store_n16(tid, i):
    """store n16: stmatrix.x4, f16, sm_90: proved for every tid < 128, i < 16

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest f889422b017d4653e37b8a12234f1c6cc894543016cf21694339ab67d094604b
    """
    return (((tid >> 5) << 9) + (((tid >> 3) & 1) << 8) + ((tid & 7) << 5) + (i << 11)
            + ((((tid >> 4) & 1) ^ ((tid >> 2) & 1)) << 4))


store_n16.access_name = "store n16"


def store_m(tid, i):
    """store m: stmatrix.x4.trans, f16, sm_90: proved for every tid < 128, i < 16

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 0
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 491 of 491 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 8836d81217d8d18d3ef74e813b2202691386407ba56d893d4999ccf0881124a1
    """
    t0 = tid & 7
    return (i << 11) + (((tid >> 4) & 1) << 10) + (t0 << 7) + (((((tid >> 5) << 1) + ((tid >> 3) & 1)) ^ t0) << 4)


store_m.access_name = "store m"


def store_lines(tid, i):
    """store lines: stmatrix.x4, f16, sm_90: proved for every tid < 128, i < 24

    Returns bytes from the start of the tile.
    - one-to-one on its 12800 coordinates
    - in bounds: offsets 0..12799
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..25599 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 96 instructions, 384 wavefronts, ideal 384
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest b93515c72f0580b0f9afb7d8895b56f06eee7923c5ab2d34865ebb94987a4fd3
    """
    return (((tid >> 5) * 6400) + (((tid >> 3) & 1) * 3200) + ((tid & 7) * 400) + (i << 4)
            + (((tid >> 4) & 1) << 4))


store_lines.access_name = "store lines"


def exchange(tid, j):
    """exchange: ld.shared.b128, f32, sm_90: proved for every tid < 128, j < 36

    Returns bytes from the start of the tile.
    - one-to-one on its 18432 coordinates
    - in bounds: offsets 0..18431
    - the 4 elements of each 16-byte access are neighbours along coordinate 2
    - addresses 0..73727 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 144 instructions, 576 wavefronts, ideal 576
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest ee85e7be9f9bde7b051b8ae87d35c161e3dc71a38989deae3493131ee6c25297
    """
    return (tid << 4) + (j << 11)


exchange.access_name = "exchange"
