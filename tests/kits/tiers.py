"""Which cases of a test run by default, and which wait for `pytest -m slow`, as in CI."""

from functools import wraps
from inspect import Parameter, signature

import pytest
from hypothesis import given, settings


def slow_but(fast, cases, swept=()):
    """The cases for parametrize, all slow but those in fast, and those in swept, which wait for `pytest -m sweep`.

    >>> [[mark.name for mark in case.marks] for case in slow_but([2], range(4), swept=[0])]
    [['sweep'], ['slow'], [], ['slow']]
    """
    cases, fast = list(cases), list(fast)
    unknown = [case for case in (*fast, *swept) if case not in cases]
    assert not unknown, f"not among the cases: {unknown}"
    return [pytest.param(case, marks=() if case in fast else pytest.mark.sweep if case in swept else pytest.mark.slow)
            for case in cases]


def given_few(few, many, *strategies, **named):
    """As Hypothesis's `given`, with few examples by default, many in a slow case of the test, and ten times as many in
    one of the sweep; fixtures come first."""
    def of(test):
        ours = signature(test)
        parameters = list(ours.parameters.values())
        fixtures = [p for p in parameters[:len(parameters) - len(strategies)] if p.name not in named]

        @pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.slow),
                                              pytest.param(10 * many, marks=pytest.mark.sweep)])
        @wraps(test, updated=())
        def trial(examples, **given_fixtures):
            settings(max_examples=examples)(given(*strategies, **named)(test))(**given_fixtures)

        trial.__signature__ = ours.replace(parameters=[Parameter("examples", Parameter.POSITIONAL_OR_KEYWORD), *fixtures])
        return trial

    return of
