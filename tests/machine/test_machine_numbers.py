"""Lanes and uniform numbers have Numba's types and values: tables against numba-cuda, expressions against numba.njit."""

import itertools
import math
import operator
import random

import numpy as np
import pytest
import random_expressions
from tiers import sweep_but

from cuda_kernels.intrinsics import (
    bar_warp_sync,
    ctaid_x,
    f32,
    f64,
    laneid,
    ld_global_b32,
    ld_volatile_shared_f32,
    nctaid_z,
    ntid_x,
    ntid_y,
    s32,
    st_global_b32,
    st_global_f32,
    st_shared_b32,
    tid_x,
    tid_y,
    tid_z,
    u32,
    u64,
)
from simlayout.errors import MachineError
from simlayout.machine import run
from simlayout.machine.python.numbers import ARITHMETIC, COMPARISON, UNIFIED, kind_of, unified

KINDS = "b1", "s64", "u32", "u64", "f32", "f64"


def stored(kernel, *args, dtype=np.int32, **options):
    out = np.zeros(32, dtype)
    run(kernel, 1, 32, out, *args, shared_bytes=128, **options)
    return out.tolist()


# ---- the tables -----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def numba_types():
    pytest.importorskip("numba.cuda")
    from numba.cuda import types
    from numba.cuda.descriptor import cuda_target

    context = cuda_target.typing_context
    context.refresh()
    names = dict(zip(KINDS, (types.boolean, types.int64, types.uint32, types.uint64, types.float32, types.float64)))
    return context, names | {"s32": types.int32}, {t: name for name, t in names.items()} | {types.int32: "s64"}


def test_the_tables_are_what_numba_cuda_infers(numba_types):
    context, types, names = numba_types
    for a, b in itertools.product([*KINDS, "s32"], repeat=2):
        ours = tuple("s64" if k == "s32" else k for k in (a, b))
        for op in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod):
            made = context.resolve_function_type(op, (types[a], types[b]), {}).return_type
            assert ARITHMETIC[ours] == names[made], (op, a, b)
        if "f32" not in (a, b) and "f64" not in (a, b):
            for op in (operator.and_, operator.or_, operator.xor):
                made = context.resolve_function_type(op, (types[a], types[b]), {}).return_type
                assert (a == b == "b1" and names[made] == "b1") or ARITHMETIC[ours] == names[made], (op, a, b)
        signature = context.resolve_function_type(operator.lt, (types[a], types[b]), {})
        wide = {names[t] for t in signature.args}
        assert COMPARISON[ours] in wide or COMPARISON[ours] == "s64" and wide <= {"s64"}, (a, b)
        assert UNIFIED[ours] == names[context.unify_pairs(types[a], types[b])], (a, b)


def test_a_uniform_number_has_the_type_that_numba_gives_an_argument():
    pytest.importorskip("numba")
    from numba import typeof

    for value in (True, 3, -2**63, 2**63, 0.5, np.uint32(3), np.uint64(3), np.float32(3), np.float64(3), np.bool_(True)):
        names = {"bool": "b1", "int64": "s64", "uint32": "u32", "uint64": "u64", "float32": "f32", "float64": "f64"}
        assert kind_of(value) == names[str(typeof(value))], repr(value)
    assert unified("u64", "s64") == "f64" and unified("u32", "s64") == "s64"


# ---- kernels that showed other values than their own PTX ------------------------------------------------------------

def bool_sum(out):
    t = tid_x()
    st_global_b32(out + 4 * t, (t < 3) + (t < 5))


def and_value(out):
    t = tid_x()
    st_global_b32(out + 4 * t, t % 4 and 5)


def or_value(out):
    t = tid_x()
    st_global_b32(out + 4 * t, t % 4 or 9)


def unsigned_compare(out):
    t = tid_x()
    v = 0
    if u32(t) - u32(2) < u32(3):
        v = 1
    st_global_b32(out + 4 * t, v)


def loaded_difference(out):
    t = tid_x()
    st_global_b32(out + 4 * t, t)
    bar_warp_sync()
    d = ld_global_b32(out + 4 * (t ^ 1)) - ld_global_b32(out + 4 * t)
    bar_warp_sync()
    v = 0
    if d < 0:
        v = 1
    st_global_b32(out + 4 * t, v)


def u64_shift(out):
    t = tid_x()
    st_global_b32(out + 4 * t, u64(t - 2) >> 60)


def invert_uniform_bool(out):
    v = 0
    if ~(ctaid_x() < 2):
        v = 1
    st_global_b32(out + 4 * tid_x(), v)


def lcg(out):
    s = ctaid_x() + 1
    for _ in range(4):
        s = s * 6364136223846793005 + 1
    st_global_b32(out + 4 * tid_x(), s >> 33)


@pytest.mark.parametrize("kernel, first", [
    (bool_sum, [2, 2, 2, 1, 1, 0]), (and_value, [0, 5, 5, 5, 0]), (or_value, [9, 1, 2, 3, 9]),
    (unsigned_compare, [0, 0, 1, 1, 1, 0]), (loaded_difference, [0] * 8), (u64_shift, [15, 15, 0, 0]),
    (invert_uniform_bool, [0] * 4)])
def test_a_kernel_stores_what_its_ptx_stores(kernel, first):
    assert stored(kernel)[:len(first)] == first


def test_a_uniform_integer_wraps_at_64_bits():
    s = 1
    for _ in range(4):
        s = (s * 6364136223846793005 + 1 + 2**63) % 2**64 - 2**63
    out = np.zeros(32, np.int32)
    trace = run(lcg, 1, 32, out)
    assert out[0] == np.int64(s >> 33).astype(np.int32) and "signed overflow" in trace.notes[0]


def f32_times_constant(out):
    t = tid_x()
    x = f32(t) * f32(0.7)
    st_global_f32(out + 4 * t, x * 0.1 + 0.3)


def relu_of_nan(out):
    t = tid_x()
    st_shared_b32(4 * t, 0x7FC00000)
    st_global_f32(out + 4 * t, max(ld_volatile_shared_f32(4 * t), f32(0)))


def test_f32_with_a_python_float_is_f64_and_max_of_nan_is_the_number():
    x = np.arange(32, dtype=np.float32) * np.float32(0.7)
    from simlayout.numerics.fma import fma

    wide = fma(x.astype(float), np.full(32, 0.1), np.full(32, 0.3))
    assert stored(f32_times_constant, dtype=np.float32) == wide.astype(np.float32).tolist()
    assert stored(relu_of_nan, dtype=np.float32) == [0.0] * 32


def wide_relu_of_nan(out):
    t = tid_x()
    st_shared_b32(4 * t, 0x7FC00000)
    st_global_f32(out + 4 * t, f32(max(ld_volatile_shared_f32(4 * t), 0.5)))


def test_of_two_floats_of_different_types_a_nan_loses_too():
    """max.f64 in the PTX, and on an H200; Numba's code for the CPU compares, and gives the NaN."""
    assert stored(wide_relu_of_nan, dtype=np.float32) == [0.5] * 32


def exponential(out):
    t = tid_x()
    st_global_f32(out + 4 * t, math.exp(t * 0.5))


def square_root(out):
    t = tid_x()
    st_global_f32(out + 4 * t, math.sqrt(f32(t)) + math.floor(f32(t) / f32(3)))


def test_functions_of_math_take_lanes_and_the_trace_says_which_are_not_exact():
    out = np.zeros(32, np.float32)
    trace = run(exponential, 1, 64 // 2, out)
    assert np.allclose(out, np.exp(np.arange(32) * 0.5)) and len(trace.notes) == 1 and "math.exp" in trace.notes[0]
    t = np.arange(32, dtype=np.float32)
    assert run(square_root, 1, 32, out).notes == () and out.tolist() == (np.sqrt(t) + np.floor(t / np.float32(3))).tolist()


ANGLES = [(f"math.{name}({kind}_0)", "f32" if kind == "f32" else "f64")
          for name in ("degrees", "radians") for kind in random_expressions.EDGES]
SCALED = [(f"math.ldexp({kind}_0, {exponent})", "f32" if kind in ("b1", "f32") else "f64")
          for kind in random_expressions.EDGES
          for exponent in ("b1_0", "s64_1 % 700 - 350", "u32_1 % 60", "np.int64(u64_1 % 3000) - 1500", "5")]


@pytest.mark.parametrize("batch", sweep_but([0], range(3)))
def test_angles_and_scaled_numbers_are_what_numba_computes_in_its_types(batch):
    pytest.importorskip("numba")
    assert random_expressions.compared(random.Random(batch), ANGLES + SCALED, random_expressions.by_njit) == []


@pytest.mark.parametrize("name, kinds", [("degrees", ["f32"]), ("radians", ["s64"]), ("ldexp", ["b1", "s64"]),
                                         ("ldexp", ["f32", "u32"])])
def test_numba_cuda_compiles_the_functions_of_angles_and_scaling_to_these_types(name, kinds):
    cuda = pytest.importorskip("numba.cuda")
    types = {"b1": "bool_", "s64": "int64", "u32": "uint32", "f32": "float32"}
    import numba

    function = {"degrees": lambda a: math.degrees(a), "radians": lambda a: math.radians(a),
                "ldexp": lambda a, b: math.ldexp(a, b)}[name]
    _, made = cuda.compile_ptx(function, tuple(getattr(numba, types[kind]) for kind in kinds), device=True, cc=(9, 0))
    assert str(made) == {"b1": "float32", "f32": "float32", "s64": "float64"}[kinds[0]]


# ---- what is refused ------------------------------------------------------------------------------------------------

def shifts_too_far(out):
    st_global_b32(out + 4 * tid_x(), 1 << (tid_x() + 40))


def casts_too_much(out):
    st_global_b32(out + 4 * tid_x(), s32(f64(tid_x()) * 1e9))


def shifts_a_float(out):
    st_global_b32(out + 4 * tid_x(), f32(1) << 2)


def adds_text(out):
    st_global_b32(out + 4 * tid_x(), tid_x() + "1")


BIG = 2**64


def too_big(out):
    st_global_b32(out + 4 * tid_x(), BIG + 1)


def of_nothing(out):
    st_global_b32(out + 4 * tid_x(), None)


def common_divisor(out):
    st_global_b32(out + 4 * tid_x(), math.gcd(tid_x(), 3))


def scales_by_a_float(out):
    st_global_f32(out + 4 * tid_x(), math.ldexp(f32(1), 0.5))


def scales_too_far(out):
    st_global_f32(out + 4 * tid_x(), math.ldexp(f32(1), (tid_x() + 1) << 31))


def inverts_a_float(out):
    st_global_b32(out + 4 * tid_x(), ~1.5)


def plus_one(out, n):
    st_global_b32(out + 4 * tid_x(), n + 1)


def halves(out, h):
    st_global_f32(out + 4 * tid_x(), h * h)


@pytest.mark.parametrize("kernel, args, text", [
    (shifts_too_far, (), "by 64: a shift of 64 bits"), (casts_too_much, (), "3000000000.0 does not fit in s32"),
    (shifts_a_float, (), "`<<` of f32 and s64"), (adds_text, (), "`\\+` of s64 and str"),
    (halves, (np.float16(1),), "cast to f32 first"), (too_big, (), "18446744073709551616 does not fit in 64 bits"),
    (of_nothing, (), "an operand of type b32 is a number, not NoneType"), (common_divisor, (), "gcd of lanes"),
    (scales_by_a_float, (), "ldexp by f64: the exponent is an integer"), (scales_too_far, (), "does not fit in s32"),
    (inverts_a_float, (), "`~` of f64"), (plus_one, ("a",), "`\\+` of str and s64"), (plus_one, (1j,), "not complex"),
    (plus_one, (2**65,), "does not fit")])
def test_what_is_undefined_or_does_not_compile_is_refused_with_its_line(kernel, args, text):
    with pytest.raises(MachineError, match=text if text.startswith("does") else f"test_machine_numbers.py:\\d+.*{text}"):
        stored(kernel, *args)


def among(out):
    t = tid_x()
    st_global_b32(out + 4 * t, (t in (1, 3)) + 2 * (t not in (0, 1)))


def test_lanes_are_looked_for_in_a_tuple():
    assert stored(among)[:4] == [0, 1, 2, 3] and stored(plus_one, 2**63)[0] == 1


def fib(n):
    made = n
    if n >= 2:
        made = fib(n - 1) + fib(n - 2)
    return made


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def recursive(out):
    st_global_b32(out + 4 * tid_x(), fib(5))


def mutually_recursive(out):
    st_global_b32(out + 4 * tid_x(), even(5))


@pytest.mark.parametrize("kernel, name", [(recursive, "fib"), (mutually_recursive, "even")])
def test_a_device_function_that_calls_itself_is_refused(kernel, name):
    with pytest.raises(MachineError, match=rf"test_machine_numbers.py:\d+.*{name} calls itself.*write a loop"):
        stored(kernel)


def indices(out):
    at = tid_x() + ntid_x() * (tid_y() + ntid_y() * tid_z())
    st_global_b32(out + 4 * at, tid_x() + 10 * tid_y() + 100 * tid_z() + 1000 * laneid() + 100000 * nctaid_z())


def test_a_thread_has_three_indices():
    out = np.zeros((2, 4, 8), np.int32)
    run(indices, 1, (8, 4, 2), out)
    z, y, x = np.indices(out.shape)
    assert (out == x + 10 * y + 100 * z + 1000 * ((x + 8 * y) % 32) + 100000).all()


# ---- random expressions against numba.njit --------------------------------------------------------------------------

@pytest.mark.parametrize("batch", sweep_but([0], range(2)))
def test_random_expressions_are_what_numba_computes(batch):
    pytest.importorskip("numba")
    assert random_expressions.differences(random.Random(batch), 40) == []


@pytest.mark.sweep
@pytest.mark.parametrize("batch", range(50))
def test_twenty_thousand_random_expressions_are_what_numba_computes(batch):
    pytest.importorskip("numba")
    assert random_expressions.differences(random.Random(1000 + batch), 400) == []
