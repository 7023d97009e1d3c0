"""What copies and engines do to the shadow of shared memory: they are on their way for a while, and some need a fence."""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.telling import IN_FLIGHT, Telling

GIVEN, UNWRITTEN = 0, 0xFFFFFFFF
"""Stamps of bytes that were written before the CTA began, and of those that nothing wrote."""


class EngineShadow(Telling):
    """The part of a SharedShadow that is told of what does not happen at once, and compares it with the rest."""

    def check_async_read(self, touch, used=None):
        """An engine is told by the threads of `touch` to read: rows of 16 bytes. used: bool [n, 16], those whose values it
        uses, None for all."""
        self._enter(touch)
        stamps = self._written[touch.nbytes].take(touch.rows, axis=0)
        for stamp in distinct(stamps):
            where = stamps == stamp if used is None else (stamps == stamp) & used
            if not where.any():
                continue
            if stamp >= self._floor:
                self._check_stamp(stamp, touch, where)
            if GIVEN < stamp < IN_FLIGHT:
                self._check_fence(stamp, touch, where, "reads")
        self._check_reductions("early read", touch)

    def async_read(self, touch):
        """It begins to read: until the threads of a later write know that it is over the bytes may not be written."""
        self._async_reads.add(touch)

    def issue(self, touch, generic=False):
        """cp.async, TMA or st.async: from now on the bytes are nobody's until the copy lands. generic: whether an engine
        writes them through the generic proxy."""
        self._check_write(touch)
        serial = self._enter(touch)
        if touch.agent is not None and not generic:
            self._check_fences(touch)
        self._reductions.overwritten(touch)
        self._flying[serial] = touch
        self._written[touch.nbytes][touch.rows] = serial | IN_FLIGHT

    def reduce(self, touch, generic=False):
        """An engine begins to change what is there: until the threads of a later touch know that it is over, only those that
        it may meet may touch the bytes. generic: as of `issue`.

        Several of them may be on their way to a byte, and land in any order. So the byte keeps the stamp of what was written
        before, with which each of them, and whatever comes after, is compared too.
        """
        self._check_write(touch)
        self._enter(touch)
        unwritten = self._written[touch.nbytes].take(touch.rows, axis=0) == UNWRITTEN
        if unwritten.any():
            self._check_stamp(UNWRITTEN, touch, unwritten)
        if not generic:
            self._check_fences(touch)
        self._reductions.add(touch)

    def land(self, touch, waited):
        """A wait covers an issued copy: the waiting threads have written the bytes. waited: its (site, caller)."""
        if touch.serial in self._flying:                 # not a reduction
            del self._flying[touch.serial]
            self._put(touch.landed(waited))

    def _check_fences(self, touch):
        """The async proxy writes: after what the generic one wrote before, if a fence lies between."""
        stamps = self._written[touch.nbytes].take(touch.rows, axis=0)
        for stamp in distinct(stamps):
            if GIVEN < stamp < IN_FLIGHT:
                self._check_fence(stamp, touch, stamps == stamp, "writes")

    def _check_fence(self, stamp, after, where, does):
        """Reports bytes that the generic proxy wrote and the async proxy touches later, where no fence lies between."""
        for rival, there in self._last(stamp, after, where):
            if rival.equal:
                self._check_fence_after(rival.touch, after, there, does)

    def _check_fence_after(self, before, after, where, does):
        if before.agent is not None:
            return
        threads, clocks = before.threads(), self._clocks
        passed = clocks.fenced(threads, before.epoch, after.threads()).all(axis=1)
        if passed.all():
            return
        passed |= ~clocks.ordered_before(threads, before.epoch, after.threads())
        index, byte = np.divmod(np.flatnonzero(where), where.shape[1])           # np.nonzero takes ten times as long
        bytes = after.rows[index] * after.nbytes + byte
        which, lanes = before.on(bytes)
        bad = np.isin(lanes, threads[~passed] % LANES)
        if bad.any():
            mine = after.by(index[which[bad]], byte[which[bad]])
            self._log.add("missing proxy fence", before.place(lanes[bad]), after.place(mine), bytes[which[bad]], does=does)

    def _check_reductions(self, kind, touch):
        """Bytes of a touch that an engine may still be changing."""
        for known, where in self._reductions.unfinished(touch, self._clocks):
            if not known.may_meet(touch):
                self._in_flight(kind, known, touch, where)


def distinct(stamps):
    """The different stamps of rows of bytes [n, nbytes], ascending; rows that are all of one stamp are the usual case."""
    first = stamps[:, 0]
    if (stamps == first[:, None]).all():
        stamps = first
    return [int(first[0])] if stamps is first and (first == first[0]).all() else np.unique(stamps).tolist()
