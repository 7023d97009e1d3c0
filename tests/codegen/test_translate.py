"""One index function in every notation: what translates is equal everywhere, what does not has a witness that shows it."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl
from simlayout.algebra.translate import TritonSwizzle, rotations_like, tma_to_swizzle, triton_swizzles
from simlayout.cli import main
from simlayout.codegen.notations import TmaSwizzle, read_notation, text_of
from simlayout.codegen.translation import NOTATIONS, Translation, TranslationError, translate
from simlayout.errors import LayoutError, ParseError

checked = settings(deadline=None, max_examples=150)

# ---- sources ---------------------------------------------------------------------------------------------------------

sizes = st.sampled_from([1, 2, 3, 4, 6, 8, 16])
small = st.integers(0, 3)
swizzles = st.builds(lambda b, m, gap, down: sl.Swizzle(b, m, -(b + gap) if down else b + gap),
                     small, small, st.integers(0, 2), st.booleans())
rotations = st.builds(lambda chunk, count, rows, period: sl.Rotation(chunk, count, rows * chunk * count, period),
                      st.sampled_from([1, 2, 3]), st.integers(1, 5), st.integers(1, 3), st.none() | st.integers(1, 6))
FORMULAS = ("row * {a} + (col ^ ((row & {b}) << {c}))", "row * {a} + (col + {b} * row) % {a}", "row % {b1} * {a} + col",
            "row // {c1} * {a} + col * {c1} + row % {c1}", "(row ^ (col >> {c})) * {a} + col", "col - row * {c}",
            "row * {a} + col + {c}")


@st.composite
def tiles(draw):
    """(source, (rows, columns)): an index function of at most 128 elements, of any kind."""
    rows, columns = draw(st.tuples(sizes, sizes).filter(lambda t: t[0] * t[1] <= 128))
    kind = draw(st.sampled_from(["layer", "layout", "formula", "f2"]))
    if kind == "layer":
        under = draw(st.sampled_from([sl.Layout.row_major(rows, columns), sl.Layout((rows, columns))]))
        return draw(swizzles | rotations) @ under, (rows, columns)
    if kind == "layout":
        return sl.Layout((rows, columns), draw(st.tuples(st.integers(0, 20), st.integers(0, 20)))), (rows, columns)
    if kind == "f2":
        made = sl.F2Map(tuple(draw(st.lists(st.integers(0, 127), min_size=7, max_size=7))), draw(st.sampled_from([0, 0, 5])))
        return made @ sl.Layout.row_major(rows, columns), (rows, columns)
    a, b, c = draw(st.sampled_from([4, 8, 12, 16])), draw(st.integers(0, 7)), draw(small)
    return sl.formula(draw(st.sampled_from(FORMULAS)).format(a=a, b=b, c=c, b1=b + 1, c1=1 << c)), (rows, columns)


def offsets(function, tile):
    """{(row, col): offset}, one by one."""
    return {(r, c): int(function(r, c)) for r, c in product(range(tile[0]), range(tile[1]))}


def row_major(point, tile):
    return point["row"] * tile[1] + point["col"]


# ---- what translates -------------------------------------------------------------------------------------------------

@given_few(50, 150, tiles(), st.sampled_from(NOTATIONS), st.sampled_from(["f16", "f32", "e4m3"]))
def test_what_translates_is_the_same_offset_everywhere_and_so_is_its_text_read_back(asked, to, dtype):
    source, tile = asked
    try:
        made = translate(source, to, tile, dtype)
    except TranslationError as error:
        values = offsets(source, tile)
        assert error.witness and all(values[p["row"], p["col"]] == p["value"] for p in error.witness)
        REFUSALS[to](error, source, tile, dtype)
    else:
        assert made.proof and made.proof.counterexample is None and made.notation == to
        want = offsets(source, tile)
        assert offsets(made.result, tile) == want
        back = sl.formula(made.text) if to == "formula" else read_notation(made.text, tile[1], dtype)
        assert offsets(back, tile) == want


# ---- what does not: each refusal is checked against the whole family -----------------------------------------------

def through(function, witness):
    return all(function(p) == p["value"] for p in witness)


def no_f2_map(error, source, tile, dtype):
    """Four points whose indices XOR to 0 and whose offsets do not: no F2 map, with any constant; or one below 0."""
    if min(p["value"] for p in error.witness) >= 0:
        index, value = np.array([(row_major(p, tile), p["value"]) for p in error.witness]).T
        assert np.bitwise_xor.reduce(index) == 0 != np.bitwise_xor.reduce(value)


def no_swizzle(error, source, tile, dtype):
    """No swizzle of 8 bits goes through the witness, over the layout that the message names."""
    base = sl.parse(str(error).split("<B,M,S> of ")[1].split(": ")[0])
    every = (sl.Swizzle(b, m, s) for b, m, s in product(range(5), range(8), range(-7, 8)) if abs(s) >= b)
    assert not any(through(lambda p, s=s: s(base(p["row"], p["col"])), error.witness) for s in every)


def none_of_tritons(error, source, tile, dtype):
    """None of Triton's goes through the witness."""
    powers = [1, 2, 4, 8, 16]
    for vec, per_phase, phases in product(powers, repeat=3):
        if tile[1] % (vec * phases) == 0:
            triton = TritonSwizzle(vec, per_phase, phases, tile[1])
            assert not through(lambda p, t=triton: t(p["row"], p["col"]), error.witness)


def no_tile_of_tma(error, source, tile, dtype):
    """TMA has no such rows, or none of its modes goes through the witness."""
    for mode in (0, 32, 64, 128):
        try:
            inner = sl.TensorMap(dtype, tile[::-1], (tile[1] * sl.dtype_of(dtype).bytes,), tile[::-1], swizzle=mode)
            landed = inner.landing(0) // sl.dtype_of(dtype).bytes
        except LayoutError:
            continue
        assert not through(lambda p, at=landed: at[p["row"], p["col"]], error.witness)


def no_rotation(error, source, tile, dtype):
    """Of all rotations of a tile no one is the source; over the row-major tile, and the column-major one."""
    want, total = np.array(list(offsets(source, tile).values())), tile[0] * tile[1]
    rows, columns = np.indices(tile)
    under = [np.asarray(base(rows, columns)).reshape(-1) for base in (sl.Layout.row_major(*tile), sl.Layout(tile))]
    for x in under:
        first = [int(x[i]) for i in np.flatnonzero(want != x)]
        assert first                                                    # else Rot<1,1,1> would be it
        line = min(first)
        for chunk in range(1, line + 1):
            for count in (n for n in range(2, line // chunk + 1) if line % (chunk * n) == 0):
                lines = range(2, max(count, total // line) + 2)
                assert not any((sl.Rotation(chunk, count, line, period)(x) == want).all() for period in lines)


def no_formula(error, source, tile, dtype):
    raise AssertionError("every source here has a formula")


REFUSALS = {"f2": no_f2_map, "cute": no_swizzle, "triton": none_of_tritons, "tma": no_tile_of_tma, "rotation": no_rotation,
            "formula": no_formula}


@pytest.mark.parametrize("text, to, why", [
    ("Rot<8,4,64> o (16,32):(32,1)", "f2", "its bits do not XOR: at row = 2, col = 8 it is 80, and its bits give 64"),
    ("(16,64):(72,1)", "f2", "at row = 1, col = 8 it is 80, and its bits give 64"),
    ("F2<1,2,4,8,19,32> o (8,8):(8,1)", "cute", "of its offset bit 4 becomes bits 0, 1 and 4"),
    ("Sw<3,3,3> o (16,64):(64,1)", "rotation", "the nearest is Rot<8,2,64,2>, which at row = 2, col = 0 gives 128, not 144"),
    ("Sw<3,3,-3> o (16,64):(64,1)", "triton", "it moves rows by their column"),
    ("(16,64):(72,1)", "triton", "none of the 51 on rows of 64 goes through"),
    ("Sw<3,3,4> o (16,128):(128,1)", "tma", "rows of 128 f16 lie as SWIZZLE_NONE says"),
    ("(16,4):(4,1)", "tma", "rows of 4 f16 are 8 bytes"),
    ("Sw<3,3,4> o (16,64):(64,1)", "tma", "SWIZZLE_NONE or SWIZZLE_128B says, which does not go through"),
    ("Sw<2,4,3> o (16,32):(32,1)", "tma", "Sw<2,4,3> counts elements: if it is of bytes, as SWIZZLE_64B, it is Sw<2,3,3>")])
def test_a_refusal_says_why(text, to, why):
    with pytest.raises(TranslationError) as error:
        translate(sl.parse(text), to)
    assert why in str(error.value) and error.value.witness


# ---- round trips -----------------------------------------------------------------------------------------------------

@given_few(40, 150, st.integers(1, 3), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(1, 4))
def test_a_swizzle_comes_back_from_every_notation_that_has_it(bits, base, gap, wider, taller):
    swizzle = sl.Swizzle(bits, base, bits + gap)
    columns = 1 << bits + base + wider
    tile = swizzle @ sl.Layout.row_major(1 << max(2 * bits + base + gap - (bits + base + wider), 0) + taller, columns)
    seen = set()
    for to in NOTATIONS:
        try:
            made = translate(tile, to)
        except TranslationError:
            continue
        seen.add(to)
        assert translate(made.result, "cute", tile.shape).result == tile
    assert {"cute", "f2", "formula"} <= seen


@given_few(40, 150, rotations.filter(lambda r: r.chunk * r.count <= 8), st.integers(2, 12))
def test_a_rotation_comes_back_from_its_formula(rotation, rows):
    tile = rotation @ sl.Layout.row_major(rows, 8)
    back = translate(translate(tile, "formula").result, "rotation", (rows, 8)).result
    assert offsets(back, (rows, 8)) == offsets(tile, (rows, 8))


@given(st.lists(st.integers(0, 255), min_size=6, max_size=6), st.integers(0, 255))
def test_an_f2_map_comes_back_from_its_formula(columns, constant):
    tile = sl.F2Map(tuple(columns), constant) @ sl.Layout.row_major(8, 8)
    assert translate(translate(tile, "formula").result, "f2", (8, 8)).result == tile


def test_a_rotation_of_two_chunks_is_an_xor_and_one_of_more_is_none():
    assert translate(sl.parse("Rot<8,2,64> o (16,16):(16,1)"), "cute").text == "Sw<1,3,3> o (16,16):(16,1)"
    assert translate(sl.parse("Sw<1,3,3> o (16,16):(16,1)"), "rotation").text == "Rot<8,2,64,2> o (16,16):(16,1)"
    for count in (3, 4, 8):
        with pytest.raises(TranslationError, match="its bits do not XOR"):
            translate(sl.Rotation(8, count, 8 * count), "cute", (16, 8 * count))


def test_plain_layouts_are_found_behind_formulas_nested_ones_too():
    assert translate(sl.formula("row * 72 + col"), "cute", (16, 64)).text == "(16,64):(72,1)"
    blocks = sl.formula("row // 8 * 512 + col // 8 * 64 + row % 8 * 8 + col % 8")
    assert translate(blocks, "cute", (16, 64)).text == "((8,2),(8,8)):((8,512),(1,64))"
    columns = translate(sl.formula("col * 64 + (row ^ ((col & 7) << 3))"), "cute", (64, 16))
    assert columns.text == "Sw<3,3,3> o (64,16):(1,64)"


def test_on_few_rows_a_swizzle_keeps_the_parameters_that_it_has_on_many():
    assert translate(sl.Swizzle(3, 3, 3), "triton", (4, 64)).result == TritonSwizzle(8, 1, 8, 64)
    assert translate(sl.formula("row * 64 + (col ^ (row << 3))"), "triton", (4, 64)).result == TritonSwizzle(8, 1, 4, 64)


def test_any_function_of_row_and_column_has_a_source():
    def swizzled(row, col):
        return row * 64 + (col ^ row % 8 * 8)

    made = translate(swizzled, "cute", (16, 64))
    assert isinstance(made, Translation) and str(made) == "Sw<3,3,3> o (16,64):(64,1)"


def test_a_function_that_symbols_do_not_pass_has_no_formula_and_other_notations():
    def branching(row, col):
        return row * 64 + np.where(np.asarray(row) > 7, col, col)

    with pytest.raises(TranslationError, match="the function branching has no formula: .* must not compare"):
        translate(branching, "formula", (16, 64))
    assert translate(branching, "cute", (16, 64)).text == "(16,64):(64,1)"


# ---- the families ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", [0, 32, 64, 128])
@pytest.mark.parametrize("dtype", ["f16", "f32", "e4m3", "f64"])
def test_a_tile_of_tma_is_where_its_boxes_land(mode, dtype):
    size = sl.dtype_of(dtype).bytes
    columns = (mode or 48) // size
    tile = TmaSwizzle(mode, dtype, columns)
    landed = sl.TensorMap("u8" if dtype == "e4m3" else dtype, (columns, 40), (columns * size,), (columns, 40),
                          swizzle=mode).landing(0)
    assert (size * tile(*np.indices((40, columns))) == landed).all()
    if mode:
        assert translate(tile, "cute", (40, columns)).result.layers[0] == tma_to_swizzle(mode, dtype)


@pytest.mark.parametrize("rows, columns", [(16, 24), (5, 8), (1, 4)])
def test_tritons_family_has_each_function_of_the_tile_once(rows, columns):
    def seen(triton):
        return tuple(offsets(triton, (rows, columns)).values())

    powers = [1, 2, 4, 8, 16]
    every = {seen(TritonSwizzle(v, p, m, columns)) for v, p, m in product(powers, repeat=3) if columns % (v * m) == 0}
    found = [seen(triton) for triton in triton_swizzles(rows, columns)]
    assert set(found) == every and len(set(found)) == len(found)


@pytest.mark.parametrize("values", [[1, 0, 2, 3], [0, 1, 2, 0], [0, 2, 1, 3, 4, 5]])
def test_what_moves_as_no_rotation_does_has_no_candidates_that_are_it(values):
    assert not any((r(np.arange(len(values))) == values).all() for r in rotations_like(np.array(values)))


# ---- what is refused before anything is compared ---------------------------------------------------------------------

@pytest.mark.parametrize("source, to, tile, fault", [
    (sl.Swizzle(3, 3, 3), "f2", None, "no coordinates of its own: give the tile"),
    (sl.formula("row"), "cute", None, "does not say how large its tile is"),
    (sl.Layout((2, 2, 2)), "cute", None, "a tile rows and columns"), (sl.Layout(64), "cute", None, "write \\(1,64\\)"),
    (sl.formula("row"), "cute", (0, 4), "at least 1 each"), (sl.formula("row"), "cute", 64, "at least 1 each"),
    (sl.formula("row"), "cute", (1 << 12, 1 << 11), "at most 4194304 are compared"),
    (TritonSwizzle(8, 1, 8, 64), "cute", (16, 32), "is of 64 columns, the tile has 32"),
    (sl.Layout((4, 4)), "swizzle", None, "there are cute, triton, tma, formula, rotation, f2")])
def test_a_question_that_cannot_be_answered_is_refused(source, to, tile, fault):
    with pytest.raises(LayoutError, match=fault) as error:
        translate(source, to, tile)
    assert not isinstance(error.value, TranslationError)


@pytest.mark.parametrize("arguments, fault", [
    ((96, "f16", 48), "TMA has 0, 32, 64, 128"), ((64, "f16", 64), "32 columns wide"),
    ((0, "f16", 4), "multiple of 16 bytes"), ((0, "f16", 512), "1 to 256")])
def test_what_tma_does_not_take_is_refused(arguments, fault):
    with pytest.raises(LayoutError, match=fault):
        TmaSwizzle(*arguments)


def test_a_text_is_read_in_every_notation():
    assert read_notation("#ttg.swizzled_shared<{vec = 4, perPhase = 2, maxPhase = 8, order = [1, 0]}>", 64) == \
        TritonSwizzle(4, 2, 8, 64)
    assert read_notation("CU_TENSOR_MAP_SWIZZLE_64B", 16, "f32") == TmaSwizzle(64, "f32", 16)
    assert text_of(read_notation("x ^ 1", names=("x",))) == "x ^ 1"
    with pytest.raises(LayoutError, match="does not say how wide its tile is"):
        read_notation("SWIZZLE_128B")
    with pytest.raises(ParseError, match="Triton's swizzled layout is"):
        read_notation("vec = 8")
    with pytest.raises(ParseError, match="column 6: expected an operator"):
        read_notation("col; row")


# ---- the command line ------------------------------------------------------------------------------------------------

def said(capsys, *arguments, code=0):
    assert main(list(arguments)) == code
    out, err = capsys.readouterr()
    return err if code == 2 else out


def test_translate_prints_every_notation_with_its_proof(capsys):
    out = said(capsys, "translate", "Sw<3,3,3> o (16,64):(64,1)")
    assert out.count("equal: all 1024 points") == 5 and "rotation      none: " in out
    for line in ("triton        vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]", "tma           SWIZZLE_128B",
                 "formula       (row << 6) + (col ^ ((row & 7) << 3))", "              . 1 . . 1 . . . . ."):
        assert line in out.splitlines()
    assert max(map(len, out.splitlines())) <= 100


def test_translate_answers_in_json_and_with_its_exit_code(capsys):
    tile = ("--domain", "row=16", "col=32")
    found = json.loads(said(capsys, "translate", "vec = 8, perPhase = 2, maxPhase = 4", *tile, "--json"))["translations"]
    assert set(found) == set(NOTATIONS) and found["tma"]["text"] == "SWIZZLE_64B"
    assert found["rotation"]["text"] is None and found["rotation"]["witness"][0] == {"row": 2, "col": 0, "value": 72}
    assert "is no F2 map" in said(capsys, "translate", "Rot<8,4,64> o (16,32):(32,1)", "--to", "f2", "triton", code=1)
    assert "give --domain" not in said(capsys, "translate", "row", "--to", "cute", code=2)
    assert "add --domain row=64 col=64" in said(capsys, "translate", "SWIZZLE_128B", code=2)
    assert "(16,64):(64,1)" in said(capsys, "translate", "r * 64 + c", "--domain", "r=16", "c=64", "--to", "cute")
    assert "a tile is given as row=16 col=64" in said(capsys, "translate", "x", "--domain", "x=3", code=2)


@pytest.mark.parametrize("arguments, code, text", [
    (("Sw<3,3,3> o (16,64):(64,1)", "row * 64 + (col ^ ((row & 7) << 3))"), 0, "equal: all 1024 points"),
    (("row * 8 + col", "row << 3 | col", "--domain", "row=16", "col=9"), 1, "different at row = 1, col = 8: 16 and 8"),
    (("Rot<8,2,64>", "Sw<1,3,3>", "--domain", "x=4096"), 0, "equal: all 4096 points"),
    (("64:1", "Sw<1,0,3> o 64:1"), 1, "different at x = 8: 8 and 9"),
    (("SWIZZLE_128B", "vec = 8, perPhase = 1, maxPhase = 8", "--domain", "row=64", "col=64"), 0, "equal: all 4096 points"),
    (("row", "col"), 2, "give --domain row=16 col=64"),
    (("Sw<3,3,3>", "row", "--domain", "row=2", "col=2"), 1, "different at row = 0, col = 1: 1 and 0"),
    (("Sw<3,3,3>", "(16,64):(64,1)"), 2, "takes one offset"),
    (("r * 64 + (c ^ ((r & 7) << 3));", "Swizzle<3,3,3>{}", "--domain", "r=16", "c=64"), 0, "equal: all 1024 points"),
    (("r * 64 + c", "(16,64):(64,1)"), 2, "say in which order, as in --domain r=16 c=64"),
    (("SWIZZLE_128B", "Sw<3,3,3> o (16,64):(64,1)"), 0, "equal: all 1024 points"),
    (("int x = col / 8; return row * 64 + (x ^ row & 7) * 8 + col % 8;",
      "composition(Swizzle<3,3,3>{}, Layout<Shape<_16,_64>,Stride<_64,_1>>{})"), 0, "equal: all 1024 points"),
    (("row * 64 + col for row<4, col<4", "row * 64 + (col ^ 1)"), 1, "(1 of 16 points compared)"),
    (("(2,2,2)", "row"), 2, "has 3 modes"), (("row", "row", "--domain", "row=2", "row=3"), 2, "given twice"),
    (("__import__('os')", "row", "--domain", "row=2"), 2, "unexpected character")])
def test_equal_answers_with_its_exit_code(capsys, arguments, code, text):
    assert text in said(capsys, "equal", *arguments, code=code)


def test_equal_answers_in_json(capsys):
    found = json.loads(said(capsys, "equal", "(4,4):(4,1)", "row * 4 + (col ^ 1)", "--json", code=1))
    assert found["equal"] is False and found["counterexample"] == {"row": 0, "col": 0, "left": 0, "right": 1}
    assert found["domain"] == {"row": 4, "col": 4} and found["right"] == "row * 4 + (col ^ 1)"
