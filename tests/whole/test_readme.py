"""The README, the guide and the contributing guide say what is true today. How blocks are read: tests/kits/texts.py."""

import ast
import doctest
import importlib
import inspect
import re
import runpy
import shlex
import sys
from functools import cache
from importlib.util import find_spec

import pytest
from places import ROOT
from texts import (
    GUIDE,
    KINDS,
    NOTES,
    README,
    TEXTS,
    blocks,
    doctest_text,
    every,
    is_doctest,
    lines,
    output_of,
    prose,
    script_name,
)

from simlayout import guide
from simlayout.cli import main
from simlayout.cli.commands import command_line

COMMANDS = [(block, line) for block in every("sh") for line in lines(block)]
SESSIONS = [(block, *command) for block in every("console")
            for command in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.body, re.M)]
SCRIPTS = [block for block in every("python") if not is_doctest(block)]


def run(command, tmp_path, monkeypatch):
    """Runs one command line in a folder that holds what the guide's pages have beside them alone; its exit code."""
    monkeypatch.chdir(tmp_path)
    for example in (*(ROOT / "simlayout" / "guide").glob("*.cu"), *(ROOT / "simlayout" / "guide").glob("*.ptx")):
        (tmp_path / example.name).write_text(example.read_text())
    monkeypatch.delenv("COLUMNS", raising=False)
    words = shlex.split(command)
    assert words[0] == "simlayout"
    return main(words[1:])


def test_every_block_is_of_a_kind_that_is_tested():
    for path in TEXTS:
        fences = re.findall(r"^```(.*)$", path.read_text(), re.M)
        assert len(fences) % 2 == 0 and not any(fences[1::2]) and set(fences[::2]) <= KINDS, path
    assert len(COMMANDS) > 20 and len(SESSIONS) >= 5 and len(SCRIPTS) >= 4


def test_the_tables_are_what_the_plans_and_the_recorded_measurements_give(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "figures"))
    sys.modules.pop("table", None)
    import table

    monkeypatch.setattr(table, "tables", cache(table.tables))
    texts = {path: path.read_text() for path in table.TEXTS}
    assert set(texts) == {README, *GUIDE, NOTES}
    assert table.written(texts) == texts, "run `python figures/table.py --write`"
    assert all(one.count("\n") > 2 for one in table.tables().values())
    with pytest.raises(SystemExit, match="two places"):
        table.written({README: "".join(texts.values()) * 2})
    with pytest.raises(SystemExit, match="no text has the marks"):
        table.written({README: texts[README]})


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_link_and_every_picture_is_there(path):
    for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`]*`", "", prose(path))):
        if not target.startswith(("https://", "#")):
            assert (path.parent / target.split("#")[0]).resolve().exists(), target


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_name_and_every_file_that_a_text_names_is_there(path):
    for name in re.findall(r"`((?:simlayout|cuda_kernels|sl)\.[\w.]+)(?:\(.*?\))?`", prose(path)):
        assert_resolves(name.replace("sl.", "simlayout.") if name.startswith("sl.") else name)
    for file in re.findall(r"`((?:simlayout|cuda_kernels|tests|figures|\.ci|\.github)/[\w./-]+)", prose(path)):
        assert (ROOT / file).exists(), file
    for module in re.findall(r"python -m ([\w.]+)", path.read_text()):
        assert find_spec(module), module


def assert_resolves(name):
    """That a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        if not hasattr(found, part):
            assert find_spec(".".join(parts[:i])), name
            importlib.import_module(".".join(parts[:i]))
        found = getattr(found, part)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_doctest_does_what_it_shows(path):
    test = doctest.DocTestParser().get_doctest(doctest_text(path), {}, path.name, str(path), 0)
    told = []
    assert doctest.DocTestRunner().run(test, out=told.append).failed == 0, "".join(told)


@pytest.mark.parametrize("block", SCRIPTS, ids=str)
def test_every_script_runs_prints_what_is_shown_and_passes_its_tests(block, tmp_path, capsys, request):
    for node in ast.parse(block.body).body:
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ("simlayout", "cuda_kernels"):
            assert all(hasattr(importlib.import_module(node.module), name.name) for name in node.names)
    if "import torch" in block.body and not has_torch():
        pytest.skip("needs torch and a GPU; its imports are there")
    file = tmp_path / script_name(block)
    file.write_text(block.body)
    for name, made in runpy.run_path(str(file)).items():
        if name.startswith("test_"):
            made(**{fixture: request.getfixturevalue(fixture) for fixture in inspect.signature(made).parameters})
    assert capsys.readouterr().out == output_of(block)


def has_torch():
    from cuda_kernels.run.device import gpu_problem

    return find_spec("torch") is not None and gpu_problem() is None


@pytest.mark.parametrize("block, command, shown", SESSIONS, ids=[f"{block} {command}" for block, command, _ in SESSIONS])
def test_every_command_prints_what_is_shown(block, command, shown, tmp_path, monkeypatch, capsys):
    assert run(command, tmp_path, monkeypatch) == 0
    printed = capsys.readouterr().out
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS
    assert checker.check_output(shown, printed, flags), checker.output_difference(doctest.Example("", shown), printed, flags)


@pytest.mark.parametrize("block, command", COMMANDS, ids=str)
def test_every_command_runs(block, command, tmp_path, monkeypatch, capsys):
    assert run(command, tmp_path, monkeypatch) == 0


@pytest.mark.parametrize("block", every(""), ids=str)
def test_every_command_that_is_not_run_is_one_that_the_programs_take(block):
    extras = re.search(r"\[project.optional-dependencies\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.S)[1]
    for command in (part.strip() for line in lines(block) for part in line.split(" && ")):
        words = shlex.split(command)
        if words[0] == "simlayout":
            command_line().parse_args(words[1:])
        elif words[:2] == ["pip", "install"]:
            for extra in re.findall(r"\[(\w+)\]", command):
                assert re.search(rf"^{extra} = \[", extras, re.M), command
        elif words[0] == "python" and words[1] != "-m":
            assert (ROOT / words[1]).exists(), command
        elif words[0] == "pytest":
            assert all((ROOT / word).exists() for word in words[1:] if "/" in word), command
        else:
            programs = "eval", "ncu", "mypy", "pdoc", "ruff", "pre-commit", ".ci/run"
            assert words[:2] == ["python", "-m"] or words[0] in programs, command


def test_the_readme_is_two_screens_and_begins_with_the_two_commands():
    assert README.read_text().count("\n") <= 112
    first, second = blocks(README, "")[:2]
    assert first.body == 'pip install -e ".[cuda]" && simlayout gemm\n'
    assert second.body == 'pip install -e ".[test]" && pytest\n'


def test_the_readmes_report_of_a_program_is_a_part_of_the_guides():
    (shown,), (_, report) = ([block.body for block in blocks(page, "text")]
                             for page in (README, next(path for path in GUIDE if path.stem == "numba")))
    assert set(shown.splitlines()) <= set(report.splitlines())


def test_the_readme_links_every_page_of_the_guide_and_the_guide_orders_all_of_them():
    assert [path.stem for path in GUIDE] == sorted(guide.ORDER)
    assert [page.name for page in guide.pages()] == list(guide.ORDER)
    for path in GUIDE:
        assert f"(simlayout/guide/{path.name})" in README.read_text()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_lines_of_prose_are_no_longer_than_those_of_code(path):
    assert all(len(line) <= 125 for line in path.read_text().splitlines() if not line.startswith(("|", "!", ">>> ")))


def test_ci_runs_the_readmes_test_command():
    ci = (ROOT / ".ci" / "run").read_text()
    assert re.search(r'pip install .*-e "\.\[test\]"', ci) and "\npytest" in ci


def test_the_workflow_runs_ci_on_every_python_from_the_least_on():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "run: .ci/run" in workflow
    least = re.search(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())[1]
    assert re.findall(r'"3\.(\d+)"', workflow) == [str(minor) for minor in range(int(least), 14)]
