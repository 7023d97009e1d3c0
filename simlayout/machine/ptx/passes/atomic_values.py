"""Atomics whose value may say that others have done something: the last block that counts, who takes a lock.

An atomic that hands out work or places says nothing of the kind: its value is an index, which is computed with, compared
with a bound, and taken for an address, or kept in global memory. Who does not look at it otherwise knows of nobody's stores
by it. What is only compared with a bound is a count.
"""

from collections import defaultdict
from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.statements import COMPUTES, instructions

_BOUNDS = {"lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"}
"""Comparisons of an index with a bound."""

_CARRIES = COMPUTES - {"cvta"} | {"shfl"}
"""Opcodes that take a value on."""


def asked(function: syntax.Function, known: Known) -> set[int]:
    """The ids of such atomics of a function. known: what is known of its registers.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n"
    >>> text += ".entry f() { .reg .b32 %r<9>; .reg .b64 %p<9>; .reg .pred %q; atom.global.add.u32 %r1, [%p1], 1;"
    >>> text += "setp.ge.u32 %q, %r1, %r2; mad.wide.u32 %p2, %r1, 4, %p3; st.global.b32 [%p2], %r2;"
    >>> text += "atom.global.inc.u32 %r3, [%p4], 9; setp.eq.u32 %q, %r3, 8; ret; }"
    >>> function = parse(text).functions["f"]
    >>> [statement.name for statement in function.body if id(statement) in asked(function, Known(function))]
    ['atom.global.inc.u32']
    """
    body = instructions(function.body)
    atomics = [statement for statement in body if statement.opcode == "atom"]
    if not atomics:
        return set()
    uses = _Uses(body, known)
    return {id(atomic) for atomic in atomics if _changes_nothing(atomic, known) or not uses.is_index(atomic)}


def _changes_nothing(atomic, known):
    """Whether it plainly reads alone, as loops of atomics do that wait."""
    return known.constant(atomic.operands[2]) == 0 and not {"add", "or", "xor", "sub"}.isdisjoint(atomic.modifiers)


class _Uses:
    """What is done with the registers of a function."""

    def __init__(self, body, known):
        self._known, self._readers, self._loads = known, defaultdict(list), defaultdict(list)
        for instruction in body:
            for name in instruction.reads:
                self._readers[name].append(instruction)
            if instruction.opcode == "ld":
                self._loads[self._variable(instruction.operands[1])].append(instruction)

    def is_index(self, atomic):
        """Whether what an atomic gives is an index, and no more. What is only compared is a count."""
        seen, todo, used = set(), [*atomic.writes], False
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            for reader in self._readers[name]:
                made = self._made(reader, name)
                if made is None:
                    return False
                todo += made
                used = used or not made and reader.opcode not in ("setp", "set")
        return used

    def _made(self, reader, name):
        """Names of the registers to which an instruction takes a value on; None if it does more with it than an index is
        for."""
        if reader.opcode in ("setp", "set"):
            return None if _BOUNDS.isdisjoint(reader.modifiers) else ()
        if reader.opcode in _CARRIES:
            return reader.writes
        stores = reader.opcode in ("st", "atom", "red")
        if reader.opcode == "ld" or stores and ("global" in reader.spaces or name not in _values(reader)):
            return ()
        variable = self._variable(reader.operands[0]) if reader.opcode == "st" else None
        if variable is None or "shared" not in reader.spaces:
            return None
        return [made for load in self._loads[variable] for made in load.writes]

    def _variable(self, address):
        """The variable that plainly is at an address, or None."""
        place = self._known.place(address) if isinstance(address, syntax.Address) else None
        return place if place is not None and isinstance(place.base, syntax.Symbol) else None


def _values(access):
    """Names of the registers that a store or an atomic reads, but for those of its address."""
    values = tuple(one for one in access.operands if not isinstance(one, syntax.Address))
    return set(replace(access, guard=None, operands=values).reads)
