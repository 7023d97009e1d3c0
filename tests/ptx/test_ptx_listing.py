"""What a run of PTX counts: by source line, by line of the PTX, and in total by the classes of Nsight Compute's counters."""

import sys
from importlib import import_module

import numpy as np
import pytest
from ptx_texts import TRANSPOSE, module

import simlayout as sl
from simlayout.errors import SimlayoutError
from simlayout.hardware import INSTRUCTIONS
from simlayout.hardware.tables.instructions import CLASSES, class_of
from simlayout.kernel import AccessCount
from simlayout.machine import Trace
from simlayout.machine.ptx.passes.unread import NOTE
from simlayout.machine.ptx.running import LOOP

SOURCE = "\n".join(f"// line {n}" for n in range(1, 10))


def transposed(**options):
    a, c = np.arange(1024, dtype=np.float32).reshape(32, 32), np.zeros((32, 32), np.float32)
    return sl.ptx.load(TRANSPOSE).entry().run(1, 32, a, c, **options)


def rows(text):
    """{line: its words} of a listing."""
    return {int(words[0]): words[1:] for line in text.splitlines() if (words := line.split()) and words[0].isdigit()}


def test_the_listing_has_warp_instructions_wavefronts_ideal_and_excess_of_every_source_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "transpose.cu").write_text(SOURCE)
    found = rows(transposed().listing())
    assert found == {
        3: ["5", "//", "line", "3"], 4: ["96", "//", "line", "4"], 5: ["192", "32", "32", "32", "0", "//", "line", "5"],
        6: ["2", "//", "line", "6"], 7: ["97", "//", "line", "7"],
        8: ["224", "32", "1024", "32", "992", "//", "line", "8"]}


def test_without_the_source_the_listing_has_line_numbers_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rows(transposed().listing(every_line=False)) == {
        5: ["192", "32", "32", "32", "0"], 8: ["224", "32", "1024", "32", "992"]}


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/stdin", "", ".", "no\\nsuch", "~", "x" * 5000])
def test_a_source_that_is_no_plain_file_is_not_opened(file):
    text = module('.loc 1 7 3\nmov.u32 %r1, 0;\nret;', before=f'.file 1 "{file}"')
    trace = sl.ptx.load(text).entry().run(1, 32)
    assert [(line.line, line.source) for line in trace.source_lines()] == [(7, "")]


def test_what_stands_behind_a_loc_of_no_line_is_of_the_line_before_as_in_the_table_of_ptxas():
    text = module(".loc 1 7 3\nmov.u32 %r1, 0;\n.loc 1 0 5\nmov.u32 %r1, 1;\n.loc 1 9 3\nret;", before='.file 1 "a.cu"')
    trace = sl.ptx.load(text).entry().run(1, 32)
    assert [(line.line, line.executions) for line in trace.source_lines()] == [(7, 2), (9, 1)]


def test_the_ptx_listing_has_each_ptx_line_with_the_source_line_that_it_is_of():
    trace = transposed()
    found = {line.line: line for line in trace.source_lines(ptx=True)}
    text = dict(enumerate(TRANSPOSE.splitlines(), 1))
    for number, line in found.items():
        shown, _, place = line.source.partition("  // ")
        assert shown == text[number] and place.startswith("transpose.cu:") and line.file == "<text>"
    stored, loaded = (next(line for line in found.values() if line.source.startswith(name)) for name in ("st.sh", "ld.sh"))
    assert (stored.instructions, stored.wavefronts, stored.ideal, stored.executions) == (32, 32, 32, 32)
    assert (loaded.instructions, loaded.wavefronts, loaded.ideal, loaded.excess) == (32, 1024, 32, 992)
    assert rows(trace.listing(every_line=False, ptx=True)).keys() == {stored.line, loaded.line}


def test_both_listings_add_up_to_the_same():
    trace = transposed()
    for name in ("executions", "instructions", "wavefronts", "ideal"):
        source, ptx = (sum(getattr(line, name) for line in trace.source_lines(ptx=which)) for which in (False, True))
        assert source == ptx


def test_the_compiled_loop_counts_the_same_by_line_and_by_line_of_the_ptx():
    pytest.importorskip("numba")
    before = transposed(hazards="off") if LOOP not in sys.modules else None
    import_module(LOOP)
    after = transposed(hazards="off")
    for trace in filter(None, (before, transposed())):
        assert trace.lines == after.lines and trace.source_lines(ptx=True) == after.source_lines(ptx=True)
    assert {c.ptx_line for c in after.lines} == {line.line for line in after.source_lines(ptx=True) if line.instructions}


def test_two_instructions_of_one_ptx_line_are_one_row():
    trace = sl.ptx.load(module("mov.u32 %r1, 0; mov.u32 %r2, 0;\nret;")).entry().run(1, 32)
    assert [(line.source, line.executions) for line in trace.source_lines(ptx=True)] == [
        ("mov.u32 %r1, 0; mov.u32 %r2, 0;", 2), ("ret;", 1)]


def test_a_run_of_python_source_has_no_ptx_lines():
    with pytest.raises(SimlayoutError, match="not of PTX"):
        Trace(()).listing(ptx=True)


# ---- totals ------------------------------------------------------------------------------------------------------------

def test_totals_are_the_wavefronts_by_class():
    assert transposed().totals() == {"ld": 1024, "ldmatrix": 0, "st": 32, "stmatrix": 0, "copy": 0, "atom": 0}


def test_every_instruction_of_the_table_is_in_one_class():
    assert {class_of(name) for name in INSTRUCTIONS} == set(CLASSES.values())
    assert [class_of(name) for name in ("ld.b32", "st.b64", "atom.shared.cas.b32", "cp.async.cg.16")] == [
        "ld", "st", "atom", "copy"]


@pytest.mark.parametrize("name", ["cp.async.bulk.tensor.2d.shared::cluster.global", "wgmma.m64n256k16.f32.f16.f16", "x", "",
                                  "ld.shared::cluster.b32"])
def test_what_moves_no_wavefronts_of_loads_and_stores_is_in_no_class(name):
    assert sum(Trace((AccessCount("a", name, 1, 5, 5),)).totals().values()) == 0


# ---- what ptxas may leave out --------------------------------------------------------------------------------------------

TILE = ".shared .align 16 .b8 tile[512];\n"


@pytest.mark.parametrize("body, notes", [
    ("ld.shared.b32 %r1, [tile];", 1), ("ld.shared.b32 %r1, [tile]; ld.shared.b32 %r2, [tile];", 2),
    ("ld.shared.v2.b32 {%r1, %r2}, [tile];", 1), ("ld.volatile.shared.b32 %r1, [tile];", 0),
    ("ld.shared.b32 %r1, [tile]; st.shared.b32 [tile], %r1;", 0), ("ld.shared.b32 %r1, [tile]; add.u32 %r2, %r1, 1;", 1),
    ("ld.shared.b32 %r1, [tile]; st.shared.b32 [%r1], %r2;", 0), ("@%p1 ld.shared.b32 %r1, [tile];", 1),
    ("ld.shared.v2.b32 {%r1, %r2}, [tile]; mov.b64 %rd1, {%r2, %r2};", 0), ("ld.param.u32 %r1, [kernel_param_0];", 0),
    ("mov.pred %p1, 0; ld.shared.b32 %r1, [tile]; @%p1 st.shared.b32 [tile], %r1;", 1),
    ("mov.pred %p1, 0; ld.shared.b32 %r1, [tile]; @!%p1 st.shared.b32 [tile], %r1;", 0),
    ("bra DONE; ld.shared.b32 %r1, [tile]; DONE:", 0), ("ld.shared.b32 %r1, [tile]; mov.u32 %r1, 0;", 1)])
def test_a_load_whose_result_nothing_needs_counts_nothing_as_ptxas_leaves_it_out_and_a_note_says_so(body, notes):
    text = module(f"{TILE}mov.u64 %rd1, 0; st.shared.b64 [tile], %rd1;\n.loc 1 7 3\n{body}\nret;", ["u32"],
                  before='.file 1 "k.cu"')
    trace = sl.ptx.load(text).entry().run(1, 1, 0)
    assert trace.notes == ((f"k.cu:7: {notes} {NOTE}",) if notes else ())
    assert (trace.totals()["ld"] > 0) == (not notes and "ld.shared" in body and "bra" not in body or "volatile" in body)
    assert (f"\n\nk.cu:7: {notes} load whose result" in trace.listing()) == bool(notes)
