"""What would end the conflicts of a State: the layouts that simlayout's search finds for all its accesses at once."""

import time
from dataclasses import replace
from threading import Lock

from simlayout.errors import SimlayoutError
from simlayout.explorer.sources import NONE
from simlayout.explorer.state import Refusal, blamed
from simlayout.explorer.worked import Recorded, worked
from simlayout.hardware import arch_of
from simlayout.synthesis import FAMILIES, costs, search
from simlayout.synthesis.kernels import plain_tile
from simlayout.wording import counted

SECONDS = 8                 # that a search may take; it then says how much it has tried
LIMIT = 6                   # layouts that are listed
QUICK = "swizzle", "pad"    # families that take a tenth of the time of all, and most often have the best layout
MOST_KEPT = 16              # searches whose results are kept
_one_at_a_time = Lock()     # a second search would only make both slower
_kept = {}                  # (bench on the plain tile, sources, families) -> what a search that came to its end found


def quick_fix(state, sources=NONE):
    """As `fix` of the families QUICK alone, which the page shows while it waits for the rest."""
    return fix(state, sources, families=QUICK)


def fix(state, sources=NONE, seconds=SECONDS, families=FAMILIES):
    """The layouts for all accesses of a State, best first, with what each costs and its proof, for JSON.

    rows: layout, family, excess, wasted bytes, operations and claims of the certificate; said: what was tried and what is
    proved; why: a sentence for each access that no layout found frees. Raises Refusal while another search runs.

    >>> from simlayout.explorer.state import State
    >>> fix(State("(16,64):(64,1)"))["rows"][0]["layout"]
    'Sw<3,3,3> o (16,64):(64,1)'
    """
    works = worked(state.without_view(), sources)
    accesses = [work.access for work in works]
    if any(isinstance(access, Recorded) for access in accesses):
        raise Refusal("a report keeps addresses, no index function to lay out anew: `simlayout run` tells the edit that "
                      "mends an array", "request")
    with blamed("layout"):
        plain = plain_tile(accesses[0].tile)
    key = replace(state.without_view(), layout=str(plain), before=""), sources, families
    found = _kept.get(key) or _searched([a.with_tile(plain) for a in accesses], families, seconds)
    if found["exhausted"]:
        _kept[key] = found
        for old in [*_kept][:-MOST_KEPT]:
            _kept.pop(old, None)
    return {"now": sum(work.total()["excess"] for work in works), "plain": str(plain), **found}


def _searched(accesses, families, seconds):
    """What a search finds for some accesses, while no other one runs."""
    if not _one_at_a_time.acquire(timeout=seconds):
        raise Refusal("another search is still running: try again in some seconds", "request")
    try:
        end = time.monotonic() + seconds
        with blamed("layout"):
            result = search(accesses, families, limit=LIMIT, progress=_until(end))
        rows = [_row(candidate, end) for candidate in result]
    finally:
        _one_at_a_time.release()
    return {"rows": rows, "said": _said(result), "exhausted": result.exhausted, "why": _why(result)}


def _until(end):
    """A progress function that ends the search, which then keeps what it has, when its time is over."""
    def moved(done, total):
        if time.monotonic() > end:
            raise KeyboardInterrupt
    return moved


def _row(candidate, end):
    """A layout with its cost and, while there is time, its proof."""
    try:
        claims = list(candidate.certificate.claims) if time.monotonic() < end else [
            "time is over before its proof: `Use` proves it"]
    except SimlayoutError as error:
        claims = [f"not proved: {str(error).splitlines()[0]}"]
    return {"layout": str(candidate.layout), "family": candidate.family, "excess": candidate.excess,
            "wasted": candidate.wasted_bytes, "operations": candidate.ops, "claims": claims}


def _said(result):
    """What was tried, in a line, and a line for each family."""
    tried = f"all {result.total} layouts tried or excluded" if result.exhausted else (
        f"time is over after {result.examined} of {result.total} layouts; `simlayout search` goes on to the end")
    return [f"{tried}: {result.conflict_free} without conflicts", *result.proof.splitlines()]


def _why(result):
    """Sentences: what keeps each access from being free in the best layout."""
    if not result or not result[0].excess:
        return [] if result else ["no layout of the families fits this tile"]
    return [f"{cost.access.name} keeps {cost.excess} of "
            f"{counted(cost.wavefronts, arch_of(cost.access.arch).vendor.wavefront)}"
            + (f": {cost.reason}" if cost.reason else "") for cost in costs(result[0].accesses) if cost.excess]
