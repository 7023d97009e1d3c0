"""The statements of a function: which are instructions, where labels stand, and which registers operands name; and what
special registers are."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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


class Special(NamedTuple):
    """What ptxas 13.0 knows of special registers, by its SASS. name: how theirs begin; stays: if a thread reads the same
    everywhere; once: whether ptxas takes what is made of two reads for one; uniform: whether it is in a register that lanes
    share; alike: whether lanes read the same."""

    name: str
    stays: bool
    once: bool
    uniform: bool
    alike: bool
    why: str


_ROWS = (
    Special("%tid", True, True, False, False, "S2R SR_TID"),
    Special("%laneid", True, True, False, False, "S2R SR_LANEID"),
    Special("%lanemask", True, True, False, False, "S2R SR_EQMASK, SR_LTMASK"),
    Special("%ntid", True, False, True, True, "ULDC of the launch, anew each time"),
    Special("%nctaid", True, False, True, True, "ULDC of the launch, anew each time"),
    Special("%ctaid", True, True, True, True, "S2UR SR_CTAID"),
    Special("%clusterid", True, True, False, True, "of SR_CTAID, in each lane"),
    Special("%cluster_ctaid", True, True, False, True, "of SR_CTAID, in each lane"),
    Special("%cluster", True, True, True, True, "constants of the launch, or SR_CgaCtaId"),
    Special("%nclusterid", True, True, True, True, "computed of constants"),
    Special("%nsmid", True, True, True, True, "a constant"),
    Special("%gridid", True, True, True, True, "a constant"),
    Special("%nwarpid", True, True, True, True, "S2UR SR_VIRTCFG"),
)
_OTHER = Special("", False, False, False, True, "%clock, %smid, %warpid and counters: a thread may read others later")


def special(name: str) -> Special:
    """The row of a special register.

    >>> special("%tid.x").alike, special("%ctaid.y").uniform, special("%clock64").stays
    (False, True, False)
    """
    return next((row for row in _ROWS if name.startswith(row.name)), _OTHER)
