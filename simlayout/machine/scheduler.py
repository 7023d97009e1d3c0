"""Warps take turns: each runs until it must wait, in the order of their indices, so that every run is the same run.

A warp is a thread only because its call stack must survive a wait; exactly one runs at a time.
"""

import threading
import traceback

import numpy as np

from simlayout.errors import MachineError, SimlayoutError
from simlayout.machine.divergence import Cancelled
from simlayout.machine.memory import SharedMemory
from simlayout.machine.rewrite import WARP_NAME
from simlayout.machine.tags import LANES
from simlayout.machine.warp import Warp


class Barrier:
    """A named barrier of a CTA (PTX ISA: bar.sync): opens when the expected number of threads has arrived."""

    def __init__(self, cta, id):
        self.cta, self.id = cta, id
        self.opened = self.arrived = 0
        self.expected = None

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
        if self.arrived == expected:
            self.arrived, self.opened = 0, turn + 1
        return (lambda: self.opened > turn), f"bar.sync {self.id} of {expected} threads"


class Cta:
    """One CTA in execution: its shared memory, its barriers, and what its warps report to.

    index, grid, block: (x, y, z); threads: in the block; threads_padded: the same, up to whole warps.
    """

    def __init__(self, index, grid, block, shared_bytes, recorder):
        self.index, self.grid, self.block, self.recorder = index, grid, block, recorder
        self.threads = block[0] * block[1] * block[2]
        self.threads_padded = -(-self.threads // LANES) * LANES
        self.shared = SharedMemory(shared_bytes)
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
                    raise MachineError(self._deadlock([t.warp for t in todo], len(turns)))
                for turn in ready:
                    turn.resume()
                todo = [t for t in todo if not t.finished]
        finally:
            for turn in turns:
                turn.cancel()

    def _deadlock(self, waiting, total):
        """One line: who waits where, and who has finished."""
        places = {}
        for warp in waiting:
            file, line = warp.site
            places.setdefault(f"{warp.waiting[1]} ({file}:{line})", []).append(warp.warp_index)
        parts = [f"{_warps(found)} waiting at {place}" for place, found in places.items()]
        finished = sorted(set(range(total)) - {w.warp_index for w in waiting})
        if finished:
            parts.append(f"{_warps(finished)} finished")
        return (f"deadlock in CTA {self.index}: {'; '.join(parts)}: "
                "every warp that a barrier counts must reach it")


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
    where = f"{file}:{line}: CTA {warp.index}, warp {warp.warp_index}"
    if isinstance(error, SimlayoutError):
        error.args = (f"{where}: {error}", *error.args[1:])
    elif hasattr(error, "add_note"):                     # Python 3.11
        error.add_note(f"in a kernel on the machine, {where}")
    return error
