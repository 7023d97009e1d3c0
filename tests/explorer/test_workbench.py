"""The bench behind the page: several accesses, a pinned layout, layouts found, other languages, kernels and reports."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from simlayout.cli import main, registry
from simlayout.cli.explore import _asked
from simlayout.explorer import fix as fixing
from simlayout.explorer.copies import copies
from simlayout.explorer.fix import fix
from simlayout.explorer.model import answer
from simlayout.explorer.report import read_report, report_lines
from simlayout.explorer.sources import Sources, plan_rows
from simlayout.explorer.state import Refusal, State, Use, single, state_of
from simlayout.synthesis import search_plan

TILE = "(16,64):(64,1)"
KERNELS = Sources(registry.KERNELS)
BOTH = State(TILE, accesses=(Use("load"), Use("store", "st.shared.b128")), before="(16,64):(72,1)")


def test_each_access_of_a_bench_costs_what_it_costs_alone_before_and_after():
    found = answer(BOTH)
    for row, use in zip(found["accesses"], BOTH.accesses, strict=True):
        for layout, costs in ((TILE, row), (BOTH.before, row["before"])):
            assert costs["excess"] == sum(answer(single(layout, op=use.op))["counts"]["excess"])
    assert found["before"]["instruction"] == answer(single(BOTH.before))["instruction"]


def test_a_fault_tells_which_access_it_is_of():
    with pytest.raises(Refusal) as refused:
        answer(state_of({"layout": TILE, "accesses": [{}, {"op": "ldmatrix.x3"}]}))
    assert (refused.value.field, refused.value.access) == ("op", 1)
    with pytest.raises(Refusal, match="pinned"):
        answer(State(TILE, before="(16,"))


def test_what_fix_finds_is_what_the_answer_then_counts_and_each_is_proved():
    found = fix(BOTH)
    assert found["now"] == 112 and found["exhausted"]
    for row in found["rows"]:
        then = answer(State(row["layout"], accesses=BOTH.accesses))
        assert sum(access["excess"] for access in then["accesses"]) == row["excess"] == 0
        assert "one-to-one on its 1024 coordinates" in row["claims"]


def test_fix_begins_at_the_plain_tile_whatever_lies_over_it():
    for layout in ("Sw<2,3,3> o (16,64):(64,1)", "(16,64):(72,1)", "((2,8),64):((64,128),1)"):
        found = fix(State(layout))
        assert found["plain"] == TILE and found["rows"][0]["layout"] == "Sw<3,3,3> o (16,64):(64,1)"


def test_fix_gives_reasons_where_no_layout_is_free():
    columns = Use("columns", "ld.shared.b32", "tid, 2*k", "k=32")
    found = fix(State("(64,64):(64,1)", accesses=(Use("rows", "st.shared.b128"), columns)))
    assert found["rows"][0]["excess"] > 0
    assert [why for why in found["why"] if why.startswith("columns keeps")] and "chunks of 16 bytes" in found["why"][0]


def test_what_is_found_is_kept_whatever_lies_over_the_plain_tile_and_is_there_while_another_one_searches(monkeypatch):
    monkeypatch.setattr(fixing, "_kept", {})
    first, quick = fix(BOTH), fixing.quick_fix(BOTH)
    assert quick["rows"][0] == first["rows"][0] and {row["family"] for row in quick["rows"]} <= {"swizzle", "pad"}
    with fixing._one_at_a_time:
        again = fix(replace(BOTH, layout=first["rows"][0]["layout"], shown=1))
        assert again == {**first, "now": 0}


def test_a_search_whose_time_is_over_says_so_and_a_second_one_is_refused(monkeypatch):
    monkeypatch.setattr(fixing, "_kept", {})
    found = fix(BOTH, seconds=0)
    assert not found["exhausted"] and "time is over after" in found["said"][0]
    with fixing._one_at_a_time, pytest.raises(Refusal, match="another search"):
        fix(BOTH, seconds=0)


@pytest.mark.parametrize("layout, none", [("Sw<3,3,3> o (16,64):(64,1)", ()), ("(16,64):(72,1)", ("triton",)),
                                          ("Rot<8,8,64,8> o (16,64):(64,1)", ("cute", "cute_cpp", "triton"))])
def test_languages_that_cannot_say_a_layout_are_refused_by_name(layout, none):
    found = copies(single(layout))
    assert tuple(name for name, copied in found.items() if "error" in copied) == none
    exec(compile(found["python"]["text"], "copied", "exec"), {})


@pytest.mark.parametrize("kernel", registry.KERNELS)
def test_every_access_of_a_plan_is_counted_as_the_plan_counts_it_or_says_why_it_has_no_banks(kernel):
    rows = plan_rows(kernel, KERNELS)
    assert len([row for row in rows if row["part"] is not None]) == len(registry.KERNELS[kernel].plan.accesses)
    assert all(row["why"] for row in rows if row["part"] is None)
    assert all(len(row["pictures"]) == 1 + (row["name"] != "store C") for row in rows if row["part"] is None)
    for row in rows:
        if row["part"] is not None:
            found = answer(State("", row["dtype"], kernel=kernel, part=row["part"], shown=row["shown"]), KERNELS)
            assert found["layout"] == row["layout"] and found["op"] == row["instruction"]


def test_a_kernels_tile_in_another_layout_counts_as_the_search_does():
    (tile, *_) = search_plan(registry.KERNELS["mma_permuted"].plan, ("swizzle",), limit=1)
    found = answer(State(str(tile.plain), kernel="mma_permuted"), KERNELS)
    assert sum(access["excess"] for access in found["accesses"]) == tile.plain_excess
    with pytest.raises(Refusal, match="unknown kernel 'x'; known: "):
        answer(State("", kernel="x"), KERNELS)


# ---- reports --------------------------------------------------------------------------------------------------------

LINE = {"file": "prog.py", "line": 9, "source": "b = tile[x, y]", "instructions": 32, "wavefronts": 1024, "ideal": 32,
        "worst": {"instruction": "ld.shared.b32", "wavefronts": 32, "addresses": [128 * i for i in range(31)] + [None]}}


def test_a_line_of_a_report_is_counted_from_its_addresses():
    (row,) = report_lines({"kernels": [{"name": "k", "lines": [LINE]}]})
    found = answer(state_of(row["state"]))
    assert found["accesses"][0]["wavefronts"] == 31 and found["instruction"]["lanes"][31] == []
    assert found["instruction"]["lanes"][2] == [64] and found["accesses"][0]["name"] == "prog.py:9"


@pytest.mark.parametrize("value", [
    None, [], 3, {}, {"kernels": 3}, {"kernels": [3, {"lines": 4}, {"lines": [3, {"line": "x"}]}]},
    {"lines": [{"line": 1}]}])
def test_json_that_is_no_report_has_no_lines(value):
    assert report_lines(value) == ()


@pytest.mark.parametrize("worst", [
    None, 3, {"addresses": 3}, {"addresses": [1] * 31, "instruction": "x"},
    {"addresses": [-1] * 32, "instruction": "x"},
    {"addresses": [None] * 32, "instruction": "x"}])
def test_a_line_without_whole_addresses_has_counts_alone(worst):
    (row,) = report_lines({"lines": [{**LINE, "worst": worst}]})
    assert row["state"] is None and row["excess"] == 992


@pytest.mark.parametrize("addresses", ["1 2", " ".join(["x"] * 32), " ".join(["99999999"] * 32), " ".join(["-1"] * 32)])
def test_recorded_addresses_that_are_none_are_refused(addresses):
    with pytest.raises(Refusal):
        answer(State("(1,32):(32,1)", "f32", accesses=(Use("x", "ld.shared.b32", addresses=addresses),)))


def test_explore_begins_with_the_line_of_a_report_that_has_the_most_excess(tmp_path):
    free = {**LINE, "line": 7, "wavefronts": 32}
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"kernels": [{"name": "k", "lines": [free, LINE, {**free, "line": 11}]}]}))
    state, _ = _asked(SimpleNamespace(layout=str(path), kernel=None))
    assert state.accesses[0].name == "prog.py:9"


def test_explore_reads_a_report_and_a_kernel_and_several_instructions(tmp_path, capsys):
    path, page = tmp_path / "report.json", str(tmp_path / "page.html")
    path.write_text(json.dumps({"kernels": [{"name": "k", "lines": [LINE]}]}))
    assert read_report(path)[0]["line"] == 9
    assert main(["explore", str(path), "-o", page]) == 0
    assert main(["explore", "--kernel", "wgmma_persistent", "-o", page]) == 0
    assert main(["explore", TILE, "--op", "ldmatrix.x4", "st.shared.b128", "-o", page]) == 0
    path.write_text("{")
    assert main(["explore", str(path), "-o", page]) == 2 and "is no JSON" in capsys.readouterr().err
    assert main(["explore", str(tmp_path / "no.json"), "-o", page]) == 2
    assert main(["explore", TILE, "--kernel", "mma_swizzled", "-o", page]) == 2
