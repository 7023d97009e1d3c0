"""Arithmetic of f32 and f64: the rows. PTX ISA, Floating Point Instructions."""

from simlayout.machine.arithmetic import approximate as a
from simlayout.machine.arithmetic import floats as f
from simlayout.machine.arithmetic import mufu
from simlayout.machine.arithmetic import signs as s
from simlayout.machine.ptx.opcodes.forms import Form, of

_SECTION = "Floating Point Instructions"


def _row(text, results, sources, build, target="sm_75", **slots):
    return Form(text, results, sources, build, _SECTION, target, slots)


def _f32(name):
    return lambda m: f.f32(name, m.RND, m.ftz, getattr(m, "sat", False))


def _f64(name):
    return lambda m: f.f64(name, m.RND)


def _approximate(name):
    return lambda m: a.approximate(name, m.ftz)


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
)
