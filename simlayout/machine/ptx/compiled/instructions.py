"""Which instructions are compiled: those that programs are full of. All others are executed in NumPy, one by one."""

from functools import cache

from simlayout.machine.ptx.opcodes.lanes import lane_op

_WORDS = "u32 s32 u64 s64"
_FLOATS = "f32 f64"
_HALVES = "f16 bf16 f16x2 bf16x2"


def _each(pattern, types):
    return [pattern.format(type) for type in types.split()]


NAMES = (
    # Integers: those of 32 bits stand for all widths that compute alike (`encode.code_of`).
    "add.u32 add.s32 sub.u32 sub.s32 mul.lo.u32 mul.lo.s32 mul.wide.u32 mul.wide.s32 mad.wide.u32 mad.wide.s32".split()
    + [f"{op}.{type}" for op in "mul.hi mad.lo div rem min max".split() for type in _WORDS.split()]
    + "abs.s32 abs.s64 neg.s32 neg.s64".split()
    # Bits
    + "and.b32 or.b32 xor.b32 not.b32 not.pred popc.b32 popc.b64 clz.b32 clz.b64 brev.b32 brev.b64".split()
    + "bfe.u32 bfe.s32 bfe.u64 bfe.s64 bfi.b32 bfi.b64 prmt.b32 lop3.b32".split()
    + _each("shl.{}", "b16 b32 b64") + _each("shr.{}", "u16 s16 " + _WORDS)
    + [f"shf.{way}.{mode}.b32" for way in "lr" for mode in ("wrap", "clamp")]
    # Choice
    + _each("selp.{}", "b32 s32 f32 f64")
    + [f"setp.{test}.{type}" for test in "eq ne lt le gt ge".split() for type in "u32 s32 f32 f64".split()]
    + [f"setp.{test}.{type}" for test in "equ neu ltu leu gtu geu num nan".split() for type in _FLOATS.split()]
    # Floating point
    + [f"{op}.{type}" for op in "add sub mul fma.rn div.rn neg abs min max sqrt.rn rcp.rn".split()
       for type in _FLOATS.split()]
    + ["rcp.approx.ftz.f64"]
    + "add.ftz.f32 sub.ftz.f32 mul.ftz.f32 fma.rn.ftz.f32 max.ftz.f32 fma.rm.f32 copysign.f32 copysign.f64".split()
    + [f"{op}.{type}" for op in "add sub mul fma.rn max".split() for type in _HALVES.split()]
    # What PTX calls approximate
    + [f"{op}.approx.f32" for op in "ex2 lg2 rcp rsqrt sqrt sin cos div tanh".split()]
    + [f"{op}.approx.ftz.f32" for op in "ex2 lg2 rcp rsqrt sqrt div".split()] + ["div.full.f32", "rsqrt.approx.f64"]
    # Conversion
    + [f"cvt.rn.{to}.{type}" for to in _FLOATS.split() for type in _WORDS.split()]
    + [f"cvt.rzi.{type}.{of}" for of in _FLOATS.split() for type in _WORDS.split()]
    + "cvt.f64.f32 cvt.rn.f32.f64 cvt.f32.f16 cvt.rn.f16.f32 cvt.rn.f16x2.f32 cvt.f32.bf16 cvt.rn.bf16.f32".split()
    + "cvt.rn.bf16x2.f32 cvt.rn.f16.s32 cvt.sat.f32.f32 cvt.rni.s32.f32 cvt.rna.tf32.f32".split()
    + [f"cvt.r{way}i.{type}.{type}" for way in "nzmp" for type in _FLOATS.split()]
)
"""As `lane_op` knows them. Each has a branch of `rows.compute`, unless one before it computes the same."""


def carrier(type: str) -> str:
    """Which of the carriers a type has: "s", "u", "f32" or "f64".

    >>> carrier("s16"), carrier("b64"), carrier("f16"), carrier("f32")
    ('s', 'u', 'u', 'f32')
    """
    if type in ("f32", "f64"):
        return type
    return "s" if type in ("s8", "s16", "s32", "s64") else "u"


def meaning(op) -> tuple:
    """What two instructions share that compute alike: the function, with what it encloses, and the carriers."""
    types = *map(carrier, op.sources), "to", *map(carrier, op.results[:1])
    return _identity(op.function), types


def _identity(function):
    closure = getattr(function, "__closure__", None)
    if closure is None:
        return function
    held = [cell.cell_contents for cell in closure]
    return function.__code__, tuple([_identity(value) if callable(value) else value for value in held])


@cache
def branches() -> dict:
    """{meaning: (code, name, LaneOp)} of NAMES, in order."""
    found = {}
    for name in NAMES:
        opcode, *modifiers = name.split(".")
        op = lane_op(opcode, tuple(modifiers))
        found.setdefault(meaning(op), (len(found), name, op))
    return found
