"""Compiles a function of carriers for scalars, with Numba: the same source, and the functions that it calls likewise."""

import types
from collections.abc import Callable

from simlayout.errors import InstructionError
from simlayout.machine.arithmetic import primitives
from simlayout.numerics import fma as numerics_fma

_PACKAGES = ("simlayout.machine.arithmetic", "simlayout.numerics.fma")
_DONE: dict = {}


def compile_scalar(function: Callable) -> Callable:
    """The Numba dispatcher of a function of this package, for scalars (or to be called in other compiled code).

    Every function of the package that it names, as a global or in its closure, is compiled too; the few that cannot be
    (`select`, the fused multiply-adds) have a form for scalars. Raises InstructionError for what works on arrays alone
    (f64 in directed rounding); ImportError without Numba.

    >>> from simlayout.machine.arithmetic.integers import divide_unsigned
    >>> compile_scalar(divide_unsigned)(U64(7), U64(2))     # doctest: +SKIP
    3
    """
    import numba

    if not _DONE:
        _DONE.update(_scalar_forms(numba))
    made = _DONE.get(function)
    if made is None:
        if getattr(function, "arrays_only", False):
            raise InstructionError(f"{function.__qualname__} works on arrays alone")
        made = _DONE[function] = numba.njit(_bound(function), error_model="numpy", inline="never")
    return made


def _bound(function):
    """A copy of a function whose globals and closure hold compiled functions in the place of ours."""
    names = {name: _compiled(value) for name, value in function.__globals__.items() if name in _named(function.__code__)}
    closure = tuple([types.CellType(_compiled(cell.cell_contents)) for cell in function.__closure__ or ()])
    made = types.FunctionType(function.__code__, names | {"__builtins__": __builtins__, "__name__": function.__module__},
                              function.__name__, function.__defaults__, closure)
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


def _named(code):
    return set(code.co_names)


def _compiled(value):
    ours = isinstance(value, types.FunctionType) and value.__module__.startswith(_PACKAGES)
    return compile_scalar(value) if ours else value


def _scalar_forms(numba):
    """{function: its form for scalars} of those that Numba cannot compile as they stand."""
    from numba.core import types as numba_types
    from numba.extending import intrinsic

    @numba.njit
    def select(condition, yes, no):
        return yes if condition else no

    def fused(width):
        @intrinsic
        def fma(context, a, b, c):
            kind = {32: numba_types.float32, 64: numba_types.float64}[width]

            def generate(context, builder, signature, args):
                return builder.fma(*args)

            return kind(kind, kind, kind), generate

        @numba.njit
        def call(a, b, c):
            return fma(a, b, c)

        return call

    return {primitives.select: select, numerics_fma.fma: fused(64), numerics_fma.fma_f32: fused(32)}
