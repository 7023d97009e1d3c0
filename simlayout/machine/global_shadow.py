"""The shadow of global memory: which thread of which CTA wrote each byte in this run, and read it, last.

CTAs are ordered only by counters (see `atomics`), so a byte that two of them write, or one writes and another reads, is a
race, unless both accesses are strong. Where CTAs run one after another, a write after another CTA's read is not seen: what
only reads has no shadow then, and costs nothing.
"""

from dataclasses import replace

import numpy as np

from simlayout.machine.hazards import hazard, ordered_ints
from simlayout.machine.tags import LANES


class GlobalShadow:
    """The shadow of one piece of memory.

    launch: the Launch, which knows the running warp. size: bytes. array: what to call it, as in "int32 array of shape (8,)".
    """

    def __init__(self, launch, size, array):
        self._launch, self._size, self._memory = launch, size, f"bytes {{}} of the {array}"
        self._actors = [None]                            # number -> (Place, Clocks' serial, warp, epoch, strong); 0: nobody
        self._numbers = {}
        self._written = self._read = None                # uint32 [size] actor's number, uint8 [size] lane: when needed

    def wrote(self, positions, lanes, zero, data, now, strong=False):
        """A store: positions, int64 [n], where each of `lanes` (int [n]) wrote uint8 [n, nbytes] data; `now`: what is there.

        strong: whether it does not race with strong accesses. zero: the position of the first element, from which bytes
        are counted.
        """
        at = positions[:, None] + np.arange(data.shape[1])
        self._compare(self._written, at, lanes, zero, strong, "writes", "writes")
        self._compare(self._read, at, lanes, zero, strong, "reads", "writes")
        lost = now != data
        if lost.any():
            here = self._launch.running.place(lanes[np.isin(at, at[lost]).any(axis=1)])
            self._launch.log.add(hazard("collision", None, here, ordered_ints(at[lost] - zero), self._memory))
        self._written = self._noted(self._written, at, lanes, strong)

    def read(self, positions, lanes, zero, nbytes, strong=False):
        """A load of nbytes at each position."""
        alone = self._launch.running.cta.alone
        if alone and self._written is None:
            return
        at = positions[:, None] + np.arange(nbytes)
        self._compare(self._written, at, lanes, zero, strong, "writes", "reads")
        if not alone:
            self._read = self._noted(self._read, at, lanes, strong)

    def _noted(self, table, at, lanes, strong):
        """A table of who touched what last, with what the running warp does now."""
        table = table or (np.zeros(self._size, np.uint32), np.zeros(self._size, np.uint8))
        numbers, owners = table
        numbers[at], owners[at] = self._number(strong), lanes[:, None]
        return table

    def _compare(self, table, at, lanes, zero, strong, did, does):
        """Reports bytes that somebody in the table touched, and nothing orders that before what the warp does now."""
        if table is None:
            return
        numbers, owners = (column[at] for column in table)
        if not numbers.any():
            return
        warp = self._launch.running
        for number in np.unique(numbers[numbers > 0]).tolist():
            place, serial, other, epoch, strongly = self._actors[number]
            if strong and strongly:
                continue
            index, byte = np.nonzero(numbers == number)
            bad = np.full(len(index), True)
            if serial == warp.cta.clocks.serial:
                before = LANES * other + owners[index, byte].astype(np.int64)
                bad = ~warp.cta.clocks.ordered(before, epoch, LANES * warp.number + lanes[index])
            if bad.any():
                index, byte = index[bad], byte[bad]
                first = replace(place, lanes=ordered_ints(owners[index, byte]))
                self._launch.log.add(hazard("global race", first, warp.place(lanes[index]),
                                            ordered_ints(at[index, byte] - zero), self._memory, did=did, does=does))

    def _number(self, strong):
        """The number of the running warp at its present line."""
        warp = self._launch.running
        key = warp.index, warp.warp_index, warp.cta.clocks.epochs[warp.number], warp.site, strong
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._actors)
            self._actors.append((warp.place(), warp.cta.clocks.serial, warp.number, key[2], strong))
        return number
