"""Conversion: the rows. PTX ISA, Data Movement and Conversion Instructions: cvt, cvt.pack."""

from simlayout.algebra.dtypes import TYPES
from simlayout.machine.arithmetic import conversions as v
from simlayout.machine.arithmetic import floats as f
from simlayout.machine.arithmetic import pairs as p
from simlayout.machine.arithmetic.primitives import same
from simlayout.machine.ptx.opcodes.forms import Form, of

_SECTION = "Data Movement and Conversion Instructions: cvt"
_INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
_I = " ".join(_INTEGERS)
_WHOLE = "rni rzi rmi rpi"
_NEAR = "rn rz"
_PAIRS = "e4m3x2 e5m2x2"


def _row(text, results, sources, build, target="sm_75", **slots):
    return Form(text, results, sources, build, _SECTION, target, slots)


def _narrower(source):
    """The integer types that lack a number of a type: those to which .sat may clamp."""
    low, high = TYPES[source].limits
    return " ".join(t for t in _INTEGERS if TYPES[t].limits[0] > low or TYPES[t].limits[1] < high)


def _to_integer(source):
    return lambda m: v.float_to_integer(m.D, source, m.WHOLE, getattr(m, "ftz", False))


def _to_float(target, source=""):
    return lambda m: v.to_float(target, source or m.A, getattr(m, "RND", ""), getattr(m, "ftz", False),
                                getattr(m, "sat", False))


def _ends(text, results, sources, build, **slots):
    """The rows of a form whose {.END} is .relu, .satfinite or both in any order; build: from what was found and whether
    .relu and .satfinite are there."""
    for chosen in (("relu",), ("satfinite",), ("relu", "satfinite"), ("satfinite", "relu")):
        yield _row(text.replace("{.END}", "".join("." + word for word in chosen)), results, sources,
                   lambda m, chosen=chosen: build(m, "relu" in chosen, "satfinite" in chosen), "sm_80", **slots)


def _half(target):
    return lambda m, relu, satfinite: v.to_float(target, "f32", m.RND, relu=relu, satfinite=satfinite)


def _two(target):
    return lambda m, relu, satfinite: p.two_to_packed(target, m.RND, relu, satfinite)


_INTEGER_ROWS = (
    _row("cvt.D.A", "D", "A", lambda m: v.integer_to_integer(m.D, m.A, False), D=_I, A=_I),
    *(_row(f"cvt.sat.D.{a}", "D", a, lambda m, a=a: v.integer_to_integer(m.D, a, True), D=_narrower(a)) for a in _INTEGERS),
    _row("cvt.WHOLE{.ftz}{.sat}.D.f32", "D", "f32", _to_integer("f32"), WHOLE=_WHOLE, D=_I),
    _row("cvt.WHOLE{.sat}.D.f64", "D", "f64", _to_integer("f64"), WHOLE=_WHOLE, D=_I),
    _row("cvt.WHOLE{.sat}.D.f16", "D", "f16", _to_integer("f16"), WHOLE=_WHOLE, D=_I),
    _row("cvt.WHOLE.D.bf16", "D", "bf16", _to_integer("bf16"), "sm_90", WHOLE=_WHOLE, D=_I),
    _row("cvt.RND{.ftz}{.sat}.f32.A", "f32", "A", _to_float("f32"), A=_I),
    _row("cvt.RND{.sat}.f64.A", "f64", "A", lambda m: v.integer_to_f64(m.A, m.RND, m.sat), A=_I),
    _row("cvt.RND{.sat}.f16.A", "f16", "A", _to_float("f16"), A=_I),
    _row("cvt.RND.bf16.A", "bf16", "A", _to_float("bf16"), "sm_90", A=_I),
)

_FLOAT_ROWS = (
    _row("cvt.f32.f32", "b32", "b32", of(same)),                 # a copy, NaN too, as ptxas makes it
    _row("cvt.ftz{.sat}.f32.f32", "f32", "f32", lambda m: f.lanes_f32(same, 1, True, m.sat)),
    _row("cvt.sat.f32.f32", "f32", "f32", of(f.saturate_f32)),
    _row("cvt.WHOLE{.ftz}{.sat}.f32.f32", "f32", "f32", lambda m: v.whole_f32(m.WHOLE, m.ftz, m.sat), WHOLE=_WHOLE),
    _row("cvt.f64.f64", "b64", "b64", of(same)),
    _row("cvt.sat.f64.f64", "f64", "f64", of(v.saturate_f64)),
    _row("cvt.WHOLE{.sat}.f64.f64", "f64", "f64", lambda m: v.whole_f64(m.WHOLE, m.sat), WHOLE=_WHOLE),
    _row("cvt{.sat}.f16.f16", "f16", "f16", _to_float("f16", "f16")),
    _row("cvt.WHOLE{.sat}.f16.f16", "f16", "f16", lambda m: v.whole_half("f16", m.WHOLE, m.sat), WHOLE=_WHOLE),
    _row("cvt.bf16.bf16", "bf16", "bf16", _to_float("bf16", "bf16"), "sm_90"),
    _row("cvt.WHOLE.bf16.bf16", "bf16", "bf16", lambda m: v.whole_half("bf16", m.WHOLE), "sm_90", WHOLE=_WHOLE),
    _row("cvt.RND{.ftz}{.sat}.f32.f64", "f32", "f64", _to_float("f32", "f64")),
    _row("cvt{.ftz}{.sat}.f64.f32", "f64", "f32", lambda m: v.float_to_f64("f32", m.ftz, m.sat)),
    _row("cvt{.sat}.f64.f16", "f64", "f16", lambda m: v.float_to_f64("f16", sat=m.sat)),
    _row("cvt{.RND}.f64.bf16", "f64", "bf16", of(v.float_to_f64("bf16")), "sm_90"),
    _row("cvt{.ftz}{.sat}.f32.f16", "f32", "f16", _to_float("f32", "f16")),
    _row("cvt{.RND}.f32.bf16", "b32", "bf16", of(v.shift_bf16), "sm_90"),       # a shift, NaN too, as ptxas makes it
    _row("cvt{.RND}.ftz.f32.bf16", "f32", "bf16", _to_float("f32", "bf16"), "sm_90"),
    _row("cvt.RND{.ftz}.sat.f16.f32", "f16", "f32", _to_float("f16", "f32")),
    _row("cvt.RND{.ftz}.f16.f32", "f16", "f32", _to_float("f16", "f32")),
    _row("cvt.RND{.sat}.f16.f64", "f16", "f64", _to_float("f16", "f64")),
    _row("cvt.RND{.ftz}.bf16.f32", "bf16", "f32", _to_float("bf16", "f32"), "sm_80"),
    _row("cvt.RND.bf16.f64", "bf16", "f64", _to_float("bf16", "f64"), "sm_90"),
    _row("cvt{.RND}.bf16.f16", "bf16", "f16", _to_float("bf16", "f16"), "sm_90"),
    _row("cvt{.RND}.f16.bf16", "f16", "bf16", _to_float("f16", "bf16"), "sm_90"),
    *_ends("cvt.RND{.END}.f16.f32", "f16", "f32", _half("f16"), RND=_NEAR),
    *_ends("cvt.RND{.END}.bf16.f32", "bf16", "f32", _half("bf16"), RND=_NEAR),
)

_PACKED_ROWS = (
    _row("cvt.RND.HALF.f32", "HALF", "f32 f32", lambda m: p.two_to_packed(m.HALF[:-2], m.RND, False, False), "sm_80",
         RND=_NEAR, HALF="f16x2 bf16x2"),
    *_ends("cvt.RND{.END}.f16x2.f32", "f16x2", "f32 f32", _two("f16"), RND=_NEAR),
    *_ends("cvt.RND{.END}.bf16x2.f32", "bf16x2", "f32 f32", _two("bf16"), RND=_NEAR),
    _row("cvt.rna.tf32.f32", "tf32", "b32", of(p.tie_away_tf32), "sm_80"),
    _row("cvt.rna.satfinite.tf32.f32", "tf32", "f32", of(p.tie_away_tf32_finite), "sm_80"),
    _row("cvt.RND{.relu}.tf32.f32", "tf32", "f32", lambda m: p.to_tf32(m.RND, m.relu), "sm_90", RND=_NEAR),
    *(_row(f"cvt.rn{ends}.PAIR.f32", "PAIR", "f32 f32",
           lambda m, relu="relu" in ends: p.two_to_packed(m.PAIR[:4], "rn", relu, True), "sm_89", PAIR=_PAIRS)
      for ends in (".satfinite", ".satfinite.relu", ".relu.satfinite")),
    *(_row(f"cvt.rn{ends}.PAIR.f16x2", "PAIR", "f16x2",
           lambda m, relu="relu" in ends: p.halves_to_bytes(m.PAIR[:4], relu), "sm_89", PAIR=_PAIRS)
      for ends in (".satfinite", ".satfinite.relu", ".relu.satfinite")),
    _row("cvt.rn{.relu}.f16x2.PAIR", "f16x2", "PAIR", lambda m: p.bytes_to_halves(m.PAIR[:4], m.relu), "sm_89", PAIR=_PAIRS),
    _row("cvt.pack.sat.D.s32", "b32", "s32 s32", lambda m: p.pack(m.D, False), D="u16 s16"),
    _row("cvt.pack.sat.D.s32.b32", "b32", "s32 s32 b32", lambda m: p.pack(m.D, True), D="u2 s2 u4 s4 u8 s8"),
)

FORMS = _INTEGER_ROWS + _FLOAT_ROWS + _PACKED_ROWS
