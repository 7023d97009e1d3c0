"""Epilogues: what is done to the elements of C between their sums and memory, all of it in f32, and rounded once at last.

In this order, of which a configuration has any part (its option `epilogue` names it in words):

    element = sum (times the scales of its row and column)
    alpha      element = alpha * element
    residual   element = beta * residual + element, by one FMA: an array of C's shape, which may be C itself
    bias       element = element + bias of its column (bias_n), or row (bias_m, where the kernel makes the transpose of C)
    relu, gelu, gelu_tanh or silu of it
    multiply   element = element * multiply: another array of C's shape

Arrays of C's shape lie in memory as C does, so one offset finds an element in all of them. A thread reads them, and the
bias, just where it stores: of the type of C, no element that C lacks, and each element in the one thread that stores it. So
C may be its own residual, unless boxes overlap.

A body gets what is read with C's address, and the rest with its lines: `c` is the address of a matrix of C or, with an
epilogue, those of C, residual and multiply; `lines` is the number of elements from line to line or, with scales or an
epilogue, that number, the scales of the rows and of the columns, as of `scales`, and (alpha, beta, address of the bias).
"""

from dataclasses import dataclass
from itertools import product

from cuda_kernels.intrinsics import (
    add_rn_f32,
    fma_rn_f32,
    here,
    ld_global_bf16_if,
    ld_global_bf16x2_if,
    ld_global_f16_if,
    ld_global_f16x2_if,
    ld_global_f32_if,
    mul_rn_f32,
    s32,
    u32,
    u64,
)
from cuda_kernels.kernels.hopper.activations import ACTIVATIONS
from cuda_kernels.kernels.hopper.scales import make_scale
from simlayout.algebra.dtypes import TYPES


@dataclass(frozen=True)
class Epilogue:
    """The parts of an epilogue. alpha, residual, multiply: whether it has them; bias: "n", of each column, "m", of each row,
    or ""; activation: of ACTIVATIONS, or "". As text it is its words in their order.

    >>> str(Epilogue(residual=True, bias="n", activation="gelu"))
    'residual bias_n gelu'
    """

    alpha: bool = False
    residual: bool = False
    bias: str = ""
    activation: str = ""
    multiply: bool = False

    def __str__(self):
        words = ("alpha" * self.alpha, "residual" * self.residual, self.bias and f"bias_{self.bias}", self.activation,
                 "multiply" * self.multiply)
        return " ".join(word for word in words if word)

    @property
    def like_c(self):
        """Names of the arrays of C's shape."""
        return ("residual",) * self.residual + ("multiply",) * self.multiply

    @property
    def reads(self):
        """Names of all arrays that it reads."""
        return self.like_c + ("bias",) * bool(self.bias)

    @property
    def transposed(self):
        """The same of the transpose of C."""
        return EPILOGUES[str(Epilogue(self.alpha, self.residual, {"m": "n", "n": "m"}.get(self.bias, ""), self.activation,
                                      self.multiply))]


EPILOGUES = {str(made): made for made in (Epilogue(*parts) for parts in product(
    (False, True), (False, True), ("", "n", "m"), ("", *ACTIVATIONS), (False, True)))}
"""All epilogues by their words; "" is none."""


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
        return here(lines[0]), lines[1], lines[2], lines[3]

    return (pitch_first, first_here) if config.scaled or config.epilogue else (pitch_alone, alone_here)


def make_matrix_of(config):
    """matrix_of(c, bytes): what is `bytes` further than c, as `make_body` takes it."""
    def one(c, further):
        return c + further

    def three(c, further):
        return c[0] + further, c[1] + further, c[2] + further

    return three if config.epilogue else one


def make_address_of(config):
    """address_of(c): of C alone."""
    def one(c):
        return c

    def first(c):
        return c[0]

    return first if config.epilogue else one


def make_steps(config):
    """steps(lines): bytes from row to row, and from column to column, of C and of what lies as it does."""
    (pitch, _), size, down = make_lines(config), TYPES[config.out].bytes, config.c_major == "M"

    def steps(lines):
        line = u64(size) * u64(pitch(lines))
        return (u64(size), line) if down else (line, u64(size))

    return steps


def make_finish(config):
    """(begin(c, row, col, t, extent), finish(begun, col, ahead, extent, v0, v1, v2, v3)) of a thread that stores four
    elements at a time, (row, col), (row, col + 1), (row + 8, col) and (row + 8, col + 1): what it works out once for its
    first row and column; the elements as they are stored, as f32 but where C is s32. c: as of the module; extent: M, N,
    lines; t: the thread, whose first column is 2 (t % 4) on from begin's col; ahead: how far finish's col is from that one.
    """
    words = EPILOGUES[config.epilogue]
    rows, scale = make_scale(config)
    begin_reading, read_like = make_read_like(config)
    begin_bias, add_bias = make_add_bias(config)
    multiply_alpha, add_residual, activate, multiply_other = _parts(words, read_like)

    def begin_plain(c, row, col, t, extent):
        return rows(row, extent)

    def finish_plain(begun, col, ahead, extent, v0, v1, v2, v3):
        return scale(begun, col, extent, v0, v1, v2, v3)

    def begin(c, row, col, t, extent):
        return rows(row, extent), begin_reading(c, row, s32(col + t % 4 * 2), extent), begin_bias(row, extent)

    def finish(begun, col, ahead, extent, v0, v1, v2, v3):
        of_rows, reading, of_bias = begun
        left = s32(extent[1] - col)
        four = scale(of_rows, col, extent, v0, v1, v2, v3)
        four = add_residual(reading, ahead, left, extent, multiply_alpha(extent, four))
        four = activate(add_bias(of_bias, col, left, extent, four))
        return multiply_other(reading, ahead, left, extent, four)

    return (begin, finish) if config.epilogue else (begin_plain, finish_plain)


def _parts(words, read_like):
    """(multiply_alpha(extent, four), add_residual(reading, ahead, left, extent, four), activate(four), multiply_other of
    the same as add_residual), each of which does nothing where the epilogue has no such part."""
    apply = ACTIVATIONS[words.activation].apply if words.activation else None

    def nothing(four):
        return four

    def no_alpha(extent, four):
        return four

    def no_array(reading, ahead, left, extent, four):
        return four

    def multiply_alpha(extent, four):
        alpha = extent[2][3][0]
        return mul_rn_f32(alpha, four[0]), mul_rn_f32(alpha, four[1]), mul_rn_f32(alpha, four[2]), mul_rn_f32(alpha, four[3])

    def add_residual(reading, ahead, left, extent, four):
        beta, (r0, r1, r2, r3) = extent[2][3][1], read_like(reading[0], reading, ahead, left, extent)
        return (fma_rn_f32(beta, r0, four[0]), fma_rn_f32(beta, r1, four[1]), fma_rn_f32(beta, r2, four[2]),
                fma_rn_f32(beta, r3, four[3]))

    def activate(four):
        return apply(four[0]), apply(four[1]), apply(four[2]), apply(four[3])

    def multiply_other(reading, ahead, left, extent, four):
        m0, m1, m2, m3 = read_like(reading[1], reading, ahead, left, extent)
        return mul_rn_f32(four[0], m0), mul_rn_f32(four[1], m1), mul_rn_f32(four[2], m2), mul_rn_f32(four[3], m3)

    return (multiply_alpha if words.alpha else no_alpha, add_residual if words.residual else no_array,
            activate if words.activation else nothing, multiply_other if words.multiply else no_array)


READ_ONE = {"f16": ld_global_f16_if, "bf16": ld_global_bf16_if, "f32": ld_global_f32_if}
READ_PAIR = {"f16": ld_global_f16x2_if, "bf16": ld_global_bf16x2_if}
"""By C's type: (address, whether it exists) -> an element as f32, or two neighbours; 0, and no access, where it does not."""


def in_pairs(config):
    """Whether what it reads of neighbouring columns lies together, from 4 bytes on: as C does where TMA stores it."""
    return config.store == "tma" and config.c_major == "N" and len(EPILOGUES[config.epilogue].reads) > 0


def make_read_like(config, read_one=None, read_pair=None):
    """(begin(c, row, col, extent), read(first, reading, ahead, left, extent)) of arrays that lie as C does: their addresses
    at a thread's first element, and which of its two rows there are; four elements as of `make_finish` of that whose address
    there is `first`, of which `left` columns exist. read_one, read_pair: what reads; a proof hands in functions that note
    what is read."""
    steps = make_steps(config)
    read_one, read_pair = read_one or READ_ONE.get(config.out), read_pair or READ_PAIR.get(config.out)
    needed = bool(EPILOGUES[config.epilogue].like_c)

    def nothing(c, row, col, extent):
        return 0

    def begin(c, row, col, extent):
        M, _, lines = extent
        of_row, of_col = steps(lines)
        first = u64(row) * of_row + u64(col) * of_col
        return c[1] + first, c[2] + first, s32(row < M), s32(row + 8 < M)

    def read_pairs(first, reading, ahead, left, extent):
        at, (step, _) = first + u64(2 * ahead), steps(extent[2])
        there = s32(left > 0)
        r0, r1 = read_pair(at, u32(reading[2] & there))
        r2, r3 = read_pair(at + u64(8) * step, u32(reading[3] & there))
        return r0, r1, r2, r3

    def read_ones(first, reading, ahead, left, extent):
        of_row, of_col = steps(extent[2])
        at, one, two = first + u64(ahead) * of_col, s32(left > 0), s32(left > 1)
        below = at + u64(8) * of_row
        return (read_one(at, u32(reading[2] & one)), read_one(at + of_col, u32(reading[2] & two)),
                read_one(below, u32(reading[3] & one)), read_one(below + of_col, u32(reading[3] & two)))

    return begin if needed else nothing, read_pairs if in_pairs(config) else read_ones


def make_add_bias(config, read_one=None, read_pair=None, add=add_rn_f32):
    """(begin(row, extent), add(of_rows, col, left, extent, four)): the biases of two rows, 8 apart, where each row has one;
    four elements with those of their rows or columns, of which `left` columns exist. read_one, read_pair: as of
    `make_read_like`; add: a sum of two."""
    of, size, pairs = EPILOGUES[config.epilogue].bias, TYPES[config.out].bytes, in_pairs(config)
    read_one, read_pair = read_one or READ_ONE.get(config.out), read_pair or READ_PAIR.get(config.out)

    def nothing(row, extent):
        return 0

    def no_bias(of_rows, col, left, extent, four):
        return four

    def begin(row, extent):
        M, _, lines = extent
        at = lines[3][2] + u64(size) * u64(row)
        return read_one(at, u32(row < M)), read_one(at + u64(8 * size), u32(row + 8 < M))

    def add_of_rows(of_rows, col, left, extent, four):
        above, below = of_rows
        return add(four[0], above), add(four[1], above), add(four[2], below), add(four[3], below)

    def add_of_pair(of_rows, col, left, extent, four):
        first, second = read_pair(extent[2][3][2] + u64(size) * u64(col), u32(left > 0))
        return add(four[0], first), add(four[1], second), add(four[2], first), add(four[3], second)

    def add_of_two(of_rows, col, left, extent, four):
        at = extent[2][3][2] + u64(size) * u64(col)
        first, second = read_one(at, u32(left > 0)), read_one(at + u64(size), u32(left > 1))
        return add(four[0], first), add(four[1], second), add(four[2], first), add(four[3], second)

    way = {"": no_bias, "m": add_of_rows, "n": add_of_pair if pairs else add_of_two}[of]
    return begin if of == "m" else nothing, way
