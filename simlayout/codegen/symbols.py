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

from simlayout.arguments import typed
from simlayout.codegen.printer import expression_text
from simlayout.codegen.sums import (
    Expr,
    add,
    bits_of,
    coarsened,
    exact_quotient,
    limits,
    linear,
    parts_of,
    scaled,
    split,
    sum_of,
)
from simlayout.errors import SimlayoutError


@typed()
def symbol(name: str, size: int) -> Expr | int:
    """A variable with values 0 .. size - 1; the int 0 where that is its only one.

    >>> print(symbol("tid", 32) // 16, symbol("k", 1))
    tid >> 4 0
    """
    if size < 1:
        raise SimlayoutError(f"symbol {name!r} needs at least one value, got size {size}")
    return 0 if size == 1 else Expr("var", (name,), 0, size - 1)


def _mul(x, y):
    if isinstance(x, int):
        return scaled(y, x) if not isinstance(y, int) else x * y
    if isinstance(y, int):
        return scaled(x, y)
    corners = [a * b for a in limits(x) for b in limits(y)]
    return Expr("mul", (x, y), min(corners), max(corners))


def _floordiv(x, divisor):
    if not isinstance(divisor, int):
        return _opaque("div", x, divisor)
    if divisor <= 0:
        raise ZeroDivisionError("an index function divides by a constant that is not positive")
    if isinstance(x, int) or divisor == 1:
        return x // divisor if isinstance(x, int) else x
    multiple, rest = split(x, divisor)
    quotient = exact_quotient(multiple, divisor)
    lo, hi = limits(rest)
    if lo // divisor == hi // divisor:
        return add(quotient, lo // divisor)
    coarse = coarsened(rest, divisor)
    if coarse:
        unit, high, _ = coarse
        return add(quotient, _floordiv(high, divisor // unit))
    if divisor & (divisor - 1):
        return add(quotient, Expr("div", (rest, divisor), lo // divisor, hi // divisor))
    return add(quotient, _shift_right(rest, divisor.bit_length() - 1))


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
    constant, terms = linear(x)
    rest = sum_of(constant % divisor, {a: c % divisor for a, c in terms.items()})
    lo, hi = limits(rest)
    if lo >= 0 and hi < divisor:
        return rest
    coarse = coarsened(rest, divisor)
    if coarse:
        unit, high, low = coarse
        return add(scaled(_mod(high, divisor // unit), unit), low)
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
    parts = parts_of(x)
    if len(parts) > 1:
        total = 0
        for atom, c in parts:
            total = add(total, c & mask if atom is None else scaled(_and(atom, mask // c), c))
        return total
    low = (mask & -mask).bit_length() - 1
    if low:
        return scaled(_and(_floordiv(x, 1 << low), mask >> low), 1 << low)
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
    bx, by = bits_of(x), bits_of(y)
    if bx is None or by is None:
        return _opaque("xor", x, y)
    if bx & by == 0:
        return add(x, y)
    aside, left = _meet(x, by)
    more, right = _meet(y, bx)
    outside = add(aside, more)
    shared = (bits_of(left) or 0) | (bits_of(right) or 0)
    shift = (shared & -shared).bit_length() - 1 if shared else 0
    left, right = _floordiv(left, 1 << shift), _floordiv(right, 1 << shift)
    return add(outside, scaled(_raw_xor(left, right), 1 << shift))


def _meet(x, bits):
    """x = aside + rest, where `aside` shares no bit with `bits` nor with the rest."""
    aside = rest = 0
    for atom, c in parts_of(x):
        value = c if atom is None else scaled(atom, c)
        if bits_of(value) & bits:
            rest = add(rest, value)
        else:
            aside = add(aside, value)
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
        bits |= bits_of(part)
    return Expr("xor", parts, 0, bits, bits)


def _or(x, y):
    if isinstance(x, int) and isinstance(y, int):
        return x | y
    bx, by = bits_of(x), bits_of(y)
    if bx is not None and by is not None and bx & by == 0:
        return add(x, y)
    return x if x == y else _bitwise("or", x, y)


def _bitwise(op, x, y):
    bx, by = bits_of(x), bits_of(y)
    if bx is None or by is None:
        return _opaque(op, x, y)
    bits = bx & by if op == "and" else bx | by
    return Expr(op + "2", (x, y), 0, bits, bits) if bits else 0


def _shift_by(op, x, y):
    if isinstance(y, int):
        return scaled(x, 1 << y) if op == "shl" else _floordiv(x, 1 << y)
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
    "add": add,
    "sub": lambda x, y: add(x, scaled(y, -1) if isinstance(y, Expr) else -y),
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


Expr.__str__ = expression_text                          # type: ignore[method-assign, assignment]
for _name, _rule in _RULES.items():
    setattr(Expr, f"__{_name}__", _operator(_rule, swap=False))
    setattr(Expr, f"__r{_name}__", _operator(_rule, swap=True))
