"""Comparison and selection: the rows. PTX ISA, Comparison and Selection Instructions; testp."""

from simlayout.machine.arithmetic import comparisons as c
from simlayout.machine.arithmetic.floats import flush_f32
from simlayout.machine.arithmetic.primitives import F32, U64, same
from simlayout.machine.ptx.opcodes.forms import Form, of

_SECTION = "Comparison and Selection Instructions"
_EQUAL, _SIGNED, _UNSIGNED = "eq ne", "eq ne lt le gt ge", "eq ne lt le gt ge lo ls hi hs"
_FLOAT = " ".join(c.FLOAT)
_OPERANDS = (
    # types, CmpOp, .ftz
    ("b16 b32 b64", _EQUAL, ""),
    ("s16 s32 s64", _SIGNED, ""),
    ("u16 u32 u64", _UNSIGNED, ""),
    ("f32", _FLOAT, "{.ftz}"),
    ("f64", _FLOAT, ""),
)
"""What setp and set compare."""

_TRUE = {"u32": U64(0xFFFFFFFF), "s32": U64(0xFFFFFFFF), "f32": F32(1)}
_FALSE = {"u32": U64(0), "s32": U64(0), "f32": F32(0)}


def _compared(found):
    """(comparison, BoolOp, what makes numbers of the operands)."""
    return (c.comparison(found.CMP, found.TYPE[0] == "f"), getattr(found, "BOOL", ""),
            flush_f32 if getattr(found, "ftz", False) else same)


def _predicates(found):
    return c.set_predicates(*_compared(found))


def _value(found):
    compare, combine, enter = _compared(found)
    return c.set_value(compare, _TRUE[found.RESULT], _FALSE[found.RESULT], combine, enter)


def _row(text, results, sources, build, **slots):
    return Form(text, results, sources, build, _SECTION, slots=slots)


def _comparisons():
    """setp and set of every group of types, with and without a BoolOp."""
    for types, operators, ftz in _OPERANDS:
        slots = dict(TYPE=types, CMP=operators)
        for boolean, extra in (("", ""), (".BOOL", " pred")):
            yield _row(f"setp.CMP{boolean}{ftz}.TYPE", "pred pred", "TYPE TYPE" + extra, _predicates, **slots)
            yield _row(f"set.CMP{boolean}{ftz}.RESULT.TYPE", "u32", "TYPE TYPE" + extra, _value, RESULT="u32 s32", **slots)
            yield _row(f"set.CMP{boolean}{ftz}.RESULT.TYPE", "f32", "TYPE TYPE" + extra, _value, RESULT="f32", **slots)


FORMS = (
    *_comparisons(),
    # What is chosen is moved as bits.
    _row("selp.ANY", "bits(ANY)", "bits(ANY) bits(ANY) pred", of(c.choose)),
    _row("slct.ANY.s32", "bits(ANY)", "bits(ANY) bits(ANY) s32", of(c.choose_by_integer)),
    _row("slct{.ftz}.ANY.f32", "bits(ANY)", "bits(ANY) bits(ANY) f32", lambda m: c.choose_by_float(m.ftz)),
    Form("testp.OP.TYPE", "pred", "TYPE", lambda m: c.test(m.OP, int(m.TYPE[1:])), "Floating Point Instructions",
         slots=dict(OP="finite infinite number notanumber normal subnormal", TYPE="f32 f64")),
)
