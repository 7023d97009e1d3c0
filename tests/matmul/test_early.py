"""When the next kernel begins early, and what that saves by the estimate: its properties, and beside what was measured."""

import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from statistics import geometric_mean, median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA, ROOT

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose.candidates import candidates
from cuda_kernels.matmul.choose.choice import choose, ranked
from cuda_kernels.matmul.choose.figures import FIGURES, H200
from cuda_kernels.matmul.choose.model import EARLY_US, Estimates
from cuda_kernels.matmul.choose.wanted import Wanted


@dataclass(frozen=True)
class Timed:
    """A product and a configuration of a record. saves: microseconds that the next one's early beginning saves by the
    estimate; us: of the product by the estimate; situations: as the record has them, (wait, late, early, cuBLAS) each."""

    product: tuple
    saves: float
    us: float
    situations: list

    @property
    def row(self):
        """(wait, late, early) of products in a row."""
        return self.situations[0][:3]

    @property
    def by_the_rule(self):
        """Microseconds in a row as the estimate would have it launched."""
        return self.row[2 if self.saves > 0 else 1]


def timed(name):
    """[Timed] of a record of `cuda_kernels.lab.overlap`."""
    found = json.loads((DATA / f"{name}.json").read_text())
    gpu, rows = FIGURES[found["device"]], []
    for product, changes, *situations in found["rows"]:
        estimates = Estimates((Hopper(**changes),))
        work = estimates.work(*product[:3], 1, gpu)
        times = estimates.times(work, gpu)
        rows.append(Timed(tuple(product), estimates.early_saves(work, times, gpu)[0],
                          estimates.corrected(work, times, gpu)[0], situations))
    return rows


@given(st.sampled_from(candidates()), st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 16384))
def test_an_early_beginning_saves_its_microseconds_unless_ctas_that_lie_elsewhere_cost_them(config, M, N, K):
    estimates = Estimates((config,))
    work = estimates.work(M, N, K)
    times = estimates.times(work)
    saves = estimates.early_saves(work, times)[0]
    if config.resident > 1:
        assert saves == 0                                # one SM may have two CTAs while another has none
    elif not np.isfinite(times[0]):
        assert saves == -np.inf                          # slices that cut nothing
    elif work.busy[0] >= H200.sms and work.gathered[0] == work.requested[0]:
        assert saves == pytest.approx(EARLY_US)          # GPCs are full anyway, and nothing meets there
    else:
        assert saves <= EARLY_US + 1e-9


def test_a_product_on_half_of_the_sms_loses_by_it_unless_two_have_room_beside_each_other():
    tall, wide = Hopper(64, 96, 10, c_major="M", cluster_m=4), Hopper(64, 80, 11, cluster_m=4, cluster_n=2)

    def saves(config, N):
        estimates = Estimates((config,))
        work = estimates.work(184, N, 1816)
        return int(work.busy[0]), estimates.early_saves(work, estimates.times(work))[0]

    on_72, on_112, on_56 = saves(tall, 2240), saves(wide, 2240), saves(tall, 1792)
    assert on_72[0] == 72 and on_72[1] < 0
    assert on_112[0] == 112 and on_112[1] > 0
    assert on_56[0] == 56 and on_56[1] > 0


def test_what_is_chosen_says_whether_the_next_may_begin_early_and_groups_never_do():
    assert choose(Wanted(128, 128, 128), H200).early
    assert not choose(Wanted(577, 2048, 8192), H200).early              # four CTAs of a GPC load the same rows
    assert not choose(Wanted(64, 128, 128, 4, grouped=True), H200).early
    assert choose(Wanted(128, 128, 128, types=("e4m3", "e4m3"), out="bf16"), H200).early


@pytest.mark.parametrize("gpu", ["h100", "h200"])
@pytest.mark.parametrize("record", ["overlap", "overlap_by_size"])
def test_by_the_rule_products_in_a_row_take_as_long_as_the_better_way_but_for_a_percent(gpu, record):
    rows = timed(f"{gpu}_{record}")
    costs = [one.by_the_rule / min(one.row[1:]) for one in rows]
    assert geometric_mean(costs) < 1.006 and max(costs) < 1.2
    assert geometric_mean(one.row[2] / min(one.row[1:]) for one in rows) > 1.008     # if all began early
    assert geometric_mean(one.row[1] / min(one.row[1:]) for one in rows) > 1.05      # if none did
    assert geometric_mean(one.row[0] / one.by_the_rule for one in rows) > 1.08       # if they did not overlap


def test_what_the_rule_and_having_none_cost_is_what_the_source_says():
    rows = [timed(f"{gpu}_overlap_by_size") for gpu in ("h100", "h200")]
    costs = ([f"{100 * geometric_mean(us(one) / min(one.row[1:]) for one in of) - 100:.1f}" for of in rows]
             for us in (lambda one: one.by_the_rule, lambda one: one.row[2], lambda one: one.row[1]))
    rule, early, late = map(" and ".join, costs)
    said = " ".join((ROOT / "cuda_kernels/matmul/choose/model.py").read_text().split())
    assert {len({one.product for one in of}) for of in rows} == {100}
    assert f"what they decide costs {rule} percent over the better way of each" in said
    assert f"that all next kernels begin early would cost {early} percent, and that none does {late}." in said


@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_behind_another_kernel_it_makes_no_difference_when_a_product_lets_the_next_begin(gpu):
    rows = timed(f"{gpu}_overlap")
    early = [one.situations for one in rows if one.saves > 0]
    behind = [[late - early for _, late, early, _ in situations[1:]] for situations in early]
    assert len(early) > 50 and max(map(abs, map(median, zip(*behind)))) < 0.03


@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_to_compare_what_products_take_in_a_row_chooses_better_there_and_nearly_as_well_apart(gpu):
    of = defaultdict(list)
    for one in timed(f"{gpu}_overlap_by_size"):
        of[one.product].append(one)
    several = [each for each in of.values() if len(each) > 1]

    def costs(key):
        chosen = [min(each, key=key) for each in several]
        in_a_row = [best.by_the_rule / min(us for one in each for us in one.row[1:]) for best, each in zip(chosen, several)]
        apart = [best.row[0] / min(one.row[0] for one in each) for best, each in zip(chosen, several)]
        return geometric_mean(in_a_row), geometric_mean(apart)

    apart_counts, row_counts = costs(lambda one: one.us), costs(lambda one: one.us - max(one.saves, 0))
    assert row_counts[0] < 1.014 and row_counts[0] < apart_counts[0] - 0.005 and row_counts[1] < apart_counts[1] + 0.006


@pytest.mark.parametrize("gpu", FIGURES.values(), ids=FIGURES)
@pytest.mark.parametrize("M, N, K", [(1, 1, 1), (27, 6, 14), (64, 4096, 8), (14608, 8, 8)])
def test_however_little_a_product_takes_an_early_beginning_saves_less(M, N, K, gpu):
    assert all(estimate > EARLY_US / 2 for estimate, _ in islice(ranked(Wanted(M, N, K), gpu), 400))


@pytest.mark.parametrize("size", [512, 1024, 2048])
def test_what_lets_the_next_begin_early_is_ranked_by_what_it_takes_in_a_row(size):
    found = list(islice(ranked(Wanted(size, size, 1024), H200), 200))
    assert [estimate for estimate, _ in found] == sorted(estimate for estimate, _ in found)
    assert any(config.early for _, config in found)
    for estimate, config in found:
        estimates = Estimates((config,))
        work = estimates.work(size, size, 1024)
        saves = estimates.early_saves(work, estimates.times(work))[0]
        assert config.early == (saves > 0)
        assert estimate == pytest.approx(estimates(size, size, 1024)[0] - max(saves, 0))
