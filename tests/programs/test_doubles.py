"""Arithmetic of float64 by accident is noted, and what was asked for is not."""

from unittest.mock import MagicMock

import numpy as np
import pytest

pytest.importorskip("numba.cuda")

from numba import cuda, float32, float64
from numba.cuda.random import xoroshiro128p_dtype, xoroshiro128p_uniform_float32, xoroshiro128p_uniform_float64

import simlayout as sl
from simlayout.programs import SimulatedDevice
from simlayout.programs.doubles import DOUBLES
from simlayout.programs.numba_cuda import NumbaOnDevice
from simlayout.programs.report import Report, text

NOT_INSTALLED = MagicMock()
ANOTHER_NAME, A_TYPE, THIRD = float64, np.float64, np.float32(1 / 3)


@cuda.jit(device=True)
def root(x):
    """For Numba."""
    return x ** 0.5 + 0.1


@cuda.jit(device=True)
def double(x):
    return x * float32(2)


@cuda.jit(device=True)
def asks(x):
    return float64(x) * 0.1


def by_a_constant(a, out, n):
    i = cuda.grid(1)
    out[i] = a[i] * 0.1 + n


def by_a_sum(a, out, n):
    i = cuda.grid(1)
    s = 0.0
    for k in range(4):
        s += a[4 * i + k]
    out[i] = s


def by_a_quotient(a, out, n):
    i = cuda.grid(1)
    out[i] = n / (i + 1) * a[i]


def in_a_function(a, out, n):
    i = cuda.grid(1)
    out[i] = root(a[i] * 0.3)


def twice(a, out, n):
    """A double of each number."""
    i = cuda.grid(1)
    out[i] = a[i] * 2.0 + n                 # with double buffering, some time


def in_a_function_named_double(a, out, n):
    i = cuda.grid(1)
    double_of_it = double(a[i])
    out[i] = double_of_it * 0.1


def half(a, out, n):
    i = cuda.grid(1)
    m = out.size
    out[i] = a[int(m / 2) - 1]


def half_of_a_float(a, out, n):
    i = cuda.grid(1)
    out[i] = a[int(a[i] / 2)]


def half_and_more(a, out, n):
    i = cuda.grid(1)
    m = out.size
    out[i] = a[np.int32(m / (i + 1)) % 8]
    out[i] *= 0.1


def random(a, states, n):
    i = cuda.grid(1)
    a[i] = xoroshiro128p_uniform_float32(states, i) * 0.1


def random_single(a, states, n):
    i = cuda.grid(1)
    a[i] = xoroshiro128p_uniform_float32(states, i) * float32(0.1)


def random_double(a, states, n):
    i = cuda.grid(1)
    a[i] = xoroshiro128p_uniform_float64(states, i) * 0.1


def in_a_function_that_asks(a, out, n):
    i = cuda.grid(1)
    out[i] = asks(a[i])


def single(a, out, n):
    i = cuda.grid(1)
    out[i] = a[i] * float32(0.1) + THIRD * n


def compared(a, out, n):
    i = cuda.grid(1)
    if a[i] > 0.5:
        out[i] = a[i]


def beside_a_mock(a, out, n):
    i = cuda.grid(1)
    one: NOT_INSTALLED.Tensor = a[i]
    out[i] = one * 0.1


def asked(a, out, n):
    i = cuda.grid(1)
    out[i] = float64(a[i]) * 0.1


def asked_by_another_name(a, out, n):
    i = cuda.grid(1)
    out[i] = ANOTHER_NAME(a[i]) * 0.1


def asked_by_a_type(a, out, n):
    i = cuda.grid(1)
    out[i] = A_TYPE(a[i]) * 0.1


def notes(kernel, dtype=np.float32, n=THIRD):
    a = np.ones(128, dtype)
    return [note for note in sl.simulate(kernel)[1, 32](a, np.zeros(32, a.dtype), n).notes if DOUBLES in note]


@pytest.mark.parametrize("kernel", [by_a_constant, by_a_sum, by_a_quotient, in_a_function, twice, half_of_a_float,
                                    in_a_function_named_double, beside_a_mock])
def test_float64_by_accident_is_noted_with_its_lines(kernel):
    (note,) = notes(kernel)
    assert note.startswith("test_doubles.py, line")


@pytest.mark.parametrize("kernel", [single, compared, asked, asked_by_another_name, asked_by_a_type,
                                    in_a_function_that_asks])
def test_what_is_asked_for_or_needs_no_arithmetic_of_float64_is_not_noted(kernel):
    assert notes(kernel) == []


@pytest.mark.parametrize("n", [0.1, 3, np.int64(3)])
def test_a_python_float_that_is_passed_and_an_integer_that_a_float32_meets_make_a_float64(n):
    assert len(notes(single, n=n)) == 1


def test_arrays_of_float64_or_of_integers_alone_ask_for_it():
    assert notes(by_a_sum, np.float64) == [] and notes(by_a_quotient, np.int32) == []


def test_a_signature_may_ask_for_it():
    device, out = SimulatedDevice(), np.zeros(32, np.float32)
    with NumbaOnDevice(device):
        @cuda.jit("void(float32[:], float64)")
        def kernel(out, n):
            out[cuda.grid(1)] *= n

        kernel[1, 32](cuda.to_device(out), 0.1)
    assert not any(DOUBLES in note for note in device.launches[0].trace.notes)


@pytest.mark.parametrize("kernel, noted", [(random, 1), (random_single, 0), (random_double, 0)])
def test_random_states_are_no_float64_and_a_function_that_draws_one_asks_for_it(kernel, noted):
    states = np.ones(32, xoroshiro128p_dtype)
    trace = sl.simulate(kernel, hazards="off")[1, 32](np.zeros(32, np.float32), states, THIRD)
    assert sum(DOUBLES in note for note in trace.notes) == noted


def test_records_with_a_float64_ask_for_it():
    @cuda.jit
    def kernel(records):
        records[cuda.grid(1)].x *= 0.1

    for kind, noted in ("f8", 0), ("f4", 1):
        records = np.zeros(32, [("x", np.float32), ("y", kind)])
        assert sum(DOUBLES in note for note in sl.simulate(kernel)[1, 32](records).notes) == noted


@pytest.mark.parametrize("kernel, wholes, others", [(half, ["m // 2 for int(m / 2)"], False), (half_of_a_float, [], True),
                                                    (half_and_more, ["m // (i + 1) for np.int32(m / (i + 1))"], True)])
def test_a_quotient_of_integers_that_becomes_one_is_told_as_one(kernel, wholes, others):
    (note,) = notes(kernel)
    assert [f"{whole}, of numbers that are not below 0" in note for whole in wholes] == [True] * len(wholes)
    assert ("//" in note) == bool(wholes) and ("0.5, s = 0.0" in note) == others


def test_the_report_shows_it():
    report = Report("sm_90", hazards=False)
    sl.simulate(by_a_sum, hazards="off", told=report.add)[1, 32](np.ones(128, np.float32), np.zeros(32, np.float32), 1)
    assert f"  note: {notes(by_a_sum)[0]}" in text(report)
