"""A Program as arrays of numbers, which the compiled loop reads."""

from functools import cache
from typing import NamedTuple

import numpy as np

from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.engine.sectors import taken_of
from simlayout.machine.hazards.touches import is_cached
from simlayout.machine.ptx.lowering.program import ROOM
from simlayout.machine.ptx.memory.held import address_of, numbers
from simlayout.machine.ptx.opcodes.control import Branch, Call, Exit, Return
from simlayout.machine.ptx.opcodes.rows import Lanewise

(SPECIAL, MOVE, COMPUTE, BRANCH, LOAD, STORE, JOIN, SPLIT, BARRIER, CALL, TAKE, RETURN, EXIT, EXCHANGE, MATRICES,
 PRODUCT) = range(16)
"""Kinds of steps: not compiled; a value as it is; arithmetic (`rows.compute`); a branch; plain memory; two registers made
one, and one two; a barrier of the whole CTA; a call of a function that is known, what takes its results, and its end; the
end of the thread; what all lanes of a warp do together (`exchanges`); ldmatrix; mma."""

EXCHANGES = "sync", "up", "down", "bfly", "idx", "all", "any", "uni", "ballot"
"""What that may be, by its code."""

GLOBAL, SHARED, LOCAL, PARAMETERS, GENERIC = range(5)
"""Spaces of loads and stores; of the last one the addresses tell."""

_SPACES = {"global": GLOBAL, "const": GLOBAL, "": GENERIC, "shared": SHARED, "local": LOCAL, "param": PARAMETERS}
AS_IT_IS, FROM_S8, FROM_S16, FROM_S32, CUT_TO_8, CUT_TO_16, CUT_TO_32, NEGATED = range(8)
"""How a source is read: extended with its sign, or cut, from or to so many bits; or a predicate that is negated."""

_EXTENDED, _CUT = {"s8": FROM_S8, "s16": FROM_S16, "s32": FROM_S32}, {8: CUT_TO_8, 16: CUT_TO_16, 32: CUT_TO_32}
_INTEGERS = {f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)}
MOST_ELEMENTS = 8
_ANY = (1 << 63) - 1

(KIND, CODE, TARGET, PLACE, GUARD, FLIP, KEEP, ALTERED, RESULT, SECOND, A, B, C, D, HOW_A, HOW_B, HOW_C, HOW_D, SPACE, SIZE,
 COUNT, HOW, OFFSET, FIRST, LAST, CACHED, LIKE, CARRIED, WATCHES, ELEMENTS) = range(30)
FIELDS = ELEMENTS + MOST_ELEMENTS
"""What the table says of a step: its kind; code: of `rows.compute`, of BARRIER which one; the target of a branch or a call;
its place in the order; the row of its guard (-1: none), and whether that is negated; the bits that a result keeps; whether
a source is altered when it is read; the rows of two results and four sources (-1: none), and how the sources are read.
Of loads and stores the space, the bytes of an element, how many, how one is read, what is added to the address, the least
and the last address that it may have in shared memory, whether it reads a cache of what nobody writes, a number that all
of one line and one name have (0: two that store one value are in doubt), `Move.carried`, and the rows of the elements; of
arithmetic the accumulators that it watches (`Step.watches`); of JOIN and SPLIT, at SIZE, the bits of the low part. Of
MATRICES the code says whether they are transposed, and the count how many there are; of PRODUCT the offset is where its
function is, and FIRST where that is which says how it is made (`products`). Of EXCHANGE the fourth source is the
membermask, and FLIP says whether a vote is on what is not so. Of CALL and RETURN the results are the rows of where each
lane returns to, and of whether it is inside (-1: nobody asks); of CALL and TAKE the first two sources are the first of
their copies, and one past the last."""


class Encoded(NamedTuple):
    """The steps of a Program.

    table: int64 [n + 1, FIELDS]; copies: int64 [m, 5], what calls pass: the row (-1: local memory) and, in local memory,
    where it is, of a source and of a target, and the bytes. end: the place past the end; registers: how many rows of
    registers there are, behind which is scratch; numbers: of all of these, as `held.numbers` has them. By step: shared:
    whether it loads or stores shared memory; beside: whether others of its place are counted with it; global_bytes: int64,
    what each lane loads or stores of global memory, and taken: with those others. counts_shared, counts_beside: whether
    there are any of these. kept: what products are called with.
    """

    table: np.ndarray
    copies: np.ndarray
    end: int
    registers: int
    numbers: np.ndarray
    shared: np.ndarray
    beside: np.ndarray
    global_bytes: np.ndarray
    taken: np.ndarray
    counts_shared: bool
    counts_beside: bool
    kept: list[np.ndarray]

    @property
    def kinds(self) -> np.ndarray:
        """int64 [n + 1]."""
        return self.table[:, KIND]


TABLE, COPIES, END, REGISTERS = range(4)
"""Where `Encoded.numbers` has them."""


def encoded(program, watched: bool, clocked: bool = False) -> Encoded:
    """The Encoded of a Program. watched: whether somebody looks for hazards: then memory that can have some is SPECIAL;
    clocked: whether clocks say who is ordered with whom: then what makes lanes know one another is."""
    key = watched, clocked or watched
    if key not in program.encoded:
        program.encoded[key] = _encoded(program, *key)
    return program.encoded[key]


def _encoded(program, watched, clocked):
    n = len(program.steps)
    table = np.zeros((n + 1, FIELDS), np.int64)
    table[:, [GUARD, RESULT, SECOND, A, B, C, D, *range(ELEMENTS, FIELDS)]] = -1
    table[:, PLACE] = program.places
    shared, beside, (global_bytes, taken) = np.zeros(n, bool), np.zeros(n, bool), np.zeros((2, n), np.int64)
    rows = _Rows(program, watched, clocked)
    for at, (step, row) in enumerate(zip(program.steps, table)):
        rows.enter(step, row)
        if step.memory is not None and step.memory.space in ("global", "") and step.joined != ():
            global_bytes[at] = step.memory.size * len(step.memory.elements)
            taken[at] = taken_of(global_bytes[at], step.beside)
        beside[at] = step.beside is not None and len(step.beside) > 0
        shared[at] = step.memory is not None and step.memory.space in ("shared", "") or row[KIND] == MATRICES
    for column, kinds in ((RESULT, (MOVE, COMPUTE, JOIN, EXCHANGE)), (SECOND, (EXCHANGE,))):
        table[np.isin(table[:, KIND], kinds) & (table[:, column] < 0), column] = rows.unwanted
    made = table, np.array(rows.copies, np.int64).reshape(-1, 5), program.places[-1], program.rows
    return Encoded(*made, numbers(made), shared, beside, global_bytes, taken, bool(shared.any()), bool(beside.any()),
                   rows.kept)


class _Rows:
    """What the table says of steps, one after another. unwanted: the row of results that nobody wants; copies, kept: as of
    an Encoded."""

    def __init__(self, program, watched, clocked):
        self.unwanted, self._watched, self._clocked = program.rows + ROOM - 1, watched, clocked
        self.copies: list[tuple] = []
        self.kept: list[np.ndarray] = []
        self._alike: dict[tuple, int] = {}               # a number for each line and name
        self._copies_come = any(step.name.startswith("cp.async") for step in program.steps)    # at barriers: `opcodes.warps`

    def enter(self, step, row):
        """Enters a step into its row, which stays SPECIAL where it is not compiled."""
        if step.guard is not None:
            row[GUARD], row[FLIP] = step.guard, step.negated
        if step.lanewise is not None:
            _arithmetic(row, step.lanewise)
            row[WATCHES] = step.watches
        elif step.meets is not None and step.guard is None and ".red." not in step.name and not self._copies_come:
            row[KIND], row[CODE] = BARRIER, step.meets
        elif isinstance(step.jump, Branch):
            row[KIND], row[TARGET] = BRANCH, step.jump.targets[0][0]
        elif isinstance(step.jump, Return):
            row[KIND], (row[RESULT], row[SECOND]) = RETURN, _rows_of(step.jump.names)
        elif isinstance(step.jump, Exit):
            row[KIND] = EXIT
        elif step.exchange is not None and step.guard is None and not self._clocked:
            _exchange(row, step.exchange)
        elif step.product is not None:
            _product(row, step.product, self.unwanted, self.kept)
        elif step.matrices is not None and not self._watched:
            _matrices(row, step.matrices)
        elif step.moves is not None and not self._watched:
            _call(row, step, self.copies)
        elif step.memory is not None and (not self._watched or step.memory.space in ("param", "const")):
            self._memory(step, row)

    def _memory(self, step, row):
        _memory(row, step.memory)
        row[CACHED], row[CARRIED] = is_cached(step.name), step.memory.carried
        if step.memory.space and ".volatile" not in step.name:
            key = step.site, step.name, step.memory.space
            row[LIKE] = self._alike.setdefault(key, len(self._alike) + 1)


def _rows_of(function):
    """Where each lane of a function returns to, and whether it is inside."""
    return function.returns_to, -1 if function.inside is None else function.inside


def _call(row, step, copies):
    moves = [(source, target, min(source[2], target[2])) for source, target in step.moves()]
    if any(n not in (1, 2, 4, 8) and (source[0] is not None or target[0] is not None) for source, target, n in moves):
        return
    row[KIND] = TAKE
    if isinstance(step.jump, Call):
        row[KIND], row[TARGET] = CALL, step.jump.known.start
        row[RESULT], row[SECOND] = _rows_of(step.jump.known)
    row[A], row[B] = len(copies), len(copies) + len(moves)
    copies += [(*_from(source), *_from(target), n) for source, target, n in moves]


def _from(place):
    row, at, _ = place
    return (-1, at) if row is None else (row, 0)


def _arithmetic(row, lanewise: Lanewise):
    name, results, sources = lanewise.name, lanewise.results, lanewise.sources
    if name.startswith(("mov.2.from", "mov.2.to")):
        split = ".from." in name
        parts = results if split else sources
        row[KIND], row[SIZE] = (SPLIT if split else JOIN), parts[0].held
        if any(place.held != width_of(place.type) for place in parts):
            row[KIND] = SPECIAL
    else:
        code = code_of(name, lanewise)
        if code is None or any(place.row is not None for place in results[1:]):
            return
        row[KIND], row[CODE] = (MOVE, 0) if code < 0 else (COMPUTE, code)
    _put(row, RESULT, results[:2])
    row[A:D + 1] = sources[0].row                        # what is not there is read, and ignored
    for i, place in enumerate(sources):
        row[A + i] = place.row
        if row[KIND] not in (SPLIT, JOIN):
            row[HOW_A + i] = _how(place)
    row[ALTERED] = row[HOW_A:HOW_D + 1].any()
    row[KEEP] = _kept(results[0].held)


def _put(row, field, places):
    """Rows of registers from a field on, -1 where nothing is wanted."""
    for i, place in enumerate(places):
        row[field + i] = -1 if place.row is None else place.row


def _put_bounds(row, within, nbytes):
    """Between which addresses an access of so many bytes may be."""
    row[FIRST], row[LAST] = (0, _ANY) if within is None else (within.first, within.end - nbytes)


def _kept(bits):
    return np.uint64((1 << bits) - 1).astype(np.int64)


def _how(place):
    if place.negated:
        return NEGATED
    if place.type in _EXTENDED:
        return _EXTENDED[place.type]
    width = width_of(place.type)
    return _CUT[width] if place.held > width and width in _CUT else AS_IT_IS


def _memory(row, move):
    if len(move.elements) > MOST_ELEMENTS:
        return
    first = move.elements[0]
    row[KIND] = STORE if move.store else LOAD
    row[A], row[OFFSET] = move.base, np.uint64(move.offset).astype(np.int64)
    row[SPACE], row[SIZE], row[COUNT] = _SPACES[move.space], move.size, len(move.elements)
    _put_bounds(row, move.within, move.size * len(move.elements))
    row[HOW], row[KEEP] = _EXTENDED.get(first.type, AS_IT_IS), _kept(first.held)
    _put(row, ELEMENTS, move.elements)
    if any(place.held != first.held for place in move.elements):
        row[KIND] = SPECIAL


def _matrices(row, matrices):
    row[KIND], row[CODE], row[COUNT] = MATRICES, matrices.name.endswith(".trans"), len(matrices.registers)
    row[A], row[OFFSET], row[SPACE], row[SIZE] = matrices.base, matrices.offset, SHARED, 16
    _put_bounds(row, matrices.within, 16)
    _put(row, ELEMENTS, matrices.registers)


def _product(row, product, unwanted, kept):
    from simlayout.machine.ptx.compiled.products import made
    from simlayout.numerics import warp_mma

    mma, places = warp_mma(product.name), (*product.operands, *product.registers)
    if any(place.held != 8 * mma.word.itemsize for place in places):
        return
    row[OFFSET], what = made(mma, [unwanted if place.row is None else place.row for place in places])
    row[KIND], row[FIRST] = PRODUCT, address_of(what)
    kept.append(what)


def _exchange(row, exchange):
    row[KIND], row[CODE], row[D] = EXCHANGE, EXCHANGES.index(exchange.kind), exchange.member
    row[A:D] = exchange.member                           # what is not there is read, and ignored
    row[A:A + len(exchange.sources)] = exchange.sources
    row[FLIP] = exchange.negated
    _put(row, RESULT, exchange.results)


def code_of(name: str, lanewise: Lanewise) -> int | None:
    """The number of an instruction in `rows.compute`: -1 where the value stays as it is, None if it is not there."""
    if name == "mov":
        return -1
    opcode, *modifiers = name.split(".")
    if opcode == "cvt" and len(modifiers) == 2 and set(modifiers) <= _INTEGERS:
        to, of = modifiers
        narrower = width_of(to) < lanewise.results[0].held
        return None if narrower and (to[0] == "s" or width_of(to) < width_of(of)) else -1
    return _code(name)


@cache
def _code(name):
    from simlayout.machine.ptx.compiled.instructions import branches, meaning
    from simlayout.machine.ptx.opcodes.lanes import FORMS, lane_op

    opcode, *modifiers = name.split(".")
    if opcode not in FORMS:                              # what `lanewise.computed` makes
        return None
    found = branches().get(meaning(lane_op(opcode, tuple(modifiers))))
    return None if found is None else found[0]
