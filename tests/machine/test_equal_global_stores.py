"""Plain stores of one value to the same bytes of global memory that nothing orders: a note and no hazard.

What comes later is compared with all of them.
"""

import random

import machine_kit as kit
import numpy as np
import pytest
from few_bytes import GIVE, HAND, LOAD, SHAPES, STORE, STRONG_LOAD, STRONG_STORE, SYNC, played, program_of, racing
from hypothesis import strategies as st
from machine_kit import Instruction
from tiers import given_few

from simlayout.machine import run
from simlayout.machine.hazards import global_comparison, global_shadow

NOTE = "of the value that another thread stores there too, and nothing orders the two: right as long as they are equal"

LIMITS = {}, {"LISTED": 3, "PRUNE_AT": 3, "THINNED": 1}
"""Of what is kept: the machine's own, and some that short runs reach."""

ALL_SHAPES = pytest.mark.parametrize("shape", SHAPES)


def store(who, value, lanes=0, at=0, width=1, kind=STORE):
    return kind, who, lanes, at, width, value


def load(who, lanes=0, kind=LOAD):
    return kind, who, lanes, 0, 1, 0


def hand(one, other, kind=HAND, lane=0):
    return kind, one, other, lane


def races(program, shape):
    """The bytes at which races are told of, compared with the twin's."""
    hazards, _ = played(program, shape)
    assert {hazard.kind for hazard in hazards} <= {"global race"}
    found = {byte for hazard in hazards for byte in hazard.bytes}
    assert found == racing(program, shape)
    return found


@ALL_SHAPES
def test_stores_of_one_value_are_a_note_and_those_of_two_values_a_race(shape):
    hazards, notes = played([store(0, 7), store(1, 7), store(2, 7)], shape)
    assert hazards == [] and len(notes) == 1 and notes[0].endswith(NOTE)
    assert races([store(0, 7), store(1, 8)], shape) == {0}


@pytest.mark.parametrize("options", [{}, {"together": True}])
def test_every_thread_of_a_grid_may_set_one_flag(options):
    def kernel(done, value):
        kit.st_global(done, value)

    def different(done):
        kit.st_global(done, kit.ctaid_x() // 5)

    trace = run(kernel, 8, 64, np.zeros(1, np.int32), 7, hazards="report", **options)
    assert trace.hazards == () and [note.split()[1:3] for note in trace.notes] == [["1", "st_global"]]
    found, = run(different, 8, 32, np.zeros(1, np.int32), hazards="report", **options).hazards
    assert found.kind == "global race" and found.bytes == (0,)         # the other three are zero in both


def test_lanes_of_one_warp_may_store_one_value_in_turn_and_not_two():
    assert races([store(0, 7, 0), store(0, 7, 1)], "warps") == set()
    assert races([store(0, 7, 0), store(0, 8, 1)], "warps") == {0}


@ALL_SHAPES
def test_what_comes_after_one_of_two_equal_stores_races_with_the_other(shape):
    for first in (0, 1):
        both = [store(0, 7), store(1, 7), hand(first, 2)]
        assert races([*both, store(2, 8)], shape) == {0}
        assert races([*both, store(2, 7)], shape) == set()
        assert races([*both, load(2)], shape) == {0}
        assert races([*both, hand(1 - first, 2), load(2), store(2, 8)], shape) == set()


@ALL_SHAPES
@pytest.mark.parametrize("lane", [0, 1])
def test_what_comes_after_one_of_two_lanes_races_with_the_other(shape, lane):
    for both in ([store(0, 7, 0), store(0, 7, 1)], [store(0, 7, 2)], [store(0, 7, 2), store(0, 7, lane)]):
        assert races([*both, hand(0, 1, GIVE, lane), store(1, 8)], shape) == {0}
        assert races([*both, (SYNC, 0), hand(0, 1, GIVE, lane), store(1, 8)], shape) == set()


@ALL_SHAPES
@pytest.mark.parametrize("earlier", [store(0, 8), load(0), store(0, 7, kind=STRONG_STORE), load(0, kind=STRONG_LOAD)])
def test_what_comes_before_one_of_two_equal_stores_races_with_the_other(shape, earlier):
    assert races([earlier, store(0, 7), store(1, 7)], shape) == {0}
    assert races([earlier, hand(0, 1), store(0, 7), store(1, 7)], shape) == set()
    again = [earlier, store(0, 7), store(0, 7), store(0, 7), store(1, 7)]
    assert races(again, shape) == {0}
    assert races([store(0, 7), earlier, hand(0, 1), store(1, 7), hand(1, 2), store(3, 7)], shape) == {0}


@ALL_SHAPES
@pytest.mark.parametrize("reads", [[load(0, 1), load(0, 0)], [load(0, 2), hand(0, 1, GIVE), load(1)]])
def test_a_read_that_another_one_follows_in_part_is_kept(monkeypatch, shape, reads):
    for name, value in LIMITS[1].items():
        monkeypatch.setattr(global_shadow, name, value)
    begin = [store(0, 7), (SYNC, 0)]
    assert races([*begin, *reads, hand(0, 2, GIVE), store(2, 8)], shape) == {0}
    assert races([*begin, *reads, hand(0, 2), hand(1, 2), store(2, 8)], shape) == set()
    if len(reads) > 2:
        assert races([*begin, *reads, hand(1, 2), store(2, 8)], shape) == {0}


@ALL_SHAPES
def test_a_strong_store_of_one_value_races_with_a_plain_one(shape):
    for kinds in ((STORE, STRONG_STORE), (STRONG_STORE, STORE)):
        assert races([store(0, 7, kind=kinds[0]), store(1, 7, kind=kinds[1])], shape) == {0}


@ALL_SHAPES
def test_a_store_of_more_bytes_races_with_one_of_fewer_though_they_are_equal(shape):
    program = [store(0, 7, width=2), store(1, 7, at=1)]
    assert races(program, shape) == {1}
    assert "writes in pieces of another size, and nothing" in played(program, shape)[0][0].text


@pytest.mark.parametrize("width, kinds", [(4, []), (8, ["global race"]), (None, ["global race"])])
def test_a_vector_is_as_many_stores_as_it_has_values(width, kinds):
    vector = Instruction(lambda warp, a: a.write(warp.active, np.full((32, 16), 7, np.uint8), width=width))

    def kernel(a):
        if kit.ctaid_x() == 0:
            if kit.tid_x() == 3:
                vector(a)
        else:
            if kit.tid_x() < 4:
                kit.st_global(a + 4 * kit.tid_x(), 0x07070707)

    trace = run(kernel, 2, 32, np.zeros(4, np.int32), hazards="report")
    assert [found.kind for found in trace.hazards] == kinds


def test_a_loop_of_equal_stores_keeps_few_of_them(monkeypatch):
    made, new = [], global_shadow.GlobalShadow._new
    monkeypatch.setattr(global_shadow.GlobalShadow, "_new", lambda self, known: made.append(known) or new(self, known))

    def kernel(a, turns):
        tid = kit.tid_x()
        for k in range(turns):
            kit.st_global(a, 7)
            kit.st_global(a + 4 * (tid % 2), 7 + 0 * k)

    assert run(kernel, 5, 96, np.zeros(2, np.int32), 20, hazards="report").hazards == ()
    assert max(len(known.present) + len(known.beneath) for known in made) < 12


def test_of_many_equal_stores_that_ctas_have_released_none_is_forgotten_in_silence(monkeypatch):
    monkeypatch.setattr(global_comparison, "MOST_PAST", 2)
    ctas = 20

    def kernel(a, counters):
        cta = kit.ctaid_x()
        if kit.tid_x() == 0:
            if cta < ctas - 1:
                kit.st_global(a, 7)
                kit.atomic_add(counters + 4 * cta, 1)
            else:
                for k in range(1, ctas - 1):
                    kit.wait_at_least(counters + 4 * k, 1)
                kit.st_global(a, 8)

    trace = run(kernel, ctas, 32, np.zeros(1, np.int32), np.zeros(ctas, np.uint32), hazards="report")
    assert {found.kind for found in trace.hazards} == {"global race"}


KINDS = [LOAD, STORE, STORE, STORE, STORE, STRONG_LOAD, STRONG_STORE, HAND, HAND, GIVE, GIVE, SYNC]


@given_few(60, 30_000, st.integers(0, 2**32 - 1), st.sampled_from(SHAPES), st.sampled_from(LIMITS))
def test_races_of_random_stores_of_few_values_are_those_of_the_twin(seed, shape, limits):
    program = program_of(random.Random(seed), KINDS, [1, 1, 1, 2], in_turn=shape == "alone")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(global_shadow, name, value)
        races(program, shape)
