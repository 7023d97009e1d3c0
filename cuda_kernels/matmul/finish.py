"""What `matmul` is asked to do to elements before it stores them, checked, and as the epilogue of a kernel."""

import math
from dataclasses import dataclass

from cuda_kernels.kernels.hopper.activations import ACTIVATIONS
from cuda_kernels.kernels.hopper.epilogue import Epilogue
from cuda_kernels.kernels.hopper.finishing import factor_of
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError

NAMES = frozenset(("bias", "residual", "multiply"))
"""The arrays that an epilogue reads."""

PLAIN = None, 1.0, None
"""The activation, alpha and beta of a call that names none of them."""


@dataclass(frozen=True)
class Finish:
    """epilogue: of the product as it is asked for, with a bias for each column; alpha, beta: its factors, of f32."""

    epilogue: Epilogue = Epilogue()
    alpha: float = 1.0
    beta: float = 1.0

    def __bool__(self):
        return self.epilogue != Epilogue()


def epilogue_named(text):
    """The Epilogue that words name, in any order: alpha, and the names of what else is passed to `matmul`.

    >>> str(epilogue_named("gelu bias"))
    'bias_n gelu'
    """
    words, others = str(text).split(), ("alpha", *sorted(NAMES))
    for word in words:
        if word not in (*others, *ACTIVATIONS):
            raise SimlayoutError(f"epilogue {text!r}: {word!r} is none of {', '.join((*others, *ACTIVATIONS))}")
    named = [word for word in words if word in ACTIVATIONS]
    if len(named) > 1 or len(set(words)) < len(words):
        raise SimlayoutError(f"epilogue {text!r}: name each array once, and one activation")
    return Epilogue("alpha" in words, "residual" in words, "n" * ("bias" in words), "".join(named), "multiply" in words)


def finish_of(asked, given, b_shape, shape, strides, dtype):
    """The Finish of a call. asked: its activation, alpha and beta; given: {"bias", "residual", "multiply": Operand}, as far
    as there are such; shape, strides (bytes), dtype: of out. With beta = 0 a residual is checked, and the epilogue has none:
    what is not a number there is in no result, as in BLAS. Raises SimlayoutError for what does not fit.

    >>> str(finish_of(("gelu", 0.5, None), {}, (3, 4), (2, 4), (8, 2), "f16").epilogue)
    'alpha gelu'
    """
    activation, alpha, beta = asked
    if activation is not None and activation not in ACTIVATIONS:
        raise SimlayoutError(f"activation = {activation!r}: choose {', '.join(map(repr, ACTIVATIONS))}, or None")
    if beta is not None and "residual" not in given:
        raise SimlayoutError(f"beta = {beta} multiplies the residual, and there is none: pass residual, which may be out")
    alpha, beta = _factor("alpha", alpha), _factor("beta", 1.0 if beta is None else beta)
    for name, x in given.items():
        if x.dtype != dtype:
            raise SimlayoutError(f"{name} is {TYPES[x.dtype].storage} and out {TYPES[dtype].storage}: they have one type; "
                                 "convert it, or pass another out")
        if name == "bias":
            _check_bias(x, b_shape, shape)
        else:
            _check_like_out(name, x, shape, strides)
    adds = "residual" in given and beta != 0
    epilogue = Epilogue(alpha != 1, adds, "n" * ("bias" in given), activation or "", "multiply" in given)
    return Finish(epilogue, alpha, beta if adds else 1.0)


def _factor(name, value):
    value = factor_of(name, value) + 0.0                 # -0.0 becomes 0.0: calls with either are one in a dictionary
    if not math.isfinite(value):
        raise SimlayoutError(f"{name} = {value}: pass a finite number")
    return value


def _check_bias(x, b_shape, shape):
    if len(b_shape) == 1:
        raise SimlayoutError("bias: one for each column of b, and b is a vector; pass residual instead")
    if x.shape != shape[-1:]:
        raise SimlayoutError(f"bias has shape {x.shape}: pass one for each column of the product, {shape[-1:]}")
    if x.shape[0] > 1 and x.strides[0] != x.itemsize:
        raise SimlayoutError(f"bias has a stride of {x.strides[0]} bytes: copy it, so that its elements lie together")


def _check_like_out(name, x, shape, strides):
    if x.shape != shape:
        raise SimlayoutError(f"{name} has shape {x.shape}, the product {shape}")
    if any(ours != theirs for ours, theirs, size in zip(x.strides, strides, shape) if size > 1):
        raise SimlayoutError(f"{name} has strides of {x.strides} bytes, out of {tuple(strides)}: it has to lie in memory as "
                             "out does; copy it, or pass an out with its strides")
