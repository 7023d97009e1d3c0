"""Loads of shared memory that only the lanes behind a gate need: a branch, an end of some lanes, a guarded store.

ptxas puts such loads behind the gate, so that a warp of which no lane passes does not load. So it is with the tile that a
kernel of Triton turns over in shared memory and stores under a mask. Seen in the SASS of ptxas 13.0 and 13.5, where these
are gates, of those that the instructions of a kernel come to in their order:

- `@p bra` to the end of the kernel, `@p ret`, and the last store under a guard: they become `@p EXIT`;
- `@p atom`, `@p red`: a branch around it, and around others with the same guard;
- `@p bra` around lines that ptxas does not put under predicates instead: an atomic or a shuffle is among them, another
  branch, or there are many, which are fewer where nothing behind them loads global memory.

A load that is ahead of lines which ptxas puts under predicates, and of their branch, comes behind a gate that follows, too:
of `if (i < n) o[i] = a; if (j < n) o[j] = b;` at the end of a kernel b is loaded behind `@p EXIT`, and a is not.

Loads whose results are used as they are, or as another type, come behind, and so do those with one operation and a constant
between, except 0, which is a register there; of several uses, as of the two halves of a word, each must be of these kinds.
Those of which one instruction of three operands is made first do not, nor do loads ahead of a barrier, of what acquires or
releases, or of another store to shared memory, nor those that make 64 bits of a smaller number. ptxas joins loads, and
leaves out those of what a thread has, before it moves them: one that counts for another one stays ahead of what that is
needed for.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import STRONG, is_shared_load
from simlayout.machine.ptx.passes.ends import branched_around, in_registers, keeps_ahead, late
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.sizes import size_in_words
from simlayout.machine.ptx.passes.statements import Statements, places, registers_in
from simlayout.machine.ptx.syntax import BITS

Guard = syntax.Register | syntax.Negated

_COMPUTED = {"add": ("u32", "s32", "f32", "f64"), "sub": ("u32", "s32", "f32"), "mul": ("u32", "s32", "f32"),
             "min": ("u32", "s32", "f32"), "max": ("u32", "s32", "f32"), "shl": ("b32",), "shr": ("b32", "u32", "s32"),
             "abs": ("s32",), **dict.fromkeys(("and", "or", "xor", "not"), ("b32",))}
"""The types of what comes along with a load by opcode: one of these stands between it and what needs it, and any number of
those that are free."""

_PACKED = {"cvt.rn.f16.f32", "cvt.rn.bf16.f32"}
"""Two of these in a block ptxas makes one of, which has two operands."""

_ATOMIC = {"atom", "red"}
_NEVER_PREDICATED = {*_ATOMIC, *syntax.LEAVES, *syntax.BRANCHES, "call", "shfl"}
_MANY, _MANY_AT_LAST = 21, 9
"""Instructions around which a branch stays, where something behind them loads global memory and where nothing does: by ptxas
13.0, of chains of 32-bit integers with a store."""


@dataclass(frozen=True)
class _Gate:
    """Where lanes part. at: the index of the statement; inside: of those that only the lanes execute that pass; guard: of a
    store or of atomics that these alone execute, None where the others have gone elsewhere; ends: whether these leave the
    kernel."""

    at: int
    inside: Sequence[int]
    guard: Guard | None = None
    ends: bool = False

    def holds(self, places: Iterable[int]) -> bool:
        """Whether all places are inside."""
        return all(place in self.inside for place in places)


class _Body:
    """Statements of an entry; who reads which register, and who leads to which label. tables: those of a `brx`, which lead
    to their labels from anywhere. within, known: as `put_off` has them; holding: {id of a load: where those are that it
    counts for}."""

    def __init__(self, body: Statements, tables: set[str], within: Mapping[int, set[int]], known: Known):
        self.body, self.known = body, known
        self.reads, self.jumps = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        self.holding = defaultdict[int, list[int]](list)
        self.labels = places(body)
        for name in tables:
            self.jumps[name].append(-1)
        for at, statement in enumerate(body):
            for holder in within.get(id(statement), ()):
                self.holding[holder].append(at)
            for name in statement.reads:
                self.reads[name].append(at)
            for name in statement.symbols:
                self.jumps[name].append(at)

    @cached_property
    def places(self) -> list[int]:
        """The indices of the labels, in their order."""
        return sorted(self.labels.values())

    def is_shifted(self, operand: syntax.Operand) -> bool:
        """Whether a shift to the left makes an operand."""
        return getattr(self.known.made(operand), "opcode", "") == "shl"

    @cached_property
    def in_registers(self) -> set[str]:
        """As of `passes.ends`."""
        return in_registers(self)

    def gate(self, at: int) -> _Gate | None:
        """The gate that a statement is, if it is one."""
        statement = self.body[at]
        if statement.guard is None:
            return None
        if statement.opcode == "bra":
            return self._of_branch(at, self._target(statement))
        if statement.opcode in syntax.LEAVES:
            return _Gate(at, self.entered_at(at + 1, len(self.body)), ends=True)
        if statement.opcode in _ATOMIC:
            return _Gate(at, self._of_one_guard(at), statement.guard)
        return _Gate(at, [at], statement.guard) if statement.opcode == "st" and self.ends(at + 1) else None

    def _of_one_guard(self, first):
        """The atomics from one on that ptxas branches around together, because they have one guard."""
        found, guard = [], self.body[first].guard
        for at, statement in enumerate(self.body[first:], first):
            if isinstance(statement, syntax.Label) or at > first and keeps_ahead(statement):
                break
            if branched_around(statement):
                if statement.guard != guard:
                    break
                found.append(at)
            if {*statement.writes}.intersection(registers_in((guard,))):
                break
        return found

    def _target(self, branch):
        """The index of the label that a branch leads to."""
        return self.labels[branch.symbols[0]]

    def _of_branch(self, at, target):
        """The gate that a branch is: one forward that stays a branch, or becomes an end of lanes."""
        if target < at:
            return None
        if self.ends(target):
            return _Gate(at, self.entered_at(at + 1, target), ends=True)
        if self.ends(at + 1) and self.jumps[self.body[target].name] == [at] and not self._falls(target - 1):
            return _Gate(at, self.entered_at(target + 1, len(self.body)), ends=True)
        over = self._over(at + 1)
        first, end = (target + 1, over) if over > target else (at + 1, target)
        inside = self.entered_at(first, end)
        return _Gate(at, inside) if inside.stop == end and self._stays(inside) else None

    def _over(self, at):
        """Where a branch leads that another one under a guard goes around, as in `@%p bra $in; bra $on; $in: ... $on:`, to
        which nothing else leads; -1 of all else."""
        before, branch, label = self.body[max(at - 1, 0)], self.body[at], self.body[min(at + 1, len(self.body) - 1)]
        if branch.opcode != "bra" or branch.guard is not None or not isinstance(label, syntax.Label):
            return -1
        alone = before.guard is not None and self.jumps[label.name] == [at - 1]
        return self._target(branch) if alone and before.opcode == "bra" else -1

    def _stays(self, around):
        """Whether ptxas leaves a branch around some statements a branch."""
        inside = [self.body[i] for i in around if not isinstance(self.body[i], syntax.Label)]
        many = _MANY if self._loads_global_from(around[-1] + 1 if around else 0) else _MANY_AT_LAST
        return sum(map(size_in_words, inside)) >= many or any(one.opcode in _NEVER_PREDICATED for one in inside)

    def _loads_global_from(self, at):
        """Whether something loads global memory from a statement on, ahead of atomics under a guard. Behind an end of lanes
        that does not take the branch away, but a load comes behind both."""
        straight = takewhile(lambda one: not branched_around(one), self.body[at:])
        return any(getattr(one, "name", "").startswith("ld.global") for one in straight)

    def skipped_from(self, label: int) -> int:
        """Where the branch is that alone leads to a label, if ptxas puts all between under predicates instead; else -1."""
        jumps = self.jumps[self.body[label].name]
        if len(jumps) != 1 or not 0 <= jumps[0] < label:
            return -1
        at, first = jumps[0], jumps[0] + 1
        if self._over(at) == label:
            at, first = at - 1, at + 2
        branch = self.body[at]
        if branch.opcode != "bra" or branch.guard is None:
            return -1
        if any(isinstance(one, syntax.Label) for one in self.body[first:label]):
            return -1
        return -1 if self._stays(range(first, label)) else at

    def predicated(self, label: int, then: tuple[int, object]) -> int:
        """Where the branch is that leads to a label, if ptxas puts all between under predicates instead; else -1. then:
        where the next branch is, and its guard. Of two side by side one over stores stays if both have one guard."""
        first = max(self.skipped_from(label), self.either_from(label))
        beside = first >= 0 and then == (label + 1, self.body[first].guard)
        if beside and self.jumps[getattr(self.body[label], "name", "")] == [first]:
            return -1 if any(one.opcode == "st" for one in self.body[first:label]) else first
        return first

    def either_from(self, label: int) -> int:
        """Where the branch is from which two ways lead to a label, if ptxas puts both under predicates instead; else -1."""
        if len(to_end := self.jumps[self.body[label].name]) != 1 or not 0 <= (over := to_end[0]) < label:
            return -1
        other = self.body[over + 1]
        if self.body[over].guard is not None or not isinstance(other, syntax.Label):
            return -1
        if len(self.jumps[other.name]) != 1:
            return -1
        first = way = self.jumps[other.name][0]
        if self._over(way) == over + 1:
            first, way = way - 1, way + 1
        elif self.body[way].guard is None:
            return -1
        ways = [*range(way + 1, over), *range(over + 2, label)]
        labels = any(isinstance(self.body[at], syntax.Label) for at in ways)
        return -1 if labels or way >= over or self._stays(ways) else first

    def _falls(self, at):
        """Whether the statement behind another one is executed next."""
        statement = self.body[at]
        return statement.falls or statement.opcode == "trap"

    def ends(self, at: int) -> bool:
        """Whether the kernel does nothing any more from a statement on."""
        seen = set()
        while at < len(self.body) and at not in seen:
            seen.add(at)
            statement = self.body[at]
            if isinstance(statement, syntax.Label):
                at += 1
            elif statement.guard is None and statement.opcode == "bra":
                at = self._target(statement)
            else:
                return statement.guard is None and statement.opcode in syntax.LEAVES
        return at not in seen

    def entered_at(self, first: int, end: int) -> range:
        """The statements from the first on, up to the end or the first that can be come to from elsewhere than these."""
        before = -1
        while before != end:
            before = end
            for at in self.places[bisect_left(self.places, first):bisect_left(self.places, end)]:
                jumps = self.jumps[self.body[at].name]
                if jumps and (jumps[0] < first or jumps[-1] >= end):
                    end = at
                    break
        return range(first, end)


def put_off(function: syntax.Function, within: Mapping[int, set[int]],
            known: Known) -> tuple[Statements, dict[int, Guard]]:
    """(the statements of an entry with such loads right behind their gates, {id of a load that is under a guard there: that
    guard}). within: {id of a load: the ids of others that count for it}; known: what is known of its registers.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<3>; .reg .b64 %a; .reg .pred %p;"
    >>> text += "ld.shared.b32 %r1, [%r2]; @%p bra $end; red.global.add.u32 [%a], %r1; $end: ret; }"
    >>> function = parse(text).functions["k"]
    >>> body, _ = put_off(function, {}, Known(function))
    >>> [statement.opcode for statement in body]
    ['bra', 'ld', 'red', '', 'ret']
    """
    body = list(function.body or ())
    tables = {name for table in function.tables.values() if isinstance(table, tuple) for name in table}
    lines, guards, at = _Body(body, tables, within, known), dict[int, Guard](), 0
    while at < len(body):
        gate = lines.gate(at)
        for look in (_behind, late):
            if gate is None or look is late and not gate.ends or not (behind := look(lines, gate)):
                continue
            ids, first = set(map(id, behind)), gate.inside[0]
            body[:first] = [*(s for s in body[:first] if id(s) not in ids), *reversed(behind)]
            if gate.guard is None:
                at -= len(behind)                        # the gate has moved up
            else:
                guards |= {id(one): gate.guard for one in behind if one.opcode == "ld"}
            lines = _Body(body, tables, within, known)
            gate = lines.gate(at)
        at += 1
    return body, guards


def apart(body: Statements, guards: dict[int, Guard]) -> Statements:
    """The statements that `put_off` made with a label ahead of loads under a guard, which are in a basic block of their own.

    >>> load = syntax.Instruction("ld", (), (), None, 1, 1, None, "")
    >>> [type(one).__name__ for one in apart([load, load], {id(load): syntax.Register("%p", "pred")})]
    ['Label', 'Instruction', 'Instruction']
    """
    made: list[syntax.Statement] = []
    for before, statement in zip((None, *body), body):
        if id(statement) in guards and id(before) not in guards:
            made.append(syntax.Label("", statement.line))
        made.append(statement)
    return made


def _behind(lines, gate, kept=frozenset()):
    """The loads of a gate's basic block, as ptxas has it, that come behind it, and what comes along, the last one first.
    kept: ids of what does not."""
    alone: dict[str, bool] = {}                          # register that is read behind it alone -> whether it is computed
    along: dict[int, bool] = {}                          # where what comes along is -> whether something is computed there
    behind: list[syntax.Instruction] = []
    changed: set[str] = set()                            # between a statement and the gate
    stay: set[str] = set()                               # names of what is between the block's start and the gate, and stays
    skipped = gate.at                                    # where the branch is that a statement is behind, up to its label
    then: tuple[int, object] = (gate.at, None)           # where the next one behind it is, and its guard
    for at in range(gate.at - 1, -1, -1):
        statement = lines.body[at]
        if at > skipped and statement.opcode in ("", "bra"):
            continue
        if isinstance(statement, syntax.Label):
            skipped = lines.predicated(at, then)
            if skipped < 0:
                break
            then = skipped, lines.body[skipped].guard
            continue
        if at == skipped:
            skipped = gate.at
            continue
        if keeps_ahead(statement):
            break
        if at > skipped:
            changed.update(statement.writes)
            stay.add(statement.name)
            continue
        if branched_around(statement) and (gate.guard is None or statement.guard != gate.guard):
            break
        alone |= {name: any(along.get(reader, False) for reader in readers) for name in statement.writes
                  if (readers := lines.reads[name]) and gate.holds(one for one in readers if one not in along)}
        if id(statement) not in kept and _goes_along(statement, alone, lines.reads, changed):
            behind.append(statement)
            along[at] = statement.opcode != "ld" and (
                not _is_free(statement) or any(alone.get(name, False) for name in statement.writes))
        else:
            changed.update(statement.writes)
            stay.add(statement.name)
    if more := _kept(lines, gate, behind):
        return _behind(lines, gate, kept | more)
    return behind if all(_PACKED.isdisjoint({one.name} & stay) for one in behind) else []


def _kept(lines, gate, behind):
    """The ids of those of some statements that stay because others do: loads that count for a load which is neither among
    them nor inside the gate, and what is not computed of a load."""
    ids, loaded, found = set(map(id, behind)), set[str](), set[int]()
    for one in reversed(behind):
        if one.opcode == "ld":
            goes = gate.holds([at for at in lines.holding[id(one)] if id(lines.body[at]) not in ids])
        else:
            goes = loaded.issuperset(one.reads)
        if goes:
            loaded.update(one.writes)
        else:
            found.add(id(one))
    return found


def _goes_along(statement, alone, reads, changed):
    """Whether a statement comes behind the gate. alone: {register that is read there alone, or by what goes along: whether
    something is computed from it}; reads: where registers are read; changed: those that have another value at the gate."""
    needed, made = [*statement.reads], {*statement.writes}
    if statement.guard is not None or changed.intersection((*needed, *made)) or any(reads[name] for name in made - {*alone}):
        return False
    if statement.opcode == "ld":
        return (STRONG.isdisjoint(statement.modifiers) and is_shared_load(statement) and not made.isdisjoint(alone)
                and not _widens(statement))
    if made.isdisjoint(alone) or len(needed) != 1:
        return False
    return _is_free(statement) or _has_one_operand(statement) and not any(alone.get(name) for name in made)


def _widens(load):
    """Whether a load makes 64 bits of a smaller number: its other half is computed where the load stands."""
    return BITS[load.modifiers[-1]] < 64 and getattr(load.operands[0], "type", "") in ("b64", "u64", "s64")


def _is_free(statement):
    """Whether it is a copy, changes the sign of a register of floats, or makes another type of a number, but for integers
    that become 64 bits wide."""
    if statement.opcode in ("neg", "abs"):
        return getattr(statement.operands[1], "type", "") == "f32"
    if statement.opcode != "cvt":
        return statement.opcode == "mov"
    *_, to, of = statement.modifiers
    wider = to in ("u64", "s64") and of not in ("u64", "s64") and of[0] != "f"
    return not wider and {"sat", "tf32"}.isdisjoint(statement.modifiers) and len(statement.operands) == 2


def _has_one_operand(statement):
    """Whether it is one of _COMPUTED, of a register and at most a constant."""
    first, *constants = statement.operands[1:]
    if statement.opcode not in ("shl", "shr") and constants and not isinstance(first, syntax.Register):
        first, constants = constants[0], [first]
    known = statement.modifiers[-1] in _COMPUTED.get(statement.opcode, ()) and {"cc", "wide"}.isdisjoint(statement.modifiers)
    return known and all(map(_is_constant, constants))


def _is_constant(operand):
    """Whether it is a number that an instruction holds, which 0 is not: that is a register of its own."""
    return bool(operand.value if isinstance(operand, syntax.Integer) else getattr(operand, "bits", 0))
