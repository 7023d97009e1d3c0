"""Loads whose results nothing reads: they count here, and ptxas may leave them out of the machine code."""

from collections.abc import Iterable, Iterator

from simlayout.machine.ptx import syntax

NOTE = "load of shared memory whose result nothing reads: ptxas may leave it out, and Nsight Compute then counts less"

READS_ALL = {"st", "red", "bra", "brx", "bar", "barrier", "call", "cp", "membar", "fence", "prefetch",
             "stmatrix", "wgmma", "ret", "exit", "discard", "applypriority", "wmma"}
"""Opcodes whose first operand is no destination, or not that alone; of all others it is."""


def unread_loads(functions: Iterable[syntax.Function]) -> set[tuple[int, str]]:
    """(line, text) of loads of shared memory in a function none of whose results is read there.

    What is only read to compute what nothing reads counts as read, so some are missed. Volatile loads stay.
    """
    found: set[tuple[int, str]] = set()
    for function in functions:
        body = [s for s in function.body or () if isinstance(s, syntax.Instruction)]
        read = {name for instruction in body for name in registers_read(instruction)}
        for i in body:
            if is_shared_load(i) and not read.intersection(_registers(i.operands[:1])):
                found.add((i.line, i.text))
    return found


def is_shared_load(instruction: syntax.Instruction) -> bool:
    """Whether it is an ld of shared memory that is not volatile, or an ldmatrix."""
    if instruction.opcode == "ldmatrix":
        return True
    named = any(modifier.partition("::")[0] == "shared" for modifier in instruction.modifiers)
    return instruction.opcode == "ld" and named and "volatile" not in instruction.modifiers


def registers_read(instruction: syntax.Instruction) -> Iterator[str]:
    """Names of the registers that an instruction reads."""
    if instruction.guard is not None:
        yield from _registers((instruction.guard,))
    first, rest = instruction.operands[:1], instruction.operands[1:]
    yield from _registers(rest)
    if instruction.opcode in READS_ALL or any(isinstance(o, syntax.Address | syntax.TensorAddress) for o in first):
        yield from _registers(first)


def _registers(operands) -> Iterator[str]:
    """Names of all registers in operands."""
    for operand in operands:
        if isinstance(operand, syntax.Register):
            yield operand.name
        elif isinstance(operand, syntax.Vector | syntax.Arguments):
            yield from _registers(operand.operands)
        elif isinstance(operand, syntax.Pair):
            yield from _registers((operand.first, operand.second))
        elif isinstance(operand, syntax.Negated):
            yield operand.register.name
        elif isinstance(operand, syntax.Address):
            yield from _registers((operand.base,))
        elif isinstance(operand, syntax.TensorAddress):
            yield from _registers((operand.base, operand.sampler, *operand.coordinates))
