"""Index functions of mma_permuted, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def copy_a(tid, i, stage):
    """copy A: cp.async.cg.16, f16, sm_90: proved for every tid < 256, i < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..49151
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..90111 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction (of the destinations alone)
    - 128 instructions, 512 wavefronts, ideal 512
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 00deea82dfe5f2d841561fea2b0963541507b87d2514674d644f3c338075b662
    """
    return (((tid >> 5) << 11) + (((tid >> 2) & 7) << 6) + (i << 9) + (stage * 24576)
            + ((((tid & 3) + ((tid >> 3) & 3)) & 3) << 4))


copy_a.access_name = "copy A"


def copy_b(tid, i, stage):
    """copy B: cp.async.cg.16, f16, sm_90: proved for every tid < 256, i < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..49151
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 16384..98303 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction (of the destinations alone)
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0626e8c0c87ab0eab3512535d5917f627bf3b5084a3287cb217d2f425ca09dff
    """
    return (((tid >> 5) << 10) + (((tid >> 2) & 7) << 6) + (i << 9) + (stage * 24576)
            + ((((tid & 3) + ((tid >> 3) & 3)) & 3) << 4) + 16384)


copy_b.access_name = "copy B"


def load_a(tid, i, ks, stage):
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 4, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..49151
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..90111 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 256 instructions, 1024 wavefronts, ideal 1024
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest de31866bbc93a4455719fcd2d7952e8cd0e866dad32f4df5dfce8885e40f5853
    """
    return (((tid >> 6) << 12) + (i << 10) + ((tid & 15) << 6) + (stage * 24576)
            + ((((ks << 1) + ((tid >> 4) & 1) + ((tid >> 1) & 3)) & 3) << 4))


load_a.access_name = "load A"


def load_b(tid, j, ks, stage):
    """load B: ldmatrix.x2, f16, sm_90: proved for every tid < 256, j < 8, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..49151
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 16384..98303 bytes, aligned to 16
    - conflict-free: 2 wavefronts per instruction
    - 512 instructions, 1024 wavefronts, ideal 1024
    - wavefront rule: explains 514 of 514 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest ae858cb9321be72b9084863775568cc27f804732084de5b38d7b1e26f5994f20
    """
    return ((((tid >> 5) & 1) << 12) + (j << 9) + ((tid & 7) << 6) + (stage * 24576)
            + ((((ks << 1) + ((tid >> 3) & 1) + ((tid >> 1) & 3)) & 3) << 4) + 16384)


load_b.access_name = "load B"


def store_c(tid, i, j, r):
    """store C: st.shared.b32, f16, sm_90: proved for every tid < 256, i < 4, j < 8, r < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..65535 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 512 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest b18937774f903a03148bae77a412d6662995a54e8b9537f535b37ede7c0fcc6f
    """
    t0 = (tid >> 2) & 7
    return (((tid >> 6) << 14) + (i << 12) + (r << 11) + (t0 << 8)
            + (((t0 + (((tid >> 5) & 1) << 3) + j) & 15) << 4) + ((tid & 3) << 2))


store_c.access_name = "store C"


def read_c(tid, i):
    """read C: ld.shared.b128, f16, sm_90: proved for every tid < 256, i < 16

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..65535 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 128 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 5416c11866c99abfe88f9922f4da55efb784a490abed452f2e1d2671764e970f
    """
    t0 = (tid >> 4) & 1
    return ((tid >> 5) << 13) + (i << 9) + (t0 << 8) + (((t0 + (tid & 15) + ((i & 3) << 1)) & 15) << 4)


read_c.access_name = "read C"
