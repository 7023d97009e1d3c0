"""The kernel that runs one form on tables of inputs, on the GPU or on the CPU machine."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from cuda_kernels.conformance.fragments.forms import SHARED_BYTES
from cuda_kernels.intrinsics import Instruction, ctaid_x, dynamic_shared, tid_x, u32, u64
from simlayout.hardware.tables.arch import LANES
from simlayout.kernel import Argument

SIGNATURE = tuple(Argument(name, type, "", None) for name, type in (           # type: ignore[arg-type]
    ("a", "u64"), ("b", "u64"), ("c", "u64"), ("out", "u64"), ("b_count", "s32"), ("c_count", "s32")))


@dataclass(frozen=True, eq=False)
class ProbeKernel:
    """What `cuda_kernels.build.compile.ptx` wants of a kernel."""

    body: object

    signature, block, resident, cluster = SIGNATURE, LANES, 1, 1


@cache
def probe_kernel(form):
    """The ProbeKernel of a Form: a CTA of one warp takes one input of the first table, and all of the third with all of
    the second. Arguments: the addresses of the three tables and of the results [first, third, second], the number of
    second and of third inputs."""
    op = Instruction("fragment_probe", form.text, (), ("u32", "u64", "u64", "u64", "u64"), twin=form.twin, converged=True)
    a_bytes, b_bytes, c_bytes = (form.input(i).bytes for i in range(3))
    a_lane, b_lane, c_lane = (form.input(i).lane_bytes for i in range(3))
    out_bytes, out_lane = form.out.bytes, form.out.lane_bytes

    def probe(a, b, c, out, b_count, c_count):
        lane = tid_x()
        x = ctaid_x()
        shared = u32(dynamic_shared() + 16 * lane)
        a_at = a + u64(a_bytes * x + a_lane * lane)
        for i in range(c_count):
            c_at = c + u64(c_bytes * i + c_lane * lane)
            for j in range(b_count):
                result = b_count * (x * c_count + i) + j
                op(shared, out + u64(out_bytes * result + out_lane * lane), a_at, b + u64(b_bytes * j + b_lane * lane), c_at)

    return ProbeKernel(probe)


def _room(form, tables):
    """The three tables as uint8 [cases, bytes] (one empty case where the form has no such input), and room for results."""
    inputs = [np.ascontiguousarray(t) for t in tables] + [np.zeros((1, 1), np.uint8)] * (3 - len(tables))
    a, b, c = (len(t) for t in inputs)
    return inputs, np.zeros((a, c, b, form.out.bytes), np.uint8)


def on_machine(form, tables):
    """Runs a form on the CPU machine; tables and results as for `on_gpu`."""
    from simlayout.machine import run

    (a, b, c), out = _room(form, tables)
    run(probe_kernel(form).body, len(a), LANES, a, b, c, out, len(b), len(c), shared_bytes=SHARED_BYTES)
    return out


@cache
def _compiled(form):
    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature

    kernel = probe_kernel(form)
    return cuda.jit(signature(" ".join(argument.type for argument in kernel.signature)))(bound_kernel(kernel.body))


def on_gpu(form, tables):
    """Runs a form on the GPU.

    tables: for each of its inputs uint8 [cases, bytes]. Returns uint8 [cases of the first, of the third, of the second,
    bytes of the result].
    """
    from numba import cuda

    inputs, out = _room(form, tables)
    arrays = [cuda.to_device(t) for t in (*inputs, out)]
    pointers = [np.uint64(x.__cuda_array_interface__["data"][0]) for x in arrays]
    a, b, c = (len(t) for t in inputs)
    _compiled(form)[a, LANES, 0, SHARED_BYTES](*pointers, np.int32(b), np.int32(c))
    return arrays[-1].copy_to_host()
