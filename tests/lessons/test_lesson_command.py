"""The theory page does what it shows, and `simlayout lesson` lists, copies and opens the lessons."""

import ast
import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simlayout.cli import lesson as command
from simlayout.cli import main
from simlayout.lessons import lesson, lessons, theory


def test_the_theory_page_does_what_it_shows():
    told = []
    examples = doctest.DocTestParser().get_doctest(theory(), {}, "theory", "theory.md", 0)
    result = doctest.DocTestRunner().run(examples, out=told.append)
    assert result.failed == 0, "".join(told)
    assert result.attempted >= 15
    assert re.findall(r"^## (.*)$", theory(), re.M) == ["What it says", "What it cannot say", "Where each rule was measured"]


def test_the_command_lists_the_lessons_and_prints_the_theory(capsys):
    assert main(["lesson"]) == 0
    lines = capsys.readouterr().out.splitlines()
    numbers = [str(one.number) for one in lessons()]
    assert [line.split()[0] for line in lines] == [*numbers, "theory:", "teaching:", "languages:", "`simlayout"]
    assert "exercises 3.1, 3.2, 3.3" in lines[2]
    assert main(["lesson", "--language", "zh"]) == 0
    assert capsys.readouterr().out.splitlines()[:-4] == [str(one) for one in lessons("zh")]
    assert main(["lesson", "theory"]) == 0
    assert capsys.readouterr().out == theory()


def test_a_lesson_is_copied_whole_and_a_changed_copy_is_kept(tmp_path, capsys):
    path = tmp_path / "3_ldmatrix.ipynb"
    wanted = ["lesson", "3", "--to", str(tmp_path), "--no-open"]
    assert main(wanted) == 0 and path.read_text() == lesson(3).notebook
    assert main(wanted) == 0                                     # the same again: nothing to lose
    path.write_text("my answers")
    assert main(wanted) == 2 and path.read_text() == "my answers"
    assert "differs from this copy: it may hold your answers" in capsys.readouterr().err
    assert main([*wanted, "--force"]) == 0 and path.read_text() == lesson(3).notebook
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert main(["lesson", "1", "--language", "zh", "--to", str(tmp_path), "--no-open"]) == 0
    assert (tmp_path / "1_banks.zh.ipynb").read_text() == lesson(1, "zh").notebook


def test_what_is_no_lesson_or_folder_is_refused_in_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for arguments in (["11"], ["x"], ["-1"], ["1", "--to", str(tmp_path / "file"), "--no-open"]):
        assert main(["lesson", *arguments]) == 2
        out = capsys.readouterr()
        assert not out.out and len(out.err.splitlines()) == 1


def test_a_lesson_is_opened_with_this_pythons_jupyter_or_says_how(tmp_path, capsys, monkeypatch):
    ran = []
    monkeypatch.setattr(command.subprocess, "run", lambda given, check: ran.append(given))
    monkeypatch.setattr(command, "find_spec", lambda name: name == "notebook")
    assert main(["lesson", "1", "--to", str(tmp_path)]) == 0
    assert ran == [[sys.executable, "-m", "notebook", str(tmp_path / "1_banks.ipynb")]]
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    capsys.readouterr()
    assert main(["lesson", "1", "--to", str(tmp_path)]) == 0 and len(ran) == 1
    assert "pip install notebook" in capsys.readouterr().out


@pytest.mark.parametrize("source", ["https://a.b/simlayout-1-py3-none-any.whl", "simlayout @ git+https://a.b/c.git@main",
                                    "./a folder", 'a"b\\n.whl', "./ünïcode"])
def test_a_copy_installs_from_the_source_that_it_was_given(source, tmp_path, capsys):
    assert main(["lesson", "2", "--to", str(tmp_path), "--source", source, "--json"]) == 0
    path = Path(json.loads(capsys.readouterr().out)["copied"])
    made, kept = json.loads(path.read_text()), json.loads(lesson(2).notebook)
    first = "".join(made["cells"][1]["source"])
    assigned, = (node for node in ast.parse(first).body if isinstance(node, ast.Assign) and node.targets[0].id == "SOURCE")
    assert ast.literal_eval(assigned.value) == source
    other = [(a, b) for a, b in zip(made["cells"][1].pop("source"), kept["cells"][1].pop("source"), strict=True) if a != b]
    assert len(other) == 1 and other[0][1] == 'SOURCE = "simlayout"\n' and made == kept
    assert main(["lesson", "2", "--to", str(tmp_path), "--source", source, "--json"]) == 0       # the same again
    capsys.readouterr()
    assert main(["lesson", "2", "--to", str(tmp_path), "--no-open"]) == 2                        # another one
    assert "differs from this copy" in capsys.readouterr().err


@pytest.mark.parametrize("arguments, part", [
    (["1", "--source", ""], "give what pip installs"), (["1", "--source=--index-url=x"], "give what pip installs"),
    (["1", "--source", "a\nb"], "give what pip installs"), (["--source", "a"], "give its number too"),
    (["theory", "--source", "a"], "give its number too"), (["--alone"], "--alone is for the copy of a lesson")])
def test_a_source_that_is_none_or_for_no_copy_is_refused(arguments, part, tmp_path, capsys):
    assert main(["lesson", *arguments, "--to", str(tmp_path), "--no-open"]) == 2
    out = capsys.readouterr()
    assert part in out.err and not out.out and len(out.err.splitlines()) == 1 and not list(tmp_path.iterdir())


def test_the_command_line_loads_no_exercise_before_a_lesson_is_asked_for():
    code = "import simlayout.cli, sys; assert not any('lessons.exercises' in name for name in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
