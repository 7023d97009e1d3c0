"""Tensor-core arithmetic against the same rule in Python integers and fractions, one result at a time."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import given_few, sweep_but

from cuda_kernels.conformance.products.cases import FLOAT_CLASSES, tiles
from simlayout.numerics import mma, rule, tensor_op
from simlayout.numerics.fma import fma

F16 = "m16n8k16.f32.f16.f16.f32"
NUMPY = {"f16": np.float16, "bf16": np.uint16, "tf32": np.float32, "f32": np.float32, "f64": np.float64, "e4m3": np.uint8,
         "e5m2": np.uint8, "s8": np.int8, "u8": np.uint8, "s4": np.int8, "u4": np.uint8, "b1": np.uint8, "s32": np.int32}
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "f32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2)}
"""Exponent and fraction bits."""

NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF}
INFINITY = {"f32": 0x7F800000, "f16": 0x7C00}
SMALLEST_NORMAL = {"f32": -126, "f16": -14}


def unpack(name, bits):
    """(kind, sign, integer significand, exponent of its first and of its last bit) of one element."""
    exponent_bits, fraction_bits = FORMATS[name]
    if name == "tf32":
        bits &= ~0x1FFF
    sign = -1 if bits >> (exponent_bits + fraction_bits) else 1
    field, fraction = bits >> fraction_bits & (1 << exponent_bits) - 1, bits & (1 << fraction_bits) - 1
    all_ones = field == (1 << exponent_bits) - 1
    if name == "e4m3":
        kind = "nan" if all_ones and fraction == 7 else "finite"
    else:
        kind = "finite" if not all_ones else "nan" if fraction else "inf"
    exponent = max(field, 1) - (1 << exponent_bits - 1) + 1
    significand = fraction + (1 << fraction_bits if field else 0)
    return kind, sign, significand, exponent, exponent - fraction_bits


def times(x, y):
    """The product of two unpacked elements, not renormalised."""
    zero = any(kind == "finite" and significand == 0 for kind, _, significand, *_ in (x, y))
    infinite = "inf" in (x[0], y[0])
    kind = "nan" if "nan" in (x[0], y[0]) or infinite and zero else "inf" if infinite else "finite"
    return kind, x[1] * y[1], x[2] * y[2], x[3] + y[3], x[4] + y[4]


def special_sum(addends, name):
    """The bits of a sum that is NaN or infinite; None if all addends are finite."""
    signs = {sign for kind, sign, *_ in addends if kind == "inf"}
    if any(kind == "nan" for kind, *_ in addends) or len(signs) == 2:
        return NAN[name]
    return INFINITY[name] | (signs.pop() < 0) << sum(FORMATS[name]) if signs else None


def shifted(value, by):
    return value << by if by >= 0 else value >> -by


def pack(value, last, name, kept, nearest=False):
    """The bits of value * 2**last as f32 or f16, truncated to `kept` fraction bits or rounded to nearest even."""
    if value == 0:
        return 0
    sign, value = value < 0, abs(value)
    step = max(value.bit_length() - 1 + last, SMALLEST_NORMAL[name]) - kept
    units = shifted(value, last - step)
    if nearest and step > last:
        rest, half = value - (units << step - last), 1 << step - last - 1
        units += rest > half or (rest == half and units & 1)
    return packed_exactly(sign, units, step, name)


def packed_exactly(sign, units, step, name):
    """The bits of units * 2**step, which the type can hold unless it is too large; +0 for zero."""
    if units == 0:
        return 0
    exponent_bits, fraction = FORMATS[name]
    first = units.bit_length() - 1 + step
    if first >= 1 << exponent_bits - 1:
        bits = INFINITY[name]
    elif first < SMALLEST_NORMAL[name]:
        bits = shifted(units, step - (SMALLEST_NORMAL[name] - fraction))
    else:
        bits = shifted(units, step - (first - fraction)) + (first - SMALLEST_NORMAL[name] << fraction)
    return bits | sign << exponent_bits + fraction


def fused_by_hand(a, b, c, name_a, name_b, name_d, fraction_bits, kept_bits):
    """One fused sum of lists of raw bits a and b and of c: the raw bits of d."""
    addends = [times(unpack(name_a, x), unpack(name_b, y)) for x, y in zip(a, b, strict=True)] + [unpack(name_d, c)]
    special = special_sum(addends, name_d)
    if special is not None:
        return special
    top = max(first if significand else -133 for _, _, significand, first, _ in addends)
    last = top - fraction_bits
    total = sum(sign * shifted(significand, low - last) for _, sign, significand, _, low in addends)
    return pack(total, last, name_d, 10 if name_d == "f16" else kept_bits, nearest=name_d == "f16")


def value_of(name, bits):
    """A finite element as a Fraction."""
    _, sign, significand, _, last = unpack(name, bits)
    return sign * significand * Fraction(2) ** last


def ieee_sum(x, y, name):
    """x + y of raw bits, rounded to nearest even; every NaN as the hardware has it."""
    parts = [unpack(name, x), unpack(name, y)]
    special = special_sum(parts, name)
    if special is not None:
        return special
    if x == y == 1 << sum(FORMATS[name]):
        return x                                                                           # -0 + -0
    total = (value_of(name, x) + value_of(name, y)) * 2**200
    assert total.denominator == 1
    return pack(int(total), -200, name, FORMATS[name][1], nearest=True)


def as_f16(name, bits):
    """The f16 of an 8-bit float."""
    kind, sign, significand, _, last = unpack(name, bits)
    if kind != "finite":
        return {"nan": 0x7FFF, "inf": 0x7C00}[kind] | (sign < 0) << 15
    return pack(significand, last, "f16", 10) | (sign < 0) << 15


def floating_by_hand(name, arch, a, b, c):
    """One result of an instruction with floating-point operands, all as raw bits."""
    op, made = tensor_op(name), rule(name, arch)
    if made.kind == "through f16":
        a, b, d = [as_f16(op.a, x) for x in a], [as_f16(op.b, x) for x in b], 0
        for ks in ([k for k in range(op.k) if k % 4 < 2], [k for k in range(op.k) if k % 4 >= 2]):
            d = fused_by_hand([a[k] for k in ks], [b[k] for k in ks], d, "f16", "f16", op.d, 25, 23)
        return ieee_sum(d, c, op.d)
    fraction_bits, kept_bits, step = expected_width(op, arch)
    for k in range(0, op.k, step):
        c = fused_by_hand(a[k:k + step], b[k:k + step], c, op.a, op.b, op.d, fraction_bits, kept_bits)
    return c


def expected_width(op, arch):
    """(fraction bits, bits kept in an f32, k of a step), said apart from the table in `rules`."""
    if op.a in ("e4m3", "e5m2"):
        return 13, 13, 16 if arch == "sm_89" else op.k
    if arch in ("sm_80", "sm_86", "sm_89"):
        return 24, 23, 4 if op.a == "tf32" else 8
    return (24 if arch == "sm_75" else 25), 23, op.k


FLOATING = [
    (F16, "sm_90"), ("m16n8k16.f16.f16.f16.f16", "sm_90"), ("m16n8k8.f32.f16.f16.f32", "sm_75"),
    ("m16n8k8.f16.f16.f16.f16", "sm_90"), ("m16n8k16.f32.bf16.bf16.f32", "sm_90"), ("m16n8k8.f32.tf32.tf32.f32", "sm_90"),
    ("m16n8k4.f32.tf32.tf32.f32", "sm_100"), ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90"),
    ("m16n8k16.f16.e5m2.e4m3.f16", "sm_90"), ("m16n8k32.f16.e4m3.e5m2.f16", "sm_89"),
    ("m16n8k32.f32.e5m2.e5m2.f32", "sm_89"), (F16, "sm_80"), ("m16n8k16.f16.f16.f16.f16", "sm_86"),
    ("m16n8k16.f32.bf16.bf16.f32", "sm_89"), ("m16n8k8.f32.tf32.tf32.f32", "sm_80"), ("wgmma.m64n8k16.f32.f16.f16", "sm_90"),
    ("wgmma.m64n24k32.f32.e4m3.e5m2", "sm_90"), ("wgmma.m64n8k32.f16.e5m2.e5m2", "sm_90"),
    ("wgmma.m64n8k8.f32.tf32.tf32", "sm_90"),
]


def elements(name):
    """Raw bits of a format: mostly near one exponent, where sums interact, else anything."""
    exponent_bits, fraction_bits = FORMATS[name]
    bias = (1 << exponent_bits - 1) - 1
    width = exponent_bits + fraction_bits
    fraction = st.one_of(st.integers(0, (1 << fraction_bits) - 1), st.sampled_from([0, 1, (1 << fraction_bits) - 1]))
    field = st.one_of(st.integers(bias - min(bias, 3), bias + min(bias, 3)), st.integers(0, 3),
                      st.integers(2 * bias - 2, 2 * bias), st.integers(0, 2 * bias))
    usual = st.builds(lambda s, e, f: s << width | e << fraction_bits | f, st.integers(0, 1), field, fraction)
    return st.one_of(usual, usual, usual, st.sampled_from([0, 1 << width]), st.integers(0, (2 << width) - 1))


@pytest.mark.parametrize("op_of_arch", sweep_but(FLOATING[::5], FLOATING), ids="-".join)
@given_few(10, 30, data=st.data())
def test_a_result_is_what_the_rule_says_in_integers(op_of_arch, data):
    name, arch = op_of_arch
    op = tensor_op(name, arch)
    a, b = (data.draw(st.lists(elements(t), min_size=op.k, max_size=op.k), t) for t in (op.a, op.b))
    c = data.draw(elements(op.c), "c")
    tiles = np.zeros((op.m, op.k), f"u{NUMPY[op.a]().itemsize}"), np.zeros((op.k, op.n), f"u{NUMPY[op.b]().itemsize}")
    tiles[0][5], tiles[1][:, 3] = a, b
    start = np.zeros((op.m, op.n), f"u{NUMPY[op.c]().itemsize}")
    start[5, 3] = c
    d = mma(name, tiles[0].view(NUMPY[op.a]), tiles[1].view(NUMPY[op.b]), start.view(NUMPY[op.c]), arch)
    assert hex(d.view(start.dtype)[5, 3]) == hex(floating_by_hand(name, arch, a, b, c))


@pytest.mark.parametrize("name, arch", FLOATING)
def test_every_class_of_operands_comes_out_as_in_integers(name, arch):
    op, random = tensor_op(name, arch), np.random.default_rng(5)
    a, b, c, labels = tiles(name, 2 * len(FLOAT_CLASSES), seed=5)
    d = mma(name, a, b, c, arch)
    for t, m, n in zip(range(len(a)), random.integers(0, op.m, len(a)), random.integers(0, op.n, len(a)), strict=True):
        said = floating_by_hand(name, arch, *(raw(x).tolist() for x in (a[t, m], b[t, :, n], c[t, m, n])))
        assert hex(raw(d)[t, m, n]) == hex(said), labels[t]


def raw(x):
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").reshape(x.shape)


@given_few(50, 150, *[st.lists(st.one_of(st.floats(), st.sampled_from([1.0, 2.0**-1074, 2.0**511, -0.0, 1 / 3]),
                                         st.floats(-2, 2)), min_size=4, max_size=4)] * 3)
def test_an_fma_is_rounded_once(a, b, c):
    made = fma(*(np.array(x) for x in (a, b, c)))
    for found, x, y, z in zip(made.tolist(), a, b, c, strict=True):
        assert_same(found, fma_by_fractions(x, y, z))


@settings(max_examples=100, deadline=None)
@given(st.integers(2**52, 2**53 - 1), st.integers(-300, 300), st.integers(-90, 90), *[st.sampled_from([-1, 0, 1])] * 3)
def test_a_tie_that_an_fma_sees_only_in_the_last_of_its_bits_is_broken(significand, exponent, i, first, second, sign):
    """The product is half the last bit of c, but for one part in 2**54 or so."""
    c = (sign or 1) * significand * 2.0**exponent
    a, b = 2.0**i * (1 + first * 2.0**-27), 2.0**(exponent - 1 - i) * (1 + second * 2.0**-27)
    assert_same(fma(*(np.array([x]) for x in (a, b, c)))[0], fma_by_fractions(a, b, c))


def fma_by_fractions(x, y, z):
    if not np.isfinite([x, y]).all():
        with np.errstate(invalid="ignore"):
            return float(np.float64(x) * np.float64(y) + np.float64(z))
    if not np.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z if x * y == 0 and (x == 0 or y == 0) else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def assert_same(found, said):
    assert np.isnan(found) and np.isnan(said) or np.float64(found).view(np.int64) == np.float64(said).view(np.int64), (
        found, said)


def test_an_fma_keeps_the_payload_of_a_nan_and_makes_it_quiet():
    signalling, quiet = (np.array([bits], np.uint64).view(np.float64) for bits in (0xFFF0000000001234, 0xFFF8000000001234))
    one, infinite = np.array([1.0]), np.array([np.inf])
    for operands in ((signalling, one, one), (one, quiet, infinite), (one, one, signalling)):
        assert hex(fma(*operands).view(np.uint64)[0]) == "0xfff8000000001234"
    assert hex(fma(infinite, one, -infinite).view(np.uint64)[0]) == "0xfff8000000000000"


@pytest.mark.parametrize("name", ["m8n8k4.f64.f64.f64.f64", "m16n8k16.f64.f64.f64.f64"])
def test_f64_sums_are_a_chain_of_fma_in_the_order_of_k(name):
    op, random = tensor_op(name), np.random.default_rng(3)
    a, b, c = (random.standard_normal(s) * 10.0 ** random.integers(-200, 200, s)
               for s in ((op.m, op.k), (op.k, op.n), (op.m, op.n)))
    d = mma(name, a, b, c)
    for m in range(op.m):
        for n in range(op.n):
            total = c[m, n]
            for k in range(op.k):
                total = fma_by_fractions(float(a[m, k]), float(b[k, n]), float(total))
            assert_same(d[m, n], total)


INTEGERS = {"s8": (-128, 127), "u8": (0, 255), "s4": (-8, 7), "u4": (0, 15), "b1": (0, 1), "s32": (-2**31, 2**31 - 1)}


@pytest.mark.parametrize("name", [
    "m16n8k32.s32.s8.u8.s32", "m8n8k16.s32.u8.u8.s32.satfinite", "m16n8k64.s32.u4.s4.s32.satfinite",
    "m8n8k128.s32.b1.b1.s32.xor.popc", "m16n8k256.s32.b1.b1.s32.and.popc", "wgmma.m64n16k32.s32.u8.s8.satfinite"])
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_integer_sums_are_exact_and_wrap_or_saturate(name, seed, at_the_limits):
    op, random = tensor_op(name), np.random.default_rng(seed)
    shapes = (op.m, op.k), (op.k, op.n), (op.m, op.n)
    draw = (lambda t, s: random.choice(INTEGERS[t], s)) if at_the_limits else (
        lambda t, s: random.integers(*INTEGERS[t], s, endpoint=True))
    a, b, c = (draw(t, s).astype(NUMPY[t]) for t, s in zip((op.a, op.b, op.c), shapes, strict=True))
    d = mma(name, a, b, c)
    for m, n in ((0, 0), (op.m - 1, op.n - 1), (3, 5)):
        pairs = list(zip(a[m].tolist(), b[:, n].tolist(), strict=True))
        total = int(c[m, n]) + sum(x ^ y if "xor" in name else x * y for x, y in pairs)
        low, high = INTEGERS["s32"]
        said = min(max(total, low), high) if "satfinite" in name else (total - low) % 2**32 + low
        assert d.dtype == np.int32 and int(d[m, n]) == said
