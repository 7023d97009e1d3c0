"""Kernels of CUB, whose headers come with nvcc, on the CPU machine: they compute what they should, without false hazards."""

from pathlib import Path

import numpy as np
import pytest
from nvcc import needs_nvcc, ptx_of

import simlayout as sl

pytestmark = needs_nvcc
SOURCE, CTAS, THREADS, TILE = Path(__file__).with_name("cub.cu"), 3, 128, 512


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return sl.ptx.load(ptx_of(SOURCE, tmp_path_factory.mktemp("cub"))).entries


def clean(entry, *args, grid=CTAS):
    """Runs an entry, which has no hazards."""
    assert entry.run(grid, THREADS, *args).hazards == ()


def all_of(kernels, name, count):
    """The instances of a template."""
    found = [kernels[key] for key in kernels if key.startswith(f"_Z{len(name)}{name}I")]
    assert len(found) == count
    return found


def drawn(low, high, shape, dtype):
    return np.random.default_rng(1).integers(low, high, shape).astype(dtype)


def test_a_block_s_total_is_that_of_its_elements(kernels):
    x = drawn(-8, 9, (CTAS, THREADS), np.float32)
    for entry in all_of(kernels, "total", 3):
        y = np.zeros(CTAS, np.float32)
        clean(entry, x, y)
        np.testing.assert_array_equal(y, x.sum(1))


def test_a_block_s_sums_are_those_of_all_elements_before(kernels):
    x = drawn(-50, 50, (CTAS, TILE), np.int32)
    for entry in all_of(kernels, "sums", 3):
        y = np.zeros_like(x)
        clean(entry, x, y)
        np.testing.assert_array_equal(y, np.cumsum(x, 1))


def test_keys_are_sorted_and_values_go_with_them(kernels):
    keys, values = drawn(0, 2**32, (CTAS, TILE), np.uint32), np.arange(CTAS * TILE, dtype=np.uint32).reshape(CTAS, TILE)
    before = keys.copy()
    clean(kernels["radix_sort"], keys, values)
    np.testing.assert_array_equal(keys, np.sort(before, 1))
    np.testing.assert_array_equal(before.reshape(-1)[values], keys)
    merged = drawn(-1000, 1000, (CTAS, TILE), np.int32)
    before = merged.copy()
    clean(kernels["merge_sort"], merged)
    np.testing.assert_array_equal(merged, np.sort(before, 1))


def test_a_histogram_counts_each_value(kernels):
    x = drawn(0, 256, (CTAS, TILE), np.uint8)
    for entry in all_of(kernels, "histogram", 2):
        y = np.zeros((CTAS, 256), np.uint32)
        clean(entry, x, y)
        np.testing.assert_array_equal(y, [np.bincount(of, minlength=256) for of in x])


def test_heads_of_runs_are_flagged_and_runs_are_decoded(kernels):
    x = drawn(0, 3, (CTAS, TILE), np.int32)
    y = np.zeros_like(x)
    clean(kernels["heads"], x, y)
    np.testing.assert_array_equal(y[:, 1:], x[:, 1:] != x[:, :-1])
    assert y[:, 0].all()
    values, lengths, total = drawn(0, 99, 256, np.int32), drawn(1, 6, 256, np.int32), np.zeros(1, np.int32)
    y = np.zeros(lengths.sum(), np.int32)
    clean(kernels["decode"], values, lengths, y, total, grid=1)
    np.testing.assert_array_equal(y, np.repeat(values, lengths))
    assert total == lengths.sum()


def test_warps_scan_sort_and_exchange(kernels):
    x, keys = drawn(-8, 9, TILE, np.float32), drawn(0, 999, TILE, np.int32)
    sums, exchanged, before = np.zeros(THREADS, np.float32), np.zeros(TILE, np.float32), keys.copy()
    clean(kernels["by_warps"], x, sums, exchanged, keys, grid=1)
    np.testing.assert_array_equal(sums, np.cumsum(x[:THREADS].reshape(4, 32), 1).reshape(-1))
    np.testing.assert_array_equal(keys, np.sort(before.reshape(4, -1), 1).reshape(-1))
    np.testing.assert_array_equal(exchanged.reshape(8, 16, 4), x.reshape(8, 4, 16).swapaxes(1, 2))


def test_storage_that_is_used_again_without_a_barrier_is_a_race_unless_threads_read_what_they_wrote(tmp_path):
    hasty = sl.ptx.load(ptx_of(SOURCE, tmp_path, "-DHASTY")).entries
    x, letters, keys = drawn(-50, 50, TILE, np.int32), drawn(0, 256, TILE, np.uint8), drawn(0, 99, TILE, np.uint32)

    def races(entry, *args):
        return {hazard.kind for hazard in entry.run(1, THREADS, *args, hazards="report").hazards}

    for entry in all_of(hasty, "sums", 3):
        assert races(entry, x, np.zeros_like(x)) == {"lane race", "write after write", "write after read"}
    assert races(hasty["radix_sort"], keys, keys.copy()) == {"lane race", "write after read"}
    by_atomics, by_sorting = (races(entry, letters, np.zeros(256, np.uint32)) for entry in all_of(hasty, "histogram", 2))
    assert by_atomics == {"lane race", "read after write"} and by_sorting == set()
