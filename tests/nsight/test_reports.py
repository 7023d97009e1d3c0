"""Reports of Nsight Compute: what is read of them, which launch is meant, and what is refused."""

import csv
import io
import sys
from dataclasses import replace

import pytest
from fake_reports import FakeAction
from hypothesis import given
from hypothesis import strategies as st
from ncu_reports import recorded, unpacked
from places import DATA

from simlayout.errors import SimlayoutError
from simlayout.nsight.compared import chosen
from simlayout.nsight.predicted import Prediction
from simlayout.nsight.reports import CONFLICTS, Launch, launches, of_report, short
from simlayout.nsight.source_page import COLUMNS, METRICS, Counted, named

PAGE = DATA / "ncu_source_page.csv"
NAIVE, PADDED = recorded()["transpose_naive"], recorded()["transpose_padded"]


# ---- reading -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", recorded())
def test_nvidias_package_reads_of_a_report_what_was_recorded_from_it(name, tmp_path):
    pytest.importorskip("ncu_report")
    assert launches(unpacked(name, tmp_path)) == [recorded()[name]]


counts = st.integers(0, 10**6)
texts = st.sampled_from(["LDS R1, [R2]", "@P1 STS [R1], R2", "EXIT", "ST.E [R2], R4"])
instructions = st.builds(Counted, texts, *[counts] * 6, st.sampled_from(["a.cu", "b.cuh"]), st.integers(1, 99))


@given(st.dictionaries(st.integers(1, 999).map(lambda n: 16 * n), instructions, max_size=9), instructions)
def test_a_report_with_the_interface_of_nvidias_package_gives_its_launches_back(counted, first):
    launch = Launch("f(int)", 0, {0: first, **counted}, "_Z1fi", (3, 2, 1), (32, 8, 1), "NVIDIA H200", 1,
                    {"ld": 5}, {"a.cu": "text"})
    again = replace(launch, number=1)
    assert of_report([[FakeAction(launch)], [FakeAction(again)]], "x") == [launch, again]


def page_of(launch):
    """The CSV of a launch, as ncu prints it."""
    text = io.StringIO()
    lines = csv.writer(text, quoting=csv.QUOTE_ALL)
    lines.writerow(["Kernel Name", launch.name])
    lines.writerow(["Address", "Source", *COLUMNS.values()])
    for offset, one in launch.counted.items():
        lines.writerow([hex(0x7F00 + offset), one.text, *(getattr(one, name) for name in COLUMNS)])
    return text.getvalue()


@pytest.mark.parametrize("name", ["transpose_naive", "numba_transpose"])
def test_the_csv_holds_what_the_report_does_but_for_lines(name, tmp_path):
    launch = recorded()[name]
    path = tmp_path / "page.csv"
    path.write_text(page_of(launch))
    (read,) = launches(path)
    assert (read.name, read.has_lines) == (launch.name, False)
    assert read.counted == {offset: replace(one, file="", line=0) for offset, one in launch.counted.items()}


def test_pages_have_the_names_of_their_kernels():
    ((name, page),) = named(PAGE.read_text())
    assert name.startswith("cuda_kernels::gemm::hgemm") and len(page) == 10
    assert short(name) == "cuda_kernels::gemm::hgemm::make_body::_3clocals_3e::gemm"


@pytest.mark.parametrize("without, no_ids", [
    (["inst_executed"], ()), ([METRICS["wavefronts"]], ()), ((), ["inst_executed"]), ((), [METRICS["wavefronts"]])])
def test_a_report_without_counters_of_instructions_is_told_how_to_be_collected(without, no_ids):
    with pytest.raises(SimlayoutError, match="r.ncu-rep holds no counters of single instructions for transpose_naive: .*"
                                             "--section SourceCounters --import-source yes.*-lineinfo"):
        of_report([[FakeAction(NAIVE, without, no_ids)]], "r.ncu-rep")


def test_a_kernel_without_shared_memory_has_no_access():
    launch = Launch("f", 0, {0: Counted("EXIT", 32, 0, 0, 1, file="a.cu", line=3)})
    (read,) = of_report([[FakeAction(launch)]], "x")
    assert read.accesses == {} and read.has_lines


@pytest.mark.parametrize("content, fault", [
    (b"", "neither a report"), (b"hello", "neither a report"), (b"\xff\xfe\x00", "neither a report.*no text"),
    (b"PK\3\4", "is packed"), (b'"Address","Source"\n', "no column")])
def test_what_is_no_report_is_refused(content, fault, tmp_path):
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(content)
    with pytest.raises(SimlayoutError, match=fault):
        launches(path)


@given(st.data())
def test_a_page_that_was_damaged_is_read_or_refused(data):
    text = page_of(PADDED)
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    try:
        assert named(text[:first] + data.draw(st.sampled_from(["", '"', "\n", "x", '"0x10"\n', "\0"])) + text[last:])
    except SimlayoutError as error:
        assert "\n" not in str(error)


def test_a_damaged_row_is_told_by_its_number_and_an_empty_instruction_has_no_opcode():
    lines = page_of(NAIVE).splitlines()
    with pytest.raises(SimlayoutError, match="row 3 of ncu's source page is damaged: '0x"):
        named("\n".join([*lines[:2], lines[2].rpartition(",")[0]]))
    assert Counted("", 32, 0, 0).opcode == "" and not Counted("", 32, 0, 0).accesses_shared


def test_a_folder_and_a_file_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(SimlayoutError, match="is a folder, not a report"):
        launches(tmp_path)
    with pytest.raises(SimlayoutError, match="there is no such report"):
        launches(tmp_path / "a.ncu-rep")


def test_without_nvidias_package_the_extra_and_the_other_way_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(SimlayoutError, match=r"pip install 'simlayout\[ncu\]'; without it.*--page source --csv"):
        launches(unpacked("transpose_naive", tmp_path))


@pytest.mark.parametrize("length", [4, 100, 5000, 60_000])
def test_a_report_that_was_cut_is_refused(length, tmp_path):
    pytest.importorskip("ncu_report")
    path = unpacked("transpose_naive", tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(SimlayoutError, match="is no report|cannot read|holds no counters"):
        launches(path)


# ---- which launch --------------------------------------------------------------------------------------------------------

def numbered(*some):
    return [replace(one, number=number) for number, one in enumerate(some)]


def predicted(name, *shapes):
    return Prediction(name, shapes or (((3, 2, 1), (32, 8, 1), 1),))


def test_a_kernel_is_meant_by_its_name_a_part_of_it_or_by_being_the_only_one():
    both = numbered(NAIVE, PADDED)
    assert chosen([NAIVE]) == (NAIVE, None)
    assert chosen(both, kernel="transpose_padded")[0].number == chosen(both, kernel="padd")[0].number == 1
    assert chosen(both, [predicted("transpose_padded")])[0].number == 1


@pytest.mark.parametrize("some, kernel, number, fault", [
    ([NAIVE, PADDED], None, None, "several kernels, choose one with --kernel: transpose_naive, transpose_padded"),
    ([NAIVE, PADDED], "sort", None, "no such kernel; it has transpose_naive, transpose_padded"),
    ([NAIVE, NAIVE], None, None, r"choose one with --launch N: 0: transpose_naive, grid 3 x 2 x 1, block 32 x 8 x 1; 1: "),
    ([NAIVE, NAIVE], None, 2, "--launch 2: the report has 0: transpose_naive"),
    ([NAIVE, PADDED], "naive", 1, "--launch 1: the report has")])
def test_what_means_no_launch_or_several_is_refused_with_those_there_are(some, kernel, number, fault):
    with pytest.raises(SimlayoutError, match=fault):
        chosen(numbered(*some), None, kernel, number)


def test_one_of_several_launches_is_chosen_by_its_number():
    assert chosen(numbered(NAIVE, NAIVE), None, "naive", 1)[0].number == 1


@pytest.mark.parametrize("prediction, fault", [
    (predicted("sort"), "of another kernel: it has sort; the report has transpose_naive"),
    (predicted("transpose_naive", ((9, 2, 1), (32, 8, 1), 1)), "of another launch.*grid 9 x 2 x 1.*has grid 3 x 2 x 1"),
    (predicted("transpose_naive", ((3, 2, 1), (32, 8, 1), 4)), "adds up 4 launches")])
def test_a_trace_of_something_else_is_refused(prediction, fault):
    with pytest.raises(SimlayoutError, match=fault):
        chosen([NAIVE], [prediction])


def test_as_many_launches_as_the_trace_adds_up_are_added_up():
    three = numbered(NAIVE, NAIVE, NAIVE)
    launch, _ = chosen(three, [predicted("transpose_naive", ((3, 2, 1), (32, 8, 1), 3))])
    assert launch.times == 3
    assert all(launch.counted[offset].wavefronts == 3 * one.wavefronts for offset, one in NAIVE.counted.items())
    other = replace(PADDED, name="transpose_naive", number=3, mangled="")
    with pytest.raises(SimlayoutError, match="launches 0 and 3 of transpose_naive are of different machine code"):
        chosen([three[0], other], [predicted("transpose_naive", ((3, 2, 1), (32, 8, 1), 2))])


def test_the_same_name_in_another_module_is_the_same_kernel_and_a_part_of_a_word_is_not():
    launch = recorded()["numba_transpose"]
    assert launch.is_called("transpose") and launch.is_called("__main__::transpose") is False
    assert launch.is_called(launch.mangled) and not launch.is_called("pose")


def test_hardwares_conflicts_are_read_where_they_were_collected():
    assert NAIVE.conflicts == {}
    action = FakeAction(replace(NAIVE, conflicts={"ld": 6000, "st": 3}), without=[CONFLICTS.format("st")])
    assert of_report([[action]], "x")[0].conflicts == {"ld": 6000}
