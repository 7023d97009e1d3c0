"""Index functions of mma_tma, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def load_a(tid, i, ks, stage):
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 6, ks < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 114688 coordinates
    - in bounds: offsets 0..114687
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..196607 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 768 instructions, 3072 wavefronts, ideal 3072
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 9c9a259a5b7470e29c751297ca4b4b969720aac51bbc7dfa0622ed99f7d23e9e
    """
    return (((tid & 15) << 7) + ((tid >> 7) * 12288) + (i << 11) + (stage * 57344)
            + (((((tid >> 4) & 1) + (ks << 1)) ^ (tid & 7)) << 4))


load_a.access_name = "load A"


def load_b(tid, j, ks, stage):
    """load B: ldmatrix.x4, f16, sm_90: proved for every tid < 256, j < 4, ks < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 114688 coordinates
    - in bounds: offsets 0..114687
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 24576..229375 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 512 instructions, 2048 wavefronts, ideal 2048
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest f120717f26688fb5024712e43e67f67e5feb86f8778b7fcfc65cb7c39d614aca
    """
    t0 = tid & 7
    return ((t0 << 7) + (((tid >> 4) & 1) << 10) + (j << 11) + (((tid >> 5) & 3) << 13) + (stage * 57344)
            + (((((tid >> 3) & 1) + (ks << 1)) ^ t0) << 4) + 24576)


load_b.access_name = "load B"


def store_c(tid, i, j, r):
    """store C: st.shared.b32, f16, sm_90: proved for every tid < 256, i < 6, j < 8, r < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..49151
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..98303 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 768 instructions, 768 wavefronts, ideal 768
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest cf6c032baf7dceb6053de0b4b5214954e4534d1e2fa7441d3106503ea3e295ac
    """
    t0 = (tid >> 2) & 7
    return (((tid & 3) << 2) + (((tid >> 5) & 3) << 7) + (t0 << 9) + (r << 12) + ((tid >> 7) * 49152) + (i << 13)
            + ((j ^ t0) << 4))


store_c.access_name = "store C"


def read_c(tid, i):
    """read C: ld.shared.b128, f16, sm_90: proved for every tid < 256, i < 24

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..49151
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..98303 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 192 instructions, 768 wavefronts, ideal 768
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 73c93b18ef9e96c3d6892d937ab43b78e2491b3f61b8615842f13dc2b1a92540
    """
    return ((tid >> 5) * 12288) + (i << 9) + (((tid & 31) ^ (i & 7)) << 4)


read_c.access_name = "read C"
