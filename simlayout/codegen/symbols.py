"""Symbols: integers that remember how they were computed, and simplify as they go.

An index function is ordinary Python on integers (+ - * // % & | ^ << >>). Called with symbols it returns its own
expression, already simplified with what is known of the ranges:

>>> tid, k = symbol("tid", 256), symbol("k", 4)
>>> print((16 * k + 8 * (tid % 32 // 16)) % 32)
((k & 1) << 4) + (((tid >> 4) & 1) << 3)
>>> print((64 * (tid % 16) + 8 * k) ^ ((64 * (tid % 16) + 8 * k) >> 3 & 56))
((tid & 15) << 6) + ((k ^ (tid & 7)) << 3)

Three ideas do all of it. A value is a *sum* of constant multiples of atoms, so strides merge and a quotient or
remainder takes what it can divide and drops what is too small to matter. Every value knows its *range*, so a
remainder that cannot occur disappears. And every non-negative value knows which *bits* it can set, so xor and
`&` fall apart into the parts that meet and those that only pass by. Each rule is exact on all integers in range.
"""

import operator
from functools import cached_property
from math import gcd

_BINARY = ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift")


class Expr:
    """One node: `op` and `args`; `lo <= value <= hi`; `bits` = the bits it may set (None if it may be negative)."""

    __slots__ = ("__dict__", "op", "args", "lo", "hi", "bits")
    __array_ufunc__ = None                  # NumPy's integers leave their operators to this class

    def __init__(self, op, args, lo, hi, bits=None):
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
        return _scale(self, -1)

    def __repr__(self):
        return f"<{self}: {self.lo}..{self.hi}>"

    def __str__(self):
        from simlayout.codegen.printer import expression_text

        return expression_text(self)


def symbol(name, size):
    """A variable with values 0 .. size - 1."""
    size = operator.index(size)
    if size < 1:
        raise ValueError(f"symbol {name!r} needs at least one value, got size {size}")
    return 0 if size == 1 else Expr("var", (name,), 0, size - 1)


def limits(x):
    """(least, greatest) of an int or an Expr."""
    return (x, x) if isinstance(x, int) else (x.lo, x.hi)


def _bits(x):
    """The bits that x may set; None if it may be negative."""
    if isinstance(x, int):
        return x if x >= 0 else None
    return x.bits


def _linear(x):
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


def _sum(constant, terms):
    """constant + sum of coefficient * atom, as an int, a lone atom or a sum node."""
    terms = tuple((a, c) for a, c in terms.items() if c)
    if not terms:
        return constant
    if constant == 0 and len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0]
    lo, hi = _interval(constant, terms)
    bits = 0
    for part in _apart(constant, terms) if lo >= 0 else ():
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


def _apart(constant, terms):
    """constant + terms, a sum that is never negative, as parts that share no bits: [(atom or None, power of two or
    constant)]. A sum within which carries run is one part, whose atom has the trailing zeros of its terms taken out."""
    parts = _disjoint(constant, terms)
    if parts is not None:
        return parts
    low = gcd(constant, *(c for _, c in terms))
    zeros = low & -low
    if zeros > 1:
        return [(a, c * zeros) for a, c in _apart(constant // zeros, tuple((a, c // zeros) for a, c in terms))]
    for unit in sorted({c & -c for _, c in terms if c & -c > 1}):
        high, low = _split_linear(constant, terms, unit)
        lo, hi = limits(low)
        if 0 <= lo and hi < unit:
            return _parts(low) + [(a, c * unit) for a, c in _parts(_exact_quotient(high, unit))]
    return [(Expr("sum", (constant, terms), *_interval(constant, terms)), 1)]


def _parts(x):
    """x as parts that share no bits: [(atom or None, power of two)], as of `_apart`; one part where x may be negative."""
    constant, terms = _linear(x)
    return [(x, 1)] if _bits(x) is None else _apart(constant, tuple(terms.items()))


def _add(x, y):
    cx, tx = _linear(x)
    cy, ty = _linear(y)
    for atom, c in ty.items():
        tx[atom] = tx.get(atom, 0) + c
    return _sum(cx + cy, tx)


def _scale(x, factor):
    constant, terms = _linear(x)
    return _sum(constant * factor, {a: c * factor for a, c in terms.items()})


def _mul(x, y):
    if isinstance(x, int):
        return _scale(y, x) if not isinstance(y, int) else x * y
    if isinstance(y, int):
        return _scale(x, y)
    corners = [a * b for a in limits(x) for b in limits(y)]
    return Expr("mul", (x, y), min(corners), max(corners))


def _split(x, divisor):
    """x = multiple + rest, where every coefficient of `multiple` is divisible by the divisor."""
    constant, terms = _linear(x)
    return _split_linear(constant, terms.items(), divisor)


def _split_linear(constant, terms, divisor):
    multiple = {a: c for a, c in terms if c % divisor == 0}
    rest = {a: c for a, c in terms if c % divisor}
    return _sum(constant - constant % divisor, multiple), _sum(constant % divisor, rest)


def _coarsen(x, divisor):
    """The largest unit g > 1 dividing the divisor with x = g * high + low and 0 <= low < g, as (g, high, low)."""
    _, terms = _linear(x)
    for unit in sorted({gcd(divisor, c) for c in terms.values()} - {1}, reverse=True):
        high, low = _split(x, unit)
        lo, hi = limits(low)
        if lo >= 0 and hi < unit:
            return unit, _exact_quotient(high, unit), low
    return None


def _exact_quotient(x, divisor):
    constant, terms = _linear(x)
    return _sum(constant // divisor, {a: c // divisor for a, c in terms.items()})


def _floordiv(x, divisor):
    if not isinstance(divisor, int):
        return _opaque("div", x, divisor)
    if divisor <= 0:
        raise ZeroDivisionError("an index function divides by a constant that is not positive")
    if isinstance(x, int) or divisor == 1:
        return x // divisor if isinstance(x, int) else x
    multiple, rest = _split(x, divisor)
    whole = _exact_quotient(multiple, divisor)
    lo, hi = limits(rest)
    if lo // divisor == hi // divisor:
        return _add(whole, lo // divisor)
    coarse = _coarsen(rest, divisor)
    if coarse:
        unit, high, _ = coarse
        return _add(whole, _floordiv(high, divisor // unit))
    if divisor & (divisor - 1):
        return _add(whole, Expr("div", (rest, divisor), lo // divisor, hi // divisor))
    return _add(whole, _shift_right(rest, divisor.bit_length() - 1))


def _shift_right(x, count):
    """x >> count for an x that no division rule could reduce."""
    if x.op == "shr":
        return _shift_right(x.args[0], x.args[1] + count)
    if x.op == "and":
        return _and(_floordiv(x.args[0], 1 << count), x.args[1] >> count)
    if x.op == "xor" and x.bits is not None:
        return _xor_all([_floordiv(a, 1 << count) for a in x.args])
    bits = None if x.bits is None else x.bits >> count
    return Expr("shr", (x, count), x.lo >> count, x.hi >> count, bits)


def _mod(x, divisor):
    if not isinstance(divisor, int):
        return _opaque("mod", x, divisor)
    if divisor <= 0:
        raise ZeroDivisionError("an index function takes a remainder by a constant that is not positive")
    if isinstance(x, int):
        return x % divisor
    constant, terms = _linear(x)
    rest = _sum(constant % divisor, {a: c % divisor for a, c in terms.items()})
    lo, hi = limits(rest)
    if lo >= 0 and hi < divisor:
        return rest
    coarse = _coarsen(rest, divisor)
    if coarse:
        unit, high, low = coarse
        return _add(_scale(_mod(high, divisor // unit), unit), low)
    if divisor & (divisor - 1):
        return Expr("mod", (rest, divisor), 0, divisor - 1)
    return _mask(rest, divisor - 1)


def _mask(x, mask):
    """x & mask for a mask with bit 0 set and an x that no remainder rule could reduce."""
    if x.op == "and":
        return _and(x.args[0], x.args[1] & mask)
    if x.bits is not None:
        mask &= x.bits
        if x.bits & ~mask == 0:
            return x
        if mask == 0:
            return 0
    return Expr("and", (x, mask), 0, mask if x.lo < 0 else min(mask, x.hi), mask)


def _and(x, mask):
    if not isinstance(mask, int):
        return _and(mask, x) if isinstance(x, int) else _bitwise("and", x, mask)
    if isinstance(x, int):
        return x & mask
    if mask < 0:
        if x.bits is None:
            raise ValueError(f"an index function masks a value that may be negative with {mask}: use a non-negative "
                             "mask")
        mask &= x.bits
    if mask == 0:
        return 0
    parts = _parts(x)
    if len(parts) > 1:
        total = 0
        for atom, c in parts:
            total = _add(total, c & mask if atom is None else _scale(_and(atom, mask // c), c))
        return total
    low = (mask & -mask).bit_length() - 1
    if low:
        return _scale(_and(_floordiv(x, 1 << low), mask >> low), 1 << low)
    if mask & (mask + 1) == 0:
        return _mod(x, mask + 1)
    return _mask(x, mask) if x.op != "sum" else Expr("and", (x, mask), 0, mask, mask)


def _xor_all(values):
    total = 0
    for v in values:
        total = _xor(total, v)
    return total


def _xor(x, y):
    if isinstance(x, int) and isinstance(y, int):
        return x ^ y
    bx, by = _bits(x), _bits(y)
    if bx is None or by is None:
        return _opaque("xor", x, y)
    if bx & by == 0:
        return _add(x, y)
    aside, left = _meet(x, by)
    more, right = _meet(y, bx)
    outside = _add(aside, more)
    shared = (_bits(left) or 0) | (_bits(right) or 0)
    shift = (shared & -shared).bit_length() - 1 if shared else 0
    left, right = _floordiv(left, 1 << shift), _floordiv(right, 1 << shift)
    return _add(outside, _scale(_raw_xor(left, right), 1 << shift))


def _meet(x, bits):
    """x = aside + rest, where `aside` shares no bit with `bits` nor with the rest."""
    aside = rest = 0
    for atom, c in _parts(x):
        value = c if atom is None else _scale(atom, c)
        if _bits(value) & bits:
            rest = _add(rest, value)
        else:
            aside = _add(aside, value)
    return aside, rest


def _raw_xor(x, y):
    """x ^ y of two values that meet in bit 0's column; equal operands cancel."""
    constant, operands = 0, {}
    for value in (x, y):
        for part in (value.args if isinstance(value, Expr) and value.op == "xor" else (value,)):
            if isinstance(part, int):
                constant ^= part
            elif part in operands:
                del operands[part]
            else:
                operands[part] = None
    parts = tuple(operands) + ((constant,) if constant else ())
    if len(parts) < 2:
        return parts[0] if parts else 0
    bits = 0
    for part in parts:
        bits |= _bits(part)
    return Expr("xor", parts, 0, bits, bits)


def _or(x, y):
    if isinstance(x, int) and isinstance(y, int):
        return x | y
    bx, by = _bits(x), _bits(y)
    if bx is not None and by is not None and bx & by == 0:
        return _add(x, y)
    return x if x == y else _bitwise("or", x, y)


def _bitwise(op, x, y):
    bx, by = _bits(x), _bits(y)
    if bx is None or by is None:
        return _opaque(op, x, y)
    bits = bx & by if op == "and" else bx | by
    return Expr(op + "2", (x, y), 0, bits, bits) if bits else 0


def _shift_by(op, x, y):
    if isinstance(y, int):
        return _scale(x, 1 << y) if op == "shl" else _floordiv(x, 1 << y)
    return _opaque(op, x, y)


_OPAQUE = {"div": (operator.floordiv, 1, 2**63), "shl": (operator.lshift, 0, 31), "shr": (operator.rshift, 0, 31)}
"""Operations on two unknowns that grow or fall steadily in each: the function, and the range of its right side."""


def _opaque(op, x, y):
    """An operation whose operands are not constants: kept as written, with the range that can be told."""
    (xl, xh), (yl, yh) = limits(x), limits(y)
    if op == "mod" and yl > 0:
        return Expr("mod2", (x, y), 0, yh - 1)
    if op in _OPAQUE:
        function, least, most = _OPAQUE[op]
        if least <= yl and yh <= most:
            corners = [function(a, b) for a in (xl, xh) for b in (yl, yh)]
            return Expr(op + "2", (x, y), min(corners), max(corners))
    raise ValueError(f"an index function applies {op} to a value that may be negative or zero: {x} and {y}")


_RULES = {
    "add": _add,
    "sub": lambda x, y: _add(x, _scale(y, -1) if isinstance(y, Expr) else -y),
    "mul": _mul,
    "floordiv": _floordiv,
    "mod": _mod,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "lshift": lambda x, y: _shift_by("shl", x, y),
    "rshift": lambda x, y: _shift_by("shr", x, y),
}


def _operator(rule, swap):
    def apply(self, other):
        if isinstance(other, Expr) or (isinstance(other, int) and not isinstance(other, bool)):
            return rule(other, self) if swap else rule(self, other)
        try:
            constant = other.__index__()                # NumPy integers and the like
        except (AttributeError, TypeError):
            return NotImplemented
        return rule(constant, self) if swap else rule(self, constant)

    return apply


for _name in _BINARY:
    setattr(Expr, f"__{_name}__", _operator(_RULES[_name], swap=False))
    setattr(Expr, f"__r{_name}__", _operator(_RULES[_name], swap=True))
