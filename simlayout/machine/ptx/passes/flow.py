"""The basic blocks of a function's statements, where each may lead, and where the lanes of a warp may have parted.

Of lanes that have parted, those run that are furthest back in the order of blocks: a topological order in which every loop
is one piece (a weak topological order: Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993). So lanes
that leave a loop, or an arm of an `if`, wait for the others where their ways meet, and lanes at the same place go on
together.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_
from typing import Protocol, TypeVar

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import places


class _Joined(Protocol):
    """What is known on two ways, with `&`."""

    def __and__(self, other, /): ...


_Known = TypeVar("_Known", bound=_Joined)


@dataclass(frozen=True)
class Flow:
    """Basic blocks of a function that can be reached, by number. blocks: their statements; before, after: those that lead to
    each, and to which it leads; order: each comes before those that it leads to, but for the heads of loops around it;
    loops: as of `in_order`."""

    function: syntax.Function
    blocks: dict[int, tuple[syntax.Instruction, ...]]
    before: dict[int, list[int]]
    after: dict[int, list[int]]
    order: list[int]
    loops: list[list[int]]

    @classmethod
    def of(cls, function: syntax.Function) -> "Flow":
        """That of a function with a body.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .pred %p; bar.sync 0; "
        >>> text += "again: bar.sync 1; @%p bra again; ret; }"
        >>> flow = Flow.of(parse(text).functions["k"])
        >>> [len(flow.blocks[block]) for block in flow.order], flow.before[flow.order[1]], flow.heads
        ([1, 2, 1], [0, 1], {1})
        """
        parts, labels = _parts(function.body or ())
        after = {block: [*_after(block, part, labels, function, len(parts))] for block, part in enumerate(parts)}
        order, loops = in_order(after, 0)
        before: dict[int, list[int]] = {block: [] for block in order}
        for block in order:
            for to in after[block]:
                before[to].append(block)
        blocks = {block: tuple(parts[block]) for block in order}
        return cls(function, blocks, before, {block: after[block] for block in order}, order, loops)

    @cached_property
    def heads(self) -> set[int]:
        """The first block of each loop."""
        return {loop[0] for loop in self.loops}

    @cached_property
    def around(self) -> dict[int, list[list[int]]]:
        """{the first block of a loop: the loops around that, outer ones first}."""
        found: dict[int, list[list[int]]] = {}
        for loop in self.loops:
            for block in self.heads.intersection(loop[1:]):
                found.setdefault(block, []).append(loop)
        return found

    @cached_property
    def at(self) -> dict[int, int]:
        """{id of a statement: where it is in the body of the function}."""
        return {id(one): i for i, one in enumerate(self.function.body or ())}

    @cached_property
    def definitions(self) -> dict[str, dict[int, list[int]]]:
        """{register: {block: which of its statements define it}}."""
        found: dict[str, dict[int, list[int]]] = {}
        for block in self.order:
            for i, one in enumerate(self.blocks[block]):
                for name in {*one.writes}:
                    found.setdefault(name, {}).setdefault(block, []).append(i)
        return found

    @cached_property
    def times(self) -> Counter[str]:
        """How many statements of the function define a register, those among them that cannot be reached."""
        return Counter(name for one in self.function.body or () for name in one.writes)

    def settled(self, through: Callable[[int, _Known], _Known], nothing: _Known) -> bool:
        """Goes through the blocks until nothing changes any more; returns whether it comes to that. through: what is known
        behind a block, of its number and of what is known ahead of it, whichever way led there: by `&`, as of sets, or of
        numbers whose bits are one. nothing: the empty one."""
        behind: dict[int, _Known] = {}
        for _ in range(2 * len(self.order) + 2):
            before = dict(behind)
            for block in self.order:
                ahead = [behind[one] for one in self.before[block] if one in behind]
                behind[block] = through(block, reduce(and_, ahead) if ahead else nothing)
            if behind == before:
                return True
        return False

    @cached_property
    def live(self) -> dict[int, set[str]]:
        """{block: names of the registers that may be read in it, or behind it, as they are ahead of it}."""
        read, made = {}, {}
        for block in self.order:
            read[block], made[block] = set(), set()
            for one in self.blocks[block]:
                read[block].update(name for name in one.reads if name not in made[block])
                made[block].update(one.writes if one.guard is None else ())
        live, todo = dict(read), dict.fromkeys(self.order)
        while todo:
            block, _ = todo.popitem()
            now = read[block].union(*(live[to] for to in self.after[block])) - (made[block] - read[block])
            if now != live[block]:
                live[block] = now
                todo.update(dict.fromkeys(self.before[block]))
        return live

    def regions(self, uniform: Callable[[syntax.Instruction], bool]) -> Iterator[tuple[int, set[int]]]:
        """(block, the blocks between its branch and where the ways of that meet) of each branch that is not `uniform`: those
        that only some lanes of a warp may execute together. Lanes that leave the kernel part from no others.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .pred %p; @%p bra out; bar.sync 0; "
        >>> text += "@%p bra on; bar.sync 1; on: bar.sync 2; out: ret; }"
        >>> flow = Flow.of(parse(text).functions["k"])
        >>> [str(flow.blocks[at][0].operands[0].value) for _, inside in flow.regions(lambda one: False) for at in inside]
        ['1']
        """
        after, meets = self._meets
        for block, ways in after.items():
            last = self.blocks[block][-1] if self.blocks[block] else None
            if len(ways) > 1 and last is not None and (
                    last.opcode == "brx" or last.guard is not None and not uniform(last)):
                yield block, _reached(ways, after, meets[block])

    @cached_property
    def _meets(self):
        """({block: those it may lead to, but those that only end}, as `always_behind` of these ways)."""
        after = {block: [to for to in self.after[block] if not _only_ends(self.blocks[to])] for block in self.order}
        return after, _always_behind(after, self.order)

    @cached_property
    def behind_loops(self) -> set[int]:
        """The blocks to which a way out of a loop leads."""
        return {to for loop in map(set, self.loops) for block in loop for to in self.after[block] if to not in loop}

    def beside(self, block: int, register: str) -> list[int] | None:
        """The blocks of which ptxas looks for loads ahead of one in a block, if their addresses hang on a register; None for
        all. Of a loop those behind its head, if that has two ways and nothing in the loop writes the register."""
        loop = self._under_heads.get(block, [])
        return None if not loop or self.definitions.get(register, {}).keys() & {*loop} else loop[1:]

    @cached_property
    def _under_heads(self):
        """{block: the innermost loop of which it is no head, and whose head has two ways}."""
        return {block: loop for loop in sorted(self.loops, key=len, reverse=True) if len(self.after[loop[0]]) > 1
                for block in loop[1:]}

    def first(self, changes: Callable[[syntax.Instruction], bool]) -> set[int]:
        """The ids of the statements ahead of which none comes that `changes` something, whatever way leads there."""
        todo = [to for block in self.order if any(map(changes, self.blocks[block])) for to in self.after[block]]
        behind = _reached(todo, self.after)
        found = set()
        for block in set(self.order) - behind:
            for statement in self.blocks[block]:
                found.add(id(statement))
                if changes(statement):
                    break
        return found

    def ahead(self, changes: Callable[[syntax.Instruction], bool]) -> dict[int, int]:
        """{block: how many statements that `changes` something stand ahead of it, in order}. ptxas knows of memory what it
        has read since the last one, also where that is in the other arm of a branch, from which no way leads there."""
        found, many = {}, 0
        for block in self.order:
            found[block] = many
            many += sum(map(changes, self.blocks[block]))
        return found

    @cached_property
    def always_behind(self) -> dict[int, int]:
        """{block: those that every way from it to an end leads to, as bits of a number}."""
        return _always_behind(self.after, self.order)


def without_marks(function: syntax.Function) -> syntax.Function:
    """The function without labels that only mark a place: nothing branches to them. Compilers put them where a debugger's
    tables point to, as Triton does around each function that it inlines ($L__tmp7). No basic block begins there: ptxas joins
    a load above one with a load below, and moves what it likes past it.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { $mark: bra $on; $on: ret; }"
    >>> function = parse(text).functions["k"]
    >>> [statement.opcode or statement.name for statement in without_marks(function).body]
    ['bra', '$on', 'ret']
    """
    body = function.body or ()
    labels = {statement.name for statement in body if isinstance(statement, syntax.Label)}
    if not labels:
        return function
    named = {name for statement in body for name in statement.symbols}
    for table in function.tables.values():
        named.update(table if isinstance(table, tuple) else ())
    if labels <= named:
        return function
    return replace(function, body=tuple(one for one in body if not isinstance(one, syntax.Label) or one.name in named))


def _parts(body):
    """([the statements of each block], {label: the number of its block})."""
    parts, labels = [[]], {}
    for statement in body:
        if isinstance(statement, syntax.Label):
            if parts[-1]:
                parts.append([])
            labels[statement.name] = len(parts) - 1
            continue
        parts[-1].append(statement)
        if statement.opcode in syntax.BRANCHES or not statement.falls:
            parts.append([])
    return parts, labels


def leads_back(function: syntax.Function) -> bool:
    """Whether a branch of a function leads to a label above it, and all lead to labels: whether its Flow may have a loop.
    What names no label is refused when the function is lowered.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .pred %p; again: @%p bra again; ret; }"
    >>> leads_back(parse(text).functions["k"]), leads_back(parse(text.replace("bra again", "bra %p")).functions["k"])
    (True, False)
    """
    body = function.body or ()
    at = places(body)
    leads = [(i, name) for i, one in enumerate(body) for name in _named(one, function)]
    return all(name in at for _, name in leads) and any(at[name] < i for i, name in leads)


def _named(one, function):
    """The names of the labels to which a statement branches; a branch without any has one that is empty."""
    if one.opcode == "bra":
        return [getattr(operand, "name", "") for operand in one.operands[:1]] or [""]
    if one.opcode == "brx":
        tables = [function.tables.get(getattr(operand, "name", "")) for operand in one.operands[1:2]]
        return [label for table in tables if isinstance(table, tuple) for label in table]
    return []


def _after(block, part, labels, function, count):
    """The blocks that one may lead to."""
    last = part[-1] if part else None
    if last is not None:
        yield from {labels[name] for name in _named(last, function)}
    if (last is None or last.falls) and block + 1 < count:
        yield block + 1


def _reached(todo, after, meets=0):
    """The blocks that ways from some lead to before they come to one of `meets`, bits of a number."""
    todo, found = [*todo], set()
    while todo:
        one = todo.pop()
        if one not in found and not meets >> one & 1:
            found.add(one)
            todo += after[one]
    return found


def _only_ends(part):
    return bool(part) and part[0].opcode in syntax.LEAVES and part[0].guard is None


def _always_behind(after, order):
    """{block: those other ones that every way from it to the end leads to (post-dominators), as bits of a number}."""
    every = sum(1 << block for block in order)
    behind = {block: every if ways else 1 << block for block, ways in after.items()}
    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            if after[block]:
                now = reduce(and_, [behind[to] for to in after[block]]) | 1 << block
                changed |= now != behind[block]
                behind[block] = now
    return {block: those & ~(1 << block) for block, those in behind.items()}


def in_order(successors: Mapping[int, Sequence[int]], entry: int) -> tuple[list[int], list[list[int]]]:
    """(the blocks that can be reached from `entry`, in order; those of each loop, its head first, outer loops before inner
    ones). successors: block -> the blocks that may follow it.

    >>> in_order({0: [3, 1], 1: [2], 2: [1, 3], 3: []}, 0)               # 1 and 2 are a loop, which comes before 3
    ([0, 1, 2, 3], [[1, 2]])
    >>> in_order({0: [1], 1: [2, 4], 2: [2, 3], 3: [1], 4: []}, 0)[1]
    [[1, 2, 3], [2]]
    """
    order, loops, todo = [], [], _components(_reached([entry], successors), successors, [entry])
    while todo:
        head, *rest = todo.pop()
        if rest or head in successors[head]:
            loops.append((len(order), 1 + len(rest)))
        order.append(head)
        if rest:                                         # without the head, and the edges back to it
            todo += _components(set(rest), successors, successors[head])
    return order, [order[at:at + many] for at, many in loops]


def _components(blocks, successors, entered):
    """The strongly connected components of a set of blocks, each after those that follow from it; the first block of each is
    where a walk from those `entered` came in (Tarjan, without recursion)."""
    index, low, place, stack, found = {}, {}, {}, [], []             # place: of what is on the stack
    for root in (*entered, *sorted(blocks)):
        if root in index or root not in blocks:
            continue
        walk = [(root, None)]
        while walk:
            block, rest = walk.pop()
            if rest is None:
                index[block] = low[block] = len(index)
                place[block] = len(stack)
                stack.append(block)
                rest = iter([s for s in successors[block] if s in blocks])
            for successor in rest:
                if successor not in index:
                    walk += [(block, rest), (successor, None)]
                    break
                if successor in place:
                    low[block] = min(low[block], index[successor])
            else:
                if low[block] == index[block]:
                    found.append(stack[place[block]:])
                    del stack[place[block]:]
                    for one in found[-1]:
                        del place[one]
                if walk:
                    parent = walk[-1][0]
                    low[parent] = min(low[parent], low[block])
    return found
