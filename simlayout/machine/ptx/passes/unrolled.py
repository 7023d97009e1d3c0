"""Loops that ptxas unrolls: of those with a plain number of rounds, the rounds are written one after another.

So loads and stores of several rounds stand in one basic block, and what is known of straight code holds for them: they are
joined, and left out. Seen in the SASS of ptxas 13.0: it unrolls a loop that a counter ends, of 32 or 64 bits, compared with
a number, if no loop is left in it, and it is not too large (`sizes`): of a larger one of one basic block it makes a loop of
several rounds, behind those that are left over. One that is a single block must go back where the comparison holds (`@%p
bra LOOP`, not `@!%p`). All is executed as it is written, but for the branches, and products that are fused with sums of the
next round (`contracted`); a register that is as much larger in each round is told so (`rounds`).
"""

from collections import Counter
from dataclasses import replace
from functools import cached_property

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import becomes_branches, plain_access
from simlayout.machine.ptx.passes.alike import Alike
from simlayout.machine.ptx.passes.contracted import is_product, is_sum
from simlayout.machine.ptx.passes.copies import Copies, straight
from simlayout.machine.ptx.passes.counted import end_of, turns, ways_out
from simlayout.machine.ptx.passes.flow import Flow, leads_back
from simlayout.machine.ptx.passes.repeated import Repeated
from simlayout.machine.ptx.passes.rotated import heading, rotated
from simlayout.machine.ptx.passes.rounds import Rounds
from simlayout.machine.ptx.passes.sizes import most_rounds, size_in
from simlayout.machine.ptx.passes.statements import COMPUTES, Statements

_INSIDE = {"ld", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "mma", "shfl", "vote", "redux", "match",
           "activemask", "elect", "bar", "barrier", "nanosleep", "bra", *syntax.ENDS, *COMPUTES}
"""Opcodes of which loops are known to be unrolled: not fences and calls, of which there are some in quotients."""


def unrolled(function: syntax.Function) -> syntax.Function:
    """The function with the rounds of such loops of shared memory, where that matters; itself if it has none.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .pred %p; .reg .b32 %i, %a, %x; "
    >>> text += "mov.b32 %i, 0; L: shl.b32 %a, %i, 2; ld.shared.b32 %x, [%a]; add.s32 %i, %i, 1; "
    >>> text += "setp.lt.s32 %p, %i, 2; @%p bra L; ret; }"
    >>> [one.name for one in unrolled(parse(text).functions["k"]).body if one.opcode not in ("mov", "setp")]
    ['ld.shared.b32', 'ld.shared.b32', 'ret']
    """
    body = function.body or ()
    if not (leads_back(function) and _may_matter(body)):
        return function
    never = function.directives.get("pragma", ()).count("nounroll") > sum(one.nounroll for one in body)
    turning, (function, turned) = turns(Flow.of(function)), rotated(function)
    flow, tried = Flow.of(function), set[int]()
    while not never and (new := _next_body(_Loops(flow, turning, turned), tried)) is not None:
        flow = Flow.of(replace(function, body=new))
    return flow.function


def _next_body(loops, tried):
    """The statements of a function with one more of its _Loops unrolled; None if no other one is. tried: ids of the first
    statements of those that have been looked at."""
    flow = loops.flow
    for loop in flow.loops:
        first = id(flow.blocks[loop[0]][0])
        if first in tried or not flow.heads.isdisjoint(loop[1:]):
            continue
        tried.add(first)
        wider = any(map(loops.may_be_unrolled, flow.around.get(loop[0], ())))
        end = loops.end(loop) if wider or loops.matters(loop) else None
        made = _Unrolled(loops, loop, end).body(wider) if end is not None else None
        if made is not None:
            return made
    return None


def _may_matter(body):
    """Whether rounds of loops may be seen in counts or results."""
    return any(map(plain_access, body)) or any(map(is_product, body)) and any(map(is_sum, body))


class _Loops:
    """What is known of the loops of a Flow. turning, turned: as of `counted.end_of`."""

    def __init__(self, flow, turning, turned):
        self.flow, self._turning, self._turned = flow, turning, turned
        self._may: dict[int, bool] = {}                  # first block of a loop -> as `may_be_unrolled`

    def may_be_unrolled(self, loop):
        """Whether a loop around another one matters, and a counter ends it."""
        if loop[0] not in self._may:
            self._may[loop[0]] = self.matters(loop) and self.end(loop) is not None
        return self._may[loop[0]]

    def end(self, loop):
        """As `counted.end_of`."""
        return end_of(self.flow, loop, self._turning, self._turned)

    def matters(self, loop):
        """Whether rounds of a loop may be seen in counts or results: it accesses shared memory, or carries products."""
        return any(plain_access(one) for block in loop for one in self.flow.blocks[block]) or self.carries_products(loop)

    def carries_products(self, loop):
        """Whether a product may be fused with a sum of another round, or one ahead of a loop or in it with one behind it."""
        flow, inside = self.flow, {*loop}
        ways = {to for block in loop for to in flow.after[block]}
        behind = set().union(*(flow.live[to] for to in ways if to not in inside or loop[0] in (to, *flow.before[to])))
        met = self._moved(self._products & behind)
        return any(is_sum(one) and not met.isdisjoint(one.reads)
                   for block in {*loop, *ways} for one in flow.blocks[block])

    @cached_property
    def _products(self):
        """Names of registers that may hold a product."""
        return self._moved(name for block in self.flow.order for one in self.flow.blocks[block] if is_product(one)
                           for name in one.writes)

    @cached_property
    def _moves(self):
        """{register: those that it is moved to}."""
        found: dict[str, list[str]] = {}
        for one in (one for block in self.flow.order for one in self.flow.blocks[block] if one.opcode == "mov"):
            for name in one.reads:
                found.setdefault(name, []).extend(one.writes)
        return found

    def _moved(self, names):
        """Names of registers and of those that they are moved to."""
        found = {*names}
        todo = [*found]
        while todo:
            new = {*self._moves.get(todo.pop(), ())} - found
            found |= new
            todo += new
        return found


class _Unrolled:
    """A loop with an End."""

    def __init__(self, loops, loop, end):
        self._loops, self._flow, self._loop, self._end = loops, loops.flow, loop, end
        flow, self._function = loops.flow, loops.flow.function
        self._out = ways_out(flow, loop)
        self._every = [*loop, *self._out]
        first = flow.blocks[loop[0]][0]
        self._start = heading(self._function.body, flow.at[id(flow.blocks[min(self._every)][0])])
        self._heading = flow.at[id(first)]
        self._stop = flow.at[id(flow.blocks[max(self._every)][-1])] + 1
        self._mark, self._line = f"@{first.line}.{first.column}", first.line
        self._always = self._executed_always()
        ways = [to for block in self._every for to in flow.after[block] if to not in self._every]
        self._live = {one.name for one in self._function.returns}.union(*(flow.live[to] for to in ways))
        self._own = self._becoming() - (self._live if len(ways) > 1 else set())

    def body(self, wider: bool) -> Statements | None:
        """The statements of the function with the rounds; None if ptxas does not unroll it, or that does not matter. wider:
        whether it matters in any case."""
        flow, loop = self._flow, self._every
        every = [one for block in loop for one in flow.blocks[block]]
        entered = any(not {*flow.before[block]} <= {*loop} for block in loop[1:])
        if entered or max(loop) - min(loop) + 1 != len(loop) or not all(map(_is_known, every)):
            return None
        if any(one.opcode in ("bar", "barrier") and one.modifiers[:1] != ("warp",)
               for block in {*loop} - self._always for one in flow.blocks[block]):
            return None
        rounds, counter = Rounds(flow, loop), self._end.counter
        plain = rounds.number(counter.bound) is not None and any(
            rounds.ahead(one) is not None for one in (counter.compared, counter.source))
        return self._all_rounds(every, rounds, wider) if plain else self._in_fours()

    def _all_rounds(self, every, rounds, wider):
        """The statements with all rounds of a plain number of them."""
        copies = Copies(self._flow, self._every, rounds, self._mark, f"{self._mark}.end", self._own, self._live,
                        begin=rounds.begin)
        size, number, on = size_in(every, self._end, self._live), 0, True
        written = max(Counter((one.line, one.column) for one in every if one.opcode != "bra").values(), default=1)
        alive = len({*self._flow.live[self._loop[0]]} - {self._end.counter.source.name})
        most = most_rounds(size // written, alive) // written
        if (self._repeated.number or 0) > most:
            return self._several()
        while on and number < most:
            on, number = copies.round(number, self._end.branch), number + 1
        if on:
            return self._several()
        return self._with(copies.written()) if on is False and (wider or self._matter(rounds)) else None

    def _matter(self, rounds):
        """Whether rounds that are written may be seen in counts or results."""
        return rounds.matter or self._loops.carries_products(self._loop)

    @cached_property
    def _repeated(self):
        return Repeated(self._flow, self._loop, self._out, self._end, self._mark, self._own, self._live)

    def _several(self):
        """The statements with several rounds in one, of a plain number that is too large."""
        made = self._repeated.several()
        return self._with(made) if made is not None and self._matter(self._repeated) else None

    def _in_fours(self):
        """The statements with rounds of which only the launch tells the number."""
        repeated, found = self._repeated, Alike(self._function)

        def alike(branch):
            return found(branch, branch.guard)

        if not repeated.fits(alike):
            return None
        made = repeated.in_fours()
        return self._with(made) if self._matter(repeated) or not alike(self._end.branch) else None

    def _executed_always(self):
        """The blocks that are executed in each round."""
        head, flow = self._loop[0], self._flow
        found = set()
        for block in self._every:
            reached, todo = {head, block}, [head] if head != block else []
            while todo:
                new = [to for to in flow.after[todo.pop()] if to in self._every and to not in reached]
                reached.update(new)
                todo += new
            if block == head or not any(head in flow.after[one] for one in reached - {block}):
                found.add(block)
        return found

    def _becoming(self):
        """Names of the registers all of whose definitions are executed in each round."""
        sure, unsure = set(), set()
        for block in self._every:
            for one in self._flow.blocks[block]:
                (sure if block in self._always and one.guard is None else unsure).update(one.writes)
        return sure - unsure

    def _with(self, made):
        """The statements of the function with those of rounds."""
        body, before, behind = self._function.body, self._function.body[:self._start], self._function.body[self._stop:]
        named = {name for part in (before, behind) for one in part for name in one.symbols}
        labels = [one for one in body[heading(body, self._heading):self._heading] if one.name in named]
        end = [syntax.Label(f"{self._mark}.end", self._line)]
        while len(end) <= len(behind) and isinstance(behind[len(end) - 1], syntax.Label):
            end.append(behind[len(end) - 1])
        stay = {*end[1:], *(one for one in made if getattr(one, "name", "") == f"{self._mark}.first")}
        return *before, *labels, *straight([*made, *end], stay), *behind[len(end) - 1:]


def _is_known(statement):
    """Whether a loop with a statement is known to be unrolled."""
    return (statement.opcode in _INSIDE and "bulk" not in statement.modifiers and not statement.nounroll
            and not becomes_branches(statement, False))
