"""tcgen05.mma of floats of 8, 6 and 4 bits, with scale factors or without, bit for bit as others measured it on Blackwell.

Everything is exact in float64: a product of two elements and two scale factors has 16 bits at most, and a sum is taken in
units of its window, of which fewer than 2**50 are added up. Who says what: `NARROW_RULES`. Two sources describe the sums of
e2m1 in kind::mxf4 and mxf4nvf4, and they differ in rare cases; those are refused, or decided by `source`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np

from simlayout.algebra.aliases import ArrayLike
from simlayout.algebra.dtypes import TYPES
from simlayout.arguments import typed
from simlayout.errors import InstructionError
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tcgen05 import Kind, kind_of
from simlayout.numerics.formats import F32_EXPONENTS, SPECIAL, patterns, specials_of

B200 = Provenance("measured elsewhere", "sf-tensor/tcgen05, MODEL.md and its frozen results of one B200")
SIM = Provenance("measured elsewhere", "MMA-Sim, arXiv 2511.10909, and microsoft/MMA-Sim")


@dataclass(frozen=True)
class Minifloat:
    """exponent, fraction: bits; signed; specials: "ieee" (the largest exponent: infinity, NaN), "fn" (all ones: NaN) or
    "finite" (none)."""

    exponent: int
    fraction: int
    specials: str
    signed: bool = True

    @property
    def bits(self) -> int:
        """Bits of an element; those above them in a byte are not read."""
        return self.exponent + self.fraction + self.signed

    @property
    def bias(self) -> int:
        """Of the exponent."""
        return (1 << self.exponent - 1) - 1


MINIFLOATS = {name: Minifloat(row.exponent, row.fraction, specials_of(row))
              for name, row in TYPES.items() if row.exponent and row.bits == 8}
MINIFLOATS |= {
    "e2m3": Minifloat(2, 3, "finite"), "e3m2": Minifloat(3, 2, "finite"), "e2m1": Minifloat(2, 1, "finite"),
    "ue4m3": Minifloat(4, 3, "fn", signed=False), "ue8m0": Minifloat(8, 0, "fn", signed=False),
}
"""Of TYPES those of 8 bits, and others of which products are made with scales: PTX ISA, Alternate floating-point data
formats; OCP Microscaling Formats. Of ue8m0, which has no zero, every pattern but the last is 2**(bits - 127)."""


@lru_cache(None)
def _table(name):
    """(values, float64; exponents, int64) of all 256 bytes, as of `patterns`."""
    form, bits = MINIFLOATS[name], np.arange(256)
    if name == "ue8m0":
        return np.where(bits == 255, np.nan, np.ldexp(1.0, bits - form.bias)), bits - form.bias
    values, exponents = patterns(form.exponent, form.fraction, form.specials, form.signed)
    read = bits & (1 << form.bits) - 1
    return values[read], exponents[read]


@dataclass(frozen=True)
class NarrowRule:
    """How the products of one instruction and c are added up. add: takes a `_Terms` and returns the exact sums; source."""

    source: Provenance
    add: Callable = field(repr=False, compare=False)


@dataclass(frozen=True)
class _Terms:
    """The finite addends of one instruction. products [M, K, N], their exponents (LEAST of zeros), those of their scale
    factors alike, c [M, N] and its exponents (LEAST of zero). fours: whether scale factors are ue4m3."""

    products: np.ndarray
    exponents: np.ndarray
    scales: np.ndarray
    c: np.ndarray
    c_exponents: np.ndarray
    fours: bool

    def sums(self, size):
        """[M, K / size, N]: exact sums of groups along K."""
        m, k, n = self.products.shape
        return self.products.reshape(m, k // size, size, n).sum(axis=2)

    def tops(self, what):
        """[M, K / 16, N]: the largest exponents of groups along K."""
        m, k, n = what.shape
        return what.reshape(m, k // 16, 16, n).max(axis=2)


LEAST = -5000
"""The exponent of what is zero: it takes no part in a maximum."""


def _cut(x, quantum):
    """x truncated toward zero to multiples of 2**quantum."""
    return np.ldexp(np.trunc(np.ldexp(x, -quantum)), quantum)


def _one_window(terms):
    """All products and c at once, in 25 bits below the largest exponent."""
    quantum = np.maximum(terms.exponents.max(axis=1), terms.c_exponents) - 25
    return _cut(terms.products, quantum[:, None]).sum(axis=1) + _cut(terms.c, quantum)


def _fours_b200(terms):
    """e2m1 of kind::mxf4 and mxf4nvf4 as sf-tensor/tcgen05 found it."""
    top, scale = terms.exponents.max(axis=1), terms.scales.max(axis=1)
    above = terms.c_exponents >= top                     # c outranks all products
    quantum = np.where(above, terms.c_exponents - 35, np.maximum(np.maximum(top, terms.c_exponents) - 39, scale - 35))
    blocks = terms.sums(16)
    if terms.fours:
        parts = _cut(terms.sums(4), quantum[:, None]).sum(axis=1)
        return np.where(above, _cut(blocks, quantum[:, None]).sum(axis=1), parts) + _cut(terms.c, quantum)
    outranked = terms.c_exponents[:, None] >= terms.tops(terms.exponents)
    each = np.where(outranked, np.maximum(quantum, terms.c_exponents - 35)[:, None], quantum[:, None])
    blocks, c = _cut(blocks, each), _cut(terms.c, quantum)
    total = blocks.sum(axis=1) + c
    tiny = (np.abs(total) < 2.0**-126) & (np.abs(total) >= 2.0**-149) & ~above
    least = np.ldexp(1.0, np.maximum(quantum, -174))[:, None]
    lost = (terms.tops(terms.scales) < scale[:, None]) & (np.abs(blocks) < least)
    return np.where(tiny, np.where(lost, 0, blocks).sum(axis=1) + c, total)


def _fours_sim(terms):
    """The same as MMA-Sim has it: blocks of 16 products, 35 bits below the largest exponent of scale factors and c."""
    c_exponents = np.maximum(terms.c_exponents, -126)
    quantum = np.maximum(terms.scales.max(axis=1), c_exponents) - 35
    return _cut(terms.sums(16), quantum[:, None]).sum(axis=1) + _cut(terms.c, quantum)


NARROW_RULES = {
    "f8f6f4": (NarrowRule(B200, _one_window),),
    "mxf8f6f4": (NarrowRule(B200, _one_window),),
    "mxf4": (NarrowRule(B200, _fours_b200), NarrowRule(SIM, _fours_sim)),
    "mxf4nvf4": (NarrowRule(B200, _fours_b200), NarrowRule(SIM, _fours_sim)),
}
"""Kind -> its NarrowRules; where there are two, they differ. Of the kinds with one, MMA-Sim has the same rule."""


@typed(InstructionError, own=("types",))
def narrow_mma(kind: str, a: ArrayLike, b: ArrayLike, c: ArrayLike | None = None, scale_a: ArrayLike | None = None,
               scale_b: ArrayLike | None = None, *, types: tuple[str, str], d: str = "f32", scale: str = "ue8m0",
               source: str | None = None) -> np.ndarray:
    """d = a b + c as tcgen05.mma of a kind computes it, instruction after instruction along K.

    kind: "f8f6f4", "mxf8f6f4", "mxf4" or "mxf4nvf4"; dense. a: uint8 [M, K], b: uint8 [K, N], the bits of an element in each
    byte, of `types`; K a multiple of the instruction's. c: float32 [M, N] (float16 for d="f16", which f8f6f4 has), None:
    zeros. scale_a: uint8 [M, K / v], scale_b: uint8 [K / v, N], the bits of the scale factors of `scale`, "ue8m0" or
    "ue4m3", each for v = 32 or 16 elements (`simlayout.hardware.tables.tcgen05.KINDS`). source: "sf-tensor/tcgen05" or
    "MMA-Sim" where these differ.

    Returns d, float32 or float16. Raises InstructionError for what the kind does not have, and where sources differ about a
    result and none was named.

    >>> ones = np.full((1, 32), 0x38, np.uint8)                       # 1.0 of e4m3
    >>> narrow_mma("mxf8f6f4", ones, ones.T, None, [[127]], [[128]], types=("e4m3", "e4m3"))
    array([[64.]], dtype=float32)
    """
    row, rules = kind_of(kind), NARROW_RULES.get(kind_of(kind).name)
    if rules is None:
        raise InstructionError(f"kind::{row.name} is not one of narrow floats: `mma` has f16, bf16, tf32 and integers")
    a, b, c = _operands(row, a, b, c, types, d)
    scales = _scales(row, a, b, scale_a, scale_b, scale)
    chosen = [r for r in rules if source is None or r.source.text.startswith(source)]
    if not chosen:
        raise InstructionError(f"no source {source!r} of kind::{row.name}; there are "
                               f"{', '.join(r.source.text.split(',')[0] for r in rules)}")
    results = [_chain(row.k, partial(_instruction, r, types, d, scale), a, b, c, scales) for r in chosen]
    _agree(row, chosen, results)
    return results[0]


def _agree(row, chosen, results):
    """InstructionError where two rules give different bits: nobody here can say which of them is right."""
    for rule, other in zip(chosen[1:], results[1:]):
        differ = results[0].view(f"u{other.itemsize}") != other.view(f"u{other.itemsize}")
        if differ.any():
            i, j = (int(x) for x in np.argwhere(differ)[0])
            one, two = (f"{r.source.text.split(',')[0]} says {float(d[i, j])!r}"
                        for r, d in ((chosen[0], results[0]), (rule, other)))
            raise InstructionError(f"kind::{row.name}, element ({i}, {j}): {one}, {two}; {differ.sum()} of {differ.size} "
                                   "differ, so the result is not established: name one with source=")


def _operands(row: Kind, a, b, c, types, d):
    """a, b and c as arrays; InstructionError for what does not fit."""
    if not isinstance(types, tuple | list) or len(types) != 2:
        _fail(row, f"types are those of A and B, as in ('e4m3', 'e2m1'), not {types!r}")
    for letter, name in zip("AB", types, strict=True):
        if not isinstance(name, str) or name not in dict(row.formats):
            _fail(row, f"no {letter} of {name}; it has {', '.join(t for t, _ in row.formats)}")
    if d not in dict(row.results):
        _fail(row, f"no D of {d}; it has {', '.join(t for t, _ in row.results)}")
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != np.uint8 or b.dtype != np.uint8 or a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        _fail(row, f"a is uint8 [M, K], b uint8 [K, N], not {a.dtype} {list(a.shape)} and {b.dtype} {list(b.shape)}")
    if not a.shape[1] or a.shape[1] % row.k:
        _fail(row, f"K is a multiple of {row.k}, not {a.shape[1]}")
    number = np.float16 if d == "f16" else np.float32
    c = np.zeros((len(a), b.shape[1]), number) if c is None else np.asarray(c)
    if c.dtype != number or c.shape != (len(a), b.shape[1]):
        _fail(row, f"c is {np.dtype(number)} {[len(a), b.shape[1]]}, not {c.dtype} {list(c.shape)}")
    return a, b, c


def _scales(row: Kind, a, b, scale_a, scale_b, scale):
    """The scale factors of every element of a and of b, as bits, None for a kind without them; InstructionError as above."""
    if not row.scaled:
        if scale_a is not None or scale_b is not None:
            _fail(row, "it has no scale factors")
        return None
    if scale not in dict(row.scales):
        _fail(row, f"no scale factors of {scale}; it has {', '.join(s for s, _ in row.scales)}")
    scale_a, scale_b = (np.asarray(s, np.uint8) if s is not None else np.zeros((0, 0), np.uint8) for s in (scale_a, scale_b))
    vectors = [v for v, _ in row.vectors if scale != "ue4m3" or v == 16]
    shapes = {((len(a), a.shape[1] // v), (a.shape[1] // v, b.shape[1])): v for v in vectors}
    vector = shapes.get((scale_a.shape, scale_b.shape))
    if vector is None:
        wanted = " or ".join(f"{list(one)} and {list(other)}" for one, other in shapes)
        _fail(row, f"scale factors of {scale} are {wanted}, not {list(scale_a.shape)} and {list(scale_b.shape)}")
    return scale_a.repeat(vector, axis=1), scale_b.repeat(vector, axis=0)


def _fail(row, text):
    raise InstructionError(f"tcgen05.mma.kind::{row.name}: {text}")


def _chain(k, instruction, a, b, c, scales):
    """d after every instruction along K, of k elements each."""
    with np.errstate(all="ignore"):
        for start in range(0, a.shape[1], k):
            part = slice(start, start + k)
            c = instruction(a[:, part], b[part], c, scales and (scales[0][:, part], scales[1][part]))
    return c


def _instruction(rule, types, d, scale, a, b, c, scales):
    """d of one instruction. scales: as of `_scales`."""
    (x, x_exponents), (y, y_exponents) = (tuple(t[bits] for t in _table(name)) for name, bits in zip(types, (a, b)))
    products, exponents = x[:, :, None] * y[None], x_exponents[:, :, None] + y_exponents[None]
    shifts = np.zeros_like(exponents)
    if scales is not None:
        (s, s_exponents), (t, t_exponents) = (tuple(table[bits] for table in _table(scale)) for bits in scales)
        products = products * s[:, :, None] * t[None]
        shifts = s_exponents[:, :, None] + t_exponents[None]
    wide = c.astype(np.float64)
    special = products.sum(axis=1) + wide                # NaN or an infinity, if one takes part
    finite = np.isfinite(special)
    products = np.where(np.isfinite(products), products, 0)
    some = products != 0
    terms = _Terms(products, np.where(some, exponents + shifts, LEAST), np.where(some, shifts, LEAST),
                   np.where(np.isfinite(wide), wide, 0), _exponents(c), scale == "ue4m3")
    total = rule.add(terms)
    if scales is not None:                               # c passes where no product counts
        total = np.where(some.any(axis=1), total, wide)
    result = _rounded(total, d)
    result[~finite] = special[~finite]
    result.view(f"u{result.itemsize}")[np.isnan(special)] = 0x7FFF if d == "f16" else 0x7FFFFFFF
    return result


def _exponents(c):
    """The exponents of c as they are encoded, LEAST of zeros."""
    if c.dtype == np.float16:
        encoded = np.maximum(c.view(np.uint16) >> 10 & 31, 1).astype(np.int64) - 15
    else:
        encoded = F32_EXPONENTS.take(c.view(np.uint32) >> 23).astype(np.int64)
    return np.where((c == 0) | (encoded == SPECIAL), LEAST, encoded)


def _rounded(total, d):
    """Exact sums as f16, to nearest even, or as f32, truncated; what becomes 0 is +0."""
    if d == "f16":
        return total.astype(np.float16) + np.float16(0)
    tiny = np.abs(total) < 2.0**-126
    total = np.where(tiny, _cut(total, -149), total) + 0.0
    bits = total.view(np.int64) & np.int64(-1 << 29)
    return bits.view(np.float64).astype(np.float32)
