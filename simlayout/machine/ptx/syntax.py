"""What PTX text says, as data: a Module holds variables and functions, a function's body instructions and labels.

Names are unique in a function: registers, variables and labels of an inner scope `{ ... }` that would hide others are
renamed (`%p` of the third inner scope is `%p$3`), so nothing that works with a body has to know about scopes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Any, TypeAlias, cast

from simlayout.machine.arithmetic.carriers import WIDTHS

BITS = {name: bits for name, bits in WIDTHS.items() if name not in ("pred", "cc")}
BITS |= dict.fromkeys(("texref", "samplerref", "surfref"), 64)
"""{type: its width in bits} of what registers and variables may have; a register may be a "pred" too (PTX ISA 5.2, 5.3)."""

VECTORS = {"v2": 2, "v4": 4, "v8": 8}
"""{modifier of a load or store: its elements}."""

SPACES = {name: name for name in ("global", "shared", "local", "param", "const", "shared::cluster")}
SPACES |= {"shared::cta": "shared", "param::entry": "param", "param::func": "param"}
"""{modifier that names a state space: the space}, of which .shared alone is that of the CTA (PTX ISA 5.1, State Spaces)."""

_Bytes: TypeAlias = bytes           # Variable has a field of that name


@dataclass(frozen=True, slots=True)
class Site:
    """The source line that a `.loc` gives to the instructions behind it.

    file, line: of the function that the instruction belongs to; callers: (file, line) of the calls that it was inlined at,
    innermost first.
    """

    file: str
    line: int
    callers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Register:
    """A register; type: one of BITS, or "pred". A vector register `.v4 .f32 %v` is the Vector of %v.x, %v.y, %v.z, %v.w."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Special:
    """A special register that the hardware fills, such as `%tid.x` or `%clock64`."""

    name: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant, -2**63 <= value < 2**64; a constant expression is already evaluated, WARP_SZ is 32."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A floating-point constant by its bits; width: 32 for 0fXXXXXXXX, 64 for 0dX... and for decimals such as 1.5."""

    bits: int
    width: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a variable, function, label or table; offset: bytes behind it."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`, offset in bytes."""

    base: "Register | Symbol | Integer"
    offset: int = 0


@dataclass(frozen=True, slots=True)
class TensorAddress:
    """`[base, {coordinates}]` of tensor copies, textures and surfaces; `[texture, sampler, {coordinates}]` has a sampler."""

    base: "Register | Symbol | Integer"
    coordinates: tuple["Operand", ...]
    offset: int = 0
    sampler: "Register | Symbol | None" = None


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, ...}`."""

    operands: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Arguments:
    """`(a, b, ...)` of a call."""

    operands: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """`!%p` of a predicate, `-%r` of another register (vmad)."""

    register: Register


@dataclass(frozen=True, slots=True)
class Part:
    """`%r.b0`, `%r.h10`: bytes or halves of a register, chosen by a video instruction (PTX ISA 9.7.18)."""

    register: Register
    chosen: str


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`, a destination whose value is not wanted."""


SINK = Sink()


@dataclass(frozen=True, slots=True)
class Pair:
    """`first|second`, two destinations, of which either may be SINK; the first is a Vector where a texture is read."""

    first: Register | Sink | Vector
    second: Register | Sink


Operand: TypeAlias = (Register | Special | Integer | Float | Symbol | Address | TensorAddress | Vector | Arguments | Negated
                      | Part | Sink | Pair)


BRANCHES, LEAVES, ENDS = {"bra", "brx"}, {"ret", "exit"}, {"ret", "exit", "trap"}
"""Opcodes by which lanes go to a label; by which they leave a function, or the kernel; by which they do that, or end the
launch. Not `brkpt`, behind which a debugger goes on."""

READS_ALL = {*BRANCHES, *LEAVES, "st", "red", "bar", "barrier", "call", "cp", "membar", "fence", "prefetch", "stmatrix",
             "wgmma", "discard", "applypriority", "wmma", "nanosleep"}
"""Opcodes whose first operand is no destination, or not that alone; of all others it is."""

CARRY = "the carry flag"
"""What `reads` and `writes` call CC.CF, which .cc writes (PTX ISA 9.7.2): a name that no register can have."""

_READ_CARRY = {"addc", "subc", "madc"}
_NO_RESULT = Address | TensorAddress | Negated | Part


@dataclass(frozen=True)
class Instruction:
    """One instruction: `@guard opcode.modifiers operands;`.

    modifiers: without dots, such as ("shared::cta", "b32"); operands: as written, but those of a call are always returns
    (Arguments), callee, parameters (Arguments), and a table where there is one; guard: None where it is always executed;
    line, column: of its first character, from 1; site: None before the first `.loc`; text: as it stands in the module;
    used_bytes: the mask of `.pragma "used_bytes_mask MASK"` ahead of it, a bit for each byte that is loaded, or None;
    nounroll: whether `.pragma "nounroll"` is ahead of it.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | Negated | None
    line: int
    column: int
    site: Site | None
    text: str
    used_bytes: int | None = None
    nounroll: bool = False

    @cached_property
    def name(self) -> str:
        """The opcode with its modifiers, such as "ld.global.b32"."""
        return ".".join((self.opcode, *self.modifiers))

    @cached_property
    def spaces(self) -> tuple[str, ...]:
        """The state spaces that its modifiers name, in their order; none where addresses are generic."""
        return tuple(SPACES[modifier] for modifier in self.modifiers if modifier in SPACES)

    @property
    def names_shared(self) -> bool:
        """Whether it names shared memory, of the CTA or of the cluster."""
        return not {"shared", "shared::cluster"}.isdisjoint(self.spaces)

    @property
    def falls(self) -> bool:
        """Whether what stands behind it may be executed next."""
        return self.guard is not None or self.opcode not in BRANCHES | ENDS

    @property
    def count(self) -> int:
        """Elements that a load, a store or an atomic has: 4 with `.v4`, one without."""
        return next((VECTORS[modifier] for modifier in self.modifiers if modifier in VECTORS), 1)

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Names of the registers that it reads, CARRY among them.

        >>> a, b, c = (Register(name, "b32") for name in ("%a", "%b", "%c"))
        >>> add = Instruction("add", ("s32",), (a, b, c), None, 1, 1, None, "")
        >>> add.reads, add.writes
        (('%b', '%c'), ('%a',))
        """
        first, rest = self.operands[:1], self.operands[1:]
        reads = self.opcode in READS_ALL or any(isinstance(one, Address | TensorAddress) for one in first)
        found = names_in((self.guard, *rest, *(first if reads else ())), Register)
        return (*found, CARRY) if self.opcode in _READ_CARRY else tuple(found)

    @cached_property
    def may_write(self) -> tuple[str, ...]:
        """Names of the registers in the place of a destination, also where the opcode may only read them."""
        first = self.operands[:1]
        found = [] if not first or isinstance(first[0], _NO_RESULT) else names_in(first, Register)
        return (*found, CARRY) if "cc" in self.modifiers else tuple(found)

    @cached_property
    def writes(self) -> tuple[str, ...]:
        """Names of the registers that it writes; of a call none, which counts as reading its results."""
        return () if self.opcode in READS_ALL else self.may_write

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Names of the symbols that it uses."""
        return tuple(names_in((self.guard, *self.operands), Symbol))


@dataclass(frozen=True, slots=True)
class Label:
    """A label in a body. It may be asked what an Instruction is asked: it has no opcode, and does nothing."""

    name: str
    line: int

    opcode, guard, falls, nounroll, names_shared = "", None, True, False, False
    modifiers = operands = spaces = reads = writes = may_write = symbols = cast(tuple, ())


Statement: TypeAlias = Instruction | Label


_PARTS = {Address: ("base",), TensorAddress: ("base", "sampler", "coordinates"), Vector: ("operands",),
          Arguments: ("operands",), Negated: ("register",), Part: ("register",), Pair: ("first", "second"),
          Instruction: ("guard", "operands")}
"""{what has operands in it: the fields where they are}."""


def mapped(operand: Any, kind: type, of: Callable[[Any], Any]) -> Any:
    """An operand, an Instruction, or a tuple of them, with another one for each of a kind in it, such as Register.

    >>> mapped((Address(Register("%a", "b64"), 8), Integer(1)), Register, lambda old: Register("%b", old.type))
    (Address(base=Register(name='%b', type='b64'), offset=8), Integer(value=1))
    """
    if isinstance(operand, kind):
        return of(operand)
    if isinstance(operand, tuple):
        made = tuple([mapped(each, kind, of) for each in operand])
        return operand if all(map(is_, made, operand)) else made
    new = {name: made for name in _PARTS.get(type(operand), ())
           if (made := mapped(part := getattr(operand, name), kind, of)) is not part}
    return replace(operand, **new) if new else operand


def names_in(operands: Iterable[Any], kind: type) -> list[str]:
    """The names of all of a kind, Register or Symbol, in operands; None has none.

    >>> names_in([Address(Register("%a", "b64"), 8), None, Negated(Register("%p", "pred"))], Register)
    ['%a', '%p']
    """
    found: list[str] = []
    for operand in operands:
        if isinstance(operand, kind):
            found.append(operand.name)                   # type: ignore[attr-defined]
        for name in _PARTS.get(type(operand), ()):
            part = getattr(operand, name)
            found += names_in(part if isinstance(part, tuple) else (part,), kind)
    return found


@dataclass(frozen=True, slots=True)
class Relocation:
    """An address in the initial value of a variable, known only when variables have places.

    offset, bytes: where in the variable; symbol, addend: what's address, plus how many bytes; generic: whether the generic
    address is meant, rather than that in the symbol's own space; mask: the byte of it, as 0xff00, or None for all of it.
    """

    offset: int
    bytes: int
    symbol: str
    addend: int = 0
    generic: bool = False
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or parameter.

    space: "shared", "global", "const", "local", "param", or "reg" for a parameter in a register; type: of an element;
    align, bytes: in bytes, 0 bytes for `[]`; shape: lengths, () of a scalar, None for `[]`; a vector is its last length;
    initial: little-endian bytes, cut off behind the last one that is given (the rest is zero), None where nothing is given;
    linkage: "", "extern", "visible", "weak" or "common"; pointer: (space, alignment) that `.ptr` tells of a parameter,
    the space "" where it is not told.
    """

    name: str
    space: str
    type: str
    align: int
    bytes: int
    shape: tuple[int | None, ...] = ()
    initial: _Bytes | None = None
    relocations: tuple[Relocation, ...] = ()
    linkage: str = ""
    pointer: tuple[str, int] | None = None
    line: int = 0

    @property
    def extern(self) -> bool:
        """Whether another module defines it, or, of shared memory, the launch gives its size."""
        return self.linkage == "extern"

    @property
    def unsized(self) -> bool:
        """Whether it does not say where it ends: `extern`, or an array of no length, which LLVM writes as one byte.

        MLIR's `gpu.dynamic_shared_memory` is one, so Mosaic GPU has `.shared .align 16 .b8 name;`. ptxas gives it one byte,
        and dynamic shared memory follows. A single byte of a program is not aligned to more than that.
        """
        return self.extern or (self.space == "shared" and self.type == "b8" and not self.shape and self.align > 1)


@dataclass(frozen=True, slots=True)
class Prototype:
    """What a `.callprototype` says of the functions that an indirect call may reach."""

    returns: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    noreturn: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel (`.entry`) or a device function (`.func`).

    variables: {name: Variable} of all scopes of the body, parameters apart; directives: {"reqntid": (128, 1, 1),
    "pragma": ("nounroll",), "noreturn": ()}, by their names without the dot, as written; body: None where it is only
    declared; tables: {name: labels of a .branchtargets, functions of a .calltargets, or the Prototype}.
    """

    name: str
    entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    variables: dict[str, Variable]
    directives: dict[str, tuple[int | str, ...]]
    body: tuple[Statement, ...] | None
    tables: dict[str, tuple[str, ...] | Prototype]
    linkage: str = ""
    line: int = 0

    @property
    def extern(self) -> bool:
        """Whether another module defines it."""
        return self.linkage == "extern"


@dataclass(frozen=True, slots=True)
class Module:
    """A PTX module.

    version: (9, 0); target: "sm_90a"; options: what else `.target` says, such as ("debug",); address_size: in bits;
    files: {number: path} of the `.file` directives; aliases: {name: the function that it stands for}; named: registers
    that hold a variable, as a debugger is told.
    """

    version: tuple[int, int]
    target: str
    options: tuple[str, ...]
    address_size: int
    files: dict[int, str]
    variables: dict[str, Variable]
    functions: dict[str, Function]
    aliases: dict[str, str]
    path: str
    named: frozenset[str] = frozenset()
