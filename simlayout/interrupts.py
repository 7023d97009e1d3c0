"""Work in which an interrupt would be lost, or would do harm: done in a thread of its own, while the main thread listens.

Ctrl-C is an exception in whatever code the main thread is executing. In a call-back of LLVM it is printed and forgotten, or
leaves LLVM in pieces; so Numba compiles apart from the main thread.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
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


def busy() -> bool:
    """Whether work goes on for which nobody waits any more, so that the process would not end yet."""
    return any(thread.is_alive() for thread in _working)
