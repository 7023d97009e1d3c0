"""Planted faults in CUDA C++: every function has a row, a faulty and a clean entry, and marked lines that its PTX knows."""

import re
from collections import Counter

import pytest
from foreign_faults import FAULTS, FOLDER, KINDS, outcome

from cuda_kernels.conformance.foreign import launch


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_fault_has_twins_and_lines_that_the_ptx_of_the_faulty_one_knows(fault):
    text, lines = fault.text(), fault.lines()
    bodies = {kind: text.split(f".entry {fault.name}_{kind}(")[1].split(".visible")[0] for kind in ("bad", "good")}
    assert 1 <= len(lines) <= 4 and fault.kind in KINDS
    known = re.findall(r"\.loc\s+\d+\s+(\d+)|inlined_at \d+ (\d+)", bodies["bad"])
    assert lines <= {int(line) for pair in known for line in pair if line}
    code = {kind: re.sub(r"\s*\.loc[^\n]*|\w+_(bad|good)\w*", "", body) for kind, body in bodies.items()}
    assert code["bad"] != code["good"]
    for kind in bodies:
        assert len(launch.parameters_of(text, f"{fault.name}_{kind}")) == len(fault.arguments())


def test_every_function_of_every_source_is_a_row_and_there_are_60_faults_of_20_kinds():
    assert {fault.source for fault in FAULTS.values()} == {path.stem for path in FOLDER.glob("*.cu")}
    for source in {fault.source for fault in FAULTS.values()}:
        rows = [fault for fault in FAULTS.values() if fault.source == source]
        entries = re.findall(r"\.entry (\w+)", rows[0].text())
        assert sorted(entries) == sorted(f"{fault.name}_{kind}" for fault in rows for kind in ("bad", "good"))
    assert len(FAULTS) >= 60 and len(Counter(fault.kind for fault in FAULTS.values())) >= 20


def test_an_outcome_asks_for_the_kind_and_the_line():
    races = KINDS["missing __syncwarp"]
    assert outcome([], races, True) == "missed" and outcome([], races, False) == "clean"
    assert outcome([("lane race", "", True)], races, True) == "found"
    assert outcome([("lane race", "", False)], races, True) == "elsewhere"
    assert outcome([("collision", "", True)], races, True) == "other kind"
    assert outcome([("collision", "", True)], races, False) == "alarm"
