"""The last tile of a group of rows: a half of it or more that lies behind the group's end is not multiplied.

All of a tile costs power, and time where the tensor cores are what is waited for, whether it is stored or not. Where C is
stored by columns half of these may be enough, or of two bands of rows one; a consumer whose rows all lie behind the end only
passes the stages on.
"""

from cuda_kernels.intrinsics import mbarrier_wait, s32, successor, u32
from cuda_kernels.kernels.hopper.multiply import make_multiply_unit, make_products


def make_half_products(config):
    """`multiply.make_products` of half a tile: of half its columns where C is stored by columns, else of the first of two
    bands of rows. It uses the first half of the accumulators, or those of the first band."""
    multiply, (_, wait) = config.half, make_products(config)

    def multiply_one(acc, other, a, b, added):
        multiply(acc, a, b, added)

    def multiply_two(acc, other, a, b, added):
        multiply(acc, other, a, b, added)

    return multiply_two if config.c_major == "M" and config.bands == 2 else multiply_one, wait


def make_pass_unit(config, places, ring, ctas):
    """multiply, as of `multiply.make_multiply_unit`, that multiplies nothing: it releases the stages as they come."""
    at_full, at_empty, next_stage, next_parity = places.full, places.empty, ring.next_stage, ring.next_parity
    release = ctas.release

    def pass_unit(acc, other, held, smem, t, tells, parity, stage, operands, step, end, left):
        added, before = s32(0), u32(smem + at_empty)
        while step < end:
            mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))
            release(t, tells, added, before)
            added, before = s32(1), u32(smem + at_empty + 8 * stage)
            parity = next_parity(parity, stage)
            stage = next_stage(stage)
            step = successor(step)
        return stage, parity, before

    return pass_unit


def make_tail_unit(config, places, ring, ctas):
    """`multiply.make_multiply_unit` of a grouped configuration."""
    hold, multiply_unit, finish = make_multiply_unit(config, places, ring, ctas)
    by_columns, halves = config.c_major == "M", config.half is not None
    passes, half = not by_columns and config.tile_consumers > 1, config.tile_n // 2 if by_columns else 64
    _, multiply_half, _ = make_multiply_unit(config, places, ring, ctas, make_half_products if halves else make_products)
    pass_unit = make_pass_unit(config, places, ring, ctas)

    def multiply(acc, other, held, smem, t, tells, parity, stage, operands, step, end, left):
        if passes and left <= 0:
            return pass_unit(acc, other, held, smem, t, tells, parity, stage, operands, step, end, left)
        if halves and left <= half:
            return multiply_half(acc, other, held, smem, t, tells, parity, stage, operands, step, end, left)
        return multiply_unit(acc, other, held, smem, t, tells, parity, stage, operands, step, end, left)

    return hold, multiply, finish
