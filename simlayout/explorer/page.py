"""The page: one HTML text with its style, its script and its data in it, so that it asks for nothing else.

Served, it sends what is typed to Python. Exported, it holds the answers, and its Content-Security-Policy forbids requests;
`unpack.js` then unfolds script and data, which a browser of 2023 or later can.
"""

import base64
import hashlib
import json
from functools import lru_cache
from importlib.resources import files

from simlayout import __version__
from simlayout.algebra.dtypes import DTYPES
from simlayout.explorer.copies import names_of
from simlayout.explorer.pack import columns, packed
from simlayout.explorer.presets import PRESETS
from simlayout.explorer.report import exported_lines, exported_state
from simlayout.explorer.sources import NONE, plan_rows
from simlayout.explorer.stored import stored
from simlayout.hardware import INSTRUCTIONS
from simlayout.hardware.tables.arch import ARCHES
from simlayout.plots.style import COLOURS
from simlayout.wording import plural

SCRIPTS = ("link.js", "highlight.js", "grid.js", "tile.js", "bits.js", "panels.js", "bench.js", "main.js", "events.js")
"""The parts of the script, in their order."""

OFFLINE = "offline.js"
"""What stands before them in an exported page."""

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
    accesses in every layout that the sliders lead to, what Fix it finds first, the texts of these in other languages, of a
    kernel the plan with all its tiles, and of a report its lines.

    Raises Refusal for a State without an answer.

    >>> from simlayout.explorer.state import State
    >>> page = exported_page(State("(16,64):(64,1)"))
    >>> page[:15], "https://" in page, len(page) < 120_000
    ('<!DOCTYPE html>', False, True)
    """
    rows = plan_rows(state.kernel, sources) if state.kernel else []
    lines, report = exported_lines(sources)
    state = exported_state(state, lines)
    own = {"presets": [], "kernels": [], "plan": rows, "lines": lines, "report": report, "state": state.as_dict()}
    return _page({**_tables(), **own, "stored": stored(state, sources, lines)}, "connect-src 'none'", whole=True)[0]


def _tables():
    """What the fields offer, and the colours of the lanes."""
    return {"version": __version__, "colours": COLOURS, "dtypes": list(DTYPES), "kinds": KINDS,
            "ops": [_op(row) for row in INSTRUCTIONS.values()], "chips": [_chip(arch) for arch in ARCHES.values()]}


def _op(row):
    """What the page says of an instruction; since: the first compute capability that has it."""
    return {"name": row.name, "kind": row.kind, "bytes": row.bytes, "phases": len(row.groups), "banks": row.banks,
            "since": row.since}


def _chip(arch):
    """What the page says of a chip. ops: of its own, [] where it has those of PTX; languages: of copies."""
    return {"name": arch.name, "product": arch.product, "vendor": arch.vendor.name, "warp": arch.vendor.warp,
            "wavefront": arch.vendor.wavefront, "wavefronts": plural(arch.vendor.wavefront), "lanes": arch.lanes,
            "capability": arch.capability, "ops": [_op(row) for row in arch.instructions], "languages": names_of(arch)}


def _page(data, connect, whole=False):
    """The template with style, script and data in place; only this script and this style may run. whole: of a page that
    stands for itself, whose script and data are packed."""
    html, style, unpack, offline, script = _parts()
    script = f"'use strict';\n{offline if whole else ''}{script}"
    runs = (unpack, script) if whole else (script,)
    allowed = " ".join(f"'{_digest(text)}'" for text in runs)
    policy = (f"default-src 'none'; script-src {allowed}; style-src '{_digest(style)}'; {connect}; img-src data:; "
              "base-uri 'none'; form-action 'none'")
    kind = "text/plain" if whole else "application/json"
    held = packed([script, data]) if whole else embedded(columns(data))
    filled = html
    for mark, text in (("POLICY", policy), ("STYLE", style), ("SCRIPT", runs[0]), ("KIND", kind), ("DATA", held)):
        filled = filled.replace(f"@{mark}@", text)
    return filled, policy


def embedded(data):
    """JSON that may stand in a script element: no "<", so that no text in it can end the element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace("@", "\\u0040")


@lru_cache(1)
def _parts():
    """(template, style, the script that unpacks, the one of an exported page, the script) from the package's files."""
    folder = files("simlayout.explorer") / "static"
    *parts, = ((folder / name).read_text("utf-8") for name in ("page.html", "style.css", "unpack.js", OFFLINE, *SCRIPTS))
    return *parts[:4], "\n".join(parts[4:])


def _digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
