"""Kernels that read device memory which nobody has written since it was allocated: on a GPU any bytes may lie there.

It is told where it is sure: nothing was copied there or set, no launch before may have stored there, and this kernel only
loads from it, or adds to what is there.
"""

from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.kinds import Hazard, Place, located
from simlayout.machine.ptx.entry import Entry
from simlayout.machine.ptx.passes.statements import instructions

_LOADS = {"ld", "ldu"}
_UNKNOWN = {"call", "cp", "brx"}
"""Opcodes of what may store anywhere."""
_SETS = {"exch", "cas"}
"""Atomics that may be the first to write."""

ADVICE = "copy to it, or fill it, first: on a GPU anything may lie there"


def unset(entry: Entry, trace: Trace, pointers: set[int], fresh: dict[int, str]) -> tuple[Hazard, ...]:
    """The Hazards of a launch that has ended. pointers: the numbers of the parameters that point to memory of the device;
    fresh: {those of such memory: which argument it is, as " of argument 1 (a)"}."""
    accesses = [(one, numbers & pointers) for one, numbers in entry.accesses] if fresh else []
    stored = {number for one, numbers in accesses if not _reads(one) for number in numbers or fresh}
    lines = {one.line: numbers for one, numbers in accesses if _reads(one) and len(numbers) == 1 and not numbers & stored}
    found: dict[tuple, Hazard] = {}
    for count in trace.sectors if lines else ():
        for number in lines.get(count.ptx_line, set()) & fresh.keys():
            place = Place(count.file, count.line, count.instruction, (0, 0, 0), 0, ())
            text = (f"{place.instruction} ({located(place.file, place.line)}) reads device memory{fresh[number]}, which "
                    f"nothing has written: {ADVICE}")
            found.setdefault((place.file, place.line, number), Hazard("unwritten read", text, None, place))
    return tuple(found.values())


def written(entry: Entry) -> set[int] | None:
    """The numbers of the parameters to whose memory a kernel may store; None: that is not plain."""
    stores = [numbers for one, numbers in entry.accesses if one.opcode not in _LOADS]
    plain = all(stores) and _UNKNOWN.isdisjoint(one.opcode for one in instructions(entry.function.body))
    return set().union(*stores) if plain else None


def _reads(one):
    """Whether an access takes what lies there: a load, or an atomic that adds to it."""
    return one.opcode in _LOADS or one.opcode != "st" and _SETS.isdisjoint(one.modifiers)
