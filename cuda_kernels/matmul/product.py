"""NumPy's matmul as work for kernels that multiply batches of matrices: shapes, folded batches, orders of memory.

All strides are in BYTES. Nothing here knows of devices or libraries.
"""

from dataclasses import dataclass, replace
from itertools import product as every

from simlayout.errors import SimlayoutError

ALIGNED = 16
"""Bytes: TMA wants addresses and strides to be multiples of it (CUDA driver API, cuTensorMapEncodeTiled)."""
STRIDE_LIMIT = 1 << 40
"""Strides of a tensor map are below it (the same)."""


@dataclass(frozen=True)
class Matrices:
    """Equally spaced matrices in memory: rows and columns (elements), bytes from row to row, column to column, matrix to
    matrix (0: they are one)."""

    rows: int
    cols: int
    row: int
    col: int
    matrix: int = 0

    @property
    def transposed(self):
        """The same elements with rows and columns exchanged."""
        return Matrices(self.cols, self.rows, self.col, self.row, self.matrix)

    def rows_contiguous(self, itemsize):
        """Whether the elements of a row lie one after another."""
        return self.cols == 1 or self.col == itemsize

    def row_pitch(self, itemsize):
        """Bytes from row to row where rows are contiguous; for a single row, what a copy of it would have."""
        return self.row if self.rows > 1 else -(-self.cols * itemsize // ALIGNED) * ALIGNED

    def for_tma(self, itemsize):
        """Whether a tensor map can describe them, rows innermost (the address is another matter)."""
        pitch = self.row_pitch(itemsize)
        return (self.rows_contiguous(itemsize) and 0 < pitch < STRIDE_LIMIT and self.matrix < STRIDE_LIMIT
                and pitch % ALIGNED == self.matrix % ALIGNED == 0)


@dataclass(frozen=True)
class Work:
    """C = A @ B for `count` matrices at a time, once for each of `pieces`.

    a is (M, K), b (K, N), c (M, N); pieces: bytes to add to the addresses of A, B and C.
    """

    a: Matrices
    b: Matrices
    c: Matrices
    count: int
    pieces: tuple

    @property
    def sizes(self):
        """M, N, K."""
        return self.c.rows, self.c.cols, self.a.cols

    @property
    def transposed(self):
        """The same as C.T = B.T @ A.T."""
        pieces = tuple((b, a, c) for a, b, c in self.pieces)
        return Work(self.b.transposed, self.a.transposed, self.c.transposed, self.count, pieces)


def result_shape(a, b):
    """The shape of a @ b for two shapes, by NumPy's rules; SimlayoutError where NumPy raises.

    >>> result_shape((3, 4), (4, 5)), result_shape((7, 1, 3, 4), (6, 4, 5)), result_shape((4,), (4,))
    ((3, 5), (7, 6, 3, 5), ())
    """
    for i, shape in enumerate((a, b)):
        if not shape:
            raise SimlayoutError(f"matmul: Input operand {i} does not have enough dimensions (has 0, gufunc core with "
                                 "signature (n?,k),(k,m?)->(n?,m?) requires 1): multiply scalars with *")
    inner, other = a[-1], b[-2] if len(b) > 1 else b[-1]
    if inner != other:
        turned = "; its last two dimensions exchanged would fit, as in b.T" if len(b) > 1 and b[-1] == inner else ""
        raise SimlayoutError("matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
                             f"(n?,k),(k,m?)->(n?,m?) (size {other} is different from {inner}): a is {a}, b is {b}{turned}")
    return _broadcast(a[:-2], b[:-2]) + a[-2:-1] + (b[-1:] if len(b) > 1 else ())


def _broadcast(a, b):
    n = max(len(a), len(b))
    long_a, long_b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    for x, y in zip(long_a, long_b):
        if x != y and 1 not in (x, y):
            raise SimlayoutError(f"matmul: operands could not be broadcast together: batches of shape {a} and {b} differ")
    return tuple(y if x == 1 else x for x, y in zip(long_a, long_b))


def check_strides(name, shape, strides, itemsize, batches_may_repeat):
    """Raises SimlayoutError if two indices may name overlapping memory; a stride of 0 in a batch dimension may be allowed.

    Strides pass if each is at least the span of all smaller ones.
    """
    if 0 in shape:
        return
    batch = max(len(shape) - 2, 0)
    dims = [(stride, size) for i, (size, stride) in enumerate(zip(shape, strides))
            if size > 1 and not (batches_may_repeat and i < batch and stride == 0)]
    span = itemsize
    for stride, size in sorted(dims):
        if stride < span:
            raise SimlayoutError(f"{name} overlaps itself (shape {tuple(shape)}, strides {tuple(strides)} bytes): copy it "
                                 "first")
        span = stride * (size - 1) + span


def work_of(a, b, c, folds=(False, True)):
    """The Work of c = a @ b; a, b, c are (shape, strides), c of `result_shape`. All sizes are at least 1.

    Batch dimensions are folded into M if B is the same for all of them and the rows of A and of C go on at even distances
    (so that activations times weights are one product). In the same way they are folded into N, and into one
    another. folds: whether into M (False is among them), and into N (True).

    >>> work_of(((8, 16, 64), (2048, 128, 2)), ((64, 32), (64, 2)), ((8, 16, 32), (1024, 64, 2))).sizes
    (128, 32, 64)
    """
    rows, cols = len(a[0]) > 1, len(b[0]) > 1
    left = _matrix(a, rows, False)
    right = _matrix(b, cols, True)
    place_c = list(zip(*c))
    core = place_c[len(place_c) - rows - cols:]
    m_dim = core[0] if rows else (1, 0)
    n_dim = core[-1] if cols else (1, 0)
    out = Matrices(m_dim[0], n_dim[0], m_dim[1], n_dim[1])
    n = len(place_c) - rows - cols
    dims = [Dim(size, *(_batch_stride(x, i - n) for x in (a, b)), stride)
            for i, (size, stride) in enumerate(place_c[:n]) if size > 1]
    left, right, out, dims = _fold(left, right, out, dims, folds)
    dims = _merge(dims)
    most = max(dims, key=lambda d: d.size, default=Dim(1, 0, 0, 0))
    others = [d for d in dims if d is not most]
    pieces = tuple(tuple(sum(i * d[1 + which] for i, d in zip(index, others)) for which in range(3))
                   for index in every(*(range(d.size) for d in others)))
    return Work(replace(left, matrix=most.a), replace(right, matrix=most.b), replace(out, matrix=most.c), most.size, pieces)


class Dim(tuple):
    """A batch dimension: size, and strides of A, B and C (0 where it repeats)."""

    def __new__(cls, size, a, b, c):
        return tuple.__new__(cls, (size, a, b, c))

    size, a, b, c = (property(lambda self, i=i: self[i]) for i in range(4))     # type: ignore[misc]


def _matrix(x, two, is_b):
    """The last two dimensions as Matrices; a vector is one row of A or one column of B."""
    shape, strides = x
    if two:
        return Matrices(*shape[-2:], *strides[-2:])
    return Matrices(shape[0], 1, strides[0], 0) if is_b else Matrices(1, shape[0], 0, strides[0])


def _batch_stride(x, i):
    """The stride of batch dimension i < 0, counted from the last one; 0 where it repeats."""
    shape, strides = x[0][:-2], x[1][:-2]
    return strides[i] if -i <= len(shape) and shape[i] > 1 else 0


def _fold(a, b, c, dims, flips):
    """Batch dimensions taken into the rows of A and C (False among the flips), or the columns of B and C (True), while any
    can be."""
    folded = True
    while folded:
        folded = False
        for d in reversed(dims):
            for flip in flips:
                x, y, z = (b.transposed, a.transposed, c.transposed) if flip else (a, b, c)
                moves, stays = (d.b, d.a) if flip else (d.a, d.b)
                single = x.rows == 1
                if stays or not moves or not (single or (moves == x.rows * x.row and d.c == z.rows * z.row)):
                    continue
                x = replace(x, rows=x.rows * d.size, row=moves if single else x.row)
                z = replace(z, rows=z.rows * d.size, row=d.c if single else z.row)
                a, b, c = (y.transposed, x.transposed, z.transposed) if flip else (x, y, z)
                dims = [e for e in dims if e is not d]
                folded = True
                break
            if folded:
                break
    return a, b, c, dims


def _merge(dims):
    """Batch dimensions that go on evenly in A, B and C become one."""
    for outer, inner in every(dims, dims):
        if outer is not inner and all(o == inner.size * i for o, i in zip(outer[1:], inner[1:])):
            rest = [d for d in dims if d is not outer and d is not inner]
            return _merge([Dim(outer.size * inner.size, *inner[1:]), *rest])
    return dims


def copied(matrices, itemsize, by_rows, count):
    """The Matrices of a copy that TMA can take (rows padded to 16 bytes) and its bytes; by_rows: rows contiguous."""
    m = matrices if by_rows else matrices.transposed
    pitch = -(-m.cols * itemsize // ALIGNED) * ALIGNED
    each = pitch * m.rows
    target = Matrices(m.rows, m.cols, pitch, itemsize, each if matrices.matrix else 0)
    return target if by_rows else target.transposed, each * (count if matrices.matrix else 1)
