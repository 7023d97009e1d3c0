"""Every planted race in global and shared memory is found, in every mode and with both lines; its ordered twin is clean."""

import inspect
from itertools import product

import machine_kit as kit
import numpy as np
import planted_races as planted
import pytest
from planted_races import BY, GLOBAL, OF_BYTES, SHARED, SHARED_ACCESSES, SHARED_READS, may_race, operands
from planted_races_alone import ALONE
from planted_races_counted import COUNTED
from planted_races_shared import IN_SHARED_MEMORY
from tiers import sweep_but

from simlayout.errors import HazardError, SimlayoutError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine import run

GLOBAL_ALONE = ALONE | COUNTED


def name_of(value):
    return getattr(value, "__name__", None)


def lines_of(kernel):
    """The lines of a kernel that end in `# first` and in `# second`."""
    source, start = inspect.getsourcelines(kernel)
    return tuple(next(start + i for i, line in enumerate(source) if name in line.rpartition("#")[2].split())
                 for name in ("first", "second"))


def line_in(place, kernel):
    """The line of a kernel from which a place is reached."""
    source, start = inspect.getsourcelines(kernel)
    return next(line for _, line in ((place.file, place.line), *place.callers) if start <= line < start + len(source))


def assert_found(kernel, args, kinds=("global race",), **options):
    for mode in ("raise", "report"):
        if mode == "raise":
            with pytest.raises(HazardError) as caught:
                run(kernel, *args(), shared_bytes=SHARED, hazards=mode, **options)
            hazards = [caught.value.hazard]
        else:
            hazards = run(kernel, *args(), shared_bytes=SHARED, hazards=mode, **options).hazards
        assert {found.kind for found in hazards} <= set(kinds) and hazards
        for found in hazards:
            assert sorted((line_in(found.first, kernel), line_in(found.second, kernel))) == sorted(lines_of(kernel))
            assert found.bytes


def launched(how, *args):
    """(options of a launch but for grid and block, a function that returns these and fresh arguments)."""
    how = dict(how)
    grid, block = how.pop("grid"), how.pop("block")
    return how, lambda: (grid, block, *args, *operands())


ASYNC = {planted.box_load, planted.box_store, planted.box_reduction}


PARTNERS = planted.plain_load, planted.plain_store, planted.atomic, planted.box_store, planted.box_reduction


def cases():
    for by, first, second in product(BY, GLOBAL, GLOBAL):
        if by is not planted.by_two_lanes or not {first, second} & (ASYNC | {planted.copy}):
            yield by, first, second
    for by, one, other in product((planted.by_two_warps, planted.by_two_ctas), OF_BYTES, (*OF_BYTES, *PARTNERS)):
        yield from dict.fromkeys([(by, one, other), (by, other, one)])


def in_turn(cases):
    """(case, together): by default every other case with CTAs one after the other, the rest with CTAs together; all with
    both in the sweep."""
    cases = list(cases)
    return sweep_but([(case, i % 2 == 1) for i, case in enumerate(cases)], product(cases, [False, True]))


RACES = in_turn(case for case in cases() if may_race(*case[1:]))
NONE = in_turn(case for case in cases() if not may_race(*case[1:]))


def name_of_case(case):
    return "-".join([*map(name_of, case[0]), str(case[1])])


@pytest.mark.parametrize("case", RACES, ids=name_of_case)
def test_two_accesses_that_nothing_orders_are_a_race(case):
    (by, first, second), together = case
    how, args = launched(BY[by], first, second, False)
    assert_found(by, args, **how, together=together)


@pytest.mark.parametrize("case", RACES, ids=name_of_case)
def test_the_same_two_are_clean_where_something_orders_them(case):
    (by, first, second), together = case
    how, args = launched(BY[by], first, second, True)
    assert run(by, *args(), shared_bytes=SHARED, **how, together=together).hazards == ()


@pytest.mark.parametrize("case", NONE, ids=name_of_case)
def test_reads_and_strong_accesses_of_one_proxy_need_no_order(case):
    (by, first, second), together = case
    how, args = launched(BY[by], first, second, False)
    assert run(by, *args(), shared_bytes=SHARED, **how, together=together).hazards == ()


@pytest.mark.parametrize("kernel", GLOBAL_ALONE, ids=name_of)
def test_a_race_of_its_own_kind_is_found_and_its_twin_is_clean(kernel):
    for together in (False, True):
        how, args = launched(GLOBAL_ALONE[kernel])
        assert_found(kernel, lambda args=args: (*args(), False), **how, together=together)
        assert run(kernel, *args(), True, shared_bytes=SHARED, **how, together=together).hazards == ()


SHARED_KINDS = {"lane race", "read after write", "write after read", "write after write", "early read", "early write",
                "write in flight", "missing proxy fence"}
SHARED_CASES = [pair for pair in product(SHARED_ACCESSES, repeat=2) if not set(pair) <= set(SHARED_READS)]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("kernel", IN_SHARED_MEMORY, ids=name_of)
def test_a_race_of_its_own_kind_in_shared_memory_is_found_and_its_twin_is_clean(kernel, together):
    how, args = launched(IN_SHARED_MEMORY[kernel])
    assert_found(kernel, lambda: (*args(), False), SHARED_KINDS, **how, together=together)
    assert run(kernel, *args(), True, shared_bytes=SHARED, **how, together=together).hazards == ()


@pytest.mark.parametrize("first, second", SHARED_CASES, ids=name_of)
def test_two_accesses_of_shared_memory_race_unless_a_barrier_orders_them(first, second):
    def args(ordered):
        return lambda: (1, 64, first, second, ordered, (operands()[1], operands()[1]))

    assert_found(planted.in_shared_memory, args(False), SHARED_KINDS)
    assert run(planted.in_shared_memory, *args(True)(), shared_bytes=SHARED).hazards == ()


def test_what_threads_wrote_and_tma_reads_or_writes_needs_a_fence_of_the_proxy():
    def loaded(fence, a, m, counter):
        from_tid = kit.tid_x()
        kit.st_global(a + 4 * from_tid, 1)                                  # first
        kit.bar_sync()
        if from_tid == 0:
            kit.mbarrier_init(2048, 1)
            kit.mbarrier_expect(2048, planted.BOX)
            if fence:
                kit.fence_proxy_async()
            kit.tma_load(m, (0, 0), 0, 2048)                                # second
            kit.mbarrier_wait(2048, 0)

    def stored(fence, a, m, counter):
        at = planted.staged(1)
        kit.st_global(a + 4 * kit.tid_x(), 1)                               # first
        kit.bar_sync()
        if kit.tid_x() == 0:
            if fence:
                kit.fence_proxy_async()
            kit.tma_store(m, (0, 0), at)                                    # second
            kit.bulk_commit()
            kit.bulk_wait_all(0)

    for kernel in (loaded, stored):
        assert run(kernel, 1, 32, True, *operands(), shared_bytes=SHARED).hazards == ()
        found = run(kernel, 1, 32, False, *operands(), shared_bytes=SHARED, hazards="report").hazards
        assert {hazard.kind for hazard in found} == {"missing proxy fence"}
        assert lines_of(kernel) in {(hazard.first.line, hazard.second.line) for hazard in found}


@pytest.mark.parametrize("ordered_by", ["barrier", "mbarrier"])
def test_a_generic_read_before_a_tma_write_of_the_same_bytes_is_not_reported_without_a_proxy_fence(ordered_by):
    def order(mbarrier, ordered):
        if ordered and mbarrier:
            kit.mbarrier_arrive(2056)
            if kit.tid_x() == 0:
                kit.mbarrier_wait(2056, 0)
        elif ordered:
            kit.bar_sync()

    def in_shared(mbarrier, ordered, m):
        tid = kit.tid_x()
        if tid == 0:
            kit.mbarrier_init(2048, 1)
            kit.mbarrier_init(2056, 64)
            kit.fence_proxy_async()
            kit.mbarrier_expect(2048, planted.BOX)
            kit.tma_load(m, (0, 0), 0, 2048)
        kit.bar_sync()
        kit.mbarrier_wait(2048, 0)
        kit.ld_shared(4 * tid)                                              # first
        order(mbarrier, ordered)
        if tid == 0:
            kit.mbarrier_expect(2048, planted.BOX)
            kit.tma_load(m, (0, 0), 0, 2048)                                # second
            kit.mbarrier_wait(2048, 1)

    def in_global(mbarrier, ordered, m, a):
        tid = kit.tid_x()
        if tid == 0:
            kit.mbarrier_init(2056, 64)
        at = planted.staged(1)
        kit.bar_sync()
        kit.ld_global(a + 4 * tid)                                          # first
        order(mbarrier, ordered)
        if tid == 0:
            kit.tma_store(m, (0, 0), at)                                    # second
            kit.bulk_commit()
            kit.bulk_wait_all(0)

    a, m, _ = operands()
    for kernel, args, kind in ((in_shared, (m,), "write after read"), (in_global, (m, a), "global race")):
        mbarrier = ordered_by == "mbarrier"
        assert run(kernel, 1, 64, mbarrier, True, *args, shared_bytes=SHARED).hazards == ()
        found = run(kernel, 1, 64, mbarrier, False, *args, shared_bytes=SHARED, hazards="report").hazards
        assert kind in {hazard.kind for hazard in found} <= {kind, "lane race"}


def test_two_arguments_that_view_one_array_are_one_memory():
    def kernel(one, other):
        kit.st_global(one + 4 * kit.tid_x(), 1)                             # first
        kit.ld_global(other + 4 * (kit.tid_x() ^ 1))                        # second

    a = np.zeros(64, np.int32)
    (found,) = run(kernel, 1, 32, a[:40], a[8:], hazards="report").hazards
    assert found.kind == "global race" and found.bytes == tuple(range(4 * 24))


def test_two_arrays_in_one_buffer_are_one_memory_however_they_are_aligned():
    def kernel(one, other, shift):
        kit.st_global(one + 4 * kit.tid_x(), 1)                             # first
        kit.ld_global(other + 4 * ((kit.tid_x() + shift) % 32))             # second

    buffer = bytearray(260)
    halves = [b for b in range(4, 128) if b % 4 < 2]     # of words that two lanes share
    for offset, shift, raced in ((8, 0, range(8, 128)), (8, 30, ()), (2, 0, halves), (128, 0, ())):
        one, other = np.frombuffer(buffer, np.int32), np.frombuffer(buffer, np.int32, 32, offset)
        found = run(kernel, 1, 32, one, other, shift, hazards="report").hazards
        assert [hazard.bytes for hazard in found] == [tuple(b - offset for b in raced)] * bool(raced)


def test_a_box_of_a_tensor_that_starts_anywhere_is_the_bytes_it_is():
    def kernel(m, plain, at):
        if kit.tid_x() == 0:
            kit.mbarrier_init(2048, 1)
            kit.fence_proxy_async()
            kit.mbarrier_expect(2048, planted.BOX)
            kit.tma_load(m, (0, 0), 0, 2048)                                # first
            kit.mbarrier_wait(2048, 0)
        if kit.tid_x() == 1:
            kit.st_global_b16(plain + at, 1)                                # second

    whole = np.zeros((8, 80), np.uint16)
    tensor = whole[:, 3:67]                              # bytes 6 to 133 of each row of 160
    for at, raced in ((4, False), (6, True), (132, True), (134, False), (166, True)):
        found = run(kernel, 1, 32, TensorMap.of(tensor, (64, 8)), whole, at, shared_bytes=SHARED, hazards="report").hazards
        assert [hazard.bytes for hazard in found] == [(at, at + 1)] * raced


def reduced(m, op):
    for i in range(8):
        kit.st_shared(128 * i + 4 * kit.tid_x(), 1)
    kit.fence_proxy_async()
    kit.bar_sync()
    if kit.tid_x() == 0:
        tma_reduce_by(m, (0, 0), 0, op)
        kit.bulk_commit()
        kit.bulk_wait_all(0)


tma_reduce_by = kit.Instruction(lambda warp, tensor, coords, at, op: warp.tma_reduce(tensor, coords, at, op))


@pytest.mark.parametrize("op", ["add", "min", "max", "and", "or", "xor"])
def test_a_reduction_does_what_its_name_says(op):
    a = np.arange(256, dtype=np.int32).reshape(8, 32)
    expected = {"add": a + 1, "min": np.minimum(a, 1), "max": np.maximum(a, 1), "and": a & 1, "or": a | 1, "xor": a ^ 1}[op]
    run(reduced, 1, 32, TensorMap.of(a, (32, 8)), op, shared_bytes=SHARED)
    assert (a == expected).all()


@pytest.mark.parametrize("array, dtype, op, match", [
    (np.zeros((8, 32), np.int32), None, "inc", "of s32; it takes tensor maps of u32"),
    (np.zeros((8, 32), np.int32), None, ["add"], "the machine has add"),
    (np.zeros((8, 32), np.float32), None, "xor", "of f32; it takes tensor maps of u32, s32"),
    (np.zeros((8, 64), np.uint16), None, "add", "of u16; it takes tensor maps of f16, bf16"),
    (np.broadcast_to(np.zeros(32, np.int32), (1, 32)), None, "add", "read-only"),
])
def test_a_reduction_that_cannot_be_is_refused(array, dtype, op, match):
    with pytest.raises(SimlayoutError, match=match):
        run(reduced, 1, 32, TensorMap.of(array, (array.shape[1], array.shape[0]), dtype=dtype), op, shared_bytes=SHARED)


@pytest.mark.parametrize("held", [np.uint16, np.int16])
def test_a_reduction_takes_elements_for_what_the_map_says_they_are(held):
    a = np.full((8, 64), 0x3F80, held)                     # of bf16: 1, to which words of 1 add next to nothing, and 0
    run(reduced, 1, 32, TensorMap.of(a, (64, 8), dtype="bf16"), "add", shared_bytes=SHARED)
    assert (a == 0x3F80).all()


def test_a_reduction_adds_to_what_is_there():
    a, m, counter = operands()
    a[:] = np.arange(256).reshape(8, 32)
    run(planted.by_two_ctas, 2, 32, planted.box_reduction, planted.box_reduction, False, a, m, counter, shared_bytes=SHARED)
    assert (a == np.arange(256).reshape(8, 32) + 2).all()


add_one = kit.Instruction(lambda warp, at: warp.peer_update("red.shared::cluster.add.u32", at, 4, 0)[0].rank)


@pytest.mark.parametrize("first", [0, 32])                # one of the two runs first
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("writes", [True, False])
def test_an_atomic_hides_no_plain_access_of_its_own_lane_from_atomics_of_other_warps(writes, ordered, first):
    def kernel(writes, ordered, first):
        tid = kit.tid_x()
        if tid == 0:
            kit.st_shared(0, 0)
        kit.bar_sync()
        if tid == first:
            if writes:
                kit.st_shared(0, 1)
            else:
                kit.ld_shared(0)
            add_one(0)
        if ordered:
            kit.bar_sync()
        if tid == 32 - first:
            add_one(0)

    hazards = run(kernel, 1, 64, writes, ordered, first, shared_bytes=64, hazards="report").hazards
    assert bool(hazards) != ordered
