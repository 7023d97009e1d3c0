"""Processes side by side: all are of `simlayout.workers`, and what nobody has begun when Ctrl-C comes is left."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import cuda_kernels
import simlayout
from simlayout.workers import workers


def mark(folder, i):
    Path(folder, str(i)).touch()
    time.sleep(0.2)


def test_an_interrupted_pool_leaves_what_nobody_has_begun(tmp_path):
    with pytest.raises(KeyboardInterrupt), workers(1) as pool:
        first, *_ = [pool.submit(mark, str(tmp_path), i) for i in range(40)]
        first.result()
        raise KeyboardInterrupt
    assert 1 <= len(list(tmp_path.iterdir())) < 10


PROGRAM = """
import os, sys
print("begun", flush=True)
from simlayout.workers import workers
with workers(2, main=False) as pool:
    print(sorted(pool.map(abs, [-1, 2, -3])))
"""


def test_a_program_without_a_guard_may_start_processes_that_do_not_need_it(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("begun\n[1, 2, 3]\n", "")


@pytest.mark.parametrize("package", [cuda_kernels, simlayout], ids=lambda package: package.__name__)
def test_no_module_makes_processes_that_would_tell_of_ctrl_c_themselves(package):
    folder = Path(package.__file__).parent
    makers = [path.relative_to(folder).as_posix() for path in folder.rglob("*.py")
              if "ProcessPoolExecutor" in path.read_text() or "multiprocessing" in path.read_text()]
    assert makers == (["workers.py"] if package is simlayout else [])
