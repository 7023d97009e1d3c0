"""Index functions of wgmma, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def store_c(tid, j, i):
    """store C: stmatrix.x4, f16, sm_90: proved for every tid < 128, j < 4, i < 4

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
    digest e40bf1397a063a3b0b61172b9b1ccece18fa78e90364c39c45173a3c13312806
    """
    t0 = tid & 7
    return (((tid >> 5) << 11) + (((tid >> 3) & 1) << 10) + (t0 << 7) + (j << 13)
            + ((((i << 1) + ((tid >> 4) & 1)) ^ t0) << 4))


store_c.access_name = "store C"
