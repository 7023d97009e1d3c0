"""Logic, shifts, bit fields and permutations of bytes: the rows."""

from simlayout.machine.arithmetic import bitwise as b
from simlayout.machine.arithmetic import fields as f
from simlayout.machine.ptx.opcodes.forms import Form, kind, of

_LOGIC, _INTEGER, _MOVE = "Logic and Shift Instructions", "Integer Arithmetic Instructions", "Data Movement Instructions"


def _row(section, text, results, sources, build, target="sm_75", **slots):
    return Form(text, results, sources, build, section, target, slots)


_LOGICAL = dict(T="pred b16 b32 b64")
_COUNTED = dict(T="b32 b64")
_MODE = dict(MODE="clamp wrap")

FORMS = (
    _row(_LOGIC, "and.T", "T", "T T", of(b.both), **_LOGICAL),
    _row(_LOGIC, "or.T", "T", "T T", of(b.either), **_LOGICAL),
    _row(_LOGIC, "xor.T", "T", "T T", of(b.differ), **_LOGICAL),
    _row(_LOGIC, "not.pred", "pred", "pred", of(b.invert_predicate)),
    _row(_LOGIC, "not.BITS", "BITS", "BITS", of(b.invert)),
    _row(_LOGIC, "cnot.BITS", "BITS", "BITS", of(b.is_zero)),
    _row(_LOGIC, "lop3.b32", "b32", "b32 b32 b32 u32", of(b.look_up)),
    _row(_LOGIC, "lop3.BOOL.b32", "b32 pred", "b32 b32 b32 u32 pred",
         lambda m: b.look_up_with_predicate({"or": b.either, "and": b.both}[m.BOOL]), BOOL="or and"),
    _row(_LOGIC, "shl.BITS", "BITS", "BITS u32", lambda m: b.shift_left(kind(m.BITS)[0])),
    _row(_LOGIC, "shr.T", "T", "T u32", of(b.shift_right_unsigned), T="b16 b32 b64 u16 u32 u64"),
    _row(_LOGIC, "shr.SIGNED", "SIGNED", "SIGNED u32", of(b.shift_right_signed)),
    _row(_LOGIC, "shf.SIDE.MODE.b32", "b32", "b32 b32 u32", lambda m: b.funnel_shift(m.SIDE, m.MODE), SIDE="l r", **_MODE),
    _row(_INTEGER, "popc.T", "u32", "T", of(b.count_ones), **_COUNTED),
    _row(_INTEGER, "clz.T", "u32", "T", lambda m: b.leading_zeros(kind(m.T)[0]), **_COUNTED),
    _row(_INTEGER, "bfind{.shiftamt}.WORD", "u32", "WORD", lambda m: b.find_highest(*kind(m.WORD), m.shiftamt)),
    _row(_INTEGER, "brev.T", "T", "T", lambda m: b.reverse(kind(m.T)[0]), **_COUNTED),
    _row(_INTEGER, "fns.b32", "b32", "b32 u32 s32", of(b.find_nth_set)),
    _row(_INTEGER, "bfe.T", "T", "T u32 u32", lambda m: f.extract_unsigned(kind(m.T)[0]), T="u32 u64"),
    _row(_INTEGER, "bfe.T", "T", "T u32 u32", lambda m: f.extract_signed(kind(m.T)[0]), T="s32 s64"),
    _row(_INTEGER, "bfi.T", "T", "T T u32 u32", lambda m: f.insert(kind(m.T)[0]), **_COUNTED),
    _row(_INTEGER, "bmsk.MODE.b32", "b32", "u32 u32", lambda m: f.mask_bits(m.MODE), **_MODE),
    _row(_INTEGER, "szext.MODE.T", "b32", "b32 u32", lambda m: f.extend_from(m.MODE, m.T == "s32"), T="u32 s32", **_MODE),
    _row(_MOVE, "prmt.b32{.MODE}", "b32", "b32 b32 u32", lambda m: b.permute(m.MODE), MODE="f4e b4e rc8 ecl ecr rc16"),
)
