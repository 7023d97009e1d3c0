"""What users have, as text: formulas, C++, Triton's and TMA's texts, read with their shape; tiles that are no layouts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simlayout as sl
from simlayout.codegen.notations import sized

FORMULA = "row * 64 + (col ^ ((row & 7) << 3))"
SWIZZLED = sl.parse("Sw<3,3,3> o (16,64):(64,1)")


@pytest.mark.parametrize("text, domain", [
    (FORMULA, {"row": 16, "col": 64}), (f"{FORMULA};", {"col": 64, "row": 16}), (f"{FORMULA} for row<16, col<64", None),
    ("(int)r * 64u + (c / 8 ^ r % 8) * 8 + c % 8;", {"r": 16, "c": 64}), ("Swizzle<3,3,3>{}", {"row": 16, "col": 64}),
    ("int chunk = c / 8;\nreturn r * 64 + (chunk ^ r & 7) * 8 + c % 8; for r<16, c<64", None),
    ("SWIZZLE_128B", {"row": 16, "col": 64}), ("CU_TENSOR_MAP_SWIZZLE_128B for row<16, col<64", None),
    ("vec = 8, perPhase = 1, maxPhase = 8", {"row": 16, "col": 64}), ("Sw<3,3,3> o (16,64):(64,1)", None),
    ("composition(Swizzle<3,3,3>{}, Layout<Shape<_16,_64>,Stride<_64,_1>>{})", None)])
def test_one_tile_in_all_notations_is_one_function_of_one_shape(text, domain):
    made = sl.tile(text, domain)
    assert made.shape == (16, 64) and made.size == made.cosize == 1024 and made.rank == 2
    assert np.array_equal(made.offsets(), SWIZZLED.offsets())
    assert made(3, 8) == made((3, 8)) == made(3 + 16 * 8) == SWIZZLED(3, 8)


def test_a_tile_reads_back_what_it_prints():
    for text in (f"{FORMULA} for row<16, col<64", "x ^ 8 for x<64", "vec = 8, perPhase = 1, maxPhase = 2, order = [1, 0] "
                 "for row<16, col<48"):
        made = sl.tile(text)
        assert str(made) == text and sl.tile(str(made)) == made and hash(made) == hash(sl.tile(text))
    assert eval(repr(made), {"Tile": sl.Tile, "TritonSwizzle": type(made.function)}) == made
    assert made.byte_address(1, 0, dtype="f16") == 2 * (48 + 8)


@pytest.mark.parametrize("text, dtype, told", [
    (FORMULA, "f16", {"row": 64, "col": 64}), ("r * 40 + c", "f16", {"r": 64, "c": 32}),
    ("col * 128 + row", "f16", {"row": 128, "col": 64}), ("x ^ x >> 3", "f16", {"x": 64}),
    ("SWIZZLE_64B", "f32", {"row": 64, "col": 16}), ("vec = 8, perPhase = 1, maxPhase = 8", "f16", {"row": 64, "col": 64})])
def test_a_text_without_sizes_is_told_what_to_add_and_that_works(text, dtype, told):
    with pytest.raises(sl.LayoutError, match="does not say how large its tile is") as error:
        sl.tile(text, dtype=dtype)
    assert f"give domain={told}, or write" in str(error.value)
    assert sl.tile(text, told, dtype).size > 1


@pytest.mark.parametrize("text", [
    "row * 64 /* wide */ + col", "/* rows,\n   then */ row * 64 + /**/ col", "// in elements\n// by rows\nrow * 64 + col",
    "int r = row; // a row\nint c = col; /* its column */ // too\nreturn r * 64 + c; // min(r, c)"])
def test_comments_are_passed_over_where_they_cannot_be_divisions(text):
    made = sl.tile(f"{text}\nfor row<16, col<64")
    assert np.array_equal(made.offsets(), sl.Layout((16, 64), (64, 1)).offsets())


@pytest.mark.parametrize("text, column, fault", [
    ("row * 64 // a row\n + col", 13, "unknown name 'a'; .*write comments as /\\* ... \\*/"),
    ("row + /* c", 7, "'/\\*': the comment is never closed"), ("/* two */ row + min(row, col)", 17, "calls no functions"),
    ("min(row, col)", 1, "calls no functions: .*ints"), ("col(row)", 1, "calls no functions"),
    ("if row: col", 1, "'if': an index has no branches: .*parentheses"), ("row if col else 0", 5, "no branches"),
    ("for i in row", 1, "'for': an index has no loops: .*<< >> ~"), ("row and col", 5, "no conditions"),
    ("lambda row: row", 1, "the index alone")])
@pytest.mark.parametrize("domain", [{"row": 16, "col": 64}, None])
def test_what_other_languages_have_beside_arithmetic_is_refused_by_name(text, column, fault, domain):
    if domain or "unknown" not in fault:
        with pytest.raises(sl.ParseError, match=f"^column {column}: .*{fault}"):
            sl.tile(text, domain)


def test_a_coordinate_may_be_called_as_a_word_of_another_language():
    assert sl.tile("min * 4 + max", {"min": 4, "max": 4})(1, 2) == 6


@pytest.mark.parametrize("text, domain, error, fault", [
    ("row * 64 + column", {"row": 4, "col": 4}, sl.ParseError, "unknown name 'column'; known: row, col"),
    ("row +", None, sl.ParseError, "column 6"), ("hello world", None, sl.ParseError, "column 1"),
    (7, None, sl.ParseError, "int"),
    ("smem[row * 64 + col]", None, sl.ParseError, "without the array's name"), ("vec = 8", None, sl.ParseError, "Triton"),
    ("row for row<x", None, sl.ParseError, "'row<x' is no size"), ("row for row<4", {"row": 5}, sl.LayoutError, "4 values"),
    ("row", {"row": 0}, sl.LayoutError, "at least 1"), ("row", {"row": True}, sl.LayoutError, "an int .*, not True"),
    ("SWIZZLE_128B", {"row": 4, "col": 32}, sl.LayoutError, "64 columns wide"), ("", None, sl.ParseError, "column 1"),
    ("threadIdx.x * 64", None, sl.ParseError, "unknown name 'threadIdx.x'"),
    ("row, col", {"row": 4, "col": 4}, sl.ParseError, "leave out the commas"),
    ("3 for row<8, col<4", None, sl.LayoutError, "its own sizes, 3"),
    ("(16,64):(64,1)", {"row": 8, "col": 64}, sl.LayoutError, "16 x 64: it cannot have row<8, col<64"),
    ("Sw<3,3,3> o row * 64", None, sl.ParseError, "column 13")])
def test_what_is_no_tile_is_refused_by_name(text, domain, error, fault):
    with pytest.raises(error, match=fault):
        sl.tile(text, domain)


@settings(deadline=None)
@given(st.text(max_size=30) | st.text(alphabet="rowcl0189+*/%&^<>(), :;=fSTx_", max_size=30))
def test_any_text_is_a_tile_or_a_refusal(text):
    try:
        made = sl.tile(text, {"row": 4, "col": 8})
        assert hasattr(made, "shape")
    except sl.SimlayoutError as error:
        assert str(error)


def test_a_tile_of_any_function_is_verified_analysed_and_emitted_like_a_layout():
    made = sl.Tile(lambda row, col: row * 64 + (col ^ (row & 7) << 3), {"row": 16, "col": 64})
    for one in (made, sl.tile(FORMULA, {"row": 16, "col": 64})):
        assert sl.verify(one).claims == sl.verify(SWIZZLED).claims
        access = sl.Access("load", "ldmatrix.x4", one, lambda tid, k: (tid % 16, 16 * k + tid // 16 * 8),
                           {"tid": 32, "k": 4})
        assert sl.emit(access).source == sl.emit(access.with_tile(SWIZZLED)).source
        assert access.analyze().excess.sum() == 0
    with pytest.raises(sl.VerificationError, match=r"\(0, 1\) and \(1, 0\) both map to offset 1|not one-to-one"):
        sl.verify(sl.tile("row + col", {"row": 2, "col": 2}))


def test_sizes_alone_have_the_names_of_the_arguments():
    for domain in ({"row": 16, "col": 64}, (("row", 16), ("col", 64)), [16, 64], (np.int64(16), 64)):
        assert sl.Tile(lambda row, col: row * 64 + col, domain).domain == (("row", 16), ("col", 64))
    assert sl.Tile(max, (3, 4)).domain == (("x0", 3), ("x1", 4))         # of a function that does not tell them
    with pytest.raises(sl.LayoutError, match="col has 0 values"):
        sl.Tile(lambda row, col: row, (16, 0))


def test_arguments_that_swap_the_names_of_the_domain_are_refused_and_other_names_are_not():
    def swapped(col, row):
        return row * 64 + col

    for wrong in (lambda: sl.Tile(swapped, {"row": 16, "col": 64}),
                  lambda: sl.equivalent(swapped, sl.Layout((16, 64), (64, 1)), {"row": 16, "col": 64}),
                  lambda: sl.Access("a", "ld.shared.b32", sl.Layout((32, 4), (1, 32)), lambda k, tid: (tid, k),
                                    {"tid": 32, "k": 4}, "f32"),
                  lambda: sl.Access("a", "ld.shared.b32", lambda k, tid: tid, None, {"tid": 32, "k": 4}, "f32")):
        with pytest.raises(sl.LayoutError, match=r"takes \((col, row|k, tid)\), and the domain is \((row, col|tid, k)\): "):
            wrong()
    assert sl.Tile(lambda r, c: r * 64 + c, {"row": 16, "col": 64})(1, 2) == 66
    assert sl.equivalent(swapped, lambda x, y: y * 64 + x, (16, 64))     # sizes alone have no names
    with pytest.raises(sl.LayoutError, match="excess is at least 0, not -1"):
        sl.Access("a", "ld.shared.b32", sl.Layout(32), None, {"tid": 32}, "f32", excess=-1)


def test_a_tile_refuses_what_is_no_coordinate_or_no_size():
    made = sl.tile(FORMULA, {"row": 16, "col": 64})
    for wrong in [(1, 2, 3), (1.5, 2), ("1", 2), ((1, 2, 3),)]:
        with pytest.raises(sl.LayoutError):
            made(*wrong)
    with pytest.raises(sl.LayoutError, match="at most"):
        sl.tile("row * 32768 + col", {"row": 32768, "col": 32768}).offsets()
    with pytest.raises(sl.LayoutError, match="is a fraction: divide with //"):
        sl.Tile(lambda x: x / 2, {"x": 4}).offsets()
    for domain in ({}, [("x", 2), ("x", 3)], 5, None, (), [(1, 2, 3)]):
        with pytest.raises(sl.LayoutError, match="a name and a size each"):
            sl.Tile(lambda x: x, domain)
    assert sl.Tile(lambda x: 3, {"x": np.int64(4)}).offsets().tolist() == [3] * 4


def test_sizes_end_a_text_or_come_with_it():
    assert sized("row * 2 for row<3", {"col": 4}) == ("row * 2", {"row": 3, "col": 4})
    assert sized("c for c<3") == ("c", {"c": 3})
