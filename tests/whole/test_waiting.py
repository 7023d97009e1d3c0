"""Whoever waits for long is told for what: once in a log, with the seconds on a terminal, and past pytest's capture."""

import io
import time
from contextlib import contextmanager

import pytest

from simlayout import progress
from simlayout.progress import Console, waiting


@pytest.mark.parametrize("seconds, told", [(0, ""), (0.3, "why\n")])
def test_a_log_gets_one_line_if_it_takes_long(seconds, told, capsys, monkeypatch):
    monkeypatch.setattr(Console, "shown", progress.nullcontext)
    monkeypatch.setattr(progress, "_said", set())
    for _ in range(2):
        with waiting("why", patience=0.1):
            time.sleep(seconds)
    assert capsys.readouterr().err == told


def test_a_terminal_shows_the_seconds_until_the_wait_is_over(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(Console, "shown", progress.nullcontext)
    with waiting("why", patience=0.01):
        time.sleep(0.4)
    assert terminal.getvalue().startswith("\rwhy: 0 s\x1b[K") and terminal.getvalue().endswith("\r\x1b[K")


def test_it_is_written_where_the_plugin_of_pytest_says(monkeypatch):
    seen, other = [], io.StringIO()

    @contextmanager
    def shown():
        seen.append("in")
        yield

    monkeypatch.setattr("sys.stderr", other)
    monkeypatch.setattr(progress, "_said", set())
    monkeypatch.setattr(Console, "shown", shown)
    with waiting("why", patience=0.01):
        time.sleep(0.2)
    assert (seen, other.getvalue()) == (["in"], "why\n")
