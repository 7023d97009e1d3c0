"""The model against what an NVIDIA H200 counted (tests/data/README.md), and against published Nsight Compute counts."""

import json

import numpy as np
import pytest
from places import DATA

from simlayout.hardware import INSTRUCTIONS, analyze, arch_of
from simlayout.hardware.banks import records
from simlayout.hardware.tables import provenance

FILES = [DATA / f"h200_{name}.npz"
         for name in ("wavefronts", "cases", "copies", "fresh", "more_copies", "more_narrow", "more_retries",
                      "more_swaps", "more_exchanges", "more_matrices", "more_counted")]
LANE = np.arange(32)


@pytest.fixture(scope="module")
def files():
    """(Summary, [Checked]) of every record file."""
    return [records.check_file(path) for path in FILES]


@pytest.fixture(scope="module")
def checked(files):
    return [c for _, some in files for c in some]


def total(checked, what):
    return sum(int(what(c).sum()) for c in checked)


def test_nothing_that_was_counted_contradicts_the_model(checked):
    assert "\n".join(c.mismatch() for c in checked if c.wrong.any()) == ""
    assert [sum(len(c.wrong) for c in checked), total(checked, lambda c: c.wrong)] == [72_375, 0]


def test_nearly_every_count_is_predicted_as_one_number_and_that_number_is_right(checked):
    right = 0
    for c in checked:
        a, seen = c.analysis, c.cases.wavefronts
        exact = a.at_least == a.at_most
        np.testing.assert_array_equal(a.wavefronts[exact], seen[exact], err_msg=c.cases.form)
        assert ((a.at_least <= seen) & (seen <= a.at_most)).all(), c.cases.form
        right += int(exact.sum())
    assert right == 70_318


def test_where_the_model_only_bounds_its_row_says_so_and_data_or_duplicated_sources_are_why(checked):
    bounded = {c.cases.instruction for c in checked if not c.analysis.exact}
    assert {INSTRUCTIONS[name].rule for name in bounded} == {"bypass", "retry"}
    assert all(INSTRUCTIONS[name].caveat for name in bounded)
    of_copies = [c for c in checked if c.cases.instruction == "cp.async.cg.16"]
    assert total(of_copies, lambda c: c.analysis.at_least < c.analysis.at_most) == 306


def test_every_conflict_count_that_was_read_is_predicted(checked):
    compared = 0
    for c in checked:
        a = c.analysis
        known = (c.cases.conflicts != records.NOT_RECORDED) & (a.at_least == a.at_most)
        np.testing.assert_array_equal(a.conflicts[known], c.cases.conflicts[known], err_msg=c.cases.form)
        compared += int(known.sum())
    assert compared == 47_609


def test_every_load_that_an_atomic_makes_is_predicted_where_its_rounds_are(checked):
    compared = 0
    for c in checked:
        read = c.cases.loads != records.NOT_RECORDED
        if not INSTRUCTIONS[c.cases.instruction].caveat:
            np.testing.assert_array_equal(c.analysis.loads[read], c.cases.loads[read], err_msg=c.cases.form)
            compared += int(read.sum())
    assert compared > 7_000


def test_what_is_kept_beside_the_model_is_what_the_records_say(files):
    kept = (provenance.FOLDER / "h200.json").read_text()
    assert records.summaries_text([summary for summary, _ in files]) == kept


def test_every_row_is_covered_by_a_record_and_therefore_measured(checked):
    counted = {name: 0 for name in INSTRUCTIONS}
    for c in checked:
        counted[c.cases.instruction] += len(c.wrong)
    assert min(counted.values()) >= 130
    for name, cases in counted.items():
        found = provenance.provenance(INSTRUCTIONS[name], arch_of("sm_90"))
        assert (found.kind, found.cases) == ("measured", cases), name


def test_every_spelling_that_the_suite_knows_was_counted(checked):
    from cuda_kernels.conformance.forms import FORMS

    assert set(FORMS) <= {c.cases.form for c in checked}


def test_the_rule_of_cas_b64_is_that_of_cas_b32_on_half_warps(checked):
    compared = 0
    for cases in (c.cases for c in checked if c.cases.instruction == "atom.shared.cas.b64"):
        words = (cases.addresses, cases.addresses + 4)  # a pass takes both words of a lane, in neighbouring banks
        halves = (cases.active & (LANE < 16), cases.active & (LANE >= 16))
        passes = sum(np.maximum(*(analyze("atom.shared.cas.b32", word, half).wavefronts for word in words))
                     for half in halves)
        np.testing.assert_array_equal(passes, cases.wavefronts)
        compared += len(passes)
    assert compared == 82 + 2 * 130 + 2 * 28 + 2 * 1200


def test_a_copy_is_bounded_without_its_sources(checked):
    for cases in (c.cases for c in checked if c.cases.sources is not None):
        bounds = analyze(cases.instruction, cases.addresses, cases.active, valid=cases.valid)
        assert ((bounds.at_least <= cases.wavefronts) & (cases.wavefronts <= bounds.at_most)).all(), cases.form


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


def test_where_nsight_compute_counts_loads_otherwise_than_the_pipe_the_model_has_the_pipes_number():
    apart = json.loads((DATA / "h200_apart.json").read_text("utf-8"))["apart"]
    told = {"ld.shared.b64": "ld.shared.b64", "ld.shared.v4.b32": "ld.shared.b128"}
    assert {name: len(cases) for name, cases in apart.items() if cases} == {"ld.shared.b64": 26, "ld.shared.v4.b32": 64}
    for name, instruction in told.items():
        pipe, by_instruction, addresses = zip(*apart[name])
        addresses = np.array(addresses)
        found = analyze(instruction, np.maximum(addresses, 0), addresses >= 0).wavefronts
        assert found.tolist() == list(pipe) and (found != by_instruction).all()
