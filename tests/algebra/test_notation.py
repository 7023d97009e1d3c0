"""The notation: what `str` prints parses back, what `repr` prints pastes back, and what is wrong is pointed at."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlayout.algebra import Composed, F2Map, Layout, Rotation, Swizzle, parse
from simlayout.codegen.cute_cpp import cute_cpp
from simlayout.errors import LayoutError, ParseError

checked = settings(deadline=None, max_examples=150)

shapes = st.recursive(
    st.integers(1, 40), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=6)


@st.composite
def layouts(draw):
    shape = draw(shapes)

    def strides(s):
        return draw(st.integers(0, 999)) if isinstance(s, int) else tuple(strides(x) for x in s)

    return Layout(shape, strides(shape))


swizzles = st.builds(lambda b, m, gap, sign: Swizzle(b, m, sign * (b + gap)),
                     st.integers(0, 5), st.integers(0, 5), st.integers(0, 3), st.sampled_from([1, -1]))
rotations = st.builds(lambda c, n, rows, period: Rotation(c, n, rows * c * n, period),
                      st.integers(1, 16), st.integers(1, 16), st.integers(1, 4), st.none() | st.integers(1, 16))
composed = st.builds(lambda layers, layout, offset: Composed(tuple(layers), layout, offset),
                     st.lists(swizzles | rotations, min_size=1, max_size=4), layouts(), st.integers(0, 9999))
free = st.builds(lambda a, b: a @ b, swizzles | rotations, swizzles | rotations)
padded = st.builds(lambda outer, inner: outer @ inner, layouts(), composed)
shifted = st.builds(lambda layout, offset: Composed((), layout, offset), layouts(), st.integers(1, 9999))
anything = layouts() | swizzles | rotations | composed | free | padded | shifted


@checked
@given(anything)
def test_what_str_prints_parses_back(x):
    assert parse(str(x)) == x


@checked
@given(anything)
def test_what_cutes_cpp_says_parses_back(x):
    if isinstance(x, Layout) or isinstance(x, Composed) and x.layout is not None and x.layers and all(
            isinstance(layer, Swizzle) for layer in x.layers):
        assert parse(cute_cpp(x)) == x
    else:
        with pytest.raises(LayoutError, match="neither a layout nor swizzles"):
            cute_cpp(x)


@checked
@given(anything)
def test_what_repr_prints_pastes_back_as_python(x):
    names = {"Layout": Layout, "Swizzle": Swizzle, "Rotation": Rotation, "Composed": Composed}
    assert eval(repr(x), {"__builtins__": {}}, names) == x      # our own repr, in a test


@checked
@given(anything | st.lists(st.integers(0, 99), max_size=5).map(lambda columns: F2Map(tuple(columns))))
def test_what_repr_prints_parses_back_but_for_an_offset_in_a_composition(x):
    if not repr(x).startswith("Composed("):
        assert parse(repr(x)) == x


@checked
@given(anything, st.data())
def test_spaces_underscores_and_the_sign_of_composition_are_free(x, data):
    sign = data.draw(st.sampled_from(["o", "@", "∘", " o ", "\n@\t", "  ∘"]))
    text = str(x).replace(" o ", sign)
    spaced = "".join(c + data.draw(st.sampled_from(["", "", "", " ", "\t"])) if c in "(),:<>" else c for c in text)
    assert parse(f"  {spaced}\n") == x


@pytest.mark.parametrize("text, meaning", [
    ("(16,64):(64,1)", Layout((16, 64), (64, 1))),
    ("((_8,_2),_64):((_64,_512),_1)", Layout(((8, 2), 64), ((64, 512), 1))),
    ("(4,(2,3))", Layout((4, (2, 3)), (1, (4, 8)))),
    ("16", Layout(16, 1)),
    ("16:3", Layout(16, 3)),
    ("(4):(2)", Layout((4,), (2,))),
    ("(4,):(2,)", Layout((4,), (2,))),
    ("Sw<3,3,3>", Swizzle(3, 3, 3)),
    ("S<3,4,-3>", Swizzle(3, 4, -3)),
    ("Swizzle < 2 , 0 , 3 >", Swizzle(2, 0, 3)),
    ("Rot<8,4,64>", Rotation(8, 4, 64, 4)),
    ("Rotation<8,16,128,8>", Rotation(8, 16, 128, 8)),
    ("Sw<3,3,3> o (16,64):(64,1)", Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))),
    ("Sw<3,3,3> o 0 o (16,64):(64,1)", Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))),
    ("S<3,4,3> o _0 o (_8,_64):(_64,_1)", Swizzle(3, 4, 3) @ Layout((8, 64), (64, 1))),
    ("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", Swizzle(3, 3, 3) @ Layout((8, 64), (64, 1))),
    ("Sw<3,4,3>_smem_ptr[8b](0x7f00 + 4) o (_8,_128):(_128,_1)", Swizzle(3, 4, 3) @ Layout((8, 128), (128, 1))),
    ("Sw<2,4,3> o smem_ptr[32b](unset)o(8,16):(16,1)", Swizzle(2, 2, 3) @ Layout((8, 16), (16, 1))),
    ("smem_ptr[16b](0x7f00) o (_8,_64):(_64,_1)", Layout((8, 64), (64, 1))),
    ("composition(Sw<3,4,3> o smem_ptr[16b](0x7f00) o (_8,_64):(_64,_1), (8,32):(1,8))",
     Swizzle(3, 3, 3) @ Layout((8, 64), (64, 1)) @ Layout((8, 32), (1, 8))),
    ("composition(Swizzle<3,4,3>{}, smem_ptr_flag_bits<16>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{})",
     Swizzle(3, 3, 3) @ Layout((8, 64), (64, 1))),
    ("cute::ComposedLayout<cute::Swizzle<3,4,3>, cute::smem_ptr_flag_bits<8>, cute::Layout<cute::Shape<_8,_128>,"
     "cute::Stride<_128,_1>>>", Swizzle(3, 4, 3) @ Layout((8, 128), (128, 1))),
    ("composition(Sw<3,4,3>, composition(smem_ptr[16b](x), (8,64):(64,1)))", Swizzle(3, 3, 3) @ Layout((8, 64), (64, 1))),
    ("Sw<1,4,3> o Sw<2,4,3> o smem_ptr[32b](x) o (8,64):(64,1)",
     Swizzle(1, 2, 3) @ Swizzle(2, 2, 3) @ Layout((8, 64), (64, 1))),
    ("Sw<3,3,3>o16o(16,64):(64,1)", Composed((Swizzle(3, 3, 3),), Layout((16, 64), (64, 1)), 16)),
    ("Sw<3,3,3> o 8 o 8 o 64", Composed((Swizzle(3, 3, 3),), Layout(64), 16)),
    ("Sw<1,3,3> @ Sw<3,3,5> ∘ 64", Swizzle(1, 3, 3) @ Swizzle(3, 3, 5) @ Layout(64)),
    ("20:2 o (5,4):(4,1)", Layout((5, 4), (8, 2))),
    ("Rot<8,4,64> o (384,32):(32,1)", Rotation(8, 4, 64) @ Layout((384, 32), (32, 1))),
])
def test_a_text_means_this(text, meaning):
    assert parse(text) == meaning


def test_str_is_the_notation_of_cute_and_repr_is_python():
    tile = parse("S<3,3,3> o 0 o (16,64):(64,1)")
    assert str(tile) == "Sw<3,3,3> o (16,64):(64,1)"
    assert repr(tile) == "Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))"
    assert str(parse("Rot<8,4,64>")) == "Rot<8,4,64,4>"


FAULTS = [     # text, column of the caret (from 1), the fault
    ("", 1, "expected a layout, 'Sw<', 'Rot<' or 'F2<', found the end of the text"),
    ("   ", 4, "expected a layout"),
    ("(16,64", 7, "expected ',' or ')', found the end of the text"),
    ("Sw<3,4,3> o smem_ptr[17b](x) o 64", 13, "elements of 17 bits: they have 4, 8, 16, 32, 64, 128"),
    ("Sw<3,0,3> o smem_ptr[16b](x) o 64", 1, "Sw<3,-1,3>: bits and base must be at least 0"),
    ("smem_ptr[16b](x)", 17, "expected 'o', found the end of the text"),
    ("64 o smem_ptr[16b](x) o 64", 6, "a pointer stands at the start, or behind swizzles of its bytes, and nothing else"),
    ("composition(64, composition(smem_ptr[16b](x), 64))", 29, "a pointer stands at the start"),
    ("Sw<3,4,3> o smem_ptr[16b](x) o smem_ptr[16b](x) o 64", 32, "leave it out where the text counts elements"),
    ("(16,64:(64,1)", 7, "expected ',' or ')', found ':'"),
    ("(16,64):(64,1))", 15, "expected 'o' or the end of the text, found ')'"),
    ("(16,64),(64,1)", 8, "found ',': a layout is written as '(16,64):(64,1)'"),
    ("(16,,64)", 5, "expected an integer or '(', found ','"),
    ("()", 2, "expected an integer or '(', found ')'"),
    ("(16,64):(64)", 1, "not nested alike"),
    ("(16,0)", 1, "at least 1"),
    ("(16,64):(-64,1)", 10, "expected an integer or '(', found '-'"),
    ("Sw<3,3>", 1, "expected 3 numbers, found 2: Sw<bits,base,shift>"),
    ("Rot<8,4>", 1, "expected 3 or 4 numbers, found 2: Rot<chunk,count,line>"),
    ("Sw<3,3,1> o 64", 1, "not bijective"),
    ("64 o Sw<3,3", 12, "expected ',' or '>'"),
    ("Sw 3,3,3", 4, "expected '<', found '3'"),
    ("Sw<3,3,3> o", 12, "expected a layout, 'Sw<', 'Rot<' or 'F2<', found the end of the text"),
    ("Sw<3,3,3> (16,64)", 11, "expected 'o' or the end of the text, found '('"),
    ("(16;64)", 4, "expected ',' or ')', found ';'"),
    ("__import__('os')", 1, "unexpected character '_'"),
    ("(4,6):(1,10) o 6:3", 1, "is not a layout"),
    ("16 o Sw<3,3,3> o 8 o 0", 22, "size must be at least 1"),
    ("9" * 20, 1, "an integer of 20 digits"),
    ("(9999999999999999999,2)", 1, "64-bit"),
    ("(١٦,64)", 2, "unexpected character"),
]


@pytest.mark.parametrize("text, column, fault", FAULTS)
def test_an_error_shows_the_text_with_a_caret_under_the_fault(text, column, fault):
    with pytest.raises(ParseError) as caught:
        parse(text)
    first, shown, caret = str(caught.value).split("\n")
    assert first.startswith(f"column {column}: ") and fault in first and caught.value.column == column
    assert shown == f"    {text}" and caret == " " * (4 + column - 1) + "^"


def test_a_long_text_is_shown_around_the_fault():
    with pytest.raises(ParseError) as caught:
        parse("(" + "16," * 1000 + ";" + "16," * 1000 + "16)")
    _, shown, caret = str(caught.value).split("\n")
    assert len(shown) < 120 and shown[len(caret) - 1] == ";"


@pytest.mark.parametrize("text", [
    "(" * 65 + "1" + ")" * 65,
    "(" * 9999,
    "1," * 6000,
    "9" * 9999,
    "Sw<1,0,1> o " * 800,
    "(1,2):(1,1) o " * 700 + "2",
    "(" + "1," * 4900 + "1)" + " o",
    "((((((((2,2),2),2),2),2),2),2),2) o " * 270 + "2",
    " " * 9999,
    "o" * 9999,
])
def test_hostile_text_is_refused_quickly(text):
    def seconds():
        start = time.process_time()
        with pytest.raises(ParseError):
            parse(text)
            parse(text + "!")
        return time.process_time() - start

    assert any(seconds() < 1 for _ in range(3))          # half a second at most alone; a busy worker once took 1.1


def test_nesting_up_to_the_limit_is_read():
    text = "(" * 64 + "2" + ")" * 64
    assert str(parse(text)) == f"{text}:{text.replace('2', '1')}"


@checked
@given(st.text(alphabet="(),:<>o@∘ _0123456789SwRot-", max_size=40))
def test_any_text_is_read_or_refused_with_a_parse_error(text):
    try:
        x = parse(text)
    except ParseError:
        return
    assert parse(str(x)) == x


@pytest.mark.parametrize("wrong", [None, 16, b"16", ["16"]])
def test_only_text_is_parsed(wrong):
    with pytest.raises(ParseError, match="parse takes text"):
        parse(wrong)


# ---- what CuTe's C++ writes ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, meant", [
    ("Swizzle<3,3,3>{}", "Sw<3,3,3>"), ("cute::Swizzle<3, 4, -3>{ };", "Sw<3,4,-3>"), ("_64{}:_1{}", "64:1"),
    ("cute::_64{}:cute::_1{}", "64:1"),
    ("composition(Swizzle<3,3,3>{}, Layout<Shape<_16,_64>,Stride<_64,_1>>{})", "Sw<3,3,3> o (16,64):(64,1)"),
    ("composition(Sw<1,3,3>, composition(Sw<2,3,3>, Int<16>{}, (16,32):(32,1)))",
     "Sw<1,3,3> o Sw<2,3,3> o 16 o (16,32):(32,1)"),
    ("composition(Swizzle<3,3,3>{}, 16)", "Sw<3,3,3> o 16:1"), ("Layout<Shape<Shape<_8,_2>,_64>>", "((8,2),64):((1,8),16)"),
    ("make_layout(make_shape(Int<16>{}, 64), LayoutRight{})", "(16,64):(64,1)"),
    ("make_layout(make_shape(2, make_shape(3, 4)), GenRowMajor{})", "(2,(3,4)):(12,(4,1))"),
    ("make_layout(cute::make_shape(16, 64), GenColMajor{});", "(16,64):(1,16)"), ("Layout<_16,_2>", "16:2")])
def test_the_cpp_that_users_paste_is_read(text, meant):
    assert parse(text) == parse(meant)


@pytest.mark.parametrize("text, fault", [
    ("Swizzle<3,3,3>{", "column 15: unexpected character '{'"), ("Layout<Shape<_8>", "column 17: expected ',' or '>'"),
    ("composition(", "column 13: expected a layout"), ("composition(" * 99, "64 levels"), ("make_layout(16", "',' or '\\)'"),
    ("Layout<Shape<_8,_2>,Stride<_1>>", "column 1: shape"), ("composition()", "column 13"), ("Int<>", "an integer")])
def test_cpp_that_is_cut_short_is_refused_where_it_is(text, fault):
    with pytest.raises(ParseError, match=fault):
        parse(text)
