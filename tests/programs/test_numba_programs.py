"""What Numba programs use of numba-cuda, on a simulated device in the place of the driver."""

import gc
import math
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from cuda.bindings import nvrtc
from numba import cuda, float32, float64, guvectorize, int64, types, vectorize
from numba.cuda.cudadrv.error import CudaDriverError

import simlayout as sl
from simlayout.errors import MachineError
from simlayout.programs.children import inherited
from simlayout.programs.device import SimulatedDevice
from simlayout.programs.numba_cuda import NumbaOnDevice

pytestmark = pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning",
                                        "ignore::numba.cuda.core.errors.NumbaWarning")

TABLE = np.arange(10, dtype=np.float64) ** 2


@pytest.fixture(autouse=True)
def device():
    """numba-cuda runs on it while a test does."""
    device = SimulatedDevice("sm_90", "report")
    gc.freeze()                                          # what other tests have left takes half a second to look through
    with NumbaOnDevice(device):
        yield device
        gc.collect()                                     # streams and events go with their device


def test_cuda_cpp_that_is_linked_as_source_is_compiled_without_a_gpu():
    source = cuda.CUSource('extern "C" __device__ int twice(int* out, int x) { *out = 2 * x; return 0; }', name="twice.cu")
    twice = cuda.declare_device("twice", "int32(int32)", link=source)

    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        values[i] = twice(values[i])

    values = np.arange(40, dtype=np.int32)
    kernel[1, 40](values)
    assert (values == 2 * np.arange(40)).all()


def lto_ir(source):
    """What NVRTC makes of CUDA C++, as cuda.coop asks for it."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"code.cu", 0, [], [])
    nvrtc.nvrtcCompileProgram(program, 3, [b"-dlto", b"-rdc=true", b"--gpu-architecture=compute_90"])
    made = bytearray(nvrtc.nvrtcGetLTOIRSize(program)[1])
    nvrtc.nvrtcGetLTOIR(program, made)
    return bytes(made)


def test_lto_ir_is_optimized_with_the_kernel_and_its_lines_are_named():
    source = """extern "C" __device__ int behind(int *out, int x) {
        __shared__ int s[64]; s[threadIdx.x] = x; __syncthreads(); *out = s[(threadIdx.x + 1) % 64]; return 0; }"""
    behind = cuda.declare_device("behind", "int32(int32)", link=cuda.LTOIR(lto_ir(source), name="behind.ltoir"))

    @cuda.jit
    def kernel(values):
        values[cuda.threadIdx.x] = behind(values[cuda.threadIdx.x])

    values = np.arange(64, dtype=np.int32)
    trace = sl.simulate(kernel)[1, 64](values)
    assert (values == np.roll(np.arange(64), -1)).all()
    assert trace.totals()["ld"] == trace.totals()["st"] == 2
    assert {count.line for count in trace.lines} == {2}


def test_cuda_cpp_that_does_not_compile_is_an_error_with_the_compilers_words():
    wrong = cuda.declare_device("wrong", "int32(int32)", link=cuda.CUSource("__device__ int wrong( {", name="wrong.cu"))
    with pytest.raises(Exception, match=r"NVRTC_ERROR_COMPILATION[\s\S]*wrong.cu"):
        cuda.jit("void(int32[:])")(lambda x: wrong(x[0]))


def test_machine_code_cannot_be_linked_and_is_refused_by_its_name():
    f = cuda.declare_device("f", "int32(int32)", link=cuda.Cubin(b"\\x7fELF", name="f.cubin"))
    with pytest.raises(MachineError, match="f.cubin, a cubin of machine code, cannot be linked"):
        @cuda.jit("void(int32[:])")
        def kernel(x):
            x[0] = f(x[0])


def test_the_grid_synchronizes(device):
    @cuda.jit
    def rounds(values):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        for _ in range(3):
            left = values[(i + 1) % values.size]
            grid.sync()
            values[i] += left
            grid.sync()

    values = np.arange(256, dtype=np.int64)
    expected = values.copy()
    for _ in range(3):
        expected += np.roll(expected, -1)
    rounds[4, 64](values)
    assert (values == expected).all() and not device.launches[-1].trace.hazards


def test_arrays_that_kernels_make_live_in_the_heap(monkeypatch, device):
    from numba.cuda.core import config

    monkeypatch.setattr(config, "CUDA_ENABLE_NRT", True)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        own = np.empty(3, np.int64)
        for k in range(3):
            own[k] = i * k
        out[i] = own.sum()

    out = np.zeros(40, np.int64)
    kernel[1, 40](out)
    assert (out == 3 * np.arange(40)).all()
    assert device.heap.allocate(device.heap.bytes.size) == 0, "what kernels took they gave back"


def test_kernels_print(capsys):
    @cuda.jit
    def kernel(x):
        if cuda.threadIdx.x < 2:
            print("value", cuda.threadIdx.x, x)

    kernel[1, 32](1.5)
    assert capsys.readouterr().out == "value 0 1.500000\nvalue 1 1.500000\n"


def test_an_exception_of_a_kernel_in_debug_mode_is_raised_in_the_program():
    @cuda.jit(debug=True, opt=False)
    def kernel(x):
        if x[cuda.threadIdx.x] == 7:
            raise ValueError("seven")

    kernel[1, 32](np.zeros(32))
    with pytest.raises(ValueError, match="seven"):
        kernel[1, 32](np.arange(32.0))


def test_constants_local_arrays_libdevice_and_halves():
    @cuda.jit
    def kernel(out, half):
        i = cuda.grid(1)
        table, own = cuda.const.array_like(TABLE), cuda.local.array(2, float64)
        own[i % 2] = table[i]
        own[1 - i % 2] = 0
        out[i] = own[0] + own[1] + cuda.libdevice.fma(2.0, 3.0, math.erf(0.0))
        half[i] = cuda.fp16.hfma(half[i], half[i], half[i])

    out, half = np.zeros(10), np.arange(10).astype(np.float16)
    kernel[1, 10](out, half)
    assert (out == TABLE + 6).all() and (half == np.arange(10) ** 2 + np.arange(10)).all()


def test_random_numbers_are_those_of_xoroshiro():
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float64

    @cuda.jit
    def kernel(states, out):
        out[cuda.grid(1)] = xoroshiro128p_uniform_float64(states, cuda.grid(1))

    out = np.zeros(64)
    kernel[1, 64](create_xoroshiro128p_states(64, seed=1), out)
    assert len(set(out.tolist())) == 64 and (out >= 0).all() and (out < 1).all()


def test_ufuncs_and_generalized_ufuncs_run_with_the_target_cuda():
    @vectorize([float32(float32, float32)], target="cuda")
    def smaller(a, b):
        return min(a, b)

    @guvectorize([(float64[:], float64[:])], "(n)->()", target="cuda")
    def total(row, out):
        out[0] = 0
        for x in row:
            out[0] += x

    a = np.random.default_rng(0).random((2, 50), np.float32)
    assert (smaller(*a) == a.min(axis=0)).all()
    rows = np.arange(30.0).reshape(5, 6)
    assert (total(rows) == rows.sum(axis=1)).all()


def test_reduce_sums():
    assert cuda.reduce(lambda a, b: a + b)(np.arange(3000, dtype=np.int64)) == 3000 * 2999 // 2


@cuda.jit
def doubled(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def test_pinned_mapped_and_managed_memory():
    mapped, managed, pinned = cuda.mapped_array(20), cuda.managed_array(20), cuda.pinned_array(20)
    for array in (mapped, managed, pinned):
        array[:] = 3
        doubled[1, 32](array)
        cuda.synchronize()
        assert (np.asarray(array) == 6).all()
    plain = np.ones(10)
    with cuda.mapped(plain) as seen:
        doubled[1, 32](seen)
    assert (plain == 2).all()


def test_slices_of_device_arrays_and_arrays_of_others_by_their_interface():
    class Foreign:
        def __init__(self, array):
            self.owner, self.__cuda_array_interface__ = array, array.__cuda_array_interface__

    x = cuda.to_device(np.arange(20.0))
    doubled[1, 32](x[5:15:2])
    doubled[1, 32](Foreign(x[:2]))
    doubled[1, 32](cuda.as_cuda_array(Foreign(x[18:])))
    expected = np.arange(20.0)
    for part in (expected[5:15:2], expected[:2], expected[18:]):
        part *= 2
    assert (x.copy_to_host() == expected).all()


def test_streams_events_and_their_time():
    stream, start, end = cuda.stream(), cuda.event(), cuda.event()
    start.record(stream)
    x = cuda.to_device(np.ones(10), stream=stream)
    doubled[1, 32, stream](x)
    end.record(stream)
    with stream.auto_synchronize():
        assert (x.copy_to_host(stream=stream) == 2).all()
    assert cuda.event_elapsed_time(start, end) > 0


def test_a_stream_of_cuda_core_is_taken():
    from cuda.core import Device

    current = Device()
    current.set_current()
    x = np.ones(10)
    doubled[1, 32, current.create_stream()](x)
    assert (x == 2).all()
    with pytest.raises(MachineError, match="Device.create_graph_builder of cuda.core is not simulated"):
        current.create_graph_builder()


def test_programs_may_call_the_driver_themselves():
    from cuda.bindings.driver import cuDeviceGetCount, cuMemAlloc, cuMemcpyDtoH, cuMemcpyHtoD, cuMemFree

    assert cuDeviceGetCount()[1] == 1
    source, target = np.arange(5), np.zeros(5, int)
    address = cuMemAlloc(source.nbytes)[1]
    cuMemcpyHtoD(address, source, source.nbytes)
    cuMemcpyDtoH(target.ctypes.data, address, source.nbytes)
    cuMemFree(address)
    assert (source == target).all()


def test_the_device_says_what_it_is():
    assert cuda.is_available() and len(cuda.gpus) == 1
    with cuda.gpus[0]:
        current = cuda.get_current_device()
    assert current.compute_capability == (9, 0) and current.MULTIPROCESSOR_COUNT == 132
    free, total = cuda.current_context().get_memory_info()
    assert 0 < free <= total


def test_a_block_or_a_grid_that_a_gpu_refuses_is_refused_as_there():
    from cuda.core._utils.cuda_utils import CUDAError

    with pytest.raises(CUDAError, match="CUDA_ERROR_INVALID_VALUE: doubled takes blocks of at most 1024 threads, not 1025"):
        doubled[1, 1025](np.zeros(1))
    with pytest.raises(CUDAError, match=r"CUDA_ERROR_INVALID_VALUE: doubled is launched with grid \(0, 1, 1\), block"):
        doubled[0, 32](np.zeros(1))


@pytest.mark.parametrize("asked, message", [
    (lambda kernel, x: kernel.get_regs_per_thread(), "registers of a thread"),
    (lambda kernel, x: kernel.inspect_sass(), "SASS is machine code"),
    (lambda kernel, x: cuda.to_device(x).get_ipc_handle(), "cuIpcGetMemHandle of the CUDA driver is not simulated"),
], ids=["registers", "SASS", "IPC"])
def test_what_only_a_gpu_has_is_refused_by_its_name(asked, message):
    x = np.zeros(3)
    kernel = cuda.jit(doubled.py_func)
    kernel[1, 32](x)
    with pytest.raises(MachineError, match=message):
        asked(kernel, x)


def test_a_kernel_that_was_pickled_runs():
    x = np.ones(4)
    pickle.loads(pickle.dumps(doubled))[1, 32](x)
    assert (x == 2).all()


def test_threads_of_a_program_launch_at_the_same_time():
    def one(number):
        x = np.full(100, number)
        doubled[1, 128](x)
        return (x == 2 * number).all()

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(one, range(12)))


PROGRAM = """
import sys
import numpy as np
from numba import cuda

@cuda.jit(cache=True)
def kernel(x):
    x[cuda.threadIdx.x] += 1

x = np.zeros(32)
kernel[1, 32](x)
stats = kernel.stats if hasattr(kernel, "stats") else None
print(x.sum(), sum(stats.cache_hits.values()))
"""


def test_a_process_that_a_program_starts_is_simulated_and_finds_what_another_has_cached(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    with inherited("sm_90", "off"):
        said = [subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True).stdout.split()
                for _ in range(2)]
    assert said == [["32.0", "0"], ["32.0", "1"]]


def test_a_process_that_is_forked_after_the_device_was_used_is_refused_as_by_a_gpu():
    cuda.to_device(np.zeros(1))
    with ProcessPoolExecutor(mp_context=get_context("fork")) as processes:
        asked = processes.submit(cuda.to_device, np.zeros(1))
    with pytest.raises(CudaDriverError, match="CUDA initialized before forking"):
        asked.result()


def test_no_gpu_would_find_in_the_cache_what_a_simulation_has_put_there():
    from numba.cuda.codegen import JITCUDACodegen

    assert JITCUDACodegen("here").magic_tuple()[-1] == "simulated"


def test_a_kernel_runs_on_one_device_after_another():
    devices = SimulatedDevice(), SimulatedDevice()
    for other in devices:
        with NumbaOnDevice(other):
            x = cuda.to_device(np.ones(4))
            doubled[1, 32](x)
            assert (x.copy_to_host() == 2).all()
            del x
    assert [len(other.launches) for other in devices] == [1, 1]


def test_a_struct_of_a_record_array_and_a_tuple_of_arrays_are_arguments():
    record = np.dtype([("a", np.int32), ("b", np.float64)], align=True)

    @cuda.jit
    def kernel(rows, pair):
        i = cuda.grid(1)
        rows[i].b = rows[i].a + pair[0][i] * pair[1]

    rows = np.zeros(8, record)
    rows["a"] = np.arange(8)
    kernel[1, 8](rows, (np.ones(8), int64(3)))
    assert (rows["b"] == np.arange(8) + 3).all()


def test_a_shuffle_and_a_vote_of_a_warp():
    @cuda.jit(types.void(int64[:], int64[:]))
    def kernel(down, votes):
        i = cuda.threadIdx.x
        down[i] = cuda.shfl_down_sync(0xFFFFFFFF, i, 4)
        votes[i] = cuda.ballot_sync(0xFFFFFFFF, i % 2)

    down, votes = np.zeros(32, np.int64), np.zeros(32, np.int64)
    kernel[1, 32](down, votes)
    assert (down[:28] == np.arange(4, 32)).all() and (votes & 0xFFFFFFFF == 0xAAAAAAAA).all()


# ---- what a GPU does not tell ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wrong, told", [(np.zeros((4, 8)), "float64 of shape"),
                                         (np.zeros((8, 4), np.float32).T, "float32 of shape .*not in C's order")])
def test_an_array_that_is_not_what_the_signature_says_is_warned_of(wrong, told):
    @cuda.jit("void(float32[:, ::1], float32)")
    def scaled(x, by):
        x[cuda.threadIdx.y, cuda.threadIdx.x] *= by

    with pytest.warns(UserWarning, match=rf"argument 1 \(x\) of scaled is {told}.*compiled for array\(float32, 2d, C\)"):
        scaled[1, 1](wrong, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled[1, 1](cuda.to_device(np.zeros((4, 8), np.float32)), 2)


@pytest.mark.parametrize("look", [lambda device, host: device.copy_to_host(), lambda device, host: device[0]])
def test_the_device_knows_whether_the_host_has_looked_at_it(device, look):
    @cuda.jit
    def doubled(x):
        x[cuda.threadIdx.x] *= 2

    host = np.ones(8)
    there = cuda.to_device(host)
    doubled[1, 8](there)
    cuda.to_device(there)
    cuda.device_array_like(there).copy_to_device(there)
    assert not device.memory.seen
    look(there, host)
    assert device.memory.seen


def test_the_device_knows_that_arrays_of_the_host_are_written_back(device):
    cuda.jit("void(float64[:])")(lambda x: None)[1, 1](np.ones(8))
    assert device.memory.seen
