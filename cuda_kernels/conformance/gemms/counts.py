"""Whole kernels against Nsight Compute, access by access: what every shared-memory instruction of every GEMM kernel did
on the GPU, beside what the kernel's plan predicts.

    python -m cuda_kernels.conformance.gemms.counts [-M 1000 -N 1384 -K 520] [--kernels mma_permuted ...] [--json FILE]
                                               [--keep FOLDER]

Compiles each variant of the benchmark with marks, runs it once under ncu (which must be on the PATH, and may read the
GPU's counters), and adds up the source page's numbers over the SASS instructions of each access: executions, wavefronts
and ideal wavefronts. All three must agree, except for cp.async: its ideal wavefronts, of which Nsight Compute loses some,
are only shown. So are its wavefronts if Nsight Compute misreads one of the access's instructions (`source_page.misread`),
and the l1tex pipe's own counters.
"""

import argparse
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.bench.rungs import rungs
from cuda_kernels.bench.sets import default_variants
from cuda_kernels.build.assembler import program
from cuda_kernels.build.compile import ptx
from cuda_kernels.conformance import ncu
from cuda_kernels.conformance.gemms.sass import attribute, disassemble
from cuda_kernels.conformance.measure import WAVEFRONTS
from cuda_kernels.kernels import MMA_KERNELS, named
from simlayout.errors import DeviceError
from simlayout.files import write_whole
from simlayout.hardware.tables.arch import LANES
from simlayout.kernel import Problem
from simlayout.nsight import source_page
from simlayout.plan import sass_class
from simlayout.progress import progress
from simlayout.workers import workers

PIPE = {"l1tex ld": (WAVEFRONTS.format("ld"), ("LDS", "LDSM")), "l1tex st": (WAVEFRONTS.format("st"), ("STS", "STSM"))}
"""The pipe's own wavefront counters and the SASS classes that each holds. They also count what other clients of the pipe
cost: where a kernel loads global memory through L1 meanwhile they run a few percent above, so they are shown only."""

COUNTS = ("executions", "wavefronts", "ideal")


@dataclass(frozen=True)
class Row:
    """One access: how many SASS instructions execute it, of how many ncu misreads the wavefronts, and (predicted,
    measured) executions by a warp, wavefronts and ideal wavefronts, summed over them. known: the names of the counts
    that must agree."""

    access: str
    instruction: str
    sass: int
    misread: int
    known: tuple
    executions: tuple
    wavefronts: tuple
    ideal: tuple

    def checked(self):
        """The (count's name, predicted, measured) that must agree.

        ncu's counters of shared memory lose executions of cp.async at random, up to a few percent, wavefronts and ideal
        alike (3 stages and more; never a load or store): wavefronts are then those per execution counted.
        """
        return [(what, getattr(self, what)[0], self._complete(what)) for what in self.known]

    def _complete(self, what):
        measured = getattr(self, what)[1]
        lost = self.ideal[0] - self.ideal[1]
        if what != "wavefronts" or not self.instruction.startswith("cp.async") or lost <= 0:
            return measured
        return Fraction(measured * self.ideal[0], max(self.ideal[1], 1))

    @property
    def equal(self):
        """Whether they do."""
        return all(predicted == measured for _, predicted, measured in self.checked())


def compare(prediction, owned, counted):
    """The Rows of one kernel, in the plan's order.

    prediction: of its plan, or what else has such `counts`; owned: {access: SassInstructions} (`sass.attribute`); counted:
    {offset: Counted} of the same machine code (`source_page.parse`); DeviceError if it is not the same.
    """
    rows = []
    for count in prediction.counts:
        lines = [counted.get(i.offset) for i in owned[count.name]]
        for i, c in zip(owned[count.name], lines):
            if c is None or c.opcode != i.opcode:
                raise DeviceError(f"ncu profiled other code than was compiled: at {i.offset:#x} {i.opcode} is "
                                  f"{c.opcode if c else 'missing'}")
        executions = sum(c.threads for c in lines) / LANES
        rows.append(row_of(count, len(lines), sum(c.misread for c in lines),
                           int(executions) if executions.is_integer() else executions,
                           sum(c.wavefronts for c in lines), sum(c.ideal for c in lines)))
    return rows


def row_of(count, sass, misread, executions, wavefronts, ideal):
    """The Row of one access. count: its predicted AccessCount; the other arguments are what was measured."""
    copied = count.instruction.startswith("cp.async")
    known = COUNTS if not copied else COUNTS[:2] if count.exact and not misread else COUNTS[:1]
    return Row(count.name, count.instruction, sass, misread, known, (count.instructions, executions),
               (count.wavefronts, wavefronts), (count.ideal, ideal))


def judged(rows, prediction):
    """Rows of a record as `compare` would make them today: what was measured then beside this prediction."""
    return [row_of(count, row.sass, row.misread, row.executions[1], row.wavefronts[1], row.ideal[1])
            for count, row in zip(prediction.counts, rows, strict=True)]


def strangers(owned, counted):
    """Wavefronts of shared memory that the counted instructions of no access caused: 0 if the plan has them all."""
    known = {i.offset for instructions in owned.values() for i in instructions}
    return sum(c.wavefronts for offset, c in counted.items() if offset not in known)


def pipe(prediction, counters):
    """{label: (predicted, measured)} of the pipe's own counters."""
    def total(classes):
        return sum(c.wavefronts for c in prediction.counts if sass_class(c.instruction) in classes)

    return {label: (total(classes), counters.get(metric)) for label, (metric, classes) in PIPE.items()}


# ---- compiling, launching, measuring ---------------------------------------------------------------------------------

LADDER = "ladder"
"""In the place of a kernel's name: the rungs of `simlayout ladder` that are mma.sync kernels."""


def ladder():
    """{label: Kernel} of the rungs."""
    return {rung.label: rung.kernel for rung in rungs() if rung.kernel.name in MMA_KERNELS}


def variants(kernels):
    """The {label: Kernel} to run: those of the benchmark whose kernel is named, or all; the rungs for LADDER."""
    for name in set(kernels) - {LADDER}:
        named(name)                           # refuses an unknown one
    chosen = {label: kernel for label, kernel in default_variants() if not kernels or kernel.name in kernels}
    return chosen | (ladder() if LADDER in kernels else {})


def variant(label):
    """The Kernel with a label."""
    return (dict(default_variants()) | ladder())[label]


def build(label, problem, arch):
    """A variant with marks for one problem, without a GPU: the name of its entry and its machine code."""
    return program(ptx(variant(label).fitted(Problem(*problem)), arch, marked=True), arch)


def build_all(folder, labels, build, **facts):
    """Builds kernels side by side into a folder: a cubin each, and builds.json, which lists them. Reports its progress on
    stderr.

    build: of a label, the name of the kernel's entry and its machine code; facts: what else builds.json holds.
    """
    entries = []
    pool = workers(min(len(labels), os.cpu_count() or 1))
    with pool, progress("kernels built", stays=True) as moved:
        for i, (entry, code) in enumerate(pool.map(build, labels)):
            (folder / f"{i}.cubin").write_bytes(code)
            entries.append(entry)
            moved(len(entries), len(labels))
    (folder / "builds.json").write_text(json.dumps({"labels": labels, "entries": entries, **facts}))


def launch_all(folder):
    """Runs every build of a folder once on random normal matrices, and checks C: what ncu watches."""
    import numpy as np

    from cuda_kernels.run.check import compare as check
    from cuda_kernels.run.cuda import Gpu

    builds = json.loads((folder / "builds.json").read_text())
    M, N, K = builds["problem"]
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(shape, np.float32).astype(np.float16) for shape in ((M, K), (N, K)))
    for i, (label, entry) in enumerate(zip(builds["labels"], builds["entries"])):
        kernel = variant(label)
        work = kernel.work(a, b.T, packed=True)
        Gpu().launch_code(work, entry, (folder / f"{i}.cubin").read_bytes())
        error, how = check(*work.results(), a, b, kernel.options.accumulate, generator)
        if error > 1:
            raise DeviceError(f"{label} computes a wrong C: {how}")


def measure(kernels, problem, keep=None):
    """[(label, Rows, strangers, pipe)] of the variants, measured on this machine's GPU; keep: see `main`."""
    ncu.refuse()
    chosen = variants(kernels)
    with ncu.folder(keep) as folder:
        build_all(folder, list(chosen), partial(build, problem=problem, arch=this_arch()), problem=problem)
        profiled = profile(folder, "cuda_kernels.conformance.gemms.counts", len(chosen), "gemm")
    results = []
    for (label, kernel), page in zip(chosen.items(), profiled):
        fitted = kernel.fitted(Problem(*problem))
        results.append((label, *evaluate(fitted, fitted.plan.predict(*problem), *page)))
    return results


def profile(folder, module, count, kernels):
    """The builds of a folder under ncu, in their order: [(SassInstructions, {offset: Counted}, {metric of PIPE: int})].

    `python -m MODULE --launch FOLDER` launches each of them once; count: how many they are; kernels: a regular expression
    that matches their names. Raises DeviceError where ncu saw more launches or fewer.
    """
    metrics = [metric for metric, _ in PIPE.values()]
    print(f"launching {count} kernels under ncu", file=sys.stderr, flush=True)
    source, raw = ncu.pages(folder, ["-m", module, "--launch", folder], metrics, kernels)
    with ThreadPoolExecutor() as pool:                                           # the work is nvdisasm's
        listings = list(pool.map(disassemble, [(folder / f"{i}.cubin").read_bytes() for i in range(count)]))
    pages, counters = source_page.parse(source), source_page.parse_raw(raw, metrics)
    if not len(pages) == len(counters) == count:
        raise DeviceError(f"ncu profiled {len(pages)} kernels of {count}")
    return list(zip(listings, pages, counters))


def evaluate(kernel, prediction, instructions, counted, counters):
    """(Rows, strangers, pipe) of one kernel: instructions, counted, counters: of `profile`; the others: of `compare`."""
    owned = attribute(instructions, kernel)
    return compare(prediction, owned, counted), strangers(owned, counted), pipe(prediction, counters)


def this_arch():
    """The architecture of the current GPU, with the features of its own where it has such: for example "sm_90a"."""
    from numba import cuda

    major, minor = cuda.get_current_device().compute_capability
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


# ---- what is printed and recorded ------------------------------------------------------------------------------------

def verdict(rows, other):
    """(how many counts were checked, how many of them differ); wavefronts of no access count as one that differs."""
    checked = [predicted == measured for row in rows for _, predicted, measured in row.checked()]
    return len(checked) + 1, checked.count(False) + bool(other)


def table(rows, other, wavefronts):
    """One variant as text: per access how many SASS instructions, and each count as predicted and as measured."""
    wide, long = (max(15, *(1 + len(getattr(row, what)) for row in rows)) for what in ("access", "instruction"))
    lines = [f"  {'access':<{wide}}{'instruction':<{long}}{'SASS':>5}" + "".join(f"{what:>20}" for what in COUNTS)]
    for row in rows:
        pairs = "".join(f"{predicted:>10}{measured:>10}"
                        for predicted, measured in (row.executions, row.wavefronts, row.ideal))
        word = "equal" if row.known == COUNTS else f"{' and '.join(row.known)} equal, the rest is shown only"
        word = f"{word}; ncu misreads {row.misread}" if row.misread else word
        word = word if row.equal else "DIFFERENT"
        lines.append(f"  {row.access:<{wide}}{row.instruction:<{long}}{row.sass:>5}{pairs}  {word}")
    if other:
        lines.append(f"  {other} wavefronts of no access: DIFFERENT")
    lines += [f"  {label}: {predicted} wavefronts predicted for all accesses, {measured} measured (shown only)"
              for label, (predicted, measured) in wavefronts.items()]
    return "\n".join(lines)


def record(results, head):
    """The measurement as JSON text, one line per access."""
    blocks = []
    for label, rows, other, wavefronts in results:
        accesses = ",\n    ".join(json.dumps(vars(row)) for row in rows)
        blocks.append(f'  {{"variant": {json.dumps(label)}, "of no access": {other}, "pipe": {json.dumps(wavefronts)}, '
                      f'"accesses": [\n    {accesses}]}}')
    return json.dumps(head, indent=1)[:-2] + ',\n "variants": [\n' + ",\n".join(blocks) + "\n ]\n}\n"


def recorded(variant):
    """(Rows, strangers) of one of a record's variants, as `record` wrote it."""
    rows = [Row(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}) for row in variant["accesses"]]
    return rows, variant["of no access"]


def options_of(parser, arguments):
    """What the arguments of a command say that runs itself under ncu, and keeps what that wrote where --keep says."""
    parser.add_argument("--keep", type=Path, help="keep the machine code, ncu's report and its pages in this folder")
    parser.add_argument("--launch", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def tell(results, line):
    """Prints line(label, its verdict, result) for each of some results, and the sum; returns how many counts differ."""
    checked, wrong = 0, 0
    for label, *result in results:
        more = verdict(*result[:2])
        print(line(label, more, result))
        checked, wrong = checked + more[0], wrong + more[1]
    print(f"{checked} counts checked, {wrong} wrong")
    return wrong


def main(arguments=None):
    """Prints the comparison, each count as predicted and as measured; exit status 1 if a known one differs."""
    parser = recording_parser_of("cuda_kernels.conformance.gemms.counts", __doc__)
    for name, size in (("M", 1000), ("N", 1384), ("K", 520)):
        parser.add_argument(f"-{name}", type=int, default=size)
    parser.add_argument("--kernels", nargs="+", default=[],
                        help="kernel names, or ladder for its rungs (default: all kernels)")
    options = options_of(parser, arguments)
    if options.launch:
        launch_all(options.launch)
        return 0
    problem = [options.M, options.N, options.K]
    results = measure(options.kernels, problem, options.keep)
    wrong = tell(results, lambda label, _, result: f"{label}\n{table(*result)}")
    if options.json:
        head = where_and_when("cuda_kernels.conformance.gemms.counts", arguments)
        head |= {"problem": problem, "ncu": ncu.version()}
        write_whole(options.json, record(results, head))
    return 1 if wrong else 0


if __name__ == "__main__":
    ended_by(main)
