"""Scales: every element of C times the scale of its row and that of its column, as it is written.

A body gets them with the elements from line to line of C, so that they come where C is stored without a way of their own:
`lines` is that number or, of a scaled configuration, a tuple of it and of the scales: the address of those of the rows, the
bytes from one to the next, and the same of the columns.
"""

from cuda_kernels.intrinsics import here, ld_global_f32, s32, u64


def make_lines(config):
    """(pitch(lines), lines_here(lines)): the elements from line to line; the lines, with that number taken from where it is
    (`here`)."""
    def pitch_alone(lines):
        return lines

    def pitch_first(lines):
        return lines[0]

    def alone_here(lines):
        return here(lines)

    def first_here(lines):
        return here(lines[0]), lines[1]

    return (pitch_first, first_here) if config.scaled else (pitch_alone, alone_here)


def make_scale(config):
    """(rows(row, extent), scale(of_rows, col, extent, v0, v1, v2, v3)): the scales of two rows, 8 apart; the elements (row,
    column), (row, column + 1), (row + 8, column) and (row + 8, column + 1) times their scales, whose products are rounded
    first. extent: M, N, lines. Beyond the last row and column the last scale stands for those that do not exist."""
    def no_rows(row, extent):
        return 0

    def unscaled(of_rows, col, extent, v0, v1, v2, v3):
        return v0, v1, v2, v3

    def scale_of(first, step, i, size):
        return ld_global_f32(first + u64(step) * u64(min(i, s32(size - 1))))

    def rows(row, extent):
        M, _, (_, (first, step, _, _)) = extent
        return scale_of(first, step, row, M), scale_of(first, step, s32(row + 8), M)

    def scale(of_rows, col, extent, v0, v1, v2, v3):
        _, N, (_, (_, _, first, step)) = extent
        above, below = of_rows
        left, right = scale_of(first, step, col, N), scale_of(first, step, s32(col + 1), N)
        return v0 * (above * left), v1 * (above * right), v2 * (below * left), v3 * (below * right)

    return (rows, scale) if config.scaled else (no_rows, unscaled)
