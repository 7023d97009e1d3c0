"""The assertions of simlayout.testing fail where they must and nowhere else, with two lanes at most, and draw the banks."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl
from simlayout import testing
from simlayout.errors import AddressError, InstructionError, LayoutError, SimlayoutError
from simlayout.hardware import INSTRUCTIONS, instruction
from simlayout.proofs.natural import natural_access
from simlayout.testing import CounterexampleError, assert_conflict_free, assert_wavefronts
from simlayout.testing.function_assertions import assert_bijective, assert_equivalent

COMMON = settings(max_examples=100, deadline=None)
ROWS64 = sl.Layout((16, 64), (64, 1))
names = st.sampled_from(sorted(INSTRUCTIONS))


def load(tile=ROWS64, name="load A"):
    return natural_access(tile if hasattr(tile, "shape") else ROWS64, "ldmatrix.x4", "f16", name).with_tile(tile)


def failure(assertion, *args, **options):
    """(text, counterexample) of an assertion that fails; the text fits 100 columns and shows every place."""
    with pytest.raises(CounterexampleError) as caught:
        assertion(*args, **options)
    text, found = str(caught.value), caught.value.counterexample
    assert max(map(len, text.splitlines())) <= 100 and len(found.places) <= 2 and len(found.lanes) <= 2
    assert all(str(place) in re.sub(r"\n {6}", " ", text) for place in found.places)
    return text, found


# ---- assert_conflict_free --------------------------------------------------------------------------------------------

@given_few(25, 2_500, st.data(), names)
def test_an_access_fails_exactly_where_lanes_wait_and_the_two_named_are_such(data, name):
    row = instruction(name)
    given_, mask = data.draw(testing.addresses(name, max_accesses=2)), data.draw(testing.lane_masks(name))
    analysis = sl.analyze(name, given_, mask)
    waiting = analysis.wavefronts > row.times * analysis.ideal
    if not waiting.any():
        return assert_conflict_free(analysis)
    index = int(np.argmax(waiting))
    text, found = failure(assert_conflict_free, analysis)
    (a, b), (one, other) = found.lanes, found.places
    assert a < b and analysis.active[index, [a, b]].all() and f"instruction {index} of {len(given_)}" in text
    assert (one.address, other.address) == tuple(given_[index, [a, b]])
    meet = set(one.banks) & set(other.banks)
    if row.rule == "banks":
        groups = row.groups + (row.paired_groups or ())
        assert meet and (one.address != other.address or not row.merges)
        assert any({a, b} <= set(group) for group in groups)
    else:
        assert meet or name == "cp.async.cg.16" and one.address // 128 != other.address // 128
    assert "\nbank " in text


def remedy(assertion, *args, **options):
    """The last sentence of a failure."""
    text, _ = failure(assertion, *args, **options)
    return re.search(r"\n(what .*|no swizzle .*)\Z", text, re.S)[1].replace("\n    ", " ")


def skewed(row, col):
    """A swizzle of rows of 64 bytes that reads the row, where two rows share a line."""
    return row * 32 + (col ^ (row & 3) << 3)


def test_a_failure_ends_with_a_layout_that_mends_it_for_all_accesses_of_the_tile():
    assert remedy(assert_conflict_free, load()) == "what mends it: Sw<3,3,3> o (16,64):(64,1) is free of conflicts"
    one = load().with_tile(skewed)
    assert remedy(assert_conflict_free, one) == "what mends it: Sw<3,3,3> o (16,64):(64,1) is free of conflicts"
    assert remedy(assert_wavefronts, one, 16).startswith("what mends it: Sw<3,3,3> o ")
    store = sl.Access("store", "st.shared.b128", ROWS64, lambda tid, i: (4*i + tid // 8, 8*(tid % 8)), {"tid": 32, "i": 4})
    assert remedy(assert_conflict_free, ROWS64, for_=[load(), store]) == (
        "what mends it: Sw<3,3,3> o (16,64):(64,1) is free of conflicts for 'load A' and 'store' together")
    across = sl.Access("across", "ld.shared.b32", sl.Layout((32, 32), (32, 1)), lambda tid, k: (tid, k),
                       {"tid": 32, "k": 32}, "f32")
    assert remedy(assert_conflict_free, across).startswith("what mends it: Sw<5,0,5> o (32,32):(32,1) is free of conflicts")
    copy = sl.Access("copy", "cp.async.cg.16", sl.Tile(lambda row, col: row * 64 + (col | (row & 1) << 3), (16, 64)),
                     store.lanes, store.domain)
    assert "access 'copy' writes its tile in parts" in failure(assert_conflict_free, copy)[0]
    assert remedy(assert_conflict_free, copy) == "what mends it: (16,64):(64,1) is free of conflicts"


def test_where_looking_would_take_long_nothing_is_named():
    many = sl.Access("many", "ld.shared.b32", sl.Layout((32, 32), (32, 1)), lambda tid, k: (tid, 0 * k),
                     {"tid": 32, "k": 9999}, "f32")
    assert remedy(assert_conflict_free, many).startswith("no swizzle and no padding of the plain tile is known to be better")


@given_few(25, 1_000, testing.tiles("f16"), st.sampled_from(["ldmatrix.x4", "ldmatrix.x2", "stmatrix.x4", "st.shared.b64"]))
def test_the_layout_that_a_failure_names_is_as_good_as_it_says(tile, name):
    access = natural_access(tile, name, "f16")
    if not access.analyze().excess.any():
        return
    found = re.fullmatch(r"what mends it: (.*) is (free of conflicts|excess \d+).*", remedy(assert_conflict_free, access))
    if found and found[2] == "free of conflicts":
        assert_conflict_free(sl.parse(found[1]), for_=[access])
    elif found:
        assert f"excess {access.with_tile(sl.parse(found[1])).analyze().excess.sum()}" == found[2]


def test_the_remedy_is_looked_for_once_and_only_where_somebody_reads(monkeypatch):
    looked = []
    monkeypatch.setattr("simlayout.testing.conflicts.better_layout", lambda *accesses: looked.append(accesses))
    with pytest.raises(CounterexampleError) as caught:
        assert_conflict_free(load())
    assert looked == []
    assert str(caught.value) == str(caught.value) == str(pickle.loads(pickle.dumps(caught.value))) and len(looked) == 1


def test_the_picture_shows_the_phase_of_the_two_lanes_alone():
    broken = [16 * lane for lane in range(32)]
    broken[20] = broken[21] + 1024                              # in the third phase
    text, found = failure(assert_conflict_free, sl.analyze("st.shared.b128", broken))
    assert found.lanes == (20, 21) and "phase 2, lanes 16-23: 2 wavefronts" in text
    assert text.count("phase") == 1 and text.splitlines()[-2].startswith("w1") and "measured" not in text


def test_lanes_that_a_mask_would_merge_but_the_warp_keeps_apart_are_no_counterexample():
    addresses = [8 * (lane % 16) + 256 * (lane // 16) for lane in range(32)]     # the halves would meet if they merged
    assert_conflict_free(sl.analyze("ld.shared.b64", addresses))
    addresses[31] = addresses[30] + 128
    assert failure(assert_conflict_free, sl.analyze("ld.shared.b64", addresses))[1].lanes == (30, 31)


def test_a_failure_names_the_access_its_lanes_their_coordinates_and_banks():
    assert_conflict_free(load(sl.Swizzle(3, 3, 3) @ ROWS64))
    text, found = failure(assert_conflict_free, load())
    assert text.startswith("access 'load A' has bank conflicts: ldmatrix.x4 takes 32 wavefronts, 4 without them")
    one, other = found.places
    assert one.at == {"tid": 0, "k": 0} and other.at == {"tid": 1, "k": 0} and found.lanes == (0, 1)
    assert other.coordinate == (1, 0) and (other.offset, other.address, other.bytes) == (64, 128, 16)
    assert one.banks == other.banks == (0, 1, 2, 3) and list(other.words) == [32, 33, 34, 35]
    again = pickle.loads(pickle.dumps(CounterexampleError(text, found)))
    assert (str(again), again.counterexample) == (text, found)


@given_few(30, 100, testing.accesses(kinds=("padded", "swizzled")), st.data())
def test_what_a_failure_says_of_an_access_is_what_its_functions_give(access, data):
    mask = data.draw(testing.lane_masks(access.instruction))
    try:
        return assert_conflict_free(access, active=mask)
    except CounterexampleError as error:
        found = error.counterexample
    assert len(found.lanes) == 2 and mask[list(found.lanes)].all()
    for place in found.places:
        assert place.lane == place.at["tid"] and place.coordinate == access.coordinate(*place.at.values())
        assert place.offset == access.tile(*place.coordinate)
        assert place.address == place.offset * sl.dtype_of(access.dtype).bytes


def test_a_plan_is_free_of_conflicts_if_all_its_accesses_are():
    free = load(sl.Swizzle(3, 3, 3) @ ROWS64)
    good = sl.Plan("good", (16, 8, 16), 1, 1, "m16n8k16.f32.f16.f16.f32", (free,), (), (), 2048)
    assert_conflict_free(good)
    bad = sl.Plan("bad", (16, 8, 16), 1, 1, "m16n8k16.f32.f16.f16.f32", (free, load(name="second")), (), (), 2048)
    assert "access 'second' has bank conflicts" in failure(assert_conflict_free, bad)[0]


def test_a_tile_serves_the_accesses_that_are_given_in_the_place_of_their_own():
    assert_conflict_free(sl.Layout((16, 64), (72, 1)), for_=load())
    assert_conflict_free(lambda row, col: row * 64 + (col ^ (row & 7) << 3), for_=[load(), load(name="B")])
    assert failure(assert_conflict_free, ROWS64, for_=[load()])[1].lanes == (0, 1)


@pytest.mark.parametrize("tile, lane, fault", [
    (sl.Layout((16, 64), (65, 1)), 1, "address 130 is misaligned"), (lambda row, col: col - 8 * row, 1, "is negative"),
    (lambda row, col: (row == 5) * 2**20, 5, "out of range")])
def test_an_address_that_the_instruction_cannot_take_is_a_counterexample_of_one_lane(tile, lane, fault):
    text, found = failure(assert_conflict_free, load(tile))
    assert found.lanes == (lane,) and found.places[0].at == {"tid": lane, "k": 0} and fault in text


@pytest.mark.parametrize("name, addresses, sources, said", [
    ("red.shared.add.u32", [0] * 2 + [4 * n for n in range(30)], None, "the same word, which is not merged"),
    ("red.shared.add.f32", [0, 128] + [4 * n for n in range(1, 31)], None, "one bank, with different words"),
    ("cp.async.cg.16", [144 * n for n in range(32)], None, "different lines of 128 bytes"),
    ("cp.async.ca.4", [4 * n for n in range(32)], [128 * n for n in range(32)], "by their sources"),
    ("atom.shared.cas.b32", [128 * n for n in range(32)], None, "one bank, with different words")])
def test_what_two_lanes_contend_for_is_said(name, addresses, sources, said):
    text, found = failure(assert_conflict_free, sl.analyze(name, addresses, sources=sources))
    assert said in " ".join(text.split()) and len(found.lanes) == 2 and "\nbank " in text


# ---- assert_wavefronts -----------------------------------------------------------------------------------------------

def test_wavefronts_are_asserted_in_total_or_one_by_one():
    assert_wavefronts(load(), 128)
    assert_wavefronts(load().analyze(), [32] * 4)
    both = [[4 * n for n in range(32)], [8 * n for n in range(32)]]
    assert_wavefronts("ld.shared.b32", [1, 2], both)
    assert_wavefronts("ld.shared.b32", 2, both, active=np.arange(32) < 16)
    text, found = failure(assert_wavefronts, "ld.shared.b32", [1, 1], both)
    assert text.startswith("ld.shared.b32 takes 2 wavefronts where 1 is expected\n") and found.lanes == (0, 16)
    assert "in instruction 1 of 2" in text
    text = failure(assert_wavefronts, "ld.shared.b32", 2, both)[0]
    assert "takes 3 wavefronts where 2 are expected in 2 instructions" in text and "in instruction 1 of 2" in text
    text, found = failure(assert_wavefronts, load(), [32, 32, 64, 32])
    assert "32 wavefronts where 64 are expected" in text and "instruction 2 of 4, k = 2" in text and not found.places
    assert "instruction 0 of 2" in failure(assert_wavefronts, "ld.shared.b32", 4, both)[0]


@given_few(35, 100, testing.addresses("ld.shared.b64"), st.integers(-3, 3))
def test_any_other_number_of_wavefronts_is_refused(addresses, change):
    total = int(sl.analyze("ld.shared.b64", addresses).wavefronts.sum())
    if change == 0:
        return assert_wavefronts("ld.shared.b64", total, addresses)
    assert f"takes {total} wavefront" in failure(assert_wavefronts, "ld.shared.b64", total + change, addresses)[0]


# ---- assert_bijective and assert_equivalent --------------------------------------------------------------------------

@COMMON
@given(st.permutations(range(12)), st.lists(st.tuples(st.integers(0, 11), st.integers(-1, 13)), max_size=3))
def test_a_table_is_bijective_or_the_first_point_that_shows_it_is_not_is_named(order, changes):
    table = np.array(order)
    for at, value in changes:
        table[at] = value
    outside = [i for i in range(12) if not 0 <= table[i] < 12]
    again = [i for i in range(12) if table[i] in table[:i]]
    if not outside and not again:
        return assert_bijective(lambda x, y: table[3 * x + y], (4, 3))
    wanted = outside[:1] or [table.tolist().index(table[again[0]]), again[0]]
    text, found = failure(assert_bijective, lambda x, y: table[3 * x + y], {"x": 4, "y": 3}, dtype="f32")
    shown = [(place.at, place.offset, place.address) for place in found.places]
    assert shown == [({"x": i // 3, "y": i % 3}, table[i], 4 * table[i]) for i in wanted]
    assert found.lanes == () and ("\nbank " in text) == (table[wanted[0]] >= 0)


@given_few(35, 100, testing.one_to_one_layouts(max_size=200), testing.tiles())
def test_layouts_are_bijective_into_their_cosize_and_permutations_without_it(layout, tile):
    for one in (layout, tile):
        assert_bijective(one, size=one.cosize)
        assert one.cosize == one.size or failure(assert_bijective, one)[1].places[0].offset >= one.size


def test_size_is_advised_to_who_gave_none():
    padded = sl.Layout((4, 4), (6, 1))
    assert "of a padded tile give size=22)" in failure(assert_bijective, padded)[0]
    assert "give size" not in failure(assert_bijective, padded, size=18)[0]


def test_an_access_is_bijective_if_every_element_is_moved_once():
    assert_bijective(load())
    twice = sl.Access("rows", "ldmatrix.x4", ROWS64, lambda tid: (tid % 8, 8 * (tid // 16)))
    text, found = failure(assert_bijective, twice, size=1024)
    assert found.lanes == (0, 8) and text.startswith("access 'rows' is not one-to-one")
    half = sl.Access("half", "ldmatrix.x1", ROWS64, lambda tid, i, k: (8 * i + tid % 8, 8 * k), {"tid": 32, "i": 2, "k": 8})
    assert_bijective(half)                                      # its lanes 8 to 31 count for nothing


def test_what_differs_is_named_with_its_lane_where_it_has_one():
    tile = sl.Swizzle(3, 3, 3) @ ROWS64

    def wrong(tid, k):
        return load(tile).offset(tid, k) + (tid == 9) * (k == 2) * 2

    assert_equivalent(load(tile), load(sl.formula("row * 64 + (col ^ ((row & 7) << 3))")))
    text, found = failure(assert_equivalent, load(tile), wrong)
    assert text.startswith("access 'load A' and wrong are not equal") and found.lanes == (9,)
    left, right = found.places
    assert left.at == right.at == {"tid": 9, "k": 2} and right.offset == left.offset + 2 and "\nR " in text
    assert failure(assert_equivalent, sl.F2Map((1, 2)), sl.F2Map((1, 3)))[1].places[1].at == {"x": 2}


@pytest.mark.parametrize("call, error, fault", [
    (lambda: assert_conflict_free(ROWS64), LayoutError, "for_"),
    (lambda: assert_conflict_free(7), LayoutError, "no Access, Plan, Analysis or tile"),
    (lambda: assert_conflict_free(load(), for_=[load()]), SimlayoutError, "for_ goes with a tile"),
    (lambda: assert_conflict_free(load().analyze(), active=np.ones(32, bool)), SimlayoutError, "active"),
    (lambda: assert_conflict_free(load(), arch="sm_1"), InstructionError, "sm_1"),
    (lambda: assert_conflict_free(natural_access(ROWS64, "st.shared.b128", "f16"), active=[True] * 31), AddressError, "31"),
    (lambda: assert_conflict_free(sl.analyze("cp.async.cg.16", [0] * 32, valid=[16] * 32)), SimlayoutError, "src-size"),
    (lambda: assert_wavefronts("ld.shared.b32", 1), SimlayoutError, "addresses"),
    (lambda: assert_wavefronts(load(), 1, [0] * 32), SimlayoutError, "leave them out"),
    (lambda: assert_wavefronts(load(), [1, 2]), SimlayoutError, "4 instructions"),
    (lambda: assert_wavefronts(load(), 1.5), SimlayoutError, "expected is an int"),
    (lambda: assert_bijective(lambda x: x), LayoutError, "the function has no shape: say on which domain"),
    (lambda: assert_bijective([1, 2]), LayoutError, "takes a layout, another function, or an Access, not [1, 2]"),
    (lambda: assert_bijective(lambda x: x / 2, {"x": 4}), LayoutError, "a fraction"),
    (lambda: assert_bijective(lambda x: x, {"x": 1 << 25}), LayoutError, "at most"),
    (lambda: assert_bijective(ROWS64, size=0), LayoutError, "size = 0"),
    (lambda: assert_bijective(load(), {"tid": 32}), LayoutError, "domain of its own"),
    (lambda: assert_equivalent(lambda x: x, lambda x: x), LayoutError, "domain"),
    (lambda: assert_equivalent(load(), load().restricted(k=2)), LayoutError, "compare accesses"),
])
def test_arguments_that_make_no_sense_are_the_librarys_own_errors(call, error, fault):
    with pytest.raises(error, match=re.escape(fault)):
        call()


# ---- layouts by their text ---------------------------------------------------------------------------------------------

def test_the_text_of_a_layout_stands_for_the_layout():
    text = "Sw<3,3,3> o (16,64):(64,1)"
    tile = sl.parse(text)
    assert_bijective(text)
    assert_equivalent(text, tile)
    assert sl.plots.layout(text).get_title(loc="left") == f"{text}, f16"
    assert sl.plots.memory(text) == sl.plots.memory(tile)
    assert sl.translate(text, "triton").text == sl.translate(tile, "triton").text
    with pytest.raises(SimlayoutError, match="for_="):
        assert_conflict_free(text)


def test_lanes_that_miss_a_loop_of_the_domain_are_told_where_their_arguments_come_from():
    load = sl.Access("load", "ldmatrix.x4", "(16,64):(64,1)", lambda tid, k: (tid % 16, 16 * k), {"tid": 32})
    with pytest.raises(SimlayoutError, match="the names of the domain, in their order"):
        load.analyze()
