"""The README says what is true today."""

import doctest
import re
import shlex
import sys
from functools import cache
from pathlib import Path

import pytest

from simlayout.cli import main
from simlayout.cli.arguments import command_line

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.S) for line in block.splitlines() if line]


def test_the_tables_are_what_the_plans_and_the_recorded_measurements_give(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "figures"))
    sys.modules.pop("table", None)
    import table

    monkeypatch.setattr(table, "tables", cache(table.tables))
    assert table.written(README) == README, "run `python figures/table.py --write`"
    assert all(one.count("\n") > 2 for one in table.tables().values())


def test_every_picture_of_the_readme_is_there_and_every_file_of_its_house():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    house = re.findall(r"^((?:simlayout|cuda_kernels)/\S+)  ", README.split("## The house")[1], re.M)
    assert len(pictures) >= 3 and len(house) >= 10
    for path in pictures + house:
        assert (ROOT / path).exists(), path


def test_every_command_line_of_the_readme_is_one_that_the_program_takes():
    blocks = "".join(re.findall(r"```\w*\n(.*?)```", README, re.S))
    found = re.findall(r"^(?:.*&& )?simlayout (.*?)(?: +#.*)?$", blocks, re.M)
    assert len(found) > 15
    for line in found:
        command_line().parse_args(shlex.split(line))


def test_every_python_line_of_the_readme_does_what_it_shows():
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_runs(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    assert words[0] == "simlayout"
    assert main(words[1:]) == 0


def test_the_readme_shows_what_the_first_command_prints(capsys):
    assert main(["gemm", "--cpu"]) == 0
    shown = capsys.readouterr().out
    for line in shown.splitlines():
        if not line.startswith(("emitted", "result")):          # "emitted" names numba only where it is installed
            assert line in README, line


def test_ci_runs_the_readmes_test_command():
    assert 'pip install -e ".[test]" && pytest' in README
    ci = (ROOT / ".ci" / "run").read_text()
    assert 'pip install -q -e ".[test]"' in ci and "\npytest" in ci
