"""Scopes: which register, variable or label a name means where it stands, and what it is called in the whole function."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from simlayout.machine.ptx.parser.tokens import Tokens
from simlayout.machine.ptx.syntax import (
    SINK,
    Instruction,
    Integer,
    Label,
    Operand,
    Part,
    Prototype,
    Register,
    Special,
    Symbol,
    Variable,
    Vector,
)

_OF_3 = ("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid")
SPECIALS = frozenset((
    *(f"{name}.{part}" for name in _OF_3 for part in "xyzw"),
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%is_explicit_cluster", "%cluster_ctarank",
    "%cluster_nctarank", "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%clock",
    "%clock_hi", "%clock64", *(f"%pm{n}{part}" for n in range(8) for part in ("", "_64")),
    *(f"%envreg{n}" for n in range(32)), "%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%total_smem_size",
    "%aggr_smem_size", "%dynamic_smem_size", "%current_graph_exec", "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end", "%reserved_smem_offset_cap", *(f"%reserved_smem_offset_{n}" for n in range(2)),
))
"""The special registers (PTX ISA 10); a vector such as %tid is the Vector of its four."""

_PART = re.compile(r"[bh][0-7]{1,4}\Z")
_EVERYWHERE: dict[str, Operand] = {
    "_": SINK, "WARP_SZ": Integer(32), **{name: Special(name) for name in SPECIALS},
    **{name: Vector(tuple(Special(f"{name}.{part}") for part in "xyzw")) for name in _OF_3}}


@dataclass(slots=True)
class Pending:
    """A name that may be a label further down: at: of its token; place: of the instruction in the body, or its table."""

    name: str
    at: int
    place: int | str


@dataclass
class Names:
    """What a function has found so far: its body, variables and tables, and all the names that are taken."""

    outer: Callable[[str], bool]
    """Whether the module has a variable or function of a name: a function's own is renamed then."""
    body: list[Instruction | Label] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...] | Prototype] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    scopes: int = 0

    def unique(self, name: str, number: int) -> str:
        """A name for what scope `number` calls `name`, which nothing else in the function has."""
        chosen = name if not number else f"{name}${number}"
        while chosen in self.taken or self.outer(chosen):
            chosen += f"${number}"
        self.taken.add(chosen)
        return chosen


class Scope:
    """One `{ ... }`: `known` maps names to operands, those found in outer scopes included."""

    def __init__(self, tokens: Tokens, names: Names, parent: "Scope | None" = None):
        self.tokens, self.names, self.parent = tokens, names, parent
        self.number = names.scopes
        names.scopes += 1
        self.known: dict[str, Operand] = {} if parent else dict(_EVERYWHERE)
        self.labels: dict[str, str] = {}
        self.pending: list[Pending] = []
        self._own: dict[str, int] = {}                          # token of the declaration
        self._families: dict[str, tuple[int, str, int]] = {}    # prefix -> how many, type, components

    def _declare(self, name: str, at: int) -> None:
        if name in self._own:
            self.tokens.fail(f"a name that line {self.tokens.line(self._own[name])} does not declare already", at)
        self._own[name] = at

    def register(self, name: str, kind: str, components: int, at: int) -> None:
        """Declares a register, or the vector of its components."""
        self._declare(name, at)
        if self._family(name):
            self.tokens.fail("a name that no group of registers has already", at)
        self.known[name] = self._made(name, kind, components)

    def family(self, prefix: str, count: int, kind: str, components: int, at: int) -> None:
        """Declares prefix0, prefix1, ...; each is made when it is first named."""
        self._declare(f"{prefix}<", at)
        self._families[prefix] = count, kind, components

    def symbol(self, name: str, at: int) -> str:
        """Declares a variable; returns its name in the function."""
        self._declare(name, at)
        unique = self.names.unique(name, self.number)
        self.known[name] = Symbol(unique)
        return unique

    def label(self, name: str, at: int) -> str:
        """Declares a label or table; returns its name in the function."""
        self._declare(name, at)
        self.labels[name] = self.names.unique(name, self.number)
        return self.labels[name]

    def _made(self, name: str, kind: str, components: int) -> Register | Vector:
        unique = self.names.unique(name, self.number)
        if not components:
            return Register(unique, kind)
        return Vector(tuple(Register(f"{unique}.{part}", kind) for part in "xyzw"[:components]))

    def find(self, name: str) -> Operand | None:
        """What a name means here; None for what nothing up to here declares, such as labels and the module's own names."""
        found = self.known.get(name)
        if found is None:
            found = self._member(name) or self._component(name) or (self.parent.find(name) if self.parent else None)
            if found is not None:
                self.known[name] = found
        return found

    def _family(self, name: str) -> tuple[int, str, int] | None:
        """The family of this scope that a name belongs to."""
        for end in range(len(name.rstrip("0123456789")), len(name)):
            if (family := self._families.get(name[:end])) and (name[end] != "0" or end == len(name) - 1):
                if len(name) - end < 20 and int(name[end:]) < family[0]:
                    return family
        return None

    def _member(self, name: str) -> Register | Vector | None:
        family = self._family(name)
        return self._made(name, *family[1:]) if family else None

    def _component(self, name: str) -> Operand | None:
        whole, dot, part = name.partition(".")
        vector = self.find(whole) if dot else None
        if isinstance(vector, Register) and _PART.match(part):
            return Part(vector, part)
        if len(part) != 1 or not isinstance(vector, Vector):
            return None
        number = max("xyzw".find(part), "rgba".find(part))
        return vector.operands[number] if 0 <= number < len(vector.operands) else None

    def close(self) -> list[Pending]:
        """Ends the scope: what it has labels for points at them; the rest may be labels of the scope around it."""
        left = []
        for each in self.pending:
            unique = self.labels.get(each.name)
            if unique is None:
                left.append(each)
            elif unique != each.name:
                self._rename(each, unique)
        if self.parent:
            self.parent.pending += left
        return left

    def _rename(self, pending: Pending, unique: str) -> None:
        names, old, place = self.names, pending.name, pending.place
        if isinstance(place, str):
            table = names.tables[place]
            assert isinstance(table, tuple)
            names.tables[place] = tuple(unique if each == old else each for each in table)
            return
        instruction = names.body[place]
        assert isinstance(instruction, Instruction)
        names.body[place] = replace(instruction, operands=tuple(
            replace(each, name=unique) if isinstance(each, Symbol) and each.name == old else each
            for each in instruction.operands))
