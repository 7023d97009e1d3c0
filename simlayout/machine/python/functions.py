"""Builtins and functions of `math` in a kernel: what they mean on the numbers of `numbers`.

Functions that a GPU rounds correctly are bit for bit; of the others the last bit may differ from libdevice's, and the Trace
says so, once per line.
"""

import math

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.engine.tags import Tagged, tag
from simlayout.machine.python.numbers import CASTS, DTYPE, FLOATS, cast, choose, kind_of, unified
from simlayout.machine.python.operators import OPERATORS

_WORST_32 = -2**31


def _number(function, value):
    kind = kind_of(value)
    if kind is None or kind == "f16":
        raise MachineError(f"{function.__name__} of {kind or type(value).__name__} cannot run on the machine: "
                           f"{'cast to f32 first' if kind else 'it takes numbers'}")
    return kind


def _uniform(value):
    return not isinstance(value, np.ndarray)


def _smaller(symbol, ufunc):
    """min or max of two floats is PTX's, in the wider type (a NaN loses); otherwise a comparison and a choice, as Numba
    writes."""
    less = OPERATORS["lt" if symbol == "min" else "gt"]

    def pair(warp, a, b, exact):
        ours, theirs = kind_of(a), kind_of(b)
        kind = unified(ours, theirs)
        if exact and ours in FLOATS and theirs in FLOATS:
            x, y = np.asarray(a, DTYPE[kind]), np.asarray(b, DTYPE[kind])
            result = ufunc(x, y)
            zero = (x == 0) & (y == 0)
            sign = np.signbit(x) | np.signbit(y) if symbol == "min" else np.signbit(x) & np.signbit(y)
            result = np.where(zero, np.where(sign, -DTYPE[kind].type(0), DTYPE[kind].type(0)), result)
            result = np.where((x != x) & (y != y), _nan(kind), result)
            return result if result.ndim else cast(result[()], kind)
        wins = less(warp, b, a)
        if _uniform(wins):
            return cast(b if wins else a, kind)
        return choose(wins, b, a)

    def extreme(warp, function, args, named):
        if named or len(args) < 2:
            raise MachineError(f"{symbol} of {'keywords' if named else 'a sequence'} is not what Numba compiles: write "
                               f"{symbol}(a, b, ...)")
        result = args[0]
        for value in args:
            _number(function, value)
        for value in args[1:]:
            result = pair(warp, result, value, len(args) == 2)
        return result

    return extreme


def _nan(kind):
    return np.uint32(0x7FFFFFFF).view(np.float32) if kind == "f32" else np.float64("nan")


def _cast(names):
    """int, float, bool and NumPy's types: names, the type that each type of number becomes."""
    def make(warp, function, args, named):
        if len(args) != 1 or named or kind_of(args[0]) is None:
            return function(*args, **named)
        kind = kind_of(args[0])
        new = names[kind]
        if new is None:
            raise MachineError(f"{function.__name__}({kind}) is not what Numba compiles: cast to an integer first")
        result = CASTS[new](args[0], warp.active)
        old = args[0]
        return tag(result, old.access, old.marks) if isinstance(old, Tagged) and not isinstance(result, Tagged) else result

    return make


def scalar_cast(warp, name, value):
    """u32(x), f32(x) ...: a number cast to a type of PTX; what is no number (a pointer) comes as it is."""
    return value if kind_of(value) is None else CASTS[name](value, warp.active)


def _absolute(warp, function, args, named):
    value, = args
    kind = _number(function, value)
    if kind == "b1":
        raise MachineError("abs of a bool is not what Numba compiles: cast to an integer first")
    if kind == "s64":
        worst = np.asarray(value) == _WORST_32
        if (worst & warp.active if worst.ndim else worst).any():
            raise MachineError("abs(-2147483648): in 32 bits it is -2147483648, in 64 bits 2147483648; write max(x, -x)")
    if kind in ("u32", "u64"):
        return value
    if _uniform(value) and kind == "s64":
        return OPERATORS["neg"](warp, value) if value < 0 else value
    result = np.abs(np.asarray(value))
    return result if result.ndim else cast(result[()], kind)


def _rounded(warp, function, args, named):
    if len(args) != 1 or named:
        raise MachineError("round to digits cannot run on the machine: scale, round and divide")
    kind = _number(function, args[0])
    wide = cast(args[0], kind if kind in FLOATS else "f32" if kind == "b1" else "f64")
    result = np.rint(np.asarray(wide))
    return cast(result if result.ndim else float(result), "s64", warp.active)


def _divmod(warp, function, args, named):
    a, b = args
    kinds = {kind_of(a), kind_of(b)}
    if kinds & {"u32", "u64"} and kinds & {"s64", "b1"}:
        raise MachineError("divmod of a signed and an unsigned integer is a pair of f64 in Numba: write // and %")
    return OPERATORS["floordiv"](warp, a, b), OPERATORS["mod"](warp, a, b)


def _power(warp, function, args, named):
    return OPERATORS["pow"](warp, *args)


def _refused(advice):
    def refuse(warp, function, args, named):
        raise MachineError(f"{function.__name__} in a kernel cannot run on the machine: {advice}")

    return refuse


def _math(ufunc, exact, result=None):
    """A function of floats; integers become f64. exact: whether a GPU rounds it correctly; result: its type, where it is not
    that of the operands."""
    def compute(warp, function, args, named):
        kinds = [_number(function, a) for a in args]
        kind = unified(*(k if k in FLOATS else "f64" for k in kinds))
        if not exact:
            warp.approximate(f"math.{function.__name__}")
        wide = "f64" if not exact else kind
        values = ufunc(*(np.asarray(cast(a, wide)) for a in args))
        if result == "b1":
            return values if np.ndim(values) else bool(values)
        return cast(values if np.ndim(values) else float(values), kind)

    return compute


def _turned(degree):
    """math.degrees or math.radians: a product, which a sum may be fused with. degree: its other factor."""
    def compute(warp, function, args, named):
        value, = args
        kind = _number(function, value)
        kind = kind if kind in FLOATS else "f64"
        return OPERATORS["mul"](warp, cast(value, kind), cast(degree, kind))

    return compute


def _scaled(warp, function, args, named):
    """math.ldexp, which libdevice rounds once: of a bool it is f32, as Numba types it."""
    value, exponent = args
    kind, whole = _number(function, value), _number(function, exponent)
    if whole in FLOATS:
        raise MachineError(f"math.ldexp by {whole}: the exponent is an integer")
    by = np.asarray(exponent)
    wrong = (by < -2**31) | (by > 2**31 - 1)
    if (wrong & warp.active if wrong.ndim else wrong).any():
        raise MachineError("math.ldexp: the exponent does not fit in s32, to which Numba cuts it: clamp it with min and max")
    kind = kind if kind in FLOATS else "f32" if kind == "b1" else "f64"
    result = np.ldexp(np.asarray(cast(value, kind)), np.where(wrong, 0, by).astype(np.int32))
    if kind == "f32":
        result = np.where(np.isnan(result), _nan(kind), result)
    return result if np.ndim(result) else cast(result[()], kind)


_EXACT = {"sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "fabs": np.abs, "copysign": np.copysign,
          "fmod": np.fmod}
_TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
_CLOSE = {"exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
          "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
          "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
          "acosh": np.arccosh, "atanh": np.arctanh, "hypot": np.hypot, "pow": np.power}
_OTHERS = {name: np.vectorize(getattr(math, name), otypes=[np.float64]) for name in ("erf", "erfc")}
"""Functions of `math` by name: those whose results are bit for bit a GPU's (PTX: sqrt.rn, cvt.rmi ...; libdevice's fmod is
exact), tests, and those that libdevice approximates."""

_INTEGERS = dict.fromkeys(("b1", "s64", "f16", "f32", "f64"), "s64") | {"u32": "u32", "u64": "u64"}
_FLOATS = dict.fromkeys(("s64", "u32", "u64", "f64"), "f64") | {"b1": None, "f16": "f16", "f32": "f32"}


def _always(name):
    return dict.fromkeys(DTYPE, name)


BUILTINS = {
    min: _smaller("min", np.fmin), max: _smaller("max", np.fmax), abs: _absolute, round: _rounded, divmod: _divmod,
    pow: _power, math.degrees: _turned(180 / math.pi), math.radians: _turned(math.pi / 180), math.ldexp: _scaled,
    int: _cast(_INTEGERS), float: _cast(_FLOATS), bool: _cast(_always("b1")),
    sum: _refused("add the numbers in a loop"), sorted: _refused("lanes have no order"),
    np.bool_: _cast(_always("b1")), np.int32: _cast(_always("s32")), np.int64: _cast(_always("s64")),
    np.uint32: _cast(_always("u32")), np.uint64: _cast(_always("u64")), np.float32: _cast(_always("f32")),
    np.float64: _cast(_always("f64")), np.float16: _cast(_always("f16")), np.int8: _cast(_always("s8")),
    np.int16: _cast(_always("s16")), np.uint8: _cast(_always("u8")), np.uint16: _cast(_always("u16")),
}
"""What a kernel may call beside its own functions and instructions: (warp, function, args, named) -> value."""

for _table, _exact, _result in ((_EXACT, True, None), (_TESTS, True, "b1"), (_CLOSE, False, None), (_OTHERS, False, None)):
    BUILTINS |= {getattr(math, name): _math(ufunc, _exact, _result) for name, ufunc in _table.items() if hasattr(math, name)}
