"""A kernel's own source, rewritten so that one Python thread executes 32 lanes at once.

`device_function(f)` reads the source text of `f`, rewrites its syntax tree and compiles it under the same file name and
line numbers; the user's file is never touched, and globals and closure stay the live ones of `f`. The new function
takes the warp as a hidden first argument, and what needs 32 lanes goes through it:

    f(x)                    __warp.call(f, x)                        instruction twins, helpers, min, max, range ...
    a + b, -a, a < b        __add(__warp, a, b) ...                  by Numba's types: `simlayout.machine.python.operators`
    a and b, a or b, not a  __warp.both(a, lambda: b) ...            lane-wise, the right side under the narrowed mask
    a < b < c               __warp.both(__lt(__warp, a, t := b), lambda: __lt(__warp, t, c))
    x if c else y           __warp.select(c, lambda: x, lambda: y)
    x += 1                  x = __add(__warp, x, 1)                  NumPy's += would change an array that others hold
    statements              see `simlayout.machine.python.statements`

What a kernel cannot contain (a nested def, try, with ...) is refused by name, with file and line.
"""

import ast
import dis
import linecache
import operator
from collections import defaultdict
from functools import lru_cache
from threading import Lock
from types import CellType, CodeType, FunctionType
from weakref import WeakKeyDictionary

import numpy as np

from simlayout.errors import MachineError, brief
from simlayout.machine.python.contraction import fused_products
from simlayout.machine.python.inference import CAST, Callee, described_value, joined, known
from simlayout.machine.python.numbers import MOST
from simlayout.machine.python.operators import OPERATORS
from simlayout.machine.python.statements import Statements
from simlayout.machine.python.syntax import WARP_NAME, later, place, warp_call

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

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
           ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_ORDER = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
          ast.In: "in", ast.NotIn: "notin"}
_BOUND = {f"__{name}": CellType(function) for name, function in OPERATORS.items()}
"""What the names of operators in rewritten code are bound to, as closure cells are."""

_rewritten = WeakKeyDictionary()
_alone = Lock()
"""Held by the thread that rewrites: what it has under way another would take for not known, and CPython 3.11 makes syntax
trees in one thread at a time."""


def device_function(function, args=(), named=None):
    """The rewritten form of a plain Python function, for arguments of the types that these have: the same parameters after a
    warp. Cached.

    Raises MachineError if the source cannot be found, or holds what a kernel cannot (naming file and line).

    >>> device_function(abs)
    Traceback (most recent call last):
    ...
    simlayout.errors.MachineError: abs is not a Python function: a kernel is written with def in a file
    """
    if not isinstance(function, FunctionType):
        name = getattr(function, "__name__", brief(function))
        raise MachineError(f"{name} is not a Python function: a kernel is written with def in a file")
    forms = _rewritten.get(function)
    if forms is None:
        forms = _rewritten[function] = {}
    key = _key(args) if not named else (_key(args), *named, *_key(named.values()))
    form = forms.get(key)
    if form is None:
        kinds = tuple(map(described_value, args)), {name: described_value(value) for name, value in (named or {}).items()}
        with _alone:
            form = forms[key] = _bind(function, _parameters(function, *kinds))
    return form


def parameter_names(function):
    """What a function calls its positional arguments; nothing of what is no Python function.

    >>> parameter_names(lambda a, *rest, n=1: a), parameter_names(abs)
    (('a',), ())
    """
    code = getattr(function, "__code__", None)
    return () if code is None else code.co_varnames[:code.co_argcount]


def _key(values):
    """What tells values of different types apart, quickly: a call of a device function asks for every argument."""
    key = tuple([v.dtype.num if isinstance(v, np.ndarray) else v.__class__ if v.__class__ is not int or v <= MOST else "u64"
                 for v in values])
    return key if tuple not in key else tuple([_key(v) if v.__class__ is tuple else k for v, k in zip(values, key)])


def _parameters(function, kinds, named):
    """Pairs (parameter, type) of a call: those whose type is known. kinds, named: those of its arguments."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[:code.co_argcount]
    types = {name: described_value(value) for name, value in zip(names[len(names) - len(defaults):], defaults, strict=True)}
    types |= {name: described_value(value) for name, value in (function.__kwdefaults__ or {}).items()}
    taken = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    types |= dict(zip(names, kinds)) | {name: kind for name, kind in named.items() if name in taken}
    return tuple(sorted((name, kind) for name, kind in types.items() if kind is not None))


def _bind(function, parameters):
    old = function.__code__
    code = _rewritten_code(old, old.co_filename, _text(function), known(function), parameters)
    if code is None:
        return _without_source(function)
    cells = _BOUND | dict(zip(old.co_freevars, function.__closure__ or (), strict=True))
    bound = FunctionType(code, function.__globals__, function.__name__, function.__defaults__,
                         tuple(cells[name] for name in code.co_freevars))
    bound.__qualname__ = function.__qualname__           # errors of Python name it
    bound.__kwdefaults__, bound.__doc__, bound.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    return bound


def _text(function):
    linecache.checkcache(function.__code__.co_filename)
    return "".join(linecache.getlines(function.__code__.co_filename, function.__globals__))


MOST_KEPT = 4096
"""Of what is kept of functions for a process's life: the oldest go first. A Hopper kernel has some fifty."""

_results: dict[tuple, tuple | None] = {}
"""(Callee, file, types of parameters) -> (the type that it returns,), None while that is sought. Functions of equal code in
a file, as each kernel that is made brings, are one."""


def _result(function, kinds, named):
    """The type that a call of a function returns by its text, None if not known. kinds, named: those of its arguments."""
    code, parameters = function.__code__, _parameters(function, kinds, named)
    key = Callee.of(function), code.co_filename, parameters
    if key not in _results:
        while len(_results) >= MOST_KEPT:
            del _results[next(iter(_results))]
        _results[key] = None                             # it may call itself, which is refused when it does
        try:
            node = _find(_text(function), code.co_filename, code)
            _results[key] = (None if node is None else joined(node, dict(known(function)), parameters, _result)[1],)
        except BaseException:
            _results.pop(key, None)
            raise
    result = _results[key]
    return result and result[0]


def _without_source(function):
    """Arithmetic alone (no call, no jump: an emitted index function, say) means the same on arrays as it stands."""
    for step in dis.get_instructions(function.__code__):
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs or step.opname.startswith("CALL"):
            raise MachineError(f"the source of {function.__qualname__} in {function.__code__.co_filename} cannot be "
                               "read, and it is more than arithmetic: write it with def, in a file or a notebook")
    return lambda warp, *args, **named: function(*args, **named)


@lru_cache(MOST_KEPT)
def _rewritten_code(code, filename, text, names, parameters):
    """The rewritten code object, or None if `text` does not hold the function. (Equal code may come from two files.)"""
    node = _find(text, filename, code)
    if node is None:
        return None
    _Rewriter(filename, dict(names), parameters).kernel(node)
    shell = ast.parse("def shell(): pass").body[0]
    shell.args.args = [ast.arg(name) for name in (*_BOUND, *code.co_freevars)]
    shell.body = [node]
    node.name = "__rewritten"                            # its own name is a global to it, as it was
    module = ast.fix_missing_locations(ast.Module([shell], []))
    compiled = _inner(_inner(compile(module, filename, "exec", dont_inherit=True), "shell"), node.name)
    return compiled.replace(co_name=code.co_name)


def _inner(code, name):
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


@lru_cache(64)
def _named(text, filename):
    """{(name, first line): [syntax trees]} of all that has a name in a file. A Hopper kernel has some fifty functions in
    twenty files."""
    found = defaultdict(list)
    for node in ast.walk(ast.parse(text, filename)):
        name = _name(node)
        if name is not None and hasattr(node, "lineno"):
            found[name, _first_line(node)].append(node)
    return found


def _find(text, filename, code):
    """A copy of the syntax tree of the def (or the only lambda) that begins where `code` does."""
    try:
        candidates = _named(text, filename).get((code.co_name, code.co_firstlineno), ())
    except SyntaxError:
        return None
    if len(candidates) != 1:
        return None
    node = _copied(candidates[0])
    if isinstance(node, ast.Lambda):
        result = ast.copy_location(ast.Return(node.body), node.body)
        node = ast.copy_location(ast.FunctionDef("<lambda>", node.args, [result], [], type_params=[]), node)
    return node


def _copied(tree):
    """A copy of a syntax tree, or of a field of one. (copy.deepcopy takes three times as long.)

    What else a node holds stays: what draws tracebacks in notebooks gives each a parent, also Load(), of which Python has
    one for all trees.
    """
    if isinstance(tree, list):
        return [_copied(each) for each in tree]
    if not isinstance(tree, ast.AST) or not (tree._fields or tree._attributes):      # a Load() has nothing to be changed
        return tree
    made, own = tree.__class__.__new__(tree.__class__), tree.__dict__
    made.__dict__.update({name: _copied(own[name]) for name in (*tree._fields, *tree._attributes) if name in own})
    return made


def _name(node):
    return "<lambda>" if isinstance(node, ast.Lambda) else getattr(node, "name", None)


def _first_line(node):
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def _constant(node):
    """The number that an expression of nothing but numbers is, as Python works it out before Numba sees it; None if none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float) else None
    try:
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            value = _constant(node.operand)
            return None if value is None else _NATIVE[type(node.op)](value)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            left, right = _constant(node.left), _constant(node.right)
            large = isinstance(node.op, ast.Pow | ast.LShift) and (left is None or right is None or abs(right) > 64)
            return None if left is None or right is None or large else _NATIVE[type(node.op)](left, right)
    except (ArithmeticError, TypeError):                # said when the line is executed, if it is
        pass
    return None


_NATIVE = {op: getattr(operator, {"and": "and_", "or": "or_"}.get(name, name)) for op, name in (_BINARY | _UNARY).items()}


class _Rewriter(Statements):
    """Rewrites one function. known, parameters: as `simlayout.machine.python.inference` takes names and types; fused: as of
    `simlayout.machine.python.contraction`."""

    def __init__(self, filename, known, parameters):
        super().__init__(filename)
        self.known, self.parameters = known, parameters

    def kernel(self, node):
        """Rewrites a FunctionDef in place."""
        self.types, _ = joined(node, self.known, self.parameters, _result)
        self.fused = fused_products(node)
        super().kernel(node)

    def operate(self, name, *operands, at):
        """The expression `__name(__warp, *operands)`."""
        return place(ast.Call(ast.Name(f"__{name}", ast.Load()), [ast.Name(WARP_NAME, ast.Load()), *operands], []), at)

    def number(self, value, at):
        """A number that the source gives, as an expression."""
        if isinstance(value, int) and not -2**63 <= value < 2**64:
            raise MachineError(f"{self.filename}:{at.lineno}: the integer {value} does not fit in 64 bits: no register "
                               "holds it")
        constant = ast.copy_location(ast.Constant(value), at)
        return self.operate("u64", constant, at=at) if isinstance(value, int) and value >= 2**63 else constant

    def visit_Constant(self, node):
        return self.number(node.value, node)

    def visit_BinOp(self, node):
        value = _constant(node)
        if value is not None and not isinstance(value, complex):
            return self.number(value, node)
        return self.binary(node, node.op, self.visit(node.left), self.visit(node.right), node.right)

    def binary(self, node, op, left, right, exponent):
        """The operator of a BinOp or an AugAssign, with rewritten operands."""
        if type(op) not in _BINARY:
            raise MachineError(f"{self.filename}:{node.lineno}: `@` in a kernel cannot run on the machine: use mma "
                               "instructions")
        extra = [ast.Constant(self.fused[node])] if node in self.fused else []
        if isinstance(op, ast.Pow) and _constant(exponent) is not None:
            extra = [ast.Constant(True)]
        return self.operate(_BINARY[type(op)], left, right, *extra, at=node)

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
        old = _copied(target)
        old.ctx = ast.Load()
        value = self.binary(node, node.op, old, self.visit(node.value), node.value)
        return [*before, *self.stored(place(ast.Assign([target], value), node))]

    def typed(self, node, call):
        """An expression made of `node`, cast where its parts have several types."""
        kind = self.types.get(id(node))
        return call if kind is None else self.operate("as", call, ast.Constant(kind), at=node)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == CAST:
            return self.operate("as", self.visit(node.args[0]), node.args[1], at=node)
        node = self.generic_visit(node)
        call = warp_call("call", node.func, *node.args, at=node)
        call.keywords = node.keywords
        return call

    def visit_BoolOp(self, node):
        method = "both" if isinstance(node.op, ast.And) else "either"
        result = self.visit(node.values[-1])
        for value in reversed(node.values[:-1]):
            result = warp_call(method, self.visit(value), later(result), at=node)
        return self.typed(node, result)

    def visit_UnaryOp(self, node):
        value = _constant(node)
        if value is not None:
            return self.number(value, node)
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return warp_call("negate", operand, at=node)
        return self.operate(_UNARY[type(node.op)], operand, at=node)

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        links, left = [], node.left
        for i, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            last = i == len(node.ops) - 1
            name = None if last else self.fresh("link")
            held = right if last else ast.NamedExpr(ast.Name(name, ast.Store()), right)
            if type(op) in _ORDER:
                links.append(self.operate(_ORDER[type(op)], left, held, at=node))
            else:
                links.append(place(ast.Compare(left, [op], [held]), node))
            left = None if last else ast.Name(name, ast.Load())
        result = links.pop()
        while links:
            result = warp_call("both", links.pop(), later(result), at=node)
        return result

    def visit_IfExp(self, node):
        node = self.generic_visit(node)
        return self.typed(node, warp_call("select", node.test, later(node.body), later(node.orelse), at=node))

    def visit_comprehension(self, node):
        node = self.generic_visit(node)
        node.iter = warp_call("iterate", node.iter, at=node.iter)
        node.ifs = [warp_call("uniform", test, at=test) for test in node.ifs]
        return node
