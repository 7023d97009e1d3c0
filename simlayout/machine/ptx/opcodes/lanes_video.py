"""Video instructions: the rows. PTX ISA, Scalar Video Instructions; SIMD Video Instructions."""

from simlayout.machine.arithmetic.video import video
from simlayout.machine.ptx.opcodes.forms import Form

_SCALAR, _SIMD = "Scalar Video Instructions", "SIMD Video Instructions"
_TYPES = dict(D="u32 s32", A="u32 s32", B="u32 s32", LAST="add min max", MODE="clamp wrap")


def _row(text, sources, name, width, section):
    def build(found):
        whole = {"D": found.A, "B": "u32", "MODE": "", "CMP": "", "LAST": "", "sat": False} | vars(found)
        operation = whole["CMP"] or ".".join(filter(None, (name, whole["MODE"])))
        signs = tuple(whole[key] == "s32" for key in "DAB")
        return video(operation, width, signs, whole["sat"], "add" if whole.get("add") else whole["LAST"])

    return Form(text, "b32", sources, build, section, "sm_75", _TYPES | dict(CMP="eq ne lt le gt ge"))


FORMS = (
    *(_row(f"v{name}.D.A.B{{.sat}}", "b32 b32", name, 32, _SCALAR) for name in ("add", "sub", "absdiff", "min", "max")),
    *(_row(f"v{name}.D.A.B{{.sat}}.LAST", "b32 b32 b32", name, 32, _SCALAR)
      for name in ("add", "sub", "absdiff", "min", "max")),
    *(_row(f"v{name}.D.A.u32.MODE", "b32 b32", name, 32, _SCALAR) for name in ("shl", "shr")),
    *(_row(f"v{name}.D.A.u32.MODE.LAST", "b32 b32 b32", name, 32, _SCALAR) for name in ("shl", "shr")),
    _row("vset.A.B.CMP", "b32 b32", "set", 32, _SCALAR), _row("vset.A.B.CMP.LAST", "b32 b32 b32", "set", 32, _SCALAR),
    *(_row(f"v{name}{n}.D.A.B{last}", "b32 b32 b32", name, 32 // n, _SIMD)
      for n in (4, 2) for name in ("add", "sub", "avrg", "absdiff", "min", "max") for last in ("{.sat}", ".add")),
    *(_row(f"vset{n}.A.B.CMP{{.add}}", "b32 b32 b32", "set", 32 // n, _SIMD) for n in (4, 2)),
)
