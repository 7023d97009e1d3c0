"""Three kernels as they were first written. Each has a fault, on purpose; mended.py has them without."""

from numba import cuda, float32, int32

TILE = 32


@cuda.jit
def transpose(a, out):
    """out = a.T, by tiles."""
    tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    if row + y < a.shape[0] and column + x < a.shape[1]:
        tile[y, x] = a[row + y, column + x]
    cuda.syncthreads()
    if column + y < a.shape[1] and row + x < a.shape[0]:
        out[column + y, row + x] = tile[x, y]            # a column of the tile lies in one bank


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
            part[thread] += part[thread + step]          # nobody waits for who wrote these
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
        near[129] = 0                                    # the block that follows has an element for it
    cuda.syncthreads()
    if i < a.size:
        out[i] = (near[thread] + near[thread + 1] + near[thread + 2]) / 3
