"""The kernels of kernels.py, mended."""

from numba import cuda, float32, int32

TILE = 32
PITCH = 33                                               # elements from row to row: a column lies in 32 banks


@cuda.jit
def transpose(a, out):
    """out = a.T, by tiles."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if row + y < a.shape[0] and column + x < a.shape[1]:
        tile[y, x] = a[row + y, column + x]
    cuda.syncthreads()
    if column + y < a.shape[1] and row + x < a.shape[0]:
        out[column + y, row + x] = tile[x, y]


@cuda.jit
def block_sums(a, out):
    """out[i] = the sum of the 256 elements of block i."""
    part = cuda.shared.array(256, int32)
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    part[thread] = a[i] if i < a.size else 0
    cuda.syncthreads()
    step = 128
    while step > 0:
        if thread < step:
            part[thread] += part[thread + step]
        cuda.syncthreads()
        step //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = part[0]


@cuda.jit
def smooth(a, out):
    """out[i] = the mean of a[i - 1], a[i] and a[i + 1], of which those beyond the ends are 0."""
    near = cuda.shared.array(130, float32)
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    near[thread + 1] = a[i] if i < a.size else 0
    if thread == 0:
        near[0] = a[i - 1] if i > 0 else 0
        near[129] = a[i + 128] if i + 128 < a.size else 0
    cuda.syncthreads()
    if i < a.size:
        out[i] = (near[thread] + near[thread + 1] + near[thread + 2]) / 3
