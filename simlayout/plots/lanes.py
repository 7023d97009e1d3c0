"""The phases of ldmatrix, stmatrix and of any other instruction: the row that each lane names, and the banks it fills."""

from collections.abc import Sequence

import numpy as np

from simlayout.algebra.aliases import ArrayLike
from simlayout.arguments import typed
from simlayout.errors import SimlayoutError, require
from simlayout.hardware.banks.analysis import Analysis
from simlayout.hardware.banks.model import WORD_BYTES
from simlayout.hardware.banks.phases import phases
from simlayout.plots.aliases import Axes
from simlayout.plots.banks import named_lanes
from simlayout.plots.kinds import OF_ACCESS, Kind, counts
from simlayout.plots.layouts import BANK_LABEL, bank_numbers
from simlayout.plots.panel import CONFLICT, Box, Panel, draw
from simlayout.proofs import Access
from simlayout.wording import counted, tile_name

FIRST = "served in the first {} of its phase, number 0"
LATER = "served in a later one: its number"
KIND = "ideal", "excess"
GAP = 0.6                                   # rows between phases


@typed()
def phase_rows(analysis: Analysis, index: int = 0, only: Sequence[int] | None = None,
               coordinates: Sequence[ArrayLike] | None = None, title: str = "") -> Panel:
    """The Panel of instruction `index` of an Analysis: a row per lane, its banks across, phase by phase.

    only: the phases to draw, all if None; the title then says which and what part of the cost they are. coordinates: the
    parts of those that the lanes give, ints [lanes] each, (rows, columns) of a tile with both; None: not written. title:
    what is drawn; the costs follow it.
    The wavefront in which a word comes is a choice of presentation (`simlayout.hardware.banks.phases.phases`).

    >>> import simlayout as sl
    >>> panel = phase_rows(sl.analyze("ldmatrix.x1", [128 * (lane % 8) for lane in range(32)]))
    >>> [(box.y, box.text, box.marked) for box in panel.boxes[:3]], panel.sides[0][1].splitlines()[-1]
    ([(0.0, '0', False), (1.0, '1', True), (2.0, '2', True)], '8 wavefronts')
    """
    require(Analysis, "phase_rows", analysis)
    phase_list = phases(analysis, index)
    if only is not None and (not only or not set(only) <= set(range(len(phase_list)))):
        raise SimlayoutError(f"only = {only!r}: the phases of {analysis.instruction} are 0 to {len(phase_list) - 1}")
    across, called = analysis.row(index).banks, analysis.arch.vendor.wavefront
    boxes, rows, sides, frames, top = [], [], [], [], 0.0
    for number, phase in enumerate(phase_list):
        if only is not None and number not in only:
            continue
        active = [lane for lane in phase.lanes if analysis.active[index, lane]]
        place = {lane: top + i for i, lane in enumerate(active)}
        boxes += [Box(s.bank, place[lane], s.width, 1, KIND[s.wavefront > 0], str(s.wavefront), s.wavefront > 0)
                  for s in phase.served for lane in s.lanes if s.wavefront < phase.wavefronts // phase.times]
        rows += [(place[lane] + 0.5, _lane(lane, coordinates)) for lane in active]
        count = counted(phase.wavefronts, called)
        if only is None or len(only) > 1:
            sides.append((top + len(active) / 2, f"{_what(analysis, number, phase)}\n{count}"))
        frames.append((0, top, across, len(active)))
        top += len(active) + GAP
    boxes.sort(key=lambda b: (b.y, b.x))
    legend = tuple(((kind,), words.format(called)) for kind, words in (("ideal", FIRST), ("excess", LATER))
                   if any(b.colour == kind for b in boxes))
    full_title = f"{title or analysis.instruction}\n{costs(analysis, index, only)}"
    return Panel(full_title, across, top - GAP, boxes, bank_numbers(across), rows, sides, frames, legend,
                 CONFLICT.format(called), BANK_LABEL, _lane_label(coordinates), bytes=WORD_BYTES)


def costs(analysis, index=0, only=None):
    """The wavefronts of an instruction and its ideal, in words; of the phases `only` what they are of it.

    >>> from simlayout.hardware import analyze
    >>> load = analyze("ldmatrix.x4", [128 * (lane % 16) + 16 * (lane // 16) for lane in range(32)])
    >>> costs(load), costs(load, 0, (0,))
    ('32 wavefronts, ideal 4', 'matrix 0 of 4: 8 of 32 wavefronts (ideal 1)')
    """
    total, ideal = int(analysis.wavefronts[index]), int(analysis.ideal[index])
    found = phases(analysis, index)
    called = analysis.arch.vendor.wavefront
    exact = "" if analysis.exact else " (a bound: see `explain`)"
    if only is None or set(only) >= set(range(len(found))):
        return f"{counted(total, called)}, ideal {ideal}{exact}"
    chosen = [found[number] for number in only]
    mine, least = sum(p.wavefronts for p in chosen), sum(bool(p.wavefronts) for p in chosen)
    one, many = ("matrix", "matrices") if analysis.instruction.kind in ("ldmatrix", "stmatrix") else ("phase", "phases")
    names = f"{one} {only[0]}" if len(only) == 1 else f"{many} {', '.join(map(str, only[:-1]))} and {only[-1]}"
    return f"{names} of {len(found)}: {mine} of {counted(total, called)} (ideal {least}){exact}"


def _lane(lane, coordinates):
    if coordinates is None:
        return str(lane)
    return f"{lane}: {', '.join(str(int(np.asarray(c)[lane])) for c in coordinates)}"


def _lane_label(coordinates):
    """What stands beside the rows."""
    if coordinates is None:
        return "lane"
    return {1: "lane: column", 2: "lane: row, column"}.get(len(coordinates), "lane: coordinate")


def _what(analysis, number, phase):
    """What a phase is called: a matrix of ldmatrix and stmatrix, else its lanes."""
    lanes = named_lanes(phase.lanes)
    return f"matrix {number}\n{lanes}" if analysis.instruction.kind in ("ldmatrix", "stmatrix") else lanes


def of_access(access, index=0, only=None, title=""):
    """`phase_rows` of an Access, with the coordinates that its lanes give. title: of the access, by itself where "" is."""
    from simlayout.plots.copies import given

    return phase_rows(access.analyze(), index, only, given(access, index),
                      title or f"{access.instruction} of {tile_name(access.tile)}, {access.dtype}")


@typed()
def matrix_phases(access: Access, index: int = 0, only: Sequence[int] | None = None, ax: Axes | None = None) -> Axes:
    """Draws the phases of an instruction of an Access; returns the Axes.

    only: the phases to draw, all if None. ax: where to draw; None makes a figure of the right size (`ax.figure`).

    >>> import simlayout as sl
    >>> load = sl.Access("A", "ldmatrix.x4", sl.Layout((16, 64), (64, 1)), lambda tid: (tid % 16, 8*(tid // 16)))
    >>> matrix_phases(load, only=(0,)).get_title(loc="left").splitlines()[-1]
    'matrix 0 of 4: 8 of 32 wavefronts (ideal 1)'
    """
    require(Access, "matrix_phases", access)
    title = f"{access.name}: {access.instruction} of {tile_name(access.tile)}, {access.dtype}"
    return draw(of_access(access, index, only, title), ax)


def _draw_phases(request):
    access, analysis = request.access()
    index = request.options.index[0]
    return draw(of_access(access, index)), counts(analysis, index)


PHASES_KIND = Kind("phases", "a LAYOUT, --op: the row that each lane names, and the banks that each phase fills",
                   ("'(16,64):(64,1)' --kind phases --op ldmatrix.x4 -o phases.svg",), _draw_phases,
                   OF_ACCESS)
