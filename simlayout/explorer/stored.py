"""What a page without Python holds: where the elements of its tiles lie, which of them each lane asks for, the rows of the
table of instructions, and the texts that only Python writes. `offline.js` counts from these whatever a slider leads to."""

from contextlib import suppress
from dataclasses import replace

import numpy as np

from simlayout.algebra import Swizzle
from simlayout.explorer.copies import copies
from simlayout.explorer.fix import quick_fix
from simlayout.explorer.model import MAX_SHOWN, answer, command_of
from simlayout.explorer.report import is_recorded
from simlayout.explorer.sources import NONE
from simlayout.explorer.state import Refusal, blamed
from simlayout.explorer.worked import worked
from simlayout.hardware import arch_of, instruction
from simlayout.hardware.banks.analysis import UNKNOWN_SOURCES
from simlayout.hardware.banks.copies import LINE_BYTES
from simlayout.hardware.banks.model import WORD_BYTES, last_address
from simlayout.hardware.tables.provenance import provenance

MOST_BITS = 30              # that a swizzle may touch, of which JavaScript's integers have as many
MOST_EXPLAINED = 64         # instructions that are loops, of an access
ANY = "any layout"          # stands in a command for a layout; it is quoted, because of its space


def stored(state, sources=NONE, lines=()):
    """What an exported page counts from, for JSON. lines: of a report, that it shows, too.

    rules: {instruction: its row}; word, line: bytes; most: rows and columns that are drawn. benches: of a kernel one for
    each of its tiles, of a report's line none, else one. A bench has `layouts`, {text: its swizzle B, M, S over one of
    its `tiles`, and the texts of its accesses}; `names`, {text as it was typed: text of a layout}; `asked`, tables of the
    elements at which 32 lanes begin, -1 for a lane that takes no part; `fix`, of `quick_fix`, whose layouts are there, or
    None where it refuses. Raises Refusal for a State without an answer.
    """
    worked(state.without_view(), sources)
    recorded = is_recorded(state)
    benches = [] if recorded else [_bench(each, sources) for each in _tiles_of(state, sources)]
    ops = {access["op"] for bench in benches for tile in bench["tiles"] for access in tile["accesses"]}
    ops |= {use["op"] for line in lines if line["state"] for use in line["state"]["accesses"]}
    ops |= {use.op for use in state.accesses} if recorded else set()
    chip = arch_of(state.arch)
    rules = {op: _rule(instruction(op, chip), chip) for op in sorted(ops)}
    return {"rules": rules, "word": WORD_BYTES, "line": LINE_BYTES, "most": MAX_SHOWN, "benches": benches}


def _tiles_of(state, sources):
    """The States of all tiles of a kernel; the State itself where there is none."""
    if not state.kernel:
        return [state]
    return [state if part == state.part else replace(state, part=part, layout="", before="")
            for part in range(len(sources.parts(state.kernel)))]


def _rule(row, chip):
    """The row of an instruction as `offline.js` reads it."""
    return {"op": row.name, "rule": row.rule, "bytes": row.bytes, "groups": row.groups, "paired": row.paired_groups,
            "rival": row.rival and _rule(row.rival, chip), "merges": row.merges, "times": row.times, "banks": row.banks,
            "provenance": str(provenance(row, chip)), "last": last_address(row, chip.shared_bytes_per_cta),
            "caveat": UNKNOWN_SOURCES if row.kind == "copy" else row.caveat}


def _bench(state, sources):
    """One tile with its accesses, in the layouts that are known by name."""
    made = {"tiles": [], "asked": [], "layouts": {}, "names": {}, "fix": None}
    _put(made, state, sources)
    if state.kernel:
        _put(made, replace(state, layout=""), sources)      # a click in its plan shows its own
    if state.before.strip():
        with blamed("before"):
            _put(made, replace(state, layout=state.before), sources)
    with suppress(Refusal):
        made["fix"] = quick_fix(state, sources)
        for row in made["fix"]["rows"]:
            _put(made, replace(state, layout=row["layout"]), sources)
    return made


def _put(made, state, sources):
    """Adds a State's layout to a bench."""
    works = worked(replace(state, before="").without_view(), sources)
    states = [replace(state, before="", shown=number, index=0) for number in range(len(works))]
    told = [answer(each, sources) for each in states]
    layout = told[0]["layout"]
    made["names"][state.layout] = layout
    if layout in made["layouts"]:
        return
    swizzle, under = _outermost(told[0]["swizzle"], layout)
    accesses = [{"name": found["name"], "op": found["op"], "loops": row["loops"], "dtype": found["dtype"],
                 "axes": [[name, trips] for name, trips in work.access.domain.items() if name != "tid"],
                 "warps": work.access.domain["tid"] // work.analysis.arch.lanes,
                 "asked": _number(made["asked"], _asked(work, found)),
                 "command": command_of(replace(each, layout=ANY), each.shown)}
                for each, work, found, row in zip(states, works, told, told[0]["accesses"], strict=True)]
    tile = {"layout": under, "arch": told[0]["arch"], "accesses": accesses,
            **{name: told[0]["tile"][name] for name in ("rows", "columns", "modes", "size", "element_bytes")},
            "offsets": swizzle(works[0].offsets.ravel()).tolist()}       # a swizzle is its own inverse
    texts = [{"claims": found["claims"], "command": found["command"],
              "copies": copies(each, sources), "kept": _kept(work, found)}
             for each, work, found in zip(states, works, told, strict=True)]
    made["layouts"][layout] = {"tile": _number(made["tiles"], tile), "texts": texts, "b": swizzle.bits, "m": swizzle.base,
                               "s": swizzle.shift}


def _outermost(found, layout):
    """(the outermost Swizzle of a layout, the text of what lies under it); found: as in an answer."""
    if found["b"] and found["b"] + found["m"] + abs(found["s"]) <= MOST_BITS:
        return Swizzle(found["b"], found["m"], found["s"]), found["base"]
    return Swizzle(0, 0, 0), layout


def _asked(work, found):
    """The element, row * columns + column, at which each lane begins; -1 for one that takes no part; [instructions][32]."""
    offsets = work.offsets.ravel()
    element = np.full(int(offsets.max()) + 1, -1)
    element[offsets] = np.arange(offsets.size)
    begun = work.analysis.addresses // found["tile"]["element_bytes"]
    return np.where(work.analysis.active, element[begun], -1).tolist()


def _kept(work, found):
    """Python's counts of an instruction that is a loop, which the page does not count; None of others."""
    if work.analysis.instruction.rule != "retry":
        return None
    shown = found["instruction"]
    return {"counts": found["counts"], **{name: shown[name] for name in ("exact", "caveat", "note")},
            "explanations": [work.analysis.explain(i) for i in range(min(len(work.analysis), MOST_EXPLAINED))]}


def _number(values, value):
    """The number of a value in a list, to which it is added if it is not there."""
    if value not in values:
        values.append(value)
    return values.index(value)
