"""What a process that runs a program of Numba kernels loads and compiles first, for a server of `forks` to import: Numba for
CUDA with its types, the compiled machine, and the modules of simlayout that are loaded when they are used; pytest, too."""

import importlib
import warnings

import numpy as np
import pytest  # noqa: F401
from numba import cuda, float32
from places import ROOT

import simlayout

for used in "cli.run", "cli.run_program", "programs.children", "programs.execute", "programs.numba_cuda", "programs.report":
    importlib.import_module(f"simlayout.{used}")


def turn(a, out):
    """Stores a 32 x 32 matrix of floats, transposed."""
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = a[y, x]
    cuda.syncthreads()
    out[y, x] = tile[x, y]


small, large = np.zeros((32, 32), np.float32), np.zeros((256, 256), np.float32)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")                      # a grid of one CTA leaves most of a GPU idle
    simlayout.simulate(cuda.jit(turn))[1, (32, 32)](small, small.copy())
transpose = simlayout.ptx.load(ROOT / "simlayout" / "guide" / "transpose.ptx").entry()
transpose.run((8, 8), (32, 8), large, large.copy(), 256)         # enough of it for the compiled machine
