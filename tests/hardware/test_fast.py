"""The counters for very many accesses equal the model: Numba here, and what `analyze` makes of either."""

import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from accesses_kit import BANKED, LANE, crowd, faulty_accesses, many_accesses
from hypothesis import strategies as st
from tiers import given_few

from simlayout.errors import AddressError
from simlayout.hardware import ARCHES, INSTRUCTIONS, analyze
from simlayout.hardware.banks import analysis, fast
from simlayout.hardware.banks import model as banks
from simlayout.hardware.banks.geometry import geometry
from simlayout.hardware.tables.instructions import QUARTERS

PATHS = {"NumPy": sys.maxsize, "Numba": 0}
"""How many accesses `analyze` must get to count them with Numba."""


def on(path, *args, **named):
    """`analyze` on one of the two paths, or the text of its error."""
    with patch.multiple(analysis, FAST_FROM=PATHS[path], LOAD_FROM=PATHS[path]):
        try:
            return analyze(*args, **named)
        except AddressError as error:
            return str(error)


@given_few(50, 150, many_accesses(400), st.sampled_from((1, 100, 128, 300, 1 << 14)), st.sampled_from((1, 7, 256)))
def test_numba_equals_numpy_whatever_the_chunks(accesses, fast_chunk, chunk):
    name, addresses, active = accesses
    with patch.object(fast, "_CHUNK", max(fast_chunk, len(addresses) // 20)), patch.object(banks, "_CHUNK", chunk):
        ours, model = (on(path, name, addresses, active) for path in ("Numba", "NumPy"))
    for field in ("wavefronts", "ideal", "at_least", "at_most", "loads", "addresses", "active", "conflicts"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(model, field), field)
        assert getattr(ours, field).dtype == getattr(model, field).dtype
    assert ours.exact and ours.caveat == ""


@pytest.mark.parametrize("name", BANKED)
def test_every_instruction_is_counted_by_both_alike(name):
    row = INSTRUCTIONS[name]
    addresses = crowd(np.random.default_rng(3), row, 1500)
    ours, model = (on(path, name, addresses) for path in PATHS)
    np.testing.assert_array_equal([ours.wavefronts, ours.ideal], [model.wavefronts, model.ideal])
    assert len(set(ours.wavefronts.tolist())) > 4
    if row.paired_groups:
        assert {len(row.groups), len(row.paired_groups)} <= set(ours.ideal.tolist())


def test_numba_counts_every_instruction_on_every_architecture():
    for chip in ARCHES.values():
        assert all(fast.can_count(INSTRUCTIONS[name], chip.shared_bytes_per_cta) for name in BANKED)


@given_few(40, 150, faulty_accesses(300), st.sampled_from((1, 128, 1 << 14)), st.sampled_from((1, 7, 256)))
def test_both_refuse_the_same_access_in_the_same_words(accesses, fast_chunk, chunk):
    name, addresses, active = accesses
    with patch.object(fast, "_CHUNK", max(fast_chunk, len(addresses) // 20)), patch.object(banks, "_CHUNK", chunk):
        ours, model = (on(path, name, addresses, active) for path in PATHS)
    if isinstance(model, str):
        assert ours == model
    else:
        np.testing.assert_array_equal(ours.wavefronts, model.wavefronts)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", (np.int32, np.int64, np.uint64))
def test_the_first_access_with_a_wrong_address_is_named(path, dtype):
    addresses = np.zeros((40_000, 32), dtype)
    addresses[[39_000, 20_001, 20_002], [3, 31, 0]] = 227 * 1024, 8, 227 * 1024
    assert on(path, "ld.shared.b128", addresses).startswith("access 20001, lane 31: address 8 is misaligned")
    assert on(path, "ld.shared.b128", addresses, LANE != 31).startswith("access 20002, lane 0: address 232448 is out")
    addresses[20_002] = 0
    assert on(path, "ld.shared.b128", addresses, LANE != 31).startswith("access 39000, lane 3: address 232448 is out")
    addresses[39_000] = 0
    assert on(path, "ld.shared.b128", addresses, LANE != 31).ideal.sum() == 80_000


@pytest.mark.parametrize("paired", (None, QUARTERS))
def test_an_instruction_wider_than_all_there_are_is_counted_by_both_alike(paired):
    row = replace(INSTRUCTIONS["ld.shared.b128"], bytes=32, groups=tuple(tuple(range(i, i + 4)) for i in range(0, 32, 4)),
                  paired_groups=paired)
    assert fast.can_count(row, 48 * 1024)
    addresses = crowd(np.random.default_rng(1), row, 400)
    addresses[::2] = np.repeat(addresses[::2, ::2], 2, axis=1)               # lanes in pairs
    one, other = (on(path, row, addresses) for path in PATHS)
    assert (one.wavefronts == other.wavefronts).all() and (one.ideal == other.ideal).all()
    assert one.ideal.min() == (4 if paired else 8) and one.wavefronts.max() > one.ideal.max()


def test_an_instruction_of_other_lane_groups_is_left_to_numpy():
    row = replace(INSTRUCTIONS["st.shared.b64"], groups=(tuple(range(0, 32, 2)), tuple(range(1, 32, 2))))
    assert geometry(row, 1024) is None and not fast.can_count(row, 1024)
    for path in PATHS:
        made = on(path, row, 8 * (LANE % 2 * 16 + LANE // 2))
        assert made.wavefronts.tolist() == [2]
    assert analyze(INSTRUCTIONS["st.shared.b64"], 8 * (LANE % 2 * 16 + LANE // 2)).wavefronts.tolist() == [4]


# Which path, and what it takes.

def test_numba_counts_many_and_is_loaded_for_very_many():
    row = INSTRUCTIONS["ld.shared.b32"]
    assert analysis._counter(row, analysis.FAST_FROM - 1, 1024) is banks.checked_wavefronts
    assert analysis._counter(row, analysis.FAST_FROM, 1024) is fast.checked_wavefronts
    with patch.dict(sys.modules):
        del sys.modules["simlayout.hardware.banks.fast"]
        assert analysis._counter(row, analysis.LOAD_FROM - 1, 1024) is banks.checked_wavefronts
        assert analysis._counter(row, analysis.LOAD_FROM, 1024).__module__ == "simlayout.hardware.banks.fast"
    with patch.object(fast.config, "DISABLE_JIT", 1):
        assert analysis._counter(row, analysis.LOAD_FROM, 1024) is banks.checked_wavefronts


def test_without_numba_numpy_counts(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "simlayout.hardware.banks.fast")
    monkeypatch.delattr("simlayout.hardware.banks.fast")
    assert analysis._counter(INSTRUCTIONS["ld.shared.b32"], 1 << 30, 1024) is banks.checked_wavefronts


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype, order", [(np.int32, "C"), (np.int64, "C"), (np.int16, "C"), (np.int64, "F")])
def test_memory_stays_flat(path, dtype, order):
    n = 100_000
    addresses = np.zeros((n, 32), dtype, order=order)
    active = np.ones((n, 32), bool)
    on(path, "ld.shared.b64", addresses[:1000], active[:1000])
    tracemalloc.start()
    made = on(path, "ld.shared.b64", addresses, active)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    results = made.wavefronts.nbytes + made.ideal.nbytes + made.loads.nbytes
    assert peak < results + 16 * 2**20               # chunks of 16,384 x 32 addresses, 4 MiB a thread


def test_analyses_from_several_threads_do_not_meet():
    addresses = [crowd(np.random.default_rng(i), INSTRUCTIONS["ld.shared.b64"], 40_000) for i in range(4)]
    assert len(addresses[0]) > analysis.FAST_FROM
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda a: analyze("ld.shared.b64", a).wavefronts, addresses))
    for a, wavefronts in zip(addresses, together, strict=True):
        np.testing.assert_array_equal(wavefronts, on("NumPy", "ld.shared.b64", a).wavefronts)


def test_the_addresses_of_an_analysis_are_what_was_given_and_0_in_idle_lanes():
    given, active = (4 * LANE).astype(np.int32)[None].repeat(3, axis=0), np.arange(96).reshape(3, 32) % 5 > 0
    made = analyze("ld.shared.b32", given, active)
    assert np.shares_memory(made.given, given) and np.shares_memory(made.mask, active)
    assert made.addresses.dtype == np.int64
    np.testing.assert_array_equal(made.addresses, np.where(active, given, 0))
    np.testing.assert_array_equal(made.active, active)
    matrix = analyze("ldmatrix.x1", 16 * LANE)
    assert matrix.active.tolist() == [(LANE < 8).tolist()] and matrix.addresses.max() == 112
