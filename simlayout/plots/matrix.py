"""An F2 map as a matrix: which bit of a coordinate reaches which bit of the address."""

from simlayout.algebra import F2Map, dtype_of, parse
from simlayout.algebra.aliases import AnyDType, IndexFunction
from simlayout.algebra.nested import mode_sizes
from simlayout.codegen.notations import open_names
from simlayout.errors import LayoutError
from simlayout.plots.aliases import Axes
from simlayout.plots.kinds import OF_TILE, Kind
from simlayout.plots.panel import Box, Panel, draw

WITHIN, BANK, LINE = "within", "bank", "line"
"""Colours of the bits of an address: below the bank, the bank, above it."""

MEANING = {WITHIN: "a bit within a word of 4 bytes", BANK: "a bit of the bank (the word in a line of 128 bytes)",
           LINE: "a bit of the line"}


LETTERS = {"rc": "r: a bit of the row, c: of the column, 0 the lowest", "r": "r: a bit of the row, 0 the lowest",
           "c": "c: a bit of the column, 0 the lowest", "x": "x: a bit of what is mapped, 0 the lowest",
           "m": "m1.0: of coordinate 1, counted from 0, bit 0, the lowest"}
"""What the first letters of the bits' names mean."""


def bits(layout):
    """(F2Map, names of its input bits from bit 0 on) of an F2Map, or of a layout whose bits XOR.

    The names of a layout's bits are those of its coordinates: r0, r1 ... and c0, c1 ... of two modes. Raises LayoutError for
    a layout that is no F2 map.

    >>> from simlayout.algebra import Layout, Swizzle
    >>> bits(Swizzle(1, 0, 2) @ Layout((4, 2), (2, 1)))[1]
    ('r0', 'r1', 'c0')
    """
    if isinstance(layout, F2Map):
        return layout, tuple(f"x{i}" for i in range(layout.inputs))
    if not hasattr(layout, "shape"):
        raise LayoutError(f"{layout} has no coordinates: compose it with a layout, as in 'Sw<3,3,3> o (16,64):(64,1)'")
    sizes = mode_sizes(layout)
    letters = ("c",) if len(sizes) == 1 else ("r", "c") if len(sizes) == 2 else tuple(f"m{i}." for i in range(len(sizes)))
    names = tuple(f"{letter}{i}" for letter, n in zip(letters, sizes) for i in range(n.bit_length() - 1))
    return F2Map.of(layout), names


def bit_matrix(layout: IndexFunction, dtype: AnyDType = "f16") -> Panel:
    """The Panel of an F2 map: a row per bit of the offset and a column per bit of the coordinate, the highest first.

    dtype: of the elements: it says which bits of the offset choose the bank.

    >>> from simlayout.algebra import F2Map
    >>> [(box.x, box.y) for box in bit_matrix(F2Map((1, 2, 4 ^ 1))).boxes if box.text]
    [(0, 0), (1, 1), (0, 2), (2, 2)]
    """
    f2_map, names = bits(layout)
    if not f2_map.inputs:
        raise LayoutError(f"{layout} has one element, and no bits to draw")
    low = dtype_of(dtype).bytes.bit_length() - 1         # bits of a byte address below those of the offset
    boxes = []
    for y, out in enumerate(reversed(range(f2_map.outputs))):
        kind = WITHIN if out + low < 2 else BANK if out + low < 7 else LINE
        for x, bit in enumerate(reversed(range(f2_map.inputs))):
            one = f2_map.columns[bit] >> out & 1
            boxes.append(Box(x, y, 1, 1, kind if one else -1, "1" if one else ""))
    rows = tuple((y + 0.5, f"bit {out}") for y, out in enumerate(reversed(range(f2_map.outputs))))
    columns = tuple((x + 0.5, names[bit]) for x, bit in enumerate(reversed(range(f2_map.inputs))))
    shown = {b.colour for b in boxes} - {-1}
    legend: list[tuple[tuple[str, ...], str]] = [
        ((kind,), f"1: this bit of the coordinate is XORed onto {text}") for kind, text in MEANING.items()
        if kind in shown]
    if letters := "".join(sorted({name[0] for name in names}, reverse=True)):
        legend.append(((), LETTERS[letters]))
    constant = f"; XOR {f2_map.constant}" if f2_map.constant else ""
    title = f"{layout}, {dtype_of(dtype)}, rank {f2_map.rank}{constant}"
    return Panel(title, f2_map.inputs, f2_map.outputs, boxes, columns, rows, legend=legend,
                 xlabel="bit of the coordinate", ylabel="bit of the offset")


def matrix(layout: IndexFunction, dtype: AnyDType = "f16", ax: Axes | None = None) -> Axes:
    """Draws an F2 map, or a layout that is one, as a matrix (see `bit_matrix`); returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`).

    >>> from simlayout.algebra import Layout, Swizzle
    >>> matrix(Swizzle(3, 3, 3) @ Layout((8, 64), (64, 1))).get_title(loc="left")
    'Sw<3,3,3> o (8,64):(64,1), f16, rank 9'
    """
    return draw(bit_matrix(layout, dtype), ax)


def _draw_f2(request):
    options = request.options
    bare = not options.domain and open_names(options.layout) == ()
    layout = parse(options.layout) if bare else None
    if not isinstance(layout, F2Map):
        layout = request.tile()
    f2_map, _ = bits(layout)
    return matrix(layout, options.dtype), f"{f2_map.outputs} x {f2_map.inputs} bits, rank {f2_map.rank}"


F2_KIND = Kind("f2", "a LAYOUT whose bits XOR: its matrix over F2",
               ("'Sw<3,3,3> o (16,64):(64,1)' --kind f2 -o matrix.svg",), _draw_f2, OF_TILE)
