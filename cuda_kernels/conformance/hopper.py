"""The kernels for Hopper against Nsight Compute: what TMA, wgmma and threads did to shared memory, beside the prediction.

    python -m cuda_kernels.conformance.hopper [--json FILE] [--keep FOLDER]

Runs a product with each of several configurations under ncu (which must be on the PATH, and may read the GPU's counters).
It compares the operand wavefronts of wgmma and the words written to the banks of the whole kernel, and, from the source
page, the executions, wavefronts and ideal wavefronts of each SASS instruction that loads or stores shared memory. All
must equal the plan's prediction.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from cuda_kernels.conformance import ncu
from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.plan import plan_of
from simlayout.errors import DeviceError
from simlayout.files import write_record
from simlayout.nsight import source_page
from simlayout.plan import sass_class

METRICS = {"gmma": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum", "bank_writes": "l1tex__data_bank_writes.sum"}

CASES = (
    (Hopper(), (1024, 1536, 512)), (Hopper(a_major="MN", b_major="MN"), (1024, 1536, 512)),
    (Hopper(tile_n=128, stages=6), (1000, 1384, 520)), (Hopper(64, 64, 8), (1000, 1384, 520)),
    (Hopper(tile_n=96, stages=6), (1000, 1384, 520)), (Hopper(tile_n=176, stages=5), (1000, 1384, 520)),
    (Hopper(tile_n=176, stages=5, c_major="M"), (1000, 1384, 520)), (Hopper(c_major="M", cluster_m=2), (1024, 1536, 512)),
    (Hopper(64, 64, 8, 1, cluster_m=2, cluster_n=4), (1000, 1384, 520)),
    (Hopper(192, 192, 3, 2, producer=1), (1000, 1384, 520)), (Hopper(256, 128, 3, 1, producer=1), (1000, 1384, 520)),
    (Hopper(128, 128, 3, 1, producer=1, resident=2), (1000, 1384, 520)), (HOPPER["wgmma_tma"], (512, 512, 512)),
    (Hopper(256, 160, 4, 2, bands=2), (1000, 1384, 520)), (Hopper(128, 104, 6, 2, 64), (1000, 1384, 520)),
    (Hopper(192, 88, 5, 2, 32, c_major="M", producer=1), (1000, 1384, 520)),
    (Hopper(256, 128, 3, 1, bands=2, c_major="M", cluster_m=2), (1024, 1536, 512)),
    (Hopper(128, 176, 5, 2, 64, bands=2, pingpong=True), (2048, 2816, 264)),
    (Hopper(64, 104, 8, 1, c_major="M", pingpong=True, cluster_m=2), (1384, 1000, 520)),
    (HOPPER["mma_tma"], (1000, 1384, 520)), (replace(HOPPER["mma_tma"], cluster_m=1, stages=3), (1000, 1384, 520)))
"""(configuration, (M, N, K)): every way to stage C, in boxes that overlap, too, and every size of tile."""

CLASSES = ("LDSM", "LDS", "STS", "STSM")
"""The SASS instructions that access shared memory in these kernels, besides wgmma and TMA."""

WORDS = {"stmatrix.x4": 128, "stmatrix.x4.trans": 128, "st.shared.b32": 32}
"""Words that a warp's instruction writes."""


class Transposed:
    """The transpose of a 2-dimensional device array, where it lies (Numba's own .T is a copy)."""

    def __init__(self, array):
        self._array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "shape": array.shape[::-1],
                                         "strides": array.strides[::-1]}


def launch_all():
    """Runs every case once on random normal matrices: what ncu watches."""
    import numpy as np
    from numba import cuda

    from cuda_kernels import matmul

    generator = np.random.default_rng(0)
    for config, (M, N, K) in CASES:
        a, b = (cuda.to_device(generator.standard_normal(shape, np.float32).astype(np.float16))
                for shape in ((M, K) if config.a_major == "K" else (K, M), (N, K) if config.b_major == "K" else (K, N)))
        if config.c_major == "M":                        # the product of C.T: matmul exchanges the operands
            a, b = b, a
        a, b = (a if config.a_major == "K" else Transposed(a)), (Transposed(b) if config.b_major == "K" else b)
        matmul(a, b, kernel=config)
        cuda.synchronize()


def counted(page):
    """{SASS class: [executions by a warp, wavefronts, ideal wavefronts]} of a kernel's source page, {offset: Counted}."""
    by_class = {name: [c for c in page.values() if c.opcode.split(".")[0] == name] for name in CLASSES}
    return {name: [sum(c.threads for c in of) // 32, sum(c.wavefronts for c in of), sum(c.ideal for c in of)]
            for name, of in by_class.items()}


def expected(config, problem):
    """The same counts as predicted, with "gmma" and "bank_writes". What is stored to global memory passes the banks: an
    element at a time as a word, or, by mma_tma, 16 bytes as four. In clusters the two words of each mbarrier count where it
    is initialised, though not where a CTA is alone: measured, not explained."""
    predicted = plan_of(config).predict(*problem, sms=132).counts
    M, N, _ = problem
    passing = 0 if config.store == "tma" else M * N // 2 if config.body == "mma_tma" else M * N
    mbarriers = 2 * 2 * config.stages * config.grid(*problem) if config.cluster_ctas > 1 else 0
    by_threads = [c for c in predicted if c.instruction.startswith(("ld", "st"))]
    writes = sum(c.bytes for c in predicted if c.name == "load A, B") // 4 + sum(
        WORDS.get(c.instruction, 0) * c.instructions for c in by_threads)
    counts = {"gmma": sum(c.wavefronts for c in predicted if c.instruction.startswith("wgmma")),
              "bank_writes": writes + passing + mbarriers}
    for name in CLASSES:
        of = [c for c in by_threads if sass_class(c.instruction) == name]
        counts[name] = [sum(getattr(c, what) for c in of) for what in ("instructions", "wavefronts", "ideal")]
    return counts


def measure(folder):
    """One {count: measured} per case."""
    source, raw = ncu.pages(folder, ["-m", "cuda_kernels.conformance.hopper", "--launch"], METRICS.values(), "gemm")
    pages, counters = source_page.parse(source), source_page.parse_raw(raw, METRICS.values())
    if not len(pages) == len(counters) == len(CASES):
        raise DeviceError(f"ncu profiled {len(pages)} kernels of {len(CASES)}")
    return [{name: row[metric] for name, metric in METRICS.items()} | counted(page) for row, page in zip(counters, pages)]


def main(arguments=None):
    """Prints each count as predicted and as measured; exit status 1 if one differs."""
    from cuda_kernels.bench import where_and_when

    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.conformance.hopper", description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", help="write the counts to this file")
    parser.add_argument("--keep", type=Path, help="keep ncu's report and its pages in this folder")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.launch:
        launch_all()
        return 0
    ncu.refuse()
    with ncu.folder(options.keep) as folder:
        measured = measure(folder)
    wrong = 0
    for (config, problem), counts in zip(CASES, measured):
        predicted = expected(config, problem)
        print(f"{'x'.join(map(str, problem))} {config.changes or 'default'}")
        for name, value in counts.items():
            wrong += value != predicted[name]
            outcome = "equal" if value == predicted[name] else "DIFFERENT"
            print(f"  {name:<13}{predicted[name]!s:>28}{value!s:>28}  {outcome}")
    print(f"{sum(map(len, measured))} counts checked, {wrong} wrong")
    if options.json:
        head = {**where_and_when("cuda_kernels.conformance.hopper", arguments), "ncu": ncu.version()}
        rows = [{"config": config.changes, "shape": problem, **counts} for (config, problem), counts in zip(CASES, measured)]
        write_record(options.json, head, rows=rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
