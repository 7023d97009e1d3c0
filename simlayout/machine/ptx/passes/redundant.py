"""Loads of shared memory of which the thread has the value already, and stores that another one of it replaces: ptxas leaves
them out of the machine code.

Seen in the SASS of ptxas 13.0. A load goes if on all ways to it loads or stores have had the place (`had`), and
nothing between may change shared memory, or order it: no other store to it, not even of the same base, no atomic on it,
copy, barrier or fence, and no call, of which division makes some. Exchanges of lanes, loads, accesses of global memory and
branches change nothing. What has been stored is forgotten where a loop begins, what has been loaded where one has ended,
unless it was loaded ahead of all that may change shared memory, and behind some heads of loops (`Flow.beside`). A store goes
if the next access of shared memory in its basic block that stays is a store to the same place; where lanes may have parted,
by what `alike` says of branches, an exchange of lanes between the two keeps it, as there ptxas puts a WARPSYNC ahead of the
exchange. Of three stores to a place, the third behind a barrier, all stay.

A thread that keeps its own elements in shared memory does so: it stores them, exchanges sums with the lanes of its warp, and
loads them again.

And two stores that it makes one of: one ahead of a branch, one of another value behind it.

    s[t] = 0; if (i < n) s[t] = x[i];

ptxas stores where the lanes meet again, what either way has left in a register. The store ahead counts as that one here, for
all lanes, and the one in the branch counts nothing. It does so with all stores of
the block ahead together, if those of the branch go to the same places in the same order, if nothing but them touches shared
memory from the first of them to where the lanes meet (loads ahead of them do not matter), if no branch is in that branch
(what a guard keeps from memory is one), and if more than straight code follows, or the branch leads into the stores.
"""

from collections import Counter
from collections.abc import Mapping, Set

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import becomes_branches, is_shared_load, keeps_apart, plain_access
from simlayout.machine.ptx.passes.alike import Alike
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.had import Loads, Places, loads
from simlayout.machine.ptx.passes.joined import Joined
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.statements import Statements, instructions

_ORDERED = {"acquire", "commit_group"}
"""Modifiers of what keeps two stores apart, besides what keeps them from being joined."""
_EXCHANGES = {"shfl", "vote", "match", "redux", "elect"}


def redundant_accesses(function: syntax.Function, known: Known, alike: Alike, unread: Set[int]) -> Loads:
    """Those of a function, stores too. known: what is known of its registers; alike: which of them are the same in all
    lanes; unread: the ids of loads that are not executed.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<5>;\\nst.shared.b32 [%r1], %r2;\\n"
    >>> text += "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\\nld.shared.b32 %r4, [%r1];\\nadd.u32 %r4, %r4, %r3;\\n"
    >>> text += "st.shared.b32 [%r1], %r4;\\nbar.sync 0;\\nld.shared.b32 %r4, [%r1];\\nst.global.b32 [0], %r4; ret; }"
    >>> function = parse(text).functions["k"]
    >>> gone = redundant_accesses(function, Known(function), Alike(function), set()).gone
    >>> [statement.text for statement in function.body if id(statement) in gone]
    ['st.shared.b32 [%r1], %r2;', 'ld.shared.b32 %r4, [%r1];']
    """
    places = Places(instructions(function.body), known, unread)
    if not places.of:
        return Loads({}, {})
    flow = Flow.of(function)
    gone, wider = loads(flow, places)
    return Loads(gone | dict.fromkeys(_replaced(flow, places, gone, alike), set()), wider)


def _replaced(flow, places, gone, alike):
    """The ids of stores that another one in their basic block replaces. gone: those of loads that are left out."""
    found = [(id(store), block, exchanges) for block, part in flow.blocks.items()
             for store, exchanges in _pairs(part, places, gone)]
    parted = set()
    if any(exchanges for *_, exchanges in found):
        parted.update(*(region for _, region in flow.regions(lambda branch: alike(branch, branch.guard))))
    return {store for store, block, exchanges in found if not exchanges or block not in parted}


def _pairs(part, places, gone):
    """(a store, whether lanes exchange something between it and the one that replaces it) in a basic block. ptxas looks from
    the end: the last store to a place replaces those ahead of it, up to where something keeps them apart."""
    last: dict = {}                                      # pieces -> [nothing keeps it apart from here, lanes exchange]
    for statement in reversed(part):
        if id(statement) in gone:
            continue
        pieces = places.pieces(statement) if statement.opcode == "st" and statement.guard is None else ()
        near, exchanges = last.get(pieces, (False, False))
        if pieces and near:
            yield statement, exchanges
            continue
        changed = {*statement.writes}
        apart = keeps_apart(statement, True) or not _ORDERED.isdisjoint(statement.modifiers)
        for other, known in last.items():
            known[0] = known[0] and not apart and other[0].base not in changed
            known[1] = known[1] or statement.opcode in _EXCHANGES
        if pieces:
            last.setdefault(pieces, [True, False])


def stored_again(body: Statements, known: Known, wholes: Mapping[int, tuple[Joined, ...]]) -> set[int]:
    """The ids of stores in branches that count nothing. known: what is known of their function's registers; wholes: what
    loads and stores count as, of `joined`.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<3>; .reg .pred %p; "
    >>> text += "st.shared.b32 [%r1], %r1; @%p bra L; st.shared.b32 [%r1], %r2; L: bar.sync 0; @%p ret; ret; }"
    >>> function = parse(text).functions["k"]
    >>> stored_again(function.body, Known(function), {}) == {id(function.body[2])}
    True
    """
    ways = Counter(name for statement in body for name in statement.symbols)
    places = {s.name: at for at, s in enumerate(body) if isinstance(s, syntax.Label) and ways[s.name] == 1}
    found: set[int] = set()
    for at, branch in enumerate(body):
        if branch.opcode == "bra":
            meet = places.get(getattr(branch.operands[0], "name", ""), at)
            if at > 0 and _leads_over(body[at - 1], at + 1, places):
                found.update(_stores_of(body[:at - 1], body[at + 2:meet], known, wholes))
            elif _goes_on(body[meet + 1:]):
                found.update(_stores_of(body[:at], body[at + 1:meet], known, wholes))
    return found


def _leads_over(statement, to, places):
    """Whether a statement is a branch under a guard to the label at a place, to which nothing else leads: over the next one,
    as in `@%p bra $in; bra $on; $in: ... $on:`."""
    return (statement.opcode == "bra" and statement.guard is not None
            and places.get(getattr(statement.operands[0], "name", "")) == to)


def _stores_of(ahead, inside, known, wholes):
    """The ids of the stores inside a branch if each stores again what one ahead of it has stored; else none."""
    again = _stores_inside(inside)
    first = _stores_ahead(ahead)
    stored, restored = _accesses(first, known, wholes), _accesses(again, known, wholes)
    if not first or len(stored) != len(restored) or not all(map(_covers, stored, restored)):
        return ()
    start = next(at for at, statement in enumerate(ahead) if statement is first[0])
    changed = {name for statement in (*ahead[start:], *inside) for name in statement.writes}
    return () if changed & {base for base, *_ in stored} else map(id, again)


def _stores_inside(inside):
    """The stores of shared memory of a branch that may be made once; [] if anything else is there that keeps them."""
    found = []
    for statement in inside:
        if _is_store(statement):
            found.append(statement)
        elif keeps_apart(statement, True):
            return []
    return found


def _stores_ahead(ahead):
    """The stores of shared memory in the basic block that ends here; [] if anything else is between or behind them."""
    found, loads = [], False
    for statement in reversed(ahead):
        if _is_store(statement):
            if loads:
                return []
            found.append(statement)
        elif is_shared_load(statement) and statement.guard is None:
            loads = True
        elif keeps_apart(statement, True):
            break
    return found[::-1]


def _accesses(stores, known, wholes):
    """[(name of the base, where it begins from there, bytes of an element, bytes)] of what stores count as."""
    found = []
    for store in stores:
        plain = plain_access(store)
        base, offset = known.where(plain.address)
        itself = Joined(plain.size * len(plain.elements), 0)
        found += [(base, offset + whole.shift, plain.size, whole.bytes) for whole in wholes.get(id(store), (itself,))]
    return found


def _covers(stored, restored):
    """Whether an access begins where another does, in elements of one size, and is no smaller."""
    return stored[:3] == restored[:3] and stored[3] >= restored[3]


def _goes_on(behind):
    """Whether more than straight code follows: a place where lanes part or meet."""
    return any(isinstance(s, syntax.Label) or s.opcode == "call" or becomes_branches(s, True) for s in behind)


def _is_store(statement):
    """Whether it is a plain store of shared memory that all lanes execute."""
    plain = plain_access(statement)
    return plain is not None and plain.store and statement.guard is None
