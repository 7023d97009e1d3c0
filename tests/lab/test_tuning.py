"""What is measured to fit the cost model, and what ncu is asked about the wgmma kernels: the parts that need no GPU."""

import json
import lzma
from collections import Counter
from dataclasses import replace
from itertools import islice
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from own_clock import OwnClock
from places import DATA
from tiers import sweep_but

from cuda_kernels.bench import grouped
from cuda_kernels.bench.programs import wanted_of
from cuda_kernels.bench.record import Product
from cuda_kernels.conformance.gemms.hopper import CASES, EIGHTS, counted, expected
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.lab import tuning, tuning_fit, tuning_record
from cuda_kernels.matmul.choose.candidates import BY_SECTORS, candidates
from cuda_kernels.matmul.choose.choice import choose, ranked
from cuda_kernels.matmul.choose.figures import H200
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.rates import RATES
from cuda_kernels.run import driver
from simlayout.errors import ParseError
from simlayout.nsight.source_page import Counted


def test_products_to_measure_are_random_large_and_small_and_those_of_the_benchmark():
    found = tuning.problems(30, 7)
    assert len({str(p) for p in found}) == len(found) and Product(16, 4096, 14336) in found
    assert all(1 <= size <= 28672 for p in found for size in (p.M, p.N, p.K))
    assert sum(max(p.M, p.N, p.K) <= 1024 for p in found) >= 8


@pytest.mark.parametrize("problem", sweep_but([Product(904, 408, 10080)], [
    Product(1, 4096, 4096), Product(8192, 8192, 8192), Product(904, 408, 10080)]), ids=str)
def test_only_likely_candidates_are_measured_the_likeliest_first(problem):
    found = tuning.worth_measuring(problem, H200)
    wanted = wanted_of(problem)
    ranks = {}
    for i, (_, config) in enumerate(islice(ranked(wanted, H200), 4000)):
        ranks.setdefault(replace(config, early=False), i)
    assert 0 < len(found) <= tuning.MOST and len(set(found)) == len(found)
    assert found[0] == replace(choose(wanted, H200), early=False)
    assert [ranks[config] for config in found] == sorted(ranks[config] for config in found)


def test_orders_of_tiles_that_are_the_same_at_a_product_are_measured_once():
    found = tuning.worth_measuring(Product(640, 4096, 64), H200)
    grids = [c.tile_grid(*c.turned(640, 4096)) for c in found]
    as_walked = {(c.program, 1 if cols == 1 else min(c.group, rows)) for c, (rows, cols) in zip(found, grids)}
    assert len(as_walked) == len(found) > len({c.program for c in found})


@pytest.mark.parametrize("orders", [1, 4])
def test_a_kernel_is_measured_in_as_many_orders_of_tiles_as_asked_for(orders):
    found = Counter(c.program for c in tuning.worth_measuring(Product(4096, 4096, 4096), H200, 60, orders))
    assert max(found.values()) == orders and sum(found.values()) == 60


def test_fewer_stages_are_tried_of_each_configuration_and_none_twice():
    likely = tuning.worth_measuring(Product(2392, 280, 4016), H200, 5)
    found = tuning.with_fewer_stages(likely, (0.75, 0.74, 0.1))
    assert len(likely) == 5 and set(likely) < set(found) and len(set(found)) == len(found)
    whole = [{**vars(c), "stages": None} for c in likely]
    assert min(c.stages for c in found) == 2 and all({**vars(c), "stages": None} in whole for c in found)


@pytest.mark.parametrize("text", ["0", "1", "75", "nan", "x"])
def test_a_part_of_the_stages_that_is_none_is_refused(text, capsys):
    with pytest.raises(SystemExit):
        tuning.main(["--json", "x.json", "--stages", text])
    assert "is no part: give a number between 0 and 1" in capsys.readouterr().err


def test_the_candidates_are_different_configurations_that_the_options_name():
    assert len(set(candidates())) == len(candidates())
    assert all(Hopper(**c.changes) == c for c in candidates())
    assert Hopper().changes == {}


class FakeLibrary(OwnClock):
    """Arrays that are numbers, and a clock that advances 10 microseconds a call."""

    def __init__(self, wrong=0.0):
        super().__init__()
        self.wrong = wrong

    def operands(self, problem):
        return 1, 2, SimpleNamespace(value=None)

    def multiply(self, a, b, out):
        out.value, self.now = 1.0, self.now + 1e-5

    def clear(self, out):
        out.value = 0.0

    def copy(self, x):
        return SimpleNamespace(value=x.value)

    def distance(self, x, y):
        return abs(x.value - y.value)


def test_a_time_is_that_of_one_call_and_a_wrong_result_is_refused(monkeypatch):
    library = FakeLibrary()

    def plan(a, b, out, **options):
        def call():
            out.value, library.now = 1.0 + library.wrong, library.now + 2e-5
        return call

    monkeypatch.setattr("cuda_kernels.plan_matmul", plan)
    problem = Product(64, 64, 64)
    one, other = Hopper(), Hopper(tile_n=128)
    found = tuning.measure(library, problem, [one, other], 1e-3, Random(1))
    assert found == ([10.0], [(one, 20.0), (other, 20.0)], [])
    library.wrong = 1.0
    _, found, faults = tuning.measure(library, problem, [one], 1e-3, Random(1))
    assert found == [] and len(faults) == 1 and "and cuBLAS differ by 1.0" in faults[0]


@pytest.mark.parametrize("row", [False, True])
def test_products_in_a_row_are_launched_to_overlap_and_others_wait(monkeypatch, row):
    library, launched = FakeLibrary(), []

    def plan(a, b, out, overlap, **options):
        def call():
            launched.append(overlap)
            out.value, library.now = 1.0, library.now + 2e-5
        return call

    monkeypatch.setattr("cuda_kernels.plan_matmul", plan)
    tuning.measure(library, Product(64, 64, 64), [Hopper()], 1e-3, Random(1), row)
    assert launched and set(launched) == {row}


def test_a_kernel_that_writes_nothing_is_refused_though_another_wrote_the_right_result_there(monkeypatch):
    library = FakeLibrary()
    monkeypatch.setattr("cuda_kernels.plan_matmul", lambda a, b, out, **options: lambda: None)
    _, found, faults = tuning.measure(library, Product(64, 64, 64), [Hopper()], 1e-3, Random(1))
    assert found == [] and "and cuBLAS differ by 1.0" in faults[0]


def test_what_is_measured_is_recorded_as_it_ran_and_an_interruption_keeps_it(monkeypatch, capsys):
    saved = []

    def measured(library, problem, configs, seconds, source, row):
        if problem.M == 1:
            raise KeyboardInterrupt
        theirs = [10.0, 8.0][:1 + bool(problem.groups)]
        return theirs, [(c, 2.0 + i) for i, c in enumerate(configs)], ["one was wrong"]

    monkeypatch.setattr(tuning, "measure", measured)
    library = FakeLibrary()
    one, other = Hopper(), Hopper(group=1)
    half = replace(one, dtype="bf16", out="bf16")
    of_groups = Product(64, 32, 16, "e4m3", scaled="lines", groups=4)
    work = [(Product(8192, 32, 64), [other]), (Product(32, 8192, 64, "bf16"), [half, other]), (of_groups, [other]),
            (Product(1, 8, 8), [one])]
    with pytest.raises(KeyboardInterrupt):
        tuning.measure_all(library, work, 1e-3, Random(1), lambda *found: saved.append([*map(tuple, found)]))
    assert [len(products) for _, products in saved] == [1, 2, 3]
    configs, products = map(list, saved[-1])
    assert configs == [other, one]
    assert [tried.problem for tried in products] == [problem for problem, _ in work[:3]]
    assert [(tried.beside, tried.times) for tried in products] == [
        ((10.0,), ((0, 2.0),)), ((10.0,), ((1, 2.0), (0, 3.0))), ((10.0, 8.0), ((0, 2.0),))]
    said = capsys.readouterr()
    assert said.err == 3 * "one was wrong\n" and "best       2.0 of   2, 5.000" in said.out
    assert " in 4 groups " in said.out and "5.000, 4.000: {" in said.out


@pytest.mark.parametrize("stop, where", [(KeyboardInterrupt, 0), (KeyboardInterrupt, 2), (RuntimeError, 2)], ids=str)
def test_the_record_has_what_was_measured_before_whatever_ends_the_run(monkeypatch, tmp_path, stop, where):
    def measured(library, problem, configs, seconds, source, row):
        if problem.K == 8 * (where + 1):
            raise stop
        return [10.0], [(configs[0], 2.0)], []

    library = FakeLibrary()
    library.version = "made up"
    monkeypatch.setattr(tuning, "measure", measured)
    monkeypatch.setattr(tuning, "torch_library", lambda why: library)
    monkeypatch.setattr(tuning, "where_and_when", lambda module, arguments: {"device": "one"})
    monkeypatch.setattr(tuning, "figures_of", lambda cuda, device: H200)
    monkeypatch.setattr(driver, "cuda", lambda: SimpleNamespace(version=13000))
    monkeypatch.setattr(tuning, "compile_ahead", lambda programs, version: len(programs))
    path, products = tmp_path / "x.json", [f"64x64x{8 * (i + 1)}" for i in range(4)]
    with pytest.raises(stop):
        tuning.main(["--json", str(path), "--most", "2", "--products", *products])
    assert path.exists() == (where > 0)
    if where:
        assert [tried.problem.K for tried in tuning_record.read(path).products] == [8, 16]


def test_a_product_of_groups_is_measured_beside_a_loop_and_torchs_own(monkeypatch):
    library = FakeLibrary()
    library.torch = SimpleNamespace(_grouped_mm=lambda a, b, offs: setattr(library, "now", library.now + 4e-5))
    matrices = 1, 2, SimpleNamespace(value=None), None
    monkeypatch.setattr(grouped.Beside, "operands", lambda beside, problem: matrices)
    monkeypatch.setattr(grouped.Beside, "_loop", lambda beside, a, b, out: library.multiply(a, b, out))

    def plan(a, b, offsets, out, **options):
        def call():
            out.value, library.now = 1.0, library.now + 2e-5
        return call

    monkeypatch.setattr("cuda_kernels.plan_grouped_matmul", plan)
    theirs, ours, faults = tuning.measure(library, Product(20, 8, 8, groups=3), [Hopper(grouped=True)], 1e-3, Random(1))
    assert theirs == [10.0, 40.0] and [us for _, us in ours] == [20.0] and not faults


def test_counts_of_shared_memory_are_added_up_over_the_instructions_of_a_kernel():
    page = {0: Counted("@P0 STSM.16.M88.4 [R1], R2", 64, 8, 8), 16: Counted("STSM.16.MT88.4 [R1], R2", 32, 5, 4),
            32: Counted("STS [R1], R2", 32, 1, 1)}
    assert counted(page) == {"LDSM": [0, 0, 0], "LDS": [0, 0, 0], "STS": [1, 1, 1], "STSM": [3, 13, 12]}
    copies = {48: Counted("@P1 LDGSTS.E [R1], [R2.64]", 64, 5, 4), 64: Counted("LDGSTS.E [R1], [R2.64]", 4, 1, 1)}
    assert counted(page | copies) == counted(page) | {"LDGSTS": [68, 6]}


def test_every_way_to_stage_c_is_counted_and_none_is_predicted_to_conflict():
    assert {(c.c_major, c.box_n) for c, _ in CASES if c.store == "tma"} >= {("N", 64), ("N", 32), ("N", 16), ("M", 64)}
    for config, problem in CASES:
        said = expected(config, problem)
        assert said["STSM"][1] == said["STSM"][2] == 4 * said["STSM"][0]
        assert (said["STSM"][0] > 0) == (config.store == "tma") and (said["LDSM"][0] > 0) == (config.body == "mma_tma")


def test_every_way_to_bring_scales_is_counted():
    assert {c.scaled for c, _ in EIGHTS} >= {"", "tensor", "lines", "1x128", "128x1", "1x1"}
    for config, problem in EIGHTS:
        said, copied = expected(config, problem), config.scaled not in ("", "tensor")
        assert ("LDGSTS" in said) == copied == (said["LDS"][0] > 0) and ("bank_writes" in said) == (config.scaled == "")


def record(tmp_path, rates, device="NVIDIA H200", settled=True):
    """A file as `tuning` writes it, of times that are estimates with these rates."""
    configs, rows = candidates()[::20], []
    for problem in tuning.problems(12, 3)[:20]:
        M, N, K = problem.M, problem.N, problem.K
        estimates = Estimates(configs)
        times = estimates.times(estimates.work(M, N, K, 1, H200), H200, rates)
        rows.append([[M, N, K, "f16"], 10.0, [[i, float(t)] for i, t in enumerate(times)]])
    path = tmp_path / "record.json"
    head = {"device": device, "settled": settled, "configs": [c.changes for c in configs]}
    path.write_text(json.dumps({**head, "rows": rows}))
    return path


def test_of_turns_too_short_for_a_clock_of_their_own_no_estimate_says_what_a_configuration_draws_itself(tmp_path):
    lean = replace(RATES, row_power_share=0.0)
    short, settled = (tuning_fit.read(record(tmp_path, lean, settled=settled)) for settled in (False, True))
    assert short.error(short.estimated(RATES)) < 1e-12 and "settled" not in str(short)
    assert settled.error(settled.estimated(RATES)) > 1e-3 and str(settled).endswith("in settled turns")


def test_rates_that_explain_the_times_have_no_error_and_choose_the_best(tmp_path):
    measured = tuning_fit.read(record(tmp_path, RATES))
    right = measured.estimated(RATES)
    assert measured.error(right) < 1e-12 and set(measured.choices(right)[1]) == {1.0}
    slower = measured.estimated(replace(RATES, wgmma_column_clocks=2 * RATES.wgmma_column_clocks, exchange_area_us=20.0))
    assert measured.error(slower) > 0.1 and max(measured.choices(slower)[1]) > 1


def test_a_fit_finds_rates_that_explain_the_times(tmp_path, capsys):
    pytest.importorskip("scipy")
    path = record(tmp_path, replace(RATES, launch_us=4.0, wgmma_column_clocks=0.4))
    measured = tuning_fit.read(path)
    *_, found = tuning_fit.fit([measured], rounds=1)
    assert measured.error(measured.estimated(found)) < measured.error(measured.estimated(RATES)) / 3
    assert tuning_fit.main([str(path), "--rounds", "1"]) == 0
    assert "Rates(clock_ghz=1.485, launch_us=" in capsys.readouterr().out


@pytest.mark.parametrize("rows, device, fault", [
    ([], "NVIDIA H200", "there is no product"), ([[[64, 64, 64, "f16"], 1.0, []]], "NVIDIA H200", "has no times"),
    ([[[64, 64, 64], 1.0, [[0, 1.0]]]], "NVIDIA H200", "not enough values"),
    ([[["a"] * 3 + ["f16"], 1.0, [[0, 1.0]]]], "NVIDIA H200", "no record .* invalid literal for int"),
    ([[[64, 64, 64, "f16"], 1.0, [[1, 1.0]]]], "NVIDIA H200", "nothing that estimates know of"),
    ([[[64, 64, 64, "f16"], 1.0, [[0, 1.0]]]], None, "records of None")], ids=str)
def test_a_record_without_a_product_or_its_times_is_refused(tmp_path, rows, device, fault):
    configs = [Hopper().changes, BY_SECTORS[0].changes]
    (tmp_path / "x.json").write_text(json.dumps({"device": device, "configs": configs, "rows": rows}))
    with pytest.raises(ParseError, match=fault):
        tuning_fit.read_each(tmp_path / "x.json")


def test_a_file_that_is_no_record_is_refused(tmp_path):
    for text in ("", "{}", '{"configs": [{"tile_x": 1}], "rows": [[[1, 2, 3, "f16"], 1.0, [[0, 1.0]]]]}', '{"rows": 3}'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ParseError, match="is no record of cuda_kernels.lab.tuning"):
            tuning_fit.read(tmp_path / "x.json")
    (tmp_path / "x.json.xz").write_text("not compressed")
    with pytest.raises(ParseError, match="is no record of cuda_kernels.lab.tuning"):
        tuning_fit.read(tmp_path / "x.json.xz")


def test_records_of_an_unknown_gpu_and_of_two_are_refused(tmp_path):
    with pytest.raises(ParseError, match="records of NVIDIA H300: read those of NVIDIA H200 or NVIDIA H100"):
        tuning_fit.read(record(tmp_path, RATES, "NVIDIA H300"))
    with pytest.raises(ParseError, match="records of 2 GPUs or widths"):
        tuning_fit.read(DATA / "h200_few.json.xz", DATA / "h100_unseen.json.xz")


def test_records_of_8_bits_in_pairs_of_elements_and_those_of_groups_are_read_apart(tmp_path):
    rows = [[[64, 72, 80, "f16"], 1.0, [[0, 2.0]]], [[64, 72, 85, "e4m3", "lines"], 1.0, [[0, 3.0]]],
            [[64, 72, 80, "bf16", "", 4], 1.0, [[0, 2.0]], 1.5], [[64, 72, 80, "e4m3", "1x128", 4], 1.0, [[0, 2.0]]]]
    (tmp_path / "x.json").write_text(json.dumps({"device": "NVIDIA H200", "configs": [{}], "rows": rows}))
    found = tuning_fit.read_each(tmp_path / "x.json")
    assert [(m.grouped, m.narrow, m.problems) for m in found] == [
        (False, False, ((64, 72, 80, 1, 2),)), (False, True, ((64, 72, 43, 1, 2),)),
        (True, False, ((64, 72, 80, 4, 2),)), (True, True, ((64, 72, 40, 4, 2),))]
    assert [bool(m.of_each[1].narrow) for m in found] == [False, True] * 2 and found[1].times == 3


def test_rows_lie_as_the_configuration_that_was_measured_takes_them(tmp_path):
    configs = [{}, *({f"{x}_major": "MN", "c_major": c_major} for c_major in "NM" for x in "ba")]
    rows = [[[32, 104, 4096, "f16"], 1.0, [[i, 2.0] for i in range(len(configs))]]]
    (tmp_path / "x.json").write_text(json.dumps({"device": "NVIDIA H200", "configs": configs, "rows": rows}))
    aligned = tuning_fit.read(tmp_path / "x.json").of_each[1].aligned > 0      # lines of 4096, 32 and 104
    assert [np.flatnonzero(each).tolist() for each in aligned.T] == [[0], [0, 3], [0, 1], [0, 1], [0, 3]]


KINDS = [Product(64, 72, 80), Product(64, 72, 80, "bf16", "TN"), Product(64, 72, 80, "e4m3", "NT", "lines"),
         Product(64, 72, 80, "bf16", "NT", "", 4), Product(64, 72, 80, "e4m3", "NT", "1x128", 4)]


@pytest.mark.parametrize("problem", KINDS, ids=str)
def test_a_record_gives_back_what_was_tried_and_it_can_be_measured_again(tmp_path, problem):
    configs = tuning.worth_measuring(problem, H200, 3)
    numbered = list(dict.fromkeys(map(tuning_record.as_f16, configs)))
    tried = tuning_record.Tried(problem, (10.0, 8.0)[:1 + (problem.groups > 0)],
                                tuple((numbered.index(tuning_record.as_f16(c)), 2.0 + i) for i, c in enumerate(configs)))
    tuning_record.write(tmp_path / "x.json", {"device": "one"}, numbered, [tried])
    assert tuning_record.read(tmp_path / "x.json") == tuning_record.Record("one", tuple(numbered), (tried,))
    assert tuning.once_more(tmp_path / "x.json") == [(problem, configs)]


def test_a_compressed_record_is_read_as_it_was(tmp_path):
    path = record(tmp_path, RATES)
    packed = tmp_path / "packed.json.xz"
    packed.write_bytes(lzma.compress(path.read_bytes()))
    plain, found = tuning_fit.read(path), tuning_fit.read(packed)
    assert found.problems == plain.problems and (found.times == plain.times).all()
