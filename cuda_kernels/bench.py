"""Kernels against cuBLAS on one GPU, in one run.

    python -m cuda_kernels.bench [--sizes 4096 8192] [--json FILE]

Every round runs each kernel and cuBLAS (torch's or CuPy's) in a new random order, each back to back for 0.15 s: long
enough that the clock settles at the power limit (in shorter turns a kernel inherits its predecessor's clock, and shares
of cuBLAS move by 10 %). Operands are random normal and rotate so that small problems do not sit in L2. Times are medians
over the rounds, the share is the median of the rounds' ratios.
"""

import argparse
import json
import random
import statistics
import sys
from datetime import date

import numpy as np

from cuda_kernels.launch import device_name, load
from simlayout.errors import DeviceError


class TorchCublas:
    """Device arrays and cuBLAS through torch."""

    name = "cuBLAS through torch"

    def __init__(self):
        import torch

        self.torch = torch
        self.version = f"torch {torch.__version__}"

    def normal(self, rows, cols):
        return self.torch.randn(rows, cols, device="cuda", dtype=self.torch.float16)

    def empty(self, rows, cols):
        return self.torch.full((rows, cols), float("nan"), device="cuda", dtype=self.torch.float16)

    def matmul(self, a, b, out):
        self.torch.matmul(a, b.T, out=out)

    def address(self, x):
        return x.data_ptr()

    def free(self):
        self.torch.cuda.empty_cache()


class CupyCublas:
    """Device arrays and cuBLAS through CuPy."""

    name = "cuBLAS through CuPy"

    def __init__(self):
        import cupy

        self.cupy = cupy
        self.version = f"CuPy {cupy.__version__}"

    def normal(self, rows, cols):
        return self.cupy.random.standard_normal((rows, cols), dtype=np.float32).astype(np.float16)

    def empty(self, rows, cols):
        return self.cupy.full((rows, cols), np.nan, np.float16)

    def matmul(self, a, b, out):
        self.cupy.matmul(a, b.T, out=out)

    def address(self, x):
        return x.data.ptr

    def free(self):
        self.cupy.get_default_memory_pool().free_all_blocks()


class NumbaArrays:
    """Device arrays through Numba, without cuBLAS: where neither torch nor CuPy is installed."""

    name = None
    version = "neither torch nor CuPy is installed: no cuBLAS beside it"

    def normal(self, rows, cols):
        from numba import cuda

        return cuda.to_device(np.random.default_rng().standard_normal((rows, cols), np.float32).astype(np.float16))

    def empty(self, rows, cols):
        from numba import cuda

        return cuda.device_array((rows, cols), np.float16)

    def address(self, x):
        return x.__cuda_array_interface__["data"][0]

    def free(self):
        pass


def array_library():
    """torch, else CuPy, else Numba alone."""
    for library in (TorchCublas, CupyCublas):
        try:
            return library()
        except ImportError:
            continue
    return NumbaArrays()


def compare_with_cublas(kernels, M, N, K, rounds=7, seconds=0.15):
    """Times kernels and cuBLAS alternately on one problem.

    kernels: Kernel variants. rounds: timed rounds; seconds: roughly how long each runs in one round.
    Returns one dict per kernel: {"tflops", "cublas_tflops", "share", "seconds", "library"}: medians over the rounds.
    """
    from numba import cuda

    library = array_library()
    flops = 2 * M * N * K
    sets = [(library.normal(M, K), library.normal(N, K), library.empty(M, N))
            for _ in range(max(1, min(8, int(160e6 // (2 * (M * K + N * K + M * N))))))]
    jobs = {}
    for position, kernel in enumerate(kernels):
        loaded = load(kernel.fitted(M, N, K))
        jobs[position] = [_launcher(loaded, library, *s, M, N, K) for s in sets]
    if library.name:
        jobs["cublas"] = [(lambda s=s: library.matmul(*s)) for s in sets]
    for calls in jobs.values():
        for call in calls:
            call()
    cuda.synchronize()
    repeats = max(3, min(2000, int(seconds / (flops / 400e12))))
    times = {name: [] for name in jobs}
    for _ in range(rounds):
        order = list(jobs)
        random.shuffle(order)
        for name in order:
            start, end = cuda.event(), cuda.event()
            start.record()
            for i in range(repeats):
                jobs[name][i % len(sets)]()
            end.record()
            end.synchronize()
            times[name].append(cuda.event_elapsed_time(start, end) / 1e3 / repeats)
    library.free()
    results = []
    for position in range(len(kernels)):
        taken = statistics.median(times[position])
        row = {"tflops": flops / taken / 1e12, "seconds": taken, "library": library.version}
        if library.name:
            share = statistics.median(c / t for c, t in zip(times["cublas"], times[position]))
            row |= {"cublas_tflops": flops / statistics.median(times["cublas"]) / 1e12, "share": share}
        results.append(row)
    return results


def _launcher(loaded, library, a, b, c, M, N, K):
    addresses = [library.address(x) for x in (a, b, c)]
    return lambda: loaded(*addresses, M, N, K, K, K, N)


def default_variants():
    """The variants that the README's table shows: (label, Kernel)."""
    from cuda_kernels import KERNELS

    rows = []
    for name in ("mma_base", "mma_padded", "mma_permuted"):
        for stages in (1, 2, 3, 4):
            rows.append((f"{name}, {stages} stage{'s' if stages > 1 else ''}", KERNELS[name].variant(stages=stages)))
        rows.append((f"{name}, 4 stages, f16 accumulation", KERNELS[name].variant(accumulate="f16")))
    for name in ("mma_blocks", "mma_crosswise"):
        for warps in (4, 8):
            for loads in ("ldmatrix", "lds", "mixed"):
                rows.append((f"{name}, {warps} warps, {loads}", KERNELS[name].variant(warps=warps, loads=loads)))
        rows.append((f"{name}, 4 warps, ldmatrix, scalar C store", KERNELS[name].variant(c_store="scalar")))
        rows.append((f"{name}, 4 warps, ldmatrix, f16 accumulation", KERNELS[name].variant(accumulate="f16")))
    return rows


def main(arguments=None):
    """Prints the table and, with --json, writes it."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.bench", description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[4096, 8192], help="M = N = K (default: 4096 8192)")
    parser.add_argument("--only", nargs="+", default=[""], help="only variants whose label contains one of these")
    parser.add_argument("--json", help="write the results to this file")
    options = parser.parse_args(arguments)
    variants = [(label, k) for label, k in default_variants() if any(o in label for o in options.only)]
    rows = {label: {} for label, _ in variants}
    for size in options.sizes:
        results = compare_with_cublas([k for _, k in variants], size, size, size)
        for (label, _), row in zip(variants, results):
            rows[label][size] = row
            print(f"{size:>6}  {label:<52}{row['tflops']:8.1f} TFLOP/s  {row.get('share', float('nan')):6.3f} of cuBLAS",
                  flush=True)
    if options.json:
        from simlayout.files import write_whole

        record = {**where_and_when("cuda_kernels.bench", arguments), "library": array_library().version, "rows": rows}
        write_whole(options.json, json.dumps(record, indent=1))


def where_and_when(module, arguments):
    """What every recorded measurement starts with: device, driver, versions, date, command."""
    from importlib.metadata import version

    numba = {name: version(name) for name in ("numba", "numba-cuda", "numpy")}
    command = f"python -m {module} " + " ".join(arguments if arguments is not None else sys.argv[1:])
    return {"device": device_name(), "driver": driver_version(), "date": date.today().isoformat(), "command": command,
            "versions": numba}


def driver_version():
    """The driver's version as nvidia-smi prints it, or the CUDA version it supports."""
    import subprocess

    try:
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise DeviceError(f"nvidia-smi does not answer: {error}") from None


if __name__ == "__main__":
    main()
