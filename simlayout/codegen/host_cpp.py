"""CUDA C++ texts of index functions, compiled for this machine and run on points."""

import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np

from simlayout.errors import SimlayoutError

COMPILERS = ("g++", "c++", "clang++")

PATIENCE = 120
"""Seconds that a compilation, or a run, may take."""

_PROGRAM = """#include <cstdio>
#define __device__ static
#define __forceinline__ inline
namespace emitted {{
{text}
}}
int main(int, char **paths) {{
    std::FILE *points = std::fopen(paths[1], "rb"), *values = std::fopen(paths[2], "wb");
    unsigned p[{count}];
    while (std::fread(p, sizeof p, 1, points) == 1) {{
        const unsigned value = emitted::{name}({arguments});
        std::fwrite(&value, sizeof value, 1, values);
    }}
    return std::fclose(values);
}}
"""


@lru_cache(1)
def compiler_of_cpp():
    """The name of a C++ compiler that works here, or None. It is asked once."""
    for name in COMPILERS:
        if shutil.which(name):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    _compile(name, "int main() { return 0; }", Path(folder))
                except (OSError, subprocess.SubprocessError):
                    continue
                return name
    return None


def _compile(compiler, source, folder):
    path, program = folder / "emitted.cpp", folder / "emitted"
    path.write_text(source, encoding="utf-8")
    subprocess.run([compiler, "-x", "c++", "-std=c++17", "-O0", "-o", str(program), str(path)], check=True, timeout=PATIENCE,
                   capture_output=True, text=True)
    return program


def run_cuda_text(name, text, points, compiler):
    """What a function in CUDA C++ gives, int64 [n], at points, uint32 [n, parameters].

    Raises SimlayoutError if the text does not compile, or stops (divides by zero, say).
    """
    arguments = ", ".join(f"p[{i}]" for i in range(points.shape[1]))
    source = _PROGRAM.format(text=text, name=name, count=points.shape[1], arguments=arguments)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        inputs, values = folder / "points", folder / "values"
        np.ascontiguousarray(points, np.uint32).tofile(inputs)
        try:
            program = _compile(compiler, source, folder)
            subprocess.run([str(program), str(inputs), str(values)], check=True, timeout=PATIENCE, capture_output=True)
        except subprocess.CalledProcessError as error:
            reason = error.stderr if isinstance(error.stderr, str) else f"it stops with {error.returncode}"
            raise SimlayoutError(f"the CUDA C++ text of {name} does not run as C++: {reason[:500]}") from None
        except subprocess.TimeoutExpired:
            raise SimlayoutError(f"the CUDA C++ text of {name} takes more than {PATIENCE} s as C++") from None
        return np.fromfile(values, np.uint32).astype(np.int64)
