"""Random programs whose lanes part, and random expressions, give each thread on the GPU what the machine gives it; skipped
where there is no GPU."""

import random

import numpy as np
import pytest
import random_expressions
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from random_expressions import CAST, EDGES
from random_kernels import on_the_machine, programs
from written_source import functions_of

from cuda_kernels.run.device import gpu_problem
from simlayout.machine.python.numbers import UNIFIED

pytestmark = [pytest.mark.skipif(gpu_problem() is not None, reason=str(gpu_problem())), pytest.mark.sweep]


def on_the_gpu(text, n, block=32):
    """int32 [block]: what each thread's program returns, compiled by numba-cuda."""
    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature
    from cuda_kernels.intrinsics import st_global_b32, tid_x

    program = functions_of(text)["program"]

    def kernel(out, n):
        t = tid_x()
        st_global_b32(out + 4 * t, program(t, n))

    out = cuda.to_device(np.full(block, -1, np.int32))
    cuda.jit(signature("u64 s32"))(bound_kernel(kernel))[1, block](out.__cuda_array_interface__["data"][0], n)
    return out.copy_to_host()


@pytest.mark.parametrize("number", range(32))
def test_random_programs_give_each_thread_on_the_gpu_what_the_machine_gives_it(number):
    @seed(number)
    @settings(max_examples=16, database=None, suppress_health_check=list(HealthCheck))
    @given(programs(), st.integers(0, 9))
    def compared(text, n):
        assert on_the_gpu(text, n).tolist() == on_the_machine(text, n).tolist()

    compared()


@pytest.mark.parametrize("batch", range(16))
def test_random_expressions_are_what_the_gpu_computes(batch):
    found = random_expressions.differences(random.Random(5000 + batch), 80, random_expressions.by_the_gpu)
    assert found == []


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_random_sums_of_products_are_rounded_as_on_the_gpu(kind):
    a, b = f"{kind}_0", f"{kind}_1"
    forms = ["({} * {} + {})", "({2} + {0} * {1})", "({} * {} - {})", "({2} - {0} * {1})", "(-({} * {}) + {})"]
    texts = [(form.format(x, y, z), kind) for form in forms for x in (a, b) for y in (a, b) for z in (a, b)]
    rng = random.Random(kind)
    assert [f for _ in range(5) for f in random_expressions.compared(rng, texts, random_expressions.by_the_gpu)] == []


def test_the_smaller_and_the_larger_of_two_numbers_are_the_gpus():
    names = [f"{kind}_{i}" for kind in ("f32", "f64", "s64", "u32", "u64") for i in range(2)]
    for kinds in ({a, b} for a in EDGES for b in EDGES if "b1" not in (a, b) and a <= b):
        texts = [(f"{CAST[UNIFIED[a[:3], b[:3]]]}({symbol}({a}, {b}))", UNIFIED[a[:3], b[:3]])
                 for symbol in ("min", "max") for a in names for b in names if {a[:3], b[:3]} == kinds]
        assert random_expressions.compared(random.Random(str(kinds)), texts, random_expressions.by_the_gpu) == []
