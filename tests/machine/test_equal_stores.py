"""Stores of one value to the same bytes of shared memory that nothing orders: a note and no hazard, and what comes later is
compared with all of them."""

import random

import machine_kit as kit
import numpy as np
import pytest
from few_bytes import GIVE, HAND, LOAD, STORE, STRONG_LOAD, STRONG_STORE, SYNC, played, program_of, racing
from hypothesis import strategies as st
from machine_kit import Instruction
from tiers import given_few

from simlayout.machine import run

NOTE = "of the value that another thread stores there too, and nothing orders the two: right as long as they are equal"


def launched(kernel, *args, warps=3):
    return run(kernel, 1, 32 * warps, *args, shared_bytes=128, hazards="report")


def kinds(kernel, *args, warps=3):
    return [found.kind for found in launched(kernel, *args, warps=warps).hazards]


def redundant(value):
    """Two threads store; a barrier; all load."""
    tid = kit.tid_x()
    if tid == 0:
        kit.st_shared(0, 7)
    if tid == 40:
        kit.st_shared(0, value)
    kit.bar_sync()
    kit.ld_shared(0)


def test_stores_of_one_value_are_a_note_and_those_of_two_values_a_hazard():
    trace = launched(redundant, 7)
    line = redundant.__code__.co_firstlineno + 6
    assert trace.hazards == () and trace.notes == (f"test_equal_stores.py:{line}: 1 st.shared.b32 {NOTE}",)
    trace = launched(redundant, 8)
    assert [found.kind for found in trace.hazards] == ["write after write"] and trace.notes == ()
    assert trace.hazards[0].bytes == (0,)                # the other three are zero in both


def test_lanes_of_one_warp_may_store_one_value_in_turn_and_not_two():
    def kernel(value):
        tid = kit.tid_x()
        if tid == 0:
            kit.st_shared(0, 7)
        if tid == 1:
            kit.st_shared(0, value)

    assert kinds(kernel, 7, warps=1) == [] and kinds(kernel, 8, warps=1) == ["lane race"]


def after_one_of_two(then, value):
    """Warps 0 and 1 store one value without order; warp 2 goes on after one of them only."""
    tid = kit.tid_x()
    if tid == 0:
        kit.st_shared(0, 7)
    if tid == 32:
        kit.st_shared(0, 7)
    if then == 0:
        if tid < 32:
            kit.bar_1_of_64()
    if then == 1:
        if tid >= 32:
            if tid < 64:
                kit.bar_1_of_64()
    if tid >= 64:
        kit.bar_1_of_64()
    if tid == 64:
        if value < 0:
            kit.ld_shared(0)
        else:
            kit.st_shared(0, value)


@pytest.mark.parametrize("then", [0, 1])
def test_what_comes_after_one_of_two_equal_stores_races_with_the_other(then):
    assert kinds(after_one_of_two, then, 8) == ["write after write"]
    assert kinds(after_one_of_two, then, 7) == []
    assert kinds(after_one_of_two, then, -1) == ["read after write"]


def test_a_store_of_the_value_that_is_there_races_with_what_stored_another_value_before():
    def kernel(first):
        tid = kit.tid_x()
        if tid == 0:
            if first:
                kit.st_shared(0, 7)
        if tid == 32:
            kit.st_shared(0, 8)
            kit.st_shared(0, 7)
        if tid == 64:
            if not first:
                kit.st_shared(0, 7)

    for first in (True, False):
        assert kinds(kernel, first) == ["write after write"]


def test_a_read_that_may_come_before_an_equal_store_is_a_hazard():
    def kernel():
        tid = kit.tid_x()
        if tid == 0:
            kit.st_shared(0, 7)
        if tid == 32:
            kit.st_shared(0, 7)
        if tid == 64:
            kit.ld_shared(0)

    assert set(kinds(kernel)) == {"read after write"}


def test_an_atomic_copy_or_strong_store_is_compared_with_every_equal_store():
    strong = Instruction(lambda warp, at: warp.shared_store("st.volatile.shared.b32", at, np.full((32, 4), 7, np.uint8),
                                                            "volatile"))
    atomic = Instruction(lambda warp, at: warp.peer_update("red.shared::cluster.add.u32", at, 4, 0)[0].rank)
    copy = Instruction(lambda warp, at: warp.commit_copy("cp.async.ca.4", at, np.full((32, 4), 7, np.uint8)))

    def kernel(then):
        tid = kit.tid_x()
        if tid == 0:
            kit.st_shared(0, 0x07070707)
        if tid == 32:
            kit.st_shared(0, 0x07070707)
        if tid >= 32:
            kit.bar_1_of_64()
        if tid == 64:
            if then == 0:
                strong(0)
            if then == 1:
                atomic(0)
            if then == 2:
                copy(0)

    for then, kind in enumerate(("write after write", "read after write", "write after write")):
        assert kind in kinds(kernel, then)


def test_an_endless_loop_of_equal_stores_keeps_few_of_them():
    def kernel(turns):
        tid = kit.tid_x()
        for k in range(turns):
            kit.st_shared(4 * (tid % 2), 7)
            kit.st_shared(4, 7 + 0 * k)

    shadows = []
    keep = Instruction(lambda warp: shadows.append(warp.cta.shadow))

    def watched(turns):
        kernel(turns)
        keep()

    assert kinds(watched, 40) == []
    assert max(len(rivals) for rivals in shadows[-1]._rivals.values()) <= 6


# ---- random ones: two bytes, two values, many orders ------------------------------------------------------------------


def races(program):
    """The bytes at which hazards are told of, compared with the twin's."""
    hazards, _ = played(program, "warps", shared=True)
    found = {byte for hazard in hazards for byte in hazard.bytes}
    assert found == racing(program, "warps")
    return found


def test_a_store_of_more_bytes_races_with_one_of_fewer_though_they_are_equal():
    program = [(STORE, 0, 0, 0, 2, 1), (STORE, 1, 0, 1, 1, 1)]
    assert races(program) == {1} and "writes too in pieces of another size" in played(program, "warps", True)[0][0].text
    assert races([program[0], (HAND, 0, 1, 0), program[1]]) == set()


@pytest.mark.parametrize("width, found", [(4, []), (8, ["write after write"]), (None, ["write after write"])])
def test_a_vector_is_as_many_stores_as_it_has_values(width, found):
    vector = Instruction(lambda warp: warp.shared_store("st.shared.b128", 0, np.full((32, 16), 7, np.uint8), width=width))

    def kernel():
        tid = kit.tid_x()
        if tid == 3:
            vector()
        if tid > 59:
            kit.st_shared(4 * (tid - 60), 0x07070707)

    assert kinds(kernel, warps=2) == found


KINDS = [LOAD, STORE, STORE, STORE, STORE, STRONG_LOAD, STRONG_STORE, HAND, HAND, HAND, GIVE, SYNC]


def test_a_plain_read_before_a_barrier_and_a_strong_one_behind_it_races_with_another_warps_strong_store():
    reads = (LOAD, 1, 0, 1, 1, 1), (HAND, 3, 1, 0), (STRONG_LOAD, 1, 0, 1, 1, 1)
    assert races([*reads, (STRONG_STORE, 2, 1, 1, 1, 1)]) == {1}


def test_a_strong_read_before_a_warp_sync_and_one_of_another_size_behind_it_races_with_a_strong_store():
    reads = (STRONG_LOAD, 3, 0, 0, 1, 0), (SYNC, 3), (STRONG_LOAD, 3, 2, 0, 2, 0)
    assert races([*reads, (STRONG_STORE, 2, 0, 0, 2, 0)]) == {0}


@given_few(40, 30_000, st.integers(0, 2**32 - 1))
def test_races_of_random_stores_of_few_values_are_those_of_the_twin(seed):
    races(program_of(random.Random(seed), KINDS, [1, 1, 1, 2]))
