"""Loops that read a flag until somebody sets it: others get their turn, and where nobody can set it that is an error."""

import machine_kit as kit
import numpy as np
import pytest
from hypothesis import strategies as st
from machine_kit import line_of
from tiers import given_few

from simlayout.errors import HazardError
from simlayout.machine import run


def arrays():
    return np.zeros(64, np.int32), np.zeros(8, np.int32)


def by_atomic(pointer):
    return kit.atomic_add(pointer, 0)                                       # adds


POLLS = kit.ld_relaxed, by_atomic, kit.ld_global
SETS = dict(zip(POLLS, (kit.st_relaxed, kit.atomic_add, kit.st_global), strict=True))


def handed_over(consumer, poll, put, data, flag):
    tid = kit.tid_x()
    if kit.ctaid_x() == consumer:
        if tid == 0:
            while poll(flag) == 0:                                          # polls
                pass
        kit.bar_sync()
        kit.st_global(data + 4 * (32 + tid), kit.ld_global(data + 4 * tid) + 1)
    else:
        kit.st_global(data + 4 * tid, tid)
        kit.bar_sync()
        if tid == 0:
            put(flag, 1)


@pytest.mark.parametrize("poll", POLLS)
def test_a_warp_that_polls_lets_the_cta_run_that_sets_the_flag(poll):
    for consumer in (0, 1):
        data, flag = arrays()
        run(handed_over, 2, 32, consumer, poll, SETS[poll], data, flag, together=True, hazards="off")
        assert data[32:].tolist() == list(range(1, 33))


@pytest.mark.parametrize("poll", POLLS)
@pytest.mark.parametrize("together", [False, True])
def test_what_was_released_is_known_to_who_has_polled_by_an_atomic_and_else_it_is_a_race(poll, together):
    hazards = run(handed_over, 2, 32, 1, poll, SETS[poll], *arrays(), together=together, hazards="report").hazards
    assert {hazard.kind for hazard in hazards} == (set() if poll is by_atomic else {"global race"})


@pytest.mark.parametrize("poll", POLLS)
def test_polling_for_a_cta_that_has_not_started_is_an_error_that_says_together(poll):
    message = kit.fails(HazardError, handed_over, 0, poll, SETS[poll], *arrays(), grid=3)
    assert f"test_polling.py:{line_of('polls' if poll is not by_atomic else 'adds')}" in message
    assert "2 CTAs of the grid are not resident: if it waits for one of those, launch it cooperatively" in message


def test_where_all_poll_what_nobody_changes_is_a_deadlock_that_names_the_lines():
    def crossed(flag):
        if kit.ctaid_x() == 0:
            while kit.ld_relaxed(flag) == 0:                                # zero
                pass
            kit.st_relaxed(flag + 4, 1)
        else:
            while True:
                if kit.ld_relaxed(flag + 4) != 0:                           # one
                    break
            kit.st_relaxed(flag, 1)

    message = kit.fails(HazardError, crossed, arrays()[1], grid=2, together=True)
    assert message.startswith("deadlock") and "together" not in message
    assert all(f"test_polling.py:{line_of(name)}" in message for name in ("zero", "one"))


def test_one_that_polls_and_one_that_waits_at_a_barrier_are_a_deadlock():
    def kernel(flag):
        if kit.tid_x() < 32:
            while kit.ld_relaxed(flag) == 0:
                pass
        kit.bar_sync()

    message = kit.fails(HazardError, kernel, arrays()[1], block=64)
    assert "reads again and again" in message and "bar.sync 0" in message


def test_a_loop_that_counts_its_looks_ends_by_itself():
    def kernel(flag, out):
        tries = 0
        while kit.ld_relaxed(flag) == 0 and tries < 1000:
            tries += 1
        kit.st_global(out, tries)

    data, flag = arrays()
    run(kernel, 1, 1, flag, data)
    assert data[0] == 1000


def test_a_loop_that_reads_one_word_many_times_is_no_deadlock():
    def kernel(flag, out):
        total = 0
        for _ in range(500):
            total += kit.ld_global(flag)
        kit.st_global(out, total)

    data, flag = arrays()
    flag[:] = 3
    run(kernel, 2, 1, flag, data, hazards="off")
    assert data[0] == 1500


def test_two_flags_may_be_looked_at_in_turn():
    def kernel(flag, out):
        if kit.ctaid_x() == 0:
            while kit.ld_relaxed(flag) == 0 or kit.ld_relaxed(flag + 4) == 0:
                pass
            kit.st_global(out, 1)
        elif kit.ctaid_x() == 1:
            while kit.ld_relaxed(flag + 4) == 0:
                pass
            kit.st_relaxed(flag, 1)
        else:
            kit.st_relaxed(flag + 4, 1)

    data, flag = arrays()
    run(kernel, 3, 1, flag, data, together=True)
    assert data[0] == 1


def test_each_lane_may_poll_a_flag_of_its_own():
    def kernel(flag, out):
        tid = kit.tid_x()
        if kit.ctaid_x() == 0:
            while kit.ld_relaxed(flag + 4 * tid) == 0:
                pass
            kit.st_global(out + 4 * tid, 1)
        elif tid == 0:
            for i in range(8):
                kit.st_relaxed(flag + 4 * (7 - i), 1)
                while kit.ld_relaxed(out + 252) == 1:                       # (it is not)
                    pass

    data, flag = arrays()
    run(kernel, 2, 8, flag, data, together=True)
    assert data[:8].tolist() == [1] * 8


def test_a_word_of_shared_memory_may_be_polled():
    def kernel(out):
        tid = kit.tid_x()
        if tid == 0:
            kit.st_shared(0, 0)
        kit.bar_sync()
        if tid < 32:
            while kit.ld_shared(0) == 0:
                pass
            kit.st_global(out, 5)
        elif tid == 32:
            kit.st_shared(0, 1)

    out = np.zeros(1, np.int32)
    run(kernel, 1, 64, out, shared_bytes=64, hazards="off")
    assert out[0] == 5


@given_few(8, 1_000, st.permutations(range(5)), st.sampled_from(POLLS[:2]))
def test_ctas_that_wait_for_one_another_in_any_order_all_come_through(order, poll):
    """CTA order[i] waits for order[i - 1], and adds to what that has left."""
    def kernel(places, flag, out, poll, put):
        at = int(places[kit.ctaid_x()])
        if at > 0:
            while poll(flag + 4 * (at - 1)) == 0:
                pass
            kit.st_global(out + 4 * at, kit.ld_global(out + 4 * (at - 1)) + 1)
        put(flag + 4 * at, 1)

    places = tuple(order.index(cta) for cta in range(5))
    data, flag = arrays()
    run(kernel, 5, 1, places, flag, data, poll, SETS[poll], together=True,
        hazards="off" if poll is kit.ld_relaxed else "raise")
    assert data[:5].tolist() == [0, 1, 2, 3, 4]
