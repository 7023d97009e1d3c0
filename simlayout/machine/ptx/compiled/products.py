"""mma as the compiled loop executes it: by the address of a function, compiled when a program has one of its kind."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numba import carray, from_dtype, types

from simlayout.hardware.tables.arch import LANES
from simlayout.jit import address_in_process, jit, within
from simlayout.machine.ptx.compiled.pointers import behind, i64s, pointer_to, u64s
from simlayout.machine.ptx.memory.held import address_of
from simlayout.numerics import compiled, loops
from simlayout.numerics.warps import WarpMma

numbers_at, form_at = (pointer_to(from_dtype(dtype)) for dtype in (compiled.NUMBERS, compiled.FORM))

WORDS, SOURCES, RESULTS, OFFSETS, MANY, NUMBERS, FORM_A, FORM_B, ROWS = range(9)
"""What says how a product is made, int64: words of 32 bits of a register, how many registers it reads and writes, where in
this process the arguments of `loops` are, and how many offsets there are; from ROWS on the rows of the registers of A, B, C
and D."""


@jit
def fused(rows, what):
    """Makes the registers of D, of a product of the kind "fused" or "through f16". rows, what: where these are."""
    of = i64s(what)
    words, results = _taken(rows, of)
    loops.fused(1, words, words, words, results, *_arguments(of))
    _give(rows, of, results)


@jit
def integer(rows, what):
    """The same of the kind "integer"."""
    of = i64s(what)
    words, results = _taken(rows, of)
    loops.integer(1, words, words, words, results, *_arguments(of))
    _give(rows, of, results)


@jit
def fma(rows, what):
    """The same of the kind "fma"."""
    of = i64s(what)
    words, results = _taken(rows, of)
    loops.fma(1, words, words, words, results, *_arguments(of))
    _give(rows, of, results)


@within
def _arguments(of):
    return (carray(i64s(of[OFFSETS]), of[MANY]), carray(numbers_at(of[NUMBERS]), 1), carray(form_at(of[FORM_A]), 1),
            carray(form_at(of[FORM_B]), 1))


@within
def _taken(rows, of):
    """(the words of the registers that a product reads, room for those that it writes)."""
    n = of[WORDS]
    words = np.empty(LANES * n * of[SOURCES], np.uint32)
    for r in range(of[SOURCES]):
        row = behind(u64s(rows), LANES * of[ROWS + r])
        for i in range(LANES):
            for k in range(n):
                words[n * (LANES * r + i) + k] = np.uint32(row[i] >> np.uint64(32 * k))
    return words, np.empty(LANES * n * of[RESULTS], np.uint32)


@within
def _give(rows, of, results):
    n = of[WORDS]
    for r in range(of[RESULTS]):
        row = behind(u64s(rows), LANES * of[ROWS + of[SOURCES] + r])
        for i in range(LANES):
            value = np.uint64(0)
            for k in range(n):
                value |= np.uint64(results[n * (LANES * r + i) + k]) << np.uint64(32 * k)
            row[i] = value


_KINDS = {"fused": fused, "through f16": fused, "integer": integer, "fma": fma}


@cache
def _address(kind):
    """Where in this process the function of a kind is."""
    return address_in_process(_KINDS[kind], (types.int64, types.int64))


def made(mma: WarpMma, registers: Sequence[int]) -> tuple[int, np.ndarray]:
    """(where the function of a product is, what it is called with beside the registers, int64). registers: the rows of those
    of A, of B, of C, and of D."""
    offsets, numbers, *forms = mma.arguments
    sources = sum(mma.registers[:3])
    what = [mma.word.itemsize // 4, sources, len(registers) - sources, address_of(offsets), len(offsets),
            address_of(numbers), *map(address_of, forms), *registers]
    return _address(mma.rule.kind), np.array(what, np.int64)
