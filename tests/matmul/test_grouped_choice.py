"""Which configuration a grouped product gets: by an estimate for groups of several sizes, whose mean the host knows."""

from collections import defaultdict
from itertools import product
from statistics import geometric_mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from cuda_kernels.bench.programs import wanted_of
from cuda_kernels.lab import tuning_learn, tuning_record
from cuda_kernels.matmul.choose.choice import choose, likely, ranked
from cuda_kernels.matmul.choose.figures import FIGURES, H200
from cuda_kernels.matmul.choose.grouped import HIGHER, ROOM, TOGETHER, estimated_groups, of_groups, work_of_groups
from cuda_kernels.matmul.choose.model import tiles_of_uneven
from cuda_kernels.matmul.choose.wanted import Wanted
from simlayout.errors import SimlayoutError

RECORDS = {gpu: DATA / f"{gpu}_groups.json.xz" for gpu in ("h200", "h100")}
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


@pytest.mark.parametrize("N, K, off_b, off_k", [(4096, 4096, 0, 0), (4104, 4096, 3, 0), (4096, 4104, 0, 3),
                                               (4128, 4112, 1, 2)])
def test_lines_of_an_mn_major_b_lie_along_n_for_a_tile_and_its_transpose_alike(N, K, off_b, off_k):
    estimates = of_groups(("K", "MN"))
    whole = estimates.tile_n % 64 == 0                       # along N; others begin within a line, too
    turned = np.array([config.c_major == "M" for config in estimates.configs])
    aligned = work_of_groups(estimates, 4096, N, K, 8, H200, narrow=False, c_bytes=2).aligned[:, whole]
    assert set(turned[whole]) == {True, False} and np.allclose(aligned.sum(0), 1)
    assert all((part > 0).all() == (part > 0).any() == (which in (off_b, off_k)) for which, part in enumerate(aligned))


def test_more_groups_of_as_many_rows_take_longer_and_so_do_smaller_groups_of_as_many_rows_in_all():
    def least(rows, groups):
        return estimated_groups(Wanted(rows, 4096, 4096, groups, grouped=True), 4096, False, 2, GPU)[1].min()

    assert least(4096, 8) < least(8192, 16) < least(16384, 32) and least(4096, 8) < least(4096, 64) < least(4096, 256)


@pytest.mark.parametrize("figures", FIGURES.values())
@pytest.mark.parametrize("rows", [1, 64, 1024, 65536])
def test_few_rows_get_low_tiles_and_what_is_measured_begins_with_what_is_chosen(rows, figures):
    wanted = Wanted(rows, 4096, 4096, 64, grouped=True)
    found = likely(wanted, figures, 32)
    assert found[0] == choose(wanted, figures) and len(set(found)) == len(found) > 8
    assert found[0].group_height <= (64 if rows <= 1024 else 256) and found[0].group_height >= (64 if rows == 65536 else 0)


@pytest.mark.parametrize("figures", FIGURES.values())
@pytest.mark.parametrize("groups", [8, 16, 64, 128])
def test_groups_of_few_rows_get_tiles_with_room_for_four_times_as_many_at_most(groups, figures):
    for mean, N, K in product((1, 4, 16), (1536, 4096, 14336), (2048, 7168, 14336)):
        assert choose(Wanted(groups * mean, N, K, groups, grouped=True), figures).group_height <= max(16, ROOM * mean)


def test_higher_tiles_were_the_fastest_that_were_measured_at_three_of_184_products():
    heights, ratios = {*of_groups().tile_m.tolist()}, []
    more = (DATA / f"h200_groups_{name}.json.xz" for name in ("more", "many"))
    for record in map(tuning_record.read, (*RECORDS.values(), *more)):
        for tried in record.products:
            rows, of = tried.problem.M / tried.problem.groups, defaultdict(list)
            enough = min([height for height in heights if height >= ROOM * rows], default=max(heights))
            for config, us in record.times_of(tried).items():
                of[config.group_height > enough].append(us)
            ratios += [min(of[True]) / min(of[False])] if len(of) == 2 else []
    assert (len(ratios), round(min(ratios), 2), round(max(ratios), 2)) == (184, 0.97, 2.58)
    assert sum(ratio < 1 for ratio in ratios) == 3
    assert round(geometric_mean(ratios), 2) == HIGHER


def costs(gpu):
    """Times as long as the best of a product of a GPU's record that the first takes that is likely and was measured, and
    the number of likelier ones that were not."""
    record = tuning_record.read(RECORDS[gpu])
    for tried in record.products:
        times = record.times_of(tried)
        for number, (_, config) in enumerate(ranked(wanted_of(tried.problem), FIGURES[record.device])):
            if config in times:
                yield times[config] / min(times.values()), number
                break


@pytest.mark.parametrize("gpu, products, mean, most", [("h200", 28, 1.011, 1.08), ("h100", 90, 1.011, 1.09)])
def test_what_is_chosen_takes_little_longer_than_the_best_that_was_measured(gpu, products, mean, most):
    found, likelier = map(np.array, zip(*costs(gpu)))
    assert len(found) == products and (likelier == 0).sum() >= 0.75 * products
    assert np.exp(np.log(found).mean()) < mean and found.max() < most


def test_records_of_groups_and_of_other_products_are_not_learned_from_together(capsys):
    pair = [str(RECORDS["h100"]), str(DATA / "h100_unseen.json.xz")]
    with pytest.raises(SimlayoutError, match="learn from them one after the other"):
        tuning_learn.main(pair)
    assert tuning_learn.main([*pair, "--kept"]) == 0
    assert capsys.readouterr().out.count("kept") == 3
