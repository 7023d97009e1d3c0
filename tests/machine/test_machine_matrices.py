"""stmatrix on the CPU machine against its definition, and what the instructions of Hopper become in machine code."""

import re

import numpy as np
import pytest
from machine_code import assembled, needs_tools, of_class

from cuda_kernels.intrinsics import (
    bar_sync,
    cluster_ctarank,
    cluster_sync,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    ld_shared_b32,
    ld_shared_cluster_v4_f32,
    s32,
    st_global_b32,
    st_global_f32,
    st_shared_v4_f32,
    stmatrix_x2,
    stmatrix_x2_trans,
    stmatrix_x4,
    stmatrix_x4_trans,
    tid_x,
    u32,
)
from simlayout.machine import run

STORES = {"x2": (stmatrix_x2, 2, False), "x2.trans": (stmatrix_x2_trans, 2, True),
          "x4": (stmatrix_x4, 4, False), "x4.trans": (stmatrix_x4_trans, 4, True)}


def kernel_of(store, count):
    """Stores `count` matrices, register m of lane l holding 1000 m + 2 l and the next, in rows that lie 32 bytes apart."""
    def two(out):
        tid = tid_x()
        store(u32(32 * (tid % 16)), (2 * tid + 1 << 16) + 2 * tid, (2 * tid + 1001 << 16) + 2 * tid + 1000)
        read(out, tid)

    def four(out):
        tid = tid_x()
        store(u32(32 * tid), (2 * tid + 1 << 16) + 2 * tid, (2 * tid + 1001 << 16) + 2 * tid + 1000,
              (2 * tid + 2001 << 16) + 2 * tid + 2000, (2 * tid + 3001 << 16) + 2 * tid + 3000)
        read(out, tid)

    def read(out, tid):
        bar_sync()
        if tid < 8 * count:
            for i in range(4):
                st_global_b32(out + 16 * tid + 4 * i, ld_shared_b32(32 * tid + 4 * i))

    return two if count == 2 else four


@pytest.mark.parametrize("name", STORES)
def test_stmatrix_stores_row_or_column_r_of_matrix_m_where_lane_8m_plus_r_says(name):
    store, count, transposed = STORES[name]
    out = np.zeros((count, 8, 8), np.uint16)
    trace = run(kernel_of(store, count), 1, 32, out.view(np.uint32), shared_bytes=1024)
    held = 1000 * np.arange(count)[:, None, None] + np.arange(64).reshape(8, 8)          # lane 4 row + column // 2
    np.testing.assert_array_equal(out, held.transpose(0, 2, 1) if transposed else held)
    assert [c.instruction for c in trace.accesses if c.instruction.startswith("st")] == [f"stmatrix.{name}"]


def everything(out):
    """Each of them once, its results used."""
    tid = s32(tid_x())
    griddepcontrol_launch_dependents()
    griddepcontrol_wait()
    stmatrix_x2(u32(16 * tid), tid, tid)
    stmatrix_x2_trans(u32(16 * tid), tid, tid)
    stmatrix_x4(u32(16 * tid), tid, tid, tid, tid)
    stmatrix_x4_trans(u32(16 * tid), tid, tid, tid, tid)
    st_shared_v4_f32(u32(16 * tid), 1.0, 2.0, 3.0, 4.0)
    cluster_sync()
    a, b, c, d = ld_shared_cluster_v4_f32(u32(16 * tid), u32(1 - cluster_ctarank()))
    st_global_f32(out, a + b + c + d)
    cluster_sync()


@needs_tools
def test_the_instructions_of_hopper_compile_to_those_of_the_hardware(tmp_path):
    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature

    text, _ = cuda.compile_ptx(bound_kernel(everything), signature("u64"), cc=(9, 0, "a"))
    assert re.search(r"mapa\.shared::cluster\.u32 r, [^;]+; ld\.shared::cluster\.v4\.f32", text)
    assert text.index("griddepcontrol.launch_dependents;") < text.index("griddepcontrol.wait;")
    _, opcodes = assembled(text, tmp_path)
    stored = sorted(o for o in opcodes.elements() if o.startswith("STSM"))
    assert stored == ["STSM.16.M88.2", "STSM.16.M88.4", "STSM.16.MT88.2", "STSM.16.MT88.4"]
    assert of_class(opcodes, "ACQBULK") == 1
    assert any(o.startswith("LD") and "128" in o for o in opcodes) and opcodes["STS.128"] == 1
