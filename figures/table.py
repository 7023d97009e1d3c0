"""Prints the README's tables from the plans and the recorded measurements: `python figures/table.py`; with `--write` they go
into the README, between its marks."""

import json
import re
import sys
from pathlib import Path

from cuda_kernels.bench import default_variants, record
from cuda_kernels.bench import steps as ladder
from cuda_kernels.bench.run import summary
from cuda_kernels.conformance.hopper import expected
from cuda_kernels.conformance.kernels import judged, recorded, verdict
from cuda_kernels.conformance.kernels import ladder as mma_rungs
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.lab import stalls

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"
SIZE = 8192
SHOWN = ("mma_base, 4 stages", "mma_permuted, 4 stages")
"""The variants whose accesses are shown one by one."""


def counts(variants, name="h200_kernels.json"):
    """{label: (Rows, strangers)} of the recorded variants, as measured and as predicted today. variants: {label: Kernel}."""
    data = json.loads((DATA / name).read_text())
    made = {}
    for variant in data["variants"]:
        rows, strangers = recorded(variant)
        plan = variants[variant["variant"]].fitted(*data["problem"]).plan
        made[variant["variant"]] = judged(rows, plan.predict(*data["problem"])), strangers
    return made


def kernels():
    """One list of cells per kernel variant."""
    rows = record.read(DATA / "h200_bench.json").of("kernels")
    speed = {row.label: row for row in rows if row.problem.M == SIZE}
    counted = counts(dict(default_variants()))
    for label, kernel in default_variants():
        prediction = kernel.fitted(SIZE, SIZE, SIZE).plan.predict(SIZE, SIZE, SIZE)
        excess = " / ".join(f"{c.excess_per_instruction:g}" for c in prediction.counts)
        checked, wrong = verdict(*counted[label])
        yield [label, excess, f"{checked - wrong} of {checked}", f"{prediction.shared_clocks} / {prediction.mma_clocks:.0f}",
               f"{speed[label].tflops:.0f}", f"{speed[label].share:.2f}"]


def accesses():
    """One list of cells per access of the variants in SHOWN."""
    counted = counts(dict(default_variants()))
    for label in SHOWN:
        for row in counted[label][0]:
            pairs = [f"{said} / {found}" for said, found in (row.executions, row.wavefronts, row.ideal)]
            yield [label, row.access, row.instruction, str(row.sass), *pairs]


def products():
    """One list of cells per square product and for each set of other products; layers by their tokens."""
    found = record.read(DATA / "h200_matmul.json")
    for row in _matmul(found, "squares"):
        size = row.problem.M
        yield [f"{size} x {size} x {size}, f16", "1", f"{row.us:.1f}", f"{row.tflops:.0f}", f"{row.share:.2f}", ""]
    layers = _matmul(found, "layers")
    for tokens in sorted({row.problem.M for row in layers}):
        what = f"layers, {tokens} token{'s' if tokens > 1 else ''}, bf16"
        yield _summed(what, [row for row in layers if row.problem.M == tokens])
    for name, what in (("few", "few tiles, f16"), ("transposes", "4096 x 4096 x 4096 in all four orders, f16 and bf16"),
                       ("random", "random shapes, f16")):
        yield _summed(what, _matmul(found, name))


def rungs():
    """One list of cells per rung that multiplies by mma.sync."""
    speed = {row.label: row for row in record.read(DATA / "h200_ladder.json").of("ladder")}
    counted = counts(mma_rungs(), "h200_ladder_counts.json")
    for rung in stalls.chosen():
        checked, wrong = verdict(*counted[rung.label]) if rung.label in counted else counted_for_hopper(rung.kernel)
        excess = ", ".join(f"{name} {value:g}" for name, value in rung.excess.items()) or "none"
        shared, mma = rung.bounds()
        row = speed[rung.label]
        yield [rung.name, rung.changed, excess, f"{checked - wrong} of {checked}", f"{shared} / {mma:.0f}",
               f"{row.tflops:.0f}", f"{row.share:.2f}", "" if rung.published is None else f"{rung.published:.2f}"]


def counted_for_hopper(config):
    """(how many counts of a configuration were checked, how many of them differ)."""
    rows = [row for row in json.loads((DATA / "h200_wgmma.json").read_text())["rows"] if Hopper(**row["config"]) == config]
    pairs = [pair for row in rows for name, said in expected(config, row["shape"]).items()
             for pair in (zip(row[name], said) if isinstance(said, list) else [(row[name], said)])]
    return len(pairs), sum(found != said for found, said in pairs)


def waits():
    """One list of cells per rung that multiplies by mma.sync: its pipes, and what its warps waited for."""
    return stalls.cells(json.loads((DATA / "h200_stalls.json").read_text()))


def steps():
    """One list of cells per step of fast.cu's ladder."""
    rows = {row.label: row for row in record.read(DATA / "h200_steps.json").of("steps") if row.problem.M == ladder.SIZE}
    for step in ladder.STEPS:
        row = rows.get(step.name)
        if row or step.why:
            theirs = [f"{step.published:.0f}", f"{step.published_share:.2f}"] if step.published else ["", ""]
            yield [step.name, *theirs, *([f"{row.tflops:.0f}", f"{row.share:.2f}"] if row else [step.why, ""])]


def _matmul(found, name):
    return [row for row in found.of(name) if row.label == "matmul"]


def _summed(what, rows):
    mean, least = summary(rows)
    return [what, str(len(rows)), "", "", f"{mean:.2f}", f"{least:.2f} to {max(row.share for row in rows):.2f}"]


def markdown(head, rows):
    """A table as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables():
    """{name: text} of the README's tables; that of steps once they are measured."""
    made = {
        "kernels": markdown(["kernel", "excess per instruction", "counts equal", "clocks per K step: shared / mma",
                             "TFLOP/s", "of cuBLAS"], kernels()),
        "accesses": markdown(["kernel", "access", "instruction", "in SASS", "executions", "wavefronts", "ideal"],
                             accesses()),
        "ladder": markdown(["rung", "what changed", "excess per instruction", "counts equal",
                            "clocks per K step: shared / mma", "TFLOP/s", "of cuBLAS", "published, A100"], rungs()),
        "stalls": markdown(stalls.HEAD, waits()),
        "products": markdown(["product", "rows", "microseconds", "TFLOP/s", "of cuBLAS", "least to most"], products())}
    if (DATA / "h200_steps.json").exists():
        made["steps"] = markdown(["step", "published TFLOP/s", "of cuBLAS", "TFLOP/s here", "of cuBLAS"], steps())
    return made


def written(text):
    """A README in which every table stands as it should between its marks."""
    for name, table in tables().items():
        begin, end = f"<!-- table {name}: python figures/table.py -->\n", "\n<!-- end of table -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        text, count = re.subn(pattern, lambda _, t=begin + table + end: t, text, flags=re.S)
        if count != 1:
            raise SystemExit(f"README.md has the marks of table {name} {count} times, not once")
    return text


def main(arguments):
    """Prints the tables, or writes them."""
    if arguments == ["--write"]:
        (ROOT / "README.md").write_text(written((ROOT / "README.md").read_text()))
    else:
        print("\n\n".join(tables().values()))


if __name__ == "__main__":
    main(sys.argv[1:])
