"""Kernels as Numba users write them, for `simulators`. In the module itself, because Numba's simulator puts its own `cuda`
into the globals of a kernel."""

from numba import cuda, float32

TILE, PADDED, DEPTH, STEP, BLOCK = 32, 33, 8, 16, 256


def transpose(a, out):
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    bx, by = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for j in range(0, TILE, DEPTH):
        tile[ty + j, tx] = a[by + ty + j, bx + tx]
    cuda.syncthreads()
    for j in range(0, TILE, DEPTH):
        out[bx + ty + j, by + tx] = tile[tx, ty + j]


def sgemm(a, b, c):
    a_tile, b_tile = cuda.shared.array((STEP, STEP), float32), cuda.shared.array((STEP, STEP), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * STEP + tx, cuda.blockIdx.y * STEP + ty
    total = float32(0)
    for k in range(a.shape[1] // STEP):
        a_tile[ty, tx] = a[y, k * STEP + tx]
        b_tile[ty, tx] = b[k * STEP + ty, x]
        cuda.syncthreads()
        for i in range(STEP):
            total += a_tile[ty, i] * b_tile[i, tx]
        cuda.syncthreads()
    c[y, x] = total


def reduction(values, sums):
    partial = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 2 * BLOCK + t
    partial[t] = values[i] + values[i + BLOCK]
    cuda.syncthreads()
    n = BLOCK // 2
    while n > 0:
        if t < n:
            partial[t] += partial[t + n]
        cuda.syncthreads()
        n //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = partial[0]
