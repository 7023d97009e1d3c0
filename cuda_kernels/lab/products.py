"""How fast tensor-core arithmetic is on this machine, by NumPy and compiled with Numba, in one run.

    python -m cuda_kernels.lab.products [--json FILE]

For each instruction it times a chain of products of 64 x 256 (wgmma) or of 256 tiles at once (mma.sync), and one mma.sync
as a warp of the CPU machine executes it, from registers to registers. The clock is this process's CPU time, so that other
processes matter little; the best of several turns is reported, and Numba's compilation is not timed. The results of both
ways are compared, bit by bit.
"""

import math
import time

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of
from cuda_kernels.lab.computer import about, headline, told
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.machine.engine.matrices import mma as mma_of_registers
from simlayout.numerics import arithmetic, gemm, mma, tensor_op, warp_mma

INSTRUCTIONS = (
    "wgmma.m64n256k16.f32.f16.f16", "wgmma.m64n256k16.f16.f16.f16", "wgmma.m64n256k16.f32.bf16.bf16",
    "wgmma.m64n256k8.f32.tf32.tf32", "wgmma.m64n256k32.f32.e4m3.e5m2", "wgmma.m64n256k32.s32.s8.s8",
    "m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.tf32.tf32.f32",
    "m16n8k32.f32.e4m3.e5m2.f32", "m16n8k32.f16.e4m3.e4m3.f16", "m16n8k32.s32.s8.s8.s32", "m16n8k64.s32.u4.s4.s32.satfinite",
    "m16n8k256.s32.b1.b1.s32.xor.popc", "m8n8k4.f64.f64.f64.f64", "m16n8k16.f64.f64.f64.f64")
STEPS, TILES, SECONDS = 8, 256, 0.02
WAYS = {"NumPy": math.inf, "Numba": -1}
"""Names of the ways, and the patience with NumPy (`arithmetic.PATIENCE`) that chooses them."""


def numbers(random, dtype, shape):
    """An array of a type: normal numbers, or any integers."""
    row = TYPES[dtype]
    if row.exponent and row.bits > 8:
        values = random.standard_normal(shape)
        if row.in_numpy:
            return values.astype(row.plain)
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(row.raw)                  # bf16
    if row.exponent:                                     # 8-bit floats near one, of either sign
        return (random.integers(row.bias - 2, row.bias + 2, shape) << 7 - row.exponent
                | random.integers(0, 1 << 7 - row.exponent, shape) | random.integers(0, 2, shape) << 7).astype(row.raw)
    low, high = row.limits
    return random.integers(low, high, shape, endpoint=True).astype(row.plain)


def best(action, turns=7):
    """The least CPU time of this process per call, in seconds."""
    action()
    began, calls = time.process_time(), 0
    while not calls or time.process_time() - began < SECONDS:
        action()
        calls += 1
    seconds = []
    for _ in range(turns):
        began = time.process_time()
        for _ in range(calls):
            action()
        seconds.append((time.process_time() - began) / calls)
    return min(seconds)


def many(name):
    """(An action without arguments that multiplies many numbers, how many): a chain, or a batch."""
    op, random = tensor_op(name), np.random.default_rng(0)
    if op.family == "wgmma":
        a, b = numbers(random, op.a, (op.m, STEPS * op.k)), numbers(random, op.b, (STEPS * op.k, op.n))
        return lambda: gemm(name, a, b), STEPS * op.m * op.n * op.k
    a, b, c = (numbers(random, t, (TILES, *s)) for t, s in
               ((op.a, (op.m, op.k)), (op.b, (op.k, op.n)), (op.c, (op.m, op.n))))
    return lambda: mma(name, a, b, c), TILES * op.m * op.n * op.k


def one(name):
    """An action without arguments: one mma.sync by one warp, from registers to registers."""
    multiply, op = warp_mma(name), tensor_op(name)
    random = np.random.default_rng(0)
    registers = []
    for dtype, count in zip((op.a, op.b, op.c), multiply.registers[:3], strict=True):
        bits = TYPES[dtype].bits
        if bits < 8:
            registers += list(random.integers(0, 1 << 32, (count, 32), np.uint32))
        else:
            values = numbers(random, dtype, (count, 32 * (8 * multiply.word.itemsize // bits)))
            registers += list(values.view(TYPES[TYPES[dtype].register].plain))
    return lambda: mma_of_registers(name)(*registers)


def measure():
    """All of it, as plain values."""
    report = about("python -m cuda_kernels.lab.products") | {"products_per_s": {}, "one_mma_us": {}}
    before = arithmetic.PATIENCE
    try:
        for name in INSTRUCTIONS:
            action, products = many(name)
            report["products_per_s"][name] = {way: products / seconds for way, seconds in both(name, action).items()}
            if tensor_op(name).family == "mma.sync":
                report["one_mma_us"][name] = {way: 1e6 * seconds for way, seconds in both(name, one(name)).items()}
    finally:
        arithmetic.PATIENCE = before
    return report


def both(name, action):
    """{way: seconds} of an action, whose results must be the same bits."""
    seconds, results = {}, []
    for way, patience in WAYS.items():
        arithmetic.PATIENCE = patience
        if way == "Numba" and arithmetic.compiled_functions() is None:
            raise SimlayoutError('Numba is not installed: pip install "simlayout[fast]"')
        results.append(b"".join(np.ascontiguousarray(part).tobytes() for part in action()))
        seconds[way] = best(action)
    if results[0] != results[1]:
        raise SimlayoutError(f"{name}: NumPy and Numba compute different bits; please report it")
    return seconds


def table(report):
    """The measurement as lines of text."""
    lines = [headline(report), "", f"{'million multiply-adds a second, one core':42}{'NumPy':>10}{'Numba':>10}{'ratio':>8}"]
    for name, rates in report["products_per_s"].items():
        slow, fast = (rates[way] / 1e6 for way in WAYS)
        lines.append(f"  {name:40}{slow:10,.0f}{fast:10,.0f}{fast / slow:8.1f}")
    lines += ["", "one mma.sync of one warp, microseconds"]
    for name, times in report["one_mma_us"].items():
        slow, fast = (times[way] for way in WAYS)
        lines.append(f"  {name:40}{slow:10.1f}{fast:10.1f}{slow / fast:8.1f}")
    return "\n".join(lines)


def main(arguments=None):
    """The command."""
    parser = recording_parser_of("cuda_kernels.lab.products", __doc__)
    chosen = parser.parse_args(arguments)
    told(measure(), table, chosen.json)


if __name__ == "__main__":
    ended_by(main)
