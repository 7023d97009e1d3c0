"""Arithmetic of floats: the rows. PTX ISA, Floating Point Instructions; Half Precision Floating Point Instructions; Mixed
Precision Floating Point Instructions."""

from simlayout.machine.arithmetic import approximate as a
from simlayout.machine.arithmetic import floats as f
from simlayout.machine.arithmetic import halves as h
from simlayout.machine.arithmetic import mufu
from simlayout.machine.arithmetic import signs as s
from simlayout.machine.ptx.opcodes.forms import Form, of

_SECTION = "Floating Point Instructions"
_HALF, _MIXED = "Half Precision Floating Point Instructions", "Mixed Precision Floating Point Instructions"
_F16, _BF16, _ANY = "f16 f16x2", "bf16 bf16x2", "f16 f16x2 bf16 bf16x2"


def _row(text, results, sources, build, target="sm_75", **slots):
    return Form(text, results, sources, build, _SECTION, target, slots)


def _f32(name):
    return lambda m: f.f32(name, m.RND, m.ftz, getattr(m, "sat", False))


def _f64(name):
    return lambda m: f.f64(name, m.RND)


def _approximate(name):
    return lambda m: a.approximate(name, m.ftz)


def _half(text, operands, build, target, types):
    """A row of f16 or bf16, one or two to a register, whose operands and result are of one type T; build: from (the name of
    the half, what was found) to a function of 16 bits."""
    def made(found):
        function = build(found.T.removesuffix("x2"), found)
        return h.packed(function, operands) if found.T.endswith("x2") else function

    return Form(text, "T", " ".join(["T"] * operands), made, _HALF, target, {"T": types})


def _arithmetic(operation):
    return lambda name, m: h.arithmetic(name, operation, *(getattr(m, word, False) for word in ("ftz", "sat", "relu")))


def _sign(operation):
    return lambda name, m: h.sign(name, operation, getattr(m, "ftz", False))


def _extreme(operation):
    return lambda name, m: h.extreme(name, operation, getattr(m, "ftz", False), m.NaN, getattr(m, "xorsign", False))


def _mixed(name, operands, optional):
    """add, sub and fma of f32 with operands of f16 or bf16."""
    return Form(f"{name}{optional}{{.sat}}.f32.HALF", "f32", " ".join(["HALF"] * (operands - 1) + ["f32"]),
                lambda m: h.mixed(f.f32(name, m.RND, False, m.sat), m.HALF, operands), _MIXED, "sm_100",
                {"HALF": "f16 bf16"})


FORMS = (
    *(_row(f"{name}{{.RND}}{{.ftz}}{{.sat}}.f32", "f32", "f32 f32", _f32(name)) for name in ("add", "sub", "mul")),
    *(_row(f"{name}{{.RND}}.f64", "f64", "f64 f64", _f64(name)) for name in ("add", "sub", "mul")),
    *(_row(f"{name}.RND{{.ftz}}{{.sat}}.f32", "f32", "f32 f32 f32", _f32("fma")) for name in ("fma", "mad")),
    *(_row(f"{name}.RND.f64", "f64", "f64 f64 f64", _f64("fma")) for name in ("fma", "mad")),
    _row("div.RND{.ftz}.f32", "f32", "f32 f32", _f32("div")),
    _row("div.RND.f64", "f64", "f64 f64", _f64("div")),
    *(_row(f"{name}.RND{{.ftz}}.f32", "f32", "f32", _f32(name)) for name in ("rcp", "sqrt")),
    *(_row(f"{name}.RND.f64", "f64", "f64", _f64(name)) for name in ("rcp", "sqrt")),
    *(_row(f"{name}{{.ftz}}.f32", "f32", "f32", lambda m, name=name: s.f32_sign(name, m.ftz)) for name in ("neg", "abs")),
    _row("neg.f64", "f64", "f64", of(s.negate_f64)),
    _row("abs.f64", "f64", "f64", of(s.absolute_f64)),
    *(_row(f"{name}{{.ftz}}.f32", "f32", "f32 f32",
           lambda m, name=name: s.f32_extreme(name, m.ftz)) for name in ("min", "max")),
    *(_row(f"{name}{{.ftz}}.NaN.f32", "f32", "f32 f32",
           lambda m, name=name: s.f32_extreme(name, m.ftz, True), "sm_80") for name in ("min", "max")),
    *(_row(f"{name}{{.ftz}}{{.NaN}}.xorsign.abs.f32", "f32", "f32 f32",
           lambda m, name=name: s.f32_extreme(name, m.ftz, m.NaN, True), "sm_86") for name in ("min", "max")),
    *(_row(f"{name}.f64", "f64", "f64 f64", of(s.f64_extreme(name))) for name in ("min", "max")),
    _row("copysign.f32", "b32", "b32 b32", of(s.copy_sign(32))),
    _row("copysign.f64", "b64", "b64 b64", of(s.copy_sign(64))),
    *(_row(f"div.{mode}{{.ftz}}.f32", "f32", "f32 f32", _approximate(f"div.{mode}"))
      for mode in ("approx", "full")),
    *(_row(f"{name}.approx{{.ftz}}.f32", "f32", "f32", _approximate(name))
      for name in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2")),
    _row("tanh.approx.f32", "f32", "f32", of(mufu.mufu_tanh)),
    _row("rsqrt.approx.f64", "f64", "f64", of(a.rsqrt_f64)),
    _row("rsqrt.approx.ftz.f64", "f64", "f64", of(mufu.mufu_rsq64h)),
    _row("rcp.approx.ftz.f64", "f64", "f64", of(mufu.mufu_rcp64h)),
    *(_half(f"{name}{{.rn}}{{.ftz}}{{.sat}}.T", 2, _arithmetic(name), "sm_75", _F16) for name in ("add", "sub", "mul")),
    *(_half(f"{name}{{.rn}}.T", 2, _arithmetic(name), "sm_90", _BF16) for name in ("add", "sub", "mul")),
    _half("fma.rn{.ftz}{.sat}.T", 3, _arithmetic("fma"), "sm_75", _F16),
    _half("fma.rn{.ftz}.relu.T", 3, _arithmetic("fma"), "sm_80", _F16),
    _half("fma.rn{.relu}.T", 3, _arithmetic("fma"), "sm_80", _BF16),
    _half("fma.rn.oob{.relu}.T", 3, lambda name, m: h.fuse_unless_out_of_bounds(name, m.relu), "sm_90", _ANY),
    *(_half(f"{name}{{.ftz}}.T", 1, _sign(name), "sm_75", _F16) for name in ("neg", "abs")),
    *(_half(f"{name}.T", 1, _sign(name), "sm_80", _BF16) for name in ("neg", "abs")),
    *(_half(f"{name}{{.ftz}}{{.NaN}}.T", 2, _extreme(name), "sm_80", _F16) for name in ("min", "max")),
    *(_half(f"{name}{{.NaN}}.T", 2, _extreme(name), "sm_80", _BF16) for name in ("min", "max")),
    *(_half(f"{name}{{.ftz}}{{.NaN}}.xorsign.abs.T", 2, _extreme(name), "sm_86", _F16) for name in ("min", "max")),
    *(_half(f"{name}{{.NaN}}.xorsign.abs.T", 2, _extreme(name), "sm_86", _BF16) for name in ("min", "max")),
    _half("ex2.approx.T", 1, lambda name, m: h.cut_off(name, mufu.mufu_ex2), "sm_75", _F16),
    _half("ex2.approx.ftz.T", 1, lambda name, m: h.cut_off(name, mufu.mufu_ex2), "sm_90", _BF16),
    _half("tanh.approx.T", 1, lambda name, m: h.cut_off(name, mufu.mufu_tanh), "sm_75", _F16),
    _half("tanh.approx.T", 1, lambda name, m: h.cut_off(name, mufu.mufu_tanh), "sm_90", _BF16),
    _mixed("add", 2, "{.RND}"),
    _mixed("sub", 2, "{.RND}"),
    _mixed("fma", 3, ".RND"),
)
