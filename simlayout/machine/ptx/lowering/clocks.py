"""Clocks that an instruction other than a mov reads, as `st.shared.v2.u32 [%rd1], {%r1, %clock};`.

The PTX ISA has clocks in mov alone, but ptxas takes them wherever a register may stand, and reads them into one ahead of the
instruction. Mosaic GPU's profiler stores its events so.
"""

from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.moves import CLOCKS


def clocks_moved(function: syntax.Function) -> syntax.Function:
    """The function with a mov ahead of each such instruction; itself if it has none.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r; add.u32 %r, %r, %clock; ret; }"
    >>> [one.name for one in clocks_moved(parse(text).functions["k"]).body]
    ['mov.b32', 'add.u32', 'ret']
    """
    body: list[syntax.Statement] = []
    for statement in function.body or ():
        if isinstance(statement, syntax.Instruction) and _reads_clocks(statement):
            read: dict[str, syntax.Register] = {}

            def register(special: syntax.Special, at: int = len(body), read: dict[str, syntax.Register] = read):
                if special.name not in CLOCKS:
                    return special
                bits = 64 if special.name in ("%clock64", "%globaltimer") else 32
                return read.setdefault(special.name, syntax.Register(f"{special.name}@{at}", f"b{bits}"))

            operands = syntax.mapped(statement.operands, syntax.Special, register)
            body += [replace(statement, opcode="mov", modifiers=(one.type,), operands=(one, syntax.Special(name)))
                     for name, one in read.items()]
            statement = replace(statement, operands=operands)
        body.append(statement)
    return replace(function, body=tuple(body)) if len(body) > len(function.body or ()) else function


def _reads_clocks(instruction):
    """Whether it reads clocks, and is no mov of one."""
    alone = instruction.opcode == "mov" and any(isinstance(one, syntax.Special) for one in instruction.operands[-1:])
    return not alone and not CLOCKS.isdisjoint(syntax.names_in(instruction.operands, syntax.Special))
