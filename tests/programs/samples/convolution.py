"""A 5 x 5 convolution of an image; the weights are constant, the pixels of a block and their neighbours in shared memory."""

import hashlib

import numpy as np
from numba import cuda, float32

SIDE, BLOCK, RADIUS = 64, 16, 2
WIDE = BLOCK + 2 * RADIUS
WEIGHTS = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]).astype(np.float32) / np.float32(256)


@cuda.jit
def blurred(image, out):
    weights = cuda.const.array_like(WEIGHTS)
    pixels = cuda.shared.array((WIDE, WIDE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for row in range(ty, WIDE, BLOCK):
        for column in range(tx, WIDE, BLOCK):
            from_y = y - ty + row - RADIUS
            from_x = x - tx + column - RADIUS
            inside = 0 <= from_y < image.shape[0] and 0 <= from_x < image.shape[1]
            pixels[row, column] = image[from_y, from_x] if inside else float32(0)
    cuda.syncthreads()
    total = float32(0)
    for dy in range(2 * RADIUS + 1):
        for dx in range(2 * RADIUS + 1):
            total += weights[dy, dx] * pixels[ty + dy, tx + dx]
    out[y, x] = total


def main():
    image = np.random.default_rng(5).random((SIDE, SIDE), np.float32)
    out = np.zeros_like(image)
    blurred[(SIDE // BLOCK, SIDE // BLOCK), (BLOCK, BLOCK)](image, out)
    around = np.pad(image.astype(np.float64), RADIUS)
    expected = sum(WEIGHTS[dy, dx] * around[dy:dy + SIDE, dx:dx + SIDE] for dy in range(5) for dx in range(5))
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    print("digest", hashlib.sha256(out.tobytes()).hexdigest())


if __name__ == "__main__":
    main()
