"""How fast the machine runs kernels of Numba's, beside Numba's own simulator (NUMBA_ENABLE_CUDASIM), in one run.

    python -m cuda_kernels.lab.simulators [--json FILE] [--ctas N]

The machine runs the whole grid, from the PTX that Numba compiles, without hazards and with them. Numba's simulator runs N
CTAs of the same launch in a process of its own, and its time is scaled to the grid, because all CTAs do the same; whole
grids take it many minutes. Results are compared with NumPy's. Times are wall-clock times, without compilation.
"""

import argparse
import os
import subprocess
import sys
import time

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of
from cuda_kernels.lab.computer import about, headline, told


def kernels():
    """{name: (function, grid, block, arguments, what the last argument must be)}."""
    from cuda_kernels.lab.simulated_kernels import BLOCK, DEPTH, STEP, TILE, reduction, sgemm, transpose

    random = np.random.default_rng(0)
    square, left, right = (random.integers(-3, 4, (n, n)).astype(np.float32) for n in (1024, 256, 256))
    line = random.integers(-3, 4, 2**20).astype(np.float32)
    return {
        "transpose 1024 x 1024": (transpose, (32, 32), (TILE, DEPTH), (square, np.zeros_like(square)), square.T),
        "sgemm 256 x 256 x 256": (sgemm, (16, 16), (STEP, STEP), (left, right, np.zeros_like(left)), left @ right),
        "reduction of 2**20": (reduction, (2048, 1), (BLOCK, 1), (line, np.zeros(2048, np.float32)),
                               line.reshape(2048, -1).sum(axis=1)),
    }


def in_cudasim(name, ctas):
    """Seconds that Numba's simulator takes for the first `ctas` CTAs; for a process in which it is switched on."""
    from numba import cuda

    function, (x, y), block, arguments, _ = kernels()[name]
    kernel = cuda.jit(function)
    grid = (min(ctas, x), max(ctas // x, 1))
    began = time.perf_counter()
    kernel[grid, block](*arguments)
    return (time.perf_counter() - began) * x * y / (grid[0] * grid[1])


def on_the_machine(name):
    """{"hazards off" or "hazards": (seconds, warp instructions)}; raises AssertionError where the result is wrong."""
    import numba
    from numba.cuda import compile_ptx

    from simlayout.ptx import load

    function, grid, block, arguments, expected = kernels()[name]
    text, _ = compile_ptx(function, tuple(numba.typeof(a) for a in arguments), cc=(9, 0))
    entry, times = load(text).entry(), {}
    passed = [value for a in arguments for value in (0, 0, a.size, a.itemsize, a, *a.shape, *a.strides)]
    for way, hazards in (("compiled", "off"), ("hazards off", "off"), ("hazards", "raise")):
        arguments[-1][:] = 0
        began = time.perf_counter()
        trace = entry.run(grid, block, *passed, hazards=hazards)
        times[way] = time.perf_counter() - began, sum(trace.executed.values())
        assert np.array_equal(arguments[-1], expected), f"{name}: a wrong result"
    del times["compiled"]                                # the first run may compile
    return times


def measure(ctas):
    """All of it, as plain values."""
    report = about(f"python -m cuda_kernels.lab.simulators --ctas {ctas}") | {"cudasim_ctas": ctas, "kernels": {}}
    for name in kernels():
        command = [sys.executable, "-m", "cuda_kernels.lab.simulators", "--child", name, "--ctas", str(ctas)]
        simulated = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
        done = subprocess.run(command, env=simulated, check=True, stdout=subprocess.PIPE, text=True)
        row = {"cudasim_s": float(done.stdout)}
        for way, (seconds, instructions) in on_the_machine(name).items():
            row |= {"warp_instructions": instructions, f"{way}_s": seconds}
        report["kernels"][name] = row
    return report


def table(report):
    """The measurement as lines of text."""
    head = f"{'seconds':24}{'CUDASIM':>10}{'machine':>10}{'ratio':>8}{'hazards':>10}{'ratio':>8}"
    lines = [headline(report), "", f"{head}{'instructions a second':>24}"]
    for name, row in report["kernels"].items():
        slow, off, on = row["cudasim_s"], row["hazards off_s"], row["hazards_s"]
        rates = " / ".join(f"{row['warp_instructions'] / seconds / 1000:,.0f}k" for seconds in (off, on))
        lines.append(f"{name:24}{slow:10,.0f}{off:10.2f}{slow / off:8.0f}{on:10.2f}{slow / on:8.0f}{rates:>24}")
    return "\n".join(lines)


def main(arguments=None):
    """The command."""
    parser = recording_parser_of("cuda_kernels.lab.simulators", __doc__)
    parser.add_argument("--ctas", type=int, default=16, metavar="N", help="CTAs that Numba's simulator runs (16)")
    parser.add_argument("--child", metavar="NAME", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.child:
        print(in_cudasim(chosen.child, chosen.ctas))
        return
    told(measure(chosen.ctas), table, chosen.json)


if __name__ == "__main__":
    ended_by(main)
