"""The kernels for Hopper against Nsight Compute: what TMA, wgmma and threads did to shared memory, beside the prediction.

    python -m cuda_kernels.conformance.gemms.hopper [--set eights] [--json FILE] [--keep FOLDER]

Runs a product with each of several configurations under ncu (which must be on the PATH, and may read the GPU's counters):
of operands of 16 bits, of 8, or of those that finish elements, store by sectors, cut tiles into slices, or multiply groups.
It compares the operand wavefronts of wgmma and the words written to the banks of the whole kernel, and, from the source
page, the executions, wavefronts and ideal wavefronts of each SASS instruction that loads or stores shared memory. All must
equal the plan's prediction, except for what copies scales: as many as the plan says, in at least as many wavefronts.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.conformance import ncu
from cuda_kernels.conformance.measure import WAVEFRONTS
from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.kernels.hopper.plan import plan_of
from cuda_kernels.kernels.hopper.scales import grains_of, scales_of_stage
from cuda_kernels.matmul.tune.entrants import normal
from cuda_kernels.matmul.tune.groups import sizes_of
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import DeviceError
from simlayout.files import write_record
from simlayout.hardware.tables.arch import LANES
from simlayout.nsight import source_page
from simlayout.plan import sass_class

METRICS = {"gmma": WAVEFRONTS.format("gmma"), "bank_writes": "l1tex__data_bank_writes.sum"}

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

EIGHTS = (
    (Hopper(dtype="e4m3", b_dtype="e5m2"), (1024, 1536, 1024)),
    (Hopper(dtype="e4m3", scaled="tensor"), (1000, 1384, 1040)),
    (Hopper(256, 136, 4, 1, 16, bands=2, dtype="e4m3", scaled="lines"), (1000, 1384, 1040)),
    (Hopper(192, 128, 4, dtype="e4m3", scaled="1x128"), (1000, 1384, 1040)),
    (Hopper(256, 128, 3, 1, bands=2, cluster_n=2, dtype="e4m3", scaled="1x128"), (1000, 1384, 1040)),
    (Hopper(128, 128, 5, c_major="M", dtype="e4m3", scaled="128x1"), (1000, 1384, 1040)),
    (Hopper(128, 64, 7, dtype="e5m2", scaled="1x1"), (1000, 1384, 1040)),
    (Hopper(dtype="s8", out="s32", store="direct"), (1000, 1384, 1040)),
    (Hopper(128, 128, 6, dtype="s8", b_dtype="u8", scaled="lines"), (1000, 1384, 1040)))
"""The same of 8-bit operands: without scales, and with each way to bring them."""

GROUPS = 5
"""Of a grouped product's rows."""

OTHERS = (
    (Hopper(128, 200, 4, 1, bands=2, pingpong=True, cluster_m=2, store="sectors"), (1000, 1384, 152)),
    (Hopper(64, 104, 6, 1, store="sectors"), (1000, 1384, 72)),
    (Hopper(epilogue="bias_n gelu_tanh"), (1000, 1384, 520)),
    (Hopper(128, 128, 6, c_major="M", epilogue="alpha residual bias_m silu multiply"), (1000, 1384, 520)),
    (Hopper(64, 64, 8, grouped=True), (1000, 1384, 520)),
    (Hopper(128, 256, grouped=True), (1000, 1384, 520)),
    (Hopper(64, 64, 8, 1, slices=4), (200, 440, 2048)), (Hopper(128, 72, 6, slices=2, cluster_m=2), (500, 600, 1024)),
    (Hopper(128, 64, 8, c_major="M", grouped=True), (1384, 1000, 520)),
    (Hopper(128, 128, 6, grouped=True, dtype="e4m3", scaled="lines"), (1000, 1384, 1040)))
"""Lines of C copied from whole sectors on; elements that are finished; tiles in slices; GROUPS groups of rows of uneven
sizes."""

SETS = {"plain": CASES, "eights": EIGHTS, "others": OTHERS}
"""By name."""

CLASSES = ("LDSM", "LDS", "STS", "STSM")
"""The SASS instructions that access shared memory in these kernels, besides wgmma and TMA."""

COPY = "LDGSTS"
"""What copies scales of lines, or for every 128 of K."""

WORDS = {"stmatrix.x4": 128, "stmatrix.x4.trans": 128, "st.shared.b32": 32}
"""Words that a warp's instruction writes."""


class Transposed:
    """A device array with its last two dimensions exchanged, where it lies (Numba's own .T is a copy)."""

    def __init__(self, array):
        turned = [(*x[:-2], x[-1], x[-2]) for x in (array.shape, array.strides)]
        self._array, self.dtype, (self.shape, self.strides) = array, array.dtype, turned
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "shape": self.shape, "strides": self.strides}


class Named:
    """A device array of bytes as elements of a dtype that NumPy does not know."""

    def __init__(self, array, dtype):
        self._array, self.dtype, self.shape, self.strides = array, TYPES[dtype].storage, array.shape, array.strides
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "typestr": "<V1"}


def sizes_here(config, problem):
    """The rows of each group of a grouped configuration's product; () of another.

    >>> sizes_here(Hopper(grouped=True), (1000, 64, 64)), sizes_here(Hopper(), (1000, 64, 64))
    ((99, 216, 93, 248, 344), ())
    """
    rows = problem[1 if config.c_major == "M" else 0]
    return sizes_of(rows, GROUPS) if config.grouped else ()


def random_array(dtype, shape, generator, cuda):
    """Random normal numbers, or any integers, of a dtype on the GPU."""
    made = cuda.to_device(normal(dtype, math.prod(shape), generator).reshape(shape))
    return made if TYPES[dtype].in_numpy else Named(made, dtype)


def operands(config, problem, generator, cuda):
    """What `matmul` takes for a configuration: (a, b, {argument: what is passed}) of random normal numbers, or of any
    integers, of scales between 0.5 and 1.5, and of an epilogue's arrays, on the GPU. Of one with c_major "M" it is the
    product of C.T."""
    M, N, K = problem

    def matrix(dtype, *shape):
        return random_array(dtype, shape, generator, cuda)

    def scales(lines, share):
        shape = (-(-lines // share), -(-K // 128)) if grains_of(config.scaled) else (lines, 1)
        shape = (1, 1) if config.scaled == "tensor" else shape
        return cuda.to_device(generator.random(shape, np.float32) + np.float32(0.5))

    a, b = (matrix(dtype, lines, K) if major == "K" else matrix(dtype, K, lines)
            for dtype, lines, major in zip(config.types, (M, N), (config.a_major, config.b_major)))
    of_a, of_b = (scales(lines, share) for lines, share in zip((M, N), grains_of(config.scaled) or (1, 1)))
    if config.c_major == "M":                            # matmul exchanges the operands
        a, b, of_a, of_b = b, a, of_b, of_a
    a, b = (a if config.a_major == "K" else Transposed(a)), (Transposed(b) if config.b_major == "K" else b)
    named = {"scale_a": of_a, "scale_b": Transposed(of_b)} if config.scaled else {}
    return a, b, named | finishing(config, shape_of(config, problem), matrix)


def grouped_operands(config, problem, generator, cuda):
    """What `grouped_matmul` takes for a grouped configuration with K-major operands: (a, b, offsets, {argument: array})."""
    (rows, N), K = shape_of(config, problem), problem[2]
    a, b = (random_array(dtype, shape, generator, cuda)
            for dtype, shape in zip(config.types, ((rows, K), (GROUPS, N, K))))
    offsets = cuda.to_device(np.cumsum(sizes_here(config, problem), dtype=np.int32))
    of_a, of_b = (cuda.to_device(generator.random(shape, np.float32)) for shape in ((rows, 1), (GROUPS, N)))
    return a, Transposed(b), offsets, {"scale_a": of_a, "scale_b": of_b} if config.scaled else {}


def shape_of(config, problem):
    """(rows, columns) of the product whose C a configuration makes, or the transpose of which."""
    M, N, _ = problem
    return (M, N) if config.c_major == "N" else (N, M)


def finishing(config, shape, matrix):
    """The arguments of `matmul` for an epilogue of a product of this shape. matrix(dtype, *shape): a random one."""
    words = EPILOGUES[config.epilogue]
    arrays = {name: matrix(config.out, *(shape[1:] if name == "bias" else shape)) for name in words.reads}
    return arrays | ({"alpha": 0.5} if words.alpha else {}) | ({"activation": words.activation} if words.activation else {})


def launch_all(cases):
    """Runs every case once: what ncu watches."""
    from numba import cuda

    from cuda_kernels import grouped_matmul, matmul

    generator = np.random.default_rng(0)
    for config, problem in cases:
        out = cuda.device_array(shape_of(config, problem), TYPES[config.out].plain)
        if config.grouped:
            a, b, offsets, named = grouped_operands(config, problem, generator, cuda)
            grouped_matmul(a, b, offsets, out, kernel=config, **named)
        else:
            a, b, named = operands(config, problem, generator, cuda)
            matmul(a, b, out, kernel=config, **named)
        cuda.synchronize()


def counted(page):
    """{SASS class: [executions by a warp, wavefronts, ideal wavefronts]} of a kernel's source page, {offset: Counted}; and
    of LDGSTS, where there is one, [executions by a thread, wavefronts]."""
    by_class = {name: [c for c in page.values() if c.opcode.split(".")[0] == name] for name in (*CLASSES, COPY)}
    copies = by_class.pop(COPY)
    found = {name: [sum(c.threads for c in of) // 32, sum(c.wavefronts for c in of), sum(c.ideal for c in of)]
             for name, of in by_class.items()}
    return found | ({COPY: [sum(c.threads for c in copies), sum(c.wavefronts for c in copies)]} if copies else {})


def expected(config, problem):
    """The same counts as predicted, with "gmma" and "bank_writes". What threads store to global memory passes the banks as
    words: neighbours of a row together, of a transposed C each element as a word. In clusters the two words of each mbarrier
    count where it is initialised, though not where a CTA is alone: measured, not explained. Where a kernel reads scales, an
    epilogue's arrays or offsets, L1 writes them to the banks as well, so that "bank_writes" is not predicted, nor where
    slices send one another their sums; of what copies scales the wavefronts are the fewest."""
    sizes = {"sizes": sizes_here(config, problem)} if config.grouped else {}
    predicted, (M, N, _) = plan_of(config).predict(*problem, sms=132, **sizes).counts, problem
    bytes_together = TYPES[config.out].bytes if config.c_major == "N" else 4
    passing = M * N * bytes_together // 4 if config.store == "direct" else 0
    mbarriers = 2 * 2 * config.stages * config.grid(*problem) if config.cluster_ctas > 1 else 0
    by_threads = [c for c in predicted if c.instruction.startswith(("ld", "st"))]
    writes = sum(c.bytes for c in predicted if c.name == "load A, B") // 4 + sum(
        WORDS.get(c.instruction, 0) * c.instructions for c in by_threads)
    reads = config.scaled or config.epilogue or config.grouped or config.slices > 1
    counts = {"gmma": sum(c.wavefronts for c in predicted if c.instruction.startswith("wgmma")),
              **({} if reads else {"bank_writes": writes + passing + mbarriers})}
    for name in CLASSES:
        of = [c for c in by_threads if sass_class(c.instruction) == name]
        counts[name] = [sum(getattr(c, what) for c in of) for what in ("instructions", "wavefronts", "ideal")]
    for c in predicted:
        if c.name == "copy scales":
            together = config.lines_scales or scales_of_stage(config)
            counts[COPY] = [c.instructions // -(-together // LANES) * together, c.wavefronts]
    return counts


def agrees(name, measured, predicted):
    """Whether a count is as predicted.

    >>> agrees("LDS", [4, 4, 4], [4, 4, 4]), agrees(COPY, [132, 9], [132, 5]), agrees(COPY, [132, 4], [132, 5])
    (True, True, False)
    """
    if name == COPY:
        return measured[0] == predicted[0] and measured[1] >= predicted[1]
    return measured == predicted


def measure(folder, name):
    """One {count: measured} per case of a set of SETS."""
    command = ["-m", "cuda_kernels.conformance.gemms.hopper", "--launch", "--set", name]
    source, raw = ncu.pages(folder, command, METRICS.values(), "gemm")
    pages = source_page.parse(source, ("threads", "wavefronts", "ideal"))
    counters = source_page.parse_raw(raw, METRICS.values())
    if not len(pages) == len(counters) == len(SETS[name]):
        raise DeviceError(f"ncu profiled {len(pages)} kernels of {len(SETS[name])}")
    return [{name: row[metric] for name, metric in METRICS.items()} | counted(page) for row, page in zip(counters, pages)]


def main(arguments=None):
    """Prints each count as predicted and as measured; exit status 1 if one differs."""
    parser = recording_parser_of("cuda_kernels.conformance.gemms.hopper", __doc__)
    parser.add_argument("--set", choices=SETS, default="plain", help="of products (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="keep ncu's report and its pages in this folder")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.launch:
        launch_all(SETS[options.set])
        return 0
    ncu.refuse()
    with ncu.folder(options.keep) as folder:
        measured, cases = measure(folder, options.set), SETS[options.set]
    checked = wrong = 0
    for (config, problem), counts in zip(cases, measured):
        predicted = expected(config, problem)
        print(f"{'x'.join(map(str, problem))} {config.changes or 'default'}")
        for name, value in counts.items():
            known = name in predicted
            right = known and agrees(name, value, predicted[name])
            checked, wrong = checked + known, wrong + (known and not right)
            outcome = "as predicted" if right else "DIFFERENT" if known else "not predicted"
            print(f"  {name:<13}{predicted.get(name, '')!s:>28}{value!s:>28}  {outcome}")
    print(f"{checked} counts checked, {wrong} wrong")
    if options.json:
        head = {**where_and_when("cuda_kernels.conformance.gemms.hopper", arguments), "ncu": ncu.version()}
        rows = [{"config": config.changes, "shape": problem, **counts} for (config, problem), counts in zip(cases, measured)]
        write_record(options.json, head, rows=rows)
    return 1 if wrong else 0


if __name__ == "__main__":
    ended_by(main)
