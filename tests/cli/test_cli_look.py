"""How the command line looks: colours where they are wanted, statements by their excess, whole and with bars."""

import linecache

import pytest

from simlayout.cli import main
from simlayout.cli.ranked import BAR, ranked
from simlayout.cli.text import coloured, paint
from simlayout.machine.engine.listing import SourceLine

TRACE = ["trace", "mma_base", "--lines", "shared"]


class Terminal:
    """A stdout that says whether it is a terminal."""

    encoding = "utf-8"

    def __init__(self, answer):
        self.isatty = lambda: answer


@pytest.fixture(autouse=True)
def _bare(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("terminal, set_to, wanted", [
    (True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"NO_COLOR": ""}, True),
    (False, {"FORCE_COLOR": "1"}, True), (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    (True, {"TERM": "dumb"}, False)])
def test_colours_are_for_terminals_and_who_forces_them_and_never_for_who_wants_none(monkeypatch, terminal, set_to, wanted):
    monkeypatch.setattr("sys.stdout", Terminal(terminal))
    for name, value in set_to.items():
        monkeypatch.setenv(name, value)
    assert coloured() == wanted
    assert paint("a", "red") == ("\033[31ma\033[0m" if wanted else "a")


def test_a_trace_ranks_whole_statements_by_excess_and_a_pipe_gets_no_colours(capsys, monkeypatch):
    assert main(TRACE) == 0
    plain = capsys.readouterr().out
    assert "\033" not in plain
    rows = plain.split("instructions\n", 1)[1].split("\n\n")[0].splitlines()
    excess = [int(row.split()[0]) for row in rows]
    assert excess == sorted(excess, reverse=True) and excess[0] == 3584 and len(excess) == 5
    whole = "ra[buffer, i, 2], ra[buffer, i, 3] = ldmatrix_x4(smem + load_a(tid, i, ks, stage))"
    assert any(row.endswith(whole) for row in rows)
    bars = [row.count("-") + row.count("#") for row in (row.split("body.py")[0].split("common.py")[0] for row in rows)]
    assert bars[0] == BAR and bars == sorted(bars, reverse=True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(TRACE) == 0
    painted = capsys.readouterr().out
    for code in ("\033[31m", "\033[34m", "\033[0m"):
        painted = painted.replace(code, "")
    assert painted == plain


def test_a_narrow_terminal_gets_statements_below_their_counts_in_full(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    line = SourceLine("k.py", 7, "    value = " + " + ".join(f"ld_shared_b32(smem + {i})" for i in range(9)), 1, 1, 32, 1)
    text = ranked([line])
    assert max(map(len, text.splitlines())) <= 60 and line.source.strip() in " ".join(text.split())


def test_a_statement_of_several_lines_is_found_from_any_of_them(monkeypatch):
    source = ["def f():\n", "    x = g(\n", "        1,\n", "        2)\n", "    return x\n"]
    monkeypatch.setitem(linecache.cache, "made.py", (sum(map(len, source)), None, source, "made.py"))
    for number in (2, 3, 4):
        assert ranked([SourceLine("made.py", number, source[number - 1], 1, 1, 1, 1)]).endswith("x = g(1, 2)")


def test_a_run_without_shared_memory_says_so():
    assert ranked([SourceLine("k.py", 1, "pass", 4)]) == "no access of shared memory"
