"""Index functions computed exactly or refused: against Python's integers, point by point."""

import operator

import numpy as np
import pytest
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl
from simlayout.algebra.exact import box_arguments, box_point, exactly, pieces
from simlayout.errors import LayoutError, SimlayoutError, UndefinedError, VerificationError

BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
          "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
          "<": operator.lt, "==": operator.eq, "**": operator.pow}
UNARY = {"neg": operator.neg, "inv": operator.invert, "abs": abs}
CONSTANTS = [-(2**63), -3, -1, 0, 1, 2, 3, 7, 8, 31, 62, 63, 64, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**70]
OF_A_BOOL = pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")
"""Python means to refuse ~True from 3.16 on; until then it is -2, and so it is here."""

trees = st.recursive(
    st.one_of(st.sampled_from(["x", "y"]), st.integers(-9, 70), st.sampled_from(CONSTANTS)),
    lambda inner: st.one_of(st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
                            st.tuples(st.sampled_from(sorted(UNARY)), inner)),
    max_leaves=7)


class NoValue(Exception):
    """The twin's refusal."""


def on_ints(tree, x, y):
    """The tree's value on Python's integers; NoValue where 64 bits have none."""
    if not isinstance(tree, tuple):
        return {"x": x, "y": y}.get(tree, tree)
    sign, *sides = tree
    values = [on_ints(side, x, y) for side in sides]
    if not any(mentions(side) for side in sides):            # arithmetic of constants is Python's own: it has no limit
        return (BINARY | UNARY)[sign](*values)
    if sign in ("//", "%") and values[1] == 0 or sign in ("<<", ">>") and not 0 <= values[1] <= 63:
        raise NoValue
    if sign == "**" and (values[1] < 0 or abs(values[0]) > 1 and values[1] > 64):
        raise NoValue
    made = int((BINARY | UNARY)[sign](*values))
    if not -(2**63) <= made < 2**63:
        raise NoValue
    return made


def mentions(tree):
    return tree in ("x", "y") if not isinstance(tree, tuple) else any(map(mentions, tree[1:]))


def on_arrays(tree, x, y):
    """The tree as an index function writes it."""
    if not isinstance(tree, tuple):
        return x if tree == "x" else y if tree == "y" else tree
    return (BINARY | UNARY)[tree[0]](*(on_arrays(side, x, y) for side in tree[1:]))


@OF_A_BOOL
@given_few(50, 150, trees.filter(mentions), st.integers(1, 5), st.integers(1, 9), st.integers(-4, 2**62))
def test_a_function_has_pythons_values_or_is_refused_at_the_first_point_that_has_none(tree, rows, columns, start):
    start = start if start > 2**61 else start % 9 - 4
    box = ((0, rows), (start, start + columns))
    try:
        fixed(tree)
    except (ArithmeticError, ValueError, MemoryError, NoValue):
        return
    wanted, first = [], None
    for x in range(rows):
        for y in range(start, start + columns):
            try:
                wanted.append(on_ints(tree, x, y))
            except NoValue:
                first = first or {"x": x, "y": y}
    try:
        made = exactly(lambda x, y: on_arrays(tree, x, y), box_arguments(box), "f", lambda n: box_point("xy", box, n))
    except UndefinedError as error:
        assert error.counterexample["point"] == first
    else:
        assert first is None and made.dtype == np.int64 and made.reshape(-1).tolist() == wanted


def fixed(tree):
    """Computes the constant parts: Python itself may refuse these, or never end."""
    if isinstance(tree, tuple):
        for side in tree[1:]:
            fixed(side)
        if not mentions(tree):
            if tree[0] in ("<<", "**"):
                raise NoValue
            on_ints(tree, 0, 0)


@pytest.mark.parametrize("sizes, most", [((5,), 2), ((3, 4), 4), ((3, 4), 3), ((2, 3, 4), 8), ((1, 7), 100), ((2, 2, 2), 1)])
def test_pieces_cover_a_domain_once_and_in_order(sizes, most):
    walked = [box_point("abc"[:len(sizes)], box, n) for box in pieces(sizes, most)
              for n in range(int(np.prod([stop - start for start, stop in box])))]
    assert [tuple(p.values()) for p in walked] == list(np.ndindex(*sizes))
    assert all(np.prod([stop - start for start, stop in box]) <= most for box in pieces(sizes, most))


TABLE = np.arange(32)[::-1].copy()
NARROW = np.full(32, 100, np.int8)

REFUSED = {
    "100 // tid": (lambda t: 100 // t, 0, "100 // 0 divides by zero"),
    "tid % 0": (lambda t: t % 0 + t, 0, "0 % 0 divides by zero"),
    "a divisor of 0 later": (lambda t: 7 // (t - 20) * 0 + t, 20, "7 // 0"),
    "tid / 2": (lambda t: t / 2, 0, "0 / 2 is a fraction: divide with //"),
    "tid * nan": (lambda t: t * float("nan"), 0, "nan is no integer"),
    "tid * 0.5": (lambda t: t * 0.5, 0, "0.5 is no integer"),
    "tid << -1": (lambda t: t << -1, 0, "shifts by less than 0"),
    "tid >> (3 - tid)": (lambda t: 5 >> (3 - t), 4, r"5 >> \(-1\) shifts by less than 0"),
    "tid << 64": (lambda t: t << 64, 0, "or more than 63"),
    "back from beyond 64 bits": (lambda t: (t * 0 + (t % 2 << 62) << 2) >> 62, 1, "leaves 64 bits"),
    "a product that wraps": (lambda t: (t << 40) * (1 << 30) % 64, 1, "leaves 64 bits"),
    "the least by -1": (lambda t: ((-1 << 63) + t) // -1 * 0, 0, "leaves 64 bits"),
    "times 4 bytes": (lambda t: t + 2**62, 0, "a byte address beyond 64 bits"),
    "a float constant": (lambda t: 2.0, 0, "2.0 is no integer"),
    "NumPy's square root": (lambda t: np.sqrt(t), 0, "no integer"),
    "a table that ends": (lambda t: TABLE[t + 1], 31, "IndexError"),
    "a table of int8": (lambda t: NARROW[t] * np.int8(2), 0, "overflow"),
    "the first of all points": (lambda t: np.asarray(t).reshape(-1)[0] + t, 1, "is 2 for ints, and 1 for arrays"),
    "a running sum": (lambda t: np.cumsum(t), 0, "an array from outside|no integer|raises"),
}


def access(tile, name="x"):
    return sl.Access(name, "ld.shared.b32", tile, domain={"tid": 32}, dtype="f32", excess=None)


def compared(one):
    return sl.equivalent(one.offset, one.offset, one.domain)


@pytest.mark.parametrize("ask", [sl.verify, sl.emit, sl.Access.analyze, compared], ids=lambda ask: ask.__name__)
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_value_in_64_bits_is_refused_with_its_first_point(name, ask):
    function, tid, fault = REFUSED[name]
    if name == "times 4 bytes" and ask is compared:
        return                                                       # its elements have offsets; their bytes have none
    with pytest.raises(UndefinedError, match=fault) as caught:
        ask(access(function))
    assert caught.value.counterexample["point"] == {"tid": tid} and f"tid = {tid}" in str(caught.value)
    assert isinstance(caught.value, VerificationError) and isinstance(caught.value, LayoutError)


@pytest.mark.parametrize("function", [lambda t: t if t < 16 else 0, lambda t: [3, 4][t % 2], lambda t: min(t, 5),
                                      lambda t: t and 5, lambda t: sum(1 for _ in range(t))])
def test_a_function_that_branches_on_its_arguments_is_told_what_to_write(function):
    for ask in (sl.verify, sl.emit, access(function).__class__.analyze):
        with pytest.raises(SimlayoutError, match="access 'x'.*must not.*write arithmetic"):
            ask(access(function))


@OF_A_BOOL
def test_comparisons_count_as_in_python():
    assert exactly(lambda t: (t < 3) + (t < 5), [np.arange(6)], "f").tolist() == [2, 2, 2, 1, 1, 0]
    assert exactly(lambda t: ~(t < 1), [np.arange(2)], "f").tolist() == [-2, -1]
    assert exactly(lambda t: True, [np.arange(2)], "f").tolist() == [1, 1]


def test_what_numpy_does_beside_the_operators_must_give_lone_ints_the_same():
    table = np.array([5, 3, 1])
    assert exactly(lambda t: table[t] + np.where(t > 1, t, 0), [np.arange(3)], "f").tolist() == [5, 3, 3]
    assert sl.verify(access(lambda t: TABLE[t])).wavefronts == 1
    with pytest.raises(UndefinedError, match="at tid = 0 is 0 for ints, and 5 for arrays"):
        sl.verify(access(lambda t: np.asarray(t) + 5 * (np.size(t) > 1)))


def test_a_constant_beyond_64_bits_is_fine_where_nothing_leaves_them():
    def large(t):
        return (t & (1 << 70) - 1) % 2**66 + (t < 2**80) - 2**63 + 2**63 - 1

    assert exactly(large, [np.arange(3)], "f").tolist() == [0, 1, 2]


def test_assignments_in_place_change_nothing_outside():
    def double(t):
        t += t
        return t

    points = np.arange(3)
    assert exactly(double, [points], "f").tolist() == [0, 2, 4] and points.tolist() == [0, 1, 2]


def test_formulas_are_computed_all_at_once():
    points = {"row": 1 << 12, "col": 1 << 10}                       # too many to be called for one by one
    assert sl.equivalent(sl.formula("row * 64 + (col ^ 7 & row) / 1"), lambda r, c: (r << 6) + (c ^ r & 7), points)
    with pytest.raises(UndefinedError, match="at row = 0, col = 3: 5 // 0"):
        sl.equivalent(sl.formula("row + 5 // (col - 3)"), sl.formula("row"), {"row": 2, "col": 9})


def test_of_a_function_compiled_by_numba_its_python_is_proved():
    numba = pytest.importorskip("numba")
    assert sl.verify(access(numba.njit(lambda t: t * 3 % 64))).digest == sl.verify(access(lambda t: t * 3 % 64)).digest
    with pytest.raises(UndefinedError, match="at tid = 1: .*leaves 64 bits"):
        sl.verify(access(numba.njit(lambda t: t << 62 << 2)))
    assert sl.equivalent(numba.njit(lambda x: x + 1), lambda x: x + 1, {"x": 4})
