"""f32 and f64 arithmetic as an sm_90 GPU computes it: rounding, subnormals, NaN.

PTX ISA, Floating Point Instructions. f32: every NaN that arithmetic makes is 0x7fffffff; .ftz takes subnormal operands and
results for zeros of their sign; .sat clamps to 0 and 1, NaN to +0. f64: a NaN keeps its payload and its sign, whatever sign
the instruction gives to its operands; of two NaN operands the second one counts (of quotients the first one), of the three
of fma the second one, or else the third one (measured on an H200, 2026-11-23, with the operands in the order of PTX; ptxas
may swap those of a sum or a product).
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.exact import exactly_rounded
from simlayout.machine.arithmetic.primitives import (
    F32,
    F64,
    U64,
    Carrier,
    as_f64,
    bits_f64,
    float_f64,
    same,
    select,
    with_operands,
)
from simlayout.machine.arithmetic.rounding import flush_tiny, odd_sum, rounder_f32
from simlayout.numerics.fma import INVALID, NAN_F32, fma

_NAN = F32(NAN_F32)
_INVALID = F64(INVALID.view(np.float64))
_LEAST_NORMAL, _ZERO, _ONE = F32(2.0**-126), F32(0), F32(1)
_Z, _MINUS_Z, _ONE_64 = F64(0), F64(-0.0), F64(1)
_U0, _SIGN_64, _QUIET = U64(0), U64(1 << 63), U64(1 << 51)


# ---- what happens before and after an operation

def canonical_f32(x: Carrier) -> Carrier:
    """NaN as f32 arithmetic makes it.

    >>> hex(canonical_f32(np.float32("nan")).view(np.uint32))
    '0x7fffffff'
    """
    return select(x == x, x, _NAN)


def flush_f32(x: Carrier) -> Carrier:
    """.ftz: subnormal numbers as zeros of their sign.

    >>> float(flush_f32(np.float32(-1e-40)))
    -0.0
    """
    return select(np.abs(x) < _LEAST_NORMAL, x * _ZERO, x)


def saturate_f32(x: Carrier) -> Carrier:
    """.sat: at least +0, at most 1; NaN becomes +0.

    >>> [float(saturate_f32(np.float32(x))) for x in (-2, 0.5, 3, "nan")]
    [0.0, 0.5, 1.0, 0.0]
    """
    return select(x > _ZERO, select(x < _ONE, x, _ONE), _ZERO)


def quiet_f64(x: Carrier) -> Carrier:
    """A NaN without its signalling bit."""
    return float_f64(bits_f64(x) | _QUIET)


def nan_of_two(made: Carrier, a: Carrier, b: Carrier) -> Carrier:
    """A result of f64 arithmetic; where it is NaN, the quiet NaN of b or else of a, or that of an invalid operation."""
    return select(made == made, made, select(b != b, quiet_f64(b), select(a != a, quiet_f64(a), _INVALID)))


def nan_of_three(made: Carrier, a: Carrier, b: Carrier, c: Carrier) -> Carrier:
    """As `nan_of_two`, of b, c or a, in this order."""
    return select(made == made, made, select(b != b, quiet_f64(b), nan_of_two(made, a, c)))


def nan_of_one(made: Carrier, a: Carrier) -> Carrier:
    """As `nan_of_two`, of one operand."""
    return select(made == made, made, select(a != a, quiet_f64(a), _INVALID))


# ---- f32, to nearest

def _add(a, b):
    return a + b


def _subtract(a, b):
    return a - b


def _multiply(a, b):
    return a * b


def _divide(a, b):
    return a / b


def _reciprocal(a):
    return _ONE / a


def _root(a):
    return np.sqrt(a)


def fused_f32(a: Carrier, b: Carrier, c: Carrier) -> Carrier:
    """a * b + c of f32, rounded once; compiled code has the processor's instruction in its place.

    >>> float(fused_f32(np.float32(3), np.float32(2), np.float32(1)))
    7.0
    """
    return F32(odd_sum(as_f64(a) * as_f64(b), as_f64(c)))


# ---- f32, directed: in f64, whose result is exact, or rounded to odd, or of a quotient or root (see `rounding`)

def _wide_sum(a, b):
    return odd_sum(as_f64(a), as_f64(b))


def _wide_difference(a, b):
    return odd_sum(as_f64(a), -as_f64(b))


def _wide_product(a, b):
    return as_f64(a) * as_f64(b)


def _wide_quotient(a, b):
    return as_f64(a) / as_f64(b)


def _wide_reciprocal(a):
    return F64(_ONE) / as_f64(a)


def _wide_root(a):
    return np.sqrt(as_f64(a))


def _wide_fuse(a, b, c):
    return odd_sum(as_f64(a) * as_f64(b), as_f64(c))


def _sum_down(a, b):
    return _zero_down(odd_sum(as_f64(a), as_f64(b)), as_f64(a), as_f64(b))


def _difference_down(a, b):
    return _zero_down(odd_sum(as_f64(a), -as_f64(b)), as_f64(a), -as_f64(b))


def _fuse_down(a, b, c):
    product = as_f64(a) * as_f64(b)
    return _zero_down(odd_sum(product, as_f64(c)), product, as_f64(c))


def _zero_down(total, x, y):
    """A sum rounded toward minus infinity: one that is zero is -0, but of two +0."""
    positive = (bits_f64(x) | bits_f64(y)) & _SIGN_64 == _U0
    return select((total == _Z) & ~((x == _Z) & positive), _MINUS_Z, total)


_OPERATIONS = {
    # name: (operands, to nearest, wide, wide toward minus infinity)
    "add": (2, _add, _wide_sum, _sum_down),
    "sub": (2, _subtract, _wide_difference, _difference_down),
    "mul": (2, _multiply, _wide_product, _wide_product),
    "div": (2, _divide, _wide_quotient, _wide_quotient),
    "rcp": (1, _reciprocal, _wide_reciprocal, _wide_reciprocal),
    "sqrt": (1, _root, _wide_root, _wide_root),
    "fma": (3, fused_f32, _wide_fuse, _fuse_down),
}


@cache
def f32(name: str, mode: str = "rn", ftz: bool = False, sat: bool = False) -> Callable:
    """add, sub, mul, div, rcp, sqrt or fma of f32.

    >>> float(f32("add", "rz")(np.float32(1), np.float32(-2.0**-80))) == 1 - 2.0**-24
    True
    """
    operands, nearest, wide, down = _OPERATIONS[name]
    mode = mode or "rn"
    tiny = ftz and name in _TINY_RESULTS
    if mode == "rn" and not tiny:
        return lanes_f32(nearest, operands, ftz, sat)
    round_to = rounder_f32(mode)
    return lanes_f32(_rounded(wide if mode != "rm" else down, operands, _flushed(round_to, mode) if tiny else round_to),
                     operands, ftz, sat)


_TINY_RESULTS = {"mul", "div", "rcp", "fma"}
"""Operations whose subnormal results may be inexact: .ftz must see them before they are rounded."""


@cache
def _flushed(round_to, mode):
    drop = flush_tiny(mode)

    def rounded(x):
        return drop(x, round_to(x))

    return rounded


def _rounded(wide, operands, round_to):
    def one(a):
        return round_to(wide(a))

    def two(a, b):
        return round_to(wide(a, b))

    def three(a, b, c):
        return round_to(wide(a, b, c))

    return with_operands(operands, one, two, three)


@cache
def lanes_f32(operation: Callable, operands: int, ftz: bool, sat: bool) -> Callable:
    """An operation of f32 with .ftz and .sat, and the canonical NaN."""
    enter = flush_f32 if ftz else same
    leave = flush_f32 if ftz else same
    end = saturate_f32 if sat else canonical_f32

    def one(a):
        return end(leave(operation(enter(a))))

    def two(a, b):
        return end(leave(operation(enter(a), enter(b))))

    def three(a, b, c):
        return end(leave(operation(enter(a), enter(b), enter(c))))

    return with_operands(operands, one, two, three)


# ---- f64

def add_f64(a: Carrier, b: Carrier) -> Carrier:
    """add.rn.f64. A NaN is b's, or else a's (H200, 2026-11-23).

    >>> float(add_f64(np.float64(1), np.float64(2)))
    3.0
    """
    return nan_of_two(a + b, a, b)


def add_f64_in_l2(a: Carrier, b: Carrier) -> Carrier:
    """What atom.add.f64 on global memory makes of what is there and its operand: a NaN is b's, or else a's, and stays a
    signalling one (measured on an H200, 2026-11-23).

    >>> with np.errstate(invalid="ignore"):
    ...     hex(add_f64_in_l2(*np.uint64([[0x7FF0000000000001], [1]]).view(np.float64)).view(np.uint64)[0])
    '0x7ff0000000000001'
    """
    return select(b != b, b, select(a != a, a, nan_of_two(a + b, a, b)))


def subtract_f64(a: Carrier, b: Carrier) -> Carrier:
    """sub.rn.f64. A NaN is b's, with its sign, or else a's (H200, 2026-11-23).

    >>> float(subtract_f64(np.float64(1), np.float64(2)))
    -1.0
    """
    return nan_of_two(a - b, a, b)


def multiply_f64(a: Carrier, b: Carrier) -> Carrier:
    """mul.rn.f64. A NaN is b's, or else a's (H200, 2026-11-23).

    >>> float(multiply_f64(np.float64(3), np.float64(2)))
    6.0
    """
    return nan_of_two(a * b, a, b)


def fused_f64(a: Carrier, b: Carrier, c: Carrier) -> Carrier:
    """a * b + c of f64, rounded once, but for the bits of NaN; compiled code has the processor's instruction in its place.

    >>> float(fused_f64(np.float64(3), np.float64(2), np.float64(1)))
    7.0
    """
    return fma(*np.broadcast_arrays(a, b, c))


def fuse_f64(a: Carrier, b: Carrier, c: Carrier) -> Carrier:
    """fma.rn.f64. A NaN is b's, c's, or else a's (H200, 2026-11-23).

    >>> float(fuse_f64(*np.float64([[3], [2], [1]]))[0])
    7.0
    """
    return nan_of_three(fused_f64(a, b, c), a, b, c)


def divide_f64(a: Carrier, b: Carrier) -> Carrier:
    """div.rn.f64. A NaN is a's, or else b's (H200, 2026-11-23).

    >>> float(divide_f64(np.float64(3), np.float64(2)))
    1.5
    """
    return nan_of_two(a / b, b, a)


def reciprocal_f64(a: Carrier) -> Carrier:
    """rcp.rn.f64.

    >>> float(reciprocal_f64(np.float64(2)))
    0.5
    """
    return nan_of_one(_ONE_64 / a, a)


def root_f64(a: Carrier) -> Carrier:
    """sqrt.rn.f64.

    >>> float(root_f64(np.float64(9)))
    3.0
    """
    return nan_of_one(np.sqrt(a), a)


_OPERATIONS_F64: dict[str, Callable] = {
    "add": add_f64, "sub": subtract_f64, "mul": multiply_f64, "fma": fuse_f64, "div": divide_f64, "rcp": reciprocal_f64,
    "sqrt": root_f64}


@cache
def f64(name: str, mode: str = "rn") -> Callable:
    """add, sub, mul, div, rcp, sqrt or fma of f64; in directed rounding on arrays alone, number by number.

    >>> float(f64("add", "rp")(np.float64(1), np.float64(2.0**-80))) == 1 + 2.0**-52
    True
    """
    nearest = _OPERATIONS_F64[name]
    return nearest if mode in ("", "rn") else exactly_rounded(name, mode, nearest)
