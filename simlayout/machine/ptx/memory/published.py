"""Fences that are missing between data and a flag, where all accesses are strong and so none of them races.

One thread stores data and then sets a flag; another one waits for the flag and reads the data. Without a fence between the
two stores a GPU may let the flag be seen first. That never happens here, where stores are seen in their order.

So two things are kept of what a thread knows by a flag that it has seen: what it knows in fact (`clocks`), and what it would
know if a fence followed every store. Where it reads data that it would only know, a fence is missing. If the stores are
fenced, and it waited for the flag in a loop, and still does not know of the data, then its own fence is missing. (None is
asked for behind an atomic: the last block that counts has none in the CUDA C++ Programming Guide.)

A flag is what a thread waits for (`passes.waits`), or what an atomic finds that asks what others have done
(`passes.atomic_values`). Data are what strong stores have written; what atomics leave is mostly a count, which may be seen
in any order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.hazards.kinds import Place
from simlayout.machine.hazards.scopes import apart, home_of

MOST = 16
"""Flags that the threads of a CTA are known to have seen."""


@dataclass(frozen=True, slots=True)
class Store:
    """A strong store, or what an atomic leaves.

    value: bytes; place: its Place; home: where its thread is (see `scopes`); thread, epoch: of this in the clocks
    knew: (met, clock) of what its thread did and knew
    fenced: the same of what it had fenced for its CTA, its cluster and the GPU, each None if nothing
    before: the Store that an atomic found, which it carries on; data: whether this is a store, and no atomic
    """

    value: bytes
    place: Place
    home: tuple[int, int, int]
    thread: int
    epoch: int
    knew: tuple[list[int], np.ndarray]
    fenced: Sequence[tuple[list[int], np.ndarray] | None]
    before: "Store | None"
    data: bool

    def hands_on(self, data: "Did", home: tuple[int, int, int]) -> tuple[bool, bool]:
        """Whether who sees this, at a home, would know of what a thread did, and does know."""
        flag: Store | None = self
        would = False
        while flag is not None:
            if flag.home[0] == data.group and flag is not data.store:
                would, fenced = would or _covers(flag.knew, data), flag.fenced[apart(flag.home, home)]
                if fenced is not None and _covers(fenced, data):
                    return True, True
            flag = flag.before
        return would, False


class Did(NamedTuple):
    """What a thread of a group (see `scopes`) did in an epoch; store: if it is a Store, that."""

    group: int
    thread: int
    epoch: int
    store: Store | None = None


def _covers(known, data):
    met, clock = known
    return data.epoch < met[data.thread // LANES] or clock[0, data.thread] >= data.epoch


class Seen(NamedTuple):
    """A Store that somebody has seen: by which thread, in which epoch; waited: whether in a loop that waits for it."""

    store: Store
    thread: int
    epoch: int
    waited: bool


class Published:
    """What was stored and seen in a launch. Addresses: as of `ordering`."""

    def __init__(self) -> None:
        self._last: dict[Any, Store] = {}
        self._seen: dict[int, dict[Any, Seen]] = {}                       # by serial

    def found(self, address: Any, value: bytes) -> Store | None:
        """The Store that has left a value at an address."""
        last = self._last.get(address)
        return last if last is not None and last.value == value else None

    def stored(self, address: Any, store: Store) -> None:
        """A Store at an address."""
        self._last[address] = store

    def saw(self, address: Any, value: bytes, clocks: Any, thread: int, waited: bool) -> None:
        """A thread that waits for a value at an address (waited), or asks for it by an atomic, has read it."""
        store = self.found(address, value)
        if store is not None and (store.home[0], store.thread // LANES) != (clocks.serial, thread // LANES):
            seen = self._seen.setdefault(clocks.serial, {})
            seen.pop(address, None)
            seen[address] = Seen(store, thread, clocks.epochs[thread // LANES], waited)
            if len(seen) > MOST:
                del seen[next(iter(seen))]

    def unfenced(self, address: Any, value: bytes, cta: Any, thread: int) -> tuple[Store, Store, bool] | None:
        """(data, flag, whether a fence lies between the two stores) where a thread of a Cta reads data at an address of
        which it may know by a flag alone, and a fence may be missing; else None."""
        data = self.found(address, value)
        if data is None or not data.data or address in self._seen.get(cta.clocks.serial, ()):
            return None
        found = self.flag_of(Did(data.home[0], data.thread, data.epoch, data), cta, np.array([thread]))
        return found and (data, *found)

    def flag_of(self, data: Did, cta: Any, threads: np.ndarray) -> tuple[Store, bool] | None:
        """(flag, whether it is fenced) by which alone one of some threads (int64 [n]) of a Cta knows of what another one
        did; None if there is none, or an atomic by which it knows."""
        clocks, found = cta.clocks, None
        for flag, by, epoch, waited in self._seen.get(clocks.serial, {}).values():
            if clocks.ordered(np.full_like(threads, by), epoch, threads).any():
                would, does = flag.hands_on(data, home_of(cta))
                if does and not waited:
                    return None
                if does or would and found is None:
                    found = flag, does
        return found
