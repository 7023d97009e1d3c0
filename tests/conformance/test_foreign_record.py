"""Kernels in other languages on the machine, beside what an H200 computed and counted for them."""

from importlib import resources

import pytest
from tiers import sweep_but

from cuda_kernels.conformance.foreign import ROWS, compare
from cuda_kernels.conformance.foreign.reasons import CONTENDED, REASONS
from cuda_kernels.conformance.foreign.row import DATA

FILE = DATA.parent / "h200_foreign.json.xz"
RECORD = compare.read(FILE)
RECORD_ABOUT = compare.about(FILE)
QUICK = ["reduce_interleaved", "histogram_shared", "atomic_kinds", "sgemm_tiled", "copy_partial", "copy_ignored_half",
         "copy_scattered_31", "matrices_moved", "wgmma_tma", "cluster_histogram", "cluster_reduce", "tma_negative",
         "triton_matmul", "numba_matmul_tiled", "softmax", "early_return", "cutlass_e4m3", "cub_radix_sort",
         "cub_histogram_sort", "pipeline_roles", "tensor_tile", "groups_copy", "complex_product",
         "triton_gather", "triton_described", "numba_sort_tile", "fourier_256", "eliminate", "hash_table"]


@pytest.mark.parametrize("name", sweep_but(QUICK, RECORD))
def test_the_machine_computes_and_counts_what_the_gpu_did(name):
    verdict = compare.judge(ROWS[name], RECORD[name])
    assert verdict.right, (verdict.failed, verdict.results, verdict.hazards)
    explained = [of for kernel, of in REASONS if kernel == name]
    certain = [of for of in explained if REASONS[name, of] != CONTENDED]
    assert set(certain) <= set(verdict.apart) <= set(explained)


def test_the_record_has_the_rows_three_languages_and_their_counters():
    assert {row.language for row in map(ROWS.get, RECORD)} == {"cuda", "triton", "numba"} and len(RECORD) >= 40
    assert set(ROWS) == set(RECORD)
    for name, made in RECORD.items():
        assert ("failed" in made) == bool(ROWS[name].refused) and not made.get("wrong")
        assert "failed" in made or set(compare.counted(made)) == {*compare.CLASSES, compare.ALL}


PAIRS = sum(bool(theirs) for made in RECORD.values() for theirs in compare.counted(made).values())
APART = len(REASONS) + len({kernel for kernel, _ in REASONS})      # and of each of these kernels all together
"""Of kernels and classes of wavefronts: how many the GPU counted, and how many of them the machine counts otherwise."""
BY_TIME = {kernel for (kernel, _), reason in REASONS.items() if reason == CONTENDED}


def test_at_least_95_of_100_classes_of_wavefronts_that_do_not_depend_on_time_are_the_gpus():
    certain = [counts for name, made in RECORD.items() if name not in BY_TIME for counts in compare.counted(made).values()]
    apart = APART - len(BY_TIME) - sum(kernel in BY_TIME for kernel, _ in REASONS)
    assert apart <= 0.05 * sum(map(bool, certain)) and all(kernel in RECORD for kernel, _ in REASONS)


def test_the_guide_says_how_many_were_equal():
    guide = " ".join(resources.files("simlayout.guide").joinpath("accuracy.md").read_text().split())
    ran = sum("failed" not in made for made in RECORD.values())
    assert f"An H200 ran {ran} kernels" in guide and RECORD_ABOUT["date"] in guide
    assert f"{PAIRS - APART} of {PAIRS} counts" in guide
