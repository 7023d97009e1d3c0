"""cp: copies that go on while the program does (PTX ISA: Data Movement and Conversion Instructions: Asynchronous copy)."""

from collections import Counter
from functools import partial

import numpy as np

from simlayout.errors import InstructionError, MachineError
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.bulk import bulk
from simlayout.machine.ptx.opcodes.groups import address, number

_LEGAL = {("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)}


class _Addresses:
    """Global addresses as `Warp.commit_copy` takes them: those of a GPU, which are aligned as arrays are."""

    def __init__(self, held):
        self._held = held.view(np.int64)

    def addresses(self):
        """int64 [32], bytes."""
        return self._held


def cp(instruction, names):
    """cp.async and all that begins with it, cp.reduce.async.bulk."""
    modifiers = instruction.modifiers
    if "bulk" in modifiers:
        return bulk(instruction, names)
    if modifiers[1:2] == ("commit_group",):
        return {"run": lambda warp: warp.commit_group()}
    if modifiers[1:2] == ("wait_group",):
        pending = _constant(instruction.operands[0])
        return {"run": lambda warp: warp.wait_group(pending)}
    if modifiers[1:2] == ("wait_all",):
        return {"run": _wait_all}
    if modifiers[1:3] == ("mbarrier", "arrive"):
        return _arrive(instruction, names)
    return _copy(instruction, names)


def _constant(operand):
    if not isinstance(operand, syntax.Integer) or operand.value < 0:
        raise MachineError("it takes a number that is not negative")
    return operand.value


def _wait_all(warp):
    warp.commit_group()
    warp.wait_group(0)


def _arrive(instruction, names):
    """cp.async.mbarrier.arrive."""
    where, adds = address(instruction.operands[0], names), "noinc" not in instruction.modifiers
    generic = "shared" not in instruction.spaces
    return {"run": lambda warp: warp.copies_arrive(warp.in_shared(where(warp), generic, instruction.name), adds)}


def _copy(instruction, names):
    """cp.async.ca, cp.async.cg."""
    target, source, size, *rest = instruction.operands
    policy, size = instruction.modifiers[1], _constant(size)
    if (policy, size) not in _LEGAL:
        raise InstructionError(f"{size} bytes: .ca takes 4, 8 or 16, .cg takes 16")
    if "L2::cache_hint" in instruction.modifiers:
        rest.pop()
    to, of, name = address(target, names), address(source, names), f"cp.async.{policy}.{size}"
    given = _given(rest, size, names)

    def run(warp):
        addresses, valid, outer = of(warp), None if given is None else given(warp), warp.active
        counts = np.full(32, size) if valid is None else np.where(valid, size, 0) if valid.dtype == bool else valid
        places = warp.own_shared(to(warp), name)
        warp.narrow(warp.aligned(addresses, warp.active, size, "reads", partial(warp.in_global, size)))
        if warp.active.any() and warp.keeps_within(places, size, "writes"):
            data = _read(warp, addresses, counts, size)
            warp.commit_copy(name, places, data, _Addresses(addresses), valid)
        warp.narrow(outer)

    return {"run": run, "within": names.bounds(target)}


def _given(rest, size, names):
    """What gives the src-size in bytes, int64 [32], of a warp; bool [32], whether lanes read, where it is ignore-src or what
    ptxas makes it of; None without one."""
    if not rest:
        return None
    operand, = rest
    if isinstance(operand, syntax.Register | syntax.Negated) and getattr(operand, "register", operand).type == "pred":
        negated = isinstance(operand, syntax.Negated)
        ignored = number(operand.register if negated else operand, names, "pred")
        return lambda warp: (ignored(warp) != 0) == negated
    if isinstance(operand, syntax.Integer) and operand.value == size:
        return None
    sizes = number(operand, names)
    return sizes if names.known.bits(operand) & ~size else lambda warp: sizes(warp) != 0


def _read(warp, addresses, counts, size):
    """uint8 [32, size]: the first bytes of what each lane copies, zeros behind them."""
    data = np.zeros((32, size), np.uint8)
    for count in Counter(counts[warp.active].tolist()):
        if not 0 <= count <= size:
            raise MachineError(f"a src-size of {count} bytes in a copy of {size}: it must be between 0 and that")
        if count:
            for pointer, lanes in warp.pointers(addresses, warp.active & (counts == count), count, "reads", size):
                if warp.cta.launch.doubts is not None:
                    warp.cta.launch.doubts.copied(warp, addresses.view(np.int64), lanes, count)
                data[lanes, :count] = pointer.read(lanes, count, alignment=size, copy=warp)[lanes]
    return data


COPIES = {"cp": cp}
