"""Sums of floats to which several warps add by atomics, in any order on a GPU: a note, if another order would round another
way. Of the warps that add to a place, one after another here, each is asked with the one before it."""

from typing import Any, NamedTuple

import numpy as np

IN_ANY_ORDER = "atomic that adds floats to which other warps add theirs, in any order, which decides how sums are rounded"


class _Added(NamedTuple):
    """What a warp has added at a place. who: (index of its CTA, its index there); passed: barriers of the CTA before that;
    found, left: what was there, and is; value: what it has added: arrays [count]."""

    who: tuple[int, int]
    passed: int
    found: np.ndarray
    left: np.ndarray
    value: np.ndarray

    def may_come_behind(self, other: "_Added") -> bool:
        """Whether another one that came next may come first: a barrier of their CTA orders two."""
        apart = self.who[0] != other.who[0] or self.who != other.who and self.passed == other.passed
        return apart and bool((self.left == other.found).all())


def told_of(warp: Any, space: str, addresses: Any, lanes: Any, found: Any, left: Any, values: Any, made: Any) -> None:
    """Notes it of an addition by a warp, as `one_by_one` yields it, at the line of the kernel's own. made: as an Update."""
    recorder, (site, caller) = warp.cta.launch.recorder, (warp.doing.site, warp.doing.caller)
    while caller is not None:
        *site, caller = caller
    if warp.cta.launch.log is None or recorder.has_noted(tuple(site), IN_ANY_ORDER):
        return
    for lane, before, after in zip(lanes.tolist(), found, left):
        place = warp.place_of(space, int(addresses[lane]))
        last = recorder.added.get(place)
        now = _Added((warp.cta.index, warp.warp_index), warp.barriers_passed, before, after, values[0][lane])
        recorder.added[place] = now
        if last is not None and last.may_come_behind(now):
            first = made(last.found[None], [now.value[None]])
            if (made(first, [last.value[None]])[0] != after).any():
                recorder.note_once(tuple(site), IN_ANY_ORDER)
