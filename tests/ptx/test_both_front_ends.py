"""The project's own kernels run alike as Python functions and as the PTX that Numba makes of them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from cut_tiles import assert_cut, cut_small_tiles
from front_ends import by_access, by_instruction, in_ptx, in_python, without
from gemm_kit import label
from tiers import sweep_but

import simlayout.machine.ptx.warps.turns as turns
from cuda_kernels.kernels import KERNELS
from cuda_kernels.kernels.practical import PROBLEMS

pytest.importorskip("numba.cuda", reason="makes the PTX")

PERSISTENT = KERNELS["wgmma_persistent"]
GEMMS = [
    KERNELS["mma_permuted"], KERNELS["wgmma_persistent"],
    *(KERNELS[name] for name in ("mma_base", "mma_padded", "mma_swizzled", "mma_blocks", "mma_crosswise")),
    KERNELS["mma_permuted"].variant(stages=1), KERNELS["mma_permuted"].variant(stages=4, accumulate="f16"),
    KERNELS["mma_blocks"].variant(loads="wmma"), KERNELS["mma_crosswise"].variant(loads="lds"),
    *(KERNELS[name] for name in ("wgmma_tma", "wgmma_specialized", "mma_tma")),
    PERSISTENT.variant(tile_n=128, cluster_m=2), PERSISTENT.variant(cluster_n=2),
    PERSISTENT.variant(store="direct"), PERSISTENT.variant(tile_n=128, bands=2),
]


def halves(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float16)


def assert_alike(work, marked=True):
    """work: called for a new Work."""
    python, ptx = work(), work()
    (one, results), (other, found) = in_python(python), in_ptx(ptx, marked=marked)
    for wanted, got in zip(results, found, strict=True):
        assert np.asarray(got).tobytes() == np.asarray(wanted).tobytes()
    assert by_instruction(other) == by_instruction(one)
    if marked:
        assert by_access(ptx.kernel, other) == by_access(python.kernel, one)


@pytest.mark.parametrize("kernel", sweep_but(GEMMS[1:2], GEMMS), ids=label)
def test_a_gemm_has_the_same_bits_and_counts_per_access(kernel):
    assert_alike(lambda: kernel.work(halves(256, 64), halves(64, 256), sms=2))


@pytest.mark.sweep
@pytest.mark.parametrize("shape", [(33, 40, 24), (100, 129, 31), (1, 8, 16)], ids=str)
@pytest.mark.parametrize("name", ["mma_permuted", "mma_blocks", "wgmma_persistent"])
def test_ragged_and_unaligned_problems_too(name, shape):
    m, n, k = shape
    assert_alike(lambda: KERNELS[name].work(halves(m, k), halves(k, n), sms=2))


@pytest.mark.sweep
@pytest.mark.parametrize("how", [dict(split=True), dict(slices=2)], ids=str)
@cut_small_tiles()
def test_parts_of_tiles_meet_in_global_memory_or_in_that_of_a_cluster(how):
    kernel = PERSISTENT.variant(tile_n=128, **how)
    assert_cut(kernel.options, 128, 256, 128, sms=4)
    assert_alike(lambda: kernel.work(halves(128, 128), halves(128, 256), sms=4), marked=False)


@pytest.mark.parametrize("problem", sweep_but([("1.1", "xor")], PROBLEMS), ids=" ".join)
def test_the_problems_of_the_practical_tutorial_do(problem):
    kernel = PROBLEMS[problem]
    assert_alike(lambda: kernel.work(*(halves(*shape) for shape in kernel.inputs)))


ONE_KIND = {"early read": "read after write"}
"""An early read is a race with a copy, told with the line of its wait where the warp is known to be behind it."""


def races(trace):
    """{(kind, instruction, instruction): how often}; without what only plans declare."""
    found = Counter()
    for hazard in trace.hazards:
        if hazard.kind != "wrong element":
            first, kind = hazard.first and hazard.first.instruction, ONE_KIND.get(hazard.kind, hazard.kind)
            found[kind, first, hazard.second.instruction] += hazard.count
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["mma_permuted", "mma_blocks", "mma_crosswise"])
def test_a_kernel_without_its_barriers_has_the_same_hazards(name, monkeypatch):
    monkeypatch.setattr(turns, "TURN", 1 << 30)              # a warp runs until it waits, as one in Python does

    def work():
        made = KERNELS[name].work(halves(128, 64), halves(64, 128), sms=2)
        return replace(made, kernel=without(made.kernel, "bar_sync"))

    (python, _), (ptx, _) = in_python(work(), "report"), in_ptx(work(), "report")
    assert races(ptx) == races(python) and len(races(python)) > 8
