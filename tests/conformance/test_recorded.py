"""What an H200 counted, recorded in tests/data, against what the plans say today."""

import json
from dataclasses import replace

import pytest
from places import DATA

from cuda_kernels.bench import default_variants
from cuda_kernels.conformance.gemms.counts import Row, judged, ladder, recorded, verdict
from cuda_kernels.conformance.gemms.hopper import agrees, expected
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.lab import stalls
from simlayout.hardware import MMA_RATES
from simlayout.kernel import Problem

COUNTED = json.loads((DATA / "h200_kernels.json").read_text())
LADDER = json.loads((DATA / "h200_ladder_counts.json").read_text())
SIZE, SMS = 8192, 132                                     # of h200_stalls.json, and of an H200
VARIANTS = dict(default_variants()) | ladder()


def test_every_variant_of_the_benchmark_and_every_rung_of_the_ladder_was_counted():
    assert [v["variant"] for v in COUNTED["variants"]] == list(dict(default_variants()))
    assert [v["variant"] for v in LADDER["variants"]] == list(ladder()) and LADDER["problem"] == COUNTED["problem"]


@pytest.mark.parametrize("variant", COUNTED["variants"] + LADDER["variants"], ids=lambda v: v["variant"])
def test_what_every_access_of_a_whole_kernel_was_counted_to_do_is_what_the_plan_says(variant):
    rows, of_no_access = recorded(variant)
    prediction = VARIANTS[variant["variant"]].fitted(Problem(*COUNTED["problem"])).plan.predict(*COUNTED["problem"])
    today = judged(rows, prediction)
    assert of_no_access == 0 and verdict(today, of_no_access)[1] == 0
    for said, row in zip(prediction.counts, today, strict=True):
        assert said.exact and (said.name, said.instruction) == (row.access, row.instruction)
        if row.misread:
            assert said.instructions == row.executions[1], said.name
        else:
            counted = row.executions[1], row.wavefronts[1], row.ideal[1]
            assert (said.instructions, said.wavefronts, said.ideal) == counted, said.name


@pytest.mark.parametrize("name", ["copies", "whole"])
def test_copies_in_whole_kernels_cost_what_the_plan_says_wherever_the_counter_can_be_read(name):
    data = json.loads((DATA / f"h200_kernels_{name}.json").read_text())
    copies = [row for v in data["variants"] for row in judged(recorded(v)[0], VARIANTS[v["variant"]].fitted(
        Problem(*data["problem"])).plan.predict(*data["problem"])) if row.instruction.startswith("cp.async")]
    readable = [row for row in copies if not row.misread]
    assert (len(readable), len(copies)) == (18, 56)
    assert all(row.equal and row.known == ("executions", "wavefronts") for row in readable)
    if name == "copies":                     # here some lane of every access reads nothing, which only a right P0 shows
        assert all(row.ideal[0] == row.ideal[1] for row in readable)
        assert all(row.wavefronts[0] != row.wavefronts[1] for row in copies if row.misread)


def test_wavefronts_of_copies_are_not_clocks_of_one_pipe_and_no_rung_is_faster_than_its_bounds():
    seen = {row.rung: row for row in stalls.recorded(json.loads((DATA / "h200_stalls.json").read_text()))}
    more = []
    for rung in stalls.chosen():
        said = rung.kernel.fitted(Problem(SIZE, SIZE, SIZE)).plan.predict(SIZE, SIZE, SIZE)
        clocks = seen[rung.label].clocks * SMS
        assert said.ctas * said.steps * max(said.shared_clocks, said.mma_clocks) < clocks, rung.label
        more += [rung.name] * (sum(c.wavefronts for c in said.counts) > clocks)
    assert more == ["v02", "v04", "v05", "v07", "mma_async_stage3", "mma_async_stage4", "mma_async_stage4+"]


def test_executions_that_the_counter_lost_do_not_hide_a_wrong_prediction():
    row = Row("copy A", "cp.async.cg.16", 12, 0, ("executions", "wavefronts"), (512, 512), (4096, 4080), (2048, 2040))
    assert row.equal
    assert not replace(row, wavefronts=(4096, 4072)).equal and not replace(row, wavefronts=(4608, 4080)).equal
    assert not replace(row, instruction="ld.shared.b128").equal        # no load or store was ever seen to lose one


OF_HOPPER = ("h200_wgmma", "h200_eights_counts", "h200_others_counts", "h100_eights_counts", "h100_others_counts")
HOPPER_COUNTS = [row for name in OF_HOPPER for row in json.loads((DATA / f"{name}.json").read_text())["rows"]]


@pytest.mark.parametrize("row", HOPPER_COUNTS, ids=lambda r: str(r["config"]))
def test_wgmma_tma_and_threads_were_counted_to_do_what_is_predicted(row):
    said = expected(Hopper(**row["config"]), row["shape"])
    found = {name: row[name] for name in said if name in row}
    assert "gmma" in found and all(agrees(name, count, said[name]) for name, count in found.items())


def test_every_way_to_store_to_scale_and_to_finish_was_counted():
    configs = [Hopper(**row["config"]) for row in HOPPER_COUNTS]
    assert {c.store for c in configs} == {"tma", "sectors", "direct"}
    assert {"", "tensor", "lines", "1x128", "128x1", "1x1"} <= {c.scaled for c in configs}
    assert any("residual" in c.epilogue for c in configs) and any("bias_n" in c.epilogue for c in configs)


def test_mma_rates_are_the_measured_ones():
    rates = json.loads((DATA / "h200_rates.json").read_text())["clocks_by_warps"]
    for name, clocks in rates.items():
        assert MMA_RATES["sm_90"][name].clocks == pytest.approx(min(clocks.values()), abs=5e-4)
