"""The listing of a trace: every executed line with its counts; and `simlayout trace`, which prints it."""

import inspect
import json
import linecache

import numpy as np
import pytest
from machine_kit import Instruction, bar_sync, ld_shared, st_global, st_shared, tid_x

from simlayout.cli import main
from simlayout.machine import run


def helper(x):
    """Not counted."""
    if x > 100:
        x = 100
    return x + 1


def kernel(out, n):
    tid, k = tid_x(), 0
    for i in range(n):
        st_shared(4 * tid, helper(i)); k += 1  # noqa: E702
        if tid < 7:
            ld_shared(128 * tid)
        else:
            st_shared(900, i)
    while k > 0:
        k = helper(k) - 2
    if n > 50: k = 1                            # never  # noqa: E701
    bar_sync()
    address = (4 *
               tid)
    st_global(
        out + address,
        ld_shared(address),
    )


def executed(trace, function, text):
    """Executions of the only line of a function that contains the text, None if it has no count."""
    source, start = inspect.getsourcelines(function)
    (line,) = (start + i for i, s in enumerate(source) if text in s)
    return trace.executed.get((__file__, line))


def traced(n=5, warps=2):
    return run(kernel, 1, 32 * warps, np.zeros(32 * warps, np.int32), n, shared_bytes=1024, hazards="off")


def test_files_that_access_shared_memory_come_first():
    def another(out):
        st_shared(0, 1)
        st_global(out, outside(1))

    scope = {}
    exec(compile("def outside(x):\n    return x + 1\n", "/a/header.py", "exec"), scope)
    linecache.cache["/a/header.py"] = 0, None, ["def outside(x):\n", "    return x + 1\n"], "/a/header.py"
    outside = scope["outside"]
    trace = run(another, 1, 32, np.zeros(1, np.int32), shared_bytes=4, hazards="off")
    assert [block.splitlines()[0] for block in trace.listing().split("\n\n")[:2]] == [__file__, "/a/header.py"]


def test_every_executed_statement_is_counted_once_per_warp():
    trace = traced()
    for text, count in [("tid, k =", 2), ("for i", 2), ("st_shared(4 ", 10), ("if tid < 7", 10), ("ld_shared(128", 5),
                        ("st_shared(900", 10), ("while", 2), ("bar_sync", 2), ("address = (4", 2), ("st_global(", 2)]:
        assert executed(trace, kernel, text) == count, text
    assert executed(trace, kernel, "def kernel") is None and executed(trace, kernel, "else") is None
    assert executed(trace, kernel, "if n > 50") == 2, "the arm on the same line is not taken"
    assert executed(trace, kernel, "               tid)") is None, "a statement counts where it begins"
    calls = 10 + executed(trace, kernel, "k = helper")
    assert executed(trace, helper, "if x") == executed(trace, helper, "return") == calls
    assert executed(trace, helper, "x = 100") is None and executed(trace, helper, "Not counted") is None


def test_counts_of_shared_memory_stand_at_the_line_of_the_call():
    lines = {s.source.strip(): s for s in traced().source_lines()}
    row = lines["ld_shared(128 * tid)"]
    assert (row.executions, row.instructions, row.wavefronts, row.ideal, row.excess) == (5, 5, 35, 5, 30)
    assert lines["st_global("].instructions == 0 and lines["ld_shared(address),"].instructions == 2
    assert lines["ld_shared(address),"].executions == 0


def test_the_listing_shows_all_lines_or_those_with_shared_memory():
    trace = traced()
    every, shared = trace.listing(), trace.listing(every_line=False)
    assert __file__ in every and "for i in range(n):" in every and "for i in range(n):" not in shared
    for text in (every, shared):
        (row,) = (line for line in text.splitlines() if "ld_shared(128 * tid)" in line)
        assert row.split()[1:6] == ["5", "5", "35", "5", "30"]
        (total,) = (line for line in text.splitlines() if line.strip().startswith("total"))
        assert total.split()[1:] == [str(x) for x in (27, trace.total().wavefronts, trace.total().ideal, 30)]


def test_a_loop_that_is_never_entered_and_a_function_without_source_are_no_trouble():
    scope = {}
    exec("def index(t):\n    return 4 * t\n", scope)
    index = scope["index"]

    def plain(n):
        for _ in range(n):
            st_shared(0, 1)                      # not reached
        st_shared(index(tid_x()), 1)

    trace = run(plain, 1, 32, 0, shared_bytes=128)
    assert executed(trace, plain, "not reached") is None and len(trace.source_lines()) == 2
    assert {file for file, _ in trace.executed} == {__file__}


# ---- the command ----------------------------------------------------------------------------------------------------

def test_the_command_prints_the_source_with_counts_that_equal_the_plan(capsys, tmp_path):
    from cuda_kernels import KERNELS

    file = tmp_path / "trace.json"
    assert main(["trace", "mma_base", "--lines", "shared", "--json", str(file)]) == 0
    printed, said = capsys.readouterr().out, KERNELS["mma_base"].plan.predict(256, 128, 96)
    assert "hazards       none" in printed and "C (256, 128) = A (256, 96)" in printed
    report = json.loads(file.read_text())
    assert report["hazards"] == [] and report["problem"] == {"M": 256, "N": 128, "K": 96}
    counted = {a["name"]: (a["instructions"], a["wavefronts"], a["ideal"]) for a in report["accesses"]}
    assert set(counted) == {c.name for c in said.counts}
    for c in said.counts:                              # of a copy the plan knows no sources, but the run does
        assert counted[c.name][0] == c.instructions and (not c.exact or counted[c.name][1:] == (c.wavefronts, c.ideal))
    for line in report["lines"]:
        assert (line["source"].strip() in printed) or not line["instructions"]
    assert sum(line["wavefronts"] for line in report["lines"]) == report["total"]["wavefronts"]


def test_the_command_takes_sizes_and_options(capsys):
    assert main(["trace", "mma_crosswise", "-M", "8", "-N", "8", "-K", "40", "--loads", "lds", "--warps", "8"]) == 0
    printed = capsys.readouterr().out
    assert "loads lds" in printed and "warps 8" in printed and "lds A" in printed and "executions" in printed


@pytest.mark.parametrize("arguments, complaint", [
    (["mma_bass"], "unknown kernel 'mma_bass' (did you mean mma_base?)"),
    (["mma_base", "--warps", "4"], "no option 'warps'"),
    (["mma_base", "-M", "0"], "'0' is not an integer from 1"),
    (["mma_base", "--lines", "some"], "invalid choice: 'some'"),
    (["mma_base", "-M", "1", "-N", "1", "-K", "1", "--json", "no/such/folder.json"], "there is no folder"),
])
def test_the_command_refuses_in_one_line(arguments, complaint, capsys):
    assert main(["trace", *arguments]) == 2
    said = capsys.readouterr().err
    assert complaint in said and said.count("\n") == 1


def test_the_command_lists_hazards_and_answers_with_1(capsys, monkeypatch):
    from cuda_kernels.kernels import pipeline

    monkeypatch.setattr(pipeline, "bar_sync", Instruction(lambda warp: None))          # a pipeline without its barriers
    assert main(["trace", "mma_permuted", "-K", "32", "--stages", "1"]) == 1
    printed = capsys.readouterr().out
    assert "after write: " in printed and "nothing orders the two" in printed and "see above" in printed
