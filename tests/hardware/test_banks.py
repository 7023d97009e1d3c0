"""analyze and the bank model, against a slow twin written from the rules as they are stated in words."""

import json

import numpy as np
import pytest
from hypothesis import strategies as st
from tiers import given_few

from simlayout.errors import AddressError, InstructionError
from simlayout.hardware import ARCHES, INSTRUCTIONS, analyze, arch_of, instruction
from simlayout.hardware.banks import model as banks

LANE = np.arange(32)
BANKED = sorted(name for name, row in INSTRUCTIONS.items() if row.rule == "banks")
"""The others have a test file each: test_copies.py and test_retries.py."""


# The slow twin: one lane, one word at a time, knowing nothing of the tables and the keys of the model.

def words_of(address, size):
    return sorted({byte // 4 for byte in range(address, address + size)})


def fullest_bank(lanes, addresses, size, merge):
    queue = {bank: [] for bank in range(32)}
    for lane in lanes:
        for word in words_of(addresses[lane], size):
            if not merge or word not in queue[word % 32]:
                queue[word % 32].append(word)
    return max(map(len, queue.values()))


def is_paired(addresses, active):
    def agree(step):
        return all(not active[i ^ step] or addresses[i] == addresses[i ^ step] for i in range(32) if active[i])
    return agree(1) or agree(2)


def slow(name, addresses, active):
    """(wavefronts, ideal) of one access."""
    counts = name == "red.shared.add.u32 1"
    family, *rest = name.removesuffix(" 1").split(".")
    merge, times = counts or family not in ("red", "atom"), 2 if "cas" in rest else 1
    if family in ("ldmatrix", "stmatrix"):
        size, span, used = 16, 8, 8 * int(rest[0][1:])
    else:
        size, used = int(rest[-1][1:]) // 8, 32
        span = {8: 16, 16: 8}.get(size, 32)
        if family == "ld" and "shared" in rest and size > 4 and is_paired(addresses, active):
            span *= 2
    groups = [[lane for lane in range(start, start + span) if active[lane]] for start in range(0, used, span)]
    busy = [group for group in groups if group]
    return times * sum(fullest_bank(group, addresses, size, merge) for group in busy), len(busy)


@st.composite
def accesses(draw):
    """(instruction, addresses, active): addresses crowded into few words, often shared with lane ^ 1, 2, 3 or 4."""
    name = draw(st.sampled_from(BANKED))
    row = INSTRUCTIONS[name]
    span = draw(st.sampled_from((1, 2, 8, 32, 64, 256)))
    stride = draw(st.sampled_from((1, 1, 4, 8, 32)))
    units = draw(st.lists(st.integers(0, span - 1), min_size=32, max_size=32))
    step = draw(st.sampled_from((0, 0, 1, 2, 3, 4)))
    addresses = [row.bytes * stride * units[min(lane, lane ^ step)] for lane in range(32)]
    active = [True] * 32
    if not row.needs_whole_warp:
        if draw(st.booleans()):
            active = draw(st.lists(st.booleans(), min_size=32, max_size=32))
        if draw(st.booleans()):  # one lane out of step
            addresses[draw(st.integers(0, 31))] = row.bytes * stride * draw(st.integers(0, span - 1))
    return name, addresses, active


@given_few(60, 150, accesses())
def test_the_model_equals_the_slow_twin(access):
    name, addresses, active = access
    result = analyze(name, addresses, active)
    wavefronts, ideal = slow(name, addresses, active)
    assert (int(result.wavefronts[0]), int(result.ideal[0])) == (wavefronts, ideal)
    assert int(result.excess[0]) == wavefronts - ideal


@pytest.mark.parametrize("name", BANKED)
def test_every_instruction_equals_the_slow_twin_on_random_and_paired_accesses(name):
    rng = np.random.default_rng(7)
    row = INSTRUCTIONS[name]
    units = rng.integers(0, rng.choice([2, 16, 64, 256], (40, 1)), (40, 32))
    for i, step in enumerate((1, 2, 3, 4, 1, 2)):
        units[i] = units[i, np.minimum(LANE, LANE ^ step)]
    active = rng.random((40, 32)) < rng.choice([0.1, 0.5, 1.0], (40, 1))
    active[7] = False
    if row.needs_whole_warp:
        active[:] = True
    result = analyze(name, row.bytes * units, active)
    expected = [slow(name, a, m) for a, m in zip((row.bytes * units).tolist(), active.tolist(), strict=True)]
    np.testing.assert_array_equal(np.stack([result.wavefronts, result.ideal], axis=1), expected)


@given_few(60, 150, accesses(), st.integers(0, 2**32 - 1))
def test_idle_lanes_may_hold_any_address(access, seed):
    name, addresses, active = access
    used = {lane for group in INSTRUCTIONS[name].groups for lane in group}
    noise = np.random.default_rng(seed).integers(-2**40, 2**40, 32)
    noisy = np.where(np.isin(LANE, list(used)) & active, addresses, noise)
    assert analyze(name, noisy, active).wavefronts == analyze(name, addresses, active).wavefronts


@given_few(60, 150, accesses(), st.integers(0, 100))
def test_moving_a_tile_by_whole_rows_of_banks_changes_nothing(access, rows):
    name, addresses, active = access
    moved = np.array(addresses) + 128 * rows
    assert analyze(name, moved, active).wavefronts == analyze(name, addresses, active).wavefronts


def test_chunks_do_not_show(monkeypatch):
    rng = np.random.default_rng(0)
    addresses = rng.integers(0, 64, (50, 32)) * 16
    addresses[::3] = addresses[::3, LANE & ~1]
    whole = analyze("ld.shared.b128", addresses)
    monkeypatch.setattr(banks, "_CHUNK", 7)
    np.testing.assert_array_equal(analyze("ld.shared.b128", addresses).wavefronts, whole.wavefronts)
    np.testing.assert_array_equal(analyze("ld.shared.b128", addresses).ideal, whole.ideal)


@pytest.mark.parametrize("name, addresses, wavefronts", [
    ("ld.shared.b32", 4 * LANE, 1), ("ld.shared.b32", 0 * LANE, 1), ("ld.shared.b32", 8 * LANE, 2),
    ("ld.shared.b8", LANE, 1), ("ld.shared.b16", 2 * LANE, 1), ("st.shared.b32", 0 * LANE, 1),
    ("ld.shared.b64", 0 * LANE, 1), ("ld.shared.b64", 8 * LANE, 2), ("st.shared.b64", 0 * LANE, 2),
    ("ld.shared.b128", 0 * LANE, 2), ("ld.shared.b128", 16 * LANE, 4), ("st.shared.b128", 0 * LANE, 4),
    ("ldmatrix.x4", 16 * LANE, 4), ("ldmatrix.x4", 128 * LANE, 32), ("ldmatrix.x1", 128 * LANE, 8),
    ("cp.async.ca.16", 0 * LANE, 32), ("red.shared.add.u32", 0 * LANE, 32), ("red.shared.add.u32", 4 * LANE, 1),
    ("atom.shared.cas.b32", 0 * LANE, 64), ("atom.shared.cas.b64", 8 * LANE, 4),
])
def test_the_textbook_patterns_cost_what_the_hardware_counts(name, addresses, wavefronts):
    assert analyze(name, addresses).wavefronts.tolist() == [wavefronts]


def test_the_31_lanes_of_word_0_and_one_of_word_32_make_2_wavefronts():
    assert analyze("ld.shared.b32", np.where(LANE == 31, 128, 0)).wavefronts.tolist() == [2]


def test_pairs_merge_over_lane_1_or_2_but_not_3_or_4():
    ideal = [analyze("ld.shared.b128", 16 * np.minimum(LANE, LANE ^ step)).ideal.tolist() for step in (1, 2, 3, 4)]
    assert ideal == [[2], [2], [4], [4]]


def test_one_lane_out_of_step_parts_the_pairs_of_the_whole_warp():
    addresses = 16 * (LANE // 2)
    addresses[31] += 16
    assert analyze("ld.shared.b128", addresses).ideal.tolist() == [4]
    assert analyze("ld.shared.b128", addresses, LANE != 31).ideal.tolist() == [2]


def test_conflicts_are_what_the_counter_of_the_kind_shows():
    same = 0 * LANE
    assert analyze("ld.shared.b32", 8 * LANE).conflicts.tolist() == [1]
    assert analyze("red.shared.add.u32", same).conflicts.tolist() == [31]
    assert analyze("atom.shared.cas.b32", same).conflicts.tolist() == [31]
    assert analyze("red.shared.add.u32", same, np.zeros(32, bool)).conflicts.tolist() == [0]
    assert analyze("atom.shared.add.f32", same).conflicts.tolist() == [0]
    assert analyze("cp.async.ca.16", same).conflicts.tolist() == [28]
    assert analyze("cp.async.cg.16", same).conflicts.tolist() == [0]


def test_many_accesses_give_what_each_gives_alone():
    addresses = np.random.default_rng(1).integers(0, 512, (20, 32)) * 8
    together = analyze("ld.shared.b64", addresses)
    assert together.wavefronts.tolist() == [int(analyze("ld.shared.b64", a).wavefronts[0]) for a in addresses]
    assert len(together) == 20


def test_no_accesses_are_no_wavefronts():
    assert analyze("ldmatrix.x4", np.zeros((0, 32), int)).wavefronts.shape == (0,)


# Errors name the fault and the fix.

@pytest.mark.parametrize("addresses, words", [
    (np.where(LANE == 5, 24, 0), "access 0, lane 5: address 24 is misaligned; ldmatrix.x4 needs a multiple of "
                                 "16 bytes, the nearest is 16"),
    (np.where(LANE == 3, -16, 0), "access 0, lane 3: address -16 is negative"),
    (np.where(LANE == 3, 227 * 1024, 0), "lane 3: address 232448 is out of range.*sm_90 has 227 KiB"),
    (LANE * 1.0, "integers, not float64"),
    ([[16] * 31], r"shape \(1, 31\)"),
    (np.zeros((2, 2, 32), int), "give one per lane"),
    ([10**30] * 32, "address 1000000000000000000000000000000 is out of range"),
    ([None] * 32, "integers, not None"),
])
def test_bad_addresses_are_refused_with_their_place(addresses, words):
    with pytest.raises(AddressError, match=words) as caught:
        analyze("ldmatrix.x4", addresses)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("active, words", [
    ([1] * 32, "active is int64"), ([True] * 31, r"shape \(31,\)"), (0xFFFFFFFF, "give bool"),
    (np.ones((3, 32), bool), "active has 3 rows, addresses 2"),
])
def test_bad_masks_are_refused(active, words):
    with pytest.raises(AddressError, match=words):
        analyze("ld.shared.b32", np.zeros((2, 32), int), active)


def test_the_last_bytes_of_shared_memory_are_in_range_and_the_next_are_not():
    for arch in (a for a in ARCHES.values() if a.capability):
        top = arch.shared_bytes_per_cta
        assert analyze("ld.shared.b128", [top - 16] * 32, arch=arch.name).wavefronts.tolist() == [2]
        with pytest.raises(AddressError, match="out of range"):
            analyze("ld.shared.b128", [top] * 32, arch=arch.name)


def test_a_masked_matrix_instruction_is_refused_with_the_lane():
    for name in ("ldmatrix.x1", "stmatrix.x4.trans"):
        with pytest.raises(InstructionError, match="lane 30 of access 0 is inactive"):
            analyze(name, 16 * LANE, LANE != 30)


def test_instructions_younger_than_the_architecture_are_refused():
    assert analyze("ldmatrix.x4", 16 * LANE, arch="sm_75").wavefronts.tolist() == [4]
    with pytest.raises(InstructionError, match="cp.async.ca.4 does not exist on sm_75; it needs sm_80"):
        analyze("cp.async.ca.4", 4 * LANE, arch="sm_75")
    with pytest.raises(InstructionError, match="needs sm_90"):
        analyze("stmatrix.x1", 16 * LANE, arch="sm_89")
    with pytest.raises(InstructionError, match="unknown architecture 'sm_42'; use one of sm_75"):
        analyze("ld.shared.b32", 4 * LANE, arch="sm_42")


def test_sm_90a_is_sm_90():
    assert arch_of("sm_90a") is arch_of("sm_90")


# Names.

@pytest.mark.parametrize("alias, name", [
    ("ld.shared.u32", "ld.shared.b32"), ("ld.shared.f32", "ld.shared.b32"), ("ld.shared.s8", "ld.shared.b8"),
    ("ld.shared.v2.f32", "ld.shared.b64"), ("ld.shared.v4.b32", "ld.shared.b128"), ("ld.shared.v4.u8", "ld.shared.b32"),
    ("st.shared.v4.f32", "st.shared.b128"), ("ld.volatile.shared.v2.u64", "ld.shared.b128"),
    ("st.shared::cta.f64", "st.shared.b64"), ("ld.relaxed.cta.shared.u32", "ld.shared.b32"),
    ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "ldmatrix.x4.trans"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16", "ldmatrix.x1"),
    ("stmatrix.sync.aligned.x2.m8n8.shared.b16", "stmatrix.x2"),
    ("cp.async.cg.shared.global.L2::128B.16", "cp.async.cg.16"), ("cp.async.ca.shared.global.8", "cp.async.ca.8"),
    ("atom.relaxed.cta.shared.cas.b64", "atom.shared.cas.b64"), ("red.shared::cta.add.u32", "red.shared.add.u32"),
])
def test_ptx_spellings_are_understood(alias, name):
    assert instruction(alias).name == name


@pytest.mark.parametrize("name", sorted(INSTRUCTIONS))
def test_every_name_is_its_own_spelling(name):
    assert instruction(name) is instruction(INSTRUCTIONS[name]) is INSTRUCTIONS[name]


@pytest.mark.parametrize("name, words", [
    ("atom.relaxed.shared.add.noftz.f16", "is a loop: ptxas makes ld.shared.b32 .* round atom.shared.cas.b32"),
    ("ldmatrix.x3", "unknown .* 'ldmatrix.x3'; did you mean .*ldmatrix.x4"), ("ld.global.b32", "did you mean"),
    ("LDS.128", "did you mean ld.shared.b128"), ("LDSM.16.M88.4", "did you mean ldmatrix.x4"),
    ("ldmatrix", "unknown"), ("", "unknown"), ("mov.b32", "unknown"), ("ld.shared.v8.f32", "two ld.shared.v4"),
    ("ld.shared.v4.f64", "unknown"), ("cp.async.cg.8", "did you mean cp.async.c"),
    ("wgmma.m64n256k16.f32.f16.f16", "tensor pipe"), ("cp.async.bulk.tensor.2d", "no LSU wavefronts"),
    (None, "its PTX name, text"), (7, "its PTX name, text"),
])
def test_unknown_instructions_are_refused_with_near_matches(name, words):
    with pytest.raises(InstructionError, match=words) as caught:
        analyze(name, 4 * LANE)
    assert "\n" not in str(caught.value)


def test_every_phase_is_a_set_of_lanes_of_its_own():
    for row in INSTRUCTIONS.values():
        for groups in (row.groups, row.paired_groups or ()):
            lanes = [lane for group in groups for lane in group]
            assert len(set(lanes)) == len(lanes) and set(lanes) <= set(range(32))


# Where a rule comes from, and why a number is what it is.

def test_measured_here_assumed_elsewhere():
    here, there = (analyze("st.shared.b64", 8 * LANE, arch=arch).provenance for arch in ("sm_90", "sm_80"))
    assert (here.kind, here.cases) == ("measured", 441 + 1950 + 420) and "H200" in here.text
    assert (there.kind, there.cases) == ("assumed", 0) and "sm_80" in there.text


def test_what_is_not_known_exactly_says_so():
    unsure = {name for name, row in INSTRUCTIONS.items() if not row.exact}
    assert {"cp.async.cg.16", "atom.shared.max.u64", "red.shared.add.u64", "atom.shared.add.f64"} <= unsure
    assert {INSTRUCTIONS[name].rule for name in unsure} == {"bypass", "retry"}
    for name in sorted(unsure | {"cp.async.ca.4"}):              # crowded, and for copies without their sources
        result = analyze(name, INSTRUCTIONS[name].bytes * (LANE % 16))
        assert not result.exact and result.at_least[0] < result.at_most[0] and result.as_dict()["caveat"]
        assert "not known exactly" in result.explain() and ": between " in result.explain()


@pytest.mark.parametrize("name", BANKED)
def test_what_the_banks_alone_decide_is_exact(name):
    result = analyze(name, INSTRUCTIONS[name].bytes * (LANE * LANE % 61))
    assert result.exact and not result.caveat
    assert result.at_least.tolist() == result.at_most.tolist() == result.wavefronts.tolist() and result.loads.tolist() == [0]


@given_few(60, 150, accesses())
def test_the_explanation_adds_up_and_fits_100_columns(access):
    name, addresses, active = access
    result = analyze(name, addresses, active)
    lines = result.explain().splitlines()
    groups = [line.split(": ")[1] for line in lines if line.startswith(("  phase", "  matrix"))]
    assert sum(int(cost.removeprefix("no active lane, ").split()[0]) for cost in groups) == int(result.wavefronts[0])
    assert max(map(len, lines)) <= 100 and all(line == line.rstrip() for line in lines)


def test_the_explanation_names_banks_words_and_lanes():
    text = analyze("ld.shared.b32", 128 * (LANE % 3) + 4 * 7).explain()
    assert "bank 7: word 7 (lanes 0, 3, 6" in text and "word 39 (lanes 1, 4" in text
    assert "banks 0-3: words 0-3 (lane 0), words 32-35 (lane 1)" in analyze("ldmatrix.x1", 128 * (LANE % 8)).explain()


def test_the_explanation_of_lanes_without_conflicts_says_how_their_words_lie():
    for name, addresses, told in (
            ("ld.shared.b32", 4 * LANE, "32 words in 32 banks"), ("ld.shared.b8", LANE, "8 words in 8 banks"),
            ("ld.shared.b32", 0 * LANE, "1 word in 1 bank"), ("ld.shared.b128", 16 * LANE, "32 words in 32 banks")):
        assert f"1 wavefront: {told}" in analyze(name, addresses).explain()


def test_the_explanation_names_the_lanes_that_part_the_pairs():
    addresses = 8 * (LANE // 2)
    assert "  paired: " in analyze("ld.shared.b64", addresses).explain()
    addresses[21] += 8
    assert "not paired: lanes 20 and 21 (^ 1) and lanes 0 and 2 (^ 2)" in analyze("ld.shared.b64", addresses).explain()


def test_the_second_access_is_explained_on_request():
    result = analyze("ld.shared.b32", [4 * LANE, 8 * LANE])
    assert result.explain(1).startswith("ld.shared.b32, access 1 of 2 on sm_90: 2 wavefronts")
    assert result.explain(-1) == result.explain(1)


def test_an_analysis_becomes_json():
    made = json.loads(json.dumps(analyze("ld.shared.b32", [4 * LANE, 8 * LANE]).as_dict()))
    assert made["wavefronts"] == [1, 2] and made["conflicts"] == [0, 1] and made["provenance"]["kind"] == "measured"
