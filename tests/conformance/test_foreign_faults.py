"""Planted faults in CUDA C++: every function has a row, a faulty and a clean entry, and marked lines that its PTX knows; the
machine finds each fault there, and none in its clean twin."""

import re
from collections import Counter
from itertools import product

import pytest
from foreign_faults import FAULTS, FOLDER, KINDS, outcome
from tiers import sweep_but

from cuda_kernels.conformance.foreign import launch
from simlayout.machine.ptx import entry


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


SHADOWS, TWO_STEPS = WAYS = "by shadows", "in two steps"
"""How hazards are looked for; in two steps from the first instruction on, as where the compiled loop is at hand."""
QUICK = [*product([TWO_STEPS], FAULTS), *product([SHADOWS], [*FAULTS][::6])]


@pytest.mark.parametrize("case", sweep_but(QUICK, product(WAYS, FAULTS)), ids="-".join)
def test_the_machine_finds_the_fault_at_a_marked_line_and_nothing_in_its_clean_twin(case, monkeypatch):
    pytest.importorskip("numba")
    way, fault = case[0], FAULTS[case[1]]
    monkeypatch.setattr(entry, "compiled", lambda: True if way == TWO_STEPS else None)
    found, text = fault.judge(bad=True)
    assert found == "found" and "\n" not in text, text
    assert fault.judge(bad=False) == ("clean", "")


@pytest.mark.parametrize("name, parts", [
    ("one_missing", ["lacks 1 of 64 arrivals (hopper.cu:16, called at hopper.cu:250, called at hopper.cu:253)"]),
    ("absent_voters", ["sm_30_intrinsics.hpp:134, called at barriers.cu:176, called at barriers.cu:180: CTA (0, 0, 0)",
                       "lanes 24-31 are at sm_30_intrinsics.hpp:110, called at barriers.cu:177, called at barriers.cu:180"]),
    ("below_shared", ["(memory.cu:86, called at memory.cu:90) writes bytes -12 to -9 of the shared array s, outside"]),
    ("peer_gone", ["(hopper.cu:345, called at hopper.cu:366, ", "use its shared memory when CTA (1, 0, 0) ends"])])
def test_a_fault_in_an_inlined_function_names_its_line_and_those_that_call_it(name, parts):
    text = FAULTS[name].judge(bad=True)[1]
    for part in parts:
        assert part in text


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
