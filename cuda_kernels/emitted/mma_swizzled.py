"""Index functions of mma_swizzled, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def copy_a(tid, i, stage):
    """copy A: cp.async.cg.16, f16, sm_90: proved for every tid < 256, i < 8, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 98304 coordinates
    - in bounds: offsets 0..98303
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..180223 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction (of the destinations alone)
    - 256 instructions, 1024 wavefronts, ideal 1024
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest e5e3fd47df17a30615549b3fe341d83945c6b867347b24d2634cdb19c11c5d7d
    """
    t0 = (tid >> 3) & 3
    return ((t0 << 7) + (i << 9) + ((tid >> 5) << 12) + (stage * 49152)
            + (((tid & 7) ^ (t0 + ((i & 1) << 2))) << 4))


copy_a.access_name = "copy A"


def copy_b(tid, i, stage):
    """copy B: cp.async.cg.16, f16, sm_90: proved for every tid < 256, i < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 98304 coordinates
    - in bounds: offsets 0..98303
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32768..196607 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction (of the destinations alone)
    - 128 instructions, 512 wavefronts, ideal 512
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 790b6a33767a35db1e2db1fce7cd808cd878af1e9c847e2e500ff9bc9968f758
    """
    t0 = (tid >> 3) & 3
    return ((t0 << 7) + (i << 9) + ((tid >> 5) << 11) + (stage * 49152)
            + (((tid & 7) ^ (t0 + ((i & 1) << 2))) << 4) + 32768)


copy_b.access_name = "copy B"


def load_a(tid, i, ks, stage):
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 4, ks < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 98304 coordinates
    - in bounds: offsets 0..98303
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..180223 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 512 instructions, 2048 wavefronts, ideal 2048
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest c642b0dd9d84fffefee42c6b06cf0e6d9fc7582a8237eebfb0b8ba9f192af641
    """
    return (((tid & 15) << 7) + (i << 11) + ((tid >> 6) << 13) + (stage * 49152)
            + (((((tid >> 4) & 1) + (ks << 1)) ^ (tid & 7)) << 4))


load_a.access_name = "load A"


def load_b(tid, j, ks, stage):
    """load B: ldmatrix.x4, f16, sm_90: proved for every tid < 256, j < 4, ks < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 98304 coordinates
    - in bounds: offsets 0..98303
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32768..196607 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 512 instructions, 2048 wavefronts, ideal 2048
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest ab262371e5ef7dafa84b4b1244c7a4a1e8c47d04524b7f0a7d2feedd7d058805
    """
    t0 = tid & 7
    return ((t0 << 7) + (((tid >> 4) & 1) << 10) + (j << 11) + (((tid >> 5) & 1) << 13) + (stage * 49152)
            + (((((tid >> 3) & 1) + (ks << 1)) ^ t0) << 4) + 32768)


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
