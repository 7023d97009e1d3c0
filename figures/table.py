"""Prints the tables of the README and the guide, from plans and recorded measurements: `python figures/table.py`.

With `--write` they go into these texts, between their marks.
"""

import argparse
import json
import re
import statistics
from itertools import product
from pathlib import Path

from cuda_kernels.bench import default_variants, grouped, record
from cuda_kernels.bench import steps as ladder
from cuda_kernels.bench.run import summary
from cuda_kernels.conformance.gemms.counts import judged, recorded, verdict
from cuda_kernels.conformance.gemms.counts import ladder as mma_rungs
from cuda_kernels.conformance.gemms.hopper import expected
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.lab import overlap, stalls
from simlayout.files import write_whole
from simlayout.kernel import Problem

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"
TEXTS = (ROOT / "README.md", ROOT / "cuda_kernels/lab/notes.md", *sorted((ROOT / "simlayout/guide").glob("*.md")))
SIZE = 8192
LARGE = 50
"""Microseconds from which on a product's times differ by more than overlapping saves."""
SHOWN = ("mma_base, 4 stages", "mma_permuted, 4 stages")
"""The variants whose accesses are shown one by one."""


def counts(variants, name="h200_kernels.json"):
    """{label: (Rows, strangers)} of the recorded variants, as measured and as predicted today. variants: {label: Kernel}."""
    data = json.loads((DATA / name).read_text())
    made = {}
    for variant in data["variants"]:
        rows, strangers = recorded(variant)
        plan = variants[variant["variant"]].fitted(Problem(*data["problem"])).plan
        made[variant["variant"]] = judged(rows, plan.predict(*data["problem"])), strangers
    return made


def kernels():
    """One list of cells per kernel variant."""
    rows = record.read(DATA / "h200_bench.json").of("kernels")
    speed = {row.label: row for row in rows if row.problem.M == SIZE}
    counted = counts(dict(default_variants()))
    for label, kernel in default_variants():
        prediction = kernel.fitted(Problem(SIZE, SIZE, SIZE)).plan.predict(SIZE, SIZE, SIZE)
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


def drawn():
    """One list of cells per set of products that a seed draws, and per GPU: beside cuBLAS."""
    sets = (("unseen", "unseen", "random shapes of 64 to 16384"),
            ("orders", "unseen-orders", "random shapes, A or B MN-major"),
            ("unseen", "models", "layers of ten models"),
            ("unseen_fp8", "unseen-fp8", "both in e4m3, scales of rows and columns"),
            ("unseen_fp8", "unseen-blocks", "both in e4m3, scales of blocks"))
    for file, name, what in sets:
        for gpu in ("h200", "h100"):
            rows = _matmul(record.read(DATA / f"{gpu}_{file}_bench.json"), name)
            below = sum(row.share < 0.95 for row in rows)
            yield [what, gpu.upper(), str(len(rows)), *_summed(what, rows)[4:], str(below)]


def overlaps():
    """One list of cells per situation and GPU: beside cuBLAS if products wait and if they overlap, and what that saves."""
    said = {"row": "in a CUDA graph behind a product", "graph": "in a CUDA graph behind another kernel; times of both",
            "stream": "in a stream behind another kernel; times of both"}
    for situation, what in said.items():
        for gpu in ("h200", "h100"):
            rows = json.loads((DATA / f"{gpu}_overlap.json").read_text())["rows"]
            times = [overlap.as_launched(row, situation) for row in rows]
            shares = (f"{statistics.geometric_mean(t[2] / t[way] for t in times):.2f}" for way in (0, 1))
            saved = statistics.median(wait - us for wait, us, _ in times if wait < LARGE)
            yield [what, gpu.upper(), str(len(rows)), *shares, f"{saved:.1f}"]


def eight_bits():
    """One list of cells per kind of 8-bit product: beside torch on two GPUs."""
    kinds = {"fp8": "e4m3, a scale for each tensor", "fp8-lines": "e4m3, a scale for each row and column",
             "fp8-blocks": "e4m3, scales for 1x128 of A and 128x128 of B", "int8": "int8 to int32"}
    found = [record.read(DATA / f"{gpu}_eight_bits_bench.json") for gpu in ("h200", "h100")]
    for name, what in kinds.items():
        cells = []
        for of_gpu in found:
            rows = _matmul(of_gpu, name)
            large = next(row for row in rows if row.problem.M == row.problem.K == 8192)
            cells += [f"{large.tflops:.0f}", *_summed(what, rows)[4:]]
        yield [what, *cells]


def published_blocks():
    """One list of cells per product that DeepGEMM's README has a figure of, and the records here: TFLOP/s."""
    theirs = {tuple(row[:3]): row[3] for row in json.loads((DATA / "deepgemm_published.json").read_text())["rows"]}
    found = [_matmul(record.read(DATA / f"{gpu}_eight_bits_bench.json"), "fp8-blocks") for gpu in ("h200", "h100")]
    for of_both in zip(*found, strict=True):
        problem = of_both[0].problem
        tflops = theirs.get((problem.M, problem.N, problem.K))
        if tflops:
            cells = [f"{figure:.0f}" for row in of_both for figure in (row.tflops, row.cublas_tflops)]
            yield [f"{problem.M} x {problem.N} x {problem.K}", str(tflops), *cells]


def epilogues():
    """One list of cells per epilogue: how fast one product is, and of three the shares of torch's speed, by GPU."""
    said = {"bias_n": "bias", "bias_n relu": "bias, then ReLU", "bias_n gelu_tanh": "bias, then GELU (tanh)",
            "residual": "residual", "residual bias_n": "residual and bias", "silu multiply": "SiLU, times another array"}
    rows = [_matmul(record.read(DATA / f"{gpu}_epilogues_bench.json"), "epilogues") for gpu in ("h200", "h100")]
    for words, what in said.items():
        cells = []
        for of_gpu in rows:
            found = [row for row in of_gpu if row.problem.epilogue == words]
            large = next(row for row in found if row.problem.M == 8192)
            cells += [f"{large.tflops:.0f}", *_summed(what, found)[4:]]
        yield [what, *cells]


def groups():
    """One list of cells per number of groups and GPU, without scales of blocks and with them: of its products, the shares
    beside a loop and beside torch's grouped one."""
    found = {gpu: record.read(DATA / f"{gpu}_grouped_bench.json").of("grouped") for gpu in ("h200", "h100")}
    for blocks, count in product((False, True), sorted({row.problem.groups for row in found["h200"]})):
        for gpu, rows in found.items():
            of = [row for row in rows if (row.problem.groups, row.problem.scaled == "1x128") == (count, blocks)]
            loop, torch = ([row for row in of if row.label == label] for label in (grouped.LOOP, grouped.TORCH))
            if loop:
                yield [f"{count}{', scales of blocks' * blocks}", gpu.upper(), str(len(loop)), *_summed("", loop)[4:],
                       *(_summed("", torch)[4:] if torch else ["", ""])]


def rungs():
    """One list of cells per rung that multiplies by mma.sync."""
    speed = {row.label: row for row in record.read(DATA / "h200_ladder.json").of("ladder")}
    counted = counts(mma_rungs(), "h200_ladder_counts.json")
    for rung in stalls.chosen():
        checked, wrong = verdict(*counted[rung.label]) if rung.label in counted else counted_for_hopper(rung.kernel.options)
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
    """{name: text} of the tables in the README and the guide."""
    shapes = ["product", "rows", "microseconds", "TFLOP/s", "of cuBLAS", "least to most"]
    return {
        "products": markdown(shapes, products()),
        "drawn": markdown(["products", "GPU", "number", "of cuBLAS", "least to most", "below 0.95"], drawn()),
        "overlaps": markdown(["a product", "GPU", "number", "of cuBLAS if it waits", "if it overlaps", "microseconds saved"],
                             overlaps()),
        "epilogues": markdown(["what is done", "H200: TFLOP/s", "of torch", "least to most", "H100: TFLOP/s", "of torch",
                               "least to most"], epilogues()),
        "groups": markdown(["groups", "GPU", "products", "of a loop", "least to most", "of torch's", "least to most"],
                           groups()),
        "eight bits": markdown(["operands and scales", "H200: TFLOP/s at 8192 cubed", "of torch", "least to most",
                                "H100: TFLOP/s at 8192 cubed", "of torch", "least to most"], eight_bits()),
        "published blocks": markdown(["product", "DeepGEMM, published, H800", "H200: here", "torch", "H100: here", "torch"],
                                     published_blocks()),
        "kernels": markdown(["kernel", "excess per instruction", "counts equal", "clocks per K step: shared / mma",
                             "TFLOP/s", "of cuBLAS"], kernels()),
        "accesses": markdown(["kernel", "access", "instruction", "in SASS", "executions", "wavefronts", "ideal"],
                             accesses()),
        "ladder": markdown(["rung", "what changed", "excess per instruction", "counts equal",
                            "clocks per K step: shared / mma", "TFLOP/s", "of cuBLAS", "published, A100"], rungs()),
        "stalls": markdown(stalls.HEAD, waits()),
        "steps": markdown(["step", "published TFLOP/s", "of cuBLAS", "TFLOP/s here", "of cuBLAS"], steps())}


def written(texts):
    """Texts in which every table stands as it should between its marks; SystemExit where one stands twice, or nowhere.

    texts: {path: text}, and so is the result.
    """
    left, made = dict(tables()), {}

    def filled(match):
        if match[1] not in left:
            raise SystemExit(f"table {match[1]!r} stands in two places, or nobody makes it: there are {', '.join(tables())}")
        return f"{match[0].split(chr(10))[0]}\n{left.pop(match[1])}\n<!-- end of table -->"

    for path, text in texts.items():
        made[path] = re.sub(r"<!-- table ([^:\n]+): python figures/table.py -->\n.*?<!-- end of table -->", filled, text,
                            flags=re.S)
    if left:
        raise SystemExit(f"no text has the marks of the tables {', '.join(left)}")
    return made


def main(arguments=None):
    """Prints the tables, or writes them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write each into the text that has its marks, and print none")
    if parser.parse_args(arguments).write:
        for path, text in written({path: path.read_text() for path in TEXTS}).items():
            write_whole(path, text)
    else:
        print("\n\n".join(tables().values()))


if __name__ == "__main__":
    main()
