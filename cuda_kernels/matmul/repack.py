"""A copy between strided layouts in global memory: for operands whose strides TMA cannot take.

One thread per element and step; a warp walks along the innermost dimension, which the caller makes the contiguous one.
"""

from dataclasses import dataclass
from functools import lru_cache

from cuda_kernels.intrinsics import (
    ctaid_x,
    ctaid_y,
    ctaid_z,
    ld_global_b8,
    ld_global_b16,
    ld_global_b32,
    s32,
    st_global_b8,
    st_global_b16,
    st_global_b32,
    tid_x,
    u32,
    u64,
)
from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import DEFAULT_TARGET

SIGNATURE = "u64 u64 s32 s32 u64 u64 u64 u64 u64 u64"
"""Addresses of source and target; columns and rows; bytes of the source from column to column, row to row, matrix to matrix;
the same three of the target."""

BLOCK = 256
"""Threads per CTA, along the columns."""

ROWS, MATRICES = 65_535, 65_535
"""Limits of a grid's y and z (CUDA C++ Programming Guide, technical specifications)."""


@dataclass(frozen=True)
class Copy:
    """The copy of elements of `size` bytes, 1, 2 or 4, compiled for `arch`."""

    size: int = 2
    arch: str = DEFAULT_TARGET

    block, shared_bytes = BLOCK, 0

    def __post_init__(self):
        if self.size not in (1, 2, 4):
            raise SimlayoutError(f"elements of {self.size} bytes are not copied on the GPU, those of 1, 2 and 4 are: give "
                                 "an array whose lines TMA can take")

    def grid(self, rows, cols, matrices):
        """CTAs (x, y, z)."""
        return -(-cols // BLOCK), min(rows, ROWS), matrices

    @property
    def python(self):
        """The kernel's Python function."""
        return make_body(self.size)

    def compile(self):
        """(name of the entry, machine code); no GPU needed."""
        return _compiled(self)


def make_body(size):
    """The kernel's Python function for elements of `size` bytes; see SIGNATURE."""
    def move_8(target, source):
        st_global_b8(target, ld_global_b8(source))

    def move_16(target, source):
        st_global_b16(target, ld_global_b16(source, u32(1)))

    def move_32(target, source):
        st_global_b32(target, ld_global_b32(source))

    move = {1: move_8, 2: move_16, 4: move_32}[size]

    def copy(source, target, cols, rows, source_col, source_row, source_matrix, target_col, target_row, target_matrix):
        col, matrix = s32(ctaid_x() * BLOCK + tid_x()), u64(ctaid_z())
        if col < cols:
            first = source + matrix * source_matrix + u64(col) * source_col
            where = target + matrix * target_matrix + u64(col) * target_col
            for row in range(ctaid_y(), rows, ROWS):
                move(where + u64(row) * target_row, first + u64(row) * source_row)

    return copy


@lru_cache(8)
def _compiled(config):
    from cuda_kernels.build.assembler import program
    from cuda_kernels.build.compile import bound_kernel, text_of

    return program(text_of(bound_kernel(config.python), SIGNATURE, (BLOCK, 1), config.arch), config.arch)
