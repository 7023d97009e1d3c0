"""Runs a wgmma kernel on NumPy matrices on the CPU machine: the kernel's own source, with TMA, mbarriers and wgmma."""

import numpy as np

from cuda_kernels.run.mma import Run
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.hardware.matrix.tma import TensorMap


def run_hopper(config, a, b, sms=2, progress=None, hazards="raise"):
    """C = A B by one Hopper configuration on the CPU machine.

    a: (M, K) or (matrices, M, K); b: (K, N) or (matrices, K, N), of the configuration's dtype (bf16 as uint16 bits), each
    contiguous along the dimension that the configuration calls its major one, with rows of a multiple of 16 bytes. sms: how
    many SMs the grid is for. progress, hazards: as of `simlayout.machine.run`. Returns a Run with C, (M, N) or (matrices, M,
    N), in the order of memory that the configuration's c_major says.

    Raises SimlayoutError for matrices that do not fit.
    """
    from simlayout import machine

    a, b = (x if x.ndim == 3 else x[None] for x in (a, b))
    for name, x in (("a", a), ("b", b)):
        if x.ndim != 3 or x.dtype != TYPES[config.dtype].plain:
            wanted = TYPES[config.dtype].plain
            raise SimlayoutError(f"{name} is {x.dtype} {x.shape}: give 2 or 3 dimensions of {wanted}")
    (_, M, K), N, matrices = a.shape, b.shape[2], max(len(a), len(b))
    if b.shape[1] != K or {len(a), len(b)} - {1, matrices}:
        raise SimlayoutError(f"a is {a.shape} and b is {b.shape}: they have no product")
    lines = config.turned(M, N)
    c = np.full((matrices, *lines), 0xFFFF if config.out == "bf16" else np.nan, TYPES[config.out].plain)
    lines_a, lines_b = (x if last else x.transpose(0, 2, 1) for x, last in ((a, config.a_major == "K"),
                                                                            (b, config.b_major == "MN")))
    map_a, map_b, map_c = (None if x is None else TensorMap.of(x, box, swizzle, dtype) for x, box, swizzle, dtype in zip(
        (lines_a, lines_b, c if config.store == "tma" else None), config.boxes(), config.swizzles,
        (config.dtype, config.dtype, config.out)))
    whole, parts = config.cut(M, N, K, matrices, sms)
    nbytes, counter_bytes = config.workspace(M, N, K, matrices, sms)
    workspace, counters = np.zeros(max(nbytes, 16), np.uint8), np.zeros(max(counter_bytes, 16), np.uint8)
    grid = config.grid(M, N, K, matrices, sms)
    sizes = M, N, K, matrices, int(len(a) > 1), int(len(b) > 1), lines[1], c.strides[0], whole, parts
    order = config.order(M, N, matrices, whole, parts)
    trace = machine.run(config.python, grid, config.block, map_a, map_b, map_c, c, *sizes, workspace, counters, *order,
                        shared_bytes=config.shared_bytes, cluster=config.cluster_ctas,
                        together=config.split and parts > 1, progress=progress, hazards=hazards,
                        registers=config.launch_registers)
    c = c if config.c_major == "N" else c.transpose(0, 2, 1)
    return Run(c if matrices > 1 else c[0], "CPU machine", trace)
