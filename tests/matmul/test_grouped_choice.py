"""Which configuration a grouped product gets: by an estimate for groups of several sizes, whose mean the host knows."""

import json
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.lab.tuning import as_f16
from cuda_kernels.matmul.choose.choice import choose, likely, ranked
from cuda_kernels.matmul.choose.figures import FIGURES
from cuda_kernels.matmul.choose.grouped import FEW_ROWS, TOGETHER, estimated_groups, of_groups
from cuda_kernels.matmul.choose.model import tiles_of_uneven
from cuda_kernels.matmul.choose.wanted import Wanted

RECORD = DATA / "h100_groups.json.xz"
GPU = FIGURES["NVIDIA H100 80GB HBM3"]
TYPES = [("f16", "f16"), ("bf16", "f32"), ("e4m3", "bf16"), ("s8", "s32"), ("u8", "f16")]


@settings(deadline=None)
@given(st.integers(1, 60000), st.integers(1, 9000), st.integers(1, 9000), st.integers(1, 300), st.sampled_from(TYPES),
       st.sampled_from(["", "tensor", "lines", "1x128", "1x1"]), st.sampled_from(["K", "MN"]),
       st.sampled_from(["tma", "direct"]))
def test_every_grouped_product_gets_a_configuration_for_groups(rows, N, K, groups, types, scaled, b_major, store):
    dtype, out = types
    eight = dtype not in ("f16", "bf16")
    scaled = "" if out == "s32" or ("x" in scaled and not eight) else scaled
    wanted = Wanted(rows, N, K, groups, "K", "K" if eight else b_major, (dtype, dtype), out, scaled, store, grouped=True)
    config = choose(wanted, GPU)
    assert config.grouped and not config.split and config.cluster_ctas == 1 and config.out == out
    assert config.group == max(1, TOGETHER // config.group_height)
    assert config.turned(config.a_major, config.b_major) == ("K", wanted.b_major)


@given(st.floats(0.01, 40))
def test_the_mean_of_tiles_is_that_of_all_sizes_up_to_twice_the_mean_each_as_often(mean):
    sizes = np.linspace(0, 2 * mean, 200_001)[1:]
    assert tiles_of_uneven(mean) == pytest.approx(np.ceil(sizes - 1e-9).mean(), rel=1e-3)


def test_a_tile_and_its_transpose_lie_along_the_rows_of_groups_alike():
    estimates = of_groups()
    heights = np.array([config.tile_m if config.c_major == "N" else config.tile_n for config in estimates.configs])
    assert (estimates.tile_m == heights).all() and not estimates.turned.any()


def test_more_groups_of_as_many_rows_take_longer_and_so_do_smaller_groups_of_as_many_rows_in_all():
    def least(rows, groups):
        return estimated_groups(Wanted(rows, 4096, 4096, groups, grouped=True), 4096, GPU, 0)[1].min()

    assert least(4096, 8) < least(8192, 16) < least(16384, 32) and least(4096, 8) < least(4096, 64) < least(4096, 256)


@pytest.mark.parametrize("rows", [64, 64 * FEW_ROWS, 64 * FEW_ROWS + 64, 65536])
def test_few_rows_get_low_tiles_first_and_what_is_measured_goes_on_to_others(rows):
    found = likely(Wanted(rows, 4096, 4096, 64, grouped=True), GPU, 32)
    low = [config.c_major == "M" and config.tile_m == 64 and config.tile_n <= FEW_ROWS for config in found]
    assert found[0] == choose(Wanted(rows, 4096, 4096, 64, grouped=True), GPU)
    assert low[0] == (rows <= 64 * FEW_ROWS) and low == sorted(low, reverse=low[0]) and len(found) > 8 and not all(low)


def costs():
    """Times as long as the best of a product of the record that the first takes that is likely and was measured, and the
    number of likelier ones that were not."""
    record = json.loads(lzma.decompress(RECORD.read_bytes()))
    configs = [Hopper(**changes) for changes in record["configs"]]
    for (M, N, K, dtype, scaled, groups), _, measured, _ in record["rows"]:
        times = {configs[i]: us for i, us in measured}
        wanted = Wanted(M, N, K, groups, types=(dtype, dtype), out="bf16", scaled=scaled, grouped=True)
        for number, (_, config) in enumerate(ranked(wanted, FIGURES[record["device"]])):
            if as_f16(config) in times:
                yield times[as_f16(config)] / min(times.values()), number
                break


def test_what_is_chosen_takes_little_longer_than_the_best_that_an_h100_measured():
    found, likelier = map(np.array, zip(*costs()))
    assert len(found) == 24 and np.exp(np.log(found).mean()) < 1.0095 and found.max() < 1.08 and (likelier == 0).sum() >= 19
