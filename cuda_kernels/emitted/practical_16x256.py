"""Index functions of practical_16x256, in bytes.

Emitted and proved by simlayout: `python -m cuda_kernels.emitted` writes this file; do not edit it.
"""


def copy_none(tid, slot):
    """copy (none): st.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest ec8d91fdc7a07dfa79244d88e587850ea454d8778fec54180019b07c6a676fae
    """
    return ((tid >> 5) << 9) + ((tid & 31) << 4) + (slot << 13)


copy_none.access_name = "copy (none)"


def load_rows_none(tid, slot):
    """load rows (none): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 4 wavefronts per instruction
    - 64 instructions, 512 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 014b0a2f07446579d6978c2652a7ca92091fc90493a440df6ab6673ea00344f1
    """
    return ((tid >> 5) << 9) + ((tid & 15) << 5) + (((tid >> 4) & 1) << 4) + (slot << 13)


load_rows_none.access_name = "load rows (none)"


def load_blocks_none(tid, slot):
    """load blocks (none): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 28 wavefronts per instruction
    - 64 instructions, 2048 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest f614b182d6054df1d2bbfa6e7f7209e84938154e8aa64b24cb0b52bac60792a4
    """
    return ((tid & 15) << 9) + ((tid >> 5) << 5) + (((tid >> 4) & 1) << 4) + (slot << 13)


load_blocks_none.access_name = "load blocks (none)"


def store_rows_none(tid, slot):
    """store rows (none): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 4 wavefronts per instruction
    - 64 instructions, 512 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 014b0a2f07446579d6978c2652a7ca92091fc90493a440df6ab6673ea00344f1
    """
    return ((tid >> 5) << 9) + ((tid & 15) << 5) + (((tid >> 4) & 1) << 4) + (slot << 13)


store_rows_none.access_name = "store rows (none)"


def store_blocks_none(tid, slot):
    """store blocks (none): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 28 wavefronts per instruction
    - 64 instructions, 2048 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest f614b182d6054df1d2bbfa6e7f7209e84938154e8aa64b24cb0b52bac60792a4
    """
    return ((tid & 15) << 9) + ((tid >> 5) << 5) + (((tid >> 4) & 1) << 4) + (slot << 13)


store_blocks_none.access_name = "store blocks (none)"


def store_rows_pairs_none(tid, j, r, slot):
    """store rows pairs (none): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 256 instructions, 512 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 6018e5e07f882712e7486859133021cbd0f8b1da2613a9628db180732a9d3dd0
    """
    return ((tid >> 5) << 9) + (r << 8) + (((tid >> 2) & 7) << 5) + (j << 4) + ((tid & 3) << 2) + (slot << 13)


store_rows_pairs_none.access_name = "store rows pairs (none)"


def store_blocks_pairs_none(tid, j, r, slot):
    """store blocks pairs (none): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 7 wavefronts per instruction
    - 256 instructions, 2048 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest bc927f5c9fcbf1db7018666f91652ecab88ce23833a4daf4ed5c98468516a833
    """
    return (r << 12) + (((tid >> 2) & 7) << 9) + ((tid >> 5) << 5) + (j << 4) + ((tid & 3) << 2) + (slot << 13)


store_blocks_pairs_none.access_name = "store blocks pairs (none)"


def read_none(tid, slot):
    """read (none): ld.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest ec8d91fdc7a07dfa79244d88e587850ea454d8778fec54180019b07c6a676fae
    """
    return ((tid >> 5) << 9) + ((tid & 31) << 4) + (slot << 13)


read_none.access_name = "read (none)"


def copy_shift_rows(tid, slot):
    """copy (shift rows): st.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest a18e04a5148c5ca8ffbd5de3a37437eaf4f8b6b1be2848a934a2a5bf82b7aad9
    """
    return (((tid >> 5) << 9) + (slot << 13) + (((tid >> 1) & 15) << 5)
            + ((((tid & 31) + ((tid >> 3) & 1)) & 1) << 4))


copy_shift_rows.access_name = "copy (shift rows)"


def load_rows_shift_rows(tid, slot):
    """load rows (shift rows): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 1664d2e5300eea05f924b1f0aede38c28964adc25915ae9658220c642b878633
    """
    return (((tid >> 5) << 9) + ((tid & 15) << 5) + (slot << 13)
            + (((((tid >> 4) & 1) + ((tid >> 2) & 1)) & 1) << 4))


load_rows_shift_rows.access_name = "load rows (shift rows)"


def load_blocks_shift_rows(tid, slot):
    """load blocks (shift rows): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 28 wavefronts per instruction
    - 64 instructions, 2048 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest dcd68a8af4ef2b6868ff8e08c5240555fb035dc5fa9299ffa7e508f5b0cbcc61
    """
    return (((tid & 15) << 9) + ((tid >> 5) << 5) + (slot << 13)
            + (((((tid >> 4) & 1) + ((tid >> 7) & 1)) & 1) << 4))


load_blocks_shift_rows.access_name = "load blocks (shift rows)"


def store_rows_shift_rows(tid, slot):
    """store rows (shift rows): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 1664d2e5300eea05f924b1f0aede38c28964adc25915ae9658220c642b878633
    """
    return (((tid >> 5) << 9) + ((tid & 15) << 5) + (slot << 13)
            + (((((tid >> 4) & 1) + ((tid >> 2) & 1)) & 1) << 4))


store_rows_shift_rows.access_name = "store rows (shift rows)"


def store_blocks_shift_rows(tid, slot):
    """store blocks (shift rows): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 28 wavefronts per instruction
    - 64 instructions, 2048 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest dcd68a8af4ef2b6868ff8e08c5240555fb035dc5fa9299ffa7e508f5b0cbcc61
    """
    return (((tid & 15) << 9) + ((tid >> 5) << 5) + (slot << 13)
            + (((((tid >> 4) & 1) + ((tid >> 7) & 1)) & 1) << 4))


store_blocks_shift_rows.access_name = "store blocks (shift rows)"


def store_rows_pairs_shift_rows(tid, j, r, slot):
    """store rows pairs (shift rows): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot <
      4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 45f44157bd7c9c9f27c3373946815f98d7c48dd8d2bb836f7f7d11d4dc3efd72
    """
    return (((tid >> 5) << 9) + (r << 8) + (((tid >> 2) & 7) << 5) + (slot << 13)
            + (((j + ((tid >> 4) & 1)) & 1) << 4) + ((tid & 3) << 2))


store_rows_pairs_shift_rows.access_name = "store rows pairs (shift rows)"


def store_blocks_pairs_shift_rows(tid, j, r, slot):
    """store blocks pairs (shift rows): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot
      < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 7 wavefronts per instruction
    - 256 instructions, 2048 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 47242ea84d85718b097c475618dd68af9cac54146b303ea6056697abfc0ca95d
    """
    return ((r << 12) + (((tid >> 2) & 7) << 9) + ((tid >> 5) << 5) + (slot << 13)
            + (((j + ((tid >> 7) & 1)) & 1) << 4) + ((tid & 3) << 2))


store_blocks_pairs_shift_rows.access_name = "store blocks pairs (shift rows)"


def read_shift_rows(tid, slot):
    """read (shift rows): ld.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest a18e04a5148c5ca8ffbd5de3a37437eaf4f8b6b1be2848a934a2a5bf82b7aad9
    """
    return (((tid >> 5) << 9) + (slot << 13) + (((tid >> 1) & 15) << 5)
            + ((((tid & 31) + ((tid >> 3) & 1)) & 1) << 4))


read_shift_rows.access_name = "read (shift rows)"


def copy_shift_rows_wide(tid, slot):
    """copy (shift rows wide): st.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 4d1438d85872c8205c7b460bc6f50d6474eb62bcb73daeeedf1a49b66fc4fcb6
    """
    t0 = tid >> 5
    t1 = (tid >> 3) & 3
    return (t0 << 9) + (slot << 13) + (t1 << 7) + ((((tid & 31) + ((t0 & 1) << 2) + t1) & 7) << 4)


copy_shift_rows_wide.access_name = "copy (shift rows wide)"


def load_rows_shift_rows_wide(tid, slot):
    """load rows (shift rows wide): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 3ad3b5cb3239af341ab46c655320dad787831f1df1efa305dea6fd8de79be941
    """
    t0 = tid >> 5
    t1 = (tid >> 2) & 3
    return ((t0 << 9) + (slot << 13) + (t1 << 7)
            + (((((tid & 15) << 1) + ((tid >> 4) & 1) + ((t0 & 1) << 2) + t1) & 7) << 4))


load_rows_shift_rows_wide.access_name = "load rows (shift rows wide)"


def load_blocks_shift_rows_wide(tid, slot):
    """load blocks (shift rows wide): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 12 wavefronts per instruction
    - 64 instructions, 1024 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest bf22a721f44d034c6962f480fa8ffb0141df60320cd7000f7dce122930741215
    """
    t0 = tid >> 7
    return (((tid & 15) << 9) + (slot << 13) + (t0 << 7)
            + (((((tid >> 5) << 1) + ((tid >> 4) & 1) + ((tid & 1) << 2) + t0) & 7) << 4))


load_blocks_shift_rows_wide.access_name = "load blocks (shift rows wide)"


def store_rows_shift_rows_wide(tid, slot):
    """store rows (shift rows wide): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 3ad3b5cb3239af341ab46c655320dad787831f1df1efa305dea6fd8de79be941
    """
    t0 = tid >> 5
    t1 = (tid >> 2) & 3
    return ((t0 << 9) + (slot << 13) + (t1 << 7)
            + (((((tid & 15) << 1) + ((tid >> 4) & 1) + ((t0 & 1) << 2) + t1) & 7) << 4))


store_rows_shift_rows_wide.access_name = "store rows (shift rows wide)"


def store_blocks_shift_rows_wide(tid, slot):
    """store blocks (shift rows wide): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 12 wavefronts per instruction
    - 64 instructions, 1024 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest bf22a721f44d034c6962f480fa8ffb0141df60320cd7000f7dce122930741215
    """
    t0 = tid >> 7
    return (((tid & 15) << 9) + (slot << 13) + (t0 << 7)
            + (((((tid >> 5) << 1) + ((tid >> 4) & 1) + ((tid & 1) << 2) + t0) & 7) << 4))


store_blocks_shift_rows_wide.access_name = "store blocks (shift rows wide)"


def store_rows_pairs_shift_rows_wide(tid, j, r, slot):
    """store rows pairs (shift rows wide): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2,
      slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest e3fa6ab08c81f5c7c44266a7908b1c10931e1b68334f9a258e771df3ae3b6b27
    """
    t0 = tid >> 5
    t1 = (tid >> 4) & 1
    return ((t0 << 9) + (r << 8) + (slot << 13) + (t1 << 7)
            + ((((r << 1) + (((tid >> 2) & 7) << 1) + j + ((t0 & 1) << 2) + t1) & 7) << 4) + ((tid & 3) << 2))


store_rows_pairs_shift_rows_wide.access_name = "store rows pairs (shift rows wide)"


def store_blocks_pairs_shift_rows_wide(tid, j, r, slot):
    """store blocks pairs (shift rows wide): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2,
      slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 3 wavefronts per instruction
    - 256 instructions, 1024 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 080e7448f7df3b9da304f88814acb787a614cb83c2981260afc2159a5fc5ebf6
    """
    t0 = tid >> 2
    t1 = tid >> 7
    return ((r << 12) + ((t0 & 7) << 9) + (slot << 13) + (t1 << 7)
            + (((((tid >> 5) << 1) + j + ((t0 & 1) << 2) + t1) & 7) << 4) + ((tid & 3) << 2))


store_blocks_pairs_shift_rows_wide.access_name = "store blocks pairs (shift rows wide)"


def read_shift_rows_wide(tid, slot):
    """read (shift rows wide): ld.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 4d1438d85872c8205c7b460bc6f50d6474eb62bcb73daeeedf1a49b66fc4fcb6
    """
    t0 = tid >> 5
    t1 = (tid >> 3) & 3
    return (t0 << 9) + (slot << 13) + (t1 << 7) + ((((tid & 31) + ((t0 & 1) << 2) + t1) & 7) << 4)


read_shift_rows_wide.access_name = "read (shift rows wide)"


def copy_shift_blocks(tid, slot):
    """copy (shift blocks): st.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 61487603f91e2087823bb0c1ad9f236172ae9110a33799e655bb2a5d1948ac43
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((tid >> 3) & 3) << 7) + ((((tid & 31) + (t0 & 7)) & 7) << 4)


copy_shift_blocks.access_name = "copy (shift blocks)"


def load_rows_shift_blocks(tid, slot):
    """load rows (shift blocks): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 4 wavefronts per instruction
    - 64 instructions, 512 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 2bc852f4360c178d29669d100b915884dda40c4b4025c3f3b2b0879c1acb8bd6
    """
    t0 = tid >> 5
    return ((t0 << 9) + (slot << 13) + (((tid >> 2) & 3) << 7)
            + (((((tid & 15) << 1) + ((tid >> 4) & 1) + (t0 & 7)) & 7) << 4))


load_rows_shift_blocks.access_name = "load rows (shift blocks)"


def load_blocks_shift_blocks(tid, slot):
    """load blocks (shift blocks): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest f7214d2469cfed25f0f06bffc590edf8dfca18e40f2f21f43e3c5d8f51febdc3
    """
    return (((tid & 15) << 9) + (slot << 13) + ((tid >> 7) << 7)
            + (((((tid >> 5) << 1) + ((tid >> 4) & 1) + (tid & 7)) & 7) << 4))


load_blocks_shift_blocks.access_name = "load blocks (shift blocks)"


def store_rows_shift_blocks(tid, slot):
    """store rows (shift blocks): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 4 wavefronts per instruction
    - 64 instructions, 512 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 2bc852f4360c178d29669d100b915884dda40c4b4025c3f3b2b0879c1acb8bd6
    """
    t0 = tid >> 5
    return ((t0 << 9) + (slot << 13) + (((tid >> 2) & 3) << 7)
            + (((((tid & 15) << 1) + ((tid >> 4) & 1) + (t0 & 7)) & 7) << 4))


store_rows_shift_blocks.access_name = "store rows (shift blocks)"


def store_blocks_shift_blocks(tid, slot):
    """store blocks (shift blocks): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest f7214d2469cfed25f0f06bffc590edf8dfca18e40f2f21f43e3c5d8f51febdc3
    """
    return (((tid & 15) << 9) + (slot << 13) + ((tid >> 7) << 7)
            + (((((tid >> 5) << 1) + ((tid >> 4) & 1) + (tid & 7)) & 7) << 4))


store_blocks_shift_blocks.access_name = "store blocks (shift blocks)"


def store_rows_pairs_shift_blocks(tid, j, r, slot):
    """store rows pairs (shift blocks): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot
      < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 256 instructions, 512 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 4f185fc9ef65df4ff8b64b8d701e796f7acee1d0d4ccedb3b7db9892dd06b714
    """
    t0 = tid >> 5
    return ((t0 << 9) + (r << 8) + (slot << 13) + (((tid >> 4) & 1) << 7)
            + ((((((tid >> 2) & 7) << 1) + j + (t0 & 7)) & 7) << 4) + ((tid & 3) << 2))


store_rows_pairs_shift_blocks.access_name = "store rows pairs (shift blocks)"


def store_blocks_pairs_shift_blocks(tid, j, r, slot):
    """store blocks pairs (shift blocks): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2,
      slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest cff2e8f733c307cb2e1e5aa80921b9f0ada774ac9092ad1e2f1c1752a38ba9a6
    """
    t0 = (tid >> 2) & 7
    return ((r << 12) + (t0 << 9) + (slot << 13) + ((tid >> 7) << 7) + (((t0 + ((tid >> 5) << 1) + j) & 7) << 4)
            + ((tid & 3) << 2))


store_blocks_pairs_shift_blocks.access_name = "store blocks pairs (shift blocks)"


def read_shift_blocks(tid, slot):
    """read (shift blocks): ld.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 61487603f91e2087823bb0c1ad9f236172ae9110a33799e655bb2a5d1948ac43
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((tid >> 3) & 3) << 7) + ((((tid & 31) + (t0 & 7)) & 7) << 4)


read_shift_blocks.access_name = "read (shift blocks)"


def copy_shift(tid, slot):
    """copy (shift): st.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 2968450de3d7f6c4427dbba05bcdd0b215ca227472e911a08811d019202fdf58
    """
    t0 = tid >> 5
    t1 = tid >> 3
    t2 = (tid & 31) + (t0 & 7)
    return ((t0 << 9) + (slot << 13) + ((t1 & 3) << 7) + (((t2 >> 1) & 3) << 5)
            + ((((t2 & 7) + (t1 & 1)) & 1) << 4))


copy_shift.access_name = "copy (shift)"


def load_rows_shift(tid, slot):
    """load rows (shift): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 6bc9ae4397a9718c7e43a0b99359bc748fa346ceeab581d0d3ad38133a2fb464
    """
    t0 = tid >> 5
    t1 = tid >> 2
    t2 = tid & 15
    t3 = (tid >> 4) & 1
    t4 = t0 & 7
    return ((t0 << 9) + (slot << 13) + ((t1 & 3) << 7) + (((t2 + ((t3 + t4) >> 1)) & 3) << 5)
            + ((((((t2 << 1) + t3 + t4) & 7) + (t1 & 1)) & 1) << 4))


load_rows_shift.access_name = "load rows (shift)"


def load_blocks_shift(tid, slot):
    """load blocks (shift): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 9fbf2cfc480c8871731dbd7e7f5f9dd16575a9273ed5534cb283197e7b8d3922
    """
    t0 = tid >> 7
    t1 = tid >> 5
    t2 = (tid >> 4) & 1
    t3 = tid & 7
    return (((tid & 15) << 9) + (slot << 13) + (t0 << 7) + (((t1 + ((t2 + t3) >> 1)) & 3) << 5)
            + ((((((t1 << 1) + t2 + t3) & 7) + (t0 & 1)) & 1) << 4))


load_blocks_shift.access_name = "load blocks (shift)"


def store_rows_shift(tid, slot):
    """store rows (shift): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 6bc9ae4397a9718c7e43a0b99359bc748fa346ceeab581d0d3ad38133a2fb464
    """
    t0 = tid >> 5
    t1 = tid >> 2
    t2 = tid & 15
    t3 = (tid >> 4) & 1
    t4 = t0 & 7
    return ((t0 << 9) + (slot << 13) + ((t1 & 3) << 7) + (((t2 + ((t3 + t4) >> 1)) & 3) << 5)
            + ((((((t2 << 1) + t3 + t4) & 7) + (t1 & 1)) & 1) << 4))


store_rows_shift.access_name = "store rows (shift)"


def store_blocks_shift(tid, slot):
    """store blocks (shift): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 9fbf2cfc480c8871731dbd7e7f5f9dd16575a9273ed5534cb283197e7b8d3922
    """
    t0 = tid >> 7
    t1 = tid >> 5
    t2 = (tid >> 4) & 1
    t3 = tid & 7
    return (((tid & 15) << 9) + (slot << 13) + (t0 << 7) + (((t1 + ((t2 + t3) >> 1)) & 3) << 5)
            + ((((((t1 << 1) + t2 + t3) & 7) + (t0 & 1)) & 1) << 4))


store_blocks_shift.access_name = "store blocks (shift)"


def store_rows_pairs_shift(tid, j, r, slot):
    """store rows pairs (shift): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 3f95381d72cc30f26b7495366bdea8e35e001b67fff4a58dcb0eadeab0d9554a
    """
    t0 = tid >> 5
    t1 = (tid >> 4) & 1
    t2 = (tid >> 2) & 7
    t3 = t0 & 7
    return ((t0 << 9) + (r << 8) + (slot << 13) + (t1 << 7) + (((t2 + ((j + t3) >> 1)) & 3) << 5)
            + (((t1 + (((t2 << 1) + j + t3) & 7)) & 1) << 4) + ((tid & 3) << 2))


store_rows_pairs_shift.access_name = "store rows pairs (shift)"


def store_blocks_pairs_shift(tid, j, r, slot):
    """store blocks pairs (shift): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest fdee5c30ec88602d497f9a812b2ada448272bde1c721072e8aac1eb502f83fd5
    """
    t0 = (tid >> 2) & 7
    t1 = tid >> 7
    t2 = tid >> 5
    return ((r << 12) + (t0 << 9) + (slot << 13) + (t1 << 7) + (((t2 + ((t0 + j) >> 1)) & 3) << 5)
            + (((((t0 + (t2 << 1) + j) & 7) + (t1 & 1)) & 1) << 4) + ((tid & 3) << 2))


store_blocks_pairs_shift.access_name = "store blocks pairs (shift)"


def read_shift(tid, slot):
    """read (shift): ld.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 2968450de3d7f6c4427dbba05bcdd0b215ca227472e911a08811d019202fdf58
    """
    t0 = tid >> 5
    t1 = tid >> 3
    t2 = (tid & 31) + (t0 & 7)
    return ((t0 << 9) + (slot << 13) + ((t1 & 3) << 7) + (((t2 >> 1) & 3) << 5)
            + ((((t2 & 7) + (t1 & 1)) & 1) << 4))


read_shift.access_name = "read (shift)"


def copy_xor_rows(tid, slot):
    """copy (xor rows): st.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest a18e04a5148c5ca8ffbd5de3a37437eaf4f8b6b1be2848a934a2a5bf82b7aad9
    """
    return ((tid >> 5) << 9) + (slot << 13) + (((tid & 31) ^ ((tid >> 3) & 1)) << 4)


copy_xor_rows.access_name = "copy (xor rows)"


def load_rows_xor_rows(tid, slot):
    """load rows (xor rows): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 1664d2e5300eea05f924b1f0aede38c28964adc25915ae9658220c642b878633
    """
    return ((tid >> 5) << 9) + ((tid & 15) << 5) + (slot << 13) + ((((tid >> 4) & 1) ^ ((tid >> 2) & 1)) << 4)


load_rows_xor_rows.access_name = "load rows (xor rows)"


def load_blocks_xor_rows(tid, slot):
    """load blocks (xor rows): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 28 wavefronts per instruction
    - 64 instructions, 2048 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest dcd68a8af4ef2b6868ff8e08c5240555fb035dc5fa9299ffa7e508f5b0cbcc61
    """
    return ((tid & 15) << 9) + ((tid >> 5) << 5) + (slot << 13) + ((((tid >> 4) & 1) ^ ((tid >> 7) & 1)) << 4)


load_blocks_xor_rows.access_name = "load blocks (xor rows)"


def store_rows_xor_rows(tid, slot):
    """store rows (xor rows): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 1664d2e5300eea05f924b1f0aede38c28964adc25915ae9658220c642b878633
    """
    return ((tid >> 5) << 9) + ((tid & 15) << 5) + (slot << 13) + ((((tid >> 4) & 1) ^ ((tid >> 2) & 1)) << 4)


store_rows_xor_rows.access_name = "store rows (xor rows)"


def store_blocks_xor_rows(tid, slot):
    """store blocks (xor rows): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 28 wavefronts per instruction
    - 64 instructions, 2048 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest dcd68a8af4ef2b6868ff8e08c5240555fb035dc5fa9299ffa7e508f5b0cbcc61
    """
    return ((tid & 15) << 9) + ((tid >> 5) << 5) + (slot << 13) + ((((tid >> 4) & 1) ^ ((tid >> 7) & 1)) << 4)


store_blocks_xor_rows.access_name = "store blocks (xor rows)"


def store_rows_pairs_xor_rows(tid, j, r, slot):
    """store rows pairs (xor rows): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 45f44157bd7c9c9f27c3373946815f98d7c48dd8d2bb836f7f7d11d4dc3efd72
    """
    return (((tid >> 5) << 9) + (r << 8) + (((tid >> 2) & 7) << 5) + ((tid & 3) << 2) + (slot << 13)
            + ((j ^ ((tid >> 4) & 1)) << 4))


store_rows_pairs_xor_rows.access_name = "store rows pairs (xor rows)"


def store_blocks_pairs_xor_rows(tid, j, r, slot):
    """store blocks pairs (xor rows): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot <
      4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 7 wavefronts per instruction
    - 256 instructions, 2048 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 47242ea84d85718b097c475618dd68af9cac54146b303ea6056697abfc0ca95d
    """
    return ((r << 12) + (((tid >> 2) & 7) << 9) + ((tid >> 5) << 5) + ((tid & 3) << 2) + (slot << 13)
            + ((j ^ ((tid >> 7) & 1)) << 4))


store_blocks_pairs_xor_rows.access_name = "store blocks pairs (xor rows)"


def read_xor_rows(tid, slot):
    """read (xor rows): ld.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest a18e04a5148c5ca8ffbd5de3a37437eaf4f8b6b1be2848a934a2a5bf82b7aad9
    """
    return ((tid >> 5) << 9) + (slot << 13) + (((tid & 31) ^ ((tid >> 3) & 1)) << 4)


read_xor_rows.access_name = "read (xor rows)"


def copy_xor_rows_wide(tid, slot):
    """copy (xor rows wide): st.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest a9f8857e491ce542905846a1fd56e33dc4b37dd750da6e372d107c39f888b0b0
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((tid & 31) ^ (((t0 & 1) << 2) + ((tid >> 3) & 3))) << 4)


copy_xor_rows_wide.access_name = "copy (xor rows wide)"


def load_rows_xor_rows_wide(tid, slot):
    """load rows (xor rows wide): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 5b77c80e494f9cc55ffd136ec3c3a686b819733e44567b420a60b0a98b6ba1e7
    """
    t0 = tid >> 5
    return ((t0 << 9) + (slot << 13)
            + (((((tid & 15) << 1) + ((tid >> 4) & 1)) ^ (((t0 & 1) << 2) + ((tid >> 2) & 3))) << 4))


load_rows_xor_rows_wide.access_name = "load rows (xor rows wide)"


def load_blocks_xor_rows_wide(tid, slot):
    """load blocks (xor rows wide): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 12 wavefronts per instruction
    - 64 instructions, 1024 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 4567376753b30764bcfd51f1ef2a4ac7895a2b83620f45a2964626803455619b
    """
    return (((tid & 15) << 9) + (slot << 13)
            + (((((tid >> 5) << 1) + ((tid >> 4) & 1)) ^ (((tid & 1) << 2) + (tid >> 7))) << 4))


load_blocks_xor_rows_wide.access_name = "load blocks (xor rows wide)"


def store_rows_xor_rows_wide(tid, slot):
    """store rows (xor rows wide): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 5b77c80e494f9cc55ffd136ec3c3a686b819733e44567b420a60b0a98b6ba1e7
    """
    t0 = tid >> 5
    return ((t0 << 9) + (slot << 13)
            + (((((tid & 15) << 1) + ((tid >> 4) & 1)) ^ (((t0 & 1) << 2) + ((tid >> 2) & 3))) << 4))


store_rows_xor_rows_wide.access_name = "store rows (xor rows wide)"


def store_blocks_xor_rows_wide(tid, slot):
    """store blocks (xor rows wide): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 12 wavefronts per instruction
    - 64 instructions, 1024 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 4567376753b30764bcfd51f1ef2a4ac7895a2b83620f45a2964626803455619b
    """
    return (((tid & 15) << 9) + (slot << 13)
            + (((((tid >> 5) << 1) + ((tid >> 4) & 1)) ^ (((tid & 1) << 2) + (tid >> 7))) << 4))


store_blocks_xor_rows_wide.access_name = "store blocks (xor rows wide)"


def store_rows_pairs_xor_rows_wide(tid, j, r, slot):
    """store rows pairs (xor rows wide): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot
      < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 9643a27439bf04417fe8cfe6d8fa0c7970b923a6ebb5316d75cd9f210338d744
    """
    t0 = tid >> 5
    return ((t0 << 9) + (r << 8) + ((tid & 3) << 2) + (slot << 13)
            + ((((((tid >> 2) & 7) << 1) + j) ^ (((t0 & 1) << 2) + (r << 1) + ((tid >> 4) & 1))) << 4))


store_rows_pairs_xor_rows_wide.access_name = "store rows pairs (xor rows wide)"


def store_blocks_pairs_xor_rows_wide(tid, j, r, slot):
    """store blocks pairs (xor rows wide): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2,
      slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 3 wavefronts per instruction
    - 256 instructions, 1024 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 7d92a3f722922b10dddb13344c3d6060cbfb855bb9c7d7736791e5d473bfda11
    """
    t0 = tid >> 2
    return ((r << 12) + ((t0 & 7) << 9) + ((tid & 3) << 2) + (slot << 13)
            + (((((tid >> 5) << 1) + j) ^ (((t0 & 1) << 2) + (tid >> 7))) << 4))


store_blocks_pairs_xor_rows_wide.access_name = "store blocks pairs (xor rows wide)"


def read_xor_rows_wide(tid, slot):
    """read (xor rows wide): ld.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest a9f8857e491ce542905846a1fd56e33dc4b37dd750da6e372d107c39f888b0b0
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((tid & 31) ^ (((t0 & 1) << 2) + ((tid >> 3) & 3))) << 4)


read_xor_rows_wide.access_name = "read (xor rows wide)"


def copy_xor_blocks(tid, slot):
    """copy (xor blocks): st.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 1e50392ce6b42e15daee6b96d6d9632e7b3447f2e8669aca92501a561aabcbc1
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((tid & 31) ^ (t0 & 7)) << 4)


copy_xor_blocks.access_name = "copy (xor blocks)"


def load_rows_xor_blocks(tid, slot):
    """load rows (xor blocks): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - excess exactly 4 wavefronts per instruction
    - 64 instructions, 512 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 928ea3573913ac47df09677f29cb55cb235dea70c618b1fcf4d1728992f995f7
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((((tid & 15) << 1) + ((tid >> 4) & 1)) ^ (t0 & 7)) << 4)


load_rows_xor_blocks.access_name = "load rows (xor blocks)"


def load_blocks_xor_blocks(tid, slot):
    """load blocks (xor blocks): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 1e06157b592ae77edda47223c4e621240c929a8d1ff73733ed55c42cfddc00c5
    """
    return ((tid & 15) << 9) + (slot << 13) + (((((tid >> 5) << 1) + ((tid >> 4) & 1)) ^ (tid & 7)) << 4)


load_blocks_xor_blocks.access_name = "load blocks (xor blocks)"


def store_rows_xor_blocks(tid, slot):
    """store rows (xor blocks): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - excess exactly 4 wavefronts per instruction
    - 64 instructions, 512 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 928ea3573913ac47df09677f29cb55cb235dea70c618b1fcf4d1728992f995f7
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((((tid & 15) << 1) + ((tid >> 4) & 1)) ^ (t0 & 7)) << 4)


store_rows_xor_blocks.access_name = "store rows (xor blocks)"


def store_blocks_xor_blocks(tid, slot):
    """store blocks (xor blocks): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 1e06157b592ae77edda47223c4e621240c929a8d1ff73733ed55c42cfddc00c5
    """
    return ((tid & 15) << 9) + (slot << 13) + (((((tid >> 5) << 1) + ((tid >> 4) & 1)) ^ (tid & 7)) << 4)


store_blocks_xor_blocks.access_name = "store blocks (xor blocks)"


def store_rows_pairs_xor_blocks(tid, j, r, slot):
    """store rows pairs (xor blocks): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot <
      4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - excess exactly 1 wavefront per instruction
    - 256 instructions, 512 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest b4cdeb5ce5c5ea4f1324fdb5ffbbd39976add8b6e66856616586e57768c641ad
    """
    t0 = tid >> 5
    return ((t0 << 9) + (r << 8) + ((tid & 3) << 2) + (slot << 13)
            + ((((((tid >> 2) & 7) << 1) + j) ^ (t0 & 7)) << 4))


store_rows_pairs_xor_blocks.access_name = "store rows pairs (xor blocks)"


def store_blocks_pairs_xor_blocks(tid, j, r, slot):
    """store blocks pairs (xor blocks): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot
      < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 49801ef0f4f2add19f49feea7467d800f0710966aa0aa7da2cc11b3bd340c6e2
    """
    t0 = (tid >> 2) & 7
    return (r << 12) + (t0 << 9) + ((tid & 3) << 2) + (slot << 13) + (((((tid >> 5) << 1) + j) ^ t0) << 4)


store_blocks_pairs_xor_blocks.access_name = "store blocks pairs (xor blocks)"


def read_xor_blocks(tid, slot):
    """read (xor blocks): ld.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 1e50392ce6b42e15daee6b96d6d9632e7b3447f2e8669aca92501a561aabcbc1
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((tid & 31) ^ (t0 & 7)) << 4)


read_xor_blocks.access_name = "read (xor blocks)"


def copy_xor(tid, slot):
    """copy (xor): st.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 2,032 of 2,032 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 856ed2341dc8ec391ad61df4f65594c5044971ae9309bf98dce91dcb790f6cba
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((tid & 31) ^ (t0 & 7) ^ ((tid >> 3) & 1)) << 4)


copy_xor.access_name = "copy (xor)"


def load_rows_xor(tid, slot):
    """load rows (xor): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 41228b69af50db840d3808c068c03f6b014ba6e4e8f4a5bde1891b48642504d1
    """
    t0 = tid >> 5
    return ((t0 << 9) + (slot << 13)
            + (((((tid & 15) << 1) + ((tid >> 4) & 1)) ^ (t0 & 7) ^ ((tid >> 2) & 1)) << 4))


load_rows_xor.access_name = "load rows (xor)"


def load_blocks_xor(tid, slot):
    """load blocks (xor): ldmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 549 of 549 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest ae126202e67bcf574c743584e7e5f5e23d93c73679321c0922dd1069843b4386
    """
    return (((tid & 15) << 9) + (slot << 13)
            + (((((tid >> 5) << 1) + ((tid >> 4) & 1)) ^ (tid & 7) ^ ((tid >> 7) & 1)) << 4))


load_blocks_xor.access_name = "load blocks (xor)"


def store_rows_xor(tid, slot):
    """store rows (xor): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest 41228b69af50db840d3808c068c03f6b014ba6e4e8f4a5bde1891b48642504d1
    """
    t0 = tid >> 5
    return ((t0 << 9) + (slot << 13)
            + (((((tid & 15) << 1) + ((tid >> 4) & 1)) ^ (t0 & 7) ^ ((tid >> 2) & 1)) << 4))


store_rows_xor.access_name = "store rows (xor)"


def store_blocks_xor(tid, slot):
    """store blocks (xor): stmatrix.x4, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 555 of 555 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0) with
      Nsight Compute 2025.3.1, 2026-11-21
    digest ae126202e67bcf574c743584e7e5f5e23d93c73679321c0922dd1069843b4386
    """
    return (((tid & 15) << 9) + (slot << 13)
            + (((((tid >> 5) << 1) + ((tid >> 4) & 1)) ^ (tid & 7) ^ ((tid >> 7) & 1)) << 4))


store_blocks_xor.access_name = "store blocks (xor)"


def store_rows_pairs_xor(tid, j, r, slot):
    """store rows pairs (xor): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 9d162a4b00e45fc28a15cd9853ff0569cfa5a5252141e98f264ba681179906ed
    """
    t0 = tid >> 5
    return ((t0 << 9) + (r << 8) + ((tid & 3) << 2) + (slot << 13)
            + ((((((tid >> 2) & 7) << 1) + j) ^ (t0 & 7) ^ ((tid >> 4) & 1)) << 4))


store_rows_pairs_xor.access_name = "store rows pairs (xor)"


def store_blocks_pairs_xor(tid, j, r, slot):
    """store blocks pairs (xor): st.shared.b32, f16, sm_90: proved for every tid < 512, j < 2, r < 2, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 2 elements of each 4-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 4
    - no two lanes of an instruction store to the same bytes
    - conflict-free: 1 wavefront per instruction
    - 256 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,270 of 1,270 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest bec39167ca3f9eebf0e2e56a1682789a5d186dbb5fb350d533f51ef9e131aa77
    """
    t0 = (tid >> 2) & 7
    return ((r << 12) + (t0 << 9) + ((tid & 3) << 2) + (slot << 13)
            + (((((tid >> 5) << 1) + j) ^ t0 ^ ((tid >> 7) & 1)) << 4))


store_blocks_pairs_xor.access_name = "store blocks pairs (xor)"


def read_xor(tid, slot):
    """read (xor): ld.shared.b128, f16, sm_90: proved for every tid < 512, slot < 4

    Returns bytes from the start of the tile.
    - one-to-one on its 16384 coordinates
    - in bounds: offsets 0..16383
    - the 8 elements of each 16-byte access are neighbours along coordinate 1
    - addresses 0..32767 bytes, aligned to 16
    - conflict-free: 4 wavefronts per instruction
    - 64 instructions, 256 wavefronts, ideal 256
    - wavefront rule: explains 1,816 of 1,816 cases; measured on one NVIDIA H200 (driver 580.159.04, CUDA 13.0)
      with Nsight Compute 2025.3.1, 2026-11-21
    digest 856ed2341dc8ec391ad61df4f65594c5044971ae9309bf98dce91dcb790f6cba
    """
    t0 = tid >> 5
    return (t0 << 9) + (slot << 13) + (((tid & 31) ^ (t0 & 7) ^ ((tid >> 3) & 1)) << 4)


read_xor.access_name = "read (xor)"
