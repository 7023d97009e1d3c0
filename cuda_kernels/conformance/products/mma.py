"""The arithmetic of every mma.sync and mma.sp on a GPU, bit for bit against `simlayout.mma`.

    python -m cuda_kernels.conformance.products.mma [--seed S] [--outputs N] [--only TEXT ...] [--json FILE]
        [--record FILE.npz]

One warp runs one instruction on fresh random tiles of every class in `cases`: registers go from global memory into
the instruction that kernels use (`cuda_kernels.intrinsics.mma_sync`, `mma_sp` with its last selector) and back. All bits
must be equal, except that an f64 NaN need only be a NaN. Exit status 1 if any result differs.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cuda_kernels.bench.command import ended_by
from cuda_kernels.conformance.products.cases import classes, stored_part, tiles
from cuda_kernels.conformance.products.common import check_gpu, ended, pack, parser_with, raw, selected, unpack
from cuda_kernels.intrinsics import ctaid_x, tid_x, u64
from cuda_kernels.intrinsics.instruction import Instruction, taking
from cuda_kernels.intrinsics.mma import mma_sp, mma_sync
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware import MMAS, SPARSE_MMAS, fragment, metadata_registers
from simlayout.hardware.tables.arch import LANES
from simlayout.numerics import mma, rule, tensor_op

SHARES = {"f16": 100, "bf16": 100, "tf32": 100, "e4m3": 7, "e5m2": 7, "f64": 7}
"""Type of A -> how many outputs an instruction gets for one of an integer instruction."""

SIGNATURE = "u64 u64 u64 u64"

NAMES = [*MMAS, *SPARSE_MMAS]


@lru_cache(None)
def load_registers(kind, count):
    """An instruction of `count` loads of consecutive registers."""
    width = _width(kind)
    text = " ".join(f"ld.global.{kind} ${r}, [${count}+{width * r}];" for r in range(count))

    def twin(warp, source):
        values = [(source + width * r).read(warp.active, width).view(TYPES[kind].plain)[:, 0] for r in range(count)]
        values = [x if x.dtype.kind == "f" else x.astype(np.int64) for x in values]
        return tuple(values) if count > 1 else values[0]

    return Instruction(f"load_{count}_{kind}", text, (kind,) * count, ("u64",), twin)


@lru_cache(None)
def store_registers(kind, count):
    """The instruction that stores what `load_registers` loads."""
    width = _width(kind)
    text = " ".join(f"st.global.{kind} [$0+{width * r}], ${r + 1};" for r in range(count))

    def twin(warp, destination, *values):
        for r, value in enumerate(values):
            data = np.ascontiguousarray(np.broadcast_to(value, LANES)).astype(TYPES[kind].plain).view(np.uint8)
            (destination + width * r).write(warp.active, data.reshape(LANES, width))

    return Instruction(f"store_{count}_{kind}", text, (), ("u64",) + (kind,) * count,
                       taking(["destination", *(f"v{r}" for r in range(count))], twin))


def _width(kind):
    return TYPES[kind].bytes


def _as_tuple(load, count):
    """A load as a device function that returns a tuple, of one register too."""
    def one(source):
        return (load(source),)

    return load if count > 1 else one


@lru_cache(None)
def make_probe(name):
    """The kernel of an mma name: CTA i, one warp, runs it on tile i. Arguments: where the registers of a, b (behind them
    that of metadata) and c are, and where those of d go, lane after lane of warp after warp."""
    op, of_b = _instruction(name), fragment(name, "B").registers
    loads, lane_bytes = [], []
    for operand, kind in (("A", op.operands[0]), ("B", op.operands[0]), ("C", op.results[0])):
        count = fragment(name, operand).registers + (operand == "B" and tensor_op(name).sparse)
        loads.append(_as_tuple(load_registers(kind, count), count))
        lane_bytes.append(count * _width(kind))
    load_a, load_b, load_c = loads
    a_bytes, b_bytes, c_bytes = lane_bytes
    store_d = store_registers(op.results[0], len(op.results))

    def probe(a, b, c, d):
        lane = u64(32) * u64(ctaid_x()) + u64(tid_x())
        behind_a = load_b(b + b_bytes * lane)
        registers = load_a(a + a_bytes * lane) + behind_a[:of_b] + load_c(c + c_bytes * lane) + behind_a[of_b:]
        store_d(d + c_bytes * lane, *op(*registers))

    return probe


def _instruction(name):
    """The intrinsic of a name."""
    return mma_sp(name, _selector(name)) if tensor_op(name).sparse else mma_sync(name)


def _selector(name):
    """The last sparsity selector of a name of mma.sp."""
    return SPARSE_MMAS[name].selectors - 1


def run_probe(name, a, b, c, metadata=None, gpu=True):
    """d of an instruction on tiles of stored elements, by the kernel: on the GPU, or on the CPU machine. metadata: of
    mma.sp, nibbles [tiles, m, groups]."""
    inputs = [pack(name, operand, x) for operand, x in (("A", a), ("B", b), ("C", c))]
    if metadata is not None:
        registers = np.array([metadata_registers(name, nibbles, _selector(name)) for nibbles in metadata])
        of_lanes = inputs[1].reshape(len(metadata), LANES, -1), registers.view(np.uint8).reshape(len(metadata), LANES, 4)
        inputs[1] = np.concatenate(of_lanes, axis=-1).reshape(len(metadata), -1)
    out = np.zeros(inputs[2].shape, np.uint8)
    return unpack(name, (_on_gpu if gpu else _on_machine)(name, [*inputs, out]), c.dtype)


def _on_machine(name, arrays):
    from simlayout.machine import run

    run(make_probe(name), len(arrays[0]), LANES, *arrays)
    return arrays[-1]


def _on_gpu(name, arrays):
    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature

    kernel = cuda.jit(signature(SIGNATURE))(bound_kernel(make_probe(name)))
    there = [cuda.to_device(x) for x in arrays]
    kernel[len(arrays[0]), LANES](*(np.uint64(x.__cuda_array_interface__["data"][0]) for x in there))
    return there[-1].copy_to_host()


@dataclass(frozen=True)
class Row:
    """One instruction compared. outputs, wrong: elements of D; payloads: f64 NaN that have another payload (not counted as
    wrong); rule: the kind of its provenance before this; first: the first wrong output in hex, or ""."""

    instruction: str
    outputs: int
    wrong: int
    payloads: int
    rule: str
    first: str


def different(measured, expected):
    """bool: which results differ in any bit; two f64 NaN do not."""
    differs = raw(measured) != raw(expected)
    return differs & ~(np.isnan(measured) & np.isnan(expected)) if measured.dtype == np.float64 else differs


def compare(name, a, b, c, labels, measured, metadata=None):
    """The Row of one instruction: D of a kernel on some tiles (`measured`) beside `simlayout.mma`."""
    expected = mma(name, a, b, c, metadata=metadata)
    wrong = different(measured, expected)
    first = ""
    if wrong.any():
        t, m, n = np.argwhere(wrong)[0].tolist()
        row, col = (" ".join(f"{v:x}" for v in raw(x).reshape(-1).tolist()) for x in (a[t, m].copy(), b[t, :, n].copy()))
        first = (f"{labels[t]}: measured {raw(measured)[t, m, n]:x}, expected {raw(expected)[t, m, n]:x}; "
                 f"a {row}; b {col}; c {raw(c)[t, m, n]:x}")
        if metadata is not None:
            first += f"; metadata {' '.join(f'{nibble:x}' for nibble in metadata[t, m].tolist())}"
    payloads = int((raw(measured) != raw(expected)).sum() - wrong.sum())
    return Row(name, measured.size, int(wrong.sum()), payloads, rule(name).provenance.kind, first)


def counts(names, outputs):
    """How many tiles each instruction gets, {name: tiles}: at least one of each class, and at least `outputs` outputs of all
    instructions together."""
    ops = {n: tensor_op(n) for n in names}
    weights = {n: SHARES.get(op.a, 1) for n, op in ops.items()}
    share = outputs / sum(weights.values())
    return {n: max(int(-(-share * weights[n] // (op.m * op.n))), len(classes(n))) for n, op in ops.items()}


def main(arguments=None):
    """Prints the table; returns the exit status."""
    module = "cuda_kernels.conformance.products.mma"
    options = parser_with(module, __doc__, ("--outputs", 1_000_000), "elements of D in all",
                          "one tile of every class").parse_args(arguments)
    names = selected(options.only, NAMES, "MMAS and SPARSE_MMAS in simlayout.hardware")
    check_gpu(options)
    rows, arrays = measure(counts(names, options.outputs), options.seed, not options.cpu, bool(options.record))
    return ended(module, arguments, options, rows, arrays)


def measure(tiles_of, seed, gpu, keep):
    """Rows for {name: tiles}, printed as they come, and {"name/a": raw bits ...} of one tile of every class if `keep`."""
    rows, arrays = [], {}
    print(f"{'instruction':<42}{'outputs':>10}{'wrong':>8}{'payloads':>10}  rule so far", flush=True)
    for name, count in tiles_of.items():
        a, b, c, labels = tiles(name, count, seed)
        operands = {"a": a, "b": b, "c": c}
        if tensor_op(name).sparse:
            operands["a"], operands["metadata"] = stored_part(name, a, seed)
        d = run_probe(name, gpu=gpu, **operands)
        row = compare(name, labels=labels, measured=d, **operands)
        rows.append(row)
        print(f"{name:<42}{row.outputs:>10}{row.wrong:>8}{row.payloads:>10}  {row.rule}  {row.first}".rstrip(), flush=True)
        if keep:
            few = slice(0, len(set(labels)))
            arrays |= {f"{name}/{word}": raw(x[few].copy()) for word, x in {**operands, "d": d}.items()}
    return rows, arrays


if __name__ == "__main__":
    ended_by(main)
