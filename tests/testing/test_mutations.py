"""Wrong swizzles and index functions, planted in the sample project, are caught by its tests, with two lanes at most."""

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings
from tiers import sweep_but

import simlayout
from simlayout.testing import CounterexampleError

EXAMPLE = Path(simlayout.__file__).parent / "testing" / "example"
SOURCE = (EXAMPLE / "my_layouts.py").read_text()

A_XOR = "(col ^ (((row >> 1) & 3) << 3))"
CONFLICTS, ONE_TO_ONE, ONCE = ("test_no_access_has_bank_conflicts", "test_every_element_has_a_place_of_its_own",
                               "test_every_element_is_copied_stored_and_read_once")
SAME = "test_what_the_loop_computes_is_where_the_tile_has_it"

MUTATIONS = {                               # what is wrong: (the right text, the wrong one, a test that must fail)
    "the shift of the source is one too many": (A_XOR, "(col ^ (((row >> 2) & 3) << 3))", CONFLICTS),
    "the mask is too narrow": (A_XOR, "(col ^ (((row >> 1) & 1) << 3))", CONFLICTS),
    "the mask is too wide": (A_XOR, "(col ^ (((row >> 1) & 7) << 3))", ONE_TO_ONE),
    "row & 3 instead of row >> 1 & 3": (A_XOR, "(col ^ ((row & 3) << 3))", CONFLICTS),
    "+ instead of ^": (A_XOR, "(col + (((row >> 1) & 3) << 3))", ONE_TO_ONE),
    "| instead of ^": (A_XOR, "(col | (((row >> 1) & 3) << 3))", ONE_TO_ONE),
    "the target is its own source": (A_XOR, "(col ^ (((col >> 3) & 3) << 3))", ONE_TO_ONE),
    "chunks of 8 bytes": (A_XOR, "(col ^ (((row >> 1) & 3) << 2))", CONFLICTS),
    "A's pitch is that of B": ("row * 32 + (col", "row * 64 + (col", ONE_TO_ONE),
    "the reader forgets the swizzle": ("((half ^ ((row >> 1) & 3)) << 3)", "(half << 3)", SAME),
    "the reader adds the step along k": ("at_first ^ (k << 4)", "at_first + (k << 4)", SAME),
    "the copy starts one chunk late": ("8 * (tid % 8))", "8 * (tid % 8 + 1))", ONCE),
    "the copy swaps rows and columns": ("(32 * i + tid // 4, 8 * (tid % 4))", "(8 * (tid % 4), 32 * i + tid // 4)", ONCE),
    "the copy brings the same rows twice": ("(16 * i + tid // 8,", "(8 * i + tid // 8,", ONCE),
    "the rotation starts again too early": ("sl.Rotation(8, 8, 64)", "sl.Rotation(8, 8, 64, 4)", CONFLICTS),
    "the rotation advances every other row": ("sl.Rotation(8, 8, 64)", "sl.Rotation(8, 8, 128)", CONFLICTS),
    "no padding": ("(72, 1)", "(64, 1)", CONFLICTS),
    "4 elements of padding": ("(72, 1)", "(68, 1)", CONFLICTS),
    "padding that is no multiple of 16 bytes": ("(72, 1)", "(74, 1)", CONFLICTS),
    "rows of C that overlap": ("(72, 1)", "(56, 1)", ONE_TO_ONE),
}
QUICK = ["the mask is too narrow", "+ instead of ^", "the reader forgets the swizzle", "the copy starts one chunk late",
         "the copy swaps rows and columns", "the rotation advances every other row", "4 elements of padding"]
"""One or two of each test that must fail, in each of the three layouts."""


def failures(source, folder, monkeypatch):
    """{name of a test: the CounterexampleError with which it fails} of the sample project with another my_layouts.py."""
    file = folder / "my_layouts.py"
    file.write_text(source)
    monkeypatch.setitem(sys.modules, "my_layouts", loaded("my_layouts", file))
    found = {}
    for name, test in vars(loaded("sample_tests", EXAMPLE / "test_my_layouts.py")).items():
        if name.startswith("test_"):
            try:
                test()
            except CounterexampleError as error:
                found[name] = error
    return found


def loaded(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_sample_project_as_it_is_passes_its_tests(tmp_path, monkeypatch):
    assert failures(SOURCE, tmp_path, monkeypatch) == {}


def test_a_slow_machine_fails_no_test_of_the_sample_project(tmp_path, monkeypatch):
    ours = settings.get_current_profile_name()
    settings.load_profile("default")                  # as in a project that copies the tests, and has no profile
    try:
        assert settings().deadline is not None
        (tmp_path / "my_layouts.py").write_text(SOURCE)
        monkeypatch.setitem(sys.modules, "my_layouts", loaded("my_layouts", tmp_path / "my_layouts.py"))
        sample = vars(loaded("sample_tests", EXAMPLE / "test_my_layouts.py")).values()
    finally:
        settings.load_profile(ours)
    limits = [test._hypothesis_internal_use_settings.deadline for test in sample if is_hypothesis_test(test)]
    assert limits == [None, None] and settings().deadline is None


@pytest.mark.parametrize("what", sweep_but(QUICK, MUTATIONS))
def test_a_planted_fault_is_caught_with_at_most_two_lanes(what, tmp_path, monkeypatch):
    right, wrong, expected = MUTATIONS[what]
    assert SOURCE.count(right) == 1
    found = failures(SOURCE.replace(right, wrong), tmp_path, monkeypatch)
    assert expected in found, f"caught by {list(found)}"
    for error in found.values():
        counterexample = error.counterexample
        assert 1 <= len(counterexample.places) <= 2 and len(counterexample.lanes) <= 2
        assert all(str(place) in str(error).replace("\n      ", " ") for place in counterexample.places)
    if expected in (CONFLICTS, ONCE, SAME):
        assert found[expected].counterexample.lanes
