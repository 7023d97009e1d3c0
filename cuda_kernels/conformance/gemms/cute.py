"""`python -m cuda_kernels.conformance.gemms.cute`: every case of CuTe's choice, proved, run and compared.

Exits with 1 if any case is wrong, or executes other wavefronts than predicted, or if one that CuTe rejects is accepted.
"""

import json
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from cuda_kernels.bench.command import ended_by, parser_of
from cuda_kernels.kernels.cute.atoms import CASES, REJECTED, rejection
from cuda_kernels.run.device import gpu_problem
from cuda_kernels.run.runner import run
from simlayout.hardware.matrix.ldmatrix import TOO_FEW_VALUES
from simlayout.kernel import Problem
from simlayout.workers import workers

LARGEST = 4
"""|element| of the inputs: their products and sums are integers far below 2^24, so f32 is exact in any order."""


@dataclass(frozen=True)
class Verified:
    """One case. number: in CASES; atoms: CuTe's copy atoms of A and B; exact: C was NumPy's, bit for bit; as_predicted: the
    wavefronts executed were those predicted (None on a GPU, where nobody counts); excess: predicted excess wavefronts per
    instruction, {access: excess}."""

    number: int
    case: str
    atoms: tuple
    device: str
    exact: bool
    as_predicted: bool | None
    excess: dict = field(hash=False)

    def __str__(self):
        words = {True: "exact", False: "WRONG"}[self.exact], {True: "as predicted", False: "NOT AS PREDICTED"}.get(
            self.as_predicted, "")
        return (f"{self.number:>3}  {self.case:<58} {' '.join(f'{e:>6}' for e in self.excess.values())}  "
                f"{self.atoms[0]} {self.atoms[1]}  {' '.join(words)}").rstrip()


def matrices(M, N, K, seed=0):
    """A (M, K) and B (N, K) of small integers, f16."""
    generator = np.random.default_rng(seed)
    return [generator.integers(-LARGEST, LARGEST + 1, shape).astype(np.float16) for shape in ((M, K), (N, K))]


def executes_what_is_predicted(case, trace, M, N, K):
    """Whether a trace of the CPU machine holds the instructions and wavefronts of `Atoms.predict`, and nothing else."""
    predicted, executed = ({c.name: (c.instruction, c.instructions, c.wavefronts, c.ideal) for c in counts}
                           for counts in (case.predict(Problem(M, N, K)).counts, trace.accesses))
    return predicted == executed


def verify(number, shape, device):
    """Proves, runs and compares case `number` at shape (M, N, K): a Verified."""
    case = CASES[number]
    case.plan.verify()
    a, b = matrices(*shape)
    solved = run(case, a, b.T, device=device)
    as_predicted = None if solved.trace is None else executes_what_is_predicted(case, solved.trace, *shape)
    return Verified(number, str(case), (case.a.choice.atom, case.b.choice.atom), solved.device,
                    bool(np.array_equal(solved.c, a.astype(np.float32) @ b.astype(np.float32).T)), as_predicted,
                    {c.name: c.excess // c.instructions for c in case.predict(Problem(*shape)).counts})


def verified(numbers, shape, device, jobs):
    """The Verified of each number, as they come; jobs: processes."""
    one = partial(verify, shape=shape, device=device)
    if jobs == 1:
        yield from map(one, numbers)
        return
    with workers(jobs) as pool:
        yield from pool.map(one, numbers, chunksize=4)


def main(arguments=None):
    """The command; returns its exit status."""
    parser = parser_of("cuda_kernels.conformance.gemms.cute", __doc__)
    parser.add_argument("--device", choices=("auto", "gpu", "cpu"), default="auto")
    parser.add_argument("--shape", nargs=3, type=int, metavar=("M", "N", "K"), default=(40, 72, 72))
    parser.add_argument("--only", default="", metavar="TEXT", help='cases whose description holds this, as "swizzled"')
    parser.add_argument("--case", type=int, metavar="NUMBER", help="this case alone, for a profiler")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile and run cases")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    numbers = [i for i, case in enumerate(CASES) if options.only in str(case) and options.case in (None, i)]
    if not numbers or options.jobs < 1 or min(options.shape) < 1:
        parser.error(f"nothing to do: --case is 0 to {len(CASES) - 1}, --only part of a description like {str(CASES[0])!r}, "
                     "--jobs and M, N and K at least 1")
    device = ("cpu" if gpu_problem() else "gpu") if options.device == "auto" else options.device
    results = []
    for one in verified(numbers, tuple(options.shape), device, options.jobs):
        results.append(one)
        if not options.json:
            print(one, flush=True)
    rejected = [{**arguments, "message": rejection(arguments) or ""} for arguments in REJECTED]
    wrong = sum(not one.exact or one.as_predicted is False for one in results)
    accepted = sum(not one["message"].startswith(TOO_FEW_VALUES) for one in rejected)
    if options.json:
        print(json.dumps({"shape": options.shape, "cases": [vars(one) for one in results], "rejected": rejected}))
    else:
        for one in rejected:
            print(f"rejected  {one['message']}")
        shape = " ".join(map(str, options.shape))
        print(f"{len(results)} cases on {results[0].device}, M N K = {shape}: {wrong} wrong; excess per instruction of "
              f"{', '.join(results[0].excess)}; {len(rejected) - accepted} of {len(rejected)} rejected as by CuTe")
    return 1 if wrong or accepted else 0


if __name__ == "__main__":
    ended_by(main)
