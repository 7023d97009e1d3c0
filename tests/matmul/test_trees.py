"""The trees that correct the cost model: kept whole, evaluated as CatBoost does, and worth what they say."""

import json
import sys
from statistics import geometric_mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA

from cuda_kernels.bench.programs import wanted_of
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.lab import tuning_learn, tuning_record
from cuda_kernels.lab.tuning_fit import read, read_each
from cuda_kernels.matmul.choose import trees as hopper_trees
from cuda_kernels.matmul.choose.candidates import BY_SECTORS
from cuda_kernels.matmul.choose.choice import choose
from cuda_kernels.matmul.choose.figures import FIGURES, H200
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.rates import RATES
from cuda_kernels.matmul.choose.trees import FEATURES, UNIT, Trees, features
from simlayout.errors import DeviceError, ParseError, SimlayoutError

RECORDS = [DATA / name for name in json.loads(hopper_trees.PATH.read_text())["records"]]
NONE = Trees(np.zeros((1, 1), int), np.zeros((1, 1), np.float32), np.zeros((1, 2)))


@st.composite
def trees(draw):
    count, depth = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    source = np.random.default_rng(draw(st.integers(0, 2**32)))
    return Trees(source.integers(0, len(FEATURES), (count, depth)),
                 source.standard_normal((count, depth)).astype(np.float32),
                 UNIT * source.integers(-9999, 9999, (count, 2**depth)))


def walked(tree, features):
    """One factor, question by question."""
    total = 0.0
    for feature, border, leaf in zip(tree.feature, tree.border, tree.leaf):
        answers = [features[f] > b for f, b in zip(feature, border)]
        total += leaf[sum(2**i for i, answer in enumerate(answers) if answer)]
    return np.exp(total)


@given(trees(), st.integers(0, 2**32))
def test_all_configurations_at_once_get_what_each_gets_question_by_question(forest, seed):
    table = np.random.default_rng(seed).standard_normal((len(FEATURES), 4)).astype(np.float32)
    np.testing.assert_allclose(forest(table), [walked(forest, column) for column in table.T])


@given(trees())
def test_a_file_gives_back_what_was_written(tmp_path_factory, forest):
    path = tmp_path_factory.mktemp("trees") / "x.json"
    forest.write(path, {"records": ["a record"]})
    found = hopper_trees.read(path)
    assert (found.feature == forest.feature).all() and (found.border == forest.border).all()
    np.testing.assert_allclose(found.leaf, forest.leaf, atol=1e-12)


@pytest.mark.parametrize("text", ["", "{}", '{"features": [], "depth": 1}', '{"depth": 1, "feature": 3}',
                                  '{"depth": "x", "feature": "AA==", "border": "AAAAAA==", "leaf": "AAAAAA=="}',
                                  '{"depth": 1, "feature": "no base 64", "border": "", "leaf": ""}'])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ParseError, match="holds no trees"):
        hopper_trees.read(tmp_path / "x.json")


@pytest.mark.parametrize("feature, leaves, features", [
    (99, 2, FEATURES), (255, 2, FEATURES), (0, 4, FEATURES), (0, 2, FEATURES[::-1])])
def test_trees_that_ask_for_what_is_not_there_are_refused(tmp_path, feature, leaves, features):
    Trees(np.array([[feature]]), np.ones((1, 1), np.float32), np.zeros((1, leaves))).write(tmp_path / "x.json", {})
    record = json.loads((tmp_path / "x.json").read_text())
    (tmp_path / "x.json").write_text(json.dumps(record | {"features": features}))
    with pytest.raises(ParseError, match="others"):
        hopper_trees.read(tmp_path / "x.json")


def test_leaves_that_a_file_has_no_room_for_are_refused(tmp_path):
    with pytest.raises(SimlayoutError, match="less than 2.62144"):
        Trees(np.array([[0]]), np.ones((1, 1), np.float32), np.array([[0.0, -2.7]])).write(tmp_path / "x.json", {})


def test_the_estimates_are_corrected_and_what_is_never_chosen_stays_so(tmp_path):
    configs = Hopper(64, 64, 8, 1), Hopper(64, 64, 4, 1, resident=2, producer=1)      # a second CTA has nothing to do
    asks = Trees(np.array([[FEATURES.index("tile_n")]]), np.array([[63]], np.float32), np.log([[1.0, 1.25]]))
    found = []
    for name, trees in (("none", NONE), ("asks", asks)):
        estimates = Estimates(configs)
        estimates.trees = tmp_path / name
        trees.write(estimates.trees, {})
        found.append(estimates(64, 64, 64))
    plain, longer = found
    assert longer[0] == pytest.approx(1.25 * plain[0], rel=UNIT) and plain[1] == longer[1] == np.inf


def test_the_features_are_numbers_of_the_configuration_and_the_product():
    estimates = Estimates((Hopper(), Hopper(64, 96, 6, c_major="M")))
    work = estimates.work(1000, 520, 4096)
    table = dict(zip(FEATURES, features(estimates, work, estimates.times(work), H200).tolist()))
    assert table["tile_n"] == [256, 96] and table["rows"] == [1000, 520] and table["steps"] == [64, 64]
    assert table["tall"] == [8, 9] and table["wide"] == [3, 11] and table["group"] == [8, 8]
    assert table["narrow"] == table["promotes"] == [0, 0] and table["c_bytes"] == [2, 2]


def test_the_formula_and_the_trees_know_how_many_bytes_an_element_of_c_has():
    estimates = Estimates((Hopper(),))
    two, four = (estimates.work(1000, 520, 4096, 3, c_bytes=size) for size in (2, 4))
    assert four.memory - two.memory == 3 * 2 * 1000 * 520
    assert features(estimates, four, estimates.times(four), H200)[FEATURES.index("c_bytes")] == 4


def test_the_trees_see_that_operands_are_of_8_bits_and_that_sums_are_promoted():
    estimates = Estimates((Hopper(dtype="e4m3", out="bf16", scaled="lines"),
                           Hopper(tile_n=128, dtype="e4m3", out="bf16", scaled="1x128")))
    work = estimates.work(1000, 520, 2048, narrow=True)
    table = dict(zip(FEATURES, features(estimates, work, estimates.times(work), H200).tolist()))
    assert table["narrow"] == [1, 1] and table["promotes"] == [0, 1]


def test_the_trees_see_which_operands_lines_run_across_a_tile():
    majors = [dict(a_major=a, b_major=b) for a in ("K", "MN") for b in ("K", "MN")]
    estimates = Estimates([Hopper(64, 64, 8, **m) for m in majors] + [Hopper(64, 64, 8, c_major="M", **m) for m in majors])
    work = estimates.work(1000, 520, 2048)
    across = dict(zip(FEATURES, features(estimates, work, estimates.times(work), H200).tolist()))["across"]
    assert across == [("MN" == c.a_major) + 2 * ("MN" == c.b_major) for c in estimates.configs]


@pytest.mark.sweep
def test_choosing_costs_less_than_two_percent_of_the_least_measured_times_and_than_three_where_a_gpu_hunts_for_its_clock():
    for measured in read_each(*RECORDS):
        estimated = measured.estimated(RATES)
        plain, chosen = (measured.choices(times)[1] for times in (estimated, measured.corrected(estimated)))
        assert np.exp(np.log(plain).mean()) > 1.03 and np.exp(np.log(chosen).mean()) < 1.02 + 0.01 * measured.settled


def test_trees_learn_what_an_estimate_lacks_also_where_they_were_not_shown(tmp_path):
    pytest.importorskip("catboost")
    configs = [Hopper(64, 64, 8, 1), Hopper(tile_n=128, stages=6), Hopper(64, 96, 8, 1), Hopper(64, 128, 6, 1)]
    rows, source = [], np.random.default_rng(3)
    for M, N, K in source.integers(4, 500, (120, 3)) * 8:
        times = Estimates(configs).times(Estimates(configs).work(M, N, K))
        rows.append([[int(M), int(N), int(K), "f16"], 10.0, [[i, float(t)] for i, t in enumerate(times * [1, 1.3, 1, 1])]])
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"device": "NVIDIA H200", "configs": [c.changes for c in configs], "rows": rows}))
    measured = read(path)
    plain = measured.estimated(RATES)
    factors = tuning_learn.foreseen(tuning_learn.lesson_of([measured], [plain]))
    cost = [np.log(measured.choices(estimated)[1]).mean() for estimated in (plain, plain * factors)]
    assert cost[0] > 0.005 and cost[1] < cost[0] / 5
    assert tuning_learn.main([str(path), "--write", str(tmp_path / "trees.json")]) == 0
    assert hopper_trees.read(tmp_path / "trees.json").leaf.any()


@pytest.mark.parametrize("record, gained, most", [("h200_unseen", 0.01, 1.027), ("h100_unseen", 0.01, 1.027)])
def test_what_the_kept_trees_are_worth_at_a_record_needs_no_catboost(monkeypatch, capsys, record, gained, most):
    monkeypatch.setitem(sys.modules, "catboost", None)
    assert tuning_learn.main([str(DATA / f"{record}.json.xz"), "--kept"]) == 0
    plain, kept = (float(line.split("choosing costs ")[1].split(",")[0]) for line in capsys.readouterr().out.splitlines())
    assert kept < plain - gained and kept < most
    with pytest.raises(DeviceError, match="CatBoost"):
        tuning_learn.main([str(DATA / "h200_few.json.xz")])


def test_few_steps_along_k_take_least_with_c_by_sectors_and_five_do_not():
    found = tuning_record.read(DATA / "h100_sectors_deeper.json")
    shares = {}
    for tried in found.products:
        by_sectors, others = ([us for i, us in tried.times if (found.configs[i].store == "sectors") == by]
                              for by in (True, False))
        shares[tried.problem.M, tried.problem.N, tried.problem.K] = min(by_sectors) / min(others)
    few, more = ([share for (_, _, K), share in shares.items() if K in depths] for depths in (range(153), (184, 200, 216)))
    assert 0.695 < min(few) and max(few) < 0.875 and 0.975 < min(more) and max(more) < 1.065
    assert shares[14608, 14312, 256] < 0.815 and shares[14608, 14312, 320] > 1.085


def test_lines_that_start_within_sectors_are_stored_by_sectors_where_that_took_less():
    found = tuning_record.read(DATA / "h100_sectors.json")
    for tried in found.products:
        assert choose(wanted_of(tried.problem), FIGURES[found.device]) == BY_SECTORS[0]
        us = found.times_of(tried)
        assert us.pop(BY_SECTORS[0]) < min(us.values())


@pytest.mark.parametrize("record, many, least, mean, most",
                         [("row", 43, 0.779, 0.882, 1.051), ("alone", 29, 0.791, 0.903, 1.047)])
def test_an_h200_stores_no_lines_by_sectors_because_others_take_less(record, many, least, mean, most):
    path = DATA / f"h200_sectors_{record}.json.xz"
    found, by_sectors, shares = tuning_record.read(path), {}, []
    for tried in found.products:
        p = tried.problem
        assert choose(wanted_of(p), FIGURES[found.device]).store == "tma"
        by_sectors[p.M, p.N, p.K] = next(us for config, us in found.times_of(tried).items() if config.store == "sectors")
    for others in read_each(path):                       # which lacks what is stored by sectors
        chosen, _ = others.choices(others.corrected(others.estimated(RATES)))
        shares += [others.times[i] / by_sectors[others.problems[others.product[i]][:3]] for i in chosen]
    assert len(shares) == many and least < min(shares) and max(shares) < most
    assert abs(geometric_mean(shares) - mean) < 0.0006
