"""Processes of Python that have prepared Numba already: forks of a server that has imported `programs_warm` once.

    python tests/kits/forks.py          the server: forks for each request that it reads

`python -m simlayout run` of a small program takes 1.8 s of the processor, of which 0.3 s are what the program asks for; the
rest loads and prepares Numba. What a test asks of a whole process (exit code, stdout, stderr, what is done at its end) it
can ask of a fork, on Linux. Elsewhere, and where a test asks what a new process does, there is `new_process`.
"""

import atexit
import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from places import ROOT

NUMBA = {"NUMBA_CUDA_WARN_ON_IMPLICIT_COPY": "0"}
"""Variables of the server and of all forks: Numba reads its own again, and forgets what was set, where they have changed."""


class Done(NamedTuple):
    """What a process left: its exit code (minus a signal that ended it), and all that it wrote."""

    returncode: int
    stdout: str
    stderr: str


def forked(module, *words, cwd=".", **environment):
    """The Done of `python -m module words`, in a folder, with these variables beside our own.

    >>> forked("timeit", "-n1", "-r1", "print('once')").stdout.splitlines()[0]
    'once'
    """
    command, ours = [module, *map(str, words)], _environment(environment)
    if sys.platform != "linux":
        return new_process(*command, cwd=cwd, **environment)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "stdout", Path(folder) / "stderr"]
        request = {"command": command, "cwd": os.path.abspath(cwd), "environment": ours, "files": [str(f) for f in files]}
        server = _server()
        print(json.dumps(request), file=server.stdin, flush=True)
        return Done(int(server.stdout.readline()), *[file.read_text() for file in files])


def new_process(module, *words, cwd=".", **environment):
    """The Done of the same as a process of its own."""
    done = subprocess.run([sys.executable, "-m", module, *map(str, words)], cwd=cwd, env=_environment(environment),
                          capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


def _environment(more):
    return {**os.environ, "PYTHONPATH": str(ROOT), **NUMBA, **more}


@cache
def _server():
    server = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=_environment({}))
    atexit.register(server.communicate)                  # its stdin ends, and so does it
    return server


def _serve():
    """Forks for each request; in the fork, returns it."""
    import programs_warm  # noqa: F401

    gc.freeze()                                          # a fork need not look through what is imported, nor copy it
    for line in sys.stdin:
        child = os.fork()
        if not child:
            return json.loads(line)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


def _become(request):
    """Makes this process that of `python -m`, and runs the module."""
    for number, file in enumerate([os.devnull, *request["files"]]):
        opened = os.open(file, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
    paths = request["environment"]["PYTHONPATH"].split(os.pathsep)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:2] = [os.getcwd(), *paths]                 # in the place of this file's folder, and of ROOT
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    module, *words = request["command"]
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    asked = _serve()
    if asked is not None:
        _become(asked)
