"""Rows: GEMMs of CUTLASS for Hopper, D = A B + C / 2, with the parameters that its host code makes (cuda/cutlass.cu).

`build` keeps what that program prints in cutlass.json, beside the PTX.
"""

import json
import re
from functools import partial

import numpy as np

from cuda_kernels.conformance.foreign.row import DATA, Foreign, Structure
from cuda_kernels.conformance.foreign.rows_blocks import ints
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware import TensorMap
from simlayout.machine.ptx.arguments import Pointer

M, N, K = SIZES = 384, 256, 192
"""Of the product: what the program is called with."""
KEPT = "cutlass.json"
"""{name of a kernel: its line} beside the PTX."""


def spliced(told, arrays):
    """The fields of a kernel's parameters: their bytes, but pointers to arrays and tensor maps where the program put marks.

    told: its line; arrays: {1: A, 2: B, 3: C, 4: D}, as they lie in memory.
    """
    params = bytes.fromhex(told["params"])
    marks = [(bytes.fromhex(f"{i}" * 15 + "0")[::-1], Pointer(x)) for i, x in arrays.items()]
    marks += [(bytes.fromhex(m["mark"]) * 128, TensorMap.of(arrays[m["of"]][None], m["box"], swizzle=m["swizzle"]))
              for m in told["maps"]]
    found = sorted((*match.span(), value) for mark, value in marks for match in re.finditer(re.escape(mark), params))
    fields, end = [], 0
    for at, behind, value in found:
        fields += [params[end:at], value] if at > end else [value]
        end = behind
    return [*fields, params[end:]] if end < len(params) else fields


def _make(name, dtype, columns, rng):
    told = json.loads((DATA / KEPT).read_text())[name]
    a, b = (ints(rng, *shape, low=-3, high=4, dtype=TYPES[dtype].numpy) for shape in ((M, K), (N, K)))
    c, d = ints(rng, M, N, low=-3, high=4, dtype=np.float16), np.zeros((M, N), np.float16)
    a, b = (np.ascontiguousarray(x.T) if columns else x for x in (a, b))
    return [Structure(spliced(told, {1: a, 2: b, 3: c, 4: d}), {"A": a, "B": b, "C": c, "D": d})]


def _product(columns, args):
    a, b, c, _ = (x.astype(np.float32) for x in args[0].arrays.values())
    a, b = (a.T, b.T) if columns else (a, b)
    return {"0.D": (a @ b.T + c / 2).astype(np.float16)}


def _gemm(name, threads, shared_bytes, grid, *, cluster=1, dtype="f16", columns=False):
    return Foreign(name, "cuda", "cutlass", (*grid, 1), (threads, 1, 1), partial(_make, name, dtype, columns),
                   partial(_product, columns), shared_bytes=shared_bytes, cluster=cluster)


ROWS = (
    _gemm("cutlass_plain", 256, 213504, (M // 64, N // 64)),
    _gemm("cutlass_columns", 256, 197120, (M // 64, N // 128), columns=True),
    _gemm("cutlass_pingpong", 384, 214016, (2, 1), cluster=(2, 1, 1)),                # persistent: one cluster does all
    _gemm("cutlass_cooperative", 384, 230400, (1, 2), cluster=(1, 2, 1)),
    _gemm("cutlass_e4m3", 384, 230400, (2, 1), dtype="e4m3"),
)
"""The rows."""
