"""The natural access: how a warp reads or writes a tile if nobody says otherwise."""

import re

import numpy as np
import pytest

import simlayout as sl
from simlayout.proofs.natural import natural_access


def touched(access):
    """Every coordinate that the access moves, in order of instruction, lane and element."""
    used = access.used_lanes()
    rows, cols = (np.broadcast_to(c, access.offsets().shape).reshape(-1, 32)[:, used].ravel().tolist()
                  for c in access.coordinate(*access.points()))
    return [(r, c + j) for r, c in zip(rows, cols, strict=True) for j in range(access.elements)]


NATURAL = [("ldmatrix.x4", "f16", 32, 32), ("ldmatrix.x4.trans", "f32", 16, 24), ("ldmatrix.x2", "f16", 32, 24),
           ("ldmatrix.x1", "s8", 8, 32), ("stmatrix.x4", "bf16", 48, 16), ("ld.shared.b32", "f16", 16, 64),
           ("ld.shared.b128", "f16", 3, 512), ("st.shared.b64", "f32", 32, 6), ("cp.async.cg.16", "f16", 8, 32),
           ("cp.async.ca.4", "f16", 2, 96), ("ld.shared.b128", "f64", 16, 96), ("red.shared.add.u32", "u32", 1, 64)]


@pytest.mark.parametrize("op, dtype, rows, cols", NATURAL)
def test_a_natural_access_moves_every_element_of_the_tile_once(op, dtype, rows, cols):
    access = natural_access(sl.Layout.row_major(rows, cols), op, dtype)
    assert sorted(touched(access)) == [(r, c) for r in range(rows) for c in range(cols)]
    assert access.excess is None and list(access.domain)[0] == "tid" and 1 not in access.domain.values()
    assert sl.verify(access).instructions == access.instructions()


@pytest.mark.parametrize("op, dtype, rows, cols", [row for row in NATURAL if "matrix" not in row[0]])
def test_plain_instructions_walk_along_the_rows(op, dtype, rows, cols):
    walked = touched(natural_access(sl.Layout.row_major(rows, cols), op, dtype))
    assert walked == [(r, c) for r in range(rows) for c in range(cols)]


def test_matrix_instructions_walk_along_the_columns_and_then_down_the_rows():
    access = natural_access(sl.parse("(32,32):(32,1)"), "ldmatrix.x4", "f16")
    lane = [access.point(index, 17) for index in range(4)]
    assert [access.coordinate(*p.values()) for p in lane] == [(1, 8), (1, 24), (17, 8), (17, 24)]


@pytest.mark.parametrize("text", [
    "((4,4),(8,8)):((8,512),(1,64))", "Sw<3,3,3> o (16,64):(64,1)", "((16),(64)):((64),(1))",
    "Rot<8,8,64,8> o (16,64):(64,1)", "Sw<1,3,3> o 16 o ((2,8),64):((64,128),1)"])
def test_a_natural_access_takes_every_layout_of_two_modes(text):
    tile = sl.parse(text)
    access = natural_access(tile, "ldmatrix.x4", "f16")
    assert access.offset(21, 2) == tile(5, 40)
    assert sl.emit(access).function(21, 2) == tile(5, 40)


def test_a_single_mode_counts_as_one_row():
    access = natural_access(sl.Layout(128), "ld.shared.b32", "f16")
    assert access.domain == {"tid": 32, "k": 2} and access.offset(3, 1) == 70
    assert natural_access(sl.parse("(64):(1)"), "ld.shared.b32", "f16").offset(3) == 6
    with pytest.raises(sl.LayoutError, match="1 x 128 tile"):
        natural_access(sl.Layout(128), "ldmatrix.x1", "f16")


COLUMNS = [("ldmatrix.x4.trans", "f16", 32, 48), ("ldmatrix.x2.trans", "f16", 16, 8), ("ldmatrix.x1.trans", "f16", 8, 24),
           ("stmatrix.x4.trans", "bf16", 16, 16), ("ld.shared.b32", "f16", 64, 16), ("ld.shared.b128", "f16", 512, 3),
           ("st.shared.b64", "f32", 6, 32), ("cp.async.cg.16", "f16", 32, 8), ("ld.shared.b32", "f32", 32, 5)]


@pytest.mark.parametrize("op, dtype, rows, cols", COLUMNS)
@pytest.mark.parametrize("layers", ["", "Sw<2,3,3> o "])
def test_a_column_major_tile_is_walked_along_its_columns(op, dtype, rows, cols, layers):
    if layers and rows * cols % 512 or layers and dtype == "f32":
        layers = ""
    access = natural_access(sl.parse(f"{layers}({rows},{cols}):(1,{rows})"), op, dtype)
    used = access.used_lanes()
    firsts = (np.broadcast_to(c, access.offsets().shape).reshape(-1, 32)[:, used].ravel().tolist()
              for c in access.coordinate(*access.points()))
    walked = [(r + j, c) for r, c in zip(*firsts, strict=True) for j in range(access.elements)]
    assert sorted(walked) == [(r, c) for r in range(rows) for c in range(cols)]
    assert sl.verify(access).instructions == access.instructions()
    if "matrix" not in op:
        assert walked == [(r, c) for c in range(cols) for r in range(rows)]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_trans_reads_the_same_matrices_in_the_same_order_by_columns_as_by_rows(count):
    by_rows = natural_access(sl.Layout.row_major(16, 16), f"ldmatrix.x{count}.trans", "f16")
    by_columns = natural_access(sl.Layout((16, 16)), f"ldmatrix.x{count}.trans", "f16")

    def matrices(access):
        """{the first row and column of a matrix of the tile: its number in its instruction}."""
        return {tuple(x // 8 * 8 for x in access.coordinate(lane, *at)): lane // 8
                for at in np.ndindex(*list(access.domain.values())[1:]) for lane in range(8 * count)}

    assert matrices(by_rows) == matrices(by_columns) and len(matrices(by_rows)) == 4


@pytest.mark.parametrize("text, op, told", [
    ("(64,64):(1,64)", "ldmatrix.x4", "use ldmatrix.x4.trans, which reads columns"),
    ("(64,64):(1,64)", "stmatrix.x2", "use stmatrix.x2.trans, which writes columns"),
    ("(64,24):(1,64)", "ldmatrix.x4.trans", "use ldmatrix.x2.trans (16 x 8)"),
    ("(60,32):(1,60)", "ld.shared.b128", "columns of 60 f16 elements are no whole number of its pieces of 8"),
    ("(16,1):(1,16)", "ld.shared.b128", "the 16 x 1 tile has 2 of its pieces")])
def test_what_cannot_move_a_column_major_tile_says_what_could(text, op, told):
    with pytest.raises(sl.LayoutError, match=re.escape(told)):
        natural_access(sl.parse(text), op, "f16")
