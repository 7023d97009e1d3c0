"""Instructions of which the table says nothing, because lanes meet in them or memory takes part: shuffles, votes,
reductions, barriers that count, atomics, loads that extend, vectors of mov; conversions with registers wider than the type.
Their other side is the machine, which runs the same kernel.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cuda_kernels.conformance.opcodes.operands import ROLES, USUAL, WHOLE
from cuda_kernels.conformance.opcodes.text import module_of
from simlayout import ptx
from simlayout.hardware.tables.arch import ARCHES

CTA = 256
"""Threads of a CTA; the operands of each CTA are `CTA` neighbours, those of a warp 32."""


@dataclass(frozen=True)
class Together:
    """An instruction, or a few around it, in a kernel of its own.

    name: as PTX writes it; roles: of `operands`; results: types of what is stored; lines: what is executed with the operands
    in registers 2, 3, ... and leaves results in registers 0, 1, ...; room: bytes of shared memory, named room.
    """

    name: str
    roles: tuple[str, ...]
    results: tuple[str, ...]
    lines: tuple[str, ...]
    room: int = 0
    target: str = "sm_90"
    count: int = USUAL

    @property
    def sources(self) -> tuple[str, ...]:
        """The types of the operands."""
        return tuple([ROLES.get(role, role) for role in self.roles])

    def compute(self, given: np.ndarray) -> list[np.ndarray]:
        """What the machine makes of operands uint64 [operands, n], n a multiple of a CTA's threads: [uint64 [n]]."""
        stored, count = np.zeros((len(self.results), given.shape[1]), np.uint64), given.shape[1]
        ptx.load(module_of([self], ARCHES["sm_90"].target))["k0"].run(count // CTA, CTA, given.copy(), stored, count)
        return list(stored)


_NAMED = ("mov.u32 r8, %laneid;", "shr.b32 r9, {mask}, r8;", "and.b32 r9, r9, 1;", "setp.ne.u32 p7, r9, 0;",
          "setp.ne.u32 p0, r9, r9;", "setp.ne.u32 p1, r9, r9;", "mov.b32 r0, 0;", "@!p7 bra OUT;")
"""Only the lanes that the membermask names go on; the others' results are zeros."""


def _among(name, roles, results, line, **more):
    """A row whose last operand is a membermask."""
    roles = tuple(roles.split())
    head = [text.format(mask=f"r{1 + len(roles)}") for text in _NAMED]
    return Together(name, roles, tuple(results.split()), (*head, line, "OUT:"), **more)


def _row(name, roles, results, *lines, **more):
    return Together(name, tuple(roles.split()), tuple(results.split()), lines, **more)


def _votes():
    for kind in ("all", "any", "uni"):
        yield _among(f"vote.sync.{kind}.pred", "often mask", "pred", f"vote.sync.{kind}.pred p0, p2, r3;")
    yield _among("vote.sync.ballot.b32", "pred mask", "b32", "vote.sync.ballot.b32 r0, p2, r3;")
    yield _among("activemask.b32", "mask", "b32", "activemask.b32 r0;")
    yield _among("elect.sync", "mask", "b32 pred", "elect.sync r0|p1, r2;")
    for width, letter in ((32, "r"), (64, "d")):
        for kind in ("any", "all"):
            to, results = ("r0", "b32") if kind == "any" else ("r0|p1", "b32 pred")
            yield _among(f"match.{kind}.sync.b{width}", f"few{width} mask", results,
                         f"match.{kind}.sync.b{width} {to}, {letter}2, r3;")
    for name in ("add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"):
        kind, type = name.split(".")
        yield _among(f"redux.sync.{name}", f"{type} mask", type, f"redux.sync.{kind}.{type} r0, r2, r3;")
    for kind, to, type in (("popc", "r0", "u32"), ("and", "p0", "pred"), ("or", "p0", "pred")):
        yield _row(f"bar.red.{kind}.{type}", "often", type, f"bar.red.{kind}.{type} {to}, 0, p2;")
    yield _row("movmatrix.sync.aligned.m8n8.trans.b16", "b32", "b32", "movmatrix.sync.aligned.m8n8.trans.b16 r0, r2;")


def _shuffles():
    for kind in ("up", "down", "bfly", "idx"):
        for each, c in (("", "clamp"), (" each lane its c", "clamps")):
            yield _row(f"shfl.sync.{kind}.b32{each}", f"b32 u32 {c}", "b32 pred",
                       f"shfl.sync.{kind}.b32 r0|p1, r2, r3, r4, 0xffffffff;")


_ATOMS = {"add": "u32 s32 u64 f32 f64 f16 f16x2 bf16 bf16x2", "min": "u32 s32 u64 s64", "max": "u32 s32 u64 s64",
          "and": "b32 b64", "or": "b32 b64", "xor": "b32 b64", "exch": "b32 b64", "cas": "b16 b32 b64", "inc": "u32",
          "dec": "u32"}
"""Operation -> types (PTX ISA: atom). 128 bits and vectors are not run by the machine as one value of a lane."""


def _register(type, i):
    width = int(type.removesuffix("x2").lstrip("subf")) * (2 if type.endswith("x2") else 1)
    return {16: "h", 32: "r", 64: "d"}[width] + str(i), width


def _atoms():
    """Each thread at an address of its own: what was there, and what is there then."""
    for operation, types in _ATOMS.items():
        for type in types.split():
            for opcode in ("atom", "red"):
                if opcode == "red" and operation in ("exch", "cas"):
                    continue
                for space in ("global", "shared"):
                    yield _atom(opcode, space, operation, type)


_PLACES = {
    "global": ("d8", ("add.u64 d8, d13, d11;",)),                                 # where the second result will be
    "shared": ("r8", ("mov.u32 r8, room;", "mov.u32 r9, %tid.x;", "mad.lo.u32 r8, r9, 16, r8;")),
}


def _atom(opcode, space, operation, type, role="", more=""):
    at, find = _PLACES[space]
    (old, width), operands = _register(type, 0), 3 if operation == "cas" else 2
    spelled = ".".join((opcode, space, operation, *(["noftz"] if type[-2:] in ("16", "x2") and type[0] in "bf"
                                                    and operation == "add" else []), type))
    read = ", ".join(_register(type, 3 + i)[0] for i in range(operands - 1))
    line = f"{spelled} {old}, [{at}], {read};" if opcode == "atom" else f"{spelled} [{at}], {read};"
    kept = [f"mov.b{width} {old}, {_register(type, 2)[0]};"] if opcode == "red" else []
    return Together(spelled + more, (role or type,) * operands, (type, type), (
        *find, *kept, f"st.{space}.b{width} [{at}], {_register(type, 2)[0]};", line,
        f"ld.{space}.b{width} {_register(type, 1)[0]}, [{at}];"), CTA * 16 if space == "shared" else 0)


def _crowds():
    """All threads of a CTA at one address: what is there in the end, which depends on no order: they inc to one limit."""
    for operation, types in _ATOMS.items():
        if operation in ("exch", "cas", "dec"):
            continue
        for type in types.split():
            if type[0] in "us" or operation in ("and", "or", "xor"):
                value, width = _register(type, 2)
                limit = ("ld.shared.b32 r2, [r8];", "bar.sync 0;") if operation == "inc" else ()
                yield Together(f"red.shared.{operation}.{type} by a CTA", (type,), (type,), (
                    "mov.u32 r8, room;", "mov.u32 r9, %tid.x;", "setp.eq.u32 p7, r9, 0;",
                    f"@p7 st.shared.b{width} [r8], {value};", "bar.sync 0;", *limit,
                    f"red.shared.{operation}.{type} [r8], {value};", "bar.sync 0;",
                    f"ld.shared.b{width} {_register(type, 0)[0]}, [r8];"), 16)


_VECTORS = ("add.v2.f32", "add.noftz.v4.f16", "add.noftz.v2.f16x2", "add.noftz.v4.bf16", "add.noftz.v2.bf16x2",
            "min.noftz.v4.f16", "max.noftz.v2.f16x2", "max.noftz.v4.bf16", "min.noftz.v2.bf16x2")
"""Of 8 bytes (PTX ISA: red, vectors of global memory)."""


def _vectors():
    """Vectors of global memory, each thread at an address of its own."""
    for spelled in _VECTORS:
        *_, count, type = spelled.split(".")
        n = int(count[1])
        there, value, after = ([_register(type, i + at)[0] for i in range(n)] for at in (2, 2 + n, 0))
        (_, width), listed = _register(type, 0), lambda names: "{" + ", ".join(names) + "}"
        yield _row(f"red.global.{spelled}", " ".join([type] * 2 * n), " ".join([type] * n),
                   f"st.global.{count}.b{width} [d13], {listed(there)};",
                   f"red.global.{spelled} [d13], {listed(value)};",
                   f"ld.global.{count}.b{width} {listed(after)}, [d13];")


def _nans():
    """Which NaN of several f64 is left, and which NaN fma.oob takes for one out of bounds."""
    for name in ("add", "sub", "mul", "div.rn", "min", "max"):
        yield _row(f"{name}.f64 of NaN", "nans nans", "f64", f"{name}.f64 d0, d2, d3;")
    yield _row("fma.rn.f64 of NaN", "nans nans nans", "f64", "fma.rn.f64 d0, d2, d3, d4;")
    for space in ("global", "shared"):
        yield _atom("atom", space, "add", "f64", "nans", " of NaN")
    for half in ("f16", "bf16"):
        for which, order in (("first", "h2, h3"), ("second", "h3, h2")):
            yield _row(f"fma.rn.oob.{half}, any {which}", "b16", half, "mov.b16 h3, 0x4000;",
                       f"fma.rn.oob.{half} h0, {order}, h3;", count=WHOLE)


def _memory():
    for type, width in (("u8", 32), ("s8", 32), ("u16", 32), ("s16", 64)):
        letter = {32: "r", 64: "d"}[width]
        yield _row(f"ld.shared.{type} to .b{width}", "b32", f"b{width}", *_PLACES["shared"][1], "st.shared.b32 [r8], r2;",
                   f"ld.shared.{type} {letter}0, [r8];", room=CTA * 16)
    for type, letter in (("b8", "h"), ("b8", "r"), ("u8", "d"), ("b16", "r"), ("s16", "d"), ("u32", "d")):
        held = {"h": 16, "r": 32, "d": 64}[letter]
        yield _row(f"st.global.{type} of .b{held}", f"b{held} b64", "b64", "st.global.b64 [d13], d3;",
                   f"st.global.{type} [d13], {letter}2;", "ld.global.b64 d0, [d13];")
    for type in ("u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "f32"):
        for letter, width in (("h", 16), ("r", 32), ("d", 64)):
            if int(type[1:]) <= width and not (type == "f32" and width == 64):
                yield _row(f"ld.global.{type} to .b{width}", f"b{width}", f"b{width}",
                           "sub.u64 d8, d12, d11;", f"ld.global.{type} {letter}0, [d8];")
    for space in ("b16 h b32 r", "b32 r b64 d"):
        half, h, whole, w = space.split()
        yield _row(f"mov.{whole} of two", f"{half} {half}", whole, f"mov.{whole} {w}0, {{{h}2, {h}3}};")
        yield _row(f"mov.{whole} to two", whole, f"{half} {half}", f"mov.{whole} {{{h}0, {h}1}}, {w}2;")
    yield _row("mov.b64 of four", "b16 b16 b16 b16", "b64", "mov.b64 d0, {h2, h3, h4, h5};")
    for kind in ("eq", "lt", "le", "gt", "ge"):
        yield _row(f"mov.u32 %lanemask_{kind}", "b32", "b32", f"mov.u32 r0, %lanemask_{kind};", "xor.b32 r0, r0, r2;")


def _wide_conversions():
    """cvt of and to 8 and 16 bits with wider registers, whose other bits it ignores or extends into."""
    for narrow in ("u8", "s8", "u16", "s16"):
        for letter, width in (("r", 32), ("d", 64)):
            for sat in ("", ".sat"):
                yield _row(f"cvt{sat}.{narrow}.s32 to .b{width}", "s32", f"b{width}",
                           f"cvt{sat}.{narrow}.s32 {letter}0, r2;")
            yield _row(f"cvt.rni.{narrow}.f32 to .b{width}", "f32", f"b{width}", f"cvt.rni.{narrow}.f32 {letter}0, r2;")
            yield _row(f"cvt.s32.{narrow} of .b{width}", f"b{width}", "b32", f"cvt.s32.{narrow} r0, {letter}2;")
            yield _row(f"cvt.u64.{narrow} of .b{width}", f"b{width}", "b64", f"cvt.u64.{narrow} d0, {letter}2;")
            yield _row(f"cvt.rn.f32.{narrow} of .b{width}", f"b{width}", "b32", f"cvt.rn.f32.{narrow} r0, {letter}2;")


def together() -> Iterator[Together]:
    """All.

    >>> [case.name for case in together()][:2]
    ['vote.sync.all.pred', 'vote.sync.any.pred']
    """
    for part in (_votes, _shuffles, _atoms, _vectors, _crowds, _nans, _memory, _wide_conversions):
        yield from part()
