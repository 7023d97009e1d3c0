"""Integer arithmetic, logic, shifts, bit fields and permutations of bytes: the rows. PTX ISA, Integer Arithmetic
Instructions; Extended-Precision Integer Arithmetic; Logic and Shift Instructions; Data Movement Instructions."""

from simlayout.machine.arithmetic import bitwise as b
from simlayout.machine.arithmetic import carries as c
from simlayout.machine.arithmetic import fields as f
from simlayout.machine.arithmetic import integers as i
from simlayout.machine.ptx.opcodes.forms import Form, kind, of

_INTEGER, _EXTENDED = "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions"
_LOGIC, _MOVE = "Logic and Shift Instructions", "Data Movement Instructions"


def _row(text, results, sources, build, section=_INTEGER, target="sm_75", **slots):
    return Form(text, results, sources, build, section, target, slots)


def _signed(name):
    return name[0] == "s"


_WIDE = dict(T="u16 u32 s16 s32")
_WORD_32 = dict(T="u32 s32")
_LOGICAL = dict(T="pred b16 b32 b64")
_COUNTED = dict(T="b32 b64")
_MODE = dict(MODE="clamp wrap")
_SIGNS = dict(A="u32 s32", B="u32 s32")


def _width(found):
    return kind(found.WORD)[0]


def _product_with_carry(found, reads, writes):
    return c.multiply_add_with_carry(*kind(found.WORD), found.MODE, reads, writes)


def _carry(text, results, sources, build):
    """A row of extended precision; UW stands for the unsigned type of WORD's width."""
    results, sources = (spelled.replace("UW", "unsigned(WORD)") for spelled in (results, sources))
    return _row(text, results, sources, build, _EXTENDED, MODE="lo hi")


FORMS = (
    _row("add.INTEGER", "INTEGER", "INTEGER INTEGER", of(i.add)),
    _row("add.sat.s32", "s32", "s32 s32", of(i.add_saturated)),
    _row("add.T", "b32", "b32 b32", lambda m: i.packed_16(i.add, _signed(m.T)), target="sm_90", T="u16x2 s16x2"),
    _row("sub.INTEGER", "INTEGER", "INTEGER INTEGER", of(i.subtract)),
    _row("sub.sat.s32", "s32", "s32 s32", of(i.subtract_saturated)),
    _row("mul.lo.INTEGER", "INTEGER", "INTEGER INTEGER", of(i.multiply)),
    _row("mul.hi.INTEGER", "INTEGER", "INTEGER INTEGER", lambda m: i.multiply_high(*kind(m.INTEGER))),
    _row("mul.wide.T", "wide(T)", "T T", of(i.multiply), **_WIDE),
    _row("mad.MODE.INTEGER", "INTEGER", "INTEGER INTEGER INTEGER", lambda m: i.multiply_add(*kind(m.INTEGER), m.MODE),
         MODE="lo hi"),
    _row("mad.wide.T", "wide(T)", "T T wide(T)", lambda m: i.multiply_add(*kind(m.T), "wide"), **_WIDE),
    _row("mad.hi.sat.s32", "s32", "s32 s32 s32", of(i.multiply_add(32, True, "hi", True))),
    _row("mul24.MODE.T", "T", "T T", lambda m: i.product_24(m.MODE, _signed(m.T)), MODE="lo hi", **_WORD_32),
    _row("mad24.MODE.T", "T", "T T T", lambda m: i.product_24(m.MODE, _signed(m.T), True), MODE="lo hi", **_WORD_32),
    _row("mad24.hi.sat.s32", "s32", "s32 s32 s32", of(i.product_24("hi", True, True, True))),
    _row("sad.INTEGER", "INTEGER", "INTEGER INTEGER INTEGER", of(i.sum_of_absolute_difference)),
    _row("div.INTEGER", "INTEGER", "INTEGER INTEGER", of(i.divide_unsigned), INTEGER="u16 u32 u64"),
    _row("div.SIGNED", "SIGNED", "SIGNED SIGNED", of(i.divide_signed)),
    _row("rem.INTEGER", "INTEGER", "INTEGER INTEGER", of(i.remainder_unsigned), INTEGER="u16 u32 u64"),
    _row("rem.SIGNED", "SIGNED", "SIGNED SIGNED", of(i.remainder_signed)),
    _row("abs.SIGNED", "SIGNED", "SIGNED", of(i.absolute)),
    _row("neg.SIGNED", "SIGNED", "SIGNED", of(i.negate)),
    _row("min.INTEGER", "INTEGER", "INTEGER INTEGER", of(i.least)),
    _row("max.INTEGER", "INTEGER", "INTEGER INTEGER", of(i.most)),
    _row("min.relu.s32", "s32", "s32 s32", of(i.extreme("min", True)), target="sm_90"),
    _row("max.relu.s32", "s32", "s32 s32", of(i.extreme("max", True)), target="sm_90"),
    *(_row(f"{name}.u16x2", "b32", "b32 b32", of(i.packed_16(i.extreme(name), False)), target="sm_90")
      for name in ("min", "max")),
    *(_row(f"{name}{{.relu}}.s16x2", "b32", "b32 b32",
           lambda m, name=name: i.packed_16(i.extreme(name, m.relu), True), target="sm_90") for name in ("min", "max")),
    _row("dp4a.A.B", "s32", "b32 b32 s32", lambda m: i.dot(_signed(m.A), _signed(m.B)), **_SIGNS),
    _row("dp2a.MODE.A.B", "s32", "b32 b32 s32", lambda m: i.dot(_signed(m.A), _signed(m.B), m.MODE), MODE="lo hi", **_SIGNS),
    # Sums and differences of signed types have the carry of their bits.
    _carry("add.cc.WORD", "UW cc", "UW UW", lambda m: c.sum_with_carry(_width(m), False, True)),
    _carry("addc.WORD", "UW", "UW UW cc", lambda m: c.sum_with_carry(_width(m), True, False)),
    _carry("addc.cc.WORD", "UW cc", "UW UW cc", lambda m: c.sum_with_carry(_width(m), True, True)),
    _carry("sub.cc.WORD", "UW cc", "UW UW", lambda m: c.difference_with_carry(_width(m), False, True)),
    _carry("subc.WORD", "UW", "UW UW cc", lambda m: c.difference_with_carry(_width(m), True, False)),
    _carry("subc.cc.WORD", "UW cc", "UW UW cc", lambda m: c.difference_with_carry(_width(m), True, True)),
    _carry("mad.MODE.cc.WORD", "UW cc", "WORD WORD UW", lambda m: _product_with_carry(m, False, True)),
    _carry("madc.MODE.WORD", "UW", "WORD WORD UW cc", lambda m: _product_with_carry(m, True, False)),
    _carry("madc.MODE.cc.WORD", "UW cc", "WORD WORD UW cc", lambda m: _product_with_carry(m, True, True)),
    _row("and.T", "T", "T T", of(b.both), **_LOGICAL, section=_LOGIC),
    _row("or.T", "T", "T T", of(b.either), **_LOGICAL, section=_LOGIC),
    _row("xor.T", "T", "T T", of(b.differ), **_LOGICAL, section=_LOGIC),
    _row("not.pred", "pred", "pred", of(b.invert_predicate), section=_LOGIC),
    _row("not.BITS", "BITS", "BITS", of(b.invert), section=_LOGIC),
    _row("cnot.BITS", "BITS", "BITS", of(b.is_zero), section=_LOGIC),
    _row("lop3.b32", "b32", "b32 b32 b32 u32", of(b.look_up), section=_LOGIC),
    _row("lop3.BOOL.b32", "b32 pred", "b32 b32 b32 u32 pred",
         lambda m: b.look_up_with_predicate({"or": b.either, "and": b.both}[m.BOOL]), BOOL="or and", section=_LOGIC),
    _row("shl.BITS", "BITS", "BITS u32", lambda m: b.shift_left(kind(m.BITS)[0]), section=_LOGIC),
    _row("shr.T", "T", "T u32", of(b.shift_right_unsigned), T="b16 b32 b64 u16 u32 u64", section=_LOGIC),
    _row("shr.SIGNED", "SIGNED", "SIGNED u32", of(b.shift_right_signed), section=_LOGIC),
    _row("shf.SIDE.MODE.b32", "b32", "b32 b32 u32", lambda m: b.funnel_shift(m.SIDE, m.MODE), SIDE="l r",
         section=_LOGIC, **_MODE),
    _row("popc.T", "u32", "T", of(b.count_ones), **_COUNTED),
    _row("clz.T", "u32", "T", lambda m: b.leading_zeros(kind(m.T)[0]), **_COUNTED),
    _row("bfind{.shiftamt}.WORD", "u32", "WORD", lambda m: b.find_highest(*kind(m.WORD), m.shiftamt)),
    _row("brev.T", "T", "T", lambda m: b.reverse(kind(m.T)[0]), **_COUNTED),
    _row("fns.b32", "b32", "b32 u32 s32", of(b.find_nth_set)),
    _row("bfe.T", "T", "T u32 u32", lambda m: f.extract_unsigned(kind(m.T)[0]), T="u32 u64"),
    _row("bfe.T", "T", "T u32 u32", lambda m: f.extract_signed(kind(m.T)[0]), T="s32 s64"),
    _row("bfi.T", "T", "T T u32 u32", lambda m: f.insert(kind(m.T)[0]), **_COUNTED),
    _row("bmsk.MODE.b32", "b32", "u32 u32", lambda m: f.mask_bits(m.MODE), **_MODE),
    _row("szext.MODE.T", "b32", "b32 u32", lambda m: f.extend_from(m.MODE, m.T == "s32"), T="u32 s32", **_MODE),
    _row("prmt.b32{.MODE}", "b32", "b32 b32 u32", lambda m: b.permute(m.MODE), section=_MOVE,
         MODE="f4e b4e rc8 ecl ecr rc16"),
)
