"""The model against what an NVIDIA H200 counted (tests/data/README.md), and against published Nsight Compute counts."""

from pathlib import Path

import numpy as np
import pytest

from simlayout.hardware import INSTRUCTIONS, analyze

DATA = Path(__file__).parent / "data" / "h200_wavefronts.npz"
LANE = np.arange(32)


@pytest.fixture(scope="module")
def golden():
    with np.load(DATA) as data:
        active = (data["active"][:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(bool)
        return data["instruction"], data["address"], active, data["wavefronts"], data["label"]


def test_every_measured_wavefront_count_is_predicted(golden):
    names, addresses, active, wavefronts, labels = golden
    wrong, checked = [], 0
    for name in np.unique(names):
        rows = np.flatnonzero(names == name)
        predicted = analyze(name, addresses[rows], active[rows]).wavefronts
        checked += len(rows)
        wrong += [(str(name), str(labels[r]), int(p), int(wavefronts[r]))
                  for r, p in zip(rows, predicted, strict=True) if p != wavefronts[r]]
    assert not wrong, f"{len(wrong)} wrong, first (instruction, pattern, predicted, measured): {wrong[:5]}"
    assert checked == 6039


def test_the_measured_counts_cover_every_form_of_load_store_and_matrix_instruction(golden):
    kinds = ("load", "store", "ldmatrix", "stmatrix")
    assert {n for n, row in INSTRUCTIONS.items() if row.kind in kinds} <= set(golden[0])


def test_a_row_called_measured_is_measured_and_a_row_never_measured_is_not_called_so(golden):
    for name, row in INSTRUCTIONS.items():
        assert (row.source.kind == "measured") == (name in golden[0] or row.kind == "copy"), name


def test_the_rule_of_cas_b64_is_that_of_cas_b32_on_half_warps(golden):
    names, addresses, active, wavefronts, _ = golden
    rows = names == "atom.shared.cas.b64"
    words = (addresses[rows], addresses[rows] + 4)  # a pass takes both words of a lane, in neighbouring banks
    halves = (active[rows] & (LANE < 16), active[rows] & (LANE >= 16))
    passes = sum(np.maximum(*(analyze("atom.shared.cas.b32", word, half).wavefronts for word in words))
                 for half in halves)
    assert rows.sum() == 82
    np.testing.assert_array_equal(passes, wavefronts[rows])


def total_excess(instruction, rows):
    return int(analyze(instruction, np.array(rows)).excess.sum())


def half_tile(row, col, stride):
    """Byte addresses of 16-bit elements in rows of `stride` elements."""
    return 2 * (np.broadcast_to(row, 32) * stride + col)


def test_published_ldmatrix_conflicts_of_leetcuda_kernels_are_predicted():
    """LeetCUDA, kernels/swizzle/README: ...bank_conflicts_pipe_lsu_mem_shared_op_ldsm, 1024^3, m16n8k16, sm_89."""
    a = half_tile(LANE % 16, 8 * (LANE // 16), 16)
    b_of_8, b_of_128 = half_tile(LANE % 16, 0, 8), half_tile(LANE % 16, 0, 128)

    naive = 8192 * 64 * (total_excess("ldmatrix.x4", [a]) + total_excess("ldmatrix.x2.trans", [b_of_8]))
    assert naive == 2_097_152
    tiled = 64 * 64 * 8 * (4 * total_excess("ldmatrix.x4", [a]) + 4 * total_excess("ldmatrix.x2.trans", [b_of_128]))
    assert tiled == 2_359_296


def ldmatrix_tile(swizzle, stride, cols):
    """Excess of loading a 16 x cols tile of halves by ldmatrix.x4, its offsets passed through `swizzle`."""
    blocks = [2 * swizzle((LANE % 16) * stride + 8 * (LANE // 16) + k) for k in range(0, cols, 16)]
    return total_excess("ldmatrix.x4", blocks)


def cutlass_swizzle(bits, base, shift):
    return lambda x: x ^ ((x >> shift) & ((1 << bits) - 1) << base)


@pytest.mark.parametrize("cols, without, swizzle", [
    (16, 4, (1, 3, 3)), (32, 24, (2, 3, 3)), (64, 112, (3, 3, 3)), (128, 224, (3, 3, 4)),
])
def test_tutorial_tiles_conflict_as_published_and_their_swizzles_do_not(cols, without, swizzle):
    assert ldmatrix_tile(lambda x: x, cols, cols) == without
    assert ldmatrix_tile(cutlass_swizzle(*swizzle), cols, cols) == 0
    smaller = (swizzle[0] - 1, *swizzle[1:])
    assert ldmatrix_tile(cutlass_swizzle(*smaller), cols, cols) > 0


def test_the_profiled_16x16_kernel_shows_8_ldmatrix_and_4_store_conflicts():
    store = [half_tile(LANE // 4 + r, 2 * (LANE % 4) + c, 16) for r in (0, 8) for c in (0, 8)]
    assert 2 * ldmatrix_tile(lambda x: x, 16, 16) + total_excess("st.shared.b32", store) == 12


def in_16x16_blocks(row, col):
    """MatmulTutorial's layout [.., 2, 16, 16]: offset of (row, col) of a tile 32 columns wide."""
    return row // 16 * 512 + col // 16 * 256 + row % 16 * 16 + col % 16


STAGES = [
    # kernel and stage, instruction, byte addresses, excess per instruction
    ("cuda_hgemm base, A", "ldmatrix.x4", half_tile(LANE % 16, 8 * (LANE // 16), 32), 12),
    ("cuda_hgemm base, B", "ldmatrix.x2", half_tile(LANE % 8, 8 * (LANE // 8 % 2), 32), 6),
    ("cuda_hgemm base, C", "st.shared.b32", half_tile(LANE // 4, 2 * (LANE % 4), 128), 7),
    ("cuda_hgemm base, copy", "st.shared.b128", half_tile(LANE // 4, 8 * (LANE % 4), 32), 0),
    ("cuda_hgemm padded, A", "ldmatrix.x4", half_tile(LANE % 16, 8 * (LANE // 16), 40), 0),
    ("cuda_hgemm padded, copy", "st.shared.b128", half_tile(LANE // 4, 8 * (LANE % 4), 40), 4),
    ("cuda_hgemm permuted, A", "ldmatrix.x4",
     half_tile(LANE % 16, (8 * (LANE // 16) + LANE % 8 // 2 * 8) % 32, 32), 0),
    ("cuda_hgemm permuted, copy", "st.shared.b128",
     half_tile(LANE // 4, 8 * ((LANE % 4 + LANE // 4 % 8 // 2) % 4), 32), 0),
    ("cuda_hgemm permuted, C", "st.shared.b32",
     half_tile(LANE // 4, (2 * (LANE % 4) + LANE // 4 % 8 * 8) % 128, 128), 0),
    ("MatmulTutorial blocks, copy", "cp.async.ca.16", 2 * in_16x16_blocks(LANE // 4, 8 * (LANE % 4)), 4),
    ("MatmulTutorial blocks, A words", "ld.shared.b32", 2 * in_16x16_blocks(LANE // 4, 2 * (LANE % 4)), 1),
    ("MatmulTutorial blocks, A", "ldmatrix.x4",
     2 * in_16x16_blocks(LANE // 16 * 8 + LANE % 8, LANE // 8 % 2 * 8), 4),
    ("MatmulTutorial blocks, C", "st.shared.b32", 4 * in_16x16_blocks(LANE // 4, 2 * (LANE % 4)), 3),
    ("MatmulTutorial blocks, C out", "ld.shared.b32", 4 * in_16x16_blocks(0 * LANE, LANE), 1),
    ("fast.cu unpadded, C", "stmatrix.x4.trans", 2 * (LANE % 8 * 64 + LANE // 16 * 512 + (LANE & 8)), 28),
    ("fast.cu padded, C", "stmatrix.x4.trans", 2 * (LANE % 8 * 72 + LANE // 16 * 576 + (LANE & 8)), 0),
]


@pytest.mark.parametrize("stage, instruction, addresses, excess", STAGES, ids=[row[0] for row in STAGES])
def test_the_stages_of_well_known_kernels_cost_what_they_should(stage, instruction, addresses, excess):
    assert total_excess(instruction, [addresses]) == excess
