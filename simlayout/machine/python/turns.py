"""A warp of a rewritten kernel takes its turns as a thread, because its call stack must survive a wait."""

import ctypes
import threading
import traceback

import numpy as np

from simlayout.errors import HazardError, SimlayoutError
from simlayout.machine.hazards.kinds import calls_of, place_of
from simlayout.machine.python.divergence import Cancelled
from simlayout.machine.python.syntax import WARP_NAME

GRACE = 0.1
"""Seconds that a cancelled warp has to end by itself."""


class PythonTurns:
    """A warp of a rewritten kernel as a thread, run one turn at a time by `resume`. wait: as `interrupts.put_off` gives
    it."""

    def __init__(self, warp, function, args, wait):
        self.warp, self.function, self.args, self._wait = warp, function, args, wait
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
        self._wait(self._theirs)
        if self.error is not None:
            raise self.error

    def cancel(self):
        """Ends the warp where it stands, if it is not finished: waiting for its turn, or in the middle of it, where an
        interrupt met the machine; then between two bytecodes, for it may never wait."""
        if self._thread.ident is None:
            return
        self.warp.cancelled = True
        if self._mine.locked():                          # else the thread has yet to take a turn that it was given
            self._mine.release()
        while self._thread.is_alive():
            self._thread.join(GRACE)
            if self._thread.is_alive():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(SystemExit))

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
        if not self.warp.cancelled:                      # else nobody waits for the turn's end
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
    where = f"{place_of(file, line, calls_of(warp.caller))}: CTA {warp.index}, warp {warp.warp_index}"
    if isinstance(error, SimlayoutError):
        error.args = (f"{where}: {error}", *error.args[1:])
    elif hasattr(error, "add_note"):                     # Python 3.11
        error.add_note(f"in a kernel on the machine, {where}")
    return error
