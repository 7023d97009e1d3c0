"""Matrix multiplication with tiles in shared memory, as in Numba's documentation."""

import hashlib

import numpy as np
from numba import cuda, float32

TPB = 32
SIZE = 64


@cuda.jit
def fast_matmul(A, B, C):
    # The size and type of the arrays must be known at compile time
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)

    x, y = cuda.grid(2)

    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = cuda.gridDim.x    # blocks per grid

    if x >= C.shape[0] and y >= C.shape[1]:
        return

    tmp = float32(0)
    for i in range(bpg):
        sA[tx, ty] = A[x, ty + i * TPB]
        sB[tx, ty] = B[tx + i * TPB, y]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[tx, j] * sB[j, ty]
        cuda.syncthreads()

    C[x, y] = tmp


def main():
    rng = np.random.default_rng(4)
    a, b = rng.random((SIZE, SIZE), np.float32), rng.random((SIZE, SIZE), np.float32)
    c = cuda.device_array((SIZE, SIZE), np.float32)
    fast_matmul[(SIZE // TPB, SIZE // TPB), (TPB, TPB)](cuda.to_device(a), cuda.to_device(b), c)
    found = c.copy_to_host()
    np.testing.assert_allclose(found, a @ b, rtol=1e-5)
    print("digest", hashlib.sha256(found.tobytes()).hexdigest())


if __name__ == "__main__":
    main()
