"""Registers whose values are only moved: loaded, perhaps masked, and stored again.

A copy of a structure moves the bytes between its members, and the first assignment to a bit-field the bits beside it, though
nothing has written them. So what nobody wrote is only wrong once something uses it. What a selp chooses from is not used
either: compilers load both sides of a `?:` before they know which one counts.
"""

from collections import defaultdict

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import instructions, registers_in

_MOVES = {"mov", "and", "or", "xor", "not", "shl", "shr", "bfi", "prmt"}
"""Opcodes that take bits from one place to another, or leave them out."""


class Carried:
    """Of one syntax.Function."""

    def __init__(self, function: syntax.Function):
        self._sources: dict[str, set[str]] = defaultdict(set)            # register -> those that it is made of by moves
        self._used: set[str] = set()
        for instruction in instructions(function.body):
            self._take(instruction)
        todo = list(self._used)
        while todo:
            new = self._sources[todo.pop()] - self._used
            self._used |= new
            todo += new

    def _take(self, instruction):
        read = set(instruction.reads)
        if instruction.opcode == "st":
            self._used |= read - {*registers_in(instruction.operands[1:2])}
        elif instruction.opcode == "selp":
            self._used |= read - {*registers_in(instruction.operands[1:3])}
        elif instruction.opcode in _MOVES and instruction.guard is None:
            for name in registers_in(instruction.operands[:1]):
                self._sources[name] |= read
        else:
            self._used |= read

    def is_carried(self, operand: syntax.Operand) -> bool:
        """Whether what a destination holds is only moved, and stored.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<9>; .local .b32 x; "
        >>> text += "ld.local.b32 %r1, [x]; and.b32 %r2, %r1, 7; st.local.b32 [x], %r2; "
        >>> text += "ld.local.b32 %r3, [x]; add.s32 %r4, %r3, 1; ret; }"
        >>> function = parse(text).functions["f"]
        >>> [Carried(function).is_carried(s.operands[0]) for s in function.body if s.opcode == "ld"]
        [True, False]
        """
        return not self._used.intersection(registers_in((operand,)))

    def origins(self, operand: syntax.Operand) -> set[str]:
        """The registers that a stored operand is made of by moves, and itself."""
        found: set[str] = set()
        todo = registers_in((operand,))
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += self._sources.get(name, ())
        return found
