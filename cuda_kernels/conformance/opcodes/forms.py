"""What is compared: every form of the table, those that read or write the carry flag in two ways, and `together`."""

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from cuda_kernels.conformance.opcodes.operands import count_of, roles_of
from cuda_kernels.conformance.opcodes.text import instruction
from cuda_kernels.conformance.opcodes.together import Together, together
from simlayout.machine.arithmetic.carriers import reader, writer
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
    room = 0

    @property
    def name(self) -> str:
        """As PTX writes it.

        >>> Case("addc", ("u32",), "sm_75", True).name
        'addc.u32 crossed'
        """
        return ".".join((self.opcode, *self.modifiers)) + " crossed" * self.crossed

    @property
    def by_sums(self) -> bool:
        """Whether the carry flag is set and read by sums, not by differences."""
        return (self.opcode not in ("sub", "subc")) != self.crossed

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
        return count_of(self.roles, bool({"approx", "full"} & set(self.modifiers)))

    @property
    def sources(self) -> tuple[str, ...]:
        """The types of the operands."""
        return self.op.sources

    @property
    def results(self) -> tuple[str, ...]:
        """The types of what the kernel stores; cc, the carry flag, as 0 or 1."""
        return self.op.results

    @property
    def lines(self) -> list[str]:
        """What is executed with the operands in registers 2, 3, ... and leaves results in registers 0, 1, ..."""
        return instruction(self.opcode, self.modifiers, self.sources, self.results)

    def compute(self, given: np.ndarray) -> list[np.ndarray]:
        """What the table makes of operands uint64 [operands, n]: 64 bits of each result, [uint64 [n]]."""
        op = self.op
        with np.errstate(all="ignore"):
            made = op.function(*(self._turned(name, reader(name)(column)) for name, column in zip(op.sources, given)))
            parts = made if isinstance(made, tuple) else (made,)
            return [np.broadcast_to(self._turned(name, writer(name)(part)), given.shape[1:])
                    for name, part in zip(op.results, parts, strict=True)]

    def _turned(self, name, values):
        """The flag of an operand, or as it is stored, where the kernel sets and reads it by differences: 0 for 1."""
        return values if name != "cc" or self.by_sums else values ^ np.uint64(1)


AnyCase = Case | Together
"""Whatever has a kernel."""


def every_case() -> Iterator[AnyCase]:
    """All, in the table's order, and then those of `together`.

    >>> sum(case.name.startswith("addc") for case in every_case())
    16
    """
    for form in TABLES:
        for modifiers in form.spelled():
            case = Case(form.opcode, modifiers, form.target)
            yield case
            if "cc" in case.op.sources or "cc" in case.op.results:
                yield Case(form.opcode, modifiers, form.target, True)
    yield from together()


def chosen(patterns: Iterable[str]) -> list[AnyCase]:
    """The cases whose names match one of the patterns (as of file names), all without one; those of like operands together.

    >>> [case.name for case in chosen(["div.full.*"])]
    ['div.full.f32', 'div.full.ftz.f32']
    """
    patterns = list(patterns)
    cases = [case for case in every_case()
             if not patterns or any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns)]
    return sorted(cases, key=lambda case: (case.count, case.roles, case.target))
