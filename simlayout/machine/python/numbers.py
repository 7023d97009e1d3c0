"""The numbers of a kernel and their types, as Numba gives them: what the CPU machine computes with.

A lane-varying number is a NumPy array [32] of its type's dtype, a uniform one a Python int (s64), float (f64) or bool (b1),
or a NumPy scalar of the other types. Numba widens every 32-bit integer that it adds, multiplies or compares, so a signed one
is kept in 64 bits from the start: s32 and s64 are one type here.

The tables say what Numba infers; `tests/machine/test_machine_numbers.py` asks the installed numba-cuda for every pair.
"""

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import MachineError

KINDS = "b1", "s64", "u32", "u64", "f16", "f32", "f64"
"""The types: bool, signed and unsigned integers, floats."""

DTYPE = {kind: np.dtype(bool) if kind == "b1" else TYPES[kind].plain for kind in KINDS}
_KIND = {np.dtype(name): kind for kind, names in {
    "b1": ("bool",), "s64": ("int8", "int16", "int32", "int64"), "u32": ("uint8", "uint16", "uint32"), "u64": ("uint64",),
    "f16": ("float16",), "f32": ("float32",), "f64": ("float64",)}.items() for name in names}
_UNIFORM = {bool: "b1", int: "s64", float: "f64"} | {dtype.type: kind for dtype, kind in _KIND.items()}

FLOATS = "f16", "f32", "f64"
UNSIGNED = {"u32", "u64"}
LEAST, MOST, BITS_64, BITS_32 = -2**63, 2**63 - 1, 2**64 - 1, 2**32 - 1


def _table(text):
    """{(row, column): entry} of a table whose first line names the columns and whose lines begin with their row."""
    head, *rows = (line.split() for line in text.strip().splitlines())
    return {(row, column): entry for row, *entries in rows for column, entry in zip(head, entries, strict=True)}


ARITHMETIC = _table("""
        b1   s64  u32  u64  f32  f64
    b1  s64  s64  s64  s64  f32  f64
    s64 s64  s64  s64  s64  f64  f64
    u32 s64  s64  u64  u64  f64  f64
    u64 s64  s64  u64  u64  f64  f64
    f32 f32  f64  f64  f64  f32  f64
    f64 f64  f64  f64  f64  f64  f64
""")
"""+ - * // %: the type that both operands are cast to, and that the result has (numba.cuda.typing.builtins: integers of 64
bits, signed if either is; an integer with a float is f64)."""

COMPARISON = _table("""
        b1   s64  u32  u64  f32  f64
    b1  b1   s64  u32  u64  f32  f64
    s64 s64  s64  s64  f64  f64  f64
    u32 u32  s64  u32  u64  f64  f64
    u64 u64  f64  u64  u64  f64  f64
    f32 f32  f64  f64  f64  f32  f64
    f64 f64  f64  f64  f64  f64  f64
""")
"""< <= > >= == !=: the type that both operands are cast to; signed with unsigned 64-bit integers meet in f64."""

UNIFIED = COMPARISON
"""The one type of a name that is assigned both types (`typing context.unify_pairs`): the same table."""


def kind_of(value):
    """The type of a number, None of anything else.

    >>> kind_of(5), kind_of(np.float32(1)), kind_of(np.zeros(32, np.uint32)), kind_of("5")
    ('s64', 'f32', 'u32', None)
    """
    if value.__class__ is np.ndarray:
        return _KIND.get(value.dtype) if value.ndim else None
    kind = _UNIFORM.get(value.__class__)
    if kind is None and isinstance(value, np.ndarray):
        return _KIND.get(value.dtype) if value.ndim else None
    if kind is None:
        kind = next((k for t, k in _UNIFORM.items() if isinstance(value, t)), None)
    if kind == "s64" and not LEAST <= value <= MOST:
        if not 0 <= value <= BITS_64:
            raise MachineError(f"the integer {value} does not fit in 64 bits: no register holds it")
        return "u64"
    return kind


def wrapped(value):
    """A Python int as 64-bit arithmetic leaves it, signed.

    >>> wrapped(2**63)
    -9223372036854775808
    """
    return (value + 2**63 & BITS_64) - 2**63


def unified(*kinds):
    """The common type of several types."""
    one = kinds[0]
    for kind in kinds[1:]:
        if one != kind:
            one = UNIFIED.get((one, kind)) or ("f32" if "f32" in (one, kind) else
                                               "f16" if "b1" in (one, kind) else "f64")
    return one


def cast(value, kind, active=None):
    """A number as another type: integers wrap, floats round to nearest even, as `cvt` does.

    value: lane-varying or uniform. active: bool [32], the lanes whose floats must fit in an integer type; all by default.
    Raises MachineError where a float does not fit: LLVM leaves the result undefined.

    >>> cast(-1, "u32"), cast(2.75, "s64"), cast(0.1, "f32")
    (np.uint32(4294967295), 2, np.float32(0.1))
    """
    old = kind_of(value)
    if old == kind and value.__class__ in _PLAIN and (kind != "u64" or value.__class__ is not int):
        return value if value.__class__ is not np.ndarray else value.astype(DTYPE[kind], copy=False)
    if old in FLOATS and kind in _RANGE:
        _require_fit(value, kind, active)
    if isinstance(value, np.ndarray):
        if kind == "b1":
            return value != 0
        return value if value.dtype is DTYPE[kind] else value.astype(DTYPE[kind])
    if kind == "s64":
        return wrapped(int(value))
    if kind == "b1":
        return bool(value != 0)
    if kind == "f64":
        return float(value)
    if kind in FLOATS:
        return DTYPE[kind].type(value)
    return DTYPE[kind].type(int(value) & (BITS_32 if kind == "u32" else BITS_64))


_PLAIN = {np.ndarray, bool, int, float, np.uint32, np.uint64, np.float16, np.float32}
_NARROW = {kind: TYPES[kind].plain for kind in ("s8", "s16", "u8", "u16")}
_RANGE = {kind: (float(least - 1), float(most + 1)) for kind in (*_NARROW, "s32", "u32", "s64", "u64")
          for least, most in (TYPES[kind].limits,)}
"""The floats that truncate into an integer type: above the first, or equal for s64, and below the second."""


def _require_fit(value, kind, active=None):
    low, high = _RANGE[kind]
    number = np.asarray(value, np.float64)
    fits = ((number >= low) if kind == "s64" else (number > low)) & (number < high)
    outside = ~fits if active is None or not number.ndim else active & ~fits
    if outside.any():
        first = number[outside][0] if number.ndim else number
        raise MachineError(f"{first} does not fit in {kind}: the cast is undefined; clamp it before, with min and max")


def s32(value, active=None):
    """A number cast to a signed 32-bit integer, kept in 64 bits."""
    if value.__class__ is int and -2**31 <= value < 2**31:
        return value
    if kind_of(value) in FLOATS:
        _require_fit(value, "s32", active)
    if isinstance(value, np.ndarray):
        return value.astype(np.int64).astype(np.int32).astype(np.int64)
    return ((int(value) & BITS_32) ^ 2**31) - 2**31


def _narrowed(value, kind, active):
    """A number cast to an integer of 8 or 16 bits, which keeps this dtype until something is done with it."""
    if kind_of(value) in FLOATS:
        _require_fit(value, kind, active)
        value = cast(value, "s64", active)
    narrow = np.asarray(value).astype(_NARROW[kind])
    return narrow if narrow.ndim else narrow[()]


CASTS = {"s32": s32, "b32": lambda value, active=None: cast(value, "u32", active),
         "b16": lambda value, active=None: cast(cast(value, "u32", active) & np.uint32(0xFFFF), "u32")}
CASTS |= {kind: lambda value, active=None, kind=kind: cast(value, kind, active) for kind in KINDS}     # type: ignore[misc]
CASTS |= {kind: lambda value, active=None, kind=kind: _narrowed(value, kind, active) for kind in _NARROW}  # type: ignore[misc]
"""How a number becomes an operand or a result of an instruction: its declared type -> (value, active) -> value."""


_AS_IT_IS = {kind: TYPES[kind].plain for kind in ("b32", "u32", "u64", "f32", "f64")}
"""Declared type -> the dtype of the lanes that have it already."""


def operands(kinds, values, active):
    """The operands of an instruction, cast to its declared types. Uniform integers come as Python ints, unsigned lanes as
    uint32 or uint64; what is no number (a pointer, a tensor map) comes as it is."""
    casts = []
    for kind, value in zip(kinds, values):               # `call` has compared their lengths
        form = value.__class__
        if form is np.ndarray and value.dtype is _AS_IT_IS.get(kind) or \
                form is int and 0 <= value < 2**31 and kind[0] != "f" or kind_of(value) is None:
            casts.append(value if form is np.ndarray or form is int else _pointer(kind, value))
        else:
            new = CASTS[kind](value, active)
            casts.append(int(new) if isinstance(new, np.integer | bool) else new)
    return casts


def _pointer(kind, value):
    """An operand that is no number: what a 64-bit address stands for."""
    if isinstance(value, np.ndarray):
        return value[()]
    if kind != "u64" or value is None or isinstance(value, str | complex | tuple | list):
        raise MachineError(f"an operand of type {kind} is a number, not {type(value).__name__}")
    return value


def results(kinds, value):
    """What a twin returned, as the types that its instruction declares: one number, or a tuple of them."""
    if len(kinds) == 1:
        return _result(kinds[0], value)
    return tuple([_result(kind, v) for kind, v in zip(kinds, value, strict=True)])


def _result(kind, value):
    if value.__class__ is np.ndarray and value.dtype is _AS_IT_IS.get(kind) or kind_of(value) is None:
        return value
    return CASTS[kind](value)


def choose(lanes, ours, theirs):
    """`ours` in the lanes of a mask, `theirs` in the others, in the type of a name that holds both; numbers."""
    kind = unified(kind_of(ours), kind_of(theirs))
    return np.where(lanes, cast(ours, kind), cast(theirs, kind))
