"""What tensormap.replace costs where the map lies in shared memory: ptxas makes loads and stores of it.

A field is a word that is stored, or some bits of one that is loaded for that and stored again. Of two that come one after
the other and change the same word one load and one store is left, and stores of neighbouring words are one, if nothing
comes between them that may touch shared memory, not even another field. Seen in the SASS of ptxas 13.0 and 13.5, of which
the latter also changes a bit of the word of rank where the address is replaced; the sums are those that an H200 counted
of descriptors that Triton makes on the device, of two and of three dimensions. So it is in the order in which compilers
replace them, and of random orders in 97 of 100: in the others ptxas stores some words twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from simlayout.machine.ptx.passes.accesses import keeps_apart
from simlayout.machine.ptx.passes.statements import Statements, registers_in

_BITS = {"rank": 0x8, "elemtype": 0x8, "interleave_layout": 0x8, "swizzle_mode": 0x8, "fill_mode": 0x8,
         "element_stride": 0x34}
"""Field -> byte offset of the word that holds it, beside others."""
_WORDS = {"global_dim": 0x20, "global_stride": 0xC}
"""Field -> of the word that is its first element; the next ones follow."""
_TOP_BITS = 0x1C
"""Of the word with the upper bits of all strides."""
_BOX = 0x34, 0x38
"""Of the words with box_dim[0], and with all others."""


@dataclass(frozen=True)
class Access:
    """A load or store of words of a map. opcode: "ld" or "st"; offset, bytes: in the map; of: id of the statement; instead:
    of stores of the same word that it replaces."""

    opcode: str
    offset: int
    bytes: int
    of: int
    instead: tuple["Access", ...] = ()

    @property
    def name(self) -> str:
        """The instruction."""
        return f"{self.opcode}.shared.b{8 * self.bytes}"


def map_fields(body: Statements) -> dict[int, list[Access]]:
    """{id of a tensormap.replace of shared memory: what it counts as}.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90a .address_size 64 .entry k() { .reg .b32 %r; "
    >>> text += "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r], 1; "
    >>> text += "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r], 10; ret; }"
    >>> body = parse(text).functions["k"].body
    >>> [[access.name for access in map_fields(body)[id(statement)]] for statement in body[:2]]
    [['ld.shared.b32'], ['st.shared.b32']]
    """
    found: dict[int, list[Access]] = {}
    run: list[Access] = []
    place = None
    for statement in body:
        if _is_field(statement):
            found[id(statement)] = []
            if (statement.operands[0], statement.guard) != place:
                _count(run, found)
                run, place = [], (statement.operands[0], statement.guard)
            run += _accesses(statement)
        elif keeps_apart(statement, True) or place and _changes(statement, place):
            _count(run, found)
            run, place = [], None
    _count(run, found)
    return found


def _is_field(statement):
    """Whether it is a tensormap.replace of shared memory."""
    return statement.opcode == "tensormap" and statement.modifiers[0] == "replace" and statement.names_shared


def _changes(statement, place):
    """Whether an instruction writes a register of an address and a guard."""
    return not {*statement.writes}.isdisjoint(registers_in(place))


def _accesses(statement) -> Iterator[Access]:
    """What one replacement makes."""
    field, of = statement.modifiers[2], id(statement)
    at = getattr(statement.operands[1], "value", 0)      # of the element, where a field has several
    if field == "global_address":
        yield Access("st", 0, 8, of)
    elif field in _WORDS:
        yield Access("st", _WORDS[field] + 4 * at, 4, of)
    word = {"global_stride": _TOP_BITS, "box_dim": _BOX[at > 0]}.get(field, _BITS.get(field))
    if word is not None:
        yield Access("ld", word, 4, of)
        yield Access("st", word, 4, of)


def _count(run, found):
    """Adds to what replacements of one map count as what is left of their accesses, one after the other."""
    left: list[Access] = []
    for access in run:
        before = left[-1] if left else None
        if before and before.opcode == "st" and (before.offset, before.bytes) == (access.offset, access.bytes):
            if access.opcode == "ld":                    # what is there is known
                continue
            left.pop()
            access = replace(access, instead=(*before.instead, before))
        left.append(access)
    for access in _joined(left):
        found[access.of].append(access)


def _joined(left):
    """The accesses with stores of neighbouring words, one after the other, as one. A store of which such a one is made
    replaces no others."""
    at = 0
    while at < len(left):
        for many in (4, 2, 1):
            group = sorted(left[at : at + many], key=lambda access: access.offset)
            first = group[0].offset
            words = [("st", first + 4 * i, 4) for i in range(many)]
            if many == 1 or first % (4 * many) == 0 and [(a.opcode, a.offset, a.bytes) for a in group] == words:
                if many > 1:
                    yield from (other for access in group for other in access.instead)
                yield left[at] if many == 1 else replace(group[0], bytes=4 * many)
                at += many
                break
