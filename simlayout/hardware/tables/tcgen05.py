"""Blackwell's tcgen05.mma as tables: its kinds with their types and depths, and which shapes each has."""

from dataclasses import dataclass

from simlayout.errors import InstructionError, brief, require_ints
from simlayout.hardware.tables.provenance import Provenance

HAVE_TCGEN05 = "sm_100", "sm_103", "sm_110"
"""The architectures with tcgen05 and tensor memory (PTX ISA, tcgen05.mma: target ISA notes; ptxas refuses it for others)."""

FORMS = "dense", "sparse", "k96"
"""What an instruction is: with a dense A, with a sparse A (tcgen05.mma.sp), or dense with 96 of K, of which HAVE_K96."""

HAVE_K96 = ("sm_103",)
"""The architectures with 96 of K (PTX ISA, tcgen05: Matrix Shape; CUTLASS, SM103_MXF4_ULTRA)."""


def check_form(form: str) -> str:
    """The form itself; InstructionError for what is none of FORMS."""
    if form not in FORMS:
        raise InstructionError(f"no form {brief(form)} of tcgen05.mma; there are {', '.join(FORMS)}")
    return form


@dataclass(frozen=True)
class Kind:
    """A row of KINDS, a `.kind` of tcgen05.mma.

    name: PTX's. k: elements along K of a dense instruction. formats: (element type of A and B, its number in instruction
    descriptors). results: (type of D, its number); a block-scaled kind has f32 alone and no number. scales: (type of the
    scale factors, number); vectors: (elements that share one, how many of a row of A for a dense instruction); vectors_96:
    the same of an instruction with 96 of K, which sm_103 has. They are () where it has none. arches: the architectures that
    have it.
    """

    name: str
    k: int
    formats: tuple
    results: tuple
    scales: tuple = ()
    vectors: tuple = ()
    vectors_96: tuple = ()
    arches: tuple = HAVE_TCGEN05

    @property
    def scaled(self) -> bool:
        """Whether it has scale factors."""
        return bool(self.scales)

    def k_of(self, form: str = "dense") -> int:
        """Elements along K of an instruction of a form.

        >>> [KINDS["mxf4"].k_of(form) for form in FORMS]
        [64, 128, 96]
        """
        return {"dense": self.k, "sparse": 2 * self.k, "k96": 96}[check_form(form)]

    def vectors_of(self, form: str = "dense") -> tuple:
        """(Elements that share a scale factor, how many scale factors of a row of A) for an instruction of a form. A sparse
        one has as many as a dense one, each for twice the elements of K, of which half are stored."""
        return self.vectors_96 if check_form(form) == "k96" else self.vectors


_FLOATS = (("f16", 0), ("f32", 1))
_BYTES = (("e4m3", 0), ("e5m2", 1), ("e2m3", 3), ("e3m2", 4), ("e2m1", 5))

KINDS = {row.name: row for row in (
    Kind("f16", 16, (("f16", 0), ("bf16", 1)), _FLOATS),
    Kind("tf32", 8, (("tf32", 2),), _FLOATS[1:]),
    Kind("f8f6f4", 32, _BYTES, _FLOATS),
    Kind("i8", 32, (("u8", 0), ("s8", 1)), (("s32", 2),), arches=("sm_100", "sm_110")),
    Kind("mxf8f6f4", 32, _BYTES, _FLOATS[1:], (("ue8m0", 1),), ((32, 1),)),
    Kind("mxf4", 64, (("e2m1", 1),), _FLOATS[1:], (("ue8m0", 1),), ((32, 2),), ((32, 3),)),
    Kind("mxf4nvf4", 64, (("e2m1", 1),), _FLOATS[1:], (("ue4m3", 0), ("ue8m0", 1)), ((32, 2), (16, 4)), ((32, 3), (16, 6))),
)}
"""Every kind, by name; KINDS_SOURCE says who has them so."""

KINDS_SOURCE = Provenance("documented", "PTX ISA, tcgen05: Matrix Shape, Data Types, Instruction Descriptor, Block Scaling; "
                          "the numbers of types are those of CUTLASS's UMMA enums, shapes with 96 of K those of its "
                          "SM103_MXF4_ULTRA (PTX's table has 256 x N by 2 CTAs alone)")
"""Of KINDS and of the shapes that they have."""


def kind_of(name: str) -> Kind:
    """The Kind of a name, with or without "kind::"; InstructionError for others.

    >>> kind_of("kind::f16").k, kind_of("mxf4nvf4").scaled
    (16, True)
    """
    row = KINDS.get(str(name).removeprefix("kind::"))
    if row is None:
        raise InstructionError(f"no kind {brief(name)} of tcgen05.mma; there are {', '.join(KINDS)}")
    return row


_EIGHTS, _SIXTEENS, _32S = tuple(range(8, 257, 8)), tuple(range(16, 257, 16)), tuple(range(32, 257, 32))
_OF_I8 = (8, 16, 24, *range(32, 257, 16))
_FLOAT, _MX, _ANY = ("f16", "tf32", "f8f6f4"), ("mxf8f6f4", "mxf4", "mxf4nvf4"), ("dense", "sparse")

_SHAPES = (
    # kinds, forms, CTAs, .ws, M, N
    (_FLOAT, _ANY, 1, False, (64, 128), _EIGHTS),
    (_FLOAT, _ANY, 2, False, (128, 256), _SIXTEENS),
    ((*_FLOAT, "i8"), ("dense",), 1, True, (32, 64, 128), (64, 128, 256)),
    ((*_FLOAT, "i8"), ("sparse",), 1, True, (32, 64, 128), (64, 128)),
    (("i8",), _ANY, 1, False, (64, 128), _OF_I8),
    (("i8",), _ANY, 2, False, (128, 256), _32S),
    (_MX, _ANY, 1, False, (128,), _EIGHTS),
    (_MX, ("dense",), 2, False, (128, 256), _SIXTEENS),
    (_MX, ("sparse",), 2, False, (256,), _SIXTEENS),
    (_MX[1:], ("k96",), 1, False, (128,), _SIXTEENS),
    (_MX[1:], ("k96",), 2, False, (128, 256), _SIXTEENS),
)
"""PTX ISA, tcgen05: Matrix Shape."""


def check_shape(kind: str, m: int, n: int, ctas: int = 1, ws: bool = False, form: str = "dense") -> None:
    """Raises InstructionError for an M and an N that a tcgen05.mma of a kind and a form does not have, naming those it has.

    >>> check_shape("f16", 32, 24, 1, ws=True)
    Traceback (most recent call last):
    ...
    simlayout.errors.InstructionError: tcgen05.mma.kind::f16 of 1 CTA with .ws has no M 32, N 24: M is 32, 64, 128; \
N is 64, 128, 256
    """
    name, group = kind_of(kind).name, f"{ctas} CTA{'s' * (ctas > 1)}{' with .ws' * ws}"
    what = {"dense": name, "sparse": f"{name}, sparse,", "k96": f"{name} with 96 of K"}[check_form(form)]
    shapes = next(((ms, ns) for c, w, ms, ns in shapes_of(name, form) if (c, w) == (ctas, ws)), None)
    require_ints(InstructionError, f"tcgen05.mma.kind::{name}", m=m, n=n)
    if shapes is None:
        raise InstructionError(f"there is no tcgen05.mma.kind::{what} of {group}")
    if m not in shapes[0] or n not in shapes[1]:
        ms, ns = (_listed(sizes) for sizes in shapes)
        raise InstructionError(f"tcgen05.mma.kind::{what} of {group} has no M {m}, N {n}: M is {ms}; N is {ns}")


def shapes_of(kind: str, form: str = "dense") -> list[tuple]:
    """(CTAs, with .ws or not, every M, every N) of the instructions of a kind and a form, one of FORMS.

    >>> [row[:3] for row in shapes_of("mxf4")], [row[:3] for row in shapes_of("mxf4", "sparse")]
    ([(1, False, (128,)), (2, False, (128, 256))], [(1, False, (128,)), (2, False, (256,))])
    """
    check_form(form)
    return [tuple(row) for kinds, forms, *row in _SHAPES if kind_of(kind).name in kinds and form in forms]


def _listed(sizes):
    if len(sizes) > 4 and sizes[0] == sizes[1] - sizes[0]:
        return f"{sizes[0]} to {sizes[-1]} in steps of {sizes[0]}"
    return ", ".join(map(str, sizes))
