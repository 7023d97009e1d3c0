"""Products of a stage that have scales of their own, promoted: multiplied by these as they are added to the sums.

The tensor core adds 8-bit floats with 13 bits behind the point (`simlayout.numerics`), so that in a long sum small products
are lost; a sum of 128 of K is short, and these sums are added by FMAs of f32. DeepSeek-V3's report, 3.3.2, says why.

The scales of a stage lie in shared memory, where a warp of the producer copies them (`producer`): a load from global memory
would be waited for by the next wgmma.fence, in every stage. All warps of a consumer read them, so each tells when a stage is
free. While a consumer promotes, the tensor core works for the others, if their products are there in time. So a consumer
waits for the next stage while its own products are made: between its last FMA and its next products nothing is waited for.
The consumers follow no order. In turns, each behind another one's products, an H100 took 8 to 17 percent more clocks
(tests/data/promoting.json).
"""

from cuda_kernels.intrinsics import (
    bar_warp_sync,
    f32,
    fma_rn_f32,
    ld_volatile_shared_f32,
    mbarrier_wait,
    register_array,
    s32,
    successor,
    u32,
    u64,
    wgmma_wait_group,
)
from cuda_kernels.kernels.hopper.parts import make_describe
from cuda_kernels.kernels.hopper.scales import CHUNK, column_scales, own_columns
from cuda_kernels.kernels.hopper.sums import SUMS


def make_load_scales(config, places):
    """load(smem, mine, stage, rows, columns): a thread's scales of a stage, from shared memory to register arrays: of two
    rows, 8 apart, of each band, and of its columns of the tile. mine: (its first row of the tile, its first column)."""
    own, bands, count = own_columns(config), config.bands, column_scales(config)
    at_scales, scale_bytes, behind = places.scales, config.scale_bytes, 4 * config.tile_m
    columns_at = tuple(behind + (32 * (i // 2) + 4 * (i % 2) if own else 4 * i) for i in range(count))

    def load(smem, mine, stage, rows, columns):
        row, col = mine
        first = s32(smem + at_scales + scale_bytes * stage)
        for band in range(bands):
            rows[2 * band] = ld_volatile_shared_f32(u32(first + 4 * row + 256 * band))
            rows[2 * band + 1] = ld_volatile_shared_f32(u32(first + 4 * row + 256 * band + 32))
        for i in range(count):
            columns[i] = ld_volatile_shared_f32(u32(first + 4 * col + columns_at[i]) if own else u32(first + columns_at[i]))

    return load


def make_promote(config):
    """promote(sums, products, above, below, of_columns): adds a stage's products times their scales, whose products are
    rounded first, to the sums of a band. above, below: the scales of a thread's two rows."""
    groups, own = config.tile_n // 8, own_columns(config)
    places = [(2 * j, 2 * j + 1) if own else (8 * j // CHUNK, 8 * j // CHUNK) for j in range(groups)]
    left_of, right_of = (tuple(place[i] for place in places) for i in range(2))

    def promote(sums, products, above, below, of_columns):
        for j in range(groups):
            left, right = of_columns[left_of[j]], of_columns[right_of[j]]
            sums[4 * j] = fma_rn_f32(f32(products[4 * j]), above * left, sums[4 * j])
            sums[4 * j + 1] = fma_rn_f32(f32(products[4 * j + 1]), above * right, sums[4 * j + 1])
            sums[4 * j + 2] = fma_rn_f32(f32(products[4 * j + 2]), below * left, sums[4 * j + 2])
            sums[4 * j + 3] = fma_rn_f32(f32(products[4 * j + 3]), below * right, sums[4 * j + 3])

    return promote


def make_hold(config):
    """hold(t, consumer): what a consumer's thread holds: a band's products of a stage; the scales of its rows of all bands,
    and of its columns, in a stage; its first row and column of the tile."""
    count, rows, kind = config.tile_n // 2, 64 * config.bands, SUMS[config.accumulates].scalar
    of_rows, of_columns = 2 * config.bands, column_scales(config)

    def hold(t, consumer):
        mine = s32(rows * consumer + t // 32 * 16 + t % 32 // 4), s32(t % 4 * 2)
        products, rows_held = register_array((count,), kind), register_array((of_rows,), f32)
        return products, rows_held, register_array((of_columns,), f32), mine

    return hold


def make_free(ctas):
    """free(t, tells, address): a warp tells that it has read a stage; address: of its mbarrier."""
    release = ctas.release

    def free(t, tells, address):
        bar_warp_sync()
        release(s32(t % 32), tells, 1, address)

    return free


def make_promoted_unit(config, places, ring, ctas):
    """(hold, multiply, finish) as of `multiply.make_multiply_unit`: a unit's stages are all promoted when it returns.

    Tiles of more than 128 rows have a stage's scales loaded ahead of its products, others behind them: the other way an
    H100 took 0 to 6 percent more clocks, but at 128 x 96 (tests/data/promoting.json)."""
    count, bands, at_full, at_empty = config.tile_n // 2, config.bands, places.full, places.empty
    next_stage, next_parity, scales_first = ring.next_stage, ring.next_parity, config.tile_m > 128
    multiply, promote, describe = config.multiply, make_promote(config), make_describe(config, places)
    load_scales, free = make_load_scales(config, places), make_free(ctas)
    wait, band = wgmma_wait_group(count, 0, 1, config.accumulates), config.operands[0].bytes >> 4

    def multiply_unit(acc, other, held, smem, t, tells, parity, stage, operands, step, end):
        products, rows, columns, mine = held
        for i in range(count):
            acc[i] = f32(0)
            if bands == 2:
                other[i] = f32(0)
        mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))
        while step < end:
            a, b = describe(operands, stage)
            empty = u32(smem + at_empty + 8 * stage)
            if scales_first:
                load_scales(smem, mine, stage, rows, columns)
            multiply(products, a, b, 0)
            if not scales_first:
                load_scales(smem, mine, stage, rows, columns)
            if bands == 2:
                wait(products)
                promote(acc, products, rows[0], rows[1], columns)
                multiply(products, a + u64(band), b, 0)
            parity = next_parity(parity, stage)
            stage = next_stage(stage)
            step = successor(step)
            if step < end:
                mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))
            wait(products)
            free(t, tells, empty)
            if bands == 2:
                promote(other, products, rows[2], rows[3], columns)
            else:
                promote(acc, products, rows[0], rows[1], columns)
        return stage, parity, u32(0)

    def finish(acc, other, held, t, tells, before):
        pass

    return make_hold(config), multiply_unit, finish
