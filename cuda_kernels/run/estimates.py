"""Estimates, before a product begins, of its memory on this machine and of its time on the CPU machine."""

import os
import time
from pathlib import Path

import numpy as np

from cuda_kernels.run.runner import run
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.progress import duration

SAMPLED = 4
"""K steps of the CTA that is timed."""

LARGE = 256
"""A product with at least this many K steps, of all CTAs together, is timed first."""

SHADOW = 4
"""Bytes for each byte of global memory (`simlayout.machine.hazards.global_shadow`)."""

ROWS = 256
"""Rows of C that are compared if not all of them are (`check.compare`)."""


def bytes_needed(M, N, K, device):
    """Bytes of memory that a product takes: A, B and C in 16-bit types, and the larger of two things that follow each other.

    These are the records of who touched which byte (SHADOW, on the CPU machine only), and the comparison with float64.
    device: "cpu" or "gpu".

    >>> bytes_needed(4096, 4096, 4096, "cpu"), bytes_needed(4096, 4096, 4096, "gpu")
    (503316480, 411041792)
    """
    from cuda_kernels.run.check import FULL_CHECK

    matrices = 2 * (M * K + N * K + M * N)
    rows = M if M * N * K <= FULL_CHECK else min(M, ROWS)
    compared = 8 * 2 * (rows * K + N * K) + 8 * 3 * rows * N
    return matrices + max(compared, SHADOW * matrices if device == "cpu" else 0)


def bytes_free():
    """Bytes of memory that this process may still take, as Linux reports them; None if nothing reports them."""
    free = []
    try:
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free.append(1024 * int(fields["MemAvailable"].split()[0]))
    except (OSError, KeyError, ValueError):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            free.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        limit, used = (Path("/sys/fs/cgroup", name).read_text().strip() for name in ("memory.max", "memory.current"))
        free.append(int(limit) - int(used))
    except (OSError, ValueError):                        # no such group, or "max"
        pass
    return min(free, default=None)


def require_memory(M, N, K, device):
    """Raises SimlayoutError if the product needs more memory than is free."""
    needed, free = bytes_needed(M, N, K, device), bytes_free()
    if free is not None and needed > free:
        raise SimlayoutError(f"A ({M}, {K}), B ({N}, {K}) and C ({M}, {N}), and what checks them, take about {needed} bytes "
                             f"of memory, and {free} are free: use a smaller problem")


def time_estimate(kernel, M, N, K):
    """A sentence that estimates how long the CPU machine will take for a GEMM kernel; None for a small product.

    One CTA is timed for a few K steps.
    """
    rows, columns, depth = kernel.plan.tile
    tiles, steps = -(-M // rows) * -(-N // columns), -(-K // depth)
    if tiles * steps < LARGE:
        return None
    sampled = min(steps, SAMPLED)
    seconds = [_timed(kernel, min(M, rows), min(N, columns), count * depth) for count in (1, sampled)][-1]
    return (f"about {duration(seconds * tiles * steps / sampled)} on the CPU machine: an estimate, from {seconds:.2g} "
            f"seconds for {sampled} of {tiles * steps} K steps")


def _timed(kernel, M, N, K):
    """Seconds that one product of zeros takes; the first one also compiles."""
    a, b = (np.zeros(shape, TYPES[kernel.dtypes[0]].plain) for shape in ((M, K), (N, K)))
    started = time.perf_counter()
    run(kernel, a, b.T, device="cpu", hazards="report")
    return time.perf_counter() - started
