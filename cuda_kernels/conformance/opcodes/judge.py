"""The GPU's results beside the table's, bit for bit; of approximate functions, how far they are apart."""

import hashlib
from dataclasses import asdict, dataclass, field

import numpy as np

from cuda_kernels.conformance.opcodes.forms import AnyCase
from cuda_kernels.conformance.opcodes.operands import FLOATS, operands
from simlayout.errors import InstructionError
from simlayout.machine.arithmetic.carriers import width_of

SHOWN = 8
"""Operands kept of those on which a case differs."""
KEPT = 64
"""Operands of an approximate function whose results by the GPU are kept."""


@dataclass(frozen=True)
class Verdict:
    """One case on all its operands.

    different: how many results differ in some bit. results: a digest of the GPU's. examples: [operands, the GPU's results,
    the table's], as text in hexadecimal, of a few that differ, the furthest first. Of approximate functions also: ulp, the
    largest distance in units of the last place between finite results; relative, absolute: the largest ones; kinds: how many
    results are infinite or NaN in one alone, or of other bits; kept: [operands, the GPU's results] of a few; table: a digest
    of the table's results, of which the distances are true.
    missing: why the machine, which is the other side of `together`, cannot execute it.
    """

    name: str
    cases: int
    different: int
    results: str
    examples: list = field(default_factory=list)
    ulp: int | None = None
    relative: float | None = None
    absolute: float | None = None
    kinds: int | None = None
    kept: list = field(default_factory=list)
    table: str = ""
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
    more = {} if case.exact else distances(case.results[0], theirs[0], ours[0])
    furthest = more.pop("furthest", None)
    if furthest is not None:
        wrong = wrong[np.argsort(-furthest[wrong], kind="stable")]
        places = np.linspace(0, given.shape[1] - 1, KEPT).astype(int)
        more["table"] = digest(ours)
        more["kept"] = [[_hex(given[:, i]), _hex(theirs[:, i])] for i in places]
    examples = [[_hex(given[:, i]), _hex(theirs[:, i]), _hex(ours[:, i])] for i in wrong[:SHOWN]]
    return Verdict(case.name, given.shape[1], len(wrong), digest(theirs), examples, **more)


def _hex(column):
    return " ".join(f"{int(bits):x}" for bits in column)


def distances(name: str, theirs: np.ndarray, ours: np.ndarray) -> dict:
    """How far results of a type of floats are apart: what Verdict has of it, and `furthest`, float64 [n], in ulp.

    >>> found = distances("f32", np.array([0x3F800001], np.uint64), np.array([0x3F800000], np.uint64))
    >>> found["ulp"], found["relative"] == 2.0**-23, found["kinds"]
    (1, True, 0)
    """
    half = name.removesuffix("x2")
    pairs = [(theirs, ours)] if half == name else [(x & np.uint64(0xFFFF), y & np.uint64(0xFFFF)) for x, y in (
        (theirs, ours), (theirs >> np.uint64(16), ours >> np.uint64(16)))]
    found = [_apart(half, *pair) for pair in pairs]
    furthest = np.max([one["furthest"] for one in found], axis=0)
    return {"ulp": max(one["ulp"] for one in found), "relative": max(one["relative"] for one in found),
            "absolute": max(one["absolute"] for one in found), "kinds": sum(one["kinds"] for one in found),
            "furthest": furthest}


def _apart(name, theirs, ours):
    x, y = number(name, theirs), number(name, ours)
    finite = np.isfinite(x) & np.isfinite(y)
    sign = np.uint64(1 << width_of(name) - 1)
    place = [np.where(bits & sign, -(bits & ~sign).astype(np.int64), bits.astype(np.int64)) for bits in (theirs, ours)]
    with np.errstate(all="ignore"):
        ulp = np.abs(place[0] - place[1])
        apart = np.abs(x - y)
        relative = np.where(apart == 0, 0, apart / np.abs(y))
    unlike = ~finite & (theirs != ours)
    return {"ulp": int(ulp[finite].max(initial=0)), "absolute": float(apart[finite].max(initial=0)),
            "relative": float(relative[finite & (y != 0)].max(initial=0)), "kinds": int(unlike.sum()),
            "furthest": np.where(finite, ulp, np.where(unlike, 2.0**63, 0)).astype(np.float64)}


def number(name: str, bits: np.ndarray) -> np.ndarray:
    """Floats of a type as float64.

    >>> number("bf16", np.array([0x3F80], np.uint64)).tolist()
    [1.0]
    """
    if name == "f64":
        return bits.view(np.float64)
    if name == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    assert name in FLOATS
    shift = np.uint64(16 if name == "bf16" else 0)
    return (bits << shift).astype(np.uint32).view(np.float32).astype(np.float64)
