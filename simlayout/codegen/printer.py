"""Expressions as text: Python and CUDA C++, with common subexpressions named once."""

import textwrap
from dataclasses import dataclass

from simlayout.codegen.sums import Expr, limits

WIDTH = 110
"""Columns of the lines of a function body, before it is indented."""

_INFIX = {"mul": "*", "div": "//", "mod": "%", "shr": ">>", "and": "&", "xor": "^",
          "and2": "&", "or2": "|", "xor2": "^", "div2": "//", "mod2": "%", "shl2": "<<", "shr2": ">>"}


def _is_quotient(x):
    """Whether `taught_text` writes it with // or %, which need no parentheses in a sum."""
    return x.op in ("div", "mod", "shr") or x.op == "and" and isinstance(x.args[1], int) and not x.args[1] & (x.args[1] + 1)


def _children(x):
    if not isinstance(x, Expr) or x.op == "var":
        return ()
    return tuple(a for a, _ in x.args[1]) if x.op == "sum" else tuple(a for a in x.args if isinstance(a, Expr))


def count_operations(x):
    """Integer instructions of the expression: one per operator, each common subexpression counted once."""
    seen, total, todo = set(), 0, [x]
    while todo:
        node = todo.pop()
        if not isinstance(node, Expr) or node in seen or node.op == "var":
            continue
        seen.add(node)
        if node.op == "sum":
            constant, terms = node.args
            total += sum(abs(c) != 1 for _, c in terms) + len(terms) - 1 + (constant != 0)
        else:
            total += len(node.args) - 1
        todo.extend(_children(node))
    return total


def count_instructions(x):
    """Integer instructions that a GPU needs for the expression: `count_operations`, but a mask by a constant that nothing
    but one xor of two values takes goes with it (LOP3 has three inputs).

    >>> from simlayout.codegen.symbols import symbol
    >>> row, col = symbol("row", 64), symbol("col", 64)
    >>> count_operations(row * 64 + (col ^ (row & 7))), count_instructions(row * 64 + (col ^ (row & 7)))
    (4, 3)
    """
    takers, todo, seen = {}, [x], set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for child in _children(node):
            takers.setdefault(child, set()).add(node)
            todo.append(child)
    fused = {taker for node, (taker, *more) in takers.items()
             if node.op == "and" and not more and taker.op == "xor" and len(taker.args) == 2}
    return count_operations(x) - len(fused)


@dataclass(frozen=True)
class _Language:
    """How a language writes what differs. division: the operator; unsigned: whether it computes modulo 2**32, with literals
    that must say so where an int would not hold them, or would be shifted as one; taught: whether it is for people, who read
    8 * (tid // 16) sooner than (tid >> 4) << 3."""

    division: str
    assign: str
    end: str
    unsigned: bool
    taught: bool = False

    def literal(self, value, shifted=False):
        return f"{value}u" if self.unsigned and (shifted or value >= 2**31) else str(value)

    def factor(self, value):
        """A coefficient or constant of a sum as it may be written."""
        return value % 2**32 if self.unsigned and abs(value) >= 2**31 else value


PYTHON = _Language("//", "", "", False)
CUDA = _Language("/", "const unsigned ", ";", True)
TAUGHT = _Language("//", "", "", False, taught=True)


def _render(x, names, language):
    """The text of one node."""
    if x.op == "var":
        return x.args[0]
    return (_sum if x.op == "sum" else _operation)(x, names, language)


def _operand(x, names, language, shifted=False):
    """The text of an operand: by its name if it has one, in parentheses if it is compound."""
    if isinstance(x, int):
        return language.literal(x, shifted)
    if x in names:
        return names[x]
    return x.args[0] if x.op == "var" else f"({_render(x, names, language)})"


def _operation(x, names, language):
    symbol = _INFIX[x.op]
    first, *rest = x.args
    if language.taught and _is_quotient(x) and symbol in (">>", "&"):
        symbol, rest = ("//", [1 << rest[0]]) if symbol == ">>" else ("%", [rest[0] + 1])
    parts = [_operand(first, names, language, symbol in ("<<", ">>")), *(_operand(one, names, language) for one in rest)]
    return f" {language.division if symbol == '//' else symbol} ".join(parts)


def _sum(x, names, language):
    constant, terms = language.factor(x.args[0]), [(a, f) for a, c in x.args[1] if (f := language.factor(c))]
    if not terms:
        return language.literal(constant)
    ordered = sorted(terms, key=lambda term: term[1] < 0)     # what is subtracted comes last: no partial sum is below 0
    pieces = [(c < 0, _multiple(atom, abs(c), names, language), abs(c) != 1) for atom, c in ordered]
    if constant > 0:
        pieces.insert(sum(not negative for negative, *_ in pieces), (False, language.literal(constant), False))
    elif constant:
        pieces.append((True, language.literal(-constant), False))
    if len(pieces) == 1:
        negative, text, _ = pieces[0]
        return f"0 - ({text})" if negative else text
    out = ""
    for negative, text, compound in pieces:
        text = f"({text})" if compound and not language.taught else text
        out += (" - " if negative else " + " if out else "") + text
    return "0" + out if out.startswith(" - ") else out     # no sign: the grammar of index texts has none


def _multiple(atom, size, names, language):
    """The text of size atoms of a sum, size > 0."""
    if size == 1 and language.taught and _is_quotient(atom):
        return _render(atom, names, language)
    text = _operand(atom, names, language)
    if size == 1:
        return text
    if language.taught:
        return f"{size}*{text}"
    return f"{text} * {language.literal(size)}" if size & (size - 1) else f"{text} << {size.bit_length() - 1}"


def expression_text(x):
    """One line of Python.

    >>> from simlayout.codegen.symbols import symbol
    >>> expression_text(3 * symbol("i", 8) + 5)
    '(i * 3) + 5'
    """
    return str(x) if isinstance(x, int) else _render(x, {}, PYTHON)


def taught_text(x):
    """One line for people: products, quotients and remainders instead of shifts and masks.

    >>> from simlayout.codegen.symbols import symbol
    >>> tid, k = symbol("tid", 32), symbol("k", 4)
    >>> expression_text(16 * k + 8 * (tid // 16)), expression_text(tid % 16)
    ('(k << 4) + ((tid >> 4) << 3)', 'tid & 15')
    >>> taught_text(16 * k + 8 * (tid // 16)), taught_text(4 * k + tid % 16)
    ('16*k + 8*(tid // 16)', '4*k + tid % 16')
    """
    return str(x) if isinstance(x, int) else _render(x, {}, TAUGHT)


def _shared_nodes(x):
    """The compound nodes that occur more than once, inner ones first."""
    counts, order = {}, []

    def visit(node):
        counts[node] = counts.get(node, 0) + 1
        if counts[node] == 1:
            for child in _children(node):
                visit(child)
            order.append(node)

    if isinstance(x, Expr):
        visit(x)
    return [n for n in order if counts[n] > 1 and n.op != "var"]


def _body(x, language):
    """Lines that name the common subexpressions t0, t1, ... and return x."""
    names, lines = {}, []
    for i, node in enumerate(_shared_nodes(x)):
        lines += folded(f"{language.assign}t{i} = ", _render(node, names, language), language.end)
        names[node] = f"t{i}"
    result = language.literal(x) if isinstance(x, int) else names.get(x) or _render(x, names, language)
    return lines + folded("return ", result, language.end)


def python_body(x):
    """The lines of a Python function body that returns x."""
    return _body(x, PYTHON)


def cuda_body(x):
    """The lines of a CUDA C++ function body that returns x, in unsigned 32-bit arithmetic: right where `wraps` finds none.

    >>> from simlayout.codegen.symbols import symbol
    >>> cuda_body((symbol("i", 8) + 2**31) * 3 + 2**33)
    ['return (i * 3) + 2147483648u;']
    """
    return _body(x, CUDA)


def wraps(x):
    """A subexpression, or a constant, that is divided, shifted or in bit logic and may leave 0 .. 2**31 - 1; None if there
    is none.

    Sums and products may leave it on the way: they are exact modulo 2**32. Everything else is not.
    """
    seen, todo = set(), [x]
    while todo:
        node = todo.pop()
        if not isinstance(node, Expr) or node in seen:
            continue
        seen.add(node)
        if node.op not in ("var", "sum", "mul"):
            for operand in node.args:
                least, most = limits(operand)
                if least < 0 or most >= 2**31:
                    return operand
        todo.extend(_children(node))
    return None


def folded(start, text, end=""):
    """`start + text + end` as lines of at most WIDTH columns, broken before operators, in parentheses.

    >>> folded("return ", "a + b")
    ['return a + b']
    """
    if len(start + text + end) <= WIDTH:
        return [start + text + end]
    indent = " " * (len(start) + 1)
    lines, line = [], f"{start}("
    for piece in _pieces(text):
        if len(line + piece) >= WIDTH and line.strip() not in ("", f"{start}("):
            lines.append(line.rstrip())
            line = indent
        line += piece.lstrip() if line == indent else piece
    lines.append(f"{line}){end}")
    return [short for line in lines for short in _hard_wrapped(line, indent)]


def _pieces(text):
    """The text cut before each operator that stands outside all parentheses."""
    depth, start = 0, 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == " " and text[i + 1] in "+-*/%&|^<>":
            yield text[start:i]
            start = i
    yield text[start:]


def _hard_wrapped(line, indent):
    """A line that is still too long, broken at any space (it stands in parentheses)."""
    if len(line) <= WIDTH:
        return [line]
    first = line[:len(line) - len(line.lstrip())]
    return textwrap.wrap(line.strip(), WIDTH, initial_indent=first, subsequent_indent=indent + "    ",
                         break_long_words=False, break_on_hyphens=False)
