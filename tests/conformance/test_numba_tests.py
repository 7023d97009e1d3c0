"""The table of numba-cuda's own tests, and the command that makes it."""

import json
from dataclasses import asdict
from importlib.metadata import version

import pytest
from places import ROOT

from cuda_kernels.conformance.programs.numba_reasons import DRIVER, KNOWN, area_of, reason_of
from cuda_kernels.conformance.programs.numba_tests import OUTCOMES, Result, Table, _once, modules_of_tests, read, run

RECORD = read(ROOT / "tests" / "data" / "numba_tests.json")


def table(**modules):
    rest = [{"test": f"{name}::test", "outcome": "failed", "reason": "it is", "area": ""} for name in modules]
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


def test_a_cause_that_was_looked_into_does_not_stand_for_another_fault_of_the_same_test():
    assert reason_of("T::test_struct_model_type_arr", "E   AssertionError: 3 != 4") == ("failed", "AssertionError: 3 != 4")
    assert reason_of("T::test_struct_model_type_arr", "E   simlayout.errors.AddressError: out of bounds")[0] == "refused"


def test_what_needs_a_driver_that_is_not_simulated_is_not_in_the_share_and_what_is_stopped_before_a_launch_is():
    seen = {outcome: Result("a", outcome, outcome, "", 1) for outcome in OUTCOMES}
    assert [outcome for outcome, test in seen.items() if test.needs_launch] == ["refused", "failed"]
    rest = ({"test": "a::x", "outcome": "refused", "reason": "", "area": "contexts"},
            {"test": "a::y", "outcome": "failed", "reason": "", "area": ""})
    assert Table({}, {"a": {"machine": [9, 1, 5, 1, 0], "launching": [3, 1, 0, 1, 0]}}, rest).share() == 3 / 4


def test_at_least_nine_tenths_of_the_recorded_tests_pass_and_none_of_the_rest_is_a_wrong_result():
    assert min(RECORD.share("launching"), RECORD.share("machine")) >= 0.9 and RECORD.counts("launching")["passed"] > 500
    causes = {(outcome, cause) for _, _, outcome, cause in KNOWN}
    for test in RECORD.rest:
        assert test["reason"] and test["area"] == area_of(test["reason"]), test
        assert test["outcome"] != "failed" or ("failed", test["reason"]) in causes, test
    assert {test["area"] for test in RECORD.rest} - {""} == {area for _, area in DRIVER}
    assert sorted(RECORD.modules) == sorted(modules_of_tests()) or RECORD.about["numba-cuda"] != version("numba-cuda")


def test_the_guide_has_the_numbers_of_the_record():
    said = " ".join((ROOT / "simlayout" / "guide" / "accuracy.md").read_text().split())
    all_of, launching, cudasim = (RECORD.counts(where) for where in ("machine", "launching", "cudasim"))
    outside = sum(bool(test["area"]) for test in RECORD.rest)
    for phrase in (f"numba-cuda {RECORD.about['numba-cuda']}", f"{launching['passed']} of {total(launching) - outside}",
                   f"{RECORD.share():.1%}", f"{all_of['passed']} of {total(all_of) - outside}", f"{outside} tests that need",
                   f"{all_of['not applicable']} skip themselves", f"{cudasim['passed']} of them",
                   f"{RECORD.cudasim_share():.0%}", f"{RECORD.seconds('cudasim'):.0f} s",
                   f"{RECORD.seconds('machine'):.0f} s"):
        assert phrase in said, phrase


def total(counts):
    return counts["passed"] + counts["refused"] + counts["failed"]


def test_the_installed_tests_are_found_by_their_modules():
    modules = modules_of_tests()
    assert "cudapy.test_print" in modules and "doc_examples.test_vecadd" in modules and len(modules) > 100


@pytest.mark.sweep
def test_a_module_of_numba_cudas_tests_passes_on_the_machine_and_under_cudasim():
    found = run(["cudapy.test_boolean", "doc_examples.test_vecadd"], ("machine", "cudasim"))
    assert found.counts("machine") == dict(zip(OUTCOMES, (2, 0, 0, 0))), found.text()
    assert found.counts("cudasim")["failed"] == 0
