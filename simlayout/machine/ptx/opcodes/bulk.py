"""cp.async.bulk: what the copy engine (TMA) moves (PTX ISA: cp.async.bulk and after)."""

import re

import numpy as np

from simlayout.errors import InstructionError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.bulk_places import REDUCTIONS, reduction
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.groups import address, generic_address, number
from simlayout.machine.ptx.opcodes.lacking import IM2COL

_HINTS = {"shared::cluster", "shared::cta", "global", "tile", "bulk_group", "mbarrier::complete_tx::bytes", "L2::cache_hint"}


def bulk(instruction, names):
    """cp.async.bulk and cp.reduce.async.bulk, in all forms."""
    modifiers = instruction.modifiers
    if "commit_group" in modifiers:
        return {"run": lambda warp: warp.bulk_commit()}
    if "wait_group" in modifiers:
        pending, read = instruction.operands[0].value, "read" in modifiers
        return {"run": lambda warp: warp.bulk_wait(pending, read)}
    if "prefetch" in modifiers:
        return {"run": lambda warp: None}
    if "tensor" in modifiers:
        return _tensor(instruction, names)
    return _bytes(instruction, names)


def lanes_of(warp):
    """[(lane, bool [32])]: the active lanes, one by one, each as a mask."""
    return [(lane, np.arange(32) == lane) for lane in np.flatnonzero(warp.active).tolist()]


def stores_of(warp, *operands):
    """[(lane, bool [32])]: of the active lanes whose operands are the same the first one. operands: what each gives, [32].

    A store of the whole warp with uniform operands is one in the machine code that ptxas 13.5 makes for sm_90a (UTMASTG,
    UBLKCP.G.S), and a loop over their different values otherwise; loads and reductions are one for each lane. So CuTe DSL's
    kernels have a warp store a tile without electing a lane.
    """
    seen = set()
    values = zip(*(np.broadcast_to(one(warp), 32).tolist() for one in operands), strict=True)
    told = [not (value in seen or warp.active[lane] and seen.add(value)) for lane, value in enumerate(values)]
    return [one for one in lanes_of(warp) if told[one[0]]]


def tensor_address(operand, names):
    """(what gives the address of a tensor map, [what gives a coordinate]) of a warp."""
    if not isinstance(operand, syntax.TensorAddress):
        raise InstructionError("a tensor map and coordinates are written [map, {x, y}]")
    plain = syntax.Address(operand.base, operand.offset)
    return generic_address(plain, names), [number(one, names) for one in operand.coordinates]


def _tensor(instruction, names):
    modifiers = instruction.modifiers
    operation = next((m for m in modifiers if m in REDUCTIONS), None)
    known = _HINTS | {"async", "bulk", "tensor", "reduce", "multicast::cluster", operation}
    strange = [m for m in modifiers if m not in known and not re.fullmatch("[1-5]d", m)]
    if strange:
        raise InstructionError(IM2COL if strange[0].startswith("im2col") else
                               f"the machine has no .{', .'.join(strange)}: it moves boxes of tiles")
    operands = list(instruction.operands)
    if "L2::cache_hint" in modifiers:
        operands.pop()
    if isinstance(operands[0], syntax.TensorAddress):
        return _to_global(instruction, operands, operation, names)
    target, source, mbarrier, *mask = operands
    to, barrier = address(target, names), address(mbarrier, names)
    where, coordinates = tensor_address(source, names)
    ranks = number(mask[0], names, "u16") if mask else None

    def run(warp):
        for lane, one in lanes_of(warp):
            tensor_map = warp.tensor_map(int(where(warp)[lane]))
            at, signal, multicast = _where_to(warp, instruction.name, lane, to, barrier, ranks)
            warp.stays_within(np.full(LANES, at), tensor_map.box_bytes, "writes", one)
            warp.tma_load(tensor_map, [c(warp) for c in coordinates], at, signal, one, multicast)

    return {"run": run, "within": names.bounds(target)}


def _bytes(instruction, names):
    """Runs of bytes."""
    modifiers, operands = instruction.modifiers, list(instruction.operands)
    if "L2::cache_hint" in modifiers:
        operands.pop()
    spaces = tuple(m for m in modifiers if m in ("shared::cluster", "shared::cta", "global"))
    operation = next((m for m in modifiers if m in REDUCTIONS), None)
    known = _HINTS | {"async", "bulk", "reduce", "multicast::cluster", "noftz", operation}
    strange = [m for m in modifiers if m not in known]
    if strange[operation is not None:] or operation and spaces[1:] != ("shared::cta",):
        raise InstructionError("the machine has no such bulk copy")
    if operation:
        reduction("cp.reduce.async.bulk", operation, modifiers[-1], shared=spaces[0] != "global")
    to, of, size = address(operands[0], names), address(operands[1], names), number(operands[2], names, "u32")
    if spaces[0] == "global":
        return {"run": _bytes_to_global(instruction.name, to, of, size, operation, modifiers[-1]),
                "within": names.bounds(operands[1])}
    barrier = address(operands[3], names)
    if spaces[1] != "global":
        return {"run": _bytes_sent(instruction.name, to, of, size, barrier, operation, modifiers[-1]),
                "within": names.bounds(operands[1])}
    ranks = number(operands[4], names, "u16") if operands[4:] else None
    return {"run": _bytes_to_shared(instruction.name, to, of, size, barrier, ranks), "within": names.bounds(operands[0])}


def _bytes_to_global(name, to, of, size, operation, type):
    def run(warp):
        for lane, one in stores_of(warp, to, of, size) if operation is None else lanes_of(warp):
            nbytes = int(size(warp)[lane])
            for pointer, _ in warp.pointers(to(warp), one, nbytes, "writes", 16):
                place = pointer, warp.own_shared(of(warp), name), nbytes
                warp.stays_within(place[1], nbytes, "reads", one)
                if operation is None:
                    warp.bulk_store(*place, lanes=one)
                else:
                    warp.bulk_reduce(*place, operation, type, one)

    return run


def _bytes_sent(name, to, of, size, barrier, operation, type):
    def run(warp):
        for lane, one in lanes_of(warp):
            (at, rank), (signal, its) = _place(warp, lane, to), _place(warp, lane, barrier)
            warp.signals(name, lane, rank, its)
            place = warp.own_shared(of(warp), name), int(size(warp)[lane]), at, signal, rank
            warp.stays_within(place[0], place[1], "reads", one)
            if operation is None:
                warp.bulk_send(*place, lanes=one)
            else:
                warp.bulk_send_reduce(*place, operation, type, one)

    return run


def _bytes_to_shared(name, to, of, size, barrier, ranks):
    def run(warp):
        for lane, one in lanes_of(warp):
            nbytes, (at, signal, multicast) = int(size(warp)[lane]), _where_to(warp, name, lane, to, barrier, ranks)
            warp.stays_within(np.full(LANES, at), nbytes, "writes", one)
            for pointer, _ in warp.pointers(of(warp), one, nbytes, "reads", 16):
                warp.bulk_load(pointer, at, nbytes, signal, one, multicast)

    return run


def _where_to(warp, name, lane, to, barrier, ranks):
    """(where a lane copies to in a CTA, where the mbarrier is there, these CTAs by the bits of an int). to, barrier: what
    gives the addresses; ranks: what gives a multicast's bits, or None."""
    (at, rank), (signal, its) = _place(warp, lane, to), _place(warp, lane, barrier)
    if ranks is not None:
        return at, signal, int(ranks(warp)[lane])
    warp.signals(name, lane, rank, its)
    return at, signal, 1 << rank


def _place(warp, lane, addresses):
    """(byte address in a CTA's shared memory, rank of that CTA) of a lane. addresses: what gives those of a warp."""
    where, ranks = warp.in_cluster(addresses(warp))
    return int(where[lane]), int(ranks[lane])


def _to_global(instruction, operands, operation, names):
    (where, coordinates), source = tensor_address(operands[0], names), address(operands[1], names)

    def run(warp):
        for lane, one in stores_of(warp, where, source, *coordinates) if operation is None else lanes_of(warp):
            tensor_map = warp.tensor_map(int(where(warp)[lane]))
            place = tensor_map, [c(warp) for c in coordinates], warp.own_shared(source(warp), instruction.name)
            warp.stays_within(place[2], tensor_map.box_bytes, "reads", one)
            if operation is None:
                warp.tma_store(*place, lanes=one)
            else:
                warp.tma_reduce(*place, op=operation, lanes=one)

    return {"run": run, "within": names.bounds(operands[1])}


def nothing(instruction, names):
    """prefetch, prefetchu, discard, applypriority, griddepcontrol: what changes no value."""
    if instruction.opcode == "prefetch" and "tensormap" in instruction.modifiers:
        where = generic_address(instruction.operands[0], names)

        def run(warp):
            for lane in np.flatnonzero(warp.active).tolist()[:1]:
                warp.tensor_map(int(where(warp)[lane]))

        return {"run": run}
    return {"run": lambda warp: None}


BULK = {name: nothing for name in ("prefetch", "prefetchu", "applypriority", "griddepcontrol")}
