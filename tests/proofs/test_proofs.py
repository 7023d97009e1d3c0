"""verify holds on every point of the domain, or names the first one that fails."""

from itertools import product

import numpy as np
import pytest
from hypothesis import strategies as st
from tiers import given_few

from simlayout import Access, Layout, Rotation, SimlayoutError, Swizzle, VerificationError, verify
from simlayout.proofs import Certificate, digest

ROWS64 = Layout((16, 64), (64, 1))                            # rows of 128 bytes of f16
SWIZZLED = Swizzle(3, 3, 3) @ ROWS64


def ldmatrix(tile, lanes=lambda tid, k: (tid % 16, 16 * k + 8 * (tid % 32 // 16)), **more):
    return Access("load A", "ldmatrix.x4", tile, lanes, {"tid": 32, "k": 4}, **more)


def store(tile, lanes, instruction="st.shared.b128", domain=None, name="store A", **more):
    return Access(name, instruction, tile, lanes, domain or {"tid": 32}, excess=None, **more)


def failure(subject, *args, **options):
    with pytest.raises(VerificationError) as caught:
        verify(subject, *args, **options)
    return str(caught.value), caught.value.counterexample


# ---- tiles ----------------------------------------------------------------------------------------------------------

def test_a_tile_that_is_not_one_to_one_is_refused_with_the_first_clash():
    text, found = failure(Layout((4, 4), (2, 3)))
    assert found == {"coordinates": ((3, 0), (0, 2)), "offset": 6}
    assert "(3, 0) and (0, 2) both map to offset 6" in text


def test_a_broadcast_tile_is_refused():
    assert failure(Layout((2, 3), (0, 1)))[1] == {"coordinates": ((0, 0), (1, 0)), "offset": 0}


def test_a_tile_with_a_negative_offset_is_refused():
    class Shifted:
        shape, size = (2, 4), 8

        def __call__(self, row, col):
            return 4 * row + col - 3

        def offsets(self):
            return [self(i % 2, i // 2) for i in range(8)]

        def __str__(self):
            return "shifted"

    text, found = failure(Shifted())
    assert found == {"coordinates": ((0, 0),), "offset": -3} and "shifted maps coordinate (0, 0)" in text


@pytest.mark.parametrize("thing", [lambda row, col: row, Swizzle(3, 3, 3)], ids=["function", "swizzle"])
def test_what_has_no_domain_cannot_be_verified_alone(thing):
    assert "has no domain of its own" in failure(thing)[0]


@pytest.mark.parametrize("tile, unused", [
    (ROWS64, 0), (SWIZZLED, 0), (Layout((16, 64), (72, 1)), 15 * 8), (Layout(64, 2), 63),
    (Rotation(8, 4, 64) @ Layout((48, 32), (32, 1)), 0), (Layout(((2, 8), 32), ((32, 64), 1)), 0),
], ids=str)
def test_padding_swizzles_rotations_and_nested_layouts_pass(tile, unused):
    claims = verify(tile).claims
    assert claims[0] == f"one-to-one on its {tile.size} coordinates"
    assert claims[1] == f"in bounds: offsets 0..{tile.cosize - 1}"
    assert claims[2:] == ((f"{unused} elements unused",) if unused else ())


def test_a_tile_is_conflict_free_for_accesses_with_another_tile():
    plain = ldmatrix(ROWS64, excess=28)
    made = verify(SWIZZLED, conflict_free_for=[plain])
    assert made.claims[2] == "conflict-free for load A (ldmatrix.x4): 16 wavefronts = ideal"
    assert (made.instructions, made.wavefronts, made.excess) == (4, 16, 0)
    text, found = failure(ROWS64, conflict_free_for=[plain])
    assert found == {"point": {"tid": 0, "k": 0}, "excess": 28} and "has bank conflicts: 28 excess wavefronts" in text


# ---- accesses: what fails -------------------------------------------------------------------------------------------

def test_an_access_to_a_tile_that_is_not_one_to_one_is_refused():
    assert "both map to offset" in failure(ldmatrix(Layout((16, 64), (8, 1))))[0]


def test_a_lane_outside_the_tile_is_refused():
    text, found = failure(ldmatrix(SWIZZLED, lambda tid, k: (tid % 32 // 2 + 4 * k, 8 * (tid % 2))))
    assert found == {"point": {"tid": 24, "k": 1}, "mode": 0, "value": 16}
    assert "coordinate 0 is 16 where it must be under 16, at tid = 24, k = 1" in text


def test_a_negative_coordinate_is_refused():
    assert failure(ldmatrix(SWIZZLED, lambda tid, k: (tid % 16 - 1, 16 * k)))[1]["value"] == -1


def test_elements_that_run_past_the_end_of_a_row_are_refused():
    tile = Layout((16, 60), (72, 1))                          # the last 8 of 64 columns lie half in the padding
    text, found = failure(ldmatrix(tile))
    assert found == {"point": {"tid": 16, "k": 3}, "mode": 1, "value": 63}
    assert "its 8 elements reach coordinate 1 = 63, which must be under 60" in text


def test_a_misaligned_access_is_refused():
    text, found = failure(ldmatrix(Layout((16, 64), (68, 1))))
    assert found == {"point": {"tid": 1, "k": 0}, "address": 136}
    assert "address 136 is misaligned" in text and "(at tid = 1, k = 0)" in text
    assert text.endswith("let strides and padding be multiples of 8 f16 elements, and swizzles keep 16-byte chunks whole")


@pytest.mark.parametrize("base", [0, 1, 2])
def test_a_swizzle_that_tears_16_byte_chunks_is_refused(base):
    text, found = failure(ldmatrix(Swizzle(3, base, 6 - base) @ ROWS64))
    assert "the 8 elements of one 16-byte access are not neighbours" in text
    assert found["mode"] == 1 and found["point"]["tid"] > 0


def test_chunks_along_the_wrong_coordinate_are_refused():
    text, found = failure(ldmatrix(Layout((16, 64), (1, 16)), lambda tid, k: (tid % 16, 16 * k + 8 * (tid // 16))))
    assert "leaves the tile" in text and found["mode"] == 0   # the neighbours of (1, 0) run down the column


def test_elements_lie_along_a_coordinate_that_is_long_enough_for_them_whatever_the_stride_of_a_single_row():
    row = verify(Access("row", "ld.shared.b128", Layout((1, 256)), lambda tid: (0, 8 * tid)))     # its strides are (1,1)
    assert "the 8 elements of each 16-byte access are neighbours along coordinate 1" in row.claims


def test_a_function_with_a_negative_offset_is_refused():
    access = Access("load", "ld.shared.b32", lambda tid: tid - 2, dtype="f32")
    text, found = failure(access)
    assert found == {"point": {"tid": 0}, "address": -8} and "address -8 is negative" in text


def test_an_address_beyond_shared_memory_is_refused():
    access = Access("load", "ld.shared.b32", lambda tid: 1900 * tid, dtype="f32", excess=None)
    text, found = failure(access)
    assert found == {"point": {"tid": 31}, "address": 235600} and "out of range" in text
    assert failure(access, arch="sm_86")[1]["point"] == {"tid": 14}


def test_lanes_that_a_load_does_not_use_may_point_anywhere():
    access = Access("load B", "ldmatrix.x2", Layout((8, 64), (72, 1)),
                    lambda tid: (tid % 8 + 8 * (tid // 16), 8 * (tid // 8)))
    assert "addresses 0..1039 bytes, aligned to 16" in verify(access).claims


def test_two_lanes_that_store_to_the_same_bytes_are_refused():
    text, found = failure(store(ROWS64, lambda tid: (tid % 16, 8 * (tid // 20))))
    assert found == {"points": ({"tid": 0}, {"tid": 16})}
    assert "lanes 0 and 16 store to the same bytes (address 0)" in text


def test_two_lanes_may_load_the_same_bytes():
    access = Access("load", "ld.shared.b128", ROWS64, lambda tid: (0, 8 * (tid % 8)), excess=None)
    assert "store to the same bytes" not in str(verify(access))


@pytest.mark.parametrize("declared, found", [(0, 28), (27, 28), (29, 28)])
def test_a_wrong_declared_excess_is_refused_with_the_true_one(declared, found):
    text, counterexample = failure(ldmatrix(ROWS64, excess=declared))
    assert counterexample == {"point": {"tid": 0, "k": 0}, "excess": found} and f"Access(excess={found})" in text


def test_the_declared_excess_must_hold_for_every_instruction():
    mixed = ldmatrix(ROWS64, lambda tid, k: (0 * tid + 4 * k, 8 * (tid % 8)))
    assert verify(mixed).excess == 0
    text, found = failure(Access("load", "ld.shared.b32", lambda tid, k: 32 * tid * k, domain={"tid": 32, "k": 2},
                                 dtype="f32"))
    assert found == {"point": {"tid": 0, "k": 1}, "excess": 31} and "in 1 of 2 instructions" in text


@pytest.mark.parametrize("coordinate, complaint", [
    (lambda tid: (tid, 0, 1), r"gives \(0, 0, 1\) to"),
    (lambda tid: ((tid % 16, 0), 0), r"gives \(\(0, 0\), 0\) to"),
    (lambda tid: (tid % 16, (0, 0)), "takes 2 coordinates, nested as its shape or not"),
])
def test_a_coordinate_of_the_wrong_form_is_refused(coordinate, complaint):
    with pytest.raises(VerificationError, match=complaint):
        verify(Access("load", "ld.shared.b32", ROWS64, coordinate, dtype="f32"))


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(SimlayoutError, match="goes with a tile"):
        verify(ldmatrix(SWIZZLED), conflict_free_for=[ldmatrix(SWIZZLED)])
    with pytest.raises(SimlayoutError, match="goes with an Access"):
        verify(SWIZZLED, stored_by=[ldmatrix(SWIZZLED)])
    added = Access("added", "atom.shared.add.u32", ROWS64, lambda tid: (0, tid), dtype="u32", excess=None)
    with pytest.raises(SimlayoutError, match="takes stores alone: 'added' is of atom.shared.add.u32; give"):
        verify(ldmatrix(ROWS64), stored_by=added)
    with pytest.raises(SimlayoutError, match="moves 1 byte per lane"):
        Access("byte", "ld.shared.b8", ROWS64, dtype="f32")


@pytest.mark.parametrize("change, complaint", [
    *(({"domain": domain}, "starts with the threads") for domain in ({"k": 2, "tid": 32}, [("tid", 32)], None, {})),
    ({"domain": {"tid": 48}}, "multiple of 32"), ({"domain": {"tid": 32.0}}, "32.0"), ({"domain": {"tid": "32"}}, "'32'"),
    ({"domain": {"tid": 32, "i": float("nan")}}, "nan"), ({"domain": {"tid": 32, 5: 2}}, "has a name"),
    ({"tile": None}, "its tile is a layout"), ({"tile": "(16,"}, "column"), ({"lanes": "tid"}, "its lanes are a function"),
    ({"name": 5}, "has a name"), ({"excess": 1.5}, "1.5"), ({"dtype": None}, "dtype"), ({"instruction": None}, "PTX name"),
    ({"domain": {"tid": 32, "k": 0}}, "at least one"),
    ({"instruction": "ld.shared.b16", "dtype": "f32"}, "not a whole number of f32"),
    ({"instruction": "ld.shared.b33"}, "unknown shared-memory instruction"),
    ({"dtype": "f99"}, "f99"),
])
def test_a_malformed_access_is_refused_when_it_is_made(change, complaint):
    parts = {"name": "load", "instruction": "ld.shared.b32", "tile": ROWS64, "domain": {"tid": 32}} | change
    with pytest.raises(SimlayoutError, match=complaint):
        Access(**parts)


# ---- loads meet stores ----------------------------------------------------------------------------------------------

def copy(tile, rows=16, name="copy A"):
    return store(tile, lambda tid, i: (tid // 8 + 4 * i, 8 * (tid % 8)), domain={"tid": 32, "i": rows // 4}, name=name)


def test_a_load_of_what_was_stored_there_passes():
    claims = verify(ldmatrix(SWIZZLED), stored_by=[copy(SWIZZLED)]).claims
    assert claims[-1] == "agrees with 'copy A': every element read was stored there"


def test_a_load_of_an_element_never_stored_is_refused():
    text, found = failure(ldmatrix(SWIZZLED), stored_by=[copy(SWIZZLED, rows=12)])
    assert found["stored"] is None and found["element"][0] >= 12
    assert "which was never stored (stored by 'copy A')" in text


def test_a_load_of_an_element_stored_elsewhere_is_refused():
    text, found = failure(ldmatrix(SWIZZLED), stored_by=[copy(ROWS64)])
    assert found == {"element": (1, 0), "offset": 72, "stored": (1, 8)} and "which holds element (1, 8)" in text


def test_several_stores_together_may_fill_a_tile():
    half = {"tid": 32, "i": 2}
    upper = store(SWIZZLED, lambda tid, i: (tid // 8 + 4 * i, 8 * (tid % 8)), domain=half, name="upper")
    lower = store(SWIZZLED, lambda tid, i: (8 + tid // 8 + 4 * i, 8 * (tid % 8)), domain=half, name="lower")
    assert "agrees with 'upper' and 'lower'" in str(verify(ldmatrix(SWIZZLED), stored_by=[upper, lower]))


def test_two_stores_of_different_elements_to_one_place_are_refused():
    shifted = Swizzle(3, 3, 3) @ Layout((16, 64), (64, 1))
    other = store(lambda row, col: shifted((row + 1) % 16, col), lambda tid: (tid // 8, 8 * (tid % 8)), name="other")
    assert "is stored as well" in failure(ldmatrix(SWIZZLED), stored_by=[copy(SWIZZLED), other])[0]


def test_the_same_element_may_be_named_by_nested_and_by_plain_coordinates():
    tile = Layout(((2, 8), 64), ((64, 128), 1))
    whole = {"tid": 32, "i": 4}
    nested = store(tile, lambda tid, i: (((tid // 8) % 2, tid // 16 + 2 * i), 8 * (tid % 8)), domain=whole)
    verify(ldmatrix(tile, excess=28), stored_by=[nested])
    linear = store(tile, lambda tid, i: (tid // 8 + 4 * i + 16 * 8 * (tid % 8),), domain=whole)
    assert "not neighbours" in failure(ldmatrix(tile, excess=28), stored_by=[linear])[0]


def test_stores_of_another_type_cannot_be_compared():
    wide = store(Layout((16, 32), (32, 1)), lambda tid: (tid // 8, 4 * (tid % 8)), dtype="f32")
    with pytest.raises(SimlayoutError, match="reads f16 and 'store A' stores f32"):
        verify(ldmatrix(SWIZZLED), stored_by=[wide])


# ---- certificates ---------------------------------------------------------------------------------------------------

def test_two_functions_have_one_digest_exactly_if_they_agree():
    by_hand = ldmatrix(lambda row, col: 64 * row + (col // 8 ^ row % 8) * 8 + col % 8)
    assert verify(by_hand).digest == verify(ldmatrix(SWIZZLED)).digest
    assert verify(ldmatrix(SWIZZLED)).digest != verify(ldmatrix(Layout((16, 64), (72, 1)))).digest
    assert digest([[1, 2]]) != digest([[1], [2]]) and digest([[1, 2]]) == digest(np.array([[1, 2]], np.int16))


def test_an_excess_of_none_is_reported_and_not_demanded():
    made = verify(ldmatrix(ROWS64, excess=None))
    assert "excess: 28 wavefronts per instruction" in made.claims and made.excess == 4 * 28
    fewer = Access("fewer", "ld.shared.b32", ROWS64, lambda tid, k: (tid % (16 - 8*k), 0), {"tid": 32, "k": 2}, "f32", None)
    assert "excess: 7 to 15 wavefronts per instruction" in verify(fewer).claims


def test_a_declared_excess_is_proved():
    assert "excess exactly 28 wavefronts per instruction" in verify(ldmatrix(ROWS64, excess=28)).claims


def test_a_certificate_reads_as_text():
    made = verify(ldmatrix(SWIZZLED))
    assert str(made).splitlines() == [
        "load A: ldmatrix.x4, f16, sm_90: proved for every tid < 32, k < 4",
        "- one-to-one on its 1024 coordinates",
        "- in bounds: offsets 0..1023",
        "- the 8 elements of each 16-byte access are neighbours along coordinate 1",
        "- addresses 0..2047 bytes, aligned to 16",
        "- conflict-free: 4 wavefronts per instruction",
        "- 4 instructions, 16 wavefronts, ideal 16",
        f"- wavefront rule: {made.provenance}",
        f"digest {made.digest}",
    ]
    assert made.as_dict()["excess"] == 0 and made.as_dict()["claims"][0].startswith("one-to-one")
    assert str(verify(Layout(64))).splitlines()[0] == "64:1: proved for every coordinate < 64"
    one = Certificate("x", (), {"tid": 32}, "ld.shared.b32", "f32", "sm_90", instructions=1, wavefronts=1, ideal=1)
    assert "- 1 instruction, 1 wavefront, ideal 1" in str(one).splitlines()
    assert str(Certificate("x", ("c",), {"i": 2})).splitlines() == ["x: proved for every i < 2", "- c", "digest "]


def test_elsewhere_than_on_sm_90_the_rule_is_an_assumption():
    assert "taken to hold on sm_80" in verify(ldmatrix(SWIZZLED), arch="sm_80").provenance


def test_copies_say_that_their_count_is_not_known_exactly():
    access = Access("copy", "cp.async.cg.16", SWIZZLED, lambda tid: (tid // 8, 8 * (tid % 8)))
    claim = "conflict-free: 4 wavefronts per instruction (of the destinations alone)"
    assert claim in verify(access).claims


# ---- against an independent, slower twin ----------------------------------------------------------------------------

SHAPES = st.tuples(st.sampled_from([2, 4, 8, 16]), st.sampled_from([4, 8, 16, 32]))
STRIDES = st.tuples(st.sampled_from([1, 2, 4, 8, 16, 24, 32, 40, 640]), st.sampled_from([1, 2, 8, 16]))
LAYERS = st.sampled_from([None, Swizzle(1, 2, 3), Swizzle(2, 3, 3), Swizzle(3, 3, -3), Rotation(2, 4, 16),
                          Rotation(8, 2, 16)])


@st.composite
def tiles(draw):
    layout, layer = Layout(draw(SHAPES), draw(STRIDES)), draw(LAYERS)
    return layout if layer is None else layer @ layout


@given_few(70, 200, tiles())
def test_one_to_one_is_what_a_dictionary_says(tile):
    rows, cols = tile.shape
    seen = {}
    clash = False
    for col, row in product(range(cols), range(rows)):
        clash |= seen.setdefault(tile(row, col), (row, col)) != (row, col)
    if not clash:
        assert verify(tile).claims[1] == f"in bounds: offsets 0..{max(seen)}"
    else:
        first, second = failure(tile)[1]["coordinates"]
        assert first != second and tile(*first) == tile(*second)


@st.composite
def stores_with_lanes(draw):
    """A store of 1 or 2 elements of f32 by random lanes of random loops; a table, not a formula."""
    width, trips = draw(st.sampled_from([1, 2])), draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 400), min_size=32, max_size=32)
    table = np.array(draw(st.lists(row, min_size=trips, max_size=trips)))
    if draw(st.booleans()):
        table = np.arange(trips * 32).reshape(trips, 32) * draw(st.sampled_from([1, 3]))
        table[draw(st.integers(0, trips - 1)), draw(st.integers(0, 31))] = draw(st.integers(0, 100))
    table = table * width
    return Access("store", f"st.shared.b{32 * width}", lambda x: x, lambda tid, i: table[i, tid % 32],
                  {"tid": 32, "i": trips}, "f32", excess=None), table, width


@given_few(50, 150, stores_with_lanes())
def test_overlap_is_what_loops_over_lanes_and_bytes_say(case):
    access, table, width = case
    clashes = set()
    for i, row in enumerate(table.tolist()):
        owner = {}
        for lane, offset in enumerate(row):
            for byte in range(4 * offset, 4 * (offset + width)):
                if owner.setdefault(byte, lane) != lane:
                    clashes.add((i, owner[byte], lane))
    if not clashes:
        verify(access)
    else:
        a, b = failure(access)[1]["points"]
        assert a["i"] == b["i"] == min(clashes)[0] and table[a["i"], a["tid"]] == table[b["i"], b["tid"]]


@st.composite
def copies_and_loads(draw):
    """A tile, a store of some of its rows through it or through another tile, and an ldmatrix of some of its rows."""
    layer = draw(st.sampled_from([None, Swizzle(1, 3, 2), Swizzle(2, 3, 3), Rotation(8, 4, 32)]))
    base = Layout((16, 32), (draw(st.sampled_from([32, 40])), 1))
    tile = base if layer is None else layer @ base
    other = tile if draw(st.booleans()) else base
    rows, turn = draw(st.sampled_from([8, 16])), draw(st.integers(0, 1))
    put = Access("copy", "st.shared.b128", other, lambda tid, i: ((tid // 4 + 8 * i + turn) % 16, 8 * (tid % 4)),
                 {"tid": 32, "i": rows // 8}, excess=None)
    read = draw(st.sampled_from([8, 12, 16]))
    get = Access("load", "ldmatrix.x2", tile, lambda tid, k: (tid % read, 16 * k + 8 * (tid % 2)), {"tid": 32, "k": 2},
                 excess=None)
    return put, get


@given_few(30, 100, copies_and_loads())
def test_loads_meet_stores_exactly_if_a_simulated_memory_says_so(case):
    put, get = case
    if len(set(put.tile.offsets().tolist())) < 512 or len(set(get.tile.offsets().tolist())) < 512:
        return
    memory = {}
    for i, tid in product(range(put.domain["i"]), range(32)):
        row, col = put.lanes(tid, i)
        for j in range(8):
            memory[put.tile(row, col + j)] = row, col + j
    wrong = []
    for k, tid in product(range(2), range(16)):              # ldmatrix.x2 reads where lanes 0-15 point
        row, col = get.lanes(tid, k)
        wrong += [(row, col + j) for j in range(8) if memory.get(get.tile(row, col) + j) != (row, col + j)]
    if not wrong:
        verify(get, stored_by=[put])
    else:
        assert failure(get, stored_by=[put])[1]["element"] in wrong
