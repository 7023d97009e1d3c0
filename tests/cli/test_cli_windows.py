"""Texts as editors of Windows write them: with a mark of UTF-8 at the beginning, and two characters at the end of a line."""

from io import StringIO
from pathlib import Path

import pytest
from commands import printed, refused
from places import ROOT

TILE = "(16,64):(64,1)"
PAGE = ROOT / "tests" / "data" / "ncu_source_page.csv"
REPORT = """{"kernels": [{"name": "k", "lines": [
{"file": "a.py", "line": 1, "source": "x", "instructions": 1, "wavefronts": 2, "ideal": 1}]}]}
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def of_windows(text):
    return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("words, text, says", [
    (["ptx", "a.json"], (ROOT / "simlayout" / "guide" / "transpose.ptx").read_text(), "unsupported   nothing"),
    (["ncu", "a.json"], PAGE.read_text(), "wavefronts"),
    (["explore", "a.json", "-o", "page.html"], REPORT, "wrote page.html")],
    ids=["ptx", "ncu", "explore"])
def test_a_file_that_was_written_on_windows_is_read_as_any_other(capsys, words, text, says):
    Path("a.json").write_bytes(of_windows(text))
    assert says in printed(capsys, *words)


def test_products_and_predictions_that_were_written_on_windows_are_read_too(capsys):
    Path("layers.txt").write_bytes(of_windows("64 64 64\n0 64 64\n"))
    assert "line 2: sizes 0 64 64" in refused(capsys, "tune", "--all-layers", "layers.txt")
    Path("run.json").write_bytes(of_windows('{"kernels": []}\n'))
    assert "launched no kernel" in refused(capsys, "ncu", str(PAGE), "--trace", "run.json")


def test_a_layout_from_stdin_may_begin_with_a_mark(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", StringIO("\ufeff" + TILE + "\r\n"))
    assert TILE in printed(capsys, "check", "-")
