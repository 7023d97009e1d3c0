"""The kernel of `sweep`: a warp counts the wavefronts of one access after another.

A lane holds the word that it wants. A match tells it which lanes of its group want the same word, and so whether it is the
first of them; another match which of the first lanes share its bank, and these are the queue there. Exchanges between lanes
then find the longest queue of every group, and add these up.

`count` is ordinary Python over a handful of words. Each has two meanings side by side: its twin, with which
`simlayout.machine` runs the kernel where there is no GPU, and what `bound` puts in its place for Numba.
"""

from dataclasses import dataclass

import numpy as np

from simlayout.hardware.tables.arch import LANES

ALL = 0xFFFFFFFF
_LANE = np.arange(LANES)


@dataclass(frozen=True)
class Word:
    """What the kernel calls by a name. twin: its meaning on the CPU machine, for 32 lanes; gpu: given the module numba.cuda,
    the function that Numba compiles for it; converged: whether all lanes of the warp must execute it together."""

    name: str
    twin: object
    gpu: object
    converged: bool = False


def _word(gpu, converged=False):
    return lambda twin: Word(twin.__name__, twin, gpu, converged)


@_word(lambda cuda: lambda: cuda.grid(1))
def thread(warp):
    """The thread's index in the grid."""
    return warp.index[0] * warp.block[0] + warp.tid


@_word(lambda cuda: lambda: cuda.gridsize(1))
def threads(warp):
    """How many threads the grid has."""
    return warp.grid[0] * warp.block[0]


@_word(lambda cuda: lambda array, index: np.int64(array[index]))
def integer(warp, array, index):
    """An element of an array of integers (on the machine of int64)."""
    return (array + 8 * index).read(warp.active, 8).view(np.int64)[:, 0]


@_word(lambda cuda: lambda array, index: array[index])
def truth(warp, array, index):
    """An element of an array of bools."""
    return (array + index).read(warp.active, 1)[:, 0] != 0


def _store(array, index, value):
    array[index] = value


@_word(lambda cuda: _store)
def put(warp, array, index, value):
    """Stores an element of an array of int64."""
    (array + 8 * index).write(warp.active, _of_lanes(value).astype(np.int64).reshape(LANES, 1).view(np.uint8))


@_word(lambda cuda: lambda array, value: cuda.atomic.min(array, 0, value))
def least(warp, array, value):
    """Makes the first element of an array of int64 the value, if that is less."""
    for lane in np.flatnonzero(warp.active):
        alone = _LANE == lane
        held = array.read(alone, 8, strong=True).view(np.int64)[lane, 0]
        array.write(alone, np.full((LANES, 1), min(held, _of_lanes(value)[lane])).view(np.uint8), strong=True)


@_word(lambda cuda: lambda value: np.int64(np.uint32(cuda.match_any_sync(ALL, np.int32(value)))), converged=True)
def alike(warp, value):
    """The lanes that hold the same value, bit l for lane l."""
    return _bits(_of_lanes(value)[:, None] == _of_lanes(value))


@_word(lambda cuda: lambda lanes: np.int64(np.uint32(cuda.ballot_sync(ALL, lanes))), converged=True)
def vote(warp, lanes):
    """The lanes where it is so, bit l for lane l; the same in all lanes."""
    return int(_bits(_of_lanes(lanes)))


@_word(lambda cuda: lambda value, step: np.int64(cuda.shfl_xor_sync(ALL, np.int32(value), step)), converged=True)
def across(warp, value, step):
    """The value of lane ^ step."""
    return _of_lanes(value)[_LANE ^ step]


@_word(lambda cuda: lambda bits: np.int64(cuda.popc(np.uint32(bits))))
def ones(warp, bits):
    """How many bits are set."""
    return np.bitwise_count(np.asarray(bits)).astype(np.int64)


def _of_lanes(value):
    return np.broadcast_to(np.asarray(value), LANES)


def _bits(lanes):
    """bool [..., 32] -> int64 [...]."""
    return (lanes.astype(np.int64) << _LANE).sum(axis=-1)


WORDS = thread, threads, integer, truth, put, least, alike, vote, across, ones
"""The words of the kernel, in the order in which `make_count` takes them."""


def make_count(thread, threads, integer, truth, put, least, alike, vote, across, ones):
    """The kernel in these words: the Words themselves for the CPU machine, or what Numba compiles in their place."""
    def count(addresses, mask, mask_step, n, last, low, shift, bank_bits, span, paired_span, used, merges, times, wavefronts,
              ideal, fault):
        """Counts n accesses.

        addresses: ints [32 n], bytes; mask: bool, the lanes of access i from mask_step * i on; last to times: the numbers
        of a `geometry.Geometry`. wavefronts, ideal: int64 [n]; fault: int64 [1], becomes the first access with a wrong
        address, if that is less.
        """
        lane = thread() % 32
        access = thread() // 32
        while access < n:
            address = integer(addresses, 32 * access + lane)
            live = lane < used and truth(mask, mask_step * access + lane)
            wrong = address | (last - address)
            if live and (wrong < 0 or wrong & low != 0):
                least(fault, access)
            word = address >> shift if live else -1

            reach = span
            if paired_span > 0:
                if vote((word ^ across(word, 1)) <= 0) == ALL or vote((word ^ across(word, 2)) <= 0) == ALL:
                    reach = paired_span                      # `model.paired`
            mates = ((1 << reach) - 1) << (lane - lane % reach)
            before = alike(word) & mates & ((1 << lane) - 1)
            first = live and (before == 0 or not merges)
            queue = ones(alike(word & (1 << bank_bits) - 1 if live else -1) & mates & vote(first))

            step = 1
            while step < reach:
                queue = max(queue, across(queue, step))
                step *= 2
            busy = 1 if queue > 0 else 0
            while step < 32:
                queue += across(queue, step)
                busy += across(busy, step)
                step *= 2
            if lane == 0:
                put(wavefronts, access, times * queue)
                put(ideal, access, busy)
            access += threads() // 32

    return count


count = make_count(*WORDS)


def bound():
    """`count` in the words of Numba, a function for numba.cuda.jit and numba.cuda.compile_ptx."""
    from numba import cuda

    device = cuda.jit(device=True, inline="always")
    return make_count(*(device(word.gpu(cuda)) for word in WORDS))
