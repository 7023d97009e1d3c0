"""Of which shared memory a thread has the value where it is: of what it has loaded or stored, whichever way it has come.

ptxas 13.0 counts what may change shared memory, or orders it, in the order of the text, where the arms of a branch come one
behind the other: behind a store in one arm nothing is known in the next one any more, although no way leads from there.

    x = s[t]; if (i < n) s[j] = y; else x += s[t];         // s[t] is loaded twice; with the arms the other way round, once

Where ways meet a thread has what it has on all of them, by whatever access: a store here, a load there. Where it has a word
on one way, and on the others has loaded something of the same 16 bytes, those load the word as well, if it is needed, and
join it with what they had. What has been loaded ahead of where the ways part does not, nor does the first load of such bytes
behind a store to some of them.

    if (i < n) x = s[t]; else x = s[t + 1]; y = s[t];      // s[t] and s[t + 1] in the second arm, and nothing behind it
"""

from typing import NamedTuple

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import may_change, plain_access
from simlayout.machine.ptx.passes.flow import Flow

LINE = 16
"""Bytes in which loads are joined."""


class Piece(NamedTuple):
    """Where a register's worth of shared memory is. base: the name of a register or a variable, "" if it is a number; size:
    bytes; signed: whether a load of less than 32 bits extends it by its sign."""

    base: str
    offset: int
    size: int
    signed: bool

    @property
    def line(self) -> "Piece":
        """Where the bytes begin with which a load of it is joined."""
        return self._replace(offset=self.offset // LINE)


class Had(NamedTuple):
    """By which access a thread has the value of a Piece. changes: how many there are ahead of it that may change memory;
    next: whether the access is the next one of its line behind a store, in order; wider: whether it has to load the piece
    on top of what it does."""

    access: int
    stored: bool
    piece: Piece
    changes: int
    next: bool
    wider: bool = False


class _State(NamedTuple):
    """pieces: those that a thread has; lines: those of which it has something, and by what it had that first."""

    pieces: dict[Piece, frozenset[Had]]
    lines: dict[Piece, frozenset[Had]]

    def __and__(self, other):
        found = {}
        for piece in self.pieces.keys() | other.pieces.keys():
            one, another = self.pieces.get(piece), other.pieces.get(piece)
            if one is not another:
                one, another = one or self._wider(piece, other), another or other._wider(piece, self)
            if one and another:
                found[piece] = one if one is another else one | another
        return _State(found, {line: had if had is other.lines[line] else had | other.lines[line]
                              for line, had in self.lines.items() if line in other.lines})

    def _wider(self, piece, other):
        """By which accesses it may have a piece that it does not have. other: what it has on another way."""
        first = self.lines.get(piece.line, frozenset())
        if piece.size < 4 or any(had.stored for had in first) or first & other.lines.get(piece.line, frozenset()):
            return frozenset()
        return frozenset(had._replace(wider=True) for had in first)

    def wide(self, piece, number, before):
        """By which accesses it may have a piece because another one had it that is ahead in order, on another way. number:
        how many changes are ahead; before: {piece: (that number, what those had of its line first)} of what is ahead."""
        first = self.lines.get(piece.line, frozenset())
        if any(had.stored for had in first) or not any(
                changes == number and first.isdisjoint(others) for changes, others in before.get(piece, ())):
            return frozenset()
        return frozenset(had._replace(wider=True) for had in first)

    def at(self, head, comes):
        """What of it comes along to a block, as a function tells of accesses. head: whether that is the head of a loop."""
        lines = {} if head else self.lines
        return _State(*({what: had for what, had in of.items() if all(map(comes, had))} for of in (self.pieces, lines)))

    def go_past(self, event):
        """Changes it to what it is behind a statement that stays."""
        for of in self if event.forgets or event.changed else ():
            for piece in [piece for piece in of if event.forgets or piece.base in event.changed]:
                del of[piece]
        for piece in event.pieces if event.had is not None else ():
            had = frozenset({event.had._replace(piece=piece)})
            self.pieces[piece] = had
            led = self.lines.get(piece.line)
            if led is None or event.load and not event.had.next and all(one.stored for one in led):
                self.lines[piece.line] = had


class Places:
    """of: {id of a plain load or store of shared memory: its Pieces, and their base}; bases: of them all."""

    def __init__(self, body, known, unread):
        self._known = known
        self.of = {id(one): made for one in body if id(one) not in unread and (made := self._find(one)) is not None}
        self.bases = {base for _, base in self.of.values()}

    def pieces(self, statement):
        """Of a statement that may be none."""
        return self.of.get(id(statement), ((), ""))[0]

    def _find(self, statement):
        plain = plain_access(statement)
        if plain is None or statement.used_bytes is not None:
            return None
        base, offset = self._known.where(plain.address)
        store, size, count = plain.store, plain.size, len(plain.elements)
        wanted = [size * i for i, one in enumerate(plain.elements) if store or count == 1 or not self._known.unread(one)]
        if count > 1 and size < 4:                        # bytes and halves of a vector are in registers of up to 32 bits
            whole = len(wanted) == count
            wanted = [*range(0, size * count, 4)] if whole else []
            size = min(4, size * count)
        return tuple(Piece(base, offset + at, size, size < 4 and plain.type[0] == "s") for at in wanted), base


class _Event(NamedTuple):
    """What a statement changes of what a thread has, or takes of it. forgets: whether all of it; number: of such
    statements up to it; changed: bases that it writes; pieces: of a load or store; had: the first by it; load: whether it is
    one."""

    forgets: bool
    number: int
    changed: set[str]
    pieces: tuple[Piece, ...]
    had: Had | None
    load: bool


def _events(part, places, changes, stored):
    """The _Events of a basic block, with the ids of their statements. changes: how many ahead of it may change memory;
    stored: (a line, such a number) of stores behind which no load has come."""
    for statement in part:
        forgets = _forgets(statement)
        changes += forgets
        changed = places.bases.intersection(statement.writes)
        pieces, base = places.of.get(id(statement), ((), ""))
        if forgets or changed or pieces:
            kept = pieces and statement.guard is None and base not in changed and not _packs(statement)
            lines, store = {(piece.line, changes) for piece in pieces}, statement.opcode == "st"
            had = Had(id(statement), store, pieces[0], changes, not lines.isdisjoint(stored)) if kept else None
            (stored.update if store else stored.difference_update)(lines)
            yield _Event(forgets, changes, changed, pieces, had, statement.opcode == "ld"), id(statement)


def _forgets(statement):
    """Whether nothing is known of shared memory behind a statement."""
    return statement.opcode != "ld" and may_change(statement)


def _packs(statement):
    """Whether it stores a vector of bytes or halves, of which loads are not said to have the value: some do."""
    return statement.opcode == "st" and isinstance(statement.operands[1], syntax.Vector) and plain_access(statement).size < 4


class Loads(NamedTuple):
    """gone: {id of a load whose value the thread has: the ids of the accesses by which it has}; wider: {id of such an access
    that has to load more for it: where that is, in bytes from where it begins}."""

    gone: dict[int, set[int]]
    wider: dict[int, set[int]]


def loads(flow: Flow, places: Places) -> Loads:
    """Those of which ptxas leaves out the first. places: of its function."""
    found: dict[int, frozenset[tuple[Had, Piece]]] = {}
    first, ahead_of = flow.first(may_change), flow.ahead(_forgets)
    stored = set[tuple[Piece, int]]()
    events = {block: [*_events(part, places, ahead_of[block], stored)] for block, part in flow.blocks.items()}
    inside = {access: block for block in events for _, access in events[block]}

    def is_seen(block, had):
        beside = flow.beside(block, had.piece.base)
        return had.stored or beside is None or inside[had.access] in beside or had.access in first

    def comes(block, had):
        known = block not in flow.behind_loops or had.access in first
        return known and had.changes == ahead_of[block] and (block not in flow.heads or not had.stored and not had.wider)

    before: dict[Piece, list[tuple[int, frozenset[Had]]]] = {}

    def through(block: int, ahead: _State) -> _State:
        state = ahead.at(block in flow.heads, lambda had: comes(block, had))
        if block == flow.order[0]:
            before.clear()
        for event, access in events[block]:
            found.pop(access, None)
            given = {piece: state.pieces.get(piece) or state.wide(piece, event.number, before)
                     for piece in event.pieces} if event.load else {}
            had = frozenset((one, piece) for piece, of in given.items() for one in of)
            if given and all(given.values()) and all(is_seen(block, one) for one, _ in had):
                found[access] = had
                state.pieces.update(given)
                continue
            state.go_past(event)
            for piece in event.pieces if event.had is not None else ():
                before.setdefault(piece, []).append((event.number, state.lines[piece.line]))
        return state

    if not flow.settled(through, _State({}, {})):
        return Loads({}, {})
    made = Loads({access: {one.access for one, _ in had} for access, had in found.items()}, {})
    for one, piece in frozenset().union(*found.values()):
        if one.wider:
            made.wider.setdefault(one.access, set()).add(piece.offset - one.piece.offset)
    return made
