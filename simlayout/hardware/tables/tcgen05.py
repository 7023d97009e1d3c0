"""Blackwell's tcgen05.mma as tables: its kinds with their types and depths, and which shapes each has."""

from dataclasses import dataclass

from simlayout.errors import InstructionError
from simlayout.hardware.tables.provenance import Provenance

HAVE_TCGEN05 = "sm_100", "sm_103", "sm_110"
"""The architectures with tcgen05 and tensor memory (PTX ISA, tcgen05.mma: target ISA notes; ptxas refuses it for others)."""

GUESTS = "e2m3", "e3m2", "e2m1"
"""Types of kind::f8f6f4 of less than a byte. In shared memory 16 of them lie in 16 bytes, as 16 of e4m3 do."""


@dataclass(frozen=True)
class Kind:
    """A row of KINDS, a `.kind` of tcgen05.mma.

    name: PTX's. k: elements along K of a dense instruction; twice as many of a sparse one. formats: (element type of A and
    B, its number in instruction descriptors). results: (type of D, its number); a block-scaled kind has f32 alone and no
    number. scales: (type of the scale factors, number); vectors: (elements that share one, how many of A's scale factors
    for an instruction). Both are () where it has none. arches: the architectures that have it.
    """

    name: str
    k: int
    formats: tuple
    results: tuple
    scales: tuple = ()
    vectors: tuple = ()
    arches: tuple = HAVE_TCGEN05

    @property
    def scaled(self) -> bool:
        """Whether it has scale factors."""
        return bool(self.scales)


_FLOATS = (("f16", 0), ("f32", 1))
_BYTES = (("e4m3", 0), ("e5m2", 1), ("e2m3", 3), ("e3m2", 4), ("e2m1", 5))

KINDS = {row.name: row for row in (
    Kind("f16", 16, (("f16", 0), ("bf16", 1)), _FLOATS),
    Kind("tf32", 8, (("tf32", 2),), _FLOATS[1:]),
    Kind("f8f6f4", 32, _BYTES, _FLOATS),
    Kind("i8", 32, (("u8", 0), ("s8", 1)), (("s32", 2),), arches=("sm_100", "sm_110")),
    Kind("mxf8f6f4", 32, _BYTES, _FLOATS[1:], (("ue8m0", 1),), ((32, 1),)),
    Kind("mxf4", 64, (("e2m1", 1),), _FLOATS[1:], (("ue8m0", 1),), ((32, 2),)),
    Kind("mxf4nvf4", 64, (("e2m1", 1),), _FLOATS[1:], (("ue4m3", 0), ("ue8m0", 1)), ((32, 2), (16, 4))),
)}
"""Every kind, by name; KINDS_SOURCE says who has them so."""

KINDS_SOURCE = Provenance("documented", "PTX ISA, tcgen05: Matrix Shape, Data Types, Instruction Descriptor; the numbers of "
                          "types are those of CUTLASS's UMMA enums, the N of i8 those of its SM100_MMA_S8 atoms")
"""Of KINDS and of the shapes that they have."""


def kind_of(name: str) -> Kind:
    """The Kind of a name, with or without "kind::"; InstructionError for others.

    >>> kind_of("kind::f16").k, kind_of("mxf4nvf4").scaled
    (16, True)
    """
    row = KINDS.get(str(name).removeprefix("kind::"))
    if row is None:
        raise InstructionError(f"no kind {name!r} of tcgen05.mma; there are {', '.join(KINDS)}")
    return row


_EIGHTS, _SIXTEENS, _32S = tuple(range(8, 257, 8)), tuple(range(16, 257, 16)), tuple(range(32, 257, 32))

_SHAPES = (
    # kinds, CTAs, .ws, M, N
    (("f16", "tf32", "f8f6f4"), 1, False, (64, 128), _EIGHTS),
    (("f16", "tf32", "f8f6f4"), 2, False, (128, 256), _SIXTEENS),
    (("f16", "tf32", "f8f6f4", "i8"), 1, True, (32, 64, 128), (64, 128, 256)),
    (("i8",), 1, False, (64, 128), (8, *_SIXTEENS)),
    (("i8",), 2, False, (128, 256), _32S),
    (("mxf8f6f4", "mxf4", "mxf4nvf4"), 1, False, (128,), _EIGHTS),
    (("mxf8f6f4", "mxf4", "mxf4nvf4"), 2, False, (128, 256), _SIXTEENS),
)
"""Of dense operands. The N of i8 are those of CUTLASS's SM100_MMA_S8_SS and SM100_MMA_S8_2x1SM_SS."""


def check_shape(kind: str, m: int, n: int, ctas: int = 1, ws: bool = False) -> None:
    """Raises InstructionError for an M and an N that a dense tcgen05.mma of a kind does not have, naming those it has.

    >>> check_shape("f16", 32, 24, 1, ws=True)
    Traceback (most recent call last):
    ...
    simlayout.errors.InstructionError: tcgen05.mma.kind::f16 of 1 CTA with .ws has no M 32, N 24: M is 32, 64, 128; \
N is 64, 128, 256
    """
    name, group = kind_of(kind).name, f"{ctas} CTA{'s' * (ctas > 1)}{' with .ws' * ws}"
    shapes = next(((ms, ns) for c, w, ms, ns in shapes_of(name) if (c, w) == (ctas, ws)), None)
    if shapes is None:
        raise InstructionError(f"there is no tcgen05.mma.kind::{name} of {group}")
    if m not in shapes[0] or n not in shapes[1]:
        ms, ns = (_listed(sizes) for sizes in shapes)
        raise InstructionError(f"tcgen05.mma.kind::{name} of {group} has no M {m}, N {n}: M is {ms}; N is {ns}")


def shapes_of(kind: str) -> list[tuple]:
    """(CTAs, with .ws or not, every M, every N) of the dense instructions of a kind.

    >>> [row[:3] for row in shapes_of("mxf4")]
    [(1, False, (128,)), (2, False, (128, 256))]
    """
    return [tuple(row) for kinds, *row in _SHAPES if kind_of(kind).name in kinds]


def _listed(sizes):
    if len(sizes) > 4 and sizes[0] == sizes[1] - sizes[0]:
        return f"{sizes[0]} to {sizes[-1]} in steps of {sizes[0]}"
    return ", ".join(map(str, sizes))
