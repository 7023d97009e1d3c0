"""mma and gemm: shapes and types checked, operands brought into the order of the arithmetic."""

import numpy as np

from simlayout.algebra.aliases import ArrayLike
from simlayout.algebra.dtypes import TYPES
from simlayout.arguments import typed
from simlayout.errors import InstructionError
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.hardware.tables.tensor_ops import TensorOp, tensor_op
from simlayout.numerics.arithmetic import compute
from simlayout.numerics.rules import Rule, rule
from simlayout.numerics.sparse import by_rows, check_metadata, filled_up


@typed(InstructionError, own=("name", "arch"))
def mma(name: str, a: ArrayLike, b: ArrayLike, c: ArrayLike | None = None, arch: str = DEFAULT_ARCH,
        metadata: ArrayLike | None = None) -> np.ndarray:
    """d = a b + c as one tensor-core instruction computes it: the same bits as the hardware.

    name: an mma.sync ("m16n8k16.f32.f16.f16.f32": shape, types of D, A, B, C), an mma.sp of such a name
    ("mma.sp.m16n8k32.f32.f16.f16.f32") or a wgmma ("wgmma.m64n256k16.f32.f16.f16": shape, types of D, A, B); with
    arch="sm_100" also a tcgen05.mma, written alike ("tcgen05.m128n256k16.f32.f16.f16"; floats of 8 bits and fewer:
    `narrow_mma`). a: [..., M, K], b: [..., K, N], c: [..., M, N] or None (zeros), of the instruction's M, N and K; leading
    axes are a batch and broadcast. arch: for example "sm_90". metadata: of mma.sp, whose a is [..., M, K / 2], both as
    `simlayout.hardware.compress` makes them: integers [..., M, groups].
    dtypes: float16, float32, float64, int8, uint8, int32 where they are the instruction's types; tf32 is stored in
    float32, of which the low 13 bits are ignored; bf16 is uint16 (raw bits) or ml_dtypes.bfloat16; e4m3 and e5m2 are uint8
    (raw bits) or ml_dtypes' float8_e4m3fn and float8_e5m2; s4, u4 and b1 are int8, uint8 and uint8, one element each.

    Returns d [..., M, N]: float32, float16, float64 or int32. NaN come with the bits that the hardware gives them.
    Which rule that is, and whether it was measured: `rule(name, arch)`.

    Raises InstructionError: an unknown name, an architecture without the instruction, a wrong dtype or shape.

    >>> a = np.full((16, 16), 2.0**-14, np.float16)
    >>> a[:, 0] = 1
    >>> d = mma("m16n8k16.f32.f16.f16.f32", a, np.ones((16, 8), np.float16), np.full((16, 8), 2.0**12, np.float32))
    >>> float(d[0, 0])                      # the last bit of a sum with 2**12 in it is 2**-13: 15 times 2**-14 are lost
    4097.0
    """
    op = tensor_op(name, arch)
    a, b, c = _checked(op, a, b, c)
    if a.shape[-2:] != (op.m, op.stored) or b.shape[-2:] != (op.k, op.n):
        raise InstructionError(f"{name} takes a [..., {op.m}, {op.stored}] and b [..., {op.k}, {op.n}], not "
                               f"{list(a.shape)} and {list(b.shape)}; for whole matrices use gemm")
    return multiplied(op, rule(name, arch), a, b, c, check_metadata(op, a, metadata))


@typed(InstructionError, own=("name", "arch"))
def gemm(name: str, a: ArrayLike, b: ArrayLike, c: ArrayLike | None = None, arch: str = DEFAULT_ARCH,
         metadata: ArrayLike | None = None) -> np.ndarray:
    """a b + c as a kernel computes it whose loop over K repeats one instruction, in ascending order of K.

    name, dtypes, arch, metadata: as for `mma`. a: [..., M, K], b: [..., K, N], c: [..., M, N] or None, of any M, N and K;
    K is filled up with zeros to a multiple of the instruction's, as kernels fill their tiles. A kernel that splits K among
    CTAs or warps, or ends in a conversion of d, is the corresponding sum or conversion of such calls.

    Returns d [..., M, N] of the type of D. Raises InstructionError as `mma` does.

    >>> x = np.full((2, 1000), 0.1, np.float16)
    >>> [float(gemm(f"m16n8k16.{t}.f16.f16.{t}", x, x.T)[0, 0]) for t in ("f32", "f16")]     # exactly 9.99511...
    [9.995081901550293, 9.953125]
    """
    op = tensor_op(name, arch)
    a, b, c = _checked(op, a, b, c)
    of_each = op.k // op.stored                          # columns of A for each that is stored
    if of_each * a.shape[-1] != b.shape[-2]:
        raise InstructionError(f"a is [..., M, K{' / 2' * op.sparse}] and b [..., K, N]: {list(a.shape)} and "
                               f"{list(b.shape)} differ in K")
    nibbles = check_metadata(op, a, metadata)
    missing = -a.shape[-1] % op.stored
    if missing:
        a = np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, missing)])
        b = np.pad(b, [(0, 0)] * (b.ndim - 2) + [(0, of_each * missing), (0, 0)])
        nibbles = filled_up(op, a, nibbles)
    return multiplied(op, rule(name, arch), a, b, c, nibbles)


def multiplied(op: TensorOp, rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray, metadata: np.ndarray | None = None):
    """d of checked operands whose K is a multiple of the instruction's: a and b raw bits, metadata of a sparse A."""
    tile = (a.shape[-2], b.shape[-1])
    try:
        batch = _common(a.shape[:-2], b.shape[:-2], c.shape[:-2])
        c = c if c.shape == batch + tile else np.broadcast_to(c, batch + tile)
    except ValueError:
        raise InstructionError(f"{list(a.shape)} times {list(b.shape)} plus {list(c.shape)}: c does not broadcast to "
                               f"[..., {tile[0]}, {tile[1]}], or the leading axes do not match") from None
    if metadata is None:
        return _of_dense(op, rule, a, b, c)
    return by_rows(op, a, b, c, metadata, lambda dense, *operands: _of_dense(dense, rule, *operands))


def _of_dense(op, rule, a, b, c):
    """`multiplied` of a dense a; c has all axes of the result."""
    if not c.size or not b.shape[-2]:
        return c.copy()
    batch, tile = c.shape[:-2], c.shape[-2:]
    a, b = _chain(a.swapaxes(-1, -2), batch, op.k), _chain(b, batch, op.k)
    return compute(op, rule, a, b, np.ascontiguousarray(c).reshape(-1, *tile)).reshape(c.shape)


def _common(*shapes):
    return shapes[0] if shapes[0] == shapes[1] == shapes[2] else np.broadcast_shapes(*shapes)


def _chain(x, batch, k):
    """[..., K, rows] -> [instructions, k, batch, rows], the batch 1 where x has no leading axes."""
    if x.ndim > 2 and x.shape[:-2] != batch:
        x = np.broadcast_to(x, batch + x.shape[-2:])
    x = x.reshape(-1, *x.shape[-2:]).swapaxes(0, 1)
    return np.ascontiguousarray(x).reshape(-1, k, *x.shape[1:])


def _checked(op, a, b, c) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three operands as arrays that the arithmetic takes; raises InstructionError for a wrong dtype."""
    if c is None or isinstance(c, int) and c == 0:
        c = np.zeros((1, 1), TYPES[op.c].plain)
    a, b, c = _typed(op, "a", a, op.a), _typed(op, "b", b, op.b), _typed(op, "c", c, op.c)
    return a.view(TYPES[op.a].operand), b.view(TYPES[op.b].operand), c


def _typed(op, letter, x, element):
    """An operand in its stored dtype."""
    x, row = np.asarray(x), TYPES[element]
    stored = row.plain
    if x.dtype != stored:
        if x.dtype.name != row.storage or row.in_numpy:
            named = stored if row.in_numpy else f"{stored} or ml_dtypes.{row.storage}"
            raise InstructionError(f"{op.name}: {letter} is {element}, stored as {named}, not {x.dtype}; convert it")
        x = x.view(stored)
    if x.ndim < 2:
        raise InstructionError(f"{op.name}: {letter} is a matrix or a batch of them, not of shape {x.shape}")
    if row.bits >= 8 or not x.size:                      # more room than the values need
        return x
    low, high = row.limits
    if not low <= x.min() <= x.max() <= high:
        raise InstructionError(f"{op.name}: {letter} is {element}: {low} to {high}, not {x.min()} to {x.max()}")
    return x
