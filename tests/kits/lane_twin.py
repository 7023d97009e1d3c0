"""What lane-wise instructions compute, written from the text of the PTX ISA with Python's integers, one lane at a time.

`expected(opcode, modifiers, operands)` takes and gives raw bits. It shares nothing with simlayout.machine.arithmetic.
"""

import re

from lane_twin_floats import FLOATS, HALVES, convert_float, float_result, number_of

LOGIC = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def width(name):
    if name in ("pred", "cc"):
        return 1
    if name == "tf32" or name.endswith("16x2"):
        return 32
    return 16 if name in ("e4m3x2", "e5m2x2", "bf16") else int(re.search(r"\d+$", name)[0])


def integer(bits, name):
    """The integer that raw bits of a type mean."""
    n = width(name)
    bits &= (1 << n) - 1
    return bits - (1 << n) if name[0] == "s" and bits >> (n - 1) else bits


def cut(value, name):
    return value & (1 << width(name)) - 1


def clamp(value, name):
    n = width(name)
    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if name[0] == "s" else (0, (1 << n) - 1)
    return max(low, min(high, value))


def expected(opcode, modifiers, operands):
    """A tuple of raw bits, or of functions that say whether raw bits are right where PTX states an error bound."""
    kind = modifiers[-1]
    if opcode in INTEGERS and kind not in FLOATS and kind not in HALVES:
        return _tuple(INTEGERS[opcode](modifiers, kind, *operands))
    if opcode in OTHERS:
        return _tuple(OTHERS[opcode](modifiers, kind, *operands))
    return _tuple(float_result(opcode, modifiers, operands))


def _tuple(made):
    return made if isinstance(made, tuple) else (made,)


def _sides(kind, operands):
    return [integer(x, kind) for x in operands]


def _add(modifiers, kind, a, b, carry=None, sign=1):
    carry = (sign < 0) if carry is None else carry
    if "x2" in kind:
        parts = [(x & 0xFFFF, x >> 16) for x in (a, b)]
        return (parts[0][0] + parts[1][0] & 0xFFFF) | (parts[0][1] + parts[1][1] & 0xFFFF) << 16
    if "sat" in modifiers:
        a, b = _sides(kind, (a, b))
        return cut(clamp(a + sign * b, kind), kind)
    a, b = cut(a, kind), cut(b, kind)
    if sign < 0:                                              # the flag is 0 where something was borrowed
        total = a - b - 1 + carry
        return (cut(total, kind), int(total >= 0)) if "cc" in modifiers else cut(total, kind)
    total = a + b + carry
    out = total >> width(kind) & 1
    return (cut(total, kind), out) if "cc" in modifiers else cut(total, kind)


def _product(mode, kind, a, b):
    a, b = _sides(kind, (a, b))
    return a * b >> width(kind) if mode == "hi" else a * b


def _mad(modifiers, kind, a, b, c, carry=0):
    mode = modifiers[0]
    result = kind[0] + str(2 * width(kind)) if mode == "wide" else kind
    product = _product(mode, kind, a, b)
    if "sat" in modifiers:
        return cut(clamp(product + integer(c, kind), kind), kind)
    if "cc" in modifiers:
        total = cut(product, kind) + cut(c, kind) + carry
        return cut(total, kind), total >> width(kind)
    return cut(product + integer(c, result) + carry, result)


def _mul(modifiers, kind, a, b):
    return cut(_product(modifiers[0], kind, a, b), kind[0] + str(2 * width(kind)) if modifiers[0] == "wide" else kind)


def _mul24(modifiers, kind, a, b, c=None):
    a, b = (x & 0xFFFFFF for x in (a, b))
    if kind == "s32":
        a, b = (x - (1 << 24) if x >> 23 else x for x in (a, b))
    product = a * b >> 16 if modifiers[0] == "hi" else a * b
    if c is None:
        return cut(product, kind)
    if modifiers[0] == "lo":
        product = integer(product, kind)
    total = product + integer(c, kind)
    return cut(clamp(total, kind) if "sat" in modifiers else total, kind)


def _sad(modifiers, kind, a, b, c):
    a, b = _sides(kind, (a, b))
    return cut(integer(c, kind) + abs(a - b), kind)


def _div(modifiers, kind, a, b):
    a, b = _sides(kind, (a, b))
    if b == 0:
        return cut(-1, kind)                                      # as ptxas's code gives it
    return cut(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1), kind)


def _rem(modifiers, kind, a, b):
    a, b = _sides(kind, (a, b))
    return cut(-1, kind) if b == 0 else cut(abs(a) % abs(b) * (1 if a >= 0 else -1), kind)


def _extreme(choose):
    def extreme(modifiers, kind, a, b):
        if "x2" in kind:
            half = [extreme(modifiers, kind[:3], x, y) for x, y in ((a & 0xFFFF, b & 0xFFFF), (a >> 16, b >> 16))]
            return half[0] | half[1] << 16
        made = choose(_sides(kind, (a, b)))
        return cut(max(made, 0) if "relu" in modifiers else made, kind)

    return extreme


def _dot(modifiers, kind, a, b, c):
    """dp4a, dp2a: the signs of the pieces are those of .atype and .btype."""
    mode = modifiers[0] if modifiers[0] in ("lo", "hi") else None
    ta, tb = modifiers[-2:]
    size, count = (16, 2) if mode else (8, 4)
    first = 2 if mode == "hi" else 0
    total = integer(c, "s32")
    for i in range(count):
        x, y = a >> size * i & (1 << size) - 1, b >> 8 * (i + first) & 0xFF
        x = x - (1 << size) if ta == "s32" and x >> (size - 1) else x
        total += x * (y - 256 if tb == "s32" and y >> 7 else y)
    return cut(total, "s32")


VIDEO = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "absdiff": lambda x, y: abs(x - y), "min": min, "max": max,
         "avrg": lambda x, y: x + y + (x + y >= 0) >> 1}


def _video(name, size):
    """vadd4 and the like, of pieces of so many bits: type of the result, but of vset, types of a and b, what else."""
    def pieces(x, kind):
        return [integer(x >> by & (1 << size) - 1, f"{kind[0]}{size}") for by in range(0, 32, size)]

    def made(modifiers, kind, a, b, c=0):
        result, *types = (modifiers[0], *modifiers[:2]) if name == "set" else modifiers[:3]
        rest, pairs = modifiers[len(types) + (name != "set"):], zip(*map(pieces, (a, b), types))
        if name in ("shl", "shr"):
            shifted = int.__lshift__ if name == "shl" else int.__rshift__
            to = [shifted(x, y & 31 if rest[0] == "wrap" else min(y, 32)) for x, y in pairs]
        else:
            to = [int(COMPARE[rest[0]](x, y)) if name == "set" else VIDEO[name](x, y) for x, y in pairs]
        if "sat" in rest:                                         # on an H200: u32 has no upper end
            to = [max(x, 0) if (result, size) == ("u32", 32) else clamp(x, f"{result[0]}{size}") for x in to]
        if rest and rest[-1] == "add":
            return cut(c + sum(to), "u32")
        if rest and rest[-1] in ("min", "max"):                   # on an H200: of 64 bits
            exact = integer(to[0] & 0xFFFFFFFF, "s32") if name in ("add", "sub") else to[0]
            return cut(VIDEO[rest[-1]](integer(exact & (1 << 64) - 1, f"{result[0]}64"), integer(c, result)), "u32")
        return sum((x & (1 << size) - 1) << size * i for i, x in enumerate(to))

    return made


def _find(modifiers, kind, a):
    a = integer(a, kind)
    found = (~a if a < 0 else a).bit_length() - 1
    if found < 0:
        return 0xFFFFFFFF
    return width(kind) - 1 - found if "shiftamt" in modifiers else found


def _fns(modifiers, kind, mask, base, offset):
    offset = integer(offset, "s32")
    if offset == -1 << 31:
        return 0                                                  # on an H200: its negative overflows
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    place, count, step = base, abs(offset) - 1, 1 if offset > 0 else -1
    while 0 <= place < 32:
        if mask >> place & 1:
            if count == 0:
                return place
            count -= 1
        place += step
    return 0xFFFFFFFF


def _field(kind, start, length):
    """What counts of them: 8 bits; all of 64-bit types."""
    return (start, length) if width(kind) == 64 else (start & 0xFF, length & 0xFF)


def _bfe(modifiers, kind, a, start, length):
    (start, length), top = _field(kind, start, length), width(kind) - 1
    a = cut(a, kind)
    sign = 0 if kind[0] == "u" or length == 0 else a >> min(start + length - 1, top) & 1
    return sum((a >> start + i & 1 if i < length and start + i <= top else sign) << i for i in range(top + 1))


def _bfi(modifiers, kind, a, b, start, length):
    start, length = _field(kind, start, length)
    for i in range(min(length, width(kind))):
        if start + i < width(kind):
            b = b & ~(1 << start + i) | (a >> i & 1) << start + i
    return cut(b, kind)


def _bmsk(modifiers, kind, a, b):
    if modifiers[0] == "wrap":
        a, b = a & 31, b & 31
    return sum(1 << i for i in range(32) if a <= i < a + b)


def _szext(modifiers, kind, a, b):
    if modifiers[0] == "wrap":
        b &= 31
    if b >= 32:
        return a
    low = a & (1 << b) - 1
    return cut(low - (1 << b) if kind == "s32" and b and low >> (b - 1) else low, kind)


def _prmt(modifiers, kind, a, b, c):
    pool = [(b << 32 | a) >> 8 * i & 0xFF for i in range(8)]
    mode = modifiers[1] if len(modifiers) > 1 else ""
    if not mode:
        made = [(255 if pool[n & 7] >> 7 else 0) if n & 8 else pool[n & 7] for n in (c >> 4 * i & 15 for i in range(4))]
    else:                                                         # the table of the PTX ISA, most significant byte first
        table = {"f4e": "3210 4321 5432 6543", "b4e": "5670 6701 7012 0123", "rc8": "0000 1111 2222 3333",
                 "ecl": "3210 3211 3222 3333", "ecr": "0000 1110 2210 3210", "rc16": "1010 3232 1010 3232"}
        made = [pool[int(digit)] for digit in reversed(table[mode].split()[c & 3])]
    return sum(byte << 8 * i for i, byte in enumerate(made))


def _lop3(modifiers, kind, a, b, c, table, q=0):
    made = sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))
    return made if kind == modifiers[0] else (made, LOGIC[modifiers[0]](int(made != 0), q))


def _shift_left(modifiers, kind, a, n):
    return cut(a << min(n, 64), kind)


def _shift_right(modifiers, kind, a, n):
    return cut(integer(a, kind) >> min(n, 64), kind)


def _funnel(modifiers, kind, a, b, n):
    n = n & 31 if modifiers[1] == "wrap" else min(n, 32)
    both = b << 32 | a
    return (both << n >> 32) & 0xFFFFFFFF if modifiers[0] == "l" else both >> n & 0xFFFFFFFF


INTEGERS = {
    "add": _add, "sub": lambda m, kind, *x: _add(m, kind, *x, sign=-1), "addc": _add,
    "subc": lambda m, kind, *x: _add(m, kind, *x, sign=-1), "mul": _mul, "mad": _mad, "madc": _mad, "mul24": _mul24,
    "mad24": _mul24, "sad": _sad, "div": _div, "rem": _rem, "min": _extreme(min), "max": _extreme(max),
    "abs": lambda m, kind, a: cut(abs(integer(a, kind)), kind), "neg": lambda m, kind, a: cut(-integer(a, kind), kind),
    "dp4a": _dot, "dp2a": _dot,
    **{f"v{name}{n}": _video(name, 32 // int(n or 1)) for n in ("", 2, 4) for name in (*VIDEO, "set", "shl", "shr")},
    "popc": lambda m, kind, a: a.bit_count(),
    "clz": lambda m, kind, a: width(kind) - a.bit_length(), "bfind": _find,
    "brev": lambda m, kind, a: int(f"{a:0{width(kind)}b}"[::-1], 2), "fns": _fns, "bfe": _bfe, "bfi": _bfi, "bmsk": _bmsk,
    "szext": _szext,
}


COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
           "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def compared(name, kind, a, b, ftz):
    """CmpOp of raw bits: an ordered one is false of a NaN, one that ends in u true."""
    if kind not in FLOATS:
        return COMPARE[UNSIGNED.get(name, name)](*_sides(kind, (a, b)))
    a, b = number_of(a, kind, ftz), number_of(b, kind, ftz)
    unordered = a is None or b is None
    if name in ("num", "nan"):
        return unordered == (name == "nan")
    if unordered:
        return name.endswith("u")
    return COMPARE[name.removesuffix("u")](a, b)


def _setp(modifiers, kind, a, b, c=None):
    name, combine = modifiers[0], modifiers[1] if modifiers[1] in LOGIC else None
    if kind in HALVES:
        met = [compared(name, kind[:-2], a >> s & 0xFFFF, b >> s & 0xFFFF, "ftz" in modifiers) for s in (0, 16)]
    else:
        made = compared(name, kind, a, b, "ftz" in modifiers)
        met = [made, not made]
    return tuple(LOGIC[combine](int(x), c) if combine else int(x) for x in met[:1 if kind in ("f16", "bf16") else 2])


TRUE = {"u16": 0xFFFF, "s16": 0xFFFF, "u32": 0xFFFFFFFF, "s32": 0xFFFFFFFF, "f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}


def _set(modifiers, kind, a, b, c=None):
    result = modifiers[-2]
    if kind in HALVES:
        parts = [_set((*modifiers[:-2], {"u32": "u16", "s32": "s16"}.get(result, result[:-2]), kind[:-2]),
                      kind[:-2], a >> s & 0xFFFF, b >> s & 0xFFFF, c) for s in (0, 16)]
        return parts[0] | parts[1] << 16
    met = _setp(modifiers, kind, a, b, c)[0]
    return TRUE[result] if met else 0


def _slct(modifiers, kind, a, b, c):
    if kind == "s32":
        return a if integer(c, "s32") >= 0 else b
    number = number_of(c, "f32", "ftz" in modifiers)
    return a if number is not None and number >= 0 else b


def _cvt(modifiers, kind, *operands):
    if modifiers[0] == "pack":
        return _pack(modifiers, *operands)
    target, source = modifiers[-2:]
    if target[0] in "us" and source[0] in "us":
        value = integer(operands[0], source)
        value = clamp(value, target) if "sat" in modifiers else integer(value, target)
        return value & (1 << 64) - 1                              # extended to the register
    return convert_float(modifiers, target, source, operands)


def _pack(modifiers, a, b, c=0):
    name = modifiers[2]
    n = int(name[1:])
    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if name[0] == "s" else (0, (1 << n) - 1)
    a, b = (max(low, min(high, integer(x, "s32"))) & (1 << n) - 1 for x in (a, b))
    return (c << 2 * n | a << n | b) & 0xFFFFFFFF


OTHERS = {
    **{name: lambda m, kind, a, b, f=f: cut(f(a, b), kind) for name, f in LOGIC.items()},
    "not": lambda m, kind, a: cut(~a, kind), "cnot": lambda m, kind, a: int(cut(a, kind) == 0), "lop3": _lop3,
    "shl": _shift_left, "shr": _shift_right, "shf": _funnel, "prmt": _prmt, "setp": _setp,
    "set": _set, "selp": lambda m, kind, a, b, p: a if p else b, "slct": _slct, "cvt": _cvt,
    "copysign": lambda m, kind, a, b: cut(b, f"b{width(kind) - 1}") | a >> (width(kind) - 1) << (width(kind) - 1),
}
