"""Arrays in shared memory in the source of a Numba program: where one is declared and used, and how an edit would read."""

import ast
from dataclasses import dataclass

from simlayout.errors import SimlayoutError


class NoEdit(SimlayoutError):
    """An edit cannot be written; the message says why."""


@dataclass(frozen=True)
class Replacement:
    """A piece of a source text, from one character to another, and what takes its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edit:
    """A line of a source as it is and as it should be, both without the blanks at the ends."""

    line: int
    before: str
    after: str


def replaced(source: str, replacements: tuple[Replacement, ...]) -> str:
    """A text with its Replacements made.

    >>> replaced("tile[y, x]", (Replacement(8, 9, "x ^ y"),))
    'tile[y, x ^ y]'
    """
    for one in sorted(set(replacements), key=lambda r: -r.start):
        source = source[:one.start] + one.text + source[one.end:]
    return source


def edits(source: str, replacements: tuple[Replacement, ...]) -> tuple[Edit, ...]:
    """The lines that Replacements change; they add and remove none."""
    pairs = zip(source.splitlines(), replaced(source, replacements).splitlines())
    return tuple(Edit(i, before.strip(), after.strip()) for i, (before, after) in enumerate(pairs, 1) if before != after)


class Declaration:
    """The call `NAME = cuda.shared.array(SHAPE, ...)` on a line of a source text. Raises NoEdit where there is not just one,
    or the text is not Python."""

    def __init__(self, source: str, line: int):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            raise NoEdit("its source is not at hand as Python") from None
        self.source, self._starts = source, _starts(source)
        calls = [node for node in ast.walk(tree) if _declares(node, line)]
        if len(calls) > 1:
            raise NoEdit(f"line {line} declares {len(calls)} arrays: give each its own line")
        assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and node.value in calls]
        if not assigned or len(assigned[0].targets) != 1 or not isinstance(assigned[0].targets[0], ast.Name):
            raise NoEdit(f"line {line} does not read NAME = cuda.shared.array(SHAPE, DTYPE)")
        self.name, self.line, self._call = assigned[0].targets[0].id, line, assigned[0].value
        self._function = min((f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and _within(assigned[0], f)),
                             key=lambda f: (f.end_lineno or f.lineno) - f.lineno, default=tree)

    def padded(self, shape: tuple[int, ...], dim: int, by: int) -> tuple[Replacement, ...]:
        """The declaration with `by` more elements along a dimension, as a number: Numba takes no sums there. shape: as it
        is. Raises NoEdit where the array's length there is asked for, or an index counts from its end."""
        self._check_length(dim)
        node, new = self._shape(), tuple(n + by * (i == dim) for i, n in enumerate(shape))
        if isinstance(node, ast.Tuple) and len(node.elts) == len(shape):
            return (self._in_place_of(node.elts[dim], str(new[dim])),)
        return (self._in_place_of(node, str(new[0]) if len(shape) == 1 and not isinstance(node, ast.Tuple) else repr(new)),)

    def stands_for(self, shape: tuple[int, ...], dim: int, by: int) -> str:
        """What the number in the place of a name is after `padded`, because it does not follow when the name changes; or
        ""."""
        node, told = self._shape(), []
        if isinstance(node, ast.Tuple):
            node = node.elts[dim] if len(node.elts) == len(shape) else node
        if isinstance(node, ast.Name | ast.Attribute) and (len(shape) == 1 or node is not self._shape()):
            told.append(f"{shape[dim] + by} is {self._text(node)} + {by}: Numba takes no sums there")
        whole = sorted({line for line, parts in self._uses() if len(parts) <= dim})
        if whole:
            told.append(f"right if what gets {self.name} on line {whole[0]} does not ask for its shape")
        told += [f"right if the index on line {line} stays in its row" for line, parts in self._uses()
                 if 0 < dim == len(parts) - 1 and [isinstance(one, ast.Constant) for one in parts] == [True] * dim + [False]]
        return "; ".join(told)

    def swizzled(self, shape: tuple[int, ...], shift: int) -> tuple[Replacement, ...]:
        """All last indices x as x ^ (y >> shift), y the index before it, cut to the last dimension."""
        made = []
        for index in self._indices(len(shape)):
            if _is_below(index.elts[-2], 1 << shift):
                continue
            y, x = (self._operand(node) for node in index.elts[-2:])
            row = f"({y} >> {shift})" if shift else y
            cut = f" % {shape[-1]}" if (shape[-2] - 1) >> shift >= shape[-1] else ""
            made.append(self._in_place_of(index.elts[-1], f"{x} ^ {row}{cut}"))
        return tuple(made)

    def skewed(self, shape: tuple[int, ...], every: int, more: int = 1) -> tuple[Replacement, ...]:
        """All indices i of an array with one dimension as i + i // every * more, and as many elements as that needs."""
        times = f" * {more}" if more > 1 else ""
        made = [self._in_place_of(index, f"{self._operand(index)} + {self._operand(index)} // {every}{times}")
                for index in self._indices(1) if not _is_below(index, every)]
        return (*self.padded(shape, 0, (shape[0] - 1) // every * more), *made)

    def by_elements(self, shape: tuple[int, ...]) -> bool:
        """Whether the source takes one element at a time, as it always does in Numba."""
        return True

    # ---- parts ---------------------------------------------------------------------------------------------------

    def _shape(self):
        for keyword in self._call.keywords:
            if keyword.arg == "shape":
                return keyword.value
        return self._call.args[0]

    def _uses(self):
        """(line, the nodes of all indices) of each use of the array: t, t[i], t[i, j], t[i][j] and atomics."""
        inner = set()
        for node in ast.walk(self._function):            # what holds a node comes before it
            base, parts = node, []
            while isinstance(base, ast.Subscript):
                parts, base = [*_parts(base.slice), *parts], base.value
                inner.add(id(base))
            if isinstance(node, ast.Call) and len(node.args) > 1 and _is_atomic(node.func):
                base, parts = node.args[0], _parts(node.args[1])
                inner.add(id(base))
            if id(node) not in inner and self._is_it(base) and isinstance(base.ctx, ast.Load):
                yield node.lineno, parts

    def _check_length(self, dim):
        for node in ast.walk(self._function):
            asked = node.args[:1] if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len" else [
                node.value] if isinstance(node, ast.Attribute) and node.attr not in ("T", "dtype", "ndim") else []
            if any(map(self._is_it, asked)):
                raise NoEdit(f"the shape of {self.name} is asked for on line {node.lineno}")
        for line, parts in self._uses():
            if any(isinstance(part, ast.Slice) or _counts_from_the_end(part) for part in parts[dim:dim + 1]):
                raise NoEdit(f"an index of {self.name} on line {line} is a slice, or counts from the end")

    def _indices(self, dimensions):
        """The nodes of all indices of the array. Raises NoEdit where it is used otherwise, or an index may count from the
        end, is one of its elements, or does more than to give a number."""
        found, known = [], set()
        for node in ast.walk(self._function):
            if isinstance(node, ast.Subscript) and self._is_it(node.value):
                found.append(node.slice)
                known.add(node.value)
            elif isinstance(node, ast.Call) and len(node.args) > 1 and self._is_it(node.args[0]) and _is_atomic(node.func):
                found.append(node.args[1])
                known.add(node.args[0])
        for node in ast.walk(self._function):
            if self._is_it(node) and isinstance(node.ctx, ast.Load) and node not in known:
                raise NoEdit(f"{self.name} is used as a whole on line {node.lineno}, so not all of its indices are in sight")
        for index in found:
            parts = _parts(index)
            if len(parts) != dimensions or dimensions > 1 and not isinstance(index, ast.Tuple):
                raise NoEdit(f"an index of {self.name} on line {index.lineno} is not one of {dimensions} numbers")
            if any(isinstance(part, ast.Slice | ast.Starred) or _counts_from_the_end(part) for part in parts):
                raise NoEdit(f"an index of {self.name} on line {index.lineno} is a slice, or counts from the end")
            inside = list(ast.walk(index))
            if any(self._is_it(node) for node in inside):
                raise NoEdit(f"an index of {self.name} on line {index.lineno} is one of its own elements")
            if any(isinstance(node, ast.NamedExpr) or isinstance(node, ast.Call) and _is_atomic(node.func)
                   for node in inside):
                raise NoEdit(f"an index of {self.name} on line {index.lineno} does more than to give a number")
        return found

    def _is_it(self, node):
        return isinstance(node, ast.Name) and node.id == self.name

    def _operand(self, node):
        """The text of a node, in brackets unless it binds closely."""
        text = self._text(node)
        close = isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Subscript | ast.Call)
        return text if close else f"({text})"

    def _text(self, node):
        start, end = self._span(node)
        return self.source[start:end]

    def _in_place_of(self, node, text):
        return Replacement(*self._span(node), text)

    def _span(self, node):
        return (self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset))

    def _at(self, line, column):
        """Where in the text a column, in bytes of UTF-8, of a line is."""
        start, end = self._starts[line - 1], self._starts[line]
        return start + len(self.source[start:end].encode()[:column].decode())


def _starts(source):
    """Where each line begins, and the end."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return [*starts, starts[-1]]


def _declares(node, line):
    """Whether a node calls what makes an array, of whichever kind, on a line."""
    return (isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or line)
            and bool(node.args or node.keywords) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "array")


def _within(node, function):
    return function.lineno <= node.lineno and node.end_lineno <= function.end_lineno


def _parts(index):
    return index.elts if isinstance(index, ast.Tuple) else [index]


def _counts_from_the_end(index):
    """Whether an index begins with a minus: -1, or -1 - i."""
    while isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add | ast.Sub | ast.Mult):
        index = index.left
    return isinstance(index, ast.UnaryOp)


def _is_below(node, most):
    """Whether an index is a number that an edit leaves as it is, because it is less than so much."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value < most


def _is_atomic(function):
    return isinstance(function, ast.Attribute) and "atomic" in ast.unparse(function.value)
