"""Loads of shared memory that a thread surely has done when it comes to another one, with nothing in between that may change
shared memory, or order it: ptxas joins the two where the first one is, across branches and into loops.

    x = s[t]; if (x > limit) y = s[t + 1];                 // one load of 8 bytes, ahead of the branch

Seen in the SASS of ptxas 13.0: the load behind may be in a branch, in both arms of one, where their ways meet again, in a
loop, or behind `if (...) return`; how much is in between does not matter. But a loop that comes between the two, whatever it
does, keeps them apart, unless nothing ahead of the first may change shared memory, or order it. Numbers of 16 bits are
joined in a basic block alone. Where an arm of an earlier branch loads something of the same 16 bytes, ptxas may join less
than is said here.
"""

from collections.abc import Callable, Hashable, Mapping

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import defined
from simlayout.machine.ptx.passes.flow import Flow

_Kind = tuple[Hashable, str]
Ahead = dict[int, frozenset[int]]
"""{id of a load: those of the loads of its kind that are ahead of it}."""


def loads_ahead(flow: Flow, kinds: Mapping[int, _Kind], apart: Callable[[syntax.Instruction], bool]) -> Ahead:
    """The loads ahead of each. kinds: {id of a load: (what loads have in common that may be joined, the register that their
    addresses hang on)}; apart: whether a statement keeps loads apart.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<4>; .reg .pred %p; "
    >>> text += "ld.shared.b32 %r1, [%r0]; @%p bra on; ld.shared.b32 %r2, [%r0+4]; on: ld.shared.b32 %r3, [%r0+8]; ret; }"
    >>> function = parse(text).functions["k"]
    >>> loads = [statement for statement in function.body if getattr(statement, "opcode", "") == "ld"]
    >>> ahead = loads_ahead(Flow.of(function), {id(load): ("all", "%r0") for load in loads}, lambda statement: False)
    >>> [[loads.index(one) for one in loads if id(one) in ahead[id(load)]] for load in loads]
    [[], [0], [0]]
    """
    registers = {register for _, register in kinds.values()}
    events = {block: [*_events(part, kinds, registers, apart)] for block, part in flow.blocks.items()}
    found: Ahead = {}
    first = flow.first(apart)

    def through(block: int, done: set[int]) -> set[int]:
        done = done & first if block in flow.behind_loops else done
        for load, keeps_apart, changed in events[block]:
            if load:
                found[load] = frozenset(one for one in done if kinds[one] == kinds[load])
                done.add(load)
            done = {one for one in done if kinds[one][1] not in changed} if not keeps_apart else set()
        return done

    flow.settled(through)
    return found


def _events(part, kinds, registers, apart):
    """(the id of a load or 0, whether it keeps loads apart, registers that addresses hang on and that it writes) of what
    matters in a basic block."""
    for statement in part:
        load = id(statement) if id(statement) in kinds else 0
        event = load, apart(statement), registers.intersection(defined(statement))
        if any(event):
            yield event
