"""Warps take turns: each runs until it must wait, in the order of their indices, so that every run is the same run.

Exactly one runs at a time. When all of them wait, the copies land for which the first of them waits: as late as possible.
One that reads the same again and again waits too, until something changes (see `polling`); when all wait and nothing lands
it goes on looking, unless that cannot change anything. Where one of them looks at a clock, time passes meanwhile.
"""

from itertools import chain

from simlayout.errors import HazardError, SimlayoutError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.waiting import waits_of
from simlayout.machine.hazards.kinds import hazard

LEAP, LONGEST = 1000, 2**44
"""Nanoseconds that pass where nobody does anything but look at a clock, each time 15 times as many (an odd number, so that a
clock of 32 bits goes on too), and how many at most: some hours, for which nobody waits.
"""


def run_residents(residents, begin, ahead=None):
    """Executes all warps of Residents; raises what a warp raises, with its place in the kernel.

    begin: called with a Cta and the index of a warp in it; gives what runs that warp: `warp`, its Warp; `resume()`, which
    lets it run until it waits or ends; `finished`; `cancel()`, which ends it. ahead: called before each round with
    what is about to be resumed, and with all that has not ended; it may run them for a while, all at once, and returns those
    that are to be resumed then.
    """
    turns = [begin(cta, i) for cta in residents.ctas for i in range(cta.threads_padded // LANES)]
    warps, todo, leap = [turn.warp for turn in turns], list(turns), 0
    launch, leapt = warps[0].cta.launch, -1              # leapt: changes in memory at the last leap
    try:
        while todo:
            ready = [t for t in todo if t.warp.waiting is None or t.warp.waiting[0]()]
            if not ready and not _land([t.warp for t in todo]):
                ready = [t for t in todo if t.warp.polls]
                if all(t.warp.idle for t in ready):
                    leap = 15 * leap if launch.changes == leapt else LEAP
                    leapt = launch.changes
                    if leap > LONGEST or not any(t.warp.watches_time for t in ready):
                        _deadlock([t.warp for t in todo], warps)
                    launch.clock += leap
            if ahead is not None:
                ready = ahead(ready, todo)
            for turn in ready:
                launch.running = turn.warp
                turn.resume()
                if turn.finished:
                    turn.warp.ended_at = turn.warp.cta.meetings
                    turn.warp.cta.through()
                    leapt = -1
            todo = [t for t in todo if not t.finished]
    except HazardError:
        raise
    except SimlayoutError:
        for cta in residents.ctas:
            cta.settle()                                 # what was read too early may well be what led here
        raise
    finally:
        for turn in turns:
            turn.cancel()
    for warp in warps:
        launch.ended(warp)


def _land(waiting):
    """Lets copies land that the first warp which waits for some needs; returns whether there are any."""
    for ready, _, mbarrier in chain.from_iterable(map(waits_of, waiting)):
        if mbarrier is not None and mbarrier.loads:
            while mbarrier.loads and not ready():
                mbarrier.land()
            return True
    return False


def _deadlock(waiting, warps):
    """Raises the HazardError that says who waits where, and who has finished where."""
    places = {}
    for warp in waiting:
        text = warp.waiting[1]
        places.setdefault(f"waiting at {text if isinstance(text, str) else text()} ({_at(warp)})", []).append(warp)
    for warp in (w for w in warps if w not in waiting):
        places.setdefault(f"finished, last at {_at(warp)}", []).append(warp)
    parts = [f"{_warps(there)} {place}" for place, there in places.items()]
    other = [there[0].place() for there in places.values()][1:]
    text = f"deadlock in CTA {waiting[0].index}: {'; '.join(parts)}"
    fault = hazard("deadlock", other[0] if other else None, waiting[0].place(), what=text)
    raise HazardError(fault.text, fault)


def _at(warp):
    return warp.standing() if warp.site[1] else "the start"


def _warps(warps):
    names = [str(w.warp_index) if w.cta.alone else f"{w.warp_index} of CTA {w.index}" for w in warps]
    return f"warp{'s' if len(names) > 1 else ''} {', '.join(names)}"
