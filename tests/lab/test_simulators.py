"""The benchmark beside Numba's simulator: what it runs is right, and what it recorded is what the guide may say."""

import json

import pytest

pytest.importorskip("numba.cuda", reason="needs Numba")

from places import DATA

from cuda_kernels.lab import simulators

RECORD = json.loads((DATA / "simulators.json").read_text())


@pytest.mark.sweep
def test_the_machine_computes_each_kernel_right():
    assert all(set(simulators.on_the_machine(name)) == {"hazards off", "hazards"} for name in simulators.kernels())


def test_the_record_is_of_the_kernels_and_fifty_times_as_fast():
    assert list(RECORD["kernels"]) == list(simulators.kernels())
    assert all(row["cudasim_s"] > 50 * row["hazards off_s"] for row in RECORD["kernels"].values())


def test_the_table_tells_every_kernel():
    text = simulators.table(RECORD)
    assert all(name in text for name in RECORD["kernels"])
