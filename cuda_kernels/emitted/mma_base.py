"""Index functions of mma_base, in bytes.

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
    digest 4c95fec91073b78abf9e08f8c0a53aeff9d159589f702b8debb0485fc3db8d31
    """
    return ((tid >> 5) << 11) + (((tid >> 2) & 7) << 6) + (i << 9) + ((tid & 3) << 4) + (stage * 24576)


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
    digest e1ce1074e5b72f349427e5a0786c46b4e6accf448d5708b3cc482523a55e067b
    """
    return ((tid >> 5) << 10) + (((tid >> 2) & 7) << 6) + (i << 9) + ((tid & 3) << 4) + (stage * 24576) + 16384


copy_b.access_name = "copy B"


def load_a(tid, i, ks, stage):
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 4, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..49151
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..90111 bytes, aligned to 16
    - excess exactly 12 wavefronts per instruction
    - 256 instructions, 4096 wavefronts, ideal 1024
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest cfee43e946e4d1d6c7ef3da8cc4133b3d7ff4695b442fb267f56b9140852c150
    """
    return (((tid >> 6) << 12) + (i << 10) + ((tid & 15) << 6) + (ks << 5) + (((tid >> 4) & 1) << 4)
            + (stage * 24576))


load_a.access_name = "load A"


def load_b(tid, j, ks, stage):
    """load B: ldmatrix.x2, f16, sm_90: proved for every tid < 256, j < 8, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..49151
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 16384..98303 bytes, aligned to 16
    - excess exactly 6 wavefronts per instruction
    - 512 instructions, 4096 wavefronts, ideal 1024
    - wavefront rule: explains 514 of 514 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest a3e03bc9cca0635a96a874ffd25615047dac0a75e8c5d95e46b28ee9250d9509
    """
    return ((((tid >> 5) & 1) << 12) + (j << 9) + ((tid & 7) << 6) + (ks << 5) + (((tid >> 3) & 1) << 4)
            + (stage * 24576) + 16384)


load_b.access_name = "load B"


def store_c(tid, i, j, r):
    """store C: st.shared.b32, f16, sm_90: proved for every tid < 256, i < 4, j < 8, r < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..65535 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 7 wavefronts per instruction
    - 512 instructions, 4096 wavefronts, ideal 512
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 19a3ddd19a8fb3887041a988abe0c1bcb95e070a4602d2a30a01e76a92094475
    """
    return (((tid >> 6) << 14) + (i << 12) + (r << 11) + (((tid >> 2) & 7) << 8) + (((tid >> 5) & 1) << 7)
            + (j << 4) + ((tid & 3) << 2))


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
    digest 7532b39cd21217fd362e8ea1303382babc2b92964bdc75de14a3b6ebaf70eaea
    """
    return ((tid >> 5) << 13) + (i << 9) + (((tid >> 4) & 1) << 8) + ((tid & 15) << 4)


read_c.access_name = "read C"
