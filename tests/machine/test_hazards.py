"""Planted hazards are found, with the right two lines; what is right is clean."""

import inspect

import numpy as np
import pytest
import racy_kernels as racy
import seed_kernels as seed
from machine_kit import (
    bar_sync,
    commit,
    cp_async,
    ld_shared,
    ldmatrix_x4,
    st_global,
    st_shared,
    st_shared_b128,
    tid_x,
    wait_0,
)
from tiers import sweep_but

import simlayout as sl
from cuda_kernels.kernels import MMA_KERNELS
from simlayout.errors import SHARED_BYTES, HazardError, SimlayoutError
from simlayout.kernel import Problem
from simlayout.machine import KINDS, run
from simlayout.machine.hazards import kinds
from simlayout.machine.hazards.kinds import ATOMICS, ONE_LINE, Flag, HazardLog, Place, hazard
from simlayout.machine.hazards.languages import CUDA, LANES_SYNC, NUMBA, TRITON, WORDS, worded


def lines_of(kernel):
    """(file line of `# first` or None, of `# second`) in the source of a kernel."""
    source, start = inspect.getsourcelines(kernel)
    marked = [(start + i, line.rpartition("#")[2].split()) for i, line in enumerate(source) if "# " in line]
    return tuple(next((n for n, words in marked if name in words), None) for name in ("first", "second"))


def words(n):
    return np.arange(n, dtype=np.int32)


PLANTED = [
    (racy.unwritten_read, "unwritten read", 1, 32, ()),
    (racy.uncommitted_copy, "early read", 1, 32, (words(32),)),
    (racy.wait_that_allows_too_much, "early read", 1, 32, (words(32),)),
    (racy.wait_without_barrier, "read after write", 1, 64, (words(64),)),
    (racy.read_after_write, "read after write", 1, 64, ()),
    (racy.write_after_read, "write after read", 1, 64, ()),
    (racy.write_after_write, "write after write", 1, 64, ()),
    (racy.copy_over_a_stage_in_use, "write after read", 1, 64, (words(64),)),
    (racy.two_copies_to_one_place, "write in flight", 1, 32, (words(32),)),
    (racy.store_under_a_copy, "write in flight", 1, 32, (words(32),)),
    (racy.collision, "collision", 1, 32, ()),
    (racy.collision_in_global_memory, "collision", 1, 32, (words(64),)),
    (racy.lane_race, "lane race", 1, 32, ()),
    (racy.lane_race_on_a_broadcast, "lane race", 1, 64, ()),
    (racy.lane_race_with_the_last_read_but_one, "lane race", 1, 64, ()),
    (racy.named_barrier_of_others, "read after write", 1, 96, ()),
    (racy.diverged_barrier, "divergence", 1, 64, ()),
    (racy.diverged_ldmatrix, "divergence", 1, 32, ()),
    (racy.barrier_for_some_warps, "deadlock", 1, 64, ()),
    (racy.two_ctas_write_one_tile, "global race", 4, 32, (words(64),)),
    (racy.two_warps_write_one_row, "global race", 1, 64, (words(32),)),
    (racy.read_of_another_cta, "global race", 2, 32, (words(64),)),
    (seed.emulated_stmatrix, "lane race", 1, 32, (words(32),)),
]


@pytest.mark.parametrize("kernel, kind, grid, block, args", PLANTED, ids=lambda x: getattr(x, "__name__", None))
def test_a_planted_hazard_is_found_with_its_two_lines(kernel, kind, grid, block, args):
    with pytest.raises(HazardError) as caught:
        run(kernel, grid, block, *args, shared_bytes=1024)
    found, (first, second) = caught.value.hazard, lines_of(kernel)
    assert found.kind == kind and "\n" not in str(caught.value)
    assert (found.second.file, found.second.line) == (inspect.getsourcefile(kernel), second)
    assert (found.first and found.first.line) == first
    for line in {first, second} - {None}:
        assert f"_kernels.py:{line}" in str(caught.value)


ENGINES = {"early write", "bad mbarrier", "missing proxy fence", "missing wgmma fence", "early accumulator", "early exit"}
"""Kinds that need TMA or wgmma: `test_machine_hopper.py` plants them."""

PTX = {"out of bounds", "misaligned", "bad address", "inactive source", "missing fence", "stale read", "unwritten register"}
"""Kinds that only programs in PTX run into: tests/ptx plants them."""


def test_every_kind_but_one_is_planted():
    assert {kind for _, kind, *_ in PLANTED} | ENGINES | PTX | {"wrong element"} == set(KINDS)


CLEAN = [
    (racy.tile_transposed_with_barriers, 64, (words(64), words(64))),
    (racy.exchange_within_a_warp, 64, ()),
    (racy.one_lane_after_another, 64, ()),
    (racy.chain_of_named_barriers, 96, ()),
    (racy.lanes_that_store_the_same, 64, ()),
    (racy.one_thread_after_another_in_global_memory, 64, (words(64),)),
    (seed.emulated_stmatrix_corrected, 32, (words(32),)),
]


@pytest.mark.parametrize("kernel, block, args", CLEAN, ids=lambda x: getattr(x, "__name__", None))
def test_what_is_ordered_is_clean(kernel, block, args):
    trace = run(kernel, 1, block, *args, shared_bytes=1024)
    assert trace.hazards == trace.notes == ()


def test_a_report_keeps_one_of_each_kind_and_pair_of_lines_and_counts_the_rest():
    trace = run(racy.read_after_write, 3, 64, shared_bytes=256, hazards="report")
    (found,) = trace.hazards
    assert (found.kind, found.count) == ("read after write", 3 * 2)
    assert found.bytes == tuple(range(128, 256)) and found.first.warp == 1 and found.second.lanes == tuple(range(32))
    assert found.first.cta == (0, 0, 0) and found.lines == tuple((racy.__file__, n) for n in lines_of(racy.read_after_write))
    assert "put a bar.sync between them" in str(found) and str(found) in trace.listing()
    assert found.as_dict()["second"]["line"] == found.second.line


def test_a_hazard_names_the_words_of_shared_memory_and_the_elements_of_an_array():
    def shared():
        st_shared(8 * tid_x(), 1)
        bar_sync()
        ld_shared(8 * tid_x() + 4)

    def column(data):
        st_global(data + 16 * (tid_x() % 2), tid_x())

    unwritten, = run(shared, 1, 2, shared_bytes=1024, hazards="report").hazards
    assert "reads shared bytes 4-7, 12-15 (words 1, 3), which nothing" in unwritten.text
    collision, = run(column, 1, 3, np.zeros((2, 4), np.float32), hazards="report").hazards
    assert "different values to byte 0 (element [0, 0]) of the float32 array of shape (2, 4)" in collision.text


def test_a_race_that_comes_again_is_counted_and_its_text_is_made_once(monkeypatch):
    def kernel():
        tid = tid_x()
        for k in range(100):
            st_shared(4 * tid, k)
            ld_shared(4 * (63 - tid))

    made = []
    monkeypatch.setattr(kinds, "hazard", lambda kind, *what, **words: made.append(kind) or hazard(kind, *what, **words))
    found = run(kernel, 1, 64, shared_bytes=256, hazards="report").hazards
    assert made == [one.kind for one in found]
    assert {one.kind: one.count for one in found} == {"read after write": 100, "write after read": 100}


@pytest.mark.parametrize("file, python, advice", [
    ("kernel.py", None, "put a bar.sync between them"), ("kernel.py", NUMBA, "put a cuda.syncthreads() between them"),
    ("kernel.cu", NUMBA, "put a __syncthreads() between them"), ("kernel.ptx", NUMBA, "put a bar.sync between them")])
def test_advice_is_in_the_words_of_the_language_of_the_line(file, python, advice):
    first, second = (Place(name, 1, "bar.sync", (0, 0, 0), 0, ()) for name in ("other.h", file))
    log = HazardLog("report", python)
    log.add("read after write", first, second, (0,), detail="")
    assert log.hazards()[0].text == hazard("read after write", first, second, (0,), detail="").text.replace(
        "put a bar.sync between them", advice)


@pytest.mark.parametrize("file, python, advice", [
    ("kernel.py", NUMBA, "a cuda.syncwarp() between them, or a cuda.syncthreads() if lanes of other warps touch it too"),
    ("kernel.cu", None, "a __syncwarp() between them, or a __syncthreads() if lanes of other warps touch it too"),
    ("kernel.py", TRITON, f"a {dict(WORDS[TRITON])[LANES_SYNC]} between them"),
])
def test_a_race_of_lanes_is_told_of_both_barriers_because_one_that_is_missing_shows_in_a_warp_first(file, python, advice):
    place, log = Place(file, 1, "st.shared.b32", (0, 0, 0), 0, (3,)), HazardLog("report", python)
    log.add("lane race", place, place, (0,), did="writes", does="reads", detail="")
    assert log.hazards()[0].text.endswith(f"put {advice}")


@pytest.mark.parametrize("file", ["kernel.cu", "kernel.ptx"])
@pytest.mark.parametrize("kind", ["read after write", "write after read", "write after write"])
def test_two_ctas_of_a_cluster_are_named_and_told_of_its_barrier_in_any_language(kind, file):
    first, second = (Place(file, 1, "st.shared.b32", (x, 0, 0), 0, ()) for x in (1, 0))
    log = HazardLog("report")
    log.add(kind, first, second, (0,), detail="")
    assert log.hazards()[0].text.endswith("and nothing orders the two: put a barrier.cluster between them")
    assert f"{first} of CTA (1, 0, 0)" in log.hazards()[0].text


def test_every_language_has_words_of_its_own_for_barriers_and_numba_for_what_asks_for_shared_memory():
    ours = " ".join((SHARED_BYTES, *(advice for _, advice in KINDS.values()), *ONE_LINE.values(), ATOMICS,
                         *(Flag(Place("", 0, "", (), 0, ()), fenced, scope).advice() for fenced in (True, False)
                           for scope in ("cta", "gl"))))
    for language, file in ((NUMBA, "kernel.py"), (CUDA, "kernel.cuh")):
        theirs = worded(ours, file, NUMBA)
        assert "bar.sync" not in theirs and "bar.warp.sync" not in theirs and "barrier.cluster" in theirs
        assert all(own in theirs for _, own in WORDS[language])


def test_the_message_says_which_wait_would_cover_a_copy():
    with pytest.raises(HazardError, match=r"may still be copying \(only cp.async.wait_group 0 covers it\): wait for"):
        run(racy.wait_that_allows_too_much, 1, 32, words(32), shared_bytes=1024)
    def exchange(a):
        cp_async(4 * tid_x(), a + 4 * tid_x())
        commit()
        wait_0()
        ld_shared(4 * (31 - tid_x()))

    line = exchange.__code__.co_firstlineno + 3
    with pytest.raises(HazardError, match=rf"writes \(landed by the wait at test_hazards.py:{line}\), and nothing"):
        run(exchange, 1, 32, words(32), shared_bytes=128)
    with pytest.raises(HazardError, match="its group is not committed"):
        run(racy.uncommitted_copy, 1, 32, words(32), shared_bytes=1024)


def test_a_hazard_in_a_helper_names_the_lines_that_called_it():
    (found,) = run(racy.two_stores_by_one_helper, 1, 64, shared_bytes=256, hazards="report").hazards
    source, start = inspect.getsourcelines(racy.two_stores_by_one_helper)
    assert {found.first.callers[0][1], found.second.callers[0][1]} == {start + 2, start + 3}
    assert f"called at racy_kernels.py:{start + 2}" in str(found)


def test_nobody_looks_when_hazards_are_off_except_for_what_cannot_go_on():
    assert run(racy.read_after_write, 1, 64, shared_bytes=256, hazards="off").hazards == ()
    for mode in ("off", "report"):
        with pytest.raises(HazardError, match="deadlock"):
            run(racy.barrier_for_some_warps, 1, 64, shared_bytes=256, hazards=mode)
        with pytest.raises(HazardError, match="divergence"):
            run(racy.diverged_barrier, 1, 64, shared_bytes=256, hazards=mode)
    with pytest.raises(SimlayoutError, match='hazards = \'on\': choose "raise", "report" or "off"'):
        run(racy.lane_race, 1, 32, hazards="on")


def test_a_copy_that_nobody_waits_for_is_legal_and_noted():
    trace = run(racy.copy_that_nobody_reads, 2, 64, words(64), shared_bytes=256)
    line = lines_of(racy.copy_that_nobody_reads)[1]
    assert trace.notes == (f"racy_kernels.py:{line}: 4 cp.async never waited for: legal, as nothing reads what it brings",)


def test_a_copy_that_was_read_too_early_is_not_noted_as_one_that_nothing_reads():
    trace = run(racy.uncommitted_copy, 1, 32, words(32), shared_bytes=256, hazards="report")
    assert [hazard.kind for hazard in trace.hazards] == ["early read"] and trace.notes == ()


def test_what_a_read_too_early_leads_to_is_told_as_that_read():
    """Poison as an address is out of bounds in warp 0, before warp 1 has stored what it should have been."""
    def kernel():
        tid = tid_x()
        st_shared(4 * tid, tid)
        st_shared(4 * ld_shared(4 * (63 - tid)), 0)          # second

    with pytest.raises(HazardError) as caught:
        run(kernel, 1, 64, shared_bytes=256)
    assert caught.value.hazard.kind == "unwritten read"
    assert caught.value.hazard.second.line == lines_of(kernel)[1]


# ---- the seeds' races -----------------------------------------------------------------------------------------------

TUTORIAL = [
    (seed.unrolled_by_four, "early read", 16),
    (seed.commit_inside_the_if, "early read", 8),
    (seed.accumulators_over_the_last_stage, "write after read", 8),
]


def called_from(place, kernel):
    """The line of a kernel from which a place is reached."""
    source, start = inspect.getsourcelines(kernel)
    return next(line for _, line in ((None, place.line), *place.callers) if start <= line < start + len(source))


@pytest.mark.parametrize("kernel, kind, chunks", TUTORIAL, ids=lambda x: getattr(x, "__name__", None))
def test_the_races_of_the_matmul_tutorial_are_found(kernel, kind, chunks):
    with pytest.raises(HazardError) as caught:
        run(kernel, 1, 64, words(64 * chunks), chunks, shared_bytes=1024)
    found = caught.value.hazard
    assert found.kind == kind
    assert (called_from(found.first, kernel), called_from(found.second, kernel)) == lines_of(kernel)


@pytest.mark.parametrize("chunks", [4, 8, 12, 32])
@pytest.mark.parametrize("kernel", [seed.unrolled_by_four_corrected, seed.commit_after_the_if,
                                    seed.accumulators_after_a_barrier], ids=lambda x: x.__name__)
def test_their_corrected_forms_are_clean(kernel, chunks):
    run(kernel, 1, 64, words(64 * chunks), chunks, shared_bytes=1024)


def test_the_chunks_read_too_early_are_those_that_group_accounting_names():
    """Without the fourth commit, three of every four chunks after the first round; with it inside the if, the last two."""
    def early(kernel, chunks):
        """Chunks read too early, summed over both warps (one may read after the other's next wait, still unordered)."""
        trace = run(kernel, 1, 64, words(64 * chunks), chunks, shared_bytes=1024, hazards="report")
        return sum(h.count for h in trace.hazards if h.kind in ("early read", "read after write"))

    for rounds in (2, 3, 5):
        assert early(seed.unrolled_by_four, 4 * rounds) == 2 * 3 * (rounds - 1)
        assert early(seed.commit_inside_the_if, 4 * rounds) == 2 * 2


TILE = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
STORE_A = sl.Access("store A", "st.shared.b128", TILE, lambda tid: (tid // 8, 8 * (tid % 8)), {"tid": 128})
LOAD_A = sl.Access("load A", "ldmatrix.x4", TILE, lambda tid: (tid % 16, 16 * (tid // 32) + 8 * (tid % 32 // 16)),
                   {"tid": 128})


def test_the_stale_stride_of_the_swizzle_tutorial_is_found_where_accesses_are_declared():
    with pytest.raises(HazardError) as caught:
        run(seed.stale_stride, 1, 128, shared_bytes=2048, accesses=[STORE_A, LOAD_A])
    found = caught.value.hazard
    assert found.kind == "wrong element" and lines_of(seed.stale_stride) == (found.first.line, found.second.line)
    assert (found.second.warp, found.second.lanes) == (3, (1,)), "the last warp to arrive goes on first; its row 0 is right"
    assert found.bytes == (144, 145), "32 bytes on from row 0, and chunk 6 ^ 1"
    assert "as element (1, 48) of 'load A', but st.shared.b128 of warp 0, lane 8 " in str(found)
    assert "put element (1, 0) there" in str(found)
    run(seed.right_stride, 1, 128, shared_bytes=2048, accesses=[STORE_A, LOAD_A])


def test_declared_elements_survive_offsets_merges_and_casts_until_another_store():
    def kernel(load, store_again):
        tid = tid_x()
        address = seed.store_a(tid) if tid % 2 == 0 else 0 + seed.store_a(tid)
        st_shared_b128(int(address) + 1024, tid)
        bar_sync()
        if store_again:
            st_shared_b128(1024 + 16 * tid, tid)             # not declared: what it writes may be anything
        bar_sync()
        ldmatrix_x4(1024 + load(tid))

    def launch(load, store_again):
        run(kernel, 1, 128, load, store_again, shared_bytes=3072, accesses=[STORE_A, LOAD_A])

    launch(seed.load_a, False)
    launch(seed.load_a_as_printed, True)
    with pytest.raises(HazardError, match="wrong element"):
        launch(seed.load_a_as_printed, False)


def test_an_index_function_must_take_the_variables_of_its_access():
    def kernel():
        ld_shared(two_variables(tid_x(), 0))

    def two_variables(tid, k):
        return 16 * tid

    two_variables.access_name = "load A"
    with pytest.raises(SimlayoutError, match="'load A' was called with 2 arguments; its access has tid"):
        run(kernel, 1, 128, shared_bytes=4096, accesses=[LOAD_A])


def test_a_stale_stride_without_declared_accesses_shows_where_the_tile_is_not_all_written():
    with pytest.raises(HazardError) as caught:
        run(seed.stale_stride_of_one_block, 1, 32, shared_bytes=2048)
    assert caught.value.hazard.kind == "unwritten read"
    assert caught.value.hazard.second.line == lines_of(seed.stale_stride_of_one_block)[1]


@pytest.mark.parametrize("name", sweep_but(["mma_crosswise"], MMA_KERNELS))
def test_the_projects_own_loads_meet_the_elements_that_their_plans_declare(name):
    kernel = MMA_KERNELS[name]
    M, N, K = kernel.plan.tile[0], kernel.plan.tile[1], 3 * kernel.plan.tile[2]
    kernel = kernel.fitted(Problem(M, N, K))
    a, b, c = (np.ones(shape, np.float16) for shape in ((M, K), (N, K), (M, N)))
    run(kernel.body, 1, kernel.block, a, b, c, M, N, K, K, K, N, shared_bytes=kernel.shared_bytes,
        accesses=kernel.plan.accesses)
    assert (c == K).all()
