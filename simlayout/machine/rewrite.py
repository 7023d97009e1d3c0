"""A kernel's own source, rewritten so that one Python thread executes 32 lanes at once.

`device_function(f)` reads the source text of `f`, rewrites its syntax tree and compiles it under the same file name and
line numbers; the user's file is never touched, and globals and closure stay the live ones of `f`. The new function
takes the warp as a hidden first argument, and what needs 32 lanes goes through it:

    f(x)                    __warp.call(f, x)                        instruction twins, helpers, min, max, range ...
    a and b, a or b, not a  __warp.both(a, lambda: b) ...            lane-wise, the right side under the narrowed mask
    a < b < c               __warp.both(a < (t := b), lambda: t < c)
    x if c else y           __warp.select(c, lambda: x, lambda: y)
    x += 1                  x = x + 1                                NumPy's += would change an array that others hold
    while c, for x in e     while __warp.uniform(c), for x in __warp.iterate(e)
    if c: A else: B         the template `_IF` below
    any statement           __warp.executed[file, line] += 1, and the statement

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

WARP_NAME = "__warp"
"""The hidden first parameter of every rewritten function; also how a traceback frame shows that it is kernel code."""

_IF = """
{branch} = __warp.branch(TEST, {names})
if {branch}:
    if {branch} is not True:
        {branch}.then(locals())
    THEN
if {branch} is not True:
    if {branch}:
        [{targets}] = {branch}.otherwise(locals())
    ELSE
    if {branch}:
        [{targets}] = {branch}.merge(locals())
"""
"""An `if`. `branch` returns True or False where all lanes agree, and the arm is simply taken. Otherwise it returns a
Branch: both arms run, each under its mask, each from the same values of the names that either of them assigns."""

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


def _assigned(statements):
    """The names that statements assign, in a fixed order; a comprehension's variables are its own."""
    found = set()
    todo = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if not isinstance(node, ast.comprehension):
            todo.extend(ast.iter_child_nodes(node))
        else:
            todo.extend((node.iter, *node.ifs))
    return tuple(sorted(found))


def _warp(method, *args, at):
    """The expression `__warp.method(*args)`, at the place of the node `at`."""
    target = _place(ast.Attribute(ast.Name(WARP_NAME, ast.Load()), method, ast.Load()), at)
    target.end_lineno, target.end_col_offset = at.lineno, at.col_offset   # CPython takes a method call's line from here
    return _place(ast.Call(target, list(args), []), at)


def _count(filename, statement):
    """The statement `__warp.executed[filename, line] += 1`, at the place of a statement."""
    executed = ast.Attribute(ast.Name(WARP_NAME, ast.Load()), "executed", ast.Load())
    target = ast.Subscript(executed, ast.Constant((filename, statement.lineno)), ast.Store())
    return _place(ast.AugAssign(target, ast.Add(), ast.Constant(1)), statement)


def _is_text(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _later(expression):
    return ast.copy_location(ast.Lambda(ast.arguments([], [], None, [], [], None, []), expression), expression)


def _place(new, at):
    """Gives every node of `new` that has no place yet the place of `at`."""
    for node in ast.walk(new):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, at)
    return new


class _Rewriter(ast.NodeTransformer):
    """Rewrites one function. `open` holds the branches around the current statement, innermost loop last."""

    def __init__(self, filename):
        self.filename = filename
        self.count = 0
        self.open = [[]]                                 # one list of branch names per enclosing loop

    def kernel(self, node):
        """Rewrites a FunctionDef in place: the hidden parameter, no decorators, no defaults (they are bound again)."""
        spec = node.args
        (spec.posonlyargs or spec.args).insert(0, ast.arg(WARP_NAME))
        for parameter in ast.walk(spec):
            if isinstance(parameter, ast.arg):
                parameter.annotation = None
        spec.defaults, spec.kw_defaults = [], [None] * len(spec.kwonlyargs)
        node.decorator_list, node.returns = [], None
        node.body = self.block(node.body, None)

    def block(self, statements, line):
        """Rewrites statements and puts a count before each; `line` is that of the statement around them."""
        made = []
        for statement in statements:
            if statement.lineno != line and not _is_text(statement):
                made.append(_count(self.filename, statement))
            line = statement.lineno
            new = self.visit(statement)
            made.extend(new if isinstance(new, list) else [new])
        return made

    def fresh(self, kind):
        self.count += 1
        return f"__{kind}_{self.count}"

    def visit(self, node):
        word = _REFUSED.get(type(node))
        if word:
            raise MachineError(f"{self.filename}:{node.lineno}: {word} in a kernel cannot run on the machine: "
                               f"{_INSTEAD.get(word, 'leave it out')}")
        return super().visit(node)

    def visit_If(self, node):
        names = _assigned(node.body + node.orelse)
        branch = self.fresh("branch")
        test = self.visit(node.test)
        template = ast.parse(_IF.format(branch=branch, names=names, targets=", ".join(names))).body
        for new in template:
            for part in ast.walk(new):
                if "lineno" in part._attributes:
                    ast.copy_location(part, node)
                    part.end_lineno, part.end_col_offset = node.lineno, node.col_offset
        decide, then, otherwise = template
        decide.value.args[0] = test
        self.open[-1].append(branch)
        then.body[1:] = self.block(node.body, node.lineno)
        otherwise.body[1:2] = self.block(node.orelse, node.lineno)
        self.open[-1].pop()
        return template

    def loop(self, node):
        self.open.append([])
        node.body = self.block(node.body, node.lineno)
        self.open.pop()
        node.orelse = self.block(node.orelse, node.lineno)
        return node

    def visit_For(self, node):
        node.iter = _warp("iterate", self.visit(node.iter), at=node.iter)
        return self.loop(node)

    def visit_While(self, node):
        node.test = _warp("uniform", self.visit(node.test), ast.Constant("while"), at=node.test)
        return self.loop(node)

    def leave(self, node, word, branches):
        """A jump out of `branches` is refused at run time if one of them diverged."""
        if not branches:
            return node
        check = _warp("leave", ast.Constant(word), *(ast.Name(b, ast.Load()) for b in branches), at=node)
        return [ast.copy_location(ast.Expr(check), node), node]

    def visit_Return(self, node):
        return self.leave(self.generic_visit(node), "return", [b for group in self.open for b in group])

    def visit_Break(self, node):
        return self.leave(node, "break", self.open[-1])

    def visit_Continue(self, node):
        return self.leave(node, "continue", self.open[-1])

    def visit_Assert(self, node):
        node.test = _warp("every", self.visit(node.test), at=node.test)
        return node

    def visit_AugAssign(self, node):
        target, before = node.target, []
        if isinstance(target, ast.Subscript):           # the array and the index are evaluated once
            parts = []
            for part in (target.value, target.slice):
                name = self.fresh("part")
                before.append(_place(ast.Assign([ast.Name(name, ast.Store())], self.visit(part)), node))
                parts.append(name)
            target = ast.Subscript(ast.Name(parts[0], ast.Load()), ast.Name(parts[1], ast.Load()), ast.Store())
        old = copy.deepcopy(target)
        old.ctx = ast.Load()
        value = ast.BinOp(old, node.op, self.visit(node.value))
        return [*before, _place(ast.Assign([target], value), node)]

    def visit_Call(self, node):
        node = self.generic_visit(node)
        made = _warp("call", node.func, *node.args, at=node)
        made.keywords = node.keywords
        return made

    def visit_BoolOp(self, node):
        method = "both" if isinstance(node.op, ast.And) else "either"
        made = self.visit(node.values[-1])
        for value in reversed(node.values[:-1]):
            made = _warp(method, self.visit(value), _later(made), at=node)
        return made

    def visit_UnaryOp(self, node):
        node = self.generic_visit(node)
        return _warp("negate", node.operand, at=node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node):
        node = self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        links, left = [], node.left
        for i, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            last = i == len(node.ops) - 1
            name = None if last else self.fresh("link")
            held = right if last else ast.NamedExpr(ast.Name(name, ast.Store()), right)
            links.append(_place(ast.Compare(left, [op], [held]), node))
            left = None if last else ast.Name(name, ast.Load())
        made = links.pop()
        while links:
            made = _warp("both", links.pop(), _later(made), at=node)
        return made

    def visit_IfExp(self, node):
        node = self.generic_visit(node)
        return _warp("select", node.test, _later(node.body), _later(node.orelse), at=node)

    def visit_comprehension(self, node):
        node = self.generic_visit(node)
        node.iter = _warp("iterate", node.iter, at=node.iter)
        node.ifs = [_warp("uniform", test, ast.Constant("if"), at=test) for test in node.ifs]
        return node
