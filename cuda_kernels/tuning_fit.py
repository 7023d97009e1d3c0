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
from pathlib import Path

import numpy as np

from cuda_kernels.gemm.hopper import Hopper
from cuda_kernels.gemm.hopper_model import H200, Estimates, Rates
from simlayout.errors import DeviceError, ParseError

NEAR = 0.1

NAMES = [f.name for f in fields(Rates)]


@dataclass(frozen=True)
class Measured:
    """A record. estimates: of its configurations; problems: (M, N, K) each; cublas: microseconds of each; tried: numbers of
    the configurations that were measured, int arrays; times: their microseconds."""

    estimates: Estimates
    problems: tuple
    cublas: tuple
    tried: tuple
    times: tuple

    def estimated(self, rates):
        """Microseconds of what was measured, as the estimates say: an array per problem."""
        return [self.estimates(M, N, K, 1, 132, K % 16 == 8, rates)[tried]
                for (M, N, K), tried in zip(self.problems, self.tried)]

    def error(self, rates):
        """The mean of |log(estimate / time)|, of times near the least one most: by half where they are NEAR above it."""
        found = [(np.abs(np.log(said / time)), 0.5 ** ((time / time.min() - 1) / NEAR))
                 for said, time in zip(self.estimated(rates), self.times)]
        off, weights = (np.concatenate(x) for x in zip(*found))
        return float(np.average(off, weights=weights))

    def choices(self, rates):
        """[(time of the chosen over the least, number of the chosen, number of the best)] by problem."""
        made = []
        for said, time, tried in zip(self.estimated(rates), self.times, self.tried):
            chosen, best = int(np.argmin(said)), int(np.argmin(time))
            made.append((float(time[chosen] / time[best]), int(tried[chosen]), int(tried[best])))
        return made


def read(path):
    """The Measured of a file that `cuda_kernels.tuning` wrote; ParseError for another one."""
    try:
        record = json.loads(Path(path).read_text())
        rows = [(tuple(shape[:3]), cublas, *zip(*found)) for shape, cublas, found in record["rows"]]
        problems, cublas, tried, times = zip(*rows)
        estimates = Estimates(tuple(Hopper(**options) for options in record["configs"]))
        tried, times = (tuple(np.array(x) for x in rows) for rows in (tried, times))
        known = [np.isfinite(estimates(*p)[t]) for p, t in zip(problems, tried)]
        return Measured(estimates, problems, cublas, *(tuple(x[k] for x, k in zip(rows, known)) for rows in (tried, times)))
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(f"{path} is no record of cuda_kernels.tuning: {error}") from None


def fit(measured, start=H200, rounds=3):
    """The Rates with the least error, from `start` on; yields them after each of some rounds of Powell's method."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise DeviceError("fitting needs scipy: pip install scipy") from None
    first = np.array([getattr(start, name) for name in NAMES])

    def rates(scales):
        return Rates(**{name: float(value) for name, value in zip(NAMES, np.abs(scales) * first)})

    scales = np.ones(len(NAMES))
    for _ in range(rounds):
        scales = minimize(lambda x: measured.error(rates(x)), scales, method="Powell", bounds=[(0.05, 20)] * len(NAMES),
                          options={"maxiter": 6}).x
        yield rates(scales)


def main(arguments=None):
    """Prints the fit."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.tuning_fit", description=__doc__.split("\n\n")[0])
    parser.add_argument("record", help="a file that `python -m cuda_kernels.tuning --json FILE` wrote")
    parser.add_argument("--rounds", type=int, default=3, choices=range(1, 100), metavar="N", help="of Powell's method")
    options = parser.parse_args(arguments)
    measured = read(options.record)
    for rates in fit(measured, rounds=options.rounds):
        choices = measured.choices(rates)
        cost = statistics.geometric_mean(c for c, *_ in choices)
        print(f"error {measured.error(rates):.4f}, choosing costs {cost:.4f}, at most {max(choices)[0]:.3f}", flush=True)
    print(rates)
    by_cost = sorted(zip(choices, measured.problems, measured.cublas, measured.times), reverse=True)
    for (cost, chosen, best), problem, cublas, times in by_cost[:20]:
        configs = measured.estimates.configs
        print(f"{cost:.3f} at {problem}, cuBLAS {cublas} us, best {times.min()} us:\n  {configs[chosen]} instead of\n"
              f"  {configs[best]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
