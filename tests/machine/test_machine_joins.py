"""A name has one type where two ways meet, as Numba infers it, whichever way was taken."""

import ast
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cuda_kernels.intrinsics import ld_shared_b32, tid_x
from simlayout.errors import MachineError
from simlayout.machine import run
from simlayout.machine.python import rewrite
from simlayout.machine.python.inference import described, joined

F32, F64, U32, U64, I64 = np.float32, np.float64, np.uint32, np.uint64, np.int64


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


def early(n):
    if n > 2:
        return F32(0.1)
    return 0.1


def what_a_function_returns_early(n):
    return early(n) * F32(0.3)


def changed(x, n):
    if n > 2:
        x = 0.1
    return x * F32(0.3)


def a_parameter(n):
    return changed(F32(0.1), n)


def unsigned(n):
    return U32(n)


def the_result_of_a_call(n):
    x = unsigned(n)
    if n > 2:
        x = -1
    return x - U32(7)


def pair(n, y=0.1):
    if n > 2:
        return n, 0.5
    return y, 2


def elements_of_tuples(n):
    p = pair(n)
    x, y = pair(n, y=F32(0.7))
    if n == 3:
        p = 0.25, 0.25
    return p[0] * F32(0.3) + x * F32(0.7) * p[1] + y


def a_range_of_unsigned(n):
    s = U64(0)
    for i in range(U32(1), U32(n)):
        s += (i - U32(3)) // 7
    return s


def integers_of_8_and_16_bits(n):
    return np.int16(n * 30000) + np.int8(n * 50) + (~np.uint8(n) + -np.uint8(n)) // U32(3)


HELPERS = early, changed, unsigned, pair
FUNCTIONS = (what_a_function_returns_early, a_parameter, the_result_of_a_call, elements_of_tuples, a_range_of_unsigned,
             integers_of_8_and_16_bits, an_arm, the_other_arm, the_head_of_a_loop, around_a_while, a_choice, an_or,
             signed_and_unsigned, a_bool, nested_loops)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_function_returns_what_numba_returns_in_the_same_type(function):
    numba = pytest.importorskip("numba")
    global chosen
    chosen = function
    compiled = numba.njit(function)
    for n in (0, 2, 3, 6):
        run(kernel, 1, 32, n)
        with pytest.MonkeyPatch.context() as patch:      # what a compiled function calls is compiled
            for helper in HELPERS:
                patch.setitem(globals(), helper.__name__, numba.njit(helper))
            expected = compiled(n)
        assert OUT.value == expected, n
        kind = compiled.nopython_signatures[0].return_type
        assert np.asarray(OUT.value).dtype == np.dtype(str(kind)), n


def kernel(n):
    OUT(chosen(n))


chosen = None


def made_by_default(value):
    def scaled(x, by=value):
        return x * by

    def twice(x):
        return scaled(x) + scaled(x)

    return twice


def made_by_keyword(value):
    def scaled(x, *, by=value):
        return x * by

    def twice(x):
        return scaled(x) + scaled(x)

    return twice


def made_by_closure(value):
    def scaled(x):
        return x * value

    def twice(x):
        return scaled(x) + scaled(x)

    return twice


def kernel_with(twice, out=OUT):
    def chosen(n):
        x = twice(F32(0.1))
        if n > 3:
            x = F32(0.3)
        return x * F32(0.7)

    def kernel(n):
        out(chosen(n))

    return kernel


@pytest.mark.parametrize("values", [(F32(0.1), 0.1), (0.1, F32(0.1)), (3, F32(3))], ids=str)
@pytest.mark.parametrize("made", [made_by_default, made_by_keyword, made_by_closure])
def test_functions_of_equal_code_have_the_types_of_their_own_values(made, values):
    for value in values:
        run(kernel_with(made(value)), 1, 32, 5)
        kind = F32 if isinstance(value, F32) else F64
        assert np.asarray(OUT.value).dtype == kind and OUT.value == kind(F32(0.3)) * kind(F32(0.7))


def made_by_one_thread_of_several(value):
    def scaled(x):
        return x * value

    def twice(x):
        return scaled(x) + scaled(x)

    return twice


def test_threads_that_run_functions_of_equal_code_at_the_same_time_get_the_same_types(monkeypatch):
    find = rewrite._find
    monkeypatch.setattr(rewrite, "_find", lambda *words: time.sleep(0.02) or find(*words))
    outs = [Out() for _ in range(4)]
    with ThreadPoolExecutor(len(outs)) as threads:
        list(threads.map(lambda out: run(kernel_with(made_by_one_thread_of_several(0.5), out), 1, 32, 5), outs))
    assert [np.asarray(out.value).dtype for out in outs] == [F64] * len(outs)


def made_of_two_that_call_each_other():
    def even(n):
        return odd(n - 1) if n else 1

    def odd(n):
        return even(n - 1) if n else 0

    def kernel(n):
        OUT(even(n))

    return kernel


def test_functions_that_call_each_other_are_refused_as_often_as_they_are_made():
    for _ in range(2):
        with pytest.raises(MachineError, match="even calls itself, which Numba does not compile"):
            run(made_of_two_that_call_each_other(), 1, 32, 3)


def doubled(x):
    return x + x


def of_a_helper(x):
    OUT(doubled(x))


def test_what_calls_return_is_kept_of_so_many_and_results_are_the_same_when_some_are_forgotten(monkeypatch):
    monkeypatch.setattr(rewrite, "MOST_KEPT", 4)
    monkeypatch.setattr(rewrite, "_results", kept := {})
    numbers = [kind(3) for kind in (F32, F64, U32, U64, I64, np.int32, np.int16, np.uint8, np.uint16)]
    for value in numbers + numbers:
        rewrite._rewritten.clear()
        run(of_a_helper, 1, 32, value)
        assert OUT.value == 6 and 0 < len(kept) <= 4
    assert rewrite._rewritten_code.cache_info().maxsize


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


def test_lanes_of_8_bits_are_widened_before_they_are_added():
    run(narrow, 1, 32)
    assert OUT.value.tolist() == [int(np.int8(-100 + 7 * i)) + 100 for i in range(32)]


def narrow():
    OUT(np.int8(7 * tid_x() - 100) + np.int8(100))


def test_the_length_of_a_range_that_differs_by_lane_is_refused():
    with pytest.raises(MachineError, match="len of lanes"):
        run(long, 1, 32)


def long():
    OUT(len(range(tid_x())))
