"""Guards of registers: accumulators of wgmma belong to the tensor core for a while, and a guard is told of every touch."""

from typing import Any

import numpy as np


class Fenced:
    """The guard of an array that nobody has touched since a wgmma.fence, or since the last wgmma that adds to it. unused:
    whether no wgmma has added to it since the fence."""

    def __init__(self, unused: bool = False):
        self.unused = unused

    def touched(self, array):
        """The first touch takes the guard away."""
        array.guard = None


class InFlight:
    """The guard of an array while `product`, the newest wgmma that adds to it, may be under way."""

    def __init__(self, product):
        self.product = product

    def touched(self, array):
        """Nobody may touch the elements: a hazard."""
        warp = array.warp
        log = warp.cta.launch.log
        if log is not None:
            site = warp.current_line()
            here = warp.place(np.flatnonzero(warp.active), "register access", site, site and warp.caller)
            log.add("early accumulator", self.product.place(warp), here, detail=self.product.state())


class Registers:
    """Registers of a Warp that a guard may watch: Fenced, InFlight or None. The Warp knows them as long as they live."""

    __slots__ = ("__weakref__", "warp", "guard")

    def __init__(self, warp: Any):
        self.warp = warp
        self.guard: Any = None
        warp.arrays.add(self)
