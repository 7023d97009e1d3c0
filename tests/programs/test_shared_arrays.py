"""Which arrays of shared memory a launch has, and where its source declares them."""

import inspect
import linecache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba.cuda")

from numba import cuda, float32, float64

from simlayout import guide
from simlayout.machine.hazards.kinds import Hazard, Place
from simlayout.machine.ptx.declared.shared_arrays import with_elements
from simlayout.programs import SharedArray, SimulatedDevice
from simlayout.programs.numba_cuda import NumbaOnDevice

SIDE = 8


def lines_of(function):
    """{text of a line without blanks around it: its number}."""
    lines, first = inspect.getsourcelines(getattr(function, "py_func", function))
    return {line.strip(): first + i for i, line in enumerate(lines)}


def test_a_launch_has_the_arrays_of_its_kernel_and_of_device_functions_with_their_lines_and_shapes():
    @cuda.jit(device=True)
    def turned(value):
        line = cuda.shared.array(32, float64)
        line[cuda.threadIdx.x] = value
        cuda.syncthreads()
        return line[31 - cuda.threadIdx.x]

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array((SIDE, 4), dtype=float32)
        i = cuda.threadIdx.x
        tile[i // 4, i % 4] = i
        cuda.syncthreads()
        out[i] = tile[7 - i // 4, i % 4] + turned(i)

    device, out = SimulatedDevice(), np.zeros(32, np.float32)
    with NumbaOnDevice(device):
        kernel[1, 32](cuda.to_device(out))
    (launched,) = device.launches
    arrays = {(a.line, a.shape): a for a in launched.trace.arrays}
    tile = arrays[lines_of(kernel)["tile = cuda.shared.array((SIDE, 4), dtype=float32)"], (8, 4)]
    line = arrays[lines_of(turned)["line = cuda.shared.array(32, float64)"], (32,)]
    assert (tile.bytes, line.bytes, tile.file, line.file) == (128, 256, __file__, __file__)
    assert sorted([(tile.offset, tile.bytes), (line.offset, line.bytes)])[1][0] in (tile.bytes, line.bytes)
    assert {lines_of(turned)["return line[31 - cuda.threadIdx.x]"]} <= {p.line for p in launched.trace.patterns}


def test_an_array_that_no_library_has_told_of_has_its_symbol_and_place_alone(monkeypatch):
    from tests.kits.ptx_texts import TRANSPOSE

    gone = (Path(guide.__file__).parent / "transpose.cu").read_text().splitlines(True)    # read where the process was before
    monkeypatch.setitem(linecache.cache, "transpose.cu", (1, 0.0, gone, "transpose.cu"))
    device = SimulatedDevice()
    arrays = np.zeros((2, 1024), np.float32)
    where = [device.memory.adopt(a.ctypes.data, a.nbytes) for a in arrays]
    device.launch(device.module(TRANSPOSE).entry(), (1, 1, 1), (32, 1, 1), tuple(where))
    assert device.launches[0].trace.arrays == (SharedArray("tile", 0, 4096, untold="its source is not at hand"),)


@pytest.mark.parametrize("said, told", [
    ("waiting at mbarrier 8 for phase 0", "waiting at mbarrier done for phase 0"),
    ("waiting at mbarrier 40 of CTA (1, 0, 0)", "waiting at mbarrier at byte 24 of ring of CTA (1, 0, 0)"),
    ("finds no mbarrier at shared address 8 (there are 0)", "finds no mbarrier at shared address 8 (done) (there are 0)"),
    ("waiting at mbarrier 4096", "waiting at mbarrier 4096")])
def test_an_mbarrier_is_named_by_the_variable_that_it_is(said, told):
    arrays = SharedArray("_ZZ1kPfE4done", 8, 8), SharedArray("ring", 16, 64)
    fault = Hazard("deadlock", said, None, Place("kernel.cu", 4, "mbarrier.try_wait", (0, 0, 0), 0, ()))
    assert with_elements(fault, arrays).text == told
