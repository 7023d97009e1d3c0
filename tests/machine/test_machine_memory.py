"""What warps of the machine share: barriers, asynchronous copies, memories and registers."""

import threading
from os.path import relpath

import numpy as np
import pytest
from machine_kit import (
    Instruction,
    bar_1_of_32,
    bar_1_of_64,
    bar_sync,
    commit,
    cp_async,
    fails,
    ld_shared,
    ldmatrix_x2,
    line_of,
    registers,
    st_global,
    st_global_f32,
    st_shared,
    stmatrix_x1,
    tid_x,
    values,
    wait_0,
    wait_1,
)

from simlayout.errors import AddressError, HazardError, InstructionError, MachineError
from simlayout.machine import GlobalPointer, run


def reverse(out, n):
    tid = tid_x()
    st_shared(4 * tid, tid)
    bar_sync()
    st_global(out + 4 * tid, ld_shared(4 * (n - 1 - tid)))


def test_a_barrier_makes_the_stores_of_all_warps_visible():
    assert values(reverse, 128, block=128, shared_bytes=512).tolist() == list(range(127, -1, -1))


def test_without_a_barrier_the_poison_of_fresh_shared_memory_shows():
    def kernel(out, n):
        tid = tid_x()
        st_shared(4 * tid, tid)
        st_global(out + 4 * tid, ld_shared(4 * (n - 1 - tid)))

    assert values(kernel, 64, block=64, shared_bytes=256, hazards="off")[:32].tolist() == [-1] * 32


def test_a_named_barrier_waits_for_its_own_warps_only():
    def kernel(out):
        tid = tid_x()
        if tid < 64:
            st_shared(4 * tid, tid)
            bar_1_of_64()
            st_global(out + 4 * tid, ld_shared(4 * (63 - tid)))

    assert values(kernel, block=96, shared_bytes=256).tolist() == [*range(63, -1, -1)] + [-1] * 32


def test_a_barrier_that_too_few_warps_reach_is_a_deadlock_that_names_them_and_the_line():
    def kernel():
        if tid_x() >= 96:
            bar_1_of_64()                                # only one comes here

    message = fails(MachineError, kernel, block=128)
    assert "deadlock in CTA (0, 0, 0)" in message and "warps 0, 1, 2 finished" in message
    assert f"warp 3 waiting at bar.sync 1 of 64 threads ({relpath(__file__)}:{line_of('only one comes here')})" in message


def test_a_barrier_of_the_whole_cta_waits_for_no_warp_that_has_ended():
    def kernel(out):
        tid = tid_x()
        if tid < 64:
            st_shared(4 * tid, tid)
            bar_sync()
            st_global(out + 4 * tid, ld_shared(4 * (63 - tid)))

    assert values(kernel, block=128, shared_bytes=256)[:64].tolist() == [*range(63, -1, -1)]


def test_what_an_ended_warp_wrote_is_not_ordered_by_a_barrier_of_the_others():
    def kernel():
        tid = tid_x()
        if tid >= 64:
            st_shared(4 * (tid - 64), tid)
            return
        bar_sync()
        ld_shared(4 * tid)

    assert "read after write" in fails(HazardError, kernel, block=128, shared_bytes=256)


def test_warps_that_wait_at_different_barriers_are_a_deadlock():
    def kernel():
        if tid_x() >= 32:
            bar_1_of_64()
        else:
            bar_sync()

    message = fails(MachineError, kernel, block=64)
    assert "warp 0 waiting at bar.sync 0" in message and "warp 1 waiting at bar.sync 1" in message


def test_a_barrier_with_two_different_counts_is_refused():
    def kernel():
        if tid_x() >= 32:
            bar_1_of_32()
        else:
            bar_1_of_64()

    assert "bar.sync 1 of 32 threads while others wait there for 64" in fails(MachineError, kernel, block=64)


def test_a_barrier_in_a_diverged_branch_is_refused():
    def kernel():
        if tid_x() < 3:
            bar_sync()

    assert "lanes 0-2" in fails(MachineError, kernel)


def test_an_error_in_one_warp_ends_the_others_and_leaves_no_thread():
    def kernel(out):
        tid = tid_x()
        if tid >= 32:
            st_global(out + 4 * tid, 1)
        bar_sync()

    before = set(threading.enumerate())
    message = fails(AddressError, kernel, np.zeros(32, np.int32), block=64)
    assert "CTA (0, 0, 0), warp 1" in message
    assert set(threading.enumerate()) <= before


def test_a_copy_lands_when_its_group_is_waited_for_and_not_before():
    def kernel(out, a, waits):
        tid = tid_x()
        cp_async(4 * tid, a + 4 * tid)
        commit()
        cp_async(128 + 4 * tid, a + 4 * tid)
        commit()
        if waits == 1:
            wait_1()
        if waits == 0:
            wait_0()
        st_global(out + 8 * tid, ld_shared(4 * tid))
        st_global(out + 8 * tid + 4, ld_shared(128 + 4 * tid))

    a = np.arange(32, dtype=np.int32)
    for waits, first, second in ((2, False, False), (1, True, False), (0, True, True)):
        got = values(kernel, a, waits, count=64, shared_bytes=256, hazards="off").reshape(32, 2)
        assert np.array_equal(got[:, 0], a if first else np.full(32, -1))
        assert np.array_equal(got[:, 1], a if second else np.full(32, -1))


def test_an_empty_group_counts_and_an_uncommitted_copy_never_lands():
    def kernel(out, a, commits):
        tid = tid_x()
        cp_async(4 * tid, a + 4 * tid)
        for _ in range(commits):
            commit()
        wait_1()
        st_global(out + 4 * tid, ld_shared(4 * tid))

    a = np.arange(32, dtype=np.int32)
    assert (values(kernel, a, 0, shared_bytes=128, hazards="off") == -1).all()
    assert (values(kernel, a, 1, shared_bytes=128, hazards="off") == -1).all()
    assert values(kernel, a, 2, shared_bytes=128).tolist() == a.tolist()


def test_shared_accesses_outside_or_misaligned_name_the_lane_and_the_line():
    def outside():
        tid = tid_x()
        if tid > 4:
            st_shared(4 * tid, tid)                      # a store outside

    def misaligned():
        ld_shared(2 * tid_x())                           # a crooked load

    def negative():
        ld_shared(tid_x() * 4 - 8)

    message = fails(AddressError, outside, shared_bytes=64)
    assert f":{line_of('a store outside')}:" in message
    assert "lane 16 touches bytes 64 to 67 of 64 bytes of shared memory" in message
    message = fails(AddressError, misaligned, shared_bytes=64)
    assert f":{line_of('a crooked load')}:" in message
    assert "lane 1 gives address 2, not a multiple of 4: the nearest are 0 and 4" in message
    assert f":{line_of('a crooked load')}:" in fails(AddressError, misaligned, shared_bytes=4096)
    assert "lane 0 touches bytes -8 to -5" in fails(AddressError, negative, shared_bytes=64)


def test_addresses_that_are_not_integers_are_refused():
    def halves():
        ld_shared(tid_x() / 2)

    def pointer(a):
        ld_shared(a)

    assert "integers" in fails(AddressError, halves, shared_bytes=64)
    assert "GlobalPointer" in fails(AddressError, pointer, np.zeros(4), shared_bytes=64)


def test_global_accesses_are_checked_per_active_lane():
    def kernel(out, n):
        tid = tid_x()
        if tid < n:
            st_global(out + 4 * tid, tid)                # past the end for n > 10

    def crooked(out):
        st_global(out + 2, 1)

    out = np.zeros(10, np.int32)
    run(kernel, 1, 32, out, 10)
    assert out.tolist() == list(range(10))
    message = fails(AddressError, kernel, out, 12)
    assert f":{line_of('past the end for n > 10')}:" in message
    assert "10 writes bytes 40 to 43, outside the int32 array of shape (10,) of argument 1 (out) (bytes 0 to 39)" in message
    assert "not aligned to 4" in fails(AddressError, crooked, out)
    out.setflags(write=False)
    assert "read-only" in fails(AddressError, kernel, out, 10)


def test_strided_arrays_are_their_own_memory():
    def kernel(a, stride):
        tid = tid_x()
        st_global(a + stride * tid, tid)

    a = np.zeros((32, 4), np.int32)
    run(kernel, 1, 32, a[:, 2], 16)
    assert a[:, 2].tolist() == list(range(32)) and not a[:, [0, 1, 3]].any()
    b = np.zeros(32, np.int32)
    run(kernel, 1, 32, b[::-1], -4)
    assert b[::-1].tolist() == list(range(32))
    assert "outside" in fails(AddressError, kernel, a[:8, 2], 16)


def test_alignment_counts_from_the_memory_that_an_array_views():
    load = Instruction(lambda warp, p: p.read(warp.active, 16))

    def kernel(a):
        load(a)

    a = np.zeros(16, np.float32)
    run(kernel, 1, 32, a[4:])
    assert "not aligned to 16" in fails(AddressError, kernel, a[1:])


def test_inactive_lanes_neither_read_nor_write_and_get_zeros():
    def kernel(out):
        tid = tid_x()
        st_shared(4 * tid, 5)
        x = 9
        if tid < 2:
            st_shared(4 * tid, 6)
            x = ld_shared(4 * tid)
        st_global(out + 4 * tid, 10 * ld_shared(4 * tid) + x)

    assert values(kernel, shared_bytes=128).tolist() == [66, 66] + [59] * 30


def test_matrix_rows_go_in_and_out():
    def kernel(out):
        tid = tid_x()
        stmatrix_x1(128 + 16 * (tid % 8), tid)
        stmatrix_x1(16 * (tid % 8), tid + 100)
        low, high = ldmatrix_x2(16 * (tid % 16))
        st_global(out + 4 * tid, 1000 * low + high)

    assert values(kernel, shared_bytes=256).tolist() == [1000 * (t + 100) + t for t in range(32)]


def test_matrix_instructions_need_a_whole_warp():
    def kernel():
        ldmatrix_x2(0)

    assert "all 32 lanes" in fails(MachineError, kernel, block=40, shared_bytes=256, hazards="off")


def test_unknown_instructions_are_refused_when_they_are_counted():
    odd = Instruction(lambda warp: warp.shared_load("ld.shared.b33", 0, 4))

    def kernel():
        odd()

    with pytest.raises(InstructionError):
        run(kernel, 1, 32, shared_bytes=64, hazards="off")


def test_register_arrays_hold_a_value_per_lane_and_respect_the_mask():
    def kernel(out):
        tid = tid_x()
        r = registers((2, 3), np.int32)
        for i in range(2):
            for j in range(3):
                r[i, j] = 10 * i + j
        if tid < 4:
            r[1, 2] += tid
        r[tid % 2, 0] = -1                               # lane-varying index
        st_global(out + 4 * tid, r[1, 2] + 100 * r[tid % 2, 0] + 10000 * r[1 - tid % 2, tid % 3])

    def expected(t):
        r = [[0, 1, 2], [10, 11, 12]]
        if t < 4:
            r[1][2] += t
        r[t % 2][0] = -1
        return r[1][2] + 100 * r[t % 2][0] + 10000 * r[1 - t % 2][t % 3]

    assert values(kernel).tolist() == [expected(t) for t in range(32)]


def test_register_arrays_start_as_poison_and_integers_wrap():
    def kernel(out):
        tid = tid_x()
        f, u = registers(2, np.float32), registers(2, np.uint32)
        u[0] = -1
        u[1] = tid - 1
        st_global_f32(out + 4 * tid, f[1])
        st_global(out + 128 + 4 * tid, u[0] == u[1])

    out = np.zeros(64, np.int32)
    run(kernel, 1, 32, out)
    assert np.isnan(out[:32].view(np.float32)).all()
    assert out[32:].tolist() == [1] + [0] * 31


def test_a_register_index_outside_the_array_is_refused():
    def constant():
        registers((2, 2), np.int32)[0, 2]

    def varying():
        registers((4,), np.int32)[tid_x() // 4]

    def short():
        registers((4, 2), np.int32)[1]

    assert "(2, 2) with (0, 2)" in fails(AddressError, constant)
    assert "lane 16 indexes a register array of shape (4,) with (4,)" in fails(AddressError, varying)
    assert "takes 2 indices, not 1" in fails(AddressError, short)


def test_a_pointer_knows_its_remainder_by_powers_of_two_up_to_256():
    array = np.zeros(64, np.float16)
    assert (GlobalPointer(array) + 6) % 16 == 6 and (GlobalPointer(array[5:]) + 6) % 16 == 0
    assert ((GlobalPointer(array) + 2 * np.arange(32)) % 4).tolist() == [0, 2] * 16
    for n in (0, 3, 512):
        with pytest.raises(AddressError, match="power of two"):
            GlobalPointer(array) % n
