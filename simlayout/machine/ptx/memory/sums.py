"""Sums of floats to which several warps add by atomics, in any order on a GPU: a note, if another order would round another
way. Of the warps that add to a place, one after another here, each is asked with the one before it, many places at once."""

from typing import Any

import numpy as np

from simlayout.machine.hazards.kinds import calls_of

IN_ANY_ORDER = "atomic that adds floats to which other warps add theirs, in any order, which decides how sums are rounded"
_FEWEST, _MOST = 1 << 12, 1 << 17
"""Elements that are added until they are looked at: at first, and later, where no more than half as many places are kept."""
_NAMES = ("size", "home", "at", "cta", "warp", "passed", "made", "site", "found", "left", "value")
_ROW = np.dtype([(name, np.uint64) for name in _NAMES])
"""What a lane adds to an element. size: bytes; home, at: where; cta, warp, passed: who does, behind how many barriers; made,
site: how, and where in the text, by number; found, left: what was there, and is; value: what it adds."""


class Sums:
    """What warps add in a launch. recorder: that of the launch, which gets the notes."""

    def __init__(self, recorder: Any):
        self._recorder, self._parts, self._many, self._limit = recorder, list[tuple](), 0, _FEWEST
        self._numbers: dict[Any, int] = {}               # of CTAs, of what adds and of sites
        self._last = np.empty(0, _ROW)                   # at each place

    def added(self, warp: Any, space: str, addresses: Any, values: Any, made: Any, *each: Any) -> None:
        """By some lanes of a warp, at the line of the kernel's own. addresses, values: of all lanes; made: as an Update;
        each: the lanes, int [n], what they found, and what they left, [n, count]."""
        lanes, found, left = each
        site = (warp.doing.site, *calls_of(warp.doing.caller))[-1]
        if self._recorder.has_noted(site, IN_ANY_ORDER):
            return
        places, homes, values = addresses[lanes], np.zeros(len(lanes), np.uint64), values[lanes]
        if space == "shared":
            homes, places = np.array([warp.place_of(space, one) for one in places.tolist()], np.uint64).T
            homes = homes + np.uint64(1)
        numbers = (self._numbers.setdefault(one, len(self._numbers)) for one in (warp.cta.index, made, site))
        same = found.itemsize, *numbers, warp.warp_index, warp.barriers_passed
        for i in range(found.shape[1]):                  # each element of a vector has its place
            self._parts.append((same, homes, places + np.uint64(i * found.itemsize), found[:, i], left[:, i], values[:, i]))
        self._many += found.size
        if self._many > self._limit:
            self.look()
            self._limit = max(min(2 * self._limit, _MOST), 2 * len(self._last))

    def look(self) -> None:
        """Notes what is found in all that has been added."""
        if not self._parts:
            return
        rows = self._rows()
        rows = rows[np.lexsort((rows["at"], rows["home"], rows["size"]))]            # at one place in the order of time
        one, next = rows[:-1], rows[1:]
        again = (one["at"] == next["at"]) & (one["home"] == next["home"]) & (one["size"] == next["size"])
        self._last, self._many = rows[np.append(~again, True)], 0
        apart = (one["cta"] != next["cta"]) | (one["warp"] != next["warp"]) & (one["passed"] == next["passed"])
        asked = np.flatnonzero(again & apart & (one["left"] == next["found"]) & (one["value"] != next["value"]))
        things = [*self._numbers]
        for made in np.unique(next["made"][asked]):
            self._ask(things, things[made], *(of[asked[next["made"][asked] == made]] for of in (one, next)))

    def _rows(self):
        """The last addition at each place that is known, and all that have come since."""
        same, *each = zip(*self._parts)
        rows = np.empty(self._many, _ROW)
        for name, values in zip(("home", "at", "found", "left", "value"), each):
            rows[name] = np.concatenate(values)
        times = [len(values) for values in each[0]]
        for name, values in zip(("size", "cta", "made", "site", "warp", "passed"), zip(*same)):
            rows[name] = np.repeat(values, times)
        self._parts = []
        return np.concatenate([self._last, rows])

    def _ask(self, things, made, one, next):
        """Notes sites of additions that leave other bits where each comes ahead of the one before it."""
        first = made(one["found"][:, None], [next["value"][:, None]])
        other = made(first, [one["value"][:, None]])[:, 0] != next["left"]
        for site in np.unique(next["site"][other]):
            self._recorder.note_once(things[site], IN_ANY_ORDER)
