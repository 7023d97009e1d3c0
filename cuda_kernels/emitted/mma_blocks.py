"""Index functions of mma_blocks, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def copy_a(tid, i, stage):
    """copy A: cp.async.cg.16, f16, sm_90: proved for every tid < 128, i < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 4 wavefronts per instruction (of the destinations alone)
    - 64 instructions, 512 wavefronts, ideal 256
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 43ca80cfd2f85b9616bb5912047a9cef84a4ade18f7f831274a94a118ac747db
    """
    return ((((tid >> 2) & 15) << 5) + (i << 11) + ((tid >> 6) << 10) + ((tid & 1) << 4)
            + (((tid >> 1) & 1) << 9) + (stage << 13))


copy_a.access_name = "copy A"


def copy_b(tid, i, stage):
    """copy B: cp.async.cg.16, f16, sm_90: proved for every tid < 128, i < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 4 wavefronts per instruction (of the destinations alone)
    - 64 instructions, 512 wavefronts, ideal 256
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0ec0b872b3b50c24af2895a8459e8153bf525c89967cd485c7fe035d32a7ee8e
    """
    return ((((tid >> 2) & 15) << 5) + (i << 11) + ((tid >> 6) << 10) + ((tid & 1) << 4)
            + (((tid >> 1) & 1) << 9) + (stage << 13) + 32768)


copy_b.access_name = "copy B"


def copy_a_element(tid, i, stage):
    """copy A element: st.shared.b16, f16, sm_90: proved for every tid < 128, i < 32, stage < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - addresses 0..8191 bytes, aligned to 2
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 128 instructions, 256 wavefronts, ideal 128
    - wavefront rule: explains 3,121 of 3,121 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest a64c141a61d3ca7b06a50e92edd61942372d2ad20b06e7b629c9e142432aeceb
    """
    return ((i & 3) << 7) + ((tid >> 5) << 5) + ((i >> 2) << 10) + ((tid & 15) << 1) + (((tid >> 4) & 1) << 9)


copy_a_element.access_name = "copy A element"


def copy_b_element(tid, i, stage):
    """copy B element: st.shared.b16, f16, sm_90: proved for every tid < 128, i < 32, stage < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - addresses 32768..40959 bytes, aligned to 2
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 128 instructions, 256 wavefronts, ideal 128
    - wavefront rule: explains 3,121 of 3,121 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 5ef7b6280ff0dedde98d03324aca0aeada87ebc6b0b594b31f57cf2f15d60664
    """
    return (((i & 3) << 7) + ((tid >> 5) << 5) + ((i >> 2) << 10) + ((tid & 15) << 1) + (((tid >> 4) & 1) << 9)
            + 32768)


copy_b_element.access_name = "copy B element"


def load_a(tid, i, ks, stage):
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 128, i < 4, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 4 wavefronts per instruction
    - 128 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 51109eec34bfd936bf6022f9f17454192474c397332431f2bf9188da76d8c6bf
    """
    return (((tid & 15) << 5) + ((tid >> 6) << 12) + (i << 10) + (((tid >> 4) & 1) << 4) + (ks << 9)
            + (stage << 13))


load_a.access_name = "load A"


def load_b(tid, i, ks, stage):
    """load B: ldmatrix.x4, f16, sm_90: proved for every tid < 128, i < 4, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 16
    - excess exactly 4 wavefronts per instruction
    - 128 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 6a9f437bc64de9fbe9bbe6abef5fcf697517cf4ae28a9f81e689b22adf7d815b
    """
    return ((((tid >> 4) & 1) << 8) + ((tid & 7) << 5) + (((tid >> 5) & 1) << 12) + (i << 10)
            + (((tid >> 3) & 1) << 4) + (ks << 9) + (stage << 13) + 32768)


load_b.access_name = "load B"


def lds_a(tid, i, h, q, ks, stage):
    """lds A: ld.shared.b32, f16, sm_90: proved for every tid < 128, i < 4, h < 2, q < 2, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - excess exactly 1 wavefront per instruction
    - 512 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0126f69a32e4fc4d86e7077bb26218fba6a83e2f02978bc9ca7e5072f1929351
    """
    return ((h << 8) + (((tid >> 2) & 7) << 5) + ((tid >> 6) << 12) + (i << 10) + (q << 4) + ((tid & 3) << 2)
            + (ks << 9) + (stage << 13))


lds_a.access_name = "lds A"


def lds_b(tid, i, h, q, ks, stage):
    """lds B: ld.shared.b32, f16, sm_90: proved for every tid < 128, i < 4, h < 2, q < 2, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 4
    - excess exactly 1 wavefront per instruction
    - 512 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest c377d23bd90d523692dc16603c50e5837402a998d73205b991be3aac4a13c6ad
    """
    return ((h << 8) + (((tid >> 2) & 7) << 5) + (((tid >> 5) & 1) << 12) + (i << 10) + (q << 4)
            + ((tid & 3) << 2) + (ks << 9) + (stage << 13) + 32768)


lds_b.access_name = "lds B"


def store_c(tid, i, j, r):
    """store C: st.shared.b64, f32, sm_90: proved for every tid < 128, i < 4, j < 8, r < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 8-byte access are neighbours along coordinate 1
    - addresses 0..65535 bytes, aligned to 8
    - no two lanes of an instruction store to the same bytes
    - excess exactly 2 wavefronts per instruction
    - 256 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 2,811 of 2,811 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest d7dc0d27c93b6a3cac8658c37058df3863380b686d1c359a679304eefed85d82
    """
    return ((r << 9) + (((tid >> 2) & 7) << 6) + ((tid >> 6) << 15) + (i << 13) + ((j & 1) << 5)
            + ((tid & 3) << 3) + (((tid >> 5) & 1) << 12) + ((j >> 1) << 10))


store_c.access_name = "store C"


def store_c_scalar(tid, i, j, r, e):
    """store C scalar: st.shared.b32, f32, sm_90: proved for every tid < 128, i < 4, j < 8, r < 2, e < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - addresses 0..65535 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 3 wavefronts per instruction
    - 512 instructions, 2048 wavefronts, ideal 512
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest df9c8436f084ccd15ba9d09d4b0f278a1ba4ec7cff04f0b0a5eb860dfb4c4ae5
    """
    return ((r << 9) + (((tid >> 2) & 7) << 6) + ((tid >> 6) << 15) + (i << 13) + ((j & 1) << 5)
            + ((tid & 3) << 3) + (e << 2) + (((tid >> 5) & 1) << 12) + ((j >> 1) << 10))


store_c_scalar.access_name = "store C scalar"


def read_c(tid, i):
    """read C: ld.shared.b32, f32, sm_90: proved for every tid < 128, i < 128

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - addresses 0..65535 bytes, aligned to 4
    - excess exactly 1 wavefront per instruction
    - 512 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 3ad2b1109850910c68ad0fb02aca9f0ca03c079c2f82754f2c9063bbef76bb12
    """
    return ((i & 15) << 6) + ((i >> 4) << 13) + ((tid & 15) << 2) + ((tid >> 4) << 10)


read_c.access_name = "read C"
