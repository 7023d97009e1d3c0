"""Index functions of mma_crosswise, in bytes.

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
    - conflict-free: 4 wavefronts per instruction (of the destinations alone)
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 636998a928650bd664d44dad77a5e2f50d6719e1ec6de8c6463e4b78a3277d89
    """
    t0 = tid >> 3
    return (((tid >> 2) & 1) << 6) + (i << 11) + (t0 << 7) + (stage << 13) + (((tid & 3) ^ (t0 & 3)) << 4)


copy_a.access_name = "copy A"


def copy_b(tid, i, stage):
    """copy B: cp.async.cg.16, f16, sm_90: proved for every tid < 128, i < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction (of the destinations alone)
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0be91c48dd065be1723eddd30efce2deee5b16099bb08015469fd7727ae63ff3
    """
    t0 = tid >> 3
    return (((tid >> 2) & 1) << 6) + (i << 11) + (t0 << 7) + (stage << 13) + (((tid & 3) ^ (t0 & 3)) << 4) + 32768


copy_b.access_name = "copy B"


def copy_a_element(tid, i, stage):
    """copy A element: st.shared.b16, f16, sm_90: proved for every tid < 128, i < 32, stage < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - addresses 0..8191 bytes, aligned to 2
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 128 instructions, 128 wavefronts, ideal 128
    - wavefront rule: explains 3,121 of 3,121 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest ec5f8178423b261c4189b7a9239262d04e880630c4895f39ae6c434b845f14b2
    """
    t0 = tid >> 6
    return (((tid >> 5) & 1) << 6) + (i << 8) + (t0 << 7) + (((tid & 31) ^ (((i & 1) << 4) + (t0 << 3))) << 1)


copy_a_element.access_name = "copy A element"


def copy_b_element(tid, i, stage):
    """copy B element: st.shared.b16, f16, sm_90: proved for every tid < 128, i < 32, stage < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - addresses 32768..40959 bytes, aligned to 2
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 128 instructions, 128 wavefronts, ideal 128
    - wavefront rule: explains 3,121 of 3,121 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 91aa29b1f337a6226a3c76ae454ed7f2ba65ba56d89820078d9006ae965330c2
    """
    t0 = tid >> 6
    return ((((tid >> 5) & 1) << 6) + (i << 8) + (t0 << 7) + (((tid & 31) ^ (((i & 1) << 4) + (t0 << 3))) << 1)
            + 32768)


copy_b_element.access_name = "copy B element"


def load_a(tid, i, ks, stage):
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 128, i < 4, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 128 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 852c5f6f73533c6b1ba06a4e831dad870e73ec7b442d31ef3d1345692a42eb71
    """
    t0 = tid >> 1
    return (((tid & 1) << 6) + ((tid >> 6) << 12) + (i << 10) + ((t0 & 7) << 7) + (stage << 13)
            + ((((ks << 1) + ((tid >> 4) & 1)) ^ (t0 & 3)) << 4))


load_a.access_name = "load A"


def load_b(tid, i, ks, stage):
    """load B: ldmatrix.x4, f16, sm_90: proved for every tid < 128, i < 4, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 128 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 508b476df7a167a9381df3dcf4f566d5001a3f01798cd3893a9a819805410f3a
    """
    t0 = (tid >> 1) & 3
    return (((tid & 1) << 6) + (((tid >> 5) & 1) << 12) + (i << 10) + (((tid >> 4) & 1) << 9) + (t0 << 7)
            + (stage << 13) + ((((ks << 1) + ((tid >> 3) & 1)) ^ t0) << 4) + 32768)


load_b.access_name = "load B"


def lds_a(tid, i, h, q, ks, stage):
    """lds A: ld.shared.b32, f16, sm_90: proved for every tid < 128, i < 4, h < 2, q < 2, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - conflict-free: 1 wavefront per instruction
    - 512 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 79585e550419a260f45a3c7e8b185a35bf5355bd84ca0a94f9e7a860a13b4c3e
    """
    t0 = (tid >> 3) & 3
    return ((((tid >> 2) & 1) << 6) + ((tid >> 6) << 12) + (i << 10) + (h << 9) + (t0 << 7) + ((tid & 3) << 2)
            + (stage << 13) + ((((ks << 1) + q) ^ t0) << 4))


lds_a.access_name = "lds A"


def lds_b(tid, i, h, q, ks, stage):
    """lds B: ld.shared.b32, f16, sm_90: proved for every tid < 128, i < 4, h < 2, q < 2, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 4
    - conflict-free: 1 wavefront per instruction
    - 512 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest b10d32516160adbbc772627897709b1092d783a9a91584acdc1ef0f9578723f5
    """
    t0 = (tid >> 3) & 3
    return ((((tid >> 2) & 1) << 6) + (((tid >> 5) & 1) << 12) + (i << 10) + (h << 9) + (t0 << 7)
            + ((tid & 3) << 2) + (stage << 13) + ((((ks << 1) + q) ^ t0) << 4) + 32768)


lds_b.access_name = "lds B"


def store_c(tid, i, j, r):
    """store C: st.shared.b64, f32, sm_90: proved for every tid < 128, i < 4, j < 8, r < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 8-byte access are neighbours along coordinate 1
    - addresses 0..65535 bytes, aligned to 8
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 2 wavefronts per instruction
    - 256 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 2,811 of 2,811 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 5d00d1ba32309e79ecb2ea8459cb82d0d8f27c92767235e32a632c36b98191bb
    """
    t0 = tid >> 2
    return (((tid >> 6) << 15) + (i << 13) + (r << 12) + ((t0 & 7) << 9) + (((tid >> 5) & 1) << 8)
            + ((tid & 3) << 3) + ((j ^ (t0 & 3)) << 5))


store_c.access_name = "store C"


def store_c_scalar(tid, i, j, r, e):
    """store C scalar: st.shared.b32, f32, sm_90: proved for every tid < 128, i < 4, j < 8, r < 2, e < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - addresses 0..65535 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 512 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest c231c3cf6d754101848181e2973bf61395af427f6b74631f8ec53fac44824791
    """
    t0 = tid >> 2
    return (((tid >> 6) << 15) + (i << 13) + (r << 12) + ((t0 & 7) << 9) + (((tid >> 5) & 1) << 8)
            + ((tid & 3) << 3) + (e << 2) + ((j ^ (t0 & 3)) << 5))


store_c_scalar.access_name = "store C scalar"


def read_c(tid, i):
    """read C: ld.shared.b32, f32, sm_90: proved for every tid < 128, i < 128

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - addresses 0..65535 bytes, aligned to 4
    - conflict-free: 1 wavefront per instruction
    - 512 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest c253f2902a9ebcad4c173a554c814a9de08db32f3f499aeb8973b5b804e885f4
    """
    return (i << 9) + ((tid ^ ((i & 3) << 3)) << 2)


read_c.access_name = "read C"
