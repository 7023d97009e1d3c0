"""Which cases of a test run by default, and which wait for `pytest -m slow`, as in CI."""

import pytest


def slow_but(fast, cases):
    """The cases for parametrize, all slow but those in fast; each of these must be one of the cases.

    >>> [case.marks != () for case in slow_but([2], range(3))]
    [True, True, False]
    """
    cases, fast = list(cases), list(fast)
    assert all(case in cases for case in fast), f"not among the cases: {[case for case in fast if case not in cases]}"
    return [pytest.param(case, marks=() if case in fast else pytest.mark.slow) for case in cases]
