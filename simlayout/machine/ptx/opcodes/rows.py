"""Registers of a warp as rows of 64 bits a lane, and the arithmetic that is done on whole rows.

A row is uint64 [32]: the raw bits of a register in every lane, zero above its width; a predicate is 0 or 1. What an
instruction takes and gives are carriers of its types (`simlayout.machine.arithmetic.primitives`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from simlayout.machine.arithmetic.carriers import width_of

_SIGNED = {"s8": (np.int8, 8), "s16": (np.int16, 4), "s32": (np.int32, 2)}
_MASKS = {bits: np.uint64((1 << bits) - 1) for bits in (1, 8, 16, 32)}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operand is: a row, read or written as a type; held: the bits of the register there; negated: of a predicate.
    A result of row None is not wanted."""

    row: int | None
    type: str
    held: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Lanewise:
    """An instruction that computes in each lane for itself: name: as `lane_op` knows it; function: of carriers."""

    name: str
    function: Callable
    results: tuple[Place, ...]
    sources: tuple[Place, ...]


def same(value):
    """A value as it is."""
    return value


@lru_cache(None)
def reader(place: Place) -> Callable[[np.ndarray], np.ndarray]:
    """What makes a carrier of the row of a source. Rows are views where they can be.

    >>> row = np.full(32, 0xFFFFFFFE, np.uint64)
    >>> [int(reader(Place(0, type, 32))(row)[0]) for type in ("s32", "u32", "u8")]
    [-2, 4294967294, 254]
    """
    type = place.type
    if place.negated:
        return lambda row: row ^ np.uint64(1)
    if type == "f32":
        return lambda row: row.view(np.float32)[::2]
    if type == "f64":
        return lambda row: row.view(np.float64)
    if type == "s64":
        return lambda row: row.view(np.int64)
    if type in _SIGNED:
        dtype, step = _SIGNED[type]
        return lambda row: row.view(dtype)[::step].astype(np.int64)
    if place.held > width_of(type):
        mask = _MASKS[width_of(type)]
        return lambda row: row & mask
    return same


@lru_cache(None)
def writer(place: Place) -> Callable[[np.ndarray], np.ndarray]:
    """What makes the bits of a row (unsigned integers) of the carrier of a result: as many as the register has, so that a
    signed number is extended with its sign (PTX ISA, Operand Size Exceeding Instruction-Type Size).

    >>> hex(int(writer(Place(0, "s8", 32))(np.full(32, -2, np.int64))[0]))
    '0xfffffffe'
    """
    if place.type == "f32":
        return lambda value: np.ascontiguousarray(value, np.float32).view(np.uint32)
    if place.type == "f64":
        return lambda value: np.ascontiguousarray(value, np.float64).view(np.uint64)
    mask = _MASKS.get(place.held)
    if place.held == 1:
        return lambda value: np.asarray(value) != 0
    if mask is None:
        return lambda value: value if value.dtype == np.uint64 else value.astype(np.int64).view(np.uint64)
    return lambda value: (value if value.dtype == np.uint64 else value.astype(np.int64).view(np.uint64)) & mask


def in_numpy(lanewise: Lanewise) -> Callable[[np.ndarray, np.ndarray | None], None]:
    """What executes a Lanewise: called with rows and a mask, bool [32] (None: all lanes)."""
    function = lanewise.function
    sources = [(place.row, reader(place)) for place in lanewise.sources]
    results = [(place.row, writer(place)) for place in lanewise.results]
    if len(results) > 1:
        return _several(function, results, sources)
    (target, bits), = results
    if target is None:
        return lambda rows, mask: None
    if len(sources) == 1:
        (a, read_a), = sources
        return lambda rows, mask: put(rows[target], bits(function(read_a(rows[a]))), mask)
    if len(sources) == 2:
        (a, read_a), (b, read_b) = sources
        return lambda rows, mask: put(rows[target], bits(function(read_a(rows[a]), read_b(rows[b]))), mask)
    return lambda rows, mask: put(rows[target], bits(function(*[read(rows[row]) for row, read in sources])), mask)


def _several(function, results, sources):
    def run(rows, mask):
        values = function(*[read(rows[row]) for row, read in sources])
        for target, now in [(target, bits(value)) for (target, bits), value in zip(results, values)]:
            if target is not None:
                put(rows[target], now, mask)

    return run


def put(row: np.ndarray, bits: np.ndarray, mask: np.ndarray | None) -> None:
    """Writes unsigned integers [32] to a row where a mask, bool [32], is true; everywhere if it is None."""
    if mask is None:
        row[:] = bits
    else:
        np.copyto(row, bits, where=mask, casting="unsafe")
