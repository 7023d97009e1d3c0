"""Loads of shared memory that ptxas puts under the predicate of the `selp` that alone reads them.

    y = i < n ? s[t] : y;                                  // @p LDS y

The select becomes a load into the register of the other choice, which nothing may need any more, and which must be there
before the load is: made ahead of it, by another load, or by such a select. Of two loads the later one comes under the
predicate. Seen in the SASS of ptxas 13.0 and 13.5: a choice of up to 32 bits, the other one neither a constant nor a
parameter that nothing else reads, and in their basic block nothing between load and select that may change or order shared
memory. A load that is joined with others stays.
"""

from collections import Counter
from collections.abc import Set
from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import becomes_branches, keeps_apart, plain_access
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.joined import Wholes
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.lines import Guard
from simlayout.machine.ptx.passes.statements import Statements, instructions, registers_in

_CHOICES = {"b16", "u16", "s16", "b32", "u32", "s32", "f32"}


def chosen(function: syntax.Function, known: Known, wholes: Wholes, stay: Set[int]) -> tuple[Statements, dict[int, Guard]]:
    """(the statements of a function with such loads right ahead of their selects, {id of a load: its guard}). known: what is
    known of its registers; stay: ids of loads that count nothing, or have a guard already.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<4>; .reg .pred %p; "
    >>> text += "ld.shared.b32 %r2, [%r1]; setp.gt.u32 %p, %r1, 7; selp.b32 %r3, %r2, %r1, %p; st.global.b32 [0], %r3; }"
    >>> function = parse(text).functions["k"]
    >>> body, guards = chosen(function, Known(function), Wholes({}, {}), set())
    >>> [s.opcode for s in body], [guard.name for guard in guards.values()]
    (['setp', 'ld', 'selp', 'st'], ['%p'])
    """
    body = function.body or ()
    if not any(one.opcode == "selp" for one in instructions(body)):
        return body, {}
    function = _taken_apart(function, wholes, stay)
    choices = _Choices(function, known, wholes, stay)
    ahead: dict[int, syntax.Instruction] = {}                # id of a select -> its load
    for block, part in choices.flow.blocks.items():
        for at, select in enumerate(part):
            if select.opcode == "selp" and select.guard is None and select.modifiers[-1] in _CHOICES:
                if (load := choices.load(block, at)) is not None:
                    ahead[id(select)] = load
    rest = (s for s in function.body or () if id(s) not in choices.guards)
    moved = [one for s in rest for one in (ahead.get(id(s)), s) if one is not None]
    return moved, choices.guards


def _taken_apart(function, wholes, stay):
    """The function with several loads in the place of one of a vector that counts as several, if a select reads from it."""
    selects = (one for one in instructions(function.body) if one.opcode == "selp")
    wanted = {name for one in selects for name in registers_in(one.operands[1:3])}
    held, body = stay.union(wholes.within, *wholes.within.values()), []
    for load in function.body:
        accesses = wholes.counts.get(id(load), ())
        if len(accesses) > 1 and id(load) not in held and not wanted.isdisjoint(made := {*load.writes}):
            plain = plain_access(load)
            if not plain.store and plain.size == 4 and load.guard is None and made.isdisjoint(load.reads):
                body += [_part(load, plain, one) for one in accesses]
                continue
        body.append(load)
    return replace(function, body=tuple(body))


def _part(load, plain, access):
    """The load of one of the accesses that a load of a vector of words counts as."""
    first, many = access.shift // 4, access.bytes // 4
    some = plain.elements[first : first + many]
    address = replace(plain.address, offset=plain.address.offset + access.shift)
    space, *_, type = load.modifiers
    modifiers, result = ((space, type), some[0]) if many == 1 else ((space, f"v{many}", type), syntax.Vector(some))
    return replace(load, modifiers=modifiers, operands=(result, address), used_bytes=None)


class _Choices:
    """flow: of a function; guards: {id of a load that has been found: its guard}."""

    def __init__(self, function, known, wholes, stay):
        self.flow, self.guards = Flow.of(function), dict[int, Guard]()
        self._known, self._counts, self._selects = known, wholes.counts, set[int]()
        self._stay = stay.union(*wholes.within.values())
        body = instructions(function.body)
        reads = Counter(name for one in body for name in one.reads)
        self._constants = {name for one in body if one.opcode == "ld" and "param" in one.spaces
                           for name in one.writes if reads[name] == 1}

    def load(self, block, at):
        """The load that comes under the predicate of the select at a place in a block, or None."""
        part = self.flow.blocks[block]
        _, *both, predicate = part[at].operands
        ways = [(self._made(part, at, one), other, guard) for one, other, guard in
                zip(both, both[::-1], (predicate, syntax.Negated(predicate)))]
        for made, other, guard in sorted(ways, key=lambda way: -way[0]):
            load = part[made]
            if made >= 0 and self._comes(block, made, at) and self._is_there(block, at, made, other):
                self._selects.add(id(part[at]))
                if plain_access(load) is None:               # of global memory, which counts nothing here
                    return None
                self.guards[id(load)] = guard
                return load
        return None

    def _made(self, part, before, operand):
        """Where an operand is made in a block, ahead of a place there; -1 if it is not."""
        name = getattr(operand, "name", "")
        return next((at for at in range(before - 1, -1, -1) if name in part[at].writes), -1)

    def _comes(self, block, made, at):
        """Whether what is made at one place may come to another one: a load for this alone, past nothing that keeps it."""
        part = self.flow.blocks[block]
        load, between, written = part[made], part[made + 1:at], {*part[at].writes}
        if not _is_load(load) or id(load) in self._stay or len(self._counts.get(id(load), ((),))) != 1:
            return False
        if any(keeps_apart(one, False) or becomes_branches(one, True) or _stores(one, load) for one in between):
            return False
        loaded, needed = {*load.writes}, {*load.reads}
        if any(self._is_read_behind(block, at + 1, name) for name in loaded - written):
            return False
        if len(loaded.intersection(part[at].reads)) > 1:
            return False
        return not any(needed.intersection(one.writes) or loaded.intersection(one.reads) for one in between)

    def _is_there(self, block, at, load, other):
        """Whether the other choice is in a register ahead of the load, and nothing needs it behind the select."""
        part = self.flow.blocks[block]
        written = {*part[at].writes}
        while not self._is_constant(other):
            made = self._made(part, at, other)
            one = part[made]
            if made >= 0 and id(one) in self._stay or other.name not in written and self._is_read_behind(
                    block, at + 1, other.name):
                return False
            if made >= 0 and one.opcode == "mov" and isinstance(one.operands[1], syntax.Register) and one.guard is None:
                other = one.operands[1]
                continue
            return made < load or one.opcode == "ld" or id(one) in self._selects
        return False

    def _is_constant(self, operand):
        """Whether it is a number that the select itself holds, or a parameter that nothing else reads."""
        base = self._known.place(syntax.Address(operand)).base
        return isinstance(base, syntax.Integer | syntax.Float) or getattr(base, "name", "") in self._constants

    def _is_read_behind(self, block, first, name):
        """Whether a register is read from a place on before it is written."""
        todo, seen = [(block, first)], set()
        while todo:
            block, first = todo.pop()
            for one in self.flow.blocks[block][first:]:
                if name in one.reads:
                    return True
                if name in one.writes and one.guard is None:
                    break
            else:
                todo += [(to, 0) for to in self.flow.after[block] if to not in seen]
                seen.update(self.flow.after[block])
        return False


def _is_load(statement):
    """Whether it is a plain load of shared or global memory of up to 32 bits."""
    plain = plain_access(statement)
    if plain is not None:
        return not plain.store and plain.size <= 4 and statement.guard is None
    return statement.opcode == "ld" and statement.modifiers[0] == "global" and statement.guard is None and (
        syntax.BITS.get(statement.modifiers[-1], 64) <= 32)


def _stores(statement, load):
    """Whether it may change the global memory that a load is from."""
    return load.modifiers[0] == "global" and statement.opcode in ("st", "atom", "red")
