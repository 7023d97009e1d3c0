"""Loads and stores of shared memory that ptxas joins: neighbours become one access.

Seen in the SASS of ptxas 13.0 and 13.5: it joins accesses of one size, with one base and no guard, in groups of four and of
two parts, if it knows that the whole is aligned (`alignments`), and if nothing in between may touch shared memory: stores in
a basic block, loads with one that is surely ahead of them (`loads_ahead`). Of a group of four it loads all when three are
wanted; of two loads from one place it keeps one. A load of a vector is its elements that something reads: of `ld.v4` with
two of them, it may make one of 8 bytes, or two of 4. A number of 64 bits that stays alone becomes the half of it that is
needed, if the other one is not. Where the compiler ahead of it says which bytes are used (`used_bytes_mask`), and not all
are, what it makes of several elements stays apart from other loads. Stores are joined if no other store comes between them,
not even of the same base, but for those of their group of four. All are executed one by one here, but counted as what they
become. A generic load of a vector becomes what it needs of pairs and single elements.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from simlayout.machine.arithmetic.carriers import WIDTHS
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import becomes_branches, keeps_apart, may_be_shared, may_change, plain_access
from simlayout.machine.ptx.passes.alignments import MOST_ZEROS, Alignments
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.had import LINE, Loads
from simlayout.machine.ptx.passes.known import BOTH, HIGH, LOW
from simlayout.machine.ptx.passes.loads_ahead import Ahead, kept_halves
from simlayout.machine.ptx.passes.statements import Statements

GROUPS = (4, 2)
"""How many parts a whole has, largest first."""

PARTS, MOST_BYTES = (2, 4, 8), 16
"""Bytes of what may become a part of it, and of the whole."""


@dataclass(frozen=True)
class Joined:
    """An access that a load or store counts as, or one of them. bytes: of the whole; shift: from where the load or store
    begins to where the whole does."""

    bytes: int
    shift: int

    def name(self, part: str) -> str:
        """The instruction of the whole.

        >>> Joined(16, 0).name("ld.shared.b32")
        'ld.shared.b128'
        """
        return f"{part.rpartition('.')[0]}.b{8 * self.bytes}"


@dataclass(frozen=True)
class Wholes:
    """What loads and stores become. counts: {id: what it counts as, if not as itself}; within: {id: the ids of others that
    count for some of it}."""

    counts: dict[int, tuple[Joined, ...]]
    within: dict[int, set[int]]


def joined(body: Statements, names, unread: Set[int], redundant: Loads) -> Wholes:
    """Of the statements of some Names' function. unread, redundant: which of them count nothing, as of the passes."""
    gone, again = unread | redundant.gone.keys(), defaultdict[int, list](list)
    for statement in body:
        for one in redundant.gone.get(id(statement), ()):
            again[one].append(statement)                 # reads what that has loaded
    body = tuple(statement for statement in body if id(statement) not in gone)
    wholes = Wholes(dict.fromkeys(gone, ()) | {id(s): made for s in body if (made := _narrowed(s, names))}, {})
    function = replace(names.function, body=body)
    halves = kept_halves(function)
    every = {id(s): parts.wider(redundant.wider.get(id(s), ())) for s in body
             if (parts := _parts(s, names, halves, again[id(s)])) is not None}
    if not every:
        return wholes
    aligned = Alignments(names)
    for run in (*_runs_of_stores(body, every), *_runs_of_loads(function, every)):
        run.join(aligned, wholes)
    return wholes


# ---- loads and stores as parts -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class _Parts:
    """A load or store as what may be joined. size: bytes of a part; wanted: where they are, from its start on; total: bytes
    of all. base, offset: see `_place`. mask: of the bytes that are used, where it keeps the load apart from those with
    another one; else 0. halves: of numbers of 64 bits, as `_halves` has them."""

    statement: syntax.Instruction
    size: int
    wanted: tuple[int, ...]
    total: int
    base: syntax.Register | None
    offset: int
    mask: int = 0
    halves: Mapping[int, int] = field(default_factory=dict)

    @property
    def store(self):
        return self.statement.opcode == "st"

    def wider(self, places):
        """Such with more that is wanted, at places from its start on."""
        return replace(self, wanted=(*self.wanted, *sorted({*places}.difference(self.wanted)))) if places else self


def _parts(statement, names, halves, again):
    """The _Parts of a load or store of shared memory that may be joined or narrowed; else None. halves: as `kept_halves`
    has them; again: loads of the same that count nothing."""
    plain = plain_access(statement)
    if plain is None:
        return None
    base, offset = _place(plain.address, names)
    total = plain.size * len(plain.elements)
    if offset is None or plain.size not in (1, *PARTS):
        return None
    if plain.store and (statement.guard is not None or total == MOST_BYTES):
        return None
    size, wanted = _wanted(plain, names)
    narrow = len(wanted) * size < total                  # of a vector some elements alone are loaded
    if size not in PARTS or size == 2 and not (plain.store or narrow or id(statement) in halves):
        return None
    halves = _halves(plain, offset, [one for one in map(plain_access, again) if one], names)
    if statement.guard is not None and not narrow and not halves:
        return None
    mask = _apart(statement.used_bytes, size, wanted, total)
    return _Parts(statement, size, tuple(wanted), total, base, offset, mask, halves)


def _halves(plain, offset, again, names):
    """{where: the halves that are needed} of numbers of 64 bits that a load and those of the same place load, {} where it
    is both of all. offset: of its `_place`."""
    if plain.size != 8 or plain.store:
        return {}
    found = Counter[int]()
    for load in (plain, *again):
        first = _place(load.address, names)[1] - offset
        for i, one in enumerate(load.elements):
            found[first + 8 * i] |= names.known.halves(one) if isinstance(one, syntax.Register) else 0
    return found if {LOW, HIGH} & {*found.values()} else {}


def _narrowed(statement, names):
    """What a generic load of a vector counts as of which not all elements are read, and a load of one number of 64 bits
    that is generic, strong or of the cluster, of which one half is needed; else ()."""
    if statement.opcode != "ld" or plain_access(statement) is not None or not may_be_shared(statement):
        return ()
    size = WIDTHS.get(statement.modifiers[-1], 0) // 8
    if statement.count < 2:
        to = statement.operands[0]
        half = _half(Joined(8, 0), names.known.halves(to)) if size == 8 and isinstance(to, syntax.Register) else None
        return (half,) if half is not None and half.bytes < 8 else ()
    if len(statement.modifiers) != 2:
        return ()
    elements = statement.operands[0].operands
    read = [size * i for i, one in enumerate(elements) if not names.known.unread(one)]
    if size < 4 or len(read) == statement.count:
        return ()
    pairs = {at for at in read if not at % (2 * size) and at + size in read}
    made = tuple(Joined(size * (1 + (at in pairs)), at) for at in read if at - size not in pairs)
    return tuple(_half(one, names.known.halves(elements[one.shift // size])) if size == 8 else one for one in made)


def _half(whole, which):
    """Of a number of 64 bits the half of it that is needed, if the other one is not."""
    return {LOW: Joined(4, whole.shift), HIGH: Joined(4, whole.shift + 4)}.get(which, whole)


def _wanted(plain, names):
    """(bytes of a part, where those are that something reads, from the start on) of a load or store."""
    size, count = plain.size, len(plain.elements)
    wanted = [size * i for i in range(count)]
    if count > 1 and not plain.store and size > 1:
        wanted = [size * i for i, one in enumerate(plain.elements) if not names.known.unread(one)] or wanted
    if size >= 4 or len(wanted) == 1:
        return size, wanted
    word = min(4, size * count)                          # bytes and halves of a vector are in registers of up to 32 bits
    return word, sorted({at - at % word for at in wanted})


def _apart(mask, size, wanted, total):
    """The mask of a load's bytes that are used if it keeps the load apart, else 0: not all bytes are used, and one access
    loads several of the parts.

    >>> _apart(0xF0FF, 4, [0, 4, 12], 16) == 0xF0FF, _apart(0xF00F, 4, [0, 12], 16), _apart(0xFFFF, 4, [0, 4, 12], 16)
    (True, 0, 0)
    """
    if mask is None or mask & (1 << total) - 1 == (1 << total) - 1:
        return 0
    pair = len(wanted) == 2 and wanted[1] == wanted[0] + size and wanted[0] % (2 * size) == 0
    return mask if pair or len(wanted) > 2 else 0


def _place(address, names):
    """(the register that its base is made of, None if there is none; the offset from it, None if that is unknown) of an
    Address."""
    found = names.known.steady_place(address)
    base = found.base
    if isinstance(base, syntax.Register):
        return base, found.offset
    if isinstance(base, syntax.Symbol):
        return None, names.symbol(base) + found.offset if names.is_shared(base.name) else None
    return None, found.offset + base.value


# ---- which of them ptxas looks at together -----------------------------------------------------------------------------

def _runs_of_stores(body, every):
    """A _Run of the stores of one group of parts between which nothing touches shared memory, of each in a basic block.
    every: {id of a load or store: its _Parts}."""
    run = []
    for statement in body:
        parts = every.get(id(statement))
        store = parts is not None and parts.store
        changed = bool(run) and _named(run[0].base) in statement.may_write
        if run and (not _goes_on(run, parts) if store else changed or keeps_apart(statement, True)):
            yield _Run(run)
            run = []
        if store:
            run.append(parts)
    if run:
        yield _Run(run)


def _goes_on(run, parts):
    """Whether a store belongs to those of a group, where it is the first of its bytes."""
    group = min(max(GROUPS) * parts.size, MOST_BYTES)
    there = {one.offset + at for one in run for at in one.wanted}
    return ((parts.size, parts.base) == (run[0].size, run[0].base) and parts.offset // group == run[0].offset // group
            and there.isdisjoint(parts.offset + at for at in parts.wanted))


def _runs_of_loads(function, every):
    """The _Runs of loads with one size, base and mask, of which each is ahead of another or behind one. A guarded load is
    one of its own."""
    if all(parts.store for parts in every.values()):
        return []
    flow = Flow.of(function)
    at = dict(_places(flow))
    kinds = {one: (parts.size, parts.base, parts.mask, at[one].changes, parts.size == 2 and at[one])   # halves: in a block
             for one in at if (parts := every.get(one)) is not None and parts.statement.guard is None}
    loads = {one: (kind, _named(every[one].base)) for one, kind in kinds.items() if not every[one].store}
    order = _Order(Ahead(flow, loads, may_change), {one: place.block for one, place in at.items()}, _leaders(kinds, every))
    runs: dict[int, list] = {}                           # the first load of a run -> all of it
    for one in at:
        if one in every and not every[one].store:
            runs.setdefault(order.ahead.first(one), []).append(every[one])
    return [_Run(run, order) for run in runs.values()]


class _At(NamedTuple):
    """Where a statement is: its basic block, which of those that ptxas makes of that, and how many statements ahead of it
    may change shared memory."""

    block: int
    number: int
    changes: int


def _places(flow):
    """(id of a statement, its _At)."""
    ahead = flow.ahead(may_change)
    for block in flow.order:
        number, changes = 0, ahead[block]
        for statement in flow.blocks[block]:
            number += becomes_branches(statement, True)
            changes += may_change(statement)
            yield id(statement), _At(block, number, changes)


def _leaders(kinds, every):
    """{id of an access: the lines of which it has the first part of its kind in order}. kinds: of loads and stores, in
    order."""
    found, seen = dict[int, set[int]](), set()
    for one, kind in kinds.items():
        for line in {(every[one].offset + at) // LINE for at in every[one].wanted}:
            if (kind, line) not in seen:
                seen.add((kind, line))
                found.setdefault(one, set()).add(line)
    return found


class _Order(NamedTuple):
    """Of loads: which are ahead of which, the blocks that they are in, and which lead others, as `_leaders` has them."""

    ahead: Ahead
    blocks: Mapping[int, int]
    leaders: Mapping[int, Set[int]]

    def joins(self, one: int, other: int, start: int) -> bool:
        """Whether a load may come to another one, for a whole that begins at a place: to the first one of all, or to one in
        its basic block."""
        leads = start // LINE in self.leaders.get(one, ())
        return one == other or (leads or self.blocks[one] == self.blocks[other]) and self.ahead(one, other)


def _named(base):
    return "" if base is None else base.name


# ---- what they become --------------------------------------------------------------------------------------------------

class _Run:
    """Loads or stores whose parts have one size and one base, and may become one access. every: their _Parts, which are
    named by their numbers here; order: of loads, None of stores. left: {where: the
    numbers of those whose part there is in no whole yet}."""

    def __init__(self, every, order=None):
        self.every, self.order, self.size = every, order, every[0].size
        self.leading = [number for number, parts in enumerate(every) if order and id(parts.statement) in order.leaders]
        self.left: dict[int, list[int]] = {}
        for number, parts in enumerate(every):
            for at in parts.wanted:
                self.left.setdefault(parts.offset + at, []).append(number)

    def join(self, aligned, wholes):
        """Puts into Wholes what they become."""
        base, ids = self.every[0].base, [id(parts.statement) for parts in self.every]
        known = 1 << (MOST_ZEROS if base is None else aligned.of(base))
        made: list[list[Joined]] = [[] for _ in self.every]
        for start, nbytes, counts, numbers in self._wholes(known):
            made[counts].append(self._narrowed(Joined(nbytes, start - self.every[counts].offset), start, numbers))
            for number in numbers - {counts}:
                wholes.within.setdefault(ids[number], set()).add(ids[counts])
        wholes.counts.update((one, tuple(of)) for one, of, parts in zip(ids, made, self.every)
                             if of != [Joined(parts.total, 0)])

    def _narrowed(self, whole, start, numbers):
        """A whole, or the half that is needed of one number of 64 bits. start: where it is; numbers: of its loads."""
        if whole.bytes != 8 or self.size != 8:
            return whole
        which = 0
        for parts in map(self.every.__getitem__, numbers):
            which |= parts.halves.get(start - parts.offset, BOTH)
        return _half(whole, which)

    def _wholes(self, known):
        """(where it starts, its bytes, the number of what counts, the numbers of all that it is made of) of each whole, the
        largest first. known: of what their base is a multiple."""
        for count in (*GROUPS, 1):
            whole = count * self.size
            for start in self._starts(whole, known) if whole <= MOST_BYTES else ():
                while (found := self._together(range(start, start + whole, self.size), count)) is not None:
                    counts, some = found
                    for at, there in some.items():
                        self.left[at] = [number for number in self.left[at] if number not in there]
                    yield start, whole, counts, {number for there in some.values() for number in there}

    def _together(self, places, count):
        """(what counts, {where: whose parts}) of loads or stores that become one access of `count` parts; None if none do.
        Loads count where the first of them is, which is ahead of the others, stores where the last is."""
        some = {at: self.left[at] for at in places if self.left.get(at)}
        numbers = sorted({number for there in some.values() for number in there})
        if self.order is None:
            return (numbers[-1], some) if len(some) == count else None
        for first in self._firsts(numbers, places[0]) if count == 1 else numbers:
            behind = {number for number in numbers if self._joins(first, number, places[0])}
            with_it = {at: here for at, there in some.items() if (here := [one for one in there if one in behind])}
            if len(with_it) >= (3 if count == 4 else count) and (first in numbers or len(behind) > 1):
                return first, with_it
        return None

    def _firsts(self, numbers, start):
        """The numbers of loads to which those of one place may come: one that leads, if they are several, or themselves."""
        led = (number for number in self.leading if self._joins(number, numbers[-1], start))
        return (*(islice(led, 1) if len(numbers) > 1 else ()), *numbers)

    def _joins(self, one, other, start):
        return self.order.joins(id(self.every[one].statement), id(self.every[other].statement), start)

    def _starts(self, whole, known):
        """Where wholes of so many bytes may start, as far as they are known to be aligned: by their base, or within one load
        of a vector."""
        if whole == self.size:
            return sorted(self.left)
        found = {at - at % whole for at in self.left if known >= whole}
        for parts in self.every:
            found.update(range(parts.offset, parts.offset + parts.total - whole + 1, whole))
        return sorted(found)
