"""Comparison and selection: the rows. PTX ISA, Comparison and Selection Instructions; testp."""

from simlayout.machine.arithmetic import comparisons as c
from simlayout.machine.arithmetic.floats import flush_f32
from simlayout.machine.arithmetic.halves import reading
from simlayout.machine.arithmetic.primitives import F32, U64, same
from simlayout.machine.ptx.opcodes.forms import Form, of

_SECTION = "Comparison and Selection Instructions"
_EQUAL, _SIGNED, _UNSIGNED = "eq ne", "eq ne lt le gt ge", "eq ne lt le gt ge lo ls hi hs"
_FLOAT = " ".join(c.FLOAT)
_WORDS, _SHORT = "u32 s32", "u16 s16 u32 s32"
_OPERANDS = (
    # types, CmpOp, .ftz, what set makes of them, since which architecture
    ("b16 b32 b64", _EQUAL, "", f"{_WORDS} f32 f16 bf16", "sm_75"),
    ("s16 s32 s64", _SIGNED, "", f"{_WORDS} f32 f16 bf16", "sm_75"),
    ("u16 u32 u64", _UNSIGNED, "", f"{_WORDS} f32 f16 bf16", "sm_75"),
    ("f32", _FLOAT, "{.ftz}", f"{_WORDS} f32 f16", "sm_75"),
    ("f32", _FLOAT, "", "bf16", "sm_90"),
    ("f64", _FLOAT, "", f"{_WORDS} f32 f16 bf16", "sm_75"),
    ("f16", _FLOAT, "{.ftz}", f"{_SHORT} f16", "sm_75"),
    ("f16", _FLOAT, "", "bf16", "sm_90"),
    ("bf16", _FLOAT, "", f"{_SHORT} bf16", "sm_90"),
    ("f16x2", _FLOAT, "{.ftz}", f"{_WORDS} f16x2", "sm_75"),
    ("bf16x2", _FLOAT, "", f"{_WORDS} bf16x2", "sm_90"),
)
"""What setp and set compare; setp has no row of its own where set makes bf16 alone."""

_ONE_PREDICATE = "f16", "bf16"
"""Types whose setp has no q."""

_TRUE = {"u16": U64(0xFFFF), "s16": U64(0xFFFF), "u32": U64(0xFFFFFFFF), "s32": U64(0xFFFFFFFF), "f32": F32(1),
         "f16": U64(0x3C00), "bf16": U64(0x3F80)}
_HALF_OF = {"u32": "u16", "s32": "s16", "f16x2": "f16", "bf16x2": "bf16"}
_UNSIGNED_OF = {"s16": "u16", "s32": "u32"}                     # all ones, as bits


def _compared(found):
    """(comparison, BoolOp, what makes numbers of the operands)."""
    name, ftz = found.TYPE.removesuffix("x2"), getattr(found, "ftz", False)
    enter = reading(name, ftz) if name in ("f16", "bf16") else flush_f32 if ftz else same
    return c.comparison(found.CMP, "f" in name), getattr(found, "BOOL", ""), enter


def _predicates(found):
    compare, combine, enter = _compared(found)
    if found.TYPE in _ONE_PREDICATE:
        return c.set_value(compare, U64(1), U64(0), combine, enter)
    return (c.set_predicates_of_pair if found.TYPE.endswith("x2") else c.set_predicates)(compare, combine, enter)


def _value(found):
    compare, combine, enter = _compared(found)
    if found.TYPE.endswith("x2"):
        return c.set_pair(compare, _TRUE[_HALF_OF[found.RESULT]], combine, enter)
    true = _TRUE[found.RESULT]
    return c.set_value(compare, true, type(true)(0), combine, enter)


def _comparisons():
    """setp and set of every group of types, with and without a BoolOp."""
    for types, operators, ftz, results, target in _OPERANDS:
        for boolean, extra in (("", ""), (".BOOL", " pred")):
            slots = dict(TYPE=types, CMP=operators)
            if results != "bf16":
                predicates = "pred" if types in _ONE_PREDICATE else "pred pred"
                yield Form(f"setp.CMP{boolean}{ftz}.TYPE", predicates, "TYPE TYPE" + extra, _predicates, _SECTION,
                           target=target, slots=slots)
            for result in results.split():
                since = "sm_90" if result == "bf16" else target
                yield Form(f"set.CMP{boolean}{ftz}.RESULT.TYPE", _UNSIGNED_OF.get(result, result), "TYPE TYPE" + extra,
                           _value, _SECTION, target=since, slots=slots | {"RESULT": result})


def _row(text, results, sources, build):
    return Form(text, results, sources, build, _SECTION)


FORMS = (
    *_comparisons(),
    # What is chosen is moved as bits.
    _row("selp.ANY", "bits(ANY)", "bits(ANY) bits(ANY) pred", of(c.choose)),
    _row("slct.ANY.s32", "bits(ANY)", "bits(ANY) bits(ANY) s32", of(c.choose_by_integer)),
    _row("slct{.ftz}.ANY.f32", "bits(ANY)", "bits(ANY) bits(ANY) f32", lambda m: c.choose_by_float(m.ftz)),
    Form("testp.OP.TYPE", "pred", "TYPE", lambda m: c.test(m.OP, int(m.TYPE[1:])), "Floating Point Instructions",
         slots=dict(OP="finite infinite number notanumber normal subnormal", TYPE="f32 f64")),
)
