"""Loads and stores of shared memory that ptxas joins: neighbours become one access.

Seen in the SASS of ptxas 13.0 and 13.5: it joins accesses of one size, with one base and no guard, in groups of
four and of two parts, if it knows that the whole is aligned, and if nothing in between may touch shared memory: stores in a
basic block, loads with one that is surely ahead of them (`loads_ahead`). Of a group of four it loads all when three are
wanted; of two loads from one place it keeps one. A load of a vector is its elements that
something reads: of `ld.v4` with two of them, it may make one of 8 bytes, or two of 4. Where the compiler ahead of it says
which bytes are used (`used_bytes_mask`), and not all are, what it makes of several elements stays apart from other loads.
Stores are joined if no other store comes between them, not even of the same base, but for those of their group of four. All
are executed one by one here, but counted as what they become.
"""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import becomes_branches, keeps_apart, may_change, plain_access
from simlayout.machine.ptx.passes.def_use import Statements, instructions, may_define, registers_read
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.halves import kept_halves
from simlayout.machine.ptx.passes.loads_ahead import loads_ahead

GROUPS = (4, 2)
"""How many parts a whole has, largest first."""
MOST_BYTES = 16
PARTS = 2, 4, 8
"""Bytes of what may become a part of it, and of the whole."""
_MOST = 4
"""Multiples of 16 and more are all the same here."""


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


def joined(body: Statements, names, gone: Set[int]) -> Wholes:
    """Of the statements of some Names' function. gone: ids of loads and stores that count nothing (`passes.unread`,
    `passes.redundant`)."""
    body = tuple(statement for statement in body if id(statement) not in gone)
    wholes = Wholes(dict.fromkeys(gone, ()), {})
    function = replace(names.function, body=body)
    halves = kept_halves(function)
    every = {id(s): parts for s in body if (parts := _parts(s, names, halves)) is not None}
    if not every:
        return wholes
    aligned = Alignments(names)
    for run, ahead in (*_runs_of_stores(body, every), *_runs_of_loads(function, every)):
        _join(run, aligned, ahead, wholes)
    return wholes


@dataclass(frozen=True)
class _Parts:
    """A load or store as what may be joined. size: bytes of a part; wanted: where they are, from its start on; total: bytes
    of all. base, offset: see `_place`. mask: of the bytes that are used, where it keeps the load apart from those with
    another one; else 0."""

    statement: syntax.Instruction
    size: int
    wanted: tuple[int, ...]
    total: int
    base: syntax.Register | None
    offset: int
    mask: int = 0

    @property
    def store(self):
        return self.statement.opcode == "st"


def _parts(statement, names, halves):
    """The _Parts of a load or store of shared memory that may be joined or narrowed; else None. halves: as `kept_halves`
    has them."""
    plain = plain_access(statement)
    if plain is None:
        return None
    base, offset = _place(plain.address, names)
    store, size, count = plain.store, plain.size, len(plain.elements)
    if offset is None or size not in (1, *PARTS):
        return None
    total = size * count
    if store and (statement.guard is not None or total == MOST_BYTES):
        return None
    wanted = [size * i for i in range(count)]
    if count > 1 and not store and size > 1:
        wanted = [size * i for i, one in enumerate(plain.elements) if not names.known.unread(one)] or wanted
    if count > 1 and size < 4:                              # bytes and halves of a vector are in registers of up to 32 bits
        word = min(4, total)
        words = sorted({at - at % word for at in wanted})
        size, wanted = (size, wanted) if len(wanted) == 1 < count else (word, words)
    narrow = len(wanted) * size < total
    if size not in PARTS or size == 2 and not (store or narrow or id(statement) in halves):
        return None
    if statement.guard is not None and not narrow:
        return None
    return _Parts(statement, size, tuple(wanted), total, base, offset, _apart(statement.used_bytes, size, wanted, total))


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


def _runs_of_stores(body, every):
    """(the stores of one group of parts between which nothing touches shared memory, None), of each in a basic block. every:
    {id of a load or store: its _Parts}."""
    run = []
    for statement in body:
        parts = every.get(id(statement))
        store = parts is not None and parts.store
        changed = bool(run) and _named(run[0].base) in may_define(statement)
        if run and (not _goes_on(run, parts) if store else changed or keeps_apart(statement, True)):
            yield run, None
            run = []
        if store:
            run.append(parts)
    if run:
        yield run, None


def _goes_on(run, parts):
    """Whether a store belongs to those of a group, where it is the first of its bytes."""
    group = min(max(GROUPS) * parts.size, MOST_BYTES)
    there = {one.offset + at for one in run for at in one.wanted}
    return ((parts.size, parts.base) == (run[0].size, run[0].base) and parts.offset // group == run[0].offset // group
            and there.isdisjoint(parts.offset + at for at in parts.wanted))


def _runs_of_loads(function, every):
    """(loads with one size, base and mask, of which each is ahead of another or behind one; `loads_ahead` of them), of each.
    A guarded load is a run of its own."""
    if all(parts.store for parts in every.values()):
        return []
    flow = Flow.of(function)
    at = dict(_places(flow))
    loads = {one: every[one] for one in at if one in every and not every[one].store}
    kinds = {one: ((parts.size, parts.base, parts.mask, parts.size == 2 and at[one]), _named(parts.base))
             for one, parts in loads.items() if parts.statement.guard is None}           # halves are joined in a block
    ahead = loads_ahead(flow, kinds, may_change)
    runs: dict[int, list] = {}                           # the first load of a run -> all of it
    first: dict[int, int] = {}
    for one, parts in loads.items():
        first[one] = next((first[other] for other in ahead.get(one, ()) if other in first), one)
        runs.setdefault(first[one], []).append(parts)
    return [(run, ahead) for run in runs.values()]


def _places(flow):
    """(id of a statement, (its basic block, which of those that ptxas makes of that))."""
    for block in flow.order:
        number = 0
        for statement in flow.blocks[block]:
            number += becomes_branches(statement, True)
            yield id(statement), (block, number)


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


def _named(base):
    return "" if base is None else base.name


def _join(run, aligned, ahead, wholes):
    """Puts into Wholes what loads or stores become whose parts have one size, and one base. ahead: of loads, which are ahead
    of each other."""
    size, left = run[0].size, {}                         # where -> the numbers in the run of those whose parts are there
    for number, parts in enumerate(run):
        for at in parts.wanted:
            left.setdefault(parts.offset + at, []).append(number)
    known = 1 << (_MOST if run[0].base is None else aligned.of(run[0].base))
    made = [[] for _ in run]
    for count in (*GROUPS, 1):
        whole = size * count
        for start in _starts(whole, known, left, run) if whole <= MOST_BYTES else ():
            while (found := _together(range(start, start + whole, size), count, left, run, ahead)) is not None:
                counts, some = found
                for at, there in some.items():
                    left[at] = [number for number in left[at] if number not in there]
                    for number in {*there} - {counts}:
                        wholes.within.setdefault(id(run[number].statement), set()).add(id(run[counts].statement))
                made[counts].append(Joined(whole, start - run[counts].offset))
    wholes.counts.update((id(parts.statement), tuple(of)) for parts, of in zip(run, made) if of != [Joined(parts.total, 0)])


def _together(places, count, left, run, ahead):
    """(what counts, {where: whose parts}) of loads or stores that become one access of `count` parts, as numbers in the run;
    None if none do. Loads count where the first of them is, which is ahead of the others, stores where the last is."""
    some = {at: left[at] for at in places if left.get(at)}
    every = sorted({number for there in some.values() for number in there})
    if ahead is None:
        return (every[-1], some) if len(some) == count else None
    for first in every:
        one = id(run[first].statement)
        with_it = {at: [number for number in there if number == first or one in ahead.get(id(run[number].statement), ())]
                   for at, there in some.items()}
        with_it = {at: there for at, there in with_it.items() if there}
        if len(with_it) >= (3 if count == 4 else count):
            return first, with_it
    return None


def _starts(whole, known, left, run):
    """Where wholes of so many bytes may start, as far as they are known to be aligned: by their base, which is a multiple of
    `known`, or within one load of a vector."""
    found = {at - at % whole for at in left if known >= whole} if whole > run[0].size else {*left}
    for parts in run if whole > run[0].size else ():
        found.update(range(parts.offset, parts.offset + parts.total - whole + 1, whole))
    return sorted(found)


_SOURCES = {"mov": 1, "cvt": 1, "cvta": 1, "neg": 1, "bfi": 3, "mad": 3,
            **dict.fromkeys(("add", "sub", "or", "xor", "selp", "min", "max", "and", "mul", "shl"), 2)}
"""How many operands of an instruction `Alignments` looks at."""


class Alignments:
    """How many low bits of a register are 0 as far as ptxas knows, up to _MOST, in the function of some Names.

    Where an instruction reads what one above it in its basic block has written, the register has the bits of that alone:
    `mov %i, 0; mov %j, %i;` makes 0 of both, whatever a loop below adds to %i.
    """

    def __init__(self, names):
        self._names, self._above, made = names, {}, []
        self._reads = Counter(name for s in instructions(names.function.body) for name in registers_read(s))
        self._bits: dict[str, int] = {}                  # of a register, whichever of its definitions it is from
        above: dict[str, list[int]] = {}                 # register -> [bits] of its definition above in the block
        for s in names.function.body:
            if isinstance(s, syntax.Label):
                above = {}
                continue
            read = {r.name: above[r.name] for r in s.operands if isinstance(r, syntax.Register) and r.name in above}
            for name in may_define(s):
                made.append((name, s, read, bits := [_MOST]))
                self._bits[name] = _MOST
                above[name] = bits
                if s.guard is not None:                  # the one before it may stay
                    del above[name]
        changed = True
        while changed:
            changed = False
            for name, s, self._above, bits in made:
                now = min(bits[0], self._made(s))
                changed |= now != bits[0]
                bits[0], self._bits[name] = now, min(now, self._bits[name])
        self._above = {}

    def of(self, operand) -> int:
        """Of a Register, a Symbol without its offset, or a number."""
        if isinstance(operand, syntax.Register):
            return self._above[operand.name][0] if operand.name in self._above else self._bits.get(operand.name, 0)
        if isinstance(operand, syntax.Integer):
            return _zeros(operand.value)
        if isinstance(operand, syntax.Symbol):
            return _zeros(self._names.symbol(operand) - operand.offset) if self._names.is_shared(operand.name) else 0
        return 0

    def _made(self, s):
        first, *sources = s.operands
        if isinstance(first, syntax.Vector) or any(m in ("f32", "f64", "f16", "bf16") for m in s.modifiers):
            return 0
        if len(sources) < _SOURCES.get(s.opcode, 0):     # an instruction that is refused
            return 0
        bits = [self._whole(one) for one in sources]
        if s.opcode in ("mov", "cvt", "cvta"):
            return bits[0]
        wide = s.opcode in ("min", "max") and s.modifiers[-1] in ("s64", "u64")       # ptxas compares, and selects
        if s.opcode in ("add", "or", "xor", "selp") or wide:     # not of min and max of 32 bits, as ptxas has it
            return min(bits[:2])
        if s.opcode in ("sub", "neg") and s.modifiers[-1] in ("u32", "s32"):      # as a product with a negative number
            more, less = first if s.opcode == "neg" else sources[0], sources[-1]
            alone = self._reads[more.name] == 1 if s.opcode == "neg" else not self._is_product(more)
            return min(bits) if isinstance(less, syntax.Integer) or alone and self._is_product(less) else 0
        if s.opcode == "and":
            return max(bits)
        if s.opcode in ("mul", "mad") and "hi" not in s.modifiers:
            return min([sum(bits[:2]), *bits[2:], _MOST])
        if s.opcode == "shl":
            return min(bits[0] + (max(sources[1].value, 0) if isinstance(sources[1], syntax.Integer) else 0), _MOST)
        if s.opcode == "bfi" and isinstance(sources[2], syntax.Integer):
            return min(bits[0] + max(sources[2].value, 0), bits[1], _MOST)
        return 0

    def _is_product(self, operand):
        """Whether it is one with a number, or shifted by one, which one instruction alone reads: ptxas adds in the same."""
        made = self._names.known.made(operand) if isinstance(operand, syntax.Register) else None
        return (made is not None and made.opcode in ("shl", "mul") and isinstance(made.operands[2], syntax.Integer)
                and self._reads[operand.name] == 1)

    def _whole(self, operand):
        if isinstance(operand, syntax.Symbol):
            return min(self.of(operand), _zeros(operand.offset))
        return self.of(operand)


def _zeros(value):
    return next((i for i in range(_MOST) if value >> i & 1), _MOST)
