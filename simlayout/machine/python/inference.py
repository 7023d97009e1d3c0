"""Static types of a kernel's names, as far as its text tells them: what a name holds where two ways meet.

Numba gives every name one type where control flow joins: after `x = f32(1)` and `if n: x = 0.1`, x is f64 whichever way was
taken. `joined` walks a function's syntax tree, and puts a cast where the known types of the ways differ: of names, and of
what `return` gives. As in Numba, a function is one for every combination of its parameters' types. What is not known (an
attribute, an element of a list) is left alone: such a name keeps the type that it was assigned.
"""

import ast
import threading
import weakref
from types import FunctionType

import numpy as np

from simlayout.machine.python.numbers import ARITHMETIC, FLOATS, UNSIGNED, kind_of, unified

CAST = "__as"
"""The function of an inserted cast, `x = __as(x, kind)`: the rewriter knows it."""

_REGISTER = {"s32": "s64", "b32": "u32", "b16": "u32"}
_BUILT_IN = {"int": {"b1": "s64", "f32": "s64", "f64": "s64"}, "float": {"s64": "f64", "u32": "f64", "u64": "f64"}}
_BITS = ast.BitAnd, ast.BitOr, ast.BitXor


def described(value):
    """What is known of a global: the type of a number, ("casts", type), ("gives", types), ("calls", Callee), or None."""
    if getattr(value, "casts_to", None):
        return "casts", _REGISTER.get(value.casts_to, value.casts_to)
    if isinstance(value, type) and issubclass(value, np.number | np.bool_):
        return "casts", kind_of(value(0))
    results = getattr(value, "results", None)
    if isinstance(results, tuple) and hasattr(value, "twin"):
        return "gives", tuple(_REGISTER.get(r, r) for r in results)
    plain = getattr(value, "py_func", value)             # what numba.cuda.jit wraps
    if isinstance(plain, FunctionType):
        return "calls", Callee.of(plain)
    return described_value(value)


class Callee:
    """A function that another one calls; equal to one of the same code that knows the same of its own names and defaults,
    so that a kernel that is made again is not rewritten again. function: a weak reference."""

    __slots__ = ("function", "code", "defaults", "names", "__weakref__")
    _known_callees = weakref.WeakKeyDictionary()
    _compared: set[tuple[int, int, int]] = set()         # (thread, ids of two): where they lead back to themselves

    @classmethod
    def of(cls, function):
        """The Callee of a function."""
        callee = cls._known_callees.get(function)
        if callee is None:
            callee = cls._known_callees[function] = cls()
            callee.function, callee.code, callee.names = weakref.ref(function), function.__code__, ()
            callee.defaults = (tuple(map(described_value, function.__defaults__ or ())),
                               {name: described_value(value) for name, value in (function.__kwdefaults__ or {}).items()})
            callee.names = known(function)               # of one that leads back to itself: as far as it was known then
        return callee

    def __eq__(self, other):
        if self is other or not isinstance(other, Callee) or self.code != other.code or self.defaults != other.defaults:
            return self is other
        pair = threading.get_ident(), id(self), id(other)
        if pair in self._compared:                       # equal unless something else is not
            return True
        self._compared.add(pair)
        try:
            return self.names == other.names
        finally:
            self._compared.remove(pair)

    def __hash__(self):
        return hash(self.code)


def known(function):
    """What is `described` of a function's globals and closure, as pairs (name, description)."""
    code, scope = function.__code__, function.__globals__
    kinds = {name: described(scope[name]) for name in code.co_names if name in scope}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            kinds[name] = described(cell.cell_contents)
        except ValueError:                               # an empty cell: assigned later
            kinds[name] = None
    return tuple(sorted(kinds.items(), key=lambda item: item[0]))


def described_value(value):
    """The type of a number, a tuple of types of a tuple, None of anything else."""
    if value.__class__ is tuple:
        return tuple(map(described_value, value))
    try:
        return kind_of(value)
    except ValueError:
        return None


def joined(function, names, parameters=(), result=None):
    """Puts casts into a FunctionDef, in place. names: {global: what `described` says of it}; parameters: {name: its type};
    result: of (function, types of arguments, {keyword: type}), the type that the function returns, None if it is not known.

    Returns ({id of an `and`, `or` or conditional expression: its type} where its parts have several, the type returned).
    """
    walk, spec = _Walk(names, result or (lambda *_: None)), function.args
    has = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))]
    end = walk.block(function.body, dict.fromkeys(p.arg for p in has) | dict(parameters))
    returned = None if end is not None else _common({kind for _, kind in walk.returned})
    for node, kind in walk.returned:
        if returned is not None and kind != returned:
            node.value = _as(node.value, returned, node)
    return walk.expressions, returned


def _as(value, kind, at):
    """The expression `value`, cast."""
    call = ast.Call(ast.Name(CAST, ast.Load()), [value, ast.Constant(kind)], [])
    for node in (call, call.func, call.args[1]):
        ast.copy_location(node, at)
    return call


def _common(kinds):
    """The one type of a set of types, None if one is not known; of tuples of one length, element by element."""
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds and all(isinstance(kind, str) for kind in kinds):
        return unified(*sorted(kinds))
    if kinds and all(isinstance(kind, tuple) for kind in kinds) and len({len(kind) for kind in kinds}) == 1:
        types = tuple(_common(set(column)) for column in zip(*kinds, strict=True))
        return None if None in types else types
    return None


def _cast(name, kind, at):
    assignment = ast.Assign([ast.Name(name, ast.Store())],
                            ast.Call(ast.Name(CAST, ast.Load()), [ast.Name(name, ast.Load()), ast.Constant(kind)], []))
    for node in ast.walk(assignment):
        if "lineno" in node._attributes:
            ast.copy_location(node, at)
            node.end_lineno, node.end_col_offset = at.lineno, at.col_offset
    return assignment


def _meet(ways):
    """({name: type}, {name: common type of different ones}) where ways meet; a way that is None leads nowhere, and a type
    that is None is not known. A name that some way does not assign is not cast: it may hold nothing."""
    ways = [way for way in ways if way is not None]
    if not ways:
        return None, {}
    common, differ = {}, {}
    for name in {name for way in ways for name in way}:
        kinds = {way[name] for way in ways if name in way}
        common[name] = _common(kinds)
        if len(kinds) > 1 and common[name] is not None and all(name in way for way in ways):
            differ[name] = common[name]
    return common, differ


class _Walk:
    """Types of names along statements: an environment {name: type}, None where no way leads."""

    def __init__(self, names, result):
        self.names, self.result, self.loops, self.expressions, self.dry = names, result, [], {}, 0
        self.returned = []                               # (Return, the type of its value)

    def block(self, statements, known):
        """The environment after statements; casts are put between them, unless this is a dry run."""
        at = 0
        while at < len(statements):
            statement, before, behind = statements[at], {}, {}
            if known is not None:
                known, before, behind = self.statement(statement, known)
            if self.dry:
                before = behind = {}
            casts = [_cast(name, kind, statement) for name, kind in sorted(before.items())]
            after = [_cast(name, kind, statement) for name, kind in sorted(behind.items())]
            statements[at:at + 1] = [*casts, statement, *after]
            at += 1 + len(casts) + len(after)
        return known

    def statement(self, node, known):
        """(environment after it, casts before it, casts behind it)"""
        if isinstance(node, ast.If):
            self.kind(node.test, known)
            ways = self.block(node.body, dict(known)), self.block(node.orelse, dict(known))
            return *_meet_if(*ways),
        if isinstance(node, ast.For | ast.While):
            return self.loop(node, known)
        if isinstance(node, ast.Return | ast.Break | ast.Continue):
            if isinstance(node, ast.Return):
                kind = self.kind(node.value, known)
                if not self.dry:
                    self.returned.append((node, kind))
            elif self.loops:
                self.loops[-1][isinstance(node, ast.Break)].append(known)
            return None, {}, {}
        known = dict(known)
        if isinstance(node, ast.Assign):
            kind = self.kind(node.value, known)
            for target in node.targets:
                self.assign(target, kind, known)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, self.kind(node.value, known), known)
        elif isinstance(node, ast.AugAssign):
            right = self.kind(node.value, known)
            left = known.get(node.target.id) if isinstance(node.target, ast.Name) else None
            self.assign(node.target, _operated(node.op, left, right), known)
        elif isinstance(node, ast.Expr):
            self.kind(node.value, known)
        return known, {}, {}

    def loop(self, node, known):
        """A loop: what its head, the start of its body and what is behind it join."""
        head, seen = dict(known), None
        while seen != head:
            seen = dict(head)
            self.loops.append(([], []))
            inside = dict(head)
            if isinstance(node, ast.For):
                self.assign(node.target, self.counted(node.iter, head), inside)
            else:
                self.kind(node.test, head)
            self.dry += 1
            end = self.block(node.body, inside)
            self.dry -= 1
            continues, breaks = self.loops.pop()
            head, differ = _meet([known, head, end, *continues])
        self.loops.append(([], []))
        self.block(node.body, dict(inside))
        self.loops.pop()
        if not self.dry:
            node.body[:0] = [_cast(name, kind, node) for name, kind in sorted(differ.items())]
        after = self.block(node.orelse, dict(head)) if node.orelse else head
        out, apart = _meet([after, *breaks])
        return out, differ, differ | apart

    def counted(self, node, known):
        """The type of what a `for` walks over: a range is unsigned where all its bounds are."""
        kinds = {self.kind(a, known) for a in node.args} if isinstance(node, ast.Call) else set()
        if not kinds or not isinstance(node.func, ast.Name) or node.func.id != "range":
            return None
        return "u64" if kinds <= UNSIGNED else "s64" if kinds & {"s64", "b1"} else None

    def assign(self, target, kind, known):
        if isinstance(target, ast.Name):
            known[target.id] = kind
        elif isinstance(target, ast.Tuple | ast.List):
            fits = isinstance(kind, tuple) and len(kind) == len(target.elts)
            for i, element in enumerate(target.elts):
                self.assign(element, kind[i] if fits else None, known)

    def kind(self, node, known):
        """The type of an expression, a tuple of types of a tuple, None if it is not known."""
        if isinstance(node, ast.Constant):
            return kind_of(node.value) if isinstance(node.value, bool | float) or _fits(node.value) else None
        if isinstance(node, ast.Name):
            known_kind = known[node.id] if node.id in known else self.names.get(node.id)
            return known_kind if isinstance(known_kind, str) or node.id in known else None
        if isinstance(node, ast.Tuple):
            return tuple(self.kind(e, known) for e in node.elts)
        if isinstance(node, ast.BinOp):
            return _operated(node.op, self.kind(node.left, known), self.kind(node.right, known))
        if isinstance(node, ast.UnaryOp):
            kind = self.kind(node.operand, known)
            if isinstance(node.op, ast.Not):
                return "b1"
            if kind == "b1":
                return "b1" if isinstance(node.op, ast.Invert) else "s64"
            return "u64" if kind == "u32" else kind if isinstance(kind, str) else None
        if isinstance(node, ast.Compare):
            for part in (node.left, *node.comparators):
                self.kind(part, known)
            return "b1"
        if isinstance(node, ast.BoolOp):
            return self.several(node, [self.kind(v, known) for v in node.values])
        if isinstance(node, ast.IfExp):
            self.kind(node.test, known)
            return self.several(node, [self.kind(node.body, known), self.kind(node.orelse, known)])
        if isinstance(node, ast.Call):
            return self.called(node, [self.kind(a, known) for a in node.args], known)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            of = self.kind(node.value, known)
            return of[node.slice.value] if isinstance(of, tuple) and -len(of) <= node.slice.value < len(of) else None
        return None

    def several(self, node, kinds):
        """The type of an expression that is one of several; noted where they differ."""
        self.expressions.pop(id(node), None)
        if not all(isinstance(kind, str) for kind in kinds):
            return None
        one = unified(*kinds)
        if len(set(kinds)) > 1:
            self.expressions[id(node)] = one
        return one

    def called(self, node, kinds, known):
        named = {word.arg: self.kind(word.value, known) for word in node.keywords}
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name is None or name in known:
            return None
        function = self.names.get(name)
        if isinstance(function, tuple):
            word, what = function
            if word == "calls":
                starred = None in named or any(isinstance(a, ast.Starred) for a in node.args)
                callee = what.function()
                return None if starred or callee is None else self.result(callee, tuple(kinds), named)
            return what if word == "casts" else what[0] if len(what) == 1 else what
        if name in _BUILT_IN and len(kinds) == 1 and name not in self.names and isinstance(kinds[0], str):
            return _BUILT_IN[name].get(kinds[0], kinds[0])
        if name == "bool" and name not in self.names:
            return "b1"
        if name in ("min", "max") and name not in self.names and all(isinstance(k, str) for k in kinds) and len(kinds) > 1:
            return unified(*kinds)
        return None


def _meet_if(first, second):
    common, differ = _meet([first, second])
    return common, {}, differ


def _fits(value):
    return isinstance(value, int) and -2**63 <= value < 2**64


def _operated(op, left, right):
    """The type of a binary operator's result."""
    if not isinstance(left, str) or not isinstance(right, str):
        arithmetic = isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div)
        return "f64" if arithmetic and "f64" in (left, right) else None
    if isinstance(op, ast.LShift | ast.RShift):
        return "u64" if left in ("u32", "u64") else "s64"
    if isinstance(op, _BITS) and left == right == "b1":
        return "b1"
    kind = ARITHMETIC.get((left, right))
    if isinstance(op, ast.Div):
        return kind if kind in FLOATS else "f64" if kind else None
    return None if isinstance(op, ast.Pow) and "f32" in (left, right) else kind
