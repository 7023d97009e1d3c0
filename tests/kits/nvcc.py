"""Kernels of CUDA C++, which nvcc translates to PTX without a GPU."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cuda_kernels.build.assembler import find_tool

NVCC = find_tool("nvcc")

needs_nvcc = pytest.mark.skipif(not (NVCC and shutil.which("g++")),
                                reason="needs g++ and nvcc: pip install nvidia-cuda-nvcc")


def ptx_of(source, folder, *options, arch="sm_90a"):
    """The PTX file that nvcc makes in a folder of a source: a path, or a text."""
    made = Path(folder) / f"{source.stem if isinstance(source, Path) else 'kernel'}.ptx"
    if not isinstance(source, Path):
        source, text = made.with_suffix(".cu"), source
        source.write_text(text)
    command = [NVCC, f"-arch={arch}", "-std=c++17", "--expt-relaxed-constexpr", "-w", "-ptx", *options]
    done = subprocess.run([*command, "-o", made, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made
