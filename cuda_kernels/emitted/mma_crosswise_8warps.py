"""Index functions of mma_crosswise_8warps, in bytes.

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
    - conflict-free: 4 wavefronts per instruction (of the destinations alone)
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest f86fe74268f88038978254dfa8e3ce3786d02bb38d70636f8aaec6a6a2734f8d
    """
    t0 = tid >> 3
    return (((tid >> 2) & 1) << 6) + (i << 12) + (t0 << 7) + (stage << 13) + (((tid & 3) ^ (t0 & 3)) << 4)


copy_a.access_name = "copy A"


def copy_b(tid, i, stage):
    """copy B: cp.async.cg.16, f16, sm_90: proved for every tid < 256, i < 2, stage < 4

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
    digest 3b7fc13305e0f12747a8e0650a303917019bdaa18a79019615ee7565a8c41e0b
    """
    t0 = tid >> 3
    return (((tid >> 2) & 1) << 6) + (i << 12) + (t0 << 7) + (stage << 13) + (((tid & 3) ^ (t0 & 3)) << 4) + 32768


copy_b.access_name = "copy B"


def copy_a_element(tid, i, stage):
    """copy A element: st.shared.b16, f16, sm_90: proved for every tid < 256, i < 16, stage < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - addresses 0..8191 bytes, aligned to 2
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 128 instructions, 128 wavefronts, ideal 128
    - wavefront rule: explains 3,121 of 3,121 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest ca191a47cd41722eb79712331b18d2786ebe8146863bc8863687323aa2f5b01a
    """
    t0 = tid >> 6
    return (((tid >> 5) & 1) << 6) + (i << 9) + (t0 << 7) + (((tid & 31) ^ (t0 << 3)) << 1)


copy_a_element.access_name = "copy A element"


def copy_b_element(tid, i, stage):
    """copy B element: st.shared.b16, f16, sm_90: proved for every tid < 256, i < 16, stage < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - addresses 32768..40959 bytes, aligned to 2
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 128 instructions, 128 wavefronts, ideal 128
    - wavefront rule: explains 3,121 of 3,121 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 54e0f243e8aec5e794606f5365c17ebe361f1489555a815dfa2bba765778eddf
    """
    t0 = tid >> 6
    return (((tid >> 5) & 1) << 6) + (i << 9) + (t0 << 7) + (((tid & 31) ^ (t0 << 3)) << 1) + 32768


copy_b_element.access_name = "copy B element"


def load_a(tid, i, ks, stage):
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 4, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 256 instructions, 1024 wavefronts, ideal 1024
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 1d6482c8cc613e03c6a50296dc943fe1ae3e56655627265c2f2d21154d2f7197
    """
    t0 = tid >> 1
    return (((tid & 1) << 6) + ((tid >> 7) << 12) + (i << 10) + ((t0 & 7) << 7) + (stage << 13)
            + ((((ks << 1) + ((tid >> 4) & 1)) ^ (t0 & 3)) << 4))


load_a.access_name = "load A"


def load_b(tid, i, ks, stage):
    """load B: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 2, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 128 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest d497d2a380d5ab8a1af6f51235b228d81b629c3a0c5faf505e225b89f4014da6
    """
    t0 = (tid >> 1) & 3
    return (((tid & 1) << 6) + (((tid >> 5) & 3) << 11) + (i << 10) + (((tid >> 4) & 1) << 9) + (t0 << 7)
            + (stage << 13) + ((((ks << 1) + ((tid >> 3) & 1)) ^ t0) << 4) + 32768)


load_b.access_name = "load B"


def lds_a(tid, i, h, q, ks, stage):
    """lds A: ld.shared.b32, f16, sm_90: proved for every tid < 256, i < 4, h < 2, q < 2, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - conflict-free: 1 wavefront per instruction
    - 1024 instructions, 1024 wavefronts, ideal 1024
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 1acee6a3d965fe6765a5fc3c534fa5db6d5f027664abd171c104f52d55a9317f
    """
    t0 = (tid >> 3) & 3
    return ((((tid >> 2) & 1) << 6) + ((tid >> 7) << 12) + (i << 10) + (h << 9) + (t0 << 7) + ((tid & 3) << 2)
            + (stage << 13) + ((((ks << 1) + q) ^ t0) << 4))


lds_a.access_name = "lds A"


def lds_b(tid, i, h, q, ks, stage):
    """lds B: ld.shared.b32, f16, sm_90: proved for every tid < 256, i < 2, h < 2, q < 2, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 4
    - conflict-free: 1 wavefront per instruction
    - 512 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest a481e01540ed1c873a156e071bf1210cec5faf5b02e034c44e2e5c5fbdf027da
    """
    t0 = (tid >> 3) & 3
    return ((((tid >> 2) & 1) << 6) + (((tid >> 5) & 3) << 11) + (i << 10) + (h << 9) + (t0 << 7)
            + ((tid & 3) << 2) + (stage << 13) + ((((ks << 1) + q) ^ t0) << 4) + 32768)


lds_b.access_name = "lds B"


def store_c(tid, i, j, r):
    """store C: st.shared.b64, f32, sm_90: proved for every tid < 256, i < 4, j < 4, r < 2

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
    digest d21ed7c4da8f70fc8e7adeba5f4c796062c02993e1400d9518dbf42a49219f64
    """
    t0 = tid >> 2
    return (((tid >> 7) << 15) + (i << 13) + (r << 12) + ((t0 & 7) << 9) + (((tid >> 5) & 3) << 7)
            + ((tid & 3) << 3) + ((j ^ (t0 & 3)) << 5))


store_c.access_name = "store C"


def store_c_scalar(tid, i, j, r, e):
    """store C scalar: st.shared.b32, f32, sm_90: proved for every tid < 256, i < 4, j < 4, r < 2, e < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - addresses 0..65535 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 512 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest e318598ecb3bcaef81ed1954702993c85395ae5ef5ad467b090feccce55aa38e
    """
    t0 = tid >> 2
    return (((tid >> 7) << 15) + (i << 13) + (r << 12) + ((t0 & 7) << 9) + (((tid >> 5) & 3) << 7)
            + ((tid & 3) << 3) + (e << 2) + ((j ^ (t0 & 3)) << 5))


store_c_scalar.access_name = "store C scalar"


def read_c(tid, i):
    """read C: ld.shared.b32, f32, sm_90: proved for every tid < 256, i < 64

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - addresses 0..65535 bytes, aligned to 4
    - conflict-free: 1 wavefront per instruction
    - 512 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest f8797a0e4b672d8e25e6af06cab758cdc616ef738cafe7f18a918ef245c308c1
    """
    t0 = tid >> 7
    return (t0 << 9) + (i << 10) + (((tid & 127) ^ ((t0 << 3) + ((i & 1) << 4))) << 2)


read_c.access_name = "read C"
