"""A record of a GPU's results beside the table as it is now; no GPU is needed.

    python -m cuda_kernels.conformance.opcodes.again FILE [--only PATTERN ...]

Of exact instructions the digests of all results are compared. Of approximate ones it prints the lines that stand in the
docstring of `simlayout.machine.arithmetic.approximate`. Returns 1 if an instruction that the table calls exact differs.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np

from cuda_kernels.conformance.opcodes.forms import AnyCase, chosen
from cuda_kernels.conformance.opcodes.judge import digest, distances, expected
from cuda_kernels.conformance.opcodes.operands import operands
from cuda_kernels.conformance.opcodes.record import read
from simlayout.workers import workers


def agrees(case: AnyCase, seed: int, results: str) -> bool:
    """Whether the table makes results with that digest of the operands of a seed.

    >>> agrees(chosen(["add.u32"])[0], 1, "0123456789abcdef")
    False
    """
    return digest(expected(case, operands(case.roles, case.count, seed))) == results


def distance(case: AnyCase, row: dict, seed: int) -> dict:
    """How far an approximate instruction is from a GPU: of, how many operands; different; ulp, relative, absolute.

    row: of a record. Its numbers, of all operands, hold as long as the table makes what it made then; if not, those of the
    operands whose results were kept.
    """
    if row.get("table") and agrees(case, seed, row["table"]):
        return {"of": row["cases"], **{name: row[name] for name in ("different", "ulp", "relative", "absolute")}}
    given, theirs = (np.array([[int(part, 16) for part in one[side].split()] for one in row["kept"]], np.uint64).T
                     for side in (0, 1))
    ours = expected(case, given)
    found = distances(case.results[0], theirs[0], ours[0])
    return {"of": given.shape[1], "different": int((theirs != ours).any(axis=0).sum()),
            **{name: found[name] for name in ("ulp", "relative", "absolute")}}


def line(name: str, found: dict) -> str:
    """A `distance` as text. Of sines, cosines and logarithms the absolute distance counts, of others the relative one.

    >>> line("sin.approx.f32", {"of": 72, "different": 3, "ulp": 9, "relative": 1, "absolute": 3e-7})
    'sin.approx.f32: 3 of 72 differ, by at most 3e-07'
    """
    at_zero = name.split(".")[0] in ("sin", "cos", "lg2")
    size = f"{found['absolute']:.3g}" if at_zero else f"{found['ulp']} ulp, relative {found['relative']:.3g}"
    return f"{name}: {found['different']:,} of {found['of']:,} differ, by at most {size}"


def compared(data: dict, cases: list[AnyCase]) -> list[str]:
    """The names of the exact ones among cases of which a record has a GPU's results and the table makes others."""
    there = [case for case in cases if case.exact and data["forms"].get(case.name, {}).get("results")
             and not data["forms"][case.name].get("missing")]
    with workers(os.cpu_count()) as pool:
        found = pool.map(agrees, there, [data["seed"]] * len(there),
                         [data["forms"][case.name]["results"] for case in there], chunksize=8)
        return [case.name for case, right in zip(there, found) if not right]


def main(arguments=None) -> int:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="+", metavar="PATTERN", default=[])
    options = parser.parse_args(arguments)
    data, cases = read(options.file), chosen(options.only)
    for case in cases:
        row = data["forms"].get(case.name, {})
        if not case.exact and row.get("kept"):
            print(line(case.name, distance(case, row, data["seed"])))
    wrong = compared(data, cases)
    print(f"{len(wrong)} exact instructions differ from the {data['device']} of {data['date']}"
          f"{': ' if wrong else ''}{', '.join(wrong)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
