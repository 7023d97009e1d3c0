"""The CUDA C++ texts, compiled for this machine, against Python's integers."""

import dataclasses
import operator
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import simlayout as sl
from simlayout.codegen import check, host_cpp, symbol
from simlayout.codegen.printer import cuda_body, wraps
from simlayout.codegen.symbols import limits
from simlayout.errors import SimlayoutError, VerificationError

ROWS, COLUMNS = 32, 6
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
             "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift}
CONSTANTS = [0, 1, 2, 3, 5, 7, 8, 12, 31, 32, 63, 64, 1000, 65536, 2**30, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 9,
             2**33, 2**40 + 1]

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, host_cpp.COMPILERS)), reason="no C++ compiler on this machine")

trees = st.recursive(st.one_of(st.just("x"), st.just("y"), st.sampled_from(CONSTANTS)),
                     lambda inner: st.tuples(st.sampled_from(sorted(OPERATORS)), inner, inner), max_leaves=9)


def value(tree, x, y):
    """The tree on ints or symbols."""
    if not isinstance(tree, tuple):
        return x if tree == "x" else y if tree == "y" else tree
    left, right = (value(side, x, y) for side in tree[1:])
    if tree[0] in ("<<", ">>") and isinstance(right, int) and right > 64:
        raise ValueError("a shift that no type has")
    return OPERATORS[tree[0]](left, right)


def made_in_range(tree):
    """The symbols' expression of a tree, brought into range where its own is not; None where it cannot be emitted."""
    try:
        made = value(tree, symbol("x", ROWS), symbol("y", COLUMNS))
        least, most = limits(made)
        if not 0 <= least <= most < 2**31:                    # what it adds and takes away again wraps in 32 bits
            made = made - least if most - least < 2**31 else made % 1021
        least, most = limits(made)
        return made if 0 <= least and most < 2**31 and wraps(made) is None else None
    except (ValueError, ArithmeticError, TypeError):
        return None


@needs_compiler
@settings(max_examples=4, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(trees, min_size=150, max_size=150))
def test_what_is_printed_as_cuda_computes_what_python_does(tmp_path_factory, drawn):
    kept = [(tree, made) for tree in drawn if (made := made_in_range(tree)) is not None]
    assert len(kept) > 20
    functions = "\n".join(f"unsigned f{n}(unsigned x, unsigned y) {{\n" + "\n".join(cuda_body(made)) + "\n}"
                          for n, (_, made) in enumerate(kept))
    calls = "\n".join(f'std::printf("%u ", f{n}(x, y));' for n in range(len(kept)))
    folder = tmp_path_factory.mktemp("cpp")
    (folder / "all.cpp").write_text(
        f"#include <cstdio>\n{functions}\nint main() {{ for (unsigned x = 0; x < {ROWS}; ++x) "
        f"for (unsigned y = 0; y < {COLUMNS}; ++y) {{ {calls} }} }}")
    subprocess.run([host_cpp.compiler_of_cpp(), "-O1", "-std=c++17", "-o", folder / "all", folder / "all.cpp"], check=True,
                   capture_output=True)
    printed = subprocess.run([folder / "all"], check=True, capture_output=True, text=True).stdout
    got = np.array(printed.split(), np.int64).reshape(ROWS, COLUMNS, len(kept))
    for n, (tree, made) in enumerate(kept):
        exact = np.array([[value(tree, x, y) for y in range(COLUMNS)] for x in range(ROWS)], object)
        least = limits(value(tree, symbol("x", ROWS), symbol("y", COLUMNS)))
        if not 0 <= least[0] <= least[1] < 2**31:
            exact = exact - least[0] if least[1] - least[0] < 2**31 else exact % 1021
        assert (got[:, :, n] == exact).all(), (tree, cuda_body(made))


def load(tile, dtype="f32", instruction="ld.shared.b32", **domain):
    return sl.Access("a", instruction, tile, domain={"tid": 32, **domain}, dtype=dtype, excess=None)


WRAPPING = load(lambda tid, k: ((tid + 131072) * (k + 65536) - 8589934592) % (k + 3), k=2)


@needs_compiler
@pytest.mark.parametrize("access", [
    WRAPPING,
    load(lambda tid: tid + 2**32 - 2**32), load(lambda tid: (tid - 40) * 3 + 120), load(lambda tid: 1 << tid % 12),
    load(lambda tid, k: 5 % (tid + 1) + (64 >> k) - 1, k=3), load(lambda tid: ((tid * 2**33 + tid * 4) >> 1) & 63),
    load(lambda tid: (tid | 2**40) - 2**40), load(lambda tid: 7)])
@pytest.mark.parametrize("unit", ["elements", "bytes"])
def test_a_checked_text_is_right_as_cpp_or_was_refused(access, unit):
    try:
        made = sl.emit(access, unit=unit)
    except SimlayoutError as error:
        assert "32-bit" in str(error)
        return
    points = check(made, access)
    assert points == 32 * access.instructions() and "at all points" in points.how and "plain Python" in points.how


@needs_compiler
@pytest.mark.parametrize("wrong, fault", [
    (("/ 3", "/ 5"), "gives 0 where the model gives 1, at tid = 3"), (("/ 3", "/ (tid - 3)"), "stops with"),
    (("/ 3", "/"), "does not run as C"), (("unsigned a(", "unsigned b("), "does not run as C")])
def test_a_wrong_cuda_text_is_found(wrong, fault):
    access = load(lambda tid: tid // 3)
    made = sl.emit(access)
    assert wrong[0] in made.cuda
    with pytest.raises(SimlayoutError, match=fault) as caught:
        check(dataclasses.replace(made, cuda=made.cuda.replace(*wrong)), access)
    if "model" in fault:
        assert isinstance(caught.value, VerificationError)
        assert caught.value.counterexample == {"point": {"tid": 3}, "got": 0, "want": 1}


def test_without_a_compiler_the_check_says_so(monkeypatch):
    host_cpp.compiler_of_cpp.cache_clear()
    monkeypatch.setattr(host_cpp, "COMPILERS", ("no-such-compiler",))
    points = check(sl.emit(WRAPPING), WRAPPING)
    assert points == 64 and "the CUDA C++ text was not run: there is no C++ compiler" in points.how
    host_cpp.compiler_of_cpp.cache_clear()


@pytest.mark.parametrize("name", ["read", "write", "main", "points", "p", "std", "a", "tid2", "emitted"])
@needs_compiler
def test_names_that_the_checking_program_has_too_do_not_clash(name):
    access = sl.Access(name, "ld.shared.b32", sl.Layout(32), domain={"tid": 32, "p": 1, "value": 1}, dtype="f32",
                       lanes=lambda tid, p, value: tid + p + value)
    assert check(sl.emit(access), access) == 32


@pytest.mark.parametrize("thing", [sl.Layout(32), "(16,64):(64,1)", None, 5, lambda tid: tid])
def test_what_is_no_access_is_not_emitted(thing):
    with pytest.raises(SimlayoutError, match="emit takes an Access, not"):
        sl.emit(thing)


def test_numpy_integers_are_integers_in_domains_and_formulas():
    made = sl.emit(sl.Access("x", "ld.shared.b32", lambda t, k: t * 0 + np.int64(5) + k * np.int8(2) + np.int32(3), None,
                             {"tid": np.int64(32), "k": np.int16(2)}, "f32", np.int64(0)))
    assert made.function(0, 1) == 10 and made.certificate.domain == {"tid": 32, "k": 2}
    assert type(made.certificate.domain["tid"]) is int and "np" not in made.source


TABLE = np.arange(32)


@pytest.mark.parametrize("function, fault", [
    (lambda t: TABLE[t], "table"), (lambda t: np.int64(2**62) * (t * 0 + np.int64(0)) + (t * 0 + 1) * 0 + TABLE[t], "table"),
    (lambda t: np.where(t > 3, t, 0), "must not compare"), (lambda t: np.minimum(t, 3), "must not call NumPy"),
    (lambda t: t ** 2, "cannot be emitted")])
def test_what_has_values_but_no_formula_is_verified_and_not_emitted(function, fault):
    assert sl.verify(load(function)).digest
    with pytest.raises(SimlayoutError, match=fault):
        sl.emit(load(function))
