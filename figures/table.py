"""Prints the README's tables of kernels from the plans and the recorded measurements: `python figures/table.py`."""

import json
from pathlib import Path

from cuda_kernels.bench import default_variants
from cuda_kernels.conformance.kernels import recorded, verdict

DATA = Path(__file__).parent.parent / "tests" / "data"
SIZE = 8192
SHOWN = ("mma_base, 4 stages", "mma_permuted, 4 stages")
"""The variants whose accesses are shown one by one."""


def counts():
    """{label: (Rows, strangers)} of the recorded variants."""
    return {v["variant"]: recorded(v) for v in json.loads((DATA / "h200_kernels.json").read_text())["variants"]}


def kernels():
    """One list of cells per kernel variant."""
    speed = json.loads((DATA / "h200_bench.json").read_text())["rows"]
    counted = counts()
    for label, kernel in default_variants():
        prediction = kernel.plan.predict(SIZE, SIZE, SIZE)
        excess = " / ".join(f"{c.excess_per_instruction:g}" for c in prediction.counts)
        checked, wrong = verdict(*counted[label])
        measured = speed[label][str(SIZE)]
        yield [label, excess, f"{checked - wrong} of {checked}", f"{prediction.shared_clocks} / {prediction.mma_clocks:.0f}",
               f"{measured['tflops']:.0f}", f"{measured['share']:.2f}"]


def accesses():
    """One list of cells per access of the variants in SHOWN."""
    counted = counts()
    for label in SHOWN:
        for row in counted[label][0]:
            pairs = [f"{said} / {found}" for said, found in (row.executions, row.wavefronts, row.ideal)]
            yield [label, row.access, row.instruction, str(row.sass), *pairs]


def markdown(head, rows):
    """A table as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables():
    """The README's tables."""
    return [markdown(["kernel", "excess per instruction", "counts equal", "clocks per K step: shared / mma", "TFLOP/s",
                      "of cuBLAS"], kernels()),
            markdown(["kernel", "access", "instruction", "in SASS", "executions", "wavefronts", "ideal"], accesses())]


if __name__ == "__main__":
    print("\n\n".join(tables()))
