"""The operators of a kernel: `a + b` of lanes and uniform numbers as Numba types it and a GPU computes it.

The rewriter puts `OPERATORS["add"](warp, a, b)` in the place of `a + b`. Every operator first tries the case that kernels
consist of, 64-bit signed integers; all others go by the tables of `numbers`.
"""

import operator

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.engine.tags import Tagged
from simlayout.machine.python.numbers import (
    ARITHMETIC,
    BITS_64,
    COMPARISON,
    DTYPE,
    FLOATS,
    LEAST,
    MOST,
    cast,
    kind_of,
    wrapped,
)
from simlayout.machine.python.products import added, divided, multiplied

_S64 = DTYPE["s64"]
_ARRAY = np.ndarray


def _instead(symbol, a, b):
    names = [kind_of(x) or type(x).__name__ for x in (a, b)]
    advice = "cast to f32 first" if "f16" in names else "cast one of them"
    if any(map(_no_array, (a, b))):
        advice = "memory is passed as a NumPy array (of a tensor on the CPU x.numpy(), which shares it)"
    return MachineError(f"`{symbol}` of {names[0]} and {names[1]} is not what Numba compiles: {advice}")


def _no_array(value):
    """Whether it is what somebody passes for an array, which NumPy would add to the lanes element by element."""
    return value is None or isinstance(value, list | tuple) or hasattr(value, "__dlpack__") and not isinstance(value, _ARRAY)


def _of_objects(symbol, native, a, b):
    """An operator on what is no number: pointers move by signed distances; everything else as it is."""
    a, b = (cast(x, "s64") if kind_of(x) in ("u32", "u64") else x for x in (a, b))
    if isinstance(b, _ARRAY) and _no_array(a) or isinstance(a, _ARRAY) and _no_array(b):
        raise _instead(symbol, a, b)
    try:
        return native(a, b)
    except TypeError:
        raise _instead(symbol, a, b) from None


def _typed(table, symbol, native, a, b):
    """(the operands' common type by a table, both cast to it); of objects, (None, the result, None)."""
    ours, theirs = kind_of(a), kind_of(b)
    if ours is None or theirs is None:
        return None, _of_objects(symbol, native, a, b), None
    kind = table.get((ours, theirs))
    if kind is None:
        raise _instead(symbol, a, b)
    return kind, cast(a, kind), cast(b, kind)


def _uniform(kind, value):
    """A Python int as a uniform number of an integer type."""
    return wrapped(value) if kind == "s64" else DTYPE[kind].type(value & BITS_64)


def _integers(symbol, native, ufunc, of_floats):
    """+, - or *: integers wrap. (Signed ones are undefined in what Numba makes of them, nsw; that they wrap is what the
    instructions of a GPU do. Of uniform ones the Trace says so.)"""
    def operate(warp, a, b, direct=0):
        ta, tb = a.__class__, b.__class__
        if ta is int:
            if tb is int:
                result = native(a, b)
                if LEAST <= result <= MOST:
                    return result
                if kind_of(a) == kind_of(b) == "s64":
                    warp.doubt("signed overflow: it wraps here, but Numba promises LLVM that it never happens: count in u64")
                    return wrapped(result)
            if tb is _ARRAY and b.dtype is _S64:
                return native(a, b)
        elif ta is _ARRAY and a.dtype is _S64 and (tb is int or tb is _ARRAY and b.dtype is _S64):
            return native(a, b)
        if (ta is Tagged and a.dtype is _S64 or ta is int or ta is _ARRAY and a.dtype is _S64) and (
                tb is Tagged and b.dtype is _S64 or tb is int):
            return native(a, b)
        kind, x, y = _typed(ARITHMETIC, symbol, native, a, b)
        if kind in FLOATS:
            return of_floats(warp, symbol, kind, a, b, x, y, direct)
        if kind is None:
            return x
        if isinstance(x, _ARRAY) or isinstance(y, _ARRAY):
            return ufunc(x, y)
        return _uniform(kind, native(int(x), int(y)))

    return operate


def _bits(symbol, native, ufunc):
    """&, | or ^."""
    def operate(warp, a, b):
        ta, tb = a.__class__, b.__class__
        if ta is int and tb is int or ta is _ARRAY and a.dtype is _S64 and tb is int:
            return native(a, b)
        both = kind_of(a) == kind_of(b) == "b1"
        kind, x, y = ("b1", a, b) if both else _typed(ARITHMETIC, symbol, native, a, b)
        if kind is None:
            return x
        if kind in FLOATS:
            raise _instead(symbol, a, b)
        if isinstance(x, _ARRAY) or isinstance(y, _ARRAY):
            return ufunc(x, y)
        return native(bool(a), bool(b)) if both else _uniform(kind, native(int(x), int(y)))

    return operate


def _shift(symbol, native, ufunc):
    """<< or >>: of 64 bits, by 0 to 63. By more LLVM leaves undefined what comes out."""
    def operate(warp, a, b):
        if b.__class__ is int and 0 <= b < 64:
            if a.__class__ is int:
                result = native(a, b)
                return result if LEAST <= result <= MOST else wrapped(result)
            if a.__class__ is _ARRAY and a.dtype is _S64:
                return native(a, b)
        ours, theirs = kind_of(a), kind_of(b)
        if ours is None or theirs is None:
            return _of_objects(symbol, native, a, b)
        if ours in FLOATS or theirs in FLOATS:
            raise _instead(symbol, a, b)
        outside = (np.asarray(b) < 0) | (np.asarray(b) > 63)
        if (outside & warp.active if outside.ndim else outside).any():
            lane = int(np.argmax(outside & warp.active)) if outside.ndim else None
            amount = b[lane] if outside.ndim else b
            raise MachineError(f"`{symbol}` by {amount}: a shift of 64 bits by less than 0 or more than 63 is undefined")
        kind = "u64" if ours in ("u32", "u64") else "s64"
        if isinstance(a, _ARRAY) or isinstance(b, _ARRAY):
            return ufunc(cast(a, kind), np.asarray(b & 63).astype(DTYPE[kind]))
        return _uniform(kind, native(int(a), int(b)))

    return operate


def _divided(symbol, native):
    """// or % of integers rounds down; by zero, and of the least number by -1, Numba's is 0."""
    quotient = symbol == "//"
    ufunc = np.floor_divide if quotient else np.remainder

    def operate(warp, a, b):
        if b.__class__ is int and b > 0 and (a.__class__ is int or a.__class__ is _ARRAY and a.dtype is _S64):
            return native(a, b)
        kind, x, y = _typed(ARITHMETIC, symbol, native, a, b)
        if kind is None:
            return x
        if kind in FLOATS:
            return divided_floats(warp, symbol, kind, x, y)[0 if quotient else 1]
        if isinstance(x, _ARRAY) or isinstance(y, _ARRAY):
            x, y = np.broadcast_arrays(x, y)
            none = (y == 0) | ((x == LEAST) & (y == -1) if kind == "s64" else False)
            return np.where(none, DTYPE[kind].type(0), ufunc(x, np.where(none, DTYPE[kind].type(1), y)))
        x, y = int(x), int(y)
        return _uniform(kind, 0 if y == 0 or (x, y) == (LEAST, -1) else native(x, y))

    return operate


def divided_floats(warp, symbol, kind, x, y):
    """(x // y, x % y) of floats of one type, as the code that Numba compiles rounds it.

    That code multiplies and subtracts, which the assembler may fuse: refused where that would change a result.
    """
    results = [_float_divmod(x, y, fused) for fused in (False, True)]
    for plain, other in zip(*results, strict=True):
        same = (plain == other) | (plain != plain) & (other != other)
        if not (same | ~warp.active if same.ndim else same).all():
            raise MachineError(f"`{symbol}` of floats depends here on whether the assembler fuses a multiplication: write "
                               "math.floor of the quotient, and fma_rn_f32 or mul_rn_f32 for the rest")
    return tuple(v if v.ndim else (float(v) if kind == "f64" else DTYPE[kind].type(v)) for v in results[0])


def _float_divmod(x, y, fused):
    from simlayout.machine.python.products import fma

    x, y = np.broadcast_arrays(np.asarray(x), np.asarray(y))
    one, half, zero = (x.dtype.type(v) for v in (1, 0.5, 0))
    size, width = np.abs(x), np.abs(y)
    count = np.floor(size / width)
    rest = np.asarray(fma(-count, width, size)) if fused else size - count * width
    rest = np.where(x < 0, -rest, rest)
    div = (x - rest) / y
    other = (y < 0) ^ (rest < 0)
    div = np.where((rest != 0) & other, div - one, div)
    low = np.floor(div)
    floor = np.where(div - low > half, low + one, low)
    floor = np.where((div == 0) | np.isnan(div), div * div * x / y, floor)
    mod = np.where(rest != 0, np.where(other, rest + y, rest), np.where(y < 0, -zero, zero))
    return np.where(y == 0, x / y, floor), np.where(y == 0, rest, mod)


def truediv(warp, a, b):
    """a / b: of integers, in f64."""
    kind, x, y = _typed(ARITHMETIC, "/", operator.truediv, a, b)
    if kind is None:
        return x
    if kind not in FLOATS:
        kind, x, y = "f64", cast(a, "f64"), cast(b, "f64")
    return divided(kind, x, y)


def power(warp, a, b, literal=False):
    """a ** b. literal: whether b stands there as a number, which Numba makes multiplications of."""
    ours, theirs = kind_of(a), kind_of(b)
    if ours is None or theirs is None:
        return _of_objects("**", operator.pow, a, b)
    if literal and theirs == "s64" and b in (1, 2, 3):
        result = a if b > 1 or ours != "b1" else cast(a, "s64")
        for _ in range(b - 1):
            result = OPERATORS["mul"](warp, result, a)
        return result
    if ours == "b1" or theirs == "b1":
        raise _instead("**", a, b)
    kind = ARITHMETIC.get((ours, theirs))
    if kind is None:
        raise _instead("**", a, b)
    if kind not in FLOATS:
        return _integer_power(warp, kind, a, b)
    if ours == "f32" and theirs != "f64":
        kind = "f32"
    warp.approximate("**")
    result = np.power(cast(a, "f64"), cast(b, "f64"), dtype=np.float64)
    return cast(result if result.ndim else float(result), kind)


def _integer_power(warp, kind, a, b):
    """By way of f64, as libdevice goes: exact numbers alone."""
    x, y = np.broadcast_arrays(np.asarray(cast(a, kind)), np.asarray(cast(b, kind)))
    lanes = np.flatnonzero(warp.active) if x.ndim else [()]
    result = np.zeros(x.shape, DTYPE[kind])
    for lane in lanes:
        base, exponent = int(x[lane]), int(y[lane])
        known = 0 <= exponent and (abs(base) <= 1 or exponent < 64)
        value = base**(exponent if abs(base) > 1 else min(exponent, 2 + exponent % 2)) if known else 2**64
        if abs(value) > 2**53:
            raise MachineError(f"{base} ** {exponent}: a power of integers goes through f64 on a GPU, and this one does not "
                               "fit: write the multiplications out")
        result[lane] = value
    return result if result.ndim else _uniform(kind, int(result))


def _compare(symbol, native):
    def operate(warp, a, b):
        ta, tb = a.__class__, b.__class__
        if (ta is int or ta is _ARRAY and a.dtype is _S64) and (tb is int or tb is _ARRAY and b.dtype is _S64):
            return native(a, b)
        kind, x, y = _typed(COMPARISON, symbol, native, a, b)
        if kind is None:
            return x
        result = native(x, y)
        return result.view(_ARRAY) if isinstance(result, _ARRAY) else bool(result)

    return operate


def _mask(a):
    """The greatest number of the unsigned type of a uniform one."""
    return 256**getattr(a, "itemsize", 8) - 1


def negated(warp, a):
    """-a"""
    if a.__class__ is int:
        return -a if a != LEAST else a
    kind = kind_of(a)
    if kind in ("f32", "f64"):
        from simlayout.machine.python.products import minus

        return minus(a)
    if kind is None:
        return _of_objects("-", lambda x, _: -x, a, None)
    if kind == "f16":
        raise _instead("-", a, a)
    if kind == "u32":                                            # Numba negates before it widens
        return cast(-a if isinstance(a, _ARRAY) else -int(a) & _mask(a), "u64")
    return OPERATORS["sub"](warp, np.uint64(0) if kind == "u64" else 0, a)


def plus(warp, a):
    """+a"""
    kind = kind_of(a)
    return cast(a, "s64") if kind == "b1" else cast(a, "u64") if kind == "u32" else a


def inverted(warp, a):
    """~a: of a bool, the other one."""
    kind = kind_of(a)
    if kind == "b1":
        return ~a if isinstance(a, _ARRAY) else not a
    if kind is None or kind in FLOATS:
        raise MachineError(f"`~` of {kind or type(a).__name__} is not what Numba compiles: cast to an integer first")
    if kind == "s64":
        return ~cast(a, "s64")
    return cast(~a if isinstance(a, _ARRAY) else ~int(a) & _mask(a), "u64")     # Numba inverts before it widens


def _among(warp, a, values, there=True):
    """a in (x, y), or not in."""
    result = not there
    for value in values:
        same = OPERATORS["eq" if there else "ne"](warp, a, value)
        result = result | same if there else result & same
    return result


def _as(warp, a, kind):
    """A value as the type of the name that holds it; of a tuple, a tuple of types."""
    if isinstance(kind, tuple) and isinstance(a, tuple):
        return tuple(_as(warp, x, k) for x, k in zip(a, kind, strict=True))
    return a if isinstance(kind, tuple) or kind_of(a) in (None, kind) else cast(a, kind, warp.active)


OPERATORS = {
    "in": _among, "notin": lambda warp, a, values: _among(warp, a, values, False),
    "add": _integers("+", operator.add, np.add, added), "sub": _integers("-", operator.sub, np.subtract, added),
    "mul": _integers("*", operator.mul, np.multiply, multiplied),
    "floordiv": _divided("//", operator.floordiv), "mod": _divided("%", operator.mod), "truediv": truediv, "pow": power,
    "lshift": _shift("<<", operator.lshift, np.left_shift), "rshift": _shift(">>", operator.rshift, np.right_shift),
    "and": _bits("&", operator.and_, np.bitwise_and), "or": _bits("|", operator.or_, np.bitwise_or),
    "xor": _bits("^", operator.xor, np.bitwise_xor),
    "u64": lambda warp, a: np.uint64(a),
    "as": _as,
    "neg": negated, "pos": plus, "invert": inverted,
    "lt": _compare("<", operator.lt), "le": _compare("<=", operator.le), "gt": _compare(">", operator.gt),
    "ge": _compare(">=", operator.ge), "eq": _compare("==", operator.eq), "ne": _compare("!=", operator.ne),
}
"""What the rewriter binds: name -> function(warp, operands)."""
