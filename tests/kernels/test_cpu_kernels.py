"""The kernels on the CPU machine: C is right, and what was executed is what the plan predicts."""

from itertools import product

import numpy as np
import pytest
from gemm_kit import inputs, label
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import sweep_but

import simlayout as sl
from cuda_kernels.bench.rungs import rungs
from cuda_kernels.intrinsics import (
    cp_async_cg_16_zfill,
    cvt_f32_f16_high,
    cvt_f32_f16_low,
    cvt_rn_f16x2_f32,
    ld_global_b16,
    ld_global_b128,
    mma_m16n8k16_f16_f16_f16_f16,
    mma_m16n8k16_f32_f16_f16_f32,
)
from cuda_kernels.kernels import KERNELS, MMA_KERNELS
from cuda_kernels.run.check import compare, rounded, values_of
from cuda_kernels.run.device import gpu_problem
from cuda_kernels.run.runner import run
from simlayout import DeviceError, SimlayoutError
from simlayout.kernel import Problem
from simlayout.machine import GlobalPointer

HGEMM = ("mma_base", "mma_padded", "mma_permuted")
TUTORIAL = ("mma_blocks", "mma_crosswise")

EDGES = [(1, 8, 16), (33, 40, 24), (100, 129, 31), (257, 8, 64)]      # less than a tile; ragged; odd strides; two tiles

VARIANTS = [
    *(KERNELS["mma_permuted"].variant(stages=s, accumulate=a) for s in (1, 2, 4) for a in ("f32", "f16")),
    KERNELS["mma_permuted"].variant(accumulate="f16"), KERNELS["mma_base"].variant(stages=1),
    KERNELS["mma_padded"].variant(stages=4),
    *(KERNELS["mma_crosswise"].variant(warps=w, loads=load) for w in (4, 8) for load in ("lds", "mixed")),
    KERNELS["mma_crosswise"].variant(warps=8, c_store="scalar"), KERNELS["mma_crosswise"].variant(accumulate="f16"),
    KERNELS["mma_blocks"].variant(warps=8, accumulate="f16"),
    KERNELS["mma_blocks"].variant(loads="lds", c_store="scalar"),
    *(KERNELS["mma_blocks"].variant(warps=w, loads="wmma") for w in (4, 8)),
    *(rung.kernel for rung in rungs("MatmulTutorial")),
]


def assert_right_and_as_predicted(kernel, a, b):
    M, N, K = len(a), len(b), a.shape[1]
    done = run(kernel, a, b.T, device="cpu")
    error, how = compare(done.c, a, b, kernel.options.accumulate, np.random.default_rng(1))
    assert error <= 1, how
    lda, ldb = a.strides[0] // 2 if M > 1 else K, b.strides[0] // 2 if N > 1 else K
    places = {"lda": lda, "ldb": ldb, "a": GlobalPointer(a) % 128, "b": GlobalPointer(b) % 128}
    said = kernel.fitted(Problem(M, N, K, lda=lda, ldb=ldb)).plan.predict(M, N, K, **places)
    if said.counts[0].instruction == kernel.plan.accesses[0].instruction:           # no other copies than it comes with
        assert kernel.plan.predict(M, N, K, **places) == said
    executed = {c.name: c for c in done.trace.accesses}
    assert set(executed) == {c.name for c in said.counts}
    for c in said.counts:
        done = executed[c.name]
        assert (done.instruction, done.instructions, done.wavefronts, done.ideal, done.exact) == (
            c.instruction, c.instructions, c.wavefronts, c.ideal, True), c.name


@pytest.mark.parametrize("shape", sweep_but(EDGES[1:2], EDGES), ids=str)
@pytest.mark.parametrize("name", MMA_KERNELS)
def test_every_kernel_is_right_and_executes_what_was_predicted(name, shape):
    assert_right_and_as_predicted(KERNELS[name], *inputs(*shape))


@pytest.mark.parametrize("kernel", sweep_but(VARIANTS[1::10], VARIANTS), ids=label)
def test_every_variant_is_right_and_executes_what_was_predicted(kernel):
    assert_right_and_as_predicted(kernel, *inputs(40, 72, 136))       # five K steps: the stages come round again


@pytest.mark.parametrize("name", ["mma_permuted", "mma_crosswise"])
def test_whole_tiles_need_no_zero_fill(name):
    rows, cols, depth = KERNELS[name].plan.tile
    kernel = KERNELS[name].fitted(Problem(rows, cols, 2 * depth))
    assert kernel.options.whole and not KERNELS[name].fitted(Problem(rows, cols, 2 * depth + 8)).options.whole
    assert_right_and_as_predicted(kernel, *inputs(rows, cols, 2 * depth))


@pytest.mark.parametrize("lda", [72, 67], ids=["aligned", "odd"])
def test_matrices_may_be_parts_of_wider_ones(lda):
    a, b = inputs(33, 24, lda)
    a, b = a[:, :48], b[:, 8:56]
    assert_right_and_as_predicted(KERNELS["mma_permuted"], a, b)
    assert_right_and_as_predicted(KERNELS["mma_crosswise"], a, b)


@pytest.mark.sweep
@pytest.mark.parametrize("shape", [*EDGES, (300, 264, 200), (129, 130, 257)], ids=str)
@pytest.mark.parametrize("kernel", [
    *(KERNELS[n].variant(stages=s, accumulate=a) for n, s, a in product(HGEMM, (1, 2, 3, 4), ("f32", "f16"))),
    *(KERNELS[n].variant(warps=w, loads=load, c_store=c, accumulate=a) for n, w, load, c, a in
      product(TUTORIAL, (4, 8), ("ldmatrix", "lds", "mixed"), ("float2", "scalar"), ("f32", "f16"))),
], ids=label)
def test_all_variants_are_right_at_all_shapes(kernel, shape):
    assert_right_and_as_predicted(kernel, *inputs(*shape))


def test_a_wrong_result_is_not_within_the_bound():
    a, b = inputs(33, 40, 24)
    c = run(KERNELS["mma_permuted"], a, b.T, device="cpu").c
    for wrong in (c[0, 0] * np.float16(1.01), np.float16(np.nan)):
        spoiled = c.copy()
        spoiled[0, 0] = wrong
        assert compare(spoiled, a, b, "f32", np.random.default_rng(1))[0] > 1


def test_progress_counts_ctas():
    seen = []
    run(KERNELS["mma_crosswise"], *inputs(8, 8, 8), device="cpu", progress=lambda done, all: seen.append((done, all)))
    assert seen[0] == (1, 16) and seen[-1] == (16, 16)


# ---- what run refuses -----------------------------------------------------------------------------------------------

HALF = np.ones((16, 32), np.float16)


@pytest.mark.parametrize("a, b, complaint", [
    (HALF[0], HALF, r"a must be a matrix, not \(32,\)"),
    (HALF.tolist(), HALF, "a must be a matrix, not list"),
    (HALF, HALF.T.astype(np.float32), "b is float32; this kernel multiplies float16"),
    (HALF.astype(">f2"), HALF.T, "a is >f2; this kernel multiplies float16"),
    (HALF, HALF, r"a is \(16, 32\) and b is \(16, 32\): they have no product"),
    (np.stack([HALF, HALF]), HALF.T, "mma_permuted multiplies two matrices, not 2 pairs: run it for each"),
    (HALF[:0], HALF.T, "M = 0: a GEMM needs"),
    (HALF[:, :0], HALF.T[:0], "K = 0: a GEMM needs"),
])
def test_other_input_is_refused_in_one_line(a, b, complaint):
    with pytest.raises(SimlayoutError, match=complaint) as caught:
        run(KERNELS["mma_permuted"], a, b, device="cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kernel", ["mma_permuted", None])
def test_what_is_no_kernel_is_refused_with_where_kernels_are(kernel):
    with pytest.raises(SimlayoutError, match=r"run takes a Kernel, not \w+: cuda_kernels.KERNELS\[name\] is one"):
        run(kernel, HALF, HALF.T, device="cpu")


STRIDES = {
    "as they are": (lambda x: x, lambda x: x), "backwards": (lambda x: x[::-1], lambda x: x[:, ::-1]),
    "by columns": (lambda x: x.T.copy().T, lambda x: x.T.copy().T),
    "one in another": (lambda x: np.lib.stride_tricks.as_strided(x, x.shape, (2, 2)), lambda x: x),
    "several": (lambda x: x[None], lambda x: x)}


@pytest.mark.parametrize("strides", sweep_but(["backwards", "one in another"], STRIDES))
@pytest.mark.parametrize("name", ["mma_permuted", "warptile", "wgmma_tma"])
def test_matrices_of_any_strides_are_multiplied_by_numpys_rules(name, strides):
    of_a, of_b = STRIDES[strides]
    a, b = (np.random.default_rng(0).integers(-1, 2, shape) for shape in ((16, 32), (32, 24)))
    a, b = (of(rounded(KERNELS[name].dtypes[0], x.astype(np.float32))) for of, x in ((of_a, a), (of_b, b)))
    c = run(KERNELS[name], a, b, device="cpu").c
    assert (values_of(c) == values_of(a).reshape(16, 32) @ values_of(b)).all()


BITS = np.zeros((16, 16), np.uint16)                     # of bf16
EVERY_KIND = {"mma_crosswise": (HALF, HALF.T), "warptile": (BITS, BITS), "wgmma_tma": (HALF, HALF.T)}


@pytest.mark.parametrize("name", EVERY_KIND)
def test_an_unknown_device_is_refused(name):
    with pytest.raises(SimlayoutError, match='device \'tpu\': choose "auto", "gpu" or "cpu"'):
        run(KERNELS[name], *EVERY_KIND[name], device="tpu")


@pytest.mark.skipif(gpu_problem() is None, reason="there is a GPU here")
@pytest.mark.parametrize("name", EVERY_KIND)
def test_without_a_gpu_asking_for_one_is_an_error_and_auto_takes_the_cpu(name):
    with pytest.raises(DeviceError) as caught:
        run(KERNELS[name], *EVERY_KIND[name], device="gpu")
    assert str(caught.value) == gpu_problem()
    assert run(KERNELS[name], *EVERY_KIND[name]).device == "CPU machine"


# ---- the twins, lane by lane ----------------------------------------------------------------------------------------

class Warp:
    """As much of a warp as these twins look at."""

    def __init__(self, active=None):
        self.active = np.full(32, True) if active is None else np.asarray(active)

    def commit_copy(self, instruction, destination, data, sources=None, valid=None):
        self.copied = data


def halves(register):
    """The two f16 of a register, as floats."""
    bits = int(register) & 0xFFFFFFFF
    return [float(np.uint16(b).view(np.float16)) for b in (bits & 0xFFFF, bits >> 16)]


def by_the_book(a, b):
    """A (16, 16) and B (16, 8) from the registers of 32 lanes, after the figures of PTX ISA, mma.m16n8k16 (f16)."""
    A, B = np.full((16, 16), np.nan), np.full((16, 8), np.nan)
    for lane in range(32):
        group, within = lane >> 2, lane & 3
        for i in range(8):
            row = group if i < 2 or 4 <= i < 6 else group + 8
            col = within * 2 + (i & 1) + (8 if i >= 4 else 0)
            A[row, col] = halves(a[i // 2][lane])[i % 2]
        for i in range(4):
            B[within * 2 + (i & 1) + (8 if i >= 2 else 0), group] = halves(b[i // 2][lane])[i % 2]
    return A, B


FINITE = np.array([x for x in range(65536) if (x >> 10) & 31 != 31], np.int64)


def registers(generator, count):
    low, high = (generator.choice(FINITE, (count, 32)) for _ in range(2))
    return list(low | high << 16)


@pytest.mark.parametrize("seed", range(4))
def test_mma_multiplies_the_matrices_of_the_ptx_figures(seed):
    generator = np.random.default_rng(seed)
    a, b, c = registers(generator, 4), registers(generator, 2), generator.standard_normal((4, 32)).astype(np.float32)
    start = registers(generator, 2)
    C, E = np.empty((16, 8), np.float32), np.empty((16, 8), np.float16)
    places = [(lane, i, (lane >> 2) + 8 * (i >= 2), 2 * (lane & 3) + (i & 1)) for lane in range(32) for i in range(4)]
    for lane, i, row, col in places:
        C[row, col], E[row, col] = c[i][lane], halves(start[i // 2][lane])[i % 2]
    A, B = (x.astype(np.float16) for x in by_the_book(a, b))
    want = sl.mma("m16n8k16.f32.f16.f16.f32", A, B, C), sl.mma("m16n8k16.f16.f16.f16.f16", A, B, E)
    d = mma_m16n8k16_f32_f16_f16_f32.twin(Warp(), *a, *b, *c)
    e = mma_m16n8k16_f16_f16_f16_f16.twin(Warp(), *a, *b, *start)
    assert d[0].dtype == np.float32 and e[0].dtype == np.uint32
    for lane, i, row, col in places:
        assert d[i][lane] == want[0][row, col]
        assert halves(e[i // 2][lane])[i % 2] == want[1][row, col]


def test_mma_takes_uniform_registers():
    one = 0x3C003C00                                          # 1.0 in both halves
    d = mma_m16n8k16_f32_f16_f16_f32.twin(Warp(), one, one, one, one, one, one, 0, 1, 2, 3)
    assert [set(x.tolist()) for x in d] == [{16.0}, {17.0}, {18.0}, {19.0}]
    e = mma_m16n8k16_f16_f16_f16_f16.twin(Warp(), one, one, one, one, one, one, one, -1)
    assert set(e[0].tolist()) == {0x4C404C40} and np.isnan(np.uint16(e[1][0] & 0xFFFF).view(np.float16))


@settings(max_examples=50, deadline=None)
@given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
def test_conversions_round_and_pack(high, low):
    with np.errstate(over="ignore"):
        want = [float(np.float16(np.float32(x))) for x in (low, high)]
        packed = cvt_rn_f16x2_f32.twin(Warp(), np.full(32, high, np.float32), low)
    assert packed.dtype == np.int64 and halves(packed[7]) == want
    assert float(cvt_f32_f16_low.twin(Warp(), packed)[7]) == want[0]
    assert float(cvt_f32_f16_high.twin(Warp(), packed)[7]) == want[1]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 16), min_size=32, max_size=32), st.lists(st.booleans(), min_size=32, max_size=32))
def test_a_copy_fills_what_does_not_exist_with_zeros(valid, active):
    if not any(active):
        return
    memory = np.arange(1, 513, dtype=np.uint16)
    source = GlobalPointer(memory) + 16 * np.arange(32)
    warp = Warp(active)
    cp_async_cg_16_zfill.twin(warp, 0, source, np.array(valid))
    loaded = ld_global_b128.twin(warp, source, np.array(valid) > 8)
    half = ld_global_b16.twin(warp, source, np.array(valid) > 8)
    for lane in np.flatnonzero(active):
        whole = memory.view(np.uint8)[16 * lane:16 * lane + 16]
        assert warp.copied[lane].tolist() == [*whole[:valid[lane]], *[0] * (16 - valid[lane])]
        words = whole.view(np.uint32).tolist() if valid[lane] > 8 else [0] * 4
        assert [int(r[lane]) for r in loaded] == words and int(half[lane]) == words[0] & 0xFFFF


@pytest.mark.parametrize("valid", [True, False, 1, 0])
def test_a_uniform_guard_counts_for_all_lanes(valid):
    source = GlobalPointer(np.full(256, 7, np.uint16)) + 16 * np.arange(32)
    assert set(ld_global_b16.twin(Warp(), source, valid).tolist()) == {7 if valid else 0}
    assert set(ld_global_b128.twin(Warp(), source, valid)[3].tolist()) == {0x70007 if valid else 0}


def test_memory_behind_what_exists_is_not_read():
    memory = np.ones(4, np.uint16)                            # 8 bytes: lane 0 may read them, the others nothing
    valid = np.where(np.arange(32) == 0, 8, 0)
    warp = Warp()
    cp_async_cg_16_zfill.twin(warp, 0, GlobalPointer(memory) + 16 * np.arange(32), valid)
    assert warp.copied[0].tolist() == [1, 0] * 4 + [0] * 8 and not warp.copied[1:].any()
