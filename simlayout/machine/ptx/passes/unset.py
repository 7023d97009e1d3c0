"""Registers that a function may read where nothing has written them: variables that have no value on some way.

The machine's registers are zero at first, and a GPU's hold what others have left there. Compilers leave some such reads
whose value is never used, as that of an accumulator which is not added to. So what depends on one is seen by executing it
with other values (`ptx.looks.unset`). What is stored in a vector beside other things, as a member of a struct without a
value, is only carried.
"""

from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.statements import registers_in

HELD = syntax.Special("what nothing has written")
"""The special register that holds what is in such registers: no PTX can name it."""


def unset(function: syntax.Function) -> dict[syntax.Register, tuple[syntax.Instruction, ...]]:
    """{such a register: the instructions that may read it as it is at the beginning, in the function's order}.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry f() { .reg .b32 %r<9>; .reg .pred %p; .shared .b32 s; "
    >>> text += "mov.u32 %r1, 0; @%p mov.u32 %r2, 1; AGAIN: add.s32 %r1, %r1, %r2; mov.u32 %r3, %r1; @%p bra AGAIN; "
    >>> text += "st.shared.u32 [s], %r3; ret; }"
    >>> found = unset(parse(text).functions["f"])
    >>> {one.name: [statement.opcode for statement in found[one]] for one in found}
    {'%p': ['mov', 'bra'], '%r2': ['add']}
    """
    flow, bits, known = Flow.of(function), _Bits(), {}
    for block in flow.order:
        gone, read = 0, 0
        for one in flow.blocks[block]:
            read |= bits.of(_reads(one)) & ~gone
            gone |= bits.of(one.may_write) if one.guard is None else 0
        known[block] = gone, read
    ahead = {block: 0 for block in flow.order}           # what may not have been written there
    ahead[flow.order[0]] = bits.all & ~bits.of(one.name for one in (*function.parameters, *function.returns))
    todo = [flow.order[0]]
    while todo:
        block = todo.pop()
        left = ahead[block] & ~known[block][0]
        for to in flow.after[block]:
            if left & ~ahead[to]:
                ahead[to] |= left
                todo.append(to)
    if not any(ahead[block] & known[block][1] for block in flow.order):
        return {}
    found: dict[syntax.Register, list[syntax.Instruction]] = {}
    for block in sorted(flow.order):
        left = ahead[block]
        for one in flow.blocks[block]:
            for name in bits.names(bits.of(_reads(one)) & left):
                found.setdefault(_register(one, name), []).append(one)
            left &= ~(bits.of(one.may_write) if one.guard is None else 0)
    return {register: tuple(read) for register, read in found.items() if not all(_carries(one) for one in read)}


def filled(function: syntax.Function, registers: set[syntax.Register]) -> syntax.Function:
    """The function, in which some registers are `HELD` at the beginning."""
    moves = tuple(syntax.Instruction("mov", (one.type if one.type == "pred" else f"b{syntax.BITS[one.type]}",), (one, HELD),
                                     None, function.line, 1, None, "mov") for one in registers)
    return replace(function, body=(*moves, *(function.body or ())))


class _Bits:
    """Names as bits of a number."""

    def __init__(self):
        self._at = {}

    def of(self, names):
        made = 0
        for name in names:
            made |= 1 << self._at.setdefault(name, len(self._at))
        return made

    @property
    def all(self):
        return (1 << len(self._at)) - 1

    def names(self, bits):
        return [name for name, at in self._at.items() if bits >> at & 1] if bits else ()


def _reads(one):
    """What an instruction reads, but for a destination that it may only write, as that of wmma."""
    reads = one.opcode in ("wgmma", "st", "red", "call") or not one.may_write
    return registers_in((one.guard, *one.operands[not reads:]))


def _register(one, name):
    found = []
    syntax.mapped((one.guard, *one.operands), syntax.Register, lambda old: found.append(old) or old)
    return next(register for register in found if register.name == name)


def _carries(one):
    return one.opcode == "st" and isinstance(one.operands[1], syntax.Vector)
