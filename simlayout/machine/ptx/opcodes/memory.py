"""Loads, stores and atomics (PTX ISA, Data Movement and Conversion Instructions)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.hazards.scopes import is_sequential, reach_of
from simlayout.machine.hazards.touches import RELAXED
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.memory.local import Manner
from simlayout.machine.ptx.opcodes.atoms import SCOPES, atomic
from simlayout.machine.ptx.opcodes.groups import elements, window
from simlayout.machine.ptx.opcodes.rows import Place, writer

_ORDERS = {"weak", "relaxed", "acquire", "release", "volatile", "mmio"}
_MOVES = {"weak", "volatile"}
"""Orders of what is a Move as well: what barriers do not order is then looked at closely, and volatile orders nothing."""
_HINTS = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified", *SCOPES, *syntax.VECTORS, *syntax.SPACES}


class Bounds(NamedTuple):
    """first, end: the bytes of shared memory that an access may touch; name: of the array, for a message."""

    first: int
    end: int
    name: str


class Form:
    """What the modifiers of a load or store say. space: "" if generic; order: "weak" if none; count, type: of the
    elements."""

    def __init__(self, instruction):
        self.space, self.order = window(instruction), "weak"
        self.count, self.type = instruction.count, instruction.modifiers[-1]
        for modifier in instruction.modifiers[:-1]:
            if modifier in _ORDERS:
                self.order = modifier
            elif modifier not in _HINTS and not modifier.startswith(("L1::", "L2::", "level::")):
                raise MachineError(f"the machine has no .{modifier} here")
        if width_of(self.type) < 8:
            raise MachineError(f"memory holds no .{self.type}")
        self.strong = self.order != "weak"
        self.bytes = 8 if self.type == "b128" else width_of(self.type) // 8


def _elements(operand, form):
    """The operands of the elements, one or those of a vector; b128 counts as two of b64."""
    found = operand.operands if isinstance(operand, syntax.Vector) else (operand,)
    if len(found) != form.count:
        raise MachineError(f"{len(found)} registers for {form.count} elements")
    return found


def _address(operand, form, names):
    """(space, row, offset as uint64) of an operand in brackets."""
    row, offset = names.address(operand)
    space = names.space_of(operand)
    if form.space and (form.space, space) != ("param", "local"):             # parameters of a call are local memory
        space = form.space
    return space, row, np.uint64(offset & 0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Move:
    """A load (store: False) or a store of plain memory. base, offset: the row of the address and bytes to add; elements:
    Places, of `size` bytes each; within: the Bounds of its address, or None; used: (bytes of an element, those whose values
    are used), None if all are; carried: 1 of a load whose values are only moved, 2 where they do not leave the thread's own
    memory either."""

    store: bool
    space: str
    base: int
    offset: int
    elements: tuple[Place, ...]
    size: int
    within: Bounds | None
    used: tuple[int, list[int]] | None = None
    carried: int = 0

    @property
    def name(self) -> str:
        """What it is called where it accesses shared memory."""
        return f"{'st' if self.store else 'ld'}{'.shared' * bool(self.space)}.b{8 * self.size * len(self.elements)}"


def load(instruction, names):
    """ld, ldu: elements from memory."""
    form = Form(instruction)
    target, address = instruction.operands[:2]
    space, row, offset = _address(address, form, names)
    type = "b64" if form.type == "b128" else form.type
    places = names.wide(target) if form.type == "b128" else [names.result(one, type) for one in _elements(target, form)]
    total = form.bytes * len(places)
    signed = type[0] == "s"
    dtype, extended = np.dtype(f"{'i' if signed else 'u'}{form.bytes}"), np.int64 if signed else np.uint64
    results = [(place.row, writer(Place(place.row, "s64" if signed else "b64", place.held))) for place in places]
    polls = id(instruction) in names.waits
    order = RELAXED if polls or id(instruction) in names.guesses | names.looks else form.order
    how = Manner(order, _used(target, form, names), _carried(target, places, names), _needed(instruction, names))
    within = names.bounds(address, total, how.used)

    def run(warp):
        if polls:
            warp.may_try_again()
        addresses = warp.rows[row] + offset
        data = warp.load(space, addresses, total, how)
        if form.strong:
            warp.strong_access(space, addresses,
                               lambda place, lane: warp.strong_load(place, lane, data[lane].tobytes(), form.order))
            warp.looked()
        values = data.view(dtype)
        for i, (to, bits) in enumerate(results):
            if to is not None:
                warp.put_bits(to, bits(values[:, i].astype(extended)))

    carried = 1 + names.stays(target) if how.carried else 0
    move = Move(False, space, row, int(offset), tuple(places), form.bytes, within, how.used, carried)
    return {"run": run, "memory": move if how.order in _MOVES else None, "within": within, "waits": polls}


def _used(target, form, names):
    """(bytes of a register of up to 32 bits, those that something reads) of a load that has others too: compilers make one
    load of three neighbours by adding a fourth. None if all are read, or none."""
    if form.type == "b128":
        return None
    parts = 1 + (form.bytes == 8)
    halves = [0 if names.known.unread(one) else names.known.halves(one) if parts > 1 else 1 for one in elements(target)]
    read = [parts * i + half for i, one in enumerate(halves) for half in range(parts) if one >> half & 1]
    return None if len(read) in (0, parts * form.count) else (form.bytes // parts, read)


def _needed(load, names):
    """[(the row of a predicate, what it is not)], in lanes of which alone what a load reads is stored."""
    guards = [(guard, getattr(guard, "register", guard)) for guard in names.idle.loads.get(id(load), ())]
    return tuple((names.register(plain), int(plain is not guard)) for guard, plain in guards)


def _carried(target, places, names):
    """The rows of a target whose elements are only moved, else ()."""
    elements = target.operands if isinstance(target, syntax.Vector) else (target,)
    alone = all(names.carried.is_carried(element) for element in elements)
    return tuple(place.row for place in places if place.row is not None) if alone else ()


def store(instruction, names):
    """st: elements to memory."""
    form = Form(instruction)
    address, value = instruction.operands[:2]
    space, row, offset = _address(address, form, names)
    places = names.wide(value) if form.type == "b128" else [names.source(one, form.type) for one in _elements(value, form)]
    rows = [place.row for place in places]
    origins = [names.lowering.row(names.function.name, name) for name in sorted(names.carried.origins(value))]
    width, within = 16 if form.type == "b128" else form.bytes, names.bounds(address)
    rounded = {names.known.rounded(one) for one in _elements(value, form)}

    def run(warp):
        data = np.empty((32, len(rows)), f"u{form.bytes}")
        for i, source in enumerate(rows):
            data[:, i] = warp.rows[source]
        addresses, data = warp.rows[row] + offset, data.view(np.uint8)
        warp.spend(origins, space, addresses)
        warp.store(space, addresses, data, form.order, width)
        if form.strong:
            warp.strong_access(space, addresses,
                               lambda place, lane: warp.strong_store(place, lane, data[lane].tobytes(), form.order))

    move = Move(True, space, row, int(offset), tuple(places), form.bytes, within)
    return {"run": run, "memory": move if form.order in _MOVES else None, "within": within,
            "rounded": rounded.pop() if len(rounded) == 1 else None,
            "answers": names.answers.get(id(instruction), frozenset())}


def fence(instruction, names):
    """membar, fence: orders memory accesses of a thread; fence.proxy.async also for the async proxy."""
    proxy = "proxy" in instruction.modifiers
    asynchronous = proxy and any(modifier.startswith("async") for modifier in instruction.modifiers)
    mbarriers = "mbarrier_init" in instruction.modifiers
    space = window(instruction)
    reach = reach_of(".".join(instruction.modifiers))
    sequential = is_sequential(instruction.name)

    def run(warp):
        if asynchronous:
            warp.fence_proxy_async(space)
        elif mbarriers:
            warp.fence_mbarrier_init()
        elif not proxy:
            warp.fence_memory(reach, sequential)

    return {"run": run}


MEMORY = {"ld": load, "ldu": load, "st": store, "atom": atomic, "red": atomic, "membar": fence, "fence": fence}
