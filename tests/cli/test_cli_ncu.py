"""simlayout ncu: a report of Nsight Compute from the command line, by itself and beside a trace."""

import json
import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from commands import answered, printed, refused
from forks import forked
from ncu_reports import REPORTS, recorded, unpacked
from places import DATA
from texts import GUIDE, blocks

from simlayout.cli import main

PAGE = str(DATA / "ncu_source_page.csv")
RUN = ("run", "transpose.ptx", "--grid", "3,2", "--block", "32,8", "--arg", "A=f32[64,96]", "--arg", "C=f32[96,64]",
       "--arg", "64", "--arg", "96", "--json", "run.json", "--entry")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder but for transpose.ptx and naive.ncu-rep."""
    monkeypatch.chdir(tmp_path)
    Path("transpose.ptx").write_bytes(lzma.decompress((REPORTS / "ptx" / "transpose.ptx.xz").read_bytes()))
    unpacked("transpose_naive", tmp_path).rename("naive.ncu-rep")
    return tmp_path


@pytest.fixture
def reads(monkeypatch):
    """Makes the command read the given Launches, of whatever report."""
    def given(*launches):
        monkeypatch.setattr("simlayout.nsight.reports.launches",
                            lambda _: [replace(one, number=n) for n, one in enumerate(launches)])
    return given


def traced(capsys, entry="transpose_naive"):
    printed(capsys, *RUN, entry)


# ---- alone ---------------------------------------------------------------------------------------------------------------

def test_a_report_is_listed_by_lines_with_the_excess_below(capsys):
    pytest.importorskip("ncu_report")
    text = printed(capsys, "ncu", "naive.ncu-rep", "--lines", "shared")
    rows = [line.split() for line in text.splitlines()]
    assert ["8", "864", "192", "6144", "192", "5952", "768", "768"] in rows and "predicted" not in text
    assert text.endswith("excess        5952 on transpose.cu:8\n")


def test_a_kernel_of_numba_is_shown_without_the_tag_of_its_abi(capsys, folder):
    pytest.importorskip("ncu_report")
    unpacked("numba_transpose", folder)
    assert printed(capsys, "ncu", "numba_transpose.ncu-rep").startswith("kernel        transpose\n")
    assert json.loads(printed(capsys, "ncu", "numba_transpose.ncu-rep", "--json"))["kernel"].startswith("transpose[abi:v1,")


def test_a_csv_is_listed_by_classes(capsys):
    text = printed(capsys, "ncu", PAGE)
    assert "the CSV has none" in text and "does not tell them apart" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["704", "704", "2112", "2112", "0", "ldmatrix"] in rows
    assert [row[2:5] for row in rows if row[-1:] == ["copy"] and row[0].isdigit()] == [["146531", "43956", "102575"]]


def test_sass_is_listed_by_instructions_and_what_is_misread_is_marked(capsys, reads):
    reads(recorded()["copy_pipeline"])
    text = printed(capsys, "ncu", "x", "--lines", "sass")
    marked = [line for line in text.splitlines() if line.endswith("* misread")]
    assert len(marked) == 2 and all("P0" in line for line in marked) and "\n* Nsight Compute counts" in text
    assert "LDS R26" in text and "IMAD" not in text
    report = answered(capsys, "ncu", "x", "--lines", "sass")
    assert len(report["instructions"]) == len(recorded()["copy_pipeline"].counted)


def test_conflicts_of_other_causes_are_told_apart_where_the_hardware_counted_them(capsys, reads):
    reads(replace(recorded()["transpose_naive"], conflicts={"ld": 6000}))
    text = printed(capsys, "ncu", "x")
    assert "conflicts     ld: 6000 by the hardware's counter, 5952 of the addresses and 48 of other causes" in text
    assert answered(capsys, "ncu", "x")["conflicts"] == [{"operation": "ld", "counter": 6000, "pattern": 5952, "other": 48}]


# ---- beside a trace ------------------------------------------------------------------------------------------------------

def test_the_guide_shows_what_is_printed(capsys):
    pytest.importorskip("ncu_report")
    traced(capsys)
    (shown,) = blocks(next(path for path in GUIDE if path.stem == "nsight"), "text")
    assert printed(capsys, "ncu", "naive.ncu-rep", "--trace", "run.json", "--lines", "shared") == shown.body


def test_a_line_that_is_not_as_predicted_is_named_with_the_reason_and_exit_code_1(capsys, reads):
    traced(capsys)
    launch = recorded()["transpose_naive"]
    at = next(at for at, one in launch.accesses.items() if one.line == 8)
    wrong = replace(launch.counted[at], wavefronts=launch.counted[at].wavefronts - 1)
    reads(replace(launch, counted={**launch.counted, at: wrong}))
    text = printed(capsys, "ncu", "x", "--trace", "run.json", code=1)
    assert "predicted != measured: 1 of 2 lines" in text
    assert "transpose.cu:8: as many instructions at other addresses" in text
    report = answered(capsys, "ncu", "x", "--trace", "run.json", code=1)
    assert [line["verdict"] for line in report["lines"] if line["verdict"]] == ["equal", "DIFFERENT"]
    assert [line["predicted"]["wavefronts"] for line in report["lines"] if line["verdict"]] == [192, 6144]


def test_a_function_that_was_inlined_is_compared_on_the_line_of_its_call(capsys, reads):
    Path("h.ptx").write_bytes(lzma.decompress((REPORTS / "ptx" / "histogram.ptx.xz").read_bytes()))
    printed(capsys, "run", "h.ptx", "--entry", "histogram_shared", "--grid", "3", "--block", "256", "--arg", "u8[3000]",
            "--arg", "C=u32[256]", "--arg", "3000", "--json", "run.json")
    accesses = json.loads(Path("run.json").read_text())["accesses"]
    callers = [one["callers"] for one in accesses if one["instruction"].startswith("atom")]
    assert callers == [[["cuda/histogram.cu", 6]]]
    reads(recorded()["histogram_shared"])
    text = printed(capsys, "ncu", "x", "--trace", "run.json", code=1)        # its data are others: only the atomics differ
    assert "predicted != measured: 1 of 3 lines" in text and "histogram.cu:6: as many" in text


def test_a_trace_of_a_program_brings_the_edit_that_mends_the_line(capsys, reads):
    pytest.importorskip("numba.cuda")
    Path("program.py").write_text(
        "import numpy as np\nfrom numba import cuda\nfrom cuda_kernels.conformance.foreign import numba_kernels\n"
        "x, out = np.zeros((40, 60), np.float32), np.zeros((60, 40), np.float32)\n"
        "cuda.jit(numba_kernels.transpose)[(4, 3), (16, 16)](x, out)\n")
    done = forked("simlayout", "run", "--quiet", "--json", "run.json", "program.py")
    assert done.returncode == 0, done.stderr
    reads(recorded()["numba_transpose"])
    text = printed(capsys, "ncu", "x", "--trace", "run.json")
    assert "predicted = measured: 2 lines of shared memory" in text
    assert "numba_kernels.py:7: excess 120 of tile; this makes it 60" in text
    assert answered(capsys, "ncu", "x", "--trace", "run.json")["mends"][0]["edits"][0]["line"] == 7


# ---- refused -------------------------------------------------------------------------------------------------------------

def test_what_cannot_be_answered_is_one_line(capsys, reads):
    assert "there is no such report" in refused(capsys, "ncu", "none.ncu-rep")
    assert "'ptx' (choose from all, shared, sass)" in refused(capsys, "ncu", PAGE, "--lines", "ptx")
    assert "'sass' (choose from all, shared)" in refused(capsys, "trace", "mma_base", "--lines", "sass")
    assert "'sass' (choose from all, shared, ptx)" in refused(capsys, *RUN, "transpose_naive", "--lines", "sass")
    traced(capsys, "transpose_padded")
    reads(recorded()["transpose_naive"], recorded()["transpose_naive"])
    assert "choose one with --launch N: 0: transpose_naive, grid 3 x 2 x 1" in refused(capsys, "ncu", "x")
    assert "has no such kernel; it has transpose_naive" in refused(capsys, "ncu", "x", "--kernel", "sort")
    assert "the trace is of another kernel: it has transpose_padded" in refused(capsys, "ncu", "x", "--trace", "run.json")
    Path("run.json").write_text("{}")
    assert "is not what `simlayout run" in refused(capsys, "ncu", "x", "--trace", "run.json")


def test_json_goes_beside_the_text_into_a_file(capsys, reads):
    reads(recorded()["transpose_naive"])
    assert main(["ncu", "x", "--json", "answer.json"]) == 0
    assert "5952 on transpose.cu:8" in capsys.readouterr().out
    made = json.loads(Path("answer.json").read_text())
    assert [made[name] for name in ("kernel", "grid", "block")] == ["transpose_naive", [3, 2, 1], [32, 8, 1]]
    assert made["total"]["excess"] == 5952
