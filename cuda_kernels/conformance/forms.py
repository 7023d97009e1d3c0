"""Every spelling of every shared-memory instruction, as one asm statement of one signature.

All take the shared address ($1, u32) and one other address ($2, u64: the global source of a copy, or the generic
address of the same shared bytes) and give one register ($0, b32), so that one kernel serves them all. Results are
all consumed: ptxas narrows a load whose upper registers nobody reads.
"""

import re
from dataclasses import dataclass
from functools import cache

from cuda_kernels.intrinsics import Instruction
from simlayout.errors import InstructionError
from simlayout.hardware import INSTRUCTIONS
from simlayout.hardware import instruction as instruction_of
from simlayout.hardware.tables.instructions import COUNTED

OPERANDS = (("b32",), ("u32", "u64"))


@dataclass(frozen=True)
class Form:
    """A PTX spelling of a row of INSTRUCTIONS.

    generic: it takes the generic address of shared memory. sized: a copy with a src-size.
    """

    name: str
    row: object
    text: str
    generic: bool = False
    sized: bool = False

    @property
    def instruction(self):
        """The instruction object of the probe kernel; its CPU twin counts the access and moves nothing."""
        return _instruction(self)


@cache
def _instruction(form):
    def twin(warp, address, other):
        warp.record(form.row.name, address, origin=_origin(form, other))
        return 0

    converged = form.row.needs_whole_warp
    name = re.sub(r"\W+", "_", form.name)
    return Instruction(name, form.text, *OPERANDS, twin=twin, converged=converged)


def _origin(form, other):
    """What a copy reads: (global bytes, src-size or None), from the operand that carries both; None for no copy."""
    if form.row.kind != "copy":
        return None
    low = form.row.bytes - 1 if form.sized else 0
    half = other & low                                   # of the src-size; other is unsigned, so ~low would not do
    return other - half, 2 * half if form.sized else None


def _consumed(registers, width):
    """PTX that folds registers (names, of `width` bits) into $0."""
    if width < 64:
        return f"mov.b32 $0, {registers[0]}; " + " ".join(f"xor.b32 $0, $0, {r};" for r in registers[1:])
    halves = " ".join(f"mov.b64 {{l, h}}, {r}; xor.b32 $0, $0, l; xor.b32 $0, $0, h;" for r in registers)
    return f".reg .b32 l, h; mov.b32 $0, 0; {halves}"


_VECTORS = {8: ("b8",), 16: ("b16",), 32: ("b32",), 64: ("v2.b32", "b64", "v4.b16"), 128: ("v4.b32", "v2.b64")}
"""Bits of an access -> its PTX types, where there is more than the vector of 32-bit words."""

_SPACES = (("", ".shared"), (".volatile", ".shared"), (".relaxed.cta", ".shared"), ("", ""), (".volatile", ""))
"""(semantics, state space): weak, volatile, relaxed; without a space the address is generic."""


def _parts(type_name):
    """"v2.b32" -> (2, 32)."""
    count, _, base = type_name.rpartition(".")
    return int(count[1:] or 1) if count else 1, int(base[1:])


def _plain(op):
    """(PTX type, semantics, state space, row) of all that is written of ld or st. What a store has no row of its own for, a
    generic address, costs what the shared one does."""
    shared = {8 * row.bytes: row for row in INSTRUCTIONS.values() if row.name.startswith(f"{op}.shared.")}
    for bits, row in sorted(shared.items()):
        generic = row if op == "st" else INSTRUCTIONS.get(f"{op}.b{bits}")
        for spelled in _VECTORS.get(bits, (f"v{bits // 32}.b32",)):
            for semantics, space in _SPACES:
                if space or generic:
                    yield spelled, semantics, space, row if space else generic


def _loads():
    for spelled, semantics, space, row in _plain("ld"):
        count, width = _parts(spelled)
        names = [f"v{i}" for i in range(count)]
        list_of = names[0] if count == 1 else "{" + ", ".join(names) + "}"
        if width == 16 and count > 1:
            fold = f"mov.b64 q, {list_of}; .reg .b32 l, h; mov.b64 {{l, h}}, q; xor.b32 $0, l, h;"
            registers = f".reg .b16 {', '.join(names)}; .reg .b64 q;"
        else:
            fold = _consumed(names, width)
            registers = f".reg .b{max(width, 32)} {', '.join(names)};"
        name, at = f"ld{semantics}{space}.{spelled}", "$1" if space else "$2"
        yield Form(name, row, f"{{ {registers} {name} {list_of}, [{at}]; {fold} }}", generic=not space)


def _stores():
    for spelled, semantics, space, row in _plain("st"):
        count, width = _parts(spelled)
        value, setup = "$1", ""
        if width == 64:
            value, setup = "q", ".reg .b64 q; mov.b64 q, {$1, $1};"
        elif width == 16 and count > 1:
            value, setup = "h", ".reg .b16 h; cvt.u16.u32 h, $1;"
        list_of = value if count == 1 else "{" + ", ".join([value] * count) + "}"
        name, at = f"st{semantics}{space}.{spelled}", "$1" if space else "$2"
        yield Form(name, row, f"{{ {setup} {name} [{at}], {list_of}; mov.b32 $0, $1; }}", generic=not space)


def _matrices():
    for row in (r for r in INSTRUCTIONS.values() if r.needs_whole_warp):
        count = len(row.groups)
        trans = ".trans" if row.name.endswith(".trans") else ""
        head = f"{row.kind}.sync.aligned.m8n8.x{count}{trans}.shared.b16"
        names = [f"v{i}" for i in range(count)]
        if row.kind == "ldmatrix":
            body = f".reg .b32 {', '.join(names)}; {head} {{{', '.join(names)}}}, [$1]; {_consumed(names, 32)}"
        else:
            body = f"{head} [$1], {{{', '.join(['$1'] * count)}}}; mov.b32 $0, $1;"
        yield Form(row.name, row, f"{{ {body} }}")


def _copies():
    for row in (r for r in INSTRUCTIONS.values() if r.kind == "copy"):
        cache_op, size = row.name.split(".")[2:]
        for level in ("", ".L2::128B"):
            name = f"cp.async.{cache_op}.shared.global{level}"
            yield Form(f"{row.name}{level}", row, f"{name} [$1], [$2], {size}; mov.b32 $0, $1;")
        # The low bits of the source, which is aligned, carry half the src-size.
        low = int(size) - 1
        setup = (f".reg .b32 z, h; .reg .b64 a; mov.b64 {{z, h}}, $2; and.b32 z, z, {low}; shl.b32 z, z, 1;"
                 f" and.b64 a, $2, {~low};")
        yield Form(f"{row.name}.src-size", row,
                   f"{{ {setup} cp.async.{cache_op}.shared.global [$1], [a], {size}, z; mov.b32 $0, $1; }}", sized=True)


def _atomics():
    for row in (r for r in INSTRUCTIONS.values() if r.kind in ("reduction", "atomic")):
        op, space, *rest = row.name.split(".")
        register, setup = _atomic_value(row)
        if row.name == COUNTED:
            yield Form(row.name, row, "{ red.shared.add.u32 [$1], 1; mov.b32 $0, $1; }")
            continue
        for where in (".shared", "") if row.rule == "banks" and row.bytes < 16 else (".shared",):
            address = "$1" if where else "$2"
            name = f"{op}{where}.{'.'.join(rest)}"
            if op == "red":
                body = f"{name} [{address}], v; mov.b32 $0, $1;"
            else:
                new = "v, v" if rest[0] == "cas" else "v"
                body = f".reg .{register} d; {name} d, [{address}], {new}; {_folded('d', register)}"
            yield Form(name, row, f"{{ {setup} {body} }}", generic=not where)


def _atomic_value(row):
    """(register type, PTX that gives v a value) for the operand of an atomic."""
    if row.name.endswith("f32"):
        return "f32", ".reg .f32 v; mov.f32 v, 0f3F800000;"
    if row.name.endswith("f64"):
        return "f64", ".reg .f64 v; mov.f64 v, 0d3FF0000000000000;"
    if row.name.endswith("16x2"):
        return "b32", ".reg .b32 v; mov.b32 v, 0x3C003C00;"
    if row.bytes == 4:
        return "b32", ".reg .b32 v; mov.b32 v, $1;"
    if row.bytes == 8:
        return "b64", ".reg .b64 v; mov.b64 v, {$1, $1};"
    return "b128", ".reg .b64 q; mov.b64 q, {$1, $1}; .reg .b128 v; mov.b128 v, {q, q};"


def _folded(register, kind):
    """PTX that folds one register of any type into $0."""
    if kind in ("b32", "f32"):
        return f"mov.b32 $0, {register};"
    if kind == "b128":
        return f".reg .b64 q0, q1; mov.b128 {{q0, q1}}, {register}; " + _consumed(["q0", "q1"], 64)
    return f".reg .b32 l, h; mov.b64 {{l, h}}, {register}; xor.b32 $0, l, h;"


FORMS = {f.name: f for family in (_loads, _stores, _matrices, _copies, _atomics) for f in family()}
"""Every form, by its PTX spelling."""


def form(name):
    """The Form of a PTX spelling, or the plain form of a row's name; InstructionError if there is none.

    >>> form("ld.shared.v4.b32").row.name, form("ld.shared.b128").name
    ('ld.shared.b128', 'ld.shared.v4.b32')
    """
    if name in FORMS:
        return FORMS[name]
    row = instruction_of(name)
    forms = [f for f in FORMS.values() if f.row is row]
    if not forms:
        raise InstructionError(f"no probe for {row}")
    return forms[0]
