"""k-means: each thread finds the nearest centre of a point, and one block per centre sums its points up."""

import hashlib

import numpy as np
from numba import cuda, float32

POINTS, FEATURES, CENTRES, THREADS, ROUNDS = 512, 4, 5, 128, 3


@cuda.jit
def assign(points, centres, label):
    near = cuda.shared.array((CENTRES, FEATURES), dtype=float32)
    t = cuda.threadIdx.x
    if t < CENTRES * FEATURES:
        near[t // FEATURES, t % FEATURES] = centres[t // FEATURES, t % FEATURES]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < points.shape[0]:
        best, least = 0, float32(np.inf)
        for k in range(CENTRES):
            distance = float32(0)
            for f in range(FEATURES):
                apart = points[i, f] - near[k, f]
                distance += apart * apart
            if distance < least:
                best, least = k, distance
        label[i] = best


@cuda.jit
def average(points, label, centres, sizes):
    sums = cuda.shared.array((THREADS, FEATURES), dtype=float32)
    counts = cuda.shared.array(THREADS, dtype=np.int32)
    t, k = cuda.threadIdx.x, cuda.blockIdx.x
    for f in range(FEATURES):
        sums[t, f] = 0
    counts[t] = 0
    for i in range(t, points.shape[0], THREADS):
        if label[i] == k:
            counts[t] += 1
            for f in range(FEATURES):
                sums[t, f] += points[i, f]
    half = THREADS // 2
    while half:
        cuda.syncthreads()
        if t < half:
            counts[t] += counts[t + half]
            for f in range(FEATURES):
                sums[t, f] += sums[t + half, f]
        half //= 2
    cuda.syncthreads()
    if t < FEATURES and counts[0]:
        centres[k, t] = sums[0, t] / counts[0]
    if t == 0:
        sizes[k] = counts[0]


def main():
    rng = np.random.default_rng(3)
    middle = rng.normal(scale=10, size=(CENTRES, FEATURES))
    points = (middle[rng.integers(0, CENTRES, POINTS)] + rng.normal(size=(POINTS, FEATURES))).astype(np.float32)
    start = points[:CENTRES].copy()
    there, centres = cuda.to_device(points), cuda.to_device(start)
    label, sizes = cuda.device_array(POINTS, np.int32), cuda.device_array(CENTRES, np.int32)
    expected = start.astype(np.float64)
    for _ in range(ROUNDS):
        assign[POINTS // THREADS, THREADS](there, centres, label)
        average[CENTRES, THREADS](there, label, centres, sizes)
        nearest = ((points[:, None, :] - expected[None]) ** 2).sum(axis=2).argmin(axis=1)
        expected = np.stack([points[nearest == k].mean(axis=0) if (nearest == k).any() else expected[k]
                             for k in range(CENTRES)])
    found = centres.copy_to_host(), label.copy_to_host(), sizes.copy_to_host()
    np.testing.assert_allclose(found[0], expected, rtol=1e-4)
    assert (found[1] == nearest).all() and (found[2] == np.bincount(nearest, minlength=CENTRES)).all()
    print("digest", hashlib.sha256(b"".join(x.tobytes() for x in found)).hexdigest())


if __name__ == "__main__":
    main()
