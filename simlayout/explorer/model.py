"""The answers of the explorer: takes a State, returns a dict of plain values. Everything the page draws is computed here."""

import shlex
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from simlayout.algebra import Composed, Swizzle, dtype_of
from simlayout.algebra.composed import join
from simlayout.algebra.layout import flatten
from simlayout.codegen import emit
from simlayout.errors import SimlayoutError
from simlayout.explorer.state import State, access_of, blamed
from simlayout.hardware.banks.model import BANKS, WORD_BYTES
from simlayout.hardware.banks.phases import phases
from simlayout.proofs import verify
from simlayout.proofs.natural import CHUNK_BYTES

MAX_SHOWN = 512             # rows and columns of the tile that are drawn
LINE_CHUNKS = BANKS * WORD_BYTES // CHUNK_BYTES


@dataclass(frozen=True, eq=False)
class Worked:
    """The results that all instructions of an access share.

    offsets: of the tile's elements, in elements, int64 [rows, columns]. formula: a dict for the page.
    """

    access: object
    certificate: object
    analysis: object
    offsets: np.ndarray
    formula: dict


def answer(state):
    """The answer to a State, as plain values for JSON. Offsets count elements, words 4 bytes, from the start of the tile.

    tile: offset, bank and 16-byte chunk of the line for every element, row by row. counts: a list entry per instruction.
    instruction: of the one at `state.index`, its phases and what each lane touches. formula: the emitted index function.
    Raises Refusal, which names the field, for what simlayout refuses.

    >>> result = answer(State(layout="(16,64):(64,1)", index=3))
    >>> result["instruction"]["wavefronts"], result["instruction"]["loops"], result["instruction"]["lanes"][1][:3]
    (32, 'k = 3', [112, 113, 114])
    """
    worked = _worked(state.without_index())
    index = min(state.index, len(worked.analysis) - 1)
    return {**_shared(state, worked), "state": {**state.as_dict(), "index": index},
            "instruction": _instruction(worked, index)}


def answers(state, limit):
    """(the answer to a State, the "instruction" of every index up to `limit` of them): what a page without Python needs."""
    worked = _worked(state.without_index())
    return answer(state), [_instruction(worked, index) for index in range(min(len(worked.analysis), limit))]


@lru_cache(8)
def _worked(state):
    access = access_of(state)
    field, text = ("lanes", state.lanes) if state.lanes.strip() else ("layout", state.layout)
    with blamed(field, text):
        certificate = verify(access, arch=state.arch)
        analysis = access.analyze(state.arch)
    return Worked(access, certificate, analysis, _rows(access.tile), _formula(access, state.arch))


def _rows(tile):
    """The offsets as rows and columns: one mode is one row, and of more than two all but the first are columns."""
    rows = prod(flatten(tile.shape[0])) if tile.rank > 1 else 1
    return tile.offsets().reshape(rows, -1, order="F")


def _formula(access, arch):
    """The emitted index function as text, or why there is none."""
    try:
        emitted = emit(access, arch=arch)
    except SimlayoutError as error:
        return {"error": str(error).splitlines()[0]}
    return {"python": emitted.source, "cuda": emitted.cuda, "operations": emitted.operations}


def _shared(state, worked):
    """The parts of the answer that every instruction of the access has."""
    access, analysis = worked.access, worked.analysis
    return {
        "layout": str(access.tile), "op": access.instruction, "dtype": access.dtype, "arch": analysis.arch.name,
        "command": _command(state), "swizzle": _outermost(access.tile), "tile": _tile(worked),
        "counts": {name: getattr(analysis, name).tolist() for name in ("wavefronts", "ideal", "excess", "conflicts")},
        "claims": list(worked.certificate.claims), "provenance": str(analysis.provenance), "formula": worked.formula,
    }


def _tile(worked):
    """The tile's size, and offset, bank and chunk of the elements that are drawn, row by row."""
    tile, element = worked.access.tile, dtype_of(worked.access.dtype)
    rows, columns = worked.offsets.shape
    shown = worked.offsets[:MAX_SHOWN, :MAX_SHOWN]
    addresses = shown * element.bytes
    return {"rows": rows, "columns": columns, "shown_rows": shown.shape[0], "shown_columns": shown.shape[1],
            "size": tile.size, "wasted": tile.cosize - tile.size, "element_bytes": element.bytes,
            "offsets": shown.ravel().tolist(), "banks": (addresses // WORD_BYTES % BANKS).ravel().tolist(),
            "chunks": (addresses // CHUNK_BYTES % LINE_CHUNKS).ravel().tolist()}


def _outermost(tile):
    """B, M and S of the outermost swizzle and what it is composed with; B = 0, the identity, where there is none."""
    parts = tile.parts() if isinstance(tile, Composed) else (tile,)
    if isinstance(parts[0], Swizzle):
        return {"b": parts[0].bits, "m": parts[0].base, "s": parts[0].shift, "base": str(join(parts[1:]))}
    return {"b": 0, "m": None, "s": None, "base": str(tile)}


def _command(state):
    """The command line that counts the same, quoted for a POSIX shell."""
    words = ["simlayout", "check", state.layout, "--dtype", state.dtype, "--op", state.op]
    if state.lanes.strip():
        words += ["--lanes", state.lanes]
    if loops := state.domain.replace(",", " ").replace(";", " ").split():
        words += ["--domain", *loops]
    if state.arch != State.arch:
        words += ["--arch", state.arch]
    return shlex.join(words)


def _instruction(worked, index):
    """One instruction: its counts, its phases, what each lane touches, and why it costs what it does."""
    analysis = worked.analysis
    loops = [f"{name} = {value}" for name, value in worked.access.point(index, 0).items() if name != "tid"]
    counts = {name: int(getattr(analysis, name)[index]) for name in ("wavefronts", "ideal", "excess", "conflicts")}
    drawn, note = _phases(analysis, index)
    return {"index": index, "loops": ", ".join(loops), **counts, "exact": analysis.exact, "caveat": analysis.caveat,
            "phases": drawn, "note": note, "lanes": _touched(worked, index), "explanation": analysis.explain(index)}


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


def _touched(worked, index):
    """For each lane the elements that it moves, as row * columns + column; none for a lane that is not active."""
    access, analysis = worked.access, worked.analysis
    element, offsets = dtype_of(access.dtype).bytes, worked.offsets.ravel()
    owner = np.full(int(offsets.max()) + 1, -1)
    owner[offsets] = np.arange(offsets.size)
    first = analysis.addresses[index][:, None] // element
    offsets_moved = first + np.arange(access.elements)
    elements = np.where(offsets_moved < owner.size, owner[np.minimum(offsets_moved, owner.size - 1)], -1)
    return [[int(e) for e in row if e >= 0] if active else []
            for row, active in zip(elements, analysis.active[index], strict=True)]
