"""Clusters: mapa, getctarank, and stores that complete on an mbarrier (PTX ISA: mapa, getctarank, st.async, red.async)."""

import numpy as np

from simlayout.errors import InstructionError
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.memory.space import RANK, SHARED
from simlayout.machine.ptx.opcodes.atoms import OPERATIONS, Update, atomic
from simlayout.machine.ptx.opcodes.groups import address, elements, sources
from simlayout.machine.ptx.opcodes.lanewise import computed
from simlayout.machine.ptx.opcodes.memory import store as plain_store
from simlayout.machine.ptx.opcodes.rows import Place

_RANK, _SHARED = np.uint64(RANK), np.uint64(SHARED)


def mapa(instruction, names):
    """mapa: the address of the same place in another CTA of the cluster."""
    target, at, rank = instruction.operands
    type, generic = instruction.modifiers[-1], "shared::cluster" not in instruction.spaces
    start = _SHARED if generic else np.uint64(0)

    def mapped(at, rank):
        return start + (rank + np.uint64(1)) * _RANK + (at - start) % _RANK

    given = _place(at, type, generic, names), names.source(rank, "u32")
    return computed(instruction.name, mapped, [names.result(target, type)], given)


def _place(operand, type, generic, names):
    """The source of an address: a register, or a variable's."""
    if generic and isinstance(operand, syntax.Symbol):
        return Place(names.lowering.constant(names.generic(operand)), type, 64)
    return names.source(operand, type)


def getctarank(instruction, names):
    """getctarank: of the CTA in whose shared memory an address lies."""
    target, at = instruction.operands
    type, generic = instruction.modifiers[-1], "shared::cluster" not in instruction.spaces
    start = _SHARED if generic else np.uint64(0)

    def rank(at, own):
        part = (at - start) // _RANK
        return np.where(part == 0, own, part - np.uint64(1))

    given = [_place(at, type, generic, names), names.source(syntax.Special("%cluster_ctarank"), "u32")]
    return computed(instruction.name, rank, [names.result(target, "u32")], given)


def store(instruction, names):
    """st, and st.async: a store in the cluster that completes on an mbarrier there."""
    if "async" not in instruction.modifiers:
        return plain_store(instruction, names)
    place, value, barrier = instruction.operands
    bits = width_of(instruction.modifiers[-1])
    given, name = sources(value, f"b{bits}", names), f"st.async.b{bits * len(elements(value))}"
    return {"run": _sent(name, address(place, names), given, bits // 8, address(barrier, names), None)}


def reduce(instruction, names):
    """red, and red.async: an atomic in the cluster that completes on an mbarrier there."""
    if "async" not in instruction.modifiers:
        return atomic(instruction, names)
    place, value, barrier = instruction.operands
    *_, operation, type = instruction.modifiers
    if operation not in OPERATIONS:
        raise InstructionError(f"red.async has no .{operation}")
    update, given = Update(operation, type, 1), sources(value, f"b{width_of(type)}", names)

    def updated(there, data):
        held, operand = (bits.view(update.dtype).astype(np.uint64) for bits in (there, np.ascontiguousarray(data)))
        return np.ascontiguousarray(update(held, [operand])).view(np.uint8)

    return {"run": _sent("red.async", address(place, names), given, update.size, address(barrier, names), updated)}


def _sent(name, place, values, size, barrier, update):
    """What runs a store or atomic that completes on an mbarrier. name: it is counted under this; size: bytes of an
    element."""
    def run(warp):
        columns = [np.ascontiguousarray(value.astype(f"u{size}")) for value in values(warp)]
        data = np.stack(columns, axis=1).view(np.uint8)
        where, ranks = warp.in_cluster(place(warp))
        signal, its = warp.in_cluster(barrier(warp))
        outer = warp.active
        for lane in np.flatnonzero(outer & (its != ranks)).tolist()[:1]:
            warp.signals(name, lane, ranks[lane], its[lane])
        for rank in np.unique(ranks[outer]).tolist():
            warp.narrow(outer & (ranks == rank))
            warp.peer_store_async(name, where, data, rank, signal, update)
        warp.narrow(outer)

    return run


CLUSTERS = {"mapa": mapa, "getctarank": getctarank, "st": store, "red": reduce}
