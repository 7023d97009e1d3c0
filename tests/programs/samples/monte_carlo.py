"""Pi by throwing points at a square, with Numba's generator xoroshiro128+; blocks sum up their hits in shared memory."""

import hashlib

import numpy as np
from numba import cuda, int32
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

THREADS, BLOCKS, THROWS = 64, 4, 50


@cuda.jit
def throw(states, hits):
    inside = cuda.shared.array(THREADS, int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    count = 0
    for _ in range(THROWS):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x * x + y * y <= 1:
            count += 1
    inside[t] = count
    half = THREADS // 2
    while half:
        cuda.syncthreads()
        if t < half:
            inside[t] += inside[t + half]
        half //= 2
    if t == 0:
        hits[cuda.blockIdx.x] = inside[0]


class Xoroshiro:
    """xoroshiro128+ of many streams, in NumPy, one stream 2**64 steps behind the other."""

    JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)

    def __init__(self, streams, seed):
        z = seed & (2**64 - 1)
        z = (z + 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        z ^= z >> 31
        state, made = (z, z), []
        for _ in range(streams):
            made.append(state)
            state = self.jumped(state)
        self.states = np.array(made, np.uint64).T.copy()

    @staticmethod
    def stepped(a, b):
        b ^= a
        a = ((a << 55 | a >> 9) ^ b ^ (b << 14)) & (2**64 - 1)
        return a, (b << 36 | b >> 28) & (2**64 - 1)

    def jumped(self, state):
        a, b = state
        x = y = 0
        for word in self.JUMP:
            for bit in range(64):
                if word >> bit & 1:
                    x, y = x ^ a, y ^ b
                a, b = self.stepped(a, b)
        return x, y

    def uniform(self):
        """float32 of each stream, in [0, 1)."""
        a, b = self.states
        total = a + b
        b = b ^ a
        u = np.uint64
        self.states = np.array([(a << u(55) | a >> u(9)) ^ b ^ (b << u(14)), b << u(36) | b >> u(28)])
        return ((total >> u(11)) * 2.0**-53).astype(np.float32)


def main():
    states = create_xoroshiro128p_states(THREADS * BLOCKS, seed=7)
    hits = cuda.device_array(BLOCKS, np.int32)
    throw[BLOCKS, THREADS](states, hits)
    found = hits.copy_to_host()
    generator, expected = Xoroshiro(THREADS * BLOCKS, 7), np.zeros(THREADS * BLOCKS, np.int64)
    for _ in range(THROWS):
        x, y = generator.uniform(), generator.uniform()
        expected += x * x + y * y <= 1
    assert (found == expected.reshape(BLOCKS, THREADS).sum(axis=1)).all()
    print("pi is about", 4 * found.sum() / (THREADS * BLOCKS * THROWS))
    print("digest", hashlib.sha256(found.tobytes() + states.copy_to_host().tobytes()).hexdigest())


if __name__ == "__main__":
    main()
