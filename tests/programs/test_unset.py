"""Device memory that nothing has written since it was allocated is told where a kernel reads it, and only there."""

import numpy as np
import pytest
from numba import cuda, float32

from simlayout.errors import HazardError
from simlayout.programs.device import SimulatedDevice
from simlayout.programs.numba_cuda import NumbaOnDevice

pytestmark = pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning",
                                        "ignore::numba.cuda.core.errors.NumbaWarning")


@cuda.jit
def doubled(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 2


@cuda.jit
def total(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i])


@cuda.jit
def first(x, out):
    tile = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    out[i] = 0
    tile[i] = x[i]
    cuda.syncwarp()
    cuda.atomic.add(out, i, tile[31 - i])


def told(device):
    """The texts of what was told of the last launch."""
    return [str(one) for one in device.launches[-1].trace.hazards]


def numbers(n=64):
    return cuda.to_device(np.arange(n, dtype=np.float32))


def test_a_load_and_an_atomic_that_adds_are_told_of_memory_that_nothing_has_written(device):
    doubled[2, 32](cuda.device_array(64, np.float32), cuda.device_array(64, np.float32))
    load, = told(device)
    assert "unwritten read" in load and "argument 1 (x, float32 of shape (64,))" in load and "has written" in load
    total[2, 32](numbers(), cuda.device_array(1, np.float32))
    atomic, = told(device)
    assert "atom.global" in atomic and "argument 2 (out" in atomic


def test_what_was_copied_set_or_stored_by_a_kernel_is_written(device):
    out = cuda.device_array(64, np.float32)
    doubled[2, 32](numbers(), out)
    doubled[2, 32](out, cuda.device_array(64, np.float32))
    assert told(device) == []
    copied = cuda.device_array(64, np.float32)
    copied[:32].copy_to_device(np.zeros(32, np.float32))
    doubled[2, 32](copied, out)
    assert told(device) == []
    there = cuda.device_array(1, np.float32)
    there[:] = 0
    total[2, 32](numbers(), there)
    assert told(device) == []
    host = cuda.managed_array(1, np.float32)
    host[0] = 1
    total[2, 32](numbers(), host)
    assert told(device) == []


def test_a_kernel_that_stores_itself_what_it_adds_to_is_right(device):
    first[1, 32](numbers(32), cuda.device_array(32, np.float32))
    assert told(device) == []


def test_it_is_raised_where_hazards_are():
    with NumbaOnDevice(SimulatedDevice("sm_90", "raise")), pytest.raises(HazardError, match="nothing has written"):
        total[2, 32](numbers(), cuda.device_array(1, np.float32))
