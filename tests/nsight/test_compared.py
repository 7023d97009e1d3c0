"""Predicted = measured, line by line: fourteen reports from an H200, and differences that were planted in them."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ncu_reports import REPORTS, recorded, unpacked

from cuda_kernels.conformance.foreign import ROWS
from simlayout import ptx
from simlayout.cli.run_ptx import accesses_of
from simlayout.cli.text import json_text
from simlayout.errors import SimlayoutError
from simlayout.nsight.compared import DIFFERENT, EQUAL, MISREAD, NOT_COMPARED, compare
from simlayout.nsight.predicted import BOUNDED, LOOP, Prediction, Sums, predictions
from simlayout.nsight.reports import Launch, launches
from simlayout.nsight.source_page import Counted

LINES = {"copy_pipeline": (1, 2), "histogram_shared": (3, 0), "matrices_moved": (5, 0), "mma_f16": (3, 0),
         "numba_matmul_tiled": (3, 0), "numba_transpose": (2, 0), "reduce_interleaved": (3, 0), "reduce_tree": (3, 0),
         "sgemm_float4": (3, 0), "sgemm_tiled": (3, 0), "stencil_2d": (2, 0), "transpose_naive": (2, 0),
         "transpose_padded": (2, 0), "transpose_swizzled": (2, 0)}
"""Report -> lines that access shared memory: compared, and not compared."""


@cache
def ran(name):
    """(Entry, Trace) of a row, run on the machine."""
    row = ROWS[name]
    text = row.text(REPORTS / "ptx")
    entry = ptx.load(text)[row.symbol(text)]
    trace = entry.run(row.grid, row.block, *row.arguments(), shared_bytes=row.shared_bytes, hazards="off")
    return entry, trace


def prediction(name):
    """Of a row, as `simlayout run --json` writes it."""
    entry, trace = ran(name)
    with TemporaryDirectory() as folder:
        file = Path(folder, "run.json")
        file.write_text(json_text({"entry": entry.name, "grid": ROWS[name].grid, "block": ROWS[name].block,
                                   "accesses": accesses_of(entry, trace),
                                   "lines": [line.as_dict() for line in trace.source_lines()]}))
        (one,) = predictions(file)
    return one


def test_every_report_in_the_folder_is_compared():
    assert {path.name.removesuffix(".ncu-rep.xz") for path in REPORTS.glob("*.ncu-rep.xz")} == set(LINES) == set(recorded())


@pytest.mark.parametrize("name", LINES)
def test_what_is_predicted_is_what_an_h200_counted_on_every_line_of_shared_memory(name):
    found = compare(recorded()[name], prediction(name))
    assert found.with_verdict(DIFFERENT) == ()
    assert (len(found.with_verdict(EQUAL)), len(found.with_verdict(NOT_COMPARED))) == LINES[name]
    assert all(line.why == MISREAD for line in found.with_verdict(NOT_COMPARED))
    assert sum(line.wavefronts for line in found.lines) == found.total().wavefronts > 0


def test_where_ncu_misreads_a_copy_the_threads_that_it_counted_are_those_that_were_predicted():
    """16 bytes a thread: a warp of copies is 4 wavefronts, and the GPU's count of threads is right."""
    for line in compare(recorded()["copy_pipeline"], prediction("copy_pipeline")).with_verdict(NOT_COMPARED):
        threads = sum(one.threads for one in recorded()["copy_pipeline"].accesses.values() if one.line == line.line)
        assert line.predicted.wavefronts == threads // 8 != line.wavefronts


@pytest.mark.parametrize("name", LINES)
def test_sectors_of_global_memory_are_those_that_nsight_compute_derives_but_for_copies(name):
    measured = [(one.sectors, one.least) for one in recorded()[name].counted.values() if one.class_name != "copy"]
    assert sum(s.sectors for s in ran(name)[1].sectors) == sum(sectors for sectors, _ in measured) > 0
    assert sum(s.least for s in ran(name)[1].sectors) == sum(least for _, least in measured)


@pytest.mark.parametrize("name", [n for n in LINES if n not in ("copy_pipeline", "histogram_shared", "matrices_moved",
                                                                "mma_f16")])
def test_so_they_are_on_every_line_where_nothing_is_inlined(name):
    measured = {line.line: (line.sectors, line.least) for line in compare(recorded()[name]).lines if line.sectors}
    sums = {}
    for s in ran(name)[1].sectors:
        sums.setdefault(s.line, []).append((s.sectors, s.least))
    assert {line: tuple(map(sum, zip(*some))) for line, some in sums.items()} == measured


@pytest.mark.parametrize("name", LINES)
def test_classes_are_equal_too_where_a_report_has_no_lines(name):
    launch = recorded()[name]
    blank = replace(launch, counted={at: replace(one, file="", line=0) for at, one in launch.counted.items()})
    found = compare(blank, prediction(name))
    assert found.with_verdict(DIFFERENT) == () and found.with_verdict(EQUAL)


def test_the_report_itself_is_compared_as_what_was_recorded_from_it(tmp_path):
    pytest.importorskip("ncu_report")
    (launch,) = launches(unpacked("transpose_naive", tmp_path))
    found = compare(launch, prediction("transpose_naive"))
    assert [(line.line, line.wavefronts, line.ideal, line.predicted.wavefronts) for line in found.lines if line.verdict] == [
        (5, 192, 192, 192), (8, 6144, 192, 6144)]


# ---- planted differences -------------------------------------------------------------------------------------------------

@given(st.sampled_from(["transpose_naive", "reduce_tree", "mma_f16", "histogram_shared"]), st.data())
def test_a_wavefront_too_many_in_any_instruction_is_found_on_its_line_and_nowhere_else(name, data):
    launch = recorded()[name]
    at = data.draw(st.sampled_from(sorted(launch.accesses)))
    field = data.draw(st.sampled_from(["wavefronts", "ideal"]))
    wrong = replace(launch.counted[at], **{field: getattr(launch.counted[at], field) + 1})
    found = compare(replace(launch, counted={**launch.counted, at: wrong}), prediction(name))
    (line,) = found.with_verdict(DIFFERENT)
    assert (line.file, line.line) == (wrong.file, wrong.line)
    assert ("other addresses" in line.why) == (field == "wavefronts")


@pytest.mark.parametrize("line, sums, verdicts", [
    (3, Sums(8, 4), {3: ""}),
    (3, Sums(7, 4), {3: "at other addresses"}),
    (3, Sums(4, 2), {3: "ideal 4, predicted 2: other instructions were executed (LDS)"}),
    (4, Sums(8, 4), {3: "ptxas moved it here", 4: "ptxas moved it to another line"}),
    (3, Sums(7, 4, BOUNDED), {3: BOUNDED}),
    (3, Sums(8, 4, BOUNDED), {3: ""})])
def test_the_reason_of_a_difference_is_told(line, sums, verdicts):
    launch = Launch("f", 0, {0: Counted("LDS R1, [R2]", 128, 8, 4, 4, 0, 0, "f.cu", 3)})
    found = compare(launch, Prediction("f", (), {(("f.cu", line),): sums}))
    told = {one.line: one for one in found.lines if one.verdict}
    assert set(told) == set(verdicts)
    for at, why in verdicts.items():
        expected = EQUAL if not why else NOT_COMPARED if why == BOUNDED else DIFFERENT
        assert told[at].verdict == expected and why in told[at].why and bool(why) == bool(told[at].why)


@pytest.mark.parametrize("measured, line", [("f.cu", 3), ("g.cuh", 9)])
def test_an_inlined_function_is_compared_where_the_report_has_it(measured, line):
    launch = Launch("f", 0, {0: Counted("LDS R1, [R2]", 128, 8, 4, 4, 0, 0, measured, line)})
    found = compare(launch, Prediction("f", (), {(("g.cuh", 9), ("f.cu", 3)): Sums(8, 4)}))
    assert [(one.file, one.line, one.verdict) for one in found.lines] == [(measured, line, EQUAL)]


@pytest.mark.parametrize("wavefronts, verdict", [(8, EQUAL), (9, DIFFERENT)])
def test_an_inlined_function_that_the_report_divides_is_compared_with_its_call(wavefronts, verdict):
    launch = Launch("f", 0, {0: Counted("LDS R1, [R2]", 128, wavefronts, 4, 4, 0, 0, "g.cuh", 9),
                             16: Counted("LDS R1, [R2]", 128, 7, 4, 4, 0, 0, "f.cu", 3)})
    found = compare(launch, Prediction("f", (), {(("g.cuh", 9), ("f.cu", 3)): Sums(15, 8)}))
    assert [(one.file, one.verdict) for one in found.lines] == [("f.cu", verdict), ("g.cuh", verdict)]
    assert all(one.why for one in found.lines)


def test_a_file_is_found_by_its_name_where_the_path_is_another():
    launch = recorded()["transpose_naive"]
    moved = replace(launch, counted={at: replace(one, file=f"/home/x/{one.file}") for at, one in launch.counted.items()})
    assert len(compare(moved, prediction("transpose_naive")).with_verdict(EQUAL)) == 2


def test_conflicts_of_the_hardware_are_split_into_the_addresses_and_other_causes():
    (cause,) = compare(replace(recorded()["transpose_naive"], conflicts={"ld": 6000})).causes()
    assert (cause.operation, cause.counter, cause.pattern, cause.other) == ("ld", 6000, 5952, 48)


# ---- predictions ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, fault", [
    ("", "not what .* writes: it is no JSON: "), ("[]", "its parts are not those"), ("{}", "it has no 'kernels'"),
    ('{"kernels": []}', "launched no kernel"), ('{"kernels": [1]}', "its parts are not those"),
    ('{"entry": "f"}', "it has no 'hazards'"), ("[" * 100_000, "its parts are not those"),
    ('{"entry": "f", "hazards": [{"kind": "race"}]}', "writes: the run ended with race, and counted nothing$")])
def test_what_simlayout_run_did_not_write_is_refused(text, fault, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(SimlayoutError, match=fault):
        predictions(path)
    with pytest.raises(SimlayoutError, match="^cannot read .*none.json: No such file"):
        predictions(tmp_path / "none.json")


def access(**changed):
    return {"instruction": "ld.shared.b32", "file": "f.cu", "line": 1, "wavefronts": 4, "ideal": 2, "exact": True,
            "loads": 0, **changed}


def read(tmp_path, *accesses):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"entry": "f", "grid": [3], "block": [32, 8], "accesses": accesses, "lines": []}))
    (one,) = predictions(path)
    return one


def test_wavefronts_that_no_source_page_has_are_left_out(tmp_path):
    one = read(tmp_path, access(), access(instruction="wgmma.m64n64k16.f32.f16.f16", wavefronts=9))
    assert one.lines == {(("f.cu", 1),): Sums(4, 2)} and one.shapes == (((3, 1, 1), (32, 8, 1), 1),)


def test_what_is_not_exact_is_in_doubt_and_so_is_a_loop_of_an_atomic(tmp_path):
    one = read(tmp_path, access(exact=False), access(line=2, instruction="atom.shared.add.f32", loads=5))
    assert one.lines == {(("f.cu", 1),): Sums(4, 2, BOUNDED), (("f.cu", 2),): Sums(9, 7, LOOP)}
    assert one.classes == {"ld": Sums(9, 7, BOUNDED), "atom": Sums(4, 2, LOOP)}
