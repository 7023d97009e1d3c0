"""The pictures: what is drawn is what the analysis counts, or what was measured."""

import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA
from tiers import given_few

import simlayout as sl
from simlayout.hardware import INSTRUCTIONS
from simlayout.plots import (
    Bar,
    Dot,
    banks,
    comparison,
    ladder,
    phases,
    rendered,
    save,
    share_by_size,
    share_by_waves,
)
from simlayout.plots.banks import COLOURS, label
from simlayout.plots.style import MARK
from simlayout.proofs.natural import natural_access


def natural(text, op="ldmatrix.x4", dtype="f16"):
    return natural_access(sl.parse(text), op, dtype).analyze()


@st.composite
def analyses(draw):
    """Any instruction on random addresses, crowded enough to conflict and to share words."""
    row = INSTRUCTIONS[draw(st.sampled_from(sorted(n for n, r in INSTRUCTIONS.items() if r.rule in ("banks", "copy"))))]
    spread = draw(st.sampled_from([1, 4, 64, 1024]))
    addresses = draw(st.lists(st.integers(0, spread), min_size=32, max_size=32))
    active = None
    if not row.needs_whole_warp and draw(st.booleans()):
        active = np.array(draw(st.lists(st.booleans(), min_size=32, max_size=32)))
    return sl.analyze(row, np.array(addresses) * row.bytes, active)


@given_few(50, 150, analyses())
def test_the_wavefronts_of_the_phases_add_up_to_the_analysis(analysis):
    found = phases(analysis)
    assert sum(p.wavefronts for p in found) == analysis.wavefronts[0]
    assert sum(p.wavefronts > 0 for p in found) == analysis.ideal[0]


@settings(deadline=None, max_examples=150)
@given(analyses())
def test_a_wavefront_gives_each_bank_one_word_and_every_active_lane_gets_its_own(analysis):
    for phase in phases(analysis):
        cells = {(s.wavefront, bank) for s in phase.served for bank in range(s.bank, s.bank + s.width)}
        assert len(cells) == sum(s.width for s in phase.served)
        assert {s.wavefront for s in phase.served} == set(range(phase.wavefronts))
        served = [lane for s in phase.served for lane in s.lanes]
        assert sorted(served) == sorted([lane for lane in phase.lanes if analysis.active[0, lane]] * phase.times)
        for s in phase.served:
            assert s.word % 32 == s.bank
            assert all(analysis.addresses[0, lane] // 4 // s.width * s.width == s.word for lane in s.lanes)


def test_an_atomic_that_retries_has_no_phases():
    with pytest.raises(sl.SimlayoutError, match="is a loop"):
        phases(sl.analyze("red.shared.add.f32", [0] * 32))


def drawn_cells(ax):
    """{(bank, y): colour} of the drawn cells, and the set of those framed as conflicts."""
    from matplotlib.colors import to_rgba

    marked = [c for c in ax.collections if tuple(c.get_edgecolors()[:1].ravel()) == to_rgba(MARK)]
    cells, *marks = ax.collections[-3:] if marked else ax.collections[-1:]
    corners = [tuple(path.vertices[0]) for path in cells.get_paths()]
    framed = {tuple(path.vertices[0]) for path in marks[1].get_paths()} if marks else set()
    return dict(zip(corners, map(tuple, cells.get_facecolors()), strict=True)), framed


@pytest.mark.parametrize("text, op, dtype", [
    ("(16,64):(64,1)", "ldmatrix.x4", "f16"), ("Sw<3,3,3> o (16,64):(64,1)", "ldmatrix.x4", "f16"),
    ("(32,32):(32,1)", "ld.shared.b32", "f32"), ("(16,64):(72,1)", "st.shared.b128", "f16"),
    ("(32,8):(8,1)", "atom.shared.cas.b32", "s32"), ("(64,64):(64,1)", "ld.shared.b16", "f16")])
def test_the_picture_shows_every_served_word_once_with_its_lanes_and_marks_the_extra_ones(text, op, dtype):
    from matplotlib.colors import to_rgba

    analysis = natural(text, op, dtype)
    ax = banks(analysis)
    cells, framed = drawn_cells(ax)
    served = [s for phase in phases(analysis) for s in phase.served]
    assert len(cells) == len(served)
    assert len(framed) == sum(s.wavefront > 0 for s in served)
    texts = [t.get_text() for t in ax.texts]
    for s in served:
        assert label(s) in texts
    assert sorted(cells.values()) == sorted(to_rgba(COLOURS[s.lanes[0] % 8]) for s in served)


def test_the_totals_are_written_at_the_side():
    texts = [t.get_text() for t in banks(natural("(16,64):(64,1)")).texts]
    assert "32 wavefronts,\nideal 4" in texts
    assert texts.count("lanes 8\N{EN DASH}15\n8 wavefronts") == 1


def test_no_text_is_smaller_than_8_points_or_leaves_the_figure_or_overlaps_another():
    for text, op, dtype in (("(16,64):(64,1)", "ldmatrix.x4", "f16"), ("(32,32):(1,32)", "ld.shared.b32", "f32"),
                            ("(64,64):(64,1)", "ld.shared.b16", "f16"), ("(32,32):(32,1)", "ld.shared.b128", "s32")):
        figure = comparison(*[natural(text, op, dtype)] * 2, titles=(text, f"{op} {dtype}"))[0].figure
        figure.draw_without_rendering()
        renderer = figure.canvas.get_renderer()
        shown = [t for ax in figure.axes for t in (*ax.texts, *ax.get_xticklabels(), ax.xaxis.label, ax.yaxis.label)]
        shown += figure.legends[0].get_texts()
        boxes = [t.get_window_extent(renderer) for t in shown]
        assert min(t.get_fontsize() for t in shown) >= 8
        assert all(figure.bbox.x0 <= b.x0 and b.x1 <= figure.bbox.x1 and figure.bbox.y0 <= b.y0
                   and b.y1 <= figure.bbox.y1 for b in boxes)
        shrunk = [b.shrunk(0.9, 0.8) for b in boxes if b.width]
        assert not any(a.overlaps(b) for i, a in enumerate(shrunk) for b in shrunk[:i])
        assert figure.get_figwidth() <= 13.34


def test_a_comparison_has_two_axes_of_one_scale():
    left, right = comparison(natural("(16,64):(64,1)"), natural("Sw<3,3,3> o (16,64):(64,1)"), titles=("one", "two"))
    assert left.get_ylim() == right.get_ylim()
    assert (left.get_title(loc="left"), right.get_title(loc="left")) == ("one", "two")


def test_an_access_plots_itself_into_given_axes():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    access = natural_access(sl.parse("(16,64):(64,1)"), "ldmatrix.x4", "f16", name="load A")
    assert access.plot(ax=ax) is ax
    assert ax.get_title(loc="left") == ("load A: ldmatrix.x4 of (16,64):(64,1), f16\n"
                                          "lane tid: row tid % 16, column 16*k + 8*(tid // 16)")


def test_a_picture_of_what_is_not_known_exactly_says_so():
    legend = banks(natural("(16,64):(64,1)", "cp.async.cg.16")).get_legend()
    assert any("not known exactly" in t.get_text() for t in legend.get_texts())


def test_svg_text_stays_text_and_equal_figures_are_equal_bytes():
    first, second = (rendered(banks(natural("(16,64):(64,1)"), title="a $title")) for _ in range(2))
    assert first == second
    assert b">a $title</text>" in first and b">bank</text>" in first


def test_a_file_in_place_of_the_index_is_refused_with_how_to_save():
    access = sl.Access("A", "ldmatrix.x4", "(16,64):(64,1)", lambda tid: (tid % 16, 8 * (tid // 16)))
    with pytest.raises(sl.SimlayoutError, match="simlayout.plots.save"):
        access.plot("banks.png")


def test_an_index_out_of_range_is_refused():
    for index in (-1, 4):
        with pytest.raises(sl.SimlayoutError, match="0 to 3"):
            phases(natural("(16,64):(64,1)"), index)


def test_a_file_of_another_kind_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(sl.SimlayoutError, match=r"\.svg or \.png"):
        save(banks(natural("(16,64):(64,1)")), tmp_path / "a.pdf")
    assert not list(tmp_path.iterdir())


def test_who_saves_into_a_buffer_is_told_what_gives_the_bytes():
    with pytest.raises(sl.SimlayoutError, match="`rendered.drawn, .png..` gives its bytes"):
        sl.plots.save(sl.Layout((4, 4), (4, 1)).plot(), BytesIO())


def test_matplotlib_loads_with_the_first_figure_and_its_absence_is_explained():
    code = ("import sys, simlayout as sl\nsl.plots.phases\nassert 'matplotlib' not in sys.modules\n"
            "sys.modules['matplotlib'] = None\n"
            "try:\n    sl.plots.banks(sl.analyze('ld.shared.b32', [0] * 32))\n"
            "except sl.SimlayoutError as error:\n    print(error)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'figures need Matplotlib: pip install "simlayout[plot]"'


# ---- measured speed --------------------------------------------------------------------------------------------------

shares = st.floats(0.05, 2).map(lambda s: round(s, 3))
dots = st.lists(st.builds(Dot, st.floats(0.1, 20000), shares, st.sampled_from(["squares", "layers", "random"]),
                          st.sampled_from(["", "904 x 408 x 10080"])), min_size=1, max_size=12)
labels = st.text("abcdefgh ,0123456789x", min_size=1, max_size=40)
bars = st.lists(st.builds(Bar, labels, st.none() | shares, st.none() | shares, st.just("from the first step on")),
                min_size=1, max_size=24)


def standing(figure):
    """The texts of a figure, with their boxes; all inside the figure and none under 10 points."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    shown = []
    for ax in figure.axes:
        inside = ([t for t in labels if min(limits) <= t.get_position()[i] <= max(limits)] for i, (labels, limits) in
                  enumerate(((ax.get_xticklabels(), ax.get_xlim()), (ax.get_yticklabels(), ax.get_ylim()))))
        shown += [t for t in (*ax.texts, *next(inside), *next(inside), ax.xaxis.label, ax.yaxis.label) if t.get_text()]
    shown += [t for ax in figure.axes if ax.get_legend() for t in ax.get_legend().get_texts()]
    boxes = [t.get_window_extent(renderer) for t in shown]
    assert min(t.get_fontsize() for t in shown) >= 10
    return shown, boxes


@given_few(10, 25, dots, st.sampled_from([share_by_size, share_by_waves]))
def test_every_measurement_is_a_dot_of_its_series_and_lies_inside_the_axes(made, draw):
    from matplotlib.figure import Figure

    ax = Figure(figsize=(13, 6)).add_subplot()
    assert draw(made, ax=ax) is ax
    drawn = {line.get_label().split(" (")[0]: list(zip(*line.get_data())) for line in ax.lines if " (" in line.get_label()}
    assert drawn == {name: [(d.x, d.share) for d in made if d.series == name] for name in {d.series for d in made}}
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    assert all(left < d.x < right and low < d.share < high for d in made) and low < 1 < high


@given_few(10, 25, bars)
def test_every_bar_is_as_long_as_its_share_and_every_published_share_a_diamond(made):
    from matplotlib.figure import Figure

    ax = ladder(made, ax=Figure(figsize=(13, 8)).add_subplot())
    assert [t.get_text() for t in ax.get_yticklabels()] == [bar.label for bar in made]
    lengths = {round(p.get_y() + p.get_height() / 2): p.get_width() for p in ax.patches}
    assert lengths == {i: bar.share for i, bar in enumerate(made) if bar.share is not None}
    diamonds = [(y, x) for line in ax.lines if line.get_marker() == "D" for x, y in zip(*line.get_data())]
    assert diamonds == [(i, bar.published) for i, bar in enumerate(made) if bar.published is not None]
    assert (ax.get_legend() is not None) == bool(diamonds)
    assert max([1.0, *lengths.values(), *(x for _, x in diamonds)]) < ax.get_xlim()[1]


@pytest.mark.parametrize("name", ["matmul_by_size", "matmul_by_waves", "kernels", "ladder of steps"])
def test_pictures_of_the_records_are_readable(name):

    from cuda_kernels.bench import pictures, record, steps

    if name == "ladder of steps":
        ax = ladder([Bar(step.name, 0.7, step.published_share, step.why) for step in steps.STEPS])
    elif name == "kernels":
        ax = ladder(pictures.of_kernels(record.read(DATA / "h200_bench.json"), 8192))
    else:
        draw, made = {"matmul_by_size": (share_by_size, pictures.by_size),
                      "matmul_by_waves": (share_by_waves, pictures.by_waves)}[name]
        ax = draw(made(record.read(DATA / "h200_matmul.json")))
    shown, boxes = standing(ax.figure)
    assert ax.figure.get_figwidth() <= 13.34 and ax.figure.get_figheight() <= 10
    edge = ax.figure.bbox
    assert all(edge.x0 <= b.x0 and b.x1 <= edge.x1 and edge.y0 <= b.y0 and b.y1 <= edge.y1 for b in boxes)
    named = [b.shrunk(0.95, 0.8) for t, b in zip(shown, boxes) if t in ax.texts or t in ax.get_yticklabels()]
    assert not any(a.overlaps(b) for i, a in enumerate(named) for b in named[:i])


def test_nothing_to_draw_is_refused_in_words():
    for draw in (share_by_size, share_by_waves, ladder):
        with pytest.raises(sl.SimlayoutError, match="to draw: measure something first"):
            draw([])


@pytest.mark.parametrize("share, published", [(0.5, 0.48), (0.5, 0.5), (0.04, 0.05), (0.04, 0.04), (0.5, 0.9), (0.04, None)])
def test_no_diamond_hides_the_number_of_a_bar(share, published):
    ax = ladder([Bar("one", share, published), Bar("other", 1.0, None)])
    ax.figure.canvas.draw()
    number = next(t for t in ax.texts if t.get_text() == f"{share:.2f}").get_window_extent()
    if published is not None:
        x = ax.transData.transform((published, 0))[0]
        assert x + 4 < number.x0 or x - 4 > number.x1
