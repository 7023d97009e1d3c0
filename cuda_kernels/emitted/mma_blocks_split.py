"""Index functions of mma_blocks_split, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def copy_a(tid, i, stage):
    """copy A: cp.async.cg.16, f16, sm_90: proved for every tid < 256, i < 2, stage < 4

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
    digest 5132b6a35f1459a95a376f50a84727ed7798c2c241003813a59df5e464b21d05
    """
    return ((((tid >> 2) & 15) << 5) + (i << 12) + ((tid >> 6) << 10) + ((tid & 1) << 4)
            + (((tid >> 1) & 1) << 9) + (stage << 13))


copy_a.access_name = "copy A"


def copy_b(tid, i, stage):
    """copy B: cp.async.cg.16, f16, sm_90: proved for every tid < 256, i < 2, stage < 4

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
    digest d351c4ff2c1d679e7253c815ed2be315a880b322306ac015808a023c18df2e5f
    """
    return ((((tid >> 2) & 15) << 5) + (i << 12) + ((tid >> 6) << 10) + ((tid & 1) << 4)
            + (((tid >> 1) & 1) << 9) + (stage << 13) + 32768)


copy_b.access_name = "copy B"


def copy_a_element(tid, i, stage):
    """copy A element: st.shared.b16, f16, sm_90: proved for every tid < 256, i < 16, stage < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - addresses 0..8191 bytes, aligned to 2
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 128 instructions, 256 wavefronts, ideal 128
    - wavefront rule: explains 3,121 of 3,121 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 8c7855461000810b9768f9c1691db3c5957d1755b89db3bb54e019c2b363584b
    """
    return ((i & 1) << 8) + ((tid >> 5) << 5) + ((i >> 1) << 10) + ((tid & 15) << 1) + (((tid >> 4) & 1) << 9)


copy_a_element.access_name = "copy A element"


def copy_b_element(tid, i, stage):
    """copy B element: st.shared.b16, f16, sm_90: proved for every tid < 256, i < 16, stage < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - addresses 32768..40959 bytes, aligned to 2
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 128 instructions, 256 wavefronts, ideal 128
    - wavefront rule: explains 3,121 of 3,121 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 8ff986890e52d6f1d8db3a3b0f7401827a0e0c539c7812855c93c8b91cb0a08a
    """
    return (((i & 1) << 8) + ((tid >> 5) << 5) + ((i >> 1) << 10) + ((tid & 15) << 1) + (((tid >> 4) & 1) << 9)
            + 32768)


copy_b_element.access_name = "copy B element"


def load_a(tid, i, ks, stage):
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 4, ks < 1, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 4 wavefronts per instruction
    - 128 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest fe31609f70d607b5959766656c3f4c41a36af7374f4f3e574c9fb4d0ea18e633
    """
    return (((tid & 15) << 5) + (((tid >> 6) & 1) << 12) + (i << 10) + (((tid >> 4) & 1) << 4)
            + ((tid >> 7) << 9) + (stage << 13))


load_a.access_name = "load A"


def load_b(tid, i, ks, stage):
    """load B: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 4, ks < 1, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 16
    - excess exactly 4 wavefronts per instruction
    - 128 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 5f544728efd361e575bb65751cfff6b3a80f5201443fd2b63764b010b800fbef
    """
    return ((((tid >> 4) & 1) << 8) + ((tid & 7) << 5) + (((tid >> 5) & 1) << 12) + (i << 10)
            + (((tid >> 3) & 1) << 4) + ((tid >> 7) << 9) + (stage << 13) + 32768)


load_b.access_name = "load B"


def lds_a(tid, i, h, q, ks, stage):
    """lds A: ld.shared.b32, f16, sm_90: proved for every tid < 256, i < 4, h < 2, q < 2, ks < 1, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - excess exactly 1 wavefront per instruction
    - 512 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 266ed9c702ba4a86e9b482f66ca9f723f4df2a2df768797ff814d03ae3c9d722
    """
    return ((h << 8) + (((tid >> 2) & 7) << 5) + (((tid >> 6) & 1) << 12) + (i << 10) + (q << 4)
            + ((tid & 3) << 2) + ((tid >> 7) << 9) + (stage << 13))


lds_a.access_name = "lds A"


def lds_b(tid, i, h, q, ks, stage):
    """lds B: ld.shared.b32, f16, sm_90: proved for every tid < 256, i < 4, h < 2, q < 2, ks < 1, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 4
    - excess exactly 1 wavefront per instruction
    - 512 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 8fa74e3901b25619c7e5ce82cdbdde0e4f848465e71f099d5c8886e935f4d201
    """
    return ((h << 8) + (((tid >> 2) & 7) << 5) + (((tid >> 5) & 1) << 12) + (i << 10) + (q << 4)
            + ((tid & 3) << 2) + ((tid >> 7) << 9) + (stage << 13) + 32768)


lds_b.access_name = "lds B"


def store_c(tid, i, j, r):
    """store C: st.shared.b64, f32, sm_90: proved for every tid < 256, i < 2, j < 8, r < 2

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
    digest 3f865c37ef054f2ece42ce7c240d75986f0185de959613de83b25f8b2af00c05
    """
    return ((r << 9) + (((tid >> 2) & 7) << 6) + (((tid >> 6) & 1) << 15) + (i << 13) + ((tid >> 7) << 14)
            + ((j & 1) << 5) + ((tid & 3) << 3) + (((tid >> 5) & 1) << 12) + ((j >> 1) << 10))


store_c.access_name = "store C"


def store_c_scalar(tid, i, j, r, e):
    """store C scalar: st.shared.b32, f32, sm_90: proved for every tid < 256, i < 2, j < 8, r < 2, e < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - addresses 0..49151 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 3 wavefronts per instruction
    - 512 instructions, 2048 wavefronts, ideal 512
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 0d2bd9286975ac079ec3c8a6fba1f687590420a3fbf855615594f2e3e46bd034
    """
    return ((r << 9) + (((tid >> 2) & 7) << 6) + (((tid >> 6) & 1) << 15) + (i << 13) + ((j & 1) << 5)
            + ((tid & 3) << 3) + (e << 2) + (((tid >> 5) & 1) << 12) + ((j >> 1) << 10))


store_c_scalar.access_name = "store C scalar"


def read_c(tid, i):
    """read C: ld.shared.b32, f32, sm_90: proved for every tid < 256, i < 64

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - addresses 0..65535 bytes, aligned to 4
    - excess exactly 1 wavefront per instruction
    - 512 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 211b9a1947fcc2d5a97b5116aa1c7e7a311ce276cae12a26ac3cbe63e9e8b067
    """
    return ((i & 7) << 7) + ((tid >> 7) << 6) + ((i >> 3) << 13) + ((tid & 15) << 2) + (((tid >> 4) & 7) << 10)


read_c.access_name = "read C"


def send_c(tid, i, j, r):
    """send C: st.shared.b64, f32, sm_90: proved for every tid < 256, i < 2, j < 8, r < 2

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
    digest 19a4bb42c32606b3472e50cac15c7c7d5d42d104ff4e75a373eea49c97c79a0a
    """
    return ((r << 9) + (((tid >> 2) & 7) << 6) + (((tid >> 6) & 1) << 15) + (i << 13) + ((j & 1) << 5)
            + ((tid & 3) << 3) + (((tid >> 5) & 1) << 12) + ((j >> 1) << 10) + 16384 - ((tid >> 7) << 14))


send_c.access_name = "send C"


def take_c(tid, i, j, r):
    """take C: ld.shared.b64, f32, sm_90: proved for every tid < 256, i < 2, j < 8, r < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 8-byte access are neighbours along coordinate 1
    - addresses 0..65535 bytes, aligned to 8
    - excess exactly 2 wavefronts per instruction
    - 256 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 2,240 of 2,240 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 3f865c37ef054f2ece42ce7c240d75986f0185de959613de83b25f8b2af00c05
    """
    return ((r << 9) + (((tid >> 2) & 7) << 6) + (((tid >> 6) & 1) << 15) + (i << 13) + ((tid >> 7) << 14)
            + ((j & 1) << 5) + ((tid & 3) << 3) + (((tid >> 5) & 1) << 12) + ((j >> 1) << 10))


take_c.access_name = "take C"
