"""The texts of one index function in several notations, and the tile that TMA writes; `read_notation` reads them all back.

    CuTe       Sw<3,3,3> o (16,64):(64,1)                                 `simlayout.parse`; also Rot<...> and F2<...>
    Triton     vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]         as in #ttg.swizzled_shared<{...}>
    TMA        SWIZZLE_128B, SWIZZLE_NONE                                 as in CU_TENSOR_MAP_SWIZZLE_128B
    formula    row * 64 + (col ^ ((row & 7) << 3))                        `simlayout.formula`
"""

import re
from dataclasses import dataclass

from simlayout.algebra import dtype_of, parse
from simlayout.algebra.layout import as_index
from simlayout.algebra.translate import TritonSwizzle
from simlayout.codegen.index_text import formula
from simlayout.errors import LayoutError, ParseError
from simlayout.hardware.tma import SWIZZLES, swizzled

_TRITON = re.compile(r"(?:#ttg\.swizzled_shared<\{)?\s*vec\s*=\s*(\d{1,6})\s*,\s*perPhase\s*=\s*(\d{1,6})\s*,\s*"
                     r"maxPhase\s*=\s*(\d{1,6})\s*(?:,\s*order\s*=\s*\[1,\s*0\]\s*)?(?:\}>)?", re.ASCII)
_TMA = re.compile(r"(?:CU_TENSOR_MAP_)?SWIZZLE_(?:(\d{1,4})B|NONE)", re.ASCII)


@dataclass(frozen=True)
class TmaSwizzle:
    """The tile that TMA writes: (row, column) -> offset in elements, in rows as wide as the swizzle.

    mode: bytes of the swizzle, 0 (none), 32, 64 or 128; dtype: of the elements; columns: of the tile, one row of a box: with
    a swizzle exactly its bytes (where narrower rows lie is not documented), without one a multiple of 16 bytes, at most 256
    elements. Raises LayoutError for others. The tile starts where the swizzle's pattern does (`simlayout.hardware.tma`).

    >>> TmaSwizzle(128, "f16", 64)(1, 8)
    64
    """

    mode: int
    dtype: str
    columns: int

    def __post_init__(self):
        if self.mode not in SWIZZLES:
            raise LayoutError(f"swizzle mode {self.mode!r}: TMA has {', '.join(map(str, SWIZZLES))} bytes")
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
        return f"SWIZZLE_{self.mode}B" if self.mode else "SWIZZLE_NONE"


def text_of(function):
    """An index function in its own notation, as `read_notation` reads it; what it is called where it has none.

    >>> text_of(TritonSwizzle(8, 1, 8, 64))
    'vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]'
    """
    if isinstance(function, TritonSwizzle):
        return (f"vec = {function.vec}, perPhase = {function.per_phase}, maxPhase = {function.max_phase}, "
                "order = [1, 0]")
    index = getattr(function, "index", None)
    if index is not None:
        return index.text
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
    found = _TRITON.fullmatch(text.strip()) or _TMA.fullmatch(text.strip())
    if found:
        if columns is None:
            raise LayoutError(f"{text!r} does not say how wide its tile is: give the tile's rows and columns")
        if found.re is _TRITON:
            return TritonSwizzle(*map(int, found.groups()), columns)
        return TmaSwizzle(int(found[1] or 0), dtype, columns)
    try:
        return parse(text)
    except ParseError as error:
        if re.search(rf"\b(?:{'|'.join(map(re.escape, names))})\b", text, re.ASCII) is None:
            raise error
    return formula(text, names)
