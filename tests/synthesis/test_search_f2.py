"""The family f2 against trying every invertible matrix, and what is known of the tutorials' tiles."""

from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import product
from math import prod
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl
from simlayout.algebra.f2 import rank
from simlayout.proofs.natural import natural_access
from simlayout.synthesis import f2_banks, search
from simlayout.synthesis.f2 import completed
from simlayout.synthesis.f2_banks import Differences, differences, kernels, spreads

LANES = np.arange(32)


def from_table(name, instruction, tile, table, dtype="f16"):
    """The Access whose lane l gives table[l], an offset of a tile of one mode."""
    return sl.Access(name, instruction, tile, lambda tid: np.asarray(table)[tid], dtype=dtype)


def gaussian(n, k):
    """How many subspaces of k dimensions F2^n has, by its closed form."""
    return prod(2**(n - i) - 1 for i in range(k)) // prod(2**(k - i) - 1 for i in range(k))


@lru_cache(None)
def invertible():
    """All 20,160 invertible 4x4 matrices, by columns: uint [20160, 4]."""
    every = np.array(list(product(range(1, 16), repeat=4)))
    return np.array([columns for columns in every.tolist() if rank(columns) == 4])


def by_trying(accesses, chunk):
    """Excess of every invertible matrix on the chunks of a tile of 16 of them, int [20160]; none by the code under test."""
    tables = np.zeros((len(invertible()), 16), np.int64)
    for bit in range(4):
        tables ^= np.where(np.arange(16) >> bit & 1, invertible()[:, bit:bit + 1], 0)
    total = 0
    for access in accesses:
        offsets = access.offsets().reshape(-1)
        moved = tables[:, offsets // chunk] * chunk + offsets % chunk
        total = total + sl.analyze(access.instruction, moved * (access.bytes // access.elements)).excess
    return total


NARROW = ["ld.shared.b32", "st.shared.b32", "st.shared.b16", "ld.shared.b64", "st.shared.b64", "atom.shared.add.u32",
          "atom.shared.cas.b32", "cp.async.ca.4"]
WIDE = ["ldmatrix.x4", "ldmatrix.x2.trans", "stmatrix.x1", "ld.shared.b128", "st.shared.b128", "ld.b128", "cp.async.ca.16"]


@st.composite
def tables(draw, instruction, xor, size=128):
    """A table of 32 offsets of f16 in a tile of `size`, aligned for the instruction; lanes XOR, or are anything."""
    step = sl.instruction(instruction).bytes // 2
    if xor:
        columns = draw(st.lists(st.integers(0, size // step - 1), min_size=5, max_size=5))
        return (step * sl.F2Map(columns)(LANES)).tolist()
    return [step * x for x in draw(st.lists(st.integers(0, size // step - 1), min_size=32, max_size=32))]


@given_few(5, 400, st.data(), st.lists(st.sampled_from(NARROW), max_size=2), st.sampled_from(WIDE))
def test_lanes_that_xor_have_the_least_excess_and_as_many_conflict_free_layouts_as_all_matrices(data, narrow, wide):
    tile = sl.Layout(128)
    accesses = [from_table(f"{i}", name, tile, data.draw(tables(name, True))) for i, name in enumerate([*narrow, wide])]
    tried = by_trying(accesses, 8)
    found = search(accesses, ("f2",))
    assert found.exhausted and found.least == found.bound == tried.min()
    assert found.total == gaussian(4, 3) and found.conflict_free * len(tried) == (tried == 0).sum() * found.total
    assert all(c.excess == sum(int(a.analyze().excess.sum()) for a in c.accesses) for c in found)


@given_few(5, 300, st.data(),
           st.sampled_from(["ldmatrix.x1", "ldmatrix.x2", "st.shared.b128", "ld.shared.b128", "cp.async.ca.16"]))
def test_lanes_that_carry_are_decided_too(data, wide):
    """Free of conflicts or not is exact for any lanes; an excess above 0 is proved to be 1 at least."""
    tile = sl.Layout(128)
    few = data.draw(st.integers(1, 16))
    access = from_table("any", wide, tile, [x % (8 * few) for x in data.draw(tables(wide, False))])
    tried = by_trying([access], 8)
    found = search([access], ("f2",))
    assert found.conflict_free * len(tried) == (tried == 0).sum() * found.total
    assert found.bound <= tried.min() <= found.least and (found.bound == 0) == (tried.min() == 0)


@given_few(3, 300, st.data(), st.booleans())
def test_copies_that_count_lines_are_never_promised_too_little(data, xor):
    tile = sl.Layout(128)
    access = from_table("any", "cp.async.cg.16", tile, data.draw(tables("cp.async.cg.16", xor)))
    found = search([access], ("f2",))
    tried = by_trying([access], 8)
    assert found.bound <= tried.min() <= found.least and found.exhausted


def test_a_copy_down_a_column_of_lines_costs_its_lines_in_every_layout():
    tile = sl.Layout((32, 64), (64, 1))
    found = search([sl.Access("copy", "cp.async.cg.16", tile, lambda tid: (tid, 0 * tid))], ("f2", "swizzle"))
    assert found.least == 28 and found.conflict_free == 0             # 32 lines, one wavefront each, instead of 4


@given_few(5, 300, st.data(), st.permutations(range(7)), st.integers(0, 2**7 - 1))
def test_no_matrix_on_seven_bits_is_below_the_bound(data, order, mixed):
    tile = sl.Layout(1024)
    names = ("ldmatrix.x4", "st.shared.b64")
    accesses = [from_table(name, name, tile, data.draw(tables(name, True, 1024))) for name in names]
    found = search(accesses, ("f2",))
    columns = [8 << bit for bit in order]
    columns = [c ^ (8 << order[i - 1] if i and mixed >> i & 1 else 0) for i, c in enumerate(columns)]
    layout = sl.F2Map((1, 2, 4, *columns)) @ tile
    assert sum(int(a.with_tile(layout).analyze().excess.sum()) for a in accesses) >= found.bound == found.least


@given(st.integers(0, 9), st.integers(0, 5))
def test_kernels_are_counted_as_the_gaussian_binomial_has_them(bits, banks):
    assert kernels(bits, 0, banks) == (gaussian(bits, banks) if banks <= bits else 0)


@given(st.integers(1, 7), st.data())
def test_a_completed_map_is_invertible_and_has_the_kernel_that_it_was_made_for(bits, data):
    banks = data.draw(st.integers(1, min(bits, 5)))
    weights = data.draw(st.dictionaries(st.integers(1, 2**bits - 1), st.integers(1, 3), max_size=6))
    found = Differences(bits, banks, weights, 0, True, True)
    known = spreads(found)
    for images in known.states.images[:5]:
        columns = completed(found, known.order, images)
        made = sl.F2Map(columns)
        assert made.injective and made.outputs <= bits
        low = (1 << banks) - 1
        assert sum(w for v, w in weights.items() if made(v) & low == 0) == known.states.costs[0]


# ---- the tutorials' tiles -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("columns, total, free, first", [
    (16, 155, 64, "Sw<1,3,3>"), (32, 1395, 512, "Sw<2,3,3>"), (64, 11811, 4096, "Sw<3,3,3>"),
    (128, 97155, 32768, "Sw<3,3,4>")])
def test_the_first_f2_layout_of_a_tile_is_its_smallest_swizzle(columns, total, free, first):
    tile = sl.Layout((16, columns), (columns, 1))
    found = search([natural_access(tile, "ldmatrix.x4", "f16")], ("f2",), limit=1)
    assert (found.total, found.conflict_free, found.exhausted) == (total, free, True)
    assert str(found[0].layout) == f"{first} o {tile}" and found[0].excess == 0


def test_the_two_layers_of_problem_2_1_are_found_without_being_asked_for():
    wide = sl.Layout((16, 256), (256, 1))
    rows = sl.Access("rows", "ldmatrix.x4", wide, lambda tid, i: (i, 16 * (tid % 16) + 8 * (tid // 16)),
                     {"tid": 32, "i": 16})
    blocks = sl.Access("blocks", "ldmatrix.x4", wide, lambda tid, k: (tid % 16, 16 * k + 8 * (tid // 16)),
                       {"tid": 32, "k": 16})
    found = search([rows, blocks], ("f2",))
    assert str(found[0].layout) == "Sw<1,3,3> o Sw<3,3,5> o (16,256):(256,1)" and found.conflict_free == 86016


def c_accesses():
    """The C store of MatmulTutorial, scalar, and how the tile is read back: f32, 64x64 by each of 4 warps."""
    tile = sl.Layout((128, 128), (128, 1))
    store = sl.Access("store", "st.shared.b32", tile, lambda tid, i, j, r, e: (
        64 * (tid // 64) + 16 * i + 8 * r + tid % 32 // 4, 64 * (tid // 32 % 2) + 8 * j + 2 * (tid % 4) + e),
        {"tid": 128, "i": 4, "j": 8, "r": 2, "e": 2}, "f32")
    return store, sl.Access("read", "ld.shared.b32", tile, lambda tid, i: (i, tid), {"tid": 128, "i": 128}, "f32")


def test_a_scalar_c_store_without_conflicts_is_found_and_computes_no_more_than_the_known_one():
    accesses = c_accesses()
    known = sl.formula("row * 128 + (col ^ ((row & 3) << 3) ^ ((row >> 2) & 1))")
    assert [int(a.with_tile(known).analyze().excess.sum()) for a in accesses] == [0, 0]
    assert [int(a.with_tile(sl.Swizzle(2, 3, 4) @ a.tile).analyze().excess.sum()) for a in accesses] == [512, 0]
    found = search(accesses, ("swizzle", "rotation", "f2"), limit=40)
    assert found.exhausted and found[0].family == "f2" and found[0].excess == 0
    same = [c for c in found if sl.equivalent(c.layout, known, {"row": 128, "col": 128})]
    assert [str(c.layout) for c in same] == ["Sw<2,3,4> o Sw<1,0,9> o (128,128):(128,1)"]
    assert found[0].ops < same[0].ops and found[0].certificate.excess == 0
    assert [s.conflict_free for s in found.shares if s.family == "swizzle"] == [0]


def test_accesses_narrower_than_a_chunk_leave_it_whole():
    tile = sl.Layout((64, 64), (64, 1))
    store = sl.Access("store", "st.shared.b32", tile, lambda tid, j: (tid % 32 // 4, 8 * j + 2 * (tid % 4)),
                      {"tid": 32, "j": 8})
    read = sl.Access("read", "ld.shared.b128", tile, lambda tid, i: (4 * i + tid // 8, 8 * (tid % 8)), {"tid": 32, "i": 16})
    found = search([store, read], ("f2",))
    assert found.least == 0 and str(found[0].layout) == f"Sw<3,3,3> o {tile}"
    offsets = found[0].layout(np.arange(64)[:, None], 8 * np.arange(8))
    assert (offsets % 8 == 0).all()


def test_halves_that_are_stored_one_by_one_are_moved_word_by_word():
    tile = sl.Layout((32, 32), (32, 1))
    store = sl.Access("store", "st.shared.b16", tile, lambda tid, j: (tid, j), {"tid": 32, "j": 32})
    found = search([store], ("f2",))
    assert found.least == 0 and all(int(found[0].layout(r, 2)) % 2 == 0 for r in range(32))


# ---- how it is searched -------------------------------------------------------------------------------------------------

def times(a, b):
    """The product in the field of 8 elements, where x^3 = x + 1."""
    total = 0
    for bit in range(3):
        total ^= a << bit if b >> bit & 1 else 0
    for bit in (4, 3):
        total ^= 0b1011 << bit - 3 if total >> bit & 1 else 0
    return total


def slopes():
    """Nine loads of 8 of the 8x8 chunks of a tile, along all nine lines through 0 of the plane over the field of 8 elements:
    each of the 63 differences that there are is one of exactly one load."""
    tile = sl.Layout((8, 64), (64, 1))
    table = np.array([[times(s, r) for r in range(8)] for s in range(8)])
    flat = sl.Access("flat", "ldmatrix.x1", tile, lambda tid: (0 * tid, 8 * (tid % 8)))
    return [flat, *(sl.Access(f"slope {s}", "ldmatrix.x1", tile, lambda tid, s=s: (tid % 8, 8 * table[s][tid % 8]))
                    for s in range(8))]


def test_where_no_f2_layout_is_free_the_bound_is_the_excess_that_is_reached():
    found = search(slopes(), ("f2",))                                # a kernel of 3 dimensions has 7 differences, always
    assert found.exhausted and found.least == found.bound == 7 and found.conflict_free == 0
    assert found.proof == "f2: 1395 of 1395 examined, 0 conflict-free, least excess 7"
    assert search(slopes()[1:], ("f2",)).conflict_free == 1           # without one of them, just one kernel has none


def test_an_executor_extends_kernels_in_pieces_and_finds_the_same(monkeypatch):
    accesses = slopes()
    alone = search(accesses, ("f2",))
    monkeypatch.setattr(f2_banks, "PIECE", 16)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert str(search(accesses, ("f2",), executor=pool)) == str(alone)


def test_a_search_that_must_forget_kernels_says_that_it_is_not_exhausted():
    accesses = c_accesses()
    found = differences([a.instruction for a in accesses], [a.addresses() for a in accesses], 4, 14)
    whole, cut = spreads(found), spreads(found, most=40)
    assert whole.examined == whole.total == cut.total == gaussian(14, 5) > cut.examined
    assert cut.states.costs[0] == whole.states.costs[0] == 0 and 0 < cut.free < whole.free


def test_an_interrupted_search_of_f2_maps_has_what_a_greedy_one_finds():
    def progress(done, total):
        raise KeyboardInterrupt

    found = search(c_accesses(), ("f2",), progress=progress)
    assert not found.exhausted and 0 < found.examined < found.total
    assert found.least == 0 and found.bound == 0 and found[0].excess == 0


def test_progress_comes_to_all_layouts_never_goes_back_and_then_is_that_of_the_best():
    told = []
    found = search(slopes(), ("swizzle", "f2"), progress=lambda done, total: told.append((done, total)))
    at = len(told) - told[::-1].index((found.total, found.total))
    assert told[:at] == sorted(told[:at])
    assert [done for done, _ in told[at:]] == list(range(told[-1][1])) and len(found) <= told[-1][1] < found.total
    (walked,) = (share.total for share in found.shares if share.family == "swizzle")
    assert told[0][1] == walked < found.total                        # not those that f2 decides all at once


def test_a_tile_of_another_size_is_permuted_within_its_largest_power_of_two():
    tile = sl.Layout((24, 64), (64, 1))                              # 192 chunks: three blocks of 64
    load = sl.Access("load", "ldmatrix.x4", tile, lambda tid, i, k: (8 * i + tid % 8, 16 * k + 8 * (tid // 8 % 2)),
                     {"tid": 32, "i": 3, "k": 4})
    found = search([load], ("f2",))
    assert found.total == gaussian(6, 3) and found.least == 0
    for candidate in found:
        offsets = candidate.layout(*np.indices((24, 64)))
        assert sorted(offsets.ravel().tolist()) == list(range(24 * 64))


@pytest.mark.parametrize("tile", ["Sw<3,3,3> o (64,64):(64,1)", "Sw<1,3,3> o (64,64):(72,1)", "Rot<8,4,64> o (64,32):(32,1)",
                                  "Sw<2,3,3> o Sw<1,4,4> o (64,64):(64,1)"])
def test_a_tile_that_has_layers_gets_more_of_them(tile):
    load = sl.Access("load", "ldmatrix.x4", tile, lambda tid, k: (tid % 16, 16*k + 8*(tid // 16)), {"tid": 32, "k": 2})
    found = sl.search([load], ("swizzle", "rotation", "f2"), limit=5)
    under = load.tile.parts()
    assert found.exhausted and found.least == 0 and len(found) == 5
    for one in found:
        assert one.layout.parts()[-len(under):] == under
        assert one.excess == load.with_tile(one.layout).analyze().excess.sum()
        assert len(set(one.layout.offsets().tolist())) == one.layout.size
