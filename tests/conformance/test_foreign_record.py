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
         "triton_matmul", "numba_matmul_tiled", "softmax", "early_return"]


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
        assert "failed" in made or set(made["counters"]) >= {"ld", "ldmatrix", "st", "copy", "atom", "pipe st"}


def test_at_least_95_of_100_classes_of_wavefronts_are_the_gpus():
    pairs = sum(bool(ours) for name in RECORD for ours in counted(name).values())
    assert len(REASONS) <= 0.05 * pairs and all(kernel in RECORD for kernel, _ in REASONS)


def test_the_guide_says_how_many_were_equal():
    guide = " ".join(resources.files("simlayout.guide").joinpath("ptx.md").read_text().split())
    ran = sum("failed" not in made for made in RECORD.values())
    pairs = sum(bool(theirs) for name in RECORD for theirs in counted(name).values())
    assert f"an H200 ran {ran} kernels" in guide and RECORD_ABOUT["date"] in guide
    assert f"{pairs - len(REASONS)} of {pairs} classes" in guide


def counted(name):
    """{class: wavefronts} of the GPU."""
    return {of: theirs for of, (_, theirs) in compare.wavefronts({}, RECORD[name], ROWS[name].text()).items()}
