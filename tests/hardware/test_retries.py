"""Atomics that are loops: the rule of `banks.retries` against a slow twin that plays the rounds lane by lane."""

import numpy as np
import pytest
from hypothesis import example
from hypothesis import strategies as st
from tiers import given_few

from simlayout.hardware import INSTRUCTIONS, analyze

LANE = np.arange(32)
RETRIED = sorted(name for name, row in INSTRUCTIONS.items() if row.rule == "retry")
NARROW = [name for name in RETRIED if INSTRUCTIONS[name].bytes == 4]
SKIPPING = [name for name in RETRIED if ".min." in name or ".max." in name]


def played(width, addresses, active, changes):
    """(wavefronts of the exchanges, rounds as lists of lanes); changes(lane): whether its exchange changes the value.

    A round sends each group with pending lanes through the banks twice. Of the pending lanes of a bank of a group only
    the lowest can succeed; it fails if a group before it has changed its value this round.
    """
    pending, exchanged, rounds = [i for i in range(32) if active[i]], 0, []
    groups = [range(32)] if width == 4 else [range(16), range(16, 32)]
    while pending:
        rounds.append(list(pending))
        touched, done = set(), []
        for group in groups:
            taken, fresh = set(), set()
            lanes = [i for i in pending if i in group]
            exchanged += 2 if lanes else 0
            for i in lanes:
                bank = addresses[i] // width % (128 // width)
                if bank not in taken:
                    taken.add(bank)
                    if addresses[i] not in touched:
                        done.append(i)
                        if changes(i):
                            fresh.add(addresses[i])
            touched |= fresh
        pending = [i for i in pending if i not in done]
    return exchanged, rounds


def loads_of(width, addresses, rounds):
    """Wavefronts of the loads that begin the rounds, by the model, which test_banks.py proves."""
    masks = np.isin(LANE, [])[None] if not rounds else np.array([np.isin(LANE, lanes) for lanes in rounds])
    return int(analyze(f"ld.shared.b{8 * width}", np.stack([addresses] * len(masks)), masks).wavefronts.sum())


@st.composite
def atomics(draw, names=RETRIED):
    """(name, addresses, active), crowded."""
    name = draw(st.sampled_from(names))
    spread = draw(st.sampled_from((1, 2, 4, 16, 32, 256)))
    units = draw(st.lists(st.integers(0, spread - 1), min_size=32, max_size=32))
    step = draw(st.sampled_from((0, 0, 1, 2, 8, 16)))
    stride = draw(st.sampled_from((1, 1, 1, 16, 32)))
    active = [True] * 32
    if draw(st.booleans()):
        active = draw(st.lists(st.booleans(), min_size=32, max_size=32))
    return name, [INSTRUCTIONS[name].bytes * stride * units[min(i, i ^ step)] for i in range(32)], active


@given_few(20, 1_500, atomics())
def test_a_loop_whose_exchanges_change_every_value_takes_the_rounds_of_the_slow_twin(atomic):
    name, addresses, active = atomic
    width = INSTRUCTIONS[name].bytes
    result = analyze(name, addresses, active)
    exchanged, rounds = played(width, addresses, active, lambda lane: True)
    assert (int(result.wavefronts[0]), int(result.loads[0])) == (exchanged, loads_of(width, addresses, rounds))
    assert result.conflicts.tolist() == [0]


@given_few(20, 1_500, atomics([n for n in RETRIED if n not in SKIPPING]), st.integers(0, 2**32 - 1))
def test_the_bounds_hold_whichever_exchanges_change_their_value(atomic, changing):
    name, addresses, active = atomic
    result = analyze(name, addresses, active)
    exchanged, _ = played(INSTRUCTIONS[name].bytes, addresses, active, lambda lane: changing >> lane & 1)
    assert result.at_least[0] <= exchanged <= result.at_most[0]


FIRST_SKIPS = ("atom.shared.max.s64", [{10: 248, 11: 120, 17: 120}.get(i, 0) for i in range(32)],
               [i in (10, 11, 14, 15, 17) for i in range(32)])
"""Lane 10 skips, so lane 11 of its bank goes first and changes what lane 17 of the other group wants: a round more."""


@given_few(20, 1_500, atomics(SKIPPING), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
@example(FIRST_SKIPS, 1 << 11, 1 << 10)
def test_the_bounds_of_min_and_max_hold_whoever_skips_the_exchange(atomic, changing, skipping):
    name, addresses, active = atomic
    result = analyze(name, addresses, active)
    stay = [a and not skipping >> i & 1 for i, a in enumerate(active)]
    exchanged, _ = played(INSTRUCTIONS[name].bytes, addresses, stay, lambda lane: changing >> lane & 1)
    assert result.at_least[0] <= exchanged <= result.at_most[0]


@given_few(20, 1_500, atomics(NARROW))
def test_32_bit_loops_are_exact_whatever_the_values(atomic):
    name, addresses, active = atomic
    result = analyze(name, addresses, active)
    assert result.exact
    assert played(4, addresses, active, lambda lane: False)[0] == result.wavefronts[0]


@given_few(20, 1_500, atomics())
def test_the_explanation_of_a_loop_adds_up_and_fits_100_columns(atomic):
    name, addresses, active = atomic
    result = analyze(name, addresses, active)
    lines = result.explain().splitlines()
    assert max(map(len, lines)) <= 100 and all(line == line.rstrip() for line in lines)
    costs = [int(x.split(": ")[1].split()[0]) for x in lines if x.startswith("  round ") or " more round" in x]
    assert sum(costs) == result.wavefronts[0]
    assert ("of the loads in the loop" in result.explain()) is bool(any(active))


@pytest.mark.parametrize("name, addresses, wavefronts, loads", [
    ("red.shared.add.f32", 4 * LANE, 2, 1),          # one round: the loads of a warp, and an exchange in two passes
    ("red.shared.add.f32", 0 * LANE, 64, 32),        # one lane succeeds in each of 32 rounds
    ("atom.shared.add.f64", 8 * LANE, 4, 2),
    ("atom.shared.add.noftz.f16x2", 128 * LANE, 64, 32 * 33 // 2),
])
def test_loops_without_and_with_collisions_cost_what_the_hardware_counts(name, addresses, wavefronts, loads):
    result = analyze(name, addresses)
    assert (result.wavefronts.tolist(), result.loads.tolist()) == ([wavefronts], [loads])


def test_min_and_max_are_bounded_from_zero_on():
    for name in SKIPPING:
        result = analyze(name, 8 * LANE)
        assert (result.at_least.tolist(), result.at_most.tolist()) == ([0], [4])
        assert "between 0 and 4 wavefronts" in result.explain()


def test_the_rounds_of_an_explanation_name_the_lanes():
    text = analyze("red.shared.add.f32", 4 * (LANE // 8)).explain()
    assert "round 0: 2 wavefronts: lanes 0-31 try, lanes 0, 8, 16, 24 succeed" in text
    assert "and 4 more rounds: 8 wavefronts" in text
