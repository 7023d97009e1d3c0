"""Fits the rates of the cost model to records of `cuda_kernels.lab.tuning`. Needs scipy, but no GPU.

    python -m cuda_kernels.lab.tuning_fit RECORD [RECORD ...]

Records may be of several GPUs and widths, and of groups: the rates are those of an H200, and what becomes of them elsewhere
must explain the times there, too; each product counts as much as another. Prints, by GPU and kind, how far the estimates are
from the measured times, what choosing by them costs (the time of the chosen configuration over the least one, geometric
mean), the rates, and the products where the choice is worst. `cuda_kernels.lab.tuning_learn` learns what the estimates then
still lack.
"""

import statistics
from collections import Counter
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from cuda_kernels.bench.command import ended_by, parser_of
from cuda_kernels.lab import tuning_record
from cuda_kernels.matmul.choose.figures import FIGURES, Figures
from cuda_kernels.matmul.choose.grouped import AlongGroups, work_of_groups
from cuda_kernels.matmul.choose.model import Estimates, in_16_bits
from cuda_kernels.matmul.choose.rates import RATES, Rates
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import DeviceError, ParseError

NAMES = [f.name for f in fields(Rates)]

NEAR = 0.15
"""A time that is this much above the least one of its product has half the weight."""

USUAL, HOLD = 0.03, 0.0025
"""Errors (logarithms) beyond the first weigh less than their squares; the second is the pull on a rate (logarithms, too)
towards where the fit starts."""

FIXED = ("clock_ghz", "row_power_share")
"""Rates about which records say too little: a clock by itself changes nothing, and few records are settled."""


@dataclass(frozen=True)
class Measured:
    """A record. gpu: on which it was measured; grouped: whether rows belong to groups; narrow: whether A and B are of 8
    bits; settled: as of a Record; row: whether each product began as the one before it ended, with `early` and without;
    estimates: of its configurations; problems: (M, N, K, groups or 1, bytes of an element of C) each, K in pairs of 8-bit
    elements; cublas: microseconds of each; named: how often its record was. product, tried, times: arrays with an item per
    measurement: numbers of the product and of the configuration, and microseconds."""

    gpu: Figures
    grouped: bool
    narrow: bool
    settled: bool
    row: bool
    estimates: Estimates
    problems: tuple
    cublas: tuple
    named: tuple
    product: np.ndarray
    tried: np.ndarray
    times: np.ndarray

    def __str__(self):
        name = next(name for name, figures in FIGURES.items() if figures == self.gpu)
        return f"{name}, {8 if self.narrow else 16} bits" + (
            " in groups" * self.grouped + " in settled turns" * self.settled + " in a row" * self.row)

    def of(self, measurements):
        """The Measured of some of the measurements alone."""
        return replace(self, product=self.product[measurements], tried=self.tried[measurements],
                       times=self.times[measurements])

    @cached_property
    def of_each(self):
        """(the estimates of each measurement's configuration, their work)."""
        M, N, K, groups, c_bytes = np.array(self.problems)[self.product].T
        estimates = self.estimates.take(self.tried)
        if self.grouped:
            estimates = AlongGroups(estimates)
            return estimates, work_of_groups(estimates, M, N, K, groups, self.gpu, self.narrow, c_bytes)
        return estimates, estimates.work(M, N, K, groups, self.gpu, narrow=self.narrow, c_bytes=c_bytes)

    @cached_property
    def least(self):
        """float64 [products]: the least time of each."""
        least = np.full(len(self.problems), np.inf)
        np.minimum.at(least, self.product, self.times)
        return least

    @property
    def _over_least(self):
        """Each time over the least one of its product."""
        return self.times / self.least[self.product]

    def estimated(self, rates):
        """Microseconds of each measurement, as the estimates say without trees. If it is not settled all configurations
        had one clock, so that none took longer by what it draws itself."""
        estimates, work = self.of_each
        return estimates.times(work, self.gpu, rates if self.settled else replace(rates, row_power_share=0.0))

    def corrected(self, plain):
        """Microseconds of each measurement, as the trees that matmul has correct the estimates without trees."""
        estimates, work = self.of_each
        return estimates.corrected(work, plain, self.gpu)

    @cached_property
    def weights(self):
        """How much each counts: most near the least time of its product, and as often as its record is named."""
        return np.array(self.named)[self.product] * 0.5 ** ((self._over_least - 1) / NEAR)

    def error(self, estimated):
        """The mean of |log(estimate / time)|, of the measurements near the least time of their product most."""
        return float(np.average(np.abs(np.log(estimated / self.times)), weights=self.weights))

    def residuals(self, rates):
        """What a fit minimises: weighted errors, in which large ones count less."""
        off = np.log(self.estimated(rates) / self.times) / USUAL
        return np.sqrt(2 * (np.sqrt(1 + off ** 2) - 1) * self.weights / self.weights.sum())

    def choices(self, estimated):
        """(numbers of the measurements with the least estimate of each product, their times over the least ones)."""
        order = np.lexsort((estimated, self.product))
        chosen = order[np.r_[True, np.diff(self.product[order]) > 0]]
        return chosen, self._over_least[chosen]


def read(*paths):
    """The Measured of files that `cuda_kernels.lab.tuning` wrote on one GPU, as `read_each` reads them; ParseError where
    there are several."""
    found = read_each(*paths)
    if len(found) != 1:
        raise ParseError(f"these are records of {len(found)} GPUs or widths of A and B, of groups and others, or of products"
                         " in a row and others: read those of one at a time")
    return found[0]


def read_each(*paths):
    """A Measured for each GPU on which `cuda_kernels.lab.tuning` wrote these files, as they are or compressed by xz, for
    products in groups and others, for A and B of 16 bits and of 8, for settled ones and others, and for those in a row and
    others; ParseError for other files. A file that is named twice counts twice. It lacks what is never chosen, as slices
    that cut nothing, and what estimates know nothing of, as C that is stored by sectors."""
    configs, rows_of = {}, {}               # configuration -> its number; (GPU, grouped, narrow, settled, row) -> rows
    for path, named in Counter(map(Path, paths)).items():
        record = tuning_record.read(path)
        numbers = [configs.setdefault(config, len(configs)) for config in record.configs]
        for tried in record.products:
            p = tried.problem
            deep, narrow = in_16_bits(p.K, p.dtype)
            problem = p.M, p.N, deep, max(p.groups, 1), TYPES[p.out].bytes
            row = any(record.configs[i].early for i, _ in tried.times)
            rows_of.setdefault((record.device, p.groups > 0, narrow, record.settled, row), []).append(
                (problem, tried.beside[0], named, [(numbers[i], us) for i, us in tried.times]))
    unknown = sorted({device for device, *_ in rows_of} - set(FIGURES))
    if unknown or not rows_of:
        raise ParseError(f"records of {', '.join(unknown) or 'nothing'}: read those of {' or '.join(FIGURES)}")
    estimates = Estimates(tuple(configs))
    estimated = np.array([config.store != "sectors" for config in configs])
    return [_measured(FIGURES[device], *kind, estimates, estimated, rows) for (device, *kind), rows in rows_of.items()]


def _measured(gpu, grouped, narrow, settled, row, estimates, estimated, rows):
    """The Measured of [(problem, cuBLAS's microseconds, how often it counts, [(configuration's number, microseconds)])].
    estimated: bool [configurations]."""
    problems, cublas, named, measured = zip(*rows)
    tried, times = np.array([pair for pairs in measured for pair in pairs]).T
    product = np.repeat(np.arange(len(measured)), [len(pairs) for pairs in measured])
    result = Measured(gpu, grouped, narrow, settled, row, estimates, problems, cublas, named, product, tried.astype(int),
                      times)
    result = result.of(estimated[result.tried])
    result = result.of(np.isfinite(result.estimated(RATES)))
    if not len(result.times):
        raise ParseError("the records of a GPU have nothing that estimates know of")
    left, product = np.unique(result.product, return_inverse=True)
    problems, cublas, named = (tuple(of[i] for i in left) for of in (problems, cublas, named))
    return replace(result, problems=problems, cublas=cublas, named=named, product=product)


def fit(each, start=RATES, rounds=6):
    """Rates with little error for some Measured; yields the best so far after each round of five steps of least squares from
    `start`."""
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise DeviceError("fitting needs scipy: pip install 'simlayout[tuning]'") from None
    names = [name for name in NAMES if name not in FIXED]
    first, at = np.array([getattr(start, name) for name in names]), np.zeros(len(names))
    parts = np.sqrt([len(m.problems) for m in each]) / np.sqrt(sum(len(m.problems) for m in each))

    def rates(logarithms):
        return replace(start, **{name: float(value) for name, value in zip(names, np.exp(logarithms) * first)})

    for _ in range(rounds):
        at = least_squares(lambda x: np.concatenate([part * m.residuals(rates(x)) for part, m in zip(parts, each)]
                                                    + [HOLD * x]), at,
                           bounds=(-2.5, 2.5), max_nfev=5, x_scale=0.3).x
        yield rates(at)


def main(arguments=None):
    """Prints the fit."""
    parser = parser_of("cuda_kernels.lab.tuning_fit", __doc__)
    parser.add_argument("records", nargs="+", help="files that `python -m cuda_kernels.lab.tuning --json FILE` wrote")
    parser.add_argument("--rounds", type=int, default=6, choices=range(1000), metavar="N",
                        help="of the fit, some seconds each; 0 shows the rates as they are")
    options = parser.parse_args(arguments)
    each, rates = read_each(*options.records), RATES
    for rates in chain([RATES], fit(each, rounds=options.rounds)):
        for measured in each:
            print(f"{measured}: {summary(measured, measured.estimated(rates))}", flush=True)
    print(rates)
    for measured in each:
        _print_worst(measured, rates)
    return 0


def _print_worst(measured, rates):
    """Prints the products where choosing by estimates with these rates costs most."""
    chosen, cost = measured.choices(measured.estimated(rates))
    for i in np.argsort(-cost)[:20]:
        number = measured.product[chosen[i]]
        of_product = np.flatnonzero(measured.product == number)
        best = of_product[np.argmin(measured.times[of_product])]
        print(f"{cost[i]:.3f} at {measured.problems[number]}, cuBLAS {measured.cublas[number]} us:")
        for word, j in (("chosen", chosen[i]), ("best", best)):
            print(f"  {word}: {measured.times[j]} us, {measured.estimates.configs[measured.tried[j]].changes}")


def summary(measured, estimated):
    """What estimates of a Measured are worth, as a line."""
    chosen, cost = measured.choices(estimated)
    shares = measured.cublas / measured.times[chosen]
    g = statistics.geometric_mean
    return (f"error {measured.error(estimated):.4f}, choosing costs {g(cost.tolist()):.4f}, at most {max(cost):.3f}; "
            f"cuBLAS's time over the chosen one's {g(shares.tolist()):.4f}, at least {min(shares):.3f}")


if __name__ == "__main__":
    ended_by(main)
