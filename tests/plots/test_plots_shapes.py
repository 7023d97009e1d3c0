"""Pictures of tiles of one to four dimensions, of any type and pitch: they say all that they draw, and fit a slide."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from readable import texts

import simlayout as sl
from simlayout.algebra.notation import in_two_modes
from simlayout.cli import main
from simlayout.hardware.banks.phases import phases
from simlayout.plots import (
    access,
    accumulated,
    bit_matrix,
    close,
    copies,
    copy_map,
    layout_map,
    logical,
    matrix_phases,
    memory,
    rendered,
    touched,
)
from simlayout.plots.banks import named
from simlayout.plots.files import figure_of

SLIDE = 13.34, 7.51                                 # inches

ACCESSES = {
    "1-D, every eighth": sl.Access("a", "ld.shared.b32", sl.Layout(256, 1), lambda tid: 8 * tid, dtype="f32"),
    "1-D, one byte": sl.Access("a", "ld.shared.b8", sl.Layout(4096, 1), lambda tid: 127 * tid, dtype="s8"),
    "2-D, f64, odd pitch": sl.Access("a", "ld.shared.b64", sl.Layout((32, 32), (33, 1)), lambda tid: (tid, 3), dtype="f64"),
    "2-D, e4m3, odd pitch": sl.Access("a", "ld.shared.b8", sl.Layout((32, 130), (131, 1)), lambda tid: (tid, 3),
                                      dtype="e4m3"),
    "2-D, column-major": sl.Access("a", "ldmatrix.x4.trans", sl.Layout((64, 16)), lambda tid: (8 * (tid % 8), tid // 8)),
    "3-D": sl.Access("a", "ld.shared.b32", sl.Layout((4, 8, 16), (136, 17, 1)), lambda tid: (tid // 8, tid % 8, 5),
                     dtype="f32"),
    "nested": sl.Access("a", "ld.shared.b32", "((4,8),16):((17,68),1)", lambda tid: ((tid % 4, tid // 4), 5), dtype="f32"),
    "a copy": sl.Access("a", "cp.async.cg.16", sl.Layout((64, 128), (136, 1)), lambda tid: (tid // 16, 8 * (tid % 16))),
}


@pytest.mark.parametrize("which", ACCESSES)
@pytest.mark.parametrize("draw", [access, matrix_phases, copies, copy_map])
def test_a_picture_of_any_access_fits_a_slide(which, draw):
    drawn = draw(ACCESSES[which])
    wide, high = figure_of(drawn).get_size_inches()
    close(drawn)
    assert wide <= SLIDE[0] and high <= SLIDE[1]


def test_a_title_gives_every_part_of_the_coordinate_that_a_lane_gives():
    deep = sl.Access("a", "st.shared.b32", sl.Layout((2, 4, 4, 8), (128, 32, 8, 1)),
                     lambda tid, k: (tid // 16, tid // 4 % 4, tid % 4, k), {"tid": 32, "k": 8}, "f32")
    assert named(deep).endswith("lane tid: (tid // 16, (tid // 4) % 4, tid % 4, k)")
    assert named(ACCESSES["nested"]).endswith("row (tid % 4, tid // 4), column 5")
    assert named(ACCESSES["1-D, every eighth"]).endswith("lane tid: column 8*tid")


def test_the_title_of_one_instruction_says_where_in_the_loops_it_is(tmp_path):
    given = ["plot", "(32,32):(33,1)", "--dtype", "f32", "--op", "ld.shared.b32", "--lanes", "tid, 2*i + k", "--domain"]
    assert main([*given, "i=16", "k=2", "--index", "3", "-o", str(tmp_path / "a.svg")]) == 0
    assert "instruction 3 of 32 (i = 1, k = 1)" in (tmp_path / "a.svg").read_text()


def test_a_title_says_products_quotients_and_remainders_not_shifts_and_masks():
    load = sl.Access("a", "ldmatrix.x4", sl.Layout((64, 64), (72, 1)),
                     lambda tid, i, k: (16 * i + tid % 16, 16 * k + 8 * (tid // 16)), {"tid": 32, "i": 4, "k": 4})
    assert named(load).endswith("lane tid: row 16*i + tid % 16, column 16*k + 8*(tid // 16)")


@pytest.mark.parametrize("third", [0, 5])
def test_the_phases_of_a_tile_of_three_modes_name_all_parts_of_a_coordinate_zeros_too(third):
    deep = sl.Access("a", "ld.shared.b32", sl.Layout((4, 8, 16), (136, 17, 1)), lambda tid: (tid // 8, tid % 8, third),
                     dtype="f32")
    drawn = matrix_phases(deep)
    said = [text for text, *_ in texts(figure_of(drawn)) if text.startswith(("lane: ", "17: "))]
    close(drawn)
    assert sorted(said) == [f"17: 2, 1, {third}", "lane: coordinate"]


def test_what_lanes_touch_of_a_tile_of_three_modes_is_drawn_along_coordinates_and_not_rows_and_columns():
    deep = sl.Access("a", "ld.shared.b32", sl.Layout((4, 8, 16), (136, 17, 1)), lambda tid, i: (tid // 8, tid % 8, 5 * i),
                     {"tid": 32, "i": 3}, "f32")
    panel = touched(deep, [1, 2])
    assert (panel.xlabel, panel.ylabel) == ("coordinate 1 (coordinate 2: 5, 10)", "coordinate 0")
    far = sl.Access("a", "ld.shared.b32", sl.Layout((4096, 8, 2), (16, 1, 8)), lambda tid: (tid // 8 * 1024, tid % 8, 0),
                    dtype="f32")
    drawn = copies(far)
    said = " ".join(" ".join(text for text, *_ in texts(figure_of(drawn))).split())
    close(drawn)
    assert "coordinate 0 jumps: numbers that none of these instructions touches are left out" in said


@pytest.mark.parametrize("stage, named", [(0, "17: 2, 1"), (5, "17: 2, 1, 5")])
def test_the_phases_of_a_function_name_what_it_takes_behind_row_and_column_where_that_is_not_0(stage, named):
    tile = sl.Access("a", "ld.shared.b32", lambda row, col, stage: 136 * row + 17 * col + stage,
                     lambda tid: (tid // 8, tid % 8, stage), dtype="f32")
    drawn = matrix_phases(tile)
    said = [text for text, *_ in texts(figure_of(drawn)) if text.startswith("17: ")]
    close(drawn)
    assert said == [named]


def test_lanes_that_differ_in_a_third_coordinate_are_no_picture_of_rows_and_columns_and_the_error_nests_the_tile():
    tile = sl.Layout((4, 2, 8), (17, 68, 1))
    deep = sl.Access("a", "ld.shared.b32", tile, lambda tid: (tid % 4, 0, tid // 4), dtype="f32")
    with pytest.raises(sl.LayoutError, match=r"3 numbers.*nest the tile, as in \(\(4,2\),8\):\(\(17,68\),1\)"):
        copies(deep)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9)), min_size=3, max_size=4))
def test_the_two_modes_that_an_error_suggests_hold_the_same_offsets(modes):
    tile = sl.Layout(*zip(*modes))
    nested = sl.parse(in_two_modes(tile))
    assert len(nested.shape) == 2
    assert sorted(map(nested, range(nested.size))) == sorted(map(tile, range(tile.size)))


@settings(deadline=None)
@given(st.integers(16, 40), st.integers(0, 7), st.booleans())
def test_the_phases_of_a_copy_past_the_cache_add_up_to_what_is_counted(pitch, start, known):
    to = np.array([16 * (start + pitch * (lane // 16) + lane % 16) for lane in range(32)])
    sources = np.arange(32) * 16 + 16 * start if known else None
    analysis = sl.analyze("cp.async.cg.16", to, sources=sources)
    assume(analysis.exact or not known)
    found = phases(analysis)
    assert sum(phase.wavefronts for phase in found) == analysis.wavefronts[0]
    assert sorted(lane for phase in found for lane in phase.lanes) == list(range(32))


def test_a_picture_of_a_copy_says_what_is_not_known_of_it():
    drawn = ACCESSES["a copy"].plot()
    words = " ".join(text.get_text() for text in drawn.get_legend().get_texts())
    close(drawn)
    assert "sources=" in words and "a line of 128 bytes" in words


@pytest.mark.parametrize("dtype, cell", [("f16", 8), ("e4m3", 16), ("f32", 4), ("f64", 2)])
def test_a_column_major_tile_has_its_numbers_in_cells_of_neighbours_as_a_row_major_one_has(dtype, cell):
    columns, rows = sl.Layout((64, 16)), sl.Layout((16, 64), (64, 1))
    for tile in (columns, rows):
        for panel in (logical(tile, "chunk", dtype), memory(tile, dtype)):
            assert len(panel.boxes) == 1024 // cell
    down, = {(box.width, box.height) for box in logical(columns, "chunk", dtype).boxes}
    assert down == (1, cell)
    if dtype != "f64":                                       # of f64 the cells are too small
        assert {b.text for b in memory(columns, dtype).boxes} >= {"0, 0", f"{cell}, 0", f"{cell}, 15"}


@pytest.mark.parametrize("tile", [sl.Layout((64, 16)), sl.Layout(32, 33), sl.Layout(512), sl.Layout((512, 4), (4, 1))])
@pytest.mark.parametrize("dtype", ["f16", "f64", "e4m3"])
def test_a_tile_and_its_memory_fit_a_slide(tile, dtype):
    drawn = layout_map(tile, dtype=dtype)
    wide, high = figure_of(drawn).get_size_inches()
    close(drawn)
    assert wide <= SLIDE[0] and high <= SLIDE[1]


def test_columns_that_no_lane_touches_are_left_out_of_a_picture_that_would_be_too_wide():
    drawn = copies(ACCESSES["1-D, every eighth"])
    words = " ".join(text for text, *_ in texts(figure_of(drawn)))
    close(drawn)
    assert "columns that none of these instructions touches are left out" in words


LOAD = sl.Access("a", "ldmatrix.x4", sl.Layout((16, 64), (64, 1)), lambda tid: (tid % 16, 8 * (tid // 16)))
D = sl.fragment("wgmma.m64n256k16.f32.f16.f16", "D")


@pytest.mark.parametrize("draw, says", [
    (lambda: matrix_phases(LOAD, only=()), "the phases of ldmatrix.x4 are 0 to 3"),
    (lambda: matrix_phases(LOAD, only=(7,)), "0 to 3"), (lambda: copies(LOAD, ()), "as in \\(0,\\)"),
    (lambda: copies(LOAD, 0), "indices = 0: give the numbers of instructions"),
    (lambda: copies(LOAD, (0,), "lanes"), "choose from phase, instruction"),
    (lambda: D.plot(rows=0), "how many to draw, at least 1"), (lambda: D.plot(columns=2.5), "at least 1"),
    (lambda: D.plot(rows=range(64, 80)), "rows 0 to 63"), (lambda: access(LOAD, 1.0), "give the number of an instruction"),
    (lambda: logical(lambda row, col: row), r"draw Tile\(function, \(rows, columns\)\)"),
    (lambda: logical(sl.formula("row * 64 + col")), "does not say how large its tile is"),
    (lambda: accumulated((1, 2)), "multiples of 128"), (lambda: rendered(LOAD.plot(), "pdf"), "choose svg or png"),
])
def test_what_there_is_no_picture_of_is_refused_by_what_there_is(draw, says):
    with pytest.raises(sl.SimlayoutError, match=says):
        draw()
    close("all")


def test_under_a_title_of_their_own_the_two_pictures_of_a_copy_say_where_they_look_alone():
    drawn = copy_map(LOAD, title="a load")
    assert [ax.get_title(loc="left").splitlines()[0] for ax in drawn] == ["in the tile", "in shared memory"]
    close(drawn)


def test_a_tile_of_a_lambda_is_called_a_function():
    assert logical(sl.Tile(lambda row, col: 8 * row + col, (4, 8))).title == "a function for row<4, col<8, f16"


def test_a_matrix_of_bits_says_what_the_letters_above_it_mean():
    for tile, letters in ((sl.Layout((4, 4), (4, 1)), "r:"), (sl.Layout(16), "c:"), (sl.Layout((4, 4, 4)), "m1.0:"),
                          (sl.F2Map((1, 2)), "x:")):
        assert any(text.startswith(letters) for _, text in bit_matrix(tile).legend)
    with pytest.raises(sl.LayoutError, match="one element"):
        bit_matrix(sl.Layout(1))
