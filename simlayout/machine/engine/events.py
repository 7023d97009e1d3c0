"""What those who watch a run are told: who moves which bytes of shared memory, in the order in which the machine does it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial

import numpy as np

EVENTS = {
    "access": "a warp's instruction on shared memory; addresses: one per lane",
    "load": "TMA is told to bring a box; addresses: of the 16-byte cells where it will land",
    "land": "the box of a load is there, in the same cells",
    "multiply": "a warpgroup issues a wgmma; addresses: of the 16-byte cells of its operands",
    "read": "the operands of a wgmma are read: a wait covers it",
    "store": "TMA reads the cells of a box that it stores to global memory",
    "wait": "a warp has waited for a phase of an mbarrier",
    "phase": "a phase of an mbarrier completes",
    "wait_group": "the copies of a warp are there, but for the groups that its cp.async.wait_group, the instruction, leaves",
    "barrier": "a bar.sync opens: all that it waits for have come; executed by no warp alone",
}
"""Kind -> what has happened."""


@dataclass(frozen=True)
class Event:
    """Something that happens to the shared memory of a CTA. kind: one of EVENTS.

    instruction: PTX name; cta: (x, y, z) of the CTA whose shared memory it is; addresses: int64 [n] bytes; warp: who
    executes it, ((x, y, z) of its CTA, index in it), None where nobody does; access: name of the Access whose index function
    gave the addresses, or None; active: bool [32], None if all lanes are or where it is no access; mbarrier: byte address
    of that of a load, landing, wait or phase, else None; coords: of a box, in elements, innermost first; wavefronts: of a
    wgmma that reads, whose addresses do not say them, else 0.
    """

    kind: str
    instruction: str
    cta: tuple
    addresses: np.ndarray = field(default_factory=partial(np.empty, 0, np.int64))
    warp: tuple | None = None
    access: str | None = None
    active: np.ndarray | None = None
    mbarrier: int | None = None
    coords: tuple = ()
    wavefronts: int = 0


_watch: "ContextVar[Callable[[Event], object] | None]" = ContextVar("watch", default=None)


@contextmanager
def watching(watch: "Callable[[Event], object]") -> Iterator[None]:
    """Within it, `simlayout.machine.run` calls watch(Event) for all that moves bytes of shared memory, and the mbarriers
    that order it, in the order in which it is executed; the inner one of two is called. Whoever starts the run.

    >>> from simlayout.machine import run
    >>> class Store:
    ...     twin = staticmethod(lambda warp: warp.shared_store("st.shared.b32", 4 * warp.lane, np.zeros((32, 4), np.uint8)))
    >>> store, events = Store(), []
    >>> def kernel():
    ...     store()
    >>> with watching(events.append):
    ...     trace = run(kernel, 1, 32, shared_bytes=128)
    >>> [(event.kind, event.instruction, event.addresses[:3].tolist()) for event in events]
    [('access', 'st.shared.b32', [0, 4, 8])]
    """
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def watcher():
    """Who is told: that of the inner `watching`, or None."""
    return _watch.get()
