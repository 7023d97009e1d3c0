"""A name has one type where two ways meet, as Numba infers it, whichever way was taken."""

import ast

import numpy as np
import pytest

from cuda_kernels.ptx import ld_shared_b32
from simlayout.machine import run
from simlayout.machine.inference import described, joined

F32, F64, U64, I64 = np.float32, np.float64, np.uint64, np.int64


class Out:
    def twin(self, warp, value):
        self.value = value


OUT = Out()


def an_arm(n):
    x = F32(0.1)
    if n > 3:
        x = 0.1
    return x * F32(0.3)


def the_other_arm(n):
    if n > 3:
        x, y = F32(0.1), 1
    else:
        x, y = 0.1, 2
    return x * F32(0.3) + y


def the_head_of_a_loop(n):
    x = F32(0.1)
    y = F32(0.0)
    for _ in range(n):
        y = x * F32(0.3)
        x = x + 0.1
    return x * F32(0.3) + y


def around_a_while(n):
    x, i = F32(0.1), 0
    while i < n:
        if i == 2:
            i += 1
            continue
        if i == 4:
            x = U64(7) * 0.5
            break
        x = x * F32(0.7)
        i += 1
    return x * F32(0.3)


def a_choice(n):
    return (F32(0.1) if n > 3 else 0.1) * F32(0.3)


def an_or(n):
    x = F32(n)
    return (x or 0.1) * F32(0.3)


def signed_and_unsigned(n):
    x = 2**62 + 1
    if n > 3:
        x = U64(7)
    return x * F64(3) - x


def a_bool(n):
    x = n > 3
    if n == 2:
        x = 5
    return x + x


def nested_loops(n):
    x = F32(0.1)
    for i in range(n):
        for j in range(i):
            if j == 1:
                x = x * F32(0.3)
            else:
                x = 0.1 * j
    return x * F32(0.3)


FUNCTIONS = (an_arm, the_other_arm, the_head_of_a_loop, around_a_while, a_choice, an_or, signed_and_unsigned, a_bool,
             nested_loops)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_function_returns_what_numba_returns_in_the_same_type(function):
    numba = pytest.importorskip("numba")
    global chosen
    chosen = function
    compiled = numba.njit(function)
    for n in (0, 2, 3, 6):
        run(kernel, 1, 32, n)
        expected = compiled(n)
        assert OUT.value == expected, n
        kind = compiled.nopython_signatures[0].return_type
        assert np.asarray(OUT.value).dtype == np.dtype(str(kind)), n


def kernel(n):
    OUT(chosen(n))


chosen = None


def casts(text, **names):
    tree = ast.parse(text).body[0]
    joined(tree, {name: described(value) for name, value in names.items()})
    return [ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Assign) and "__as" in ast.unparse(n)]


def test_a_cast_stands_where_known_types_differ_and_nowhere_else():
    text = "def f(p):\n x = 0\n y = 1\n if p: x = 0.5\n elif y: y = 2\n for i in range(4): y = y + i\n"
    assert casts(text) == ["x = __as(x, 'f64')"]
    assert casts("def f(p, x):\n if p: x = 0.5\n") == []
    assert casts("def f(p):\n x = 1\n if p: x = load(p)\n", load=ld_shared_b32) == ["x = __as(x, 's64')"]
    assert casts("def f(p):\n x = 1\n if p:\n  x = 0.5\n  return x\n") == []
    assert casts("def f(p):\n for i in range(p):\n  if i: x = 1\n  else: continue\n  x = 0.5\n") == []
