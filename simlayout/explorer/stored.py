"""What a page without Python holds: every instruction of the layout and of the pinned one, the layouts that its sliders lead
to, and those that Fix it finds first. As flat lists, because rows that look alike pack well."""

from contextlib import suppress
from dataclasses import replace

from simlayout.errors import SimlayoutError
from simlayout.explorer.fix import quick_fix
from simlayout.explorer.model import whole
from simlayout.explorer.sources import NONE
from simlayout.explorer.state import Refusal, blamed

MAX_INSTRUCTIONS = 64       # of each access, that are stored of the layout itself and of the pinned one
OF_OTHERS = 8               # of all accesses together, of a layout that a slider or Fix it leads to
MOST_WORK = 1 << 15         # accesses times elements of the tile up to which the sliders' layouts are stored
BITS, BASES, SHIFTS = range(7), range(9), range(-8, 9)
"""What the sliders of the page go through."""
MIDDLE = 3, 3, 3            # where the page puts the sliders of a layout without a swizzle


def stored(state, sources=NONE):
    """The layouts of an exported page, as lists for JSON.

    layouts: {text: number of a layout, or the refusal of it as an object}; a text may stand for the layout of another one.
    accesses, tiles: of each layout, as in an answer. parts: of each layout each access, without its instructions; these are
    number "from" to "from" + "stored" of `instructions`. fix: of `quick_fix`, whose layouts are there, or None where it
    refuses. sliders: whether their layouts are there. Raises Refusal for a State without an answer.
    """
    made = {"layouts": {}, "accesses": [], "tiles": [], "parts": [], "instructions": [], "fix": None, "sliders": False}
    own = _put(made, state, sources, MAX_INSTRUCTIONS)
    if state.before.strip():
        with blamed("before"):
            _put(made, replace(state, layout=state.before), sources, MAX_INSTRUCTIONS)
    each = max(OF_OTHERS // len(made["accesses"][0]), 1)
    if len(made["accesses"][0]) * made["tiles"][0]["size"] <= MOST_WORK:
        for layout in slider_layouts(own["swizzle"]):
            if layout in made["layouts"]:
                continue
            try:
                _put(made, replace(state, layout=layout), sources, each)
            except SimlayoutError as error:
                fault = error if isinstance(error, Refusal) else Refusal(str(error), "layout")
                made["layouts"][layout] = fault.as_dict()
        made["sliders"] = True
    with suppress(Refusal):
        made["fix"] = quick_fix(state, sources)
        for row in made["fix"]["rows"]:
            if row["layout"] not in made["layouts"]:
                _put(made, replace(state, layout=row["layout"]), sources, each)
    return made


def slider_layouts(swizzle):
    """The texts that the sliders write while one of them leaves the place where all three are. swizzle: as in an answer.

    >>> slider_layouts({"b": 1, "m": 3, "s": 3, "base": "(16,16):(16,1)"})[:3]
    ['(16,16):(16,1)', 'Sw<1,3,3> o (16,16):(16,1)', 'Sw<2,3,3> o (16,16):(16,1)']
    """
    b, m, s = (swizzle["b"], swizzle["m"], swizzle["s"]) if swizzle["b"] else MIDDLE
    places = [(n, m, s) for n in BITS] + [(b, n, s) for n in BASES] + [(b, m, n) for n in SHIFTS]
    base = swizzle["base"]
    return list(dict.fromkeys(f"Sw<{b},{m},{s}> o {base}" if b else base for b, m, s in places))


def _put(made, state, sources, limit):
    """Adds a State's layout, under its text and under its name in an answer; returns its first part."""
    found = whole(replace(state, before=""), sources, limit)
    number = len(made["tiles"])
    for part in found["parts"]:
        instructions = part.pop("instructions")
        made["parts"].append({**part, "from": len(made["instructions"]), "stored": len(instructions)})
        made["instructions"] += instructions
    made["accesses"].append(found["accesses"])
    made["tiles"].append(found["tile"])
    first = found["parts"][0]
    made["layouts"] |= {state.layout: number, first["layout"]: number}
    return first
