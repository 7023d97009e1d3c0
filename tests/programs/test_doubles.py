"""Arithmetic of float64 by accident is noted, and what was asked for is not."""

import numpy as np
import pytest

pytest.importorskip("numba.cuda")

from numba import cuda, float32, float64

import simlayout as sl
from simlayout.programs import SimulatedDevice
from simlayout.programs.doubles import DOUBLES
from simlayout.programs.numba_cuda import NumbaOnDevice
from simlayout.programs.report import Report, text

ANOTHER_NAME, A_TYPE, THIRD = float64, np.float64, np.float32(1 / 3)


@cuda.jit(device=True)
def root(x):
    """For Numba."""
    return x ** 0.5 + 0.1


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


def double(a, out, n):
    """A double of each number."""
    i = cuda.grid(1)
    out[i] = a[i] * 2.0 + n                 # with double buffering, some time


def single(a, out, n):
    i = cuda.grid(1)
    out[i] = a[i] * float32(0.1) + THIRD * n


def compared(a, out, n):
    i = cuda.grid(1)
    if a[i] > 0.5:
        out[i] = a[i]


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


@pytest.mark.parametrize("kernel", [by_a_constant, by_a_sum, by_a_quotient, in_a_function, double])
def test_float64_by_accident_is_noted_with_its_lines(kernel):
    (note,) = notes(kernel)
    assert note.startswith("test_doubles.py, line")


@pytest.mark.parametrize("kernel", [single, compared, asked, asked_by_another_name, asked_by_a_type])
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


def test_the_report_shows_it():
    report = Report("sm_90", hazards=False)
    sl.simulate(by_a_sum, hazards="off", told=report.add)[1, 32](np.ones(128, np.float32), np.zeros(32, np.float32), 1)
    assert f"  note: {notes(by_a_sum)[0]}" in text(report)
