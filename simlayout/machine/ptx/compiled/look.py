"""The quick look at what is not executed in the compiled loop, and touches memory all the same."""

import numpy as np

from simlayout.jit import jit
from simlayout.machine.ptx.compiled.doubts import (
    DOUBTFUL,
    SURE,
    UNWRITTEN,
    global_load,
    mark,
    now_of,
    shared_load,
    update,
    updated_in,
    write,
)
from simlayout.machine.ptx.memory.marks import ALL

_NAMES = "READS WRITES COPIES LANDS UPDATES COPIED GLOBAL_READS GLOBAL_WRITES GLOBAL_UPDATES".split()
READS, WRITES, COPIES, LANDS, UPDATES, COPIED, GLOBAL_READS, GLOBAL_WRITES, GLOBAL_UPDATES = range(len(_NAMES))
"""What an instruction does: it reads shared memory; it writes there, at once, or until that has landed; it has landed; it is
an atomic; it reads global memory for as long as a copy is on its way; it reads, writes or updates that at once."""

_FOUND = {SURE: "sure", DOUBTFUL: "doubtful", UNWRITTEN: "unwritten"}


@jit
def look(what, places, nbytes, lanes, who, tables):
    """SURE of what lanes do, or another one of those (see `compiled.doubts`).

    places: int64 [n, 32], n pieces of memory of each lane, of nbytes, as bytes from the start of the memory; lanes: bool
    [32]; who: of the warp; tables: of the memory, as `Doubts.shared_of` has them.
    """
    wrote, read, updated, by = tables
    shared, how = what < COPIED, SURE
    for n in range(len(places)):
        cells = places[n]
        if what == UPDATES or what == GLOBAL_UPDATES:
            how = max(how, update(shared, cells, nbytes, lanes, who, wrote, read, updated))
        elif what == LANDS:
            mark(cells, nbytes, lanes, who, wrote, now_of(shared, who))
        else:
            if what == READS:
                how = max(how, shared_load(cells, nbytes, lanes, who, wrote, read))
            elif what == COPIED:
                how = max(how, global_load(cells, np.int64(0), nbytes, lanes, who, wrote, read))
                mark(cells, nbytes, lanes, who, read, ALL)
            elif what == GLOBAL_READS:
                how = max(how, global_load(cells, np.int64(1), nbytes, lanes, who, wrote, read))
            else:
                how = max(how, write(shared, cells, nbytes, lanes, who, wrote, read, by, what == COPIES))
            if len(updated) and how < DOUBTFUL:
                how = max(how, updated_in(shared, cells, nbytes, lanes, who, updated))
    return how


def found(what: str, *of) -> str:
    """"sure", "doubtful", "unwritten" or "unsure": what a `look` finds, by the name of what an instruction does."""
    return _FOUND.get(int(look(_NAMES.index(what), *of)), "unsure")
