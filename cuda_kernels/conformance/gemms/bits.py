"""C of every kernel, bit for bit: the GPU's against the CPU machine's.

    python -m cuda_kernels.conformance.gemms.bits [--kernels NAME ...] [--json FILE]

Prints one line per variant and problem; exit status 1 if a bit differs. The record keeps a digest of the GPU's C, so that
a machine without a GPU can compare its own.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.bench.sets import default_variants
from cuda_kernels.run.device import gpu_problem
from cuda_kernels.run.runner import run
from simlayout.errors import DeviceError
from simlayout.files import write_whole
from simlayout.workers import workers

PROBLEMS = ((256, 128, 96), (300, 200, 136), (131, 67, 70))
"""M, N, K: whole tiles; edges in every direction; rows that start on 2 bytes only."""


def operands(M, N, K):
    """A (M, K) and B (K, N), f16: normal numbers of both signs and seven exponents, the same on every machine."""
    rng = np.random.default_rng([M, N, K])

    def matrix(rows):
        sign, exponent, fraction = (rng.integers(0, n, (rows, K), np.uint16) for n in (2, 7, 1024))
        return (sign << 15 | (exponent + 11) << 10 | fraction).view(np.float16)

    return matrix(M), matrix(N).T


def digest(c):
    """The first 16 hex digits of the SHA-256 of a matrix' bytes."""
    return hashlib.sha256(np.ascontiguousarray(c).tobytes()).hexdigest()[:16]


@dataclass(frozen=True)
class Outcome:
    """One variant on one problem: digests of C, and how many of its elements differ in any bit."""

    variant: str
    problem: tuple
    gpu: str
    cpu: str
    differ: int


def cpu_result(label, problem):
    """C (M, N) f16 of a variant, by its label, from the CPU machine."""
    return run(dict(default_variants())[label], *operands(*problem), device="cpu").c


def outcome(label, problem):
    """The Outcome of a variant, by its label: run on both machines."""
    gpu = run(dict(default_variants())[label], *operands(*problem), device="gpu").c
    cpu = cpu_result(label, problem)
    return Outcome(label, problem, digest(gpu), digest(cpu), int((gpu.view(np.uint16) != cpu.view(np.uint16)).sum()))


def compare_all(kernels):
    """[Outcome] of every variant of the kernels named (all for none) on every problem, in one process per core."""
    problem = gpu_problem()
    if problem:
        raise DeviceError(problem)
    outcomes = []
    with workers(os.cpu_count() or 1) as pool:
        labels = [label for label, kernel in default_variants() if not kernels or kernel.name in kernels]
        for waiting in [pool.submit(outcome, label, p) for label in labels for p in PROBLEMS]:
            one = waiting.result()
            verdict = f"{one.differ} elements differ" if one.differ else "equal"
            print(f"{one.variant:<44}{'x'.join(map(str, one.problem)):<14}{verdict}")
            outcomes.append(one)
    return outcomes


def main(arguments=None):
    """The command line."""
    parser = recording_parser_of("cuda_kernels.conformance.gemms.bits", __doc__)
    parser.add_argument("--kernels", nargs="+", default=[], help="kernel names (default: all)")
    options = parser.parse_args(arguments)
    outcomes = compare_all(options.kernels)
    wrong = sum(o.differ > 0 for o in outcomes)
    print(f"{len(outcomes)} results, {wrong} differ")
    if options.json:
        head = where_and_when("cuda_kernels.conformance.gemms.bits", arguments)
        write_whole(options.json, json.dumps({**head, "outcomes": [asdict(o) for o in outcomes]}, indent=1))
    return int(wrong > 0)


if __name__ == "__main__":
    ended_by(main)
