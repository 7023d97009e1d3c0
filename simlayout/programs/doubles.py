"""Arithmetic of float64 that a Numba kernel has by accident: Python's floats are float64, and so is what they meet."""

import ast
import inspect
import re
from collections import Counter
from collections.abc import Sequence
from os.path import basename
from textwrap import dedent
from typing import Any

import numpy as np

from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.units import named
from simlayout.machine.ptx.entry import Entry

DOUBLES = "arithmetic of float64, though all arrays are of float32 or integers"
"""What is noted."""

WHY = ("0.5, s = 0.0, int / int, float32 * int and Python floats that are passed are float64, and so is what they meet; "
       "float32(0.5) keeps it float32, which GPUs that are not for float64 (GeForce) compute at many times the rate")

_COMPUTE = {"add", "sub", "mul", "mad", "fma", "div", "sqrt", "rcp", "rsqrt"}
_NAMES = re.compile(r"float64|double|complex128|f8|c16")
_ASKED = re.compile(rf"\b({_NAMES.pattern})\b")
_WHOLE = re.compile(r"int|u?int(8|16|32|64)|u?intp|[iu][1248]")


def doubles(kernel: Any, args: Sequence[Any], entry: Entry, trace: Trace) -> tuple[str, ...]:
    """What is noted of a launch of a compiled kernel of numba-cuda: nothing if an array holds float64, or if its source, its
    signature or what they name says that."""
    types = [getattr(getattr(arg, "value", arg), "dtype", None) for arg in args if getattr(arg, "shape", ())]
    if not types or not all(map(_is_single, types)) or not any(map(_has_floats, types)):
        return ()
    sites = {step.site for step in entry.program.steps if _computes(step.name)}
    lines = sorted({site for site, times in trace.executed.items() if times and site in sites and site[0].endswith(".py")
                    and not _is_installed(site[0])})
    functions = _sources(getattr(kernel, "py_func", None)) if lines else []
    if not functions or any(_asks(function, tree) for function, tree in functions):
        return ()
    (file, _), *_ = lines
    names = Counter((step.site, step.name) for step in entry.program.steps)
    quotients = {line: text for function, tree in functions if function.__code__.co_filename == file
                 for line, text in _quotients(function, tree) if _of_integers(names, (file, line), text)}
    numbers = [number for of, number in lines if of == file]
    why = [f"{whole} for {text}, of numbers that are not below 0" for text, whole, _ in
           dict.fromkeys(quotients[number] for number in numbers if number in quotients)]
    why += [WHY] * (not quotients.keys() >= {*numbers})
    return (f"{basename(file)}, {named('line', numbers)}: {DOUBLES}: {'; '.join(why)}",)


def _is_single(dtype):
    if getattr(dtype, "names", None):
        return all(_is_single(field.base) for field, *_ in dtype.fields.values())
    return isinstance(dtype, np.dtype) and (dtype.kind in "iub" or dtype in (np.float32, np.float16))


def _has_floats(dtype):
    return dtype == np.float32 or dtype.names is not None and any(map(_has_floats, (of for of, *_ in dtype.fields.values())))


def _computes(name):
    opcode, *modifiers = name.split(".")
    return opcode in _COMPUTE and modifiers[-1] == "f64"


def _is_installed(file):
    return "-packages" in file


def _sources(function: Any) -> list[tuple[Any, ast.AST]]:
    """(a function, its tree) of a function, and of those of the program that it calls; none if one is not known."""
    todo, found = [function], {}
    while todo:
        function = todo.pop()
        try:
            found[function] = ast.parse(dedent(inspect.getsource(function)))
            names = inspect.getclosurevars(function)
        except (OSError, TypeError, SyntaxError):
            return []
        called = [getattr(value, "py_func", None) for value in (*names.globals.values(), *names.nonlocals.values())]
        todo += [one for one in called if inspect.isfunction(one) and one not in found
                 and not _is_installed(one.__code__.co_filename)]
    return [*found.items()]


def _asks(function, tree):
    """Whether the code of a function says float64, by that name or another one."""
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}         # docstrings
    names = function.__globals__ | inspect.getclosurevars(function).nonlocals
    return any(id(node) not in told and _says(node, names, function.__code__.co_varnames) for node in ast.walk(tree))


def _says(node, names, local):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _ASKED.search(node.value) is not None
    if isinstance(node, ast.Attribute):
        return _NAMES.fullmatch(node.attr) is not None
    value = names.get(node.id) if isinstance(node, ast.Name) and node.id not in local else None
    function = getattr(value, "py_func", None)
    if inspect.isfunction(function):                     # one of a library says it by its name, another one by its source
        return _is_installed(function.__code__.co_filename) and _NAMES.search(function.__name__) is not None
    name = getattr(value, "name", getattr(value, "__name__", ""))
    return not inspect.isroutine(value) and isinstance(name, str) and _NAMES.fullmatch(name) is not None


def _quotients(function, tree):
    """(line, (text, what it is in integers, how many of its operands are no constants)) of int(a / b)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(of := node.args[0], ast.BinOp) and (
                isinstance(of.op, ast.Div) and _WHOLE.fullmatch(ast.unparse(node.func).split(".")[-1])):
            constants = [one.value for one in (of.left, of.right) if isinstance(one, ast.Constant)]
            if all(isinstance(one, int) for one in constants):
                whole = ast.unparse(ast.BinOp(of.left, ast.FloorDiv(), of.right))
                yield node.lineno + function.__code__.co_firstlineno - 1, (ast.unparse(node), whole, 2 - len(constants))


def _of_integers(names, site, quotient):
    """Whether integers, and nothing else, become float64 at a site. names: how many steps of each (site, name) there are."""
    made = [(name, count) for (at, name), count in names.items() if at == site and name.startswith("cvt.") and "f64" in name]
    whole = sum(count for name, count in made if name.split(".")[-1][0] in "su" and name.split(".")[-2] == "f64")
    return whole >= quotient[2] and not any(name.split(".")[-1] in ("f32", "f16") for name, _ in made)
