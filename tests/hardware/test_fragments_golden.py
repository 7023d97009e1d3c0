"""Fragments against the maps that were measured on an H200 (tests/data/README.md)."""

import numpy as np
import pytest
from places import DATA

from cuda_kernels.conformance.fragments.__main__ import probes
from cuda_kernels.conformance.fragments.records import load

HEAD, MAPS = load(DATA / "h200_fragments.npz")


def test_every_form_was_measured():
    assert set(MAPS) == set(probes())


def test_the_record_says_where_and_how_it_was_made():
    assert "H200" in HEAD["device"] and HEAD["driver"] and HEAD["date"] and "fragments" in HEAD["command"]


@pytest.mark.parametrize("form", MAPS)
def test_the_measured_maps_are_those_of_the_model(form):
    expected = probes()[form].expected()
    assert set(MAPS[form]) == set(expected)
    for operand, made in MAPS[form].items():
        np.testing.assert_array_equal(made, expected[operand], err_msg=operand)
