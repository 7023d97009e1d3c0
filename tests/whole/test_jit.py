"""What Numba has compiled is used again as long as no source has changed that it may be made of."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

PROGRAM = """
import os, sys
from pathlib import Path
import simlayout.jit as j
if sys.argv[1:]:
    j.source_stamp = lambda: (float(sys.argv[1]), 1)
from simlayout.machine.ptx.compiled.executor import _all
import numpy as np
_all(np.zeros((2, 32), np.uint64), 0)
print(sum(_all.stats.cache_hits.values()), sum(_all.stats.cache_misses.values()))
"""


def hits(folder, *stamp):
    """(times that compiled code was found, that it was not) in a new process."""
    import os

    done = subprocess.run([sys.executable, "-c", PROGRAM, *stamp], capture_output=True, text=True, check=True,
                          env=os.environ | {"NUMBA_CACHE_DIR": str(folder)})
    return tuple(map(int, done.stdout.split()))


@pytest.mark.slow
def test_compiled_code_is_found_until_a_source_changes(tmp_path):
    assert hits(tmp_path, "1") == (0, 1)
    assert hits(tmp_path, "1") == (1, 0)
    assert hits(tmp_path, "2") == (0, 1)


def test_every_file_with_a_compiled_function_of_several_files_counts():
    import simlayout.jit as jit

    root = Path(jit.__file__).parent
    users = {path.parent.relative_to(root).as_posix() for path in root.rglob("*.py")
             if "simlayout.jit import" in path.read_text() and path.name != "jit.py"}
    assert users <= {*jit.ROOMS}, "a room with compiled functions that jit.ROOMS lacks"
