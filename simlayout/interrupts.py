"""Work in which an interrupt would be lost, or would do harm: done in a thread of its own, while the main thread listens, or
with the interrupt put off until the main thread waits, or with a lost one raised again.

Ctrl-C is an exception in whatever code the main thread is executing. In a call-back of LLVM it is printed and forgotten, or
leaves LLVM in pieces; so Numba compiles apart from the main thread. In what a weak reference calls it is printed and
forgotten too; and who is interrupted while a thread starts cannot tell whether there is one.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

STACK = 1 << 26
"""Bytes of such a thread's stack: as much as a compiler may want, where the system would give less than to a main thread."""

_working: set[threading.Thread] = set()


def apart(work: Callable, /, *args: Any, **named: Any) -> Any:
    """work(*args, **named), in a thread of its own if this is the main one: what it returns, or raises. An interrupt ends
    the wait at once; the work goes on to its end, and the process does not end before it.

    >>> apart(divmod, 7, 2)
    (3, 1)
    """
    if threading.current_thread() is not threading.main_thread():
        return work(*args, **named)
    done: Future = Future()

    def run():
        try:
            done.set_result(work(*args, **named))
        except BaseException as error:
            done.set_exception(error)
        finally:
            _working.discard(thread)

    thread = threading.Thread(target=run, name=f"simlayout: {getattr(work, '__name__', work)}")
    _working.add(thread)
    before = threading.stack_size(STACK)
    try:
        thread.start()
    finally:
        threading.stack_size(before)
    return done.result()


class _PutOff:
    """What is told of interrupts in the place of `handler`, which hears of them while somebody waits."""

    def __init__(self, handler):
        self._handler, self._came, self._waits = handler, None, False

    def __call__(self, *what):
        if self._waits:
            self._handler(*what)
        else:
            self._came = what

    def wait(self, lock):
        self._waits = True
        try:
            self.tell()
            lock.acquire()
        finally:
            self._waits = False

    def tell(self):
        came, self._came = self._came, None
        if came is not None:
            self._handler(*came)


@contextmanager
def put_off() -> Iterator[Callable]:
    """Inside, an interrupt comes only while the main thread waits for a lock by wait(lock), where `wait` is what this gives,
    and else at the end.

    >>> done, turn = [], threading.Lock()
    >>> try:
    ...     with put_off() as wait:
    ...         signal.raise_signal(signal.SIGINT)
    ...         done.append("what must not be left half done")
    ...         wait(turn)
    ...         done.append("what comes behind")
    ... except KeyboardInterrupt:
    ...     print(done)
    ['what must not be left half done']
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield lambda lock: lock.acquire()
        return
    instead = _PutOff(handler)
    try:
        signal.signal(signal.SIGINT, instead)
        yield instead.wait
    finally:
        signal.signal(signal.SIGINT, handler)
        instead.tell()


class _Heard:
    """What is told of interrupts in the place of `handler`, and remembers what that raised."""

    def __init__(self, handler):
        self._handler, self._raised = handler, None

    def __call__(self, *what):
        try:
            self._handler(*what)
        except BaseException as error:
            self._raised = error
            raise

    def again(self):
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised


@contextmanager
def not_lost() -> Iterator[Callable]:
    """Inside, an interrupt comes at once; one that nobody heard of, because it came in what a weak reference calls, comes
    again by again(), where `again` is what this gives, and else at the end.

    >>> import sys, weakref
    >>> lost, shown = {1}, sys.unraisablehook
    >>> known = weakref.ref(lost, lambda _: signal.raise_signal(signal.SIGINT))
    >>> sys.unraisablehook = lambda _: print("ignored")
    >>> try:
    ...     with not_lost() as again:
    ...         del lost
    ...         again()
    ...         print("not reached")
    ... except KeyboardInterrupt:
    ...     print("heard")
    ignored
    heard
    >>> sys.unraisablehook = shown
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield lambda: None
        return
    instead = _Heard(handler)
    try:
        signal.signal(signal.SIGINT, instead)
        yield instead.again
        instead.again()
    finally:
        signal.signal(signal.SIGINT, handler)


def busy() -> bool:
    """Whether work goes on for which nobody waits any more, so that the process would not end yet."""
    return any(thread.is_alive() for thread in _working)
