"""Layouts for AMD's matrix instructions, and for two vendors at once: found, or proved not to exist."""

import numpy as np
import pytest

import simlayout as sl
from simlayout.errors import SimlayoutError

TILE = sl.Layout((64, 64), (64, 1))
FAMILIES = ("swizzle", "pad", "rotation")


def rows(arch, bits=128):
    """A wave stores the tile by rows, `bits` a lane."""
    size, chunks = bits // 16, 1024 // bits
    per = 64 // chunks if chunks < 64 else 1
    return sl.Access("store rows", f"ds_write_b{bits}", TILE, arch=arch, domain={"tid": 64, "i": 64 // per},
                     lanes=lambda tid, i: (per * i + tid // chunks, size * (tid % chunks)))


def operands(arch, mfma, turns=1):
    """A wave loads the tile as A of an MFMA: each lane the elements of its fragment, of `turns` products along k at once."""
    fragment = sl.fragment(mfma, "A")
    high, depth = fragment.shape
    size = fragment.values * turns
    groups = 64 // high

    def lanes(tid, m, k):
        return high * m + tid % high, groups * size * k + size * (tid // high)

    for lane in range(64):                               # neighbours of the first element, as one access needs them
        row, k = first = fragment(lane, 0)
        assert [fragment(lane, v) for v in range(fragment.values)] == [(row, k + v) for v in range(fragment.values)]
        assert turns > 1 or lanes(lane, 0, 0) == first
    domain = {"tid": 64, "m": 64 // high, "k": 64 // (depth * turns)}
    return sl.Access(f"load {mfma}", f"ds_read_b{16 * size}", TILE, lanes, domain, arch=arch)


HOPPER = sl.Access("ldmatrix", "ldmatrix.x4", TILE, lambda tid, m, k: (16 * m + tid % 16, 16 * k + 8 * (tid // 16)),
                   {"tid": 32, "m": 4, "k": 4})


@pytest.mark.parametrize(("arch", "store", "load"), [
    ("gfx942", 64, operands("gfx942", "v_mfma_f32_16x16x16_f16")),
    ("gfx942", 64, operands("gfx942", "v_mfma_f32_32x32x8_f16")),
    ("gfx942", 128, operands("gfx942", "v_mfma_f32_16x16x16_f16", turns=2)),
    ("gfx950", 128, operands("gfx950", "v_mfma_f32_16x16x16_f16")),
    ("gfx950", 128, operands("gfx950", "v_mfma_f32_16x16x32_f16")),
    ("gfx950", 128, operands("gfx950", "v_mfma_f32_32x32x16_f16")),
])
def test_a_tile_stored_by_rows_and_read_as_mfma_operands_has_a_layout_without_conflicts(arch, store, load):
    found = sl.search([rows(arch, store), load], FAMILIES, limit=1)
    assert found[0].excess == 0 and found.exhausted and found[0].wasted_bytes == 0
    certificate = found[0].certificate
    assert certificate.arch == arch and certificate.excess == 0 and "passes" in str(certificate)


def test_on_gfx942_16_byte_chunks_never_free_64_bit_operands():
    found = sl.search([rows("gfx942", 128), operands("gfx942", "v_mfma_f32_16x16x16_f16")], (*FAMILIES, "f2"), limit=1)
    assert found.exhausted and found.bound == found.least == 64


def test_one_swizzle_serves_an_h100_and_an_mi300x():
    mi300x = [rows("gfx942"), operands("gfx942", "v_mfma_f32_16x16x16_f16", turns=2)]
    found = sl.search([HOPPER, *mi300x], ("swizzle", "f2"), limit=1)
    assert str(found[0].layout) == "Sw<3,3,3> o (64,64):(64,1)" and found[0].excess == 0
    assert [s.total for s in found.shares] == [20, 788_035] and found.exhausted
    assert found.shares[0].conflict_free == 1 and found.shares[1].conflict_free == 36_864
    certificate = found[0].certificate
    assert certificate.arch == "sm_90, gfx942"
    assert "ldmatrix (ldmatrix.x4): 64 wavefronts, ideal 64" in certificate.claims
    assert "store rows (ds_write_b128): 64 passes, ideal 64" in certificate.claims
    for access in found[0].accesses:
        assert sl.verify(access).excess == 0


def test_no_layout_of_chunks_serves_an_h100_and_an_mi300x_that_reads_64_bits():
    found = sl.search([HOPPER, operands("gfx942", "v_mfma_f32_16x16x16_f16")], ("swizzle", "rotation", "pad", "f2"), limit=1)
    assert found.exhausted and found.conflict_free == 0 and found.bound == found.least == 64
    alone = sl.search(operands("gfx942", "v_mfma_f32_16x16x16_f16"), ("swizzle", "f2"), limit=1)
    assert alone[0].excess == 0


def test_what_f2_excludes_is_what_enumeration_finds():
    load, store = operands("gfx942", "v_mfma_f32_32x32x8_f16", turns=2), rows("gfx942")
    found = sl.search([store, load], ("swizzle", "f2"), layers=2, limit=40)
    for candidate in found:
        again = sum(int(a.analyze().excess.sum()) for a in candidate.accesses)
        assert again == candidate.excess
    assert found.shares[1].least == found.shares[1].bound <= found.shares[0].least


def test_f2_refuses_accesses_that_see_different_banks():
    with pytest.raises(SimlayoutError, match="some see 32 and some 64"):
        sl.search([rows("gfx950"), operands("gfx950", "v_mfma_f32_16x16x32_f16")], ("f2",))
    wide = sl.search(operands("gfx950", "v_mfma_f32_16x16x32_f16"), ("swizzle", "f2"), limit=1)
    assert wide[0].excess == 0 and wide.shares[1].total == 3_309_747


def test_a_disputed_rule_is_free_of_conflicts_only_where_both_rules_are():
    words = sl.Access("words", "ds_read_b32", sl.Layout((64, 32), (32, 1)), lambda tid, k: (tid, k), {"tid": 64, "k": 32},
                      "f32", arch="gfx950")
    found = sl.search(words, ("swizzle", "pad"), limit=1)
    words = found[0].accesses[0].addresses() // 4
    free = [len(set(row)) == len(row) for banks, halves in ((32, 2), (64, 1))
            for half in np.split(words % banks, halves, axis=1) for row in half.tolist()]
    assert all(free) == (found[0].excess == 0)
