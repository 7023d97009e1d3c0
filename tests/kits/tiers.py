"""Which cases of a test run by default, and which wait for `pytest -m sweep`."""

from functools import wraps
from inspect import Parameter, signature

import pytest
from hypothesis import given, settings


def sweep_but(fast, cases):
    """The cases for parametrize: those in fast run by default, all others wait for `pytest -m sweep`.

    >>> [[mark.name for mark in case.marks] for case in sweep_but([2], range(4))]
    [['sweep'], ['sweep'], [], ['sweep']]
    """
    cases, fast = list(cases), list(fast)
    unknown = [case for case in fast if case not in cases]
    assert not unknown, f"not among the cases: {unknown}"
    return [pytest.param(case, marks=() if case in fast else pytest.mark.sweep) for case in cases]


def given_few(few, many, *strategies, **named):
    """As Hypothesis's `given`, with few examples by default, and many in a case of the sweep; fixtures come first."""
    def of(test):
        ours = signature(test)
        parameters = list(ours.parameters.values())
        fixtures = [p for p in parameters[:len(parameters) - len(strategies)] if p.name not in named]

        @pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.sweep)])
        @wraps(test, updated=())
        def trial(examples, **given_fixtures):
            settings(max_examples=examples)(given(*strategies, **named)(test))(**given_fixtures)

        trial.__signature__ = ours.replace(parameters=[Parameter("examples", Parameter.POSITIONAL_OR_KEYWORD), *fixtures])
        return trial

    return of
