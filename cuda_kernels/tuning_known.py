"""Which products have a best configuration that the estimates do not find: `cuda_kernels.gemm.hopper_known`. Needs no GPU.

    python -m cuda_kernels.tuning_known RECORD [RECORD ...] [--write]

Of the products of some records of `cuda_kernels.tuning` that were measured at least RUNS times: a line for each whose best
configuration is WORTH better than the one with the least estimate; --write keeps them for `matmul`. Where the GPU's power is
the limit, tuning in turns cannot tell (`hopper_model.H200`): products faster than COOL are left out.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from cuda_kernels.gemm import hopper_known
from cuda_kernels.gemm.hopper_model import lie_of
from cuda_kernels.tuning_fit import SMS, read

RUNS, WORTH, COOL = 3, 1.015, 450
"""Measurements; a ratio of times; TFLOP/s."""

NOISE = 0.02
"""Of one measurement (logarithm): so much a configuration must be ahead of another that was measured often."""


def better(measured):
    """[((M, N, K), configuration, ratio)] of a Measured (`tuning_fit.read`): the products whose best configuration takes
    `ratio` of the time of that with the least estimate, times over cuBLAS's in the same run, medians over the runs."""
    found = defaultdict(lambda: defaultdict(list))
    cublas = np.array(measured.cublas)[measured.product]
    for product, tried, share in zip(measured.product, measured.tried, np.log(measured.times / cublas)):
        found[measured.problems[product]][tried].append(share)
    made = []
    for shape, shares in found.items():
        runs = measured.problems.count(shape)
        fastest = min(t for p, t in zip(measured.product, measured.times) if measured.problems[p] == shape)
        if runs < RUNS or 2e-6 * np.prod(shape) / fastest > COOL:
            continue
        tried = list(shares)
        usual = tried[int(np.argmin(measured.estimates.take(tried)(*shape, 1, SMS, lie_of(shape[2]))))]
        best = min(tried, key=lambda i: np.median(shares[i]) + NOISE / len(shares[i]) ** 0.5)
        ratio = float(np.exp(np.median(shares[best]) - np.median(shares[usual])))
        if len(shares[best]) > 1 and ratio * WORTH < 1:
            made.append((shape, measured.estimates.configs[best], ratio))
    return sorted(made, key=lambda row: row[0])


def main(arguments=None):
    """Prints the products; writes them with --write."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.tuning_known", description=__doc__.split("\n\n")[0])
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="files that cuda_kernels.tuning wrote")
    parser.add_argument("--write", action="store_true", help="write them where matmul looks")
    options = parser.parse_args(arguments)
    found = better(read(*options.records))
    for shape, config, ratio in found:
        print(f"{' x '.join(map(str, shape)):<22} {ratio:.3f} of the time of what is chosen: {config.changes}")
    if options.write:
        hopper_known.write(hopper_known.PATH, {"records": [path.name for path in options.records]}, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
