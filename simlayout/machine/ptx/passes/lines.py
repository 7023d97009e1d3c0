"""The statements of an entry as `gates` and `ends` look at them: who reads what, who leads where, and where lanes part."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import keeps_apart
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.sizes import size_in_words
from simlayout.machine.ptx.passes.statements import Statements, places, registers_in

Guard = syntax.Register | syntax.Negated

ATOMIC = {"atom", "red"}
_ORDERED = {"acquire", "release", "acq_rel"}
"""Of what orders other accesses, whatever memory it touches."""
_NEVER_PREDICATED = {*ATOMIC, *syntax.LEAVES, *syntax.BRANCHES, "call", "shfl"}
_MANY, _MANY_AT_LAST = 21, 9
"""Instructions around which a branch stays: of all arms together where they or something behind them loads global memory,
and of one where nothing does. By ptxas 13.0, of chains of 32-bit integers with a store."""


def keeps_ahead(statement: syntax.Statement) -> bool:
    """Whether no load that is ahead of an instruction comes behind it."""
    return keeps_apart(statement, False) or not _ORDERED.isdisjoint(statement.modifiers)


def branched_around(statement: syntax.Statement) -> bool:
    """Whether it is an atomic under a guard, of which ptxas makes a branch."""
    return statement.guard is not None and statement.opcode in ATOMIC


@dataclass(frozen=True)
class Gate:
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


class Lines:
    """Statements of an entry; who reads which register, and who leads to which label. tables: those of a `brx`, which lead
    to their labels from anywhere. within, known: as `put_off` has them; holding: {id of a load: where those are that it
    counts for}."""

    def __init__(self, body: Statements, tables: set[str], within: Mapping[int, set[int]], known: Known):
        self.body, self.known = body, known
        self.gone = set[int]()                           # the ids of those that the machine code has not
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

    @classmethod
    def of(cls, function: syntax.Function, within: Mapping[int, set[int]], known: Known) -> "Lines":
        """Those of a function."""
        tables = {name for table in function.tables.values() if isinstance(table, tuple) for name in table}
        return cls(function.body or (), tables, within, known)

    @cached_property
    def _places(self):
        """The indices of the labels, in their order."""
        return sorted(self.labels.values())

    def is_shifted(self, operand: syntax.Operand) -> bool:
        """Whether a shift to the left makes an operand."""
        return getattr(self.known.made(operand), "opcode", "") == "shl"

    def named(self, operand: Any) -> str:
        """The name of the variable that an operand is the address of, or that of the register that it is made of."""
        return getattr(self.known.place(syntax.Address(operand)).base, "name", "")

    @cached_property
    def in_registers(self) -> set[str]:
        """Names of the variables whose addresses are in a register of each lane, because a product or a difference wants
        it."""
        found = set()
        for one in self.body:
            if one.opcode not in ("mad", "sub", "add") or len(one.operands) < 3:
                continue
            first, *rest = one.operands[1:]
            if one.opcode == "add":
                more, other = sorted((first, *rest), key=self.known.uniform)
                part = self.known.made(more)
                wanted = [other] if part is not None and part.opcode == "mul" and len(self.reads[more.name]) == 1 else []
            else:
                wanted = [first if one.opcode == "sub" else rest[-1]]
            found.update(map(self.named, wanted))
        return found

    def gate(self, at: int) -> Gate | None:
        """The gate that a statement is, if it is one."""
        statement = self.body[at]
        if statement.guard is None:
            return None
        if statement.opcode == "bra":
            return self._of_branch(at, self._target(statement))
        if statement.opcode in syntax.LEAVES:
            return Gate(at, self.entered_at(at + 1, len(self.body)), ends=True)
        if statement.opcode in ATOMIC:
            return Gate(at, self._of_one_guard(at), statement.guard)
        return Gate(at, [at], statement.guard) if statement.opcode == "st" and self.ends(at + 1) else None

    def _of_one_guard(self, first):
        """The atomics from one on that ptxas branches around together, because they have one guard."""
        found, guard = [], self.body[first].guard
        for at, statement in enumerate(self.body[first:], first):
            if at > first and keeps_ahead(statement):
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
            return Gate(at, self.entered_at(at + 1, target), ends=True)
        if self.ends(at + 1) and self.jumps[self.body[target].name] == [at] and not self._falls(target - 1):
            return Gate(at, self.entered_at(target + 1, len(self.body)), ends=True)
        over = self._over(at + 1)
        first, end = (target + 1, over) if over > target else (at + 1, target)
        inside = self.entered_at(first, end)
        return Gate(at, inside) if inside.stop == end and self._stays(inside) else None

    def _over(self, at):
        """Where a branch leads that another one under a guard goes around, as in `@%p bra $in; bra $on; $in: ... $on:`, to
        which nothing else leads; -1 of all else."""
        before, branch, label = self.body[max(at - 1, 0)], self.body[at], self.body[min(at + 1, len(self.body) - 1)]
        if branch.opcode != "bra" or branch.guard is not None or not isinstance(label, syntax.Label):
            return -1
        alone = before.guard is not None and self.jumps[label.name] == [at - 1]
        return self._target(branch) if alone and before.opcode == "bra" else -1

    def _stays(self, *arms):
        """Whether ptxas leaves a branch around some statements a branch, or one to either of two arms."""
        inside = [[one for one in map(self.body.__getitem__, arm) if not isinstance(one, syntax.Label)
                   and id(one) not in self.gone] for arm in arms]
        if any(one.opcode in _NEVER_PREDICATED for arm in inside for one in arm):
            return True
        sizes = [sum(map(size_in_words, arm)) for arm in inside]
        if self._loads_global_from[min((arm[0] for arm in arms if arm), default=0)]:
            return sum(sizes) + len(arms) > _MANY        # with what leads from the first arm around the second
        return max(sizes) >= _MANY_AT_LAST

    @cached_property
    def _loads_global_from(self):
        """Of each statement whether something loads global memory from it on, ahead of atomics under a guard. Behind an end
        of lanes that does not take the branch away, but a load comes behind both."""
        found = [False]
        for one in reversed(self.body):
            found.append(not branched_around(one) and (found[-1] or getattr(one, "name", "").startswith("ld.global")))
        return found[::-1]

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
        arms = range(way + 1, over), range(over + 2, label)
        labels = any(isinstance(self.body[at], syntax.Label) for arm in arms for at in arm)
        return -1 if labels or way >= over or self._stays(*arms) else first

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
            for at in self._places[bisect_left(self._places, first):bisect_left(self._places, end)]:
                jumps = self.jumps[self.body[at].name]
                if jumps and (jumps[0] < first or jumps[-1] >= end):
                    end = at
                    break
        return range(first, end)
