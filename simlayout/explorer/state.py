"""The questions to the explorer: a State of plain text, which is a whole workbench. JSON is checked, the grammar reads it,
errors name the field."""

import re
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from math import prod

from simlayout.algebra import dtype_of
from simlayout.codegen.index_text import parse_index
from simlayout.codegen.notations import open_names, sized
from simlayout.codegen.tile_text import TileText, access_of_tile, tile_of_text
from simlayout.errors import InstructionError, SimlayoutError
from simlayout.hardware import arch_of, instruction
from simlayout.hardware.tables.arch import DEFAULT_ARCH

MAX_TEXT = 10_000           # characters of a field
MAX_INDEX = 2**31 - 1
MAX_ACCESSES = 8            # of a tile
MAX_INSTRUCTIONS = 4096     # of an access: their counts are drawn side by side
SHOWN_BEFORE, SHOWN_AFTER = 24, 12      # characters around a fault: a phone shows about 40

_LOOP = re.compile(r"[\s,;]*(?P<name>[A-Za-z_][A-Za-z0-9_]{0,30})\s*=\s*(?P<trips>[0-9]{1,6})(?![0-9A-Za-z_])")


@dataclass(frozen=True)
class Use:
    """One access of the bench's tile, as text.

    name: what it is called; op: the name in PTX, or of an AMD chip; lanes: the thread map as index text, empty for the
    natural way; domain: the loops around it, "k=4, tid=64". addresses: of one instruction that a report has recorded,
    bytes of 32 lanes, "-" for one that takes no part; lanes and domain are then not read.
    """

    name: str = ""
    op: str = "ldmatrix.x4"
    lanes: str = ""
    domain: str = ""
    addresses: str = ""


@dataclass(frozen=True)
class State:
    """A workbench, as text: what a link to the page holds.

    layout, dtype, arch: as on the command line. accesses: the Uses of the tile. before: the layout that is pinned beside it,
    "" for none. kernel: its plan brings the accesses, those of tile number `part`, and the layout where that is "".
    shown: the access, and index: its instruction that are drawn; beyond the last one means the last.
    """

    layout: str = "Sw<3,3,3> o (16,64):(64,1)"
    dtype: str = "f16"
    arch: str = DEFAULT_ARCH
    accesses: tuple[Use, ...] = (Use(),)
    before: str = ""
    kernel: str = ""
    part: int = 0
    shown: int = 0
    index: int = 0

    def as_dict(self):
        """Plain values, for JSON."""
        return asdict(self) | {"accesses": [asdict(use) for use in self.accesses]}

    def without_view(self):
        """The State of the first instruction of the first access: equal for all that is looked at."""
        return replace(self, shown=0, index=0)


def single(layout=State.layout, dtype=State.dtype, op=Use.op, lanes="", domain="", arch=State.arch, index=0):
    """The State of one access.

    >>> single("(16,64):(64,1)", index=3).accesses
    (Use(name='', op='ldmatrix.x4', lanes='', domain='', addresses=''),)
    """
    return State(layout, dtype, arch, (Use("", op, lanes, domain),), index=index)


class Refusal(SimlayoutError):
    """Why a State has no answer, and where: its field, and the column in the field's text where a parser knows it.

    column: counted from 1, or None. shown, caret: a piece of the text around the fault and a caret that points at it.
    access: the number of the access whose field it is, None until `worked` sets it.
    """

    def __init__(self, message, field, column=None, text=""):
        super().__init__(message)
        self.field, self.column, self.access = field, column, None
        self.shown, self.caret = _pointed(text, column)

    def as_dict(self):
        """Plain values, for JSON."""
        return {"error": str(self), "field": self.field, "column": self.column, "shown": self.shown, "caret": self.caret,
                "access": self.access}


def _pointed(text, column):
    """(the text around a column, a caret below it); empty without a column."""
    if column is None:
        return "", ""
    at = min(column - 1, len(text))
    start = max(0, at - SHOWN_BEFORE)
    shown = "".join(c if c.isprintable() else " " for c in text[start:at + SHOWN_AFTER])
    return shown, " " * (at - start) + "^"


@contextmanager
def blamed(field, text=""):
    """Turns errors of simlayout inside the block into a Refusal of that field; a ParseError's column points into `text`."""
    try:
        yield
    except Refusal:
        raise
    except SimlayoutError as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise Refusal(first, field, getattr(error, "column", None), text) from None


def state_of(value):
    """The State that decoded JSON holds: an object with some fields of State, of their types; the rest are the defaults.
    Where there is one access, its op, lanes and domain may stand beside the layout.

    Raises Refusal for anything else, before anything is parsed.

    >>> state_of({"layout": "(16,64):(64,1)", "index": 2}).index
    2
    >>> state_of(["(16,64):(64,1)"])
    Traceback (most recent call last):
    ...
    simlayout.explorer.state.Refusal: the request is a JSON object such as {"layout": "(16,64):(64,1)"}, not a list
    """
    if not isinstance(value, dict):
        raise Refusal('the request is a JSON object such as {"layout": "(16,64):(64,1)"}, not a '
                      f"{type(value).__name__}", "request")
    if "accesses" not in value:
        own = {name: value[name] for name in ("op", "lanes", "domain") if name in value}
        value = {name: part for name, part in value.items() if name not in own} | {"accesses": [own]}
    uses = value["accesses"]
    if not isinstance(uses, list) or not 1 <= len(uses) <= MAX_ACCESSES:
        raise Refusal(f"accesses is a list of 1 to {MAX_ACCESSES}", "request")
    plain = {name: part for name, part in value.items() if name != "accesses"}
    return State(**_checked(plain, State), accesses=tuple(Use(**_checked(use, Use)) for use in uses))


def _checked(value, kind):
    """The fields of a State or a Use; Refusal for what is none."""
    if not isinstance(value, dict):
        raise Refusal(f"an access is a JSON object, not a {type(value).__name__}", "request")
    known = {f.name: f.type for f in fields(kind) if f.name != "accesses"}
    for name, part in value.items():
        if name not in known:
            raise Refusal(f"unknown field {name[:40]!r}; known: {', '.join(known)}", "request")
        _check_field(name, part, known[name])
    return value


def _check_field(name, value, kind):
    """One field: a text that is not too long, or an index."""
    if type(value) is not kind:
        raise Refusal(f"{name} is {'an int' if kind is int else 'a text'}, not a {type(value).__name__}", name)
    if kind is int and not 0 <= value <= MAX_INDEX:
        raise Refusal(f"{name} is an int from 0 to {MAX_INDEX}", name)
    if kind is str and len(value) > MAX_TEXT:
        raise Refusal(f"{name} has {len(value)} characters: at most {MAX_TEXT} are read", name)


def access_of(state, number=0):
    """The Access that a Use of a State names, as the command line's `check` would make it.

    Raises Refusal, which says in which field the fault is.

    >>> access_of(single("(32,32):(33,1)", "f32", "ld.shared.b32", "tid, k", "k=32")).domain
    {'tid': 32, 'k': 32}
    >>> access_of(State("(16,64"))
    Traceback (most recent call last):
    ...
    simlayout.explorer.state.Refusal: column 7: expected ',' or ')', found the end of the text
    """
    use = state.accesses[number]
    with blamed("dtype", state.dtype):
        dtype_of(state.dtype)
    with blamed("arch", state.arch):
        chip = arch_of(state.arch)
    with blamed("op", use.op):
        instruction(use.op, chip)
    text = TileText(state.layout, state.dtype, use.op, use.lanes if use.lanes.strip() else None, _loops(use.domain, chip),
                    state.arch, use.name or f"access {number}")
    with blamed("layout", state.layout):
        open_names(sized(state.layout)[0])              # the text of the layout alone; then together with the sizes
    with blamed("domain" if text.domain else "layout", "" if text.domain else state.layout):
        layout, loops = tile_of_text(text)
    if text.lanes:
        with blamed("lanes", use.lanes):
            parse_index(use.lanes, ("tid", *(name for name in loops if name != "tid")))
    access = _built(text, layout, loops)
    if access.instructions() > MAX_INSTRUCTIONS:
        field = "domain" if text.lanes else "layout"
        raise Refusal(f"{access.instructions()} instructions: the explorer shows at most {MAX_INSTRUCTIONS}", field)
    return access


def _built(text, layout, loops):
    """The command line's Access; what is left to refuse concerns the loops, the instruction or how it covers the tile."""
    try:
        return access_of_tile(text, layout, loops)
    except InstructionError as error:
        raise Refusal(str(error), "op") from None
    except SimlayoutError as error:
        raise Refusal(str(error), "domain" if text.lanes else "layout") from None


def _loops(text, chip):
    """"k=4, tid=64" -> [("k", 4), ("tid", 64)]; Refusal with the column where the text is no loop."""
    loops, at = [], 0
    while text[at:].strip(" ,;\t"):
        match = _LOOP.match(text, at)
        if not match or not match["trips"].strip("0"):
            column = at + len(text[at:]) - len(text[at:].lstrip(" ,;\t")) + 1
            raise Refusal(f"column {column}: expected a loop NAME=TRIPS, as in k=4", "domain", column, text)
        loops.append((match["name"], int(match["trips"])))
        at = match.end()
    if prod(trips for _, trips in loops) > MAX_INSTRUCTIONS * chip.lanes:
        raise Refusal(f"the loops span more than {MAX_INSTRUCTIONS} instructions of a {chip.vendor.warp}, which is all the "
                      "explorer shows", "domain")
    return loops
