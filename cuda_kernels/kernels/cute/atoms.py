"""What CuTe's make_tiled_copy_A/B decides, as kernels: an mma, a value layout, and for A and B the storage order, the
ldmatrix and the layout in shared memory."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from cuda_kernels.kernels.cute.body import make_body
from cuda_kernels.kernels.cute.plan import CHUNK, SIDE, WARPS, operand
from cuda_kernels.kernels.gemm import Gemm
from cuda_kernels.kernels.kernel import choice
from simlayout.errors import InstructionError, SimlayoutError
from simlayout.hardware import choose_ldmatrix
from simlayout.hardware.tables.arch import LANES
from simlayout.kernel import LaunchShape
from simlayout.plan import Plan

MOST_ALONG_Y = 65535
"""CTAs of a grid along y (CUDA programming guide, technical specifications)."""

MMAS = ("m16n8k8", "m16n8k16")
VAL_LAYOUTS = ((1, 1, 1), (1, 2, 1), (1, 4, 1), (1, 8, 1))
WANTS = ("x1", "x2", "x4")
LAYOUTS = ("packed", "lines", "swizzled")


@dataclass(frozen=True)
class Atoms(Gemm):
    """One choice of everything: a kernel for C = A @ B.T, A (M, K) and B (N, K) of f16, C (M, N) of f32, row-major.

    mma: "m16n8k8" or "m16n8k16", both with f32 accumulators. val_layout: (1, n, 1): a warp does n of them along N. a_major:
    "K" or "M", b_major: "K" or "N": what is contiguous in global and in shared memory. want_a, want_b: "x1", "x2", "x4", or
    None for the widest. layout: "packed", "lines" or "swizzled" (see `Operand`). aligned: lines of A and B start on 16
    bytes and are whole pieces of 16 bytes; set by `fitted`.

    Raises SimlayoutError for other values, and InstructionError "TiledCopy uses too few vals for selected CopyAtom" where
    CuTe would: nothing is proved, compiled or run then.

    >>> case = Atoms("m16n8k8", b_major="N", layout="lines")
    >>> print(case, case.a.choice.atom, case.b.choice.atom, [a.excess for a in case.plan.accesses])
    m16n8k8 1x1x1, A K-major x2, B N-major x1.trans, lines SM75_U32x2_LDSM_N SM75_U16x2_LDSM_T [0, 0, 14, 7]
    >>> Atoms("m16n8k8", want_a="x4")
    Traceback (most recent call last):
    ...
    simlayout.errors.InstructionError: TiledCopy uses too few vals for selected CopyAtom: operand A of \
m16n8k8.f32.f16.f16.f32 holds 2 of the 8x8 matrices in a warp's tile, ldmatrix.x4 loads 4 at a time; widen val_layout or \
ask for less
    """

    mma: str = "m16n8k16"
    val_layout: tuple = (1, 1, 1)
    a_major: str = "K"
    b_major: str = "K"
    want_a: str | None = None
    want_b: str | None = None
    layout: str = "swizzled"
    aligned: bool = True

    def __post_init__(self):
        choice("mma", self.mma, MMAS)
        choice("val_layout", self.val_layout, VAL_LAYOUTS)
        choice("a_major", self.a_major, ("K", "M"))
        choice("b_major", self.b_major, ("K", "N"))
        choice("layout", self.layout, LAYOUTS)
        for one in (self.a, self.b):
            one.choice                                                # noqa: B018 (raises what CuTe refuses)

    def __str__(self):
        a, b = (o.choice.instruction.removeprefix("ldmatrix.") for o in (self.a, self.b))
        return (f"{self.mma} {'x'.join(map(str, self.val_layout))}, A {self.a_major}-major {a}, B {self.b_major}-major {b}, "
                f"{self.layout}")

    @property
    def a(self):
        """The Operand A."""
        return operand("A", self.mma, self.val_layout, "K" if self.a_major == "K" else "MN", self.want_a, self.layout)

    @property
    def b(self):
        """The Operand B."""
        return operand("B", self.mma, self.val_layout, "K" if self.b_major == "K" else "MN", self.want_b, self.layout)

    @cached_property
    def plan(self):
        """The Plan of a CTA: 64 x 64 of C, 64 of K per step."""
        return Plan(str(self), (SIDE, SIDE, SIDE), WARPS, 1, self.a.choice.mma,
                    (self.a.copy, self.b.copy, self.a.load, self.b.load), (),
                    ((("copy A",), "load A"), (("copy B",), "load B")), self.shared_bytes)

    @cached_property
    def body(self):
        """The kernel's Python function."""
        return make_body(self)

    name = "cute"
    summary = "CuTe's choice of ldmatrix"
    block = LANES * WARPS
    shared_bytes = 2 * 2 * SIDE * SIDE
    dtypes = "f16", "f16", "f32"

    @property
    def options(self):
        """The choices: itself."""
        return self

    def with_options(self, options):
        """Other choices."""
        return options

    @property
    def majors(self):
        """The contiguous dimensions of A, B and C."""
        return self.a_major, self.b_major, "N"

    def launch_shape(self, problem):
        """Its launch: x along N, y along M. Raises SimlayoutError for more rows than a grid has CTAs along y for."""
        M, N = problem.M, problem.N
        if M > SIDE * MOST_ALONG_Y:
            raise SimlayoutError(f"M = {M}: a grid has at most {MOST_ALONG_Y} CTAs along y, of {SIDE} rows each: multiply "
                                 f"in parts of {SIDE * MOST_ALONG_Y} rows")
        return LaunchShape((-(-N // SIDE), -(-M // SIDE), 1), self.block, self.shared_bytes)

    def fitted(self, problem):
        """The case for a problem: whole 16-byte pieces where the lines of A and B have no other, else halves."""
        lengths = problem.K if self.a_major == "K" else problem.M, problem.K if self.b_major == "K" else problem.N
        lines = *lengths, *self.leading(problem)[:2], problem.a // 2, problem.b // 2
        return replace(self, aligned=all(n % CHUNK == 0 for n in lines))

    def prove(self):
        """The plan's certificates."""
        return self.plan.verify()


def _wanted(name, mma, val_layout):
    """The wants that CuTe accepts for an operand."""
    total = len(choose_ldmatrix(f"{mma}.f32.f16.f16.f32", name, val_layout).feeds)
    return [want for want in WANTS if total % int(want[1:]) == 0]


SHAPES = tuple(product(MMAS, VAL_LAYOUTS[:2]))
"""(mma, value layout) of the cases: both mma, one and two along N."""

CASES = tuple(Atoms(mma, values, a_major, b_major, want_a, want_b, layout)
              for mma, values in SHAPES for layout in LAYOUTS for a_major, b_major in product("KM", "KN")
              for want_a in _wanted("A", mma, values) for want_b in _wanted("B", mma, values))
"""Every case: all storage orders, all ldmatrix that CuTe accepts, all layouts."""

REJECTED = tuple({"mma": mma, "val_layout": values, f"want_{name.lower()}": want}
                 for mma, values in SHAPES for name in "AB" for want in WANTS if want not in _wanted(name, mma, values))
"""Arguments of Atoms that CuTe rejects: an ldmatrix of more matrices than the warp's tile has."""


def rejection(arguments):
    """The message with which Atoms refuses these arguments, None if it accepts them."""
    try:
        Atoms(**arguments)
    except InstructionError as error:
        return str(error)
    return None
