"""How far long work is: drawn on a terminal alone, so that no log gets a line for every step."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Event, Thread

EVERY = 0.1
"""Seconds between two drawings."""

SOON = 1.0
"""Seconds before it is told how many are left: the first steps take longer than all others."""


def duration(seconds):
    """Roughly how long, for people.

    >>> [duration(s) for s in (0.2, 42.4, 90, 4000, 86400 * 3)]
    ['1 second', '42 seconds', '2 minutes', '1.1 hours', '3 days']
    """
    if seconds < 60:
        count, unit = max(round(seconds), 1), "second"
    elif seconds < 3600:
        count, unit = -(-seconds // 60), "minute"
    else:
        count, unit = (seconds / 3600, "hour") if seconds < 2 * 86400 else (seconds / 86400, "day")
    count = f"{count:.1f}".removesuffix(".0") if count < 10 else f"{count:.0f}"
    return f"{count} {unit}{'' if count == '1' else 's'}"


@contextmanager
def progress(what, stays=False):
    """A function (done, total) that draws "12 of 400 WHAT, 3 minutes left" over itself on stderr, where that is a terminal.
    Where the total is another one, or fewer are done, other work begins, and its time.

    stays: leaves the last count as a line, there and in a log too; otherwise nothing is left, and a log gets nothing.
    """
    stream, started = sys.stderr, time.monotonic()
    terminal = stream is not None and stream.isatty()
    last = drawn = None

    def moved(done, total):
        nonlocal last, drawn, started
        now = time.monotonic()
        if last is not None and (total != last[1] or done < last[0]):
            started = now
        last = done, total
        if terminal and (drawn is None or now - drawn >= EVERY):
            drawn, known = now, 0 < done < total and now - started >= SOON
            left = f", {duration((now - started) * (total - done) / done)} left" if known else ""
            print(f"\r{done} of {total} {what}{left}\x1b[K", end="", file=stream, flush=True)

    try:
        yield moved
    finally:
        if drawn is not None:
            print("\r\x1b[K", end="", file=stream, flush=True)
        if stays and last is not None and stream is not None:
            print(f"{last[0]} of {last[1]} {what}", file=stream, flush=True)


PATIENCE = 1.5
"""Seconds that pass before somebody who waits is told."""

_said: set[str] = set()


class Console:
    """Where `waiting` writes. shown: makes a context in which stderr is what the user sees; pytest's plugin sets it, because
    pytest keeps what a test writes. waited: seconds that this process has waited so far."""

    shown: Callable[[], AbstractContextManager] = nullcontext
    waited = 0.0


@contextmanager
def waiting(text: str, patience: float = PATIENCE) -> Iterator[None]:
    """Tells on stderr what is waited for, once that takes longer than `patience` seconds: a log gets the text as one line,
    once in a process; on a terminal it stands with the seconds until the wait is over."""
    over, started = Event(), time.perf_counter()
    teller = Thread(target=_tell, args=(text, patience, over), daemon=True, name="simlayout: waiting")
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        Console.waited += time.perf_counter() - started


def _tell(text, patience, over):
    started = time.monotonic()
    if over.wait(patience):
        return
    with suppress(OSError, ValueError), Console.shown():             # ValueError: it is closed
        stream = sys.stderr
        if stream is not None and stream.isatty():
            while not over.wait(EVERY):
                print(f"\r{text}: {time.monotonic() - started:.0f} s\x1b[K", end="", file=stream, flush=True)
            print("\r\x1b[K", end="", file=stream, flush=True)
        elif stream is not None and text not in _said:
            _said.add(text)
            print(text, file=stream, flush=True)
