"""Where a word stands in a text of bytes: each block brings its part of the text to shared memory."""

import hashlib

import numpy as np
from numba import cuda, uint8

BLOCK, MOST = 128, 16
ROOM = BLOCK + MOST


@cuda.jit("void(uint8[:], uint8[:], bool_[:], int64[:])")
def find(text, word, found, count):
    part = cuda.shared.array(ROOM, uint8)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < text.size:
        part[t] = text[i]
    if t < word.size and i + BLOCK < text.size:
        part[BLOCK + t] = text[i + BLOCK]
    cuda.syncthreads()
    here = i + word.size <= text.size
    if here:
        for k in range(word.size):
            if part[t + k] != word[k]:
                here = False
                break
    if i < text.size:
        found[i] = here
    if here:
        cuda.atomic.add(count, 0, 1)


def main():
    rng = np.random.default_rng(9)
    text, word = rng.choice(list(b"ab"), 2000).astype(np.uint8), np.frombuffer(b"abbab", np.uint8)
    found, count = np.zeros(text.size, bool), np.zeros(1, np.int64)
    find[-(-text.size // BLOCK), BLOCK](text, word.copy(), found, count)
    whole, at, expected = text.tobytes(), -1, []
    while (at := whole.find(word.tobytes(), at + 1)) >= 0:
        expected.append(at)
    assert np.flatnonzero(found).tolist() == expected and count[0] == len(expected) > 0
    print("digest", hashlib.sha256(found.tobytes() + count.tobytes()).hexdigest())


if __name__ == "__main__":
    main()
