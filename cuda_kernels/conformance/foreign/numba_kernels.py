"""Kernels in Python for numba.cuda. `build` compiles them to PTX without a GPU."""

from numba import cuda, float32, int32, uint32, uint64


def transpose(x, out):
    tile = cuda.shared.array((16, 17), float32)
    i, j = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if i < x.shape[1] and j < x.shape[0]:
        tile[ty, tx] = x[j, i]
    cuda.syncthreads()
    i = cuda.blockIdx.y * 16 + tx
    j = cuda.blockIdx.x * 16 + ty
    if i < out.shape[1] and j < out.shape[0]:
        out[j, i] = tile[tx, ty]


def total(x, out):
    part = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    found = int32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        found += x[i]
    part[t] = found
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


def inclusive_scan(x, out):
    part = cuda.shared.array(0, int32)  # dynamic: two halves of a block's size
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    at = 0
    part[t] = x[t]
    cuda.syncthreads()
    step = 1
    while step < n:
        value = part[at + t]
        if t >= step:
            value += part[at + t - step]
        at = n - at
        part[at + t] = value
        cuda.syncthreads()
        step *= 2
    out[t] = part[at + t]


def matmul_tiled(a, b, c):
    left = cuda.shared.array((8, 8), float32)
    right = cuda.shared.array((8, 8), float32)
    row = cuda.blockIdx.y * 8 + cuda.threadIdx.y
    column = cuda.blockIdx.x * 8 + cuda.threadIdx.x
    found = float32(0)
    for at in range(0, a.shape[1], 8):
        left[cuda.threadIdx.y, cuda.threadIdx.x] = a[row, at + cuda.threadIdx.x]
        right[cuda.threadIdx.y, cuda.threadIdx.x] = b[at + cuda.threadIdx.y, column]
        cuda.syncthreads()
        for i in range(8):
            found += left[cuda.threadIdx.y, i] * right[i, cuda.threadIdx.x]
        cuda.syncthreads()
    c[row, column] = found


def histogram(x, out):
    bins = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    bins[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i] % 64, 1)
    cuda.syncthreads()
    cuda.atomic.add(out, t, bins[t])


def mandelbrot(out, limit):
    i, j = cuda.grid(2)
    height, width = out.shape
    if i >= width or j >= height:
        return
    point = complex(-2 + 3 * i / width, -1 + 2 * j / height)
    z = 0j
    for count in range(limit):
        z = z * z + point
        if z.real * z.real + z.imag * z.imag > 4:
            out[j, i] = count
            return
    out[j, i] = limit


def monte_carlo(seeds, hits, tries):
    t = cuda.grid(1)  # xoroshiro128+, of which only integers are used
    a, b = seeds[t, 0], seeds[t, 1]
    found = int32(0)
    for _ in range(tries):
        drawn = a + b
        b ^= a
        a = ((a << uint64(24)) | (a >> uint64(40))) ^ b ^ (b << uint64(16))
        b = (b << uint64(37)) | (b >> uint64(27))
        x, y = uint64(drawn >> uint64(33)), uint64(drawn & uint64(0x7FFFFFFF))
        if x * x + y * y < uint64(1) << uint64(62):
            found += 1
    seeds[t, 0], seeds[t, 1] = a, b
    hits[t] = found


def median_of_window(x, out):
    held = cuda.local.array(9, float32)  # indexed by run-time values
    i = cuda.grid(1)
    if i >= out.size:
        return
    for j in range(9):
        held[j] = x[i + j]
    for j in range(1, 9):
        value, k = held[j], j
        while k > 0 and held[k - 1] > value:
            held[k] = held[k - 1]
            k -= 1
        held[k] = value
    out[i] = held[4]


def votes(x, out):
    t = cuda.grid(1)
    value = x[t]
    kept = cuda.ballot_sync(0xFFFFFFFF, value > 0)
    below = cuda.popc(kept & uint32((1 << cuda.laneid) - 1))
    for d in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, d)
    out[t] = value * 100 + below


def strided(x, out):
    i, j = cuda.grid(2)  # arrays whose strides are arguments, and slices of them
    if i < out.shape[0] and j < out.shape[1]:
        line = x[i, ::2]
        out[i, j] = line[j] // 3 - x[i, -1 - j] % 7 + round(float(i) / 3)
