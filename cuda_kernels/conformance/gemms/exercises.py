"""The exercises against Nsight Compute, access by access, as `kernels` compares the GEMM kernels: every practical problem in
every layout and way to store, every case of CuTe's choice of ldmatrix, and warptile.

    python -m cuda_kernels.conformance.gemms.exercises [--only practical cute warptile] [--json FILE] [--keep FOLDER]

Builds each of the 297 with marks (two or three seconds of a CPU), launches it once, all of them under one ncu, on matrices
whose results are exact, checks these, and compares every count of every access: none is a cp.async, so all counts are known.
Every other practical exercise stores by stmatrix, which needs an sm_90.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import product

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.build.assembler import program
from cuda_kernels.build.compile import ptx
from cuda_kernels.conformance import ncu
from cuda_kernels.conformance.gemms.counts import build_all, evaluate, options_of, profile, record, table, tell, this_arch
from cuda_kernels.conformance.gemms.cute import matrices as small_matrices
from cuda_kernels.kernels.cute import CASES
from cuda_kernels.kernels.practical import PROBLEMS, STORES, practical
from cuda_kernels.kernels.practical.problem import small_integers
from cuda_kernels.kernels.warptile.warptile import KERNEL
from cuda_kernels.run.check import rounded
from cuda_kernels.run.cuda import Gpu
from simlayout.errors import DeviceError
from simlayout.files import write_whole
from simlayout.kernel import Kernel, Problem

POWER = 3
"""The number n of problem 1.1: its loop turns twice, and reads what it has stored; A^3 of -1, 0 and 1 is exact in f16."""

ATOMS_SHAPE = 40, 72, 72
"""M, N and K of CuTe's cases: two CTAs of two steps, none of them whole. No count depends on how much of a tile exists."""

WARPTILE_SHAPES = (256, 384, 64), (300, 264, 200), (130, 66, 35)
"""M, N and K of warptile: whole tiles, which its loads need not guard; ragged ones; rows that do not start on 8 bytes."""


@dataclass(frozen=True, eq=False)
class Exercise:
    """A kernel and the one launch of it that is counted.

    label: the family, and the exercise's name in it. kernel: fitted to the problem. inputs() -> the NumPy arrays that the
    kernel takes; expected() -> those of its results, all of them exact.
    """

    label: str
    kernel: Kernel
    problem: object
    inputs: Callable
    expected: Callable

    @cached_property
    def counts(self):
        """The AccessCounts, in the order of the kernel's accesses."""
        predicted = self.kernel.predict(self.problem)
        return getattr(predicted, "counts", predicted)


# ---- the families ----------------------------------------------------------------------------------------------------

def practicals():
    """The Exercises of the practical problems."""
    for (problem, layout), store in product(PROBLEMS, STORES):
        kernel = practical(problem, layout, store)
        numbers = (POWER,) if kernel.takes_power else ()
        yield Exercise(f"practical {kernel.name}", kernel, *(numbers or (1,)), partial(_practical_inputs, kernel, numbers),
                       partial(_practical_expected, kernel, numbers))


def _practical_inputs(kernel, numbers):
    return *small_integers(kernel.inputs), *numbers


def _practical_expected(kernel, numbers):
    return [result.astype(np.float16) for result in kernel.reference(*_practical_inputs(kernel, numbers))]


def atoms():
    """The Exercises of CuTe's choice of ldmatrix."""
    problem = Problem(*ATOMS_SHAPE)
    for case in CASES:
        yield Exercise(f"cute {case}", case.fitted(problem), problem, _atoms_inputs, _atoms_expected)


def _atoms_inputs():
    a, b = small_matrices(*ATOMS_SHAPE)
    return a, b.T


def _atoms_expected():
    a, b = _atoms_inputs()
    return [a.astype(np.float32) @ b.astype(np.float32)]


def warptiles():
    """The Exercises of warptile."""
    for M, N, K in WARPTILE_SHAPES:
        problem = Problem(M, N, K)
        yield Exercise(f"warptile {M} x {N} x {K}", KERNEL.fitted(problem), problem, partial(_warptile_inputs, M, N, K),
                       partial(_warptile_expected, M, N, K))


def _warptile_inputs(M, N, K):
    return [rounded("bf16", x.astype(np.float32)) for x in small_integers(((M, K), (K, N)))]


def _warptile_expected(M, N, K):
    a, b = (x.astype(np.float32) for x in small_integers(((M, K), (K, N))))   # sums of up to 200 times -1, 0 or 1:
    return [rounded("bf16", a @ b)]                                           # bf16 has integers to 256


FAMILIES = {"practical": practicals, "cute": atoms, "warptile": warptiles}


@lru_cache(None)
def exercises():
    """{label: Exercise}, family after family."""
    return {one.label: one for family in FAMILIES.values() for one in family()}


# ---- compiling, launching, measuring ---------------------------------------------------------------------------------

def build(label, arch):
    """An exercise with marks, without a GPU: the name of its entry and its machine code."""
    return program(ptx(exercises()[label].kernel, arch, marked=True), arch)


def launch_all(folder):
    """Launches every build of a folder once, and checks the results: what ncu watches."""
    builds = json.loads((folder / "builds.json").read_text())
    for i, (label, entry) in enumerate(zip(builds["labels"], builds["entries"])):
        one = exercises()[label]
        work = one.kernel.work(*one.inputs(), packed=True)
        Gpu().launch_code(work, entry, (folder / f"{i}.cubin").read_bytes())
        if not all(np.array_equal(x, y) for x, y in zip(work.results(), one.expected(), strict=True)):
            raise DeviceError(f"{label} computes a wrong result")


def measure(families, keep=None):
    """[(label, Rows, strangers, pipe)] of the families' exercises, measured on this machine's GPU; keep: see `main`."""
    ncu.refuse()
    chosen = [one for one in exercises().values() if one.label.split()[0] in families]
    with ncu.folder(keep) as folder:
        build_all(folder, [one.label for one in chosen], partial(build, arch=this_arch()))
        profiled = profile(folder, "cuda_kernels.conformance.gemms.exercises", len(chosen), ".")
    return [(one.label, *evaluate(one.kernel, one, *of_one)) for one, of_one in zip(chosen, profiled)]


def _line(label, of, result):
    checked, wrong = of
    said = f"{wrong} of {checked} counts differ\n{table(*result)}" if wrong else f"all {checked} counts equal"
    return f"{label}: {said}"


def main(arguments=None):
    """Prints a line per exercise, and each count as predicted and as measured where one differs: exit status 1 then."""
    parser = recording_parser_of("cuda_kernels.conformance.gemms.exercises", __doc__)
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="these families (default: all)")
    options = options_of(parser, arguments)
    if options.launch:
        launch_all(options.launch)
        return 0
    results = measure(options.only, options.keep)
    wrong = tell(results, _line)
    if options.json:
        head = where_and_when("cuda_kernels.conformance.gemms.exercises", arguments)
        head |= {"power": POWER, "shape": ATOMS_SHAPE, "ncu": ncu.version()}
        write_whole(options.json, record(results, head))
    return 1 if wrong else 0


if __name__ == "__main__":
    ended_by(main)
