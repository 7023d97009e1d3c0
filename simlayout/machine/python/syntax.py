"""Pieces of syntax trees that the rewriting of kernels is made of."""

import ast

WARP_NAME = "__warp"
"""The hidden first parameter of every rewritten function; also how a traceback frame shows that it is kernel code."""


def warp_call(method, *args, at):
    """The expression `__warp.method(*args)`, at the place of the node `at`."""
    return method_call(WARP_NAME, method, *args, at=at)


def method_call(name, method, *args, at):
    """The expression `name.method(*args)`, at the place of the node `at`."""
    target = place(ast.Attribute(ast.Name(name, ast.Load()), method, ast.Load()), at)
    target.end_lineno, target.end_col_offset = at.lineno, at.col_offset   # CPython takes a method call's line from here
    return place(ast.Call(target, list(args), []), at)


def parsed(text, at):
    """The statements of a text, all at the place of the node `at`."""
    statements = ast.parse(text).body
    for statement in statements:
        for part in ast.walk(statement):
            if "lineno" in part._attributes:
                ast.copy_location(part, at)
                part.end_lineno, part.end_col_offset = at.lineno, at.col_offset
    return statements


def place(new, at):
    """Gives every node of `new` that has no place yet the place of `at`."""
    for node in ast.walk(new):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, at)
    return new


def later(expression):
    """`lambda: expression`."""
    return ast.copy_location(ast.Lambda(ast.arguments([], [], None, [], [], None, []), expression), expression)


def assigned(statements):
    """The names that statements assign, in a fixed order; a comprehension's variables are its own.

    >>> assigned(ast.parse("a, b = 1, 2\\nfor c in [d for d in e]: f += 1").body)
    ('a', 'b', 'c', 'f')
    """
    names = set()
    todo = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, ast.comprehension):
            todo.extend(ast.iter_child_nodes(node))
        else:
            todo.extend((node.iter, *node.ifs))
    return tuple(sorted(names))


def jumps(statements, words=(ast.Break, ast.Continue, ast.Return)):
    """Whether statements may jump out of where they stand: a break or continue that is not a loop's own, or a return.

    >>> jumps(ast.parse("for i in a:\\n  if i: break").body), jumps(ast.parse("if a: return").body, (ast.Return,))
    (False, True)
    """
    for node in statements:
        if isinstance(node, words):
            return True
        own = tuple(w for w in words if w is ast.Return) if isinstance(node, ast.For | ast.While) else words
        if jumps(getattr(node, "body", ()), own) or jumps(getattr(node, "orelse", ()), words):
            return True
    return False
