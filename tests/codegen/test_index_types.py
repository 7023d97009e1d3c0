"""The types of C's texts, compiled for this machine, against what `parse_index` says of them."""

import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from simlayout.codegen import host_cpp
from simlayout.codegen.index_text import parse_index
from simlayout.errors import LayoutError

ROWS, COLUMNS = 4, 16
TYPES = ["int", "unsigned", "long long", "size_t", "uint32_t", "unsigned int"]

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, host_cpp.COMPILERS)), reason="no C++ compiler on this machine")

leaves = st.one_of(st.sampled_from(["row", "col"]), st.builds("{}{}".format, st.sampled_from([0, 1, 7, 8, 64]),
                                                              st.sampled_from(["", "", "u", "ul", "ll"])))
texts = st.recursive(leaves, lambda inner: st.one_of(
    st.builds("({} {} {})".format, inner, st.sampled_from("+-+-+-*&|^"), inner),
    st.builds("({} {} {})".format, inner, st.sampled_from(["<<", ">>", "/", "%"]), st.sampled_from(["1", "2u", "3"])),
    st.builds("({}){}".format, st.sampled_from(TYPES), inner),
    st.builds("(static_cast<{}>({} - 8{}) + {})".format, st.sampled_from(TYPES), inner, st.sampled_from(["", "u"]),
              st.sampled_from(["8", "8u", "8ul"])),
    st.builds("{}{}".format, st.sampled_from("~-"), st.sampled_from(["(col - 8)", "7u", "8", "(row)"]))), max_leaves=6)


def known(text):
    """What `parse_index` gives for every point, int64 [ROWS, COLUMNS]; None where it refuses the text, which `/` makes C."""
    try:
        return np.broadcast_to(parse_index(f"{text} / 1", ("row", "col"))(*np.indices((ROWS, COLUMNS)))[0], (ROWS, COLUMNS))
    except LayoutError:
        return None


def compiled(folder, kind, drawn):
    """What C++ gives for each text, with variables of a type, widened to 64 bits: uint64 [texts, ROWS, COLUMNS]."""
    functions = "\n".join(f"u64 f{n}({kind} row, {kind} col) {{ return {text} / 1; }}" for n, text in enumerate(drawn))
    (folder / "all.cpp").write_text(
        f"#include <cstdio>\n#include <cstdint>\n#include <cstddef>\nusing u64 = unsigned long long;\n{functions}\n"
        f"u64 (*all[])({kind}, {kind}) = {{ {', '.join(f'f{n}' for n in range(len(drawn)))} }};\n"
        f"int main() {{ for (auto f : all) for (int row = 0; row < {ROWS}; ++row) for (int col = 0; col < {COLUMNS}; ++col) "
        'std::printf("%llu ", f(row, col)); }')
    subprocess.run([host_cpp.compiler_of_cpp(), "-w", "-std=c++17", "-o", folder / "all", folder / "all.cpp"], check=True)
    printed = subprocess.run([folder / "all"], check=True, capture_output=True, text=True).stdout
    return np.array(printed.split(), np.uint64).reshape(len(drawn), ROWS, COLUMNS)


@needs_compiler
@settings(max_examples=3, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(texts, min_size=150, max_size=150))
def test_a_text_of_c_gives_what_c_gives_whether_its_variables_have_a_sign_or_is_refused(tmp_path_factory, drawn):
    kept = [(text, values) for text in drawn if (values := known(text)) is not None]
    assert len(kept) > 20
    for kind in ("unsigned", "int"):
        for (text, values), got in zip(kept, compiled(tmp_path_factory.mktemp("c"), kind, [text for text, _ in kept])):
            assert (got == values).all(), (kind, text)


@pytest.mark.parametrize("text", [
    "size_t c = col - 8u; return row * 64 + c + 8", "row * 64 + (size_t)(col - 8u) + 8", "row * 64ul + (col - 8) + 8",
    "row * 64 + static_cast<uint64_t>(col - 8) + 8", "row * 64 + size_t(col - 8) + 8",
    "row * 64 + (((size_t)col - 8) & ~7u) + 8", "auto c = col - 8; return row * 64 + c + size_t(8);"])
def test_what_c_widens_without_a_sign_and_may_be_negative_is_refused_and_the_error_says_how_it_is_written(text):
    with pytest.raises(LayoutError, match=r"widens a value to 64 bits.*\(int\)\(col - 8\)"):
        parse_index(text, ("row", "col"))(*np.indices((16, 64)))


@pytest.mark.parametrize("text", [
    "row * 64 + (size_t)(int)(col - 8u) + 8", "int c = col - 8; size_t wide = c; return row * 64 + wide + 8;",
    "long c = col; return row * 64 + (c - 8) + 8;", "row * 64ul + (col + 8 - 8)", "row * 64 + ((size_t)col & ~7u) + col % 8",
    "unsigned off = row * 64 + (col - 8u) + 8; return (size_t)off;"])
def test_what_c_widens_with_a_sign_or_cannot_be_negative_is_read(text):
    rows, columns = np.indices((16, 64))
    assert (parse_index(text, ("row", "col"))(rows, columns)[0] == 64 * rows + columns).all()
