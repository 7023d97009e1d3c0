"""Fits the rates of the cost model to a record of `cuda_kernels.tuning`. Needs scipy, but no GPU.

    python -m cuda_kernels.tuning_fit RECORD

Prints how far the estimates are from the measured times, what choosing by them costs (the time of the chosen configuration
over the least one, geometric mean), the rates, and the products where the choice is worst.
"""

import argparse
import json
import statistics
import sys
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from cuda_kernels.gemm.hopper import Hopper
from cuda_kernels.gemm.hopper_choice import in_order
from cuda_kernels.gemm.hopper_model import H200, Estimates, Rates, lie_of
from simlayout.errors import DeviceError, ParseError

NAMES = [f.name for f in fields(Rates)]

NEAR = 0.15
"""A time that is this much above the least one of its product has half the weight."""

CHOICE, BEHIND = 0.3, 3.0
"""The weight of what choosing costs, beside the error of the estimates; and of that part of the cost that leaves the chosen
configuration behind cuBLAS, beside the rest. With more weight on choices the fit chooses better where it was made and worse
elsewhere (cross-validated over the products)."""

SHARPNESS = (0.06, 0.03, 0.015)
"""How far, as a logarithm, estimates differ where one of two is chosen 2.7 times as often: choosing softly makes the cost
smooth, and it becomes sharper during a descent."""

SPREAD, HOLD = 0.15, 2e-3
"""Of the places where descents start, and the pull towards the middle: logarithms of rates."""


@dataclass(frozen=True)
class Measured:
    """A record. estimates: of its configurations; problems: (M, N, K) each; cublas: microseconds of each. product, tried,
    times: arrays with an item per measurement: numbers of the product and of the configuration, and microseconds."""

    estimates: Estimates
    problems: tuple
    cublas: tuple
    product: np.ndarray
    tried: np.ndarray
    times: np.ndarray

    @cached_property
    def _of_each(self):
        """(the estimates of each measurement's configuration, its arguments)."""
        M, N, K = np.array(self.problems)[self.product].T
        return self.estimates.take(self.tried), (M, N, K, 1, 132, lie_of(K))

    @cached_property
    def _over_least(self):
        """Each time over the least one of its product."""
        least = np.full(len(self.problems), np.inf)
        np.minimum.at(least, self.product, self.times)
        return self.times / least[self.product]

    def estimated(self, rates):
        """Microseconds of each measurement, as the estimates say."""
        estimates, arguments = self._of_each
        return estimates(*arguments, rates)

    def error(self, estimated):
        """The mean of |log(estimate / time)|, of the measurements near the least time of their product most."""
        return float(np.average(np.abs(np.log(estimated / self.times)), weights=0.5 ** ((self._over_least - 1) / NEAR)))

    @cached_property
    def _costs(self):
        """What it costs to choose each measurement's configuration: the logarithm of its time over the product's least one,
        more where that leaves it above cuBLAS's."""
        over, behind = np.log(self._over_least), np.log(self.times / np.array(self.cublas)[self.product])
        return over + BEHIND * (np.maximum(behind, 0) - np.maximum(behind - over, 0)) + 2 * over ** 2

    def loss(self, rates, sharpness):
        """What a fit makes small: the error of the estimates, and the cost of a soft choice by them."""
        estimated = self.estimated(rates)
        off = np.log(estimated / self.times)
        error = np.average(np.sqrt(off ** 2 + 1e-4), weights=0.5 ** ((self._over_least - 1) / NEAR))
        ends = np.flatnonzero(np.r_[True, np.diff(self.product) > 0])
        likely = np.minimum.reduceat(estimated, ends)[np.searchsorted(ends, np.arange(len(off)), "right") - 1] / estimated
        likely **= 1 / sharpness
        return error + CHOICE * np.mean(np.add.reduceat(likely * self._costs, ends) / np.add.reduceat(likely, ends))

    def choices(self, estimated):
        """(numbers of the measurements with the least estimate of each product, their times over the least ones)."""
        order = np.lexsort((estimated, self.product))
        chosen = order[np.r_[True, np.diff(self.product[order]) > 0]]
        return chosen, self._over_least[chosen]


def read(path):
    """The Measured of a file that `cuda_kernels.tuning` wrote; ParseError for another one.

    A configuration counts once at each product: with its tiles in the order of `in_order` or, where that was not measured,
    in the first one that was. Slices that cut nothing are left out.
    """
    try:
        record = json.loads(Path(path).read_text())
        problems, cublas, found = zip(*((tuple(shape[:3]), cublas, found) for shape, cublas, found in record["rows"]))
        estimates = Estimates(tuple(Hopper(**options) for options in record["configs"]))
        tried, times = np.array([pair for pairs in found for pair in pairs]).T
        product = np.repeat(np.arange(len(found)), [len(pairs) for pairs in found])
        measured = Measured(estimates, problems, cublas, product, tried.astype(int), times)
        known = np.isfinite(measured.estimated(H200)) & _once(estimates.configs, problems, product, measured.tried)
        return Measured(estimates, problems, cublas, product[known], measured.tried[known], times[known])
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(f"{path} is no record of cuda_kernels.tuning: {error}") from None


def _once(configs, problems, product, tried):
    """bool: which measurements count, of those of one configuration in several orders of tiles at one product."""
    counts = {}                                          # (product, program) -> the measurement
    for i, (p, c) in enumerate(zip(product.tolist(), tried.tolist())):
        key = p, configs[c].program
        if key not in counts or configs[c] == in_order(configs[c], *problems[p][:2]):
            counts[key] = i
    kept = np.zeros(len(product), bool)
    kept[list(counts.values())] = True
    return kept


def fit(measured, start=H200, rounds=6, seed=0):
    """Rates with little error and cost of choosing; yields the best so far after each round: a descent (L-BFGS) from
    `start`, later ones from random places near it."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise DeviceError("fitting needs scipy: pip install scipy") from None
    first, source, least = np.array([getattr(start, name) for name in NAMES]), np.random.default_rng(seed), np.inf

    def rates(logarithms):
        return Rates(**{name: float(value) for name, value in zip(NAMES, np.exp(logarithms) * first)})

    for turn in range(rounds):
        at = source.normal(0, SPREAD if turn else 0, len(NAMES))
        for sharpness in SHARPNESS:
            at = minimize(lambda x, s=sharpness: measured.loss(rates(x), s) + HOLD * (x * x).sum(), at, method="L-BFGS-B",
                          bounds=[(-2, 2)] * len(NAMES), options={"maxiter": 40}).x
        found = measured.loss(rates(at), SHARPNESS[-1])
        if found < least:
            least, best = found, rates(at)
        yield best


def main(arguments=None):
    """Prints the fit."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.tuning_fit", description=__doc__.split("\n\n")[0])
    parser.add_argument("record", help="a file that `python -m cuda_kernels.tuning --json FILE` wrote")
    parser.add_argument("--rounds", type=int, default=6, choices=range(1000), metavar="N",
                        help="descents, about 10 seconds each; 0 shows the rates as they are")
    parser.add_argument("--seed", type=int, default=0, help="of the places where descents start")
    options = parser.parse_args(arguments)
    measured, rates = read(options.record), H200
    print(_summary(measured, rates))
    for rates in fit(measured, rounds=options.rounds, seed=options.seed):
        print(_summary(measured, rates), flush=True)
    print(rates)
    chosen, cost = measured.choices(measured.estimated(rates))
    for i in np.argsort(-cost)[:20]:
        of_product = np.flatnonzero(measured.product == i)
        best = of_product[np.argmin(measured.times[of_product])]
        print(f"{cost[i]:.3f} at {measured.problems[i]}, cuBLAS {measured.cublas[i]} us:")
        for word, j in (("chosen", chosen[i]), ("best", best)):
            print(f"  {word}: {measured.times[j]} us, {measured.estimates.configs[measured.tried[j]].changes}")
    return 0


def _summary(measured, rates):
    estimated = measured.estimated(rates)
    chosen, cost = measured.choices(estimated)
    shares = measured.cublas / measured.times[chosen]
    g = statistics.geometric_mean
    return (f"error {measured.error(estimated):.4f}, choosing costs {g(cost.tolist()):.4f}, at most {max(cost):.3f}; "
            f"cuBLAS's time over the chosen one's {g(shares.tolist()):.4f}, at least {min(shares):.3f}")


if __name__ == "__main__":
    sys.exit(main())
