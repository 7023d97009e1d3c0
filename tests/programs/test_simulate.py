"""Kernels of Numba, launched through simlayout.simulate."""

import linecache
import subprocess
import sys
from datetime import datetime

import numpy as np
import pytest
from numba import cuda, guvectorize, types, vectorize
from tiers import sweep_but

import simlayout as sl
from simlayout.errors import AddressError, HazardError, MachineError
from simlayout.programs.device import DeviceMemory, SimulatedDevice
from simlayout.programs.numba_cuda import NumbaOnDevice

pytestmark = pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")


@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((32, 32), types.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    out[y, x] = tile[x, y]


@cuda.jit
def shifted(values):
    tile = cuda.shared.array(64, types.int32)
    i = cuda.threadIdx.x
    tile[i] = values[i]
    values[i] = tile[63 - i]


TILE = sl.Swizzle(5, 0, 5) @ sl.Layout((32, 32), (32, 1))
PUT, GET = (cuda.jit(device=True)(sl.emit(access).function) for access in (
    sl.Access("put", "st.shared.b32", TILE, lambda tid: (tid // 32, tid % 32), {"tid": 1024}, "f32"),
    sl.Access("get", "ld.shared.b32", TILE, lambda tid: (tid % 32, tid // 32), {"tid": 1024}, "f32")))


@cuda.jit
def swizzled_transpose(a, out):
    tile = cuda.shared.array(1024, types.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[PUT(32 * y + x)] = a[y, x]
    cuda.syncthreads()
    out[y, x] = tile[GET(32 * y + x)]


def test_an_emitted_function_is_a_device_function_of_a_numba_kernel_and_has_the_conflicts_that_were_proved():
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    trace = sl.simulate(swizzled_transpose)[1, (32, 32)](a, out := np.zeros_like(a))
    assert (out == a.T).all() and trace.total().excess == 0


def line(function, text):
    """The number of the first line of a function that has a text."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, each in enumerate(lines) if text in each)


def test_a_kernel_runs_and_its_conflicts_have_the_lines_of_its_source():
    a, out = np.random.default_rng(0).random((32, 32), np.float32), np.zeros((32, 32), np.float32)
    trace = sl.simulate(transpose)[1, (32, 32)](a, out)
    assert (out == a.T).all()
    rows = {s.line: s for s in trace.source_lines() if s.file == __file__}
    assert rows[line(transpose.py_func, "tile[y, x] =")].excess == 0
    assert rows[line(transpose.py_func, "out[y, x] =")].excess == 31 * 32


def test_an_assertion_that_fails_shows_the_line_and_the_edit_that_mends_it():
    from simlayout.testing import assert_no_conflicts

    a = np.zeros((32, 32), np.float32)
    trace = sl.simulate(transpose)[1, (32, 32)](a, a.copy())
    assert_no_conflicts(trace, lines="tile[y, x] =")
    declared, slow = line(transpose.py_func, "cuda.shared"), line(transpose.py_func, "out[y, x] =")
    with pytest.raises(AssertionError) as caught:
        assert_no_conflicts(trace)
    assert f"\n{slow:>6} " in str(caught.value) and str(caught.value).endswith(
        f"test_simulate.py:{declared}: excess 992 of tile; this makes it 0, 128 bytes more:\n"
        f"  line {declared}: tile = cuda.shared.array((32, 33), types.float32)")


def test_a_race_is_raised_with_both_lines_or_reported():
    with pytest.raises(HazardError, match=rf"test_simulate.py:{line(shifted.py_func, '63 - i')}"):
        sl.simulate(shifted)[1, 64](np.arange(64, dtype=np.int32))
    trace = sl.simulate(shifted, hazards="report")[1, 64](np.arange(64, dtype=np.int32))
    assert {place.line for place in (trace.hazards[0].first, trace.hazards[0].second)} == {
        line(shifted.py_func, "tile[i] ="), line(shifted.py_func, "63 - i")}
    assert trace.hazards[0].text.endswith("nothing orders the two: put a cuda.syncthreads() between them")
    assert sl.simulate(shifted, hazards="off")[1, 64](np.arange(64, dtype=np.int32)).hazards == ()


@cuda.jit
def marked(values, flag):
    i = cuda.grid(1)
    values[i] += 1
    flag[0] = 1                                          # by all, which a quick look does not understand


@cuda.jit
def counted(values, counts):
    own = cuda.shared.array(64, types.int32)
    i = cuda.threadIdx.x
    if i < 64:
        own[i] = 0
    cuda.syncthreads()
    for k in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(own, values[k], 1)
    cuda.syncthreads()
    if i < 64:
        cuda.atomic.add(counts, i, own[i])


def test_what_a_launch_does_to_the_arrays_is_done_once_however_often_it_is_looked_at():
    import simlayout.machine.ptx.compiled.loop  # noqa: F401  (at hand from the first launch on)

    for _ in range(2):
        values, flag = np.zeros(16 * 256, np.float32), np.zeros(1, np.int32)
        trace = sl.simulate(marked)[16, 256](values, flag)
        assert (values == 1).all() and flag[0] == 1 and "another thread stores there too" in trace.notes[0]
        values, counts = np.random.default_rng(1).integers(0, 64, 3000), np.zeros(64, np.int32)
        assert not sl.simulate(counted)[4, 128](values, counts).hazards
        np.testing.assert_array_equal(counts, np.bincount(values, minlength=64))


def test_a_plain_function_is_a_kernel():
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    x = np.arange(100.0)
    sl.simulate(double)[2, 64](x)
    assert (x == 2 * np.arange(100.0)).all()
    assert repr(sl.simulate(double)) == repr(sl.simulate(cuda.jit(double))) == "<simulated double>"


RECORD = np.dtype([("a", np.int32), ("b", np.float64), ("c", np.uint8, 3)])


@pytest.mark.parametrize("array", [
    np.arange(60.0).reshape(10, 6)[::2, ::3], np.asfortranarray(np.arange(12, dtype=np.int16).reshape(3, 4)),
    np.arange(10)[::-1], np.arange(5) + 1j, np.arange(5, dtype=np.complex64) * 1j, np.arange(7).astype(np.float16),
    np.arange(9) % 2 == 0, np.arange("2020-01", "2020-09", dtype="datetime64[M]"), np.arange(4).astype("timedelta64[s]"),
    np.zeros(3, RECORD), np.arange(6, dtype=np.uint8), np.zeros((0, 4)), np.array(3.5),
], ids=lambda a: f"{a.dtype} {a.shape} {a.strides}")
def test_an_array_of_any_dtype_and_any_strides_arrives_and_comes_back(array):
    def copied(source, target):
        i = cuda.grid(1)
        if i < source.size:
            target.flat[i] = source.flat[i]

    def copied_records(source, target):
        i = cuda.grid(1)
        if i < source.size:
            target[i] = source[i]

    array = array.copy() if array.dtype.names else array
    if array.dtype.names:
        array["a"], array["b"], array["c"] = [1, 2, 3], [0.5, 1.5, 2.5], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    before, target = array.copy(), np.zeros_like(array)
    sl.simulate(copied_records if array.dtype.names else copied)[1, 64](array, target)
    assert (target == array).all() and (array == before).all()


def test_an_array_that_is_read_only_is_read():
    def doubled(source, target):
        i = cuda.grid(1)
        if i < target.size:
            target[i] = 2 * source[i]

    source, target = np.arange(8.0), np.zeros(8)
    source.setflags(write=False)
    sl.simulate(doubled)[1, 32](source, target)
    assert (target == 2 * source).all()


def test_scalars_and_nested_tuples_are_arguments():
    def summed(out, whole, fraction, flag, day, pair, nested):
        out[0] = whole + fraction
        out[1] = flag
        out[2] = pair[0][1] + pair[1]
        out[3] = nested[1][0] * nested[1][1]

    out, part = np.zeros(4), np.array([3.0, 4.0])
    sl.simulate(summed)[1, 1](out, np.int16(-3), 0.5, True, np.datetime64(datetime(2020, 1, 1)), (part, 7), (1, (2, 2.5)))
    assert out.tolist() == [-2.5, 1.0, 11.0, 5.0]


def test_a_kernel_is_compiled_once_for_a_signature():
    kernel, x = sl.simulate(transpose), np.zeros((32, 32), np.float32)
    for _ in range(3):
        kernel[1, (32, 32)](x, x.copy())
    assert len(kernel._kernel._made.overloads) == 1
    kernel[1, (32, 32)](x.astype(np.float64), x)
    assert len(kernel._kernel._made.overloads) == 2


def test_dynamic_shared_memory_is_of_the_size_that_the_launch_gives():
    def reversed_by_shared(x):
        tile = cuda.shared.array(0, types.float64)
        i = cuda.threadIdx.x
        tile[i] = x[i]
        cuda.syncthreads()
        x[i] = tile[x.size - 1 - i]

    x = np.arange(32.0)
    sl.simulate(reversed_by_shared)[1, 32, 0, 32 * 8](x)
    assert x.tolist() == list(range(31, -1, -1))
    with pytest.raises((AddressError, HazardError), match="128 bytes of shared memory"):
        sl.simulate(reversed_by_shared)[1, 32, 0, 128](x)


def test_what_lies_outside_an_array_is_an_error_that_names_the_line():
    def beyond(x):
        x[cuda.threadIdx.x] = 1

    with pytest.raises(HazardError, match=rf"test_simulate.py:{line(beyond, 'x[cuda')}.*out of bounds|out of bounds"):
        sl.simulate(beyond)[1, 32](np.zeros(8))


def test_what_lies_outside_an_array_is_told_with_the_argument_by_position_and_name_and_how_far():
    def shifted(a, out):
        out[cuda.threadIdx.x] = a[cuda.threadIdx.x + 100]

    out = np.zeros(32)
    with pytest.raises(HazardError, match=r"288 bytes past the end of the device array of 512 bytes of argument 1 "
                                          r"\(a, float64 of shape \(64,\)\)"):
        sl.simulate(shifted)[1, 32](np.zeros(64), out)


@pytest.mark.parametrize("nbytes, apart", [(4, 4096), (8192, 8192), (1 << 20, 1 << 16)])
def test_what_lies_a_row_behind_an_array_is_in_no_other_one(nbytes, apart):
    memory = DeviceMemory()
    starts = sorted(memory.allocate(nbytes) for _ in range(16))
    assert all(memory.extent(start + nbytes + apart - 1) is None for start in starts)


def test_numbas_own_simulator_is_named_where_it_stands_in_the_way(monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    with pytest.raises(MachineError, match="NUMBA_ENABLE_CUDASIM is set, .*: unset it"):
        sl.simulate(transpose)[1, (32, 32)](np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32))


def test_numba_is_as_before_after_a_simulation():
    from numba.cuda.cudadrv import devices, driver

    before = driver.binding, driver.Linker, devices._runtime
    sl.simulate(transpose)[1, (32, 32)](np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32))
    assert before == (driver.binding, driver.Linker, devices._runtime)


@pytest.mark.parametrize("wrong, message", [("text", "str is no kernel"), (3, "int is no kernel")])
def test_what_is_no_kernel_is_refused(wrong, message):
    with pytest.raises(MachineError, match=message):
        sl.simulate(wrong)


@cuda.jit
def meeting(arrived, a, out):
    i = cuda.grid(1)
    a[i] = i
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.add(arrived, 0, 1)
        while cuda.atomic.add(arrived, 0, 0) < cuda.gridDim.x:
            pass
        cuda.threadfence()
    cuda.syncthreads()
    out[i] = a[a.size - 1 - i]


def test_ctas_that_wait_for_one_another_do_so_together_and_apart_they_are_told_to():
    arrays = np.zeros(1, np.int32), np.zeros(128, np.int64), np.zeros(128, np.int64)
    with pytest.raises(HazardError, match="deadlock.*not resident.*together=True, or --together of `simlayout run`"):
        sl.simulate(meeting)[2, 64](*arrays)
    arrays[0][:] = 0
    assert sl.simulate(meeting, together=True)[2, 64](*arrays).hazards == ()
    assert arrays[2].tolist() == [*range(127, -1, -1)]


def test_a_grid_for_which_a_gpu_has_no_room_does_not_run_together():
    a, out = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)
    assert sl.simulate(transpose, together=True, hazards="off")[600, (32, 32)](a, out) and (out == a.T).all()


def test_a_launch_of_five_things_or_of_a_grid_alone_or_of_none_is_refused():
    with pytest.raises(MachineError, match="not 5 of them"):
        sl.simulate(transpose)[1, 1, 0, 0, 0]
    with pytest.raises(MachineError, match=r"\[grid, block\] or .*, not 1 of them"):
        sl.simulate(transpose)[1]
    with pytest.raises(MachineError, match=r"simulate\(transpose\)\[grid, block\]\(...\)"):
        sl.simulate(transpose)(np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32))


def test_without_numba_cuda_the_error_names_the_extra(monkeypatch):
    import simlayout.programs.numba_cuda as adapter

    monkeypatch.setattr(adapter, "MODULES", ("no_such_module",))
    with pytest.raises(MachineError, match=r"simlayout\[cuda\]"):
        sl.simulate(transpose)


LEFT = """
import sys
import numpy as np
from numba import cuda
from simlayout.programs.device import DeviceMemory, SimulatedDevice
from simlayout.programs.numba_cuda import NumbaOnDevice

@cuda.jit
def kernel(a):
    a[0] += 1

with NumbaOnDevice(SimulatedDevice()):
    left = [cuda.to_device(np.zeros(1)), cuda.pinned_array(1), cuda.mapped_array(1), cuda.managed_array(1), cuda.stream(),
            cuda.event()]
    kernel[1, 1](left[0])
    kernel[1, 1](np.zeros(1))                            # the warning of a copy
if sys.argv[1:]:
    del left
"""


@pytest.mark.parametrize("early", sweep_but([[]], ([], ["early"])))
def test_what_a_simulation_leaves_ends_without_a_driver_and_warnings_name_the_users_line(tmp_path, early):
    (tmp_path / "left.py").write_text(LEFT)
    done = subprocess.run([sys.executable, "-W", "always", str(tmp_path / "left.py"), *early], capture_output=True,
                          text=True, check=True)
    warned, line = [each for each in done.stderr.splitlines() if "occupancy" not in each]
    assert "left.py:16: NumbaPerformanceWarning: Host array" in warned and line.strip().startswith("kernel[1, 1](np")


def test_kernels_of_vectorize_and_guvectorize_have_the_names_and_lines_of_the_users_functions():
    device = SimulatedDevice()
    with NumbaOnDevice(device):
        @vectorize(["float32(float32, float32)"], target="cuda")
        def added(a, b):
            return a + b

        @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
        def first(a, out):
            out[0] = a[0]

        x = np.ones((64, 4), np.float32)
        assert (added(x, x) == 2).all() and (first(x) == 1).all()
    told = [(launched.name, {(s.file, linecache.getline(s.file, s.line).strip()) for s in launched.trace.sectors})
            for launched in device.launches]
    assert told == [("added", {(__file__, "return a + b")}), ("first", {(__file__, "out[0] = a[0]")})]
