"""Expressions as text: Python and CUDA C++, with common subexpressions named once."""

from simlayout.codegen.symbols import Expr

_INFIX = {"mul": "*", "div": "//", "mod": "%", "shr": ">>", "and": "&", "xor": "^",
          "and2": "&", "or2": "|", "xor2": "^", "div2": "//", "mod2": "%", "shl2": "<<", "shr2": ">>"}


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


def _render(x, names, division):
    """The text of one node; operands that have a name are written by it, compound operands in parentheses."""
    def operand(a):
        if isinstance(a, int):
            return str(a)
        if a in names:
            return names[a]
        return a.args[0] if a.op == "var" else f"({_render(a, names, division)})"

    if x.op == "var":
        return x.args[0]
    if x.op != "sum":
        symbol = _INFIX[x.op]
        return f" {division if symbol == '//' else symbol} ".join(operand(a) for a in x.args)
    constant, terms = x.args
    ordered = sorted(terms, key=lambda term: term[1] < 0)       # what is subtracted comes last: no partial sum is negative
    pieces = []
    for atom, c in ordered:
        size = abs(c)
        if size == 1:
            text = operand(atom)
        elif size & (size - 1):
            text = f"{operand(atom)} * {size}"
        else:
            text = f"{operand(atom)} << {size.bit_length() - 1}"
        pieces.append((c < 0, text, size != 1))
    positive_constant = constant > 0
    if positive_constant:
        pieces.insert(sum(not negative for negative, *_ in pieces), (False, str(constant), False))
    elif constant:
        pieces.append((True, str(-constant), False))
    if len(pieces) == 1:
        negative, text, _ = pieces[0]
        return f"-({text})" if negative else text
    out = ""
    for negative, text, compound in pieces:
        text = f"({text})" if compound else text
        out += (" - " if negative else " + " if out else "") + text
    return out.strip() if not out.startswith(" - ") else "-" + out[3:]


def expression_text(x):
    """One line of Python.

    >>> from simlayout.codegen.symbols import symbol
    >>> expression_text(3 * symbol("i", 8) + 5)
    '(i * 3) + 5'
    """
    return str(x) if isinstance(x, int) else _render(x, {}, "//")


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


def python_body(x):
    """The lines of a Python function body that returns x."""
    names, lines = {}, []
    for i, node in enumerate(_shared_nodes(x)):
        text = _render(node, names, "//")
        names[node] = f"t{i}"
        lines.append(f"t{i} = {text}")
    lines.append(f"return {x if isinstance(x, int) else names.get(x) or _render(x, names, '//')}")
    return lines


def cuda_body(x):
    """The lines of a CUDA C++ function body that returns x (unsigned arithmetic: every value is non-negative)."""
    names, lines = {}, []
    for i, node in enumerate(_shared_nodes(x)):
        text = _render(node, names, "/")
        names[node] = f"t{i}"
        lines.append(f"const unsigned t{i} = {text};")
    lines.append(f"return {x if isinstance(x, int) else names.get(x) or _render(x, names, '/')};")
    return lines
