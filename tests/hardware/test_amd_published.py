"""AMD's LDS: what others have counted, timed or derived, beside the model."""

from itertools import combinations

import numpy as np
import pytest
from lds_twin import slow
from tiers import sweep_but

from simlayout.errors import InstructionError
from simlayout.hardware import analyze, arch_of

LANE = np.arange(64)


def conflicts(chip, name, addresses, lanes=None):
    """The conflicts of a wave; lanes: those that are active, all if None."""
    count = arch_of(chip).lanes
    given, active = np.zeros(count, int), np.ones(count, bool)
    if lanes is None:
        given[:] = addresses
    else:
        active[:], given[list(lanes)] = False, addresses
        active[list(lanes)] = True
    return int(analyze(name, given, active, arch=chip).conflicts[0])


STRIDES = [
    ("gfx942", "ds_read_b32", {4: 0, 8: 2, 16: 6, 32: 14, 64: 30, 128: 62, 256: 62, 512: 62}),      # nod-ai, MI300X, counter
    ("gfx942", "ds_read_b64", {8: 0, 16: 4, 32: 12, 64: 28, 128: 60, 256: 60, 512: 60}),
    ("gfx942", "ds_read_b128", {16: 0, 32: 8, 64: 24, 128: 56, 256: 56, 512: 56}),
    ("gfx942", "ds_write_b128", {16: 0, 32: 8, 64: 24, 128: 56}),                                   # derived
    ("gfx950", "ds_write_b64", {256: 60}),                                                          # HipKittens, counter
    ("gfx950", "ds_read_b64", {8: 0, 16: 2, 32: 6, 64: 14, 128: 30, 256: 62}),                      # derived
    ("gfx950", "ds_read_b128", {16: 0, 32: 4, 64: 12, 128: 28, 256: 60}),
    ("gfx1100", "ds_read_b128", {64: 12, 80: 0, 128: 28, 144: 0}),                                  # derived
]


@pytest.mark.parametrize(("chip", "name", "stride", "expected"),
                         [(chip, name, stride, n) for chip, name, rows in STRIDES for stride, n in rows.items()])
def test_strides_cost_what_was_published(chip, name, stride, expected):
    assert conflicts(chip, name, stride * np.arange(arch_of(chip).lanes)) == expected


PAIRS = [
    ("gfx90a", "ds_read_b32", {0: 0, 1: 128}, 1), ("gfx90a", "ds_read_b32", {0: 0, 1: 4}, 0),       # rocKE's tests
    ("gfx90a", "ds_read_b32", {0: 0, 32: 128}, 0), ("gfx90a", "ds_read_b32", {0: 0, 1: 128, 2: 256, 3: 384}, 3),
    ("gfx90a", "ds_read_b64", {0: 0, 16: 128}, 0), ("gfx90a", "ds_read_b128", {0: 0, 8: 128}, 0),
    ("gfx90a", "ds_read_b128", {0: 0, 4: 128}, 0), ("gfx90a", "ds_write_b128", {0: 0, 4: 128}, 1),
    ("gfx90a", "ds_read_b128", {0: 0, 20: 128}, 1),
    ("gfx950", "ds_read_b128", {0: 0, 4: 256}, 0), ("gfx950", "ds_read_b128", {0: 0, 12: 256}, 1),  # HipKittens, pairs
    ("gfx950", "ds_read_b128", {0: 0, 20: 256}, 1), ("gfx950", "ds_read_b128", {0: 0, 12: 128}, 0),
    ("gfx950", "ds_read_b64", {0: 0, 31: 256}, 1), ("gfx950", "ds_read_b64", {0: 0, 31: 128}, 0),
    ("gfx950", "ds_read_b64", {0: 0, 32: 256}, 0),
]


@pytest.mark.parametrize(("chip", "name", "lanes", "expected"), PAIRS)
def test_single_lanes_meet_as_was_published(chip, name, lanes, expected):
    assert conflicts(chip, name, list(lanes.values()), lanes) == expected


@pytest.mark.parametrize(("stride", "on_gfx942", "on_gfx950"),
                         [(64, 8, 4), (128, 24, 12), (256, 24, 28), (80, 8, 4), (144, 8, 4), (272, 8, 4)])
def test_operands_in_rows_cost_what_was_derived(stride, on_gfx942, on_gfx950):
    addresses = LANE % 16 * stride + 16 * (LANE // 16)
    assert [conflicts(chip, "ds_read_b128", addresses) for chip in ("gfx942", "gfx950")] == [on_gfx942, on_gfx950]


@pytest.mark.parametrize(("rows", "on_gfx942", "on_gfx950"), [(16, 0, 0), (32, 0, 4)])
def test_a_chunk_xored_with_its_row_frees_operands_of_128_bytes(rows, on_gfx942, on_gfx950):
    row = LANE % rows
    addresses = 128 * row + 16 * (LANE // rows ^ row % 8)
    assert [conflicts(chip, "ds_read_b128", addresses) for chip in ("gfx942", "gfx950")] == [on_gfx942, on_gfx950]


@pytest.mark.parametrize(("period", "expected"), [(8, 4), (16, 0)])
def test_the_xor_of_8_rows_is_too_short_for_64_bit_reads_of_gfx942(period, expected):
    row = LANE % 16
    assert conflicts("gfx942", "ds_read_b64", 256 * row + 8 * (LANE // 16 ^ row % period)) == expected


@pytest.mark.parametrize(("rows", "chunks", "plain", "swizzled"),
                         [(32, 4, 12, 0), (32, 8, 28, 0), (16, 8, 12, 0), (16, 4, 4, 4), (16, 16, 28, 0), (32, 16, 60, 0)])
def test_rocrollers_swizzle_on_gfx950(rows, chunks, plain, swizzled):
    row, chunk = LANE % rows, LANE // rows
    block = row // max(16 // chunks, 1)
    stored = (chunk + 2 * (block // 2)) % chunks ^ 1 - block % 2
    found = [conflicts("gfx950", "ds_read_b128", 16 * chunks * row + 16 * c) for c in (chunk, stored)]
    assert found == [plain, swizzled]


# ---- transposing reads: AMD's Primus-Turbo counted them in attention kernels, hk_attn_bwd_d128_gfx950.cu ------------------

def stock(offset):
    """HipKittens' st_32x32 swizzle of a 32 x 32 tile of 2 bytes: bit 3 of the row to bit 5, its bit 4 to bit 4."""
    return offset ^ offset >> 4 & 32 ^ offset >> 6 & 16


def forward(offset):
    """The same, and bit 2 of the row to bit 5."""
    return stock(offset) ^ offset >> 3 & 32


def backward(offset):
    """Bit 2 of the row to bit 5 in place of its bit 3."""
    return offset ^ offset >> 3 & 32 ^ offset >> 6 & 16


def operand(swizzle, k, j):
    """The addresses of rows 4 (lane / 16) + lane / 4 % 4 + 16 k, as an operand of 16x16x32 is read."""
    row, column = 4 * (LANE // 16) + LANE % 16 // 4 + 16 * k, 16 * j + 4 * (LANE % 4)
    return swizzle(64 * row + 2 * column)


def strided(first):
    """Those of the kernel before: 8 rows from one half of the wave to the other."""
    row, column = LANE % 16 // 4 + 8 * (LANE // 32) + first, 4 * (LANE % 4) + 16 * (LANE % 32 // 16)
    return stock(64 * row + 2 * column)


COUNTED = [*((operand(swizzle, k, j), n) for swizzle, n in ((stock, 2), (forward, 0), (backward, 0))
             for k in (0, 1) for j in (0, 1)), *((strided(first), 0) for first in (0, 4, 16, 20))]
"""(addresses, conflicts): 50,724,864 of 1,585,152 passes with 16 reads each, and 0; 0 before, of the strided ones."""


def test_transposing_reads_cost_what_was_counted_in_attention_kernels():
    for addresses, expected in COUNTED:
        assert conflicts("gfx950", "ds_read_b64_tr_b16", addresses) == expected
    assert 1_585_152 * 16 * conflicts("gfx950", "ds_read_tr16_b64", operand(stock, 0, 0)) == 50_724_864
    rows = [swizzle(64 * (LANE % 16) + 16 * (LANE // 16)) for swizzle in (stock, backward, forward)]
    assert [conflicts("gfx950", "ds_read_b128", addresses) for addresses in rows][:2] == [0, 0]
    assert conflicts("gfx950", "ds_read_b128", rows[2][[0, 12]], (0, 12)) == 1          # "phase 0's lanes 0 and 12 collide"


@pytest.mark.parametrize("keys", sweep_but((0, 1, 2), (0, 1, 2, 3)))
def test_what_was_counted_leaves_two_phases_of_32_lanes_and_64_banks(keys):
    """Of all phases that are lanes for which 0 to 3 XORs of some of their bits agree."""
    parity = np.array([[bin(lane & key).count("1") % 2 for lane in LANE] for key in range(64)])
    every = np.array([addresses for addresses, _ in COUNTED]), [n for _, n in COUNTED]
    left = set()
    for chosen in combinations(range(1, 64), keys):
        ids = sum((parity[key] << i for i, key in enumerate(chosen)), 0 * LANE)
        groups = [np.flatnonzero(ids == i) for i in set(ids.tolist())]
        for banks in (32, 64, 128) if len(groups) == 1 << keys else ():
            if all(slow(groups, banks, 8, a, [True] * 64)[2] == n for a, n in zip(*every, strict=True)):
                left.add((len(groups), banks, *(key & 0b110000 for key in chosen)))
    assert left == ({(2, 64, 0b100000)} if keys == 1 else set())


def test_a_transposing_read_needs_every_lane():
    with pytest.raises(InstructionError, match="exchanges what lanes load: all 64 lanes execute it, but lane 63"):
        analyze("ds_read_b64_tr_b16", 8 * LANE, LANE < 63, arch="gfx950")
