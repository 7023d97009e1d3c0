"""Index text, as --lanes and formulas write it: what it means, Python's and C's, and where it is refused."""

import re

import numpy as np
import pytest
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl
from simlayout.codegen import symbol
from simlayout.codegen.index_text import parse_index

OPERATORS = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")


@st.composite
def index_texts(draw, depth=3):
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["tid", "k", "0", "1", "7", "32", "2147483647"]))
    left, right = draw(index_texts(depth - 1)), draw(index_texts(depth - 1))
    gap = draw(st.sampled_from(["", " "]))
    text = f"{left}{gap}{draw(st.sampled_from(OPERATORS))}{gap}{right}"
    return f"({text})" if draw(st.booleans()) else text


@given_few(60, 200, index_texts(), st.integers(0, 63), st.integers(0, 7))
def test_an_index_text_means_what_python_means_on_ints_and_arrays(text, tid, k):
    try:
        got, = parse_index(text, ("tid", "k"))(tid, k)
    except sl.SimlayoutError:
        return                                     # division by zero, a wide shift, more than 62 bits
    assert got == eval(text, {}, {"tid": tid, "k": k})          # the twin; the text is ours
    assert np.all(parse_index(text, ("tid", "k"))(np.full(3, tid), np.full(3, k))[0] == got)


def test_an_index_text_takes_symbols():
    tid, k = symbol("tid", 32), symbol("k", 4)
    row, col = parse_index("tid % 16, 16*k + 8*(tid // 16)", ("tid", "k"))(tid, k)
    assert str(row) == "tid & 15" and row == tid % 16 and col == 16 * k + 8 * (tid // 16)


@pytest.mark.parametrize("text, column", [
    ("", 1), ("tid,,k", 5), ("tid + ", 7), ("(tid", 1), ("tid)", 4), (") + (", 1), ("tid ** 2", 5), ("tid(1)", 1),
    ("tid if k else 1", 5), ("tid < k", 5), ("not tid", 1), ("tid and k", 5), ("(tid, k), 1", 1), ("*tid, 1", 1),
    ("1, x", 4), ("True", 1), ("lambda: 0", 1), ("tid.real", 1), ("tid[0]", 4), ("'tid'", 1), ("1.5", 1), ("[tid]", 1),
    ("tid == k", 5), ("k := 1", 3), ("yield tid", 1), ("await tid", 1), ("tid for tid in k", 5), ("1e5", 1),
    ("2147483648", 1), ("tid // 0", 8), ("tid % 0", 7), ("tid << 64", 8), ("tid\0", 4), ("e\u0301", 2), ("\uff54id", 1),
    ("1 2", 3), ("007", 1), ("(" * 100 + "1" + ")" * 100, 65), ("1+" * 200 + "1", 128), ("9" * 1000, 1),
    ("1," * 501, 1001), ("tid / 0", 7), ("- " * 70 + "tid", 13), ("tid ? 1 : 2", 5), ("smem[tid]", 5), ("(char)tid", 2),
    ("float(tid)", 1), ("tid && k", 5), ("!tid", 1), ("(tid, k) + 1", 10), ("tid = k; tid", 1), ("a = ; tid", 5),
    ("a = tid; b", 10), ("static_cast<int> tid", 18), ("{tid}", 1), ("0x80000000", 1), ("7ux", 1), ("blockIdx.x", 1),
    ("0X_", 1), ("0b__u", 1), ("--tid / 2", 1), ("tid++;", 4)])
def test_anything_outside_the_grammar_is_one_line_with_its_column(text, column):
    with pytest.raises(sl.ParseError) as error:
        parse_index(text, ("tid", "k"))
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(f"column {column}: ")


@pytest.mark.parametrize("text, meant", [
    ("tid / 4 * 8 + tid % 4;", lambda tid, k: tid // 4 * 8 + tid % 4),
    ("return tid * 64u + (k ^ 7ULL);", lambda tid, k: tid * 64 + (k ^ 7)),
    ("(int)tid * 0x40 + (uint32_t)(k) + unsigned(k)", lambda tid, k: tid * 64 + 2 * k),
    ("static_cast<unsigned int>(tid + k) >> 1", lambda tid, k: (tid + k) >> 1),
    ("const int a = tid / 8;\n\tint b = a ^ k; b * 8 + a", lambda tid, k: (tid // 8 ^ k) * 8 + tid // 8),
    ("offset = tid * 64 + k", lambda tid, k: tid * 64 + k), ("int offset = tid + k;", lambda tid, k: tid + k),
    ("tid & ~7 | -k & 7", lambda tid, k: tid & ~7 | -k & 7), ("threadIdx.x % 16 + +k", lambda tid, k: tid % 16 + k),
    ("tid\n", lambda tid, k: tid), ("tid // 2", lambda tid, k: tid // 2), ("0b101 + tid", lambda tid, k: 5 + tid)])
def test_what_c_and_cuda_write_is_read_as_they_mean_it(text, meant):
    made = parse_index(text, ("tid", "k"))
    assert all(made(tid, k) == (meant(tid, k),) for tid in range(64) for k in range(8))


class CInt(int):
    """An int of C: division rounds towards 0; a value beyond 32 bits, which C does not define, is an OverflowError."""

    @classmethod
    def of(cls, value):
        if not -2**31 <= value < 2**31:
            raise OverflowError
        return cls(value)

    def __truediv__(self, other):
        return CInt.of(int.__floordiv__(self, other) if (self < 0) == (other < 0) else -int.__floordiv__(-self, other))

    def __mod__(self, other):
        return CInt.of(self - int(self / CInt(other)) * other)


def of_int(name):
    return lambda self, other: CInt.of(getattr(int, name)(self, other))


for _name in ("__add__", "__sub__", "__mul__", "__and__", "__or__", "__xor__", "__lshift__", "__rshift__"):
    setattr(CInt, _name, of_int(_name))


@given_few(60, 200, index_texts(), st.integers(0, 63), st.integers(0, 7))
def test_an_index_text_of_c_means_what_c_means_or_is_refused(text, tid, k):
    text = text.replace("//", "/").replace("2147483647", "65535")
    try:
        got, = parse_index(f"{text};", ("tid", "k"))(tid, k)
    except sl.SimlayoutError:
        return
    assert got == eval(re.sub(r"\d+", r"CInt(\g<0>)", text), {"CInt": CInt}, {"tid": CInt(tid), "k": CInt(k)})


def test_what_c_leaves_open_or_does_otherwise_is_refused():
    for text in ("(tid - 8) / 4", "(tid - 8) % 4;", "(tid - 8u) >> 1", "tid * 65536 * 65536;", "(int)tid << 32"):
        with pytest.raises(sl.LayoutError):
            parse_index(text, ("tid",))(np.arange(32))
    assert parse_index("(tid - 8) // 4", ("tid",))(0) == (-2,)          # Python's own


@given_few(75, 300, st.text(max_size=30) | st.text(alphabet="tidk0129+-*/%&|^<>(), =x_;~u\n", max_size=30))
def test_no_text_gets_anything_but_a_function_or_a_parse_error(text):
    try:
        assert callable(parse_index(text, ("tid", "k")))
    except sl.ParseError as error:
        assert "\n" not in str(error)
