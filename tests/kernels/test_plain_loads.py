"""Plain loads and stores of every width and type, as instructions of kernels in Python: twins do what their PTX does."""

import numpy as np
import pytest

import cuda_kernels.intrinsics as intrinsics
from simlayout import machine
from simlayout.ptx import load

pytest.importorskip("numba.cuda", reason="makes the PTX")

from cuda_kernels.build.compile import bound_kernel, signature

FORMS = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "b128": 16, "f32": 4, "f64": 8, "v2_f32": 8, "v4_f32": 16}
"""What shared memory is loaded and stored by: bytes of a lane."""

GLOBAL = {"b8": "b8", "b16": "b16", "b32": "b32", "b64": "v2_b32", "b128": "b128", "f32": "f32", "f64": "f64",
          "v2_f32": "v2_b32", "v4_f32": "v4_f32"}
"""The form of global memory with as many bytes."""

GUARDED = ("b16", "b128", "v2_b32")
"""Loads of global memory that take a count of valid bytes."""


def through_shared(form):
    """The source of a kernel: each lane's bytes go through shared memory, to come out in the neighbour's place."""
    width, there = FORMS[form], GLOBAL[form]
    values = {1: "v", 2: "v, w", 4: "v, w, x, y"}[{"b64": 2, "b128": 4, "v2_f32": 2, "v4_f32": 4}.get(form, 1)]
    valid = f", {width}" if there in GUARDED else ""
    read, write = f"ld_global_{there}(a + {width} * tid{valid})", f"st_global_{there}(c + {width} * tid, {values})"
    if form == "v4_f32":                                 # global memory has no such load
        read = ", ".join(f"ld_global_f32(a + 16 * tid + {4 * i})" for i in range(4))
    if form == "v2_f32":
        read = ", ".join(f"ld_global_f32(a + 8 * tid + {4 * i})" for i in range(2))
    if form == "v2_f32":
        write = "st_global_f32(c + 8 * tid, v); st_global_f32(c + 8 * tid + 4, w)"
    return f"""def kernel(a, c):
    tid, smem = tid_x(), dynamic_shared()
    {values} = {read}
    st_shared_{form}(smem + {width} * tid, {values})
    bar_sync()
    {values} = ld_shared_{form}(smem + {width} * (tid ^ 1))
    {write}
"""


@pytest.fixture
def kernel(request, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(through_shared(request.param))
    scope = {name: getattr(intrinsics, name) for name in intrinsics.__all__}
    exec(compile(path.read_text(), path, "exec"), scope)
    return request.param, scope["kernel"]


@pytest.mark.parametrize("kernel", FORMS, indirect=True)
def test_the_twin_of_a_load_and_of_a_store_does_what_its_ptx_does(kernel):
    form, function = kernel
    width = FORMS[form]
    given = np.random.default_rng(width).integers(0, 256, 64 * width).astype(np.uint8)
    found, wanted = np.zeros_like(given), given.reshape(-1, 2, width)[:, ::-1].ravel()
    trace = machine.run(function, 1, 64, given, found, shared_bytes=64 * width)
    assert found.tobytes() == wanted.tobytes()
    from numba import cuda

    text, _ = cuda.compile_ptx(bound_kernel(function), signature("u64 u64"), cc=(9, 0, "a"))
    found[:] = 0
    of_ptx = load(text).entry().run(1, 64, given, found, shared_bytes=64 * width)
    assert found.tobytes() == wanted.tobytes() and of_ptx.totals() == trace.totals()
    assert trace.totals()["ld"] == trace.totals()["st"] == 2 * max(1, width // 4)
    assert {c.instruction for c in trace.by_instruction()} == {f"{how}.shared.b{8 * width}" for how in ("ld", "st")}
