"""warptile, version 1 of the H100 notes: warp tiling in bf16. On the CPU machine, as machine code, on a GPU."""

import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from gemm_kit import normal
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16
from tiers import sweep_but

from cuda_kernels.intrinsics.arithmetic import fma_rn_f32
from cuda_kernels.intrinsics.convert import cvt_f32_bf16_high, cvt_f32_bf16_low
from cuda_kernels.kernels.warptile.warptile import BLOCK, CHUNK_K, KERNEL
from cuda_kernels.run.device import gpu_problem
from cuda_kernels.run.runner import run
from simlayout import SimlayoutError, VerificationError
from simlayout.kernel import Problem

SHAPES = [(BLOCK, BLOCK, 2 * CHUNK_K), (130, 66, 35), (1, 8, 16), (33, 20, 1), (5, 129, 18), (64, 4, 7)]

VARIANTS = [KERNEL.variant(whole=True), *(KERNEL.variant(a_aligned=a, b_aligned=b, c_aligned=c)
                                          for a, b, c in product((True, False), repeat=3))]

EXCESS = {"store A": 3, "store B": 0, "load A": 0, "load B": 0}

needs_gpu = pytest.mark.skipif(gpu_problem() is not None, reason=str(gpu_problem()))


def label(kernel):
    return "-".join(name for name, value in vars(kernel.options).items() if value) or "unaligned"


def inputs(M, N, K, seed=0):
    """bf16 A (M, K) and B (K, N)."""
    return normal(((M, K), (K, N)), bfloat16, seed)


def part(rows, cols, before, behind):
    """A bf16 matrix with other columns before and behind it."""
    return inputs(rows, 1, before + cols + behind)[0][:, before:before + cols]


def one_by_one(a, b):
    """a @ b with every product added in the order of K: a product of two bf16 is an f32, so each sum is rounded once."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(len(b)):
        total += a[:, k, None] * b[k]
    return total.astype(bfloat16)


def assert_within_rounding(c, a, b):
    """c is float32 NumPy's a @ b but for the rounding of both sums in f32 and of c to bf16."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    want = a @ b
    bound = 2.0**-8 * np.abs(want) + 2 * len(b) * 2.0**-24 * (np.abs(a) @ np.abs(b))
    assert (np.abs(c.astype(np.float32) - want) <= bound).all()


def assert_executes_what_was_predicted(trace, M, N, K):
    said = KERNEL.plan.predict(M, N, K)
    executed = {c.name: (c.instruction, c.instructions, c.wavefronts, c.ideal) for c in trace.accesses}
    assert executed == {c.name: (c.instruction, c.instructions, c.wavefronts, c.ideal) for c in said.counts}
    assert {c.name: c.excess / c.instructions for c in trace.accesses} == EXCESS


# ---- on the CPU machine ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape", sweep_but(SHAPES[2:4], SHAPES), ids=str)
def test_c_is_right_without_hazards_and_executes_what_was_predicted(shape):
    a, b = inputs(*shape)
    done = run(KERNEL, a, b, device="cpu", hazards="report")
    assert done.c.dtype == bfloat16 and done.device == "CPU machine" and done.trace.hazards == ()
    assert np.array_equal(done.c, one_by_one(a, b))
    assert_within_rounding(done.c, a, b)
    assert_executes_what_was_predicted(done.trace, *shape)


@pytest.mark.parametrize("shape", sweep_but([(BLOCK, BLOCK, CHUNK_K)], [(BLOCK, BLOCK, CHUNK_K), (130, 66, 35)]), ids=str)
def test_small_integers_are_multiplied_exactly(shape):
    M, N, K = shape
    generator = np.random.default_rng(1)
    a, b = (generator.integers(-2, 3, s).astype(bfloat16) for s in ((M, K), (K, N)))
    want = a.astype(np.float32) @ b.astype(np.float32)
    assert np.abs(want).max() <= 256                          # so that bf16 holds them all
    assert np.array_equal(run(KERNEL, a, b, device="cpu").c.astype(np.float32), want)


@pytest.mark.slow
@settings(max_examples=1, deadline=None)
@given(M=st.integers(1, 40), N=st.integers(1, 40), K=st.integers(1, 34), lead_a=st.integers(0, 5), lead_b=st.integers(0, 5),
       first_a=st.integers(0, 5), first_b=st.integers(0, 5))
@example(M=9, N=132, K=20, lead_a=4, lead_b=4, first_a=4, first_b=4)       # rows that start on 8 bytes, and not on 16
@example(M=9, N=132, K=20, lead_a=0, lead_b=0, first_a=2, first_b=1)       # the same pitch, begun in between
def test_parts_of_wider_matrices_are_right_and_execute_what_was_predicted(M, N, K, lead_a, lead_b, first_a, first_b):
    a, b = part(M, K, first_a, lead_a), part(K, N, first_b, lead_b)
    done = run(KERNEL, a, b, device="cpu")
    assert np.array_equal(done.c, one_by_one(a, b))
    assert_executes_what_was_predicted(done.trace, M, N, K)


def test_bits_are_taken_as_bf16_and_returned_as_bits():
    a, b = inputs(4, 4, 8)
    made = run(KERNEL, a.view(np.uint16), b.view(np.uint16), device="cpu").c
    assert made.dtype == np.uint16 and np.array_equal(made.view(bfloat16), one_by_one(a, b))


def test_infinities_and_nan_reach_only_their_rows_and_columns():
    a, b = inputs(3, 4, 5)
    a[0, 0], b[0], b[1, 2] = np.inf, 1, np.nan
    c = run(KERNEL, a, b, device="cpu").c.astype(np.float32)
    assert np.isnan(c[:, 2]).all() and (c[0, [0, 1, 3]] == np.inf).all() and np.isfinite(c[1:, [0, 1, 3]]).all()


# ---- the plan -------------------------------------------------------------------------------------------------------

def test_only_the_transposing_stores_have_excess_and_fma_bounds_the_kernel():
    said = KERNEL.plan.predict(BLOCK, BLOCK, CHUNK_K)
    assert {c.name: c.excess_per_instruction for c in said.counts} == EXCESS
    each = {c.name: (c.instructions, c.wavefronts) for c in said.counts}
    assert each == {"store A": (64, 256), "store B": (16, 32), "load A": (64, 128), "load B": (256, 512)}
    assert (said.shared_clocks, said.mma_clocks, said.bound) == (928, 2048, "fma")
    assert (KERNEL.shared_bytes, KERNEL.block) == (8192, 128)


def test_predictions_grow_with_ctas_and_steps():
    one, many = KERNEL.plan.predict(1, 1, 1), KERNEL.plan.predict(257, 129, 97)
    assert (many.ctas, many.steps) == (6, 7)
    assert [c.wavefronts for c in many.counts] == [42 * c.wavefronts for c in one.counts]


def test_a_is_stored_where_the_seed_stores_it():
    access = KERNEL.plan.access("store A")
    tid, i, e = access.points()
    row, inner_col = tid // 4 + 32 * i, tid % 4
    assert np.array_equal(access.offsets(), np.broadcast_to((4 * inner_col + e) * 128 + row, (4, 4, 128)))


@pytest.mark.parametrize("kernel", VARIANTS, ids=label)
def test_every_variant_is_proved(kernel):
    certificates = kernel.prove()
    assert list(certificates) == list(EXCESS)
    for operand in "AB":
        assert certificates[f"load {operand}"].claims[-1].startswith(f"agrees with 'store {operand}'")


def test_an_emitted_function_that_is_out_of_date_is_found(monkeypatch):
    import cuda_kernels.emitted.warptile as module

    old = module.load_b
    monkeypatch.setattr(module, "load_b", lambda tid, j, k: old(tid, j, k) + 8 * (tid == 37))
    with pytest.raises(VerificationError, match=r"out of date at \{'tid': 37, 'j': 0, 'k': 0\}"):
        KERNEL.prove()


@pytest.mark.parametrize("arguments, chosen", [
    ({}, (True, True, True, True)), ({"M": 127}, (True, True, True, False)), ({"K": 20}, (True, True, True, False)),
    ({"K": 18}, (False, True, True, False)), ({"N": 129}, (True, False, False, False)),
    ({"lda": 33}, (False, True, True, False)), ({"ldc": 130}, (True, True, False, True)),
    ({"b": 4}, (True, False, True, False)), ({"c": 6}, (True, True, False, True)),
], ids=str)
def test_four_elements_move_at_once_where_rows_start_on_8_bytes(arguments, chosen):
    assert tuple(vars(KERNEL.fitted(Problem(**{"M": 128, "N": 128, "K": 32, **arguments})).options).values()) == chosen


# ---- what is refused ------------------------------------------------------------------------------------------------

BITS = np.zeros((16, 16), np.uint16)


@pytest.mark.parametrize("a, b, complaint", [
    (BITS[0], BITS, r"a must be a matrix, not \(16,\)"),
    (BITS, BITS.astype(np.float16), "b is float16; this kernel multiplies bf16, as ml_dtypes.bfloat16 or as its bits"),
    (BITS, BITS[:8], r"a is \(16, 16\) and b is \(8, 16\): they have no product"),
    (BITS[:0], BITS, "M = 0: a GEMM needs"),
])
def test_other_input_is_refused_in_one_line(a, b, complaint):
    with pytest.raises(SimlayoutError, match=complaint) as caught:
        run(KERNEL, a, b, device="cpu")
    assert "\n" not in str(caught.value)


# ---- the twins ------------------------------------------------------------------------------------------------------

def nearest_f32(exact):
    """A Fraction as the nearest f32, of two equally near the even one."""
    guess = np.float32(float(exact))
    near = {np.nextafter(guess, np.float32(way)) for way in (-np.inf, np.inf)} | {guess}
    return min(near, key=lambda x: (abs(Fraction(float(x)) - exact), int(np.float32(x).view(np.uint32)) & 1))


numbers = st.floats(-2.0**60, 2.0**60, width=32)


@settings(max_examples=200, deadline=None)
@given(numbers, numbers, numbers)
@example(1 + 2.0**-12, 1 + 2.0**-12, 2.0**-60)                # just above the middle of two f32
@example(1 + 2.0**-12, 1 + 2.0**-12, -2.0**-60)
@example(2.0**-75, 2.0**-75, 2.0**-149)                       # subnormal
def test_fma_rounds_once(a, b, c):
    lanes = [np.full(32, x, np.float32) for x in (a, b, c)]
    made = fma_rn_f32.twin(None, *lanes)
    assert made.dtype == np.float32 and made[5] == nearest_f32(Fraction(a) * Fraction(b) + Fraction(c))


@pytest.mark.parametrize("a, b, c, want", [
    (np.inf, 2, 1, "inf"), (np.inf, 0, 1, "nan"), (np.inf, 1, -np.inf, "nan"), (3e38, 3e38, 0, "inf"),
    (3e38, -3e38, 1, "-inf"), (1, 1, -np.inf, "-inf"), (0, -1, 0, "0.0"),
])
def test_fma_of_infinities_and_zeros(a, b, c, want):
    (made,) = set(map(str, fma_rn_f32.twin(None, *(np.full(32, x, np.float32) for x in (a, b, c)))))
    assert made == want


def test_fma_makes_the_one_nan_of_a_gpu():
    for a, b, c in ((np.inf, 0, 1), (-np.nan, 1, 1), (1, 1, np.nan)):
        made = fma_rn_f32.twin(None, *(np.full(32, x, np.float32) for x in (a, b, c)))
        assert set(made.view(np.uint32).tolist()) == {0x7FFFFFFF}


def test_a_bf16_is_the_upper_half_of_its_f32():
    low, high = np.arange(32) * 1003 + 0x0101, np.arange(32) * 2003
    for instruction, bits in ((cvt_f32_bf16_low, low), (cvt_f32_bf16_high, high)):
        want = bits.astype(np.uint16).view(bfloat16).astype(np.float32)
        assert np.array_equal(instruction.twin(None, high << 16 | low), want)


# ---- as machine code ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kernel", sweep_but(VARIANTS[:1], [VARIANTS[0], VARIANTS[1], VARIANTS[-1]]), ids=label)
def test_results_stay_in_registers_and_loads_are_as_wide_as_planned(kernel, tmp_path):
    pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[test]'")
    from machine_code import CUOBJDUMP, PTXAS, assembled, assert_in_registers, of_class

    from cuda_kernels.build.compile import ptx

    if not (PTXAS and CUOBJDUMP):
        pytest.skip("needs ptxas and cuobjdump: pip install nvidia-cuda-nvcc nvidia-cuda-cuobjdump")
    said, opcodes = assembled(ptx(kernel), tmp_path)
    assert_in_registers(said)
    assert of_class(opcodes, "LDL") == of_class(opcodes, "STL") == of_class(opcodes, "CALL") == 0
    steps, left = divmod(of_class(opcodes, "FFMA"), 8 * 16)
    assert steps >= 1 and left == 0
    assert (opcodes["LDS.128"], opcodes["LDS.64"]) == (steps, 4 * steps)
    assert (opcodes["STS.U16"], opcodes["STS.64"]) == (16, 4)
    assert int(re.search(r"Used (\d+) registers", said)[1]) * kernel.block <= 65536


# ---- on a GPU -------------------------------------------------------------------------------------------------------

@needs_gpu
@pytest.mark.parametrize("shape", [*SHAPES, (300, 264, 200), (1000, 1384, 520), (257, 131, 1025)], ids=str)
def test_the_gpu_returns_the_bits_of_sums_in_the_order_of_k(shape):
    a, b = inputs(*shape)
    assert np.array_equal(run(KERNEL, a, b, device="gpu").c, one_by_one(a, b))


@needs_gpu
def test_the_gpu_returns_the_bits_of_the_cpu_machine():
    a, b = inputs(130, 66, 35)
    assert np.array_equal(run(KERNEL, a, b, device="gpu").c, run(KERNEL, a, b, device="cpu").c)
