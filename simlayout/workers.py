"""Processes that work side by side, and leave Ctrl-C to the one that started them."""

import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType


class Worker(SpawnProcess):
    """A process that never sees SIGINT: a terminal sends it to all of them, and each would tell it in its own way."""

    def start(self):
        """Starts with the signal blocked, which a new process inherits; here it waits until then."""
        if not hasattr(signal, "pthread_sigmask"):       # Windows
            super().start()
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WithoutMain(Worker):
    """A Worker that does not import the program that started it, which need not be written to be imported."""

    def start(self):
        """Starts while another __main__ is there to be asked what it is."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _Workers(SpawnContext):
    Process = Worker            # fresh ones: neither CUDA nor threads outlive a fork


class _WithoutMain(SpawnContext):
    Process = WithoutMain


class _Pool(ProcessPoolExecutor):
    def __exit__(self, kind, *_):
        """An interrupt or another error leaves undone what nobody has begun."""
        self.shutdown(cancel_futures=kind is not None)


def workers(count, main=True):
    """A ProcessPoolExecutor of so many fresh processes. Its `with` waits for those at work, in an error for no others. main:
    whether they import the program's __main__, as functions that are defined there need."""
    return _Pool(count, _Workers() if main else _WithoutMain())
