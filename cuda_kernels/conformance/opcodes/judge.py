"""The GPU's results beside the table's, bit for bit."""

import hashlib
from dataclasses import asdict, dataclass, field

import numpy as np

from cuda_kernels.conformance.opcodes.forms import AnyCase
from cuda_kernels.conformance.opcodes.operands import operands
from simlayout.errors import InstructionError
from simlayout.machine.arithmetic.carriers import width_of

SHOWN = 8
"""Operands kept of those on which a case differs."""


@dataclass(frozen=True)
class Verdict:
    """One case on all its operands.

    different: how many results differ in some bit. results: a digest of the GPU's. examples: [operands, the GPU's results,
    the table's], as text in hexadecimal, of a few that differ.
    missing: why the machine, which is the other side of `together`, cannot execute it.
    """

    name: str
    cases: int
    different: int
    results: str
    examples: list = field(default_factory=list)
    missing: str = ""

    def as_dict(self) -> dict:
        """Plain values, without what is empty."""
        return {key: value for key, value in asdict(self).items() if key != "name" and value not in (None, [], "")}


def expected(case: AnyCase, given: np.ndarray) -> np.ndarray:
    """What the table, or the machine, makes of operands uint64 [operands, n]: uint64 [results, n], as kernels store them.

    >>> from cuda_kernels.conformance.opcodes.forms import chosen
    >>> expected(chosen(["add.cc.u32"])[0], np.array([[1], [0xFFFFFFFF]], np.uint64)).tolist()
    [[0], [1]]
    """
    return trimmed(case, np.stack(case.compute(given)))


def trimmed(case: AnyCase, stored: np.ndarray) -> np.ndarray:
    """Of what a kernel stores, uint64 [results, n], the bits of the registers: 32 of predicates and the carry flag."""
    widths = [32 if name in ("pred", "cc") else max(width_of(name), 16) for name in case.results]
    return stored & np.array([[(1 << width) - 1] for width in widths], np.uint64)


def digest(results: np.ndarray) -> str:
    """The first 64 bits of the SHA-256 of results, in hexadecimal.

    >>> digest(np.zeros((1, 1), np.uint64))
    'af5570f5a1810b7a'
    """
    return hashlib.sha256(np.ascontiguousarray(results, "<u8").tobytes()).hexdigest()[:16]


def judge(case: AnyCase, seed: int, stored: np.ndarray) -> Verdict:
    """The Verdict of a case. stored: what the GPU's kernel made of the operands of that seed, uint64 [results, n]."""
    given = operands(case.roles, stored.shape[1], seed)
    theirs = trimmed(case, stored)
    try:
        ours = expected(case, given)
    except InstructionError as error:
        return Verdict(case.name, given.shape[1], 0, digest(theirs), missing=str(error))
    wrong = np.flatnonzero((theirs != ours).any(axis=0))
    examples = [[_hex(given[:, i]), _hex(theirs[:, i]), _hex(ours[:, i])] for i in wrong[:SHOWN]]
    return Verdict(case.name, given.shape[1], len(wrong), digest(theirs), examples)


def _hex(column):
    return " ".join(f"{int(bits):x}" for bits in column)
