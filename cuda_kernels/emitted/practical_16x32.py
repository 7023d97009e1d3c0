"""Index functions of practical_16x32, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def copy_none(tid, i, slot):
    """copy (none): st.shared.b128, f16, sm_90: proved for every tid < 32, i < 2, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 67dc6f125386ee42c2722719067610cf4d93a54ccabddd7802195a61847129b2
    """
    return (i << 9) + ((tid >> 2) << 6) + ((tid & 3) << 4)


copy_none.access_name = "copy (none)"


def load_left_none(tid, slot):
    """load left (none): ldmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..991 bytes, aligned to 16
    - excess exactly 12 wavefronts per instruction
    - 1 instruction, 16 wavefronts, ideal 4
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 250491692b9081c6846ee829ed6cde720ad46dff23473d5ec8a31a50ee4cd92b
    """
    return ((tid & 15) << 6) + ((tid >> 4) << 4)


load_left_none.access_name = "load left (none)"


def load_right_none(tid, slot):
    """load right (none): ldmatrix.x4.trans, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32..1023 bytes, aligned to 16
    - excess exactly 12 wavefronts per instruction
    - 1 instruction, 16 wavefronts, ideal 4
    - wavefront rule: explains 496 of 496 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 027eb87a4f5c6141ac3be9c5716b8c5257537380abbc8c539741671fc7d65c80
    """
    return ((tid & 15) << 6) + ((tid >> 4) << 4) + 32


load_right_none.access_name = "load right (none)"


def store_none(tid, slot):
    """store (none): stmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..991 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 12 wavefronts per instruction
    - 1 instruction, 16 wavefronts, ideal 4
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 250491692b9081c6846ee829ed6cde720ad46dff23473d5ec8a31a50ee4cd92b
    """
    return ((tid & 15) << 6) + ((tid >> 4) << 4)


store_none.access_name = "store (none)"


def store_pairs_none(tid, j, r, slot):
    """store pairs (none): st.shared.b32, f16, sm_90: proved for every tid < 32, j < 2, r < 2, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..991 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 3 wavefronts per instruction
    - 4 instructions, 16 wavefronts, ideal 4
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest c0ff852d1574c613d37b976ad2e158022e712dd3a318d57d366b0bfff06215c1
    """
    return (r << 9) + ((tid >> 2) << 6) + (j << 4) + ((tid & 3) << 2)


store_pairs_none.access_name = "store pairs (none)"


def read_none(tid, slot):
    """read (none): ld.shared.b128, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..991 bytes, aligned to 16
    - excess exactly 12 wavefronts per instruction
    - 1 instruction, 16 wavefronts, ideal 4
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 250491692b9081c6846ee829ed6cde720ad46dff23473d5ec8a31a50ee4cd92b
    """
    return ((tid & 15) << 6) + ((tid >> 4) << 4)


read_none.access_name = "read (none)"


def copy_shift(tid, i, slot):
    """copy (shift): st.shared.b128, f16, sm_90: proved for every tid < 32, i < 2, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 0b34b6f3f95649f33a91e147fb55a2a6f5efda0d16991b1e6bbf9378d80eedd5
    """
    return (i << 9) + ((tid >> 2) << 6) + ((((tid & 3) + (tid >> 3)) & 3) << 4)


copy_shift.access_name = "copy (shift)"


def load_left_shift(tid, slot):
    """load left (shift): ldmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 1 instruction, 4 wavefronts, ideal 4
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest e54c8b4ac21af72e16e3d614702f925ca3d61e4dd94fb8ee3b1c1f9a1d8c460d
    """
    return ((tid & 15) << 6) + ((((tid >> 4) + ((tid >> 1) & 3)) & 3) << 4)


load_left_shift.access_name = "load left (shift)"


def load_right_shift(tid, slot):
    """load right (shift): ldmatrix.x4.trans, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32..1007 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 1 instruction, 4 wavefronts, ideal 4
    - wavefront rule: explains 496 of 496 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 923ef2376f091273be6b195f35ed1dd89c504170b91d05a22145269b9f2a59b0
    """
    return ((tid & 15) << 6) + ((((tid >> 4) + ((tid >> 1) & 3) + 2) & 3) << 4)


load_right_shift.access_name = "load right (shift)"


def store_shift(tid, slot):
    """store (shift): stmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 1 instruction, 4 wavefronts, ideal 4
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest e54c8b4ac21af72e16e3d614702f925ca3d61e4dd94fb8ee3b1c1f9a1d8c460d
    """
    return ((tid & 15) << 6) + ((((tid >> 4) + ((tid >> 1) & 3)) & 3) << 4)


store_shift.access_name = "store (shift)"


def store_pairs_shift(tid, j, r, slot):
    """store pairs (shift): st.shared.b32, f16, sm_90: proved for every tid < 32, j < 2, r < 2, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 4 instructions, 4 wavefronts, ideal 4
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 747e43d5779b9fb67bb3fb497f5ca6316773d68fd82fe713ddd89d292416f7ba
    """
    return (r << 9) + ((tid >> 2) << 6) + (((j + (tid >> 3)) & 3) << 4) + ((tid & 3) << 2)


store_pairs_shift.access_name = "store pairs (shift)"


def read_shift(tid, slot):
    """read (shift): ld.shared.b128, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 1 instruction, 4 wavefronts, ideal 4
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest e54c8b4ac21af72e16e3d614702f925ca3d61e4dd94fb8ee3b1c1f9a1d8c460d
    """
    return ((tid & 15) << 6) + ((((tid >> 4) + ((tid >> 1) & 3)) & 3) << 4)


read_shift.access_name = "read (shift)"


def copy_xor(tid, i, slot):
    """copy (xor): st.shared.b128, f16, sm_90: proved for every tid < 32, i < 2, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 6cd81d95cd5e26c1862c312d4a844c293af395c6b29740ea212b14324154cfae
    """
    return (i << 9) + ((tid >> 2) << 6) + (((tid & 3) ^ (tid >> 3)) << 4)


copy_xor.access_name = "copy (xor)"


def load_left_xor(tid, slot):
    """load left (xor): ldmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 1 instruction, 4 wavefronts, ideal 4
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 347ae27277548d000d157678d1d6a42726f5aad049fe06560b7c6cd63593ac24
    """
    return ((tid & 15) << 6) + (((tid >> 4) ^ ((tid >> 1) & 3)) << 4)


load_left_xor.access_name = "load left (xor)"


def load_right_xor(tid, slot):
    """load right (xor): ldmatrix.x4.trans, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 32..991 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 1 instruction, 4 wavefronts, ideal 4
    - wavefront rule: explains 496 of 496 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest fd29855ecc4ccdea4489dc4ef9f98574445aefdbf03ff5cd14e670ad7de366ec
    """
    return ((tid & 15) << 6) + ((((tid >> 4) + 2) ^ ((tid >> 1) & 3)) << 4)


load_right_xor.access_name = "load right (xor)"


def store_xor(tid, slot):
    """store (xor): stmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 1 instruction, 4 wavefronts, ideal 4
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 347ae27277548d000d157678d1d6a42726f5aad049fe06560b7c6cd63593ac24
    """
    return ((tid & 15) << 6) + (((tid >> 4) ^ ((tid >> 1) & 3)) << 4)


store_xor.access_name = "store (xor)"


def store_pairs_xor(tid, j, r, slot):
    """store pairs (xor): st.shared.b32, f16, sm_90: proved for every tid < 32, j < 2, r < 2, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 4 instructions, 4 wavefronts, ideal 4
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 5636506437ee99be7739a0dc30e71e9ade594b32233a161068ae1c9ab5315d24
    """
    return (r << 9) + ((tid >> 2) << 6) + ((tid & 3) << 2) + ((j ^ (tid >> 3)) << 4)


store_pairs_xor.access_name = "store pairs (xor)"


def read_xor(tid, slot):
    """read (xor): ld.shared.b128, f16, sm_90: proved for every tid < 32, slot < 1

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 1 instruction, 4 wavefronts, ideal 4
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 347ae27277548d000d157678d1d6a42726f5aad049fe06560b7c6cd63593ac24
    """
    return ((tid & 15) << 6) + (((tid >> 4) ^ ((tid >> 1) & 3)) << 4)


read_xor.access_name = "read (xor)"
