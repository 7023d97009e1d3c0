"""What the plans of the kernels predict: per access, per problem, per K step; against independent twins."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from gemm_kit import label
from tiers import sweep_but

from cuda_kernels.bench.rungs import rungs
from cuda_kernels.kernels import KERNELS, MMA_KERNELS
from simlayout import Access, InstructionError, LayoutError, SimlayoutError, VerificationError
from simlayout.codegen import identifier
from simlayout.hardware import mma_clocks
from simlayout.kernel import Problem
from simlayout.plan import Plan

HGEMM = ("mma_base", "mma_padded", "mma_permuted")
TUTORIAL = ("mma_blocks", "mma_crosswise")

VARIANTS = [
    *(KERNELS[name].variant(stages=s, accumulate=a) for name in HGEMM for s in (1, 2, 3, 4) for a in ("f16", "f32")),
    *(KERNELS[name].variant(ab_aligned=False) for name in MMA_KERNELS),
    *(KERNELS[name].variant(warps=w, loads=load, c_store=c) for name in TUTORIAL for w in (4, 8)
      for load in ("ldmatrix", "lds", "mixed") for c in ("float2", "scalar")),
    *(KERNELS["mma_blocks"].variant(warps=w, loads="wmma") for w in (4, 8)),
    *(rung.kernel for rung in rungs("MatmulTutorial")),
]


# ---- excess per warp instruction ------------------------------------------------------------------------------------

def excess_of_layouts(plan):
    """{access: excess per warp instruction}, of copies what their destinations cost (see test_plan_sources for sources)."""
    return {a.name: a.analyze().excess.mean() for a in plan.accesses}


@pytest.mark.parametrize("name, each", [
    ("mma_base", {"copy A": 0, "copy B": 0, "load A": 12, "load B": 6, "store C": 7, "read C": 0}),
    ("mma_padded", {"copy A": 4, "copy B": 4, "load A": 0, "load B": 0, "store C": 0, "read C": 0}),
    ("mma_permuted", {"copy A": 0, "copy B": 0, "load A": 0, "load B": 0, "store C": 0, "read C": 0}),
])
@pytest.mark.parametrize("stages", [1, 3])
def test_the_hgemm_kernels_have_the_excess_that_their_layouts_are_known_for(name, each, stages):
    assert excess_of_layouts(KERNELS[name].variant(stages=stages).plan) == each


@pytest.mark.parametrize("name, options, each", [
    ("mma_blocks", {}, {"load A": 4, "load B": 4, "read C": 1}),
    ("mma_blocks", {"loads": "lds"}, {"lds A": 1, "lds B": 1}),
    ("mma_blocks", {"loads": "mixed", "warps": 8}, {"lds A": 1, "load B": 4}),
    ("mma_crosswise", {}, {"copy A": 0, "copy B": 0, "load A": 0, "load B": 0, "store C": 0, "read C": 0}),
    ("mma_crosswise", {"loads": "lds", "c_store": "scalar"}, {"lds A": 0, "lds B": 0, "store C scalar": 1}),
    ("mma_crosswise", {"loads": "mixed", "warps": 8}, {"lds A": 0, "load B": 0, "store C": 0}),
], ids=str)
def test_the_tutorial_kernels_have_the_excess_that_their_layouts_are_known_for(name, options, each):
    found = excess_of_layouts(KERNELS[name].variant(**options).plan)
    assert {access: found[access] for access in each} == each


@pytest.mark.parametrize("name, options, copies, loads", [
    ("mma_base", {}, 192, 2048), ("mma_padded", {}, 384, 512), ("mma_permuted", {}, 192, 512),
    ("mma_crosswise", {}, 128, 256), ("mma_blocks", {}, 256, 512),
], ids=str)
def test_the_clocks_of_shared_memory_per_k_step(name, options, copies, loads):
    plan = KERNELS[name].variant(**options).plan
    prediction = plan.predict(plan.tile[0], plan.tile[1], plan.tile[2])
    each = {a.name: a.analyze().wavefronts.sum() // plan.stages for a in plan.each_step}
    assert each["copy A"] + each["copy B"] == copies and each["load A"] + each["load B"] == loads
    assert prediction.shared_clocks == copies + loads


def test_the_larger_of_the_two_clocks_bounds_the_kernel():
    base, permuted = (KERNELS[name].plan.predict(256, 128, 32) for name in ("mma_base", "mma_permuted"))
    assert base.bound == "shared memory" and permuted.bound == "mma"
    plan = KERNELS["mma_permuted"].plan
    assert plan.mma_instructions() == 512 and permuted.mma_clocks == pytest.approx(512 * mma_clocks(plan.mma))


# ---- totals ---------------------------------------------------------------------------------------------------------

def without_sources(plan):
    """A plan that knows what its copies write, and not what they read."""
    return replace(plan, each_step=tuple(replace(a, source=None) for a in plan.each_step))


def brute_force(plan, M, N, K):
    """{access: [instructions, wavefronts, ideal]} by walking over CTAs, K steps and loop variables one by one; of copies
    what they write."""
    rows, cols, depth = plan.tile
    totals = {a.name: [0, 0, 0] for a in plan.accesses}

    def execute(access, stage):
        analysis = access.analyze()
        loops = list(access.domain)[1:]
        trips = product(*(range(access.domain[v]) for v in loops))
        for n, values in enumerate(trips):
            if stage is not None and dict(zip(loops, values, strict=True)).get("stage", stage) != stage:
                continue
            for warp in range(plan.warps):
                at = n * plan.warps + warp
                for i, amount in enumerate((1, analysis.wavefronts[at], analysis.ideal[at])):
                    totals[access.name][i] += int(amount)

    for _ in product(range(0, M, rows), range(0, N, cols)):
        for step, _ in enumerate(range(0, K, depth)):
            for access in plan.each_step:
                execute(access, step % plan.stages)
        for access in plan.each_tile:
            execute(access, None)
    return totals


@pytest.mark.parametrize("kernel", [
    KERNELS["mma_base"].variant(stages=1), KERNELS["mma_padded"], KERNELS["mma_permuted"].variant(stages=4),
    KERNELS["mma_blocks"].variant(loads="lds", warps=8), KERNELS["mma_crosswise"].variant(c_store="scalar"),
], ids=label)
@pytest.mark.parametrize("problem", [(256, 128, 128), (1, 8, 16), (257, 129, 97), (100, 300, 160)], ids=str)
def test_predictions_are_the_sum_over_ctas_steps_and_loops(kernel, problem):
    plan = without_sources(kernel.plan)
    said = {c.name: [c.instructions, c.wavefronts, c.ideal] for c in plan.predict(*problem).counts}
    assert said == brute_force(plan, *problem)
    for count in kernel.plan.predict(*problem).counts:
        same = plan.access(count.name) == kernel.plan.access(count.name)          # all but the copies that have a source
        assert [count.instructions, count.wavefronts, count.ideal][:3 if same else 1] == said[count.name][:3 if same else 1]


def test_totals_by_class_add_the_accesses_up():
    prediction = KERNELS["mma_permuted"].plan.predict(256, 256, 128)
    sums = Counter()
    for c in prediction.counts:
        sums[{"copy": "LDGSTS", "load": "LDSM", "stor": "STS", "read": "LDS"}[c.name[:4]]] += c.wavefronts
    assert {name: wavefronts for name, (_, wavefronts, _) in prediction.by_instruction().items()} == sums
    assert set(KERNELS["mma_base"].variant(stages=1).plan.predict(1, 1, 1).by_instruction()) == {"STS", "LDSM", "LDS"}
    assert prediction.as_dict()["accesses"][2]["excess"] == 0 and (prediction.ctas, prediction.steps) == (2, 4)


@pytest.mark.parametrize("name", MMA_KERNELS)
def test_every_count_of_a_kernel_is_known_exactly(name):
    for problem in ((1, 1, 1), (256, 256, 128), (257, 130, 97), (1000, 1384, 520)):
        assert all(c.exact for c in KERNELS[name].fitted(Problem(*problem)).plan.predict(*problem).counts)


# ---- proofs of the plans --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kernel", sweep_but(VARIANTS[::8], VARIANTS), ids=label)
def test_every_variant_is_proved(kernel):
    certificates = kernel.prove()
    assert list(certificates) == [a.name for a in kernel.plan.accesses]
    for _, load in kernel.plan.agreements:
        assert certificates[load].claims[-1].startswith("agrees with")
    assert kernel.shared_bytes <= 227 * 1024


@pytest.mark.parametrize("kernel", VARIANTS, ids=label)
def test_what_a_variant_calls_is_emitted(kernel):
    named = {identifier(a.name) for a in kernel.emits()[kernel.emitted]}
    assert {identifier(a.name) for a in kernel.plan.accesses} <= named


def test_a_plan_that_does_not_fit_the_shared_memory_is_refused():
    plan = KERNELS["mma_padded"].variant(stages=4).plan
    assert plan.shared_bytes == 4 * 30720
    plan.verify(arch="sm_80")
    with pytest.raises(SimlayoutError, match="needs 122880 bytes of shared memory; .* use fewer stages"):
        plan.verify(arch="sm_86")


def test_an_access_beyond_the_shared_memory_of_its_plan_is_refused():
    plan = KERNELS["mma_permuted"].plan
    short = replace(plan, shared_bytes=65000)
    with pytest.raises(LayoutError, match=r"access 'copy A' reaches byte \d+ of 65000"):
        short.verify()


def small_plan(*accesses, agreements=(), warps=1, stages=1):
    return Plan("small", (32, 8, 16), warps, stages, "m16n8k16.f32.f16.f16.f32", accesses, (), agreements, 4096)


def test_a_plan_whose_loads_miss_what_was_stored_is_refused():
    put = Access("put", "st.shared.b32", lambda i: i, lambda tid: tid, dtype="f32")
    get = Access("get", "ld.shared.b32", lambda i: i, lambda tid: tid + 1, dtype="f32")
    with pytest.raises(VerificationError, match="reads element .32,. at offset 32, which was never stored"):
        small_plan(put, get, agreements=((("put",), "get"),)).verify()


@pytest.mark.parametrize("plan, complaint", [
    (lambda a: small_plan(a, warps=2), "has 32 threads, the CTA has 64"),
    (lambda a: small_plan(replace(a, lanes=lambda tid, stage: tid, domain={"tid": 32, "stage": 2}), stages=3),
     "walks 2 stages of 3"),
    (lambda a: small_plan(a, a), "two accesses called 'x'"), (lambda a: small_plan(warps=0), "warps = 0: give at least 1"),
    (lambda a: replace(small_plan(a), tile=(32, 0, 16)), r"tile = \(32, 0, 16\): give at least 1"),
    (lambda a: replace(small_plan(a), tile=(32, 16)), r"Plan: tile is a tuple \(an integer, an integer, an integer\)"),
    (lambda a: replace(small_plan(a), shared_bytes=-1), "shared_bytes = -1: give at least 0"),
])
def test_a_plan_that_contradicts_itself_is_refused(plan, complaint):
    with pytest.raises(LayoutError, match=complaint):
        plan(Access("x", "ld.shared.b32", lambda i: i, lambda tid: tid, dtype="f32"))


def test_unknown_accesses_are_named_with_the_known_ones():
    plan = KERNELS["mma_permuted"].plan
    with pytest.raises(SimlayoutError, match="no access 'load C'; it has copy A, copy B, load A"):
        plan.access("load C")
    with pytest.raises(SimlayoutError, match="no access 'load C'; this plan has 'copy A'"):
        plan.predict(1, 1, 1).count("load C")
    with pytest.raises(InstructionError, match="no mma rate known"):
        Plan("other", (32, 8, 16), 1, 1, "m16n8k8.f32.bf16.bf16.f32", (), (), (), 0).predict(1, 1, 1)
    with pytest.raises(InstructionError, match="unknown mma 'm16n8k99.f32'; did you mean"):
        Plan("other", (32, 8, 16), 1, 1, "m16n8k99.f32", (), (), (), 0).predict(1, 1, 1)


@pytest.mark.parametrize("problem", [(0, 1, 1), (1, -1, 1), (1, 1, 2.5), (1, 1, 4.0), ("1", 1, 1)], ids=str)
def test_a_problem_needs_positive_integers(problem):
    with pytest.raises(SimlayoutError, match="a GEMM needs integers M, N and K of at least 1"):
        KERNELS["mma_permuted"].plan.predict(*problem)


def test_a_problem_whose_sizes_no_kernel_counts_is_refused():
    assert Problem(2**31 - 1, 1, 1).M == 2**31 - 1
    with pytest.raises(SimlayoutError, match=r"K = 2147483648: kernels count rows and columns in 32 bits, below 2\*\*31"):
        Problem(1, 1, 2**31)


def test_numpy_integers_are_sizes_too():
    assert Problem(np.int32(40000), np.int32(40000), np.int32(40000)).flops == 2 * 40000**3


def test_wmma_is_refused_where_the_lines_of_a_block_have_no_stride():
    with pytest.raises(SimlayoutError, match="lines that lie 16 elements apart.*use mma_blocks"):
        KERNELS["mma_crosswise"].variant(loads="wmma").plan  # noqa: B018  it is the plan that is refused


@pytest.mark.parametrize("name, options, complaint", [
    ("mma_permuted", {"stages": 5}, "stages = 5: choose one of 1, 2, 3, 4"),
    ("mma_base", {"accumulate": "f64"}, "accumulate = 'f64': choose one of 'f16', 'f32'"),
    ("mma_padded", {"warps": 4}, "kernel mma_padded has no option 'warps'; it has stages, accumulate"),
    ("mma_crosswise", {"warps": 16}, "warps = 16: choose one of 4, 8"),
    ("mma_crosswise", {"loads": "tma"}, "loads = 'tma': choose one of 'ldmatrix', 'lds', 'mixed', 'wmma'"),
    ("mma_blocks", {"loads": "wmma", "accumulate": "f16"}, "loads=\"wmma\" accumulates in f32 and stores pairs"),
    ("mma_blocks", {"c_store": "wide"}, "c_store = 'wide': choose one of 'float2', 'scalar'"),
    ("mma_blocks", {"stages": 2}, "kernel mma_blocks has no option 'stages'"),
])
def test_bad_options_are_refused_with_the_good_ones(name, options, complaint):
    with pytest.raises(SimlayoutError) as caught:
        KERNELS[name].variant(**options)
    assert str(caught.value).startswith(complaint)


def test_an_emitted_function_that_is_out_of_date_is_found(monkeypatch):
    import cuda_kernels.emitted.mma_permuted as module

    old = module.load_a
    monkeypatch.setattr(module, "load_a", lambda tid, i, ks, stage: old(tid, i, ks, stage) + 16 * (tid == 37))
    with pytest.raises(VerificationError, match=r"out of date at \{'tid': 37, 'i': 0, 'ks': 0, 'stage': 0\}"):
        KERNELS["mma_permuted"].prove()
