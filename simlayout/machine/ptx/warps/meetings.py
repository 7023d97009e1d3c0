"""Lanes of a warp that have parted and exchange something, each part at an instruction of its own.

PTX does not ask for one instruction: bar.warp.sync waits for all that execute one with the same membermask, shfl.sync and
vote.sync for those that execute one with the same qualifiers and membermask (PTX ISA 9.7.9, 9.7.13). nvcc makes several of
one `__shfl_xor_sync` in a loop where it takes a condition that differs from lane to lane out of that loop, and an H200 runs
what becomes of it: all slow paths of ptxas 13.0 exchange in the same registers.
"""

from dataclasses import dataclass

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.memory.held import PARTED


def meet(warp, part, active):
    """Whether lanes that stand at several such instructions are all that one membermask names: then they go on.

    part: the one that has come to one; active: its lanes for which the guard of that holds.
    """
    steps, mine = warp.program.steps, warp.program.steps[part.at]
    mask, here, union = None, [], np.zeros(LANES, bool)
    for one in (part, *(other for other in warp.parts if other.parked and steps[other.at].name == mine.name)):
        lanes = active if one is part else warp.lanes_of(steps[one.at], one.lanes)
        masks = warp.rows[steps[one.at].exchange.member][lanes]
        mask = masks[0] if mask is None else mask
        if (masks == mask).all():
            here, union = [*here, _Party(one, steps[one.at], lanes)], union | lanes
    if not here or here[0].part is not part or ((int(mask) >> warp.lane & 1).astype(bool) & warp.present != union).any():
        return False
    if mine.exchange.kind == "sync":
        warp.narrow(union)
        warp.sync(int(mask))
        warp.who[PARTED] += 1
    elif not _exchange(warp, here, union):
        return False
    for at in {one.part.at for one in here} - {part.at}:
        warp.program.executed[at] += 1                   # where several stand at one, they execute it together
    for one in here:
        one.part.at, one.part.parked = one.part.at + 1, False
    return True


@dataclass(frozen=True)
class _Party:
    """A part, the step at which it stands, and its lanes that execute that."""

    part: object
    step: object
    lanes: np.ndarray


def _exchange(warp, parties, union):
    """Executes a shuffle or a vote for lanes that stand at several: in the registers of one of these, which has a place for
    all results. Returns whether there is one."""
    leader = next((one for one in parties if _serves(one, parties)), None)
    if leader is None:
        return False
    rows, own = warp.rows, leader.step.exchange
    used = {own.member, *own.sources, *(place.row for place in own.results if place.row is not None)}
    saved = {row: rows[row].copy() for row in used}
    for one in parties:
        theirs = one.step.exchange
        for row, other in zip((own.member, *own.sources), (theirs.member, *theirs.sources)):
            rows[row][one.lanes] = (saved[other] if other in saved else rows[other])[one.lanes]
        if theirs.negated != own.negated:
            rows[own.sources[0]][one.lanes] ^= np.uint64(1)
    warp.narrow(union)
    warp.stand_at(leader.step)
    leader.step.run(warp)
    given = [None if place.row is None else rows[place.row].copy() for place in own.results]
    for row, held in saved.items():
        rows[row][:] = held
    for one in parties:
        warp.narrow(one.lanes)
        for place, bits in zip(one.step.exchange.results, given):
            if place.row is not None:
                warp.put_bits(place.row, bits)
    return True


def _serves(leader, parties):
    """Whether the registers of a party have a place for all that the parties bring, and for what they take."""
    own = leader.step.exchange
    if any(place.row is None and any(one.step.exchange.results[i].row is not None for one in parties)
           for i, place in enumerate(own.results)):
        return False
    return all(len({*zip(own.sources, one.step.exchange.sources)}) == len({*own.sources}) for one in parties)
