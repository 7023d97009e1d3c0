"""cp.async of one warp: the copies under way, by groups, until a wait lets them land."""


class Copy:
    """One cp.async warp instruction: its data, and the Touch that the shadow knows it by (None without a shadow).

    rows, data: int64 [n] and uint8 [n, nbytes] to store when it lands. sources: the Accesses of what it reads. there:
    whether the data has been stored although no wait has covered it yet.
    """

    __slots__ = ("rows", "data", "touch", "sources", "landed", "there")

    def __init__(self, rows, data, touch, sources=()):
        self.rows, self.data, self.touch, self.sources = rows, data, touch, sources
        self.landed = self.there = False                 # landed: by way of an mbarrier


class CopiesArrival:
    """Arrivals on an mbarrier of lanes whose copies have landed (see `Mbarrier.loads`). epoch, clock: of the warp when they
    were asked for, None where nobody looks for hazards."""

    bytes, touch = 0, None

    def __init__(self, warp, copies, arrivals, epoch, clock):
        self.warp, self.copies, self.arrivals, self.epoch, self.clock = warp, copies, arrivals, epoch, clock

    def land(self, number, mbarrier):
        """All copies land; returns the clock of the arrivals."""
        for copy in self.copies:
            if not copy.landed:
                self.warp.land(copy, self.epoch)
        return self.clock


class Copies:
    """The open group and the closed ones, oldest first (PTX ISA: cp.async.commit_group, cp.async.wait_group).

    >>> copies = Copies()
    >>> old, new = Copy("rows", "data", None), Copy("rows", "data", None)
    >>> copies.issue(old), copies.commit(), copies.commit(), copies.issue(new)
    (None, None, None, None)
    >>> copies.landing(1) == [old], copies.under_way() == [new]
    (True, True)
    """

    def __init__(self):
        self._open, self._groups = [], []

    def issue(self, copy):
        """A copy starts, in the open group."""
        self._open.append(copy)

    def commit(self):
        """Closes the open group; an empty one counts."""
        self._groups.append(self._open)
        self._open = []

    def landing(self, pending):
        """Takes out all closed groups but the newest `pending`: their copies, in order."""
        landing = self._groups[:max(len(self._groups) - pending, 0)]
        self._groups = self._groups[len(landing):]
        return [copy for group in landing for copy in group if not copy.landed]

    def under_way(self):
        """The copies that no wait has covered."""
        return [copy for group in (*self._groups, self._open) for copy in group if not copy.landed]

    def state(self, touch):
        """Which wait would cover the copy known as `touch`, as text."""
        for younger, group in enumerate(reversed(self._groups)):
            if any(copy.touch is touch for copy in group):
                return f"only cp.async.wait_group {younger}{' or less' * (younger > 0)} covers it"
        return "its group is not committed"
