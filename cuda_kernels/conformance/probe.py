"""The kernel that runs one instruction of one warp, case after case, each as often as its table says.

    python -m cuda_kernels.conformance.probe JOB.npz

launches everything that a job file lists; `ncu` runs this and reads the counters of each launch.
"""

import shutil
import sys
from dataclasses import dataclass

import numpy as np

from cuda_kernels.conformance.cases import SOURCE_WINDOW, WINDOW
from cuda_kernels.conformance.forms import form as form_of
from cuda_kernels.intrinsics import (
    b32,
    dynamic_shared,
    ld_global_b32,
    ld_global_b64,
    s32,
    st_global_b32,
    tid_x,
    u32,
    u64,
)
from cuda_kernels.intrinsics.instruction import instruction
from simlayout.hardware.banks.records import lane_masks
from simlayout.hardware.tables.arch import LANES
from simlayout.nsight.source_page import misread
from simlayout.progress import progress

SIGNATURE = "u64 u64 u64 u64 u64 s32 s32 s32"


@instruction("{ .reg .u64 g; cvt.u64.u32 g, $1; cvta.shared.u64 g, g; st.volatile.global.u64 [$2], g;"
             " ld.volatile.global.u64 $0, [$2]; }", "u64 <- u32 u64")
def generic_address(warp, shared, room):
    """The generic address of a shared one, by way of 8 bytes of global memory, so that ptxas cannot see through it."""
    return shared


def make_probe(form):
    """The kernel of a Form.

    Arguments: the global addresses of addresses s32 [n, 32], sources u64 [n, 32] (what a copy reads), masks b32 [n],
    repetitions s32 [n] and room for 32 u64; the first case and the number of cases; and a 0 of which the compiler
    knows nothing, so that it neither hoists the instruction out of its loop nor merges two of them.
    """
    op, generic = form.instruction, form.generic

    def from_table(shared, source, room):
        return source

    def from_shared(shared, source, room):
        return generic_address(shared, room)

    other_address = from_shared if generic else from_table

    def probe(addresses, sources, masks, repetitions, room, first, count, zero):
        lane = tid_x()
        smem = dynamic_shared()
        total = b32(0)
        for i in range(first, first + count):
            shared = u32(smem + ld_global_b32(addresses + u64(4 * (32 * i + lane))))
            other = other_address(shared, ld_global_b64(sources + u64(8 * (32 * i + lane))), room + u64(8 * lane))
            live = (ld_global_b32(masks + u64(4 * i)) >> u32(lane)) & u32(1)
            times = s32(ld_global_b32(repetitions + u64(4 * i)))
            if live != 0:
                for _ in range(times):
                    total = b32(total ^ op(shared, other))
                    shared = u32(shared + u32(zero))
                    other = u64(other + u64(zero))
        st_global_b32(room + u64(8 * lane), total)

    return probe


@dataclass(frozen=True, eq=False)
class Job:
    """What to launch for one form: the tables of `make_probe`, and how many cases each launch takes."""

    form: str
    addresses: np.ndarray
    sources: np.ndarray
    active: np.ndarray
    repetitions: np.ndarray
    per_launch: int

    def launches(self):
        """(first case, number of cases) of each launch."""
        n = len(self.addresses)
        return [(i, min(self.per_launch, n - i)) for i in range(0, n, self.per_launch)]


_ARRAYS = ("addresses", "sources", "active", "repetitions")


def save(path, jobs):
    """Writes Jobs for another process."""
    arrays = {f"{i}/{name}": getattr(job, name) for i, job in enumerate(jobs) for name in _ARRAYS}
    np.savez(path, forms=[j.form for j in jobs], per_launch=[j.per_launch for j in jobs], **arrays)


def load(path):
    """Reads them."""
    with np.load(path) as data:
        return [Job(str(name), *(data[f"{i}/{a}"] for a in _ARRAYS), int(per))
                for i, (name, per) in enumerate(zip(data["forms"], data["per_launch"]))]


def launch(job, sources):
    """Runs one Job on the GPU; sources: the device array that copies read."""
    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature

    base = sources.__cuda_array_interface__["data"][0]
    form = form_of(job.form)
    kernel = cuda.jit(signature(SIGNATURE))(bound_kernel(make_probe(form)))
    if form.sized and shutil.which("nvdisasm") and any(map(misread, "".join(kernel.inspect_sass().values()).splitlines())):
        print(f"{form.name}: the probe's machine code has an LDGSTS with P0, which Nsight Compute 2025.3.1 misreads: its "
              "counts may be wrong", file=sys.stderr)
    arrays = (job.addresses.astype(np.int32), job.sources.astype(np.uint64) + np.uint64(base),
              lane_masks(job.active), job.repetitions.astype(np.int32), np.zeros(32, np.uint64))
    tables = [cuda.to_device(np.ascontiguousarray(x)) for x in arrays]
    pointers = [np.uint64(t.__cuda_array_interface__["data"][0]) for t in tables]
    for first, count in job.launches():
        kernel[1, LANES, 0, WINDOW](*pointers, np.int32(first), np.int32(count), np.int32(0))
    cuda.synchronize()


def main(arguments=None):
    """Launches every job of a file."""
    from numba import cuda

    (path,) = arguments or sys.argv[1:]
    sources = cuda.to_device(np.zeros(SOURCE_WINDOW, np.uint8))
    jobs = load(path)
    with progress("probes") as moved:
        for number, job in enumerate(jobs, 1):
            launch(job, sources)
            moved(number, len(jobs))


if __name__ == "__main__":
    main()
