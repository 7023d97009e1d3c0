"""cp.async of one warp: the copies under way, by the groups of each lane, until a wait lets them land."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.lanes import lane_list


class Copy:
    """One cp.async warp instruction: its data, and the Touch that the shadow knows it by (None without a shadow).

    lanes: bool [32], those that copy; rows, data: int64 [n] and uint8 [n, nbytes] to store when it lands. sources: the
    Accesses of what it reads. groups: int64 [32], the number of each lane's group. there: whether the data has been stored
    although no wait has covered it yet. site: (file, line).
    """

    __slots__ = ("lanes", "rows", "data", "touch", "sources", "groups", "landed", "there", "site")

    def __init__(self, lanes, rows, data, touch, sources=(), site=None):
        self.lanes, self.rows, self.data, self.touch, self.sources, self.site = lanes, rows, data, touch, sources, site
        self.landed = self.there = False                 # landed: by way of an mbarrier


class CopiesArrival:
    """Arrivals on an mbarrier of lanes whose copies have landed (see `Mbarrier.loads`, also of tell and
    counted). epoch, clock: of the warp when they were asked for, None where nobody looks for hazards."""

    bytes, touch = 0, None

    def __init__(self, warp, copies, arrivals, epoch, clock, tell, counted):
        self.warp, self.copies, self.arrivals, self.epoch, self.clock, self.tell = warp, copies, arrivals, epoch, clock, tell
        self.counted = counted

    def land(self, number, mbarrier):
        """All copies land; returns the clock of the arrivals."""
        for copy in self.copies:
            if not copy.landed:
                self.warp.land(copy, self.epoch)
        return self.clock


class Copies:
    """The copies under way, and the groups of each lane, since each thread has its own (PTX ISA: cp.async.commit_group,
    cp.async.wait_group). A copy lands as a whole, when each of its lanes has waited for it.

    >>> all = np.full(32, True)
    >>> copies, old, new = Copies(), Copy(all, "rows", "data", None), Copy(all, "rows", "data", None)
    >>> copies.issue(old), copies.commit(all), copies.commit(all), copies.issue(new)
    (None, None, None, None)
    >>> copies.landing(1, all, all) == [old], copies.under_way() == [new]
    (True, True)
    """

    def __init__(self):
        self._under_way = []
        self._closed, self._covered = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)

    def issue(self, copy):
        """A copy starts, in the open groups of its lanes."""
        copy.groups = self._closed + 1
        self._under_way.append(copy)

    def commit(self, lanes):
        """Lanes, bool [32], close their open groups; an empty one counts."""
        self._closed[lanes] += 1

    def landing(self, pending, lanes, present):
        """Lanes wait for all their closed groups but the newest `pending`: the copies that land now, in order. present:
        lanes that have not ended; nobody waits for the others."""
        self._covered[lanes] = np.maximum(self._covered, self._closed - pending)[lanes]
        covered = [(copy.groups <= self._covered)[copy.lanes & present].all() for copy in self._under_way]
        landing = [copy for copy, lands in zip(self._under_way, covered) if lands]
        self._under_way = [copy for copy, lands in zip(self._under_way, covered) if not lands]
        return [copy for copy in landing if not copy.landed]

    def under_way(self, lanes=None):
        """The copies that no wait has covered; lanes: bool [32], those in which these take part, None for all."""
        return [copy for copy in self._under_way if not copy.landed and (lanes is None or (copy.lanes & lanes).any())]

    def state(self, touch):
        """Which wait would cover the copy known as `touch`, as text."""
        copy = next((copy for copy in self._under_way if copy.touch is touch), None)
        if copy is None or (copy.groups > self._closed)[copy.lanes].any():
            return "its group is not committed"
        younger = (self._closed - copy.groups)[copy.lanes].min()
        late = copy.lanes & (copy.groups > self._covered)
        of = f" of lanes {lane_list(late)}" * bool((late != copy.lanes).any())
        return f"only cp.async.wait_group {younger}{' or less' * bool(younger)}{of} covers it"
