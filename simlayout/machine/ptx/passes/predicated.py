"""Equal loads that become one where ptxas puts the arms of a branch under predicates.

    if (i < n) x = table[k]; else y = 2 * table[k];        // @P0 and @!P0 LDG are one for all lanes, ahead of both
    if (i < n) x = table[k]; z += table[k];                // so are @P0 LDG and LDG

Seen in the SASS of ptxas 13.0, which has one basic block then of the branch, its arms and what is behind it: of two loads
from one place those of the arms of one branch, or one of an arm and one that all lanes execute. Not those of arms of two
branches, nor where the branch stays one (`Lines`). So with constant loads (`.nc`) wherever they are, and with others if
nothing ahead of them in that block may change their memory, but for what stands ahead of its first branch, where the kernel
does not begin there. What has been joined is equal as a whole.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import NamedTuple

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import ENDS, STRONG, may_change, plain_access
from simlayout.machine.ptx.passes.ends import may_change_global
from simlayout.machine.ptx.passes.joined import Joined
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.lines import Lines
from simlayout.machine.ptx.passes.statements import COMPUTES, Statements

_SPACES = "ld.global.nc", "ld.global", "ld.shared"
"""How loads of memory begin of which ptxas knows different things to change it; nothing that of the first."""


class _Arms(NamedTuple):
    """at, end: where a branch is that ptxas replaces by predicates, and the label where its ways meet; parts: where the
    statements of its arms are."""

    at: int
    end: int
    parts: tuple[range, ...]


class _Load(NamedTuple):
    """at: where it is; changes: how often its memory and the register of its address may have changed up to it in its block;
    arms: of which branch it is in an arm; arm: in which of them."""

    at: int
    changes: tuple[int, int]
    arms: _Arms | None = None
    arm: int = 0


def once(function: syntax.Function, known: Known, counts: Mapping[int, tuple[Joined, ...]],
         stay: Set[int]) -> tuple[Statements, set[int]]:
    """(the statements of a function with those of such loads ahead of the branch that count for two arms, the ids of those
    that count nothing). known: of its registers; counts: what loads count as; stay: the ids of loads that are left as they
    are.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<4>; .reg .b64 %a; .reg .pred %p; "
    >>> text += "@%p bra E; ld.global.b32 %r1, [%a]; bra M; E: ld.global.b32 %r2, [%a]; M: st.global.b32 [%a], %r1; ret; }"
    >>> function = parse(text).functions["k"]
    >>> body, gone = once(function, Known(function), {}, set())
    >>> [one.opcode for one in body][:3], len(gone)
    (['ld', 'bra', 'bra'], 1)
    """
    body = function.body or ()
    equal = _equal_loads(body, known, counts, stay)
    if not equal:
        return body, set()
    lines = Lines.of(function, {}, known)
    lines.gone.update(one for one, accesses in counts.items() if not accesses)
    ahead: dict[int, list[int]] = {}
    gone: set[int] = set()
    for loads in _straight(lines, equal):
        for what in {(equal[load.at], load.changes) for load in loads}:
            _merge([load for load in loads if (equal[load.at], load.changes) == what], lines, ahead, gone)
    moved = {at for places in ahead.values() for at in places}
    made = (body[one] for at in range(len(body)) for one in (*ahead.get(at, ()), *(() if at in moved else (at,))))
    return [*made], {id(body[at]) for at in gone}


def _equal_loads(body, known, counts, stay):
    """{where a load is: what it loads}, of those that load what others do."""
    found = {}
    for at, one in enumerate(body):
        accesses = counts.get(id(one), (Joined(0, 0),))
        if len(accesses) == 1 and id(one) not in stay and _is_plain(one):
            base, offset = known.where(one.operands[1])
            plain, made = plain_access(one), accesses[0]      # of 16 bytes two numbers of 8 are not what four of 4 are
            found[at] = (made.bytes, plain.size) if made.bytes and plain else one.name, base, offset + made.shift
    times = Counter(found.values())
    return {at: what for at, what in found.items() if times[what] > 1}


def _is_plain(one):
    """Whether it is a load of shared or global memory that all lanes execute."""
    plain = one.name.startswith("ld.global") and STRONG.isdisjoint(one.modifiers) or plain_access(one) is not None
    return plain and one.opcode == "ld" and one.guard is None


def _straight(lines: Lines, equal: Mapping[int, tuple]) -> Iterator[list[_Load]]:
    """The loads of each basic block as ptxas has it when arms are under predicates, which are equal if their `changes` are,
    too."""
    starts = {arms.at: arms for arms in _predicated(lines)}
    loads, changes, writes, head = list[_Load](), [0, 0, 0], Counter[str](), False
    inside, within = dict[int, tuple[_Arms, int]](), set[int]()
    for at, one in enumerate(lines.body):
        if at in starts:
            arms, head = starts[at], False
            inside |= {place: (arms, arm) for arm, part in enumerate(arms.parts) for place in part}
            within.update(place for place in range(at, arms.end + 1) if lines.body[place].opcode in ("", "bra"))
        if at in equal:
            space = next(i for i, space in enumerate(_SPACES) if one.name.startswith(space))
            if changes[space] >= 0:
                loads.append(_Load(at, (changes[space], writes[equal[at][1]]), *inside.get(at, ())))
            writes.update(one.may_write)
        elif at not in within and (one.opcode in {"", "fence", "membar", *syntax.BRANCHES} or not one.falls):
            yield loads
            loads, changes, writes, head = [], [0, 0, 0], Counter(), True
        elif isinstance(one, syntax.Instruction):
            writes.update(one.may_write)
            for space, may in enumerate((None, may_change_global, may_change)):
                if may is not None and may(one):
                    changes[space] = changes[space] + 1 if head else -1
    yield loads


def _predicated(lines):
    """The _Arms of the branches that ptxas replaces by predicates."""
    for end in lines.labels.values():
        first = max(lines.skipped_from(end), lines.either_from(end))
        if first < 0 or any(lines.body[at].opcode in ENDS - {"", "bra"} for at in range(first + 1, end)):
            continue
        parts, start = [], first + 1
        for at in range(first + 1, end + 1):
            if lines.body[at].opcode in ("", "bra"):
                parts += [range(start, at)] if at > start else []
                start = at + 1
        yield _Arms(first, end, tuple(parts))


def _merge(loads, lines, ahead, gone):
    """Of equal loads of a basic block: which of them count nothing, and which come ahead of a branch."""
    first, *others = loads
    for load in others:
        if first.arms is None or (load.arms, load.arm) == (first.arms, first.arm):
            gone.add(load.at)
        elif load.arms is None:
            gone.add(first.at)
            first = load
        elif load.arms == first.arms:
            places = _with_address(lines, first)
            if places is not None:
                ahead.setdefault(first.arms.at, []).extend(one for one in places if one not in ahead[first.arms.at])
                gone.add(load.at)
                first = _Load(first.at, first.changes)


def _with_address(lines, load):
    """Where a load is, behind those of its arm that make its address, if they can all be ahead of the branch; else None."""
    [part] = [part for part in load.arms.parts if load.at in part]
    wanted, places = {*lines.body[load.at].reads}, [load.at]
    for at in range(load.at - 1, part.start - 1, -1):
        one = lines.body[at]
        if not wanted.isdisjoint(one.may_write):
            if one.guard is not None or one.opcode not in COMPUTES:
                return None
            wanted.update(one.reads)
            places.insert(0, at)
    return places if all(_is_free(lines, load.arms, at, name) for at in places for name in lines.body[at].writes) else None


def _is_free(lines, arms, at, name):
    """Whether a register may have ahead of the branch what a statement in one of its arms writes: nothing reads there what
    it was, and the other arm writes it as well, or nothing else does."""
    written = False
    for part in arms.parts:
        before = [lines.body[one] for one in part if at not in part or one < at]
        writes = next((i for i, one in enumerate(before) if name in one.writes and one.guard is None), len(before))
        if at in part and writes < len(before) or any(name in one.reads for one in before[:writes]):
            return False
        written |= writes < len(before)
    alone = lines.known.made(syntax.Register(name, "")) is lines.body[at]
    return (written or alone) and name not in lines.body[arms.at].reads
