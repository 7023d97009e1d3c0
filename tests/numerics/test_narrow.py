"""tcgen05.mma: what a B200 returned, as others published it; and the sums against integers of any size."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st
from places import DATA
from tiers import given_few

import simlayout as sl
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import InstructionError
from simlayout.numerics import MINIFLOATS, NARROW_RULES, narrow_mma, rule

VECTORS = json.loads((DATA / "b200_tcgen05.json").read_text())
NARROW = [v for v in VECTORS if v["kind"] in NARROW_RULES]
WIDE = [v for v in VECTORS if v["kind"] not in NARROW_RULES]
B200, SIM = "sf-tensor/tcgen05", "MMA-Sim"


def narrow(v, source=None):
    """The bits of D of a vector."""
    number, bits = (np.float16, np.uint16) if v["d"] == "f16" else (np.float32, np.uint32)
    a, b = np.array([v["a"]], np.uint8), np.array([v["b"]], np.uint8).T
    scales = () if v["scale_a"] is None else (np.array([v["scale_a"]], np.uint8), np.array([v["scale_b"]], np.uint8).T)
    more = {} if v["scale"] is None else {"scale": v["scale"]}
    c = np.array([[v["c"]]], bits).view(number)
    d = narrow_mma(v["kind"], a, b, c, *scales, types=tuple(v["types"]), d=v["d"], source=source, **more)
    return int(d.view(bits)[0, 0])


@pytest.mark.parametrize("v", NARROW, ids=lambda v: v["name"])
def test_floats_of_few_bits_are_what_a_b200_returned(v):
    assert narrow(v) == v["d_bits"]                     # neither source says otherwise
    for r in NARROW_RULES[v["kind"]]:
        assert narrow(v, r.source.text.split(",")[0]) == v["d_bits"]


@pytest.mark.parametrize("v", WIDE, ids=lambda v: v["name"])
def test_halves_tf32_and_integers_are_what_a_b200_returned(v):
    k, (a_type, b_type) = len(v["a"]), v["types"]
    a, b = np.zeros((64, k), TYPES[a_type].raw), np.zeros((k, 16), TYPES[b_type].raw)
    a[5], b[:, 3] = v["a"], v["b"]
    c = np.zeros((64, 16), np.uint32)
    c[5, 3] = v["c"]
    name = f"tcgen05.m64n16k{k}.{v['d']}.{a_type}.{b_type}{'.satfinite' * v['saturate']}"
    d = sl.mma(name, a.view(TYPES[a_type].plain), b.view(TYPES[b_type].plain), c.view(TYPES[v["d"]].plain), arch="sm_100")
    assert int(d.view(np.uint32)[5, 3]) == v["d_bits"]


def test_there_are_vectors_of_every_kind_and_their_rule_names_its_source():
    assert (len(NARROW), len(WIDE)) == (29, 31) and {v["kind"] for v in VECTORS} >= {"f16", "tf32", "i8", *NARROW_RULES}
    assert rule("tcgen05.m128n256k16.f32.f16.f16", "sm_100").provenance.kind == "measured elsewhere"
    assert all(r.source.kind == "measured elsewhere" for rules in NARROW_RULES.values() for r in rules)


# ---- a slow twin: integers ----------------------------------------------------------------------------------------------

def decoded(name, bits):
    """(value as a Fraction, encoded exponent) of a finite element."""
    form = MINIFLOATS[name]
    bits &= (1 << form.bits) - 1
    if name == "ue8m0":
        return Fraction(2) ** (bits - 127), bits - 127
    stored, fraction = bits >> form.fraction & (1 << form.exponent) - 1, bits & (1 << form.fraction) - 1
    exponent = max(stored, 1) - form.bias
    size = Fraction(fraction + (min(stored, 1) << form.fraction)) * Fraction(2) ** (exponent - form.fraction)
    return (-size if form.signed and bits >> form.bits - 1 else size), exponent


def cut(x, quantum):
    """How many whole 2**quantum a number has, without those of the other sign."""
    units = abs(x) / Fraction(2) ** quantum
    return (units.numerator // units.denominator) * (1 if x >= 0 else -1)


def f32_truncated(x):
    """The f32 bits of a number, truncated toward zero."""
    if x == 0:
        return 0
    exponent = max(len(bin(abs(x).numerator)) - len(bin(abs(x).denominator)), -200)
    exponent += 1 if abs(x) >= Fraction(2) ** (exponent + 1) else 0
    exponent -= 1 if abs(x) < Fraction(2) ** exponent else 0
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    size = abs(x) / unit
    units = size.numerator // size.denominator
    sign = 0x80000000 if x < 0 else 0
    if exponent > 127:
        return sign | 0x7F800000
    if not units:
        return 0
    return sign | (units if exponent < -126 else units - (1 << 23) + (exponent + 127 << 23))


def twin(v, source):
    """D of a vector of f32 with finite operands, by the words of the source."""
    scaled = v["scale"] is not None
    vector = len(v["a"]) // len(v["scale_a"]) if scaled else len(v["a"])
    c = Fraction(float(np.uint32(v["c"]).view(np.float32)))
    c_exponent = max(v["c"] >> 23 & 255, 1) - 127
    terms = []
    for k, (x, y) in enumerate(zip(v["a"], v["b"])):
        parts = [decoded(v["types"][0], x), decoded(v["types"][1], y)]
        scales = [decoded(v["scale"], v[s][k // vector]) for s in ("scale_a", "scale_b")] if scaled else []
        value = Fraction(1)
        for part, _ in parts + scales:
            value *= part
        shift = sum(e for _, e in scales)
        terms.append((value, sum(e for _, e in parts) + shift, shift))
    some = [t for t in terms if t[0]]
    if not some:
        return f32_truncated(c)
    top, shift = max(t[1] for t in some), max(t[2] for t in some)

    def groups(size):
        return [terms[i:i + size] for i in range(0, len(terms), size)]

    def total(quantum, size):
        return sum(cut(sum(t[0] for t in group), quantum) for group in groups(size)) + cut(c, quantum)

    if v["kind"] in ("f8f6f4", "mxf8f6f4"):
        quantum = max(top, c_exponent if c else top) - 25
        return f32_truncated(total(quantum, 1) * Fraction(2) ** quantum)
    if source == SIM:
        quantum = max(max(t[2] for t in some), c_exponent if c else -126) - 35
        return f32_truncated(total(quantum, 16) * Fraction(2) ** quantum)
    if c and c_exponent >= top:
        return f32_truncated(total(c_exponent - 35, 16) * Fraction(2) ** (c_exponent - 35))
    quantum = max(max(top, c_exponent if c else top) - 39, shift - 35)
    if v["scale"] == "ue4m3":
        return f32_truncated(total(quantum, 4) * Fraction(2) ** quantum)
    blocks = []
    for group in groups(16):
        here = [t for t in group if t[0]]
        own = quantum
        if c and here and c_exponent >= max(t[1] for t in here):
            own = max(quantum, c_exponent - 35)
        blocks.append((cut(sum(t[0] for t in group), own) * Fraction(2) ** own, max((t[2] for t in here), default=None)))
    base = cut(c, quantum) * Fraction(2) ** quantum
    bits = f32_truncated(base + sum(b for b, _ in blocks))
    if 0 < bits & 0x7FFFFFFF < 1 << 23:
        least = Fraction(2) ** max(quantum, -174)
        kept = [b for b, s in blocks if not (s is not None and s < shift and abs(b) < least)]
        bits = f32_truncated(base + sum(kept))
    return bits


CASES = [("f8f6f4", None, 32), ("mxf8f6f4", "ue8m0", 32), ("mxf4", "ue8m0", 64), ("mxf4nvf4", "ue8m0", 64),
         ("mxf4nvf4", "ue4m3", 64)]
FINITE = {"e4m3": 0x7F, "e5m2": 0x7C}


@st.composite
def vectors(draw):
    kind, scale, k = draw(st.sampled_from(CASES))
    types = [draw(st.sampled_from(["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"])) if k == 32 else "e2m1" for _ in "ab"]

    def elements(name):
        bits = np.array(draw(st.lists(st.integers(0, 255), min_size=k, max_size=k))) & (1 << MINIFLOATS[name].bits) - 1
        low = (1 << MINIFLOATS[name].bits - 1) - 1
        return np.where((bits & low) >= FINITE.get(name, 256), 0, bits).tolist()

    count = {"mxf8f6f4": (1,), "mxf4": (2,), "mxf4nvf4": (2, 4)}.get(kind, (0,))
    count = 4 if scale == "ue4m3" else draw(st.sampled_from(count))
    middle = draw(st.sampled_from([127, 127, 64, 190]))
    near = st.integers(middle - 8, middle + 8) if scale == "ue8m0" else st.integers(0, 0x7E)
    scales = [draw(st.lists(near, min_size=count, max_size=count)) for _ in "ab"] if scale else [None, None]
    around = 127 if scale != "ue8m0" else 2 * middle - 127
    exponent = min(max(around + draw(st.integers(-12, 16)), 0), 254)
    c = draw(st.sampled_from([0, 1])) and (
        exponent << 23 | draw(st.integers(0, 2**23 - 1)) | draw(st.sampled_from([0, 1 << 31])))
    return {"kind": kind, "types": types, "d": "f32", "a": elements(types[0]), "b": elements(types[1]), "c": c,
            "scale": scale, "scale_a": scales[0], "scale_b": scales[1]}


@given_few(20, 500, vectors())
def test_sums_are_those_of_integers_of_any_size(v):
    for r in NARROW_RULES[v["kind"]]:
        source = r.source.text.split(",")[0]
        assert narrow(v, source) == twin(v, source), (v, source)


def test_a_chain_along_k_is_one_instruction_after_the_other():
    rng = np.random.default_rng(7)
    a, b = rng.integers(0, 0x78, (4, 96), np.uint8), rng.integers(0, 0x78, (96, 3), np.uint8)
    whole = narrow_mma("f8f6f4", a, b, types=("e4m3", "e5m2"))
    c = None
    for k in range(0, 96, 32):
        c = narrow_mma("f8f6f4", a[:, k:k + 32], b[k:k + 32], c, types=("e4m3", "e5m2"))
    np.testing.assert_array_equal(whole, c)


def test_where_sources_differ_the_result_is_refused_and_both_can_be_asked():
    """Of 16 - 8 + c = 0, times 2**16, and 1 times 2**-18. The exponent of c lies above that of the scale factors, 16, and
    below that of the largest product, 20: one source counts on to 2**(16 - 35), the other to 2**(19 - 35)."""
    a, b = np.zeros((1, 64), np.uint8), np.zeros((64, 1), np.uint8)
    a[0, [0, 1, 16]], b[[0, 1, 16], 0] = (6, 4, 2), (6, 14, 2)
    scales = np.array([[0x78, 0x01, 0x38, 0x38]], np.uint8)
    c = np.array([[-8 * 2.0**16]], np.float32)
    given = {"types": ("e2m1", "e2m1"), "scale": "ue4m3"}
    results = [narrow_mma("mxf4nvf4", a, b, c, scales, scales.T, source=s, **given)[0, 0] for s in (B200, SIM)]
    assert results == [2.0**-18, 0]
    with pytest.raises(InstructionError, match=".0, 0.: sf-tensor.tcgen05 says 3.8.*, MMA-Sim says 0.0; 1 of 1"):
        narrow_mma("mxf4nvf4", a, b, c, scales, scales.T, **given)


ONES = np.full((1, 64), 2, np.uint8)


@pytest.mark.parametrize("kind, changes, fault", [
    ("f16", {}, "`mma` has f16"), ("f64", {}, "no kind"), ("mxf4", {"types": ("e4m3", "e2m1")}, "no A of e4m3"),
    ("mxf4", {"a": ONES[:, :32], "b": ONES[:, :32].T}, "K is a multiple of 64"), ("f8f6f4", {}, "has no scale factors"),
    ("mxf4", {"scale": "ue4m3"}, "no scale factors of ue4m3"), ("mxf4", {"d": "f16"}, "no D of f16"),
    ("mxf4", {"scale_a": None}, "scale factors of ue8m0 are"), ("mxf4", {"c": np.zeros((1, 1))}, "c is float32"),
    ("mxf4", {"a": ONES.astype(float)}, "a is uint8"), ("mxf4", {"source": "me"}, "no source 'me'")])
def test_what_a_kind_does_not_have_is_refused(kind, changes, fault):
    two = np.full((1, 2), 127, np.uint8)
    given = {"a": ONES, "b": ONES.T, "c": None, "scale_a": two, "scale_b": two.T, "types": ("e2m1", "e2m1"), **changes}
    with pytest.raises(InstructionError, match=fault):
        narrow_mma(kind, **given)


@pytest.mark.parametrize("name, fault", [
    ("tcgen05.m128n256k32.f32.e4m3.e4m3", "narrow_mma has floats of 8"), ("tcgen05.m128n12k16.f32.f16.f16", "the shapes"),
    ("tcgen05.m128n256k16.f32.f16.bf16", "of f16, bf16"), ("tcgen05.f16", "write it as"),
    ("tcgen05.m128n256k16.f16.bf16.bf16", "has no"), ("tcgen05.m128n256k16.f32.f16.f16.satfinite", "has no")])
def test_instructions_that_there_are_not_are_refused(name, fault):
    with pytest.raises(InstructionError, match=fault):
        sl.mma(name, np.zeros((128, 16), np.float16), np.zeros((16, 256), np.float16), arch="sm_100")
    with pytest.raises(InstructionError, match="sm_90 has no tcgen05.*; sm_100, sm_103, sm_110 have"):
        sl.mma("tcgen05.m128n256k16.f32.f16.f16", np.zeros((128, 16), np.float16), np.zeros((16, 256), np.float16))
