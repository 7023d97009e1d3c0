"""Lanes that leave before others: lane-varying loops, break, continue and return, as every lane alone would take them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from machine_kit import ctaid_x, fails, ld_global, ld_shared, line_of, st_global, st_shared, tid_x, together, values, vote
from random_kernels import by_numba, lane_by_lane, on_the_machine, programs
from tiers import given_few

from simlayout.errors import HazardError, MachineError
from simlayout.machine import run


def of_lanes(function, count=32):
    return [function(t) for t in range(count)]


def test_a_kernel_may_return_early_where_a_lane_has_nothing_to_do():
    def kernel(out, n):
        i = tid_x() + 32 * ctaid_x()
        if i >= n:
            return
        st_global(out + 4 * i, i)

    for n in (0, 1, 31, 32, 33, 63, 64):
        assert values(kernel, n, grid=2).tolist() == [*range(n), *[-1] * (64 - n)]


def test_what_follows_a_return_in_the_same_arm_or_after_it_is_executed_by_the_others_alone():
    def kernel(out):
        t = tid_x()
        if t < 20:
            if t % 2:
                st_global(out + 4 * t, 1)
                return
            st_global(out + 4 * t, 10 + vote())
        else:
            st_global(out + 4 * t, 100 + vote())
        if t > 25:
            return
        st_global(out + 4 * t, 200 + vote())

    assert values(kernel).tolist() == of_lanes(lambda t: 1 if t < 20 and t % 2 else 112 if t > 25 else 216)


def search(table, key, n):
    for i in range(n):
        if ld_global(table + 4 * i) == key:
            return i
    return -1


def sign(x):
    if x < 0:
        return -1
    if x > 0:
        return 1
    return 0


def test_a_device_function_returns_to_each_lane_what_that_lane_found():
    def kernel(out, table, n):
        t = tid_x()
        st_global(out + 4 * t, 10 * search(table, t, n) + sign(t - 16))

    table = np.array([3, 1, 30, 17], np.int32)
    found = {int(v): i for i, v in enumerate(table)}
    assert values(kernel, table, 4).tolist() == of_lanes(lambda t: 10 * found.get(t, -1) + sign(t - 16))


def test_a_while_goes_on_for_the_lanes_that_want_to_and_all_meet_after_it():
    def collatz(out):
        t = tid_x()
        n, steps = t + 1, 0
        while n != 1:
            if n % 2:
                n = 3 * n + 1
            else:
                n = n // 2
            steps += 1
        together()                                       # all 32 lanes are here again
        st_global(out + 4 * t, steps)

    def steps(n):
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    assert values(collatz).tolist() == of_lanes(lambda t: steps(t + 1))


def test_a_range_may_differ_by_lane_and_its_variable_keeps_each_lanes_last_value():
    def kernel(out):
        t = tid_x()
        i, total = 100, 0
        for i in range(t % 3, t, t % 2 + 1):
            total += i
        st_global(out + 4 * t, 1000 * i + total)

    def alone(t):
        i, total = 100, 0
        for i in range(t % 3, t, t % 2 + 1):
            total += i
        return 1000 * i + total

    assert values(kernel).tolist() == of_lanes(alone)


def test_a_range_may_run_down_in_some_lanes_and_up_in_others():
    def kernel(out):
        t = tid_x()
        total = 0
        for i in range(10, 2 * t, 2 * (t % 2) - 1):
            total = 3 * total % 1009 + i
        st_global(out + 4 * t, total)

    def alone(t):
        total = 0
        for i in range(10, 2 * t, 2 * (t % 2) - 1):
            total = 3 * total % 1009 + i
        return total

    assert values(kernel).tolist() == of_lanes(alone)


def test_break_and_continue_by_some_lanes_leave_the_others_in_the_loop():
    def kernel(out):
        t = tid_x()
        total = last = 0
        for i in range(8):
            if i == t:
                break
            if (i + t) % 3 == 0:
                continue
            total += vote()
            last = i
        else:
            total += 1000
        st_global(out + 4 * t, 100 * last + total)

    def lanes_at(i):
        return sum(1 for t in range(32) if i not in range(t, 8) and (i + t) % 3)

    def alone(t):
        total = last = 0
        for i in range(min(t, 8)):
            if (i + t) % 3:
                total, last = total + lanes_at(i), i
        return 100 * last + total + (1000 if t >= 8 else 0)

    assert values(kernel).tolist() == of_lanes(alone)


def test_a_return_inside_two_loops_takes_its_lanes_out_of_both():
    def kernel(out, n):
        t = tid_x()
        for i in range(4):
            j = 0
            while j < n:
                if 8 * i + j == t:
                    st_global(out + 4 * t, 100 * i + j)
                    return
                j += 1
        st_global(out + 4 * t, -2)

    assert values(kernel, 8).tolist() == of_lanes(lambda t: 100 * (t // 8) + t % 8)
    assert values(kernel, 6).tolist() == of_lanes(lambda t: 100 * (t // 8) + t % 8 if t % 8 < 6 else -2)


def test_lanes_that_returned_from_the_kernel_are_not_waited_for():
    def kernel(out, n):
        t = tid_x()
        if t >= n:
            return
        together()
        st_global(out + 4 * t, vote())

    assert values(kernel, 20)[:20].tolist() == [20] * 20


def test_lanes_that_wait_at_the_end_of_a_loop_are_missed_by_an_instruction_of_the_whole_warp():
    def kernel(out):
        t = tid_x()
        for i in range(4):
            if t == i:                                   # these lanes part
                continue
            together()

    message = fails(HazardError, kernel, np.zeros(32, np.int32))
    assert "must be executed by all lanes" in message and f"test_machine_flow.py:{line_of('these lanes part')}" in message


def test_counters_of_lanes_that_left_a_loop_stay_as_they_were():
    def kernel(out):
        t = tid_x()
        i = 0
        while True:
            if i >= t:
                break
            i += 1
            i = i + 0
        st_global(out + 4 * t, i)

    assert values(kernel).tolist() == list(range(32))


def test_a_loop_with_all_lanes_together_runs_as_pythons_own():
    def kernel(out):
        t = tid_x()
        total = 0
        for i in range(10):
            if i == 2:
                continue
            if i == 5:
                break
            together()
            total += i
        while total < 20:
            together()
            total += 6
        st_global(out + 4 * t, total)

    assert values(kernel).tolist() == [20] * 32


def test_every_lanes_shared_memory_accesses_in_a_loop_are_its_own():
    def kernel(out):
        t = tid_x()
        st_shared(4 * t, t)
        total, i = 0, 0
        while i <= t:
            total += ld_shared(4 * t) if i % 2 else 1
            i += 1
        st_global(out + 4 * t, total)

    assert values(kernel, shared_bytes=128).tolist() == of_lanes(lambda t: sum(t if i % 2 else 1 for i in range(t + 1)))


def test_lists_written_in_a_diverged_branch_change_in_its_lanes_alone():
    def kernel(out):
        t = tid_x()
        held = [0, 0]
        if t < 5:
            held[1] = t
        else:
            held[0] += 7
        st_global(out + 4 * t, 10 * held[0] + held[1])

    assert values(kernel).tolist() == of_lanes(lambda t: t if t < 5 else 70)


def half(x):
    if x < 16:
        return x // 2


def test_what_only_some_lanes_return_and_ranges_that_are_none_are_refused_with_the_fix():
    def some(out):
        st_global(out, half(tid_x()))

    def stands(out):
        for i in range(0, 4, tid_x() % 2):
            st_global(out, i)

    def fraction(out):
        for i in range(tid_x() / 2):
            st_global(out, i)

    def listed(out):
        st_global(out, sum([i for i in range(tid_x())]))

    for kernel, said in ((some, "return one for all"), (stands, "step 0"), (fraction, "its bounds are integers"),
                         (listed, "write the loop out")):
        assert said in fails(MachineError, kernel, np.zeros(32, np.int32))


def test_a_warp_that_all_returned_leaves_the_others_their_work():
    def kernel(out, n):
        t = tid_x()
        if t >= n:
            return
        st_global(out + 4 * t, t)

    out = np.full(96, -1, np.int32)
    run(kernel, 1, 96, out, 40)
    assert out.tolist() == [*range(40), *[-1] * 56]


def test_the_mask_of_the_caller_is_back_after_an_early_return():
    def kernel(out):
        t = tid_x()
        if t < 12:
            x = sign(t - 6) + vote()
        else:
            x = vote()
        together()
        st_global(out + 4 * t, x)

    assert values(kernel).tolist() == of_lanes(lambda t: sign(t - 6) + 12 if t < 12 else 20)


@given_few(12, 2_000, programs(), st.integers(0, 9), st.sampled_from([32, 20, 40]))
def test_random_programs_give_each_lane_what_it_computes_alone(text, n, block):
    assert on_the_machine(text, n, block).tolist() == lane_by_lane(text, n, block).tolist()


@pytest.mark.sweep
@pytest.mark.parametrize("number", range(16))
def test_thousands_of_random_programs_give_each_lane_what_numba_computes(number):
    @seed(number)
    @settings(max_examples=130, database=None, suppress_health_check=list(HealthCheck))
    @given(programs(), st.integers(0, 9))
    def compared(text, n):
        assert on_the_machine(text, n).tolist() == by_numba(text, n).tolist()

    compared()
