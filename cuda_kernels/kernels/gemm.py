"""What all GEMM kernels share: matrices in the memory order that a kernel takes, and the same arguments."""

from dataclasses import asdict

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.kernel import CPU_SMS, Argument, Kernel, Pointer, Problem, Work

SIGNATURE = (
    Argument("a", "u64", "address of A", lambda kernel, problem: Pointer("a")),
    Argument("b", "u64", "address of B", lambda kernel, problem: Pointer("b")),
    Argument("c", "u64", "address of C", lambda kernel, problem: Pointer("c")),
    Argument("M", "s32", "rows of C", lambda kernel, problem: problem.M),
    Argument("N", "s32", "columns of C", lambda kernel, problem: problem.N),
    Argument("K", "s32", "depth of the product", lambda kernel, problem: problem.K),
    Argument("lda", "s32", "elements from line to line of A", lambda kernel, problem: kernel.leading(problem)[0]),
    Argument("ldb", "s32", "elements from line to line of B", lambda kernel, problem: kernel.leading(problem)[1]),
    Argument("ldc", "s32", "elements from line to line of C", lambda kernel, problem: kernel.leading(problem)[2]),
)
"""The arguments of a kernel whose threads compute all addresses. A line is what is contiguous: a row, or a column."""


def matrix(name, x, dtype):
    """A matrix, or a stack of matrices, as [matrices, rows, columns] of the NumPy dtype that holds `dtype`.

    Raises SimlayoutError for what is neither, or of another type.
    """
    if getattr(x, "ndim", None) not in (2, 3):
        raise SimlayoutError(f"{name} must be a matrix, not {getattr(x, 'shape', type(x).__name__)}")
    row = TYPES[dtype]
    if x.dtype.name not in (row.storage, row.plain.name) or not x.dtype.isnative:
        wanted = row.storage if row.in_numpy else f"{dtype}, as ml_dtypes.{row.storage} or as its bits in {row.plain.name}"
        raise SimlayoutError(f"{name} is {x.dtype}; this kernel multiplies {wanted}")
    x = x.view(row.plain)
    return x if x.ndim == 3 else x[None]


def in_lines(x, unit, packed):
    """(the matrices in lines, elements from line to line): x itself if its memory is in such lines, otherwise a copy.

    x: [matrices, lines, along]; unit: lines start on multiples of so many bytes; packed: copies whatever has room between
    its lines, other than what the unit requires.
    """
    size, (matrices, lines, along) = x.itemsize, x.shape
    pitch = x.strides[1] if lines > 1 else along * size
    matrix_pitch = x.strides[0] if matrices > 1 else lines * pitch
    contiguous = (along == 1 or x.strides[2] == size) and pitch >= along * size and matrix_pitch >= lines * pitch
    starts = pitch, matrix_pitch, x.ctypes.data
    if not contiguous or any(start % unit for start in starts) or (packed and not x.flags.c_contiguous):
        copied = np.zeros((matrices, lines, -(-along * size // unit) * unit // size), x.dtype)
        copied[:, :, :along] = x
        x, pitch = copied[:, :, :along], copied.strides[1]
    return x, pitch // size


class Gemm(Kernel):
    """C (M, N) = A (M, K) @ B (K, N), by NumPy's rules; a subclass says the types, the orders of memory, and the launch."""

    signature: tuple[Argument, ...] = SIGNATURE
    dtypes = "f16", "f16", "f16"
    """The types of A, B and C."""
    majors = "K", "K", "N"
    """The dimension of A ("K" or "M"), of B ("K" or "N") and of C ("N" or "M") that is contiguous in memory."""
    unit = 2
    """Lines of A and B start on multiples of so many bytes."""
    stacks = False
    """Whether a launch computes several products."""
    grouped = False
    """Whether the products share one C, of which each has some rows."""
    claim = "{} accesses: in bounds, aligned, loads meet stores, excess as declared"
    """What `prove` proves, as a sentence; {} is the number of certificates."""

    def leading(self, problem):
        """(lda, ldb, ldc) of a problem, in elements."""
        lengths = ({"K": problem.K, "M": problem.M, "N": problem.N}[major] for major in self.majors)
        return tuple(given or length for given, length in zip((problem.lda, problem.ldb, problem.ldc), lengths))

    @property
    def accesses(self):
        """The plan's accesses."""
        return self.plan.accesses

    def predict(self, problem):
        """The plan's prediction for a problem."""
        lda, ldb, _ = self.leading(problem)
        return self.plan.predict(problem.M, problem.N, problem.K, lda=lda, ldb=ldb, a=problem.a, b=problem.b)

    def described(self, problem):
        """(the plan, its bounds) as text."""
        prediction, plan = self.predict(problem), self.plan
        rows, columns, depth = plan.tile
        return (f"tile {rows}x{columns}x{depth}, {plan.warps} warps and {plan.shared_bytes} bytes of shared memory per CTA; "
                f"CTAs: {prediction.ctas}, K steps: {prediction.steps}",
                f"{prediction.clocks} per K step of a CTA: bound by {prediction.bound}")

    def taking(self, types, out, majors=None, scaled="", epilogue=""):
        """The variant for operands of two types and results of type `out`. Raises SimlayoutError if there is none."""
        if epilogue:
            raise SimlayoutError(f"{self.name} has no {epilogue}: use kernel=\"auto\" on a GPU of compute capability 9.0")
        if scaled:
            raise SimlayoutError(f"{self.name} has no scales: use kernel=\"auto\" on a GPU of compute capability 9.0")
        if self.dtypes != (*types, out):
            raise SimlayoutError(f"{self.name} multiplies {self.dtypes[0]} to {self.dtypes[2]}, not {types[0]} to {out}: a "
                                 "GPU of compute capability 9.0 has kernels for f16, bf16, e4m3, e5m2, s8 and u8, and "
                                 "for f32 and s32 results")
        return self

    def as_record(self):
        """Its name and its options as plain values."""
        return {"kernel": self.name, **asdict(self.options)}

    def work(self, a, b, sms=CPU_SMS, packed=False):
        """The Work of a @ b. a: (M, K) or (matrices, M, K); b: (K, N) or (matrices, K, N), NumPy arrays of any strides."""
        given = getattr(a, "dtype", None)
        a, b = (matrix(name, x, dtype) for name, x, dtype in zip("ab", (a, b), self.dtypes))
        matrices, M, K, N = max(len(a), len(b)), a.shape[1], a.shape[2], b.shape[2]
        if 0 in (len(a), len(b)):
            raise SimlayoutError(f"a is {a.shape} and b is {b.shape}: a stack of no matrices has no product to launch")
        if b.shape[1] != K or {len(a), len(b)} - {1, matrices}:
            raise SimlayoutError(f"a is {a.shape[-2:]} and b is {b.shape[-2:]}: they have no product" if matrices == 1 else
                                 f"a is {a.shape} and b is {b.shape}: they have no product")
        if matrices > 1 and not self.stacks:
            raise SimlayoutError(f"{self.name} multiplies two matrices, not {matrices} pairs: run it for each")
        major_a, major_b, major_c = self.majors
        a, lda = in_lines(a if major_a == "K" else a.swapaxes(1, 2), self.unit, packed)
        b, ldb = in_lines(b.swapaxes(1, 2) if major_b == "K" else b, self.unit, packed)
        lines = (M, N) if major_c == "N" else (N, M)
        made = 1 if self.grouped else matrices
        c = np.empty((made, *lines), TYPES[self.dtypes[2]].plain)
        c.view(np.uint8)[...] = 0xFF                     # of floats: NaN
        steps = (x.strides[0] if len(x) > 1 else 0 for x in (a, b))
        places = (0, 0) if packed else (x.ctypes.data for x in (a, b))
        step_c = 0 if self.grouped else c.strides[0]
        problem = Problem(M, N, K, matrices, lda, ldb, lines[1], *steps, step_c, *places, sms=sms)

        def results():
            product = c if major_c == "N" else c.swapaxes(1, 2)
            product = product.view(given) if self.dtypes[2] == "bf16" and self.dtypes[0] == "bf16" else product
            return (product if made > 1 else product[0],)

        fitted = self.fitted(problem)
        arrays = {role: x if self.stacks else x[0] for role, x in zip("abc", (a, b, c))}
        return Work(fitted, problem, arrays, results)
