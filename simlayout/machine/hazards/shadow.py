"""The shadow of a CTA's shared memory: who wrote and who read each byte last, and whether it was theirs to touch.

The shadow holds a stamp per byte: the serial number of the instruction that wrote it, and of the last one of each warp
that read it. Stamps below `_floor` are of before the last barrier of the whole CTA and ordered before everything, so in
most kernels a look at the largest stamp of an access settles it; only above that line clocks are compared, thread by
thread. A read is compared with the last write of each byte and its Rivals, a write also with the reads
since: so for every byte the first conflict is found, whatever order the warps happened to run in. Two stores of one value
by values of one size do not conflict; where nothing orders them, that is noted.
"""

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.elements import UNKNOWN
from simlayout.machine.hazards.proxies import CELL, PRUNE_AT, EngineTouches, pruned
from simlayout.machine.hazards.rows import room_for, rows_of
from simlayout.machine.hazards.scopes import GPU
from simlayout.machine.hazards.shadow_engines import GIVEN, UNWRITTEN, EngineShadow, distinct
from simlayout.machine.hazards.telling import IN_FLIGHT
from simlayout.machine.hazards.touches import Rival, answered_by, asks, is_atomic, together


class SharedShadow(EngineShadow):
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
        self._rivals = {}                                # serial of a write -> its Rivals, if it has any
        self._async_reads, self._reductions = EngineTouches(size, CELL), EngineTouches(size, 1)
        self._stores = {}                                # serial -> Touch: all, where elements are declared
        self._unwritten = {}                             # serial -> (Touch, bytes, lanes): reads of what nobody wrote yet
        self._updated, self._forms = False, set()        # whether there have been atomics since the floor; see `_look`
        self._asking = {}                                # byte -> Touch: the last one since the floor that `asks`
        self._first = {}                                 # pair of places -> whether the later one comes first in the program
        self.serial, self._floor = 0, 1
        self._exchanged = [0] * len(clocks.epochs)       # per warp: all its lanes have exchanged values behind what has this
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
        if touch.strong:
            self._forms.add((touch.reach, touch.width))
            if asks(touch.warp):
                self._asking |= dict.fromkeys(touch.addresses().reshape(-1).tolist(), touch)
        if self._updated and not self._meets_updates(touch):
            self._check_updates(touch, stamps, "reads")
        if touch.marks is not None:
            self._check_marks(touch, stamps)

    def _meets_updates(self, touch):
        """Whether a touch surely needs no order with any atomic or strong store so far."""
        alone = len(self._forms) < 2 and touch.reduction is None
        return touch.strong and not touch.volatile and alone and touch.reach >= GPU

    def _keep(self, touch, tables):
        """Puts a touch, which has been entered, into its warp's table."""
        rows, n, warp = touch.rows, touch.nbytes, touch.warp.number
        if tables[warp] is None:
            tables[warp] = rows_of(np.zeros(self._cells, np.uint32))
        mine = tables[warp][n]
        before = mine.take(rows, axis=0)
        since = self._floor if touch.strong else self._together[warp]
        if before.max() >= since:
            touch.earlier = self._overlapping(touch, before, since)
        mine[rows] = self._read[n][rows] = touch.serial

    def write(self, touch):
        """A store, or stmatrix."""
        if touch.strong:
            self._enter(touch)
            if touch.volatile:
                self._check_replaced(touch)
            self._update(touch)
        else:
            self._change(touch)

    def _change(self, touch):
        rivals = self._check_write(touch)
        if not touch.strong and touch.same is None:      # a store of the same value need not come after this one
            self._reductions.overwritten(touch)
        self._put(touch)
        if rivals:
            self._rivals[touch.serial] = rivals

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
        self._forms.add((touch.reach, touch.width))
        self._keep(touch, self._updaters)
        again = touch.again()
        again.issued = touch
        again.beneath = self._beneath(touch)
        self._change(again)

    def given(self, at, nbytes):
        """Bytes that have been written before the CTA began."""
        self._written[1][at:at + nbytes] = GIVEN

    def check(self, touch):
        """Something uses bytes that threads wrote, without reading them as data."""
        self._enter(touch)
        self._check_read(touch, self._written[touch.nbytes].take(touch.rows, axis=0))

    def changed_by(self, address, serial):
        """The Touch that has changed any of 8 bytes since a write that changed all of them, None if nothing has. address:
        of the first, a multiple of 8; serial: of that write."""
        row = np.array([address // 8])
        others = [stamp for stamp in self._written[8][row][0].tolist() if stamp != serial]
        if not others:
            return self._reductions.last(row, 8)
        return self._flying[others[0] & ~IN_FLIGHT] if others[0] & IN_FLIGHT else self._writes[others[0]]

    def met_in_warp(self, warp, serial):
        """All lanes of a warp have passed a barrier at which they arrived after what was entered up to `serial`."""
        self._together[warp] = max(self._together[warp], serial + 1)

    def exchanged_in_warp(self, warp):
        """All lanes of a warp have exchanged values."""
        self._exchanged[warp] = self.serial

    def met(self):
        """A barrier of the whole CTA."""
        self.settle()
        self._floor = self.serial + 1
        self._together = [self._floor] * len(self._together)
        self._updated = False
        self._asking.clear()
        self._touches.clear()

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
        self._writes, self._rivals = (pruned(known, [self._written[1]]) for known in (self._writes, self._rivals))
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
                plain = last.beneath if last.strong else (
                    last, *(rival.touch for rival in self._rivals.get(stamp, ()) if rival.equal))
                writes |= {known.serial: known for known in plain}
        return tuple(known for known in writes.values() if known.serial >= self._floor)

    def _overlapping(self, touch, stamps, since):
        """The reads of these bytes, behind `stamps`, that a later write must be compared with besides `touch`, newest first.
        Of those that are alike only the newest: a loop that reads the same again and again keeps one of each. since: the
        first that matters: since the warp was together, but of a strong read, after which a strong write needs no order,
        those before that too that race with such a one."""
        together, kept, alike = self._together[touch.warp.number], [], {touch.footprint(): [touch]}
        last = [self._touches[stamp] for stamp in np.unique(stamps[stamps >= since]).tolist()]
        reads = {read.serial: read for top in last for read in (top, *top.earlier)}
        for serial in sorted(reads, reverse=True):
            read = reads[serial]
            if serial >= since and (serial >= together or not touch.races_as(read)) and read.near(touch):
                newer = alike.setdefault(read.footprint(), [])
                if not any(one.races_as(read) for one in newer):
                    newer.append(read)
                    kept.append(read)
        return tuple(kept)

    # ---- what is wrong -------------------------------------------------------------------------------------------

    def _check_read(self, touch, stamps):
        for stamp in self._recent(stamps):
            if not (touch.strong and self._surely_meets(stamp, touch)):
                self._check_stamp(stamp, touch, stamps == stamp)

    def _surely_meets(self, stamp, touch):
        """Whether a strong touch may meet all that the bytes with this stamp hold, as far as is seen at once."""
        last = self._writes.get(stamp)
        return (last is not None and last.may_meet(touch) and stamp not in self._rivals
                and all(self._surely_before(plain, touch) for plain in last.beneath))

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
        return all([self._compare(rival.touch, touch, there, "writes", "reads")
                    for rival, there in self._last(stamp, touch, where) if rival.equal])

    def _check_write(self, touch):
        """Returns its Rivals."""
        rows, n, rivals = touch.rows, touch.nbytes, []
        stamps = self._written[n].take(rows, axis=0)
        if (stamps + 1).max() > self._floor:             # UNWRITTEN + 1 is 0
            for stamp in self._recent(stamps):
                if stamp != UNWRITTEN and stamp & IN_FLIGHT:
                    self._in_flight("write in flight", self._flying[stamp & ~IN_FLIGHT], touch, stamps == stamp)
                elif stamp != UNWRITTEN and not (touch.strong and self._surely_meets(stamp, touch)):
                    rivals += self._check_writes(stamp, touch, stamps == stamp)
        if self._read[n].take(rows, axis=0).max() >= self._floor:
            for table in filter(None, self._readers):
                self._check_earlier(touch, table[n].take(rows, axis=0))
            if not self._meets_updates(touch):
                self._check_updates(touch, stamps, "writes")
        self._check_reductions("write in flight", touch)
        for read, where in self._async_reads.unfinished(touch, self._clocks):
            index, byte = np.nonzero(where)
            bytes = rows[index] * n + byte
            first, second = read.place(read.on(bytes)[1]), touch.place(touch.by(index, byte))
            self._log.add("early write", first, second, bytes, detail=read.state())
        return together(rivals)

    def _last(self, stamp, touch, where):
        """[(Rival, bool [n, nbytes])]: the write with this stamp, and its Rivals, in the bytes of `touch` that `where`
        gives."""
        found = [(Rival(self._writes[stamp]), where)]
        for rival in self._rivals.get(stamp, ()):
            there = where & np.isin(touch.addresses(), rival.bytes)
            if there.any():
                found.append((rival, there))
        return found

    def _check_writes(self, stamp, touch, where):
        """A write of bytes with this stamp, of the value that is there or of another; returns its Rivals there."""
        same = touch.same if touch.may_store_one_value(self._writes[stamp]) else False
        rivals, addresses = [], touch.addresses()
        for rival, there in self._last(stamp, touch, where):
            alike, before = there & same, rival.touch
            ordered = self._compare(before, touch, there & ~alike if rival.equal else alike, "writes", "writes")
            if touch.same is None:
                continue
            rivals.append(Rival(before, addresses[there & ~alike if rival.equal else alike], equal=False))
            pairs = self._unordered(before, touch, alike) if rival.equal else None
            if pairs is not None:
                if ordered:                              # else there is a hazard to tell of
                    self._note_equal(touch)
                if before.warp is not touch.warp or not touch.covers(before):
                    rivals.append(Rival(before, np.unique(pairs[0])))
        return [rival for rival in rivals if rival.bytes.size]

    def _check_earlier(self, touch, stamps):
        """Compares a write with the reads in the table of a warp."""
        for known in self._unordered_in(stamps):
            self._compare(known, touch, np.full(stamps.shape, True), "reads", "writes")

    def _check_updates(self, touch, written, does):
        """Compares with atomics and strong stores, but for the bytes in which one is the last write, as of `written`: there
        that has been compared."""
        last = {id(self._writes[stamp].issued): stamp for stamp in self._recent(written) if stamp < IN_FLIGHT}
        for table in filter(None, self._updaters):
            for known in self._unordered_in(table[touch.nbytes].take(touch.rows, axis=0)):
                did = "reads" if does == "writes" and is_atomic(known.instruction) else "writes"
                self._compare(known, touch, (did == "reads") | (written != last.get(id(known))), did, does)

    def _check_replaced(self, touch):
        """A volatile store must come after one of another value by another warp that it replaces, unless its own warp has
        read what that left: a flag that is set and set back by two, of which neither waits for the other."""
        stamps, mine = self._written[touch.nbytes].take(touch.rows, axis=0), self._readers[touch.warp.number]
        seen = np.zeros_like(stamps) if mine is None else mine[touch.nbytes].take(touch.rows, axis=0)
        for stamp in self._recent(stamps):
            before = self._writes.get(stamp)
            if before is None or not before.volatile or before.warp is touch.warp:
                continue
            unordered = self._unordered(before, touch, (stamps == stamp) & ~touch.keeps & (seen < stamp))
            if unordered is not None:
                bytes, lanes, mine = unordered
                what, words = self._race(before, touch, before.place(lanes), touch.place(mine), "writes", "writes", bytes)
                self._log.add(*what, **words)

    def _unordered_in(self, stamps):
        """What stands in the table of a warp, and what that was not ordered after."""
        last = [self._touches[s] for s in self._recent(stamps)]
        return {one.serial: one for top in reversed(last) for one in (top, *top.earlier)}.values()

    def _recent(self, stamps):
        return [stamp for stamp in distinct(stamps) if stamp >= self._floor]

    def _compare(self, before, after, where, did, does):
        """Reports the bytes (of `after`, given by bool [n, nbytes]) at which two touches are not ordered; returns whether
        they are."""
        if before.may_meet(after):
            return all([self._compare(plain, after, where & after.overlap(plain), did, does) for plain in before.beneath
                        if not self._surely_before(plain, after)])
        if before.agent is not None:
            where = where & after.unaware(before, self._clocks)
            if where.any():
                self._in_flight("early read" if does == "reads" else "write in flight", before, after, where)
            return not where.any()
        unordered = self._unordered(before, after, where)
        wrote = before.strong and (did == "writes" or is_atomic(before.instruction))
        if unordered is None or wrote and self._counted(before, after, *unordered):
            return True
        bytes, lanes, mine = unordered
        if before.warp is after.warp and (did, does) == ("reads", "writes") and before.site in answered_by(after.warp) and (
                before.serial <= self._exchanged[after.warp.number]):
            self._note_answer(before, after)
            return True
        for read in self._too_early_as(before):
            pairs = self._unordered(read, after, where)
            if pairs is not None:
                self._explain(read, pairs[0])
        what, words = self._race(before, after, before.place(lanes), after.place(mine), did, does, bytes)
        self._log.add(*what, **words)
        return False

    def _counted(self, before, after, bytes, lanes, mine):
        """As of `global_access`, of bytes that nothing else orders."""
        if after.same is None:
            return False
        last, where = {self._asking.get(byte) for byte in bytes.tolist()}, after.overlap(before)
        return None not in last and all(before.serial < one.serial and self._unordered(one, after, where) is None
                                        for one in last)

    def _surely_before(self, before, after):
        """Whether all that the lanes of one warp did in a touch of no engine happens before all of another one."""
        one, other = before.warp.number, after.warp.number
        return before.agent is None and (before.serial < self._together[one] if one == other
                                         else self._clocks.warps_ordered(one, before.epoch, other))

    def _unordered(self, before, after, where):
        """(bytes, lanes of `before`, lanes of `after`), int64 [m] each: where threads touch bytes (of `after`, given by
        bool [n, nbytes]) and nothing orders them; None if there are none."""
        one, other = before.warp.number, after.warp.number
        if before.serial < self._together[one] if one == other else self._clocks.warps_ordered(one, before.epoch, other):
            return None
        if after.agent is not None and self._clocks.ordered_before(before.threads(), before.epoch, after.threads()).all():
            return None
        index, byte = np.nonzero(where)
        bytes = after.rows[index] * after.nbytes + byte
        which, lanes = before.on(bytes)
        if not which.size:
            return None
        mine = after.by(index[which], byte[which])
        bad = ~self._clocks.ordered(LANES * one + lanes, before.epoch, LANES * other + mine)
        return (bytes[which[bad]], lanes[bad], mine[bad]) if bad.any() else None
