"""A record of a GPU's results beside the table as it is now; no GPU is needed.

    python -m cuda_kernels.conformance.opcodes.again FILE [--only PATTERN ...]

The digests of all results are compared. Returns 1 if an instruction differs.
"""

import os
from pathlib import Path

from cuda_kernels.bench.command import ended_by, parser_of
from cuda_kernels.conformance.opcodes.forms import AnyCase, chosen
from cuda_kernels.conformance.opcodes.judge import digest, expected
from cuda_kernels.conformance.opcodes.operands import operands
from cuda_kernels.conformance.opcodes.record import read
from simlayout.workers import workers


def agrees(case: AnyCase, seed: int, results: str) -> bool:
    """Whether the table makes results with that digest of the operands of a seed.

    >>> agrees(chosen(["add.u32"])[0], 1, "0123456789abcdef")
    False
    """
    return digest(expected(case, operands(case.roles, case.count, seed))) == results


def compared(data: dict, cases: list[AnyCase]) -> list[str]:
    """The names of those cases of which a record has a GPU's results and the table makes others."""
    there = [case for case in cases if data["forms"].get(case.name, {}).get("results")
             and not data["forms"][case.name].get("missing")]
    with workers(os.cpu_count()) as pool:
        found = pool.map(agrees, there, [data["seed"]] * len(there),
                         [data["forms"][case.name]["results"] for case in there], chunksize=8)
        return [case.name for case, right in zip(there, found) if not right]


def main(arguments=None) -> int:
    """As the module says."""
    parser = parser_of("cuda_kernels.conformance.opcodes.again", __doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="+", metavar="PATTERN", default=[])
    options = parser.parse_args(arguments)
    data, cases = read(options.file), chosen(options.only)
    wrong = compared(data, cases)
    print(f"{len(wrong)} instructions differ from the {data['device']} of {data['date']}"
          f"{': ' if wrong else ''}{', '.join(wrong)}")
    return int(bool(wrong))


if __name__ == "__main__":
    ended_by(main)
