"""The answers of the explorer: takes a State, returns a dict of plain values. Everything the page draws is computed here,
but for the bank of an offset, which is a division."""

import shlex

import numpy as np

from simlayout.algebra import Composed, Swizzle, dtype_of
from simlayout.algebra.composed import join
from simlayout.algebra.nested import flatten
from simlayout.errors import SimlayoutError
from simlayout.explorer.pack import ints_text
from simlayout.explorer.sources import NONE
from simlayout.explorer.state import Use
from simlayout.explorer.worked import counts_of, of_before, worked
from simlayout.hardware.banks.phases import phases

MAX_SHOWN = 512             # rows and columns of the tile that are drawn


def answer(state, sources=NONE):
    """The answer to a State, as plain values for JSON. Offsets count elements, words 4 bytes, from the start of the tile.

    accesses: what each costs, and in the pinned layout. tile: the offset of every element, as `ints_text`. counts: of the
    shown access a list entry per instruction. instruction: of the one at `state.index`, its phases, in how many banks, and
    what each lane touches; before: the same of the pinned layout, or None. least, most: bounds of the wavefronts.
    Raises Refusal, which names the field, for what simlayout refuses.

    >>> from simlayout.explorer.state import State
    >>> result = answer(State(layout="(16,64):(64,1)", index=3))
    >>> result["instruction"]["wavefronts"], result["instruction"]["loops"], result["instruction"]["lanes"][1][:3]
    (32, 'k = 3', [112, 113, 114])
    """
    works, pinned = worked(state.without_view(), sources), of_before(state, sources)
    shown = min(state.shown, len(works) - 1)
    work = works[shown]
    index = min(state.index, len(work.analysis) - 1)
    seen = {**state.as_dict(), "shown": shown, "index": index}
    return {"state": seen, "accesses": [_access(*both) for both in zip(works, pinned or [None] * len(works))],
            **_shared(state, work, shown), "instruction": _instruction(work, index),
            "before": pinned and _before(pinned[shown], index)}


def _access(work, pinned):
    """A row of the table of accesses."""
    access = work.access
    threads, warp = access.domain["tid"], work.analysis.arch.lanes
    loops = ", ".join(f"{name}={trips}" for name, trips in access.domain.items() if name != "tid" or threads != warp)
    return {"name": access.name, "op": access.instruction, "loops": loops, "instructions": len(work.analysis),
            **work.total(), "exact": bool(work.analysis.exact), "before": pinned and pinned.total()}


def _before(pinned, index):
    """What the page draws of the pinned layout."""
    index = min(index, len(pinned.analysis) - 1)
    return {"layout": str(pinned.access.tile), "tile": _tile(pinned), "instruction": _instruction(pinned, index)}


def _shared(state, work, number):
    """The parts of the answer that every instruction of the access has."""
    access, analysis = work.access, work.analysis
    return {
        "layout": str(access.tile), "op": access.instruction, "dtype": access.dtype, "arch": analysis.arch.name,
        "name": access.name, "command": command_of(state, number), "swizzle": _outermost(access.tile), "tile": _tile(work),
        "counts": {name: counts.tolist() for name, counts in counts_of(analysis).items()},
        "claims": list(work.certificate.claims) if work.certificate else [], "provenance": str(analysis.provenance),
    }


def _tile(work):
    """The tile's size, its modes, and the offsets of the elements that are drawn, row by row."""
    tile, element = work.access.tile, dtype_of(work.access.dtype)
    rows, columns = work.offsets.shape
    shown = work.offsets[:MAX_SHOWN, :MAX_SHOWN]
    shape = tile.shape if isinstance(tile.shape, tuple) else (tile.shape,)
    return {"rows": rows, "columns": columns, "shown_rows": shown.shape[0], "shown_columns": shown.shape[1],
            "modes": [list(flatten(mode)) for mode in shape],
            "size": tile.size, "wasted": tile.cosize - tile.size, "element_bytes": element.bytes,
            "bits": max(int(tile.cosize) - 1, 1).bit_length(), "offsets": ints_text(shown)}


def _outermost(tile):
    """B, M and S of the outermost swizzle and what it is composed with; B = 0, the identity, where there is none."""
    parts = tile.parts() if isinstance(tile, Composed) else (tile,)
    if isinstance(parts[0], Swizzle):
        return {"b": parts[0].bits, "m": parts[0].base, "s": parts[0].shift, "base": str(join(parts[1:]))}
    return {"b": 0, "m": None, "s": None, "base": str(tile)}


def command_of(state, number):
    """The command line that counts the same, quoted for a POSIX shell; "" for what has none."""
    use = state.accesses[number] if number < len(state.accesses) else Use()
    if state.kernel:
        return shlex.join(["simlayout", "kernels", state.kernel])
    if use.addresses.strip():
        return ""
    words = ["simlayout", "check", state.layout, "--dtype", state.dtype, "--op", use.op]
    if use.lanes.strip():
        words += ["--lanes", use.lanes]
    if loops := use.domain.replace(",", " ").replace(";", " ").split():
        words += ["--domain", *loops]
    if state.arch != type(state).arch:
        words += ["--arch", state.arch]
    return shlex.join(words)


def _instruction(work, index):
    """One instruction: its counts, its phases, what each lane touches, and why it costs what it does."""
    analysis, access, chip = work.analysis, work.access, work.analysis.arch
    loops = [f"{name} = {value}" for name, value in access.point(index, 0).items() if name != "tid"]
    if access.domain["tid"] > chip.lanes:
        loops.append(f"{chip.vendor.warp} {access.point(index, 0)['tid'] // chip.lanes}")
    counts = {name: int(each[index]) for name, each in counts_of(analysis).items()}
    drawn, note = _phases(analysis, index)
    return {"index": index, "loops": ", ".join(loops), **counts, "exact": analysis.exact, "caveat": analysis.caveat,
            "banks": analysis.row(index).banks, "phases": drawn, "note": note, "lanes": _touched(work, index),
            "explanation": analysis.explain(index)}


def _phases(analysis, index):
    """(the phases with what is served in them, "") or ([], why there are none)."""
    try:
        phase_list = phases(analysis, index)
    except SimlayoutError as error:
        return [], str(error)
    drawn, first = [], 0
    for phase in phase_list:
        served = [{"wavefront": s.wavefront, "bank": s.bank, "width": s.width, "word": s.word, "lanes": s.lanes}
                  for s in phase.served]
        drawn.append({"lanes": phase.lanes, "wavefronts": phase.wavefronts, "times": phase.times, "first": first,
                      "served": served})
        first += phase.wavefronts
    return drawn, ""


def _touched(work, index):
    """For each lane the elements that it moves, as row * columns + column; none for a lane that is not active."""
    access, analysis = work.access, work.analysis
    element, offsets = dtype_of(access.dtype).bytes, work.offsets.ravel()
    owner = np.full(int(offsets.max()) + 1, -1)
    owner[offsets] = np.arange(offsets.size)
    offsets_moved = analysis.addresses[index][:, None] // element + np.arange(access.elements)
    elements = np.where(offsets_moved < owner.size, owner[np.minimum(offsets_moved, owner.size - 1)], -1)
    return [[int(e) for e in row if e >= 0] if active else []
            for row, active in zip(elements, analysis.active[index], strict=True)]
