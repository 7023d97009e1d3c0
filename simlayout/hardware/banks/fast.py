"""The bank model in Numba, for very many accesses: equal to `model.checked_wavefronts`, on all cores.

A sorting network brings equal words together, as sorting does in `banks`. Its steps do not depend on the addresses, so
that it orders the lanes of 128 accesses side by side, in vector registers, without a branch. A word that a lane wants is
16 bits wide, with its bank in front: in this order the words of a bank follow each other, and are counted as they come.
The network sorts runs of 8 lanes, merges these into runs of 16, and these into the warp: the lane groups of every
instruction, before and after pair merging.

`analysis` imports this module, and Numba with it, when there is enough to count.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import config

from simlayout.hardware.banks import model
from simlayout.hardware.banks.geometry import geometry
from simlayout.hardware.banks.operands import EVERY, addresses_of, rows_of, signed
from simlayout.jit import jit

_CHUNK = 1 << 14           # accesses that one thread takes at a time
_BLOCK = 128               # accesses side by side
_WORD_BITS = 16
_IDLE = np.uint16(0xFFFF)  # no word of shared memory: `can_count` wants fewer


def can_count(instruction, shared_bytes):
    """Whether `checked_wavefronts` counts an instruction: it has a `geometry`, and words have 16 bits in so much shared
    memory. (So it is for all INSTRUCTIONS of the rule "banks" on all ARCHES.)"""
    small = shared_bytes < model.WORD_BYTES << _WORD_BITS
    return small and not config.DISABLE_JIT and geometry(instruction, shared_bytes) is not None


def checked_wavefronts(instruction, addresses, mask, shared_bytes):
    """As `model.checked_wavefronts`, for what it `can_count`."""
    counts = np.empty((2, len(addresses)), np.int64)
    numbers = geometry(instruction, shared_bytes)

    def count(rows):
        live = rows_of(mask, rows)
        lanes = np.ascontiguousarray(EVERY if live is None else live)
        if not _count(_read_only(signed(addresses[rows])), _read_only(lanes), numbers, *counts[:, rows]):
            return None
        return rows.start + model.first_fault(instruction, addresses_of(addresses[rows], live), shared_bytes)

    parts = model.chunks(len(addresses), _CHUNK)
    if len(parts) == 1:
        return *counts, count(parts[0])
    with ThreadPoolExecutor(config.NUMBA_NUM_THREADS) as threads:
        return *counts, next((fault for fault in threads.map(count, parts) if fault is not None), None)


def _read_only(array):
    """A view: Numba compiles anew for arrays that may be written."""
    view = array.view()
    view.setflags(write=False)
    return view


def _network():
    """Batcher's odd-even merges, {run: comparators}: each makes two sorted runs one, of that length."""
    def merge(start, length, step):
        if 2 * step < length:
            yield from merge(start, length, 2 * step)
            yield from merge(start + step, length, 2 * step)
            yield from ((lane, lane + step) for lane in range(start + step, start + length - step, 2 * step))
        else:
            yield start, start + step

    return {run: [pair for start in range(0, 32, run) for pair in merge(start, run, 1)] for run in (2, 4, 8, 16, 32)}


_RUNS = _network()
_TO_4, _TO_8, _TO_16, _TO_32 = (np.array(pairs, np.uintp)
                                for pairs in (_RUNS[2] + _RUNS[4], _RUNS[8], _RUNS[16], _RUNS[32]))


@jit
def _count(addresses, mask, numbers, wavefronts, ideal):
    """Counts int [n, 32] addresses under bool [n or 1, 32] into int64 [n] results; returns whether one is at fault."""
    n, fault = len(addresses), False
    rows, keys = np.full((_BLOCK, 32), _IDLE), np.empty((32, _BLOCK), np.uint16)
    queues, busy = np.empty((2, _BLOCK), np.uint16), np.empty((2, _BLOCK), np.uint16)
    together = np.zeros(_BLOCK, np.bool_)
    for first in range(0, n, _BLOCK):
        size = min(_BLOCK, n - first)
        fault |= _load(addresses, mask, first, size, numbers, rows)
        for k in range(_BLOCK):
            for lane in range(32):
                keys[lane, k] = rows[k, lane]
        if numbers.paired_span:
            _pair(keys, together)
        _merge(keys, _TO_4)
        if numbers.span > 4:
            _merge(keys, _TO_8)
        if numbers.span > 8:
            _merge(keys, _TO_16)
        if numbers.span > 16:
            _merge(keys, _TO_32)
        _measure(keys, numbers.span, numbers, queues[0], busy[0])
        if together.any():
            _merge(keys, _TO_8 if numbers.span == 4 else _TO_16 if numbers.span == 8 else _TO_32)
            _measure(keys, numbers.paired_span, numbers, queues[1], busy[1])
        for k in range(size):
            way = np.int64(together[k])
            wavefronts[first + k] = numbers.times * np.int64(queues[way, k])
            ideal[first + k] = busy[way, k]
    return fault


@jit
def _load(addresses, mask, first, size, numbers, rows):
    """Fills rows, uint16 [128, 32], with the words of a block, the bank in front; returns whether an address is at fault
    (see `model.first_fault`)."""
    last, shift, bank_bits, seen = numbers.last, numbers.shift, numbers.bank_bits, np.int64(0)
    for k in range(size):
        masked = first + k if len(mask) > 1 else 0
        for lane in range(32):
            address = addresses[first + k, lane]
            word = address >> shift
            key = np.uint16(word << _WORD_BITS - bank_bits | word >> bank_bits)
            rows[k, lane] = key if mask[masked, lane] else _IDLE
            seen |= (address | last - address) if mask[masked, lane] else 0
    return seen < 0 or seen & numbers.low != 0


@jit
def _pair(keys, together):
    """`model.paired` of a block, into bool [128]."""
    together[:] = False
    for step in (1, 2):
        agree = np.ones(_BLOCK, np.bool_)
        for lane in range(32):
            if not lane & step:
                for k in range(_BLOCK):
                    lower, upper = keys[lane, k], keys[lane + step, k]
                    agree[k] &= (lower == upper) | (lower == _IDLE) | (upper == _IDLE)
        together |= agree


@jit
def _merge(keys, comparators):
    """Orders two lanes of every access of the block, for each comparator."""
    for c in range(len(comparators)):
        lower, upper = comparators[c, 0], comparators[c, 1]
        for k in range(_BLOCK):
            x, y = keys[lower, k], keys[upper, k]
            keys[lower, k] = min(x, y)
            keys[upper, k] = max(x, y)


@jit
def _measure(keys, span, numbers, queues, busy):
    """Of sorted groups of `span` lanes: the sum of their longest queues, and how many have one; uint16 [128] each."""
    line_bits, every = _WORD_BITS - numbers.bank_bits, not numbers.merges
    queue, longest = np.empty(_BLOCK, np.uint16), np.empty(_BLOCK, np.uint16)
    queues[:], busy[:] = 0, 0
    for start in range(0, numbers.used, span):
        for k in range(_BLOCK):
            queue[k] = longest[k] = keys[start, k] != _IDLE
        for lane in range(start + 1, start + span):
            for k in range(_BLOCK):
                before, key = keys[lane - 1, k], keys[lane, k]
                another = np.uint16((key != _IDLE) & (every | (key != before)))
                waiting = queue[k] if key >> line_bits == before >> line_bits else np.uint16(0)
                queue[k] = np.uint16(waiting + another)
                longest[k] = max(longest[k], queue[k])
        for k in range(_BLOCK):
            queues[k] += longest[k]
            busy[k] += longest[k] > 0
