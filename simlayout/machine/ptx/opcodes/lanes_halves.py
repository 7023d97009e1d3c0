"""Arithmetic of f16 and bf16, one or two to a register: the rows. PTX ISA, Half Precision Floating Point Instructions; Mixed
Precision Floating Point Instructions."""

from simlayout.machine.arithmetic import floats as f
from simlayout.machine.arithmetic import halves as h
from simlayout.machine.arithmetic import mufu
from simlayout.machine.ptx.opcodes.forms import Form

_HALF, _MIXED = "Half Precision Floating Point Instructions", "Mixed Precision Floating Point Instructions"
_F16, _BF16, _ANY = "f16 f16x2", "bf16 bf16x2", "f16 f16x2 bf16 bf16x2"


def _row(text, operands, build, target, types):
    """A row whose operands and result are of one type T; build: from (the name of the half, what was found) to a function
    of 16 bits."""
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
    *(_row(f"{name}{{.rn}}{{.ftz}}{{.sat}}.T", 2, _arithmetic(name), "sm_75", _F16) for name in ("add", "sub", "mul")),
    *(_row(f"{name}{{.rn}}.T", 2, _arithmetic(name), "sm_90", _BF16) for name in ("add", "sub", "mul")),
    _row("fma.rn{.ftz}{.sat}.T", 3, _arithmetic("fma"), "sm_75", _F16),
    _row("fma.rn{.ftz}.relu.T", 3, _arithmetic("fma"), "sm_80", _F16),
    _row("fma.rn{.relu}.T", 3, _arithmetic("fma"), "sm_80", _BF16),
    _row("fma.rn.oob{.relu}.T", 3, lambda name, m: h.fuse_unless_out_of_bounds(name, m.relu), "sm_90", _ANY),
    *(_row(f"{name}{{.ftz}}.T", 1, _sign(name), "sm_75", _F16) for name in ("neg", "abs")),
    *(_row(f"{name}.T", 1, _sign(name), "sm_80", _BF16) for name in ("neg", "abs")),
    *(_row(f"{name}{{.ftz}}{{.NaN}}.T", 2, _extreme(name), "sm_80", _F16) for name in ("min", "max")),
    *(_row(f"{name}{{.NaN}}.T", 2, _extreme(name), "sm_80", _BF16) for name in ("min", "max")),
    *(_row(f"{name}{{.ftz}}{{.NaN}}.xorsign.abs.T", 2, _extreme(name), "sm_86", _F16) for name in ("min", "max")),
    *(_row(f"{name}{{.NaN}}.xorsign.abs.T", 2, _extreme(name), "sm_86", _BF16) for name in ("min", "max")),
    _row("ex2.approx.T", 1, lambda name, m: h.cut_off(name, mufu.mufu_ex2), "sm_75", _F16),
    _row("ex2.approx.ftz.T", 1, lambda name, m: h.cut_off(name, mufu.mufu_ex2), "sm_90", _BF16),
    _row("tanh.approx.T", 1, lambda name, m: h.cut_off(name, mufu.mufu_tanh), "sm_75", _F16),
    _row("tanh.approx.T", 1, lambda name, m: h.cut_off(name, mufu.mufu_tanh), "sm_90", _BF16),
    _mixed("add", 2, "{.RND}"),
    _mixed("sub", 2, "{.RND}"),
    _mixed("fma", 3, ".RND"),
)
