"""Kernels in Python for numba.cuda. `build` compiles them to PTX without a GPU."""

from numba import complex64, cuda, float32, float64, int16, int32, int64, uint8, uint32, uint64


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


def stencil(x, out):
    """The sum of nine neighbours less nine times the one in the middle, by a tile with a halo."""
    tile = cuda.shared.array((18, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i0, j0 = cuda.blockIdx.y * 16, cuda.blockIdx.x * 32
    for place in range(ty * 32 + tx, 18 * 34, 512):
        i, j = i0 + place // 34 - 1, j0 + place % 34 - 1
        inside = i >= 0 and j >= 0 and i < x.shape[0] and j < x.shape[1]
        tile[place // 34, place % 34] = x[i, j] if inside else float32(0)
    cuda.syncthreads()
    i, j = i0 + ty, j0 + tx
    if i < x.shape[0] and j < x.shape[1]:
        found = float32(0)
        for di in range(3):
            for dj in range(3):
                found += tile[ty + di, tx + dj]
        out[i, j] = found - float32(9) * tile[ty + 1, tx + 1]


def sums_of_rows(x, out):
    """A warp for each row: shuffles, then one more among the four warps that share a row of blocks."""
    part = cuda.shared.array(4, float32)
    lane, warp = cuda.laneid, cuda.threadIdx.x // 32
    found = float32(0)
    for j in range(cuda.threadIdx.x, x.shape[1], 128):
        found += x[cuda.blockIdx.x, j]
    for step in (16, 8, 4, 2, 1):
        found += cuda.shfl_down_sync(0xFFFFFFFF, found, step)
    if lane == 0:
        part[warp] = found
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = part[0] + part[1] + part[2] + part[3]


def sort_tile(keys, values):
    """A bitonic sort of 256 pairs, of 64 and of 16 bits."""
    key, value = cuda.shared.array(256, int64), cuda.shared.array(256, int16)
    t = cuda.threadIdx.x
    for i in range(t, 256, 128):
        key[i], value[i] = keys[i], values[i]
    size = 2
    while size <= 256:
        step = size // 2
        while step > 0:
            cuda.syncthreads()
            i = 2 * t - (t & (step - 1))
            rising = (i & size) == 0
            if (key[i] > key[i + step]) == rising:
                key[i], key[i + step] = key[i + step], key[i]
                value[i], value[i + step] = value[i + step], value[i]
            step //= 2
        size *= 2
    cuda.syncthreads()
    for i in range(t, 256, 128):
        keys[i], values[i] = key[i], value[i]


def bins_of_halves(x, weights, out):
    """Sums of weights by the value of x, in bins of a warp each; then those of all warps."""
    bins = cuda.shared.array((4, 33), float64)
    t = cuda.threadIdx.x
    for i in range(t, 4 * 33, 128):
        bins[i // 33, i % 33] = 0.0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, (t // 32, x[i] & 31), weights[i])
    cuda.syncthreads()
    if t < 32:
        cuda.atomic.add(out, t, bins[0, t] + bins[1, t] + bins[2, t] + bins[3, t])


def complex_rows(x, out):
    """A discrete Fourier transform of 32 points in each warp's own row, by the definition."""
    tile = cuda.shared.array((4, 32), complex64)
    lane, warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    row = cuda.blockIdx.x * 4 + warp
    tile[warp, lane] = x[row, lane]
    cuda.syncwarp()
    found = complex64(0)
    for j in range(32):
        found += tile[warp, (lane * j) % 32] * tile[warp, j]
    out[row, lane] = found


def bytes_of_words(x, out):
    """Bytes turned within words through shared memory that is read as another type."""
    raw = cuda.shared.array((128, 4), uint8)
    t = cuda.threadIdx.x
    for i in range(4):
        raw[t, i] = (x[cuda.grid(1)] >> (8 * i)) & 255
    cuda.syncwarp()
    found = uint32(0)
    for i in range(4):
        found = (found << uint32(8)) | uint32(raw[t ^ 1, i])
    out[cuda.grid(1)] = found


def neighbours_in_local(x, out):
    """Runs of 8 sorted by insertion in local memory, merged in pairs by the even threads through shared memory."""
    mine = cuda.local.array(8, int32)
    runs = cuda.shared.array((64, 8), int32)
    t = cuda.threadIdx.x
    for i in range(8):
        value, j = x[8 * t + i], i
        while j > 0 and mine[j - 1] > value:
            mine[j] = mine[j - 1]
            j -= 1
        mine[j] = value
    for i in range(8):
        runs[t, i] = mine[i]
    cuda.syncthreads()
    if t % 2 == 0:
        a = b = 0
        for i in range(16):
            first = b == 8 or (a < 8 and runs[t, a] <= runs[t + 1, b])
            out[8 * t + i] = runs[t, a] if first else runs[t + 1, b]
            a, b = (a + 1, b) if first else (a, b + 1)
