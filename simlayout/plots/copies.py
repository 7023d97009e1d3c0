"""Who moves what: the elements that each thread of an access touches, in its tile and in shared memory.

An access is drawn instruction by instruction: `index` counts the rows of `Access.addresses()`, as everywhere.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from numbers import Integral

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.nested import flatten, mode_sizes
from simlayout.algebra.notation import in_two_modes
from simlayout.arguments import typed
from simlayout.errors import LayoutError, SimlayoutError, brief, require
from simlayout.hardware.banks.copies import survivors, wavefront_of
from simlayout.hardware.banks.model import WORD_BYTES
from simlayout.hardware.banks.phases import phases
from simlayout.plots.aliases import Axes, SeveralAxes
from simlayout.plots.kinds import OF_ACCESS, Kind
from simlayout.plots.layouts import BANK_LABEL, HIGH, LINE_BYTES, bank_numbers, on_a_slide
from simlayout.plots.panel import CONFLICT, Box, Panel, draw, together
from simlayout.plots.style import SLIDE
from simlayout.proofs import Access
from simlayout.proofs.source import analyze_copies
from simlayout.wording import counted, tile_name

PIECE = "red frame and bar: in a later wavefront than the first of its line, because read from another line of global memory"
"""What `marked` means where what a copy reads is known."""

_JUMP = "{0} numbers jump: {0}s that none of these instructions touches are left out"
_JUMP_ALONG = "{0} jumps: numbers that none of these instructions touches are left out"
LEFT_OUT = _JUMP.format("line")

COLOURINGS = {
    "phase": "colour: the phase that serves the lane (lanes that are served together)",
    "instruction": "colour: the instruction, in the order of the loops",
    "warp": "colour: the warp",
    "chunk": "colour: the 16 bytes of a row that the lane moves, by their place in it",
    "block": "colour: the 8x8 block of the tile, downwards first",
}
"""What a colour may say, and the legend's words for it."""


def given(access, index):
    """The coordinates that the lanes of instruction `index` give, in parts: int64 [lanes] each. A nested part is the number
    of the row or column that it means. What a function that is no Layout takes behind row and column (a stage, say) is left
    out where it is 0 for all lanes.

    Raises SimlayoutError for an index that the access does not have.
    """
    count = access.instructions()
    if not isinstance(index, Integral) or not 0 <= index < count:
        raise SimlayoutError(f"instruction {index!r}: the access {access.name!r} has {count}, 0 to {count - 1}")
    sizes = list(access.domain.values())
    shape = (*sizes[1:], sizes[0])
    parts, modes = access.coordinate(*access.points()), getattr(access.tile, "shape", ())
    of_modes = isinstance(modes, tuple) and len(modes) == len(parts)
    modes = modes if of_modes else (None,) * len(parts)
    spread = [np.broadcast_to(np.asarray(_number(part, mode), np.int64), shape).reshape(-1, access.warp)[index]
              for part, mode in zip(parts, modes, strict=True)]
    return tuple(spread if of_modes or any(part.any() for part in spread[2:]) else spread[:2])


def _number(part, mode):
    """What a part of a coordinate counts along a mode: itself, or, nested as the mode, the first of its parts fastest.

    >>> _number((1, 2), (4, 8)), _number(5, (4, 8))
    (9, 5)
    """
    if not isinstance(part, tuple):
        return part
    number, step = 0, 1
    for inner, size in zip(part, mode, strict=True):
        number, step = number + step * _number(inner, size), step * prod(flatten(size))
    return number


def _check_colouring(colour):
    if colour not in COLOURINGS:
        raise SimlayoutError(f"colour {colour!r}: choose from {', '.join(COLOURINGS)}")


def coordinates(access, index):
    """(rows, columns) that the lanes of instruction `index` give, int64 [lanes] each; of a tile of one mode row 0.

    Raises LayoutError where the lanes differ in further parts, SimlayoutError as `given` does.
    """
    parts = given(access, index)
    if any((part != part[0]).any() for part in parts[2:]):
        raise LayoutError(f"access {access.name!r}: its lanes give {len(parts)} numbers, and the picture of a tile has rows "
                          f"and columns: nest the tile, as in {in_two_modes(access.tile)}, and let lanes give (row, column)")
    return (np.zeros(access.warp, np.int64), *parts)[-2:] if len(parts) < 2 else parts[:2]


def index_of(access, warp=0, **loops):
    """The index of the instruction that a warp executes where loop variables have these values (0 where not given).

    >>> import simlayout as sl
    >>> copy = sl.Access("copy", "st.shared.b128", sl.Layout((16, 64), (64, 1)), None, {"tid": 64, "i": 2})
    >>> index_of(copy, warp=1, i=1)
    3
    """
    index = 0
    for variable, size in list(access.domain.items())[1:]:
        index = index * size + loops.get(variable, 0)
    return index * (access.domain["tid"] // access.warp) + warp


def neighbour_step(access):
    """(down, across): the step from an element that a lane moves to the next, in rows and columns.

    (0, 1) where the elements of a row are neighbours in memory, (1, 0) where those of a column are.
    """
    if access.elements == 1:
        return 0, 1
    parts = [int(np.asarray(p).flat[0]) for p in access.coordinate(*(np.zeros(1, np.int64) for _ in access.domain))]
    here = access.tile(*parts)
    for axis, step in ((min(len(parts), 2) - 1, (0, 1)), (0, (1, 0))):
        beside = list(parts)
        beside[axis] += 1
        if access.tile(*beside) == here + 1:
            return step
    nest = f"; nest the tile, as in {in_two_modes(access.tile)}" if len(parts) > 2 else ""
    raise LayoutError(f"access {access.name!r}: the {access.elements} elements of a lane are no neighbours in a row or a "
                      f"column of its tile, so that they are no cell of a picture{nest}")


@typed(own=("indices",))
def touched(access: Access, indices: Sequence[int] = (0,), colour: str = "instruction", title: str = "",
            whole: bool = False) -> Panel:
    """The Panel of the tile's part that some instructions touch: each cell is what one lane moves, with its number.

    indices: of the instructions; colour: one of COLOURINGS. Threads have their tid where several warps are drawn, else their
    lane. Only lanes whose address counts are shown (16 of ldmatrix.x2). whole: with all else that the tile has, empty.

    >>> import simlayout as sl
    >>> copy = sl.Access("copy", "st.shared.b128", sl.Layout((8, 64), (64, 1)), lambda tid, i: (4*i + tid // 8, 8*(tid % 8)),
    ...                  {"tid": 32, "i": 2})
    >>> [box[:4] for box in touched(copy, [1]).boxes[7:9]]
    [(56, 0, 8, 1), (0, 1, 8, 1)]
    """
    require(Access, "touched", access)
    _check_colouring(colour)
    down, across = neighbour_step(access)
    instructions = list(_lanes(access, indices))
    top, left = (0, 0) if whole else (min(int(c[k].min()) for *_, c in instructions) for k in (0, 1))
    boxes = []
    for order, index, active, (rows, columns) in instructions:
        for lane in active:
            row, column = int(rows[lane]), int(columns[lane])
            size = (1 + across * (access.elements - 1), 1 + down * (access.elements - 1))
            shade = {"phase": _phase_of(access, lane), "instruction": order, "warp": _warp(access, index, lane),
                     "chunk": column // access.elements if across else row // access.elements,
                     "block": _block(row, column)}[colour]
            boxes.append(Box(column - left, row - top, *size, shade, _name(access, indices, index, lane)))
    wide, high = int(max(b.x + b.width for b in boxes)), int(max(b.y + b.height for b in boxes))
    if whole:
        high, wide = (1, *mode_sizes(access.tile)[:2])[-2:]
    boxes = list(dict.fromkeys(boxes))
    step, (xlabel, ylabel) = int(boxes[0].width), _axes([given(access, index) for index in indices])
    return Panel(title or f"{access.name}: {access.instruction}, {access.dtype}", wide, high, _joined(boxes),
                 tuple((x + min(step, 8) / 2, str(x + left)) for x in range(0, wide, max(step, wide // 8, 1))),
                 tuple((y + 0.5, str(y + top)) for y in range(high)), frames=((0, 0, wide, high),) * whole,
                 legend=_legend(boxes, colour), xlabel=xlabel, ylabel=ylabel,
                 bytes=dtype_of(access.dtype).bytes * across)


def _axes(instructions):
    """What the axes of a picture count, by the coordinates that the lanes of each instruction give.

    >>> lanes = np.arange(32)
    >>> _axes([(lanes, lanes)]), _axes([(lanes, lanes, 0 * lanes), (lanes, lanes, 0 * lanes + 5)])
    (('column', 'row'), ('coordinate 1 (coordinate 2: 0, 5)', 'coordinate 0'))
    """
    rest = []
    for k in range(2, len(instructions[0])):
        rest.append(f"coordinate {k}: {', '.join(map(str, sorted({int(parts[k][0]) for parts in instructions})))}")
    return (f"coordinate 1 ({'; '.join(rest)})", "coordinate 0") if rest else ("column", "row")


def _without_gaps(panel):
    """What `touched` gives, where it is larger than a slide without the columns or rows that no box fills."""
    wide, high = panel.size()
    for what, length, start, size, most in (("column", "width", "x", wide, SLIDE), ("row", "height", "y", high, HIGH)):
        filled = sorted({at for b in panel.boxes for at in range(int(getattr(b, start)),
                                                                 int(getattr(b, start) + getattr(b, length)))})
        if size <= most or len(filled) == getattr(panel, length):
            continue
        place = {at: new for new, at in enumerate(filled)}
        begins, origin = sorted({int(getattr(b, start)) for b in panel.boxes}), int(getattr(panel, f"{what}s")[0][1])
        numbers = tuple((place[at] + 0.5, str(at + origin)) for at in begins)
        named = getattr(panel, f"{start}label")
        jump = _JUMP.format(what) if named == what else _JUMP_ALONG.format(named.split(" (")[0])
        panel = replace(panel, boxes=tuple(b._replace(**{start: float(place[getattr(b, start)])}) for b in panel.boxes),
                        legend=(*panel.legend, ((), jump)),
                        **{length: len(filled), f"{what}s": numbers})
    return panel.within(HIGH)


@typed(own=("indices",))
def in_memory(access: Access, indices: Sequence[int] = (0,), colour: str = "instruction", title: str = "",
              leading: int | None = None) -> Panel:
    """The Panel of the lines of shared memory that some instructions touch; words of further wavefronts are marked.

    indices, colour: as of `touched`; lines that nobody touches are left out. leading: of a copy with a Source, elements from
    row to row of the matrix that it reads: its wavefronts then count what it reads as well, of a tile that begins on a
    128-byte line. Without it they are those of the destinations alone.

    >>> import simlayout as sl
    >>> load = sl.Access("load", "ld.shared.b32", sl.Layout((32, 32), (32, 1)), lambda tid: (tid, 0), dtype="f32")
    >>> sum(box.marked for box in in_memory(load).boxes)
    31
    """
    require(Access, "in_memory", access)
    _check_colouring(colour)
    analysis = access.analyze() if leading is None else analyze_copies(access, leading)
    size = access.bytes
    instructions, boxes = list(_lanes(access, indices)), []
    for order, index, active, (rows, columns) in instructions:
        late = _late(analysis, index)
        for lane in active:
            line, byte = divmod(int(analysis.addresses[index, lane]), WORD_BYTES * access.row.banks)
            place = (columns if neighbour_step(access)[1] else rows)[lane] // access.elements
            shade = {"phase": _phase_of(access, lane), "instruction": order, "warp": _warp(access, index, lane),
                     "chunk": int(place), "block": _block(int(rows[lane]), int(columns[lane]))}[colour]
            boxes.append(Box(byte / WORD_BYTES, line, size / WORD_BYTES, 1, shade, _name(access, indices, index, lane),
                             lane in late))
    shown = sorted({b.y for b in boxes})
    place = {line: float(y) for y, line in enumerate(shown)}
    boxes = [b._replace(y=place[b.y]) for b in boxes]
    count = [int(getattr(analysis, name)[list(indices)].sum()) for name in ("wavefronts", "ideal")]
    exact = "" if analysis.exact else " (of what is written: what a copy reads is not known)"
    named = title or f"{tile_name(access.tile)}, {access.dtype}"
    banks = access.row.banks
    called = analysis.arch.vendor.wavefront
    full_title = f"{named}\n{counted(count[0], called)}, ideal {count[1]}{exact}"
    rows = tuple((y + 0.5, str(n)) for n, y in place.items())
    return Panel(full_title, banks, len(shown), _joined(boxes), bank_numbers(banks), rows,
                 frames=((0, 0, banks, len(shown)),), legend=(*_legend(boxes, colour), *_gaps(shown)),
                 marked=CONFLICT.format(called) if leading is None else PIECE, xlabel=BANK_LABEL, ylabel="line",
                 bytes=WORD_BYTES)


def _late(analysis, index):
    """The lanes that a further wavefront serves: of their phase, or, of a copy past the cache whose sources are known, of
    their line of shared memory (from another line of global memory, or in another order: see `hardware.copies`)."""
    if analysis.instruction.rule != "bypass" or analysis.sources is None:
        return {lane for phase in phases(analysis, index) for s in phase.extra for lane in s.lanes}
    addresses, sources, active = analysis.addresses[[index]], analysis.sources[[index]], analysis.active[[index]]
    alive = survivors(addresses, active)
    if analysis.valid is not None:
        alive &= analysis.valid[[index]] > 0
    first, late = {}, set()
    for lane in np.flatnonzero(alive[0]).tolist():
        wavefront = wavefront_of(addresses, sources, alive)[0, lane]
        if first.setdefault(addresses[0, lane] // LINE_BYTES, wavefront) != wavefront:
            late.add(lane)
    return late


def _lanes(access, indices):
    """(order, index, lanes whose address counts, their coordinates) of some instructions."""
    if not isinstance(indices, Sequence | range) or not indices:
        raise SimlayoutError(f"indices = {brief(indices)}: give the numbers of instructions, as in (0,) or range(4)")
    active = np.flatnonzero(access.used_lanes()).tolist()
    for order, index in enumerate(indices):
        yield order, index, active, tuple(c[:max(active) + 1] for c in coordinates(access, index))


def _phase_of(access, lane):
    return next(k for k, group in enumerate(access.row.groups) if lane in group)


def _block(row, column):
    """The number of an 8x8 block in a tile of two by two: 0 and 1 below each other, 2 and 3 to the right of these."""
    return row // 8 + 2 * (column // 8)


def _tid(access, index, lane):
    return access.point(index, lane)["tid"]


def _warp(access, index, lane):
    return _tid(access, index, lane) // access.warp


def _name(access, indices, index, lane):
    """"T70" where several warps are drawn, else the lane."""
    warps = {access.point(i, 0)["tid"] for i in indices}
    return f"T{_tid(access, index, lane)}" if len(warps) > 1 else str(lane)


def _joined(boxes):
    """The Boxes, those at the same place merged into one with all their texts; it is marked if any of them is."""
    places = {}
    for box in boxes:
        places.setdefault(box[:4], []).append(box)
    joined = []
    for same in places.values():
        names = list(dict.fromkeys(b.text for b in same))
        text = ", ".join(names) if len(names) < 3 else f"{names[0]} +{len(names) - 1}"
        joined.append(same[0]._replace(text=text, marked=any(b.marked for b in same)))
    return tuple(joined)


def _legend(boxes, colour):
    names = "T and a number: a thread" if boxes[0].text.startswith("T") else "number: a lane"
    return ((tuple(sorted({b.colour % 8 for b in boxes})), f"{names}; {COLOURINGS[colour]}"),)


def _gaps(shown):
    """What the legend says where the numbers of lines jump."""
    return (((), LEFT_OUT),) if shown and shown[-1] - shown[0] >= len(shown) else ()


@typed(own=("indices",))
def copy_map(access: Access, indices: Sequence[int] = (0,), colour: str = "instruction", title: str = "",
             ax: SeveralAxes | None = None) -> tuple[Axes, ...]:
    """Draws some instructions of an access: the tile by rows and columns, and shared memory; returns the two Axes.

    ax: where to draw: None, one Axes or two, and title: above both, which then say where alone; as of
    `simlayout.plots.together`.

    >>> import simlayout as sl
    >>> copy = sl.Access("copy", "st.shared.b128", sl.Layout((8, 64), (64, 1)), lambda tid, i: (4*i + tid // 8, 8*(tid % 8)),
    ...                  {"tid": 32, "i": 2})
    >>> [ax.get_title(loc="left").splitlines()[0] for ax in copy_map(copy, (0, 1))]
    ['copy: st.shared.b128, f16', '(8,64):(64,1), f16']
    """
    names = ("in the tile", "in shared memory") if title else ("", "")
    part = _without_gaps(touched(access, indices, colour, names[0]))
    panels, across = on_a_slide([part, in_memory(access, indices, colour, names[1]).within(HIGH)])
    return together(panels, across, title, ax)


@typed(own=("indices",))
def copies(access: Access, indices: Sequence[int] = (0,), colour: str = "instruction", ax: Axes | None = None) -> Axes:
    """Draws which element each thread of an access moves (see `touched`); returns the Axes.

    indices: of its instructions, in the order of its domain; colour: by what, see `touched`. ax: where to draw; None makes a
    figure of the right size (`ax.figure`).

    >>> import simlayout as sl
    >>> access = sl.Access("load", "ld.shared.b32", sl.Layout((4, 8), (8, 1)), lambda tid: (tid // 8, tid % 8), {"tid": 32},
    ...                    dtype="f32")
    >>> copies(access).get_title(loc="left")
    'load: ld.shared.b32, f32'
    """
    return draw(_without_gaps(touched(access, indices, colour)), ax)


def _draw_copy(request):
    indices = request.options.index
    access, analysis = [request.access(index) for index in indices][0]
    total = sum(int(analysis.wavefronts[i]) for i in indices)
    title = f"{access.instruction} of {tile_name(access.tile)}, {access.dtype}"
    return copy_map(access, indices, title=title), counted(total, "wavefront")


COPY_KIND = Kind("copy", "a LAYOUT, --op: which element each lane moves, in the tile and in shared memory; --index may name "
                 "several", ("'Sw<3,3,3> o (16,64):(64,1)' --kind copy --op st.shared.b128 --index 0 1 -o copy.svg",),
                 _draw_copy, OF_ACCESS, several=True)
