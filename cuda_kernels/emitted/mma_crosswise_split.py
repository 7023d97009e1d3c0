"""Index functions of mma_crosswise_split, in bytes.

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
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 4, ks < 1, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 128 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 39cc4d43837ca0425c2456eabd78790d2272b28b6c9271f0d5da73f253f7d40e
    """
    t0 = tid >> 1
    return (((tid & 1) << 6) + (((tid >> 6) & 1) << 12) + (i << 10) + ((t0 & 7) << 7) + (stage << 13)
            + (((((tid >> 7) << 1) + ((tid >> 4) & 1)) ^ (t0 & 3)) << 4))


load_a.access_name = "load A"


def load_b(tid, i, ks, stage):
    """load B: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 4, ks < 1, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 128 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 7a15fbc3d519ba27d649d2c5e932e4360b1ecf82b30dc427ca49d5742075f2db
    """
    t0 = (tid >> 1) & 3
    return (((tid & 1) << 6) + (((tid >> 5) & 1) << 12) + (i << 10) + (((tid >> 4) & 1) << 9) + (t0 << 7)
            + (stage << 13) + (((((tid >> 7) << 1) + ((tid >> 3) & 1)) ^ t0) << 4) + 32768)


load_b.access_name = "load B"


def lds_a(tid, i, h, q, ks, stage):
    """lds A: ld.shared.b32, f16, sm_90: proved for every tid < 256, i < 4, h < 2, q < 2, ks < 1, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - conflict-free: 1 wavefront per instruction
    - 512 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest fbb634b020e7bdbbaa38db1cc36d2322db0f5bf157fbd7a82cf801cd5d05e8ed
    """
    t0 = (tid >> 3) & 3
    return ((((tid >> 2) & 1) << 6) + (((tid >> 6) & 1) << 12) + (i << 10) + (h << 9) + (t0 << 7)
            + ((tid & 3) << 2) + (stage << 13) + (((((tid >> 7) << 1) + q) ^ t0) << 4))


lds_a.access_name = "lds A"


def lds_b(tid, i, h, q, ks, stage):
    """lds B: ld.shared.b32, f16, sm_90: proved for every tid < 256, i < 4, h < 2, q < 2, ks < 1, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..32767
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 32768..65535 bytes, aligned to 4
    - conflict-free: 1 wavefront per instruction
    - 512 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 946 of 946 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 34c14d7ce5d0543056c0baae0047ee897a8fea831e000407d747b2a230911fa7
    """
    t0 = (tid >> 3) & 3
    return ((((tid >> 2) & 1) << 6) + (((tid >> 5) & 1) << 12) + (i << 10) + (h << 9) + (t0 << 7)
            + ((tid & 3) << 2) + (stage << 13) + (((((tid >> 7) << 1) + q) ^ t0) << 4) + 32768)


lds_b.access_name = "lds B"


def store_c(tid, i, j, r):
    """store C: st.shared.b64, f32, sm_90: proved for every tid < 256, i < 2, j < 8, r < 2

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
    digest 6eccebf17c53ae3cb58fb7a914ad7a11bed63f28a43a28598e596bdc67d90f73
    """
    t0 = tid >> 2
    return ((((tid >> 6) & 1) << 15) + (i << 13) + ((tid >> 7) << 14) + (r << 12) + ((t0 & 7) << 9)
            + (((tid >> 5) & 1) << 8) + ((tid & 3) << 3) + ((j ^ (t0 & 3)) << 5))


store_c.access_name = "store C"


def store_c_scalar(tid, i, j, r, e):
    """store C scalar: st.shared.b32, f32, sm_90: proved for every tid < 256, i < 2, j < 8, r < 2, e < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - addresses 0..49151 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 512 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest b70b7135dd6ca58463e0be961c06f6639c6418c17c978f33396ce0710aff0d48
    """
    t0 = tid >> 2
    return ((((tid >> 6) & 1) << 15) + (i << 13) + (r << 12) + ((t0 & 7) << 9) + (((tid >> 5) & 1) << 8)
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


def send_c(tid, i, j, r):
    """send C: st.shared.b64, f32, sm_90: proved for every tid < 256, i < 2, j < 8, r < 2

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
    digest 34964fefe53f66c767c6e36b423d557f6a811ab294f95aaf5d81a5351c8de085
    """
    t0 = tid >> 2
    return (((tid & 3) << 3) + (((tid >> 5) & 1) << 8) + ((t0 & 7) << 9) + (r << 12) + (i << 13)
            + (((tid >> 6) & 1) << 15) + ((j ^ (t0 & 3)) << 5) + 16384 - ((tid >> 7) << 14))


send_c.access_name = "send C"


def take_c(tid, i, j, r):
    """take C: ld.shared.b64, f32, sm_90: proved for every tid < 256, i < 2, j < 8, r < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 8-byte access are neighbours along coordinate 1
    - addresses 0..65535 bytes, aligned to 8
    - conflict-free: 2 wavefronts per instruction
    - 256 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 2,240 of 2,240 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 6eccebf17c53ae3cb58fb7a914ad7a11bed63f28a43a28598e596bdc67d90f73
    """
    t0 = tid >> 2
    return ((((tid >> 6) & 1) << 15) + (i << 13) + ((tid >> 7) << 14) + (r << 12) + ((t0 & 7) << 9)
            + (((tid >> 5) & 1) << 8) + ((tid & 3) << 3) + ((j ^ (t0 & 3)) << 5))


take_c.access_name = "take C"
