"""What ptxas makes of a function: the passes of this folder, in their order.

Of what `nvcc -G` translates (`.target sm_90, debug`) ptxas 13.0 leaves out loads whose results nothing needs, and changes
nothing else.
"""

from collections import ChainMap
from dataclasses import dataclass, field, replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.chosen import chosen
from simlayout.machine.ptx.passes.contracted import contracted
from simlayout.machine.ptx.passes.def_use import ENDS, Statements, defined, registers_read
from simlayout.machine.ptx.passes.gates import Guard, apart, put_off
from simlayout.machine.ptx.passes.joined import Joined, joined
from simlayout.machine.ptx.passes.map_fields import Access, map_fields
from simlayout.machine.ptx.passes.redundant import redundant_accesses, stored_again
from simlayout.machine.ptx.passes.unread import loads_read_by_nothing, unread_loads


@dataclass(frozen=True)
class Made:
    """body: the statements of a function as they are executed; late: ids of moves that come behind a wait (`sunk`);
    guards: {id of a load that has come under a guard: that guard}; unread: ids of loads whose results nothing needs; counts:
    {id of a load or store of shared memory: what it counts as, if not as itself}; fields: {id of a tensormap.replace of
    shared memory: what it counts as}."""

    body: Statements
    late: set[int]
    guards: dict[int, Guard] = field(default_factory=dict)
    unread: set[int] = field(default_factory=set)
    counts: dict[int, tuple[Joined, ...]] = field(default_factory=dict)
    fields: dict[int, list[Access]] = field(default_factory=dict)


def made(names) -> Made:
    """Of the function of some Names, whose instructions are whole."""
    function = names.function
    if not names.optimized:
        unread = loads_read_by_nothing(function, names.lowering.module.named)
        fields = {of: accesses for statement in function.body for of, accesses in map_fields([statement]).items()}
        return Made(*sunk(function.body), unread=unread, fields=fields)
    unread = unread_loads(function.body, names.known)
    redundant = redundant_accesses(function, names.known, names.alike, unread)
    gone = unread | redundant.keys()
    wholes = joined(function.body, names, unread, redundant)
    holders = ChainMap(wholes.within, redundant)
    placed, guards = put_off(function, holders, names.known) if function.entry else (function.body, {})
    if list(placed) != list(function.body):
        wholes = joined(apart(placed, guards), names, unread, redundant)
    counts = wholes.counts | dict.fromkeys(stored_again(function.body, names.known, wholes.counts), ())
    stay = gone.union(guards, *redundant.values())
    placed, under = chosen(replace(function, body=tuple(placed)), names.known, wholes, stay)
    body, late = sunk(contracted(placed, function.entry))
    return Made(body, late, guards | under, unread, counts, map_fields(function.body))


def sunk(body: Statements) -> tuple[Statements, set[int]]:
    """(the statements of a function with moves of accumulators between a wgmma and its wait behind that, ids of these).

    PTX forbids them, but Triton takes accumulators of f16 apart right after `wgmma.commit_group`. ptxas 13.5 puts such moves
    behind WARPGROUP.DEPBAR if nothing needs their results before, so the kernel is right.

    >>> d, h = syntax.Register("%d", "b32"), syntax.Register("%h", "b32")
    >>> text = [("wgmma", ("mma_async",), (d,)), ("mov", ("b32",), (h, d)), ("wgmma", ("wait_group",), ())]
    >>> body = [syntax.Instruction(*one, None, 1, 1, None, "") for one in text]
    >>> [statement.opcode for statement in sunk(body)[0]]
    ['wgmma', 'wgmma', 'mov']
    """
    if not any(isinstance(statement, syntax.Instruction) and statement.opcode == "wgmma" for statement in body):
        return body, set()
    block, made, moved = _Block(), [], set()
    for statement in body:
        if isinstance(statement, syntax.Label) or statement.opcode in ENDS:
            made += [*block.held, statement]
            block = _Block()
        elif statement.name.startswith("wgmma.wait_group"):
            made += [statement, *block.held]
            moved |= set(map(id, block.held))
            block = _Block()
        elif not block.holds(statement):
            made += [*block.let_go(statement), statement]
    return [*made, *block.held], moved


class _Block:
    """A basic block from its last wait on. in_flight: names of accumulators; held: moves that come behind the next wait;
    touched: names of the registers of these."""

    def __init__(self):
        self.in_flight, self.held, self.touched = set(), [], set()

    def holds(self, statement):
        """Whether a statement is such a move, which is kept then."""
        read, written = set(registers_read(statement)), set(defined(statement))
        moves = statement.opcode == "mov" and statement.guard is None and not written & self.in_flight
        if moves and read & (self.in_flight | self.touched):
            self.held.append(statement)
            self.touched |= read | written
            return True
        if statement.name.startswith("wgmma.mma_async"):
            self.in_flight |= read
        return False

    def let_go(self, statement):
        """The moves that a statement cannot come before, in their order."""
        if not self.touched & {*registers_read(statement), *defined(statement)}:
            return []
        held, self.held, self.touched = self.held, [], set()
        return held
