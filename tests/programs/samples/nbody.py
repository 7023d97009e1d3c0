"""N bodies that attract each other, as NVIDIA's nbody sample: tiles of bodies in shared memory."""

import hashlib
import math

import numpy as np
from numba import cuda, float32

BODIES, TILE, STEPS = 128, 64, 2
SOFTENING, DT = np.float32(0.01), np.float32(0.01)


@cuda.jit
def accelerate(bodies, acceleration):
    tile = cuda.shared.array((TILE, 4), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
    ax = ay = az = float32(0)
    for first in range(0, bodies.shape[0], TILE):
        for c in range(4):
            tile[t, c] = bodies[first + t, c]
        cuda.syncthreads()
        for j in range(TILE):
            dx, dy, dz = tile[j, 0] - x, tile[j, 1] - y, tile[j, 2] - z
            d2 = dx * dx + dy * dy + dz * dz + SOFTENING
            pull = tile[j, 3] / (d2 * math.sqrt(d2))
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        cuda.syncthreads()
    acceleration[i, 0], acceleration[i, 1], acceleration[i, 2] = ax, ay, az


@cuda.jit
def move(bodies, velocity, acceleration):
    i = cuda.grid(1)
    for c in range(3):
        velocity[i, c] += acceleration[i, c] * DT
        bodies[i, c] += velocity[i, c] * DT


def on_the_host(bodies, velocity):
    """The same in NumPy, in float64."""
    bodies, velocity = bodies.astype(np.float64), velocity.astype(np.float64)
    for _ in range(STEPS):
        apart = bodies[None, :, :3] - bodies[:, None, :3]
        d2 = (apart ** 2).sum(axis=2) + SOFTENING
        velocity += (apart * (bodies[None, :, 3] / d2 ** 1.5)[..., None]).sum(axis=1) * DT
        bodies[:, :3] += velocity * DT
    return bodies, velocity


def main():
    rng = np.random.default_rng(1)
    bodies = rng.random((BODIES, 4), np.float32)
    velocity = np.zeros((BODIES, 3), np.float32)
    expected = on_the_host(bodies, velocity)
    there, moving = cuda.to_device(bodies), cuda.to_device(velocity)
    acceleration = cuda.device_array((BODIES, 3), np.float32)
    for _ in range(STEPS):
        accelerate[BODIES // TILE, TILE](there, acceleration)
        move[BODIES // TILE, TILE](there, moving, acceleration)
    found = there.copy_to_host(), moving.copy_to_host()
    for one, wanted in zip(found, expected):
        np.testing.assert_allclose(one, wanted, rtol=1e-3, atol=1e-4)
    print("digest", hashlib.sha256(b"".join(x.tobytes() for x in found)).hexdigest())


if __name__ == "__main__":
    main()
