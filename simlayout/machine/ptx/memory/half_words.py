"""Atomics of 16 bits in shared memory: what ptxas makes of them is counted.

There is no such instruction: add.noftz.f16, add.noftz.bf16 and cas.b16 become one load of the 32-bit word and a loop of
ATOMS.CAS on it, in which those lanes go on that found another word than they expected (ptxas 13.0 for sm_90a). So each
counts as `ld.shared.b32` once, and as `atom.shared.cas.b32` in every round. Lanes of one word are taken to be served in
their order, and other warps to stay away: where lanes or warps share a word, a GPU may need other rounds. Not measured.
"""

from collections.abc import Iterator

import numpy as np

LOAD, EXCHANGE = "ld.shared.b32", "atom.shared.cas.b32"
_HALF = 0xFFFF


def rounds(where: np.ndarray, active: np.ndarray, words: np.ndarray, update, values: list[np.ndarray]
           ) -> Iterator[np.ndarray]:
    """bool [32] of each round: the lanes that exchange.

    where: int64 [32], addresses; words: uint32 [32], what the word of each lane holds before; update: an `atoms.Update` of
    16 bits; values: its operands, uint64 [32, 1].
    """
    lanes = np.flatnonzero(active).tolist()
    place = {lane: (int(where[lane]) // 4, 8 * (int(where[lane]) % 4)) for lane in lanes}
    held = {place[lane][0]: int(words[lane]) for lane in lanes}
    expected = {lane: held[place[lane][0]] for lane in lanes}
    while lanes:
        pending = np.zeros(len(where), bool)
        pending[lanes] = True
        yield pending
        again = []
        for lane in lanes:
            word, shift = place[lane]
            wanted, new, matters = _exchange(expected[lane], shift, update, [value[lane:lane + 1] for value in values])
            found = held[word]
            if found == wanted:
                held[word] = new
            if (found ^ wanted) & matters:
                expected[lane] = found
                again.append(lane)
        lanes = again


def _exchange(expected, shift, update, values):
    """(the word that the exchange wants to find, the one it leaves, the bits that send the lane round again)."""
    others = ~(_HALF << shift) & 0xFFFFFFFF
    if update.operation == "cas":
        compared, swapped = (int(value[0, 0]) & _HALF for value in values)
        return expected & others | compared << shift, expected & others | swapped << shift, others
    own = np.array([[expected >> shift & _HALF]], np.uint64)
    made = int(update(own, values)[0, 0])
    return expected, expected & others | made << shift, 0xFFFFFFFF
