"""Prints the README's table of kernels from the plans and the recorded measurements: `python figures/table.py`."""

import json
from pathlib import Path

from cuda_kernels.bench import default_variants
from cuda_kernels.conform import is_exact

DATA = Path(__file__).parent.parent / "tests" / "data"
SIZE = 8192


def rows():
    """One list of cells per kernel variant."""
    speed = json.loads((DATA / "h200_bench.json").read_text())["rows"]
    counted = {v["variant"]: v["rows"] for v in json.loads((DATA / "h200_conform.json").read_text())["variants"]}
    for label, kernel in default_variants():
        prediction = kernel.plan.predict(SIZE, SIZE, SIZE)
        excess = " / ".join(f"{c.excess_per_instruction:g}" for c in prediction.counts)
        exact = [r for r in counted[label] if is_exact(r[0], r[1])]
        equal = sum(r[2] == r[3] for r in exact)
        measured = speed[label][str(SIZE)]
        yield [label, excess, f"{equal} of {len(exact)}", f"{prediction.shared_clocks} / {prediction.mma_clocks:.0f}",
               f"{measured['tflops']:.0f}", f"{measured['share']:.2f}"]


def markdown():
    """The table as Markdown."""
    head = ["kernel", "excess per instruction", "counters equal", "clocks per K step: shared / mma", "TFLOP/s", "of cuBLAS"]
    lines = [head, ["---"] * len(head), *rows()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    print(markdown())
