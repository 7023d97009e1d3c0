"""Random operands that try every corner of a tensor core's arithmetic: tiles of A, B and C, class by class."""

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.hardware import sparse_mma, stored_columns
from simlayout.numerics import tensor_op
from simlayout.numerics.formats import FORMATS, exact


def encode(element, values):
    """float64 values as the nearest elements of a floating-point type, in its stored dtype; too large ones become
    infinities (NaN for e4m3)."""
    values = np.asarray(values, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if element == "bf16":
            bits = values.astype(np.float32).view(np.uint32)
            rounded = (bits + (0x7FFF + (bits >> 16 & 1)).astype(np.uint32)) >> 16
            return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)
        if element not in ("e4m3", "e5m2"):
            return values.astype(TYPES[element].plain)
    table = exact(element, np.arange(128, dtype=np.uint8))
    finite = int(np.isfinite(table).sum())
    middles = (table[:finite - 1] + table[1:finite]) / 2
    magnitudes = np.searchsorted(middles, np.abs(values))
    magnitudes = np.where(np.abs(values) > table[finite - 1] * 1.25, finite, magnitudes)
    return (np.where(np.isnan(values), 127, magnitudes) | np.signbit(values) << 7).astype(np.uint8)


def decode(element, stored):
    """The values of stored elements, float64."""
    if element not in FORMATS:
        return stored.astype(np.float64)
    with np.errstate(invalid="ignore"):                                                # signalling NaN
        return exact(element, stored.view(FORMATS[element].bits))


class Draw:
    """Random values for tiles of one instruction. a, b, c: its element types; shapes: of a, b and c, count tiles each."""

    def __init__(self, op, count, generator):
        self.op, self.generator = op, generator
        self.shapes = (count, op.m, op.k), (count, op.k, op.n), (count, op.m, op.n)
        self.types = op.a, op.b, op.c

    def each(self, make):
        """[make(type, shape) for a, b and c]."""
        return [make(t, s) for t, s in zip(self.types, self.shapes)]

    def normal(self, element, shape):
        return self.generator.standard_normal(shape)

    def spread(self, element, shape, low, high):
        """Signed numbers with exponents low to high, as far as the type has such."""
        kind = TYPES[element]
        low = np.clip(low, kind.exponents[0] - kind.fraction, kind.exponents[1])
        high = np.clip(high, low, kind.exponents[1])
        exponents = self.generator.integers(low, high, shape, endpoint=True)
        return self.signs(shape) * np.ldexp(self.generator.uniform(1, 2, shape), exponents)

    def wide(self, element, shape):
        return self.spread(element, shape, TYPES[element].exponents[0], TYPES[element].exponents[1] - 1)

    def around(self, element, shape, exponent, width):
        return self.spread(element, shape, exponent - width, exponent + width)

    def signs(self, shape):
        return self.generator.choice([-1.0, 1.0], shape)

    def choice(self, values, shape):
        return self.generator.choice(np.array(values, np.float64), shape)

    def sprinkled(self, values, specials, share):
        return np.where(self.generator.random(values.shape) < share, self.choice(specials, values.shape), values)

    def bits(self, element, shape):
        """Any bit patterns, in the stored dtype."""
        dtype = TYPES[element].plain
        return self.generator.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0]

    def product_exponent(self, exponent):
        """Exponents for the elements of a and b such that those of products are around one that c can have."""
        return [int(np.clip(exponent // 2, TYPES[t].exponents[0], TYPES[t].exponents[1] - 1)) for t in self.types[:2]]


# ---- classes of floating-point operands: a Draw -> values of a, b and c, or stored elements ---------------------------

def _normal(g):
    return g.each(g.normal)


def _wide(g):
    return g.each(g.wide)


def _moderate(g):
    return g.each(lambda t, s: g.around(t, s, 0, 12))


def _large_c(g):
    a, b, c = g.each(g.normal)
    return a, b, np.ldexp(c, g.generator.integers(3, 30, c.shape))


def _small_c(g):
    a, b, c = g.each(g.normal)
    return a, b, np.ldexp(c, -g.generator.integers(3, 30, c.shape))


def _cancelled_by_c(g):
    a, b, c = g.each(lambda t, s: g.around(t, s, 0, 3))
    product = decode(g.op.a, encode(g.op.a, a)) @ decode(g.op.b, encode(g.op.b, b))
    steps = np.ldexp(g.generator.integers(-2, 3, c.shape), -TYPES[g.op.c].fraction)
    return a, b, -product * (1 + steps)


def _cancelling_pairs(g):
    a, b, c = g.each(lambda t, s: g.around(t, s, 0, 5))
    half = g.op.k // 2
    a[..., half:] = -a[..., :half] * g.choice([1, 1, 1, 1 + 2.0**-8], a[..., half:].shape)
    b[:, half:] = b[:, :half]
    return a, b, np.ldexp(c, -12)


def _subnormals(g):
    a, b, c = g.each(lambda t, s: g.spread(t, s, TYPES[t].exponents[0] - TYPES[t].fraction, TYPES[t].exponents[0] + 1))
    large = g.generator.random(b.shape) < 0.5
    return a, np.where(large, g.wide(g.op.b, b.shape), b), g.sprinkled(c, [0.0, -0.0, 1.0], 0.4)


def _near_overflow(g):
    a, b = (g.around(t, s, e, 3) for t, s, e in zip(g.types, g.shapes, g.product_exponent(TYPES[g.op.c].exponents[1])))
    c = g.spread(g.op.c, g.shapes[2], TYPES[g.op.c].exponents[1] - 3, TYPES[g.op.c].exponents[1])
    largest = TYPES[g.op.c].largest
    return a, b, g.sprinkled(c, [largest, -largest, 0.0], 0.3)


def _near_underflow(g):
    least, fraction = TYPES[g.op.c].exponents[0], TYPES[g.op.c].fraction
    a, b = (g.around(t, s, e, 8) for t, s, e in zip(g.types, g.shapes, g.product_exponent(least - fraction // 2)))
    c = g.spread(g.op.c, g.shapes[2], least - fraction, least + 2)
    return g.sprinkled(a, [0.0, -0.0], 0.2), b, g.sprinkled(c, [0.0, -0.0], 0.5)


def _signed_zeros(g):
    return g.each(lambda t, s: g.choice([0.0, -0.0, 1.0, -1.0], s))


def _mostly_zeros(g):
    return g.each(lambda t, s: g.sprinkled(g.wide(t, s), [0.0, -0.0], 0.8))


def _infinities_and_nan(g):
    return g.each(lambda t, s: g.sprinkled(g.normal(t, s), [np.inf, -np.inf, np.nan, 0.0, -0.0], 0.06))


def _any_bits(g):
    return g.each(g.bits)


def _finite_bits(g):
    def finite(element, shape):
        bits = g.bits(element, shape)
        return np.where(np.isfinite(decode(element, bits)), bits, encode(element, 1.0))

    return g.each(finite)


def _ties(g):
    """Sums that lie halfway between two results, or just beside."""
    a, b = g.choice([-3, -1, 0, 1, 1, 3], g.shapes[0]), g.choice([-1, 0.5, 1, 1], g.shapes[1])
    units = TYPES[g.op.c].fraction + 1
    return a, b, g.signs(g.shapes[2]) * (2.0**units + g.generator.integers(0, 16, g.shapes[2]))


def _one_hot(g):
    a, b, c = g.each(g.wide)
    there = np.arange(g.op.k) == g.generator.integers(0, g.op.k, (*g.shapes[0][:2], 1))
    return np.where(there, a, 0.0), b, g.sprinkled(c, [0.0], 0.5)


def _integers(g):
    return g.each(lambda t, s: g.generator.integers(-100 if t == g.op.c else -8, 9, s).astype(np.float64))


def _powers_of_two(g):
    return g.each(lambda t, s: g.signs(s) * np.ldexp(1.0, g.generator.integers(
        max(TYPES[t].exponents[0], -40), min(TYPES[t].exponents[1], 40), s)))


def _edge_of_the_width(g):
    """One large product; the others around the last bit that a sum keeps beside it."""
    a, b, c = (g.around(t, s, -7, 6) for t, s in zip(g.types, g.shapes))
    a[..., 0], b[:, 0] = g.choice([1.0, 1.75], a[..., 0].shape), g.choice([1.0, 1.75], b[:, 0].shape)
    return a, b, np.ldexp(c, g.generator.integers(-26, -6, c.shape))


FLOAT_CLASSES = {f.__name__.strip("_").replace("_", " "): f for f in (
    _normal, _wide, _moderate, _large_c, _small_c, _cancelled_by_c, _cancelling_pairs, _subnormals, _near_overflow,
    _near_underflow, _signed_zeros, _mostly_zeros, _infinities_and_nan, _any_bits, _finite_bits, _ties, _one_hot, _integers,
    _powers_of_two, _edge_of_the_width)}
"""Name -> function of a Draw."""


# ---- the same of integers --------------------------------------------------------------------------------------------

def _whole_range(g):
    return g.each(lambda t, s: g.generator.integers(*TYPES[t].limits, s, endpoint=True))


def _small(g):
    return g.each(lambda t, s: g.generator.integers(max(TYPES[t].limits[0], -1), 1, s, endpoint=True))


def _extremes(g):
    return g.each(lambda t, s: g.generator.choice(TYPES[t].limits, s))


def _c_at_the_limits(g):
    a, b, c = _whole_range(g)
    return a, b, g.generator.choice(TYPES["s32"].limits, c.shape) + g.generator.integers(-2**16, 2**16, c.shape)


INTEGER_CLASSES = {f.__name__.strip("_").replace("_", " "): f for f in (_whole_range, _small, _extremes, _c_at_the_limits)}
"""Name -> function of a Draw."""


def classes(name):
    """The classes of input of an instruction, {name: function}."""
    return INTEGER_CLASSES if tensor_op(name).c == "s32" else FLOAT_CLASSES


def tiles(name, count, seed):
    """Operands for an instruction: a [count, m, k], b [count, k, n], c [count, m, n], as `simlayout.mma` takes them (of
    mma.sp once `stored_part` has made its a), and the class of each tile, str [count]. Classes take turns; the same seed
    gives the same tiles.

    >>> a, b, c, labels = tiles("m16n8k16.f32.f16.f16.f32", 40, seed=1)
    >>> a.shape, b.dtype, c.dtype, labels[:2].tolist()
    ((40, 16, 16), dtype('float16'), dtype('float32'), ['normal', 'wide'])
    """
    op, kinds = tensor_op(name), classes(name)
    labels = np.array(list(kinds))[np.arange(count) % len(kinds)]
    operands = [np.empty((count, *shape), TYPES[t].plain) for t, shape in
                ((op.a, (op.m, op.k)), (op.b, (op.k, op.n)), (op.c, (op.m, op.n)))]
    for number, (label, function) in enumerate(kinds.items()):
        mine = labels == label
        draw = Draw(op, int(mine.sum()), np.random.default_rng([seed, number]))
        with np.errstate(all="ignore"):
            values = function(draw)
        for room, element, x in zip(operands, draw.types, values):
            room[mine] = _stored(element, x)
    return *operands, labels


def stored_part(name, a, seed):
    """(the stored half of each row of a, [count, m, k / 2], its metadata, uint8 [count, m, groups]) for an mma.sp or a
    wgmma.sp. Any legal half of each group is stored, in every other tile the same ones of both halves of k, so that they
    may cancel. The metadata of every third tile is then changed to any nibbles at all."""
    mma, generator = sparse_mma(name), np.random.default_rng([seed, 1])
    metadata = generator.choice(np.array(list(mma.pattern.codes.values()), np.uint8), (len(a), mma.m, mma.groups))
    metadata[::2, :, mma.groups // 2:] = metadata[::2, :, :mma.groups // 2]
    stored = np.take_along_axis(a, stored_columns(metadata, mma.pattern.name), axis=2)
    metadata[2::3] = generator.integers(0, 16, metadata[2::3].shape)
    return stored, metadata


def _stored(element, x):
    """Values or stored elements as stored elements; finite values stay finite."""
    if not TYPES[element].exponent:
        return np.clip(x, *TYPES[element].limits).astype(TYPES[element].plain)
    if x.dtype != np.float64 or element == "f64":
        return x
    largest = TYPES[element].largest
    return encode(element, np.where(np.isfinite(x), np.clip(x, -largest, largest), x))
