"""A kernel's own source, rewritten so that one Python thread executes 32 lanes at once.

`device_function(f)` reads the source text of `f`, rewrites its syntax tree and compiles it under the same file name and
line numbers; the user's file is never touched, and globals and closure stay the live ones of `f`. The new function
takes the warp as a hidden first argument, and what needs 32 lanes goes through it:

    f(x)                    __warp.call(f, x)                        instruction twins, helpers, min, max, range ...
    a and b, a or b, not a  __warp.both(a, lambda: b) ...            lane-wise, the right side under the narrowed mask
    a < b < c               __warp.both(a < (t := b), lambda: t < c)
    x if c else y           __warp.select(c, lambda: x, lambda: y)
    x += 1                  x = x + 1                                NumPy's += would change an array that others hold
    statements              see `simlayout.machine.statements`

What a kernel cannot contain (a nested def, try, with ...) is refused by name, with file and line.
"""

import ast
import copy
import dis
import linecache
from functools import lru_cache
from types import CodeType, FunctionType
from weakref import WeakKeyDictionary

from simlayout.errors import MachineError
from simlayout.machine.statements import Statements
from simlayout.machine.syntax import later, place, warp_call

_REFUSED = {
    ast.FunctionDef: "a nested function", ast.AsyncFunctionDef: "an async function", ast.ClassDef: "a class",
    ast.Lambda: "a lambda", ast.Try: "try", ast.With: "with", ast.AsyncWith: "async with", ast.AsyncFor: "async for",
    ast.Match: "match", ast.Global: "global", ast.Nonlocal: "nonlocal", ast.Delete: "del", ast.Import: "import",
    ast.ImportFrom: "import", ast.NamedExpr: "`:=`", ast.Yield: "yield", ast.YieldFrom: "yield from",
    ast.Await: "await", getattr(ast, "TryStar", ast.Try): "try", ast.GeneratorExp: "a generator expression",
}
_INSTEAD = {"a nested function": "define it at module level", "a lambda": "define a function at module level",
            "a generator expression": "write the loop out", "import": "import at module level",
            "`:=`": "assign on a line of its own"}

_rewritten = WeakKeyDictionary()


def device_function(function):
    """The rewritten form of a plain Python function: the same parameters after a warp. Cached.

    Raises MachineError if the source cannot be found, or holds what a kernel cannot (naming file and line).

    >>> device_function(abs)
    Traceback (most recent call last):
    ...
    simlayout.errors.MachineError: abs is not a Python function: a kernel is written with def in a file
    """
    if not isinstance(function, FunctionType):
        name = getattr(function, "__name__", repr(function))
        raise MachineError(f"{name} is not a Python function: a kernel is written with def in a file")
    made = _rewritten.get(function)
    if made is None:
        made = _rewritten[function] = _bind(function)
    return made


def _bind(function):
    old = function.__code__
    linecache.checkcache(old.co_filename)
    text = "".join(linecache.getlines(old.co_filename, function.__globals__))
    code = _rewritten_code(old, old.co_filename, text)
    if code is None:
        return _without_source(function)
    cells = dict(zip(old.co_freevars, function.__closure__ or (), strict=True))
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__,
                        tuple(cells[name] for name in code.co_freevars))
    made.__kwdefaults__, made.__doc__, made.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    return made


def _without_source(function):
    """Arithmetic alone (no call, no jump: an emitted index function, say) means the same on arrays as it stands."""
    for step in dis.get_instructions(function.__code__):
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs or step.opname.startswith("CALL"):
            raise MachineError(f"the source of {function.__qualname__} in {function.__code__.co_filename} cannot be "
                               "read, and it is more than arithmetic: define it in a file")
    return lambda warp, *args, **named: function(*args, **named)


@lru_cache(None)
def _rewritten_code(code, filename, text):
    """The rewritten code object, or None if `text` does not hold the function. (Equal code may come from two files.)"""
    node = _find(text, filename, code)
    if node is None:
        return None
    _Rewriter(filename).kernel(node)
    shell = ast.parse("def shell(): pass").body[0]
    shell.args.args = [ast.arg(name) for name in code.co_freevars]
    shell.body = [node]
    module = ast.fix_missing_locations(ast.Module([shell], []))
    return _inner(_inner(compile(module, filename, "exec", dont_inherit=True), "shell"), node.name)


def _inner(code, name):
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


@lru_cache(16)
def _parse(text, filename):
    return ast.parse(text, filename)


def _find(text, filename, code):
    """A copy of the syntax tree of the def (or the only lambda) that begins where `code` does."""
    try:
        tree = _parse(text, filename)
    except SyntaxError:
        return None
    found = [n for n in ast.walk(tree) if _name(n) == code.co_name and _first_line(n) == code.co_firstlineno]
    if len(found) != 1:
        return None
    node = copy.deepcopy(found[0])
    if isinstance(node, ast.Lambda):
        result = ast.copy_location(ast.Return(node.body), node.body)
        node = ast.copy_location(ast.FunctionDef("<lambda>", node.args, [result], [], type_params=[]), node)
    return node


def _name(node):
    return "<lambda>" if isinstance(node, ast.Lambda) else getattr(node, "name", None)


def _first_line(node):
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


class _Rewriter(Statements):
    """Rewrites one function."""

    def visit(self, node):
        """Refuses what a kernel cannot contain."""
        word = _REFUSED.get(type(node))
        if word:
            raise MachineError(f"{self.filename}:{node.lineno}: {word} in a kernel cannot run on the machine: "
                               f"{_INSTEAD.get(word, 'leave it out')}")
        return super().visit(node)

    def visit_Assert(self, node):
        node.test = warp_call("every", self.visit(node.test), at=node.test)
        return node

    def visit_AugAssign(self, node):
        target, before = node.target, []
        if isinstance(target, ast.Subscript):           # the array and the index are evaluated once
            parts = []
            for part in (target.value, target.slice):
                name = self.fresh("part")
                before.append(place(ast.Assign([ast.Name(name, ast.Store())], self.visit(part)), node))
                parts.append(name)
            target = ast.Subscript(ast.Name(parts[0], ast.Load()), ast.Name(parts[1], ast.Load()), ast.Store())
        old = copy.deepcopy(target)
        old.ctx = ast.Load()
        value = ast.BinOp(old, node.op, self.visit(node.value))
        return [*before, *self.stored(place(ast.Assign([target], value), node))]

    def visit_Call(self, node):
        node = self.generic_visit(node)
        made = warp_call("call", node.func, *node.args, at=node)
        made.keywords = node.keywords
        return made

    def visit_BoolOp(self, node):
        method = "both" if isinstance(node.op, ast.And) else "either"
        made = self.visit(node.values[-1])
        for value in reversed(node.values[:-1]):
            made = warp_call(method, self.visit(value), later(made), at=node)
        return made

    def visit_UnaryOp(self, node):
        node = self.generic_visit(node)
        return warp_call("negate", node.operand, at=node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        links, left = [], node.left
        for i, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            last = i == len(node.ops) - 1
            name = None if last else self.fresh("link")
            held = right if last else ast.NamedExpr(ast.Name(name, ast.Store()), right)
            links.append(place(ast.Compare(left, [op], [held]), node))
            left = None if last else ast.Name(name, ast.Load())
        made = links.pop()
        while links:
            made = warp_call("both", links.pop(), later(made), at=node)
        return made

    def visit_IfExp(self, node):
        node = self.generic_visit(node)
        return warp_call("select", node.test, later(node.body), later(node.orelse), at=node)

    def visit_comprehension(self, node):
        node = self.generic_visit(node)
        node.iter = warp_call("iterate", node.iter, at=node.iter)
        node.ifs = [warp_call("uniform", test, ast.Constant("if"), at=test) for test in node.ifs]
        return node
