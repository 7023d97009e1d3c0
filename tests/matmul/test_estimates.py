"""The estimate of a product's time: what it makes of tiles, what it was fitted to, and what it says of stores and of L2."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from places import DATA

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.last_wave import cut_tiles, slots
from cuda_kernels.lab.tuning_fit import read
from cuda_kernels.matmul.choose.candidates import ORDERS, candidates
from cuda_kernels.matmul.choose.choice import choose
from cuda_kernels.matmul.choose.figures import Figures
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.programs import programs_of
from cuda_kernels.matmul.choose.rates import RATES
from cuda_kernels.matmul.choose.wanted import Wanted

ESTIMATES = programs_of().in_ways(ORDERS)


@given(*[st.integers(1, 9000)] * 3, st.integers(1, 3), st.sampled_from([66, 114, 132]))
def test_the_estimates_cut_tiles_as_the_configurations_do(M, N, K, matrices, sms):
    table = Estimates(candidates()[::7])
    rows, cols = (np.where(table.turned, *sizes) for sizes in ((N, M), (M, N)))
    tiles = -(-rows // (table.tile_m * table.cluster_m)) * -(-cols // (table.tile_n * table.cluster_n)) * matrices
    whole, parts = cut_tiles(table, tiles, slots(table, sms), -(-K // 64))
    for config, *found in zip(table.configs, rows, cols, tiles, whole, parts):
        m, n, *found = map(int, found)
        assert found == [config.tiles(m, n, matrices), *config.cut(m, n, K, matrices, sms)]
    assert (table(M, N, K, matrices, Figures(sms)) > 0).all()


@given(*[st.integers(1, 20_000)] * 3, st.sampled_from(["K", "MN"]), st.sampled_from(["K", "MN"]),
       st.sampled_from([("f16", "f16", "f16"), ("bf16", "bf16", "bf16"), ("bf16", "bf16", "f32"), ("e4m3", "e5m2", "bf16")]),
       st.sampled_from(["tma", "direct"]))
def test_every_product_gets_a_configuration_of_its_own_types(M, N, K, a_major, b_major, types, store):
    *operands, out = types
    if operands[0] == "e4m3":                            # which wgmma reads K-major alone
        a_major = b_major = "K"
    wanted = Wanted(M, N, K, 1, a_major, b_major, tuple(operands), out, store=store)
    config = choose(wanted)
    assert wanted.store == ("direct" if out == "f32" else store) and config.store in (wanted.store, "sectors")
    assert (config.turned(config.a_major, config.b_major), config.out) == ((a_major, b_major), out)
    assert config.turned(*config.types) == tuple(operands)


@pytest.mark.parametrize("record, products", [("h200_likely", 170), ("h100_likely", 489), ("h200_tuning", 907)])
def test_the_estimates_are_near_the_measured_times_those_of_older_kernels_too(record, products):
    measured = read(DATA / f"{record}.json.xz")
    assert len(measured.problems) == products and measured.error(measured.estimated(RATES)) < 0.05


def test_the_estimates_are_near_what_slices_took():
    measured = read(DATA / "h100_slices.json.xz")
    sliced = np.flatnonzero(measured.estimates.slices[measured.tried] > 1)
    assert len(sliced) > 300 and measured.of(sliced).error(measured.of(sliced).estimated(RATES)) < 0.06


@given(st.integers(1, 132), st.integers(2, 9), st.integers(64, 9000))
def test_consumers_in_turns_are_estimated_to_hide_every_store_but_the_last_one(ctas, tiles, K):
    alone = Hopper(64, 128, 8, 1)
    estimates = Estimates((alone, replace(alone, pingpong=True)))
    one, turns = (estimates.times(estimates.work(64 * count, 128, K)) for count in (ctas, 132 * tiles))
    assert one[0] == one[1] and turns[0] > turns[1]


@given(st.sampled_from(ESTIMATES.configs), *[st.integers(1, 9000)] * 3)
@example(Hopper(128, 64, 8, group=2), 1024, 1024, 1024)
@example(Hopper(64, 64, 8), 2**24, 2**24, 64)          # more tiles than 32 bits can number
def test_l2_serves_no_more_where_neighbours_ask_together_and_never_less_than_one_of_them(config, M, N, K):
    work = Estimates((config,)).work(M, N, K)
    least = work.requested / (18 if config.sharing == 1 else 16)
    assert least <= work.gathered <= work.paired <= work.requested
    if config.sharing > 1:
        assert work.paired == work.requested           # its CTAs are one another's neighbours
