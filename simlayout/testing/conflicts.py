"""Bank conflicts of an access as two lanes that meet: who they are, and the phase in which they do."""

import re
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from simlayout.algebra.notation import as_layout
from simlayout.errors import AddressError, LayoutError, SimlayoutError
from simlayout.hardware import Analysis, analyze, arch_of
from simlayout.hardware.banks.model import BANKS, first_fault
from simlayout.hardware.banks.operands import lane_at_fault
from simlayout.hardware.banks.phases import phases
from simlayout.plan import Plan
from simlayout.proofs import Access
from simlayout.proofs.verify import alignment
from simlayout.synthesis.cost import better_layout
from simlayout.testing.counterexample import Place, grid, grid_of_places, refuted, wrapped
from simlayout.wording import counted

_SHOWN = 8              # wavefronts of a picture
_PART = re.compile(r"  (?:phase|matrix) (\d+),")


@dataclass(frozen=True)
class Subject:
    """An analysed access. name: as failures call it; access: where there is one, and with it coordinates; together: the
    accesses that one tile is to serve, this one among them."""

    name: str
    analysis: Analysis
    access: Access | None = None
    together: tuple[Access, ...] = ()

    @property
    def free(self):
        """Wavefronts of each instruction if no two lanes met, int64 [n]: a pass for each group, two for compare-and-swap."""
        return self.analysis.instruction.times * self.analysis.ideal

    def place(self, index, lane):
        """The Place of one lane of instruction `index`."""
        row, address = self.analysis.row(index), int(self.analysis.addresses[index, lane])
        if self.access is None:
            return Place(f"lane {lane}", {}, address=address, bytes=row.bytes, lane=lane, of=row.banks)
        return replace(place_of(self.access, index, lane, address), of=row.banks)

    def where(self, index):
        """Which instruction, in words."""
        loops = {} if self.access is None else dict(list(self.access.point(index, 0).items())[1:])
        at = "".join(f", {name} = {value}" for name, value in loops.items())
        return f"instruction {index} of {len(self.analysis)}{at}"


def place_of(access, index, lane, address=None):
    """The Place of a lane of instruction `index` of an Access; address: in bytes, None where it is that of the offset."""
    point = access.point(index, lane)
    offset = int(access.offset(*point.values()))
    address = offset * access.bytes // access.elements if address is None else address
    coordinate = None if access.lanes is None else _plain(access.coordinate(*point.values()))
    return Place(f"lane {lane}", point, coordinate, offset, address, access.bytes, lane)


def _plain(nested):
    """Nested tuples of Python ints."""
    return tuple(map(_plain, nested)) if isinstance(nested, tuple) else int(nested)


def subject_of(access, active, arch, together=()):
    """The Subject of an Access, on a chip or, for None, on its own; raises CounterexampleError where one of its addresses is
    none that the instruction takes. together: the accesses of its tile."""
    together = tuple(one.on(arch) for one in together) or (access.on(arch),)
    access = access.on(arch)
    addresses = access.addresses()
    try:
        analysis = analyze(access.instruction, addresses, active, access.arch)
        return Subject(f"access {access.name!r}", analysis, access, together)
    except AddressError as error:
        live = analyze(access.instruction, 0 * addresses, active, access.arch).active      # raises if the mask is at fault
        row, chip, clean = access.row, arch_of(access.arch), np.where(live, addresses, 0)
        index = first_fault(row, clean, chip.shared_bytes_per_cta)
        lane, _ = lane_at_fault(row, chip, clean[index])
        places = [place_of(access, index, lane)]
        mend = alignment(access) if 0 <= places[0].address <= chip.shared_bytes_per_cta - access.bytes else ""
        raise refuted(f"access {access.name!r} has an address that {access.instruction} cannot take", f"{error}",
                      places, wrapped(mend)) from None


def subjects(subject, for_, active, arch):
    """The Subjects of an Access, a Plan, an Analysis, or of a tile for some accesses."""
    subject = as_layout(subject)
    if isinstance(subject, (Access, Plan, Analysis)):
        if for_:
            raise SimlayoutError(f"for_ goes with a tile, not with {type(subject).__name__}: leave it out")
        if isinstance(subject, Analysis):
            if active is not None:
                raise SimlayoutError("active goes with an Access, not with its Analysis: give it to `analyze`")
            if subject.valid is not None and subject.instruction.rule == "bypass":
                raise SimlayoutError(f"{subject.instruction} with a src-size has no wavefronts that are free of conflicts: "
                                     "analyze it without valid")
            return [Subject(str(subject.instruction), subject)]
        accesses = subject.accesses if isinstance(subject, Plan) else (subject,)
    elif not callable(subject):
        raise LayoutError(f"{subject!r} is no Access, Plan, Analysis or tile")
    elif not for_:
        raise LayoutError(f"{subject} is a tile: say with for_=[access, ...] which accesses it is to serve")
    else:
        accesses = [access.with_tile(subject) for access in for_]
    return (subject_of(one, active, arch, tuple(a for a in accesses if (a.tile, a.dtype) == (one.tile, one.dtype)))
            for one in accesses)


def remedy(subject):
    """What would mend the conflicts of a Subject, in words."""
    if subject.access is None:
        return "what may mend it: a swizzle, a rotation or padding"
    accesses, found = subject.together, better_layout(*subject.together)
    for_whom = f" for {' and '.join(repr(a.name) for a in accesses)} together" if len(accesses) > 1 else ""
    if found is None:
        return f"no swizzle and no padding of the plain tile is known to be better{for_whom}: sl.search looks among more"
    what = f"excess {found.excess}" if found.excess else "free of conflicts"
    waste = f", and {counted(found.wasted_bytes, 'byte')} are unused" if found.wasted_bytes else ""
    return f"what mends it: {found.layout} is {what}{for_whom}{waste}"


def meeting(subject, index):
    """The first two lanes (a, b), a < b, of an instruction with conflicts that take more wavefronts than free ones would.

    Every pair of one phase is put to the model alone, of cp.async.cg, whose phases are wavefronts, of one group. Lanes of
    different phases are no pair, though the model may say so: a mask lets lane groups merge that the whole warp keeps apart.
    """
    analysis = subject.analysis
    live = np.flatnonzero(analysis.active[index]).tolist()
    rule = analysis.instruction.rule
    groups = ([live] if rule == "retry" else analysis.instruction.groups if rule == "bypass" else
              [phase.lanes for phase in phases(analysis, index)])
    pairs = sorted(pair for group in groups for pair in combinations([lane for lane in group if lane in live], 2))
    alone = _alone(analysis, index, np.array(pairs))
    costly = alone.wavefronts > alone.instruction.times * alone.ideal
    if costly.any():
        return pairs[int(np.argmax(costly))]
    return next(pair for pair in pairs if _same_address(analysis, index, pair))


def _same_address(analysis, index, pair):
    """Whether two lanes have one address: two of cp.async.cg, say, of which only one writes if they are alone."""
    return len(set(analysis.addresses[index, list(pair)].tolist())) == 1


def _alone(analysis, index, pairs):
    """The Analysis of instruction `index` with two lanes alone, for each of pairs, int [n, 2]."""
    row, addresses = analysis.row(index), analysis.addresses[index]
    if row.needs_whole_warp:                # no mask: all other lanes have the address of the first, which merge
        given = np.repeat(addresses[pairs[:, :1]], row.lanes, axis=1)
        np.put_along_axis(given, pairs[:, 1:], addresses[pairs[:, 1:]], axis=1)
        return analyze(row, given, arch=analysis.arch)
    active = np.zeros((len(pairs), row.lanes), bool)
    np.put_along_axis(active, pairs, True, axis=1)
    copied = {name: getattr(analysis, name)[index] for name in ("sources", "valid") if getattr(analysis, name) is not None}
    return analyze(row, np.broadcast_to(addresses, active.shape), active, analysis.arch, **copied)


def conflict(subject, index, claim):
    """The CounterexampleError of a claim that instruction `index` refutes by its conflicts."""
    pair = meeting(subject, index)
    places = [subject.place(index, lane) for lane in pair]
    reason = (f"smallest counterexample, in instruction {index} of {len(subject.analysis)}: two lanes want "
              f"{_shared(subject.analysis, *places)}")
    return refuted(claim, reason, places, _details(subject.analysis, index, pair, places), lambda: remedy(subject))


def _shared(analysis, one, other):
    """What two lanes meet in, in words."""
    if one.address == other.address:
        return "the same word, which is not merged"
    if set(one.banks) & set(other.banks):
        return "one bank, with different words"
    return "different lines of 128 bytes" if analysis.sources is None else "wavefronts of their own, by their sources"


def _details(analysis, index, pair, places):
    """The explanation and the picture of the phase in which two lanes meet."""
    pair_alone = grid_of_places(places, ("a", "b"))
    if analysis.instruction.rule in ("retry", "bypass"):
        return explanation(analysis, index) + pair_alone
    all_phases = phases(analysis, index)
    number = next(i for i, phase in enumerate(all_phases) if pair[0] in phase.lanes)
    drawn = picture(all_phases[number], analysis.row(index).banks) if all_phases[number].extra else pair_alone
    return explanation(analysis, index, number) + drawn


def explanation(analysis, index, phase=None):
    """The lines of `Analysis.explain` without its provenance; of the phases only number `phase`, or all."""
    parts = []
    for line in analysis.explain(index).splitlines():
        if parts and line.startswith("   "):
            parts[-1].append(line)
        else:
            parts.append([line])
    titles = ((_PART.match(part[0]), part) for part in parts[:-1])
    return [line for title, part in titles if phase is None or title is None or int(title[1]) == phase for line in part]


def picture(phase, banks=BANKS):
    """The lines of a `grid` of a phase in so many banks: for every word of every wavefront the lowest lane it serves, "+"
    where more.

    >>> from simlayout.hardware import analyze
    >>> print("\\n".join(picture(phases(analyze("ldmatrix.x1", [128 * (lane % 2) for lane in range(32)]))[0])))
    bank        0        4        8       12       16       20       24       28
    w0         0+        .        .        .        .        .        .        .
    w1         1+        .        .        .        .        .        .        .
    """
    rows = [(f"w{number}", {}) for number in range(min(phase.wavefronts, _SHOWN))]
    for word in phase.served:
        if word.wavefront < _SHOWN:
            rows[word.wavefront][1][word.bank] = f"{word.lanes[0]}{'+' * (len(word.lanes) > 1)}"
    lines = grid(rows, max((word.width for word in phase.served), default=1), banks)
    more = phase.wavefronts - _SHOWN
    return [*lines, f"and {more} more"] if more > 0 else lines
