"""Products by their sizes, as a command line or a file asks for them: what `matmul` would want for such arrays."""

import json
import re
from dataclasses import dataclass, fields, replace

from cuda_kernels.kernels.hopper.rules import CHOICES, fault_of, multiplied_together
from cuda_kernels.kernels.hopper.scales import grains_of
from cuda_kernels.kernels.hopper.scaling import scales_named
from cuda_kernels.matmul.arrays import contiguous
from cuda_kernels.matmul.choose.wanted import Wanted
from cuda_kernels.matmul.finish import Finish, epilogue_named
from cuda_kernels.matmul.recipe import RESULTS, result_of
from cuda_kernels.matmul.steps import GroupedSteps, HopperSteps
from simlayout.algebra.dtypes import TYPES, did_you_mean, dtype_of
from simlayout.errors import LayoutError, SimlayoutError

EIGHTS = [name for name in RESULTS if TYPES[name].bits == 8]
DTYPES = (*RESULTS, *(f"{a}.{b}" for a in EIGHTS for b in EIGHTS
                      if a != b and multiplied_together(a, b)))
"""Types of operands: one of both, or two 8-bit ones, A's first."""

OUTS, ORDERS = CHOICES["out"], ("NN", "NT", "TN", "TT")

MOST_FAULTS = 3
"""Lines of a file that a message names; further ones are counted."""


@dataclass(frozen=True)
class Asked:
    """C (M, N) = A (M, K) times B (K, N), `batch` of them, in arrays without gaps. dtype: of DTYPES; out: of OUTS, None for
    what `matmul` gives; order: BLAS's letters for A and B, N a matrix with contiguous rows, T the transpose of one; scaled:
    as Hopper's option, for scale_a and scale_b; epilogue: as of `finish.epilogue_named`; groups: to which the rows of A
    belong, as of `grouped_matmul`, 0 where they do not. Raises SimlayoutError for what there is not.

    >>> Asked(16, 4096, 14336, "bf16").types
    ('bf16', 'bf16')
    """

    M: int
    N: int
    K: int
    dtype: str = "f16"
    out: str | None = None
    order: str = "NT"
    batch: int = 1
    scaled: str = ""
    epilogue: str = ""
    groups: int = 0

    def __post_init__(self):
        object.__setattr__(self, "dtype", ".".join(_type_named(part) for part in str(self.dtype).split(".")))
        for name, value, known in (("dtype", self.dtype, DTYPES), ("out", self.out, (None, *OUTS)),
                                   ("order", self.order, ORDERS), ("scaled", self.scaled, CHOICES["scaled"])):
            if value not in known:
                meant = did_you_mean(value, DTYPES) if name == "dtype" and value not in TYPES else ""
                raise SimlayoutError(f"{name} {value!r}{meant}: choose {', '.join(x for x in known if x)}")
        for what, *sizes in (("sizes", self.M, self.N, self.K), ("batch", self.batch), ("groups", self.groups or 1)):
            if not all(type(n) is int and 0 < n < 1 << 31 for n in sizes):
                raise SimlayoutError(f"{what} {' '.join(map(str, sizes))}: give integers from 1 to {(1 << 31) - 1}")
        if fault := fault_of(self.types, self.out, self.scaled, str(epilogue_named(self.epilogue))):
            raise SimlayoutError(fault)
        if self.batch > 1 and self.scaled:
            raise SimlayoutError("only a product of two matrices is scaled: leave out the batch, or the scales")
        if self.groups and (self.batch > 1 or self.epilogue):
            raise SimlayoutError("grouped_matmul has no batch and no epilogue: leave them out, or the groups")
        if self.groups and (grains_of(self.scaled) or (1,))[0] > 1:
            raise SimlayoutError(f"scaled {self.scaled!r}: groups begin at any row, so each row has scales of its own: "
                                 "choose tensor, lines, 1x128 or 1x1")

    @property
    def types(self) -> tuple[str, str]:
        """The dtypes of A and B."""
        first, _, second = self.dtype.partition(".")
        return first, second or first

    def wanted(self, cuda, device: int) -> Wanted:
        """What `matmul` or, of groups, `grouped_matmul` looks for, given such arrays."""
        finish = Finish(epilogue_named(self.epilogue))
        out = self.out or result_of(self.types[0], bool(self.scaled or finish))
        steps = (GroupedSteps if self.groups else HopperSteps)(cuda, device, self.types, out, dict.fromkeys("abc", True),
                                                               False, scales_named(self.scaled), finish)
        sizes = self.M, self.N, self.K
        return steps.lay(*arrays_without_gaps(sizes, self.order, (*self.types, out), self.batch, self.groups)).wanted


def arrays_without_gaps(sizes, order, dtypes, batch=1, groups=0):
    """[(shape, strides)] of A, B and C without gaps. sizes: M, N, K; order: BLAS's letters for A and B, batch, groups: as of
    Asked; dtypes: of each.

    >>> arrays_without_gaps((16, 32, 64), "NT", ("f16", "f16", "f32"))
    [((16, 64), (128, 2)), ((64, 32), (2, 128)), ((16, 32), (128, 4))]
    """
    M, N, K = sizes
    batch = (batch,) * (batch > 1)
    shapes = (*batch, M, K), (*batch, *(groups,) * (groups > 0), K, N), (*batch, M, N)
    return [_array(letter, shape, TYPES[dtype].bytes) for letter, shape, dtype in zip(order + "N", shapes, dtypes)]


def _type_named(name):
    """Our name of a type: also of "bfloat16", say; other names stay as they are.

    >>> _type_named("float8_e4m3fn"), _type_named("fp8")
    ('e4m3', 'fp8')
    """
    try:
        return dtype_of(name).name
    except LayoutError:
        return name


def _array(letter, shape, size):
    """(shape, strides) of matrices without gaps, N with contiguous rows, T transposed."""
    if letter == "N":
        return shape, contiguous(shape, size)
    *outer, col, row = contiguous((*shape[:-2], *shape[:-3:-1]), size)
    return shape, (*outer, row, col)


def asked_in(text, name, usual):
    """[Asked] of a file. text: what it holds, a product per line, M N K and a dtype if it is another than usual's, with
    spaces or commas between (# begins a comment; a first line of names is left out), or JSON, a list of such lists or of
    objects with the names of Asked's fields; name: what messages call it; usual: an Asked that has the rest.

    Raises SimlayoutError that names the lines (items of JSON) which say no product.

    >>> [(a.M, a.dtype) for a in asked_in("M,N,K\\n16,64,128\\n\\n8 64 128 e4m3  # decode", "layers.csv", Asked(1, 1, 1))]
    [(16, 'f16'), (8, 'e4m3')]
    """
    is_json = text.lstrip()[:1] in ("[", "{")
    rows, what = (_rows_of_json(text, name), "item") if is_json else (_rows_of_lines(text), "line")
    found, faults = [], []
    for number, row in rows:
        try:
            found.append(_asked(row, usual))
        except SimlayoutError as error:
            faults.append(f"{what} {number}: {error}")
    if faults:
        more = f"; and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
        raise SimlayoutError(f"{name}: {'; '.join(faults[:MOST_FAULTS])}{more}")
    if not found:
        raise SimlayoutError(f"{name} names no product: write M N K on a line, such as 4096 4096 4096 bf16")
    return list(dict.fromkeys(found))


def _rows_of_lines(text):
    """[(number of a line, its words)]."""
    rows = [(number, re.split(r"[\s,;]+", line.partition("#")[0].strip(" \t,;"))) for number, line in
            enumerate(text.splitlines(), 1)]
    rows = [(number, words) for number, words in rows if words != [""]]
    if rows and [word.lower() for word in rows[0][1][:3]] == ["m", "n", "k"]:
        del rows[0]
    return rows


def _rows_of_json(text, name):
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SimlayoutError(f"{name} is no JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(items, list):
        raise SimlayoutError(f"{name} is no list of products: write [[4096, 4096, 4096, \"bf16\"]]")
    return list(enumerate(items, 1))


def _asked(row, usual):
    if isinstance(row, dict):
        names = [field.name for field in fields(Asked)]
        if not {*names[:3]} <= {*row} <= {*names}:
            raise SimlayoutError(f"{row}: give M, N, K and perhaps {', '.join(names[3:])}")
        return replace(usual, **row)
    if not isinstance(row, list) or not 3 <= len(row) <= 4:
        said = " ".join(row) if isinstance(row, list) and all(isinstance(x, str) for x in row) else row
        raise SimlayoutError(f"{said!r} is no product: write M N K and perhaps a dtype, such as 4096 4096 4096 bf16")
    sizes = [int(x) if isinstance(x, str) and re.fullmatch(r"[0-9]{1,12}", x, re.ASCII) else x for x in row[:3]]
    return replace(usual, M=sizes[0], N=sizes[1], K=sizes[2], dtype=row[3] if len(row) == 4 else usual.dtype)
