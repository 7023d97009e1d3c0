"""Measures time instead of counters: weaker evidence, for machines where Nsight Compute may not read the GPU's counters.

Eight warps of one SM run one case over and over. The pipe to shared memory passes one wavefront per clock; on an H200 an
instruction of w wavefronts took about w to w + 1.3 clocks here (or as if it had one for each lane group of its width, where
lanes or groups are idle or merge), so that this mode tells wavefronts apart to within one or two.
"""

from dataclasses import dataclass

import numpy as np

from cuda_kernels.intrinsics import (
    b32,
    bar_sync,
    clock64,
    ctaid_x,
    dynamic_shared,
    ld_global_b32,
    st_global_b32,
    tid_x,
    u32,
    u64,
)
from simlayout.hardware.banks.records import lane_masks
from simlayout.hardware.tables.arch import LANES

KINDS = ("load", "store", "ldmatrix", "stmatrix")
"""Kinds of instruction whose wavefronts pass one per clock. Atomics and copies are bound by other units."""

WARPS, TURNS = 8, 64
NOISE, MARGIN = 0.8, 1.4
"""Clocks that may be missing, and clocks that an instruction may take beyond its wavefronts: issue, and
a share of the barriers and of the last latency."""

SIGNATURE = "u64 u64 u64 s32 s32"


def make_timed(form):
    """The kernel: CTA i runs case i of addresses s32 [n, 32] and masks b32 [n] in every warp; clocks b32 [n, warps]."""
    op = form.instruction

    def timed(addresses, masks, clocks, turns, zero):
        lane, warp, case = tid_x() % 32, tid_x() // 32, ctaid_x()
        shared = u32(dynamic_shared() + ld_global_b32(addresses + u64(4 * (32 * case + lane))))
        live = (ld_global_b32(masks + u64(4 * case)) >> u32(lane)) & u32(1)
        total = b32(0)
        bar_sync()
        start = clock64()
        if live != 0:
            for _ in range(turns):
                total = b32(total ^ op(shared, u64(0)))
                shared = u32(shared + u32(zero))
        bar_sync()
        spent = clock64() - start
        if lane == 0:
            st_global_b32(clocks + u64(4 * (8 * case + warp)), u32(spent) + (total & u32(zero)))

    return timed


@dataclass(frozen=True)
class Timed:
    """clocks: per instruction, float [n]; predicted: wavefronts, int [n]; groups: lane groups of the instruction."""

    form: str
    clocks: np.ndarray
    predicted: np.ndarray
    groups: int = 1

    @property
    def agree(self):
        """bool [n]: no fewer clocks than wavefronts (but for NOISE), and at most MARGIN more than these or the groups."""
        most = np.maximum(self.predicted, self.groups) + MARGIN
        return (self.clocks >= self.predicted - NOISE) & (self.clocks <= most)


def time_cases(form, cases, predicted):
    """Timed of a Form's cases on this machine's GPU, the shortest of three launches; predicted: wavefronts, int [n]."""
    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature
    from cuda_kernels.conformance.cases import WINDOW

    kernel = cuda.jit(signature(SIGNATURE))(bound_kernel(make_timed(form)))
    tables = [cuda.to_device(np.ascontiguousarray(x)) for x in
              (cases.addresses.astype(np.int32), lane_masks(cases.active), np.zeros((len(cases), WARPS), np.uint32))]
    pointers = [np.uint64(t.__cuda_array_interface__["data"][0]) for t in tables]
    best = np.full(len(cases), np.inf)
    for _ in range(3):
        kernel[len(cases), LANES * WARPS, 0, WINDOW](*pointers, np.int32(TURNS), np.int32(0))
        cuda.synchronize()
        best = np.minimum(best, tables[2].copy_to_host().max(axis=1) / (WARPS * TURNS))
    return Timed(form.name, best, predicted, len(form.row.groups))
