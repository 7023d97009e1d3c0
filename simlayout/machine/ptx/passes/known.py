"""What is known of registers before a program runs, as far as ptxas is known to use it: which bits they can have at all,
which are the same in all lanes, and which halves are needed: of 64 bits ptxas 13.0 leaves out the half that nothing reads
(`(int)keys[t]` of a `long long keys[]` loads 4 bytes)."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from typing import Any

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import LOADS, STAY
from simlayout.machine.ptx.passes.statements import COMPUTES, instructions, registers_in, special

_ALL = (1 << 64) - 1
_MOVES = {"mov", "cvt", "cvta", "mapa", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "neg", "min",
          "max", "bfi", "bfe", "selp", "setp"}
"""Opcodes whose results are the same in all lanes if their operands are."""
_ROUNDS = {"add", "sub", "fma", "mul", "div", "max", "min", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "neg", "abs", "cvt"}
_FLOATS = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"}
_EITHER_WAY = {"add", "mul", "and", "or", "xor"}
"""Opcodes whose first two operands may change places."""
_DEEPEST = 100
"""Definitions that are followed from one operand to the next."""

LOW, HIGH, BOTH = 1, 2, 3
"""Halves of a register of 64 bits; of all others any of them means the whole."""

_LEFT_OUT = COMPUTES | {"mapa", "getctarank", "isspacep", "shfl", "vote", "match", "redux", "activemask", "movmatrix",
              "mma"}
"""Opcodes of what ptxas leaves out if nothing reads its results."""
_CALLED = {"div", "rcp", "sqrt", "rsqrt"}

_WIDE, _UNSIGNED = {"b64", "u64", "s64"}, {"u32", "u16", "u8"}
_NARROW = {*_UNSIGNED, "b32", "s32", "s16", "s8"}
_ALIKE = {"or", "xor", "not", "selp", "and"}
"""Opcodes that make each half of the same half of their operands."""
_UPWARDS = {"add", "sub", "mul", "mad", "neg", "shl"}
"""Opcodes that make the lower half of the lower halves."""


class Known:
    """Of one syntax.Function. Registers with several definitions are unknown: ptxas does not follow them either."""

    def __init__(self, function):
        self._body, self._returns = instructions(function.body), function.returns
        self._given = {one.name for one in function.parameters}
        self._bits: dict[str, int] = {}                  # by register, as `_of_definition` keeps them
        self._uniform: dict[str, bool] = {}
        self._rounded: dict[str, str | None] = {}
        self._depth = 0

    def _of_definition(self, name, kept, unknown, look):
        """What `look` finds of the definition of a register, looked for once. kept: by register; unknown: what a register is
        whose only definition is guarded, or made of itself, or too far away."""
        if name not in kept:
            made = self._definition.get(name)
            if self._depth == _DEEPEST or made is None or made.guard is not None:
                return unknown
            kept[name] = unknown
            self._depth += 1
            kept[name] = look(made)
            self._depth -= 1
        return kept[name]

    @cached_property
    def _definition(self):
        """{register: its only definition}."""
        found = defaultdict(list)
        for instruction in self._body:
            for name in instruction.may_write:
                found[name].append(instruction)
        return {name: all_of[0] for name, all_of in found.items() if len(all_of) == 1}

    @cached_property
    def _changing(self):
        """Names of the registers that have several definitions."""
        times = Counter(name for instruction in self._body for name in instruction.writes)
        return {name for name, many in times.items() if many > 1}

    def made(self, operand) -> syntax.Instruction | None:
        """The instruction that makes a register, if it is the only one, and makes it always."""
        found = self._definition.get(getattr(operand, "name", ""))
        return found if found is not None and found.guard is None else None

    def bits(self, operand) -> int:
        """A mask of the bits that an operand can have.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<4>; .reg .pred %p1;"
        >>> text += "selp.b32 %r1, 1, 0, %p1; shl.b32 %r2, %r1, 4; mov.b32 %r3, %tid.x; ret; }"
        >>> function = parse(text).functions["f"]
        >>> [hex(Known(function).bits(s.operands[0])) for s in function.body[:2]]
        ['0x1', '0x10']
        """
        if isinstance(operand, syntax.Integer):
            return operand.value & _ALL
        if not isinstance(operand, syntax.Register):
            return _ALL
        return self._of_definition(operand.name, self._bits, _ALL, self._bits_made)

    def _bits_made(self, made):
        sources = made.operands[1:]
        if len(sources) < (1 if made.opcode == "mov" else 2):
            return _ALL
        if made.opcode == "mov":
            return self.bits(sources[0])
        if made.opcode in ("or", "xor", "selp"):
            return self.bits(sources[0]) | self.bits(sources[1])
        if made.opcode == "and":
            return self.bits(sources[0]) & self.bits(sources[1])
        if made.opcode == "shl" and isinstance(sources[1], syntax.Integer):
            known = self.bits(sources[0])
            return _ALL if known == _ALL else known << min(sources[1].value & 0xFFFFFFFF, 64) & _ALL
        return _ALL

    @cached_property
    def _needed(self):
        return _needed_of([one for one in self._body if not self.never(one.guard)], [one.name for one in self._returns])

    def unread(self, operand) -> bool:
        """Whether no instruction reads a destination, but for those that compute what nothing reads."""
        return not isinstance(operand, syntax.Register) or not self.halves(operand)

    def halves(self, operand: syntax.Register) -> int:
        """Which halves of a register of 64 bits are read likewise, of all others whether they are."""
        return self._needed.get(operand.name, 0)

    def constant(self, operand) -> int | None:
        """The number that an operand is, if it plainly is one."""
        made = self._definition.get(operand.name) if isinstance(operand, syntax.Register) else None
        if made is not None and made.guard is None and made.opcode == "mov":
            operand = made.operands[1]
        return operand.value if isinstance(operand, syntax.Integer) else None

    def never(self, guard) -> bool:
        """Whether a guard is plainly false in all lanes: ptxas leaves out what is under it.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .pred %p<3>; mov.pred %p1, 0;"
        >>> text += "mov.pred %p2, -1; @%p1 bar.sync 0; @!%p1 bar.sync 0; @%p2 bar.sync 0; @!%p2 bar.sync 0; ret; }"
        >>> function = parse(text).functions["f"]
        >>> [Known(function).never(s.guard) for s in function.body[2:]]
        [True, False, False, True, False]
        """
        negated = isinstance(guard, syntax.Negated)
        value = self.constant(guard.register if negated else guard)
        return value is not None and bool(value) == negated

    def place(self, address: syntax.Address, but: Container[str] = ()) -> syntax.Address:
        """The same address, told by what the register of its base is made of: by moves, changes of the space, and sums with
        numbers. but: names of registers by which it is not told.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b64 %p<3>; .reg .b32 %r;"
        >>> text += "add.s64 %p2, %p1, 8; ld.global.b32 %r, [%p2+4]; ret; }"
        >>> function = parse(text).functions["f"]
        >>> Known(function).place(function.body[1].operands[1])
        Address(base=Register(name='%p1', type='b64'), offset=12)
        """
        base, offset = address.base, address.offset
        for _ in range(_DEEPEST):
            made = self._definition.get(getattr(base, "name", ""))
            if made is None or made.guard is not None or made.opcode not in ("mov", "cvta", "add"):
                break
            first, *number = made.operands[1:]
            if not all(isinstance(one, syntax.Integer) for one in number) or isinstance(first, syntax.Vector):
                break
            if getattr(first, "name", "") in but:
                break
            base, offset = first, offset + sum(one.value for one in number)
        if isinstance(base, syntax.Symbol):
            base, offset = syntax.Symbol(base.name), offset + base.offset
        return syntax.Address(base, offset)

    def steady_place(self, address: syntax.Address) -> syntax.Address:
        """As `place`, but not by registers that may have changed since the base was made of them; of bases that ptxas knows
        to be one number the first: a compiler makes `s + 16 * tid` anew in a later block.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<9>; mov.u32 %r1, %tid.x;"
        >>> text += "shl.b32 %r2, %r1, 4; shl.b32 %r3, %r1, 4; ld.shared.b32 %r4, [%r3+8]; ret; }"
        >>> function = parse(text).functions["f"]
        >>> Known(function).steady_place(function.body[3].operands[1])
        Address(base=Register(name='%r2', type='b32'), offset=8)
        """
        found = self.place(address, self._changing)
        first = self._first.get(getattr(found.base, "name", ""))
        return syntax.Address(first, found.offset) if first is not None else found

    @cached_property
    def _first(self):
        """{register: the first that is made likewise}, of those made of what stays the same for a thread."""
        firsts: dict[tuple, syntax.Register] = {}
        found: dict[str, syntax.Register] = {}
        for one in self._body:
            to, *sources = one.operands or (None,)
            if self.made(to) is not one or one.opcode not in _MOVES | {"ld"}:
                continue
            of = [found.get(source.name) if isinstance(source, syntax.Register) else source if self._stays(source) else None
                  for source in sources]
            if None not in of:
                swapped = sorted(of[:2], key=str) + of[2:] if one.opcode in _EITHER_WAY else of
                found[to.name] = firsts.setdefault((one.opcode, one.modifiers, *swapped), to)
        return found

    def _stays(self, operand):
        """Whether an operand that is no register is the same for a thread wherever it is read."""
        if isinstance(operand, syntax.Special):
            return special(operand.name).once
        if isinstance(operand, syntax.Address):
            return getattr(operand.base, "name", "") in self._given
        return isinstance(operand, syntax.Integer | syntax.Symbol)

    def where(self, address: syntax.Address) -> tuple[str, int]:
        """The `steady_place` of an address: (name of a register or a variable, "" if it is a number; bytes from there)."""
        found = self.steady_place(address)
        return getattr(found.base, "name", ""), found.offset + getattr(found.base, "value", 0)

    def uniform(self, operand) -> bool:
        """Whether ptxas may hold an operand in a uniform register: it is computed of constants, parameters and numbers of
        CTAs. `alike` says more: what is the same in all lanes in whichever register, as what is loaded from one address."""
        if isinstance(operand, syntax.Special):
            return special(operand.name).uniform
        if isinstance(operand, syntax.Address):
            return self.uniform(operand.base)
        if isinstance(operand, syntax.Negated):
            return self.uniform(operand.register)
        if not isinstance(operand, syntax.Register):
            return isinstance(operand, syntax.Integer | syntax.Float | syntax.Symbol)
        return self._of_definition(operand.name, self._uniform, False, self._uniform_made)

    def _uniform_made(self, made):
        if made.opcode == "ld":
            return "param" in made.spaces
        return made.opcode in _MOVES and all(self.uniform(one) for one in made.operands[1:])

    def rounded(self, operand) -> str | None:
        """The type of floats whose arithmetic an operand is the result of, or None: of sums, and what is made of them.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<4>;"
        >>> text += "add.f32 %r1, %r0, %r0; mov.b32 %r2, %r1; add.s32 %r3, %r1, %r2; ret; }"
        >>> function = parse(text).functions["f"]
        >>> [Known(function).rounded(s.operands[0]) for s in function.body[:3]]
        ['f32', 'f32', None]
        """
        if not isinstance(operand, syntax.Register):
            return None
        return self._of_definition(operand.name, self._rounded, None, self._rounded_made)

    def _rounded_made(self, made):
        if made.opcode == "mov" and len(made.operands) == 2:
            return self.rounded(made.operands[1])
        if made.opcode == "selp":
            found = {self.rounded(one) for one in made.operands[1:3]}
            return found.pop() if len(found) == 1 else None
        type = ("", "", *made.modifiers)[-2 if made.opcode == "cvt" else -1]
        return type if made.opcode in _ROUNDS and type in _FLOATS else None


def _needed_of(body: Iterable[syntax.Instruction], results: Iterable[str]) -> dict[str, int]:
    """{register: the halves of it that are needed} of instructions which do something, those that compute what such ones
    read, and of the results of a function, by their names."""
    found, computes, todo = defaultdict[str, int](int), defaultdict[str, list](list), [(name, BOTH) for name in results]
    for one in body:
        if _only_computes(one):
            for name in one.may_write:
                computes[name].append(one)
        else:
            todo += _named(one, _of_store(one))
    while todo:
        name, which = todo.pop()
        if which & ~found[name]:
            found[name] |= which
            for one in computes[name]:
                todo += _named(one, _of_sources(one, found))
    return found


def _only_computes(instruction):
    """Whether ptxas leaves an instruction out whose results nothing reads. Of rounded quotients and roots it may make calls,
    which stay, and of rsqrt.approx.f64."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in LOADS:
        return STAY.isdisjoint(modifiers)
    if opcode == "wmma":
        return "store" not in modifiers[:1]
    if opcode in _CALLED and modifiers[-1][0] == "f":
        return not {"approx", "full"}.isdisjoint(modifiers) and modifiers != ("approx", "f64")
    return opcode in _LEFT_OUT


def _named(one, halves: list[tuple[Any, int]] | None) -> Iterator[tuple[str, int]]:
    """(register, which halves of it) that an instruction reads. halves: of its operands, None if all of all."""
    if halves is None:
        return ((name, BOTH) for name in one.reads)
    return ((name, which) for operand, which in ((one.guard, BOTH), *halves) if which for name in registers_in((operand,)))


def _of_sources(one, found) -> list[tuple[Any, int]] | None:
    """[(an operand, which halves of it)] that an instruction reads for those of its results that are needed; None: all."""
    (*others, type), (to, *sources) = one.modifiers or ("",), one.operands or (None,)
    which = 0
    for part, half in _parts(to):
        there = found[getattr(part, "name", "")]
        which |= there if half == BOTH else half * (there > 0)
    if one.opcode == "cvt" and others == ["u64"] and type in _UNSIGNED:
        return [(sources[0], which & LOW)]               # above that are zeros
    if one.opcode == "cvt" and type in _WIDE and len(others) == 1 and others[0] in _NARROW:
        return [(sources[0], LOW)]
    if type not in _WIDE or not {"hi", "wide", "cc", "sat"}.isdisjoint(others):
        return None
    number = getattr(sources[-1], "value", None)
    if one.opcode == "and" and number is not None:
        return [(sources[0], which & (LOW * (number % 2**32 > 0) | HIGH * (number >> 32 != 0)))]
    if one.opcode == "mov":
        return [(part, which & half) for part, half in _parts(sources[0])]
    if one.opcode in _ALIKE:
        return [(source, which) for source in sources[:2]] + [(source, BOTH) for source in sources[2:]]
    if one.opcode in ("shl", "shr") and number is not None and number >= 32:
        of, moved = (LOW, HIGH) if one.opcode == "shl" else (HIGH, BOTH if type == "s64" else LOW)
        return [(sources[0], of * (which & moved > 0))]
    if one.opcode in _UPWARDS and which == LOW or one.opcode == "shr" and number is not None and which == HIGH:
        return [(source, which) for source in sources]
    return None


def _of_store(one) -> list[tuple[Any, int]] | None:
    """The same of a store of 32 bits or less, which may be those of a wider register."""
    if one.opcode != "st" or syntax.BITS.get(one.modifiers[-1], 64) > 32:
        return None
    address, value, *policy = one.operands
    return [(value, LOW), *((other, BOTH) for other in (address, *policy))]


def _parts(operand):
    """[(an operand, which halves it has of the 64 bits)] of an operand, of which a vector has several."""
    parts = getattr(operand, "operands", (operand,))
    return [(one, BOTH if len(parts) == 1 else LOW if 2 * i < len(parts) else HIGH) for i, one in enumerate(parts)]
