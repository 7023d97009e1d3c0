"""search_plan finds the layouts of the kernels again, from their accesses to plain tiles."""

import json

import pytest

import simlayout as sl
from cuda_kernels import KERNELS
from simlayout.cli import main
from simlayout.errors import LayoutError, SimlayoutError
from simlayout.synthesis import plain_tile, search_plan

AB_NAMES, C_NAMES = ("copy A", "copy B", "load A", "load B"), ("store C", "read C")


def test_every_tile_of_every_kernel_is_made_plain():
    plain = {(name, a.name): str(plain_tile(a.tile)) for name, kernel in KERNELS.items() for a in kernel.plan.accesses}
    assert {plain[name, "load A"] for name in ("mma_base", "mma_padded", "mma_permuted")} == {"(384,32,4):(32,1,12288)"}
    assert {plain[name, "load A"] for name in ("mma_blocks", "mma_crosswise")} == {"(128,32,4,2):(32,1,4096,16384)"}
    assert plain["mma_swizzled", "load A"] == "(384,64,4):(64,1,24576)"
    assert plain["mma_crosswise", "read C"] == "(128,128):(128,1)"
    assert plain["wgmma_persistent", "store n64"] == "(64,256):(256,1)"


def test_a_tile_that_lies_the_other_way_stays_so():
    assert str(plain_tile(sl.Swizzle(3, 3, 3) @ sl.Layout((64, 256), (1, 72)))) == "(64,256):(1,64)"
    assert str(plain_tile(sl.Layout((128, 32, 4), (4, 512, 1)))) == "(128,32,4):(4,512,1)"
    with pytest.raises(LayoutError, match="a function without a shape"):
        plain_tile(sl.formula("row * 64 + col"))


@pytest.mark.slow
def test_the_kernels_have_one_plain_tile_and_the_layout_of_each_is_found_on_it_in_its_family():
    """cuda_hgemm's: mma_base's plain tile has conflicts, mma_permuted's rotation none, mma_padded's those of its copies."""
    ab, c = search_plan(KERNELS["mma_permuted"].plan, ("rotation",), limit=4)
    padded, _ = search_plan(KERNELS["mma_padded"].plan, ("pad",), limit=8)
    assert ab.names == AB_NAMES and c.names == C_NAMES
    assert ab.plain == padded.plain == KERNELS["mma_base"].plan.accesses[0].tile
    assert (ab.plain_excess, c.plain_excess) == (6144, 3584)
    for tile in (ab, c):
        assert tile.own.excess == tile.result.least == 0
        assert tile.own.layout in [f.layout for f in tile.result if f.excess == 0]
    found = {f.layout: f for f in padded.result}
    assert padded.own.layout in found and found[padded.own.layout].excess == padded.own.excess == 768
    assert min(f.excess for f in found.values()) == padded.own.excess


def test_two_rows_per_line_and_a_swizzle_are_the_tutorials_crosswise_layout():
    ab, c = search_plan(KERNELS["mma_crosswise"].plan, ("swizzle", "f2"))
    assert ab.own.excess == c.own.excess == 0 and ab.result[0].excess == c.result[0].excess == 0
    assert ab.result[0].layout == sl.Swizzle(2, 3, 3) @ ab.plain and ab.result[0].ops < ab.own.ops
    here = {"row": 128, "col": 32, "stage": 4, "operand": 2}
    assert sl.equivalent(ab.result[0].layout, ab.own.layout, here)
    assert c.result[0].layout == c.own.layout == sl.Swizzle(2, 3, 4) @ c.plain


def test_the_scalar_c_store_of_the_crosswise_kernel_has_a_better_layout_than_its_own():
    _, c = search_plan(KERNELS["mma_crosswise"].variant(c_store="scalar").plan, ("swizzle", "f2"), limit=40)
    assert c.names == ("store C scalar", "read C") and (c.plain_excess, c.own.excess) == (3584, 512)
    assert c.at_least_as_good and c.result[0].excess == 0 and c.result[0].wasted_bytes == 0
    known = sl.formula("row * 128 + (col ^ ((row & 3) << 3) ^ ((row >> 2) & 1))")
    assert [f.ops for f in c.result if sl.equivalent(f.layout, known, {"row": 128, "col": 128})][0] >= c.result[0].ops


def test_kernels_without_conflicts_stay_without_and_others_lose_theirs():
    for name in ("mma_blocks", "mma_swizzled", "wgmma_persistent"):
        for tile in search_plan(KERNELS[name].plan, ("swizzle",), limit=1):
            assert tile.at_least_as_good and tile.result.least == 0, (name, tile.names)


def test_a_plan_without_accesses_says_who_does_the_work():
    with pytest.raises(SimlayoutError, match="TMA and wgmma do all of it"):
        search_plan(KERNELS["wgmma_tma"].plan)


def test_the_command_searches_whole_kernels(capsys):
    assert main(["search", "--kernel", "mma_crosswise", "--set", "c_store=scalar", "--families", "f2", "--limit", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "copy A, copy B, load A, load B"
    assert lines[1].startswith("own: Sw<2,3,3> o ((2,64),32,4,2):((32,64),1,4096,16384): excess 0,")
    assert lines[2] == "plain: (128,32,4,2):(32,1,4096,16384): excess 3072"
    assert lines[6] == "store C scalar, read C" and lines[8] == "plain: (128,128):(128,1): excess 3584"
    assert "excess 512," in lines[7] and "excess 0," in lines[10]


def test_the_command_prints_a_kernels_tiles_as_json(capsys):
    assert main(["search", "--kernel", "mma_padded", "--families", "pad", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["kernel"] == "mma_padded" and [t["accesses"] for t in told["tiles"]] == [list(AB_NAMES), list(C_NAMES)]
    assert [t["own"]["excess"] for t in told["tiles"]] == [768, 0]
    assert all(t["at_least_as_good"] and t["families"][0]["family"] == "pad" for t in told["tiles"])
