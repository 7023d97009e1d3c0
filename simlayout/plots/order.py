"""Who does what with shared memory, and in which order: the turns of warps on the CPU machine, and what nothing orders."""

from collections.abc import Callable, Collection
from itertools import product
from typing import TYPE_CHECKING, Any

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.instructions import instruction
from simlayout.plots.panel import Box, Panel

if TYPE_CHECKING:
    from simlayout.machine import Event, Hazard

READS, WRITES = ("load", 0, "a warp reads"), ("store", 1, "a warp writes")
CHANGES = "atomic", 7, "a warp reads and changes"
KINDS = {"load": READS, "ldmatrix": READS, "store": WRITES, "stmatrix": WRITES, "reduction": CHANGES, "atomic": CHANGES,
         "copy": ("copy", 2, "cp.async: a warp begins to copy")}
"""Kind of instruction -> its word in a box, the colour, and what the legend says."""

WAIT = 5, "wait_group n: all but the newest n groups of this warp are there"
BARRIER = "within", "bar.sync: nobody goes on before all have come"
UNORDERED = "red frame and bar: nothing orders these two ({})"
TALL = 0.24                                 # inches: a warp


@typed()
def order(run: Callable[[], Any], part: int = 0, title: str = "", warps: Collection[int] = ()) -> Panel:
    """The Panel of what the warps of the first CTA of a run do with shared memory, one event in each column, in the order in
    which the CPU machine executes: a row for each warp, barriers across all of them. Two accesses that nothing orders have a
    mark, those of the first hazard.

    run: what runs a kernel on the machine and returns its Trace, with hazards="report" to be drawn to its end. part: bytes
    of the parts into which shared memory is divided: boxes then say which of them an access begins in; 0: they do not.
    warps: which are drawn, all if none are named.
    Raises SimlayoutError where no warp touches shared memory.

    >>> import numpy as np
    >>> import simlayout as sl
    >>> from simlayout.machine import run
    >>> class Store:
    ...     twin = staticmethod(lambda warp: warp.shared_store("st.shared.b32", 4 * warp.lane, np.zeros((32, 4), np.uint8)))
    >>> store = Store()
    >>> def kernel():
    ...     store()
    >>> panel = order(lambda: run(kernel, 1, 64, shared_bytes=128, hazards="report"))
    >>> [(box.x, box.y, box.text, box.marked) for box in panel.boxes], panel.marked
    ([(0.0, 0, 'store', False), (1.0, 1, 'store', False)], '')
    """
    from simlayout.machine import watching  # not above: the command line imports figures, and need not run it

    seen: list[Event] = []
    with watching(seen.append):
        trace = run()
    events = [e for e in seen if e.cta == seen[0].cta and e.kind in ("access", "wait_group", "barrier")
              and (e.warp is None or not warps or e.warp[1] in warps)]
    shown = sorted({e.warp[1] for e in events if e.warp is not None})
    if not shown:
        raise SimlayoutError("no such warp touches shared memory in this run: there is no order to draw")
    first = next((h for h in trace.hazards if h.first is not None and {h.first.warp, h.second.warp} <= {*shown}), None)
    unordered = _pair(events, first) if first else ()
    boxes, legend, x = [], {}, 0.0
    for number, event in enumerate(events):
        text, colour, said = _look(event, part)
        legend.setdefault(said, set()).add(colour)
        wide, y, high = (1, shown.index(event.warp[1]), 1) if event.warp is not None else (0.4, 0, len(shown))
        boxes.append(Box(x, y, wide, high, colour, text, number in unordered))
        x += wide
    return Panel(title, x, len(shown), boxes, rows=[(i + 0.5, f"warp {warp}") for i, warp in enumerate(shown)],
                 legend=[(tuple(colours), said) for said, colours in legend.items()],
                 marked=UNORDERED.format(first.kind) if first else "", xlabel="order on the CPU machine", low=TALL)


def _look(event, part):
    """(text, colour, words of the legend) of an Event."""
    if event.kind == "barrier":
        return "", *BARRIER
    if event.kind == "wait_group":
        return f"wait {event.instruction.split()[-1]}", *WAIT
    word, colour, said = KINDS[instruction(event.instruction).kind]
    return word + (f" {int(_begun(event)[0]) // part}" if part else ""), colour, said


def _begun(event):
    """The addresses of the lanes that take part."""
    return event.addresses if event.active is None else event.addresses[event.active]


def _pair(events: "list[Event]", hazard: "Hazard") -> tuple:
    """The numbers of the two events of a hazard: of those that may be meant, the two that are closest in time."""
    found = [[i for i, event in enumerate(events) if _is_at(event, place, hazard.bytes)] for place in
             (hazard.first, hazard.second)]
    pairs = [(abs(i - j), i, j) for i, j in product(*found) if i != j]
    return min(pairs)[1:] if pairs else ()


def _is_at(event, place, shared):
    """Whether an Event may be what happened at a Place, as far as warp, kind of instruction and bytes tell. (The place has
    ld.volatile.shared.u32 for what is counted as ld.shared.b32.)"""
    opcodes = {name.partition(".")[0] for name in (event.instruction, place.instruction)}
    if event.kind != "access" or event.warp != (place.cta, place.warp) or len(opcodes) > 1:
        return False
    size, begun = instruction(event.instruction).bytes, _begun(event)
    return any(((begun <= byte) & (byte < begun + size)).any() for byte in shared)
