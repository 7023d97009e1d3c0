"""Signs of f32 and f64, and the lesser and greater of two: neg, abs, copysign, min, max.

PTX ISA, Floating Point Instructions. neg and abs are arithmetic on sm_90 (ptxas adds -0), so that of f32 a NaN becomes the
canonical one; of f64 it is made quiet and keeps its sign (measured on an H200, 2026-11-23).
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from simlayout.machine.arithmetic.floats import canonical_f32, flush_f32, lanes_f32, nan_of_one, quiet_f64
from simlayout.machine.arithmetic.primitives import F32, U64, Carrier, bits_f32, bits_f64, float_f32, same, select
from simlayout.numerics.fma import NAN_F32

_NAN = F32(NAN_F32)
_U0, _SIGN_32, _SIGN_64 = U64(0), U64(1 << 31), U64(1 << 63)


def negate_f32(a: Carrier) -> Carrier:
    """neg.f32; a NaN becomes the canonical one.

    >>> float(f32_sign("neg")(np.float32(3)))
    -3.0
    """
    return -a


def absolute_f32(a: Carrier) -> Carrier:
    """abs.f32."""
    return np.abs(a)


@cache
def f32_sign(name: str, ftz: bool = False) -> Callable:
    """neg and abs of f32: arithmetic, so that a NaN becomes the canonical one.

    >>> float(f32_sign("abs", True)(np.float32(-1e-40)))
    0.0
    """
    return lanes_f32({"neg": negate_f32, "abs": absolute_f32}[name], 1, ftz, False)


def negate_f64(a: Carrier) -> Carrier:
    """neg.f64; a NaN keeps its payload and its sign, and is made quiet.

    >>> float(negate_f64(np.float64(3)))
    -3.0
    """
    return nan_of_one(-a, a)


def absolute_f64(a: Carrier) -> Carrier:
    """abs.f64; a NaN keeps its payload and its sign, and is made quiet.

    >>> float(absolute_f64(np.float64(-3)))
    3.0
    """
    return nan_of_one(np.abs(a), a)


def _pick(name, bits_of, sign):
    """min or max of two that are no NaN: -0 lies below +0."""
    def least(a, b):
        return select((a < b) | (a == b) & (bits_of(a) & sign != _U0), a, b)

    def most(a, b):
        return select((a > b) | (a == b) & (bits_of(a) & sign == _U0), a, b)

    return least if name == "min" else most


@cache
def f32_extreme(name: str, ftz: bool = False, nan: bool = False, xorsign: bool = False) -> Callable:
    """min and max of f32: -0 lies below +0, a NaN loses, of two the canonical one remains. nan: one wins, as the canonical
    one; xorsign: of the magnitudes, with the exclusive or of the signs.

    >>> [float(f32_extreme("max", nan=n)(np.float32(1), np.float32("nan"))) for n in (False, True)]
    [1.0, nan]
    """
    enter, pick = flush_f32 if ftz else same, _pick(name, bits_f32, _SIGN_32)

    def loses(a, b):
        return canonical_f32(select(a != a, b, select(b != b, a, pick(a, b))))

    def wins(a, b):
        return select((a != a) | (b != b), _NAN, pick(a, b))

    chosen = wins if nan else loses

    def plain(a, b):
        return chosen(enter(a), enter(b))

    def with_sign(a, b):
        a, b = enter(a), enter(b)
        made = chosen(np.abs(a), np.abs(b))
        sign = (bits_f32(a) ^ bits_f32(b)) & _SIGN_32
        return select(made == made, float_f32(bits_f32(made) | sign), made)

    return with_sign if xorsign else plain


@cache
def f64_extreme(name: str) -> Callable:
    """min and max of f64: -0 lies below +0, a NaN loses; of two b's is left, made quiet (the code of ptxas for sm_90).

    >>> float(f64_extreme("min")(np.float64(1), np.float64("nan")))
    1.0
    """
    pick = _pick(name, bits_f64, _SIGN_64)

    def extreme(a, b):
        return select(a != a, select(b != b, quiet_f64(b), b), select(b != b, a, pick(a, b)))

    return extreme


@cache
def copy_sign(width: int) -> Callable:
    """copysign: b with the sign of a, on raw bits, so that a NaN keeps its own.

    >>> hex(copy_sign(32)(np.uint64(0x80000000), np.uint64(0x3F800000)))
    '0xbf800000'
    """
    sign = _SIGN_32 if width == 32 else _SIGN_64

    def copied(a, b):
        return a & sign | b & ~sign

    return copied
