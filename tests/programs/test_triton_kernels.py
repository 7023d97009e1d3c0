"""Kernels of Triton on NumPy arrays, launched through simlayout.simulate."""

import inspect
import runpy
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import simlayout as sl
from simlayout.errors import HazardError, MachineError
from simlayout.programs.device import SimulatedDevice
from simlayout.programs.triton_arguments import Tensor
from simlayout.programs.triton_kernels import TritonKernel

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
gluon = pytest.importorskip("triton.experimental.gluon")
gl = pytest.importorskip("triton.experimental.gluon.language")
TensorDescriptor = pytest.importorskip("triton.tools.tensor_descriptor").TensorDescriptor

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")


@triton.jit
def scaled_sum(x, y, out, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + scale * tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def product(a, b, c, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        left = tl.load(a + m[:, None] * sa + k[None] + i, mask=EVEN | (k[None] + i < K), other=0)
        right = tl.load(b + (k[:, None] + i) * sb + n[None], mask=EVEN | (k[:, None] + i < K), other=0)
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * sc + n[None], total)


@triton.jit
def by_descriptor(x, out, rows, columns, SIZE: tl.constexpr):
    given = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [SIZE, SIZE])
    taken = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [SIZE, SIZE])
    i, j = tl.program_id(0) * SIZE, tl.program_id(1) * SIZE
    taken.store([i, j], given.load([i, j]) * 2)


@triton.jit
def of_pairs(out, pair, flag):
    tl.store(out, pair[0] + 10 * pair[1])
    tl.store(out + 1, tl.where(flag, 1, 2))


@triton.jit
def changed_in_place(x, BLOCK: tl.constexpr, TURNED: tl.constexpr, BARRIER: tl.constexpr):
    at = tl.arange(0, BLOCK)
    held = tl.load(x + (BLOCK - 1 - at if TURNED else at))
    if BARRIER:
        tl.debug_barrier()
    tl.store(x + at, held * 2)


@gluon.jit
def through_shared(x, out, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    tile = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    tile.store(gl.load(x + i, mask=i < n, other=0))
    gl.store(out + i, tile.load(layout), mask=i < n)


def test_elements_of_two_warps_that_change_in_place_race_and_tritons_words_say_what_orders_them():
    x = np.ones(64, np.float32)
    with pytest.raises(HazardError, match=r"global race.* in a CTA by a tl.debug_barrier\(\) \(or take fewer num_warps, if"):
        sl.simulate(changed_in_place)[(1,)](x, 64, True, False, num_warps=2)
    for warps, turned, barrier in ((2, False, False), (4, False, False), (2, True, True), (4, True, True)):
        x = np.ones(64, np.float32)
        trace = sl.simulate(changed_in_place)[(1,)](x, 64, turned, barrier, num_warps=warps)
        assert not trace.hazards and (x == 2).all(), "what warps load that they do not store makes no difference"


def matrices(m, n, k, kind=np.float16):
    rng = np.random.default_rng(0)
    return rng.integers(-2, 3, (m, k)).astype(kind), rng.integers(-2, 3, (k, n)).astype(kind), np.zeros((m, n), np.float32)


def specialization(kernel, *args, **options):
    """What Triton compiles for these arguments: (signature, attributes), as a GPU's launch would."""
    adapter = TritonKernel(kernel, SimulatedDevice())
    source = adapter._compiled((1,), args, options)[0].src
    return source.signature, source.attrs


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u4"])
def test_arrays_of_every_dtype_are_changed_in_place(dtype):
    x, y, out = np.arange(100).astype(dtype), np.ones(100, dtype), np.zeros(100, dtype)
    sl.simulate(scaled_sum)[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, out, 100, 3, BLOCK=64)
    assert (out == x + 3 * y).all()


def test_floats_are_arguments_whatever_their_type():
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    for scale in (0.5, np.float32(1.5), np.float64(-2.25)):
        sl.simulate(scaled_sum)[(1,)](x, x, out, 64, scale, BLOCK=64)
        assert (out == x + np.float32(scale) * x).all()


def test_lines_and_wavefronts_are_of_the_users_python():
    a, b, c = matrices(32, 32, 64)
    trace = sl.simulate(product)[1, 1](a, b, c, 64, 64, 32, 32, BM=32, BN=32, BK=32, EVEN=True)
    assert (c == a.astype(np.float32) @ b).all()
    lines, first = inspect.getsourcelines(product.fn)
    rows = {s.line: s for s in trace.source_lines() if s.file == __file__}
    assert set(rows) - {0} <= set(range(first, first + len(lines)))
    assert {row.source + "\n" for row in rows.values() if row.wavefronts} <= set(lines)
    assert any("tl.load" in row.source and row.wavefronts for row in rows.values()), "cp.async writes to shared memory"


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_the_block_is_num_warps(warps):
    x, out = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    kernel = TritonKernel(scaled_sum, device := SimulatedDevice())
    kernel.launch((2,), 1, 0, (x, x, out, 300, 1.0), {"BLOCK": 256, "num_warps": warps})
    assert (out == 2 * x).all() and device.launches[0].block == (32 * warps, 1, 1) and device.launches[0].grid == (2, 1, 1)
    assert device.launches[0].name == "scaled_sum"


def test_arguments_are_specialized_as_triton_does():
    x = np.zeros(65, np.float32)
    signature, attributes = specialization(scaled_sum, x, x[1:], x[4:], 48, 1, BLOCK=16)
    assert signature == {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "scale": "constexpr", "BLOCK": "constexpr"}
    assert {place for place, known in attributes.items() if known} == {(0,), (2,), (3,)}       # x[1:] begins at byte 4
    assert specialization(scaled_sum, x, x, x, 1 << 40, 2, BLOCK=16)[0]["n"] == "i64"


def test_a_view_that_is_not_aligned_to_16_bytes_has_right_results():
    x, out = np.arange(65, dtype=np.float32), np.zeros(65, np.float32)
    sl.simulate(scaled_sum)[(1,)](x[1:], x[:64], out[1:], 64, 1.0, BLOCK=64)
    assert (out[1:] == x[1:] + x[:64]).all() and out[0] == 0


def test_heuristics_are_called_and_of_the_tuned_configurations_the_first_runs_and_is_named():
    seen = []
    tuned = triton.autotune([triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=2),
                             triton.Config({"BM": 16, "BN": 32, "BK": 64})], key=["K"])(
        triton.heuristics({"EVEN": lambda given: seen.append(given["a"].shape) or given["K"] % given["BK"] == 0})(product))
    a, b, c = matrices(32, 64, 48)
    trace = sl.simulate(tuned)[lambda meta: (32 // meta["BM"], 64 // meta["BN"])](a, b, c, 48, 48, 64, 64)
    assert (c == a.astype(np.float32) @ b).all() and seen[0] == (32, 48)
    note, = (note for note in trace.notes if "configurations" in note)
    assert "first of 2 configurations" in note and "BM: 32" in note and "num_warps: 2" in note
    assert len(tuned.configs) == 2 and not tuned.cache, "the user's kernel is as it was"


def test_descriptors_made_in_the_kernel_have_their_scratch_memory():
    x = np.random.default_rng(0).random((64, 32), np.float32)
    out = np.zeros_like(x)
    sl.simulate(by_descriptor)[2, 1](x, out, 64, 32, SIZE=32)
    assert (out == 2 * x).all()


def test_kernels_of_gluon_are_kernels_of_triton():
    x, out = np.arange(200, dtype=np.float32), np.zeros(200, np.float32)
    trace = sl.simulate(through_shared)[(2,)](x, out, 200, BLOCK=128)
    assert (out == x).all() and trace.total().wavefronts == 16


def test_what_the_interpreter_runs_is_refused(monkeypatch):
    monkeypatch.setattr(triton.knobs.runtime, "interpret", True)
    with pytest.raises(MachineError, match="TRITON_INTERPRET is set"):
        sl.simulate(triton.jit(scaled_sum.fn))


def test_tuples_and_truths_are_arguments():
    out = np.zeros(2, np.int32)
    sl.simulate(of_pairs)[(1,)](out, (3, np.int32(4)), True)
    assert out.tolist() == [43, 1]


def test_a_kernel_is_compiled_once_for_a_specialization_and_the_users_own_caches_stay_empty():
    kernel, x, out = sl.simulate(scaled_sum), np.zeros(64, np.float32), np.zeros(64, np.float32)
    for n in (32, 48, 64):
        kernel[(1,)](x, x, out, n, 2.0, BLOCK=64)
    assert len(kernel._kernel._modules) == 1 and not scaled_sum.device_caches
    kernel[(1,)](x, x, out, 63, 2.0, BLOCK=64)
    assert len(kernel._kernel._modules) == 2


def test_triton_is_as_before_after_a_simulation_that_fails():
    from triton.runtime.driver import driver

    before = driver._active
    with pytest.raises(Exception, match="BLOCK"):
        sl.simulate(scaled_sum)[(1,)](np.zeros(4), np.zeros(4), np.zeros(4), 4, 1.0)
    assert driver._active is before


@triton.jit
def places(out):
    at = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    tl.store(out + at, 100 * tl.program_id(0) + 10 * tl.program_id(1) + tl.program_id(2))


@pytest.mark.parametrize("grid", [(5,), 5, (3, 2), (2, 3, 2), lambda meta: (2, 4)])
def test_a_grid_has_up_to_three_numbers_as_triton_takes_them(grid):
    size = (*(grid({}) if callable(grid) else grid if isinstance(grid, tuple) else (grid,)), 1, 1)[:3]
    out, (x, y, z) = np.zeros(size[::-1], np.int32), np.indices(size[::-1])[::-1]
    sl.simulate(places)[grid](out)
    assert (out == 100 * x + 10 * y + z).all()


def test_a_grid_without_programs_launches_nothing_as_tritons_does_and_a_note_says_so():
    out = np.zeros(4, np.int32)
    trace = sl.simulate(places)[0, 2](out)
    assert not out.any() and trace.total().wavefronts == 0
    assert trace.notes == ("places: the grid (0, 2, 1) has no programs, and Triton launches nothing",)


def test_a_block_is_refused_because_num_warps_says_it():
    with pytest.raises(MachineError, match="num_warps="):
        sl.simulate(scaled_sum)[(1,), 128](np.zeros(4))


def test_an_array_of_what_triton_has_not_is_refused_by_its_dtype():
    with pytest.raises(MachineError, match="array of complex128: Triton has no such type"):
        sl.simulate(scaled_sum)[(1,)](np.zeros(4, complex), np.zeros(4), np.zeros(4), 4, 1.0, BLOCK=16)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < n
    row = tl.exp(tl.load(x + at, mask=mask, other=-float("inf")))
    tl.store(out + at, row / tl.sum(row, axis=0), mask=mask)


@pytest.mark.parametrize("warps, notes", [(4, 0), (8, 1)])
def test_warps_that_a_reduction_does_not_need_store_what_others_store_which_is_a_note(warps, notes):
    x, out = np.zeros((2, 100), np.float32), np.zeros((2, 100), np.float32)
    trace = sl.simulate(softmax, hazards="raise")[(2,)](x, out, 100, BLOCK=128, num_warps=warps)
    assert np.allclose(out, 0.01) and len(trace.notes) == notes
    assert all("of the value that another thread stores there too" in note for note in trace.notes)


@triton.jit
def normed(x, out, columns, SIZE: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, SIZE)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    squares = tl.sum(values * values, 0)
    tl.store(out + row * columns + at, values * tl.rsqrt(squares / columns), mask=at < columns)


@pytest.mark.parametrize(("size", "notes"), [(128, 1), (1024, 0)])
def test_a_sum_of_products_that_lanes_round_otherwise_is_a_note(size, notes):
    x = np.random.default_rng(0).standard_normal((4, size - 28)).astype(np.float32)
    out = np.zeros_like(x)
    trace = sl.simulate(normed)[(4,)](x, out, x.shape[1], SIZE=size)
    assert np.allclose(out, x / np.sqrt((x * x).mean(axis=1))[:, None], rtol=1e-5)
    assert len(trace.notes) == notes and all("differ between lanes by rounding" in note for note in trace.notes)


@pytest.mark.parametrize("arch", ["sm_80", "sm_89"])
def test_another_architecture_is_compiled_for_and_counted(arch):
    a, b, c = matrices(32, 32, 32)
    trace = sl.simulate(product, arch=arch)[1, 1](a, b, c, 32, 32, 32, 32, BM=32, BN=32, BK=32, EVEN=True)
    assert (c == a.astype(np.float32) @ b).all() and trace.total().wavefronts > 0


@triton.jit
def turned(x, out, i, SIZE: tl.constexpr):
    out.store([0, i], tl.trans(x.load([i, 0])) + 1)


@pytest.mark.parametrize("arch", ["sm_90", "sm_80"])                    # by TMA, and without
@pytest.mark.parametrize("dtype, size", [("f4", 16), ("f2", 64), ("i1", 32), ("i2", 16)])
def test_a_descriptor_of_the_host_is_loaded_from_and_stored_to(dtype, size, arch):
    x = (np.arange(3 * size * size) % 2000).astype(dtype).reshape(3 * size, size)
    out = np.zeros((size, 3 * size), dtype)
    of_x, of_out = (TensorDescriptor(a.view(Tensor), list(a.shape), [a.shape[1], 1], [size, size]) for a in (x, out))
    for i in (size, 2 * size - 8):
        sl.simulate(turned, arch=arch)[(1,)](of_x, of_out, i, SIZE=size)
        assert (out[:, i:i + size] == x[i:i + size].T + out.dtype.type(1)).all() and not out[:, :size - 8].any()


@triton.jit
def beyond(x, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out + at[:, None] * SIZE + at[None], x.load([-8, 20]))


@pytest.mark.parametrize("padding, outside", [("zero", 0), ("nan", np.nan)])
def test_what_lies_outside_of_a_descriptor_reads_as_its_padding(padding, outside):
    x, out = np.arange(32 * 40, dtype=np.float32).reshape(32, 40), np.zeros((32, 32), np.float32)
    given = TensorDescriptor(x[:, :36].view(Tensor), [32, 36], [40, 1], [32, 32])
    given.padding = padding                                             # what makes it asks this of torch's dtypes alone
    sl.simulate(beyond)[(1,)](given, out, SIZE=32)
    wanted = np.full((32, 32), outside, np.float32)
    wanted[8:, :16] = x[:24, 20:36]
    assert np.array_equal(out, wanted, equal_nan=True)


class OfTorch:
    """What is asked of a torch tensor: a view of a storage, from an element on, with strides in elements."""

    def __init__(self, array, first, shape, strides, device="cpu"):
        self.array, self.device, self.dtype = array, SimpleNamespace(type=device), f"torch.{array.dtype}"
        self.shape, self._first, self._strides = shape, first, strides

    def untyped_storage(self):
        return SimpleNamespace(nbytes=lambda: self.array.nbytes, data_ptr=lambda: self.array.ctypes.data)

    def data_ptr(self):
        return self.array.ctypes.data + self._first * self.array.itemsize

    def stride(self):
        return self._strides

    def zero_(self):
        self.array[:] = 0


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool, ml_dtypes.bfloat16])
def test_a_torch_tensor_of_the_cpu_is_changed_in_place(dtype):
    x, y, out = np.arange(120).astype(dtype), np.ones(100, dtype), np.zeros(102, dtype)
    sl.simulate(scaled_sum)[(2,)](OfTorch(x, 20, (100,), (1,)), y, OfTorch(out, 1, (100,), (1,)), 100, 1, BLOCK=64)
    assert (out[1:-1] == (x[20:] + y).astype(dtype)).all() and out[0] == out[-1] == 0


def test_heuristics_and_hooks_get_a_torch_tensor_with_all_that_it_has():
    x, out, seen = np.arange(64, dtype=np.float32), np.ones(64, np.float32), []
    config = triton.Config({"BLOCK": 64}, pre_hook=lambda given: given["y"].zero_())
    tuned = triton.autotune([config], key=[])(
        triton.heuristics({"scale": lambda given: seen.append(given["x"].dtype) or 2})(scaled_sum))
    sl.simulate(tuned)[(1,)](OfTorch(x, 0, (64,), (1,)), OfTorch(x.copy(), 0, (64,), (1,)), out, 64)
    assert (out == x).all() and seen == ["torch.float32"]


def test_of_an_expanded_torch_tensor_all_of_the_storage_may_be_accessed_and_of_another_view_itself():
    x, y, out = np.arange(120, dtype=np.float32), np.ones(100, np.float32), np.zeros(100, np.float32)
    trace = sl.simulate(scaled_sum)[(2,)](OfTorch(x, 20, (3, 10), (0, 1)), y, out, 100, 1, BLOCK=64)
    assert (out == x[20:] + 1).all() and not trace.hazards
    for view in (OfTorch(x, 20, (1, 10), (0, 1)), OfTorch(x, 21, (3, 10), (0, 1))):
        with pytest.raises(HazardError, match="out of bounds"):
            sl.simulate(scaled_sum)[(2,)](view, y, out, 100, 1, BLOCK=64)


def test_a_torch_tensor_of_a_gpu_is_refused_by_its_device():
    x = np.zeros(64, np.float32)
    with pytest.raises(MachineError, match="pass one of the CPU, as tensor.cpu"):
        sl.simulate(scaled_sum)[(1,)](OfTorch(x, 0, (64,), (1,), "cuda"), x, x, 64, 1, BLOCK=64)


KEPT = """
import triton
import triton.language as tl

@triton.jit
def copied(x, out):
    tl.store(out, tl.load(x))
"""


def test_equal_kernels_of_two_files_have_the_lines_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "kept"))
    files = []
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(KEPT)
        kernel = runpy.run_path(str(tmp_path / name))["copied"]
        trace = sl.simulate(kernel)[1](np.ones(1, np.float32), np.zeros(1, np.float32))
        files.append({s.file for s in trace.source_lines() if s.line})
    assert files == [{str(tmp_path / "one.py")}, {str(tmp_path / "two.py")}]
