"""Operands of instructions as raw bits: edges crossed, patterns, neighbours, and any bits; the same for ever from a seed."""

import zlib
from functools import lru_cache
from itertools import product

import numpy as np

from simlayout.machine.arithmetic.carriers import width_of

FLOATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
"""Type -> bits of its exponent and of its fraction."""
USUAL, WHOLE, MANY = 16384, 65536, 262144
"""How many operands: usually; where 16 bits are all that there is; of functions that PTX calls approximate."""
ROLES = {"mask": "b32", "few32": "b32", "few64": "b64", "often": "pred", "clamp": "u32", "clamps": "u32",
         "nans": "f64"}
"""Roles of what lanes give together -> type: a membermask, one per warp; numbers of which many are equal, with 32 and 64
bits; predicates that warps mostly agree on; what shfl takes as its last number, one per warp and one per lane; f64, three in
four of them NaN."""
_LUT, _PLACE, _SELECTOR, _ANY = "lut", "place", "selector", "b16"
_U = np.uint64


def roles_of(opcode: str, sources: tuple[str, ...]) -> tuple[str, ...]:
    """What the operands of an instruction are: their types, but lut, an immediate table of 8 bits (lop3), place, that of a
    bit of 32 (fns), selector, 16 bits that are all tried (prmt), and b16 for all that 16 bits hold.

    >>> roles_of("lop3", ("b32", "b32", "b32", "u32")), roles_of("fns", ("b32", "u32", "s32"))
    (('b32', 'b32', 'b32', 'lut'), ('b32', 'place', 's32'))
    """
    if opcode == "lop3":
        return tuple([*sources[:3], _LUT, *sources[4:]])
    if opcode == "fns":
        return (sources[0], _PLACE, sources[2])
    if opcode == "prmt":
        return (*sources[:2], _SELECTOR)
    if len(sources) == 1 and 8 <= width_of(sources[0]) <= 16:
        return (_ANY,)
    return sources


def count_of(roles: tuple[str, ...], approximate: bool = False) -> int:
    """How many operands an instruction is tried on.

    >>> count_of(("f32", "f32")), count_of(("b16",)), count_of(("f32",), approximate=True)
    (16384, 65536, 262144)
    """
    if roles in ((_ANY,), ("f16x2",), ("bf16x2",)) or _SELECTOR in roles:
        return WHOLE
    return MANY if approximate else USUAL


@lru_cache(8)
def operands(roles: tuple[str, ...], count: int, seed: int) -> np.ndarray:
    """Raw bits, uint64 [operands of the instruction, count], read-only.

    The first half are edges of the types, crossed; then follow, in turn, any bits, patterns (few bits, or a fraction that
    ends in 0.., 1.., 10.. or 01..), neighbours of the first operand (or of the product of the first two), and patterns of
    every size.

    >>> operands(("pred", "u32"), 4, 0).shape
    (2, 4)
    """
    made = np.array(_columns(roles, count, zlib.crc32(" ".join(roles).encode()) + (seed << 32)), np.uint64)
    made.flags.writeable = False
    return made


def _columns(roles, count, salt):
    if any(role.endswith("x2") and role[:-2] in FLOATS for role in roles):
        halves = tuple(role.removesuffix("x2") for role in roles)
        low, high = (_columns(halves, count, salt + i) for i in range(2))
        if len(roles) == 1:
            low, high = ([np.arange(count, dtype=np.uint64) & _U(0xFFFF)] for _ in range(2))
        other = _noise(salt + 7, 99, count).argsort(kind="stable")              # rows stay rows in both halves
        return [a | b[other] << _U(16) if role.endswith("x2") else a for role, a, b in zip(roles, low, high)]
    if roles == (_ANY,):
        return [np.arange(count, dtype=np.uint64) & _U(0xFFFF)]
    random = [_noise(salt, i, count) for i in range(len(roles))]
    more = [_noise(salt + 1, i, count) for i in range(len(roles))]
    kinds = np.arange(count) % 4
    columns = [_drawn(role, r, m, kinds) for role, r, m in zip(roles, random, more)]
    near = kinds == 2
    for i in range(1, len(roles)):
        if roles[i] in (roles[0], "b" + roles[0][1:]):
            columns[i] = np.where(near, _near(roles, columns, i, more[i]), columns[i])
    columns = [_together(role, column, salt + 3 + i) for i, (role, column) in enumerate(zip(roles, columns))]
    crossed = _crossed([edges(role) for role in roles], count // 2, salt + 2)
    for role, column, first in zip(roles, columns, crossed):
        if role not in ROLES:
            column[: len(first)] = first
    return [_limited(role, column) for role, column in zip(roles, columns)]


def _limited(role, column):
    """What a role allows of a column's bits."""
    if role == _SELECTOR:
        return column & ~_U(0xFFFF) | np.arange(len(column), dtype=np.uint64) & _U(0xFFFF)
    if role == _LUT:
        return np.arange(len(column), dtype=np.uint64) * _U(37) & _U(255)
    return column & _U((1 << _width(role)) - 1)


def _together(role, column, salt):
    """A column of one of ROLES; any other as it is."""
    of_warp = np.repeat(_noise(salt, 90, -(-len(column) // 32)), 32)[: len(column)]
    kind = of_warp >> _U(60) & _U(3)
    if role == "mask":
        some = of_warp & of_warp >> _U(32) | _U(1) << (of_warp >> _U(8)) % _U(32)
        return np.select([kind == _U(i) for i in range(3)], [_U(0xFFFFFFFF) | of_warp, of_warp | _U(4), some],
                         _U(1) << (of_warp >> _U(8)) % _U(32)) & _U(0xFFFFFFFF)
    if role == "often":
        rare = (column & _U(31) == 0) * _U(1)
        return np.select([kind == _U(i) for i in range(3)], [rare, rare ^ _U(1), of_warp & _U(1)], column & _U(1))
    if role in ("few32", "few64"):
        pool = np.array([0, 1, 1 << 31, 1 << 32, (1 << 32) + 1, (1 << 64) - 1], np.uint64)
        return np.select([kind == _U(i) for i in range(2)], [of_warp, pool[(column % _U(6)).astype(np.int64)]],
                         of_warp ^ column & _U(3))
    if role == "nans":
        return np.where(column & _U(3) == 0, column, column | _U(0x7FF << 52))
    if role in ("clamp", "clamps"):
        chance = of_warp if role == "clamp" else column
        part = _U(1) << (chance >> _U(8)) % _U(6)                                     # lanes of a segment
        usual = (_U(32) - part) << _U(8) | np.where(chance >> _U(20) & _U(1) == 1, part - _U(1), _U(0))
        return np.where(chance >> _U(21) & _U(3) == 0, chance, usual | _U(31) * (chance >> _U(23) & _U(1)))
    return column


def _width(role):
    role = ROLES.get(role, role)
    return {_LUT: 8, _PLACE: 5, _SELECTOR: 32}.get(role) or width_of(role)


def _noise(salt, column, count):
    """uint64 [count] from a counter (splitmix64: Steele, Lea and Flood, OOPSLA 2014)."""
    with np.errstate(over="ignore"):
        x = np.arange(count, dtype=np.uint64) + _U((salt * 64 + column) * 0x632BE59BD9B4E019 & (1 << 64) - 1)
        x = x * _U(0x9E3779B97F4A7C15)
        x = (x ^ x >> _U(30)) * _U(0xBF58476D1CE4E5B9)
        x = (x ^ x >> _U(27)) * _U(0x94D049BB133111EB)
        return x ^ x >> _U(31)


def _drawn(role, random, more, kinds):
    """Any bits where the kind is 0, patterns elsewhere."""
    if role in FLOATS:
        exponent, fraction = FLOATS[role]
        bias, ones = (1 << exponent - 1) - 1, (1 << fraction) - 1
        tail = _with_tail(random & _U(ones), more, fraction)
        near_one = _U(bias - min(bias, 30)) + (more >> _U(20)) % _U(min(bias, 30) + min(bias, 70) + 1)
        any_size, end = more >> _U(20) & _U((1 << exponent) - 1), more >> _U(28) & _U(15)
        last = _U((1 << exponent) - 1)
        extreme = np.select([(more >> _U(40) & _U(7)) == _U(i) for i in range(3)], [_U(0) * end, end, last - end], any_size)
        field = np.where(kinds == 3, np.minimum(extreme, last), near_one)
        pattern = tail | field << _U(fraction) | (more >> _U(60) & _U(1)) << _U(exponent + fraction)
    else:
        width = _width(role)
        bits = random & _U((1 << width) - 1)
        small = bits >> more % _U(width)
        tailed = _with_tail(bits, more >> _U(8), width) >> (more >> _U(16)) % _U(width)
        pattern = np.where(kinds == 3, tailed, small)
        pattern = np.where(more >> _U(60) & _U(1) == 1, _U(0) - pattern, pattern)
    return np.where(kinds == 0, random, pattern)


def _with_tail(bits, more, width):
    """Bits whose low ones, as many as chance will, are 0.., 1.., 10.. or 01..."""
    length = (more >> _U(8)) % _U(width + 1)
    ones = (_U(1) << length) - _U(1)
    top = (_U(1) << length) >> _U(1)
    tail = np.select([(more & _U(3)) == _U(i) for i in range(3)], [_U(0) * ones, ones, top], ones >> _U(1))
    return bits & ~ones | tail


def _near(roles, columns, i, more):
    """Neighbours of the first operand; of a third float, of what takes the product of the first two away."""
    change, sign = more & _U(3), more >> _U(5) & _U(1)
    flip = (more >> _U(6) & _U(1) == 1) * _U(1 << _width(roles[0]) - 1)
    first = columns[0]
    if i == 2 and roles[0] in ("f32", "f64"):
        kind = np.float32 if roles[0] == "f32" else np.float64
        bits = np.uint32 if roles[0] == "f32" else np.uint64
        with np.errstate(all="ignore"):
            a, b = (column.astype(bits).view(kind) for column in columns[:2])
            first = (-(a * b)).view(bits).astype(np.uint64)
        flip = (more >> _U(6) & _U(7) == 7) * _U(1 << _width(roles[0]) - 1)
    return np.where(sign == 1, first + change, first - change) ^ flip


def _crossed(pools, count, salt):
    """[values] of each pool: all combinations if they are at most so many, else so many of them."""
    total = 1
    for pool in pools:
        total *= len(pool)
    if total <= count:
        rows = np.array(list(product(*(range(len(pool)) for pool in pools))), np.int64).T
    else:
        rows = [(_noise(salt, i, count) % _U(len(pool))).astype(np.int64) for i, pool in enumerate(pools)]
    return [np.array(pool, np.uint64)[row] for pool, row in zip(pools, rows)]


def edges(role: str) -> list[int]:
    """The raw bits of a type's edges.

    >>> edges("pred"), len(edges("f32")) > 100
    ([0, 1], True)
    """
    if role in FLOATS:
        return _float_edges(*FLOATS[role])
    if role in ("pred", "cc"):
        return [0, 1]
    return _integer_edges(_width(role))


def _integer_edges(width):
    ones = (1 << width) - 1
    powers = [1 << i for i in range(width)]
    near = [p + d for p in (0, 1 << 7, 1 << 8, 1 << 15, 1 << 16, 1 << 23, 1 << 24, 1 << 31, 1 << 32, 1 << 53, 1 << 63)
            for d in range(-2, 3)]
    rest = (3, 5, 7, 9, 10, 31, 33, 63, 65, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA, 0x0F0F0F0F0F0F0F0F, 0x80000001,
            0x01020304, (1 << 54) + 3, (1 << 63) + 1025, (1 << 63) + (1 << 39))
    return sorted({x & ones for x in (*powers, *near, *rest)} | {-x & ones for x in (*powers, *rest)})


def _float_edges(exponent, fraction):
    """Zeros, least and greatest numbers, halfway cases of narrower formats, powers of two, infinities, NaN of both kinds."""
    bias, top = (1 << exponent - 1) - 1, ((1 << exponent) - 1) << fraction
    unit, one = 1 << fraction, bias << fraction
    sizes = {0, 1, 2, 3, unit - 1, unit, unit + 1, one - 1, one, one + 1, one + unit // 2, one + unit + 1, top - 1, top - 2,
             top, top + 1, top + unit // 2 - 1, top + unit // 2, top + unit // 2 + 5, top + unit - 1}
    for narrow in (2, 3, 7, 10, 23):
        if narrow < fraction:
            tie = 1 << fraction - narrow - 1
            sizes |= {one + tie, one + tie - 1, one + tie + 1, one + 3 * tie, one + 3 * tie + 1}
    powers = (-1023, -1022, -150, -149, -133, -127, -126, -64, -25, -24, -17, -16, -15, -14, -10, -9, -7, -6, -3, -2, -1,
              1, 2, 3, 4, 7, 8, 9, 11, 12, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63, 64, 126, 127, 128)
    for power in powers:
        field = power + bias
        if 0 < field < (1 << exponent) - 1:
            at = field << fraction
            sizes |= {at, at - 1, at + 1, at + unit // 2, at + unit // 4}
    return sorted(size | sign for size in sizes for sign in (0, 1 << exponent + fraction))
