"""Every command that answers can answer in JSON: one object on one line."""

import json

import pytest
from commands import answered

from simlayout.cli import main


def test_emit_tells_the_source_and_what_was_proved_of_it(capsys):
    found = answered(capsys, "emit", "Sw<3,3,3> o (16,64):(64,1)")
    assert found["source"].startswith("def ") and "conflict-free: 4 wavefronts per instruction" in found["claims"]
    assert answered(capsys, "emit", "Sw<3,3,3> o (16,64):(64,1)", "--cuda")["language"] == "CUDA C++"


def test_plot_tells_the_file_and_what_it_shows(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "banks.svg"
    assert answered(capsys, "plot", "(16,64):(64,1)", "-o", str(path)) == {
        "kind": "banks", "output": str(path), "shows": "32 wavefronts, ideal 4"}
    assert path.exists()


@pytest.mark.parametrize("command", ["clinic", "guide"])
def test_pages_tell_their_titles_and_one_of_them_its_text(capsys, command):
    titles = answered(capsys, command)
    name = next(iter(titles))
    assert answered(capsys, command, name)[name].splitlines()[0].lstrip("# ") == titles[name]


def test_a_page_is_printed_without_the_comments_that_say_what_writes_its_tables(capsys):
    text = answered(capsys, "guide", "matmul")["matmul"]
    assert main(["guide", "matmul"]) == 0
    kept = [line for line in text.splitlines() if not line.startswith("<!-- ")]
    assert capsys.readouterr().out.splitlines() == kept != text.splitlines()


def test_lessons_are_listed_and_copied(capsys, tmp_path):
    assert {lesson["exercises"][0] for lesson in answered(capsys, "lesson").values()} == {f"{i}.1" for i in range(1, 11)}
    copied = answered(capsys, "lesson", "1", "--to", str(tmp_path))["copied"]
    assert json.loads(open(copied).read())["nbformat"] == 4
    assert answered(capsys, "lesson", "theory")["theory"].startswith("#")
