"""A grouped kernel by NumPy: each group of rows times its own matrix, as `fake_driver` launches it."""

from dataclasses import replace

import numpy as np
from fake_driver import DTYPES, view


def multiply(launch, a, b, c, sizes, order, scales):
    """What a launch of the Launch does; a, b: arrays of its maps; the rest: its arguments."""
    config, (M, N, K, groups, ldc) = launch.options, sizes
    group, offsets, _, step = order[:4]
    assert order[0] == replace(config, group=group).order(M, N, groups, 0, 1)[0] and order[2] == replace(
        config, group=group).order(M, N, groups, 0, 1)[2]
    a, b = a if config.a_major == "K" else a.swapaxes(1, 2), b if config.b_major == "K" else b.swapaxes(1, 2)
    (rows,), of_groups = config.turned(a, b)         # [rows, K], [groups, columns, K]
    out, ends = DTYPES[config.out], view(offsets, np.dtype(np.int32), (groups,), (4,))
    target = view(c, out, (len(rows), of_groups.shape[1]), (ldc * out.itemsize, out.itemsize))
    assert rows.shape == (config.turned(M, N)[0], K) and of_groups.shape[::2] == (groups, K)
    if config.store == "tma":
        by_map = launch.array_of_map(2, config.out)[0]
        assert by_map.shape == target.shape and by_map.ctypes.data == c
    start = 0
    for i, end in enumerate(np.clip(ends, 0, len(rows)).tolist()):
        pair = config.turned(rows[start:end], of_groups[i])
        if end > start:
            made = pair[0].astype(np.float32) @ pair[1].astype(np.float32).T
            if config.scaled:
                places = [[at, along, deep] for at, along, deep in (scales[:3], scales[3:])]
                places[config.turned(0, 1)[0]][0] += start * places[config.turned(0, 1)[0]][1]
                places[config.turned(1, 0)[0]][0] += i * step
                made = launch.scaled(pair[0][None], pair[1].T[None], [*places[0], *places[1]])[0]
            target[start:end] = (made if config.c_major == "N" else made.T).astype(out)
        start = end
