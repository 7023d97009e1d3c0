"""Assertions on a Trace fail where lines have excess, hazards or too many wavefronts, and nowhere else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlayout.errors import SimlayoutError
from simlayout.kernel import AccessCount
from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.kinds import Place, hazard
from simlayout.testing import assert_no_conflicts, assert_no_hazards, assert_wavefronts

SOURCE = ["def kernel(a):", "    tile[i] = a[i]", "    a[i] = tile[j]", "    b[i] = tile[i]"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "kernels.py"
    path.write_text("\n".join(SOURCE) + "\n")
    return str(path)


def traced(file, counts, hazards=()):
    """A Trace of {line: (wavefronts, ideal)}."""
    lines = tuple(AccessCount(f"kernels.py:{line}", "ld.shared.b32", 1, wavefronts, ideal, file=file, line=line)
                  for line, (wavefronts, ideal) in counts.items())
    return Trace(lines, {(file, 1): 3, **{(file, line): 1 for line in counts}}, hazards)


counts = st.dictionaries(st.integers(2, 4), st.tuples(st.integers(1, 64), st.integers(1, 64)).map(
    lambda pair: (max(pair), min(pair))), min_size=1)


def passes(assertion, *args, **named):
    """Whether an assertion passes; its text if not."""
    try:
        assertion(*args, **named)
    except AssertionError as error:
        return False, str(error)
    return True, ""


@given(counts, st.sets(st.integers(2, 4)))
def test_a_trace_has_conflicts_exactly_where_a_chosen_line_has_excess_and_these_lines_are_listed(source, found, chosen):
    trace, chosen = traced(source, found), chosen & set(found)
    slow = {line for line in chosen or found if found[line][0] > found[line][1]}
    passed, text = passes(assert_no_conflicts, trace, lines=chosen or None)
    assert passed == (not slow)
    if slow:
        excess = sum(found[line][0] - found[line][1] for line in slow)
        assert text.startswith(f"bank conflicts: {excess} excess wavefront")
        assert {int(line) for line in re.findall(r"^ +(\d+) .*(?:tile)", text, re.M)} == slow


@given(counts, st.integers(0, 200))
def test_a_line_passes_up_to_the_wavefronts_that_are_allowed(source, found, at_most):
    trace = traced(source, found)
    for line, (wavefronts, _) in found.items():
        for named in (line, f"kernels.py:{line}", f"{source}:{line}", SOURCE[line - 1].strip()):
            passed, text = passes(assert_wavefronts, trace, named, at_most=at_most)
            assert passed == (wavefronts <= at_most)
            assert passed or f"at most {at_most}" in text and SOURCE[line - 1] in text
    of_tile = sum(wavefronts for wavefronts, _ in found.values())
    assert passes(assert_wavefronts, trace, "tile[", at_most=of_tile)[0]
    assert not passes(assert_wavefronts, trace, "tile[", at_most=of_tile - 1)[0]


def test_hazards_are_listed_with_both_lines_and_what_to_do(source):
    store = Place(source, 2, "st.shared.b32", (0, 0, 0), 0, (0, 1))
    load = Place(source, 3, "ld.shared.b32", (0, 0, 0), 1, (5,))
    found = hazard("read after write", store, load, (0, 1, 2, 3), detail="")
    counted = {2: (1, 1), 3: (1, 1), 4: (1, 1)}
    assert_no_hazards(traced(source, counted))
    passed, text = passes(assert_no_hazards, traced(source, counted, (found,)))
    assert not passed and text.startswith("1 hazard\n") and "put a bar.sync between them" in text
    assert SOURCE[1] in text and SOURCE[2] in text and SOURCE[3] not in text


@pytest.mark.parametrize("lines, message", [
    (99, "no line 99 in this trace; shared memory is accessed on kernels.py:2, kernels.py:3\n"
         f"  kernels.py:2  {SOURCE[1].strip()}\n  kernels.py:3  {SOURCE[2].strip()}"),
    ("other.py:2", "no line 'other.py:2'"), ("nels.py:2", "no line 'nels.py:2'"), ("", "no line ''"),
    (1, "line 1 was executed and does not access shared memory"), ("def kernel", "does not access shared memory"),
    ([], "no lines are given"), ([2, 99], "no line 99"),
])
def test_a_line_that_checks_nothing_is_an_error(source, lines, message):
    trace = traced(source, {2: (1, 1), 3: (1, 1)})
    with pytest.raises(SimlayoutError, match=re.escape(message)):
        assert_no_conflicts(trace, lines=lines)
    if isinstance(lines, int | str):
        with pytest.raises(SimlayoutError, match=re.escape(message)):
            assert_wavefronts(trace, lines, at_most=100)


def test_arguments_that_do_not_fit_are_refused(source):
    trace = traced(source, {2: (1, 1)})
    for wrong in (-1, 1.5, True):
        with pytest.raises(SimlayoutError, match="at_most"):
            assert_wavefronts(trace, 2, at_most=wrong)
    with pytest.raises(SimlayoutError, match=r"assert_wavefronts\(trace, line, at_most=32\)"):
        assert_wavefronts(trace, 2)
    with pytest.raises(SimlayoutError, match="at_most goes with a Trace, not with str"):
        assert_wavefronts("ld.shared.b32", 1, [0] * 32, at_most=1)
