"""Sums of products: where a GPU rounds once, and where twice.

The compiler fuses `x * y + z` of floats into one fma where everything that uses the product adds to it or subtracts from it
(seen in the PTX of NVVM 13 and the machine code of ptxas for sm_90: `tests/machine/test_machine_products.py`). It is certain
where the product stands in the sum itself, does not occur elsewhere, and is not the same in every turn of a loop
(`contraction`). Else both roundings are worked out, and a sum that depends on them is refused: by name,
with what to write instead.
"""

import numpy as np

from simlayout.errors import MachineError
from simlayout.numerics.fma import NAN_F32, fma_f32
from simlayout.numerics.fma import fma as fma_f64


class Product(np.ndarray):
    """Lane-varying x * y, rounded, that knows its factors. maybe: whether it may be no product to the compiler."""

    factors, maybe = None, False


class UniformF64(float):
    """Uniform x * y in f64 that knows its factors."""

    factors, maybe = None, False


class UniformF32(np.float32):
    """Uniform x * y in f32 that knows its factors."""

    factors, maybe = None, False


def fma(a, b, c):
    """a * b + c rounded once; f32 if c is, else f64; lane-varying or uniform."""
    if getattr(c, "dtype", None) == np.float32:
        return fma_f32(_plain(a), _plain(b), _plain(c))
    result = fma_f64(*(np.array(x) for x in np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (a, b, c)))))
    return result if result.ndim else float(result)


def _canonical(values, kind):
    """f32 with the NaN that a GPU makes."""
    if kind == "f32":
        strange = values != values
        if strange.any() if strange.ndim else strange:
            return np.where(strange, NAN_F32, values) if strange.ndim else NAN_F32
    return values


def multiplied(warp, symbol, kind, a, b, x, y, direct):
    """x * y, floats of one type: a number that knows its factors."""
    product = _canonical(np.multiply(_plain(x), _plain(y)), kind)
    for one, other in ((x, y), (y, x)):
        if not isinstance(one, np.ndarray) and one == 1 and getattr(other, "factors", None):
            return _known(product, kind, other.factors, True)   # the compiler leaves a multiplication with 1 out
    return _known(product, kind, (x, y))


def divided(kind, x, y):
    """x / y, floats of one type. The compiler leaves a division by 1 out, and makes one by a power of two a product."""
    quotient = _canonical(np.true_divide(_plain(x), _plain(y)), kind)
    if not isinstance(y, np.ndarray) and y == 1 and getattr(x, "factors", None):
        return _known(quotient, kind, x.factors, True)
    if not isinstance(y, np.ndarray) and abs(np.frexp(y)[0]) == 0.5 and np.isfinite(type(y)(1) / y):
        return _known(quotient, kind, (x, type(y)(1) / y), True)
    return quotient if quotient.ndim else (float(quotient) if kind == "f64" else quotient[()])


def _known(values, kind, factors, maybe=False):
    """A rounded product as one that knows its factors."""
    if values.ndim:
        values = values.view(Product)
    else:
        values = UniformF64(values) if kind == "f64" else UniformF32(values)
    values.factors, values.maybe = factors, maybe
    return values


def minus(value):
    """-value of a float; of a product, a product."""
    factors = getattr(value, "factors", None)
    result = -_plain(value)
    if factors is None:
        return result if result.ndim else (float(result) if isinstance(value, float) else result)
    kind = "f32" if result.dtype == np.float32 else "f64"
    return _known(result, kind, (minus(_plain_uniform(factors[0])), factors[1]), value.maybe)


def _plain(value):
    return np.asarray(value) if value.__class__ is not np.ndarray else value


def _plain_uniform(value):
    """A factor without its own factors."""
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    return float(value) if isinstance(value, float) else np.float32(value)


def added(warp, symbol, kind, a, b, x, y, direct):
    """x + y or x - y, floats of one type, of which either may be a product.

    a, b: the operands before they were cast; direct: 1 if the left one is a product that is surely fused, 2 if the right
    one is, 3 if both are.
    """
    result = _sum(symbol, kind, x, y)
    ours = getattr(a, "factors", None) if x is a else None
    theirs = getattr(b, "factors", None) if y is b else None
    if ours is None and theirs is None:
        return result
    products = []
    if ours is not None and not _is_factor(a, theirs):
        products.append(fma(*ours, y if symbol == "+" else minus(_plain_uniform(y))))
    if theirs is not None and not _is_factor(b, ours):
        left, right = theirs
        products.append(fma(left if symbol == "+" else minus(_plain_uniform(left)), right, x))
    sure = direct & 1 and _varies(ours) and not a.maybe or direct & 2 and _varies(theirs) and not b.maybe
    if not sure:
        products.append(result)
    for other in products[1:]:
        _require_same(warp, symbol, products[0], other)
    return products[0] if products else result


def _varies(factors):
    """Whether a product is worked out by the GPU: of two uniform numbers the compiler may know it."""
    return factors is not None and any(isinstance(f, np.ndarray) for f in factors)


def _is_factor(product, factors):
    """Whether a product is also multiplied with: then it is there, rounded."""
    return factors is not None and any(product is f for f in factors)


def _sum(symbol, kind, x, y):
    result = _canonical((np.add if symbol == "+" else np.subtract)(_plain(x), _plain(y)), kind)
    return result if result.ndim else (float(result) if kind == "f64" else result)


def _require_same(warp, symbol, one, other):
    one, other = np.broadcast_arrays(np.asarray(one), np.asarray(other))
    same = (one == other) | (one != one) & (other != other)
    if (same | ~warp.active if same.ndim else same).all():
        return
    suffix = "f32" if one.dtype == np.float32 else "f64"
    raise MachineError(f"a product is {'added to' if symbol == '+' else 'subtracted from'} here, and whether the compiler "
                       "fuses the two depends on where else it is used: write "
                       f"fma_rn_{suffix}(x, y, z) for one rounding, or mul_rn_{suffix}(x, y) for a rounded product")
