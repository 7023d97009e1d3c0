"""Tensor-core arithmetic compiled with Numba: `compute` as of `arithmetic`, and of the registers of warps.

Here the functions of `loops` get their arguments: where every element lies, and the numbers of the instruction and its Rule.
`arithmetic` imports this module, and Numba with it, when NumPy has worked for a while.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.hardware.tables.tensor_ops import TensorOp
from simlayout.numerics.formats import FORMATS, TF32_MASK
from simlayout.numerics.loops import fma, fused, integer
from simlayout.numerics.rules import Rule

_KINDS = {"fused": fused, "through f16": fused, "integer": integer, "fma": fma}

NUMBERS = np.dtype([(name, np.int64) for name in (
    "rows", "columns",                                   # of the loops
    "k", "steps",                                        # products of one sum; sums of one result
    "a_bits", "b_bits",                                  # of an element as it lies there
    "a_tile", "b_tile", "c_tile", "d_tile",              # from one tile of the batch to the next, in elements
    "half", "apart",                                     # whether D is f16; whether c is added after two steps
    "fraction_bits", "kept_bits",                        # of the Rule
    "exclusive", "saturates")])                          # .xor.popc, .satfinite

FORM = np.dtype([(name, np.int64) for name in (
    "exponent", "fraction", "infinities", "least", "dropped",    # of floats: see `Format`; smallest exponent; bits not read
    "bits", "sign")])                                            # of integers: the bit of the sign, or 0


@dataclass(frozen=True, eq=False)
class Places:
    """Where the elements of an operand lie: at tile * (index in the batch) + first[i] + second[j] elements of `bits` bits.

    first, second: int64, of k and rows for A, of k and columns for B, of rows and columns for C and D.
    """

    tile: int
    first: np.ndarray
    second: np.ndarray
    bits: int


@dataclass(frozen=True, eq=False)
class Program:
    """What a chain of equal instructions is to the loops.

    a, b, c, d: the Places of the operands; instructions: how many the chain has. The longer of M and N is innermost: if that
    is M, D is computed as its transpose, unless it is of f64.
    """

    op: TensorOp
    rule: Rule
    a: Places
    b: Places
    c: Places
    d: Places
    instructions: int = 1

    def run(self, batch, a, b, c, d):
        """Fills d. All are contiguous uint32, those of a, b and c read-only (Numba compiles anew for others)."""
        first, second = (b, a) if self._turned else (a, b)
        _KINDS[self.rule.kind](batch, first, second, c, d, *self.arguments)

    @cached_property
    def arguments(self):
        """What says to a function of `loops` how it is done: offsets, numbers, and the forms of the elements."""
        return self._offsets, self._numbers, *self._forms

    @cached_property
    def _turned(self):
        return self.rule.kind != "fma" and len(self.b.second) < len(self.a.second)   # an fma prefers a NaN of a to one of b

    @cached_property
    def _offsets(self):
        a, b, c, d = ((x.first, x.second) for x in (self.a, self.b, self.c, self.d))
        if self.rule.kind == "through f16":              # the k of the first sum, then those of the second
            order = np.arange(len(a[0])).reshape(self.instructions, -1, 2, 2).swapaxes(1, 2).reshape(-1)
            a, b = (a[0][order], a[1]), (b[0][order], b[1])
        if self._turned:
            a, b, c, d = b, a, c[::-1], d[::-1]
        return np.concatenate([a[0], b[0], a[1], b[1], *c, *d]).astype(np.int64)

    @cached_property
    def _forms(self):
        forms = [_form(element, self.rule.kind == "through f16") for element in (self.op.a, self.op.b)]
        return forms[::-1] if self._turned else forms

    @cached_property
    def _numbers(self):
        op, rule = self.op, self.rule
        a, b = (self.b, self.a) if self._turned else (self.a, self.b)
        apart = rule.kind == "through f16"
        k = op.k // 2 if apart else rule.step
        return np.array([(len(a.second), len(b.second), k, len(a.first) // k, a.bits, b.bits, a.tile, b.tile,
                          self.c.tile, self.d.tile, op.d == "f16", apart, rule.fraction_bits or 0, rule.kept_bits or 0,
                          op.suffix == ".xor.popc", op.suffix == ".satfinite")], NUMBERS)


@lru_cache(None)
def _form(element, through_f16):
    """The form of an element, as an array [1]. Through f16 numbers have the exponents that they have as f16."""
    form, row = FORMATS.get(element), TYPES[element]
    if form is None:
        signed = row.limits is not None and row.limits[0] < 0
        return np.array([(0, 0, 0, 0, 0, row.bits, 1 << row.bits - 1 if signed else 0)], FORM)
    least = TYPES["f16"].bias if through_f16 else row.bias
    dropped = int(~TF32_MASK) if element == "tf32" else 0
    return np.array([(form.exponent, form.fraction, form.specials == "ieee", 1 - least, dropped, 0, 0)], FORM)


def compute(op: TensorOp, rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """d of a TensorOp under its Rule, of operands as `arithmetic` has them: a [S, k, B, M], b [S, k, B, N], c [B, M, N]."""
    d = np.empty(-(-c.nbytes // 4), np.uint32)
    program = _matrices(op, rule, a.shape, b.shape, c.shape[0], *(8 * x.itemsize for x in (a, b, c)))
    program.run(c.shape[0], _words(a), _words(b), _words(c), d)
    return d.view(c.dtype)[:c.size].reshape(c.shape)


@lru_cache(64)
def _matrices(op, rule, a, b, batch, a_bits, b_bits, c_bits):
    """The Program of matrices of such shapes, each contiguous."""
    m, n = a[-1], b[-1]
    c = Places(m * n, n * np.arange(m), np.arange(n), c_bits)
    return Program(op, rule, _matrix(a, a_bits), _matrix(b, b_bits), c, c, a[0])


def _matrix(shape, bits):
    """The Places of an operand [S, k, B or 1, rows]."""
    chain, k, batch, rows = shape
    return Places(rows if batch > 1 else 0, batch * rows * np.arange(chain * k), np.arange(rows), bits)


def _words(x):
    """The bytes of an array as uint32 that cannot be written, with zeros behind them where four of them are not full."""
    flat = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    if flat.size % 4:
        flat = np.pad(flat, (0, -flat.size % 4))
    words = flat.view(np.uint32)
    if not words.flags.aligned:
        words = words.copy()
    words.flags.writeable = False
    return words
