"""Prefix sums after Blelloch: up and down a tree in shared memory, then the sums of the blocks added."""

import hashlib

import numpy as np
from numba import cuda, int32

BLOCK = 256                 # elements of a block, two of each thread
COUNT = 1024


@cuda.jit
def scan(values, sums, totals):
    temp = cuda.shared.array(BLOCK, int32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * BLOCK
    temp[2 * t] = values[first + 2 * t]
    temp[2 * t + 1] = values[first + 2 * t + 1]
    offset, d = 1, BLOCK // 2
    while d:
        cuda.syncthreads()
        if t < d:
            ai = offset * (2 * t + 1) - 1
            bi = offset * (2 * t + 2) - 1
            temp[bi] += temp[ai]
        offset *= 2
        d //= 2
    if t == 0:
        totals[cuda.blockIdx.x] = temp[BLOCK - 1]
        temp[BLOCK - 1] = 0
    d = 1
    while d < BLOCK:
        offset //= 2
        cuda.syncthreads()
        if t < d:
            ai = offset * (2 * t + 1) - 1
            bi = offset * (2 * t + 2) - 1
            left = temp[ai]
            temp[ai] = temp[bi]
            temp[bi] += left
        d *= 2
    cuda.syncthreads()
    sums[first + 2 * t] = temp[2 * t]
    sums[first + 2 * t + 1] = temp[2 * t + 1]


@cuda.jit
def add(sums, before):
    i = cuda.grid(1)
    sums[i] += before[i // BLOCK]


def main():
    values = np.random.default_rng(8).integers(-100, 100, COUNT).astype(np.int32)
    blocks = COUNT // BLOCK
    sums, totals = cuda.device_array(COUNT, np.int32), cuda.device_array(blocks, np.int32)
    scan[blocks, BLOCK // 2](cuda.to_device(values), sums, totals)
    before = np.cumsum(totals.copy_to_host()) - totals.copy_to_host()
    add[blocks, BLOCK](sums, cuda.to_device(before.astype(np.int32)))
    found = sums.copy_to_host()
    assert (found == np.cumsum(values) - values).all()
    print("digest", hashlib.sha256(found.tobytes()).hexdigest())


if __name__ == "__main__":
    main()
