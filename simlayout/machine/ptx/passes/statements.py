"""The statements of a function: which are instructions, and which registers their operands name."""

from collections.abc import Iterable, Sequence

from simlayout.machine.ptx import syntax

ENDS = {"bra", "brx", "ret", "exit", "trap", "call"}
"""Opcodes after which another basic block begins."""

Statements = Sequence[syntax.Statement]


def instructions(body: Statements | None) -> list[syntax.Instruction]:
    """Those among the statements of a function, None of which it may have."""
    return [statement for statement in body or () if isinstance(statement, syntax.Instruction)]


def registers_in(operands: Iterable[syntax.Operand | None]) -> list[str]:
    """Names of all registers in operands; None has none."""
    return syntax.names_in(operands, syntax.Register)
