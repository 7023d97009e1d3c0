"""Loads whose results nothing reads: they count here, and ptxas may leave them out of the machine code."""

from collections.abc import Iterable

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import registers_in, registers_read

NOTE = "load of shared memory whose result nothing reads: ptxas may leave it out, and Nsight Compute then counts less"


def unread_loads(functions: Iterable[syntax.Function]) -> set[tuple[int, str]]:
    """(line, text) of loads of shared memory in a function none of whose results is read there.

    What is only read to compute what nothing reads counts as read, so some are missed. Volatile loads stay.
    """
    found: set[tuple[int, str]] = set()
    for function in functions:
        body = [s for s in function.body or () if isinstance(s, syntax.Instruction)]
        read = {name for instruction in body for name in registers_read(instruction)}
        for i in body:
            if is_shared_load(i) and not read.intersection(registers_in(i.operands[:1])):
                found.add((i.line, i.text))
    return found


def is_shared_load(instruction: syntax.Instruction) -> bool:
    """Whether it is an ld of shared memory that is not volatile, or an ldmatrix."""
    if instruction.opcode == "ldmatrix":
        return True
    named = any(modifier.partition("::")[0] == "shared" for modifier in instruction.modifiers)
    return instruction.opcode == "ld" and named and "volatile" not in instruction.modifiers
