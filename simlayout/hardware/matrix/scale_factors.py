"""Scale factors of block-scaled tcgen05.mma: where they lie in global and shared memory, and in TMEM.

In memory they lie in blocks of 128 rows by 4 (cuBLAS, 1D block scaling factors layout): 512 bytes, in which row m % 32 has
16 bytes, four of each m // 32. tcgen05.cp of 32x128b.warpx4 copies such a block as 32 rows of 16 bytes to the 32 lanes of
each warp, so that row m lies in lane m % 32 of all four quarters, in column m // 32: there tcgen05.mma reads it (PTX ISA,
tcgen05: Scale Factor A and B Layout; CUTLASS, Sm1xxBlockScaledBasicChunk and tmem_sf_frg).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from simlayout.algebra import Layout
from simlayout.arguments import typed
from simlayout.errors import InstructionError, LayoutError, require_ints
from simlayout.hardware.matrix.tmem import TMEM_COLUMNS, TMEM_LANES, WARP_LANES, tmem_copy
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tcgen05 import kind_of

BLOCK_ROWS, BLOCK_COLUMNS = 128, 4
"""Rows, of A or columns of B, and scale factors along K of a block of 512 bytes."""

BLOCK_SOURCE = Provenance("documented", "cuBLAS, 1D block scaling factors layout; equal to CUTLASS's "
                          "Sm1xxBlockScaledBasicChunk")
TMEM_SOURCE = Provenance("documented", "PTX ISA, tcgen05: Scale Factor A and B Layout; equal to CUTLASS's tmem_sf_frg")
"""Of the blocks in memory, and of the places in TMEM."""

COPY = "32x128b.warpx4"
"""The shape of tcgen05.cp that brings a block to where tcgen05.mma reads it."""


@typed(LayoutError)
def scale_layout(rows: int, columns: int) -> Layout:
    """The layout (row, scale factor along K) -> byte of the scale factors of `rows` rows with `columns` of them each, in
    whole blocks of 128 x 4 that follow one another along K first. Rows and columns are filled up to whole blocks.

    It is what cuBLAS, torch (SWIZZLE_32_4_4), cuDNN (F8_128x4) and flashinfer (128x4) take. LayoutError for none.

    >>> layout = scale_layout(128, 4)
    >>> print(layout, layout(33, 1), layout(127, 3))
    ((32,4,1),(4,1)):((16,4,512),(1,512)) 21 511
    """
    require_ints(LayoutError, "scale factors", rows=rows, columns=columns)
    if rows < 1 or columns < 1:
        raise LayoutError(f"scale factors of {rows} rows, {columns} each: there is at least one")
    high, wide = -(-rows // BLOCK_ROWS), -(-columns // BLOCK_COLUMNS)
    size = BLOCK_ROWS * BLOCK_COLUMNS
    return Layout(((32, 4, high), (BLOCK_COLUMNS, wide)), ((16, 4, size * wide), (1, size)))


@typed(LayoutError)
@dataclass(frozen=True)
class ScalesInTmem:
    """Where tcgen05.mma reads the scale factors of a side: (row, scale factor along K) -> its places in TMEM.

    rows: M of a CTA for A, N for B; a multiple of 32. halves: of B, where two CTAs have M = 128: each half of N lies in the
    lanes of the half of the data path that uses it. source: the Provenance of the map.

    >>> scales = ScalesInTmem(128)
    >>> scales.columns(4), scales(33, 1)
    (4, ((1, 1, 1), (33, 1, 1), (65, 1, 1), (97, 1, 1)))
    """

    rows: int
    halves: bool = False
    source: Provenance = TMEM_SOURCE

    def __post_init__(self):
        require_ints(LayoutError, "scale factors in TMEM", rows=self.rows)
        if self.rows % (WARP_LANES * (1 + self.halves)) or not 0 < self.rows <= 256:
            raise LayoutError(f"scale factors of {self.rows} rows in TMEM: fill them up to a multiple of "
                              f"{WARP_LANES * (1 + self.halves)}, at most 256")

    def columns(self, factors: int) -> int:
        """Columns of TMEM that so many scale factors along K take: four lie in one column. LayoutError for none, and
        for more than TMEM has columns for."""
        require_ints(LayoutError, "scale factors in TMEM", factors=factors)
        if not 0 < factors <= self._most:
            raise LayoutError(f"{factors} scale factors of {self.rows} rows in TMEM: there is room for 1 to {self._most}")
        return -(-factors // BLOCK_COLUMNS) * self._each

    @property
    def _most(self):
        return TMEM_COLUMNS // self._each * BLOCK_COLUMNS

    @property
    def _each(self):
        return self.rows // (1 + self.halves) // WARP_LANES

    def __call__(self, row: int, factor: int) -> tuple:
        """((lane, column, byte of the column), ...): the places of a scale factor, all of which have to hold it."""
        require_ints(LayoutError, "scale factors in TMEM", row=row, factor=factor)
        if not (0 <= row < self.rows and 0 <= factor < self._most):
            raise LayoutError(f"no scale factor {factor} of row {row}: TMEM has room for {self._most} of {self.rows} rows")
        half, inside = divmod(row, self.rows // 2) if self.halves else (0, row)
        column = inside // WARP_LANES + self._each * (factor // BLOCK_COLUMNS)
        lanes = (64 * half, 64 * half + 32) if self.halves else range(0, TMEM_LANES, WARP_LANES)
        return tuple((lane + inside % WARP_LANES, column, factor % BLOCK_COLUMNS) for lane in lanes)

    def begin(self, factor: int) -> tuple[int, int]:
        """(Column, scale factor id): the address that an instruction is given whose first scale factor along K is this one.
        In CUTLASS's addresses the id is bits 30 and 31.

        >>> [ScalesInTmem(128).begin(3 * step) for step in range(4)]                # 96 of K, 32 elements to each
        [(0, 0), (0, 3), (4, 2), (8, 1)]
        """
        _, column, byte = self(0, factor)[0]
        return column, byte


@typed(InstructionError)
def scale_id(kind: str, vector: int, step: int, form: str = "dense") -> int:
    """The scale factor id of the step'th instruction along K: the byte of the column at which its scale factors begin.

    vector: elements that share a scale factor; form: one of FORMS of the table of kinds. With one to an instruction
    (scale_vec::1X) it is 0, 1, 2, 3 by turns, with two (2X) 0 and 2, with four (4X) 0. Of 96 of K there are three or six
    (block32, block16), which go on into the next column. InstructionError for a vector that the kind does not have.

    >>> [scale_id("mxf8f6f4", 32, step) for step in range(5)], [scale_id("mxf4nvf4", 16, step) for step in range(2)]
    ([0, 1, 2, 3, 0], [0, 0])
    >>> [scale_id("mxf4nvf4", vector, step, "k96") for vector in (32, 16) for step in range(4)]
    [0, 3, 2, 1, 0, 2, 0, 2]
    """
    row = kind_of(kind)
    require_ints(InstructionError, f"kind::{row.name}", step=step)
    if step < 0:
        raise InstructionError(f"kind::{row.name}: step {step} along K; they are counted from 0")
    vectors = row.vectors_of(form)
    each = dict(vectors).get(vector)
    if each is None:
        raise InstructionError(f"kind::{row.name} has no scale factor for {vector} elements; it has "
                               f"{', '.join(f'{v} ({n}X)' for v, n in vectors) or 'none'}")
    return step * each % BLOCK_COLUMNS


def copied_scales() -> Iterator[tuple]:
    """((row, factor), byte of the block, places in TMEM) of all 512 scale factors of a block that COPY has copied from
    where `scale_layout` has them. That these are the places of `ScalesInTmem` is why the block is as it is.

    >>> all(places == ScalesInTmem(128)(*scale) for scale, _, places in copied_scales())
    True
    """
    layout, copy = scale_layout(BLOCK_ROWS, BLOCK_COLUMNS), tmem_copy(COPY)
    for row in range(BLOCK_ROWS):
        for factor in range(BLOCK_COLUMNS):
            byte = int(layout(row, factor))
            yield (row, factor), byte, copy(byte // 16, byte % 16)
