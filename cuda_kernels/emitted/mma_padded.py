"""Index functions of mma_padded, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def copy_a(tid, i, stage):
    """copy A: cp.async.cg.16, f16, sm_90: proved for every tid < 256, i < 4, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..61431
    - 12280 elements unused
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..112623 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 4 wavefronts per instruction (of the destinations alone)
    - 128 instructions, 1024 wavefronts, ideal 512
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 11246a92b61f89ae2cec5b5971bddec62aa5c06781663b89da26db634f96b360
    """
    return ((tid >> 5) * 2560) + (((tid >> 2) & 7) * 80) + (i * 640) + ((tid & 3) << 4) + (stage * 30720)


copy_a.access_name = "copy A"


def copy_b(tid, i, stage):
    """copy B: cp.async.cg.16, f16, sm_90: proved for every tid < 256, i < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..61431
    - 12280 elements unused
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 20480..122863 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 4 wavefronts per instruction (of the destinations alone)
    - 64 instructions, 512 wavefronts, ideal 256
    - wavefront rule: bounds 4,244 of 4,244 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 560640462dca1fc8e74076a4f568c572984d709c3c7f59f57bda26208cd46d55
    """
    return ((tid >> 5) * 1280) + (((tid >> 2) & 7) * 80) + (i * 640) + ((tid & 3) << 4) + (stage * 30720) + 20480


copy_b.access_name = "copy B"


def load_a(tid, i, ks, stage):
    """load A: ldmatrix.x4, f16, sm_90: proved for every tid < 256, i < 4, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..61431
    - 12280 elements unused
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..112623 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 256 instructions, 1024 wavefronts, ideal 1024
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest d5c394620526fffe88536d634d3f13177a0dcd9bf42a3cb76ce3c2ff2d46d6c0
    """
    return (((tid >> 6) * 5120) + (i * 1280) + ((tid & 15) * 80) + (ks << 5) + (((tid >> 4) & 1) << 4)
            + (stage * 30720))


load_a.access_name = "load A"


def load_b(tid, j, ks, stage):
    """load B: ldmatrix.x2, f16, sm_90: proved for every tid < 256, j < 8, ks < 2, stage < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 49152 coordinates
    - in bounds: offsets 0..61431
    - 12280 elements unused
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 20480..122863 bytes, aligned to 16
    - conflict-free: 2 wavefronts per instruction
    - 512 instructions, 1024 wavefronts, ideal 1024
    - wavefront rule: explains 514 of 514 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 5a09ddf095b7c6d552fdf4db6b13771cd7408177500753557908d820730200b7
    """
    return ((((tid >> 5) & 1) * 5120) + (j * 640) + ((tid & 7) * 80) + (ks << 5) + (((tid >> 3) & 1) << 4)
            + (stage * 30720) + 20480)


load_b.access_name = "load B"


def store_c(tid, i, j, r):
    """store C: st.shared.b32, f16, sm_90: proved for every tid < 256, i < 4, j < 8, r < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..34807
    - 2040 elements unused
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..69615 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 512 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 09197acb1170625d46d989f2f2976b3c89a5fea9d9130fd6e45f47b3aee98f7b
    """
    return (((tid >> 6) * 17408) + (i * 4352) + (r * 2176) + (((tid >> 2) & 7) * 272) + (((tid >> 5) & 1) << 7)
            + (j << 4) + ((tid & 3) << 2))


store_c.access_name = "store C"


def read_c(tid, i):
    """read C: ld.shared.b128, f16, sm_90: proved for every tid < 256, i < 16

    Returns bytes from the start of the tile.
    - one-to-one on its 32768 coordinates
    - in bounds: offsets 0..34807
    - 2040 elements unused
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..69615 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 128 instructions, 512 wavefronts, ideal 512
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest fff39dfeb56c79e24fd88e2d054fe4ab72df051a890df9df2c52ee7470b20057
    """
    return ((tid >> 5) * 8704) + (i * 544) + (((tid >> 4) & 1) * 272) + ((tid & 15) << 4)


read_c.access_name = "read C"
