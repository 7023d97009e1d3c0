"""When the next kernel begins early, and what that saves by the estimate: its properties, and beside what was measured."""

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from statistics import geometric_mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA, ROOT

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.lab.tuning_record import read
from cuda_kernels.matmul.choose.candidates import ORDERS, candidates
from cuda_kernels.matmul.choose.choice import choose, ranked
from cuda_kernels.matmul.choose.figures import FIGURES, H200
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.wanted import Wanted


@dataclass(frozen=True)
class Timed:
    """A product and a configuration of a record. begins: whether the next one begins early by the estimate; us: of a product
    in a row by the estimate, (late, early); late, early: microseconds of such a product, measured."""

    product: tuple
    begins: bool
    us: tuple
    late: float
    early: float

    @property
    def by_the_rule(self):
        """Microseconds in a row as the estimate would have it launched."""
        return self.early if self.begins else self.late

    @property
    def cost(self):
        """What that takes of the better way."""
        return self.by_the_rule / min(self.late, self.early)


def estimated(config, product, gpu):
    """The estimates of a configuration at a product, (late, early)."""
    ways = tuple(replace(config, early=early) for early in (False, True))
    return tuple(Estimates(ways)(*product[:3], gpu=gpu).tolist())


def of_each(device, rows):
    """[Timed] of [(product, configuration, late, early)], of those with one CTA to an SM, as all candidates are."""
    found = []
    for product, config, late, early in rows:
        if config.resident == 1:
            us = estimated(config, product, FIGURES[device])
            found.append(Timed(tuple(product), us[1] < us[0], us, late, early))
    return found


@lru_cache(None)
def held(gpu):
    """[Timed] of a record that no tree has learned from: of an H200 several configurations at each product, of an H100 what
    `matmul` chose."""
    if gpu == "h100":
        record = json.loads((DATA / "h100_ahead.json").read_text())
        return of_each(record["device"], [(product, Hopper(**options), late[1], early[2])
                                          for product, options, late, early, *_ in record["rows"] if late and early])
    record, rows = read(DATA / "h200_row_held.json.xz"), []
    for tried in record.products:
        p, times = tried.problem, record.times_of(tried)
        rows += [((p.M, p.N, p.K, p.dtype), config, late, times[replace(config, early=True)])
                 for config, late in times.items() if not config.early]
    return of_each(record.device, rows)


def overlapped(name):
    """[(Timed, the situations of the record)] of a record of `cuda_kernels.lab.overlap`."""
    record = json.loads((DATA / f"{name}.json").read_text())
    return [(one, situations) for product, options, *situations in record["rows"]
            for one in of_each(record["device"], [(product, Hopper(**options), *situations[0][1:3])])]


@given(st.lists(st.sampled_from(candidates()), min_size=1, max_size=8), st.sets(st.sampled_from(ORDERS), min_size=1),
       st.integers(1, 4096), st.integers(1, 4096), st.integers(1, 16384))
def test_each_order_is_estimated_early_and_late_and_the_formula_knows_no_difference(
        configs, orders, M, N, K):
    ways = Estimates(tuple(configs)).in_ways(sorted(orders))
    expected = [replace(config, group=group, early=early) for config in configs
                for early in (False, True) for group in sorted(orders)]
    assert list(ways.configs) == expected
    times = ways.times(ways.work(M, N, K))
    of = defaultdict(set)
    for config, us in zip(expected, times.tolist()):
        of[replace(config, early=False)].add(us)
    assert all(len(us) == 1 for us in of.values())


def test_what_is_chosen_says_whether_the_next_may_begin_early_and_groups_never_do():
    assert choose(Wanted(128, 128, 128), H200).early
    assert not choose(Wanted(4096, 4096, 4096), H200).early
    assert not choose(Wanted(64, 128, 128, 4, grouped=True), H200).early
    assert choose(Wanted(128, 128, 128, types=("e4m3", "e4m3"), out="bf16"), H200).early


@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_by_the_rule_products_in_a_row_take_as_long_as_the_better_way_but_for_a_percent(gpu):
    costs = [one.cost for one in held(gpu)]
    assert geometric_mean(costs) < 1.006 and max(costs) < 1.2
    if_all, if_none = (geometric_mean(way(one) / min(one.late, one.early) for one in held(gpu))
                       for way in (lambda one: one.early, lambda one: one.late))
    assert 1.5 * (geometric_mean(costs) - 1) < if_all - 1 and if_none > 1.05


def test_what_the_rule_and_having_none_cost_is_what_the_guide_says():
    costs = ([f"{100 * geometric_mean(us(one) / min(one.late, one.early) for one in held(gpu)) - 100:.1f}"
              for gpu in ("h100", "h200")]
             for us in (lambda one: one.by_the_rule, lambda one: one.early, lambda one: one.late))
    rule, early, late = map(" and ".join, costs)
    said = " ".join((ROOT / "simlayout/guide/matmul.md").read_text().split())
    products = [len({one.product for one in held(gpu)}) for gpu in ("h100", "h200")]
    assert f"{products[0]} of an H100 and {products[1]} of an H200, their choice costs {rule} % over the better way" in said
    assert f"all early would cost {early} %, and all late {late} %" in said


@pytest.mark.parametrize("gpu", ["h100", "h200"])
def test_behind_another_kernel_it_makes_no_difference_when_a_product_lets_the_next_begin(gpu):
    early = [situations for one, situations in overlapped(f"{gpu}_overlap") if one.begins]
    behind = [[late - early for _, late, early, _ in situations[1:]] for situations in early]
    assert len(early) > 50 and max(map(abs, map(median, zip(*behind)))) < 0.03


def test_what_takes_least_in_a_row_by_the_estimate_takes_two_percent_longer_than_the_best_that_was_measured():
    of = defaultdict(list)
    for one in held("h200"):
        of[one.product].append(one)
    costs = [min(each, key=lambda one: min(one.us)).by_the_rule / min(min(one.late, one.early) for one in each)
             for each in of.values()]
    assert len(costs) == 75 and geometric_mean(costs) < 1.02


@pytest.mark.parametrize("gpu", FIGURES.values(), ids=FIGURES)
@pytest.mark.parametrize("M, N, K", [(1, 1, 1), (27, 6, 14), (64, 4096, 8), (14608, 8, 8)])
def test_however_little_a_product_takes_it_is_estimated_to_take_a_microsecond(M, N, K, gpu):
    assert all(estimate > 1 for estimate, _ in islice(ranked(Wanted(M, N, K), gpu), 400))


@pytest.mark.parametrize("size", [512, 1024, 2048])
def test_what_lets_the_next_begin_early_is_ranked_by_what_it_takes_in_a_row(size):
    found = list(islice(ranked(Wanted(size, size, 1024), H200), 200))
    assert [estimate for estimate, _ in found] == sorted(estimate for estimate, _ in found)
    assert {config.early for _, config in found} == {False, True}
    for estimate, config in found:
        assert estimate == pytest.approx(Estimates((config,))(size, size, 1024)[0])
