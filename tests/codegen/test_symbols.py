"""Symbols simplify, and never change a value."""

import ast
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import given_few

from simlayout.codegen.printer import count_operations, cuda_body, python_body
from simlayout.codegen.symbols import Expr, symbol

SIZES = {"tid": 64, "i": 5, "k": 4}
CONSTANT = st.one_of(st.integers(0, 9), st.sampled_from([16, 24, 32, 64, 100, 127, 128]))
WITH_CONSTANT = {
    "+": operator.add, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}
WITH_VALUE = {"+": operator.add, "^": operator.xor, "|": operator.or_, "&": operator.and_}


def programs(depth):
    """Random index functions as nested tuples over the variables of SIZES."""
    leaf = st.sampled_from([("var", v) for v in SIZES])
    if depth == 0:
        return leaf
    below = programs(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(st.sampled_from(list(WITH_CONSTANT)), below, CONSTANT),
        st.tuples(st.sampled_from(["<<", ">>"]), below, st.integers(0, 5)),
        st.tuples(st.sampled_from(list(WITH_VALUE)), below, below),
        st.tuples(st.just("reversed"), below),
    )


def evaluate(program, values):
    """The program's value on ints, arrays or symbols, straight by definition."""
    op, *args = program
    if op == "var":
        return values[args[0]]
    left = evaluate(args[0], values)
    if op == "reversed":
        return 2**20 - left % 2**20
    if op in ("<<", ">>"):
        return left << args[1] if op == "<<" else left >> args[1]
    if isinstance(args[1], int):
        constant = max(args[1], 1) if op in ("//", "%") else args[1]
        return WITH_CONSTANT[op](left, constant)
    return WITH_VALUE[op](left, evaluate(args[1], values))


def grid():
    arrays = np.meshgrid(*(np.arange(n) for n in SIZES.values()), indexing="ij")
    return dict(zip(SIZES, (a.reshape(-1) for a in arrays)))


GRID = grid()
SYMBOLS = {v: symbol(v, n) for v, n in SIZES.items()}


def run_python(expression):
    body = "\n".join("    " + line for line in python_body(expression))
    scope = {}
    exec(f"def f({', '.join(SIZES)}):\n{body}\n", scope)
    return scope["f"]


@given_few(100, 400, programs(5))
def test_a_traced_index_function_has_the_values_of_the_function(program):
    want = evaluate(program, GRID)
    expression = evaluate(program, SYMBOLS)
    got = run_python(expression)(**GRID)
    assert np.array_equal(np.broadcast_to(got, want.shape), want)


@given_few(60, 200, programs(5))
def test_a_symbols_range_and_bits_contain_every_value(program):
    want = evaluate(program, GRID)
    expression = evaluate(program, SYMBOLS)
    if isinstance(expression, int):
        assert (want == expression).all()
        return
    assert expression.lo <= want.min() and want.max() <= expression.hi
    if expression.bits is not None:
        assert not (want & ~expression.bits).any()


@settings(max_examples=100, deadline=None)
@given(programs(4))
def test_no_division_by_a_power_of_two_is_left(program):
    expression = evaluate(program, SYMBOLS)
    for node in ast.walk(ast.parse("\n".join(line.removeprefix("return ") for line in python_body(expression)))):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
            assert isinstance(node.right, ast.Constant) and node.right.value & (node.right.value - 1)


@pytest.mark.parametrize("function, text", [
    (lambda tid, k: tid % 64, "tid"),
    (lambda tid, k: tid // 64, "0"),
    (lambda tid, k: (tid % 32) // 16, "(tid >> 4) & 1"),
    (lambda tid, k: (64 * k + tid) // 64, "k"),
    (lambda tid, k: (64 * k + tid) % 64, "tid"),
    (lambda tid, k: (tid ^ k) ^ k, "tid"),
    (lambda tid, k: 8 * tid ^ 8 * k, "(tid ^ k) << 3"),
    (lambda tid, k: 3 * tid - tid - 2 * tid, "0"),
    (lambda tid, k: (6 * tid + 4 * k) // 2, "(tid * 3) + (k << 1)"),
    (lambda tid, k: (8 * tid + 8 * k) % 32, "((tid + k) & 3) << 3"),
])
def test_known_ranges_simplify(function, text):
    assert str(function(symbol("tid", 64), symbol("k", 4))) == text


def test_branching_on_a_symbol_is_refused():
    tid = symbol("tid", 32)
    with pytest.raises(TypeError, match="must not branch"):
        bool(tid)
    with pytest.raises(TypeError, match="must not compare"):
        assert tid < 3


def test_common_subexpressions_are_named_and_counted_once():
    tid = symbol("tid", 256)
    chunk = (tid % 24) // 5
    both = chunk * 64 + (chunk ^ 7)
    assert python_body(both)[0].startswith("t0 = ")
    assert count_operations(both) == count_operations(chunk) + 3
    assert cuda_body(both)[0].startswith("const unsigned t0 = ")


def test_numpy_integers_are_constants():
    assert isinstance(symbol("tid", 8) + np.int64(2), Expr)
