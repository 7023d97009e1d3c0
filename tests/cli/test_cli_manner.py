"""One manner: what holds of every command and of every option, asked of the parser itself."""

import argparse
import io
import json
import re
import shlex
from inspect import cleandoc

import pytest
from commands import printed, refused
from hypothesis import given, settings
from hypothesis import strategies as st

from simlayout.cli import main
from simlayout.cli.commands import command_line
from simlayout.cli.options import SHARED, add, integer, names_file
from simlayout.cli.text import fit, width
from simlayout.explorer.model import answer
from simlayout.explorer.report import report_lines
from simlayout.explorer.state import state_of

TILE = "(16,64):(64,1)"
SWIZZLED = f"Sw<3,3,3> o {TILE}"
(COMMANDS,) = (a.choices for a in command_line()._actions if isinstance(a, argparse._SubParsersAction))
OPTIONS = [(name, flag, action) for name, parser in COMMANDS.items() for action in parser._actions
           for flag in action.option_strings]


def meaning(action):
    """What an option means. How many values it takes, how they are kept and what they are otherwise is the command's, and
    where the table has a help for each command, what it may choose from too."""
    reader = getattr(action.type, "__qualname__", None)
    row = next((SHARED[flag] for flag in action.option_strings if flag in SHARED), {})
    own = isinstance(row.get("help"), dict)
    return action.nargs == 0, action.dest, action.metavar, reader, *(() if own else (action.help, action.choices))


# ---- options -----------------------------------------------------------------------------------------------------------

def test_each_option_name_has_one_meaning_in_all_commands():
    meanings = {}
    for command, flag, action in OPTIONS:
        if action.help != argparse.SUPPRESS:
            meanings.setdefault(flag, {}).setdefault(meaning(action), []).append(command)
    assert {flag: list(found.values()) for flag, found in meanings.items() if len(found) > 1} == {}


@pytest.mark.parametrize("flag", [flag for flag, row in SHARED.items() if isinstance(row["help"], dict)])
def test_the_help_of_an_option_speaks_of_its_own_command_alone(flag):
    helps = SHARED[flag]["help"]
    found = {command: action.help for command, other, action in OPTIONS if other == flag}
    assert found == {command: helps.get(command) or helps[""] for command in found}
    assert set(helps) - {""} <= set(found)


def test_what_is_hidden_is_an_older_name_of_an_option_that_is_shown():
    hidden = [(command, flag, action) for command, flag, action in OPTIONS if action.help == argparse.SUPPRESS]
    assert [(command, flag) for command, flag, _ in hidden] == [("translate", "--to")]
    for command, _, action in hidden:
        others = [a for a in COMMANDS[command]._actions if a is not action]
        assert any(a.dest == action.dest and a.choices == action.choices for a in others)


def test_options_of_several_commands_stand_in_the_table_of_shared_options():
    counted = {}
    for command, flag, action in OPTIONS:
        if flag.startswith("--") and action.help != argparse.SUPPRESS:
            counted.setdefault(flag, set()).add(command)
    assert {flag for flag, commands in counted.items() if len(commands) > 1} - {"--help"} <= {*SHARED, "--size"}
    with pytest.raises(TypeError, match="help of a shared option"):
        add(argparse.ArgumentParser(), "--dtype", help="mine")


@pytest.mark.parametrize("command", COMMANDS)
def test_json_takes_a_file_or_none_in_every_command_that_answers(command):
    (found,) = [a for a in COMMANDS[command]._actions if "--json" in a.option_strings] or [None]
    if command == "help":
        assert found is None
    else:
        assert (found.nargs, found.const, found.metavar, found.default) == ("?", "-", "FILE", None)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_and_every_example_is_a_command_line(command):
    shown = COMMANDS[command].epilog.split("examples:\n")[1].split("\n\n")[0]
    lines = cleandoc(shown).replace("\\\n", " ").splitlines()
    assert lines
    for line in lines:
        program, *words = shlex.split(line, comments=True)
        words = words[:words.index(">")] if ">" in words else words
        assert program == "simlayout" and words[0] == command
        assert callable(command_line().parse_args(words).run)


INTEGERS = [(command, flag) for command, flag, action in OPTIONS
            if action.type is not None and getattr(action.type, "__qualname__", "").startswith("integer.")]


def test_no_option_reads_numbers_by_itself():
    known = {"--limit", "--jobs", "--layers", "--index", "--steps", "--cases", "--rounds", "-M", "--sizes", "--port"}
    assert known <= {flag for _, flag in INTEGERS}
    assert [(command, flag) for command, flag, action in OPTIONS if action.type in (int, float)] == []


@pytest.mark.parametrize("flag", sorted({flag for _, flag in INTEGERS}))
@pytest.mark.parametrize("value", ["-3", "0", "x"])
def test_numbers_outside_the_limits_are_usage_errors(capsys, flag, value):
    if value == "0" and flag in ("--index", "--seed", "--port", "--shared", "--launch"):
        return
    command = next(c for c, f in INTEGERS if f == flag)
    assert "is not an integer from" in refused(capsys, command, TILE, flag, value)


@pytest.mark.parametrize("value", ["-1", "1.5", "x", "", "99999999999999999999", "\u0663", "1_0", " 1", "1\n", "+1", "0x1"])
def test_what_is_no_plain_number_is_not_read_as_one(value):
    with pytest.raises(argparse.ArgumentTypeError, match="is not an integer from 0 to 9"):
        integer(0, 9)(value)


@pytest.mark.parametrize("value", ["-1", "0", "60", "nan", "inf", "x", "1e999", ""])
def test_seconds_outside_the_limits_are_usage_errors(capsys, value):
    assert "is not a number of seconds" in refused(capsys, "bench", "--seconds", value)


# ---- words -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("word, meant", [("chek", "check"), ("plto", "plot"), ("confrom", "conform"), ("kernel", "kernels")])
def test_an_unknown_command_is_answered_with_the_nearest(capsys, word, meant):
    assert f"did you mean {meant}?" in refused(capsys, word)
    assert f"did you mean {meant}?" in refused(capsys, "help", word)


@pytest.mark.parametrize("words, meant", [
    (["CHECK"], "check"), (["check", TILE, "--DTYPE", "f16"], "--dtype"), (["guide", "PTX"], "ptx"),
    (["check", TILE, "--op", "LDS.64X"], "ld.shared.b64"), (["check", TILE, "--arch", "SM_90"], "sm_90"),
    (["check", TILE, "--dtype", "F16"], "f16"), (["clinic", "CUTLASS-3172"], "cutlass-3172"),
    (["kernels", "MMA_BASE"], "mma_base"), (["bench", "SQUARES"], "squares"),
    (["plot", "M16N8K16", "--kind", "fragment", "-o", "a.svg"], "m16n8k16.f32.f16.f16.f32")], ids=str)
def test_capitals_keep_nobody_from_the_nearest_word(capsys, words, meant):
    assert f"did you mean {meant}" in refused(capsys, *words)


def test_an_unknown_option_is_answered_with_the_nearest_of_its_command(capsys):
    err = refused(capsys, "check", TILE, "--strct")
    assert "unrecognized arguments: --strct (did you mean --strict?) (see simlayout check --help)" in err


@pytest.mark.parametrize("word", ["-o", "--output=x.py"])
def test_who_wants_a_file_of_a_command_that_prints_is_told_how(capsys, word):
    assert f"unrecognized arguments: {word}: what it prints goes to a file by > FILE" in refused(capsys, "emit", TILE, word)
    assert "> FILE" not in refused(capsys, "lesson", "1", word)


def test_an_empty_stdin_is_named(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))
    assert "argument LAYOUT: - reads stdin, which is empty" in refused(capsys, "check", "-")


def test_a_folder_in_the_place_of_a_record_is_one_line(capsys, tmp_path):
    assert refused(capsys, "conform", "--check", str(tmp_path)) == f"simlayout: cannot read {tmp_path}: Is a directory\n"


@pytest.mark.parametrize("command", ["equal", "translate"])
def test_the_help_of_a_command_without_lanes_does_not_speak_of_them(capsys, command):
    assert main(["help", command]) == 0
    assert "--lanes" not in capsys.readouterr().out


def test_a_word_near_to_nothing_is_answered_with_all_choices(capsys):
    assert all(name in refused(capsys, "xyzzyx") for name in ("check", "gemm", "help"))


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_command_prints_what_dash_dash_help_prints(capsys, command):
    assert main(["help", *command.split()]) == 0
    told = capsys.readouterr()
    assert main([*command.split(), "--help"]) == 0
    assert told == capsys.readouterr() and told.err == "" and "examples:" in told.out


# ---- --json [FILE] -------------------------------------------------------------------------------------------------------

ANSWERS = [["check", TILE], ["explain", TILE], ["emit", SWIZZLED], ["translate", SWIZZLED], ["equal", TILE, TILE],
           ["kernels"], ["search", "(16,16):(16,1)"], ["clinic"], ["lesson"], ["guide"]]


@pytest.mark.parametrize("command", ANSWERS, ids=lambda words: words[0])
def test_json_goes_to_stdout_in_place_of_the_text_or_to_a_file_beside_it(capsys, tmp_path, command):
    assert main(command) == 0
    text = capsys.readouterr().out
    found = []
    for target in ([], ["-"]):
        assert main([*command, "--json", *target]) == 0
        found.append(capsys.readouterr().out)
    assert main([*command, "--json", str(tmp_path / "answer.json")]) == 0
    assert capsys.readouterr().out == text
    found.append((tmp_path / "answer.json").read_text())
    assert [p.name for p in tmp_path.iterdir()] == ["answer.json"]
    assert found[0] == found[1] == found[2] and isinstance(json.loads(found[0]), dict)


def test_json_leaves_the_word_after_it_to_the_command_unless_that_is_a_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (["check", "--json", TILE], ["clinic", "--json", "cutlass-3172"], ["lesson", "--json", "theory"],
                  ["lesson", "--json", "1", "--to", "made"], ["search", "--json", "(16,16):(16,1)"]):
        assert main(words) == 0
        json.loads(capsys.readouterr().out)
    assert [p.name for p in tmp_path.iterdir()] == ["made"]
    assert main(["check", "--json", "answer.json", TILE]) == 0
    assert (tmp_path / "answer.json").exists() and not names_file("row / 2")


def test_a_json_file_that_cannot_be_written_is_refused_before_the_work(capsys, tmp_path, monkeypatch):
    import cuda_kernels.job as job

    monkeypatch.setattr(job, "main_job", lambda *_, **__: pytest.fail("worked first"))
    for path in (tmp_path / "none" / "x.json", tmp_path):
        assert "cannot write" in refused(capsys, "gemm", "--cpu", "--json", str(path))


def test_a_trace_is_printed_as_json_whose_costliest_instructions_the_explorer_counts_alike(capsys):
    assert main(["trace", "mma_base", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    report = json.loads(line)
    assert report["hazards"] == []
    worst = {line["line"]: line["worst"] for line in report["lines"] if line["worst"]}
    shown = {row["line"]: answer(state_of(row["state"])) for row in report_lines(report) if row["state"]}
    assert {at: (found["op"], found["instruction"]["wavefronts"]) for at, found in shown.items()} == {
        at: (one["instruction"], one["wavefronts"]) for at, one in worst.items()}
    assert sorted(one["wavefronts"] for one in worst.values()) == [4, 8, 8, 16]


# ---- - for stdin -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("command", [["check"], ["explain"], ["translate"], ["equal", TILE], ["search"],
                                     ["emit", "--allow-conflicts"]], ids=lambda words: words[0])
def test_a_dash_reads_the_layout_from_stdin(capsys, monkeypatch, command):
    assert main([*command, TILE]) in (0, 1)
    expected = capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"  {TILE}\n"))
    assert main([*command, "-"]) in (0, 1)
    assert capsys.readouterr() == expected


def test_a_dash_reads_a_recorded_file_from_stdin(capsys, monkeypatch):
    from types import SimpleNamespace

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"no record")))
    assert "is no record" in refused(capsys, "conform", "--check", "-")
    monkeypatch.setattr("sys.stdin", None)
    assert "stdin" in refused(capsys, "conform", "--check", "-")


def test_a_stdin_that_is_closed_or_no_text_is_one_line(capsys, monkeypatch):
    for stdin in (None, io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8")):
        monkeypatch.setattr("sys.stdin", stdin)
        assert "stdin" in refused(capsys, "check", "-")


# ---- what commands name ------------------------------------------------------------------------------------------------

def test_the_help_of_gemm_speaks_of_every_column_of_its_table(capsys):
    for kernel in ("mma_permuted", "wgmma_tma"):
        text = printed(capsys, "gemm", kernel, "--cpu", "-M", "64", "-N", "64", "-K", "64")
        columns = re.split(r"(?<!TMA)\s+", next(line for line in text.splitlines() if line.startswith("access ")))
        told = " ".join(printed(capsys, "gemm", "--help").split("The table has")[1].split())
        assert {"instructions", "executed"} < set(columns) and not [column for column in columns if column not in told]


@pytest.mark.parametrize("command", ["gemm", "trace"])
def test_a_kernel_is_named_by_its_place_or_by_its_option(capsys, command):
    for name in ("mma_nope", ""):
        for words in ([name], ["--kernel", name]):
            assert f"unknown kernel '{name}'" in refused(capsys, command, *words)
    assert "give one kernel" in refused(capsys, command, "mma_base", "--kernel", "mma_padded")


def test_a_lesson_makes_its_folder(capsys, tmp_path):
    assert main(["lesson", "1", "--no-open", "--to", str(tmp_path / "a" / "b")]) == 0
    assert re.match(r".*\.ipynb: lesson 1\n", capsys.readouterr().out) and list((tmp_path / "a" / "b").iterdir())
    (tmp_path / "file").write_text("")
    assert "cannot make the folder" in refused(capsys, "lesson", "1", "--no-open", "--to", str(tmp_path / "file" / "b"))


# ---- columns -----------------------------------------------------------------------------------------------------------

WIDE = [["check", TILE], ["explain", TILE], ["kernels"], ["clinic"], ["guide"], ["lesson"], ["search", TILE],
        ["equal", TILE, "(16,64):(65,1)"],
        ["trace", "mma_permuted", "-M", "16", "-N", "16", "-K", "16"], ["translate", SWIZZLED]]


@pytest.mark.parametrize("command", WIDE, ids=lambda words: words[0])
def test_what_is_printed_fits_columns_and_a_file_gets_it_as_it_is(capsys, monkeypatch, command):
    monkeypatch.delenv("COLUMNS", raising=False)
    main(command)
    wide = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")
    main(command)
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines())) or narrow == wide
    if command[0] != "trace":                            # whose source is cut
        assert narrow.split() == wide.split()


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet="ab  \n*", max_size=300), st.integers(1, 120))
def test_fitting_loses_no_word_and_leaves_what_fits(text, columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        fitted = fit(text)
    assert "".join(fitted.split()) == "".join(text.split())
    if max(map(len, text.split("\n"))) <= columns:
        assert fitted == text


@pytest.mark.parametrize("told, columns", [("80", 80), ("3", 40), ("0", 100), ("x", 100), ("", 100), ("-5", 100)])
def test_the_width_is_what_columns_says_or_100_where_no_terminal_is(monkeypatch, told, columns):
    monkeypatch.setattr("sys.stdout", io.StringIO())
    monkeypatch.setenv("COLUMNS", told)
    assert width() == columns
