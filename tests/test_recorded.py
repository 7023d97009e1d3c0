"""What an H200 counted, recorded in tests/data, against what the plans say today."""

import json
from pathlib import Path

import pytest

from cuda_kernels.bench import default_variants
from cuda_kernels.conform import compare, is_exact
from simlayout.hardware import MMA_RATES

DATA = Path(__file__).parent / "data"
COUNTED = json.loads((DATA / "h200_conform.json").read_text())
VARIANTS = dict(default_variants())


def test_every_variant_of_the_benchmark_was_counted():
    assert [v["variant"] for v in COUNTED["variants"]] == list(VARIANTS)


@pytest.mark.parametrize("record", COUNTED["variants"], ids=lambda r: r["variant"])
def test_counted_instructions_and_wavefronts_of_whole_kernels_equal_the_plan(record):
    M, N, K = COUNTED["problem"]
    said = compare({}, VARIANTS[record["variant"]].fitted(M, N, K).plan.predict(M, N, K))
    exact = [(s[:3], r[3]) for s, r in zip(said, record["rows"], strict=True) if is_exact(*s[:2])]
    assert len(exact) == 7
    for (sass, what, predicted), counted in exact:
        assert predicted == counted, f"{sass} {what}"


def test_mma_rates_are_the_measured_ones():
    rates = json.loads((DATA / "h200_rates.json").read_text())["clocks_by_warps"]
    for name, clocks in rates.items():
        assert MMA_RATES["sm_90"][name].clocks == pytest.approx(min(clocks.values()), abs=5e-4)
