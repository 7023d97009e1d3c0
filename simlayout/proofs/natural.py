"""How one warp naturally reads or writes a whole tile: the access that is meant where none is spelled out."""

from math import prod

from simlayout.algebra import dtype_of
from simlayout.algebra.layout import flatten, tuple_text
from simlayout.errors import InstructionError, LayoutError
from simlayout.hardware import instruction as instruction_of
from simlayout.proofs.access import WARP, Access

CHUNK_BYTES = 16
"""Bytes of one row of an 8x8 matrix of ldmatrix and stmatrix."""

BLOCKS = {4: (16, 2), 2: (16, 1), 1: (8, 1)}
"""Matrices of an instruction -> the (rows, 16-byte chunks) of the block that it moves."""


def natural_access(tile, instruction, dtype, name="tile"):
    """The Access of one warp that moves a whole 2-d tile with one instruction.

    tile: anything of simlayout.algebra with coordinates; its two top-level modes are rows and columns, and a single
    mode counts as one row. instruction: a PTX name or an Instruction. dtype: of the elements.

    ldmatrix and stmatrix move blocks of 16 rows x two 16-byte chunks (.x4), 16 x one (.x2) or 8 x one (.x1), first
    along the columns (k), then down the rows (i); lane l gives row l % 16 of chunk l // 16. In all other instructions
    consecutive lanes take consecutive pieces along a row, row after row. Loops of one trip are left out of the domain.
    The Access declares no excess: `verify` reports what it finds.

    Raises InstructionError for an unknown instruction, or one narrower than an element; LayoutError for a tile that
    is not 2-d, or that the instruction does not cover in whole pieces.

    >>> import simlayout as sl
    >>> a = natural_access(sl.parse("(32,64):(64,1)"), "ldmatrix.x4", "f16")
    >>> a.domain, a.coordinate(17, 1, 3)
    ({'tid': 32, 'i': 2, 'k': 4}, (17, 56))
    >>> int(natural_access(sl.parse("(16,64):(64,1)"), "ldmatrix.x4", "f16").analyze().excess.sum())
    112
    >>> natural_access(sl.parse("(16,24):(24,1)"), "ldmatrix.x4", "f16")
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: ldmatrix.x4 moves blocks of 16 x 16 f16 elements, which do not cover the 16 x 24 \
tile (16,24):(24,1): change the shape, use ldmatrix.x2 (16 x 8), or say which coordinate each lane gives
    """
    row, element = instruction_of(instruction), dtype_of(dtype)
    rows, columns = _extents(tile)
    if element.bytes > row.bytes:
        raise InstructionError(f"{row} moves {row.bytes} bytes per lane, less than one {element} element "
                               f"({element.bytes} bytes): use a wider instruction or a narrower dtype")
    if row.needs_whole_warp:
        loops, lanes = _blocks(row, element, rows, columns, tile)
    else:
        loops, lanes = _pieces(row, element, rows, columns, tile)
    walked = {variable: trips for variable, trips in loops.items() if trips > 1}
    one_mode = tile.rank == 1

    def coordinate(tid, *values):
        here = {"i": 0, "k": 0, **dict(zip(walked, values, strict=True))}
        place = lanes(tid, here["i"], here["k"])
        return place[1:] if one_mode else place

    return Access(name, row.name, tile, coordinate, {"tid": WARP, **walked}, element.name, excess=None)


def _extents(tile):
    """(rows, columns) of a tile, in elements."""
    if not hasattr(tile, "shape"):
        raise LayoutError(f"{tile} has no shape, so a warp cannot walk over it: compose it with a layout, "
                          "as in 'Sw<3,3,3> o (16,64):(64,1)'")
    if tile.rank > 2:
        raise LayoutError(f"the tile {tile} has {tile.rank} modes {tuple_text(tile.shape)}, a warp walks over rows and "
                          "columns: nest them, as in ((4,2),64), or say which coordinate each lane gives")
    sizes = [prod(flatten(mode)) for mode in (tile.shape if isinstance(tile.shape, tuple) else (tile.shape,))]
    return (1, *sizes)[-2:]


def _blocks(row, element, rows, columns, tile):
    """Loops and coordinates of a matrix instruction."""
    chunk = CHUNK_BYTES // element.bytes
    deep, chunks = BLOCKS[len(row.groups)]
    if rows % deep or columns % (chunks * chunk):
        others = (f"{row.kind}.x{count} ({r} x {c * chunk})" for count, (r, c) in BLOCKS.items()
                  if not rows % r and not columns % (c * chunk))
        hint = "".join(f"use {other}, " for other in list(others)[:1])
        raise LayoutError(f"{row} moves blocks of {deep} x {chunks * chunk} {element} elements, which do not cover the "
                          f"{rows} x {columns} tile {tile}: change the shape, {hint}or say which coordinate each lane "
                          "gives")

    def lanes(tid, i, k):
        first = k if chunks == 1 else 2 * k + tid // 16 % 2
        return deep * i + tid % deep, chunk * first

    return {"i": rows // deep, "k": columns // (chunks * chunk)}, lanes


def _pieces(row, element, rows, columns, tile):
    """Loops and coordinates of an instruction whose lanes take consecutive pieces."""
    size = row.bytes // element.bytes
    across = columns // size
    fault = ""
    if columns % size:
        fault = f"rows of {columns} {element} elements are no whole number of its pieces of {size}"
    elif rows * across % WARP:
        fault = f"the {rows} x {columns} tile has {rows * across} of its pieces, no whole number of warps of {WARP}"
    if fault:
        raise LayoutError(f"{row} does not cover {tile}: {fault}; change the shape, use an instruction of another "
                          "width, or say which coordinate each lane gives")
    if across % WARP == 0:
        return {"i": rows, "k": across // WARP}, lambda tid, i, k: (i, size * (WARP * k + tid))
    if WARP % across == 0:
        beside = WARP // across
        return {"i": rows // beside}, lambda tid, i, k: (beside * i + tid // across, size * (tid % across))

    def in_a_line(tid, i, k):
        piece = WARP * k + tid
        return piece // across, size * (piece % across)

    return {"k": rows * across // WARP}, in_a_line
