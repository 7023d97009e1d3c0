"""What Numba programs do on the host with a simulated device: memory, streams, the driver, processes, and what is told."""

import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from numba import cuda
from numba.cuda.cudadrv.error import CudaDriverError

from simlayout.errors import MachineError
from simlayout.programs.children import inherited
from simlayout.programs.device import SimulatedDevice
from simlayout.programs.numba_cuda import NumbaOnDevice

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.filterwarnings(
    "ignore::numba.core.errors.NumbaWarning", "ignore::numba.cuda.core.errors.NumbaWarning")]


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
