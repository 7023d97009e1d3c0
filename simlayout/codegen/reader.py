"""Emitted source read back: a grammar of index arithmetic, checked node by node before anything is compiled.

    module     text?  (function | function_name.access_name = "text")*
    function   def name(parameters):  text?  (name = value)*  return value
    value      whole number | name of a parameter or of an earlier line | value operator value | -value

That is all: no call, import, attribute, subscript, default, decorator or name from outside, so reading a file of
index functions cannot run anything but definitions, and calling one cannot do anything but arithmetic.
"""

import ast
from collections.abc import Callable
from typing import Any

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr,
              ast.BitXor)
_LIMIT = 2**63


@typed()
def compile_source(source: str, filename: str = "<emitted>") -> dict[str, Callable[..., Any]]:
    """Reads emitted source back: {function name: function}.

    Raises SimlayoutError, with the line, for anything but functions of integer arithmetic (see the grammar above).

    >>> compile_source("def f(tid):\\n    return tid & 7\\n")["f"](9)
    1
    >>> compile_source("import os")
    Traceback (most recent call last):
    ...
    simlayout.errors.SimlayoutError: <emitted>: line 1: Import is not index arithmetic
    """
    try:
        tree = ast.parse(source, filename)
        _check_module(tree, filename)
        code = compile(tree, filename, "exec")
    except SimlayoutError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:      # ValueError: a null byte, in Python 3.10
        raise SimlayoutError(f"{filename}: not Python source: {error}") from None
    scope = {"__builtins__": {}}
    exec(code, scope)                                       # nothing but definitions got past the check
    return {name: value for name, value in scope.items() if callable(value)}


def _check_module(tree, filename):
    functions = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            _check_function(node, filename)
            if node.name in functions:
                _refuse(node, filename, f"a second function {node.name}")
            functions.add(node.name)
        elif not _is_text(node, node is tree.body[0]) and not _is_mark(node, functions):
            _refuse(node, filename)


def _refuse(node, filename, what=None):
    raise SimlayoutError(f"{filename}: line {getattr(node, 'lineno', '?')}: {what or type(node).__name__} is not index "
                         f"arithmetic")


def _is_text(node, first):
    """A docstring, where one may stand."""
    return (first and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str))


def _is_mark(node, functions):
    """`function.access_name = "text"`."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Attribute):
        return False
    target, value = node.targets[0], node.value
    return (target.attr == "access_name" and isinstance(target.value, ast.Name) and target.value.id in functions
            and isinstance(value, ast.Constant) and isinstance(value.value, str))


def _check_function(node, filename):
    a = node.args
    if (node.decorator_list or node.returns or getattr(node, "type_params", None) or a.posonlyargs or a.kwonlyargs
            or a.vararg or a.kwarg or a.defaults or any(p.annotation for p in a.args)):
        _refuse(node, filename, "a function with more than a name and plain parameters")
    known = {p.arg for p in a.args}
    if any(name.startswith("_") for name in (node.name, *known)):
        _refuse(node, filename, "a name that starts with an underscore")
    statements = node.body[1:] if _is_text(node.body[0], True) else node.body
    if not statements or not isinstance(statements[-1], ast.Return):
        _refuse(node, filename, "a function that does not end in `return value`")
    for statement in statements[:-1]:
        if not isinstance(statement, ast.Assign) or [type(t) for t in statement.targets] != [ast.Name]:
            _refuse(statement, filename)
        _check_value(statement.value, known, filename)
        known.add(statement.targets[0].id)
    _check_value(statements[-1].value, known, filename)


def _check_value(node, known, filename):
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        _check_value(node.left, known, filename)
        _check_value(node.right, known, filename)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        _check_value(node.operand, known, filename)
    elif isinstance(node, ast.Constant):
        if type(node.value) is not int or node.value >= _LIMIT:
            _refuse(node, filename, repr(node.value)[:40])
    elif not isinstance(node, ast.Name):
        _refuse(node, filename)
    elif node.id not in known:
        _refuse(node, filename, f"the unknown name {node.id}")
