"""The lessons: every notebook runs, is up to date, and keeps its answers; every exercise knows right from wrong."""

import json
import linecache
import re

import matplotlib
import numpy as np
import pytest

import simlayout as sl
from simlayout.lessons import check, lesson, lessons
from simlayout.lessons.notebooks import notebook_text

matplotlib.use("Agg")
NUMBERS = [one.number for one in lessons()]


def code_cells(number):
    return [(cell["id"], "".join(cell["source"])) for cell in json.loads(lesson(number).notebook)["cells"]
            if cell["cell_type"] == "code"]


def run_cells(number):
    """Executes the code cells of a notebook in order in one fresh namespace, which it returns."""
    namespace = {"__name__": "__main__"}
    for name, text in code_cells(number):
        file = f"<lesson {number}, {name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)     # the CPU machine reads kernels
        exec(compile(text, file, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("number", NUMBERS)
def test_every_notebook_runs_from_top_to_bottom(number, capsys):
    run_cells(number)
    matplotlib.pyplot.close("all")
    out = capsys.readouterr().out
    assert "your guess  none yet" in out and "measured    " in out
