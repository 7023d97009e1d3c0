"""What a run keeps of addresses: sectors of global memory, and the patterns of shared memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ptx_texts import module
from tiers import given_few

import simlayout as sl
from simlayout.machine.engine import patterns
from simlayout.machine.engine.patterns import PatternStore
from simlayout.machine.engine.sectors import SectorBuffer
from simlayout.machine.engine.trace import Recorder
from simlayout.machine.ptx import running
from simlayout.machine.ptx.compiled.noted import count_sectors, count_touched

WIDTHS = st.sampled_from([1, 2, 4, 8, 16])


@st.composite
def accesses(draw):
    """(bytes of a lane, [(address per lane, lanes that take part)])."""
    nbytes = draw(WIDTHS)
    lanes = st.lists(st.integers(0, draw(st.sampled_from([3, 40, 400]))), min_size=32, max_size=32)
    masks = st.lists(st.booleans(), min_size=32, max_size=32).filter(any) | st.just([True] * 32)
    return nbytes, draw(st.lists(st.tuples(lanes.map(lambda n: [nbytes * i for i in n]), masks), min_size=1, max_size=4))


def twin(nbytes, addresses, active):
    """(sectors, least, close, between) byte by byte."""
    touched = {a + i for a, on in zip(addresses, active) if on for i in range(nbytes)}
    starts = sorted({a for a, on in zip(addresses, active) if on})
    gaps = [after - before for before, after in zip(starts, starts[1:]) if nbytes < after - before < 32]
    return len({byte // 32 for byte in touched}), -(-len(touched) // 32), len(gaps), sum(gaps)


@given_few(15, 500, accesses(), st.booleans())
def test_sectors_are_the_pieces_of_32_bytes_that_active_lanes_touch(case, compiled):
    nbytes, given_ones = case
    buffer, addresses = SectorBuffer(nbytes), np.array([a for a, _ in given_ones])
    active = np.array([on for _, on in given_ones])
    if compiled:
        bits = (active << np.arange(32)).sum(axis=1).astype(np.uint32)
        counts = np.zeros((1, 5), np.int64)
        widths = np.array([nbytes])
        count_sectors(np.zeros(len(bits), np.int64), bits, addresses, len(bits), widths, widths, counts)
        buffer.add_counts(*counts[0].tolist())
    else:
        for row, mask in zip(addresses, active):
            buffer.add(row, mask)
    buffer.flush()
    expected = np.array([twin(nbytes, a, on) for a, on in given_ones]).sum(axis=0)
    found = buffer.sectors, buffer.least, buffer.close, buffer.between, buffer.instructions
    assert found == (*expected, len(given_ones))


@st.composite
def places(draw):
    """(pieces of a place: (bytes from the address, bytes), addresses per lane, lanes that take part)."""
    pieces = draw(st.lists(st.tuples(st.integers(-40, 80), st.integers(1, 16)), min_size=1, max_size=4))
    stride, spread = draw(st.sampled_from([0, 1, 4, 16, 24, 100])), draw(st.integers(0, 64))
    jumps = draw(st.lists(st.integers(0, spread), min_size=32, max_size=32))
    active = draw(st.lists(st.booleans(), min_size=32, max_size=32).filter(any) | st.just([True] * 32))
    return pieces, [1000 + stride * lane + jump for lane, jump in enumerate(jumps)], active


@given(st.lists(places(), min_size=1, max_size=3))
def test_what_accesses_of_one_place_touch_together_is_counted_byte_by_byte(cases):
    pieces = np.array(cases[0][0])
    addresses, active = np.array([a for _, a, _ in cases]), np.array([on for *_, on in cases])
    expected = np.zeros(2, int)
    for row, mask in zip(addresses, active):
        bytes = {a + start + i for a, on in zip(row, mask) if on for start, n in cases[0][0] for i in range(n)}
        expected += [len({byte // 32 for byte in bytes}), -(-len(bytes) // 32)]
    bits = (active << np.arange(32)).sum(axis=1).astype(np.uint32)
    assert tuple(expected) == count_touched(addresses, bits, pieces)
    buffer = SectorBuffer(4, pieces)
    for row, mask in zip(addresses, active):
        buffer.add(row, mask)
    buffer.flush()
    assert (buffer.touched, buffer.filled) == tuple(expected)


PLACES = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 8;
mul.wide.u32 %rd2, %r1, 16;
add.s64 %rd3, %rd2, %rd1;
.loc 1 3 1
ld.global.f64 %fd1, [%rd3];
ld.global.f64 %fd2, [%rd3+8];
.loc 1 4 1
ld.global.f32 %f1, [%rd3];
@%p1 ld.global.f32 %f3, [%rd3+8];
.loc 1 5 1
ld.global.f32 %f2, [%rd3+4];
.loc 1 6 1
add.s64 %rd3, %rd3, 512;
ld.global.f64 %fd3, [%rd3];
.loc 1 7 1
st.global.f64 [%rd3+8], %fd3;
.loc 1 8 1
add.f32 %f1, %f1, %f2; add.f32 %f1, %f1, %f3; mov.b32 %r1, %f1; nanosleep.u32 %r1;
add.f64 %fd1, %fd1, %fd2; cvt.rzi.u32.f64 %r1, %fd1; nanosleep.u32 %r1;
ret;
"""


@pytest.mark.parametrize("warmth", [1 << 60, 0], ids=["in NumPy", "compiled"])
def test_accesses_of_one_base_are_a_place_until_the_base_the_guard_or_the_direction_is_another(monkeypatch, warmth):
    monkeypatch.setattr(running, "WARMTH", warmth)
    monkeypatch.setattr(running, "LOOP", "nowhere" if warmth else running.LOOP)
    text = module(PLACES, ("u64",), before='.file 1 "a.cu"')
    trace = sl.ptx.load(text).entry().run(1, 32, np.zeros(128), hazards="off")
    assert [(c.line, c.instruction, c.sectors, c.least, c.touched, c.filled) for c in trace.sectors] == [
        (3, "ld.global.b64", 16, 8, 16, 16), (3, "ld.global.b64", 16, 8, 0, 0),
        (4, "ld.global.b32", 16, 4, 16, 16), (4, "ld.global.b32", 4, 1, 4, 1),
        (5, "ld.global.b32", 16, 4, 16, 16),
        (6, "ld.global.b64", 16, 8, 16, 8), (7, "st.global.b64", 16, 8, 16, 8)]


def test_sectors_of_generic_vector_and_atomic_accesses_are_told_by_line():
    text = module("""
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 64;
add.s64 %rd3, %rd2, %rd1;
.loc 1 3 1
ld.f32 %f1, [%rd3];
.loc 1 4 1
atom.global.add.u32 %r2, [%rd1], 1;
.loc 1 5 1
setp.lt.u32 %p1, %r1, 8;
@%p1 st.global.f32 [%rd3], %f1;
ret;
""", ("u64",), before='.file 1 "a.cu"')
    trace = sl.ptx.load(text).entry().run(1, 32, np.zeros(1024, np.float32), hazards="off")
    assert [(c.line, c.instruction, c.instructions, c.sectors, c.least, c.excess) for c in trace.sectors] == [
        (3, "ld.global.b32", 1, 32, 4, 28), (4, "atom.global.b32", 1, 1, 1, 0), (5, "st.global.b32", 1, 8, 1, 7)]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=60), st.integers(1, 3))
def test_a_pattern_is_kept_once_and_costs_what_each_costs_by_itself(which, parts):
    """Patterns of lane i at 4 i * 2 ** k, with one lane missing or none."""
    rows = np.array([4 * np.arange(32) << k for k, _ in which], np.int32)
    active = np.array([[True] * 31 + [whole] for _, whole in which])
    analyzed = []

    def analyze(addresses, active):
        analyzed.append(len(addresses))
        found = sl.analyze("ld.shared.b32", addresses, active=active)
        return np.array([found.wavefronts, found.ideal])

    store, total = PatternStore(analyze), np.zeros(2, int)
    for part in np.array_split(np.arange(len(which)), parts):
        if len(part):
            total += store.count(rows[part], active[part])
    alone = sl.analyze("ld.shared.b32", rows, active=active)
    assert total.tolist() == [alone.wavefronts.sum(), alone.ideal.sum()]
    assert sum(analyzed) == len(set(which))
    addresses, masks, times = store.kept()
    assert len(times) == len(set(which)) and times.sum() == len(which)
    assert {(int(a[1] >> 2).bit_length() - 1, bool(m[31])): n for a, m, n in zip(addresses, masks, times)} == {
        key: which.count(key) for key in which}


def test_patterns_beyond_the_most_are_counted_but_not_kept(monkeypatch):
    monkeypatch.setattr(patterns, "MOST", 2)
    recorder = Recorder("sm_90")
    for shift in (0, 1, 2, 0, 2):
        recorder.add("ld.shared.b32", None, ("a.py", 3), 4 * np.arange(32) << shift, None)
    trace = recorder.trace()
    (kept,) = trace.patterns
    assert (kept.times.tolist(), kept.others, kept.line, kept.ptx_line) == ([2, 1], 2, 3, 0)
    assert (trace.total().instructions, trace.total().wavefronts) == (5, 1 + 2 + 4 + 1 + 4)


def test_the_patterns_of_a_program_are_the_addresses_of_its_lanes():
    from ptx_texts import TRANSPOSE

    trace = sl.ptx.load(TRANSPOSE).entry().run(1, 32, np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32))
    stored, loaded = trace.patterns
    assert (stored.instruction, loaded.instruction) == ("st.shared.b32", "ld.shared.b32")
    assert sorted(map(tuple, loaded.addresses.tolist())) == [tuple(128 * lane + 4 * row for lane in range(32))
                                                             for row in range(32)]
    assert loaded.active.all() and loaded.times.tolist() == [1] * 32
