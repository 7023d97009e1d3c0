"""Layouts for AMD's matrix instructions, and for two vendors at once: found, or proved not to exist."""

import numpy as np
import pytest
from hypothesis import strategies as st
from tiers import given_few

import simlayout as sl

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
    assert certificate.arch == "sm_90, gfx942" and certificate.cost == "192 wavefronts, ideal 192"
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


# ---- gfx950: writes see 32 banks, wide reads 64 --------------------------------------------------------------------------

@pytest.mark.parametrize(("mfma", "store", "total", "free"), [
    ("v_mfma_f32_16x16x32_f16", 128, 49_646_205, 5_160_960),
    ("v_mfma_f32_32x32x16_f16", 128, 49_646_205, 5_160_960),
    ("v_mfma_f32_16x16x16_f16", 64, 3_385_871_181, 330_301_440),
])
def test_f2_finds_what_serves_the_writes_and_the_reads_of_gfx950_at_once(mfma, store, total, free):
    found = sl.search([rows("gfx950", store), operands("gfx950", mfma)], ("f2",), limit=3)
    assert found.exhausted and (found.total, found.conflict_free) == (total, free)
    for candidate in found:
        assert candidate.excess == 0 == sum(int(a.analyze().excess.sum()) for a in candidate.accesses)
    assert found[0].certificate.excess == 0


def test_on_gfx950_16_byte_chunks_never_free_64_bit_operands_of_32_rows():
    found = sl.search([rows("gfx950", 128), operands("gfx950", "v_mfma_f32_32x32x8_f16")], (*FAMILIES, "f2"), limit=1)
    assert found.exhausted and found.conflict_free == 0 and found.bound == found.least == 32


def pairs_of_kernels():
    """The 465 pairs of a plane in F2^5 and a line in it, each by the map that makes them the kernels of the lowest three and
    four rows: columns, bit to image."""
    for line in range(1, 32):
        for plane in {min(v, v ^ line) for v in range(1, 32) if v != line}:
            basis = [line, plane]
            for vector in (1, 2, 4, 8, 16):
                span = {0}
                for each in basis:
                    span |= {each ^ other for other in span}
                basis += [vector] if vector not in span else []
            images = {0: 0}
            for vector, image in zip(basis, (16, 8, 1, 2, 4), strict=True):
                images |= {vector ^ other: image ^ to for other, to in images.items()}
            yield [images[1 << bit] for bit in range(5)]


@given_few(10, 60, st.data(), st.booleans())
def test_two_numbers_of_banks_are_decided_as_by_trying_every_pair_of_kernels(data, xor):
    tile, lane = sl.Layout(256), np.arange(64)
    accesses = []
    for name in ("ds_read_b128", *data.draw(st.lists(st.sampled_from(
            ["ds_write_b128", "ds_write_b64", "ds_read_b64", "ds_read_b32", "ds_write_b32"]), min_size=1, max_size=2))):
        step = sl.instruction(name, "gfx950").bytes // 2
        units = st.integers(0, 256 // step - 1)
        if xor:
            table = step * sl.F2Map(data.draw(st.lists(units, min_size=6, max_size=6)))(lane)
        else:
            few = np.array(data.draw(st.lists(units, min_size=8, max_size=8)))
            table = step * few[lane // data.draw(st.sampled_from((1, 2, 8, 16))) % 8]
        accesses.append(sl.Access(f"{len(accesses)}", name, tile, lambda tid, table=table: table[tid], dtype="f16",
                                  arch="gfx950"))
    moved = np.array([sl.F2Map((1, 2, 4, *(8 * column for column in columns)))(np.arange(256)) for columns in
                      pairs_of_kernels()])
    tried = sum(sl.analyze(a.instruction, 2 * moved[:, a.offsets().reshape(-1)], arch="gfx950").excess
                for a in accesses).tolist()
    found = sl.search(accesses, ("f2",), limit=3)
    both = len({rule.banks for a in accesses for rule in (a.row, a.row.rival) if rule}) == 2
    assert len(tried) == 465 and found.exhausted and found.total == (465 if both else 31)
    assert found.conflict_free * 465 == tried.count(0) * found.total and found.bound <= min(tried) <= found.least
    if xor and all(a.row.rival is None for a in accesses):
        assert found.bound == found.least == min(tried)


def test_a_disputed_rule_is_free_of_conflicts_only_where_both_rules_are():
    words = sl.Access("words", "ds_read_b32", sl.Layout((64, 32), (32, 1)), lambda tid, k: (tid, k), {"tid": 64, "k": 32},
                      "f32", arch="gfx950")
    found = sl.search(words, ("swizzle", "pad"), limit=1)
    words = found[0].accesses[0].addresses() // 4
    free = [len(set(row)) == len(row) for banks, halves in ((32, 2), (64, 1))
            for half in np.split(words % banks, halves, axis=1) for row in half.tolist()]
    assert all(free) == (found[0].excess == 0)


@given_few(10, 100, st.lists(st.integers(0, 2047), min_size=1, max_size=64), st.sampled_from(["ds_read_b32", "ds_read_u16"]))
def test_no_bound_exceeds_what_a_layout_costs_where_sources_disagree(units, name):
    """Of a tile of three times a power of two, lanes may meet in every layout: that counts once, not by each rule."""
    tile, step = sl.Layout(3 * 2048), sl.instruction(name, "gfx950").bytes // 2
    given = np.resize(np.array(units) * step * 1024 % (3 * 2048), 64)
    access = sl.Access("any", name, tile, lambda tid: given[tid], dtype="f16", arch="gfx950")
    found = sl.search(access, ("f2",), limit=3)
    assert found.bound <= found.least <= int(access.analyze().excess.sum())
