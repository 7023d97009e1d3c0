"""One swizzle in other words: CuTe's Swizzle<B,M,S>, Triton's (vec, perPhase, maxPhase), TMA's modes of bytes, F2 maps.

Each function gives the same permutation of the same tile, or a LayoutError that says why there is none. `translate`
(`simlayout.codegen.translation`) is the front door: it takes any function of a tile, and proves what it returns on its
domain with `equivalent`. The families at the end are what it looks through.
"""

from dataclasses import dataclass

import numpy as np

from simlayout.algebra.dtypes import dtype_of
from simlayout.algebra.f2 import F2Map
from simlayout.algebra.layout import as_index
from simlayout.algebra.swizzle import Rotation, Swizzle
from simlayout.algebra.swizzle_modes import CHUNK_BITS, ROWS_ABOVE, SWIZZLE_MODES
from simlayout.errors import LayoutError


@dataclass(frozen=True)
class TritonSwizzle:
    """Triton's swizzled shared layout of a row-major tile: (row, column) -> offset in elements.

    vec: columns that stay together; per_phase: rows with one phase; max_phase: phases, and the number of chunks that they
    exchange; columns: of the tile, a multiple of vec * max_phase. All but columns are powers of two (Triton's
    SwizzledSharedEncodingAttr).

    >>> TritonSwizzle(8, 1, 8, 64)(1, 8)
    64
    """

    vec: int
    per_phase: int
    max_phase: int
    columns: int

    def __post_init__(self):
        for name in ("vec", "per_phase", "max_phase"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1 or value & (value - 1):
                raise LayoutError(f"{name} = {value!r}: Triton takes a power of two")
        if self.columns < 1 or self.columns % (self.vec * self.max_phase):
            raise LayoutError(f"columns = {self.columns}: {self.max_phase} phases of {self.vec} columns need a multiple of "
                              f"{self.vec * self.max_phase}")

    def __call__(self, row, column):
        row, column = as_index(row), as_index(column)
        phase = row // self.per_phase % self.max_phase
        return row * self.columns + (column // self.vec ^ phase) * self.vec + column % self.vec

    def __str__(self):
        return f"vec = {self.vec}, perPhase = {self.per_phase}, maxPhase = {self.max_phase}, order = [1, 0]"


def triton_to_swizzle(triton):
    """The Swizzle that does to a row-major tile what a TritonSwizzle does.

    Raises LayoutError where the columns are no power of two: then Triton's chunks move in rows that CuTe's bits straddle.

    >>> triton_to_swizzle(TritonSwizzle(8, 1, 8, 64)), triton_to_swizzle(TritonSwizzle(8, 2, 4, 32))
    (Swizzle(3, 3, 3), Swizzle(2, 3, 3))
    """
    if triton.columns & (triton.columns - 1):
        raise LayoutError(f"no Swizzle<B,M,S> is Triton's swizzle of {triton.columns} columns: its bits are those of rows "
                          "of a power of two")
    bits, base = _log(triton.max_phase), _log(triton.vec)
    return Swizzle(bits, base, _log(triton.columns * triton.per_phase) - base)


def swizzle_to_triton(swizzle, columns):
    """The TritonSwizzle that is a Swizzle of a row-major tile of so many columns, a power of two.

    Raises LayoutError where there is none, with the reason.

    >>> swizzle_to_triton(Swizzle(3, 3, 3), 64), swizzle_to_triton(Swizzle(2, 3, 3), 32)
    (TritonSwizzle(vec=8, per_phase=1, max_phase=8, columns=64), TritonSwizzle(vec=8, per_phase=2, max_phase=4, columns=32))
    """
    if columns < 1 or columns & (columns - 1):
        raise LayoutError(f"columns = {columns}: the bits of a Swizzle are those of rows of a power of two")
    if swizzle.bits == 0:
        return TritonSwizzle(1, 1, 1, columns)
    if swizzle.shift < 0:
        raise LayoutError(f"{swizzle} is none of Triton's: it moves rows by their column, Triton columns by their row")
    source, width = swizzle.base + swizzle.shift, _log(columns)
    if source < width:
        raise LayoutError(f"{swizzle} is none of Triton's on rows of {columns}: its source begins at bit {source}, which is "
                          f"one of the column's {width}; Triton's phase comes from the row")
    if swizzle.base + swizzle.bits > width:
        raise LayoutError(f"{swizzle} is none of Triton's on rows of {columns}: it changes bits up to {swizzle.base} + "
                          f"{swizzle.bits}, and a column has {width}")
    return TritonSwizzle(1 << swizzle.base, 1 << source - width, 1 << swizzle.bits, columns)


def tma_to_swizzle(mode, dtype):
    """The Swizzle, in elements, of a TMA swizzle mode: 0 (none), 32, 64 or 128 bytes.

    >>> tma_to_swizzle(128, "f16"), tma_to_swizzle(64, "f32"), tma_to_swizzle(0, "f16")
    (Swizzle(3, 3, 3), Swizzle(2, 2, 3), Swizzle(0, 3, 3))
    """
    if mode not in SWIZZLE_MODES:
        *others, last = SWIZZLE_MODES
        raise LayoutError(f"swizzle mode {mode!r}: TMA has {', '.join(map(str, others))} and {last} bytes")
    return Swizzle(SWIZZLE_MODES[mode].bits, CHUNK_BITS - _log(dtype_of(dtype).bytes), ROWS_ABOVE)


def f2_to_swizzle(f2_map):
    """The Swizzle that an F2Map is; LayoutError where it is none, with the first bit that shows it.

    >>> f2_to_swizzle(swizzle_to_f2(Swizzle(2, 3, 3)))
    Swizzle(2, 3, 3)
    """
    reason = not_a_swizzle(f2_map)
    if reason:
        raise LayoutError(f"{f2_map} is no Swizzle<B,M,S>: {reason[1]}")
    moves = _moves(f2_map)
    if not moves:
        return Swizzle(0, 0, 1)
    first, target = moves[0]
    return Swizzle(len(moves), min(first, _log(target)), first - _log(target))


def not_a_swizzle(f2_map):
    """Why an F2Map is no Swizzle<B,M,S>: (the bits of its argument from which it follows, the reason), None if it is one.

    A swizzle leaves every bit where it is, and copies at most S neighbouring ones to S bits away as well.

    >>> not_a_swizzle(F2Map((1, 2, 4 ^ 1, 8, 16 ^ 4)))
    ((2, 3, 4), 'bit 2 becomes bits 0 and 2, bit 3 stays, and bit 4 becomes bits 2 and 4')
    """
    if f2_map.constant:
        return (), f"0 becomes {f2_map.constant}"
    moves = _moves(f2_map)
    for k, (bit, moved) in enumerate(moves):
        first, target = moves[0]
        lone = moved and not moved & (moved - 1) and moved != 1 << bit
        if not lone or bit != first + k or moved != target << k or k >= abs(bit - _log(moved)):
            bits = tuple(range(first, bit + 1)) if lone else (bit,)
            reasons = [_becomes(i, f2_map.columns[i]) for i in bits]
            return bits, reasons[0] if len(reasons) == 1 else f"{', '.join(reasons[:-1])}, and {reasons[-1]}"
    return None


def _moves(f2_map):
    """[(bit, what its column sets beside it)] of the bits that do not stay."""
    return [(i, column ^ 1 << i) for i, column in enumerate(f2_map.columns) if column != 1 << i]


def _becomes(bit, column):
    """"bit 3 becomes bits 0 and 3"."""
    if column == 1 << bit:
        return f"bit {bit} stays"
    bits = [str(i) for i in range(column.bit_length()) if column >> i & 1]
    many = f"bits {', '.join(bits[:-1])} and {bits[-1]}" if len(bits) > 1 else f"bit {bits[0]}" if bits else "nothing"
    return f"bit {bit} becomes {many}"


def swizzle_to_f2(swizzle, bits=None):
    """The F2Map of a Swizzle; bits: how many columns it has at least."""
    needed = max(swizzle.source_mask.bit_length(), swizzle.target_mask.bit_length(), bits or 0)
    return F2Map(tuple(int(swizzle(1 << i)) for i in range(needed)))


def f2_of_values(values):
    """The F2Map that an index function of x = 0, 1, ... would be, and the first x at which it is not (None: it is one).

    values: of the function, int64 [n], at least 0. Where x is the first wrong one, the map is right at every smaller one:
    so the function is no F2 map, because of x, its lowest bit, and what is left of x without it.

    >>> f2_of_values(np.array([0, 1, 2, 4]))
    (F2Map((1, 2)), 3)
    """
    zero = int(values[0])
    f2 = F2Map(tuple(int(values[1 << i]) ^ zero for i in range((len(values) - 1).bit_length())), zero)
    wrong = f2(np.arange(len(values))) != values
    return f2, int(np.argmax(wrong)) if wrong.any() else None


def triton_swizzles(rows, columns):
    """Every TritonSwizzle of a tile, once: the one that changes nothing, then those whose phases all have rows of the tile,
    or all but some of the upper half.

    >>> [(t.vec, t.per_phase, t.max_phase) for t in triton_swizzles(3, 4)]
    [(1, 1, 1), (1, 1, 2), (1, 2, 2), (2, 1, 2), (2, 2, 2), (1, 1, 4)]
    """
    powers = [1 << i for i in range(max(rows, columns).bit_length())]
    swizzles = [TritonSwizzle(vec, per_phase, phases, columns) for phases in powers[1:] for vec in powers
                if columns % (vec * phases) == 0 for per_phase in powers if per_phase * phases // 2 < rows]
    return [TritonSwizzle(1, 1, 1, columns), *swizzles]


def rotations_like(values):
    """The Rotations that an index function of x = 0, 1, ... can be, one for each number of chunks.

    values: of the function, int64 [n]. The first x that moves is the line, and it moves by a chunk; the starts of the
    lines then tell the period. A function that is a rotation on its whole domain is one of them.

    >>> rotations_like(Rotation(2, 4, 8)(np.arange(32)))
    [Rotation(2, 2, 8, 2), Rotation(2, 4, 8, 4)]
    """
    moved = np.flatnonzero(values != np.arange(len(values)))
    if not len(moved):
        return [Rotation(1, 1, 1)]
    line = int(moved[0])
    chunk = int(values[line]) - line
    if line < 1 or chunk < 1 or line % chunk:
        return []
    starts = np.arange(0, len(values), line)
    turns = (values[starts] - starts) // chunk
    return [Rotation(chunk, count, line, _period(turns, count))
            for count in range(2, line // chunk + 1) if line // chunk % count == 0]


def _period(turns, count):
    """After how many lines the turns of `count` chunks start again; count where they never do it earlier or later."""
    early = turns != np.arange(len(turns)) % count
    return int(np.argmax(early)) if early.any() else count


def _log(power):
    return power.bit_length() - 1
