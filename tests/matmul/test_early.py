"""When the next kernel may begin early: the rule against a twin of its own, and against what was measured."""

import json
from itertools import islice
from math import ceil
from statistics import geometric_mean, median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose.candidates import candidates
from cuda_kernels.matmul.choose.choice import choose, ranked
from cuda_kernels.matmul.choose.figures import FIGURES, H200
from cuda_kernels.matmul.choose.model import EARLY_GAIN_US, EARLY_RATE, EARLY_US, Estimates
from cuda_kernels.matmul.choose.wanted import Wanted


def loaded_by_an_sm(config, M, N, K):
    """Bytes of A and B that the busiest SM requests, counted tile by tile, of a product of 16-bit elements."""
    rows, cols = config.turned(M, N)
    tiles = ceil(rows / (config.tile_m * config.cluster_m)) * ceil(cols / (config.tile_n * config.cluster_n))
    free = config.slots(H200.sms)
    whole, parts = config.cut(rows, cols, K, 1, H200.sms)
    steps = ceil(K / 64)
    per_cta = ceil(whole / free) * steps + (ceil(steps / parts) if tiles > whole else 0)
    shared = min(rows, config.tile_m) / config.cluster_n + min(cols, config.tile_n) / config.cluster_m
    busy = min(free, tiles if whole else tiles * parts) * config.sharing
    return 128 * shared * per_cta * ceil(busy / H200.sms)


@given(st.sampled_from(candidates()), st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 16384),
       st.floats(0.5, 2 * EARLY_US))
def test_the_next_kernel_begins_early_where_a_short_one_loads_little_per_nanosecond(config, M, N, K, us):
    estimates = Estimates((config,))
    work = estimates.work(M, N, K)
    found = bool(estimates.early(work, np.array([us]), H200.sms)[0])
    rate = loaded_by_an_sm(config, M, N, K) / (1e3 * us)
    assert found == (us <= EARLY_US and rate <= EARLY_RATE) or abs(rate / EARLY_RATE - 1) < 1e-9


def test_what_is_chosen_says_whether_the_next_may_begin_early_and_groups_never_do():
    assert choose(Wanted(128, 128, 128), H200).early and not choose(Wanted(8192, 8192, 8192), H200).early
    assert not choose(Wanted(577, 2048, 8192), H200).early              # loads 110 bytes per nanosecond and SM
    assert not choose(Wanted(64, 128, 128, 4, grouped=True), H200).early
    assert choose(Wanted(128, 128, 128, types=("e4m3", "e4m3"), out="bf16"), H200).early


@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_by_the_rule_products_in_a_row_take_as_long_as_the_better_way_but_for_a_percent(gpu):
    found = json.loads((DATA / f"{gpu}_overlap.json").read_text())
    figures, costs, gains = FIGURES[found["device"]], [], []
    for (M, N, K, _), changes, (wait, *ways, _), *_ in found["rows"]:
        estimates = Estimates((Hopper(**changes),))
        work = estimates.work(M, N, K, 1, figures)
        times = estimates.corrected(work, estimates.times(work, figures), figures)
        us = ways[int(estimates.early(work, times, figures.sms)[0])]
        costs.append(us / min(ways))
        gains.append(wait / us)
    assert geometric_mean(costs) < 1.01 and max(costs) < 1.15
    assert geometric_mean(gains) > 1.07 and min(gains) > 0.94


@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_half_of_what_an_early_beginning_saves_in_a_row_is_taken_because_behind_another_kernel_it_saves_nothing(gpu):
    found = json.loads((DATA / f"{gpu}_overlap.json").read_text())
    figures, saved = FIGURES[found["device"]], []
    for (M, N, K, _), changes, *situations in found["rows"]:
        estimates = Estimates((Hopper(**changes),))
        work = estimates.work(M, N, K, 1, figures)
        times = estimates.corrected(work, estimates.times(work, figures), figures)
        if estimates.early(work, times, figures.sms)[0]:
            saved.append([late - early for _, late, early, _ in situations])
    in_a_row, *behind = map(median, zip(*saved))
    assert len(saved) > 50 and 0.45 < in_a_row < 0.6 and max(map(abs, behind)) < 0.02
    assert EARLY_GAIN_US == pytest.approx(in_a_row / 2, abs=0.05)


@pytest.mark.parametrize("size", [512, 1024, 2048])
def test_what_lets_the_next_begin_early_is_ranked_as_if_it_took_less_by_that(size):
    found = list(islice(ranked(Wanted(size, size, 1024), H200), 200))
    assert [estimate for estimate, _ in found] == sorted(estimate for estimate, _ in found)
    if size < 2048:
        assert {config.early for _, config in found} == {False, True}
    for estimate, config in found:
        assert estimate == pytest.approx(Estimates((config,))(size, size, 1024)[0] - EARLY_GAIN_US * config.early)
