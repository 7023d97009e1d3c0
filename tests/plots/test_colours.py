"""Colours that mean different things are told apart by whoever cannot see red, green or blue."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from simlayout.plots.performance import BARS, SERIES
from simlayout.plots.style import COLOURS, EMPTY, MARK, NAMED, PLACES

SIGHT = {
    "all colours": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""What light becomes to an eye (Machado, Oliveira and Fernandes 2009, severity 1.0), of linear red, green and blue."""

XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = XYZ.sum(axis=1)


def light(colours):
    """Linear light of sRGB colours, [n, 3]."""
    given = np.array([to_rgb(colour) for colour in colours])
    return np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)


def lab(lights):
    """CIELAB of linear light, [n, 3]."""
    scaled = lights @ XYZ.T / WHITE
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def nearest(colours, eye):
    """The smallest distance of two colours to an eye, in CIELAB: 2 or 3 are just seen side by side."""
    seen = lab(np.clip(light(colours) @ np.transpose(SIGHT[eye]), 0, 1))
    apart = np.linalg.norm(seen[:, None] - seen, axis=-1)
    return apart[~np.eye(len(seen), dtype=bool)].min()


@pytest.mark.parametrize("eye", SIGHT)
@pytest.mark.parametrize("colours, least", [
    (COLOURS, 10), ((*PLACES, EMPTY), 15), ((NAMED["ideal"], NAMED["excess"], MARK), 20),
    ((NAMED["within"], NAMED["bank"], NAMED["line"]), 13), (BARS, 9), ([colour for colour, _ in SERIES], 12)],
    ids=["lanes", "places", "excess", "bits", "bars", "series"])
def test_colours_of_one_picture_are_told_apart(eye, colours, least):
    assert nearest(colours, eye) > least


def test_black_text_is_read_on_all_that_carries_it_and_white_on_bars():
    def brightness(colours):
        return light(colours) @ XYZ[1]

    assert ((brightness((*COLOURS, *NAMED.values(), EMPTY)) + 0.05) / 0.05 > 7).all()
    assert (1.05 / (brightness(BARS) + 0.05) > 4.5).all()


def test_two_colours_may_be_one_to_who_sees_no_green():
    orange, green = "#F9C98B", "#C5E38B"
    assert nearest([orange, green], "no green") < 1 < 20 < nearest([orange, green], "all colours")
