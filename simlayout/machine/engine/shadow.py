"""The shadow of a CTA's shared memory: who wrote and who read each byte last, and whether it was theirs to touch.

The shadow holds a stamp per byte: the serial number of the instruction that wrote it, and of the last one of each warp
that read it. Stamps below `_floor` are of before the last barrier of the whole CTA and ordered before everything, so in
most kernels a look at the largest stamp of an access settles it; only above that line clocks are compared, thread by
thread. A read is compared with the last write of each byte, a write also with the reads since: so for every byte the
first conflict is found, whatever order the warps happened to run in.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.elements import UNKNOWN
from simlayout.machine.engine.hazards import hazard, ordered_ints
from simlayout.machine.engine.memory import room_for, rows_of
from simlayout.machine.engine.proxies import CELL, PRUNE_AT, EngineTouches, pruned

UNWRITTEN = 0xFFFFFFFF
IN_FLIGHT = 0x80000000
"""Stamps above every serial number: nothing wrote the byte; a copy (the low bits are its serial) is still on its way."""


class SharedShadow:
    """The shadow of `size` bytes, for the warps of one CTA.

    clocks: its Clocks; log: where hazards go; elements: Elements, or None where nothing is declared. serial: the number of
    the last instruction entered.
    """

    def __init__(self, size, clocks, log, elements=None):
        self._cells = room_for(size)
        self._clocks, self._log, self._elements = clocks, log, elements
        self._written = rows_of(np.full(self._cells, UNWRITTEN, np.uint32))
        self._read = rows_of(np.zeros(self._cells, np.uint32))
        self._readers = [None] * len(clocks.epochs)      # per warp, made at its first read
        self._updaters = [None] * len(clocks.epochs)     # the same of its atomics
        self._marks = None if elements is None else rows_of(np.full(self._cells, UNKNOWN, np.int64))
        self._touches, self._flying = {}, {}             # serial -> Touch: since the floor; copies on their way
        self._writes = {}                                # serial -> Touch: what wrote the bytes
        self._async_reads, self._reductions = EngineTouches(size, CELL), EngineTouches(size, 1)
        self._stores = {}                                # serial -> Touch: all, where elements are declared
        self._unwritten = {}                             # serial -> (Touch, bytes, lanes): reads of what nobody wrote yet
        self._updated = False                            # whether there have been atomics since the floor
        self._first = {}                                 # pair of places -> whether the later one comes first in the program
        self.serial, self._floor = 0, 1
        self._together = [1] * len(clocks.epochs)        # per warp: stamps below are ordered before all its lanes

    # ---- what happens --------------------------------------------------------------------------------------------

    def read(self, touch):
        """A load, or ldmatrix."""
        self._look(touch)
        self._keep(touch, self._readers)

    def _look(self, touch):
        rows, n = touch.rows, touch.nbytes
        stamps = self._written[n].take(rows, axis=0)
        self._enter(touch)
        if stamps.max() >= self._floor:
            self._check_read(touch, stamps)
        self._check_reductions("early read", touch)
        if self._updated and not touch.strong:
            for table in filter(None, self._updaters):
                self._check_earlier(touch, table[n].take(rows, axis=0), "writes", "reads")
        if touch.marks is not None:
            self._check_marks(touch, stamps)

    def _keep(self, touch, tables):
        """Puts a touch, which has been entered, into its warp's table."""
        rows, n, warp = touch.rows, touch.nbytes, touch.warp.number
        if tables[warp] is None:
            tables[warp] = rows_of(np.zeros(self._cells, np.uint32))
        mine = tables[warp][n]
        before = mine.take(rows, axis=0)
        if before.max() >= self._together[warp]:
            touch.earlier = self._overlapping(touch, before)
        mine[rows] = self._read[n][rows] = touch.serial

    def write(self, touch):
        """A store, or stmatrix."""
        if touch.strong:
            self._enter(touch)
            self._update(touch)
        else:
            self._change(touch)

    def _change(self, touch):
        self._check_write(touch)
        if not touch.strong:
            self._reductions.overwritten(touch)
        self._put(touch)

    def atomic(self, touch):
        """An atomic: it reads and writes at once, and other atomics of the same bytes may come before or after it.

        So the last write of a byte does not tell of all that were; but each warp's own table of atomics has its last one,
        and every atomic has the plain writes that it changed.
        """
        touch.strong = True
        self._look(touch)
        self._update(touch)

    def _update(self, touch):
        """What atomics and strong stores do, which others of them may meet."""
        self._updated = True
        self._keep(touch, self._updaters)
        again = touch.again()
        again.beneath = self._beneath(touch)
        self._change(again)

    def given(self, at, nbytes):
        """Bytes that have been written before the CTA began."""
        self._written[1][at:at + nbytes] = 0

    def check_async_read(self, touch):
        """An engine is told by the threads of `touch` to read: rows of 16 bytes."""
        self._enter(touch)
        stamps = self._written[touch.nbytes].take(touch.rows, axis=0)
        for stamp in _distinct(stamps):
            where = stamps == stamp
            if stamp >= self._floor:
                self._check_stamp(stamp, touch, where)
            if stamp < IN_FLIGHT:
                self._check_fence(self._writes[stamp], touch, where, "reads")
        self._check_reductions("early read", touch)

    def check(self, touch):
        """Something uses bytes that threads wrote, without reading them as data."""
        self._enter(touch)
        self._check_read(touch, self._written[touch.nbytes].take(touch.rows, axis=0))

    def stamps(self, address):
        """The serial numbers of what changed 8 bytes last, int [8]; address: of the first, a multiple of 8."""
        row = np.array([address // 8])
        return np.maximum(self._written[8][row].astype(np.int64), self._reductions.last(row, 8))[0]

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
        """A wait at site `waited` covers an issued copy: the waiting threads have written the bytes."""
        if touch.serial in self._flying:                 # not a reduction
            del self._flying[touch.serial]
            self._put(touch.landed(waited))

    def collided(self, touch, wrong):
        """Lanes stored different values to the same bytes; wrong: bool [n, nbytes], where what they stored is lost."""
        index, byte = np.nonzero(wrong)
        bytes = touch.rows[index] * touch.nbytes + byte
        _, lanes = touch.on(bytes)
        self._log.add(hazard("collision", None, touch.place(lanes), ordered_ints(bytes)))

    def met_in_warp(self, warp, serial):
        """All lanes of a warp have passed a barrier at which they arrived after what was entered up to `serial`."""
        self._together[warp] = max(self._together[warp], serial + 1)

    def met(self):
        """A barrier of the whole CTA."""
        self.settle()
        self._floor = self.serial + 1
        self._together = [self._floor] * len(self._together)
        self._updated = False
        self._touches.clear()

    def settle(self):
        """Reports reads of what nobody wrote, when no unordered write can follow that would explain them."""
        too_early, self._unwritten = self._unwritten, {}
        for touch, bytes, lanes in too_early.values():
            self._log.add(hazard("unwritten read", None, touch.place(lanes), ordered_ints(bytes)))

    # ---- what is kept --------------------------------------------------------------------------------------------

    def _enter(self, touch):
        self.serial += 1
        touch.serial, touch.epoch = self.serial, self._clocks.epochs[touch.warp.number]
        if len(self._touches) >= PRUNE_AT:                   # warps that only meet at mbarriers never clear them
            self._touches = pruned(self._touches, [t[1] for t in (self._written, self._read, *filter(None, self._readers),
                                                             *filter(None, self._updaters))])
        self._touches[self.serial] = touch              # after that: no table refers to it yet
        return self.serial

    def _put(self, touch):
        self._written[touch.nbytes][touch.rows] = serial = self._enter(touch)
        self._writes[serial] = touch
        self._writes = pruned(self._writes, [self._written[1]])
        self._mark(touch)

    def _mark(self, touch):
        if self._marks is not None:
            self._stores[touch.serial] = touch
            self._marks[touch.nbytes][touch.rows] = UNKNOWN if touch.marks is None else touch.marks

    def _beneath(self, touch):
        """The plain writes, since the floor, of what the bytes of an atomic hold."""
        writes = {}
        for stamp in self._recent(self._written[touch.nbytes].take(touch.rows, axis=0)):
            if stamp < IN_FLIGHT:
                last = self._touches[stamp]
                writes |= {known.serial: known for known in (last.beneath if last.strong else (last,))}
        return tuple(known for known in writes.values() if known.serial >= self._floor)

    def _overlapping(self, touch, stamps):
        """The reads of these bytes, behind `stamps`, that a later write must be compared with besides `touch`, newest first.
        Of those that are alike only the newest: a loop that reads the same again and again keeps one of each."""
        together, kept = self._together[touch.warp.number], [touch]
        last = [self._touches[stamp] for stamp in np.unique(stamps[stamps >= together]).tolist()]
        reads = {read.serial: read for top in last for read in (top, *top.earlier)}
        for serial in sorted(reads, reverse=True):
            read = reads[serial]
            if serial >= together and read.near(touch) and not any(
                    read.covers(newer) and (read.strong or not newer.strong) for newer in kept):
                kept.append(read)
        return tuple(kept[1:])

    # ---- what is wrong -------------------------------------------------------------------------------------------

    def _check_read(self, touch, stamps):
        for stamp in self._recent(stamps):
            self._check_stamp(stamp, touch, stamps == stamp)

    def _check_stamp(self, stamp, touch, where):
        """A read of bytes with this stamp; returns whether it was in order."""
        if stamp == UNWRITTEN:
            index, byte = np.nonzero(where)
            bytes = touch.rows[index] * touch.nbytes + byte
            self._unwritten[touch.serial] = touch, bytes, touch.by(index, byte)
            if len(self._readers) == 1:
                self.settle()
            return False
        if stamp & IN_FLIGHT:
            self._in_flight("early read", self._flying[stamp & ~IN_FLIGHT], touch, where)
            return False
        return self._compare(self._touches[stamp], touch, where, "writes", "reads")

    def _check_fences(self, touch):
        """The async proxy writes: after what the generic one wrote before, if a fence lies between."""
        stamps = self._written[touch.nbytes].take(touch.rows, axis=0)
        for stamp in _distinct(stamps):
            if stamp < IN_FLIGHT:
                self._check_fence(self._writes[stamp], touch, stamps == stamp, "writes")

    def _check_fence(self, before, after, where, does):
        """Reports bytes that the generic proxy wrote and the async proxy touches later, where no fence lies between."""
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
            self._log.add(hazard("missing proxy fence", before.place(lanes[bad]), after.place(mine),
                                 ordered_ints(bytes[which[bad]]), does=does))

    def _check_write(self, touch):
        rows, n = touch.rows, touch.nbytes
        stamps = self._written[n].take(rows, axis=0)
        if (stamps + 1).max() > self._floor:             # UNWRITTEN + 1 is 0
            for stamp in self._recent(stamps):
                if stamp != UNWRITTEN and stamp & IN_FLIGHT:
                    self._in_flight("write in flight", self._flying[stamp & ~IN_FLIGHT], touch, stamps == stamp)
                elif stamp != UNWRITTEN:
                    self._compare(self._touches[stamp], touch, stamps == stamp, "writes", "writes")
        if self._read[n].take(rows, axis=0).max() >= self._floor:
            for table in filter(None, (*self._readers, *self._updaters)):
                self._check_earlier(touch, table[n].take(rows, axis=0), "reads", "writes")
        self._check_reductions("write in flight", touch)
        for read, where in self._async_reads.unfinished(touch, self._clocks):
            index, byte = np.nonzero(where)
            bytes = rows[index] * n + byte
            first, second = read.place(read.on(bytes)[1]), touch.place(touch.by(index, byte))
            self._log.add(hazard("early write", first, second, ordered_ints(bytes), detail=read.state()))

    def _check_reductions(self, kind, touch):
        """Bytes of a touch that an engine may still be changing."""
        for known, where in self._reductions.unfinished(touch, self._clocks):
            if not known.may_meet(touch):
                self._in_flight(kind, known, touch, where)

    def _check_earlier(self, touch, stamps, did, does):
        """Compares with what stands in the table of a warp, and what that was not ordered after."""
        last = [self._touches[s] for s in self._recent(stamps)]
        everywhere = np.full(stamps.shape, True)
        for known in {one.serial: one for top in reversed(last) for one in (top, *top.earlier)}.values():
            self._compare(known, touch, everywhere, did, does)

    def _recent(self, stamps):
        return [stamp for stamp in _distinct(stamps) if stamp >= self._floor]

    def _compare(self, before, after, where, did, does):
        """Reports the bytes (of `after`, given by bool [n, nbytes]) at which two touches are not ordered; returns whether
        they are."""
        if before.may_meet(after):
            return all([self._compare(plain, after, where & after.overlap(plain), did, does) for plain in before.beneath])
        if before.agent is not None:
            where = where & after.unaware(before, self._clocks)
            if where.any():
                self._in_flight("early read" if does == "reads" else "write in flight", before, after, where)
            return not where.any()
        one, other = before.warp.number, after.warp.number
        if before.serial < self._together[one] if one == other else self._clocks.warps_ordered(one, before.epoch, other):
            return True
        if after.agent is not None and self._clocks.ordered_before(before.threads(), before.epoch, after.threads()).all():
            return True
        index, byte = np.nonzero(where)
        bytes = after.rows[index] * after.nbytes + byte
        which, lanes = before.on(bytes)
        mine = after.by(index[which], byte[which])
        if not which.size:
            return True
        bad = ~self._clocks.ordered(LANES * one + lanes, before.epoch, LANES * other + mine)
        if bad.any():
            if before.serial in self._unwritten:
                self._explain(before, bytes[which[bad]])
            bytes, first, second = ordered_ints(bytes[which[bad]]), before.place(lanes[bad]), after.place(mine[bad])
            self._log.add(self._race(before, after, first, second, did, does, bytes))
        return not bad.any()

    def _explain(self, read, written):
        """A write has come for which a read was too early: bytes `written` are no longer ones that nobody wrote."""
        touch, bytes, lanes = self._unwritten.pop(read.serial)
        left = ~np.isin(bytes, written)
        if left.any():
            self._unwritten[read.serial] = touch, bytes[left], lanes[left]

    def _race(self, before, after, first, second, did, does, bytes):
        """The Hazard of an unordered pair, `before` having run first."""
        waited = "" if before.waited is None else f" (landed by the wait at line {before.waited[1]})"
        if before.warp is after.warp:
            return hazard("lane race", first, second, bytes, did=did, does=does, detail=waited)
        if did != does and self._had_done(before.issued or before, after):
            first, second, did, does, waited = second, first, does, did, ""
        elif does == "reads" and before.waited and self._had_done(before, after):
            return hazard("early read", first, second, bytes, detail=f"its wait comes later, at line {before.waited[1]}")
        kind = {"writes": "write", "reads": "read"}
        return hazard(f"{kind[does]} after {kind[did]}", first, second, bytes, detail=waited)

    def _had_done(self, before, after):
        """Whether the warp of `before` had, before it, been where `after` is now: then that comes first in the program.

        (Of two unordered accesses the machine runs one first by chance; all warps run one program.) Told once per pair of
        places, so that one pair is one kind of hazard.
        """
        key = before.site, before.caller, before.waited, after.site, after.caller
        if key not in self._first:
            self._first[key] = any(t.warp is before.warp and t.site == after.site and t.caller == after.caller
                                   for t in self._touches.values() if t.serial < before.serial)
        return self._first[key]

    def _in_flight(self, kind, copy, touch, where):
        index, byte = np.nonzero(where)
        bytes = touch.rows[index] * touch.nbytes + byte
        _, lanes = copy.on(bytes)
        if kind == "write in flight" and copy.serial in self._unwritten:
            self._explain(copy, bytes)
        first, second, bytes_of_both = copy.place(lanes), touch.place(touch.by(index, byte)), ordered_ints(bytes)
        if kind == "early read" and copy.warp is not touch.warp and self._had_done(copy, touch):
            self._log.add(hazard("write after read", second, first, bytes_of_both))
        else:
            self._log.add(hazard(kind, first, second, bytes_of_both, detail=copy.state()))

    def _check_marks(self, touch, stamps):
        held = self._marks[touch.nbytes].take(touch.rows, axis=0)
        wrong = (held != touch.marks) & (held != UNKNOWN) & (stamps < IN_FLIGHT)
        if wrong.any():
            index, byte = (int(i[0]) for i in np.nonzero(wrong))
            store = self._stores[int(stamps[index, byte])]
            self._log.add(self._wrong_element(touch, store, wrong, index, byte, held[index, byte]))

    def _wrong_element(self, touch, store, wrong, index, byte, held):
        same = wrong.copy()
        same[:index] = same[index + 1:] = False          # the first lane's bytes
        _, at = np.nonzero(same)
        bytes = tuple((touch.rows[index] * touch.nbytes + at).tolist())
        first = store.place(store.on(np.array(bytes))[1])
        wanted = self._elements.coordinate(touch.name, touch.marks[index, byte])
        there = self._elements.coordinate(touch.name, held)
        giver = index if touch.lanes.ndim > 1 else int(touch.lanes[index])
        return hazard("wrong element", first, touch.place([giver]), bytes,
                      wanted=f"{wanted} of {touch.name!r}", found=there)


def _distinct(stamps):
    """The different stamps of rows of bytes [n, nbytes], ascending; rows that are all of one stamp are the usual case."""
    first = stamps[:, 0]
    if (stamps == first[:, None]).all():
        stamps = first
    return [int(first[0])] if stamps is first and (first == first[0]).all() else np.unique(stamps).tolist()
