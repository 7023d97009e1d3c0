"""The command as a process: its exit codes where nobody listens, the disk is full, or Ctrl-C is pressed at any moment."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec

import pytest
from ptx_texts import module

TILE = "(16,64):(64,1)"
COMMAND = [sys.executable, "-m", "simlayout"]
PATIENT = 600               # seconds: a busy machine fails no test

needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")


@needs_full
@pytest.mark.parametrize("arguments", [
    ["help"], *(pytest.param(words, marks=pytest.mark.sweep) for words in (["check", TILE], ["kernels", "--json"]))])
def test_a_full_stdout_is_one_line_and_2(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENT)
    assert (done.returncode, done.stderr) == (2, "simlayout: cannot write to stdout: No space left on device\n")


def test_a_closed_stdout_is_one_line_and_2():
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *COMMAND, "check", TILE], stderr=subprocess.PIPE, text=True,
                          timeout=PATIENT)
    assert done.returncode == 2 and done.stderr.startswith("simlayout: stdout is closed") and done.stderr.count("\n") == 1


@needs_full
@pytest.mark.parametrize("to", ["2>&-", pytest.param("2>/dev/full", marks=pytest.mark.sweep)])
def test_without_a_stderr_the_exit_code_tells(to):
    done = subprocess.run(["sh", "-c", f'"$@" {to}', "sh", *COMMAND, "check", "("], stdout=subprocess.PIPE, timeout=PATIENT)
    assert (done.returncode, done.stdout) == (2, b"")


def interrupted(code):
    """(exit code, stderr) of a Python that runs code, of SIGINT as soon as it has printed a line."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            _, complaint = process.communicate(timeout=PATIENT)
        finally:
            process.kill()
    return process.returncode, complaint


WHILE_LOADING = """
import sys
from importlib.abc import MetaPathFinder

class Slow(MetaPathFinder):
    def find_spec(self, name, *_):
        if name == {module!r}:
            print("ready", flush=True)
            while True:
                pass

sys.meta_path.insert(0, Slow())
from simlayout.cli import main
sys.argv = ["simlayout", "kernels"]
sys.exit(main())
"""


@pytest.mark.parametrize("module", [
    "numpy", *(pytest.param(name, marks=pytest.mark.sweep) for name in ("simlayout.cli.commands", "cuda_kernels.kernels"))])
def test_ctrl_c_while_modules_load_is_one_line_and_130(module):
    assert interrupted(WHILE_LOADING.format(module=module)) == (130, "simlayout: interrupted\n")


ENDLESS = """
import sys
import cuda_kernels.job as job
from cuda_kernels.intrinsics import tid_x
from simlayout import machine
from simlayout.cli import main

def kernel(out):
    if tid_x() == 0:
        print("ready", flush=True)
    n = 0
    while True:
        n = n + 1

def main_job(*_, **__):
    import numpy as np
    machine.run(kernel, 1, 64, np.zeros(1, np.int32))

job.main_job = main_job
sys.argv = ["simlayout", "gemm", "--cpu", "--json"]
sys.exit(main())
"""


def test_the_first_ctrl_c_ends_a_kernel_that_does_not_end(tmp_path):
    (tmp_path / "endless.py").write_text(ENDLESS)
    code = f"import runpy; runpy.run_path({str(tmp_path / 'endless.py')!r}, run_name='__main__')"
    assert interrupted(code) == (130, "simlayout: interrupted\n")


WHILE_COMPILING = """
import os, sys, time
os.environ["NUMBA_CACHE_DIR"] = {cache!r}
from llvmlite.binding import executionengine as engine

def slowly(self, data):                                  # a call-back of LLVM, which forgets exceptions
    print("ready", file=sys.__stdout__, flush=True)
    time.sleep(0.5)
    engine.ExecutionEngine._raw_object_cache_notify(self, data)

engine._notify_c_hook = engine._ObjectCacheNotifyFunc(slowly)
"""

ON_THE_COMMAND_LINE = """
from simlayout.cli import main

sys.argv = ["simlayout", "run", {kernel!r}, "--block", "32", "--json"]
sys.exit(main())
"""

IN_PYTHON = """
from simlayout import ptx

try:
    ptx.load({kernel!r}).entry().run(1, 32)
except KeyboardInterrupt:
    print("heard", file=sys.stderr, flush=True)
    os._exit(7)                                          # else it ends when Numba has
"""


@pytest.mark.skipif(find_spec("numba") is None, reason="Numba compiles")
@pytest.mark.parametrize("code, told", [
    (ON_THE_COMMAND_LINE, (130, "simlayout: interrupted\n")), (IN_PYTHON, (7, "heard\n"))], ids=["command", "python"])
def test_ctrl_c_while_numba_compiles_is_heard_at_once(tmp_path, code, told):
    (tmp_path / "loop.ptx").write_text(module("AGAIN: add.u64 %rd1, %rd1, 1; setp.ne.u64 %p1, %rd1, 0; @%p1 bra AGAIN;"))
    assert interrupted((WHILE_COMPILING + code).format(cache=str(tmp_path), kernel=str(tmp_path / "loop.ptx"))) == told


SEARCH = """
import sys
from simlayout.cli import main
from simlayout.cli import search

def told(what, stays=False):
    return Told()

class Told:
    def __enter__(self):
        return lambda done, total: done and print("ready", flush=True)

    def __exit__(self, *_):
        pass

if __name__ == "__main__":
    search.progress = told
    sys.argv = ["simlayout", "search", "(64,64):(64,1)", "--op", "ldmatrix.x4", "ld.shared.b32", "ld.shared.b16",
                "--families", "f2", "--jobs", "2", "--json"]
    sys.exit(main())
"""


def test_ctrl_c_of_a_terminal_reaches_processes_of_a_search_too_and_none_complains(tmp_path):
    (tmp_path / "searching.py").write_text(SEARCH)
    command = [sys.executable, str(tmp_path / "searching.py")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, start_new_session=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            os.killpg(process.pid, signal.SIGINT)        # as a terminal does: to all of them
            told, complaint = process.communicate(timeout=PATIENT)
        finally:
            process.kill()
    answer = told.replace("ready", "").lstrip()              # more of them may have been printed before the signal came
    assert process.returncode in (0, 1) and complaint == "" and answer.startswith('{')
