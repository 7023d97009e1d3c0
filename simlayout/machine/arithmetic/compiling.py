"""Compiles a function of carriers for scalars, with Numba: the same source, and the functions that it calls likewise."""

import types
from collections.abc import Callable

import numpy as np

from simlayout.errors import InstructionError
from simlayout.machine.arithmetic import floats, primitives

_PACKAGE = "simlayout.machine.arithmetic."
_DONE: dict = {}


def compile_scalar(function: Callable) -> Callable:
    """A function of this package that compiled code may call, with scalars.

    Every function of the package that it names, as a global or in its closure, is compiled too; the few that cannot be
    (`select`, what makes f64 of numbers, the fused multiply-adds) have a form for scalars. Raises InstructionError for what
    works on arrays alone (f64 in directed rounding); ImportError without Numba.

    >>> import numba
    >>> from simlayout.machine.arithmetic.integers import divide_unsigned
    >>> divide = compile_scalar(divide_unsigned)
    >>> numba.njit(lambda x, y: divide(x, y))(np.uint64(7), np.uint64(2))
    3
    """
    from simlayout.jit import within

    if not _DONE:
        _DONE.update(_scalar_forms())
    if function not in _DONE:
        if getattr(function, "arrays_only", False):
            raise InstructionError("f64 in directed rounding is worked out on arrays alone: it cannot be compiled")
        _DONE[function] = within(_bound(function))
    return _DONE[function]


def _bound(function):
    """A copy of a function whose globals and closure hold compiled functions in the place of ours."""
    known = function.__globals__
    names = {name: _compiled(known[name]) for name in function.__code__.co_names if name in known}
    closure = tuple([types.CellType(_compiled(cell.cell_contents)) for cell in function.__closure__ or ()])
    return types.FunctionType(function.__code__, names | {"__name__": function.__module__}, function.__name__,
                              function.__defaults__, closure)


def _compiled(value):
    """A function of ours compiled, anything else as it is."""
    ours = isinstance(value, types.FunctionType) and value.__module__.startswith(_PACKAGE)
    return compile_scalar(value) if ours else value


def _scalar_forms():
    """{function: its form for scalars} of those that Numba cannot compile as they stand."""
    from numba.core import types as numba_types
    from numba.extending import intrinsic

    from simlayout.jit import within

    @within
    def select(condition, yes, no):
        return yes if condition else no

    @within
    def as_f64(x):
        return np.float64(x)

    @within
    def bits_f64(x):
        return np.float64(x).view(np.uint64)

    def fused(width):
        @intrinsic
        def fma(context, a, b, c):
            kind = {32: numba_types.float32, 64: numba_types.float64}[width]

            def generate(context, builder, signature, args):
                return builder.fma(*args)

            return kind(kind, kind, kind), generate

        @within
        def call(a, b, c):
            return fma(a, b, c)

        return call

    return {primitives.select: select, primitives.as_f64: as_f64, primitives.bits_f64: bits_f64,
            floats.fused_f64: fused(64), floats.fused_f32: fused(32)}
