"""Scales: every element of C times the scale of its row and that of its column.

In a configuration with `scaled="lines"` they are applied where C is stored, and with "tensor", where all rows and all
columns share one, too. With "1x128", "128x1", "1x1" or "128x128" (rows of A by columns of B that share a scale) every 128 of
K have scales of their own: the products of a stage are multiplied by them as they are added to the sums (`promote`), and
nothing is left to do where C is stored.

A body gets them with the elements from line to line of C, so that they come to where they are needed without a way of their
own (`lines` of `epilogue`): of the rows and of the columns, each (address of the first, bytes from one row or column to the
next, bytes from one 128 of K to the next); with "lines", where C is stored, the shared addresses where `bring` has put them.
"""

from cuda_kernels.intrinsics import (
    f32,
    ld_global_f32,
    ld_volatile_shared_f32,
    ld_volatile_shared_v2_f32,
    s32,
    u32,
    u64,
)

BLOCK = 128
"""Rows, columns or elements of K that share a scale of a block."""


def grains_of(scaled):
    """Rows of A, and columns of B, that share a scale of 128 of K; None where scales are not by blocks.

    >>> grains_of("1x128"), grains_of("lines")
    ((1, 128), None)
    """
    rows, by, columns = scaled.partition("x")
    return (int(rows), int(columns)) if by else None


CHUNK = 32
"""Columns of a tile for which a thread holds one scale, where 128 share one: of a tile of 96 they lie in one block or
two."""


def own_columns(config):
    """Whether each column of a tile has a scale of its own for every 128 of K."""
    return grains_of(config.scaled)[1] == 1


def column_scales(config):
    """How many scales of columns a thread holds at a time: one for each of its columns, or for each CHUNK."""
    return config.tile_n // 4 if own_columns(config) else max(1, config.tile_n // CHUNK)


def scales_of_stage(config):
    """How many scales a stage has in shared memory: of the tile's rows, and behind them of its columns or CHUNKs of them."""
    return config.tile_m + (config.tile_n if own_columns(config) else column_scales(config))


def scale_at(scales, i, size, grain):
    """The address of the scale of row or column i of `size`, of the first 128 of K. Beyond the last one it is the last
    one's. grain: rows or columns that share one."""
    return scales[0] + u64(scales[1]) * u64(u32(min(i, s32(size - 1))) // u32(grain))


def make_scale(config):
    """(rows(row, extent), scale(of_rows, col, extent, v0, v1, v2, v3)): the scales of two rows, 8 apart; the elements (row,
    column), (row, column + 1), (row + 8, column) and (row + 8, column + 1) as f32 but where C is s32, times their scales,
    whose products are rounded first. extent: M, N, lines."""
    def no_rows(row, extent):
        return 0

    def as_they_are(of_rows, col, extent, v0, v1, v2, v3):
        return v0, v1, v2, v3

    def as_floats(of_rows, col, extent, v0, v1, v2, v3):
        return f32(v0), f32(v1), f32(v2), f32(v3)

    def rows(row, extent):
        _, _, (_, of_a, _, _) = extent
        return ld_volatile_shared_f32(u32(of_a + 4 * row)), ld_volatile_shared_f32(u32(of_a + 4 * row + 32))

    def scale(of_rows, col, extent, v0, v1, v2, v3):
        _, _, (_, _, of_b, _) = extent
        above, below = of_rows
        left, right = ld_volatile_shared_v2_f32(u32(of_b + 4 * col))
        return f32(v0) * (above * left), f32(v1) * (above * right), f32(v2) * (below * left), f32(v3) * (below * right)

    def of_all(row, extent):
        _, _, (_, of_a, of_b, _) = extent
        return ld_global_f32(of_a[0]) * ld_global_f32(of_b[0])

    def scale_all(factor, col, extent, v0, v1, v2, v3):
        return f32(v0) * factor, f32(v1) * factor, f32(v2) * factor, f32(v3) * factor

    if config.scaled == "lines":
        return rows, scale
    if config.scaled == "tensor":
        return of_all, scale_all
    return no_rows, as_they_are if config.sums == "f32" or config.out == "s32" else as_floats
