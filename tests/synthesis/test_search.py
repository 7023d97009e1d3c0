"""search finds the layouts of the tutorials' problems from their accesses alone, and proves where a family has none."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simlayout as sl
from simlayout.codegen import symbol
from simlayout.codegen.printer import count_instructions, count_operations
from simlayout.errors import LayoutError, SimlayoutError
from simlayout.proofs.natural import natural_access
from simlayout.synthesis import better_layout, costs, search
from simlayout.synthesis.constraints import period


def rows_of_8(rows, columns):
    """A row-major f16 tile, read by ldmatrix.x4."""
    return natural_access(sl.Layout((rows, columns), (columns, 1)), "ldmatrix.x4", "f16", f"{rows}x{columns}")


WIDE = sl.Layout((16, 256), (256, 1))
ROWS = sl.Access("rows", "ldmatrix.x4", WIDE, lambda tid, i: (i, 16 * (tid % 16) + 8 * (tid % 32 // 16)),
                 {"tid": 32, "i": 16}, "f16")
BLOCKS = sl.Access("blocks", "ldmatrix.x4", WIDE, lambda tid, k: (tid % 16, 16 * k + 8 * (tid % 32 // 16)),
                   {"tid": 32, "k": 16}, "f16")
"""Problem 2.1 of the practical swizzle tutorial: each row of 256 as a 16x16 matrix, and the 16x16 blocks."""


@pytest.mark.parametrize("rows, columns, free", [
    (16, 16, ["Sw<1,3,3>", "Sw<2,3,3>"]), (16, 32, ["Sw<2,3,3>", "Sw<3,3,3>"]), (16, 64, ["Sw<3,3,3>"]),
    (16, 128, ["Sw<3,3,4>", "Sw<4,3,4>"])])
def test_the_conflict_free_swizzles_of_a_tile_are_found_all_of_them(rows, columns, free):
    found = search([rows_of_8(rows, columns)])
    assert found.exhausted and found.conflict_free == len(free) and found.least == 0
    best = found.candidates[:len(free)]
    assert sorted(str(c.layout) for c in best) == [f"{s} o ({rows},{columns}):({columns},1)" for s in free]
    assert all(c.excess == c.wasted_bytes == 0 for c in best) and found.candidates[len(free)].excess > 0


@pytest.mark.parametrize("tiles", [[(16, 128, (3, 4)), (128, 32, (2, 3))], pytest.param(
    [(64, 128, (3, 4)), (64, 256, (3, 4, 5))], marks=pytest.mark.sweep)], ids=["small", "large"])
def test_of_equally_good_layouts_the_one_with_the_cheaper_address_comes_first_then_the_smaller_pattern(tiles):
    for rows, columns, found in tiles:
        candidates = search([rows_of_8(rows, columns)], ("swizzle", "rotation", "f2"), limit=40)
        keys = [(c.excess, c.wasted_bytes, c.ops, period(c.layout)) for c in candidates]
        assert keys == sorted(keys)
        best = [c for c in candidates if c.family == "swizzle" and not c.excess]
        assert [c.layout.layers[0].bits for c in best] == list(found)
    first, second = search([rows_of_8(16, 128)], limit=2)
    assert first.ops == second.ops          # 16 rows spare Sw<4,3,4> a mask, which costs Sw<3,3,4> nothing: see below


def test_a_mask_that_one_xor_takes_costs_no_instruction():
    tid, k = symbol("tid", 32), symbol("k", 4)
    assert count_operations(k ^ (tid & 7)) == 2 and count_instructions(k ^ (tid & 7)) == 1      # LOP3: k ^ (tid & 7)
    assert count_instructions((k ^ (tid & 7)) * 9 + (tid & 7)) == count_operations((k ^ (tid & 7)) * 9 + (tid & 7))
    three = tid ^ (k & 1) ^ (tid >> 1)
    assert count_instructions(three) == count_operations(three) and count_instructions(3) == count_instructions(tid) == 0


# ---- what it costs, and what it must cost ---------------------------------------------------------------------------------

TILE_64 = sl.Layout((64, 64), (64, 1))
BY_ROWS = natural_access(TILE_64, "st.shared.b128", "f16", "rows")
TRANSPOSED = natural_access(TILE_64, "ldmatrix.x4.trans", "f16", "transposed")
BY_COLUMNS = sl.Access("columns", "ld.shared.b32", TILE_64, lambda tid, i, k: (tid + 32 * i, 2 * k),
                       {"tid": 32, "i": 2, "k": 32}, "f16", excess=None)


def test_16_byte_rows_cannot_spread_4_byte_columns_and_that_is_proved():
    found = search([BY_ROWS, TRANSPOSED, BY_COLUMNS], ("swizzle", "pad", "rotation"))
    assert found.conflict_free == 0 and found[0].excess == found.least == 192
    rows, transposed, columns = costs(found[0].accesses)
    assert rows.excess == transposed.excess == 0 and rows.reason == transposed.reason == ""
    assert columns.excess == columns.least == 192 and columns.wavefronts == 256
    assert "keeps chunks of 16 bytes whole, as st.shared.b128 needs" in columns.reason
    assert search([BY_COLUMNS], ("swizzle",))[0].excess == 0                     # alone it may move words


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(["ld.shared.b32", "ld.shared.b64", "st.shared.b32", "ld.shared.b16"]), st.integers(0, 5),
       st.integers(1, 3), st.sampled_from([sl.Swizzle(3, 3, 3), sl.Swizzle(2, 3, 4), sl.Rotation(8, 8, 64), None]))
def test_no_layout_that_keeps_the_chunks_has_less_than_the_least(op, shift, step, layer):
    """The least excess is a bound: random lanes, and random layouts of whole chunks, never go below it."""
    wide = natural_access(TILE_64, "st.shared.b128", "f16", "wide")
    size = {"b16": 1, "b32": 2, "b64": 4}[op[-3:]]

    def lanes(tid, k):
        return (tid * step + k) % 64, size * ((tid >> shift) * 3 + k) % 64

    access = sl.Access("a", op, layer @ TILE_64 if layer else TILE_64, lanes, {"tid": 32, "k": 4}, "f16", excess=None)
    cost = costs([access, wide.with_tile(access.tile)])[0]
    assert cost.least <= cost.excess


def test_a_better_layout_of_a_bad_one_is_found_at_once_or_not_at_all():
    for text, op, best in [("(16,64):(64,1)", "ldmatrix.x4", "Sw<3,3,3> o (16,64):(64,1)"),
                           ("(64,64):(1,64)", "ldmatrix.x4.trans", "Sw<3,3,3> o (64,64):(1,64)"),
                           ("Sw<2,3,3> o (16,64):(64,1)", "ldmatrix.x4", "Sw<3,3,3> o (16,64):(64,1)"),
                           ("row * 128 + (col ^ (row & 1) << 3) for row<32, col<128", "ldmatrix.x4",
                            "Sw<3,3,4> o (32,128):(128,1)")]:
        access = natural_access(sl.tile(text), op, "f16")
        made = better_layout(access)
        assert str(made.layout) == best and made.excess == 0 < access.analyze().excess.sum()
    assert better_layout(natural_access(sl.parse("Sw<3,3,3> o (16,64):(64,1)"), "ldmatrix.x4", "f16")) is None
    def torn(row, col):
        return row * 64 + (col | (row & 1) << 3)

    for function in torn, sl.Tile(torn, (16, 64)):
        worse = sl.Access("copy", "cp.async.cg.16", function, lambda tid, i: (4 * i + tid // 8, 8 * (tid % 8)),
                          {"tid": 32, "i": 4})
        assert (str(better_layout(worse).layout), better_layout(worse).family) == ("(16,64):(64,1)", "plain")
    crowd = sl.Access("many", "ld.shared.b32", sl.Layout((32, 32), (32, 1)), lambda tid, k: (tid, 0 * k),
                      {"tid": 32, "k": 9999}, "f32", excess=None)
    assert better_layout(crowd) is None


def test_no_single_swizzle_serves_rows_and_blocks_and_the_family_is_exhausted():
    found = search([ROWS, BLOCKS])
    assert found.exhausted and found.conflict_free == 0 and found.least == 64 and found.total == 20
    assert search([ROWS], limit=3).conflict_free == 3 and search([BLOCKS]).conflict_free == 2


def test_19_pairs_of_swizzles_serve_rows_and_blocks():
    found = search([ROWS, BLOCKS], layers=2, limit=19)
    texts = [str(c.layout) for c in found.candidates]
    assert found.conflict_free == 19 and found.exhausted and found.total == 20 + 380
    assert {"Sw<1,3,3> o Sw<3,3,5> o (16,256):(256,1)", "Sw<3,3,5> o Sw<1,3,3> o (16,256):(256,1)"} <= set(texts)
    assert all(c.excess == 0 for c in found.candidates) and len(set(texts)) == 19


def test_no_pair_is_one_swizzle_twice_which_changes_nothing():
    found = search([rows_of_8(16, 64)], layers=2, limit=500).candidates
    assert len(found) == 12 + 12 * 11 and all(len(set(c.layout.layers)) == len(c.layout.layers) for c in found)


@pytest.mark.parametrize("swizzle, excess", [
    (sl.Swizzle(1, 3, 3), 448), (sl.Swizzle(2, 3, 3), 448), (sl.Swizzle(3, 3, 3), 192),
    (sl.Swizzle(1, 3, 3) @ sl.Swizzle(3, 3, 5), 0)])
def test_writing_blocks_back_under_the_layout_of_the_rows_costs_what_is_known(swizzle, excess):
    """Problem 3.1: the loads of a second layout are free of conflicts, the write-back into it is not."""
    store = sl.Access("store", "stmatrix.x4", swizzle @ WIDE, BLOCKS.lanes, BLOCKS.domain, "f16")
    assert int(store.analyze().excess.sum()) == excess


def test_a_candidate_has_its_certificates():
    best = search([ROWS, BLOCKS], layers=2)[0]
    assert [c.excess for c in best.certificates.values()] == [0, 0] and set(best.certificates) == {"rows", "blocks"}
    assert best.certificate.excess == 0 and best.certificate.wavefronts == 128
    assert "one-to-one on its 4096 coordinates" in best.certificate.claims
    assert "rows (ldmatrix.x4): 64 wavefronts, ideal 64" in best.certificate.claims


def test_what_is_found_is_a_sequence_of_candidates_with_a_proof_for_each_family():
    found = search([rows_of_8(16, 64)], ("swizzle", "pad"), limit=3)
    assert list(found) == list(found.candidates) and len(found) == 3 and found[0] is found.candidates[0]
    assert found.proof.splitlines() == ["swizzle: 12 of 12 examined, 1 conflict-free, least excess 0",
                                        "pad: 8 of 8 examined, 4 conflict-free, least excess 0"]
    assert found.bound == found.least == 0


def test_padding_and_rotation_are_candidates_too_and_cost_memory_or_operations():
    found = search([rows_of_8(16, 64)], ("swizzle", "pad", "rotation"), limit=20)
    free = [c for c in found.candidates if c.excess == 0]
    assert {c.family for c in free} == {"swizzle", "pad", "rotation"}
    assert [c.wasted_bytes for c in free] == sorted(c.wasted_bytes for c in free)
    padded = next(c for c in free if c.family == "pad")
    assert padded.layout == sl.Layout((16, 64), (72, 1)) and padded.wasted_bytes == 2 * 8 * 15


def test_rows_are_padded_below_a_mode_of_stages_too():
    tile = sl.Layout((64, 32, 4), (32, 1, 2048))
    load = sl.Access("load", "ldmatrix.x4", tile, lambda tid, k, s: (tid % 16, 16 * k + 8 * (tid // 16), s),
                     {"tid": 32, "k": 2, "s": 4})
    best = search([load], ("pad",))[0]
    assert best.layout == sl.Layout((64, 32, 4), (40, 1, 2560)) and best.excess == 0
    assert best.wasted_bytes == 2 * (best.layout.cosize - tile.cosize)


def test_layouts_that_share_memory_does_not_hold_are_no_candidates():
    tile = sl.Layout((1024, 112), (112, 1))             # 229,376 of 232,448 bytes: no chunk more in each row fits
    store = sl.Access("store", "st.shared.b128", tile, lambda tid: (tid // 2, 8 * (tid % 2)))
    assert search([store], ("pad",)).total == 0
    with pytest.raises(LayoutError, match="use a smaller tile"):
        search([store.with_tile(sl.Layout((1024, 128), (128, 1)))])


def test_a_budget_leaves_out_what_is_larger():
    tile = rows_of_8(16, 64)
    none = search([tile], ("pad",), budget=2048)
    assert (none.total, none.least, none.proof) == (0, None, "pad: no layout of the family is allowed")
    found = search([tile], ("pad",), budget=2048 + 240)
    assert [c.wasted_bytes for c in found.candidates] == [240] and found.least == 0


@pytest.mark.parametrize("families, least", [(("swizzle",), 2048), (("f2",), 2048), (("pad",), 2048 + 240)])
def test_a_search_whose_budget_ends_before_a_layout_was_tried_says_so_and_the_budget_it_says_is_the_least(families, least):
    tile = rows_of_8(16, 64)
    none = search([tile], families, budget=least - 1)
    assert len(none) == 0 and f"no layout was tried: the budget is too small, the smallest takes {least} bytes" in str(none)
    assert str(none).endswith(f"pass budget={least} or more")
    assert len(search([tile], families, budget=least)) > 0


def test_a_layout_in_the_place_of_the_accesses_is_told_ahead_of_accesses_in_the_place_of_the_families():
    with pytest.raises(SimlayoutError, match="takes a list of Accesses, not '.*': wrap a layout"):
        search("(16,64):(64,1)", rows_of_8(16, 64))


def test_a_search_that_a_larger_budget_would_not_help_does_not_name_the_budget():
    column = sl.Access("column", "ld.shared.b32", sl.Layout(1024), lambda tid: 32 * tid, dtype="f32")
    assert str(search([column], ("pad",))).startswith("no layout was tried: the families have none that is allowed here")


@pytest.mark.parametrize("tile, lanes, fault", [
    (WIDE, lambda tid: (tid, 0), "leaves the tile"), (WIDE, lambda tid: (0, 8 * tid - 8), "coordinate 1 is -8"),
    (sl.Layout((16, 256)), lambda tid: (12, 8 * tid), "reach coordinate 0 = 19"),
    (sl.Layout((16, 256), (0, 1)), lambda tid: (0, 8 * tid), "not one-to-one")])
def test_what_no_layout_can_serve_is_refused_and_not_told_as_free_of_conflicts(tile, lanes, fault):
    with pytest.raises(sl.VerificationError, match=fault):
        search([sl.Access("load", "ld.shared.b128", tile, lanes)], ("swizzle", "pad", "rotation", "f2"))


def test_several_processes_find_the_same():
    alone = search([ROWS, BLOCKS], layers=2)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        together = search([ROWS, BLOCKS], layers=2, executor=pool)
    assert str(alone) == str(together)


def test_an_interrupted_search_returns_what_it_has_and_says_that_it_is_not_exhausted():
    told = []

    def progress(done, total):
        told.append((done, total))
        if len(told) == 2:
            raise KeyboardInterrupt

    found = search([ROWS, BLOCKS], layers=2, progress=progress)
    assert told[:2] == [(64, 400), (128, 400)] and all(total < 128 for _, total in told[2:])     # the best of these
    assert (found.examined, found.total, found.exhausted) == (128, 400, False)
    assert str(found).startswith("128 of 400 layouts:") and found.candidates


def test_an_interrupt_while_the_best_are_compared_leaves_them_as_they_are():
    def progress(done, total):
        if total != 400:                                                 # all of which have been tried
            raise KeyboardInterrupt

    whole = search([ROWS, BLOCKS], layers=2, limit=20)
    found = search([ROWS, BLOCKS], layers=2, limit=20, progress=progress)
    assert [(c.excess, c.wasted_bytes) for c in found] == [(c.excess, c.wasted_bytes) for c in whole]
    assert not any("ops" in vars(c) for c in found)                      # nothing was emitted after the interrupt


def test_a_batch_has_fewer_layouts_where_each_has_more_instructions():
    told, tile = [], sl.Layout((256, 256), (256, 1))
    found = search([natural_access(tile, "ld.shared.b8", "s8")], progress=lambda done, total: told.append(done))
    assert told[:2] == [8, 16] and max(told) == found.total              # of 2048 instructions each


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(SimlayoutError, match="at least one access"):
        search([])
    with pytest.raises(SimlayoutError, match="have different tiles"):
        search([ROWS, rows_of_8(16, 64)])
    with pytest.raises(SimlayoutError, match="choose from swizzle, pad, rotation, f2"):
        search([ROWS], ("magic",))
    with pytest.raises(SimlayoutError, match="1 swizzle, or 2"):
        search([ROWS], layers=3)
    with pytest.raises(LayoutError, match="no layout that could be replaced"):
        search([sl.Access("f", "ld.shared.b32", lambda i: i, None, {"tid": 32}, "f32")])


@settings(max_examples=15)
@given(st.sampled_from([(16, 16), (32, 32), (16, 64)]), st.sampled_from(["ldmatrix.x4", "ldmatrix.x2", "ld.shared.b128"]))
def test_the_least_excess_is_that_of_trying_every_swizzle_one_by_one(shape, instruction):
    tile = sl.Layout(shape, (shape[1], 1))
    access = natural_access(tile, instruction, "f16")
    bits = (shape[0] * shape[1]).bit_length() - 1
    tried = [int(access.with_tile(sl.Swizzle(b, 3, s) @ tile).analyze().excess.sum())
             for s in range(1, bits) for b in range(1, s + 1) if 3 + b + s <= bits]
    found = search([access])
    assert (found.least, found.total, found.conflict_free) == (min(tried), len(tried), tried.count(0))
    offsets = found.candidates[0].layout(*np.indices(shape))
    assert sorted(offsets.ravel().tolist()) == list(range(shape[0] * shape[1]))


# ---- constraints --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape, dtype", [((64, 128), "f16"), ((16, 64), "f16"), ((384, 64), "bf16"), ((64, 64), "f32"),
                                          ((32, 256), "e4m3")])
def test_tma_writes_the_layouts_that_are_said_to_be_its_own(shape, dtype):
    rows, columns = shape
    tile = sl.Layout(shape, (columns, 1))
    size = sl.dtype_of(dtype).bytes
    store = sl.Access("store", "st.shared.b128", tile, lambda tid: (tid % rows, 0 * tid), dtype=dtype)
    layouts = [c.layout for c in search([store], "tma", limit=100)]
    modes = set()
    for layout in layouts:
        swizzle, plain = (layout.layers[0], layout.layout) if hasattr(layout, "layers") else (None, layout)
        inner = plain.shape[1][0] if isinstance(plain.shape[1], tuple) else columns
        span = 16 << swizzle.bits if swizzle else 0
        below = max(n for n in range(1, 257) if rows % n == 0)
        box = sl.TensorMap(dtype, (columns, rows), (size * columns,), (inner, below), swizzle=span)
        modes.add(span)
        for first in range(0, columns, inner):
            for row in range(0, rows, below):
                at = size * (first * rows + row * inner)
                x, y = box.coordinates((first, row))
                assert np.array_equal(box.landing(at), size * layout(y, x))
    assert len(set(layouts)) == len(layouts) and modes == {0, *(s for s in (32, 64, 128) if s <= size * columns)}


def test_the_tile_as_it_is_competes_with_tmas_layouts_only_where_another_family_is_asked_for_too():
    tile = sl.Layout((16, 512), (512, 1))                # longer than a box: TMA cuts its rows
    row = sl.Access("row", "ld.shared.b128", tile, lambda tid: (0 * tid, 8 * tid))
    assert search([row], "tma").given is None and search([row], ("tma", "pad")).given.layout == tile
    assert {c.family for c in search([row], ("tma", "pad"), limit=100)} == {"tma", "pad"}


def test_tma_has_no_layout_for_a_padded_tile():
    with pytest.raises(LayoutError, match="no plain tile that TMA could write"):
        search([rows_of_8(16, 64).with_tile(sl.Layout((16, 64), (72, 1)))], "tma")


@pytest.mark.parametrize("base", [16, 48, 128, 256, 512, 1024])
def test_with_a_base_a_layout_is_the_same_on_absolute_addresses_and_on_offsets(base):
    tile = sl.Layout((16, 64), (64, 1))
    found = search([rows_of_8(16, 64)], ("swizzle", "rotation", "pad", "f2"), base=base, limit=1000)
    offsets = tile(*np.indices((16, 64)))
    assert found.exhausted and any(c.family == "pad" for c in found)
    for start in range(0, 4 * base, base):
        for candidate in found:
            moved = start // 2 + offsets if candidate.family != "pad" else None
            for layer in reversed(getattr(candidate.layout, "layers", ())):
                moved = layer(moved)
            if moved is not None:
                assert np.array_equal(moved, start // 2 + candidate.layout(*np.indices((16, 64))))


def test_a_swizzle_of_128_bytes_needs_a_base_of_1024():
    def swizzles(base):
        return {str(c.layout).split(" o ")[0] for c in search([rows_of_8(16, 64)], base=base, limit=100)}

    assert "Sw<3,3,3>" in swizzles(1024) and "Sw<3,3,3>" not in swizzles(512) and "Sw<2,3,3>" in swizzles(512)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["ldmatrix.x4", "ld.shared.b32", "st.shared.b64", "ld.shared.b128"]),
       st.integers(0, 31))
def test_where_a_tile_starts_only_names_the_banks_differently(seed, name, steps):
    op = sl.instruction(name)
    addresses = op.bytes * np.random.default_rng(seed).integers(0, 64, (1, 32))
    here, there = (sl.analyze(name, addresses + start).wavefronts for start in (0, op.bytes * steps))
    assert np.array_equal(here, there)


def test_a_copy_that_counts_lines_is_scored_at_the_worst_start():
    tile = sl.Layout((32, 64), (64, 1))
    copy = sl.Access("copy", "cp.async.cg.16", tile, lambda tid: (tid // 8, 8 * (tid % 8)))
    assert search([copy], ("pad",), base=128, limit=100).least == 0
    assert search([copy], ("swizzle",), base=64).least == 1      # 512 bytes from the middle of a line on: five lines


def test_a_base_that_the_widest_access_cannot_start_on_is_refused():
    with pytest.raises(SimlayoutError, match="a multiple of 16 for the widest access"):
        search([rows_of_8(16, 64)], base=8)


# ---- elsewhere ----------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_dask_cluster_finds_the_same():
    distributed = pytest.importorskip("distributed")
    alone = search([ROWS, BLOCKS], ("swizzle", "f2"), layers=2)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        together = search([ROWS, BLOCKS], ("swizzle", "f2"), layers=2, executor=client.get_executor())
    assert str(alone) == str(together)


# ---- the tile as it is -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("tile, good", [
    ("(16,64):(64,1)", False), ("(16,64):(80,1)", False), ("(16,64):(72,1)", True), ("Sw<3,3,3> o (16,64):(64,1)", True),
    ("Sw<2,3,3> o (16,64):(64,1)", True)])               # the last has conflicts that no swizzle over it takes away
def test_a_tile_that_is_better_than_all_that_is_found_comes_before_it(tile, good):
    load = sl.Access("load", "ldmatrix.x4", tile, lambda tid, k: (tid % 16, 16*k + 8*(tid // 16)), {"tid": 32, "k": 4})
    found = sl.search([load], ("swizzle", "pad", "rotation"))
    assert found.given.excess == load.analyze().excess.sum() and found.given.layout == load.tile
    assert found.best is (found.given if good else found[0])
    assert ("better as it is: " in str(found)) == good
    ranks = [(c.excess, c.wasted_bytes, c.ops) for c in (found.best, found.given, *found)]
    assert ranks[0] == min(ranks)


def test_a_tile_that_is_as_good_as_all_that_is_found_is_kept():
    load = sl.Access("load", "ldmatrix.x4", sl.Swizzle(3, 3, 3) @ sl.Layout((64, 64), (64, 1)),
                     lambda tid, k: (tid % 16, 16*k + 8*(tid // 16)), {"tid": 32, "k": 4})       # of its first rows alone
    found = sl.search([load])
    assert found.best is found.given and found[0].ops == found.given.ops
    assert str(found).splitlines()[1] == f"as good as it is: {found.given}"
