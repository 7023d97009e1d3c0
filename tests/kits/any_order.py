"""Warps of the CPU machine in an order of one's own, and which phase of a ring's mbarriers each of their waits is for."""

from collections.abc import Callable
from itertools import takewhile
from typing import Any

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine import launch
from simlayout.machine.engine.warp import Warp


class Later:
    """Is ready when it is asked for the second time: whoever waits for it gives the others a turn."""

    def __init__(self):
        self.asked = 0

    def __call__(self):
        self.asked += 1
        return self.asked > 1


def reordered(monkeypatch: Any, first_of: Callable, lands: Callable = lambda: False) -> None:
    """Lets one warp go on at a time, from each wait and each arrival at an mbarrier to its next one: that for which
    first_of(warp) is least of those that can. lands(): whether the oldest copies on their way to an mbarrier land before."""
    residents, run = [], launch.run_residents

    def only_first(ready, alone):
        for cta in residents[-1].ctas:
            ring = sorted(cta.mbarriers.values(), key=lambda mbarrier: (mbarrier.number, mbarrier.address))
            under_way = [mbarrier for mbarrier in ring for _ in mbarrier.loads]      # as they were begun, so as they land
            for mbarrier in takewhile(lambda _: lands(), under_way):
                mbarrier.land()
        return [min(ready, key=lambda turn: first_of(turn.warp))] if ready else []

    def run_so(these, begin, ahead=None):
        residents.append(these)
        run(these, begin, only_first)

    def yielding(arrive):
        def arrived(warp, *args, **named):
            warp.block_until(Later(), "its turn")
            return arrive(warp, *args, **named)
        return arrived

    monkeypatch.setattr(launch, "run_residents", run_so)
    for name in ("mbarrier_arrive", "mbarrier_arrive_remote"):
        monkeypatch.setattr(Warp, name, yielding(getattr(Warp, name)))


def watched(monkeypatch: Any, stages: int) -> list[str]:
    """Notes, in the list that it returns, each wait of a warp that the wrong phase of a ring's mbarrier ended: its n-th wait
    for a stage is for the n-th time that it was filled, and its n-th one for room in it for the time before."""
    wrong, count, wait = [], {}, Warp.mbarrier_wait

    def waited(warp, address, parity):
        if not warp.active.any():
            return
        at = int(np.broadcast_to(address, LANES)[warp.active][0])
        count[warp, at] = n = count.get((warp, at), 0) + 1
        wait(warp, address, parity)
        ring = sorted(warp.cta.mbarriers)[:2 * stages]
        if at in ring:
            full, number = ring.index(at) < stages, warp.cta.mbarriers[at].number
            if number != n - (not full):
                wrong.append(f"{warp}: {'full' if full else 'empty'} {ring.index(at) % stages}, wait {n}: phase {number}")

    monkeypatch.setattr(Warp, "mbarrier_wait", waited)
    return wrong
