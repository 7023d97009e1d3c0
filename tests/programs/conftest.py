"""What tests of programs share: a device that is simulated."""

import gc

import pytest


@pytest.fixture
def device():
    """numba-cuda runs on it while a test does, and hazards are reported."""
    from simlayout.programs.device import SimulatedDevice
    from simlayout.programs.numba_cuda import NumbaOnDevice

    device = SimulatedDevice("sm_90", "report")
    gc.freeze()                                          # what other tests have left takes half a second to look through
    with NumbaOnDevice(device):
        yield device
        gc.collect()                                     # streams and events go with their device
