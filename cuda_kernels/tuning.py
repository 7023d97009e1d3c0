"""How long many configurations take at many products: what a cost model can be fitted to.

    python -m cuda_kernels.tuning --json FILE [--shapes 60] [--seed 7] [--seconds 0.002]

For each product, the configurations that may be good there run one after another, each as a replayed CUDA graph of calls
that rotate over operands of at least 150 MB; then the best of them with their tiles in other orders. cuBLAS (torch's) runs
before and after them. Operands are random normal.
"""

import argparse
import statistics
import sys
from dataclasses import replace

import numpy as np

from cuda_kernels.ahead import compile_ahead
from cuda_kernels.bench.libraries import Torch
from cuda_kernels.bench.record import where_and_when
from cuda_kernels.bench.sets import FEW_TILES, LAYERS, SQUARES, random_problems, squares
from cuda_kernels.bench.timing import by_cublas, fault, rotated, turn
from cuda_kernels.gemm.hopper_candidates import CANDIDATES
from cuda_kernels.gemm.hopper_choice import ESTIMATES, in_order
from cuda_kernels.gemm.hopper_model import lie_of
from simlayout.files import write_record

WORTH, MOST = 1.6, 48
"""Measured are configurations whose estimate is within this factor of the least one, and no more than so many."""

ORDERS, REORDERED = (1, 2, 4, 8, 16), 2
"""Rows of tiles in a group, and how many of the best configurations of a product are measured in all these orders."""


def problems(count, seed):
    """What to measure: `count` random Problems, a third of them small, and the named ones of the benchmark."""
    small = [replace(p, **{size: -(-getattr(p, size) // 96) * 8 for size in "MNK"})
             for p in random_problems(count // 3, seed + 1)]
    return random_problems(count - count // 3, seed) + small + LAYERS + FEW_TILES + squares(SQUARES[:-1])


def worth_measuring(problem, sms):
    """The configurations for a product as `matmul` would run them, likely ones first."""
    guesses = ESTIMATES(problem.M, problem.N, problem.K, 1, sms, lie_of(problem.K))
    order = np.argsort(guesses, kind="stable")[:MOST]
    likely = [CANDIDATES[i] for i in order if guesses[i] <= WORTH * guesses[order[0]]]
    return [replace(in_order(c, problem.M, problem.N), dtype=problem.dtype, out=problem.dtype) for c in likely]


def reordered(config, problem):
    """The configuration with the other ORDERS that differ from its own for a product."""
    rows, cols = config.tile_grid(*((problem.M, problem.N) if config.c_major == "N" else (problem.N, problem.M)))
    if cols == 1:
        return []
    groups = sorted({min(group, rows) for group in ORDERS} - {min(config.group, rows)})
    return [replace(config, group=group) for group in groups]


def time_of(library, calls, seconds):
    """Microseconds of one of some calls: the median of three turns."""
    take = turn(library, calls, seconds)
    return round(1e6 * statistics.median(take() for _ in range(3)), 2)


def measure(library, problem, configs, seconds):
    """(cuBLAS's microseconds, [(configuration, microseconds)], [what was wrong]) of a Problem."""
    from cuda_kernels import plan_matmul

    sets = rotated(library, problem)
    theirs = by_cublas(library, sets)
    before, found, faults = time_of(library, theirs, seconds), [], []

    def take(config):
        plans = [plan_matmul(*three, kernel=config) for three in sets]
        wrong = fault(library, problem, plans[0], sets[0])
        if wrong is None:
            found.append((config, time_of(library, plans, seconds)))
        else:
            faults.append(f"{problem}: {config} and cuBLAS differ by {wrong}")

    for config in configs:
        take(config)
    for config, _ in sorted(found, key=lambda f: f[1])[:REORDERED]:
        for other in reordered(config, problem):
            take(other)
    return round((before + time_of(library, theirs, seconds)) / 2, 2), found, faults


def measure_all(library, work, seconds):
    """(configurations, the record's rows, what was wrong) of [(Problem, configurations)]; says a line per row. Interrupted,
    it returns what it has. In the record all configurations are of f16: a row names its type."""
    tried, rows, faults = {}, [], []                     # configuration -> its number in the record
    try:
        for problem, configs in work:
            cublas, found, wrong = measure(library, problem, configs, seconds)
            library.free()
            faults += wrong
            found = [[tried.setdefault(replace(c, dtype="f16", out="f16"), len(tried)), us] for c, us in found]
            rows.append([[problem.M, problem.N, problem.K, problem.dtype], cublas, found])
            print(f"{len(rows):>4} {told(rows[-1], list(tried))}", flush=True)
    except KeyboardInterrupt:
        print(f"interrupted after {len(rows)} of {len(work)} products", file=sys.stderr)
    return list(tried), rows, faults


def told(row, configs):
    """A row of the record as a line: the best of its configurations."""
    (M, N, K, dtype), cublas, found = row
    best, time = min(found, key=lambda f: f[1], default=(None, float("inf")))
    options = "none right" if best is None else configs[best].changes
    return (f"{M:>6} x{N:>6} x{K:>6} {dtype:<5} cuBLAS {cublas:>9.1f} us, best {time:>9.1f} of {len(found):>3}, "
            f"{cublas / time:.3f}: {options}")


def main(arguments=None):
    """Measures, prints a line per product, and writes the record."""
    from cuda_kernels import driver

    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.tuning", description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", required=True, help="write the record to this file")
    parser.add_argument("--shapes", type=int, default=60, help="random products")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.002, help="of a turn; a configuration has three")
    options = parser.parse_args(arguments)
    library, sms = Torch(), driver.cuda().multiprocessors(0)
    work = [(p, worth_measuring(p, sms)) for p in problems(options.shapes, options.seed)]
    compile_ahead([config.program for _, configs in work for config in configs], driver.cuda().version)
    configs, rows, faults = measure_all(library, work, options.seconds)
    head = {**where_and_when("cuda_kernels.tuning", arguments), "library": library.version}
    write_record(options.json, head, configs=[c.changes for c in configs], rows=rows)
    for text in faults:
        print(text, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
