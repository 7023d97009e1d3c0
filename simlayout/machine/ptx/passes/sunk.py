"""Moves of accumulators ahead of the wait for their wgmma, which come behind it.

PTX forbids them, but compilers that do not know wgmma write them: Triton takes accumulators of f16 apart right after
`wgmma.commit_group`, and nvcc reads those as integers there, whose inline asm says that it changes them. ptxas 13.0 and 13.5
put such moves behind WARPGROUP.DEPBAR, also where branches stand between, if nothing needs their results before. So the
kernel is right. So it is where nvcc moves accumulators to other registers between two wgmma of a chain, the second of which
adds to those: the product stays where it is, and the moves come behind the wait, unless others keep what it was before.
"""

from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.statements import AWAY, Statements, registers_in


def sunk(function: syntax.Function) -> tuple[Statements, set[int]]:
    """(the statements of a function with moves of accumulators between a wgmma and its wait behind that, ids of these).

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90a .address_size 64 .entry k() { .reg .b32 %d, %h; .reg .pred %p; .reg .b64 %q; "
    >>> text += "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%d, %d}, %q, %q, 1, 1, 1, 0, 0; mov.b32 %h, %d; "
    >>> text += "@%p bra L; bar.sync 0; L: wgmma.wait_group.sync.aligned 0; ret; }"
    >>> [one.opcode for one in sunk(parse(text).functions["k"])[0]]
    ['wgmma', 'bra', 'bar', '', 'wgmma', 'mov', 'ret']
    """
    body = function.body or ()
    if not any(statement.opcode == "wgmma" for statement in body):
        return body, set()
    flow = Flow.of(function)
    block, made, moved, left = _Block(), [], set(), []
    for statement in body:
        statement = block.renamed(statement, flow)
        if statement.opcode in AWAY:
            made += [*block.held, statement]
            left += block.held
            block = _Block()
        elif _waits(statement):
            made += [statement, *block.held]
            moved |= set(map(id, block.held))
            block = _Block()
        elif not block.holds(statement):
            made += [*block.let_go(statement), statement]
    made += block.held
    if left:
        made, behind = _behind_branches(replace(function, body=tuple(made)), left)
        moved |= behind
    return made, moved


def _waits(statement):
    """Whether it is a wait, behind which moves come."""
    return statement.name.startswith("wgmma.wait_group")


class _Block:
    """A basic block from its last wait on. in_flight: names of accumulators; vectors: {their names, in order: the operand};
    held: moves that come behind the next wait; touched: names of the registers of these; goes_on: the wgmma that adds to
    what some of them move."""

    def __init__(self):
        self.in_flight, self.vectors, self.held, self.touched, self.goes_on = set(), {}, [], set(), None

    def renamed(self, statement, flow):
        """A statement; one like it that adds to accumulators of a wgmma in flight where it adds to what moves make of these,
        and nothing reads the registers themselves any more, nor other copies of them."""
        if not self.held or not statement.name.startswith("wgmma.mma_async"):
            return statement
        origins, (target, *rest) = {}, statement.operands
        for move in self.held:
            of, to = [*move.reads], [*move.writes]
            if len(of) == len(to) == 1:
                origins[to[0]] = origins.get(of[0], of[0])
        names = _names(target)
        moved = tuple(origins.get(name, name) for name in names)
        lost = {*moved} - {*names}
        if not lost or moved not in self.vectors or self.touched & {*registers_in(rest)}:
            return statement
        copies = {name for move in self.held for name in move.writes} - {*names}       # of what they were until now
        if _is_read(lost | copies, statement, flow):
            return statement
        self.goes_on = replace(statement, operands=(self.vectors[moved], *rest))
        return self.goes_on

    def holds(self, statement):
        """Whether a statement is such a move, which is kept then."""
        read, written = set(statement.reads), set(statement.writes)
        moves = statement.opcode == "mov" and statement.guard is None and not written & self.in_flight
        if moves and read & (self.in_flight | self.touched):
            self.held.append(statement)
            self.touched |= read | written
            return True
        if statement.name.startswith("wgmma.mma_async"):
            self.in_flight |= read
            self.vectors[_names(statement.operands[0])] = statement.operands[0]
        return False

    def let_go(self, statement):
        """The moves that a statement cannot come before, in their order."""
        if statement is self.goes_on or not self.touched & {*statement.reads, *statement.writes}:
            return []
        held, self.held, self.touched = self.held, [], set()
        return held


def _names(target):
    """Those of the registers of D, in order."""
    return tuple(registers_in((target,)))


def _is_read(names, statement, flow):
    """Whether one of some registers may be read behind a statement as it is there."""
    for block, inside in flow.blocks.items():
        at = next((i for i, one in enumerate(inside) if one is statement), None)
        if at is not None:
            for one in inside[at + 1:]:
                if names & {*one.reads}:
                    return True
                names = names - ({*one.writes} if one.guard is None else set())
            return any(names & flow.live[to] for to in flow.after[block])
    return False


def _behind_branches(function, moves):
    """(the statements of a function with those of some moves behind the next wait that can come there whichever way leads
    to it, ids of these). moves: each at the end of its basic block."""
    flow = Flow.of(function)
    while moves:
        behind, bad = _places(flow, moves)
        if not bad:
            break
        moves = [move for move in moves if id(move) not in bad]
    gone, made = set(map(id, moves)), []
    for statement in function.body if moves else ():
        if id(statement) not in gone:
            made += [statement, *(move for move in moves if id(move) in behind.get(id(statement), ()))]
    return made or function.body, gone


def _places(flow, moves):
    """({id of a wait: ids of the moves that come behind it}, ids of those that cannot: something on a way needs them, or
    there is a way to that wait which does not lead through them)."""
    every, names = frozenset(map(id, moves)), {id(move): {*move.reads, *move.writes} for move in moves}
    sure, free, behind, bad = {}, {}, {}, set()

    def surely_held(block, held):
        sure[block] = held
        for one in flow.blocks[block]:
            held = frozenset() if _waits(one) else held | every & {id(one)}
        return held

    def surely_not_held(block, others):
        free[block] = others
        for one in flow.blocks[block]:
            others = every if _waits(one) else others - {id(one)}
        return others

    if not (flow.settled(surely_held, frozenset()) and flow.settled(surely_not_held, every)):
        return {}, every
    for block in flow.order:
        held, perhaps = sure[block], every - free[block]
        for one in flow.blocks[block]:
            if _waits(one):
                behind[id(one)], bad = held, bad | perhaps - held
                held = perhaps = frozenset()
            elif id(one) in every:
                bad |= perhaps & {id(one)}
                held, perhaps = held | {id(one)}, perhaps | {id(one)}
            elif perhaps:
                touched = {*one.reads, *one.writes}
                bad |= perhaps if one.opcode == "call" else {move for move in perhaps if touched & names[move]}
    return behind, bad
