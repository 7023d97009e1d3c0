"""Types: every parameter and every result of the public API is annotated, and others' type checkers are told so."""

import ast
import dataclasses
import inspect
import shutil
import subprocess
import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pytest
from places import ROOT

PACKAGES = ("simlayout", "cuda_kernels")
ROOMS = ("algebra", "clinic", "codegen", "guide", "hardware", "lessons", "machine", "nsight", "numerics", "plots",
         "programs", "proofs", "ptx", "synthesis", "testing")
PLACES = ("simlayout", *(f"simlayout.{room}" for room in ROOMS), "cuda_kernels", "cuda_kernels.run.runner")
"""The modules whose public names are looked at: `__all__`, or what a module without one defines."""

WITHOUT_EXAMPLE = {
    *(f"cuda_kernels.{name}" for name in ("matmul", "grouped_matmul", "plan_matmul", "plan_grouped_matmul")),      # a GPU
    *(f"simlayout.{name}" for name in ("nsight.launches", "nsight.predictions", "hardware.add_records")),          # a file
    *(f"simlayout.{name}" for name in ("machine.execute", "plots.of_kernel")),                # a kernel of cuda_kernels
}
"""Functions whose example would need what no docstring has: the guide shows them."""


def public(place):
    """{name: class or function} of a module."""
    module = import_module(place)
    names = getattr(module, "__all__", None) or [name for name, value in vars(module).items()
                                                 if not name.startswith("_") and getattr(value, "__module__", "") == place]
    return {f"{place}.{name}": getattr(module, name) for name in names}


def functions(name, value):
    """(name, function) of what a person calls: a function, or the methods, properties and __init__ of a class of ours."""
    if not inspect.isclass(value):
        if callable(value):
            yield name, inspect.unwrap(value)
        return
    for cls in value.__mro__:
        if cls.__module__.partition(".")[0] in PACKAGES:
            for key, member in vars(cls).items():
                member = getattr(member, "__func__", None) or getattr(member, "fget", None) or (
                    member.func if isinstance(member, cached_property) else member)
                given = key == "__init__" and not dataclasses.is_dataclass(cls)
                if inspect.isfunction(member) and (given or not key.startswith("_")):
                    yield f"{name}.{key}", member


def untyped(name, function):
    """The parameters without an annotation, with "->" for the result."""
    signature = inspect.signature(function)
    found = [each.name for each in signature.parameters.values()
             if each.annotation is each.empty and each.name not in ("self", "cls")]
    return found + ["->"] * (signature.return_annotation is signature.empty and not name.endswith(".__init__"))


@pytest.mark.parametrize("place", PLACES)
def test_every_parameter_and_every_result_of_a_public_name_has_a_type(place):
    looked_at = [pair for name, value in public(place).items() for pair in functions(name, value)]
    assert looked_at
    assert not {name: missing for name, function in looked_at if (missing := untyped(name, function))}


@pytest.mark.parametrize("place", PLACES)
def test_every_public_function_has_an_example_but_where_a_docstring_cannot(place):
    shown = {name: ">>>" in (inspect.getdoc(value) or "") for name, value in public(place).items()
             if not inspect.isclass(value) and callable(value)}
    assert {name for name, has_one in shown.items() if not has_one} == shown.keys() & WITHOUT_EXAMPLE


def test_the_walk_sees_methods_properties_and_what_they_lack():
    class Bad:
        def __init__(self, size):
            self.size = size

        @property
        def half(self):
            return self.size / 2

        @classmethod
        def of(cls, size: int, *more) -> "Bad":
            return cls(size)

    Bad.__module__ = "simlayout"
    assert {name: untyped(name, function) for name, function in functions("Bad", Bad)} == {
        "Bad.__init__": ["size"], "Bad.half": ["->"], "Bad.of": ["more"]}


@pytest.mark.parametrize("stub", [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.pyi"))],
                         ids=lambda path: path.parent.name)
def test_a_lazy_package_has_the_names_of_its_stub_and_no_other(stub):
    package = ".".join(stub.parent.relative_to(ROOT).parts)
    module = import_module(package)
    told = {alias.asname: node.module for node in ast.walk(ast.parse(stub.read_text())) if isinstance(node, ast.ImportFrom)
            for alias in node.names}
    assert set(told) == set(module.__all__) <= set(dir(module))
    for name, home in told.items():
        assert getattr(module, name) is (import_module(f"{package}.{name}") if home == package
                                         else getattr(import_module(home), name))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = module.nonsense


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_that_it_has_types(package):
    assert (Path(import_module(package).__file__).parent / "py.typed").is_file()


TYPES = {
    "sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))": "sl.Composed",
    "sl.Swizzle(3, 3, 3) @ (sl.Swizzle(2, 3, 3) @ sl.Layout(512))": "sl.Composed",
    "sl.Layout(8) @ sl.Layout((2, 4))": "sl.Layout",
    "sl.F2Map((1, 2)) @ sl.F2Map((2, 1))": "sl.F2Map",
    'sl.analyze("ldmatrix.x4", [0] * 32).explain(0)': "str",
    'sl.fragment("m16n8k16.f32.f16.f16.f32", "A")': "sl.hardware.matrix.fragments.Fragment",
}
"""Expression -> its type, as a type checker sees it."""


def errors_of(types, folder):
    """The errors that mypy finds in assertions of types, with the project's options: what it has kept of the project in CI,
    where it ran before, it need not check again."""
    if not (mypy := shutil.which("mypy")):
        pytest.skip("needs mypy: pip install mypy")
    modules = "import simlayout as sl", "import simlayout.hardware.matrix.fragments"
    lines = ["from typing_extensions import assert_type", *modules]
    lines += [f"assert_type({expression}, {name})" for expression, name in types.items()]
    (folder / "typed.py").write_text("\n".join(lines) + "\n")
    run = subprocess.run([mypy, "--python-executable", sys.executable, folder / "typed.py"], cwd=ROOT, capture_output=True,
                         text=True)
    assert run.returncode in (0, 1), run.stderr
    return [line for line in run.stdout.splitlines() if "typed.py" in line and "error" in line]


@pytest.mark.slow
def test_a_type_checker_sees_what_expressions_give_and_a_wrong_type(tmp_path):
    wrong = "sl.Swizzle(3, 3, 3) @ sl.Layout(512)"
    [error] = errors_of({**TYPES, wrong: "sl.Layout"}, tmp_path)
    assert 'Expression is of type "Composed", not "Layout"' in error
