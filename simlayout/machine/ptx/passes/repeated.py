"""Loops of which ptxas writes several rounds in one: where only the launch tells their number, four, which are executed as
long as four are left, two behind them, and one; of a plain number that is too large to write them all, as many as fit
(`sizes`), behind those that are left over.

Seen in the SASS of ptxas 13.0 and 13.5, of loops that `counted` finds, with steps of a number and one way out. A round comes
ahead of all where a loop with branches in it is turned round, and where numbers without a sign are compared: these are
looked at first. Where the comparison is `ne`, one round is repeated at the end, else the last one is the only one; by
what the registers become there ptxas takes them for less aligned. How large such a loop may be depends on what it loads:
18, or 46 with loads of global memory, or 5 more for each load of shared memory, up to 96. One with branches in it has no
barrier. Where lanes do something together, as in shuffles, all have to leave the loop together, and the bound is a number or
a parameter as it stands. A loop of a plain number has no branch in it, and its first rounds begin at the array that a
register is set to ahead of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import becomes_branches, is_shared_load
from simlayout.machine.ptx.passes.copies import Copies, goes_to
from simlayout.machine.ptx.passes.counted import End, made_in
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.rounds import Rounds
from simlayout.machine.ptx.passes.sizes import several_rounds, size_in
from simlayout.machine.ptx.passes.statements import Statements

_MOST, _MOST_GLOBAL, _MOST_SHARED, _EACH = 18, 46, 96, 5
_BARRIERS = {"bar", "barrier"}
_TOGETHER = {*_BARRIERS, "shfl", "vote", "match", "redux", "activemask", "elect", "mma", "ldmatrix", "stmatrix"}
"""Opcodes by which lanes do something together."""
_DEEPEST = 20
_AGAINST = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq", "eq": "ne"}
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "ne": "ne", "eq": "eq"}


class _Way(NamedTuple):
    """How a counter goes on: while `counter compare bound`, by `step` in each round, a number. type: of the comparison."""

    counter: syntax.Register
    compare: str
    bound: syntax.Operand
    step: int
    type: str


class Repeated:
    """The rounds of a loop with an End. out: blocks that only lead away from it; mark: how names of new labels begin; own:
    the registers that become others in each round; live: those that something reads behind the loop; matter: whether
    accesses of shared memory in several rounds are so near that they may become one."""

    def __init__(self, flow: Flow, loop: list[int], out: list[int], end: End, mark: str, own: set[str], live: set[str]):
        self._flow, self._loop, self._out, self._end = flow, loop, out, end
        self._mark, self._own, self._live = mark, own, live
        self._every = [one for block in loop for one in flow.blocks[block]]
        branches = [one for one in self._every if one.opcode == "bra" and one.guard is not None]
        self._branches = any(one is not end.branch for one in branches)
        self.matter = False
        self._way = self._found()

    def _rounds(self, begins_here=False):
        return Rounds(self._flow, self._loop, begins_here)

    def _found(self):
        """The _Way of the counter; None where ptxas does not unroll the loop by it."""
        counter, flow, loop = self._end.counter, self._flow, self._loop
        leaves = [block for block in loop if not {*flow.after[block]} <= {*loop}]
        if leaves != [self._end.block] or any(one.opcode in syntax.ENDS for one in self._every):
            return None
        source, step = counter.source, self._step()
        if not step or not self._is_changed_once() or source.name not in flow.live[loop[0]]:
            return None
        compare, type = counter.test.modifiers
        if counter.test.operands[1] is counter.bound:
            compare = _SWAPPED[compare]
        if flow.after[self._end.block][0] not in loop:
            compare = _AGAINST[compare]
        known = compare in (("lt", "le", "ne") if step > 0 else ("gt", "ge", "ne"))
        return _Way(source, compare, counter.bound, step, type) if known else None

    def _step(self):
        """By how much the counter becomes more, None if that is no number."""
        opcode, operands = self._end.counter.step.opcode, self._end.counter.step.operands[1:]
        numbers = [self._rounds().number(one) for one in operands if one is not self._end.counter.source]
        if len(numbers) != 1 or numbers[0] is None or opcode == "sub" and operands[0] is not self._end.counter.source:
            return None
        bits = width_of(self._end.counter.step.modifiers[-1])
        number = (numbers[0] + (1 << bits - 1) & (1 << bits) - 1) - (1 << bits - 1)
        return number if opcode == "add" else -number

    def _is_changed_once(self):
        """Whether the counter is changed in the last basic block of a round, ahead of the comparison, which is of the new
        number."""
        counter, bottom, made = self._end.counter, self._flow.blocks[self._end.block], made_in(self._flow, self._loop)
        if not all(any(one is other for other in bottom) for one in made[counter.source.name]):
            return False
        more = {counter.source.name: 0}                  # register -> by how many steps it is more than the counter ahead
        for one in bottom:
            if one is counter.test:
                return more.get(counter.compared.name) == 1
            source = getattr(one.operands[-1], "name", "") if one.operands else ""
            new = (1 if one is counter.step and more.get(counter.source.name) == 0
                   else more.get(source) if one.opcode == "mov" and one.guard is None else None)
            for name in one.writes:
                more[name] = new
        return False

    def fits(self, alike: Callable[[syntax.Instruction], bool]) -> bool:
        """Whether ptxas unrolls the loop. alike: whether all lanes take a branch alike."""
        size = size_in(self._every, self._end, self._live)
        shared = sum(map(is_shared_load, self._every))
        global_loads = any(one.opcode == "ld" and "global" in one.spaces for one in self._every)
        most = max(_MOST_GLOBAL if global_loads else _MOST, min(_MOST + _EACH * shared, _MOST_SHARED))
        opcodes, branch = {one.opcode for one in self._every}, self._end.branch
        if self._way is None or size > most or self._branches and not opcodes.isdisjoint(_BARRIERS):
            return False
        return opcodes.isdisjoint(_TOGETHER) or self._is_given(self._way.bound) and alike(branch)

    def _is_given(self, operand):
        """Whether an operand is a number or a parameter of the kernel, as it stands."""
        made = None
        for _ in range(_DEEPEST):
            name = getattr(operand, "name", "")
            every = [self._flow.blocks[block][i] for block, at in self._flow.definitions.get(name, {}).items() for i in at]
            made = every[0] if len(every) == 1 and every[0].guard is None else None
            if made is None or made.opcode != "mov":
                break
            operand = made.operands[1]
        return isinstance(operand, syntax.Integer) or (
            made is not None and made.opcode == "ld" and "param" in made.spaces and self._flow.function.entry)

    def in_fours(self) -> Statements:
        """The statements of a number of rounds that only the launch tells."""
        way, test = self._way, self._end.branch
        made = self._copied("turned", 1) if self._end.turned and self._branches else []
        if way.type[0] in "ub":
            made += [*self._enough(1, "goes", True), *self._copied("first", 1), self._label("goes")]
        made += [*self._enough(4, "left", False), *self._copied("four", 4), *self._enough(4, "four", True)]
        made += [self._label("left"), *self._enough(2, "one", False), *self._copied("two", 2)]
        if way.compare == "ne":
            made += [*self._copied("one", 1), goes_to(test, f"{self._mark}.one")]
        else:
            made += self._copied("one", 1, False, None if self._branches else self._live)
        return _not_again(made)

    @cached_property
    def number(self) -> int | None:
        """How many rounds the loop has; None if that is not known."""
        rounds = self._rounds(True)
        return None if self._way is None else _number_of_rounds(
            self._way, rounds.ahead(self._way.counter), rounds.number(self._way.bound))

    def several(self) -> Statements | None:
        """The statements of a plain number of rounds that are too many to write them all; None if ptxas repeats them one by
        one, or that number is not known."""
        if self._way is None:
            return None
        parts = (0, 1) if self._branches and self._end.turned else self._parts()
        if parts is None:
            return None
        ahead, many = parts
        made = self._copied("turned", 1) if self._branches else []
        made += self._copied("first", ahead, True, begins_here=not made) if ahead else []
        made += [*self._copied("several", many), goes_to(self._end.branch, f"{self._mark}.several")]
        return _not_again(made)

    def _parts(self):
        """(rounds ahead, rounds in one behind them) of a plain number of them; None if ptxas repeats them one by one."""
        straight = all(one.opcode == "bra" or not becomes_branches(one, True) for one in self._every)
        if self._branches or not straight or self.number is None:
            return None
        return several_rounds(size_in(self._every, self._end, self._live), self.number)

    def _label(self, name):
        return syntax.Label(f"{self._mark}.{name}", self._end.branch.line)

    def _copied(self, name, many, goes_on=None, used=None, begins_here=False):
        """Statements of rounds under a label. goes_on: whether the loop does behind them, None for either; used: what is
        read behind them."""
        flow, test, rounds, label = self._flow, self._end.branch, self._rounds(begins_here), f"{self._mark}.{name}"
        stays = flow.after[self._end.block][0] in self._loop
        begin = rounds.begin if begins_here else lambda register: register
        copies = Copies(flow, [*self._loop, *self._out], rounds, label, f"{self._mark}.end", self._own,
                        flow.live[self._loop[0]] | self._live if used is None else used, begin)
        for number in range(many):
            on = True if number < many - 1 else goes_on
            copies.round(number, test, None if on is None else on == stays)
        self.matter |= rounds.matter
        return [self._label(name), *copies.written(), syntax.Label(copies.label(many - 1, self._loop[0]), test.line)]

    def _enough(self, many, name, holds) -> Iterator[syntax.Instruction]:
        """Statements that branch to a label if so many rounds are left, or else if they are not."""
        counter, compare, bound, step, type = self._way
        compare = compare if compare != "ne" else "lt" if step > 0 else "gt"
        bits, test, step_like = width_of(type), self._end.branch, self._end.counter.step
        left, is_more, enough = (syntax.Register(f"{self._mark}.{what}", kind)
                                 for what, kind in (("left", f"b{bits}"), ("more", "pred"), ("enough", "pred")))

        def made(opcode, modifiers, *operands):
            return replace(step_like, opcode=opcode, modifiers=modifiers, operands=operands)

        yield made("sub", (f"s{bits}",), left, *((bound, counter) if step > 0 else (counter, bound)))
        yield made("setp", ("gt" if compare in ("lt", "gt") else "ge", f"u{bits}"), is_more, left,
                   syntax.Integer((many - 1) * abs(step)))
        yield made("setp", (compare, "and", f"{'u' if type[0] in 'ub' else 's'}{bits}"), enough, counter, bound, is_more)
        yield goes_to(test, f"{self._mark}.{name}", enough if holds else syntax.Negated(enough))


def _not_again(made):
    """Statements of loops that are not unrolled again."""
    return [replace(one, nounroll=True) if isinstance(one, syntax.Instruction) else one for one in made]


def _number_of_rounds(way, begin, bound):
    """How many rounds a loop with a way has that ends at its bottom; None if that is not known, or its counter runs over."""
    if begin is None or bound is None:
        return None
    bits = width_of(way.type)
    least = 0 if way.type[0] in "ub" and way.compare != "ne" else -1 << bits - 1
    begin, bound = ((number - least) % (1 << bits) + least for number in (begin, bound))
    left, step = (bound - begin, way.step) if way.step > 0 else (begin - bound, -way.step)
    if way.compare == "ne":
        return left // step if left > 0 and left % step == 0 else None
    number = max(1, -(-(left + (way.compare in ("le", "ge"))) // step))
    return number if least <= begin + number * way.step < least + (1 << bits) else None
