"""What a PTX warp does with memory: shared, global, local, constant, parameters, and generic addresses that may mean any."""

from functools import partial

import numpy as np

from simlayout.errors import SHARED_BYTES, AddressError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.global_memory import GlobalPointer
from simlayout.machine.hazards.kinds import hazard
from simlayout.machine.hazards.touches import WEAK
from simlayout.machine.hazards.units import in_shared
from simlayout.machine.ptx.memory import half_words
from simlayout.machine.ptx.memory.local import PLAIN
from simlayout.machine.ptx.memory.space import LOCAL, PARAMETERS, RANK, SHARED, WINDOW, in_window
from simlayout.machine.ptx.memory.sums import Sums
from simlayout.machine.ptx.memory.updates import SharedCells, one_by_one

IN_TURN = "atomic to which warps, or arms of a branch, come in any order, on which depends what threads do at"
"""Ahead of the lines of which that is true, in a note."""

_LANE = np.arange(LANES)


class MemoryTwins:
    """Loads and stores of a PtxWarp. addresses: uint64 [32], bytes in a space or generic; data: uint8 [32, nbytes], zeros in
    lanes that are not active."""

    def strong_access(self, space, addresses, access):
        """Calls access(place, lane) for every active lane of a strong access, if somebody looks for hazards: see
        `ordering`."""
        if self.cta.shadow is not None:
            for lane in np.flatnonzero(self.active).tolist():
                access(self.place_of(space, int(addresses[lane])), lane)

    def place_of(self, space, address):
        """What an address is called among the Counters of a launch."""
        if space != "shared" and not (not space and SHARED <= address < SHARED + WINDOW):
            return address
        rank, at = divmod(address % WINDOW, RANK)
        ctas = self.cta.cluster.ctas if rank else ()
        return (ctas[rank - 1] if 0 < rank <= len(ctas) else self.cta).first, at      # nobody's is out of bounds

    def bytes_at(self, address, nbytes):
        """(bytes, how they are told) of nbytes at what `place_of` calls an address."""
        if isinstance(address, tuple):
            return address[1] + np.arange(nbytes), in_shared
        one = np.arange(LANES) == 0
        (allocation, _, offsets), = self.space.resolve(np.full(LANES, address, np.uint64), one, nbytes)
        return offsets[0] - allocation.origin + np.arange(nbytes), allocation.told

    def load(self, space, addresses, nbytes, how=PLAIN):
        """nbytes per lane from a space: "global", "shared", "local", "const", "param" or "" (generic). how: a Manner."""
        if space == "shared":
            return self._shared_load(f"ld.shared.b{8 * nbytes}", addresses, nbytes, how)
        if space == "global":
            return self._counted_load(addresses, self.active, nbytes, how)
        if space == "const":
            return self._global_load(addresses, self.active, nbytes, how)
        if space == "local":
            return self.local_load(addresses, self.active, nbytes, how)
        if space == "param":
            return self._parameter_load(addresses, self.active, nbytes)
        return self._by_window(addresses, lambda *part: self._load_window(*part, nbytes, how), nbytes)

    def store(self, space, addresses, data, order=WEAK, width=None):
        """Stores data in a space: "global", "shared", "local", "param" (of a call: local memory) or "" (generic). width:
        bytes of a value, if each lane stores a vector of them."""
        nbytes = data.shape[1]
        if space == "shared":
            self._shared_store(f"st.shared.b{8 * nbytes}", addresses, data, order, width)
        elif space == "global":
            self._global_store(addresses, self.active, data, order, width)
        elif space in ("local", "param"):
            self.local_store(addresses, self.active, data)
        elif space == "const":
            raise AddressError("st.const: constant memory is read-only")
        else:
            self._by_window(addresses, lambda *part: self._store_window(*part, data, order, width), 0)

    # ---- generic addresses ---------------------------------------------------------------------------------------

    def _by_window(self, addresses, act, nbytes):
        """Calls act(space, addresses in it, lanes) for each window that active lanes address; gives the sum of what it
        gives."""
        total, outer, left = np.zeros((LANES, nbytes), np.uint8), self.active, self.active
        for space, start in (("shared", SHARED), ("local", LOCAL), ("param", PARAMETERS)):
            here = left & (addresses >= np.uint64(start)) & (addresses < np.uint64(start + WINDOW))
            if here.any():
                left = left & ~here
                total |= act(space, addresses - np.uint64(start), here)
        if left.any():
            total |= act("global", addresses, left)
        self.narrow(outer)
        return total

    def _load_window(self, space, addresses, lanes, nbytes, how):
        if space == "shared":
            self.narrow(lanes)
            return self._shared_load(f"ld.b{8 * nbytes}", addresses, nbytes, how)
        if space == "global":
            return self._counted_load(addresses, lanes, nbytes, how)
        if space == "local":
            return self.local_load(addresses, lanes, nbytes, how)
        return self._parameter_load(addresses, lanes, nbytes)

    def _store_window(self, space, addresses, lanes, data, order, width):
        if space == "shared":
            self.narrow(lanes)
            self._shared_store(f"st.b{8 * data.shape[1]}", addresses, data, order, width)
        elif space == "global":
            self._global_store(addresses, lanes, data, order, width)
        elif space == "local":
            self.local_store(addresses, lanes, data)
        else:
            raise AddressError("st to a kernel parameter: parameters are read-only")
        return 0

    # ---- spaces --------------------------------------------------------------------------------------------------

    def _shared_load(self, name, addresses, nbytes, how):
        where, outer = in_window(addresses), self.active
        if (where[self.active] >= RANK).any():
            return self.cluster_load(name, where, nbytes, how.order)
        data = np.zeros((LANES, nbytes), np.uint8)
        if self.keeps_within(where, nbytes, "reads"):
            data = self.shared_load(name, where, nbytes, how.order, how.used)
        self.narrow(outer)
        return data

    def _shared_store(self, name, addresses, data, order, width):
        where, outer = in_window(addresses), self.active
        if (where[self.active] >= RANK).any():
            self.cluster_store(name, where, data, order, width)
        elif self.keeps_within(where, data.shape[1], "writes"):
            self.shared_store(name, where, np.ascontiguousarray(data), order, width)
        self.narrow(outer)

    def keeps_within(self, where, nbytes, verb):
        """Tells of active lanes whose accesses of nbytes of shared memory, at int64 [32], leave it, or the array that they
        address, or are not aligned, if somebody looks for hazards; leaves those out that a GPU cannot do, and returns
        whether any are left."""
        if self.cta.launch.log is None:
            return True
        size, within, used = self.cta.shared.size, self.doing.within, where[self.active]
        first, end, _ = within or (0, size, "")
        if np.bitwise_or.reduce(used - first | end - nbytes - used) >= 0 and not np.bitwise_or.reduce(used) & nbytes - 1:
            return True
        self.narrow(self.active & ~self.beyond(where, nbytes, verb, self.active))
        return bool(self.active.any())

    def fits(self, where, nbytes, verb, lanes):
        """The same of an instruction that a warp executes as one, for lanes (bool [32]): whether a GPU can do it."""
        return self.cta.launch.log is None or not self.beyond(where, nbytes, verb, lanes).any()

    def beyond(self, where, nbytes, verb, lanes):
        """Tells of lanes (bool [32]) as `keeps_within`; returns those whose accesses a GPU cannot do."""
        size, what = self.cta.shared.size, f"{nbytes} bytes at shared byte {{}}".format
        self.stays_within(where, nbytes, verb, lanes)
        outside = lanes & ((where < 0) | (where > size - nbytes))
        if outside.any() and self.doing.within is None:
            self.wrong("out of bounds", outside, verb, what(int(where[outside][0])),
                       of=f"the {size} bytes of shared memory (ask for more by {SHARED_BYTES})")
        inside = lanes & ~outside
        return outside | inside & ~self.aligned(where.view(np.uint64), inside, nbytes, verb, what)

    def stays_within(self, where, nbytes, verb, lanes=True):
        """Tells of active lanes (those of bool [32]) that leave the array that they address for another one."""
        within = self.doing.within
        if within is None or self.cta.launch.log is None:
            return
        left = self.active & lanes & ((where < within.first) | (where > within.end - nbytes))
        if left.any():
            at = int(where[left][0]) - within.first
            self.wrong("out of bounds", left, verb, f"bytes {at} to {at + nbytes - 1} of the shared array "
                       f"{within.name}", of=f"its {within.end - within.first} bytes")

    def pointers(self, addresses, active, nbytes, verb, alignment=None):
        """[(GlobalPointer, lanes bool [32])]: the arrays in which active lanes access nbytes; tells of those that access
        none, or are not aligned, as a hazard, and leaves them out."""
        what = partial(self.in_global, nbytes)
        active = self.aligned(addresses, active, alignment or nbytes, verb, what)
        found = []
        for allocation, lanes, offsets in self.space.resolve(addresses, active, nbytes):
            if allocation is None:
                self.wrong("out of bounds", lanes, verb, what(int(addresses[lanes][0])), of="every array that was passed")
            else:
                found.append((GlobalPointer(allocation, offsets), lanes))
        return found

    def in_global(self, nbytes, address):
        """What the step in progress accesses there, for a message."""
        given, places = self.program.parameters.tobytes(), self.program.passed(self.doing.line)
        passed = [int.from_bytes(given[at:at + 8], "little") for at in places]
        return f"{nbytes} bytes at {address:#x}, {self.space.nearest(address, passed)}"

    def aligned(self, addresses, active, alignment, verb, what):
        """bool [32]: the active lanes whose addresses are multiples of `alignment`; tells of the others. what(address): what
        they access."""
        crooked = active & (addresses % np.uint64(alignment) != 0)
        if crooked.any():
            self.wrong("misaligned", crooked, verb, what(int(addresses[crooked][0])))
        return active & ~crooked

    def wrong(self, kind, lanes, verb, detail, **words):
        """Tells of a hazard of lanes (bool [32]); raises AddressError where nobody looks for any."""
        what, words = (kind, None, self.place(np.flatnonzero(lanes))), {"does": verb, "detail": detail} | words
        if self.cta.launch.log is None:
            raise AddressError(str(hazard(*what, **words)))
        self.cta.launch.log.add(*what, **words)

    def _asks(self, what, addresses, active, nbytes):
        """Counts the sectors that active lanes touch."""
        if active.any() and self.doing.joined != ():
            buffer = self.cta.launch.recorder.sectors(f"{what}.global.b{8 * nbytes}", self.counted_at, nbytes,
                                                      self.doing.beside)
            buffer.add(addresses.view(np.int64), active)

    def _counted_load(self, addresses, active, nbytes, how):
        self._asks("ld", addresses, active, nbytes)
        return self._global_load(addresses, active, nbytes, how)

    def _global_load(self, addresses, active, nbytes, how):
        data = np.zeros((LANES, nbytes), np.uint8)
        needs = active
        for row, negated in how.needed:
            needs = needs & (self.rows[row] != negated)
        for pointer, lanes in self.pointers(addresses, active & ~needs, nbytes, "reads"):
            data |= pointer.peek(lanes, nbytes)          # of which nothing is stored
        for pointer, lanes in self.pointers(addresses, needs, nbytes, "reads"):
            data |= pointer.read(lanes, nbytes, strong=how.order != WEAK, width=self.value_bytes(nbytes), used=how.used)
        return data

    def _global_store(self, addresses, active, data, order, width):
        self._asks("st", addresses, active, data.shape[1])
        for pointer, lanes in self.pointers(addresses, active, data.shape[1], "writes"):
            pointer.write(lanes, data, strong=order != WEAK, width=width)

    def _parameter_load(self, addresses, active, nbytes):
        parameters = self.program.parameters
        first = addresses.view(np.int64)[active]
        if (first < 0).any() or (first + nbytes > len(parameters)).any():
            raise AddressError(f"ld.param: {nbytes} bytes at {int(first.max())} of {len(parameters)} bytes of parameters")
        data = np.zeros((LANES, nbytes), np.uint8)
        data[active] = parameters[first[:, None] + np.arange(nbytes)]
        return data

    # ---- atomics and fences --------------------------------------------------------------------------------------

    def atomic(self, space, name, addresses, update, values, order):
        """An atomic of each active lane, one after another: what was there, unsigned [32, count]. update: an `atoms.Update`;
        values: of each operand uint64 [32, count]; name: what it is called on shared memory."""
        held, outer = np.zeros((LANES, update.count), np.uint64), self.active
        shared = np.full(LANES, space == "shared")
        if not space:
            shared = (addresses >= np.uint64(SHARED)) & (addresses < np.uint64(SHARED + WINDOW))
        if (outer & shared).any():
            self.narrow(outer & shared)
            self._shared_atomic(name, in_window(addresses), update, values, held, order)
        if (outer & ~shared).any():
            self.narrow(outer & ~shared)
            self._global_atomic(addresses, update, values, held, order)
        self.narrow(outer)
        return held

    def comes_in_turn(self, space, addresses, follows):
        """Notes that the next instruction is an atomic at those addresses, int64 [32]. follows: of one whose value decides
        about other accesses, () -> the Steps' `counted_at` and lines of the kernel's own of these; else None."""
        cta, came = self.cta, self.cta.launch.recorder.came
        now, lanes = ((cta.index, self.warp_index), self.barriers_passed, self.counted_at), self.active.copy()
        in_any_order = []
        for address in set(addresses[self.active].tolist()):
            place = (cta.index if space == "shared" or SHARED <= address < SHARED + WINDOW else None, address)
            before, others, of = came.get(place, (now, lanes, None))
            if _any_order(before, others, now, lanes):
                in_any_order += [follows, of]
            came[place] = now, lanes, follows
        for behind in filter(None, in_any_order):
            self._unsure_behind(*behind())

    def _unsure_behind(self, sites, told):
        recorder, (place, lines) = self.cta.launch.recorder, told
        recorder.unsure.update(sites)
        if lines:
            recorder.note_once(place, f"{IN_TURN} {lines}: their counts are those of one order")

    def may_try_again(self):
        """Notes that the next instruction is an atomic that threads try until they succeed, or a load by which they wait,
        where several meet."""
        recorder = self.cta.launch.recorder
        if recorder.contended or self.active.sum() > 1:
            recorder.unsure.add(self.counted_at)

    def _shared_atomic(self, name, where, update, values, held, order):
        if (where[self.active] >= RANK).any():
            self.cluster_atomic(name, where, update, values, held, order)
            return
        outer = self.active
        if self.keeps_within(where, update.bytes, "updates"):
            self._own_atomic(name, where, update, values, held, order)
        self.narrow(outer)

    def _own_atomic(self, name, where, update, values, held, order):
        rows = self.cta.shared.rows(name, where, update.bytes, self._mask())
        if update.bytes == 2:
            self._record_halves(where, rows, update, values)
        else:
            self._record_atomic(name, where, update)
        if self.cta.launch.doubts is not None:
            self.cta.launch.doubts.update_shared(self, where, update.bytes)
        if self.cta.shadow is not None:
            self.cta.shadow.atomic(self._touch(name, where, rows, update.bytes))
        self.update_shared(self.cta.shared, where, rows, update, values, held, order)

    def _record_atomic(self, name, where, update):
        outer = self.active
        lanes = np.flatnonzero(outer)
        if 0 < update.merged <= len(lanes):
            self.narrow(np.isin(np.arange(LANES), lanes[np.unique(where[lanes], return_index=True)[1]]))
        self.record(name, where, where)
        self.narrow(outer)

    def _record_halves(self, where, rows, update, values):
        """An atomic of 16 bits is counted as `half_words` says."""
        outer, at = self.active, where & ~3
        words = np.zeros(LANES, np.uint32)
        words[outer] = self.cta.shared.load(rows // 2, 4).view(np.uint32)[:, 0]
        self.record(half_words.LOAD, at, at)
        for pending in half_words.rounds(where, outer, words, update, values):
            self.narrow(pending)
            self.record(half_words.EXCHANGE, at, at)
        self.narrow(outer)

    def update_shared(self, shared, where, rows, update, values, held, order):
        """Atomics of the active lanes on rows of a SharedMemory, one after another; where: the same in the window."""
        lanes, cells = np.flatnonzero(self.active), SharedCells(shared, rows, update.bytes)
        made = one_by_one(cells, rows, lanes, update, update, values, held)
        self._updated_in_parts("shared", where, update, update, values, made, order)

    def _global_atomic(self, addresses, update, values, held, order):
        self._asks("atom", addresses, self.active, update.bytes)
        for pointer, lanes in self.pointers(addresses, self.active, update.bytes, "updates"):
            which = np.flatnonzero(lanes)
            if self.cta.launch.doubts is not None:
                self.cta.launch.doubts.update_global(self, addresses.view(np.int64), lanes, update.bytes)
            access = pointer.update(lanes, update.bytes, self.value_bytes(update.bytes))
            cells, places = pointer.cells(lanes, update.bytes), pointer.offset[which]
            made = one_by_one(cells, places, which, update, update.in_l2, values, held)
            self._updated_in_parts("global", addresses, update, update.in_l2, values, made, order, access)

    def _updated_in_parts(self, space, addresses, update, function, values, parts, order, access=None):
        """Has an atomic made, in parts as of `one_by_one`, and tells of each what looks at it. function: the update, or its
        `in_l2`."""
        recorder, done = self.cta.launch.recorder, []
        for part in parts:
            self._updated(space, addresses, *part, order, access)
            done.append(part)
        if update.rounds and self.cta.launch.log is not None:
            recorder.sums = recorder.sums or Sums(recorder)
            recorder.sums.added(self, space, addresses, values[0], function, *map(np.concatenate, zip(*done)))

    def _updated(self, space, addresses, lanes, found, left, order, access=None):
        if self.cta.shadow is not None and not self.orders_nothing(order):
            for lane, before, after in zip(lanes.tolist(), found, left):
                place = self.place_of(space, int(addresses[lane]))
                self.strong_update(place, lane, before.tobytes(), after.tobytes(), order, access)


def _any_order(before, others, now, lanes):
    """Whether either of two atomics at one place may come first. before, now: of each (who, barriers that were passed, where
    it is counted); others, lanes: who of the warp took part. What a barrier of the CTA lies between comes in one order; and
    of one warp, what is not in two arms of a branch."""
    (one, passed, at), (other, has_passed, here) = before, now
    if one != other:
        return one[0] != other[0] or passed == has_passed
    return passed == has_passed and at != here and not (others & lanes).any()
