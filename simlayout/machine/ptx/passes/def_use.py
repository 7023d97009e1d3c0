"""Which registers the statements of a function read and write, and which symbols they use."""

from collections.abc import Iterable, Iterator, Sequence

from simlayout.machine.ptx import syntax

ENDS = {"bra", "brx", "ret", "exit", "trap", "call"}
"""Opcodes after which another basic block begins."""

Statements = Sequence[syntax.Instruction | syntax.Label]

READS_ALL = {"st", "red", "bra", "brx", "bar", "barrier", "call", "cp", "membar", "fence", "prefetch",
             "stmatrix", "wgmma", "ret", "exit", "discard", "applypriority", "wmma", "nanosleep"}
"""Opcodes whose first operand is no destination, or not that alone; of all others it is."""


def instructions(body: Statements | None) -> list[syntax.Instruction]:
    """Those among the statements of a function, None of which it may have."""
    return [statement for statement in body or () if isinstance(statement, syntax.Instruction)]


def registers_read(instruction: syntax.Instruction) -> Iterator[str]:
    """Names of the registers that an instruction reads.

    >>> a, b, c = (syntax.Register(name, "b32") for name in ("%a", "%b", "%c"))
    >>> add = syntax.Instruction("add", ("s32",), (a, b, c), None, 1, 1, None, "")
    >>> list(registers_read(add)), list(defined(add))
    (['%b', '%c'], ['%a'])
    """
    if instruction.guard is not None:
        yield from registers_in((instruction.guard,))
    first, rest = instruction.operands[:1], instruction.operands[1:]
    yield from registers_in(rest)
    if instruction.opcode in READS_ALL or any(isinstance(o, syntax.Address | syntax.TensorAddress) for o in first):
        yield from registers_in(first)


def registers_in(operands: Iterable[syntax.Operand | None]) -> Iterator[str]:
    """Names of all registers in operands; None has none."""
    for operand in operands:
        if isinstance(operand, syntax.Register):
            yield operand.name
        elif isinstance(operand, syntax.Vector | syntax.Arguments):
            yield from registers_in(operand.operands)
        elif isinstance(operand, syntax.Pair):
            yield from registers_in((operand.first, operand.second))
        elif isinstance(operand, syntax.Negated):
            yield operand.register.name
        elif isinstance(operand, syntax.Address):
            yield from registers_in((operand.base,))
        elif isinstance(operand, syntax.TensorAddress):
            yield from registers_in((operand.base, operand.sampler, *operand.coordinates))


def defined(statement: syntax.Instruction | syntax.Label) -> Iterator[str]:
    """Names of the registers that a statement writes; of a call none, which counts as reading its results."""
    return may_define(statement) if getattr(statement, "opcode", None) not in READS_ALL else iter(())


def may_define(statement: syntax.Instruction | syntax.Label) -> Iterator[str]:
    """Names of the registers in the place of a destination, also where an opcode may only read them."""
    for operand in getattr(statement, "operands", ())[:1]:
        for one in getattr(operand, "operands", (operand,)):
            for part in (one.first, one.second) if isinstance(one, syntax.Pair) else (one,):
                if isinstance(part, syntax.Register):
                    yield part.name


def symbols_used(statement: syntax.Instruction | syntax.Label) -> list[str]:
    """The names of symbols that a statement uses."""
    found: list[str] = []

    def seen(symbol: syntax.Symbol) -> syntax.Symbol:
        found.append(symbol.name)
        return symbol

    syntax.mapped(getattr(statement, "operands", ()), syntax.Symbol, seen)
    return found
