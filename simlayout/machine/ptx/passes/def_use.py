"""Which registers the statements of a function read and write, and which symbols they use."""

from collections.abc import Iterable, Sequence

from simlayout.machine.ptx import syntax

ENDS = {"bra", "brx", "ret", "exit", "trap", "call"}
"""Opcodes after which another basic block begins."""

Statements = Sequence[syntax.Instruction | syntax.Label]


def instructions(body: Statements | None) -> list[syntax.Instruction]:
    """Those among the statements of a function, None of which it may have."""
    return [statement for statement in body or () if isinstance(statement, syntax.Instruction)]


def registers_read(statement: syntax.Instruction | syntax.Label) -> tuple[str, ...]:
    """Names of the registers that a statement reads."""
    return getattr(statement, "reads", ())


def registers_in(operands: Iterable[syntax.Operand | None]) -> list[str]:
    """Names of all registers in operands; None has none."""
    return syntax.names_in(operands, syntax.Register)


def defined(statement: syntax.Instruction | syntax.Label) -> tuple[str, ...]:
    """Names of the registers that a statement writes; of a call none, which counts as reading its results."""
    return getattr(statement, "writes", ())


def may_define(statement: syntax.Instruction | syntax.Label) -> tuple[str, ...]:
    """Names of the registers in the place of a destination, also where an opcode may only read them."""
    return getattr(statement, "may_write", ())


def symbols_used(statement: syntax.Instruction | syntax.Label) -> tuple[str, ...]:
    """The names of symbols that a statement uses."""
    return getattr(statement, "symbols", ())
