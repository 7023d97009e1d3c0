"""Which products of a kernel's source are surely fused into the sum around them (`simlayout.machine.python.products`)."""

import ast
from collections import Counter

from simlayout.machine.python.syntax import assigned


def fused_products(function):
    """{an addition or subtraction: 1, 2 or 3} of a function's syntax tree: its left operand (1), its right one (2) or both
    are products that the compiler fuses into it, if they are products of floats that vary.

    Not counted: a product that the text repeats elsewhere, which may then be worked out once for all; and one whose names no
    statement of the loop around it assigns, which may be worked out before the loop.
    """
    places, texts = [], Counter()
    _collect(function, None, places, texts)
    products = {}
    for node, side, product, loop in places:
        if texts[_text(product)] == 1 and (loop is None or _names(product) & loop):
            products[node] = products.get(node, 0) | side
    return products


def _collect(node, loop, places, texts):
    if isinstance(node, ast.For | ast.While):
        target = [node.target] if isinstance(node, ast.For) else []
        loop = set(assigned([*target, *node.body]))
    if _is_product(node):
        texts[_text(node)] += 1
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub) and _is_product(_unsigned(node.value)):
        places.append((node, 2, _unsigned(node.value), loop))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        for side, operand in ((1, node.left), (2, node.right)):
            if _is_product(_unsigned(operand)):
                places.append((node, side, _unsigned(operand), loop))
    for child in ast.iter_child_nodes(node):
        _collect(child, loop, places, texts)


def _unsigned(node):
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node


def _is_product(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _text(product):
    """The text of a product; of its two orders the same one."""
    return " * ".join(sorted((ast.dump(product.left), ast.dump(product.right))))


def _names(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
