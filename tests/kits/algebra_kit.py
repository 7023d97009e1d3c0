"""Slow twins of layouts, swizzles and rotations, written from the definitions; and strategies for them."""

import itertools
import operator

from hypothesis import settings
from hypothesis import strategies as st

from simlayout.algebra import Layout, Rotation, Swizzle

checked = settings(deadline=None, max_examples=100)

# ---- the twins: definitions, one coordinate at a time ---------------------------------------------------------------


def coordinates_of(shape):
    """Every fully nested coordinate of a shape, leftmost mode fastest."""
    if isinstance(shape, int):
        return list(range(shape))
    return [tuple(reversed(c)) for c in itertools.product(*(coordinates_of(s) for s in reversed(shape)))]


def dot(coordinate, stride):
    if isinstance(stride, int):
        return coordinate * stride
    return sum(dot(c, d) for c, d in zip(coordinate, stride, strict=True))


def values_of(layout):
    """The offsets of a layout over its domain, by definition."""
    return [dot(c, layout.stride) for c in coordinates_of(layout.shape)]


def swizzled_bit_by_bit(x, bits, base, shift):
    """Each target bit becomes itself xor its source bit, `shift` above it."""
    result = x
    for i in range(bits):
        target = base + i + max(-shift, 0)
        result ^= (x >> (target + shift) & 1) << target
    return result


def rotated_in_a_list(x, chunk, count, line, period):
    """The place of x after the chunks of its row have been rotated right, as lists are."""
    row = list(range(count))
    turns = (x // line) % period % count
    row = row[count - turns:] + row[:count - turns]
    start = x - x % (chunk * count)
    return start + row.index((x - start) // chunk) * chunk + x % chunk


class Symbol:
    """An index that is not a number: it records the operators applied to it and can be evaluated later."""

    __hash__ = None

    def __init__(self, evaluate):
        self.evaluate = evaluate

    def __eq__(self, other):
        raise TypeError("symbols do not compare")

    __lt__ = __gt__ = __le__ = __ge__ = __ne__ = __eq__

    def __bool__(self):
        raise TypeError("symbols have no truth value")


def _record(function, swap):
    def apply(self, other):
        other_value = other.evaluate if isinstance(other, Symbol) else lambda: other
        if swap:
            return Symbol(lambda: function(other_value(), self.evaluate()))
        return Symbol(lambda: function(self.evaluate(), other_value()))

    return apply


for _name in ("add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor", "lshift", "rshift"):
    setattr(Symbol, f"__{_name.strip('_')}__", _record(getattr(operator, _name), swap=False))
    setattr(Symbol, f"__r{_name.strip('_')}__", _record(getattr(operator, _name), swap=True))

# ---- strategies -----------------------------------------------------------------------------------------------------

sizes = st.sampled_from([1, 2, 2, 3, 4, 5, 6, 8])
shapes = st.recursive(sizes, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5)
shapes = shapes.filter(lambda s: Layout(s).size <= 1000)


def strided(shape, strides):
    if isinstance(shape, int):
        return strides
    return st.tuples(*(strided(s, strides) for s in shape))


@st.composite
def layouts(draw, strides=range(41)):
    """Any layout; half of the time a compact one."""
    shape = draw(shapes)
    return Layout(shape) if draw(st.booleans()) else Layout(shape, draw(strided(shape, st.sampled_from(strides))))


@st.composite
def injective_layouts(draw):
    """A layout whose strides, in some order, each leave room for the smaller ones, with gaps here and there."""
    shape = draw(shapes)
    leaves = [mode[0] for mode in Layout(shape).modes()]
    order = draw(st.permutations(range(len(leaves))))
    strides, step = [0] * len(leaves), 1
    for k in order:
        step *= draw(st.sampled_from([1, 1, 2, 3]))
        strides[k] = step
        step *= leaves[k]
    supply = iter(strides)

    def nest(s):
        return next(supply) if isinstance(s, int) else tuple(nest(x) for x in s)

    return Layout(shape, nest(shape))


swizzles = st.builds(
    lambda bits, base, gap, down: Swizzle(bits, base, -(bits + gap) if down else bits + gap),
    st.integers(0, 4), st.integers(0, 4), st.integers(0, 2), st.booleans(),
)
rotations = st.builds(
    lambda chunk, count, rows, period: Rotation(chunk, count, rows * chunk * count, period),
    st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.none() | st.integers(1, 12),
)
layers = swizzles | rotations
