"""The exercises against Nsight Compute, access by access, as `kernels` compares the GEMM kernels: every practical problem in
every layout and way to store, every case of CuTe's choice of ldmatrix, and warptile.

    python -m cuda_kernels.lab.exercises [--only practical cute warptile] [--json FILE] [--keep FOLDER]

Builds each of the 297 with marks (two or three seconds of a CPU), launches it once, all of them under one ncu, on matrices
whose results are exact, checks these, and compares every count of every access: none is a cp.async, so all counts are known.
Every other practical exercise stores by stmatrix, which needs an sm_90.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np

from cuda_kernels.bench import where_and_when
from cuda_kernels.build.assembler import program
from cuda_kernels.build.compile import ptx
from cuda_kernels.conformance import ncu
from cuda_kernels.conformance.kernels import build_all, evaluate, launched, profile, record, table, this_arch, verdict
from cuda_kernels.kernels.cute import CASES
from cuda_kernels.kernels.cute.verified import matrices as small_matrices
from cuda_kernels.kernels.practical import PROBLEMS, STORES, practical
from cuda_kernels.kernels.practical.problem import small_integers
from cuda_kernels.kernels.warptile.warptile import KERNEL
from cuda_kernels.run.job import rounded
from simlayout.errors import DeviceError
from simlayout.files import check_writable, write_whole

POWER = 3
"""The number n of problem 1.1: its loop turns twice, and reads what it has stored; A^3 of -1, 0 and 1 is exact in f16."""

ATOMS_SHAPE = 40, 72, 72
"""M, N and K of CuTe's cases: two CTAs of two steps, none of them whole. No count depends on how much of a tile exists."""

WARPTILE_SHAPES = (256, 384, 64), (300, 264, 200), (130, 66, 35)
"""M, N and K of warptile: whole tiles, which its loads need not guard; ragged ones; rows that do not start on 8 bytes."""


@dataclass(frozen=True, eq=False)
class Exercise:
    """A kernel and the one launch of it that is counted.

    label: the family and what it is called there. kernel: a Practical, an Atoms or a Kernel. grid: CTAs as (x, y, z).
    numbers: the integers that follow its matrices. predict() -> the AccessCounts of the launch. operands() -> (inputs,
    results): NumPy arrays as they lie in memory, all of them exact.
    """

    label: str
    kernel: object
    grid: tuple
    numbers: tuple
    predict: object
    operands: object

    @cached_property
    def counts(self):
        """The AccessCounts, in the order of the kernel's accesses."""
        return self.predict()


# ---- the families ----------------------------------------------------------------------------------------------------

def practicals():
    """The Exercises of the practical problems."""
    for (problem, layout), store in product(PROBLEMS, STORES):
        variant = practical(problem, layout, store)
        numbers = (POWER,) if variant.takes_power else ()
        yield Exercise(f"practical {variant.name}", variant, (1, 1, 1), numbers, partial(variant.predict, *numbers),
                       partial(_practical_operands, variant, numbers))


def _practical_operands(variant, numbers):
    inputs = small_integers(variant.inputs)
    return inputs, [result.astype(np.float16) for result in variant.reference(*inputs, *numbers)]


def atoms():
    """The Exercises of CuTe's choice of ldmatrix."""
    M, N, K = ATOMS_SHAPE
    for case in CASES:
        fitted = case.fitted(M, N, K)
        leading = K if case.a_major == "K" else M, K if case.b_major == "K" else N, N
        yield Exercise(f"cute {case}", fitted, fitted.grid(M, N), (M, N, K, *leading),
                       partial(_planned, fitted, M, N, K), partial(_atoms_operands, case))


def _atoms_operands(case):
    a, b = small_matrices(*ATOMS_SHAPE)
    stored = [x if major == "K" else np.ascontiguousarray(x.T) for x, major in ((a, case.a_major), (b, case.b_major))]
    return stored, [a.astype(np.float32) @ b.astype(np.float32).T]


def warptiles():
    """The Exercises of warptile."""
    for M, N, K in WARPTILE_SHAPES:
        fitted = KERNEL.fitted(M, N, K)
        yield Exercise(f"warptile {M} x {N} x {K}", fitted, fitted.grid(M, N), (M, N, K, K, N, N),
                       partial(_planned, fitted, M, N, K), partial(_warptile_operands, M, N, K))


def _warptile_operands(M, N, K):
    a, b = small_integers(((M, K), (K, N)))           # sums of up to 200 times -1, 0 or 1: bf16 has integers to 256
    a, b = a.astype(np.float32), b.astype(np.float32)
    return [rounded("bf16", x) for x in (a, b)], [rounded("bf16", a @ b)]


def _planned(kernel, M, N, K):
    return kernel.plan.predict(M, N, K).counts


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
        inputs, wanted = one.operands()
        results = [np.full(x.nbytes, 0xFF, np.uint8).view(x.dtype).reshape(x.shape) for x in wanted]        # NaN
        made = launched((folder / f"{i}.cubin").read_bytes(), entry, one.kernel, one.grid, (*inputs, *results), one.numbers)
        if not all(np.array_equal(x, y) for x, y in zip(made[len(inputs):], wanted, strict=True)):
            raise DeviceError(f"{label} computes a wrong result")


def measure(families, keep=None):
    """[(label, Rows, strangers, pipe)] of the families' exercises, measured on this machine's GPU; keep: see `main`."""
    ncu.refuse()
    chosen = [one for one in exercises().values() if one.label.split()[0] in families]
    with ncu.folder(keep) as folder:
        build_all(folder, [one.label for one in chosen], partial(build, arch=this_arch()))
        found = profile(folder, "cuda_kernels.lab.exercises", len(chosen), ".")
    return [(one.label, *evaluate(one.kernel, one, *of_one)) for one, of_one in zip(chosen, found)]


def main(arguments=None):
    """Prints a line per exercise, and each count as predicted and as measured where one differs: exit status 1 then."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.lab.exercises",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="these families (default: all)")
    parser.add_argument("--json", help="write predictions and counts to this file")
    parser.add_argument("--keep", type=Path, help="keep the machine code, ncu's report and its pages in this folder")
    parser.add_argument("--launch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.launch:
        launch_all(options.launch)
        return 0
    if options.json:
        check_writable(options.json)
    results = measure(options.only, options.keep)
    checked, wrong = 0, 0
    for label, *found in results:
        more = verdict(*found[:2])
        print(f"{label}: " + (f"{more[1]} of {more[0]} counts differ\n{table(*found)}" if more[1] else
                              f"all {more[0]} counts equal"))
        checked, wrong = checked + more[0], wrong + more[1]
    print(f"{checked} counts checked, {wrong} wrong")
    if options.json:
        head = {**where_and_when("cuda_kernels.lab.exercises", arguments), "power": POWER, "shape": ATOMS_SHAPE,
                "ncu": ncu.version()}
        write_whole(options.json, record(results, head))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
