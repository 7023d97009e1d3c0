"""The gallery: no picture is out of date with the model, none is unreadable, and all of them are there."""

import json
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from matplotlib.image import imread
from places import ROOT
from readable import overlapping, texts
from tiers import sweep_but

import simlayout as sl
from simlayout.plots import Panel
from simlayout.plots.files import DPI, figure_of
from simlayout.plots.style import text_height, text_width

FIGURES = ROOT / "figures"
sys.path.insert(0, str(FIGURES))
import draw  # noqa: E402 (the script that draws the gallery lives beside its pictures)
import picture  # noqa: E402

DIGESTS = json.loads((FIGURES / "gallery.json").read_text())
LIMIT = 13.34, 7.51                                 # inches of a slide


@cache
def data_of(name):
    """The data of a picture, worked out once for all tests."""
    return draw.PICTURES[name].data()


@pytest.mark.parametrize("name", draw.PICTURES)
def test_no_picture_is_out_of_date(name):
    assert picture.digest(data_of(name)) == DIGESTS.get(name), f"run `python figures/draw.py {name}`"


def test_every_picture_has_both_files_and_no_file_is_left_over():
    wanted = {f"{name}.{kind}" for name in draw.PICTURES for kind in ("svg", "png")}
    assert {p.name for p in FIGURES.iterdir() if p.suffix in (".svg", ".png")} == wanted
    assert set(DIGESTS) == set(draw.PICTURES)


def test_the_page_shows_every_picture_under_the_sentence_that_it_says():
    text = (FIGURES / "README.md").read_text()
    assert text == draw.page(), "run `python figures/draw.py NAME`, with a name, for the page alone"
    for made in draw.PICTURES.values():
        assert made.says and f"**{made.name}**: {made.says}." in text


@pytest.mark.parametrize("name", draw.PICTURES)
def test_the_sentence_stands_above_the_picture(name):
    words = " ".join(draw.PICTURES[name].says.split()[:3])
    assert words in (FIGURES / f"{name}.svg").read_text().replace("&lt;", "<").replace("&gt;", ">")


@pytest.mark.parametrize("name", draw.PICTURES)
def test_what_is_drawn_of_several_phases_says_which_and_every_access_its_type(name):
    made = data_of(name)
    for panel in (p for p in made if isinstance(p, Panel)) if isinstance(made, list) else ():
        if panel.ylabel.startswith("lane"):
            assert ", f16" in panel.title and "1 wavefronts" not in panel.title
            drawn, total = (set(t.split("\n")[0] for _, t in panel.sides), panel.title.split("\n")[1])
            assert len(drawn) == 4 or total.startswith("matrix 0 of 4: ")


@pytest.mark.parametrize("name", draw.PICTURES)
def test_the_file_says_what_the_data_say(name):
    made = data_of(name)
    svg = (FIGURES / f"{name}.svg").read_text()
    panels = [p for p in made if isinstance(p, Panel)] if isinstance(made, list) else []
    for panel in panels:
        for text in {b.text for b in panel.boxes if b.text and "\n" not in b.text}:
            assert f">{text}</text>" in svg.replace("&gt;", ">")
    assert svg.startswith("<?xml") and "<text" in svg


def test_the_digest_changes_with_the_model_and_with_nothing_else(monkeypatch):
    from simlayout.hardware.matrix import tma

    before = {name: draw.PICTURES[name].digest() for name in ("tma_modes", "ldmatrix_phases")}
    assert before == {name: draw.PICTURES[name].digest() for name in before}
    monkeypatch.setattr(tma, "swizzled", lambda address, span: address)
    assert draw.PICTURES["tma_modes"].digest() != before["tma_modes"]
    assert draw.PICTURES["ldmatrix_phases"].digest() == before["ldmatrix_phases"]
    panel = draw.PICTURES["ldmatrix_phases"].data()[0]
    moved = replace(panel, boxes=(panel.boxes[0]._replace(x=4), *panel.boxes[1:]))
    assert picture.digest(panel) != picture.digest(moved)


def test_what_is_no_data_has_no_digest():
    with pytest.raises(TypeError, match="no data"):
        picture.digest(object())


SQUARE = 1 / 3             # inch: two lines of text


@pytest.mark.parametrize("name", draw.PICTURES)
def test_no_picture_is_more_than_half_empty(name):
    assert empty(FIGURES / f"{name}.png") < 0.5


def empty(path):
    """The share of a picture's squares of a third of an inch that hold nothing but background."""
    side, image = round(SQUARE * DPI), imread(path)[..., :3]
    ink = (np.abs(image - image[0, 0]) > 0.02).any(axis=2)
    ink = np.pad(ink, [(0, -size % side) for size in ink.shape])
    return 1 - ink.reshape(len(ink) // side, side, -1, side).any(axis=(1, 3)).mean()


def test_a_picture_with_ink_in_one_corner_is_nearly_empty(tmp_path):
    figure, path = sl.plots.together([Panel("p", 1, 1, [sl.plots.Box(0, 0, 1, 1, 0, "a")])])[0].figure, tmp_path / "p.png"
    figure.set_size_inches(10, 10)
    for ax in figure.axes:
        ax.set_position((0, 0.9, 0.1, 0.1))
    figure.savefig(path, dpi=DPI)
    sl.plots.close(figure)
    assert 0.9 < empty(path) < 1


# ---- readable -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", sweep_but([*draw.PICTURES][::4], draw.PICTURES))
def test_no_text_is_small_or_cut_or_overlaps_another_on_a_slide(name):
    made = draw.PICTURES[name]
    figure = figure_of(made.draw(data_of(name), made.says))
    try:
        wide, high = figure.get_size_inches()
        assert wide <= LIMIT[0] and high <= LIMIT[1]
        found = texts(figure)
        for text, x0, y0, x1, y1 in found:
            assert -0.01 <= x0 and x1 <= wide + 0.01 and -0.01 <= y0 and y1 <= high + 0.01, text
        assert overlapping(found) == []
    finally:
        sl.plots.close(figure)


def test_texts_that_overlap_are_found():
    ax, = sl.plots.together([Panel("p", 2, 1, [sl.plots.Box(0, 0, 1, 1, 0, "a"), sl.plots.Box(1, 0, 1, 1, 0, "b")])])
    figure = ax.figure
    figure.text(0.5, 0.5, "over all of it, whatever it is, in large", fontsize=30, ha="center", va="center")
    assert overlapping(texts(figure))


def test_the_texts_of_a_panel_have_room_in_their_boxes():
    for data in map(data_of, draw.PICTURES):
        for panel in (p for p in data if isinstance(p, Panel)) if isinstance(data, list) else ():
            wide, high = panel.unit()
            for b in panel.boxes:
                assert not b.text or (text_width(b.text) < b.width * wide and text_height(b.text) <= b.height * high)
