"""What an epilogue takes from a caller: numbers and arrays, and how these lie beside C."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError


@dataclass(frozen=True)
class Added:
    """alpha, beta: what the product and the residual are multiplied by; bias: one for each column of C (with bias_m: row);
    residual, multiply: of C's shape. Arrays are NumPy arrays of C's type, None where the epilogue reads none."""

    alpha: float = 1.0
    beta: float = 1.0
    bias: Any = None
    residual: Any = None
    multiply: Any = None


def factor_of(name, value):
    """alpha or beta as the float that a kernel gets, an f32. Raises SimlayoutError for what is no number, or too large.

    >>> factor_of("alpha", 0.1)
    0.10000000149011612
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise SimlayoutError(f"{name} is {type(value).__name__}: pass a number; what lies on the GPU can be scale_a and "
                             "scale_b")
    try:
        with np.errstate(over="ignore"):
            single = float(np.float32(value))
    except OverflowError:                                # an int that no float64 holds
        single = math.inf
    if math.isinf(single) and value not in (math.inf, -math.inf):
        raise SimlayoutError(f"{name} lies beyond 3.4e38: it is taken as float32, which ends there")
    return single


def with_added(work, added):
    """A Work of a kernel with an epilogue, with what this takes. Raises SimlayoutError for an Added that does not fit."""
    config, problem, arrays = work.kernel.options, work.problem, dict(work.arrays)
    words, row = EPILOGUES[config.epilogue], TYPES[config.out]
    for name in ("bias", "residual", "multiply"):
        x, needed = getattr(added, name), name in words.reads
        if (x is not None) != needed:
            given = "reads one, and none is" if needed else "has none, and one is"
            raise SimlayoutError(f"{name}: the epilogue {config.epilogue!r} {given} given")
        if x is None:
            continue
        if x.dtype.name not in (row.storage, row.plain.name):
            raise SimlayoutError(f"{name} is {x.dtype}: it is of C's type, {row.storage}")
        of_bias = (problem.N if words.bias == "n" else problem.M,)
        shape = of_bias if name == "bias" else (problem.matrices, problem.M, problem.N)
        if x.shape != shape and (1, *x.shape) != shape:
            raise SimlayoutError(f"{name} has shape {x.shape}: pass {shape}")
        x = x.view(row.plain).reshape(shape)
        x = x if name == "bias" or config.c_major == "N" else x.swapaxes(1, 2)
        arrays[name] = np.array(x, order="C")
    alpha, beta = factor_of("alpha", added.alpha), factor_of("beta", added.beta)
    for name, value, taken in (("alpha", alpha, words.alpha), ("beta", beta, words.residual)):
        if value != 1 and not taken:
            raise SimlayoutError(f"{name} = {value}: the epilogue {config.epilogue!r} has none")
    return replace(work, problem=replace(problem, alpha=alpha, beta=beta), arrays=arrays)
