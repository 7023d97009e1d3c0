"""Index functions of practical_16x16, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def copy_none(tid, slot):
    """copy (none): st.shared.b128, f16, sm_90: proved for every tid < 32, slot < 2

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
    digest 5fefc688def0cb0e3a54704a2481c29e01f505209ae6a99a4ebdee56447a9443
    """
    return ((tid >> 1) << 5) + ((tid & 1) << 4) + (slot << 9)


copy_none.access_name = "copy (none)"


def load_left_none(tid, slot):
    """load left (none): ldmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - excess exactly 4 wavefronts per instruction
    - 2 instructions, 16 wavefronts, ideal 8
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 2c966d6f6ae673c7b1d6f750fa2c038c44e6cd066cf2b93157a324a8a135cb0a
    """
    return ((tid & 15) << 5) + ((tid >> 4) << 4) + (slot << 9)


load_left_none.access_name = "load left (none)"


def load_right_none(tid, slot):
    """load right (none): ldmatrix.x4.trans, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - excess exactly 4 wavefronts per instruction
    - 2 instructions, 16 wavefronts, ideal 8
    - wavefront rule: explains 496 of 496 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 2c966d6f6ae673c7b1d6f750fa2c038c44e6cd066cf2b93157a324a8a135cb0a
    """
    return ((tid & 15) << 5) + ((tid >> 4) << 4) + (slot << 9)


load_right_none.access_name = "load right (none)"


def store_none(tid, slot):
    """store (none): stmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 4 wavefronts per instruction
    - 2 instructions, 16 wavefronts, ideal 8
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 2c966d6f6ae673c7b1d6f750fa2c038c44e6cd066cf2b93157a324a8a135cb0a
    """
    return ((tid & 15) << 5) + ((tid >> 4) << 4) + (slot << 9)


store_none.access_name = "store (none)"


def store_pairs_none(tid, j, r, slot):
    """store pairs (none): st.shared.b32, f16, sm_90: proved for every tid < 32, j < 2, r < 2, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 8 instructions, 16 wavefronts, ideal 8
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest ff3f9574f56e8310f2282718df5bb85589b6b5eb08008d1ecd9ead5efdcae128
    """
    return (r << 8) + ((tid >> 2) << 5) + (j << 4) + ((tid & 3) << 2) + (slot << 9)


store_pairs_none.access_name = "store pairs (none)"


def read_none(tid, slot):
    """read (none): ld.shared.b128, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 5fefc688def0cb0e3a54704a2481c29e01f505209ae6a99a4ebdee56447a9443
    """
    return ((tid >> 1) << 5) + ((tid & 1) << 4) + (slot << 9)


read_none.access_name = "read (none)"


def copy_shift(tid, slot):
    """copy (shift): st.shared.b128, f16, sm_90: proved for every tid < 32, slot < 2

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
    digest a64de6ad5037304389ed7272a428d1923848fdc9fca5bdf3b8d33964daf1f563
    """
    return ((tid >> 1) << 5) + (slot << 9) + ((((tid & 1) + ((tid >> 3) & 1)) & 1) << 4)


copy_shift.access_name = "copy (shift)"


def load_left_shift(tid, slot):
    """load left (shift): ldmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0695f6acabeecb5b7637a9227c6a2e2b968e2ce2049937676bac69f1877fd3c6
    """
    return ((tid & 15) << 5) + (slot << 9) + ((((tid >> 4) + ((tid >> 2) & 1)) & 1) << 4)


load_left_shift.access_name = "load left (shift)"


def load_right_shift(tid, slot):
    """load right (shift): ldmatrix.x4.trans, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 496 of 496 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0695f6acabeecb5b7637a9227c6a2e2b968e2ce2049937676bac69f1877fd3c6
    """
    return ((tid & 15) << 5) + (slot << 9) + ((((tid >> 4) + ((tid >> 2) & 1)) & 1) << 4)


load_right_shift.access_name = "load right (shift)"


def store_shift(tid, slot):
    """store (shift): stmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0695f6acabeecb5b7637a9227c6a2e2b968e2ce2049937676bac69f1877fd3c6
    """
    return ((tid & 15) << 5) + (slot << 9) + ((((tid >> 4) + ((tid >> 2) & 1)) & 1) << 4)


store_shift.access_name = "store (shift)"


def store_pairs_shift(tid, j, r, slot):
    """store pairs (shift): st.shared.b32, f16, sm_90: proved for every tid < 32, j < 2, r < 2, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 8 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest f3d515ea8b24163f8ce3f5bf52a6f628ee4ffa5f1a4c648f04de35b24df4c878
    """
    return (r << 8) + ((tid >> 2) << 5) + (slot << 9) + (((j + (tid >> 4)) & 1) << 4) + ((tid & 3) << 2)


store_pairs_shift.access_name = "store pairs (shift)"


def read_shift(tid, slot):
    """read (shift): ld.shared.b128, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest a64de6ad5037304389ed7272a428d1923848fdc9fca5bdf3b8d33964daf1f563
    """
    return ((tid >> 1) << 5) + (slot << 9) + ((((tid & 1) + ((tid >> 3) & 1)) & 1) << 4)


read_shift.access_name = "read (shift)"


def copy_xor(tid, slot):
    """copy (xor): st.shared.b128, f16, sm_90: proved for every tid < 32, slot < 2

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
    digest a64de6ad5037304389ed7272a428d1923848fdc9fca5bdf3b8d33964daf1f563
    """
    return ((tid >> 1) << 5) + (slot << 9) + (((tid & 1) ^ ((tid >> 3) & 1)) << 4)


copy_xor.access_name = "copy (xor)"


def load_left_xor(tid, slot):
    """load left (xor): ldmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0695f6acabeecb5b7637a9227c6a2e2b968e2ce2049937676bac69f1877fd3c6
    """
    return ((tid & 15) << 5) + (slot << 9) + (((tid >> 4) ^ ((tid >> 2) & 1)) << 4)


load_left_xor.access_name = "load left (xor)"


def load_right_xor(tid, slot):
    """load right (xor): ldmatrix.x4.trans, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 496 of 496 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0695f6acabeecb5b7637a9227c6a2e2b968e2ce2049937676bac69f1877fd3c6
    """
    return ((tid & 15) << 5) + (slot << 9) + (((tid >> 4) ^ ((tid >> 2) & 1)) << 4)


load_right_xor.access_name = "load right (xor)"


def store_xor(tid, slot):
    """store (xor): stmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0695f6acabeecb5b7637a9227c6a2e2b968e2ce2049937676bac69f1877fd3c6
    """
    return ((tid & 15) << 5) + (slot << 9) + (((tid >> 4) ^ ((tid >> 2) & 1)) << 4)


store_xor.access_name = "store (xor)"


def store_pairs_xor(tid, j, r, slot):
    """store pairs (xor): st.shared.b32, f16, sm_90: proved for every tid < 32, j < 2, r < 2, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 8 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest f3d515ea8b24163f8ce3f5bf52a6f628ee4ffa5f1a4c648f04de35b24df4c878
    """
    return (r << 8) + ((tid >> 2) << 5) + ((tid & 3) << 2) + (slot << 9) + ((j ^ (tid >> 4)) << 4)


store_pairs_xor.access_name = "store pairs (xor)"


def read_xor(tid, slot):
    """read (xor): ld.shared.b128, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest a64de6ad5037304389ed7272a428d1923848fdc9fca5bdf3b8d33964daf1f563
    """
    return ((tid >> 1) << 5) + (slot << 9) + (((tid & 1) ^ ((tid >> 3) & 1)) << 4)


read_xor.access_name = "read (xor)"


def copy_rearranged(tid, slot):
    """copy (rearranged): st.shared.b128, f16, sm_90: proved for every tid < 32, slot < 2

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
    digest 5fefc688def0cb0e3a54704a2481c29e01f505209ae6a99a4ebdee56447a9443
    """
    return ((tid >> 1) << 5) + ((tid & 1) << 4) + (slot << 9)


copy_rearranged.access_name = "copy (rearranged)"


def load_left_rearranged(tid, slot):
    """load left (rearranged): ldmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0695f6acabeecb5b7637a9227c6a2e2b968e2ce2049937676bac69f1877fd3c6
    """
    return ((tid & 15) << 5) + (((tid >> 4) ^ ((tid >> 2) & 1)) << 4) + (slot << 9)


load_left_rearranged.access_name = "load left (rearranged)"


def load_right_rearranged(tid, slot):
    """load right (rearranged): ldmatrix.x4.trans, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 496 of 496 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0695f6acabeecb5b7637a9227c6a2e2b968e2ce2049937676bac69f1877fd3c6
    """
    return ((tid & 15) << 5) + (((tid >> 4) ^ ((tid >> 2) & 1)) << 4) + (slot << 9)


load_right_rearranged.access_name = "load right (rearranged)"


def store_rearranged(tid, slot):
    """store (rearranged): stmatrix.x4, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 0695f6acabeecb5b7637a9227c6a2e2b968e2ce2049937676bac69f1877fd3c6
    """
    return ((tid & 15) << 5) + (((tid >> 4) ^ ((tid >> 2) & 1)) << 4) + (slot << 9)


store_rearranged.access_name = "store (rearranged)"


def store_pairs_rearranged(tid, j, r, slot):
    """store pairs (rearranged): st.shared.b32, f16, sm_90: proved for every tid < 32, j < 2, r < 2, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 8 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest f3d515ea8b24163f8ce3f5bf52a6f628ee4ffa5f1a4c648f04de35b24df4c878
    """
    return (r << 8) + ((tid >> 2) << 5) + ((j ^ (tid >> 4)) << 4) + ((tid & 3) << 2) + (slot << 9)


store_pairs_rearranged.access_name = "store pairs (rearranged)"


def read_rearranged(tid, slot):
    """read (rearranged): ld.shared.b128, f16, sm_90: proved for every tid < 32, slot < 2

    Returns bytes from the start of the tile.
    - one-to-one on its 512 coordinates
    - in bounds: offsets 0..511
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..1023 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 2 instructions, 8 wavefronts, ideal 8
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 5fefc688def0cb0e3a54704a2481c29e01f505209ae6a99a4ebdee56447a9443
    """
    return ((tid >> 1) << 5) + ((tid & 1) << 4) + (slot << 9)


read_rearranged.access_name = "read (rearranged)"
