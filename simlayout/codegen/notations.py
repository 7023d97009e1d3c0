"""The notations in which users write layouts: `tile` reads a text with its shape, `read_notation` without; and the tile
that TMA writes.

    CuTe       Sw<3,3,3> o (16,64):(64,1)                                 `simlayout.parse`; also Rot<...>, F2<...>, C++'s
                                                                          composition(Swizzle<3,3,3>{}, Layout<...>{})
    Triton     vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]         as in #ttg.swizzled_shared<{...}>
    TMA        SWIZZLE_128B, SWIZZLE_NONE                                 as in CU_TENSOR_MAP_SWIZZLE_128B
    formula    row * 64 + (col ^ ((row & 7) << 3))                        `simlayout.formula`, as Python or C write it

Where a notation does not say how large the tile is, pass the sizes to `tile`, or end the text in `for row<64, col<64`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from simlayout.algebra import Layer, Layout, Tile, dtype_of, parse
from simlayout.algebra.aliases import AnyDType, IndexFunction
from simlayout.algebra.layout import as_index
from simlayout.algebra.nested import mode_sizes
from simlayout.algebra.swizzle_modes import SWIZZLE_MODES
from simlayout.algebra.translate import TritonSwizzle, tma_to_swizzle, triton_to_swizzle
from simlayout.arguments import typed
from simlayout.codegen.index_grammar import is_word, without_comments
from simlayout.codegen.index_text import formula
from simlayout.errors import LayoutError, ParseError
from simlayout.hardware.matrix.tma import swizzled

_TRITON = re.compile(r"(?:#ttg\.swizzled_shared<\{)?\s*vec\s*=\s*(\d{1,6})\s*,\s*perPhase\s*=\s*(\d{1,6})\s*,\s*"
                     r"maxPhase\s*=\s*(\d{1,6})\s*(?:,\s*order\s*=\s*\[1,\s*0\]\s*)?(?:\}>)?", re.ASCII)
_TMA = re.compile(r"(?:CU_TENSOR_MAP_)?SWIZZLE_(?:(\d{1,4})B|NONE)", re.ASCII)


@dataclass(frozen=True)
class TmaSwizzle:
    """The tile that TMA writes: (row, column) -> offset in elements, in rows as wide as the swizzle.

    mode: bytes of the swizzle, 0 (none), 32, 64 or 128; dtype: of the elements; columns: of the tile, one row of a box: with
    a swizzle exactly its bytes (where narrower rows lie is not documented), without one a multiple of 16 bytes, at most 256
    elements. Raises LayoutError for others. The tile starts where the swizzle's pattern does (`hardware.matrix.tma`).

    >>> TmaSwizzle(128, "f16", 64)(1, 8)
    64
    """

    mode: int
    dtype: str
    columns: int

    def __post_init__(self):
        if self.mode not in SWIZZLE_MODES:
            raise LayoutError(f"swizzle mode {self.mode!r}: TMA has {', '.join(map(str, SWIZZLE_MODES))} bytes")
        width = self.columns * dtype_of(self.dtype).bytes
        if self.mode and width != self.mode:
            raise LayoutError(f"rows of {self.columns} {self.dtype} are {width} bytes: TMA swizzles by {self.mode} bytes in "
                              f"rows of {self.mode}, so load boxes {self.mode // dtype_of(self.dtype).bytes} columns wide")
        if self.columns < 1 or self.columns > 256 or width % 16:
            raise LayoutError(f"rows of {self.columns} {self.dtype} are {width} bytes: a box of TMA has rows of 1 to 256 "
                              "elements, a multiple of 16 bytes")

    def __call__(self, row, column):
        size = dtype_of(self.dtype).bytes
        return swizzled((as_index(row) * self.columns + as_index(column)) * size, self.mode) // size

    def __str__(self):
        return str(SWIZZLE_MODES[self.mode])


def text_of(function):
    """An index function in its own notation, as `read_notation` or `tile` reads it; what it is called where it has none.

    >>> text_of(TritonSwizzle(8, 1, 8, 64))
    'vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]'
    """
    return f"the function {function.__name__}" if hasattr(function, "__name__") else str(function)


def read_notation(text, columns=None, dtype="f16", names=("row", "col")):
    """The index function that a text denotes, in any of the notations above.

    columns: of the tile, and dtype: of its elements, which Triton's and TMA's texts leave out. names: of a formula. Raises
    ParseError for what is in none of them, LayoutError for Triton's or TMA's text without columns.

    >>> read_notation("vec = 8, perPhase = 2, maxPhase = 4", columns=32)
    TritonSwizzle(vec=8, per_phase=2, max_phase=4, columns=32)
    >>> read_notation("SWIZZLE_64B", columns=32)(2, 8), read_notation("row * 64 + col")(1, 3)
    (64, 67)
    """
    match = _TRITON.fullmatch(text.strip()) or _TMA.fullmatch(text.strip())
    if match:
        if columns is None:
            raise LayoutError(f"{text!r} does not say how wide its tile is: give the tile's rows and columns")
        if match.re is _TRITON:
            return TritonSwizzle(*map(int, match.groups()), columns)
        return TmaSwizzle(int(match[1] or 0), dtype, columns)
    return formula(text, names) if _is_formula(text, names) else parse(text)


_FOR = re.compile(r"(.*?)\sfor\s([^()]*)", re.DOTALL)
_SIZE = re.compile(r"\s*([A-Za-z_]\w{0,30})\s*<\s*([0-9]{1,9})\s*", re.ASCII)
_NAME = re.compile(r"(?<![\w.>:])[A-Za-z_]\w*(?!\w|\s*(?:[.:]:?\w|->))", re.ASCII)
_OF_LAYOUTS = re.compile(r"(?:cute::)?(?:S|Sw|Swizzle|Rot|Rotation|F2|F2Map|(?:Composed)?Layout|composition|make_layout|"
                         r"smem_ptr\w*)\s*[<([]|[\d\s_(),]*(?::|$)")
"""How a layout begins: a word of it, or numbers and a colon, or numbers alone."""


_ARRAY = re.compile(r"(?:[\w:]+\s+)*(\w+)\s*\[\s*([1-9]\d{0,8})\s*\]\s*\[\s*([1-9]\d{0,8})\s*\]\s*;?", re.ASCII)
"""An array of two dimensions as C++ declares it."""


@typed(own=("text",))
def tile(text: str, domain: Mapping[str, int] | None = None, dtype: AnyDType = "f16") -> IndexFunction:
    """The tile, with its shape, that a text in any of the notations above describes.

    domain: {name: size}, the sizes of a formula's coordinates, in their order (row before col), and of the rows and columns
    that Triton's and TMA's texts and a bare swizzle leave out; layouts bring their own. dtype: of the elements, which TMA's
    modes depend on. Gives a Layout, a composition or a `Tile`; a bare swizzle, rotation or F2 map where there is no domain.
    Raises ParseError for what is in no notation, LayoutError where sizes are missing or do not fit.

    >>> print(tile("row * 64 + (col ^ ((row & 7) << 3));", {"row": 16, "col": 64}))
    row * 64 + (col ^ ((row & 7) << 3)); for row<16, col<64
    >>> print(tile("SWIZZLE_128B for row<16, col<64"), "and", tile("Swizzle<3,3,3>{}", {"row": 16, "col": 64}))
    Sw<3,3,3> o (16,64):(64,1) and Sw<3,3,3> o (16,64):(64,1)
    >>> tile("x ^ 8")
    Traceback (most recent call last):
    ...
    simlayout.codegen.notations.SizesError: 'x ^ 8' does not say how large its tile is: give domain={'x': 64}, or write \
'x ^ 8 for x<64'
    """
    dtype_of(dtype)                                      # most notations do not ask
    body, sizes = sized(text, domain)
    if not sizes and _is_formula(body, ()):
        names = _coordinates(body) or ["row", "col"]
        function = formula(body, names)                # a text that cannot be read is told before what it leaves out
        raise SizesError(body, _guessed(function, names))
    columns = list(sizes.values())[1] if len(sizes) == 2 else None
    if columns is None and _without_sizes(body):
        mode = _TMA.fullmatch(body.strip())
        if mode and mode[1]:
            tma_to_swizzle(int(mode[1]), dtype)          # a mode that TMA has not is told before what it leaves out
        wide = int(mode[1]) // dtype_of(dtype).bytes if mode and mode[1] else 64
        raise SizesError(body, {"row": 64, "col": wide})
    return _with_shape(read_notation(body, columns, dtype, tuple(sizes) or ("row", "col")), sizes)


def sized(text, domain=None):
    """(a text without comments and the sizes that end it, {name: size} of them and of a domain, row before col)."""
    if not isinstance(text, str):
        raise ParseError(f"a tile is text such as '(16,64):(64,1)' or 'row * 64 + col', not {type(text).__name__}")
    sizes = dict(domain or {})
    text = without_comments(text)
    if array := _ARRAY.fullmatch(text.strip()):
        rows, columns = int(array[2]), int(array[3])
        used = 1 << columns.bit_length() - 1
        part = f"; if only {used} of its columns are used, '({rows},{used}):({columns},1)'" if used < columns else ""
        raise ParseError(f"{array[1]}[{rows}][{columns}] is an array: its layout is "
                         f"'({rows},{columns}):({columns},1)'{part}")
    ends = _FOR.fullmatch(text)
    for part in ends[2].split(",") if ends else ():
        size = _SIZE.fullmatch(part)
        if not size:
            raise ParseError(f"{part.strip()!r} is no size: write NAME<SIZE, as in row<64", ends.start(2) + 1)
        if sizes.setdefault(size[1], int(size[2])) != int(size[2]):
            raise LayoutError(f"{size[1]} has {size[2]} values in {text!r}, and {sizes[size[1]]} in the domain")
    if set(sizes) == {"row", "col"}:
        sizes = {name: sizes[name] for name in ("row", "col")}
    return ends[1] if ends else text, sizes


def open_names(text, names=()):
    """What a text without its sizes leaves open: None of one that brings its shape, the names of a formula's coordinates, ()
    of one that takes rows and columns under any name. names: that sizes are known of, which a lone name is looked up in.
    Raises ParseError for a text in no notation.

    >>> open_names("(16,64):(64,1)"), open_names("Sw<3,3,3>"), open_names("r * 64 + c")
    (None, (), ('r', 'c'))
    """
    if _without_sizes(text):
        return ()
    if _is_formula(text, names):
        return tuple(_coordinates(text))
    return None if hasattr(parse(text), "shape") else ()


def _without_sizes(text):
    """Whether a text is Triton's or TMA's."""
    return bool(_TRITON.fullmatch(text.strip()) or _TMA.fullmatch(text.strip()))


def _is_formula(text, names=()):
    """Whether a text is a formula: it does not begin as a layout does, and is arithmetic of names, or has one of these."""
    known = _without_sizes(text) or _OF_LAYOUTS.match(text.strip())
    if not known and re.match(r"\s*(?:#ttg\b|vec\s*=)", text):
        raise ParseError("Triton's swizzled layout is 'vec = 8, perPhase = 1, maxPhase = 8', its order [1, 0]", 1)
    if known or not _LETTER.search(text):
        return False
    return _ARITHMETIC.search(text) is not None or not {"row", "col", *names}.isdisjoint(_NAME.findall(text))


_LETTER = re.compile(r"[A-Za-z_]", re.ASCII)
_ARITHMETIC = re.compile(r"[-+*/%&|^~=\[?]|<<|>>|[A-Za-z_]\w*(?:\.|->)[A-Za-z_]|\breturn\b", re.ASCII)


def _coordinates(text):
    """The names in a formula that it does not define itself, as they come; row before col."""
    names = [n for n in dict.fromkeys(_NAME.findall(text)) if not is_word(n) and not re.search(rf"\b{n}\s*=(?!=)", text)]
    return sorted(names, key=("row", "col").index) if set(names) == {"row", "col"} else names


def _guessed(function, names):
    """Sizes to suggest for a formula: the tile's rows are as long as its stride allows, in powers of two."""
    sizes = dict.fromkeys(names, 64)
    if len(names) == 2:
        try:
            steps = [function(*at) for at in ((1, 0), (0, 1))]
        except LayoutError:
            return sizes
        for other, step in zip(reversed(names), steps, strict=True):
            if 1 < step <= 1024:
                sizes[other] = 1 << step.bit_length() - 1
    return sizes


class SizesError(LayoutError):
    """A text does not say how large its tile is. sizes: {name: size} that it could have."""

    def __init__(self, text, sizes, domain=None):
        ending = ", ".join(f"{name}<{size}" for name, size in sizes.items())
        plain = " ".join(text.split())
        short = plain if len(plain) <= 60 else f"{plain[:60]}..."
        super().__init__(f"{short!r} does not say how large its tile is: {domain or f'give domain={sizes}'}, or write "
                         f"'{short} for {ending}'")
        self.text, self.sizes = text, sizes


def _with_shape(function, sizes):
    """An index function as a tile of those sizes; what brings its own shape, or has none to get, as it is."""
    if hasattr(function, "shape"):
        own = mode_sizes(function)
        if sizes and own != tuple(sizes.values()):
            raise LayoutError(f"{function} brings its own sizes, {' x '.join(map(str, own))}: it cannot have "
                              f"{', '.join(f'{name}<{size}' for name, size in sizes.items())}")
        return function
    if not sizes:
        return function
    plain = Layout.row_major(*sizes.values()) if len(sizes) > 1 else Layout(*sizes.values())
    if isinstance(function, TmaSwizzle):
        return (tma_to_swizzle(function.mode, function.dtype) @ plain) if function.mode else plain
    if isinstance(function, TritonSwizzle) and not function.columns & (function.columns - 1):
        swizzle = triton_to_swizzle(function)
        return swizzle @ plain if swizzle.bits else plain
    return function @ plain if isinstance(function, Layer) else Tile(function, sizes)
