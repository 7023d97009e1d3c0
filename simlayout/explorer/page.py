"""The page: one HTML text with its style, its script and its data in it, so that it asks for nothing else.

Served, it sends what is typed to Python. Exported, it holds the answers, and its Content-Security-Policy forbids requests.
"""

import base64
import hashlib
import json
from functools import lru_cache
from importlib.resources import files

from simlayout import __version__
from simlayout.algebra.dtypes import DTYPES
from simlayout.explorer.model import answers
from simlayout.explorer.presets import PRESETS
from simlayout.explorer.sources import NONE
from simlayout.hardware import INSTRUCTIONS
from simlayout.hardware.tables.arch import ARCHES
from simlayout.plots.style import COLOURS

SCRIPTS = ("link.js", "highlight.js", "grid.js", "tile.js", "bits.js", "panels.js", "bench.js", "main.js", "events.js")
"""The parts of the script, in their order."""

MAX_INSTRUCTIONS = 16       # of each access, that an exported page holds


KINDS = {"load": "loads: each lane reads", "store": "stores: each lane writes",
         "ldmatrix": "ldmatrix: 8x8 matrices into the registers of a warp; a lane gives a row of",
         "stmatrix": "stmatrix: 8x8 matrices from the registers of a warp; a lane gives a row of",
         "copy": "cp.async: from global memory, past the registers; each lane",
         "reduction": "reductions: each lane adds to", "atomic": "atomics: each lane reads and changes"}
"""Kind of instruction -> what it does, up to its bytes."""


def served_page(state, sources=NONE):
    """(HTML, Content-Security-Policy) of the page that asks this server; it starts with a State."""
    presets = [{"title": p.title, "state": p.state.as_dict()} for p in PRESETS]
    own = {"presets": presets, "state": state.as_dict(), "kernels": list(sources.kernels), "lines": sources.lines,
           "report": sources.title}
    return _page({**_tables(), **own}, "connect-src 'self'")


def exported_page(state, sources=NONE):
    """One HTML text that shows a State without a server or a network: the instructions, lanes, banks and phases of all its
    accesses, and their texts in other languages.

    Instructions after the 16th of an access are left out, which the page says. Raises Refusal for a State without an answer.

    >>> from simlayout.explorer.state import State
    >>> page = exported_page(State("(16,64):(64,1)"))
    >>> page[:15], "https://" in page
    ('<!DOCTYPE html>', False)
    """
    answer, parts = answers(state, sources, MAX_INSTRUCTIONS)
    data = {**_tables(), "presets": [], "kernels": [], "lines": [], "state": answer["state"], "answer": answer,
            "parts": parts}
    return _page(data, "connect-src 'none'")[0]


def _tables():
    """What the fields offer, and the colours of the lanes."""
    ops = [[op.name, op.kind, op.bytes, len(op.groups)] for op in INSTRUCTIONS.values()]
    return {"version": __version__, "colours": COLOURS, "dtypes": list(DTYPES), "ops": ops, "kinds": KINDS,
            "arches": list(ARCHES)}


def _page(data, connect):
    """The template with style, script and data in place; only this script and this style may run."""
    html, style, script = _parts()
    policy = (f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; {connect}; img-src data:; "
              "base-uri 'none'; form-action 'none'")
    filled = html
    for mark, text in (("POLICY", policy), ("STYLE", style), ("SCRIPT", script), ("DATA", embedded(data))):
        filled = filled.replace(f"@{mark}@", text)
    return filled, policy


def embedded(data):
    """JSON that may stand in a script element: no "<", so that no text in it can end the element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace("@", "\\u0040")


@lru_cache(1)
def _parts():
    """(template, style, script) from the package's files."""
    folder = files("simlayout.explorer") / "static"
    script = "\n".join(["'use strict';", *((folder / name).read_text("utf-8") for name in SCRIPTS)])
    return (folder / "page.html").read_text("utf-8"), (folder / "style.css").read_text("utf-8"), script


def _digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
