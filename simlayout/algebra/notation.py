"""The notation in: `parse(text)` reads what `str` prints, what CuTe prints, and what CuTe's C++ writes.

    text     = chain [";"]
    chain    = item { ("o" | "@" | "∘") item }
    item     = swizzle [pointer] | pointer | rotation | f2 | layout
             | "composition" "(" chain { "," chain } ")" | "ComposedLayout" "<" chain { "," chain } ">"
    swizzle  = ("Sw" | "S" | "Swizzle") "<" int "," int "," ["-"] int ">"
    pointer  = ["_"] "smem_ptr[" digits "b](" anything ")" | "smem_ptr_flag_bits<" digits ">"
    rotation = ("Rot" | "Rotation") "<" int "," int "," int ["," int] ">"
    f2       = "F2" "<" [int { "," int }] [";" int] ">"
    layout   = nested [ ":" nested ]
             | "Layout" "<" nested ["," strides] ">" | "make_layout" "(" nested ["," strides] ")"
    strides  = nested | "LayoutLeft" | "LayoutRight" | "GenColMajor" | "GenRowMajor"
    nested   = int | "(" nested { "," nested } [","] ")"        or Shape<...>, Stride<...>, make_shape(...), ...
    int      = ["_"] digits | "Int" "<" digits ">"

What repr prints is read as well: Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1)), Rotation(...), F2Map((...)).

Spaces are free, and so are C++'s `cute::` before a word or `_8` and `{}` after one. A layout without strides is compact,
leftmost mode fastest. A bare int is an offset (`o 16 o`) unless it ends the chain, where it is the layout 16:1. A pointer
is CuTe's, of elements of so many bits. Swizzles before it XOR bits of byte addresses, and are read as those of offsets in
elements; nothing else may stand before it. Nothing is ever evaluated as Python.
"""

import re
from dataclasses import dataclass

from simlayout.algebra.composed import Composed, join
from simlayout.algebra.dtypes import dtype_of
from simlayout.algebra.f2 import F2Map
from simlayout.algebra.layout import Layout
from simlayout.algebra.nested import MAX_NESTING, compact, flatten
from simlayout.algebra.swizzle import Rotation, Swizzle
from simlayout.algebra.swizzle_modes import SWIZZLE_MODES
from simlayout.errors import LayoutError, ParseError

MAX_LENGTH = 10_000     # characters of a text
MAX_DIGITS = 19         # of an int: offsets are signed 64-bit integers

_WORDS = ("composition|ComposedLayout|make_layout|make_shape|make_stride|make_tuple|Layout(?:Left|Right)|Layout|"
          "Gen(?:Row|Col)Major|Shape|Stride|Tuple|Tile|Swizzle|Sw|S|Rotation|Rot|F2Map|F2|Int|C|o")
_TOKEN = re.compile(rf"\s*(?:(?:cute::(?=_))?(?P<int>_?[0-9]+)(?:\s*\{{\s*\}})?|"
                    r"(?:_|cute::)?(?P<pointer>smem_ptr\[[0-9]{1,3}b\]\([^()]*\)|smem_ptr_flag_bits<[0-9]{1,3}>(?:\s*\{\s*\})?)|"
                    rf"(?:cute::)?(?P<word>{_WORDS})|(?P<mark>[@∘(),:;<>-])|"
                    r"(?P<bad>\S)|(?P<end>\Z))")
_ELEMENTS = {4: -1, 8: 0, 16: 1, 32: 2, 64: 3, 128: 4}
"""Bits of an element -> log2 of its bytes."""
_BRACES = re.compile(r"\s*\{\s*\}")
_COMPOSE = ("o", "@", "∘")
_ROW_MAJOR, _COLUMN_MAJOR = ("LayoutRight", "GenRowMajor"), ("LayoutLeft", "GenColMajor")
_TUPLES = {"(": ")", "Shape": ">", "Stride": ">", "Tile": ">", "Tuple": ">", "make_shape": ")", "make_stride": ")",
           "make_tuple": ")"}
"""How a tuple begins -> how it ends."""
_LAYERS = {"Swizzle": Swizzle, "Sw": Swizzle, "S": Swizzle, "Rotation": Rotation, "Rot": Rotation}


def parse(text: str) -> Layout | Swizzle | Rotation | F2Map | Composed:
    """The Layout, Swizzle, Rotation, F2Map or Composed that a text denotes; `parse(str(x)) == x`.

    Raises ParseError, whose first line says what was expected where, and whose next two show the text with a caret
    under the fault. Texts are limited to 10,000 characters and 64 levels of nesting.

    >>> parse("Sw<3,3,3> o (16,64):(64,1)")
    Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))
    >>> parse("S<3,4,3> o 0 o ((_8,_2),_64):((_64,_512),_1)")
    Swizzle(3, 4, 3) @ Layout(((8, 2), 64), ((64, 512), 1))
    >>> print(parse("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"))         # CuTe's print of Layout_K_SW128_Atom
    Sw<3,3,3> o (8,64):(64,1)
    >>> print(parse("composition(Swizzle<3,3,3>{}, Layout<Shape<_16,_64>,Stride<_64,_1>>{})"))
    Sw<3,3,3> o (16,64):(64,1)
    >>> parse("(16,64")
    Traceback (most recent call last):
    ...
    simlayout.errors.ParseError: column 7: expected ',' or ')', found the end of the text
        (16,64
              ^
    """
    if not isinstance(text, str):
        raise ParseError(f"parse takes text such as '(16,64):(64,1)', not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ParseError(f"the text has {len(text)} characters: at most {MAX_LENGTH} are read")
    return _Parser(text).whole()


def as_layout(subject):
    """The layout that a text denotes; anything else as it is. Errors as of `parse`; they say who reads other notations.

    >>> as_layout("(16,64):(64,1)")
    Layout((16, 64), (64, 1))
    """
    if not isinstance(subject, str):
        return subject
    try:
        return parse(subject)
    except ParseError as error:
        said, *shown = str(error).split("\n")
        if re.search(r"[+*/%&^|]", subject):
            said += "; formula(text) reads a formula, and tile(text, domain) one with its sizes"
        elif re.search("SWIZZLE_|perPhase", subject):
            said += "; tile(text, domain) reads TMA's modes and Triton's swizzles"
        else:
            raise
        raise ParseError("\n".join([said, *shown])) from None


def in_two_modes(tile):
    """The text of a tile of more modes as rows and columns, for an error to suggest: the mode with the neighbours in memory
    stays, and the others are nested, the nearest first; an example where the tile is no layout.

    >>> in_two_modes(Layout((4, 8, 16), (136, 17, 1))), in_two_modes(parse("Sw<2,3,3> o (64,2,4):(1,64,128)"))
    ('((8,4),16):((17,136),1)', 'Sw<2,3,3> o (64,(2,4)):(1,(64,128))')
    """
    layout = getattr(tile, "layout", tile)
    if not isinstance(layout, Layout) or layout.rank < 2:
        return "((4,2),64)"
    modes = [layout[i] for i in range(layout.rank)]
    steps = [min(flatten(mode.stride)) for mode in modes]
    own = layout.rank - 1 if steps[-1] <= steps[0] else 0
    others = sorted((i for i in range(layout.rank) if i != own), key=steps.__getitem__)
    both = [tuple(getattr(modes[i], what) for i in others) for what in ("shape", "stride")]
    pair = [(nested, getattr(modes[own], what)) for nested, what in zip(both, ("shape", "stride"))]
    shape, stride = (part if own else part[::-1] for part in pair)
    return str(tile).replace(str(layout), str(Layout(shape, stride)))


def bytes_for_elements(tile, dtype):
    """What an error or a report adds where all strides of a layout, counted in bytes, would be one of neighbours; else "".

    >>> bytes_for_elements(Layout((32, 32), (132, 4)), "f32"), bytes_for_elements(Layout((32, 32), (33, 1)), "f32")
    ('; strides count elements: if these are bytes, it is (32,32):(33,1)', '')
    """
    layout, size = getattr(tile, "layout", tile), dtype_of(dtype).bytes
    steps = [step for step in flatten(layout.stride) if step] if isinstance(layout, Layout) else []
    if not steps or min(steps) != size or size == 1 or any(step % size for step in steps):
        return ""
    return f"; strides count elements: if these are bytes, it is {Layout(layout.shape, _divided(layout.stride, size))}"


def swizzle_of_bytes(tile, dtype):
    """What a reason or a report adds where a tile's swizzle is one that CUTLASS and TMA have of byte addresses; else "".

    >>> swizzle_of_bytes(parse("Sw<3,4,3> o (64,64):(64,1)"), "f16"), swizzle_of_bytes(Swizzle(3, 4, 3), "e4m3")
    ('; Sw<3,4,3> counts elements: if it is of bytes, as SWIZZLE_128B, it is Sw<3,3,3>', '')
    """
    bits = dtype_of(dtype).bits
    for mode in SWIZZLE_MODES.values() if bits > 8 else ():
        given = Swizzle(mode.bits, mode.chunk_bits, mode.shift)
        if mode.bits and getattr(tile, "layers", (tile,)) == (given,):
            own = Swizzle(mode.bits, mode.chunk_bits - _ELEMENTS[bits], mode.shift)
            return f"; {given} counts elements: if it is of bytes, as {mode}, it is {own}"
    return ""


def _divided(nested, by):
    """Each int of a nested tuple divided."""
    return tuple(_divided(part, by) for part in nested) if isinstance(nested, tuple) else nested // by


def _mirrored(nested):
    return tuple(map(_mirrored, nested[::-1])) if isinstance(nested, tuple) else nested


WRITTEN = "a layout is written as '(16,64):(64,1)' or 'Sw<3,3,3> o (16,64):(64,1)'"


@dataclass(frozen=True)
class _Pointer:
    """CuTe's pointer to elements of so many bits."""

    bits: int


class _Parser:
    """Recursive descent: one method per rule of the grammar, one token of lookahead."""

    def __init__(self, text):
        self.text = text
        self.at = 0             # where the lookahead starts in the text
        self.kind = self.token = None
        self._end = 0
        self.advance()

    def advance(self):
        match = _TOKEN.match(self.text, self._end)
        self.kind = match.lastgroup
        self.token, self.at, self._end = match[self.kind], match.start(self.kind), match.end()
        if self.kind == "bad":
            self.fail(f"unexpected character {self.token!r}: {WRITTEN}")

    def fail(self, fault, at=None):
        at = self.at if at is None else at
        start = max(0, at - 60)
        shown = "".join(c if c.isprintable() else " " for c in self.text[start:at + 40])
        caret = " " * (at - start)
        raise ParseError(f"{fault}\n    {shown}\n    {caret}^", at + 1) from None

    def expected(self, what, hint=""):
        actual = "the end of the text" if self.kind == "end" else repr(self.token)
        self.fail(f"expected {what}, found {actual}{hint and f': {hint}'}")

    def accept(self, *tokens):
        if self.token not in tokens or self.kind in ("int", "end"):
            return False
        if self.kind == "word" or self.token in (">", ")"):
            self._end = match.end() if (match := _BRACES.match(self.text, self._end)) else self._end
        self.advance()
        return True

    def require(self, token, what=None):
        if not self.accept(token):
            self.expected(what or repr(token))

    def build(self, make, at):
        """What `make` gives; its refusal becomes a ParseError that points at `at`."""
        try:
            return make()
        except LayoutError as error:
            self.fail(str(error), at)

    def whole(self):
        start = self.at
        parts, places = self.chain(_COMPOSE, 0)
        self.accept(";")
        if self.kind != "end":
            self.expected("'o' or the end of the text", WRITTEN)
        return self.build(lambda: join(self.of_elements(parts, places)), start)

    def chain(self, separators, depth):
        """(parts, where each begins) of items with separators between; compositions by their own parts, an int that comes
        last as a layout."""
        parts, places, more = [], [], True
        while more:
            last = self.at
            found = self.item(depth)
            more_parts, more_places = found if isinstance(found, tuple) else ([found], [last])
            parts, places = parts + more_parts, places + more_places
            more = self.kind == "pointer" or self.accept(*separators)
        if isinstance(parts[-1], int):
            parts[-1] = self.build(lambda: Layout(parts[-1]), last)
        if len(parts) == 1 and isinstance(parts[0], _Pointer):
            self.expected(repr(separators[0]))
        return parts, places

    def of_elements(self, parts, places):
        """The parts without the pointer among them, the swizzles before it as those of offsets in its elements."""
        at = max((i for i, part in enumerate(parts) if isinstance(part, _Pointer)), default=None)
        if at is None:
            return parts
        bits = parts[at].bits
        if bits not in _ELEMENTS:
            self.fail(f"elements of {bits} bits: they have {', '.join(map(str, _ELEMENTS))}", places[at])
        wrong = next((i for i, part in enumerate(parts[:at]) if not isinstance(part, Swizzle)), None)
        if wrong is not None:
            self.fail("a pointer stands at the start, or behind swizzles of its bytes, and nothing else: leave it out where "
                      "the text counts elements", places[at])
        return [self.build(lambda s=s: Swizzle(s.bits, s.base - _ELEMENTS[bits], s.shift), place)
                for s, place in zip(parts[:at], places)] + parts[at + 1:]

    def composition(self, end, at, depth):
        """The parts of what follows "composition" and its bracket."""
        if depth == MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} levels of nesting", at)
        found = self.chain((",", *_COMPOSE), depth + 1)
        self.require(end, f"',' or {end!r}")
        return found

    def item(self, depth=0):
        at = self.at
        if self.kind == "pointer":
            pointer = _Pointer(int(re.search("[0-9]+", self.token)[0]))
            self.advance()
            return pointer
        if self.accept("composition"):
            return self.composition(self.opened("("), at, depth)
        if self.accept("ComposedLayout"):
            return self.composition(self.opened("<"), at, depth)
        if self.token in ("Layout", "make_layout"):
            return self.of_words(at)
        if self.token in _LAYERS:
            return self.layer(_LAYERS[self.token], at)
        if self.token in ("F2", "F2Map"):
            return self.f2(at)
        if self.kind != "int" and self.token not in ("Int", "C", *_TUPLES):
            self.expected("a layout, 'Sw<', 'Rot<' or 'F2<'")
        shape = self.nested(0)
        if not self.accept(":"):
            return shape if isinstance(shape, int) else self.build(lambda: Layout(shape), at)
        stride = self.nested(0)
        return self.build(lambda: Layout(shape, stride), at)

    def opened(self, *marks):
        """What closes the bracket that is next, one of the marks."""
        mark = self.token
        self.require(mark if mark in marks else marks[0])
        return ">" if mark == "<" else ")"

    def of_words(self, at):
        """`Layout<Shape<...>,Stride<...>>`, `make_layout(make_shape(...), make_stride(...))`, or Python's `Layout(...)`."""
        cpp = self.token == "make_layout"
        self.advance()
        end = self.opened(*("(",) if cpp else ("<", "("))
        shape, stride = self.nested(0), None
        if self.accept(","):
            if self.accept(*_ROW_MAJOR):
                stride = _mirrored(compact(_mirrored(shape)))
            elif not self.accept(*_COLUMN_MAJOR):
                stride = self.nested(0)
        self.require(end, f"',' or {end!r}")
        return self.build(lambda: Layout(shape, stride), at)

    def layer(self, make, at):
        self.advance()
        end = self.opened("<", "(")
        values = [self.integer()]
        while self.accept(","):
            values.append(self.signed())
        self.require(end, f"',' or {end!r}")
        counts = (3,) if make is Swizzle else (3, 4)
        if len(values) not in counts:
            form = "Sw<bits,base,shift>" if make is Swizzle else "Rot<chunk,count,line> or Rot<chunk,count,line,period>"
            self.fail(f"expected {' or '.join(map(str, counts))} numbers, found {len(values)}: {form}", at)
        return self.build(lambda: make(*values), at)

    def f2(self, at):
        python = self.token == "F2Map"
        self.advance()
        end = self.opened("(" if python else "<")
        if python:
            self.require("(")
        columns = [self.integer()] if self.kind == "int" else []
        while columns and self.accept(",") and self.token != ")":
            columns.append(self.integer())
        if python:
            self.require(")", "',' or ')'")
        constant = self.integer() if self.accept("," if python else ";") else 0
        self.require(end, f"',', ';' or {end!r}")
        return self.build(lambda: F2Map(tuple(columns), constant), at)

    def nested(self, depth):
        if self.kind == "int":
            return self.integer()
        if self.accept("Int", "C"):
            self.require("<")
            value = self.integer()
            self.require(">")
            return value
        if depth == MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} levels of nesting")
        end = _TUPLES.get(self.token)
        if end is None:
            self.expected("an integer or '('")
        if self.token != "(":
            self.advance()
        self.require("<" if end == ">" else "(")
        items = [self.nested(depth + 1)]
        while self.accept(",") and self.token != end:
            items.append(self.nested(depth + 1))
        self.require(end, f"',' or {end!r}")
        return tuple(items)

    def signed(self):
        return -self.integer() if self.accept("-") else self.integer()

    def integer(self):
        if self.kind != "int":
            self.expected("an integer")
        digits = self.token.lstrip("_")
        if len(digits) > MAX_DIGITS:
            self.fail(f"an integer of {len(digits)} digits: offsets fit 64 bits")
        self.advance()
        return int(digits)
