"""Warps take turns: each runs until it must wait, in the order of their indices, so that every run is the same run.

A warp is a thread only because its call stack must survive a wait; exactly one runs at a time.
"""

import threading
import traceback

import numpy as np

from simlayout.errors import HazardError, MachineError, SimlayoutError
from simlayout.machine.clocks import Clocks
from simlayout.machine.divergence import Cancelled
from simlayout.machine.hazards import hazard
from simlayout.machine.memory import SharedMemory
from simlayout.machine.rewrite import WARP_NAME
from simlayout.machine.shadow import SharedShadow
from simlayout.machine.tags import LANES
from simlayout.machine.warp import Warp


class Barrier:
    """A named barrier of a CTA (PTX ISA: bar.sync): opens when the expected number of threads has arrived.

    A barrier of the whole CTA makes everyone know everything; one of some warps collects their clocks, and gives them to
    each as it leaves.
    """

    def __init__(self, cta, id):
        self.cta, self.id = cta, id
        self.opened = self.arrived = 0
        self.expected = None
        self._clock, self._leaving = 0, {}               # what arrived; warp index -> the clock it leaves with

    def arrive(self, warp, threads):
        """Counts a warp in; returns (ready, text) for Warp.block_until."""
        expected = self.cta.threads_padded if threads is None else threads
        if expected % LANES or not 0 < expected <= self.cta.threads_padded:
            raise MachineError(f"bar.sync {self.id} of {expected} threads: a barrier takes a multiple of 32, at most "
                               f"the {self.cta.threads_padded} of the CTA")
        if self.arrived and expected != self.expected:
            raise MachineError(f"bar.sync {self.id} of {expected} threads while others wait there for "
                               f"{self.expected}: give every warp the same number, or use another barrier id")
        self.expected = expected
        self.arrived += LANES
        turn = self.opened
        self._release(warp)
        if self.arrived == expected:
            self.arrived, self.opened = 0, turn + 1
        return (lambda: self.opened > turn), f"bar.sync {self.id} of {expected} threads"

    def _release(self, warp):
        """Collects what the warp did, and hands out what all did when the last one has come."""
        cta, last = self.cta, self.arrived == self.expected
        if cta.shadow is None:
            return
        if self.expected == cta.threads_padded:
            if last:
                cta.clocks.meet()
                cta.shadow.met()
            return
        self._clock = np.maximum(self._clock, cta.clocks.release(warp.tid))
        self._leaving[warp.warp_index] = None
        if last:
            self._leaving = {index: self._clock if clock is None else clock for index, clock in self._leaving.items()}
            self._clock = 0

    def leave(self, warp):
        """The warp goes on, and knows what the others did before they arrived."""
        if warp.warp_index in self._leaving:
            self.cta.clocks.acquire(warp.tid, self._leaving.pop(warp.warp_index))
            self.cta.shadow.met(warp.warp_index)


class Cta:
    """One CTA in execution: its shared memory and its shadow, its barriers, and the Launch that its warps report to.

    index, grid, block: (x, y, z); threads: in the block; threads_padded: the same, up to whole warps.
    """

    def __init__(self, index, grid, block, shared_bytes, launch):
        self.index, self.grid, self.block, self.launch = index, grid, block, launch
        self.threads = block[0] * block[1] * block[2]
        self.threads_padded = -(-self.threads // LANES) * LANES
        self.shared = SharedMemory(shared_bytes)
        self.clocks = self.shadow = None
        if launch.log is not None:
            self.clocks = Clocks(self.threads_padded // LANES)
            self.shadow = SharedShadow(shared_bytes, self.clocks, launch.log, launch.elements)
        self._barriers = {}

    def barrier(self, id):
        """The named barrier 0..15."""
        if id not in self._barriers:
            if id not in range(16):
                raise MachineError(f"bar.sync {id}: a CTA has barriers 0 to 15")
            self._barriers[id] = Barrier(self, id)
        return self._barriers[id]

    def run(self, function, args):
        """Executes the rewritten kernel in all warps; raises what a warp raises, with its place in the kernel."""
        warps = [Warp(self, i) for i in range(self.threads_padded // LANES)]
        turns = [_Turns(w, function, args) for w in warps]
        todo = list(turns)
        try:
            while todo:
                ready = [t for t in todo if t.warp.waiting is None or t.warp.waiting[0]()]
                if not ready:
                    self._deadlock([t.warp for t in todo], warps)
                for turn in ready:
                    self.launch.running = turn.warp
                    turn.resume()
                todo = [t for t in todo if not t.finished]
            self._settle()
        except HazardError:
            raise
        except SimlayoutError:
            self._settle()                               # what was read too early may well be what led here
            raise
        finally:
            for turn in turns:
                turn.cancel()
        for warp in warps:
            self.launch.ended(warp)

    def _settle(self):
        if self.shadow is not None:
            self.shadow.settle()

    def _deadlock(self, waiting, warps):
        """Raises the HazardError that says who waits where, and who has finished where."""
        places = {}
        for warp in waiting:
            places.setdefault(f"waiting at {warp.waiting[1]} ({_at(warp)})", []).append(warp)
        for warp in (w for w in warps if w not in waiting):
            places.setdefault(f"finished, last at {_at(warp)}", []).append(warp)
        parts = [f"{_warps([w.warp_index for w in found])} {place}" for place, found in places.items()]
        other = [found[0].place() for found in places.values()][1:]
        text = f"deadlock in CTA {self.index}: {'; '.join(parts)}"
        found = hazard("deadlock", other[0] if other else None, waiting[0].place(), what=text)
        raise HazardError(found.text, found)


def _at(warp):
    file, line = warp.site
    return f"{file}:{line}" if line else "the start"


def _warps(indices):
    return f"warp{'s' if len(indices) > 1 else ''} {', '.join(map(str, indices))}"


class _Turns:
    """A warp's thread, run one turn at a time by `resume`."""

    def __init__(self, warp, function, args):
        self.warp, self.function, self.args = warp, function, args
        self.finished, self.error = False, None
        self._mine, self._theirs = threading.Lock(), threading.Lock()
        self._mine.acquire()
        self._theirs.acquire()
        self._thread = threading.Thread(target=self._main, daemon=True, name=repr(warp))
        warp.pause = self._pause

    def resume(self):
        """Lets the warp run until it waits or ends; raises what it raised."""
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._mine.release()
        self._theirs.acquire()
        if self.error is not None:
            raise self.error

    def cancel(self):
        """Ends the warp where it stands, if it is not finished."""
        if self._thread.ident is not None:
            self.warp.cancelled = True
            self._mine.release()
            self._thread.join()

    def _pause(self):
        self._theirs.release()
        self._mine.acquire()
        if self.warp.cancelled:
            raise Cancelled

    def _main(self):
        try:
            with np.errstate(all="ignore"):              # as on a GPU: inactive lanes may hold anything
                self.function(self.warp, *self.args)
        except Cancelled:
            pass
        except BaseException as error:
            self.error = _located(error, self.warp)
        self.finished = True
        self._theirs.release()


def _located(error, warp):
    """The error, saying where in the kernel: in its line if it is ours, as a note otherwise."""
    file, line = warp.site
    for frame, number in traceback.walk_tb(error.__traceback__):
        names = frame.f_code
        if WARP_NAME in names.co_varnames or WARP_NAME in names.co_freevars:
            file, line = names.co_filename, number
    if isinstance(error, HazardError):
        return error                                     # says so itself
    where = f"{file}:{line}: CTA {warp.index}, warp {warp.warp_index}"
    if isinstance(error, SimlayoutError):
        error.args = (f"{where}: {error}", *error.args[1:])
    elif hasattr(error, "add_note"):                     # Python 3.11
        error.add_note(f"in a kernel on the machine, {where}")
    return error
