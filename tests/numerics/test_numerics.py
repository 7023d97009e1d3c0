"""Tensor-core arithmetic: against what an NVIDIA H200 returned, sentence by sentence, and for whole products."""

from itertools import product

import numpy as np
import pytest
from places import DATA
from tiers import sweep_but

import simlayout as sl
from cuda_kernels.conformance.products.mma import different
from simlayout import InstructionError
from simlayout.hardware import ARCHES, MMAS
from simlayout.numerics import MEASURED, TENSOR_OPS, arithmetic, gemm, mma, rule, tensor_op

COUNTS = {"h200_mma.npz": 207_360, "h200_mma_all.npz": 93_440, "h200_mma_sp.npz": 47_104}
"""Recorded results -> how many there are."""

NUMPY = {"f16": np.float16, "bf16": np.uint16, "tf32": np.float32, "f32": np.float32, "f64": np.float64, "e4m3": np.uint8,
         "e5m2": np.uint8, "s8": np.int8, "u8": np.uint8, "s4": np.int8, "u4": np.uint8, "b1": np.uint8, "s32": np.int32}
F16 = "m16n8k16.f32.f16.f16.f32"


# ---- against the hardware --------------------------------------------------------------------------------------------

def recorded():
    """(file, instruction) of all recorded results."""
    for file in COUNTS:
        with np.load(DATA / file) as data:
            yield from ((file, name) for name in dict.fromkeys(key.rsplit("/", 1)[0] for key in data.files))


RECORDED = list(recorded())


def golden(file, name):
    """a, b, c and metadata as `mma` takes them, and the d that the hardware returned, as raw bits."""
    op = tensor_op(name)
    with np.load(DATA / file) as data:
        a, b, c, d = (data[f"{name}/{letter}"] for letter in "abcd")
        metadata = data[f"{name}/metadata"][:, None] if op.sparse else None
    a, b, c = (x.view(NUMPY[t]) for x, t in ((a, op.a), (b, op.b), (c, op.c)))
    return a.reshape(len(a), -1, op.m, op.stored), b[:, None], c.reshape(len(c), -1, op.m, op.n), metadata, d


@pytest.mark.parametrize("file, name", RECORDED)
def test_every_recorded_result_is_predicted_bit_for_bit(file, name):
    a, b, c, metadata, d = golden(file, name)
    made = mma(name, a, b, c, metadata=metadata).reshape(d.shape)
    assert not different(made, d.view(made.dtype)).any()


@pytest.mark.parametrize("file", COUNTS)
def test_nothing_recorded_is_left_out(file):
    assert sum(golden(*key)[-1].size for key in RECORDED if key[0] == file) == COUNTS[file]


def test_a_rule_called_measured_is_measured_and_one_never_measured_is_not_called_so():
    assert {name for _, name in RECORDED} == {n for n in MEASURED if not n.startswith("wgmma")}
    for name, op in TENSOR_OPS.items():
        for arch in op.arches:
            made = rule(name, arch).provenance
            assert (made.kind == "measured") == (arch == "sm_90" and name in MEASURED) == (made.cases > 0), (name, arch)


# ---- single sentences of the rule ------------------------------------------------------------------------------------

def one(name, a, b, c, arch="sm_90"):
    """The result of one row of a, one column of b (lists, the rest zeros) and c."""
    op = tensor_op(name)
    left, right = np.zeros((op.m, op.k), NUMPY[op.a]), np.zeros((op.k, op.n), NUMPY[op.b])
    left[0, :len(a)], right[:len(b), 0] = a, b
    start = np.full((op.m, op.n), c, NUMPY[op.c])
    return float(mma(name, left, right, start, arch)[0, 0])


def test_addends_are_truncated_25_bits_below_the_largest_exponent():
    assert one(F16, [1] + [2.0**-12] * 4, [1] + [2.0**-13] * 4, 0) == 1 + 2.0**-23    # four times 2**-25
    assert one(F16, [1] + [2.0**-13] * 8, [1] + [2.0**-13] * 8, 0) == 1              # 2**-26 is lost, eight times
    assert one(F16, [1, -1, 2.0**-12], [1, 1, 2.0**-13], 0) == 2.0**-25
    assert one(F16, [1, -1, 2.0**-13], [1, 1, 2.0**-13], 0) == 0


def test_results_are_truncated():
    assert one(F16, [1] + [2.0**-12] * 3, [1] + [2.0**-13] * 3, 0) == 1               # an f32 next to 1 has steps of 2**-23
    assert one(F16, [-1] + [2.0**-12], [1] + [2.0**-13], 0) == -1 + 2.0**-24


def test_subnormal_results_are_truncated():
    for top in (2.0**-60, 2.0**-61, 2.0**-62):
        assert one("m16n8k8.f32.tf32.tf32.f32", [top, -top, 1.5 * 2.0**-75], [2.0**-65, 2.0**-65, 2.0**-74], 0) == 2.0**-149


def test_products_are_not_renormalised():
    """1.5 * 1.5 counts with the exponent 0 and leaves one more bit to the others than 2.25 * 1 does."""
    rest = [-1.125, -1.125, 2.0**-12], [1, 1, 2.0**-13]
    assert one(F16, [1.5, *rest[0]], [1.5, *rest[1]], 0) == 2.0**-25
    assert one(F16, [2.25, *rest[0]], [1, *rest[1]], 0) == 0


def test_an_older_gpu_adds_in_two_halves_of_k():
    a = [1, 2.0**-12, 0, 0, 0, 0, 0, 0, 2.0**-12]
    assert one(F16, a, a, 0, "sm_90") == 1 + 2.0**-23                                  # 2**-24 twice
    assert one(F16, a, a, 0, "sm_80") == 1                                             # once, and once more


def test_a_zero_counts_with_the_exponent_minus_133():
    """2**-160 lies below the last bit beside a zero, 2**-158; beside 2**-149 alone it would not."""
    a, b = [2.0**-70, -2.0**-80], [2.0**-79, 2.0**-80]
    assert one("m16n8k8.f32.tf32.tf32.f32", a, b, 0) == 2.0**-149


def test_a_negative_result_that_truncates_to_zero_is_plus_zero():
    made = mma("m16n8k8.f32.tf32.tf32.f32", np.full((16, 8), -2.0**-78, np.float32), np.full((8, 8), 2.0**-78, np.float32))
    assert not made.view(np.int32).any()


# ---- whole products --------------------------------------------------------------------------------------------------

def test_a_gemm_is_the_instruction_repeated_along_k():
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(s).astype(np.float16) for s in ((20, 40), (40, 13)))
    c = random.standard_normal((20, 13)).astype(np.float32)
    room_a, room_b, d = np.zeros((32, 48), np.float16), np.zeros((48, 16), np.float16), np.zeros((32, 16), np.float32)
    room_a[:20, :40], room_b[:40, :13], d[:20, :13] = a, b, c
    for k in (0, 16, 32):
        for m in (0, 16):
            for n in (0, 8):
                d[m:m + 16, n:n + 8] = mma(F16, room_a[m:m + 16, k:k + 16], room_b[k:k + 16, n:n + 8], d[m:m + 16, n:n + 8])
    assert gemm(F16, a, b, c).tobytes() == d[:20, :13].tobytes()


@pytest.mark.parametrize("name", [F16, "m16n8k32.f32.e5m2.e4m3.f32", "m16n8k32.s32.s8.s8.s32.satfinite",
                                  "m8n8k4.f64.f64.f64.f64", "m16n8k8.f32.tf32.tf32.f32"])
@pytest.mark.parametrize("products, columns", [(1, 512), (100, 5), (700, 3)])
def test_the_size_of_a_block_of_numpy_changes_nothing(name, products, columns, monkeypatch):
    op, random = tensor_op(name), np.random.default_rng(0)
    a, b, c = (random.integers(0, 100, s).astype(NUMPY[t]) for s, t in
               (((2, 7, 2 * op.k), op.a), ((2 * op.k, 11), op.b), ((2, 7, 11), op.c)))
    monkeypatch.setattr(arithmetic, "PATIENCE", float("inf"))
    whole = gemm(name, a, b, c)
    monkeypatch.setattr(arithmetic, "PRODUCTS", products)
    monkeypatch.setattr(arithmetic, "COLUMNS", columns)
    assert gemm(name, a, b, c).tobytes() == whole.tobytes()


@pytest.mark.parametrize("case", sweep_but([("mma_permuted", "f32"), ("mma_crosswise", "f16")],
                                           product(("mma_permuted", "mma_crosswise"), ("f32", "f16"))), ids="-".join)
def test_c_of_a_kernel_is_predicted_bit_for_bit(case):
    name, accumulate = case
    from cuda_kernels import KERNELS
    from cuda_kernels.run.runner import run

    random = np.random.default_rng(0)
    a, b = (random.standard_normal(s).astype(np.float16) for s in ((33, 72), (40, 72)))
    made = run(KERNELS[name].variant(accumulate=accumulate), a, b.T, device="cpu").c
    said = gemm(f"m16n8k16.{accumulate}.f16.f16.{accumulate}", a, b.T).astype(np.float16)
    assert np.array_equal(made.view(np.uint16), said.view(np.uint16))


def test_leading_axes_are_a_batch_and_broadcast():
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(s).astype(np.float16) for s in ((3, 1, 16, 16), (2, 16, 8)))
    d = mma(F16, a, b, np.ones((16, 1), np.float32))
    assert d.shape == (3, 2, 16, 8)
    for i in range(3):
        for j in range(2):
            assert np.array_equal(d[i, j], mma(F16, a[i, 0], b[j], np.ones((16, 8), np.float32)))


def test_operands_keep_their_values_and_may_lie_anyhow():
    random = np.random.default_rng(0)
    a, b, c = (random.standard_normal(s).astype(t) for s, t in
               (((16, 16), np.float16), ((8, 16), np.float16), ((32, 8), np.float32)))
    before = [x.copy() for x in (a, b, c)]
    d = mma(F16, a[::-1], b.T, c[::2])
    assert all(np.array_equal(x, y) for x, y in zip(before, (a, b, c), strict=True))
    assert np.array_equal(d, mma(F16, a[::-1].copy(), b.T.copy(), c[::2].copy()))


def test_nothing_times_nothing_is_c():
    c = np.ones((3, 2), np.float32)
    d = gemm(F16, np.zeros((3, 0), np.float16), np.zeros((0, 2), np.float16), c)
    assert np.array_equal(d, c) and not np.shares_memory(d, c)
    assert mma(F16, np.zeros((0, 16, 16), np.float16), np.zeros((16, 8), np.float16)).shape == (0, 16, 8)


def test_without_c_sums_start_from_zero():
    a, b = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    assert mma(F16, a, b).tolist() == mma(F16, a, b, 0).tolist() == [[16.0] * 8] * 16


def test_ml_dtypes_arrays_are_taken_as_they_are():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="needs ml_dtypes")
    a, b = np.full((16, 32), 1.5, ml_dtypes.float8_e4m3fn), np.full((32, 8), 0.5, ml_dtypes.float8_e5m2)
    assert mma("m16n8k32.f32.e4m3.e5m2.f32", a, b)[0, 0] == 24
    half = mma("m16n8k16.f32.bf16.bf16.f32", np.ones((16, 16), ml_dtypes.bfloat16), np.full((16, 8), 0x3FC0, np.uint16))
    assert half[0, 0] == 24


# ---- what is refused -------------------------------------------------------------------------------------------------

A, B = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16)


@pytest.mark.parametrize("arguments, complaint", [
    (("m16n8k16.f32.f16.f16", A, B), "unknown tensor-core instruction .*; did you mean .*m16n8k16.f32.f16.f16.f32"),
    (("wgmma.m64n20k16.f32.f16.f16", A, B), "did you mean wgmma.m64n.*k16.f32.f16.f16"),
    (("wgmma.m64n40k32.s32.s8.s8", A, B), "unknown tensor-core instruction"),
    ((7, A, B), "unknown tensor-core instruction 7; known are m16n8k8, .* written as in m16n8k16.f32.f16.f16.f32"),
    ((F16, A, B, None, "sm_75"), "sm_75 has no m16n8k16.f32.f16.f16.f32; sm_80, sm_86, sm_89, sm_90, sm_100, "
     "sm_103, sm_110, sm_120, sm_121 have"),
    (("wgmma.m64n8k16.f32.f16.f16", A, B, None, "sm_100"), "sm_100 has no wgmma.m64n8k16.f32.f16.f16; sm_90 has"),
    (("m16n8k32.f32.e4m3.e4m3.f32", A, B, None, "sm_80"), "sm_80 has no"),
    ((F16, A, B, None, "sm_42"), "unknown architecture 'sm_42'"),
    ((F16, A.astype(np.float32), B), "a is f16, stored as float16, not float32; convert it"),
    ((F16, A.view(np.uint16), B), "a is f16, stored as float16, not uint16"),
    (("m16n8k16.f32.bf16.bf16.f32", A, B), "a is bf16, stored as uint16 or ml_dtypes.bfloat16, not float16"),
    ((F16, A, B, np.zeros((16, 8))), "c is f32, stored as float32, not float64"),
    ((F16, A, B, 1.5), "c is f32, stored as float32, not float64"),
    ((F16, A[0], B), r"a is a matrix or a batch of them, not of shape \(16,\)"),
    ((F16, A[:8], B), r"takes a \[..., 16, 16\] and b \[..., 16, 8\], not \[8, 16\] and \[16, 8\]; .* use gemm"),
    ((F16, A, B, np.zeros((8, 8), np.float32)), "c does not broadcast"),
    ((F16, A[None].repeat(2, 0), B[None].repeat(3, 0)), "the leading axes do not match"),
    (("m8n8k32.s32.s4.s4.s32", np.full((8, 32), 9, np.int8), np.zeros((32, 8), np.int8)), "a is s4: -8 to 7, not 9 to 9"),
])
def test_wrong_operands_are_refused_in_one_line(arguments, complaint):
    with pytest.raises(InstructionError, match=complaint) as caught:
        mma(*arguments)
    assert "\n" not in str(caught.value)


def test_a_gemm_whose_k_differ_is_refused():
    with pytest.raises(InstructionError, match=r"a is \[..., M, K\] and b \[..., K, N\]: .* differ in K"):
        gemm(F16, A, B[:8])


def test_every_mma_has_a_rule_wherever_it_exists():
    assert set(MMAS) <= set(TENSOR_OPS) and sl.mma is mma
    for name, op in TENSOR_OPS.items():
        assert set(op.arches) <= set(ARCHES)
        for arch in op.arches:
            made = rule(name, arch)
            assert op.k % made.step == 0 and str(made.provenance)
