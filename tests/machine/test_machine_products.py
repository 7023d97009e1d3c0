"""Where a GPU rounds a sum of products once the machine does too, or refuses: bit for bit, and against the PTX."""

import re
from fractions import Fraction

import numpy as np
import pytest

from cuda_kernels.build.compile import bound_kernel, text_of
from cuda_kernels.intrinsics import (
    f32,
    f64,
    fma_rn_f32,
    fma_rn_f64,
    ld_global_f32,
    mul_rn_f32,
    mul_rn_f64,
    s32,
    st_global_f32,
    tid_x,
)
from simlayout.errors import MachineError
from simlayout.machine import run


def given(seed=0):
    return np.random.default_rng(seed).standard_normal(96).astype(np.float32)


def once(a, b, c):
    """a * b + c of f32, rounded once."""
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    halves = [np.float32(0)] * len(exact)
    for i, value in enumerate(exact):
        near = np.float32(float(value))
        around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
        halves[i] = min(around, key=lambda f: (abs(Fraction(float(f)) - value), int(f.view(np.int32)) & 1))
    return np.array(halves)


def sum_of_product(out, ins):
    t = tid_x()
    a, b, c = ld_global_f32(ins + 4 * t), ld_global_f32(ins + 4 * (t + 32)), ld_global_f32(ins + 4 * (t + 64))
    st_global_f32(out + 4 * t, a * b + c)


def product_from_sum(out, ins):
    t = tid_x()
    a, b, c = ld_global_f32(ins + 4 * t), ld_global_f32(ins + 4 * (t + 32)), ld_global_f32(ins + 4 * (t + 64))
    c += -(a * b)
    st_global_f32(out + 4 * t, c)


def product_minus(out, ins):
    t = tid_x()
    a, b, c = ld_global_f32(ins + 4 * t), ld_global_f32(ins + 4 * (t + 32)), ld_global_f32(ins + 4 * (t + 64))
    st_global_f32(out + 4 * t, a * b - c)


@pytest.mark.parametrize("kernel, sign_ab, sign_c", [
    (sum_of_product, 1, 1), (product_from_sum, -1, 1), (product_minus, 1, -1)])
def test_a_product_in_a_sum_is_rounded_once(kernel, sign_ab, sign_c):
    ins, out = given(), np.zeros(32, np.float32)
    run(kernel, 1, 32, out, ins)
    a, b, c = ins.reshape(3, 32)
    expected = once(sign_ab * a, b, sign_c * c)
    assert out.tolist() == expected.tolist() and out.tolist() != (sign_ab * (a * b) + sign_c * c).tolist()


def test_the_compiler_fuses_what_the_machine_fuses():
    pytest.importorskip("numba.cuda")
    text = text_of(bound_kernel(sum_of_product), "u64 u64", (32, 1))
    assert len(re.findall(r"fma\.rn\.f32", text)) == 1 and not re.search(r"(mul|add)\.(rn\.)?f32", text)


def named_product(out, ins):
    t = tid_x()
    p = ld_global_f32(ins + 4 * t) * ld_global_f32(ins + 4 * (t + 32))
    st_global_f32(out + 4 * t, p + ld_global_f32(ins + 4 * (t + 64)))


def two_products(out, ins):
    t = tid_x()
    a, b, c = ld_global_f32(ins + 4 * t), ld_global_f32(ins + 4 * (t + 32)), ld_global_f32(ins + 4 * (t + 64))
    st_global_f32(out + 4 * t, a * b + b * c)


def loop_invariant(out, ins):
    t = tid_x()
    a, b, c = ld_global_f32(ins + 4 * t), ld_global_f32(ins + 4 * (t + 32)), ld_global_f32(ins + 4 * (t + 64))
    for _ in range(3):
        c += a * b
    st_global_f32(out + 4 * t, c)


def repeated(out, ins):
    t = tid_x()
    a, b, c = ld_global_f32(ins + 4 * t), ld_global_f32(ins + 4 * (t + 32)), ld_global_f32(ins + 4 * (t + 64))
    st_global_f32(out + 4 * t, a * b + c)
    st_global_f32(out + 4 * t, b * a)


def divided_by_one(out, ins):
    """An H200 gives what one rounding gives: the compiler leaves the division out."""
    t = tid_x()
    a, b, c = ld_global_f32(ins + 4 * t), ld_global_f32(ins + 4 * (t + 32)), ld_global_f32(ins + 4 * (t + 64))
    st_global_f32(out + 4 * t, a * b / f32(1) + c)


def times_one(out, ins):
    t = tid_x()
    a, b, c = ld_global_f32(ins + 4 * t), ld_global_f32(ins + 4 * (t + 32)), ld_global_f32(ins + 4 * (t + 64))
    st_global_f32(out + 4 * t, (a * b) * f32(1) - c)


@pytest.mark.parametrize("kernel", [named_product, two_products, loop_invariant, repeated, divided_by_one, times_one])
def test_a_sum_that_may_be_fused_or_not_is_refused_where_that_shows(kernel):
    with pytest.raises(MachineError, match=r"test_machine_products.py:\d+.*write fma_rn_f32\(x, y, z\).*mul_rn_f32\(x, y\)"):
        run(kernel, 1, 32, np.zeros(32, np.float32), given())
    exact = np.arange(96, dtype=np.float32)
    run(kernel, 1, 32, np.zeros(32, np.float32), exact)


def written_out(out, ins):
    t = tid_x()
    a, b, c = ld_global_f32(ins + 4 * t), ld_global_f32(ins + 4 * (t + 32)), ld_global_f32(ins + 4 * (t + 64))
    p = mul_rn_f32(a, b)
    st_global_f32(out + 4 * t, fma_rn_f32(b, c, p + c))


def written_out_f64(out, ins):
    t = tid_x()
    a, b = f64(ld_global_f32(ins + 4 * t)), f64(ld_global_f32(ins + 4 * (t + 32)))
    p = mul_rn_f64(a, b)
    st_global_f32(out + 4 * t, f32(fma_rn_f64(b, a, -p) * f64(2**24)))


def test_of_several_nan_in_f64_the_one_is_left_that_an_h200_leaves():
    a, b, c = (np.full(32, 0x7FF8000000000000 + i, np.uint64).view(np.float64) for i in (1, 2, 3))
    one = np.ones(32)
    for made, left in ((fma_rn_f64.twin(None, a, b, c), b), (fma_rn_f64.twin(None, a, one, c), c),
                       (fma_rn_f64.twin(None, a, 1.0, 1.0), a), (mul_rn_f64.twin(None, a, b), b)):
        assert made.view(np.uint64).tolist() == left.view(np.uint64).tolist()
    assert fma_rn_f64.twin(None, 2.0, 3.0, 1.0) == 7 and type(mul_rn_f64.twin(None, 2.0, 3.0)) is float


def test_the_instructions_say_which():
    ins, out = given(), np.zeros(32, np.float32)
    run(written_out, 1, 32, out, ins)
    a, b, c = ins.reshape(3, 32)
    assert out.tolist() == once(b, c, a * b + c).tolist()
    run(written_out_f64, 1, 32, out, ins)
    assert not out.any()                                     # 24 by 24 bits are exact in f64
    pytest.importorskip("numba.cuda")
    text = text_of(bound_kernel(written_out), "u64 u64", (32, 1))
    assert "mul.rn.f32" in text and len(re.findall(r"fma\.rn\.f32", text)) == 1 and re.search(r"add\.(rn\.)?f32", text)


def wide(out, n):
    t = tid_x()
    x = f64(t) * 0.1 + 0.7
    y = x * f64(n) - x
    st_global_f32(out + 4 * t, f32((y - s32(y)) * 2.0**20))


def test_f64_is_fused_too():
    out = np.zeros(32, np.float32)
    run(wide, 1, 32, out, 3)
    expected = []
    for t in range(32):
        x = float(Fraction(t) * Fraction(0.1) + Fraction(0.7))
        y = float(Fraction(x) * 3 - Fraction(x))
        expected.append(float(np.float32((y - int(y)) * 2.0**20)))
    assert out.tolist() == expected
