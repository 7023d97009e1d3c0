"""The natural access of a tile: how one warp reads or writes all of it, for callers that do not say how."""

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.composed import Composed
from simlayout.algebra.layout import Layout
from simlayout.algebra.nested import mode_sizes, tuple_text
from simlayout.algebra.notation import in_two_modes
from simlayout.errors import LANES_OF, InstructionError, LayoutError
from simlayout.hardware import instruction as instruction_of
from simlayout.hardware.tables.arch import DEFAULT_ARCH, arch_of
from simlayout.proofs.access import Access
from simlayout.wording import counted

CHUNK_BYTES = 16
"""Bytes of one row of an 8x8 matrix of ldmatrix and stmatrix."""

LINES = 8
"""Lines of a matrix, each of CHUNK_BYTES."""

BLOCKS = {4: (2, 2), 2: (2, 1), 1: (1, 1)}
"""Matrices of an instruction -> the (height, width) of its block in matrices, which are numbered down its columns."""


def natural_access(tile, instruction, dtype, name="tile", arch=DEFAULT_ARCH):
    """The Access of one warp of a chip that moves a whole 2-d tile with one instruction.

    tile: anything of simlayout.algebra with coordinates; its two top-level modes are rows and columns, and a single
    mode counts as one row. instruction: a PTX name or an Instruction. dtype: of the elements.

    The lines of a tile are its rows; of a column-major one (see `by_columns`) its columns. ldmatrix and stmatrix move blocks
    of two by two 8x8 matrices (.x4), two below each other (.x2) or one (.x1), first along the lines (k), then across them
    (i); of f16 elements and in rows, lane l gives row l % 16 of the 16-byte chunk l // 16. Columns take .trans: the lanes
    give pieces of columns, of the same matrices in the same order. In all other instructions consecutive lanes take
    consecutive pieces along a line, line after line. Loops of one trip are left out of the domain. The Access declares no
    excess: `verify` reports what it finds.

    Raises InstructionError for an unknown instruction, or one narrower than an element; LayoutError for a tile that
    is not 2-d, that the instruction does not cover in whole pieces, or whose columns it cannot read.

    >>> import simlayout as sl
    >>> a = natural_access(sl.parse("(32,64):(64,1)"), "ldmatrix.x4", "f16")
    >>> a.domain, a.coordinate(17, 1, 3)
    ({'tid': 32, 'i': 2, 'k': 4}, (17, 56))
    >>> int(natural_access(sl.parse("(16,64):(64,1)"), "ldmatrix.x4", "f16").analyze().excess.sum())
    112
    >>> a = natural_access(sl.parse("(64,32):(1,64)"), "ldmatrix.x4.trans", "f16")
    >>> a.domain, a.coordinate(17, 1, 3)
    ({'tid': 32, 'i': 2, 'k': 4}, (48, 25))
    >>> natural_access(sl.parse("(16,24):(24,1)"), "ldmatrix.x4", "f16")
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: ldmatrix.x4 moves blocks of 16 x 16 f16 elements, which do not cover the 16 x 24 \
tile (16,24):(24,1): change the shape, use ldmatrix.x2 (16 x 8), or say which coordinate each lane gives (an Access's \
lanes, or --lanes)
    """
    row, element = instruction_of(instruction, arch), dtype_of(dtype)
    rows, columns = _extents(tile)
    if element.bytes > row.bytes:
        raise InstructionError(f"{row} moves {counted(row.bytes, 'byte')} per lane, less than one {element} element "
                               f"({element.bytes} bytes): use a wider instruction or a narrower dtype")
    turned = by_columns(tile)
    if row.is_matrix:
        if turned:
            _check_trans(row, element, tile)
        loops, lanes = (_blocks_of_columns if turned else _blocks)(row, element, rows, columns, tile)
    else:
        loops, lanes = _pieces(row, element, (columns, rows) if turned else (rows, columns), tile, turned)
    walked = {variable: trips for variable, trips in loops.items() if trips > 1}
    one_mode = tile.rank == 1

    def coordinate(tid, *values):
        here = {"i": 0, "k": 0, **dict(zip(walked, values, strict=True))}
        place = lanes(tid, here["i"], here["k"])
        return place[1:] if one_mode else place

    return Access(name, row.name, tile, coordinate, {"tid": row.lanes, **walked}, element.name, excess=None,
                  arch=arch_of(arch).name)


def by_columns(tile):
    """Whether a 2-d tile is column-major: more neighbours are next to each other in memory down its columns than along its
    rows. Of a tile of more than a million elements its first rows and columns decide.

    >>> from simlayout.algebra import Layout, Swizzle
    >>> by_columns(Swizzle(3, 3, 3) @ Layout((64, 16), (1, 64))), by_columns(Layout((16, 64), (64, 1)))
    (True, False)
    """
    if tile.rank != 2:
        return False
    rows, columns = (min(n, 1 << 10) for n in _extents(tile))
    offsets = np.asarray(tile(np.arange(rows)[:, None], np.arange(columns)[None, :]))
    offsets = np.broadcast_to(offsets, (rows, columns)).astype(np.int64, copy=False)
    down, along = (np.abs(np.diff(offsets, axis=axis)) == 1 for axis in (0, 1))
    return int(down.sum()) * max(along.size, 1) > int(along.sum()) * max(down.size, 1)


def _extents(tile):
    """(rows, columns) of a tile, in elements."""
    if not hasattr(tile, "shape"):
        raise LayoutError(f"{tile} has no shape, so a warp cannot walk over it: compose it with a layout, "
                          "as in 'Sw<3,3,3> o (16,64):(64,1)'")
    if tile.rank > 2:
        nest = f"nest them, as in {in_two_modes(tile)}, or " if isinstance(tile, Layout | Composed) else ""
        raise LayoutError(f"the tile {tile} has {tile.rank} modes {tuple_text(tile.shape)}, a warp walks over rows and "
                          f"columns: {nest}{LANES_OF}")
    return (1, *mode_sizes(tile))[-2:]


def _check_trans(row, element, tile):
    """Refuses a matrix instruction without .trans, which reads rows, for a tile of columns."""
    if not row.name.endswith(".trans"):
        pieces = CHUNK_BYTES // element.bytes
        kind = "reads" if row.kind == "ldmatrix" else "writes"
        raise LayoutError(f"{row} {kind} rows of {pieces} {element} elements next to each other, and {tile} has its columns "
                          f"so: {_by_rows(tile)}use {row.name}.trans, which {kind} columns, ld.shared or st.shared, or "
                          f"{LANES_OF}")


def _by_rows(tile):
    """What an error suggests where a tile is a shape without strides, as which CuTe reads columns: its rows; else ""."""
    if not isinstance(tile, Layout) or tile != Layout(tile.shape):
        return ""
    rows, columns = _extents(tile)
    return f"write {Layout.row_major(rows, columns)} for one row after another (a shape alone means columns), "


def _covered(row, element, sizes, block_of, tile):
    """Refuses a tile that the blocks of a matrix instruction do not cover. block_of: (high, wide) of matrices -> (rows,
    columns) in elements."""
    (rows, columns), (deep, wide) = sizes, block_of(BLOCKS[len(row.groups)])
    if not rows % deep and not columns % wide:
        return
    suffix = ".trans" * row.name.endswith(".trans")
    others = [(f"{row.kind}.x{count}{suffix}", *block_of(matrices)) for count, matrices in BLOCKS.items()]
    fits = [f"use {other} ({r} x {c}), " for other, r, c in others if not rows % r and not columns % c]
    hint = "".join(fits[:1])
    raise LayoutError(f"{row} moves blocks of {deep} x {wide} {element} elements, which do not cover the {rows} x {columns} "
                      f"tile {tile}: change the shape, {hint}or {LANES_OF}")


def _blocks(row, element, rows, columns, tile):
    """Loops and coordinates of a matrix instruction on rows."""
    chunk = CHUNK_BYTES // element.bytes
    _covered(row, element, (rows, columns), lambda block: (LINES * block[0], chunk * block[1]), tile)
    high, wide = BLOCKS[len(row.groups)]
    deep = LINES * high

    def lanes(tid, i, k):
        first = k if wide == 1 else 2 * k + tid // 16 % 2
        return deep * i + tid % deep, chunk * first

    return {"i": rows // deep, "k": columns // (wide * chunk)}, lanes


def _blocks_of_columns(row, element, rows, columns, tile):
    """Loops and coordinates of a matrix instruction on columns: matrix m is the one that it is on rows."""
    chunk = CHUNK_BYTES // element.bytes
    _covered(row, element, (rows, columns), lambda block: (chunk * block[0], LINES * block[1]), tile)
    high, wide = BLOCKS[len(row.groups)]

    def lanes(tid, i, k):
        below = k if high == 1 else 2 * k + tid // LINES % 2
        beside = i if wide == 1 else 2 * i + tid // (2 * LINES) % 2
        return chunk * below, LINES * beside + tid % LINES

    return {"i": columns // (LINES * wide), "k": rows // (chunk * high)}, lanes


def _pieces(row, element, sizes, tile, turned):
    """Loops and coordinates of an instruction whose lanes take consecutive pieces. sizes: (lines, elements of a line);
    turned: whether the lines are columns."""
    (lines, length), size = sizes, row.bytes // element.bytes
    across = length // size
    called = "columns" if turned else "rows"
    fault = ""
    if length % size:
        fault = f"{called} of {length} {element} elements are no whole number of its pieces of {size}"
    elif lines * across % row.lanes:
        shape = f"{length} x {lines}" if turned else f"{lines} x {length}"
        fault = f"the {shape} tile has {lines * across} of its pieces, no whole number of warps of {row.lanes}"
    if fault:
        raise LayoutError(f"{row} does not cover {tile}: {fault}; change the shape, use an instruction of another "
                          f"width, or {LANES_OF}")
    loops, walk = _walk(lines, across, size, row.lanes)
    return loops, (lambda tid, i, k: walk(tid, i, k)[::-1]) if turned else walk


def _walk(lines, across, size, warp):
    """Loops, and (line, first element) of each lane: `across` pieces of `size` elements in each line. warp: its lanes."""
    if across % warp == 0:
        return {"i": lines, "k": across // warp}, lambda tid, i, k: (i, size * (warp * k + tid))
    if warp % across == 0:
        beside = warp // across
        return {"i": lines // beside}, lambda tid, i, k: (beside * i + tid // across, size * (tid % across))

    def in_a_line(tid, i, k):
        piece = warp * k + tid
        return piece // across, size * (piece % across)

    return {"k": lines * across // warp}, in_a_line
