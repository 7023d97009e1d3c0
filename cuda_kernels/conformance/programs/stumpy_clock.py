"""A pytest plugin that measures the time inside of launches of numba-cuda, on a device or under CUDASIM: see stumpy_tests.

    STUMPY_CLOCK=FILE python -m pytest -p cuda_kernels.conformance.programs.stumpy_clock ...
"""

import json
import os
from functools import wraps
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

VARIABLE = "STUMPY_CLOCK"
"""Of the environment: the file that gets [how many launches, seconds of a core inside of them]."""

_sums = [0, 0.0]


def pytest_collection_finish(session: Any) -> None:
    """Stands around what launches a kernel, once the tests have imported numba.cuda. CUDASIM calls functions of a device in
    the same way, inside of a launch."""
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
    owner, name = (import_module("numba.cuda.simulator.kernel").FakeCUDAKernel, "__call__") if simulated else \
        (import_module("numba.cuda.dispatcher")._Kernel, "launch")
    launch = getattr(owner, name)

    @wraps(launch)
    def measured(kernel: Any, *args: Any, **named: Any) -> Any:
        if simulated and kernel._device:
            return launch(kernel, *args, **named)
        start = process_time()
        try:
            return launch(kernel, *args, **named)
        finally:
            _sums[0] += 1
            _sums[1] += process_time() - start

    setattr(owner, name, measured)


def pytest_sessionfinish(session: Any) -> None:
    """Writes the sums."""
    Path(os.environ[VARIABLE]).write_text(json.dumps(_sums))
