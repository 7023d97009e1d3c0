"""The table of numba-cuda's own tests, and the command that makes it."""

import json
from dataclasses import asdict

import pytest

from cuda_kernels.conformance.programs.numba_reasons import reason_of
from cuda_kernels.conformance.programs.numba_tests import OUTCOMES, Result, Table, _once, modules_of_tests, read, run


def table(**modules):
    rest = [{"test": f"{name}::test", "outcome": "failed", "reason": "it is"} for name in modules]
    return Table({}, {name: {"machine": row} for name, row in modules.items()}, tuple(rest))


def test_a_table_adds_up_its_modules_and_a_later_run_of_one_takes_its_place(tmp_path):
    first, again = table(a=[1, 0, 0, 1, 2.0], b=[3, 1, 0, 1, 4.0]), table(b=[4, 0, 0, 1, 1.0])
    assert first.counts("machine") == dict(zip(OUTCOMES, (4, 1, 0, 2))) and first.seconds("machine") == 6
    after = again.after(first)
    assert after.counts("machine") == dict(zip(OUTCOMES, (5, 0, 0, 2))) and after.seconds("machine") == 3
    assert [test["test"] for test in after.rest] == ["a::test", "b::test"]
    (tmp_path / "t.json").write_text(json.dumps(asdict(after)))
    assert asdict(read(tmp_path / "t.json")) == json.loads(json.dumps(asdict(after))) | {"rest": after.rest}


def test_of_subtests_the_worst_counts():
    tests = [Result("a", "t", outcome, outcome, 1) for outcome in ("passed", "failed", "refused")]
    assert [test.outcome for test in _once(tests)] == ["failed"]


def test_what_the_machine_refuses_is_told_from_what_fails_also_within_an_assertion():
    refused = "E   simlayout.errors.MachineError: cuCtxCreate of the CUDA driver is not simulated"
    assert reason_of("test", refused) == ("refused", "cuCtxCreate of the CUDA driver is not simulated")
    assert reason_of("test", f"{refused}\nE   AssertionError: wrong")[0] == "failed"
    assert reason_of("test", "Exception: whatever") == ("failed", "Exception: whatever")


def test_the_installed_tests_are_found_by_their_modules():
    modules = modules_of_tests()
    assert "cudapy.test_print" in modules and "doc_examples.test_vecadd" in modules and len(modules) > 100


@pytest.mark.slow
def test_a_module_of_numba_cudas_tests_passes_on_the_machine_and_under_cudasim():
    found = run(["cudapy.test_boolean", "doc_examples.test_vecadd"], ("machine", "cudasim"))
    assert found.counts("machine") == dict(zip(OUTCOMES, (2, 0, 0, 0))), found.text()
    assert found.counts("cudasim")["failed"] == 0
