"""Where figures are drawn: one contract for all of `simlayout.plots`, of `ax=` and of what comes back."""

import inspect
from functools import partial

import numpy as np
import pytest
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from tiers import given_few, sweep_but

import simlayout as sl
from simlayout import plots
from simlayout.hardware.matrix.operand_tile import OperandTile
from simlayout.kernel import AccessCount
from simlayout.machine import Event, run
from simlayout.plots import Bar, Box, Dot, Panel
from simlayout.plots.files import figure_of

PLAIN = sl.Layout((16, 64), (64, 1))
SWIZZLED = sl.Swizzle(3, 3, 3) @ PLAIN
LOAD = sl.Access("load A", "ldmatrix.x4", PLAIN, lambda tid: (tid % 16, 8 * (tid // 16)), excess=None)
FRAGMENT = sl.fragment("m16n8k8.f32.f16.f16.f32", "A")
COUNTS = [AccessCount("load", "ldmatrix.x4", 2, 24, 8), AccessCount("store", "st.shared.b128", 2, 8, 8)]
DOTS = [Dot(4096, 1.01, "squares"), Dot(256, 0.9, "random")]
AT = 4 * np.arange(32)
EVENTS = [("copy", "st.shared.b32", AT), ("load", "ld.shared.b32", AT)], {"copy": {0: 0}}, {"load": {0: 0}}
PANEL = Panel("a panel", 2, 1, [Box(0, 0, 1, 1, 0, "a"), Box(1, 0, 1, 1, 1, "b", True)], legend=(((0, 1), "a colour"),),
              marked="late")

ONE = {                                                  # functions that draw one panel
    "access": partial(plots.access, LOAD, 0),
    "banks": partial(plots.banks, LOAD.analyze()),
    "copies": partial(plots.copies, LOAD),
    "draw": partial(plots.draw, PANEL),
    "fragment": partial(plots.fragment, FRAGMENT),
    "ladder": partial(plots.ladder, [Bar("tile 64x64", 0.4, 0.44)]),
    "layout": partial(plots.layout, SWIZZLED, "chunk"),
    "lost_by_depth": lambda **options: plots.lost_by_depth(plots.accumulated((128, 256)), **options),
    "matrix": partial(plots.matrix, SWIZZLED),
    "matrix_phases": partial(plots.matrix_phases, LOAD),
    "pipeline": partial(plots.pipeline, plots.timeline(*EVENTS)),
    "plan": lambda **options: plots.plan(_kernel().plan, **options),
    "share_by_size": partial(plots.share_by_size, DOTS),
    "share_by_waves": partial(plots.share_by_waves, DOTS),
    "sheet": partial(plots.sheet, plots.sheet_of(COUNTS, "a plan")),
    "sheets": partial(plots.sheets, [plots.sheet_of(COUNTS, "one"), plots.sheet_of(COUNTS[1:], "two")], "above both"),
    "tma": partial(plots.tma, plots.atom(64)),
}
SEVERAL = {                                              # functions that draw several: how many, and the function
    "comparison": (2, partial(plots.comparison, LOAD.analyze(), LOAD.with_tile(SWIZZLED).analyze())),
    "copy_map": (2, partial(plots.copy_map, LOAD)),
    "layout_map": (2, partial(plots.layout_map, SWIZZLED, "chunk")),
    "tma_modes": (4, plots.tma_modes),
    "together": (3, partial(plots.together, [PANEL] * 3, 2)),
}
DATA = {                                                 # functions that draw nothing: what they give is plain
    "accumulated": lambda: plots.accumulated((128,))[0],
    "accumulator_panel": lambda: plots.accumulator_panel(sl.hardware.accumulator(64, 64)),
    "atom": lambda: plots.atom(32),
    "bit_matrix": lambda: plots.bit_matrix(SWIZZLED),
    "choice": lambda: plots.choice(sl.hardware.choose_ldmatrix("m16n8k16.f32.f16.f16.f32", "A")),
    "in_memory": lambda: plots.in_memory(LOAD),
    "order": lambda: plots.order(_run),
    "outline": lambda: plots.outline(sl.fragment("wgmma.m64n16k16.f32.f16.f16", "D")),
    "landing": lambda: plots.landing(plots.atom(32)),
    "operand_panel": lambda: plots.operand_panel(OperandTile(64, 64, "f16")),
    "logical": lambda: plots.logical(PLAIN),
    "memory": lambda: plots.memory(PLAIN),
    "of_kernel": lambda: plots.of_kernel(_kernel(), 2),
    "phase_rows": lambda: plots.phase_rows(LOAD.analyze()),
    "phases": lambda: plots.phases(LOAD.analyze())[0],
    "plan_sheet": lambda: plots.plan_sheet(_kernel().plan),
    "sheet_of": lambda: plots.sheet_of(COUNTS, "a plan"),
    "table": lambda: plots.table(FRAGMENT),
    "timeline": lambda: plots.timeline(*EVENTS),
    "tma_timeline": lambda: plots.tma_timeline([Event("load", "cp.async.bulk.tensor", (0, 0, 0), AT, mbarrier=4096)]),
    "touched": lambda: plots.touched(LOAD),
}
FILES = {"close", "rendered", "save"}
CLASSES = {name for name in plots.__all__ if inspect.isclass(getattr(plots, name))}


def _run():
    from cuda_kernels.intrinsics import dynamic_shared, st_shared_b32, tid_x

    def store():
        st_shared_b32(dynamic_shared() + 4 * tid_x(), 1)

    return run(store, 1, 32, shared_bytes=128)


def _kernel():
    from cuda_kernels import KERNELS

    return KERNELS["mma_permuted"].variant(stages=2)


@pytest.fixture
def no_new_figure(monkeypatch):
    """Fails where a figure is made."""
    figure = Figure(figsize=(14, 9))

    def made(*_, **__):
        raise AssertionError("a new figure, though Axes were given")

    monkeypatch.setattr(Figure, "__init__", made)
    return figure


# ---- every public function -----------------------------------------------------------------------------------------------

def test_every_public_function_is_one_that_draws_or_gives_data_or_writes_files():
    assert sorted([*ONE, *SEVERAL, *DATA, *FILES, *CLASSES]) == sorted(plots.__all__)
    functions = [name for name in plots.__all__ if name not in CLASSES]
    assert {name for name in functions if "ax" in inspect.signature(getattr(plots, name)).parameters} == {*ONE, *SEVERAL}
    for name in (*ONE, *SEVERAL):
        assert inspect.signature(getattr(plots, name)).parameters["ax"].default is None


@pytest.mark.parametrize("name", DATA)
def test_what_gives_data_draws_nothing(name, monkeypatch):
    monkeypatch.setattr(FigureBase, "add_axes", None)
    made = DATA[name]()
    assert type(made).__module__.startswith("simlayout.")


@pytest.mark.parametrize("name", ONE)
def test_a_figure_of_one_panel_is_its_axes(name):
    ax = ONE[name]()
    assert isinstance(ax, Axes) and ax.figure.axes == [ax]


@pytest.mark.parametrize("name", ONE)
def test_one_panel_is_drawn_into_the_axes_given(name, no_new_figure):
    ax, other = no_new_figure.subplots(1, 2)
    assert ONE[name](ax=ax) is ax
    assert no_new_figure.axes == [ax, other] and not ax.child_axes
    assert contents(ax) and not contents(other)


@pytest.mark.parametrize("name", SEVERAL)
def test_a_figure_of_several_panels_is_a_tuple_of_its_axes_in_order(name):
    count, draw = SEVERAL[name]
    axes = draw()
    assert type(axes) is tuple and len(axes) == count and list(axes) == axes[0].figure.axes
    edges = [(round(-ax.get_position().y1, 6), ax.get_position().x0) for ax in axes]
    assert edges == sorted(edges)                        # as one reads


@pytest.mark.parametrize("name", SEVERAL)
def test_several_panels_are_drawn_inside_one_axes_apart_from_each_other_and_from_all_else(name, no_new_figure):
    count, draw = SEVERAL[name]
    frame, other = no_new_figure.subplots(2, 1)
    place = frame.get_position().bounds
    axes = draw(ax=frame)
    assert type(axes) is tuple and len(axes) == count and all(contents(ax) for ax in axes)
    assert list(axes) == frame.child_axes and no_new_figure.axes == [frame, other] and not contents(other)
    assert not frame.axison and frame.get_position().bounds == place and not no_new_figure.texts + no_new_figure.legends
    assert inside_and_apart(frame, axes)


@pytest.mark.parametrize("name", SEVERAL)
def test_each_of_several_panels_is_drawn_into_its_own_axes(name, no_new_figure):
    count, draw = SEVERAL[name]
    grid = no_new_figure.subplots(2, -(-count // 2))
    given = list(grid.flat)[:count]
    assert draw(ax=given) == tuple(given)
    assert no_new_figure.axes == list(grid.flat) and all(contents(ax) and not ax.child_axes for ax in given)
    if grid.size == count:
        assert draw(ax=grid) == tuple(given)             # the array of pyplot.subplots, too


@pytest.mark.parametrize("name", SEVERAL)
def test_in_one_axes_in_its_own_and_in_a_new_figure_the_panels_are_the_same(name):
    count, draw = SEVERAL[name]
    inner = draw(ax=Figure(figsize=(14, 9)).add_subplot())
    own = draw(ax=Figure(figsize=(14, 9)).subplots(1, count))
    for new, *others in zip(draw(), inner, own, strict=True):
        for ax in others:
            assert (ax.get_xlim(), ax.get_ylim()) == (new.get_xlim(), new.get_ylim())
            assert contents(ax) == contents(new)
            assert ax.get_title(loc="left").split() == new.get_title(loc="left").split()


@pytest.mark.parametrize("name", ONE)
def test_anything_but_one_axes_for_one_panel_is_refused_in_words(name, no_new_figure):
    axes = list(no_new_figure.subplots(1, 2))
    for wrong in (axes, no_new_figure, [None], "ax", 0):
        with pytest.raises(sl.SimlayoutError, match="there is one panel, and ax is [a-zA-Z]+: give one Axes, or None"):
            ONE[name](ax=wrong)
    assert not any(map(contents, axes)) and all(ax.axison for ax in axes)


@pytest.mark.parametrize("name", SEVERAL)
def test_another_number_of_axes_is_refused_in_words_and_nothing_is_drawn(name, no_new_figure):
    count, draw = SEVERAL[name]
    axes = list(no_new_figure.subplots(1, 5))
    for wrong in (axes[:count - 1], axes[:count + 1], []):
        with pytest.raises(sl.SimlayoutError, match=f"there are {count} panels, and ax is {len(wrong)} Axes: give one"):
            draw(ax=wrong)
    for wrong, what in ((no_new_figure, "Figure"), ([None] * count, "list"), ("ax", "str")):
        with pytest.raises(sl.SimlayoutError, match=f"there are {count} panels, and ax is a {what}: give one Axes"):
            draw(ax=wrong)
    assert not any(map(contents, axes)) and all(ax.axison for ax in axes)


def contents(ax):
    """(shapes of each collection, texts, lines, patches) that Axes show; None where there are none."""
    shapes = [len(c.get_paths()) for c in ax.collections]
    texts = [t.get_text() for t in ax.texts] + [text for a in ax.artists for *_, text in getattr(a, "texts", ())]
    found = shapes, texts, len(ax.lines), len(ax.patches)
    return found if any(found) else None


def inside_and_apart(frame, axes):
    """Whether the places of Axes lie in that of the frame and do not meet, now and as drawn."""
    for draw in (lambda: None, frame.figure.draw_without_rendering):
        draw()
        whole, parts = frame.get_position(), [ax.get_position() for ax in axes]
        for i, a in enumerate(parts):
            if not (whole.x0 <= a.x0 < a.x1 <= whole.x1 and whole.y0 <= a.y0 < a.y1 <= whole.y1):
                return False
            if any(a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1 for b in parts[:i]):
                return False
    return True


# ---- the place of one Axes -----------------------------------------------------------------------------------------------

sizes = st.tuples(st.integers(1, 40), st.integers(1, 12))
shares = st.floats(0, 0.4), st.floats(0, 0.4), st.floats(0.1, 0.6), st.floats(0.1, 0.6)


@given_few(4, 400, st.lists(sizes, min_size=1, max_size=6), st.none() | st.integers(1, 6),
           st.sampled_from(["", "above all"]), st.tuples(*shares), st.tuples(st.floats(3, 20), st.floats(3, 20)))
def test_panels_lie_in_the_place_of_an_axes_as_in_their_own_figure(given_sizes, across, title, place, size):
    panels = [Panel(f"{w} x {h}", w, h, [Box(x, 0, 1, h, x) for x in range(w)], xlabel="bank" if w > 9 else "",
                    legend=(((0,), "a colour"),)) for w, h in given_sizes]
    frame = Figure(figsize=size).add_axes(place)
    axes, new = plots.together(panels, across, title, frame), plots.together(panels, across, title)
    plots.close(new)
    assert inside_and_apart(frame, axes)
    own = frame.get_position()
    for ax, alone in zip(axes, new, strict=True):
        shares = alone.get_position().bounds * np.array([own.width, own.height] * 2) + (own.x0, own.y0, 0, 0)
        assert ax.get_position().bounds == pytest.approx(tuple(shares))
    assert [t.get_text() for t in frame.texts] == [title] * bool(title)


@pytest.mark.parametrize("name", SEVERAL)
def test_title_and_legend_stand_in_the_place_of_the_axes_where_that_is_as_large_as_a_figure_of_its_own(name):
    _, draw = SEVERAL[name]
    draw = partial(draw, title="above all") if name in ("copy_map", "together") else draw
    wide, high = draw()[0].figure.get_size_inches()
    figure = Figure(figsize=(wide + 4, high + 3))
    frame = figure.add_axes((1 / (wide + 4), 1 / (high + 3), wide / (wide + 4), high / (high + 3)))
    axes = draw(ax=frame)
    figure.draw_without_rendering()
    whole = frame.get_window_extent()
    legends = [legend for ax in (frame, *axes) if (legend := ax.get_legend())]
    stood = [t.get_window_extent() for t in (*frame.texts, *legends, *(ax._left_title for ax in axes))]
    assert legends
    assert len(stood) == (name in ("copy_map", "together")) + 1 + len(axes)
    for box in stood:
        assert whole.x0 - 1 <= box.x0 and box.x1 <= whole.x1 + 1 and whole.y0 - 1 <= box.y0 and box.y1 <= whole.y1 + 1


def test_panels_follow_an_axes_that_a_layout_moves():
    figure = Figure(figsize=(12, 9), layout="constrained")
    frame, other = figure.subplots(2, 1)
    before = frame.get_position().bounds
    axes = plots.tma_modes(ax=frame)
    other.set_title("in\nfour\nlines\nof text", fontsize=30)
    assert inside_and_apart(frame, axes) and frame.get_position().bounds != before


def test_every_figure_can_be_drawn_in_a_part_of_a_figure():
    whole = Figure(figsize=(14, 9))
    for draw in (*ONE.values(), *(draw for _, draw in SEVERAL.values())):
        part, _ = whole.subfigures(1, 2)
        assert figure_of(draw(ax=part.add_subplot())) is whole


def test_a_title_above_axes_of_their_own_is_refused():
    axes = Figure().subplots(1, 3)
    with pytest.raises(sl.SimlayoutError, match="no place for the title 'all'"):
        plots.together([PANEL] * 3, title="all", ax=axes)
    assert not any(map(contents, axes))


# ---- files ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", sweep_but([*ONE, *SEVERAL][::3], [*ONE, *SEVERAL]))
def test_what_a_function_returns_is_written_and_let_go_as_its_figure_is(name, tmp_path):
    from matplotlib import pyplot

    made = (ONE.get(name) or SEVERAL[name][1])()
    figure = figure_of(made)
    assert figure_of(figure) is figure and pyplot.fignum_exists(figure.number)
    plots.save(made, tmp_path / "a.svg")
    plots.save(figure, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes() == plots.rendered(made)
    plots.close(made)
    assert not pyplot.fignum_exists(figure.number)


def test_what_is_not_drawn_or_not_one_picture_is_refused(tmp_path):
    two = Figure().add_subplot(), Figure().add_subplot()
    for wrong, fault in ((two, "these are of 2"), ((), "these are of 0"), (PANEL, "Panel is no Figure"), (3, "int is")):
        with pytest.raises(sl.SimlayoutError, match=fault):
            plots.save(wrong, tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())
