"""Labels that only mark a place: nothing branches to them.

Compilers put them where a debugger's tables point to, as Triton does around each function that it inlines ($L__tmp7). No
basic block begins there: ptxas joins a load above one with a load below, and moves what it likes past it.
"""

from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import symbols_used


def without_marks(function: syntax.Function) -> syntax.Function:
    """The function without such labels; itself if it has none.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { $mark: bra $on; $on: ret; }"
    >>> function = parse(text).functions["k"]
    >>> [getattr(statement, "opcode", statement.name) for statement in without_marks(function).body]
    ['bra', '$on', 'ret']
    """
    body = function.body or ()
    labels = {statement.name for statement in body if isinstance(statement, syntax.Label)}
    if not labels:
        return function
    named = {name for statement in body for name in symbols_used(statement)}
    for table in function.tables.values():
        named.update(table if isinstance(table, tuple) else ())
    if labels <= named:
        return function
    return replace(function, body=tuple(one for one in body if not isinstance(one, syntax.Label) or one.name in named))
