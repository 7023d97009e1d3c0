"""What threads store for others that wait for a flag, all of it by strong accesses, which race with nothing.

One thread stores data and then sets a flag; another one waits for the flag and reads the data. If no fence lies between the
two stores, a GPU may make the flag seen first. Nothing shows here, where stores are seen in their order.

So what a thread that sees a flag would know if all stores were fenced is kept beside what it does know (`clocks`). Where it
reads data that it would know alone, a fence is missing. The flag is what a thread has waited for (`passes.waits`), or what
an atomic has found that asks for others (`passes.atomic_values`); data are what strong stores have written: atomics mostly
count something, and may be seen in any order. That the reader fences as well is not asked for: it has read the flag before
it goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.kinds import Place
from simlayout.machine.hazards.scopes import apart, home_of

MOST = 16
"""Flags that the threads of a CTA are known to have seen."""


@dataclass(frozen=True, slots=True)
class Store:
    """A strong store, or what an atomic leaves. value: bytes; place: its Place; home: where its thread is (see `scopes`);
    thread, epoch: of this in the clocks; knew, fenced: (met, clock) of what it did and knew, and of what it had fenced for
    its CTA, its cluster, the GPU, or None; before: the Store that an atomic found, which it carries on; data: whether it is
    a store."""

    value: bytes
    place: Place
    home: tuple[int, int, int]
    thread: int
    epoch: int
    knew: tuple[list[int], np.ndarray]
    fenced: Sequence[tuple[list[int], np.ndarray] | None]
    before: "Store | None"
    data: bool

    def hands_on(self, data: "Store", home: tuple[int, int, int]) -> tuple[bool, bool]:
        """Whether who sees this, at a home, would know of another Store, and does know."""
        flag: Store | None = self
        would = False
        while flag is not None:
            if flag.home[0] == data.home[0] and flag is not data:
                would, fenced = would or _covers(flag.knew, data), flag.fenced[apart(flag.home, home)]
                if fenced is not None and _covers(fenced, data):
                    return True, True
            flag = flag.before
        return would, False


def _covers(known, store):
    met, clock = known
    return store.epoch < met[store.thread // LANES] or clock[0, store.thread] >= store.epoch


class Published:
    """Of a launch. Addresses: as of `ordering`."""

    def __init__(self) -> None:
        self._last: dict[Any, Store] = {}
        self._seen: dict[int, dict[Any, tuple[Store, int, int]]] = {}     # by serial: what was seen, by whom, in which epoch

    def found(self, address: Any, value: bytes) -> Store | None:
        """The Store that has left a value at an address."""
        last = self._last.get(address)
        return last if last is not None and last.value == value else None

    def stored(self, address: Any, store: Store) -> None:
        """A Store at an address."""
        self._last[address] = store

    def saw(self, address: Any, value: bytes, clocks: Any, thread: int) -> None:
        """A thread that waits for a value at an address, or asks for it, has read it."""
        store = self.found(address, value)
        if store is not None and (store.home[0], store.thread // LANES) != (clocks.serial, thread // LANES):
            seen = self._seen.setdefault(clocks.serial, {})
            seen.pop(address, None)
            seen[address] = store, thread, clocks.epochs[thread // LANES]
            if len(seen) > MOST:
                del seen[next(iter(seen))]

    def unfenced(self, address: Any, value: bytes, cta: Any, thread: int) -> tuple[Store, Store] | None:
        """(data, flag) where a thread of a Cta reads data at an address of which it knows by a flag alone, and no fence lies
        between the two stores; else None."""
        clocks = cta.clocks
        data, seen = self.found(address, value), self._seen.get(clocks.serial)
        if not seen or data is None or not data.data or address in seen:
            return None
        for flag, by, epoch in seen.values():
            if by == thread or clocks.ordered(np.array([by]), epoch, np.array([thread]))[0]:
                would, does = flag.hands_on(data, home_of(cta))
                if does:
                    return None
                if would:
                    return data, flag
        return None
