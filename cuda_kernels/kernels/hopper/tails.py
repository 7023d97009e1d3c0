"""The last tile of a group, where C is stored by columns: if half of its columns lie behind the group's end, they are not
multiplied.

All of a tile costs power, and time where the tensor cores are what is waited for, whether it is stored or not. Tiles of
rows, which large groups get, are multiplied whole.
"""

from cuda_kernels.kernels.hopper.multiply import make_multiply_unit, make_products


def make_half_products(config):
    """`multiply.make_products` of the first half of a tile's columns, in the first half of the accumulators."""
    multiply, (_, wait) = config.half, make_products(config)

    def multiply_one(acc, other, a, b, added):
        multiply(acc, a, b, added)

    def multiply_two(acc, other, a, b, added):
        multiply(acc, other, a, b, added)

    return multiply_one if config.bands == 1 else multiply_two, wait


def make_tail_unit(config, places, ring, ctas):
    """`multiply.make_multiply_unit` of a grouped configuration whose tiles have a half."""
    half, (_, wait) = config.half_columns, make_products(config)
    hold, multiply_unit, finish = make_multiply_unit(config, places, ring, ctas)
    _, multiply_half, _ = make_multiply_unit(config, places, ring, ctas, make_half_products)

    def multiply(acc, other, held, smem, t, tells, parity, stage, operands, step, end, left):
        if left <= half:
            stage, parity, before = multiply_half(acc, other, held, smem, t, tells, parity, stage, operands, step, end, left)
            wait(acc, other)                             # where the ways meet ptxas wants no products under way
        else:
            stage, parity, before = multiply_unit(acc, other, held, smem, t, tells, parity, stage, operands, step, end, left)
            wait(acc, other)
        return stage, parity, before

    return hold, multiply, finish
