"""What an H200 counted, recorded in tests/data, against what the plans say today."""

import json
from pathlib import Path

import pytest

from cuda_kernels.bench import default_variants
from cuda_kernels.conformance.kernels import recorded, verdict
from simlayout.hardware import MMA_RATES

DATA = Path(__file__).parent / "data"
COUNTED = json.loads((DATA / "h200_kernels.json").read_text())
VARIANTS = dict(default_variants())


def test_every_variant_of_the_benchmark_was_counted():
    assert [v["variant"] for v in COUNTED["variants"]] == list(VARIANTS)


@pytest.mark.parametrize("variant", COUNTED["variants"], ids=lambda v: v["variant"])
def test_what_every_access_of_a_whole_kernel_was_counted_to_do_is_what_the_plan_says(variant):
    rows, of_no_access = recorded(variant)
    prediction = VARIANTS[variant["variant"]].fitted(*COUNTED["problem"]).plan.predict(*COUNTED["problem"])
    assert of_no_access == 0 and verdict(rows, of_no_access)[1] == 0
    for said, row in zip(prediction.counts, rows, strict=True):
        assert (said.name, said.instruction) == (row.access, row.instruction)
        assert said.instructions == row.executions[1], said.name
        if said.exact:
            assert (said.wavefronts, said.ideal) == (row.wavefronts[1], row.ideal[1]), said.name


def test_mma_rates_are_the_measured_ones():
    rates = json.loads((DATA / "h200_rates.json").read_text())["clocks_by_warps"]
    for name, clocks in rates.items():
        assert MMA_RATES["sm_90"][name].clocks == pytest.approx(min(clocks.values()), abs=5e-4)
