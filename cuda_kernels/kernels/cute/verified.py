"""A case verified: proved, run on small integers, and compared with NumPy and with its plan."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from cuda_kernels.kernels.cute.atoms import CASES
from cuda_kernels.kernels.cute.run import run
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
    said = {c.name: (c.instruction, c.instructions, c.wavefronts, c.ideal) for c in case.predict(M, N, K)}
    return said == {c.name: (c.instruction, c.instructions, c.wavefronts, c.ideal) for c in trace.accesses}


def verify(number, shape, device):
    """Proves, runs and compares case `number` at shape (M, N, K): a Verified."""
    case = CASES[number]
    case.plan.verify()
    a, b = matrices(*shape)
    done = run(case, a, b, device)
    as_predicted = None if done.trace is None else executes_what_is_predicted(case, done.trace, *shape)
    return Verified(number, str(case), (case.a.choice.atom, case.b.choice.atom), done.device,
                    bool(np.array_equal(done.c, a.astype(np.float32) @ b.astype(np.float32).T)), as_predicted,
                    {c.name: c.excess // c.instructions for c in case.predict(*shape)})


def verified(numbers, shape, device, jobs):
    """The Verified of each number, as they come; jobs: processes."""
    one = partial(verify, shape=shape, device=device)
    if jobs == 1:
        yield from map(one, numbers)
        return
    with workers(jobs) as pool:
        yield from pool.map(one, numbers, chunksize=4)
