"""search finds the layouts of the tutorials' problems from their accesses alone, and proves where a family has none."""

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simlayout as sl
from simlayout.cli import main
from simlayout.errors import LayoutError, SimlayoutError
from simlayout.proofs.natural import natural_access
from simlayout.synthesis import search


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


def test_of_equally_good_layouts_the_one_with_the_cheaper_address_comes_first():
    first, second = search([rows_of_8(16, 128)]).candidates[:2]
    assert first.operations < second.operations and str(first.layout).startswith("Sw<4,3,4>")     # needs no mask: 16 rows


def test_no_single_swizzle_serves_rows_and_blocks_and_the_family_is_exhausted():
    found = search([ROWS, BLOCKS])
    assert found.exhausted and found.conflict_free == 0 and found.least == 64 and found.total == 20
    assert search([ROWS], limit=3).conflict_free == 3 and search([BLOCKS]).conflict_free == 2


def test_19_pairs_of_swizzles_serve_rows_and_blocks():
    found = search([ROWS, BLOCKS], layers=2, limit=19)
    texts = [str(c.layout) for c in found.candidates]
    assert found.conflict_free == 19 and found.exhausted and found.total == 20 + 400
    assert {"Sw<1,3,3> o Sw<3,3,5> o (16,256):(256,1)", "Sw<3,3,5> o Sw<1,3,3> o (16,256):(256,1)"} <= set(texts)
    assert all(c.excess == 0 for c in found.candidates) and len(set(texts)) == 19


@pytest.mark.parametrize("swizzle, excess", [
    (sl.Swizzle(1, 3, 3), 448), (sl.Swizzle(2, 3, 3), 448), (sl.Swizzle(3, 3, 3), 192),
    (sl.Swizzle(1, 3, 3) @ sl.Swizzle(3, 3, 5), 0)])
def test_writing_blocks_back_under_the_layout_of_the_rows_costs_what_is_known(swizzle, excess):
    """Problem 3.1: the loads of a second layout are free of conflicts, the write-back into it is not."""
    store = sl.Access("store", "stmatrix.x4", swizzle @ WIDE, BLOCKS.lanes, BLOCKS.domain, "f16")
    assert int(store.analyze().excess.sum()) == excess


def test_a_candidate_has_its_certificates():
    best = search([ROWS, BLOCKS], layers=2).candidates[0]
    assert [c.excess for c in best.certificates.values()] == [0, 0] and set(best.certificates) == {"rows", "blocks"}


def test_padding_and_rotation_are_candidates_too_and_cost_memory_or_operations():
    found = search([rows_of_8(16, 64)], ("swizzle", "pad", "rotation"), limit=20)
    free = [c for c in found.candidates if c.excess == 0]
    assert {c.family for c in free} == {"swizzle", "pad", "rotation"}
    assert [c.wasted_bytes for c in free] == sorted(c.wasted_bytes for c in free)
    padded = next(c for c in free if c.family == "pad")
    assert padded.layout == sl.Layout((16, 64), (72, 1)) and padded.wasted_bytes == 2 * 8 * 15


def test_a_budget_leaves_out_what_is_larger():
    tile = rows_of_8(16, 64)
    assert search([tile], ("pad",), budget=2048).total == 0
    found = search([tile], ("pad",), budget=2048 + 240)
    assert [c.wasted_bytes for c in found.candidates] == [240] and found.least == 0


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
    assert told == [(64, 420), (128, 420)] and (found.examined, found.total, found.exhausted) == (128, 420, False)
    assert str(found).startswith("128 of 420 layouts:") and found.candidates


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(SimlayoutError, match="at least one access"):
        search([])
    with pytest.raises(SimlayoutError, match="have different tiles"):
        search([ROWS, rows_of_8(16, 64)])
    with pytest.raises(SimlayoutError, match="choose from swizzle, pad, rotation"):
        search([ROWS], ("magic",))
    with pytest.raises(SimlayoutError, match="1 or 2 layers"):
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


# ---- from the command line -------------------------------------------------------------------------------------------

def test_the_command_shows_the_best_layouts_and_whether_all_were_tried(capsys):
    assert main(["search", "(16,64):(64,1)", "--op", "ldmatrix.x4", "st.shared.b128", "--limit", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "all 12 layouts: 1 conflict-free, least excess 0" and len(lines) == 3
    assert lines[1].startswith("Sw<3,3,3> o (16,64):(64,1): excess 0, 0 bytes wasted,")


def test_the_command_prints_json_and_tells_by_its_exit_code_that_none_is_free_of_conflicts(capsys):
    words = ["(32,32):(32,1)", "--dtype", "f32", "--op", "ld.shared.b32", "--families", "rotation", "--json"]
    assert main(["search", *words]) == 0
    assert json.loads(capsys.readouterr().out)["conflict_free"] > 0
    assert main(["search", "(16,64):(64,1)", "--families", "pad", "--budget", "2048"]) == 1
    assert "all 0 layouts" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, fault", [
    (["(16,64"], "column 7"), (["(16,64):(64,1)", "--op", "ldmatrix.x3"], "ldmatrix.x3"),
    (["(16,64):(64,1)", "--families", "magic"], "magic"), (["Sw<3,3,3>"], "no coordinates"),
    (["(4096,4096):(4096,1)"], "use a smaller tile")])
def test_the_command_refuses_what_it_cannot_search(capsys, arguments, fault):
    assert main(["search", *arguments]) == 2
    assert fault in capsys.readouterr().err
