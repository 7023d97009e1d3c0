"""The floating-point half of `lane_twin`: formats, rounding and operations as fractions."""

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    exponent: int
    fraction: int
    infinities: bool = True

    @property
    def bits(self):
        return 1 + self.exponent + self.fraction

    @property
    def bias(self):
        return (1 << self.exponent - 1) - 1

    @property
    def sign(self):
        return 1 << self.bits - 1

    @property
    def infinity(self):
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def largest(self):
        """The bits of the largest number."""
        return self.infinity - 1 if self.infinities else self.sign - 2

    @property
    def least_normal(self):
        return Fraction(2) ** (1 - self.bias)

    @property
    def nan(self):
        return self.sign - 1


FLOATS = {"f16": Format(5, 10), "bf16": Format(8, 7), "f32": Format(8, 23), "f64": Format(11, 52),
          "e4m3": Format(4, 3, False), "e5m2": Format(5, 2), "tf32": Format(8, 10)}
HALVES = {"f16x2": "f16", "bf16x2": "bf16"}
INF = float("inf")


def value_of(bits, name):
    """(sign, Fraction, inf or None of a NaN)."""
    form = FLOATS[name]
    negative, size = bool(bits & form.sign), bits & form.sign - 1
    if size > form.largest:
        return negative, INF if form.infinities and size == form.infinity else None
    field, fraction = size >> form.fraction, size & (1 << form.fraction) - 1
    significand = fraction + ((1 << form.fraction) if field else 0)
    return negative, significand * Fraction(2) ** (max(field, 1) - form.bias - form.fraction)


def number_of(bits, name, ftz=False):
    """A Fraction or infinity with its sign, or None of a NaN; subnormal ones as 0 with ftz."""
    negative, size = value_of(bits, name)
    if size is None:
        return None
    if ftz and size < FLOATS[name].least_normal:
        size = Fraction(0)
    return -size if negative else size


def _whole(x, mode):
    """A positive fraction as an integer, rounded: rn, rna, down or up."""
    low = x.numerator // x.denominator
    rest = x - low
    if mode == "up":
        return low + (rest > 0)
    if mode == "down" or rest < Fraction(1, 2):
        return low
    return low + (rest > Fraction(1, 2) or mode == "rna" or low & 1)


def _direction(mode, negative):
    return {"rn": "rn", "rna": "rna", "rz": "down", "rm": "up" if negative else "down",
            "rp": "down" if negative else "up"}[mode or "rn"]


def _exponent(size):
    """The e with 2**e <= size < 2**(e + 1)."""
    e = size.numerator.bit_length() - size.denominator.bit_length()
    return e if size >= Fraction(2) ** e else e - 1


def round_to(name, negative, size, mode="rn", satfinite=False, ftz=False):
    """Raw bits of a number, sign apart; ftz: a result below the normal numbers, when rounded to the fraction of the format
    with any exponent, is zero."""
    form = FLOATS[name]
    sign = form.sign if negative else 0
    direction = _direction(mode, negative)
    if size is None:
        return form.nan
    if size == INF:
        return sign | (form.largest if satfinite else form.infinity if form.infinities else form.nan)
    if size == 0:
        return sign
    e = _exponent(size)
    if ftz and _whole(size / Fraction(2) ** (e - form.fraction), direction) * Fraction(2) ** (e - form.fraction) \
            < form.least_normal:
        return sign
    unit = Fraction(2) ** (max(e, 1 - form.bias) - form.fraction)
    rounded = _whole(size / unit, direction) * unit
    if rounded > value_of(form.largest, name)[1]:
        return sign | (form.largest if satfinite or direction == "down" else
                       form.infinity if form.infinities else form.nan)
    if rounded == 0:
        return sign
    e = max(_exponent(rounded), 1 - form.bias)
    count = rounded / Fraction(2) ** (e - form.fraction)
    return sign | (int(count) + ((e + form.bias - 1) << form.fraction))


def signed_sum(x, y, mode):
    """(sign, size) of the sum of two (sign, size); an exact zero of two different numbers is +0, rounded down -0."""
    if x[1] is None or y[1] is None or x[1] == y[1] == INF and x[0] != y[0]:
        return False, None
    if INF in (x[1], y[1]):
        return x if x[1] == INF else y
    total = (-x[1] if x[0] else x[1]) + (-y[1] if y[0] else y[1])
    if total == 0:
        return (x[0] if x[1] == y[1] == 0 and x[0] == y[0] else mode == "rm"), Fraction(0)
    return total < 0, abs(total)


def signed_product(x, y):
    if x[1] is None or y[1] is None or INF in (x[1], y[1]) and 0 in (x[1], y[1]):
        return False, None
    return x[0] != y[0], INF if INF in (x[1], y[1]) else x[1] * y[1]


def signed_quotient(x, y):
    if x[1] is None or y[1] is None or x[1] == y[1] == INF or x[1] == y[1] == 0:
        return False, None
    size = Fraction(0) if y[1] == INF else INF if y[1] == 0 or x[1] == INF else x[1] / y[1]
    return x[0] != y[0], size


def signed_root(x, name, mode):
    """The root, rounded to 80 bits toward zero and then to odd: enough for one more rounding."""
    if x[1] is None or x[0] and x[1] != 0:
        return False, None
    if x[1] in (0, INF):
        return x
    scale = 400 + 2 * max(0, -_exponent(x[1]))
    root = math.isqrt(x[1].numerator * (1 << 2 * scale) // x[1].denominator)
    exactly = Fraction(root, 1 << scale) ** 2 == x[1]
    return False, Fraction(2 * root + (not exactly), 1 << scale + 1)


def _flushed(value, name, ftz):
    return (value[0], Fraction(0)) if ftz and value[1] not in (None, INF) and value[1] < FLOATS[name].least_normal else value


def _nan_f64(operands):
    """The first NaN among raw bits, made quiet; else that of an invalid operation."""
    for bits in operands:
        if value_of(bits, "f64")[1] is None:
            return bits | 1 << 51
    return 0xFFF8000000000000


def _saturated(name, bits):
    """.sat of a rounded result: NaN and what is not above zero become +0."""
    number = number_of(bits, name)
    if number is None or number <= 0:
        return 0
    return min(bits, round_to(name, False, Fraction(1)))


NAN_ORDER = {"add": (1, 0), "sub": (1, 0), "mul": (1, 0), "div": (0, 1), "fma": (1, 2, 0), "mad": (1, 2, 0), "rcp": (0,),
             "sqrt": (0,)}
"""Which operand of f64 passes on its NaN (H200)."""


def _arithmetic(opcode, modifiers, name, operands):
    mode = modifiers[0] if modifiers[0] in ("rn", "rz", "rm", "rp") else "rn"
    ftz = "ftz" in modifiers
    x = [_flushed(value_of(bits, name), name, ftz) for bits in operands]
    if opcode == "add":
        made = signed_sum(*x, mode)
    elif opcode == "sub":
        made = signed_sum(x[0], (not x[1][0], x[1][1]), mode)
    elif opcode == "mul":
        made = signed_product(*x)
    elif opcode in ("fma", "mad"):
        made = signed_sum(signed_product(*x[:2]), x[2], mode)
    elif opcode == "div":
        made = signed_quotient(*x)
    elif opcode == "rcp":
        made = signed_quotient((False, Fraction(1)), x[0])
    else:
        made = signed_root(x[0], name, mode)
    if made[1] is None and name == "f64":
        return _nan_f64([operands[i] for i in NAN_ORDER[opcode]])
    bits = round_to(name, *made, mode, ftz=ftz)
    if "sat" in modifiers:
        return _saturated(name, bits)
    if "relu" in modifiers and made[1] is not None and bits & FLOATS[name].sign:
        return 0
    return bits


def _sign_of(opcode, modifiers, name, bits):
    form = FLOATS[name]
    changed = bits ^ form.sign if opcode == "neg" else bits & form.sign - 1
    negative, size = value_of(bits, name)
    if size is None:
        return bits | 1 << 51 if name == "f64" else form.nan
    if "ftz" in modifiers and size < form.least_normal:
        return changed & form.sign
    return changed


def _extreme(opcode, modifiers, name, a, b):
    form = FLOATS[name]
    a, b = (_flush_bits(x, name) if "ftz" in modifiers else x for x in (a, b))
    sign = (a ^ b) & form.sign if "xorsign" in modifiers else 0
    if "abs" in modifiers:
        a, b = a & form.sign - 1, b & form.sign - 1
    nans = [value_of(x, name)[1] is None for x in (a, b)]
    if any(nans):
        if all(nans) or "NaN" in modifiers:
            return b | 1 << 51 if name == "f64" else form.nan
        return (b if nans[0] else a) | sign
    key = {x: (number_of(x, name), not x & form.sign) for x in (a, b)}
    return (min if opcode == "min" else max)((a, b), key=key.get) | sign


def _flush_bits(bits, name):
    size = value_of(bits, name)[1]
    return bits & FLOATS[name].sign if size is not None and size < FLOATS[name].least_normal else bits


def _test(modifiers, name, bits):
    form = FLOATS[name]
    size = value_of(bits, name)[1]
    finite = size not in (None, INF)
    return int({"finite": finite, "infinite": size == INF, "number": size is not None, "notanumber": size is None,
                "normal": finite and (size == 0 or size >= form.least_normal),
                "subnormal": finite and 0 < size < form.least_normal}[modifiers[0]])


def float_result(opcode, modifiers, operands):
    name = modifiers[-1]
    if name in HALVES:
        parts = [float_result(opcode, (*modifiers[:-1], HALVES[name]), [x >> s & 0xFFFF for x in operands]) for s in (0, 16)]
        if any(callable(p) for p in parts):
            return lambda bits: all(p(bits >> s & 0xFFFF) for p, s in zip(parts, (0, 16)))
        return parts[0] | parts[1] << 16
    if opcode == "testp":
        return _test(modifiers, name, *operands)
    if opcode in ("neg", "abs"):
        return _sign_of(opcode, modifiers, name, *operands)
    if opcode in ("min", "max"):
        return _extreme(opcode, modifiers, name, *operands)
    if opcode == "fma" and "oob" in modifiers and 0x7FF7 in [x & 0x7FFF for x in operands[:2]]:
        return 0
    if modifiers[-2:] in (("f32", "f16"), ("f32", "bf16")):          # of mixed precision: all but the last are halves
        wide = [x if i == len(operands) - 1 else round_to("f32", *value_of(x, name)) for i, x in enumerate(operands)]
        return _arithmetic(opcode, modifiers[:-1], "f32", wide)
    if set(modifiers) & {"approx", "full"}:
        from lane_twin_approximate import within

        return within(opcode, modifiers, name, operands)
    return _arithmetic(opcode, modifiers, name, operands)


# ---- cvt

WHOLE = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}


def convert_float(modifiers, target, source, operands):
    mode = next((m for m in modifiers if m in ("rn", "rz", "rm", "rp", "rna")), None)
    whole = next((WHOLE[m] for m in modifiers if m in WHOLE), None)
    ftz, sat, relu, satfinite = (word in modifiers for word in ("ftz", "sat", "relu", "satfinite"))
    if len(operands) == 2:
        width = 16 if target.endswith("16x2") else 8
        high, low = (_one(x, target[:-2], "f32", mode, whole, ftz, sat, relu, satfinite) for x in operands)
        return high << width | low
    bits, = operands
    if source.endswith("x2"):
        step, width = (16 if source == "f16x2" else 8), (16 if target == "f16x2" else 8)
        low, high = (_one(bits >> s & (1 << step) - 1, target[:-2], source[:-2], mode, whole, ftz, sat, relu, satfinite)
                     for s in (0, step))
        return high << width | low
    return _one(bits, target, source, mode, whole, ftz, sat, relu, satfinite)


def _one(bits, target, source, mode, whole, ftz, sat, relu, satfinite):
    if target == source and not whole and not sat and not ftz and source in ("f32", "f64"):
        return bits                                               # ptxas copies
    if (target, source, ftz) == ("f32", "bf16", False):
        return bits << 16                                         # ptxas shifts
    if (target, mode, satfinite) == ("tf32", "rna", False):       # ptxas adds and masks
        special = value_of(bits, "f32")[1] in (None, INF)
        return (bits if special else bits + 0x1000) & 0xFFFFE000
    if source in FLOATS:
        negative, size = _flushed(value_of(bits, source), source, ftz and source == "f32" and target != "f16")
    else:
        number = bits - (1 << int(source[1:])) if source[0] == "s" and bits >> (int(source[1:]) - 1) else bits
        negative, size = number < 0, Fraction(abs(number))
    if whole and size not in (None, INF):
        size = Fraction(_whole(size, _direction(whole, negative)))
    if target not in FLOATS:
        return _to_integer(negative, size, target, source)
    if sat:
        negative, size = (False, Fraction(0)) if negative or size is None else (False, min(size, Fraction(1)))
    if relu and size is not None and negative:
        negative, size = False, Fraction(0)
    if size is None:
        return _nan_of(bits, target, source, mode, ftz)
    made = round_to(target, negative, size, mode or "rn", satfinite, ftz and target == "f32")
    return made << 13 if target == "tf32" else made


def _nan_of(bits, target, source, mode, ftz):
    """What an H200 makes of a NaN."""
    if target == "tf32":
        return (bits & 0xFFFFE000) - 0x2000 if mode == "rna" else 0x7FFFE000
    if target == "f64" and ftz:
        return 0x7FFFFFFFE0000000
    if "f64" not in (target, source):
        return FLOATS[target].nan
    sign, payload = bits & FLOATS[source].sign, bits & (1 << FLOATS[source].fraction) - 1
    shift = FLOATS[target].fraction - FLOATS[source].fraction
    kept = payload << shift if shift > 0 else payload >> -shift
    return (FLOATS[target].sign if sign else 0) | FLOATS[target].infinity | 1 << FLOATS[target].fraction - 1 | kept


def _to_integer(negative, size, target, source):
    n, signed = int(target[1:]), target[0] == "s"
    if size is None:
        made = 1 << n - 1 if source == "f64" or n == 64 else 0
        return ((1 << 64) - (1 << n - 1) if signed else made) if made else 0
    low, high = (-(1 << n - 1), (1 << n - 1) - 1) if signed else (0, (1 << n) - 1)
    number = high if size == INF else int(size)
    number = (low if size == INF else -number) if negative else number
    return max(low, min(high, number)) & (1 << 64) - 1
