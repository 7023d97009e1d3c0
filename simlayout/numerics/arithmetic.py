"""A chain of equal instructions over a batch of tiles, by kind of Rule, in blocks that stay in the cache.

Everywhere here a is [S, k, B, M] and b is [S, k, B, N] for S instructions of k products each, c and d are [B, M, N]; the
batch axis of a or b may be 1. a and b are raw bits (unsigned integers), or float64; c and d are numbers.
"""

from functools import lru_cache
from itertools import product
from time import perf_counter

import numpy as np

from simlayout.hardware.tables.tensor_ops import TensorOp
from simlayout.numerics.fma import fma
from simlayout.numerics.formats import exact
from simlayout.numerics.fused import NAN, fused_step, operand
from simlayout.numerics.rules import Rule

PRODUCTS, COLUMNS = 1 << 17, 512
"""Products of a step, and columns, that a block has at most: 1.3 MB with exponents and integers."""


PATIENCE = 0.5
"""Seconds that NumPy computes in a process before Numba is loaded, which takes about as long once its cache is filled."""

_spent = 0.0


def compute(op: TensorOp, rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """d of a TensorOp under its Rule; repeated for every instruction of the chain, in order."""
    functions = compiled_functions()
    return (functions.compute if functions else by_numpy)(op, rule, a, b, c)


def compiled_functions():
    """The module `compiled` once it pays, if Numba is installed; else None. Both compute the same bits."""
    return _compiled() if _spent > PATIENCE else None


@lru_cache(None)
def _compiled():
    try:
        from numba import config

        from simlayout.numerics import compiled
    except ImportError:                                  # no Numba here, or one that this NumPy is too new for
        return None
    return None if config.DISABLE_JIT else compiled


def by_numpy(op: TensorOp, rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`compute` without Numba: what defines the result."""
    global _spent
    began = perf_counter()
    with np.errstate(all="ignore"):
        d = _KINDS[rule.kind](op, rule, a, b, c)
    _spent += perf_counter() - began
    return d


def _fused(op, rule, a, b, c):
    step = fused_step(op.a, op.d, rule.fraction_bits, rule.kept_bits)
    steps = len(a) * op.k // rule.step
    a = operand(op.a, a.reshape(steps, rule.step, *a.shape[2:]))
    b = operand(op.b, b.reshape(steps, rule.step, *b.shape[2:]))

    def block(c, batch_a, batch_b, rows, cols):
        room = step.room((rule.step, *c.shape))
        for i in range(steps):
            c = step(a.part((i, slice(None), batch_a, rows)), b.part((i, slice(None), batch_b, cols)), c, room)
        return c

    return _by_blocks(block, rule.step, a, b, c)


def _through_f16(op, rule, a, b, c):
    step = fused_step("f16", op.d, rule.fraction_bits, rule.kept_bits)
    a_parts, b_parts = ([operand("f16", part) for part in _split(_as_f16(element).take(x))]
                        for element, x in ((op.a, a), (op.b, b)))

    def block(c, batch_a, batch_b, rows, cols):
        room = step.room((op.k // 2, *c.shape))
        for i in range(len(a)):
            total = np.zeros_like(c)
            for a_part, b_part in zip(a_parts, b_parts):
                total = step(a_part.part((i, slice(None), batch_a, rows)), b_part.part((i, slice(None), batch_b, cols)),
                             total, room)
            c = total + c
            c.view(NAN[op.d].dtype)[np.isnan(c)] = NAN[op.d]
        return c

    return _by_blocks(block, op.k // 2, a_parts[0], b_parts[0], c)


def _split(x):
    """[S, k, ...] -> the same of the k with k % 4 < 2, and of the others."""
    pairs = x.reshape(len(x), -1, 2, 2, *x.shape[2:])
    return [pairs[:, :, i].reshape(len(x), -1, *x.shape[2:]) for i in (0, 1)]


@lru_cache(None)
def _as_f16(name):
    """The f16 bits of every 8-bit float."""
    return exact(name, np.arange(256)).astype(np.float16).view(np.uint16)


def _by_blocks(block, k, a, b, c):
    """d of block(c's part, batch of a, batch of b, rows, columns), for parts of at most PRODUCTS products."""
    batch, rows, cols = c.shape
    if k * c.size <= PRODUCTS:
        return block(c, *[slice(None)] * 4)
    wide = min(cols, max(PRODUCTS // k, 1), COLUMNS)
    high = min(rows, max(PRODUCTS // (k * wide), 1))
    deep = min(batch, max(PRODUCTS // (k * wide * high), 1))
    d = np.empty_like(c)
    for place in product(_cuts(batch, deep), _cuts(rows, high), _cuts(cols, wide)):
        along = [place[0] if x.bits.shape[2] > 1 else slice(None) for x in (a, b)]
        d[place] = block(c[place], *along, *place[1:])
    return d


def _cuts(size, width):
    return [slice(i, i + width) for i in range(0, size, width)]


def _numbers(bits, element):
    """Raw bits of integers as float64; of s4 only the low four count."""
    if element == "s4":
        bits = (bits & 15 ^ 8) - np.uint8(8)
    return bits.view(np.int8 if element in ("s8", "s4") else np.uint8).astype(np.float64)


def _integer(op, rule, a, b, c):
    low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    for left, right in zip(a, b):
        left, right = _numbers(left, op.a).transpose(1, 2, 0), _numbers(right, op.b).transpose(1, 0, 2)
        total = np.matmul(left, right)
        if op.suffix == ".xor.popc":
            total = left.sum(axis=2, keepdims=True) + right.sum(axis=1, keepdims=True) - 2 * total
        total = total.astype(np.int64) + c
        c = (np.clip(total, low, high) if op.suffix == ".satfinite" else total).astype(np.int32)
    return c


def _fma(op, rule, a, b, c):
    for left, right in zip(a.reshape(-1, *a.shape[2:]), b.reshape(-1, *b.shape[2:])):
        left, right = np.broadcast_arrays(left[:, :, None], right[:, None, :])
        c = fma(np.broadcast_to(left, c.shape), np.broadcast_to(right, c.shape), c)
    return c


_KINDS = {"fused": _fused, "through f16": _through_f16, "integer": _integer, "fma": _fma}
