"""The lab stands alone: the wheel leaves it out, so nothing that the wheel holds may need it."""

import ast

import pytest
from places import ROOT

SHIPPED = [path for package in ("simlayout", "cuda_kernels") for path in sorted((ROOT / package).rglob("*.py"))
           if "lab" not in path.relative_to(ROOT).parts]


def imported(text):
    """The names of all modules that a source imports, and of what it imports from them, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value                                     # of import_module, or after `python -m`


def of_lab(names):
    return [name for name in names if name.startswith("cuda_kernels.lab")]


def test_nothing_outside_the_lab_imports_it():
    assert {str(path): found for path in SHIPPED if (found := of_lab(imported(path.read_text())))} == {}


@pytest.mark.parametrize("text", [
    "import cuda_kernels.lab.rates", "from cuda_kernels import lab", "import_module('cuda_kernels.lab.x')",
    "def f():\n    from cuda_kernels.lab.tuning import problems"])
def test_an_import_of_the_lab_is_found_wherever_it_stands(text):
    assert of_lab(imported(text))
