"""Clusters: mapa, getctarank, and stores that complete on an mbarrier (PTX ISA: mapa, getctarank, st.async, red.async)."""

import numpy as np

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanewise import computed
from simlayout.machine.ptx.rows import Place
from simlayout.machine.ptx.space import RANK, SHARED

_RANK, _SHARED = np.uint64(RANK), np.uint64(SHARED)


def mapa(instruction, names):
    """mapa: the address of the same place in another CTA of the cluster."""
    target, at, rank = instruction.operands
    type, generic = instruction.modifiers[-1], "shared::cluster" not in instruction.modifiers
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
    type, generic = instruction.modifiers[-1], "shared::cluster" not in instruction.modifiers
    start = _SHARED if generic else np.uint64(0)

    def rank(at, own):
        part = (at - start) // _RANK
        return np.where(part == 0, own, part - np.uint64(1))

    given = [_place(at, type, generic, names), names.source(syntax.Special("%cluster_ctarank"), "u32")]
    return computed(instruction.name, rank, [names.result(target, "u32")], given)


CLUSTERS = {"mapa": mapa, "getctarank": getctarank}
