"""cp.async, both ends: the rules of `banks.copies` against a slow twin that follows their words lane by lane."""

import numpy as np
import pytest
from hypothesis import strategies as st
from tiers import given_few

from simlayout.errors import AddressError, InstructionError
from simlayout.hardware import INSTRUCTIONS, analyze
from simlayout.hardware.banks import copies

LANE = np.arange(32)
THROUGH = ("cp.async.ca.4", "cp.async.ca.8", "cp.async.ca.16")
PAST = "cp.async.cg.16"


# The slow twin: plain Python on the lanes of one access.

def through_cache(size, targets, sources, active, reads):
    """Wavefronts of cp.async.ca: of each group, one more than the most clashes of any lane."""
    total, banks = 0, 128 // size
    for start in range(0, 32, banks):
        lanes = [i for i in range(start, start + banks) if active[i]]
        clashes = [0]
        for i in lanes:
            met = 0
            for j in lanes:
                same_target = targets[i] // size % banks == targets[j] // size % banks
                same_source = sources[i] // size % banks == sources[j] // size % banks
                met += i != j and (same_target or (same_source and reads[i] and reads[j]))
            clashes.append(met)
        total += 1 + max(clashes) if lanes else 0
    return total


def pieces_of(targets, sources, active, reads):
    """{(line read, line written, which half goes where, parity): lanes} of cp.async.cg."""
    owner = {}
    for i in range(32):
        if active[i]:
            owner.setdefault(targets[i], i)
    moved = {}                                                # (sector read, sector written) -> {(half, half)}
    lanes = {}
    for target, i in owner.items():
        if reads[i]:
            way = sources[i] // 32, target // 32
            moved.setdefault(way, set()).add((sources[i] // 16 % 2, target // 16 % 2))
            lanes.setdefault(way, []).append(i)
    pieces = {}
    for (source, target), halves in moved.items():
        key = source // 4, target // 4, frozenset(halves), source % 2 == target % 2
        pieces.setdefault(key, []).extend(lanes[source, target])
    return pieces


def is_duplicated(targets, sources, lanes):
    """Whether one 16-byte piece goes to two places of one line."""
    return any(sources[i] == sources[j] and targets[i] // 128 == targets[j] // 128
               for i in lanes for j in lanes if i < j)


@st.composite
def copied(draw, names=(*THROUGH, PAST)):
    """(name, targets, sources, active, sizes or None): ends crowded or in runs, sometimes with shared places."""
    name = draw(st.sampled_from(names))
    size = INSTRUCTIONS[name].bytes

    def end(top):
        spread = draw(st.sampled_from((2, 8, 32, 64, 256)))
        units = draw(st.lists(st.integers(0, spread - 1), min_size=32, max_size=32))
        if draw(st.booleans()):
            stride, start = draw(st.sampled_from((1, 1, 2, 3, 8, 9))), draw(st.integers(0, 8))
            units = [start + stride * i for i in range(32)]
            for i in draw(st.lists(st.integers(0, 31), max_size=4)):
                units[i] = draw(st.integers(0, spread - 1))
        if draw(st.booleans()):
            units = draw(st.permutations(units))
        return [size * u for u in units]

    active = [True] * 32
    if draw(st.booleans()):
        active = draw(st.lists(st.booleans(), min_size=32, max_size=32))
    sizes = None
    if draw(st.booleans()):
        sizes = draw(st.lists(st.sampled_from((0, 0, 1, size // 2, size)), min_size=32, max_size=32))
    return name, end(64), end(4096), active, sizes


def reading(active, sizes):
    return active if sizes is None else [a and s > 0 for a, s in zip(active, sizes, strict=True)]


@given_few(20, 2_000, copied(THROUGH))
def test_a_copy_through_the_cache_costs_what_the_slow_twin_says(copy):
    name, targets, sources, active, sizes = copy
    result = analyze(name, targets, active, sources=sources, valid=sizes)
    expected = through_cache(INSTRUCTIONS[name].bytes, targets, sources, active, reading(active, sizes))
    assert result.exact and result.wavefronts.tolist() == [expected]


@pytest.mark.parametrize("name", [*THROUGH, PAST])
def test_a_copy_costs_the_same_however_its_arrays_lie_in_memory(name):
    draw = np.random.default_rng(0)
    targets, sources = (INSTRUCTIONS[name].bytes * draw.integers(0, 64, (40, 32)) for _ in range(2))
    active, sizes = draw.random((40, 32)) < 0.8, draw.integers(0, 2, (40, 32)) * INSTRUCTIONS[name].bytes
    expected = analyze(name, targets, active, sources=sources, valid=sizes)
    for laid in (np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x[::-1].copy()[::-1]):
        found = analyze(name, laid(targets), laid(active), sources=laid(sources), valid=laid(sizes))
        for what in ("wavefronts", "ideal", "at_least", "at_most"):
            assert getattr(found, what).tolist() == getattr(expected, what).tolist()


@given_few(20, 2_000, copied((PAST,)))
def test_a_copy_past_the_cache_costs_what_the_slow_twin_says(copy):
    name, targets, sources, active, sizes = copy
    result = analyze(name, targets, active, sources=sources, valid=sizes)
    reads = reading(active, sizes)
    pieces = pieces_of(targets, sources, active, reads)
    lanes = [i for held in pieces.values() for i in held]
    pairs = len({key[:2] for key in pieces})
    zeros = 0 if sizes is None else through_cache(16, targets, sources, active, reads)
    said = [int(x[0]) - zeros for x in (result.at_least, result.wavefronts, result.at_most)]
    groups = sum(any(active[i:i + 8]) for i in range(0, 32, 8))
    assert result.ideal.tolist() == [groups + (0 if sizes is None else -(-len(lanes) // 8))]     # 8 lanes read 128 bytes
    if is_duplicated(targets, sources, lanes):
        assert said == [pairs, len(pieces), len(lanes)] and pairs <= len(pieces) <= len(lanes)
    else:
        assert said == [len(pieces)] * 3


@given_few(20, 2_000, copied((PAST,)), st.lists(st.booleans(), min_size=32, max_size=32))
def test_ignore_src_costs_what_a_src_size_of_all_or_nothing_does_where_some_lane_does_not_read(copy, reads):
    _, targets, sources, active, _ = copy
    ignoring = analyze(PAST, targets, active, sources=sources, valid=reads)
    all_read = all(r or not a for r, a in zip(reads, active, strict=True))
    same = analyze(PAST, targets, active, sources=sources, valid=None if all_read else [16 * r for r in reads])
    assert [ignoring.at_least, ignoring.wavefronts, ignoring.at_most] == [same.at_least, same.wavefronts, same.at_most]


@given_few(20, 2_000, copied())
def test_without_sources_the_bounds_hold_for_any(copy):
    name, targets, sources, active, sizes = copy
    blind = analyze(name, targets, active, valid=sizes)
    seen = analyze(name, targets, active, sources=sources, valid=sizes)
    assert blind.at_least[0] <= blind.wavefronts[0] <= blind.at_most[0]
    assert blind.at_least[0] <= seen.at_least[0] and seen.at_most[0] <= blind.at_most[0]
    assert blind.ideal.tolist() == seen.ideal.tolist()


@given_few(20, 2_000, copied(), st.integers(0, 2**20))
def test_only_the_place_of_a_source_in_its_line_matters_and_which_lines_are_the_same(copy, line):
    name, targets, sources, active, sizes = copy
    moved = [s + 128 * line for s in sources]
    first, second = (analyze(name, targets, active, sources=x, valid=sizes) for x in (sources, moved))
    assert (first.wavefronts, first.at_least, first.at_most) == (second.wavefronts, second.at_least, second.at_most)


@given_few(20, 2_000, copied())
def test_idle_lanes_may_have_any_source(copy):
    name, targets, sources, active, sizes = copy
    noisy = [s if a else -7 for s, a in zip(sources, active, strict=True)]
    first, second = (analyze(name, targets, active, sources=x, valid=sizes) for x in (sources, noisy))
    assert first.wavefronts.tolist() == second.wavefronts.tolist()


@given_few(20, 2_000, copied())
def test_the_explanation_of_a_copy_adds_up_and_fits_100_columns(copy):
    name, targets, sources, active, sizes = copy
    for given_sources in (sources, None):
        result = analyze(name, targets, active, sources=given_sources, valid=sizes)
        lines = result.explain().splitlines()
        assert max(map(len, lines)) <= 100 and all(line == line.rstrip() for line in lines)
        assert ("not known exactly" in result.explain()) is (not result.exact)
        phases = [x.split(": ")[1] for x in lines if x.startswith("  phase")]
        total = sum(int(x.removeprefix("no active lane, ").split()[0]) for x in phases)
        if name == PAST and given_sources:
            more = [int(x.split()[1]) for x in lines if x.startswith("  and ") and x.endswith(" more")]
            total += sum(x.startswith("  wavefront ") for x in lines) + sum(more)
        if name != PAST or given_sources:
            assert total == result.wavefronts[0]


def test_a_coalesced_copy_of_whole_lines_is_ideal_and_both_ends_can_spoil_it():
    line = 16 * LANE
    for name in ("cp.async.ca.16", PAST):
        assert analyze(name, line, sources=line).excess.tolist() == [0]
    assert analyze("cp.async.ca.16", line, sources=128 * LANE).wavefronts.tolist() == [32]
    assert analyze("cp.async.ca.16", 128 * LANE, sources=line).wavefronts.tolist() == [32]
    assert analyze("cp.async.ca.16", 0 * LANE, sources=0 * LANE).wavefronts.tolist() == [32]


def test_past_the_cache_the_lowest_lane_of_one_destination_stays():
    same = analyze(PAST, 0 * LANE, sources=16 * LANE)
    assert (same.exact, same.wavefronts.tolist()) == (True, [1])
    assert "another lane, lower, writes the same place: lanes 1-31" in same.explain()


def test_lanes_that_read_nothing_clash_at_their_destination_alone():
    targets, sources = 16 * LANE, 128 * LANE
    assert analyze("cp.async.ca.16", targets, sources=sources, valid=16 + 0 * LANE).wavefronts.tolist() == [32]
    assert analyze("cp.async.ca.16", targets, sources=sources, valid=0 * LANE).wavefronts.tolist() == [4]


def test_a_src_size_past_the_cache_costs_the_zeros_as_well():
    line = 16 * LANE
    assert analyze(PAST, line, sources=line, valid=16 + 0 * LANE).wavefronts.tolist() == [8]
    assert analyze(PAST, line, sources=line, valid=0 * LANE).wavefronts.tolist() == [4]
    assert "for the zeros of the src-size" in analyze(PAST, line, sources=line, valid=0 * LANE).explain()


def test_chunks_of_copies_do_not_show(monkeypatch):
    rng = np.random.default_rng(0)
    targets, sources = 16 * rng.integers(0, 32, (50, 32)), 16 * rng.integers(0, 32, (50, 32))
    whole = [analyze(name, targets, sources=sources) for name in ("cp.async.ca.16", PAST)]
    monkeypatch.setattr(copies, "_CHUNK", 7)
    for one in whole:
        again = analyze(one.instruction, targets, sources=sources)
        for name in ("wavefronts", "at_least", "at_most"):
            np.testing.assert_array_equal(getattr(again, name), getattr(one, name))


def test_no_copies_are_no_wavefronts():
    for name in (*THROUGH, PAST):
        assert len(analyze(name, np.zeros((0, 32), int), sources=np.zeros((0, 32), int)).wavefronts) == 0


def test_the_explanation_of_a_copy_names_the_lane_that_clashes_most_with_whom_and_where():
    text = analyze("cp.async.ca.16", 16 * (LANE % 8), sources=np.where(LANE < 3, 0, 16 * LANE)).explain()
    assert "phase 0, lanes 0-7: 3 wavefronts" in text
    assert "lane 0 clashes most: with lanes 1-2, as it reads banks 0-3" in text
    text = analyze("cp.async.ca.4", 4 * (LANE // 2)).explain()
    assert "lane 0 clashes most: with lane 1, as it writes bank 0" in text and "were not given" in text


@pytest.mark.parametrize("changed, error, words", [
    ({"sources": 16 * LANE[:31]}, AddressError, r"shape \(31,\)"),
    ({"sources": np.zeros((3, 32), int)}, AddressError, "sources has 3 rows, addresses 2"),
    ({"sources": 8 * LANE}, AddressError, "access 0, lane 1: source 8 is not a multiple of 16"),
    ({"sources": -16 * LANE}, AddressError, "lane 1: source -16"),
    ({"valid": 17 + 0 * LANE}, AddressError, "access 0, lane 0: src-size 17; cp.async.cg.16 takes 0 to 16 bytes"),
    ({"valid": np.zeros((3, 32), int)}, AddressError, "valid has 3 rows, addresses 2"),
    ({"instruction": "ld.shared.b128", "sources": 16 * LANE}, InstructionError, "reads no global memory: leave out sources"),
    ({"instruction": "st.shared.b128", "valid": 16 + 0 * LANE}, InstructionError, "has no src-size: leave out valid"),
])
def test_sources_and_sizes_that_cannot_be_are_refused(changed, error, words):
    call = {"instruction": PAST, "addresses": np.stack([16 * LANE] * 2), **changed}
    with pytest.raises(error, match=words) as caught:
        analyze(**call)
    assert "\n" not in str(caught.value)
