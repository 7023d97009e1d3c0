"""Accesses of global memory that go to one place: the parts of a complex number, the fields of a record.

A compiler loads them one by one, and each alone touches more sectors than its bytes fill, although all of them together
waste nothing: the second finds its sectors in the first-level cache. So accesses of a basic block, with one base register
and one guard, are looked at together where a line is judged. What they ask for is counted one by one all the same.
"""

import numpy as np

from simlayout.machine.arithmetic.carriers import WIDTHS
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import AWAY

MOST = 16
"""Pieces of memory, none next to another, that are looked at together; more of them are seen one by one."""

_ENDS = {*AWAY, "bar", "barrier"}
"""Opcodes past which accesses are not seen together: the lanes are others, or much time may pass."""


def beside(body: tuple) -> dict[int, np.ndarray]:
    """{id of an Instruction: what it and the others of its place touch} of a function's statements, for those that are not
    alone there: int64 [n, 2], pieces as (bytes from this access's own address, bytes). Of the accesses that stand on one
    line the first has them; the others have none, [0, 2]."""
    found = {}
    for place in _places(body):
        pieces = _pieces(place)
        if len(place) < 2 or len(pieces) > MOST:
            continue
        lines = set()
        for offset, _, statement in place:
            first, line = pieces - [offset, 0], _line(statement)
            found[id(statement)] = first[:0] if line in lines else first
            lines.add(line)
    return found


def _places(body):
    """Lists of (offset, bytes, Instruction) that have one base while nothing changes it."""
    places: dict[tuple, list] = {}
    for statement in body:
        if statement.opcode in _ENDS:
            yield from places.values()
            places = {}
            continue
        access = _access(statement)
        if access is not None:
            key, offset, nbytes = access
            places.setdefault(key, []).append((offset, nbytes, statement))
        changed = {*statement.may_write}
        for key in [key for key in places if changed & {*key[1:]}]:
            yield places.pop(key)
    yield from places.values()


def _access(statement):
    """((opcode, base register, guard), offset, bytes) of a plain load or store of global memory; else None."""
    if statement.opcode not in ("ld", "st") or "global" not in statement.spaces or len(statement.operands) < 2:
        return None
    address = statement.operands[statement.opcode == "ld"]
    if not isinstance(address, syntax.Address) or not isinstance(address.base, syntax.Register):
        return None
    bits = WIDTHS.get(statement.modifiers[-1])
    if bits is None:                                     # an instruction that is refused
        return None
    guard = statement.guard
    name = "" if guard is None else getattr(guard, "register", guard).name
    kind = statement.opcode, isinstance(guard, syntax.Negated)
    return (kind, address.base.name, name), address.offset, statement.count * bits // 8


def _line(statement):
    """Where it stands in the source, or in the PTX text."""
    return (statement.site.file, statement.site.line) if statement.site else statement.line


def _pieces(place):
    """int64 [n, 2]: (offset, bytes) of what the accesses of a place touch, those that meet joined."""
    joined: list[list[int]] = []
    for offset, nbytes, _ in sorted(place, key=lambda access: access[:2]):
        if joined and offset <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], offset + nbytes)
        else:
            joined.append([offset, offset + nbytes])
    return np.array([[start, end - start] for start, end in joined], np.int64)
