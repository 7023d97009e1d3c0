"""What a kernel may not do although it runs: the kinds of hazards, and how one is told."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import getcwd
from os.path import basename, isabs, join
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from simlayout.errors import HazardError, MachineError, brief
from simlayout.machine.hazards.languages import ACQUIRE, GRID_SYNC, LANES_SYNC, OF_OTHER_WARPS, RELEASE, worded
from simlayout.machine.hazards.units import in_shared, spans
from simlayout.shown import Shown
from simlayout.wording import counted

SYNC, SYNC_CLUSTER = "put a bar.sync between them", "put a barrier.cluster between them"
"""What orders two of a CTA; and two of a cluster."""

GROUP, PHASE = "wait for that group in the copying warp, then bar.sync", "wait for that phase before it"
"""What brings a cp.async; and what completes on an mbarrier."""

LOCK = "; under a lock put a membar.gl behind what takes it, and one ahead of what frees it"
"""What orders what threads do to global memory while they hold a lock."""

ATOMICS = ("; under a lock, or where one waits for the other by an atomic, put a membar.cta ahead of what frees it instead, "
           "and one behind what takes it")
"""What orders two of a CTA that has such atomics."""

KINDS = {
    "unwritten read": ("{second} reads {bytes}, which nothing has written", "store or copy them first"),
    "early read": ("{second} reads {bytes}, which {first} may still be copying ({detail})", GROUP),
    "write in flight": ("{second} writes {bytes}, to which {first} may still be copying ({detail})", GROUP),
    "read after write": ("{second} reads {bytes}, which {first} writes{detail}, and nothing orders the two", SYNC),
    "write after read": ("{second} writes {bytes}, which {first} reads{detail}, and nothing orders the two", SYNC),
    "write after write": ("{second} writes {bytes}, which {first} writes too{detail}, and nothing orders the two", SYNC),
    "lane race": ("{second} {does} {bytes}, which {first} {did}{detail}, and nothing orders lanes of one warp",
                  f"put a {LANES_SYNC} between them{OF_OTHER_WARPS}"),
    "early write": ("{second} writes {bytes}, which {first} may still be reading ({detail})",
                    "wait for that group where it was issued, then let the writer wait for who waited"),
    "missing fence": ("{second} reads {bytes}, which {first} of CTA {first.cta} stored, and knows so by {flag}: no fence "
                      "lies between {between}, so a GPU may show the flag first", "put a membar.gl between them"),
    "missing proxy fence": ("{second} {does} {bytes} through the async proxy, {first} wrote them through the generic one, "
                            "and no fence lies between", "put a fence.proxy.async after the writes, before the barrier"),
    "stale read": ("{second} reads {bytes} through the cache of what no thread writes, and {first} of CTA {first.cta} has "
                   "written them: it may get what was there before", "read them by a plain load (no __ldg, and no const "
                   "__restrict__)"),
    "missing wgmma fence": ("{second} takes accumulators that the thread may have touched since its last wgmma.fence",
                            "put a wgmma.fence before it"),
    "early accumulator": ("{second} touches accumulators to which {first} may still be adding ({detail})",
                          "wait for that group first"),
    "early exit": ("{second} may still {does} when CTA {cta} ends ({detail})",
                   "wait for that before the kernel ends, in a cluster at a barrier.cluster"),
    "collision": ("{second} writes different values to {bytes} in one instruction: which of them stays is undefined",
                  "give every lane bytes of its own"),
    "global race": ("{second} {does} {bytes}, which {first} of CTA {first.cta} {did}{detail}, and nothing orders the "
                    "two", "let one thread touch each byte, or order them: in a CTA by a bar.sync, in a cluster by a "
                    f"barrier.cluster, in a grid by {GRID_SYNC} that one releases and the other acquires{LOCK}"),
    "wrong element": ("{second} reads {bytes} as element {wanted}, but {first} put element {found} there",
                      "let both address the tile by one layout"),
    "out of bounds": ("{second} {does} {detail}, outside {of}",
                      "guard the access or fix the address"),
    "misaligned": ("{second} {does} {detail}, which is not aligned to its width",
                   "use a narrower access, or fix the address"),
    "bad address": ("{second} cannot be executed: {detail}", "guard the access or fix the address"),
    "bad mbarrier": ("{second} {detail}", "init it before anybody uses it, for all who arrive in a phase, and keep its 8 "
                     "bytes apart from data"),
    "inactive source": ("{second} takes the value of {lanes}, where nobody executes it",
                        "let all lanes that are read from take part"),
    "unwritten register": ("{what}", "give the variable a value before, on every way"),
    "divergence": ("{what}", "move it out of the lane-varying branch"),
    "deadlock": ("{what}", "every warp that a barrier counts must reach it, and all bytes that it expects; a loop must end"),
}
"""Kind -> (sentence, fix). In the sentence `first` and `second` are the two Places, in the order that the name tells."""

_UPDATE = "as one line does both, make it an atomic (atom.add), or "
_ROUNDS = " between its read and its write, and between rounds of a loop"
ONE_LINE = {"read after write": f"{_UPDATE}put a bar.sync{_ROUNDS}", "write after read": f"{_UPDATE}put a bar.sync{_ROUNDS}",
            "write after write": f"{_UPDATE}let one thread write each place, or put a bar.sync between rounds of a loop",
            "lane race": f"{_UPDATE}put a {LANES_SYNC}{_ROUNDS}",
            "global race": f"{_UPDATE}let one thread touch each byte{LOCK}"}
"""Kind -> fix where one line does both, as `bins[i] += 1` reads and writes."""

ORDERED = {"read after write", "write after read", "write after write", "lane race"}
"""Kinds that a barrier of the CTA mends."""

RACES = {*ORDERED, "global race"}
"""Kinds of two threads of which either may come first."""

UNACQUIRED = " and has released (a fence is missing behind the atomic or load by which the other one knows)"
"""Of an access that a counter would order, if who has read the counter had acquired."""

MODES = "raise", "report", "off"

@dataclass(frozen=True)
class Place:
    """Who did something where: the source line, the instruction, CTA, warp and lanes.

    callers: the calls that lead to the line, ((file, line), ...), innermost first.
    """

    file: str
    line: int
    instruction: str
    cta: tuple
    warp: int
    lanes: tuple
    callers: tuple = ()

    def __str__(self):
        lanes = f", lane{'s' * (len(self.lanes) > 1)} {spans(self.lanes)}" if self.lanes else ""
        return f"{self.instruction} of warp {self.warp}{lanes} ({located(self.file, self.line, self.callers)})"


class Flag(NamedTuple):
    """By which a thread knows that another one has done something, where that makes no order. place: of what set it; fenced:
    whether that is behind a fence, or releases; scope: of a fence that would do, "cta" or "gl"."""

    place: Place
    fenced: bool
    scope: str = "gl"

    def advice(self) -> str:
        """What makes an order of it."""
        at = located(*[(self.place.file, self.place.line), *self.place.callers][-1])
        if self.fenced:
            return f"let what waits for the flag of {at} acquire{ACQUIRE}, or put a membar.{self.scope} behind it"
        return (f"let what sets the flag ({at}) release, and what waits for it acquire{RELEASE}, or put a "
                f"membar.{self.scope} ahead of the one and one behind the other")


@dataclass(frozen=True)
class Hazard(Shown):
    """One hazard: its kind (a key of KINDS), what happened in one line, and where.

    first, second: the two Places in the order that the kind's name tells (first is None where there is only one line).
    bytes: sorted byte addresses that the two share, in shared memory, or from element [0, ..., 0] of an array. count: how
    often this kind was found between these two lines; everything else is of the first time. at_least: whether it was not
    counted in all CTAs.
    """

    kind: str
    text: str
    first: Place | None
    second: Place
    bytes: tuple = ()
    count: int = 1
    at_least: bool = False

    @property
    def times(self) -> str:
        """How often, ahead of its text; "" if once.

        >>> place = Place("kernel.py", 4, "ld.shared.b32", (0, 0, 0), 1, (5,))
        >>> Hazard("lane race", "", None, place, (), 8, True).times, Hazard("lane race", "", None, place).times
        ('at least 8 times ', '')
        """
        return f"{'at least ' * self.at_least}{counted(self.count, 'time')} " if self.count > 1 or self.at_least else ""

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        """The source lines of the two places, ((file, line), ...)."""
        return tuple((p.file, p.line) for p in (self.first, self.second) if p is not None)

    def __str__(self):
        return f"{self.kind}: {self.text}"

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        places = {name: None if p is None else vars(p) for name, p in (("first", self.first), ("second", self.second))}
        return {"kind": self.kind, "text": self.text, "bytes": self.bytes, "count": self.count,
                "at_least": self.at_least, **places}


def hazard(kind, first, second, bytes=(), memory=in_shared, flag=None, **words):
    """A Hazard with its sentence. bytes: ints in any order; memory: how sorted ones are told (see `units`); flag: as of
    `_told`; words: what else the sentence names.

    >>> store = Place("kernel.py", 3, "st.shared.b32", (0, 0, 0), 0, (0, 1, 2))
    >>> load = Place("kernel.py", 4, "ld.shared.b32", (0, 0, 0), 1, (5,))
    >>> print(hazard("read after write", store, load, (0, 1, 2, 3), detail=""))
    read after write: ld.shared.b32 of warp 1, lane 5 (kernel.py:4) reads shared bytes 0-3 (word 0), which st.shared.b32 \
of warp 0, lanes 0-2 (kernel.py:3) writes, and nothing orders the two: put a bar.sync between them
    """
    (sentence, fix), bytes = _told(kind, first, second, flag), ordered_ints(bytes)
    place = getattr(flag, "place", None)
    text = sentence.format(first=first, second=second, bytes=memory(bytes) if bytes else "", flag=place, **words)
    return Hazard(kind, f"{text}: {fix}", first, second, bytes)


def _told(kind, first, second, flag=None):
    """(sentence, fix) of a kind of hazard between two Places, which may be of two CTAs of a cluster, or on one line. flag:
    the Flag by which the second knows of the first, or ATOMICS, or UNACQUIRED, or None."""
    sentence, fix = KINDS[kind]
    if flag == UNACQUIRED:
        return sentence, "put a membar.gl there"
    if isinstance(flag, Flag) and kind in RACES:
        return sentence, flag.advice()
    if flag is not None and kind in ORDERED - {"lane race"}:
        sentence, fix = _told(kind, first, second)
        return sentence, fix + flag
    if kind in ONE_LINE and _one_line(kind, first, second):
        return sentence, ONE_LINE[kind]
    if fix == SYNC and first.cta != second.cta:
        return sentence.replace("{first}", "{first} of CTA {first.cta}"), SYNC_CLUSTER
    if fix == GROUP and not first.instruction.startswith(("cp.async.ca.", "cp.async.cg.")):
        return sentence, PHASE
    return sentence, fix


def _key(kind, first, second):
    """What hazards have in common that are counted as one."""
    places = [(p.file, p.line, p.callers) for p in (first, second) if p is not None]
    return kind, *(sorted(places) if kind == "write after write" else places)            # that has no order


def _pair(fault):
    """What two places do, in any order, where one of them is an atomic of shared memory; None of other Hazards."""
    if fault.kind not in ORDERED - {"lane race"}:
        return None
    places = {(p.file, p.line, p.callers, p.instruction) for p in (fault.first, fault.second)}
    return frozenset(places) if any(one[-1].startswith(("atom", "red")) for one in places) else None


def _one_line(kind, first, second):
    """Whether one line does both, and, unless that is to write, reads as well as writes; of shared memory in one CTA."""
    same = (first.file, first.line, first.callers) == (second.file, second.line, second.callers)
    near = first.cta == second.cta or kind == "global race"
    return same and near and (kind == "write after write" or {first.instruction[:2], second.instruction[:2]} == {"ld", "st"})


def error(fault):
    """The HazardError of a Hazard; its message begins with the second place."""
    at = fault.second
    return HazardError(f"{place_of(at.file, at.line, at.callers)}: CTA {at.cta}, warp {at.warp}: {fault}", fault)


def located(file, line, callers=()):
    """A source line as text, and the calls that lead there. callers: ((file, line), ...), innermost first.

    >>> located("include/barrier.h", 16, (("src/kernel.cu", 189),))
    'barrier.h:16, called at kernel.cu:189'
    """
    return f"{basename(file)}:{line}{called(callers)}"


def place_of(file, line, callers=()):
    """As `located`, with a path that can be opened, from the current folder if it lies there, unless it is that of a header
    that others have written.

    >>> place_of(join(getcwd(), "kernel.cu"), 16), place_of("/tmp/kernel.cu", 8), place_of("/usr/include/barrier.h", 8)
    ('kernel.cu:16', '/tmp/kernel.cu:8', 'barrier.h:8')
    """
    path = file.removeprefix(join(getcwd(), ""))
    shown = basename(file) if isabs(path) and "include" in PurePath(path).parts else path
    return f"{shown}:{line}{called(callers)}"


def called(callers):
    """The calls that lead to a line, as the text that follows it: of more than three the outermost, which the kernel itself
    makes, those next to it in its file, and the innermost.

    >>> called(()), called([("a.h", 1), ("b.h", 2), ("c.h", 3), ("kernel.cu", 4)])
    ('', ', called at a.h:1, called at b.h:2, ... called at kernel.cu:4')
    >>> called([("a.h", 1), ("b.h", 2), ("kernel.cu", 3), ("kernel.cu", 4)])
    ', called at a.h:1, ... called at kernel.cu:3, called at kernel.cu:4'
    """
    texts = [f", called at {basename(file)}:{line}" for file, line in callers]
    if len(texts) < 4:
        return "".join(texts)
    own = next((n for n, (file, _) in enumerate(reversed(callers)) if file != callers[-1][0]), len(callers))
    last = texts[-min(own, 2):]
    return "".join([*texts[:3 - len(last)], last[0].replace(",", ", ...", 1), *last[1:]])


def calls_of(caller):
    """The calls that lead somewhere, innermost first, ((file, line), ...), of (file, line, caller) or None.

    >>> calls_of(("a.h", 1, ("kernel.cu", 4, None))), calls_of(None)
    ((('a.h', 1), ('kernel.cu', 4)), ())
    """
    calls = []
    while caller is not None:
        file, line, caller = caller
        calls.append((file, line))
    return tuple(calls)


def ordered_ints(values):
    """The distinct values of an int array, as a sorted tuple of ints."""
    return tuple(np.unique(values).tolist())


def check_mode(mode):
    """Raises MachineError for what is none of MODES."""
    if not isinstance(mode, str) or mode not in MODES:
        raise MachineError(f'hazards = {brief(mode)}: choose "raise", "report" or "off"')


class HazardLog:
    """Raises the first hazard ("raise"), or keeps one of each kind and pair of places ("report"): lines, and the calls that
    lead there. python: the language of Python files, as of `worded`. aside(kind, memory): whether such a hazard is kept in
    either mode, and apart from the others; None where none is."""

    def __init__(self, mode, python=None):
        check_mode(mode)
        self.mode, self._python, self.aside = mode, python, None
        self._found: dict[tuple, Hazard] = {}
        self._put_aside: dict[tuple, Hazard] = {}
        self._missed: dict[tuple, tuple] = {}

    def add(self, kind, first, second, bytes=(), memory=in_shared, flag=None, **words):
        """Takes what `hazard` takes, gives the advice in the words of its file, raises the Hazard as a HazardError unless
        the mode is "report". One that is known is only counted: a loop without a barrier has thousands."""
        if self.again(kind, first, second, memory):
            return
        if "of" in words:                                # what is left, and what asks for more of it
            words["of"] = worded(words["of"], second.file, self._python)
        fault = hazard(kind, first, second, bytes, memory, flag, **words)
        _, advice = _told(kind, first, second, flag)
        fault = replace(fault, text=fault.text.removesuffix(advice) + self._own(advice, second))
        found = self._kept(kind, memory)
        if self.mode == "raise" and found is self._found:
            raise error(fault)
        found[_key(kind, first, second)] = fault

    def again(self, kind: str, first: Place | None, second: Place, memory: Callable[..., str] = in_shared) -> bool:
        """Whether such a hazard is known: then it is counted."""
        found, key = self._kept(kind, memory), _key(kind, first, second)
        if key in found:
            found[key] = replace(found[key], count=found[key].count + 1)
        return key in found

    def _kept(self, kind, memory):
        return self._put_aside if self.aside is not None and self.aside(kind, memory) else self._found

    @property
    def reports(self):
        """Whether a launch goes on behind a hazard."""
        return self.mode == "report"

    def missed(self, cta, warps, site):
        """Warps (numbers) of a CTA, by its index, ended without coming to a barrier where the others met: at a (file,
        line)."""
        for warp in warps:
            self._missed.setdefault((cta, warp), site)

    def hazards(self):
        """The Hazards found, in the order in which they were found first. Where a warp missed a barrier, that is the advice:
        it is known only later. What an atomic and another access do is told once, though an atomic reads as it writes."""
        once: dict = {}
        for key, fault in self._found.items():
            once.setdefault(_pair(fault) or key, fault)
        return tuple(map(self._with_missed, once.values()))

    def _with_missed(self, fault):
        places = [p for p in (fault.first, fault.second) if p is not None and (p.cta, p.warp) in self._missed]
        if not places or fault.kind not in ORDERED:
            return fault
        cta, site = places[0].cta, self._missed[places[0].cta, places[0].warp]
        warps = sorted(warp for (of, warp), at in self._missed.items() if (of, at) == (cta, site))
        who, they = ("warps", "they") if len(warps) > 1 else ("warp", "it")
        old = self._own(_told(fault.kind, fault.first, fault.second)[1], fault.second)
        new = self._own(f"let {who} {spans(warps)} come to the bar.sync of {located(*site)}, which {they} ended without",
                        fault.second)
        return replace(fault, text=fault.text.removesuffix(old) + new) if fault.text.endswith(old) else fault

    def _own(self, advice, place):
        return worded(advice, place.file, self._python)

    def put_aside(self):
        """Those that were kept apart, likewise."""
        return tuple(self._put_aside.values())
