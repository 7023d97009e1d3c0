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
from cuda_kernels.gemm.hopper_model import H200, Estimates, Rates
from simlayout.errors import DeviceError, ParseError

NAMES = [f.name for f in fields(Rates)]

NEAR = 0.15
"""A time that is this much above the least one of its product has half the weight."""

CHOICE = 2.0
"""The weight of what choosing costs, beside the error of the estimates."""


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
        return self.estimates.take(self.tried), (M, N, K, 1, 132, K % 16 == 8)

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

    def choices(self, estimated):
        """(numbers of the measurements with the least estimate of each product, their times over the least ones)."""
        order = np.lexsort((estimated, self.product))
        chosen = order[np.r_[True, np.diff(self.product[order]) > 0]]
        return chosen, self._over_least[chosen]


def read(path):
    """The Measured of a file that `cuda_kernels.tuning` wrote; ParseError for another one. What nobody chooses is left out:
    slices that cut nothing, and tiles in another order than `in_order` gives them."""
    try:
        record = json.loads(Path(path).read_text())
        problems, cublas, found = zip(*((tuple(shape[:3]), cublas, found) for shape, cublas, found in record["rows"]))
        estimates = Estimates(tuple(Hopper(**options) for options in record["configs"]))
        tried, times = np.array([pair for pairs in found for pair in pairs]).T
        product = np.repeat(np.arange(len(found)), [len(pairs) for pairs in found])
        measured = Measured(estimates, problems, cublas, product, tried.astype(int), times)
        chosen = [in_order(estimates.configs[i], *problems[p][:2]) == estimates.configs[i]
                  for p, i in zip(product, measured.tried)]
        known = np.isfinite(measured.estimated(H200)) & chosen
        return Measured(estimates, problems, cublas, product[known], measured.tried[known], times[known])
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(f"{path} is no record of cuda_kernels.tuning: {error}") from None


def fit(measured, start=H200, rounds=6):
    """The Rates with the least error and cost of choosing, from `start` on; yields them after each of some rounds of
    Powell's method."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise DeviceError("fitting needs scipy: pip install scipy") from None
    first = np.array([getattr(start, name) for name in NAMES])

    def rates(logarithms):
        return Rates(**{name: float(value) for name, value in zip(NAMES, np.exp(logarithms) * first)})

    def loss(logarithms):
        estimated = measured.estimated(rates(logarithms))
        return measured.error(estimated) + CHOICE * np.mean(np.log(measured.choices(estimated)[1]))

    at = np.zeros(len(NAMES))
    for _ in range(rounds):
        at = minimize(loss, at, method="Powell", bounds=[(-2, 2)] * len(NAMES), options={"maxiter": 3}).x
        yield rates(at)


def main(arguments=None):
    """Prints the fit."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.tuning_fit", description=__doc__.split("\n\n")[0])
    parser.add_argument("record", help="a file that `python -m cuda_kernels.tuning --json FILE` wrote")
    parser.add_argument("--rounds", type=int, default=6, choices=range(100), metavar="N",
                        help="of Powell's method; 0 shows the rates as they are")
    options = parser.parse_args(arguments)
    measured, rates = read(options.record), H200
    print(_summary(measured, rates))
    for rates in fit(measured, rounds=options.rounds):
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
    cost = measured.choices(estimated)[1].tolist()
    return (f"error {measured.error(estimated):.4f}, choosing costs {statistics.geometric_mean(cost):.4f}, "
            f"at most {max(cost):.3f}")


if __name__ == "__main__":
    sys.exit(main())
