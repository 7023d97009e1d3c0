"""From PTX to machine code, without a GPU.

ptxas assembles a kernel as a whole program. nvJitLink, which numba-cuda uses, makes it linkable with others and therefore
ignores setmaxnreg (C7504, by its log): consumers of two bands then spill, and products took 6 to 13 times as long, measured
on an H200. So it is only used where there is no ptxas that knows the text's version.
"""

import os
import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import DEFAULT_TARGET

NO_PTXAS = "nvJitLink"


@lru_cache(None)
def find_tool(name):
    """The path of a tool of CUDA, of a wheel, a toolkit or the PATH; None if there is none."""
    try:
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError:                                  # no numba-cuda either
        return shutil.which(name)
    return find_nvidia_binary_utility(name) or shutil.which(name)


def assembler():
    """What makes the machine code, as text that changes with it: ptxas and its size and time, or nvJitLink."""
    path = find_tool("ptxas")
    return NO_PTXAS if path is None else _described(path)


def _described(path):
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def is_still(found, under):
    """Whether `assembler()` would say `found` again, which it said where `surroundings()` was `under`. Where it still is, a
    look at the file is enough: to search for it loads thirty modules."""
    if under != surroundings() or found == NO_PTXAS:
        return assembler() == found
    try:
        return _described(found.rsplit(" ", 2)[0]) == found
    except OSError:
        return False


def surroundings():
    """What decides where ptxas is found beside the wheels that are installed, as text of one line."""
    return repr([os.environ.get(name) for name in ("PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")])


def entry_of(text):
    """The name of the kernel in a PTX text."""
    (name,) = re.findall(r"\.entry ([\w$]+)\(", text)
    return name


def program(text, arch=DEFAULT_TARGET):
    """(name of the entry, machine code) of the PTX text of one kernel: what `cuda_kernels.build.cache` keeps."""
    return entry_of(text), cubin(text, arch)


def cubin(text, arch=DEFAULT_TARGET):
    """The machine code of a PTX text, bytes. Raises SimlayoutError for a text that ptxas refuses."""
    path = find_tool("ptxas")
    code = _assembled(path, text, arch) if path else None
    return _linked(text, arch) if code is None else code


def _assembled(ptxas, text, arch):
    """By ptxas; None where it does not know the text's version of PTX."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(text)
        lines = ["-lineinfo"] if "\t.loc" in text else []
        ptxas_run = subprocess.run([ptxas, *lines, f"-arch={arch}", "-o", target, source], capture_output=True, text=True)
        if ptxas_run.returncode == 0:
            return target.read_bytes()
    messages = ptxas_run.stdout + ptxas_run.stderr
    if "Unsupported .version" in messages:
        return None
    raise SimlayoutError(f"{ptxas} refuses the kernel: {messages.strip()[:2000]}")


def _linked(text, arch):
    """By the linker that numba-cuda uses."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    return bytes(Linker(ObjectCode.from_ptx(text.encode()), options=LinkerOptions(arch=arch)).link("cubin").code)
