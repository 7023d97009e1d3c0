"""The loops of tensor-core arithmetic, compiled with Numba: equal to `arithmetic`, bit for bit.

`compiled` calls `fused`, `integer` and `fma`, one for each way to add, whatever the types. They take operands as words,
uint32. An element lies at a sum of three offsets: of its tile of the batch, of its k or row, and of its row or column. So
matrices in any order and registers of a warp are the same to these functions.

A block of at most ROWS x COLUMNS results is computed at a time: the operands of a step are decoded into panels of float64
values and int32 exponents, [k, rows] and [k, columns], and the results stay in a panel of float64, which holds f16 and f32
exactly, until the chain is done. Columns are innermost; the loops over them become vector instructions.

Where a function here takes an array, it uses it on all its paths, and none is taken out of a tuple in a loop: else Numba
counts references in the loop, which takes longer than the arithmetic.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from simlayout.jit import inlined, jit
from simlayout.numerics.fma import INVALID
from simlayout.numerics.formats import SPECIAL, SPECIAL_SUM, ZERO
from simlayout.numerics.rules import ZERO_EXPONENT

ROWS, COLUMNS, LANES = 64, 256, 16
"""Most rows and columns of a block: its panels stay in the cache. Panels have a multiple of LANES columns, so that vector
instructions leave no rest; what stands in those behind the last is not used."""

INFINITE, NEGATIVE, NOT_A_NUMBER = SPECIAL, SPECIAL + 1, SPECIAL + 2
"""Exponents of infinities, by their sign, and of NaN. Their values are 0."""

_F16_LEAST, _F32_LEAST = -14, -126
"""The exponents of subnormal numbers."""

_QUIET = np.int64(1 << 51)
_INVALID = INVALID.view(np.int64)
"""The bit that makes a NaN quiet, and the NaN that is none of an operand."""


@inlined
def raw_of(x):
    """The bits of a float64."""
    return np.float64(x).view(np.int64)


@inlined
def power(exponent):
    """2**exponent as float64, of a normal number."""
    return np.int64((1023 + exponent) << 52).view(np.float64)


@inlined
def load(words, bits, first, offsets, start, count, elements):
    """The elements, raw bits, that lie at so many offsets behind `first`, from offsets[start] on; of 1 to 32 bits."""
    for j in range(count):
        place = (first + offsets[start + j]) * bits
        elements[j] = words[place >> 5] >> (place & 31) & ((1 << bits) - 1)


@inlined
def decode(elements, count, form, values, exponents, i):
    """Raw bits of a float format into values and exponents, as `formats.decode` does, but for the exponents of infinities
    and NaN (see INFINITE)."""
    fraction, width, least, dropped = form.fraction, form.exponent + form.fraction, form.least, form.dropped
    largest, infinities = (1 << form.exponent) - 1, form.infinities
    bias, fractions, infinity = largest >> 1, (1 << fraction) - 1, largest << fraction
    special = infinity if infinities else infinity + fractions           # this magnitude and those above it
    for j in range(count):
        bits = np.int64(elements[j]) & ~dropped
        magnitude = bits & ((1 << width) - 1)
        field = magnitude >> fraction
        significand = (magnitude & fractions) + (np.int64(field > 0) << fraction)
        value = np.float64(np.int32(significand)) * power(max(field, 1) - bias - fraction)
        negative = bits >> width & 1
        kind = INFINITE + negative if infinities and magnitude == infinity else NOT_A_NUMBER
        exponent = max((raw_of(value) >> 52) - 1023, least)
        exponents[i, j] = kind if magnitude >= special else exponent if magnitude else ZERO
        value = 0.0 if magnitude >= special else value
        values[i, j] = -value if negative else value


@inlined
def exponent_of(x, least):
    """The exponent with which a float64 that is c takes part in a sum."""
    field = raw_of(x) >> 52 & 2047
    exponent = SPECIAL if field == 2047 else max(field - 1023, least)
    return exponent if x != 0 else ZERO_EXPONENT


@inlined
def rounded_to_f16(x):
    """A float64 rounded to the nearest f16, ties to even, as float64; zeros become +0."""
    exponent = min(max((raw_of(x) >> 52 & 2047) - 1023, _F16_LEAST), 30)
    large = 1.5 * power(exponent + 42)                           # its last bit is that of an f16 of this exponent
    nearest = (x + large) - large + 0.0
    return nearest if abs(nearest) < 65536 or nearest != nearest else np.inf if nearest > 0 else -np.inf


@inlined
def truncated_to_f32(x, kept):
    """A float64 truncated to an f32, of whose fraction the bits `kept` (of a float64) stay; zeros become +0."""
    subnormal = np.trunc(x * 2.0**149) * 2.0**-149 + 0.0
    x = subnormal if abs(x) < 2.0**-126 else x
    return np.float64(np.float32(np.int64(raw_of(x) & kept).view(np.float64)))


@jit
def fused_sums(a, a_exponents, b, b_exponents, c, rows, columns, numbers, room):
    """One fused step (`rules.Rule`): of panels a [k, rows] and b [k, columns], whose k is a multiple of four, into c [rows,
    columns]. room: tops int32 [columns], scales float64 [columns], sums int32 [columns]."""
    k, fraction_bits, half = numbers.k, numbers.fraction_bits, numbers.half
    least, kept = _F16_LEAST if half else _F32_LEAST, np.int64(-1) << (52 - numbers.kept_bits)
    tops, scales, sums = room
    for row in range(rows):
        for j in range(columns):
            tops[j] = exponent_of(c[row, j], least)
        for i in range(0, k, 4):
            e0, e1, e2, e3 = a_exponents[i, row], a_exponents[i + 1, row], a_exponents[i + 2, row], a_exponents[i + 3, row]
            for j in range(columns):
                tops[j] = max(max(tops[j], max(np.int32(e0 + b_exponents[i, j]), np.int32(e1 + b_exponents[i + 1, j]))),
                              max(np.int32(e2 + b_exponents[i + 2, j]), np.int32(e3 + b_exponents[i + 3, j])))
        most = np.int32(ZERO)
        for j in range(columns):
            most = max(most, tops[j])
            scales[j] = power(fraction_bits - min(tops[j], SPECIAL_SUM))
            sums[j] = 0
        for i in range(0, k, 4):
            v0, v1, v2, v3 = a[i, row], a[i + 1, row], a[i + 2, row], a[i + 3, row]
            for j in range(columns):
                s = scales[j]                                # int32 truncates toward zero
                sums[j] += (np.int32(v0 * b[i, j] * s) + np.int32(v1 * b[i + 1, j] * s)
                            + np.int32(v2 * b[i + 2, j] * s) + np.int32(v3 * b[i + 3, j] * s))
        if most > SPECIAL_SUM:
            for j in range(columns):
                if tops[j] > SPECIAL_SUM:                    # what follows leaves it as it is
                    c[row, j] = special_sum(a, a_exponents, b, b_exponents, c[row, j], row, j, k)
        for j in range(columns):
            before, top = c[row, j], min(tops[j], SPECIAL_SUM)
            total = (np.trunc(before * scales[j]) + sums[j]) * power(top - fraction_bits)
            d = rounded_to_f16(total) if half else truncated_to_f32(total, kept)
            c[row, j] = before if tops[j] > SPECIAL_SUM else d


@jit
def special_sum(a, a_exponents, b, b_exponents, c, row, column, k):
    """An infinity or NaN: a sum with one of them among its addends."""
    positive, negative, nan = c == np.inf, c == -np.inf, c != c
    for i in range(k):
        x, y = a_exponents[i, row], b_exponents[i, column]
        if x + y > SPECIAL_SUM:
            if x == NOT_A_NUMBER or y == NOT_A_NUMBER or x == ZERO or y == ZERO:
                nan = True
            elif (x == NEGATIVE or a[i, row] < 0) != (y == NEGATIVE or b[i, column] < 0):
                negative = True
            else:
                positive = True
    return np.nan if nan or positive and negative else np.inf if positive else -np.inf


# ---- c and d ---------------------------------------------------------------------------------------------------------


@inlined
def start_of(elements, count, half, values, row):
    """Raw bits of f16 or f32 as float64, infinities and NaN included."""
    for j in range(count):
        bits = np.int64(elements[j])
        field, fraction = bits >> 10 & 31, bits & 1023
        value = (fraction + (1024 if field else 0)) * power(max(field, 1) - 25)
        value = (np.nan if fraction else np.inf) if field == 31 else value
        value = -value if bits >> 15 else value
        values[row, j] = value if half else np.float64(np.uint32(bits).view(np.float32))


@inlined
def store_f16(values, row, halves, first, offsets, start, count):
    """float64 that f16 can hold as such elements; NaN with the bits that a tensor core gives it."""
    for j in range(count):
        value = values[row, j]
        size = abs(value)
        bits = raw_of(size)
        bits16 = bits >> 42 & 1023 | (bits >> 52) - 1008 << 10 if size >= 2.0**-14 else np.int64(size * 2.0**24)
        bits16 = (0x7C00 if size == np.inf else bits16) | np.int64(value < 0) << 15
        halves[first + offsets[start + j]] = bits16 if value == value else 0x7FFF


@inlined
def store_f32(values, row, words, first, offsets, start, count):
    """As `store_f16`, of f32."""
    for j in range(count):
        value = values[row, j]
        words[first + offsets[start + j]] = np.float32(value).view(np.uint32) if value == value else 0x7FFFFFFF


@jit
def fused(batch, a, b, c, d, offsets, numbers, a_form, b_form):
    """The kinds "fused" and "through f16". The latter has two steps per instruction, which start from zero and end with an
    addition of c. batch: of tiles; offsets, numbers and forms as `compiled.Program` makes them."""
    numbers, a_form, b_form = numbers[0], a_form[0], b_form[0]
    m, n, k, half, steps = numbers.rows, numbers.columns, numbers.k, numbers.half, numbers.steps
    a_k, b_k, a_row, b_column, c_row, c_column, d_row, d_column = split(offsets, k * steps, m, n)
    halves, c_bits = d.view(np.uint16), 16 if half else 32
    high, wide = min(m, ROWS), min(up(n), COLUMNS)
    elements = np.empty(max(high, wide), np.uint32)
    left, left_exponents = np.empty((k, high)), np.empty((k, high), np.int32)
    right, right_exponents = np.zeros((k, wide)), np.full((k, wide), ZERO, np.int32)
    state, start = np.zeros((high, wide)), np.empty((high, wide))
    room = np.empty(wide, np.int32), np.empty(wide), np.empty(wide, np.int32)
    for tile in range(batch):
        for row in range(0, m, high):
            rows = min(high, m - row)
            for column in range(0, n, wide):
                columns = min(wide, n - column)
                for r in range(rows):
                    load(c, c_bits, tile * numbers.c_tile + c_row[row + r], c_column, column, columns, elements)
                    start_of(elements, columns, half, state, r)
                for step in range(steps):
                    if numbers.apart and step % 2 == 0:
                        start[:] = state
                        state[:] = 0
                    for i in range(k):
                        first = tile * numbers.a_tile + a_k[step * k + i]
                        load(a, numbers.a_bits, first, a_row, row, rows, elements)
                        decode(elements, rows, a_form, left, left_exponents, i)
                        first = tile * numbers.b_tile + b_k[step * k + i]
                        load(b, numbers.b_bits, first, b_column, column, columns, elements)
                        decode(elements, columns, b_form, right, right_exponents, i)
                    fused_sums(left, left_exponents, right, right_exponents, state, rows, up(columns), numbers, room)
                    if numbers.apart and step % 2:
                        add(state, start, rows, columns, half)
                for r in range(rows):
                    first = tile * numbers.d_tile + d_row[row + r]
                    if half:
                        store_f16(state, r, halves, first, d_column, column, columns)
                    else:
                        store_f32(state, r, d, first, d_column, column, columns)


@inlined
def add(state, start, rows, columns, half):
    """Adds start to state, as f16 or f32."""
    for row in range(rows):
        for j in range(columns):
            total = state[row, j] + start[row, j]
            state[row, j] = rounded_to_f16(total) if half else np.float64(np.float32(total))


@inlined
def up(columns):
    """The next multiple of LANES."""
    return (columns + LANES - 1) // LANES * LANES


@inlined
def split(offsets, k, m, n):
    """The offsets of a's and b's k, a's rows, b's columns, c's and d's rows and columns."""
    end = 2 * k + m + n
    return (offsets[:k], offsets[k:2 * k], offsets[2 * k:2 * k + m], offsets[2 * k + m:end], offsets[end:end + m],
            offsets[end + m:end + m + n], offsets[end + m + n:end + 2 * m + n], offsets[end + 2 * m + n:])


# ---- integers, bits and f64 --------------------------------------------------------------------------------------------


@jit
def integer(batch, a, b, c, d, offsets, numbers, a_form, b_form):
    """The kind "integer"; arguments as of `fused`."""
    numbers, a_form, b_form = numbers[0], a_form[0], b_form[0]
    m, n, k, steps = numbers.rows, numbers.columns, numbers.k, numbers.steps
    a_k, b_k, a_row, b_column, c_row, c_column, d_row, d_column = split(offsets, k * steps, m, n)
    high, wide = min(m, ROWS), min(up(n), COLUMNS)
    elements = np.empty(max(high, wide), np.uint32)
    left, right = np.empty((k, high), np.int32), np.zeros((k, wide), np.int32)
    state, sums = np.zeros((high, wide), np.int32), np.empty(wide, np.int32)
    before, after = c.view(np.int32), d.view(np.int32)
    for tile in range(batch):
        for row in range(0, m, high):
            rows = min(high, m - row)
            for column in range(0, n, wide):
                columns = min(wide, n - column)
                for r in range(rows):
                    for j in range(columns):
                        state[r, j] = before[tile * numbers.c_tile + c_row[row + r] + c_column[column + j]]
                for step in range(steps):
                    for i in range(k):
                        first = tile * numbers.a_tile + a_k[step * k + i]
                        load(a, numbers.a_bits, first, a_row, row, rows, elements)
                        signed(elements, rows, a_form, left, i)
                        first = tile * numbers.b_tile + b_k[step * k + i]
                        load(b, numbers.b_bits, first, b_column, column, columns, elements)
                        signed(elements, columns, b_form, right, i)
                    integer_sums(left, right, state, rows, up(columns), numbers, sums)
                for r in range(rows):
                    for j in range(columns):
                        after[tile * numbers.d_tile + d_row[row + r] + d_column[column + j]] = state[r, j]


@inlined
def signed(elements, count, form, values, i):
    """Raw bits as integers."""
    mask, sign = (np.int64(1) << form.bits) - 1, np.int64(form.sign)
    for j in range(count):
        values[i, j] = (np.int64(elements[j]) & mask ^ sign) - sign


@jit
def integer_sums(a, b, c, rows, columns, numbers, sums):
    """One instruction: of panels a [k, rows] and b [k, columns], whose k is a multiple of four, into c [rows, columns]; all
    int32. The exclusive or of bits x and y is x + (1 - 2 x) y."""
    for row in range(rows):
        start = np.int32(0)
        if numbers.exclusive:
            for i in range(numbers.k):
                start += a[i, row]
        for j in range(columns):
            sums[j] = start
        for i in range(0, numbers.k, 4):
            v0, v1, v2, v3 = a[i, row], a[i + 1, row], a[i + 2, row], a[i + 3, row]
            if numbers.exclusive:
                v0, v1, v2, v3 = (np.int32(1 - 2 * v0), np.int32(1 - 2 * v1), np.int32(1 - 2 * v2), np.int32(1 - 2 * v3))
            for j in range(columns):
                sums[j] += np.int32(v0 * b[i, j] + v1 * b[i + 1, j] + v2 * b[i + 2, j] + v3 * b[i + 3, j])
        for j in range(columns):
            total = np.int64(c[row, j]) + sums[j]
            total = min(max(total, -2**31), 2**31 - 1) if numbers.saturates else total
            c[row, j] = np.int32(total)


@intrinsic
def multiply_add(context, a, b, c):
    """a b + c of float64, rounded once: the instruction of the processor, or the C library's function."""
    def generate(context, builder, signature, arguments):
        assert all(argument.type == ir.DoubleType() for argument in arguments)
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@inlined
def nan_of(a, b, c):
    """The NaN of a sum that is none: `fma.fma` says which."""
    bits = raw_of(c) if c != c else raw_of(a) if a != a else raw_of(b) if b != b else _INVALID
    return np.int64(bits | _QUIET).view(np.float64)


@jit
def fma(batch, a, b, c, d, offsets, numbers, a_form, b_form):
    """The kind "fma"; arguments as of `fused`, without forms of elements."""
    numbers = numbers[0]
    m, n, k, steps = numbers.rows, numbers.columns, numbers.k, numbers.steps
    a_k, b_k, a_row, b_column, c_row, c_column, d_row, d_column = split(offsets, k * steps, m, n)
    left, right, before, after = a.view(np.float64), b.view(np.float64), c.view(np.float64), d.view(np.float64)
    state = np.empty(min(n, COLUMNS))
    panel = np.empty((k * steps, min(n, COLUMNS)))
    for tile in range(batch):
        for column in range(0, n, COLUMNS):
            columns = min(COLUMNS, n - column)
            for i in range(k * steps):
                for j in range(columns):
                    panel[i, j] = right[tile * numbers.b_tile + b_k[i] + b_column[column + j]]
            for row in range(m):
                for j in range(columns):
                    state[j] = before[tile * numbers.c_tile + c_row[row] + c_column[column + j]]
                for i in range(k * steps):
                    x = left[tile * numbers.a_tile + a_k[i] + a_row[row]]
                    for j in range(columns):
                        total = multiply_add(x, panel[i, j], state[j])
                        state[j] = total if total == total else nan_of(x, panel[i, j], state[j])
                for j in range(columns):
                    after[tile * numbers.d_tile + d_row[row] + d_column[column + j]] = state[j]
