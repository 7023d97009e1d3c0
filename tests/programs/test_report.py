"""What a report blames: global memory that is wasted, and the user's own lines first."""

import re
import time
from contextlib import contextmanager

import numpy as np
import pytest

import simlayout as sl
from simlayout.errors import HazardError
from simlayout.programs.device import SimulatedDevice
from simlayout.programs.page import page
from simlayout.programs.report import Report, text, uncoalesced
from simlayout.progress import waiting

cuda = pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[cuda]'")

POINT = np.dtype([("x", np.float64), ("y", np.float64), ("mass", np.float32), ("kind", np.int32)])
ALIGNED = np.dtype(POINT.descr, align=True)


def square(z, out):
    """For Numba: neighbours lie together."""
    i = cuda.grid(1)
    out[i] = z[i] * z[i]


def all_fields(p, out):
    """For Numba: line by line a part of each record, together all of it."""
    i = cuda.grid(1)
    x = p[i].x
    y = p[i].y
    out[i] = x + y * p[i].mass + p[i].kind


def one_field(p, out):
    """For Numba: 4 bytes of every 24."""
    i = cuda.grid(1)
    out[i] = p[i].mass


def reported(kernel, *arrays):
    """The Kernel of the report on one launch of 4 warps."""
    report = Report("sm_90", hazards=False)
    sl.simulate(kernel, hazards="off", told=report.add)[1, 128](*arrays)
    (found,) = report.kernels.values()
    return found, text(report)


@pytest.mark.parametrize("kernel, dtype", [
    (square, np.complex128), (all_fields, ALIGNED), pytest.param(all_fields, POINT, marks=pytest.mark.sweep),
    pytest.param(square, np.complex64, marks=pytest.mark.sweep)])
def test_parts_of_numbers_and_fields_of_records_that_lie_together_are_not_blamed(kernel, dtype):
    out = np.zeros(128, np.float64 if dtype in (POINT, ALIGNED) else dtype)
    found, told = reported(kernel, np.zeros(128, dtype), out)
    total = found.total()
    assert total.sectors >= 1.5 * total.least and uncoalesced(found) == [] and "touches" not in told


def test_a_field_of_a_record_that_is_read_alone_is_blamed():
    found, told = reported(one_field, np.zeros(128, ALIGNED), np.zeros(128))
    (line,) = uncoalesced(found)
    assert (line.touched, line.filled) == (4 * (24 + 8), 4 * (4 + 8)) and line.source == "out[i] = p[i].mass"
    assert f"line {line.line} touches 2.7 times the sectors that its bytes fill" in told


def channels(image, out):
    """For Numba: the channels of a pixel lie together, and the places of each are computed from its stride."""
    i = cuda.grid(1)
    r, g, b = image[i]
    out[i] = r + g + b


def wide_channels(image, out):
    """For Numba: eight numbers of twelve, each load in a sector of its own."""
    i = cuda.grid(1)
    a, b, c, d, e, f, g, h, _, _, _, _ = image[i]
    out[i] = a + b + c + d + e + f + g + h


def one_channel(image, out):
    """For Numba: a byte of every three."""
    i = cuda.grid(1)
    r, g, b = image[i]
    out[i] = g


def in_a_loop(image, out):
    """For Numba: all bytes of a pixel, one after the other."""
    i = cuda.grid(1)
    s = 0
    for c in range(image.shape[1]):
        s += image[i, c]
    out[i] = s


def few(image, out):
    """For Numba: twelve threads of each warp, each with a row of its own."""
    i = cuda.grid(1)
    if i % 32 < 12:
        out[i] = image[i, 0]


def a_column_each(image, out):
    """For Numba: three places, none near another."""
    i = cuda.grid(1)
    out[i] = image[i, 0] + image[i, 128] + image[i, 256]


def pairs_of_a_row(image, out):
    """For Numba: two neighbouring numbers of each of 16 rows, as an index of the wrong order takes them."""
    i = cuda.grid(1)
    out[i] = image[i // 2, i % 2]


def both_parts(image, out):
    """For Numba: both parts of the first complex number of each row, which are one place."""
    i = cuda.grid(1)
    taken = image[i, 0].real + image[i, 0].imag
    out[i] = taken


@pytest.mark.parametrize("kernel, dtype, width, told_of", [
    (channels, np.float32, 3, "4 of about 12"), (channels, np.uint8, 3, "1 of about 3"),
    (one_channel, np.uint8, 3, "1 of about 3"), (in_a_loop, np.uint8, 3, "1 of about 3"),
    (in_a_loop, np.uint8, 4, "1 of about 4"),
    (a_column_each, np.float32, 300, ""), (few, np.float32, 300, ""), (both_parts, np.complex64, 2, "8 of about 16"),
    (pairs_of_a_row, np.uint8, 300, ""), (pairs_of_a_row, np.float32, 300, "")])
def test_what_lies_within_a_sector_of_what_the_next_thread_takes_is_told_as_a_part(kernel, dtype, width, told_of):
    found, told = reported(kernel, np.zeros((128, width), dtype), np.zeros(128, np.float32))
    assert uncoalesced(found) and (f"threads take {told_of} bytes" in told) == bool(told_of)
    assert ("let neighbouring threads take neighbouring numbers" in told) == (not told_of)


@pytest.mark.parametrize("kernel, width, times, together", [
    (wide_channels, 12, "8.0", True), (a_column_each, 300, "6.2", False)])
def test_several_accesses_of_a_line_may_be_side_by_side_where_one_of_them_wastes_no_more_than_the_others_need(
        kernel, width, times, together):
    found, told = reported(kernel, np.zeros((128, width), np.float32), np.zeros(128, np.float32))
    (line,) = uncoalesced(found)
    assert f"touches {times} times the sectors" in told and ("accesses go side by side in each thread" in told) == together


def test_a_kernel_is_called_what_its_source_calls_it_in_whatever_letters():
    def tröpfchen_图(out):
        out[cuda.grid(1)] = 1

    assert reported(tröpfchen_图, np.zeros(128))[1].startswith("tröpfchen_图: 1 launch")


def test_what_numba_does_to_note_an_exception_is_no_line_of_the_report():
    @cuda.jit(debug=True, opt=False)
    def gather(source, out):
        if source[0] < 0:
            raise ValueError("negative")
        out[cuda.grid(1)] = source[0]

    report = Report("sm_90", hazards=False)
    with pytest.raises(ValueError, match="negative"):
        sl.simulate(gather, hazards="off", told=report.add)[1, 128](np.full(1, -1.0), np.zeros(128))
    assert "<text>" not in text(report) and "source[0] < 0" in text(report)


def test_dynamic_shared_memory_gets_no_edit_and_is_called_so():
    def turned(a, out):
        s = cuda.shared.array(0, "float32")
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        s[y * 32 + x] = a[y, x]
        cuda.syncthreads()
        out[y, x] = s[x * 32 + y]

    report = Report("sm_90", hazards=False)
    arrays = np.zeros((2, 32, 32), np.float32)
    sl.simulate(cuda.jit(turned), hazards="off", told=report.add)[1, (32, 32), 0, 4096](*arrays)
    assert "excess 992 of dynamic shared memory; no edit is proposed: its shape is in the index expressions" in text(report)


def test_lines_of_a_library_come_behind_the_users_and_are_not_blamed():
    from numba.cuda import random

    states = np.zeros(128, random.xoroshiro128p_dtype)

    def noise(states, out):
        i = cuda.grid(1)
        out[2 * i] = random.xoroshiro128p_uniform_float32(states[1::2], i)

    found, told = reported(noise, np.repeat(states, 2), np.zeros(256, np.float32))
    assert [line.file for line in found.lines][0] == __file__ and found.lines[-1].file == random.__file__
    assert found.lines[-1].touched >= 2 * found.lines[-1].filled
    (line,) = uncoalesced(found)
    assert line.file == __file__ and told.count("touches") == 1
    assert "numba/cuda/random.py, a library" in told


def test_a_hazard_names_memory_of_the_device_by_its_bytes():
    def last(out):
        out[0] = cuda.grid(1)

    report = Report("sm_90")
    sl.simulate(last, hazards="report", told=report.add)[1, 64](np.zeros(3, np.int64))
    assert "of the device array of 24 bytes" in text(report)


def test_a_page_tells_what_is_wrong_before_what_is_slow():
    report = Report("sm_90")
    sl.simulate(halo, hazards="report", told=report.add)[1, (16, 16)](np.zeros((16, 16)), np.zeros((16, 16)))
    report.give_up("f<1>")
    shown = page(report, "halo.py")
    hazard, = (kernel.hazards for kernel in report.kernels.values())
    assert shown.count("class='card hazard'") == len(hazard) > 0
    assert shown.index("1 launch of f&lt;1&gt; did not") < shown.index("<h2>Hazards</h2>") < shown.index("<table>")
    assert "<h2>Hazards</h2><div class='card hazard'><b><code>halo</code></b>: " in shown


def test_launches_that_did_not_end_are_told_of_before_the_sum():
    report = Report("sm_90")
    report.give_up("f")
    assert text(report) == "1 launch of f did not come to an end, and nothing of it is counted"
    report.give_up("g")
    report.give_up("f")
    sl.simulate(halo, hazards="report", told=report.add)[1, (16, 16)](np.zeros((16, 16)), np.zeros((16, 16)))
    told = "\n\n3 launches of f, g did not come to an end, and nothing of it is counted\n\n1 launch of 1 kernel"
    assert told in text(report)


def halo(a, out):
    """For Numba: a tile whose edge nobody writes."""
    tile = cuda.shared.array((18, 18), np.float32)
    y, x = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y + 1, x + 1] = a[y, x]
    cuda.syncthreads()
    out[y, x] = tile[y, x + 1] + tile[y + 2, x + 1]


def dynamic(a):
    """For Numba: shared memory of which the launch says how much."""
    tile = cuda.shared.array(0, np.float32)
    tile[cuda.threadIdx.x] = a[cuda.threadIdx.x]


def test_shared_memory_that_a_launch_of_numba_has_not_asked_for_is_told_in_the_words_of_such_a_launch():
    report = Report("sm_90")
    for block in (32, 64):
        trace = sl.simulate(dynamic, hazards="report", told=report.add)[1, block](np.zeros(64, np.float32))
        assert "(ask for more by the fourth number of kernel[grid, block, stream, bytes])" in str(trace.hazards[0])
    sl.simulate(dynamic, told=report.add)[1, 64, 0, 256](np.zeros(64, np.float32))
    assert "3 launches, grid 1, block 64, and 1 other shape, " in text(report)


def test_a_hazard_in_shared_memory_names_the_elements_of_the_array():
    a = np.zeros((16, 16), np.float32)
    trace = sl.simulate(halo, hazards="report")[1, (16, 16)](a, a.copy())
    told = "reads shared bytes 60-67 (words 15-16, tile[0, 15] and 1 more element), which nothing has written"
    assert told in str(trace.hazards[0])
    with pytest.raises(HazardError, match=re.escape(told)) as raised:
        sl.simulate(halo)[1, (16, 16)](a, a.copy())
    assert raised.value.hazard.text == trace.hazards[0].text


def test_a_hazard_in_an_argument_of_numba_names_its_element_from_where_the_array_begins():
    def kernel(out):
        out[cuda.threadIdx.x // 2, 1] = cuda.threadIdx.x + 1

    for out, at in ((np.zeros((2, 3)), 8), (np.zeros((3, 3)).T[:2], 24)):
        found, = sl.simulate(kernel, hazards="report")[1, 2](out).hazards
        assert found.bytes == (at + 6, at + 7)
        assert f"bytes {at + 6}-{at + 7} (element [0, 1]) of the device array" in str(found)


def test_the_seconds_of_a_launch_are_without_those_in_which_the_machine_was_compiled():
    @contextmanager
    def slow(name):
        with waiting("compiles", patience=9):
            time.sleep(0.5)
        yield None

    device = SimulatedDevice(hazards="off", progress=slow)
    entry = device.module(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }").entry()
    started = time.perf_counter()
    device.launch(entry, 1, 32, ())
    assert 0 < device.launches[0].seconds <= time.perf_counter() - started - 0.5
