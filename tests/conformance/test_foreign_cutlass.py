"""CUTLASS's GEMMs for Hopper: what its host code said of launches, and what the machine tells where one waits too little."""

import json

import pytest
from tiers import sweep_but

from cuda_kernels.conformance.foreign import ROWS, compare
from cuda_kernels.conformance.foreign.row import DATA
from cuda_kernels.conformance.foreign.rows_cutlass import KEPT

GEMMS = {name: row for name, row in ROWS.items() if row.source == "cutlass"}
TOLD = json.loads((DATA / KEPT).read_text())


@pytest.mark.parametrize("name", GEMMS)
def test_a_launch_is_as_cutlass_wants_it(name):
    row, told = GEMMS[name], TOLD[name]
    width, height = row.cluster[:2] if isinstance(row.cluster, tuple) else (row.cluster, 1)
    assert [width, height] == told["cluster"] and row.block == (told["threads"], 1, 1)
    assert row.shared_bytes == told["shared_bytes"] and set(TOLD) == set(GEMMS)


def ran(name, text):
    """The Trace of a GEMM by some PTX, and its arguments as it leaves them."""
    arguments = GEMMS[name].arguments()
    return compare.ran(GEMMS[name], text, arguments), arguments


@pytest.mark.parametrize("name", sweep_but(["cutlass_e4m3"], GEMMS))
def test_a_gemm_is_right_and_has_neither_hazards_nor_bank_conflicts(name):
    row = GEMMS[name]
    trace, after = ran(name, row.text())
    assert row.wrong(row.arguments(), after) == []
    assert trace.hazards == () and trace.total().excess == 0 and trace.total().wavefronts > 0


@pytest.mark.parametrize(("left_out", "name", "kinds"), [
    pytest.param("fence.proxy.async.shared::cta", "cutlass_plain", {"missing proxy fence"}, marks=pytest.mark.sweep),
    ("fence.proxy.async.shared::cta", "cutlass_pingpong", {"missing proxy fence"}),
    pytest.param("cp.async.bulk.wait_group.read", "cutlass_plain", {"early exit"}, marks=pytest.mark.sweep),
    ("cp.async.bulk.wait_group.read", "cutlass_pingpong", {"early exit", "early write"})])
def test_what_synchronises_them_is_missed_where_it_is_left_out(left_out, name, kinds):
    fewer = "\n".join(line for line in GEMMS[name].text().splitlines() if left_out not in line)
    assert {hazard.kind for hazard in ran(name, fewer)[0].hazards} == kinds
