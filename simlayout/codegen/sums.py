"""Values as sums: the nodes of an expression, and each value as multiples of atoms, or as parts that share no bits.

Every node knows the range of its values and, where that is not negative, which bits they may set. What sums need of
arithmetic is here: adding, scaling, and which of their terms a number divides. The operators are in `symbols`, which gives
them, and their text, to the nodes.
"""

from functools import cached_property
from math import gcd


class Expr:
    """One node: `op` and `args`; `lo <= value <= hi`; `bits` = the bits it may set (None if it may be negative)."""

    __slots__ = ("__dict__", "op", "args", "lo", "hi", "bits")
    __array_ufunc__ = None                  # NumPy's integers leave their operators to this class

    def __init__(self, op: str, args: tuple, lo: int, hi: int, bits: int | None = None):
        self.op, self.args, self.lo, self.hi = op, args, lo, hi
        self.bits = None if lo < 0 else ((1 << hi.bit_length()) - 1) & (-1 if bits is None else bits)

    @cached_property
    def _key(self):
        return (self.op, self.args)

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        return isinstance(other, Expr) and self._key == other._key

    def __bool__(self):
        raise TypeError("an index function must not branch on its arguments (if, and, or, min, max): use arithmetic")

    def __lt__(self, other):
        raise TypeError("an index function must not compare its arguments: use arithmetic, such as x // 16 for "
                        "x >= 16 where x is below 32")

    __le__ = __gt__ = __ge__ = __lt__

    def __index__(self):
        raise TypeError("an index function must not look up its arguments in a table, nor count with them: use "
                        "arithmetic")

    def __neg__(self):
        return scaled(self, -1)

    def __repr__(self):
        return f"<{self}: {self.lo}..{self.hi}>"


def limits(x):
    """(least, greatest) of an int or an Expr."""
    return (x, x) if isinstance(x, int) else (x.lo, x.hi)


def bits_of(x):
    """The bits that x may set; None if it may be negative."""
    if isinstance(x, int):
        return x if x >= 0 else None
    return x.bits


def linear(x):
    """x as (constant, {atom: coefficient})."""
    if isinstance(x, int):
        return x, {}
    if x.op == "sum":
        return x.args[0], dict(x.args[1])
    return 0, {x: 1}


def _interval(constant, terms):
    """(least, greatest) of constant + terms."""
    ends = [(c * a.lo, c * a.hi) for a, c in terms]
    return constant + sum(map(min, ends)), constant + sum(map(max, ends))


def sum_of(constant, terms):
    """constant + sum of coefficient * atom, as an int, a lone atom or a sum node."""
    terms = tuple((a, c) for a, c in terms.items() if c)
    if not terms:
        return constant
    if constant == 0 and len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0]
    lo, hi = _interval(constant, terms)
    bits = 0
    for part in _disjoint_parts(constant, terms) if lo >= 0 else ():
        bits |= _part_bits(part)
    return Expr("sum", (constant, terms), lo, hi, bits)


def _part_bits(part):
    atom, coefficient = part
    return coefficient if atom is None else atom.bits * coefficient


def _disjoint(constant, terms):
    """The parts [(atom or None, coefficient)] if no two set the same bit (their sum has no carries), else None."""
    parts = ([(None, constant)] if constant else []) + list(terms)
    seen = 0
    for atom, c in parts:
        if c < 0 or (atom is not None and (atom.bits is None or c & (c - 1))):
            return None
        bits = _part_bits((atom, c))
        if seen & bits:
            return None
        seen |= bits
    return parts


def _disjoint_parts(constant, terms):
    """constant + terms, a sum that is never negative, as parts that share no bits: [(atom or None, power of two or
    constant)]. A sum within which carries run is one part, whose atom has the trailing zeros of its terms taken out."""
    parts = _disjoint(constant, terms)
    if parts is not None:
        return parts
    low = gcd(constant, *(c for _, c in terms))
    zeros = low & -low
    if zeros > 1:
        return [(a, c * zeros) for a, c in _disjoint_parts(constant // zeros, tuple((a, c // zeros) for a, c in terms))]
    for unit in sorted({c & -c for _, c in terms if c & -c > 1}):
        high, low = _split_linear(constant, terms, unit)
        lo, hi = limits(low)
        if 0 <= lo and hi < unit:
            return parts_of(low) + [(a, c * unit) for a, c in parts_of(exact_quotient(high, unit))]
    return [(Expr("sum", (constant, terms), *_interval(constant, terms)), 1)]


def parts_of(x):
    """x as parts that share no bits: [(atom or None, power of two)], as of
    `_disjoint_parts`; one part where x may be negative."""
    constant, terms = linear(x)
    return [(x, 1)] if bits_of(x) is None else _disjoint_parts(constant, tuple(terms.items()))


def add(x, y):
    """x + y."""
    cx, tx = linear(x)
    cy, ty = linear(y)
    for atom, c in ty.items():
        tx[atom] = tx.get(atom, 0) + c
    return sum_of(cx + cy, tx)


def scaled(x, factor):
    """x times an int."""
    constant, terms = linear(x)
    return sum_of(constant * factor, {a: c * factor for a, c in terms.items()})


def split(x, divisor):
    """x = multiple + rest, where every coefficient of `multiple` is divisible by the divisor."""
    constant, terms = linear(x)
    return _split_linear(constant, terms.items(), divisor)


def _split_linear(constant, terms, divisor):
    multiple = {a: c for a, c in terms if c % divisor == 0}
    rest = {a: c for a, c in terms if c % divisor}
    return sum_of(constant - constant % divisor, multiple), sum_of(constant % divisor, rest)


def coarsened(x, divisor):
    """The largest unit g > 1 dividing the divisor with x = g * high + low and 0 <= low < g, as (g, high, low)."""
    _, terms = linear(x)
    for unit in sorted({gcd(divisor, c) for c in terms.values()} - {1}, reverse=True):
        high, low = split(x, unit)
        lo, hi = limits(low)
        if lo >= 0 and hi < unit:
            return unit, exact_quotient(high, unit), low
    return None


def exact_quotient(x, divisor):
    """x // divisor, which divides the constant and every coefficient of x."""
    constant, terms = linear(x)
    return sum_of(constant // divisor, {a: c // divisor for a, c in terms.items()})
