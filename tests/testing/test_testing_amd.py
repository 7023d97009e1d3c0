"""The assertions of simlayout.testing on AMD's accesses: waves of 64 lanes, 64 banks, and the chip that an access is for."""

import pytest

import simlayout as sl
from simlayout.testing import assert_bijective, assert_conflict_free, assert_equivalent, assert_wavefronts
from simlayout.testing.counterexample import CounterexampleError
from simlayout.testing.written import test_source as source_of

TILE = sl.Layout((64, 64), (64, 1))
SWIZZLED = sl.Swizzle(3, 3, 3) @ TILE


def load(tile, arch="gfx942"):
    return sl.Access("load", "ds_read_b128", tile, lambda tid, k: (tid % 16, 32 * k + 8 * (tid // 16)), {"tid": 64, "k": 2},
                     arch=arch)


@pytest.mark.parametrize(("arch", "passes", "lines"), [
    ("gfx942", 32, ["lane 1 at tid = 1, k = 0: coordinate (1, 0), offset 64, bytes 128-143, banks 0-3, words 32-35",
                    "phase 0, lanes 0-3, 20-23: 4 passes"]),
    ("gfx950", 16, ["lane 2 at tid = 2, k = 0: coordinate (2, 0), offset 128, bytes 256-271, banks 0-3, words 64-67",
                    "bank    0    4    8   12   16   20   24   28   32   36   40   44   48   52   56   60"]),
])
def test_a_conflict_is_told_by_two_lanes_of_the_chips_phase(arch, passes, lines):
    with pytest.raises(CounterexampleError) as raised:
        assert_conflict_free(load(TILE, arch))
    text = str(raised.value)
    assert f"ds_read_b128 takes {passes} passes" in text and all(line in text for line in lines)
    assert max(map(len, text.splitlines())) <= 100 and raised.value.counterexample.lanes[0] == 0
    assert_conflict_free(load(SWIZZLED, arch))
    assert_conflict_free(SWIZZLED, for_=[load(TILE, arch)])
    assert_wavefronts(load(TILE, arch), 2 * passes)


def test_the_chip_may_be_another_than_the_accesss_own():
    assert_wavefronts(load(TILE), 32, arch="gfx950")
    assert_wavefronts("ds_read_b32", 2, [4 * lane for lane in range(64)], arch="gfx942")
    with pytest.raises(CounterexampleError, match="out of range"):
        assert_conflict_free(load(sl.Layout((64, 64), (4096, 1))))


def test_functions_of_a_wave_are_compared_lane_by_lane():
    whole = sl.Access("all", "ds_read_b128", TILE, lambda tid, i: (8 * i + tid // 8, 8 * (tid % 8)), {"tid": 64, "i": 8},
                      arch="gfx942")
    assert_bijective(whole)
    with pytest.raises(CounterexampleError, match="lane 33"):
        assert_equivalent(whole, whole.with_tile(lambda row, col: row * 64 + col + (row % 8 == 4) * (col == 8)))


@pytest.mark.parametrize("tile", [TILE, SWIZZLED])
def test_a_written_test_names_the_chip_and_passes(tile):
    text = source_of([load(tile)])
    assert "arch='gfx942'" in text
    names = {}
    exec(compile(text, "written", "exec"), names)
    for name, test in names.items():
        if name.startswith("test_"):
            test()
