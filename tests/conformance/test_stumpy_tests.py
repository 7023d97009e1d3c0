"""The record of stumpy's GPU tests is whole, and the guide says what it says."""

from places import ROOT

from cuda_kernels.conformance.programs.stumpy_tests import SIDES, read

RECORD = read(ROOT / "tests" / "data" / "stumpy_tests.json")
CUDASIM, MACHINE = map(RECORD.total, SIDES)


def test_all_of_stumpys_gpu_tests_pass_on_either_side_with_the_same_launches():
    assert len(RECORD.modules) == 8 and not RECORD.rest and MACHINE.others == CUDASIM.others == 0
    assert MACHINE.passed == CUDASIM.passed and all(sides["machine"].launches for sides in RECORD.modules.values())
    assert abs(MACHINE.launches - CUDASIM.launches) <= CUDASIM.launches // 50           # some tests draw their data


def test_the_guide_has_the_numbers_of_the_record():
    said = " ".join((ROOT / "simlayout" / "guide" / "accuracy.md").read_text().split())
    for phrase in (f"stumpy {RECORD.about['stumpy']}", f"{MACHINE.passed} GPU tests", f"{MACHINE.launches} launches",
                   f"{MACHINE.launching:.0f} s", f"{CUDASIM.launching:.0f} s", f"{MACHINE.seconds:.0f} s",
                   f"{CUDASIM.seconds:.0f} s", f"{CUDASIM.launching / MACHINE.launching:.0f} times"):
        assert phrase in said, phrase
