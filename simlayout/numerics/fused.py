"""Fused sums: a step of a tensor core adds all its products and c at once, in a fixed width (`rules.Rule`, "fused").

The width is also what makes it fast here: counted in its last bit every addend is an integer below 2**27, and the sum of
a step's products one below 2**31.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.numerics.formats import F32_EXPONENTS, FORMATS, SPECIAL_SUM, decode, exact
from simlayout.numerics.rules import ZERO_EXPONENT

NAN = {name: TYPES[name].raw.type(TYPES[name].nan) for name in TYPES["f16"].accumulators}
"""The bits of every NaN that a tensor core returns."""


class Operand(NamedTuple):
    """A [..., k, batch, M] or B [..., k, batch, N]: its raw bits, decoded."""

    format: str
    bits: np.ndarray
    values: np.ndarray
    exponents: np.ndarray

    def part(self, key):
        """The same of some elements."""
        return Operand(self.format, self.bits[key], self.values[key], self.exponents[key])


def operand(format, bits):
    """The Operand of raw bits."""
    return Operand(format, bits, *decode(format, bits))


_PERIOD = 4096


@lru_cache(None)
def _scales(fraction_bits, dtype):
    """2**(fraction_bits - e) at e modulo _PERIOD, for all e from ZERO_EXPONENT up to those of sums with a special in them.

    f32 scales multiply products of narrow formats: they stop where such a product is surely zero.
    """
    e = (np.arange(_PERIOD) - ZERO_EXPONENT) % _PERIOD + ZERO_EXPONENT
    exponents = np.where(e < SPECIAL_SUM, fraction_bits - e, 0)
    return np.ldexp(1.0, np.minimum(exponents, 120) if dtype == np.float32 else exponents).astype(dtype)


class FusedStep:
    """The step of an instruction with operands of format `a` and results of type `d`, in the widths of its Rule.

    It needs np.errstate(all="ignore") around it.
    """

    def __init__(self, a, d, fraction_bits, kept_bits):
        self.d, self.dtype = d, FORMATS[a].values
        self.product_scales, self.scales = _scales(fraction_bits, self.dtype), _scales(fraction_bits, np.float64)
        self.subnormal = fraction_bits - 149                             # below, sums have bits that no f32 has
        self.kept = np.array(-1 << (52 - kept_bits))                     # of the bits of an f64
        self.narrow = self.dtype == np.float32                           # its sums are normal, zero, or c itself

    def room(self, shape):
        """Scratch arrays for products [k, batch, M, N]: exponents, values and integers."""
        return np.empty(shape, np.int16), np.empty(shape, self.dtype), np.empty(shape, np.int32)

    def __call__(self, a, b, c, room):
        """d [batch, M, N] of Operands a [k, batch, M] and b [k, batch, N] and c [batch, M, N], of the type of d."""
        exponents, products, parts = room
        np.add(a.exponents[..., None], b.exponents[..., None, :], out=exponents)
        top = np.maximum.reduce(exponents, axis=0)
        np.maximum(top, self._c_exponents(c), out=top)
        np.multiply(a.values[..., None], b.values[..., None, :], out=products)
        products *= self.product_scales.take(top, mode="wrap")
        np.copyto(parts, products, casting="unsafe")                     # truncates toward zero
        scale = self.scales.take(top, mode="wrap")
        total = c * scale
        np.trunc(total, out=total)
        total += np.add.reduce(parts, axis=0, dtype=np.int32)
        total /= scale
        d = self._rounded(total, top)
        if top.max() > SPECIAL_SUM:
            self._repair(d, a, b, c, np.nonzero(top > SPECIAL_SUM))
        return d

    def _c_exponents(self, c):
        """Exponents of c, ZERO_EXPONENT for zero (f32 with narrow operands: -126, below that of every product)."""
        if self.d == "f16":
            return np.maximum(decode("f16", c.view(np.uint16))[1], ZERO_EXPONENT)
        exponents = F32_EXPONENTS.take(c.view(np.uint32) >> 23)
        if not self.narrow:
            exponents[c == 0] = ZERO_EXPONENT
        return exponents

    def _rounded(self, total, top):
        """Exact sums, float64, as the type of d; `total` is overwritten. top: the largest exponents of their addends."""
        if self.d == "f16":
            d = total.astype(np.float16)
            bits = d.view(np.uint16)
            bits[bits == 0x8000] = 0
            return d
        if not self.narrow and top.min() < self.subnormal:
            tiny = np.abs(total) < 2.0**-126
            total[tiny] = np.trunc(total[tiny] * 2.0**149) * 2.0**-149 + 0.0
        bits = total.view(np.int64)
        bits &= self.kept
        return total.astype(np.float32)

    def _repair(self, d, a, b, c, places):
        """Writes the results that have an infinity or NaN among their addends."""
        batch, row, col = places
        left = exact(a.format, a.bits[:, batch % a.bits.shape[1], row])
        right = exact(b.format, b.bits[:, batch % b.bits.shape[1], col])
        total = (left * right).sum(axis=0) + c[places]
        special = total.astype(d.dtype)
        special.view(NAN[self.d].dtype)[np.isnan(total)] = NAN[self.d]
        d[places] = special


fused_step = lru_cache(None)(FusedStep)
