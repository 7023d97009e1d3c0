"""The house: arrows between rooms point down, lazy ones too; no room is in a circle; files are short and lie in rooms."""

import ast
import re
from fnmatch import fnmatch
from graphlib import TopologicalSorter

import house
import pytest

DOORS = {
    ("simlayout.drawn", "simlayout.plots"): "`.plot()` of a layout, an access and the like finds its figure by name",
    ("simlayout.cli.registry", "cuda_kernels"): "there is one program, and its commands find kernels by name",
}
"""Who may name what lies above, and why: a module, and the package that it names, in strings alone."""

UNREAD = {
    "simlayout.lazy": "brings what stubs name, which are read there",
    "simlayout.drawn": "brings simlayout.plots, by its constant",
    "simlayout.cli.registry": "brings what its table names",
    "simlayout.hardware.tables.amd": "brings the files of its own folder, a chip each",
    "simlayout.machine.ptx.running": "brings the compiled loop, by its constant",
    "cuda_kernels.conformance.programs.numba_child": "brings the tests of numba-cuda that are asked for",
}
"""Modules that import what no text in the call names, and what it is."""

MOST_LINES, LOOSE = 410, 2

WRITTEN_BY_PROGRAMS = "cuda_kernels/emitted/"


def wrong_arrows():
    """The arrows between rooms that do not point down and go through no door."""
    def through_a_door(arrow):
        return arrow.named and any(arrow.source == source and arrow.target.startswith(target) for source, target in DOORS)

    return [arrow for arrow in house.arrows()
            if not house.is_down(house.room_of(arrow.source), house.room_of(arrow.target)) and not through_a_door(arrow)]


def test_every_module_lies_in_a_room():
    homeless = [module for module in house.modules() if house.room_of(module) is None]
    assert not homeless, f"{homeless}: move them into a room, or give their room a line in tests/kits/house.py"


def test_arrows_point_down():
    found = [str(arrow) for arrow in wrong_arrows()]
    assert not found, "these name a room that is not below theirs:\n" + "\n".join(found)


def test_rooms_are_in_no_circle():
    wrong = set(wrong_arrows())
    down = [arrow for arrow in house.arrows() if arrow not in wrong and arrow.source not in {door for door, _ in DOORS}]
    graph = {}
    for source, target in house.between_rooms(down):
        graph.setdefault(source, set()).add(target)
    assert len(list(TopologicalSorter(graph).static_order())) > 20


def test_no_modules_import_one_another():
    assert not house.circles()


def test_simlayout_names_cuda_kernels_in_the_command_lines_registry_alone():
    named = {arrow.source for arrow in house.arrows()
             if arrow.source.startswith("simlayout") and arrow.target.startswith("cuda_kernels")}
    assert named == {"simlayout.cli.registry"}


def test_imports_whose_module_no_text_names_are_known():
    assert set(house.unread()) == set(UNREAD)


@pytest.mark.parametrize("text, target, named", [
    ("def f():\n    from simlayout.plots import layout", "simlayout.plots", False),
    ("def f():\n    import simlayout.plots.sheet as drawn", "simlayout.plots.sheet", False),
    ("from simlayout import plots", "simlayout.plots", False),
    ("from simlayout import Layout", "simlayout.algebra", False),
    ("from . import layout\nfrom ..proofs import verify", "simlayout.proofs.verify", False),
    ("import simlayout as sl\ndef f():\n    return sl.search", "simlayout.synthesis", False),
    ("from importlib import import_module\nimport_module('simlayout.machine')", "simlayout.machine", True),
    ("import importlib\nimportlib.import_module(f'cuda_kernels.emitted.{name}')", "cuda_kernels.emitted", True),
    ("LATER = {'run': 'cuda_kernels.job:main_job'}", "cuda_kernels.job", True),
])
def test_the_graph_sees_every_way_to_name_a_module(text, target, named):
    found = house.looked_through("simlayout.algebra.made_up", ast.parse(text)).arrows
    assert (target, named) in {(arrow.target, arrow.named) for arrow in found}


@pytest.mark.parametrize("text", ["import numpy.linalg", "from simlayout import __version__", "NAME = 'cuda_kernels'",
                                  "FILE = 'simlayout/cli/registry.py'", '"""As `simlayout.plots.layout`, say."""'])
def test_the_graph_sees_nothing_where_no_module_is_named(text):
    assert house.looked_through("simlayout.algebra.made_up", ast.parse(text)).arrows == []


def test_an_import_of_a_variable_is_seen_to_name_nothing():
    tree = ast.parse("from importlib import import_module\nimport_module(name)\nimport_module(f'{name}.x')")
    assert house.looked_through("simlayout.algebra.made_up", tree).unread == [2, 3]


def test_the_graph_is_printed_with_a_line_for_every_room():
    assert [line.split()[0] for line in house.drawn().splitlines()] == list(house.FLOOR_OF)


def test_every_name_in_the_command_lines_registry_is_there():
    from simlayout.cli import registry

    for name in registry.HOMES:
        assert getattr(registry, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = registry.nonsense


def test_every_figure_that_a_class_names_is_one():
    import simlayout as sl
    from simlayout import algebra, hardware, plots
    from simlayout.hardware.matrix.fragments_base import Fragment

    drawn = [algebra.Layout, algebra.Composed, algebra.F2Map, algebra.Tile, hardware.TensorMap, Fragment, sl.Access, sl.Plan]
    assert all(callable(getattr(plots, cls.plot.figure)) for cls in drawn)


def test_at_most_two_files_of_cuda_kernels_lie_in_no_room():
    assert len(list((house.ROOT / "cuda_kernels").glob("*.py"))) <= LOOSE


@pytest.mark.parametrize("room", [
    *(f"simlayout.machine.{name}" for name in ("arithmetic", "engine", "hazards", "python", "ptx")),
    *(f"simlayout.machine.ptx.{name}" for name in (
        "compiled", "cxx", "declared", "looks", "lowering", "memory", "opcodes", "parser", "passes", "warps")),
    "simlayout.programs", "cuda_kernels.matmul"])
def test_a_room_says_which_of_its_files_has_what(room):
    folder = house.modules()[room].parent
    files = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    said = re.findall(r"\w+\*?", ast.get_docstring(house.parsed(room)))
    assert [name for name in sorted(files - {"__init__"}) if not any(fnmatch(name, word) for word in said)] == []


def test_no_file_is_long_but_those_that_programs_wrote():
    long = set()
    for folder in (*house.PACKAGES, "tests", "figures"):
        for path in (house.ROOT / folder).rglob("*.py"):
            name = path.relative_to(house.ROOT).as_posix()
            if not name.startswith(WRITTEN_BY_PROGRAMS) and path.read_text().count("\n") > MOST_LINES:
                long.add(name)
    assert not long, f"over {MOST_LINES} lines, so split: {sorted(long)}"
