"""cp.async of one warp: the copies under way, by groups, until a wait lets them land."""


class Copy:
    """One cp.async warp instruction: its data, and the Touch that the shadow knows it by (None without a shadow).

    rows, data: int64 [n] and uint8 [n, nbytes] to store when it lands. sources: the Accesses of what it reads.
    """

    __slots__ = ("rows", "data", "touch", "sources")

    def __init__(self, rows, data, touch, sources=()):
        self.rows, self.data, self.touch, self.sources = rows, data, touch, sources


class Copies:
    """The open group and the closed ones, oldest first (PTX ISA: cp.async.commit_group, cp.async.wait_group).

    >>> copies = Copies()
    >>> copies.issue("copy 0"), copies.commit(), copies.commit(), copies.issue("copy 1")
    (None, None, None, None)
    >>> copies.landing(1), copies.under_way()
    (['copy 0'], ['copy 1'])
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
        done = self._groups[:max(len(self._groups) - pending, 0)]
        self._groups = self._groups[len(done):]
        return [copy for group in done for copy in group]

    def under_way(self):
        """The copies that no wait has covered."""
        return [copy for group in (*self._groups, self._open) for copy in group]

    def state(self, touch):
        """Which wait would cover the copy known as `touch`, as text."""
        for younger, group in enumerate(reversed(self._groups)):
            if any(copy.touch is touch for copy in group):
                return f"only cp.async.wait_group {younger}{' or less' * (younger > 0)} covers it"
        return "its group is not committed"
