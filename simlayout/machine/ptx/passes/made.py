"""What ptxas makes of a function: the passes of this folder, in their order.

Of what `nvcc -G` translates (`.target sm_90, debug`) ptxas 13.0 leaves out loads whose results nothing needs, and changes
nothing else.
"""

from collections import ChainMap
from dataclasses import dataclass, field, replace

from simlayout.machine.ptx.passes.chosen import chosen
from simlayout.machine.ptx.passes.contracted import contracted
from simlayout.machine.ptx.passes.gates import apart, put_off
from simlayout.machine.ptx.passes.joined import Joined, joined
from simlayout.machine.ptx.passes.lines import Guard
from simlayout.machine.ptx.passes.map_fields import Access, map_fields
from simlayout.machine.ptx.passes.predicated import once
from simlayout.machine.ptx.passes.redundant import redundant_accesses, stored_again
from simlayout.machine.ptx.passes.statements import Statements
from simlayout.machine.ptx.passes.sunk import sunk
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
        return Made(*sunk(function), unread=unread, fields=fields)
    unread = unread_loads(function.body, names.known)
    loads = redundant_accesses(function, names.known, names.alike, unread)
    redundant, gone = loads.gone, unread | loads.gone.keys()
    wholes = joined(function.body, names, unread, loads)
    holders = ChainMap(wholes.within, redundant)
    placed, guards = put_off(function, holders, names.known) if function.entry else (function.body, {})
    if list(placed) != list(function.body):
        wholes = joined(apart(placed, guards), names, unread, loads)
    stay = gone.union(guards, *redundant.values())
    placed, equal = once(replace(function, body=tuple(placed)), names.known, wholes.counts, gone.union(guards))
    counts = wholes.counts | dict.fromkeys((*stored_again(function.body, names.known, wholes.counts), *equal), ())
    placed, under = chosen(replace(function, body=tuple(placed)), names.known, wholes, stay)
    body, late = sunk(replace(function, body=tuple(contracted(placed, function.entry, unread))))
    return Made(body, late, guards | under, unread, counts, map_fields(function.body))
