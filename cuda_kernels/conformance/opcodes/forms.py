"""What is compared: every form of the table, and those that read or write the carry flag in two ways."""

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cuda_kernels.conformance.opcodes.operands import count_of, roles_of
from simlayout.machine.ptx.opcodes.lanes import TABLES, LaneOp, lane_op


@dataclass(frozen=True)
class Case:
    """An instruction in a kernel of its own.

    opcode, modifiers: of the table; target: the least architecture. crossed: whether the carry flag is set by add.cc before
    subc, or by sub.cc before addc and madc, and read the other way after; PTX has one flag for both.
    """

    opcode: str
    modifiers: tuple[str, ...]
    target: str
    crossed: bool = False

    @property
    def name(self) -> str:
        """As PTX writes it.

        >>> Case("addc", ("u32",), "sm_75", True).name
        'addc.u32 crossed'
        """
        return ".".join((self.opcode, *self.modifiers)) + " crossed" * self.crossed

    @property
    def op(self) -> LaneOp:
        """Its row of the table."""
        return lane_op(self.opcode, self.modifiers)

    @property
    def roles(self) -> tuple[str, ...]:
        """What `operands` is asked for."""
        return roles_of(self.opcode, self.op.sources)

    @property
    def count(self) -> int:
        """How many operands it is tried on."""
        return count_of(self.roles, self.op.exact)

    @property
    def results(self) -> tuple[str, ...]:
        """The types of what the kernel stores; cc, the carry flag, as 0 or 1."""
        return self.op.results


def every_case() -> Iterator[Case]:
    """All, in the table's order.

    >>> sum(case.name.startswith("addc") for case in every_case())
    16
    """
    for form in TABLES:
        for modifiers in form.spelled():
            case = Case(form.opcode, modifiers, form.target)
            yield case
            if "cc" in case.op.sources or "cc" in case.op.results:
                yield Case(form.opcode, modifiers, form.target, True)


def chosen(patterns: Iterable[str]) -> list[Case]:
    """The cases whose names match one of the patterns (as of file names), all without one; those of like operands together.

    >>> [case.name for case in chosen(["div.full.*"])]
    ['div.full.f32', 'div.full.ftz.f32']
    """
    patterns = list(patterns)
    cases = [case for case in every_case()
             if not patterns or any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns)]
    return sorted(cases, key=lambda case: (case.count, case.roles, case.target))
