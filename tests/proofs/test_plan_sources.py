"""What the copies of a plan read: counted by kinds of tiles, as every CTA, step and lane does it one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import given_few

from cuda_kernels import KERNELS
from cuda_kernels.job import main_job
from cuda_kernels.kernels.common import valid_bytes
from simlayout import Access, AddressError, Layout, LayoutError, SimlayoutError, analyze
from simlayout.kernel import Problem
from simlayout.plan import Plan
from simlayout.proofs import Source
from simlayout.proofs.source import MOST_LEADING, analyze_copies

PLANS = [KERNELS[name].variant(**options).plan for name, options in (
    ("mma_base", {"stages": 3}), ("mma_padded", {"stages": 2}), ("mma_permuted", {}), ("mma_swizzled", {}),
    ("mma_blocks", {"warps": 8}), ("mma_crosswise", {}))]


def small_plan(instruction, dtype, beside=8, trips=1, stages=1, sized=True):
    """A warp that copies few rows of odd numbers, so that tiles begin anywhere in a line. beside: copies of a row."""
    size = Access("", instruction, lambda i: i, dtype=dtype).elements
    rows, columns = 32 // beside * trips, size * beside

    def at(tid, i, stage):
        return tid // beside + 32 // beside * i, size * (tid % beside)

    def copies(name):
        return Access(f"copy {name}", instruction, Layout((rows, columns, stages), (columns, 1, rows * columns)),
                      lambda tid, i, stage: (*at(tid, i, stage), stage), {"tid": 32, "i": trips, "stage": stages}, dtype,
                      source=Source(name, at, sized))

    return Plan("small", (rows, rows, columns), 1, stages, "m16n8k16.f32.f16.f16.f32", (copies("A"), copies("B")), (), (), 0)


def has_src_size(plan, access, M, N, K):
    """Whether the copies of a problem have one."""
    whole = M % plan.tile[0] == N % plan.tile[1] == K % plan.tile[2] == 0
    return not whole if access.source.sized is None else access.source.sized


def one_by_one(plan, access, M, N, K, leading, address):
    """(wavefronts, ideal, exact) of a copy: every CTA, K step and lane, by the formulas of a kernel's body."""
    of_a = access.source.operand == "A"
    rows, down = (M, plan.tile[0]) if of_a else (N, plan.tile[1])
    size = access.bytes // access.elements
    shape = access.offsets().shape
    row, column = (np.broadcast_to(x, shape) for x in access.source.element(*access.points()))
    stage = np.broadcast_to(access.points()[list(access.domain).index("stage")], shape)
    wavefronts = ideal = 0
    exact = True
    for row0 in range(0, rows, down):
        for step, k in enumerate(range(0, K, plan.tile[2])):
            now = (stage == step % plan.stages).reshape(-1, 32)[:, 0]
            r, c, at = (x.reshape(-1, 32)[now] for x in (row + row0, column + k, access.offsets() * size))
            valid = [[bytes_left(y, rows, x, K, access.bytes, size) for y, x in zip(*lanes)]
                     for lanes in zip(r.tolist(), c.tolist())]
            made = analyze(access.instruction, at, sources=address + size * (r * leading + c),
                           valid=valid if has_src_size(plan, access, M, N, K) else None)
            wavefronts, ideal = wavefronts + int(made.wavefronts.sum()), ideal + int(made.ideal.sum())
            exact = exact and made.exact
    beside = -(-N // plan.tile[1]) if of_a else -(-M // plan.tile[0])
    return beside * wavefronts, beside * ideal, exact


def bytes_left(row, rows, k, K, most, size):
    """How many of the bytes of a copy exist: as `valid_bytes`, which the kernels use, says of 8 halves."""
    if (most, size) == (16, 2):
        return valid_bytes(row, rows, k, K)
    return min(size * max(K - k, 0), most) if row < rows else 0


def assert_as_one_by_one(plan, M, N, K, lda, ldb, a, b):
    said = plan.predict(M, N, K, lda=lda, ldb=ldb, a=a, b=b)
    for name, leading, address in (("copy A", lda, a), ("copy B", ldb, b)):
        count = said.count(name)
        want = one_by_one(plan, plan.access(name), M, N, K, leading, address)
        assert (count.wavefronts, count.ideal, count.exact) == want
        assert count.exact or plan.access(name).source.sized is False


@st.composite
def problems(draw, most, deepest, unit):
    """(M, N, K, lda, ldb, a, b): rows that begin on `unit` elements, addresses on as many bytes twice."""
    M, N, K = draw(st.integers(1, most)), draw(st.integers(1, most)), draw(st.integers(1, deepest))
    lda, ldb = (unit * (-(-K // unit) + draw(st.integers(0, 9))) for _ in range(2))
    return M, N, K, lda, ldb, *(2 * unit * draw(st.integers(0, 20)) for _ in range(2))


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(PLANS), problems(520, 150, 8))
def test_copies_of_the_kernels_cost_what_every_cta_step_and_lane_does(plan, problem):
    assert_as_one_by_one(plan, *problem)


@given_few(20, 60, st.sampled_from((("cp.async.ca.4", "f16"), ("cp.async.ca.8", "f32"), ("cp.async.ca.16", "f16"),
                                    ("cp.async.cg.16", "f16"))),
           st.sampled_from(((32, 1), (32, 3), (16, 1), (8, 1), (8, 3))), st.integers(1, 3), st.booleans(),
           problems(20, 300, 8))
def test_tiles_that_begin_anywhere_in_a_line_are_counted_by_their_kinds(instruction, rows, stages, sized, problem):
    assert_as_one_by_one(small_plan(*instruction, *rows, stages, sized), *problem)


def test_a_source_outside_the_tile_of_its_operand_is_refused():
    plan = small_plan("cp.async.ca.4", "f16")
    with pytest.raises(LayoutError, match=r"'copy A' reads rows 0 to 3 and columns 0 to 15 of a tile of \(3, 16\)"):
        replace(plan, tile=(3, 4, 16)).predict(8, 8, 8, lda=64, ldb=64)
    with pytest.raises(LayoutError, match=r"'copy B' reads rows 0 to 3 and columns 0 to 15 of a tile of \(4, 14\)"):
        replace(plan, tile=(4, 4, 14), each_step=plan.each_step[1:]).predict(8, 8, 8, lda=64, ldb=64)


@pytest.mark.parametrize("name, each", [("mma_permuted", 26.1), ("mma_base", 22.4)])
def test_the_copies_of_an_inner_tile_cost_what_the_readme_says(name, each):
    count = KERNELS[name].plan.predict(256, 128, 520).count("copy A")
    assert count.wavefronts / count.instructions == pytest.approx(each, abs=0.05)


@pytest.mark.parametrize("kernel", [KERNELS["mma_permuted"], KERNELS["mma_permuted"].fitted(Problem(256, 256, 128))],
                         ids=["as it comes", "fitted"])
def test_the_copies_of_whole_tiles_have_no_src_size_and_cost_less(kernel):
    said = kernel.plan.predict(256, 256, 128)
    assert [said.count(f"copy {name}").wavefronts for name in "AB"] == [3072, 1536]
    inner = analyze_copies(kernel.plan.access("copy A"), 128)
    assert inner.exact and set(inner.wavefronts.tolist()) == {12} and len(inner) == 32 * 4            # four stages


def test_whole_lines_without_a_src_size_are_ideal():
    said = KERNELS["mma_swizzled"].fitted(Problem(512, 256, 128)).plan.predict(512, 256, 128)
    assert [(c.wavefronts, c.exact) for c in said.counts if c.name.startswith("copy")] == [
        (c.ideal, True) for c in said.counts if c.name.startswith("copy")]


def test_large_problems_are_predicted_at_once():
    said = KERNELS["mma_permuted"].plan.predict(2**31 - 1, 2**31 - 1, 2**30)
    assert all(c.exact and c.wavefronts > c.ideal > 0 for c in said.counts if c.name.startswith("copy"))
    blind = KERNELS["mma_permuted"].variant(stages=1).plan
    assert blind.predict(1, 1, 32 * 10**7).count("load A").instructions == 10**7 * blind.predict(1, 1, 32).count(
        "load A").instructions
    with pytest.raises(SimlayoutError, match="at most 1099511627776"):
        KERNELS["mma_permuted"].plan.predict(8, 8, 64, lda=2**41)


def test_where_rows_begin_decides_what_copies_cost_and_lines_apart_are_alike():
    plan = KERNELS["mma_permuted"].plan
    dense, wider, moved, far = (plan.predict(256, 128, 64, **places).count("copy A").wavefronts for places in (
        {}, {"lda": 72}, {"a": 16}, {"a": 256, "ldb": 640, "b": 48}))
    assert dense == far and len({dense, wider, moved}) == 3


@pytest.mark.parametrize("places", [{"lda": 67}, {"a": 8}, {"lda": np.int64(66)}])
def test_sources_that_the_copies_cannot_read_are_not_known(places):
    said = KERNELS["mma_permuted"].plan.predict(256, 128, 64, **places)
    assert not said.count("copy A").exact and said.count("copy B").exact
    assert said.count("copy A").wavefronts == 4 * said.count("copy A").instructions          # its destinations
    with pytest.raises(AddressError, match="not a multiple of 16"):
        analyze_copies(KERNELS["mma_permuted"].plan.access("copy A"), 67)


def test_a_plan_without_sources_says_that_it_knows_destinations_alone():
    plan = KERNELS["mma_permuted"].plan
    blind = replace(plan, each_step=tuple(replace(a, source=None) for a in plan.each_step)).predict(256, 128, 64)
    assert [c.name for c in blind.counts if not c.exact] == ["copy A", "copy B"]
    assert {c.wavefronts // c.instructions for c in blind.counts if not c.exact} == {4}


@pytest.mark.parametrize("places, words", [
    ({"lda": 63}, r"lda = 63: A needs an integer of elements from row to row, at least K = 64, at most"),
    ({"ldb": 64.0}, r"ldb = 64.0: B needs an integer"), ({"lda": True}, "lda = True"), ({"ldb": "64"}, "ldb = '64'"),
    ({"lda": MOST_LEADING + 8}, "lda = "), ({"a": -16}, "a = -16: .* address of A"), ({"b": 1.5}, "b = 1.5"),
    ({"lda": [64]}, "lda = .64."),
])
def test_places_that_cannot_be_are_refused(places, words):
    with pytest.raises(SimlayoutError, match=words) as caught:
        KERNELS["mma_permuted"].plan.predict(256, 128, 64, **places)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("element", [lambda tid, i, stage: tid, lambda tid, i, stage: (tid, 0, 0),
                                     lambda tid, i, stage: (tid / 2, 0), lambda tid, i, stage: (tid // i, 0),
                                     lambda tid, i, stage: ((tid, 0), 0), lambda tid, i, stage: None, lambda tid: (tid, 0)])
def test_a_source_that_gives_no_row_and_column_is_refused(element):
    plan = small_plan("cp.async.ca.4", "f16")
    wrong = replace(plan.each_step[0], source=Source("A", element))
    with pytest.raises(LayoutError, match=r"'copy A'"):
        replace(plan, each_step=(wrong,)).predict(8, 8, 8)


def test_numpy_integers_are_leading_dimensions_and_addresses_too():
    plan = KERNELS["mma_permuted"].plan
    numbers = {"lda": 520, "ldb": 1032, "a": 16, "b": 2**40}
    made = {name: np.int64(value) for name, value in numbers.items()}
    assert plan.predict(np.int32(1000), np.int64(1384), np.uint16(520), **made) == plan.predict(1000, 1384, 520, **numbers)


def test_a_job_whose_plan_does_not_know_its_copies_says_what_is_missing(monkeypatch):
    kernel = KERNELS["mma_permuted"]
    blind = replace(kernel.plan, each_step=tuple(replace(a, source=None) for a in kernel.plan.each_step))
    monkeypatch.setattr(type(kernel), "plan", property(lambda self: blind))
    with pytest.raises(SimlayoutError, match="does not know the wavefronts of copy A and copy B: give the access a Source"):
        main_job(kernel, 8, 8, 8, device="cpu")


def test_sources_are_of_copies_in_a_k_step_alone():
    source = Source("A", lambda tid: (tid, 0))
    with pytest.raises(LayoutError, match="ld.shared.b32 reads no global memory"):
        Access("x", "ld.shared.b32", lambda i: i, lambda tid: tid, dtype="f32", source=source)
    with pytest.raises(LayoutError, match="operand \"A\" or \"B\", not 'C'"):
        Source("C", lambda tid: (tid, 0))
    with pytest.raises(LayoutError, match="a source is a function"):
        Source("A", (0, 0))
    with pytest.raises(LayoutError, match="access 'x': source is a Source, not <function"):
        Access("x", "cp.async.ca.4", lambda i: i, lambda tid: tid, dtype="f32", source=lambda tid: (tid, 0))
    copy = Access("x", "cp.async.ca.4", lambda i: i, lambda tid: tid, dtype="f32", source=source)
    with pytest.raises(LayoutError, match="'x' is executed once per tile of C"):
        Plan("late", (32, 8, 16), 1, 1, "m16n8k16.f32.f16.f16.f32", (), (copy,), (), 4096)


def test_the_analysis_of_a_copy_uses_its_source_or_says_what_to_pass():
    copy = KERNELS["mma_permuted"].plan.access("copy A")
    blind = copy.analyze()
    assert not blind.exact and "pass leading=" in blind.caveat and set(blind.wavefronts.tolist()) == {4}
    known = copy.analyze(leading=128)
    assert known.exact and set(known.wavefronts.tolist()) == {12} and copy.analyze("sm_80", 128).arch.name == "sm_80"
    with pytest.raises(LayoutError, match="give the access a Source"):
        replace(copy, source=None).analyze(leading=128)
    with pytest.raises(LayoutError, match="leading = 64.5: give an integer"):
        copy.analyze(leading=64.5)
