"""The probe of what L2 delivers: its kernel on the CPU machine, and what is made of its times."""

import numpy as np
import pytest
from machine_code import needs_tools

from cuda_kernels.lab import neighbours
from cuda_kernels.lab.neighbours import BOX_ROWS, BOXES, SHARED_BYTES, STAGE_BYTES, STREAM_ROWS, loads
from simlayout.errors import DeviceError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine import run


def loaded(rows, ctas, steps, together, streams):
    """The trace of the kernel on the CPU machine, and on which SMs the CTAs were."""
    x, out = np.zeros((1, rows, 64), np.float16), np.full(ctas, -1, np.int32)
    return run(loads, ctas, 32, TensorMap.of(x, (64, BOX_ROWS, 1), 128), out, steps, together, streams,
               shared_bytes=SHARED_BYTES), out


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_every_cta_loads_its_stages_in_turns(steps):
    trace, out = loaded(2 * STREAM_ROWS, 3, steps, 2, 3)
    (count,) = [c for c in trace.by_instruction() if c.instruction == "cp.async.bulk.tensor"]
    assert count.bytes == 3 * steps * STAGE_BYTES and count.instructions == 3 * steps * BOXES
    assert trace.hazards == () and out.tolist() == [0, 1, 2]


def test_the_matrix_has_the_rows_of_every_stream_and_no_other_is_read():
    shape = neighbours.tensor_map(132 * STREAM_ROWS)
    assert shape.dims[1] == 132 * STREAM_ROWS and 128 * shape.dims[1] < 30e6      # all of it stays in L2
    used = {c // case.together % (case.streams or 132) for case in neighbours.CASES for c in range(132)}
    assert used == set(range(132))


@needs_tools
def test_the_kernel_compiles_with_its_map_as_a_parameter():
    entry, code = neighbours.compiled()
    assert entry.isidentifier() and code[:4] == b"\x7fELF"


def test_without_a_gpu_the_command_says_so(monkeypatch):
    monkeypatch.setattr("cuda_kernels.run.device.gpu_problem", lambda: "no GPU here")
    with pytest.raises(DeviceError, match="no GPU here"):
        neighbours.main([])
