"""A Program as arrays of numbers, which the compiled loop reads."""

from functools import cache
from typing import NamedTuple

import numpy as np

from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx.opcodes.control import Branch, Call, Exit, Return
from simlayout.machine.ptx.rows import Lanewise

SPECIAL, MOVE, COMPUTE, BRANCH, LOAD, STORE, JOIN, SPLIT, BARRIER, CALL, TAKE, RETURN, EXIT = range(13)
"""Kinds of steps: not compiled; a value as it is; arithmetic (`rows.compute`); a branch; plain memory; two registers made
one, and one two; a barrier of the whole CTA; a call of a function that is known, what takes its results, and its end; the
end of the thread."""

GLOBAL, SHARED, LOCAL, PARAMETERS = range(4)
"""Spaces of loads and stores; generic addresses are tried as global ones."""

_SPACES = {"global": GLOBAL, "const": GLOBAL, "": GLOBAL, "shared": SHARED, "local": LOCAL, "param": PARAMETERS}
_EXTENDED, _CUT = {"s8": 1, "s16": 2, "s32": 3}, {8: 4, 16: 5, 32: 6}
_INTEGERS = {f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)}
MOST_ELEMENTS = 8


class Encoded(NamedTuple):
    """The steps of a Program. Arrays by step:

    kinds: see above; code: of `rows.compute`; targets: of branches; operands: int32 [n, 7], rows of two results, four
    sources and the guard, -1 for none; hows: int64 [n, 7]: how sources are read (`executor._read`), at 2 to 5, and at 6
    whether the guard is negated; of loads and stores at 0 the space, at 1 the bytes of an element, at 2 how many, at 3 how
    one is read; of JOIN and SPLIT at 0 the bits of the low part; of BARRIER which; of CALL and RETURN the operands are the
    rows of where each lane returns to, and of whether it is inside (-1: nobody asks), and of CALL and TAKE at 2 and 3 the
    first of their copies, and one past the last; keeps: uint64, the bits that a result keeps; elements: int32 [n, 8], rows;
    offsets: int64; places: of the order; shared: whether it loads or stores shared memory; beside: whether others of its
    place are counted with it; global_bytes: int64, what each lane loads or stores of global memory.
    Not by step: copies: int64 [m, 5], what calls pass: the row (-1: local memory) and, in local memory, where it is, of a
    source and of a target, and the bytes.
    """

    kinds: np.ndarray
    code: np.ndarray
    targets: np.ndarray
    operands: np.ndarray
    hows: np.ndarray
    keeps: np.ndarray
    elements: np.ndarray
    offsets: np.ndarray
    copies: np.ndarray
    shared: np.ndarray
    beside: np.ndarray
    global_bytes: np.ndarray
    places: np.ndarray


def encoded(program, watched: bool) -> Encoded:
    """The Encoded of a Program. watched: whether somebody looks for hazards: then memory that can have some is SPECIAL."""
    if watched not in program.encoded:
        program.encoded[watched] = _encoded(program, watched)
    return program.encoded[watched]


def _encoded(program, watched):
    n = len(program.steps)
    made = Encoded(np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.full((n, 7), -1, np.int32),
                   np.zeros((n, 7), np.int64), np.zeros(n, np.uint64), np.full((n, MOST_ELEMENTS), -1, np.int32),
                   np.zeros(n, np.int64), np.zeros((0, 5), np.int64), *np.zeros((2, n), bool), np.zeros(n, np.int64),
                   np.array(program.places, np.int64))
    copies: list[tuple] = []
    for at, step in enumerate(program.steps):
        if step.guard is not None:
            made.operands[at, 6], made.hows[at, 6] = step.guard, step.negated
        if step.lanewise is not None:
            _arithmetic(made, at, step.lanewise)
        elif step.meets is not None and step.guard is None and ".red." not in step.name:
            made.kinds[at], made.hows[at, 0] = BARRIER, step.meets
        elif isinstance(step.jump, Branch):
            made.kinds[at], made.targets[at] = BRANCH, step.jump.targets[0][0]
        elif isinstance(step.jump, Return):
            made.kinds[at], made.operands[at, :2] = RETURN, _rows_of(step.jump.names)
        elif isinstance(step.jump, Exit):
            made.kinds[at] = EXIT
        elif step.moves is not None and not watched:
            _call(made, at, step, copies)
        elif step.memory is not None and (not watched or step.memory.space in ("param", "const")):
            _memory(made, at, step.memory)
        if step.memory is not None and step.memory.space in ("global", ""):
            made.global_bytes[at] = step.memory.size * len(step.memory.elements)
        made.beside[at] = step.beside is not None and len(step.beside) > 0
        made.shared[at] = step.memory is not None and step.memory.space == "shared"
    return made._replace(copies=np.array(copies, np.int64).reshape(-1, 5))


def _rows_of(function):
    """Where each lane of a function returns to, and whether it is inside."""
    return function.returns_to, -1 if function.inside is None else function.inside


def _call(made, at, step, copies):
    moves = [(source, target, min(source[2], target[2])) for source, target in step.moves()]
    if any(n not in (1, 2, 4, 8) and (source[0] is not None or target[0] is not None) for source, target, n in moves):
        return
    made.kinds[at] = TAKE
    if isinstance(step.jump, Call):
        made.kinds[at], made.targets[at], made.operands[at, :2] = CALL, step.jump.known.start, _rows_of(step.jump.known)
    made.operands[at, 2:4] = len(copies), len(copies) + len(moves)
    copies += [(*_from(source), *_from(target), n) for source, target, n in moves]


def _from(place):
    row, at, _ = place
    return (-1, at) if row is None else (row, 0)


def _arithmetic(made, at, lanewise: Lanewise):
    name, results, sources = lanewise.name, lanewise.results, lanewise.sources
    if name.startswith(("mov.2.from", "mov.2.to")):
        split = ".from." in name
        parts = results if split else sources
        made.kinds[at], made.hows[at, 0] = (SPLIT if split else JOIN), parts[0].held
        if any(place.held != width_of(place.type) for place in parts):
            made.kinds[at] = SPECIAL
    else:
        code = code_of(name, lanewise)
        if code is None or any(place.row is not None for place in results[1:]):
            return
        made.kinds[at], made.code[at] = (MOVE, 0) if code < 0 else (COMPUTE, code)
    for i, place in enumerate(results[:2]):
        made.operands[at, i] = -1 if place.row is None else place.row
    for i, place in enumerate(sources):
        made.operands[at, 2 + i] = place.row
        if made.kinds[at] not in (SPLIT, JOIN):
            made.hows[at, 2 + i] = _how(place)
    for i in range(len(sources), 4):                     # what is not there is read, and ignored
        if made.kinds[at] == COMPUTE:
            made.operands[at, 2 + i] = sources[0].row
    made.keeps[at] = (1 << results[0].held) - 1


def _how(place):
    if place.negated:
        return 7
    if place.type in _EXTENDED:
        return _EXTENDED[place.type]
    width = width_of(place.type)
    return _CUT[width] if place.held > width and width in _CUT else 0


def _memory(made, at, move):
    if len(move.elements) > MOST_ELEMENTS:
        return
    made.kinds[at] = STORE if move.store else LOAD
    made.operands[at, 2], made.offsets[at] = move.base, np.uint64(move.offset).astype(np.int64)
    first = move.elements[0]
    made.hows[at, :4] = _SPACES[move.space], move.size, len(move.elements), _EXTENDED.get(first.type, 0)
    made.keeps[at] = (1 << first.held) - 1
    for i, place in enumerate(move.elements):
        made.elements[at, i] = -1 if place.row is None else place.row
    if any(place.held != first.held for place in move.elements):
        made.kinds[at] = SPECIAL


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
    from simlayout.machine.ptx.compiled.generate import branches, meaning
    from simlayout.machine.ptx.opcodes.lanes import FORMS, lane_op

    opcode, *modifiers = name.split(".")
    if opcode not in FORMS:                              # what `lanewise.computed` makes
        return None
    found = branches().get(meaning(lane_op(opcode, tuple(modifiers))))
    return None if found is None else found[0]
