"""Reads of what is not defined, and whether it matters what is there: shared memory, or a thread's own, that nothing has
written, and lanes that take no part in a shuffle.

Some kernels read beyond what they have written and use none of it: CUB's merge of two sorted runs fetches the key behind a
run's last one, a tile with fewer rows than a product of matrices takes has results that nobody stores, and a reduction in
the last warp shuffles down from lanes that have ended, and adds what they give nowhere; ThunderKittens loads a vector in
some lanes, into an array that nvcc leaves in memory, and lets all lanes shuffle it. So a launch with such reads is executed
again, with other words in that place. Where it does the same with all of them, they are notes. That is no proof
that no words would matter, and so the note says what was tried.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from os.path import basename
from typing import Any

from simlayout.errors import HazardError, SimlayoutError
from simlayout.machine.engine.memory import MIXED, POISON
from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.kinds import Hazard
from simlayout.machine.hazards.units import in_local, in_shared
from simlayout.machine.ptx.looks.doubts import INACTIVE, UNWRITTEN, Before, Doubt

FILLS = 0x01010101 * POISON, 0, 1, 0x7F7F7F7F, 0x80808080, MIXED
"""Words of such memory before something is written: NaN or -1, zero, one, a large number, a large negative integer;
and another word in each place, as sums that begin with it or comparisons of two such words do the same if all are equal."""

NOTE = "{}, which makes no difference here: with words of " + ", ".join(map(hex, FILLS[:-1])) + (
    " there, or of all kinds, the launch does the same")

READ = {UNWRITTEN: "of memory that nothing has written", INACTIVE: "of a lane that does not execute it"}
"""Kind of hazard -> what is read, in a note."""

_ONCE = ("vprintf", "malloc", "free")
"""What a launch may call that it cannot do again unseen."""


def is_undefined(one: Any) -> bool:
    """Whether a Hazard is such a read. Of a thread's own memory a value that is only moved is none (see `local`)."""
    return one.kind == INACTIVE or one.kind == UNWRITTEN and (" shared byte" in one.text or " local byte" in one.text)


class Trial:
    """One execution of a launch. fill: the word that is where nothing is defined, or MIXED; before: a Before, once it has
    begun; tried: whether reads of that are kept aside, and the launch ends after TRIED instructions. aside: Hazards that a
    quick look has kept aside."""

    def __init__(self, fill: int = FILLS[0], tried: bool = False):
        self.fill, self.tried = fill, tried
        self.before: Before | None = None
        self.aside: tuple[Hazard, ...] = ()

    def begin(self, launch: Any, space: Any) -> None:
        """A Launch with shadows begins; its arrays are in a GlobalSpace."""
        launch.fill, self.before = self.fill, Before(space)
        launch.log.aside = (lambda kind, memory: kind in READ and memory in (in_shared, in_local)) if self.tried else None

    def outcome(self, trace: Trace) -> list[Any]:
        """What was done, to compare: what memory holds, what was executed, other hazards."""
        assert self.before is not None
        hazards = [(one.kind, one.lines, one.count) for one in trace.hazards]
        return [*(data.tobytes() for data, _ in self.before.kept), trace.lines, trace.executed, hazards]


class Matters(Doubt):
    """What is not defined changes what a launch does."""

    matters = True


def judged(program: Any, attempt: Callable[[Trial], Trace]) -> Trace:
    """What attempt(Trial()) returns or raises, where reads of what is not defined are notes if the launch does the same with
    other words in their place. program: a Program."""
    first, found = Trial(), None
    try:
        trace = attempt(first)
        if not any(map(is_undefined, trace.hazards)):
            return trace
    except HazardError as error:
        if not is_undefined(error.hazard):
            raise
        found, trace = error, None
    if first.before is None or not first.before.complete or _does_once(program):
        return _told(found, trace)
    after = [data.copy() for data, _ in first.before.kept]
    same = _same(first, attempt, FILLS[1:] + FILLS[:1])
    if same is not None:
        return same
    for (data, _), bytes in zip(first.before.kept, after):
        data[:] = bytes
    return _told(found, trace)


def judged_quickly(attempt: Callable[[Trial], Trace]) -> Trace:
    """What attempt(Trial()) returns, a launch that is looked at quickly, with a note of each read of what is not defined.
    Raises Doubt, with memory as before, if there is such a read and it may matter."""
    first = Trial()
    trace = attempt(first)
    if not first.aside:
        return trace
    if _same(first, attempt, FILLS[1:], first.outcome(trace)) is None:
        assert first.before is not None
        first.before.give_back()
        raise Matters
    return noted(trace, first.aside)


def can_be_tried(program: Any) -> bool:
    """Whether a quick look knows what nobody has defined, and the launch can be executed again: a Program that uses none of
    the system's shared memory, which is zero at first."""
    return program.reserved_at is None and not _does_once(program)


def _does_once(program):
    """Whether a Program prints, or asks for memory."""
    return any(step.name.startswith("call") and any(name in step.text for name in _ONCE) for step in program.steps)


def _told(found, trace):
    if found is not None:
        raise found
    return trace


def _same(first, attempt, fills, outcome=None):
    """The last Trace of a launch that does the same with each of these words, and memory as it leaves it; None if it does
    not. outcome: what it has done before, of a Trial."""
    for fill in fills:
        first.before.give_back()
        trial = Trial(fill, True)
        try:
            trace = attempt(trial)
        except SimlayoutError:
            return None
        done = trial.outcome(trace)
        if not trial.before.complete or outcome not in (None, done):
            return None
        outcome = done
    return trace


def noted(trace: Trace, aside: Iterable[Hazard]) -> Trace:
    """The Trace with notes of Hazards that were kept aside."""
    times = Counter[str]()
    for one in aside:
        times[f"{basename(one.second.file)}:{one.second.line}: {{}} {one.second.instruction} "
              f"{NOTE.format(READ[one.kind])}"] += one.count
    return replace(trace, notes=(*trace.notes, *(text.format(count) for text, count in times.items())))
