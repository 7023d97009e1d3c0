"""What a consumer of `wgmma_persistent` multiplies: a stage, and all stages of a unit of work."""

from cuda_kernels.intrinsics import mbarrier_wait, s32, successor, u32, wgmma_wait_group
from cuda_kernels.kernels.hopper.parts import make_describe


def make_products(config):
    """(multiply(acc, other, a, b, added), wait(acc, other)): issues a stage's products of a consumer's bands of 64 rows,
    into `acc`, or `acc` and `other`, and waits for all of them. a, b: descriptors; added: whether to what is there."""
    multiply, wait_all = config.multiply, wgmma_wait_group(config.tile_n // 2, 0, config.bands, config.sums)

    def multiply_one(acc, other, a, b, added):
        multiply(acc, a, b, added)

    def multiply_two(acc, other, a, b, added):
        multiply(acc, other, a, b, added)

    def wait_one(acc, other):
        wait_all(acc)

    def wait_two(acc, other):
        wait_all(acc, other)

    return (multiply_one, wait_one) if config.bands == 1 else (multiply_two, wait_two)


def make_multiply_stage(config, places, release):
    """multiply(acc, other, smem, t, tells, stage, parity, operands, added, before): waits until a stage is filled,
    issues its products, and releases the stage before, whose mbarrier is `before`, as soon as its products are done.

    t, tells: the thread, and what it tells (as of `Cluster`); operands: first bytes of the consumer's A and B; added: 0 for
    the first stage of a unit of work, which has none before it and whose products replace what is in the accumulators.
    """
    at_full, describe = places.full, make_describe(config, places)
    (multiply, _), wait_step = make_products(config), wgmma_wait_group(0, 1)

    def multiply_stage(acc, other, smem, t, tells, stage, parity, operands, added, before):
        a, b = describe(operands, stage)
        mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))
        multiply(acc, other, a, b, added)
        wait_step()
        release(t, tells, added, before)

    return multiply_stage


def make_multiply_unit(config, places, ring, ctas):
    """(hold(t, consumer), multiply(acc, other, held, smem, t, tells, parity, stage, operands, step, end), finish(acc,
    other, held, t, tells, before)): what a consumer holds beside its sums; the products of a unit of work, steps `step` to
    `end` along K, which returns the stage and parity behind them and the mbarrier of the last stage; what waits for the last
    products and releases that stage."""
    at_empty, next_stage, next_parity = places.empty, ring.next_stage, ring.next_parity
    multiply_stage, release = make_multiply_stage(config, places, ctas.release), ctas.release
    _, wait_bands = make_products(config)

    def hold(t, consumer):
        return 0

    def multiply_unit(acc, other, held, smem, t, tells, parity, stage, operands, step, end):
        added, before = s32(0), u32(smem + at_empty)
        while step < end:
            multiply_stage(acc, other, smem, t, tells, stage, parity, operands, added, before)
            added, before = s32(1), u32(smem + at_empty + 8 * stage)
            parity = next_parity(parity, stage)
            stage = next_stage(stage)
            step = successor(step)
        return stage, parity, before

    def finish(acc, other, held, t, tells, before):
        wait_bands(acc, other)
        release(t, tells, 1, before)

    return hold, multiply_unit, finish
