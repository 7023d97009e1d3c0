"""Loops that a counter ends, and the branch that does it, as ptxas finds them."""

from collections.abc import Container, Sequence
from typing import NamedTuple

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.flow import Flow

_COMPARES = {"eq", "ne", "lt", "le", "gt", "ge"}


class Counter(NamedTuple):
    """What a comparison at the end of a loop is of. test: the setp; bound: what does not change in the loop; compared: the
    other operand; step: the statement that changes the counter; source: the register in it that is the counter ahead."""

    test: syntax.Instruction
    bound: syntax.Operand
    compared: syntax.Register
    step: syntax.Instruction
    source: syntax.Register


class End(NamedTuple):
    """The branch by which a plain counter ends a loop, and the block that it ends. turned: whether ptxas turns it round."""

    branch: syntax.Instruction
    block: int
    counter: Counter
    turned: bool


def turns(flow: Flow) -> bool:
    """Whether ptxas turns branches of loops round, so that they go back where the comparison holds: in a function that has a
    loop whose end is not at its bottom, or one of several blocks, none of them a loop, with a branch of its own back."""
    for loop in flow.loops:
        backs = [block for block in loop if loop[0] in flow.after[block]]
        goes = all(only_goes(flow.blocks[block]) for block in backs)
        ends = all({*flow.after[block]} <= {*loop} for block in backs)
        if ends and (len(loop) > 2 and flow.heads.isdisjoint(loop[1:]) if goes else len(loop) > 1):
            return True
    return False


def only_goes(part: Sequence[syntax.Statement]) -> bool:
    """Whether a basic block is a branch without a guard."""
    return len(part) == 1 and part[0].opcode == "bra" and part[0].guard is None


def ways_out(flow: Flow, loop: Sequence[int]) -> list[int]:
    """The blocks that only branch away from a loop, and that nothing else leads to."""
    return [to for block in loop for to in flow.after[block] if to not in loop and {*flow.before[to]} <= {*loop}
            and only_goes(flow.blocks[to])]


def leads_to_head(flow: Flow, loop: Sequence[int], block: int) -> bool:
    """Whether a block is the first one of a loop, or only leads to that."""
    return block == loop[0] or block in loop and only_goes(flow.blocks[block]) and flow.after[block] == loop[:1]


def end_of(flow: Flow, loop: list[int], turning: bool, turned: Container[int]) -> End | None:
    """How a plain counter ends a loop at its bottom; None if none does. turning: as of `turns`; turned: as of `rotated`."""
    made = made_in(flow, loop)
    for block in loop:
        part, ways = flow.blocks[block], flow.after[block]
        last = part[-1]
        leaves = len(ways) == 2 and (ways[0] in loop) != (ways[1] in loop)
        if last.opcode != "bra" or not isinstance(last.guard, syntax.Register) or not leaves:
            continue
        bottom = ways[0] not in loop and ways[1] != loop[0] and id(last) not in turned
        if bottom and not turning or not any(leads_to_head(flow, loop, to) for to in ways):
            continue
        tests = [one for one in part if last.guard.name in one.writes] or made.get(last.guard.name, [])
        if len(tests) == 1 or tests and tests[-1] in part:
            counter = _counter(tests[-1], made, part)
            if counter is not None:
                return End(last, block, counter, bottom)
    return None


def made_in(flow: Flow, loop: Sequence[int]) -> dict[str, list[syntax.Instruction]]:
    """{register: its definitions in a loop}."""
    made: dict[str, list[syntax.Instruction]] = {}
    for one in (one for block in loop for one in flow.blocks[block]):
        for name in one.writes:
            made.setdefault(name, []).append(one)
    return made


def _counter(test, made, part):
    """What a statement compares, if that is a counter with what does not change. made: {register: its definitions in the
    loop}; part: the basic block that ends the loop: if it changes the counter it must do so ahead."""
    compare, *more = test.modifiers
    plain = test.opcode == "setp" and len(test.operands) == 3 and compare in _COMPARES and test.guard is None
    if not plain or len(more) != 1 or more[0] not in ("s32", "u32", "b32", "s64", "u64", "b64"):
        return None
    changing = [one for one in test.operands[1:] if getattr(one, "name", "") in made]
    if len(changing) != 1:
        return None
    counter = _source(changing[0].name, made)
    steps = made.get(counter, ())
    if len(steps) != 1 or steps[0].opcode not in ("add", "sub") or steps[0].guard is not None:
        return None
    changed = [one for one in steps[0].operands[1:] if getattr(one, "name", "") in made]
    if [_source(one.name, made) for one in changed] != [counter]:
        return None
    at = [i for i, one in enumerate(part) if one is test or one is steps[0]]
    if len(at) == 2 and part[at[0]] is test:
        return None
    bound, = (one for one in test.operands[1:] if one is not changing[0])
    return Counter(test, bound, changing[0], steps[0], changed[0])


def _source(name, made):
    """The name of the register that one is a copy of."""
    while len(made.get(name, ())) == 1 and made[name][0].opcode == "mov" and made[name][0].guard is None:
        source = getattr(made[name][0].operands[-1], "name", "")
        if source not in made or source == name:
            break
        name = source
    return name
