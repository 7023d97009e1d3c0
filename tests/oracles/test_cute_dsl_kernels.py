"""Kernels of NVIDIA's CuTe DSL, traced and compiled without a GPU, on the CPU machine: the group `oracles`."""

import os

import numpy as np
import pytest

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")              # what it traces for where there is no GPU to ask
cute = pytest.importorskip("cutlass.cute")

import cutlass  # noqa: E402 (nothing here without CuTe DSL)
from cutlass.cute.runtime import make_fake_compact_tensor  # noqa: E402

import simlayout as sl  # noqa: E402
from simlayout.errors import HazardError  # noqa: E402

TILE = 32


@cute.kernel
def transposed(a: cute.Tensor, c: cute.Tensor, pitch: cutlass.Constexpr, waits: cutlass.Constexpr):
    """c = a.T, in tiles of 32 x 32, by blocks of 256 threads."""
    thread, _, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    padded = cute.make_layout((TILE, TILE), stride=(pitch, 1))
    tile = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, padded, 16)
    x, y = thread % TILE, thread // TILE
    for i in cutlass.range_constexpr(4):
        tile[y + 8 * i, x] = a[row * TILE + y + 8 * i, column * TILE + x]
    if cutlass.const_expr(waits):
        cute.arch.sync_threads()
    for i in cutlass.range_constexpr(4):
        c[column * TILE + y + 8 * i, row * TILE + x] = tile[x, y + 8 * i]


@cute.jit
def launched(a: cute.Tensor, c: cute.Tensor, pitch: cutlass.Constexpr, waits: cutlass.Constexpr):
    transposed(a, c, pitch, waits).launch(grid=(1, 1, 1), block=(256, 1, 1))


def compiled(shape, pitch, waits=True):
    tensors = [make_fake_compact_tensor(cutlass.Float32, of, stride_order=(1, 0)) for of in (shape, shape[::-1])]
    made = cute.compile[cute.KeepPTX, cute.GPUArch("sm_90a"), cute.GenerateLineInfo](launched, *tensors, pitch, waits)
    return sl.ptx.load(made.__ptx__).entry()


def arrays():
    a = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
    return a, np.zeros((96, 64), np.float32)


@pytest.mark.parametrize(("pitch", "excess"), [(33, 0), (32, 6 * 32 * 31), (36, 6 * 32 * 3)])
def test_a_tensor_of_fixed_layout_is_a_struct_of_a_pointer(pitch, excess):
    a, c = arrays()
    trace = compiled((64, 96), pitch).run((3, 2), 256, [sl.ptx.Pointer(a)], [sl.ptx.Pointer(c)], shared_bytes=4 * 32 * pitch)
    assert (c == a.T).all() and trace.total().excess == excess and not trace.hazards


def test_what_a_tensor_does_not_fix_follows_the_pointer():
    a, c = arrays()
    rows, columns = cute.sym_int(), cute.sym_int()
    dynamic = [[sl.ptx.Pointer(one), *map(np.int32, one.shape), np.int64(one.shape[1])] for one in (a, c)]
    trace = compiled((rows, columns), 33).run((3, 2), 256, *dynamic, shared_bytes=4 * 32 * 33)
    assert (c == a.T).all() and trace.total().excess == 0


def test_a_barrier_that_is_missing_is_told_by_the_lines_of_python():
    a, c = arrays()
    with pytest.raises(HazardError, match=r"(lane race|read after write): .*test_cute_dsl_kernels\.py:\d+"):
        compiled((64, 96), 33, waits=False).run((3, 2), 256, sl.ptx.Pointer(a), sl.ptx.Pointer(c), shared_bytes=4 * 32 * 33)
