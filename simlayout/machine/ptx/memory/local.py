"""Each lane's own memory, and which of it nothing has written yet."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.memory import undefined
from simlayout.machine.hazards.touches import WEAK
from simlayout.machine.hazards.units import in_local
from simlayout.machine.ptx.memory.space import LOCAL, WINDOW


@dataclass(frozen=True)
class Manner:
    """How a load reads. order: as in PTX. used: (bytes of an element, the elements that something reads), if not all are.
    carried: rows of its results, if they are only moved (see `passes.carried`). needed: [(the row of a predicate, what it
    is not)], in lanes of which alone the value is stored (see `passes.idle`)."""

    order: str = WEAK
    used: tuple[int, Sequence[int]] | None = None
    carried: tuple[int, ...] = ()
    needed: tuple[tuple[int, int], ...] = ()


PLAIN = Manner()


class LocalTwins:
    """Local memory of a PtxWarp. addresses: uint64 [32], bytes; data: uint8 [32, nbytes], zeros in lanes that are not
    active."""

    def begin_local(self, program):
        """Local memory as it is at the start: undefined."""
        each = -(-program.local_bytes // 4)              # words of a lane
        words = undefined(self.cta.launch.fill, LANES * each, LANES * each * self.warp_index).view(np.uint8)
        self.local = words.reshape(LANES, 4 * each)[:, :program.local_bytes].copy()
        self.local_written, self._unknown = None, {}     # row -> (lanes whose value nothing has written, what to tell then)
        if self.cta.launch.log is not None and program.local_bytes:
            self.local_written = np.full((LANES, program.local_bytes), False)

    def _local_columns(self, addresses, active, nbytes, verb):
        """(lanes [n, 1], columns [n, nbytes]) of the active lanes' own memory; tells of those that access what they have
        not, or are not aligned, as a hazard, and leaves them out."""
        what, first, size = f"{nbytes} bytes at {{}} of local memory".format, addresses.view(np.int64), self.local.shape[1]
        outside = active & ((first < 0) | (first > size - nbytes))
        if outside.any():
            self.wrong("out of bounds", outside, verb, what(first[outside][0]), of=f"the {size} bytes of a thread")
        lanes = np.flatnonzero(self.aligned(addresses, active & ~outside, nbytes, verb, what))
        return lanes[:, None], first[lanes, None] + np.arange(nbytes)

    def local_load(self, addresses, active, nbytes, how):
        """nbytes per lane."""
        lanes, columns = self._local_columns(addresses, active, nbytes, "reads")
        data = np.zeros((LANES, nbytes), np.uint8)
        data[lanes[:, 0]] = self.local[lanes, columns]
        if self.local_written is not None:
            lacking = ~self.local_written[lanes, columns]
            if how.used is not None:
                size, elements = how.used
                lacking &= np.isin(np.arange(nbytes) // size, elements)
            self._note_unknown(active, lanes[:, 0], columns, lacking, how.carried)
        return data

    def _note_unknown(self, active, lanes, columns, lacking, carried):
        """Reports reads of what nothing has written; of what is only moved when it leaves local memory, and only where that
        is all that is moved: the rest is what lies between the members of a structure."""
        bad = lacking.all(axis=1) if carried else lacking.any(axis=1)
        found = None
        if bad.any():
            found = "unwritten read", None, self.place(lanes[bad]), columns[bad][lacking[bad]], in_local
            if not carried:
                self.cta.launch.log.add(*found)
        for row in carried:
            known, before = self._unknown.get(row, (None, None))
            of = np.zeros(LANES, bool) if known is None else known & ~active
            of[lanes] = bad
            self._unknown[row] = of, found or before

    def spend(self, rows, space, addresses):
        """A store of what these rows carry."""
        if self._unknown and space not in ("local", "param"):
            out = self.active if space else self.active & ~((addresses >= np.uint64(LOCAL))
                                                            & (addresses < np.uint64(LOCAL + WINDOW)))
            for row in rows:
                lanes, found = self._unknown.get(row, (None, None))
                if found is not None and (lanes & out).any():
                    self.cta.launch.log.add(*found)

    def local_store(self, addresses, active, data):
        lanes, columns = self._local_columns(addresses, active, data.shape[1], "writes")
        self.local[lanes, columns] = data[lanes[:, 0]]
        if self.local_written is not None:
            self.local_written[lanes, columns] = True

    def note_local(self, lanes, at, nbytes):
        """Lanes' own memory has been written."""
        if self.local_written is not None:
            self.local_written[lanes, at:at + nbytes] = True
