"""The statements of a function: which are instructions, where labels stand, and which registers operands name."""

from collections.abc import Iterable, Sequence

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanes import FORMS

AWAY = {syntax.Label.opcode, *syntax.BRANCHES, *syntax.ENDS, "call"}
"""Opcodes by which lanes come from elsewhere, or go there: nothing that is told of straight code holds past them."""

COMPUTES = {"mov", "cvta", *FORMS}
"""Opcodes that only compute something of values, in each lane alone."""

Statements = Sequence[syntax.Statement]


def instructions(body: Statements | None) -> list[syntax.Instruction]:
    """Those among the statements of a function, None of which it may have."""
    return [statement for statement in body or () if isinstance(statement, syntax.Instruction)]


def places(body: Statements) -> dict[str, int]:
    """{label: where it stands}."""
    return {one.name: at for at, one in enumerate(body) if isinstance(one, syntax.Label)}


def ways_back(body: Statements) -> list[tuple[int, int]]:
    """[(where a label stands, where a `bra` behind it leads there)]: loops as they are written."""
    labels = places(body)
    return [(start, at) for at, one in enumerate(body) if one.opcode == "bra"
            and (start := labels.get(getattr(one.operands[0], "name", ""), at)) < at]


def registers_in(operands: Iterable[syntax.Operand | None]) -> list[str]:
    """Names of all registers in operands; None has none."""
    return syntax.names_in(operands, syntax.Register)
