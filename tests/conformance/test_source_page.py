"""What Nsight Compute prints of every SASS instruction, and what becomes of it."""

import csv
import io
import json
from dataclasses import replace

import pytest
from places import DATA

from cuda_kernels.bench import default_variants
from cuda_kernels.conformance.gemms.counts import compare, main, pipe, record, recorded, strangers, table, variants, verdict
from cuda_kernels.conformance.gemms.sass import SassInstruction
from cuda_kernels.run.device import gpu_problem
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.nsight.source_page import Counted, parse, parse_raw

PAGE = (DATA / "ncu_source_page.csv").read_text()
PREDICTION = dict(default_variants())["mma_permuted, 4 stages"].plan.predict(256, 128, 64)


def test_a_source_page_gives_offsets_threads_wavefronts_and_ideal():
    (page,) = parse(PAGE)
    assert len(page) == 10
    assert page[0] == Counted("LDC R1, c[0x0][0x28]", 16384, 0, 0, 512)
    assert page[0x1AF0] == Counted("LDSM.16.M88.4 R132, [R9]", 11264, 1408, 1408, 352)


def test_a_warp_whose_predicate_is_false_executes_nothing():
    (page,) = parse(PAGE)
    assert page[0xA40].text == "@!PT  LDS RZ, [RZ]" and page[0xA40].threads == 0
    copy = page[0x2C90]
    assert copy.opcode == "LDGSTS.E.BYPASS.LTC128B.128.ZFILL"
    assert copy.threads == 32 * 352 * 14                     # of 16 turns of the loop, two find nothing more to copy


def test_every_launch_has_its_own_page():
    assert parse("==PROF== something\n" + PAGE + "\n" + PAGE) == 2 * parse(PAGE)


@pytest.mark.parametrize("text, fault", [
    ("", "no source page: nothing"), ("==ERROR== x", "no source page: ==ERROR== x"),
    (PAGE.replace("Shared Ideal", "Shared Best"), "no column 'L1 Wavefronts Shared Ideal'")])
def test_a_text_that_is_no_source_page_is_refused(text, fault):
    with pytest.raises(DeviceError, match=fault):
        parse(text)


def test_only_columns_that_are_asked_for_have_to_be_there():
    lacking = PAGE.replace("L2 Theoretical Sectors Global", "Sectors")
    with pytest.raises(DeviceError, match="no column 'L2 Theoretical Sectors Global'"):
        parse(lacking)
    (page,), (whole,) = parse(lacking, ("threads", "wavefronts", "ideal")), parse(PAGE)
    assert page == {at: replace(c, executions=0, sectors=0, least=0) for at, c in whole.items()}


def without(named, kept):
    """PAGE without the columns whose names contain a text, and with those instructions alone whose Counted is `kept`."""
    lines = PAGE[PAGE.index('"Address"'):].splitlines()
    rows = list(csv.reader(lines))
    columns = [i for i, name in enumerate(rows[0]) if named not in name]
    first = next(iter(int(row[0], 16) for row in rows[1:]))
    (page,) = parse(PAGE)
    rows = [rows[0], *(row for row in rows[1:] if kept(page[int(row[0], 16) - first]))]
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([row[i] for i in columns] for row in rows)
    return text.getvalue()


def test_a_kernel_that_does_not_access_shared_memory_has_no_columns_of_it():
    (page,), (whole,) = parse(without("Shared", lambda one: not one.accesses_shared)), parse(PAGE)
    assert list(page.values()) == [one for one in whole.values() if not one.accesses_shared]
    with pytest.raises(DeviceError, match="no column 'L1 Wavefronts Shared"):
        parse(without("Shared", lambda one: True))


def test_a_raw_page_gives_one_dict_per_launch():
    text = '==PROF== x\n"ID","Kernel","a.sum","b.sum"\n"","","sector",""\n"0","gemm","1,024","n/a"\n"1","gemm","7","8"\n'
    assert parse_raw(text, ["a.sum", "b.sum"]) == [{"a.sum": 1024, "b.sum": None}, {"a.sum": 7, "b.sum": 8}]
    with pytest.raises(DeviceError, match="no raw page"):
        parse_raw("==ERROR== y\n", ["a.sum"])


# ---- compared --------------------------------------------------------------------------------------------------------

def measured(prediction, **wrong):
    """Two instructions per access, which did together what the plan says; `wrong` adds wavefronts by access name."""
    owned, counted = {}, {}
    for n, c in enumerate(prediction.counts):
        owned[c.name] = tuple(SassInstruction(32 * n + 16 * i, "", "STS", 0) for i in range(2))
        for i, instruction in enumerate(owned[c.name]):
            waves = c.wavefronts // 2 + i * wrong.get(c.name.replace(" ", "_"), 0)
            counted[instruction.offset] = Counted("STS [R1], R2", 16 * c.instructions, waves, c.ideal // 2)
    return owned, counted


def test_equal_counts_are_equal():
    owned, counted = measured(PREDICTION)
    rows = compare(PREDICTION, owned, counted)
    assert all(row.equal for row in rows) and verdict(rows, strangers(owned, counted)) == (17, 0)
    assert "DIFFERENT" not in table(rows, 0, pipe(PREDICTION, {}))


def test_a_wavefront_too_many_is_found_and_named():
    rows = compare(PREDICTION, *measured(PREDICTION, load_A=1))
    assert [row.access for row in rows if not row.equal] == ["load A"] and verdict(rows, 0) == (17, 1)
    (line,) = [text for text in table(rows, 0, {}).splitlines() if "DIFFERENT" in text]
    assert line.split()[:2] == ["load", "A"]


@pytest.mark.parametrize("misread", [False, True])
def test_wavefronts_of_copies_are_compared_where_the_counter_reads_them(misread):
    owned, counted = measured(PREDICTION, copy_A=1000)
    first = owned["copy A"][0].offset
    if misread:
        counted[first] = replace(counted[first], text="@P0 LDGSTS.E.BYPASS.128 [R1], [R2]")
        owned["copy A"] = (replace(owned["copy A"][0], opcode=counted[first].opcode), owned["copy A"][1])
    rows = compare(PREDICTION, owned, counted)
    assert verdict(rows, 0) == ((16, 0) if misread else (17, 1))
    line = next(text for text in table(rows, 0, {}).splitlines() if "copy A" in text)
    assert line.endswith("executions equal, the rest is shown only; ncu misreads 1" if misread else "DIFFERENT")


def test_half_a_warp_is_no_execution_of_a_whole_one():
    owned, counted = measured(PREDICTION)
    first = owned["store C"][0].offset
    counted[first] = replace(counted[first], threads=counted[first].threads - 16)
    assert [row.access for row in compare(PREDICTION, owned, counted) if not row.equal] == ["store C"]


def test_wavefronts_of_no_access_are_found():
    owned, counted = measured(PREDICTION)
    counted[0x9990] = Counted("LDS R1, [R2]", 32, 5, 1)
    assert strangers(owned, counted) == 5
    assert verdict(compare(PREDICTION, owned, counted), 5) == (17, 1)


def test_a_page_of_other_machine_code_is_refused():
    owned, counted = measured(PREDICTION)
    counted[0] = replace(counted[0], text="LDS R1, [R2]")
    with pytest.raises(DeviceError, match="other code than was compiled: at 0x0 STS is LDS"):
        compare(PREDICTION, owned, counted)


def test_a_record_reads_back():
    rows = compare(PREDICTION, *measured(PREDICTION))
    made = json.loads(record([("one", rows, 0, pipe(PREDICTION, {"x": 1}))] * 2, {"device": "none", "problem": [1, 2, 3]}))
    assert made["device"] == "none" and [v["variant"] for v in made["variants"]] == ["one", "one"]
    assert recorded(made["variants"][0]) == (rows, 0)


def test_an_unknown_kernel_is_refused():
    with pytest.raises(SimlayoutError, match="unknown kernel 'mma'"):
        variants(["mma"])


@pytest.mark.skipif(gpu_problem() is None, reason="this machine has a GPU")
def test_without_a_gpu_nothing_is_measured():
    with pytest.raises(DeviceError):
        main([])
