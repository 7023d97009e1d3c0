"""An index function that is compiled as kernels call it, over many points at once."""

import numpy as np
from numba import cuda

from cuda_kernels.build.compile import bound_kernel


def over_points(function, count):
    """The kernel (out, points) that writes an index function's values at the columns of uint32 points [count, n]."""
    at_point = {
        1: lambda p, i: function(p[0, i]),
        2: lambda p, i: function(p[0, i], p[1, i]),
        3: lambda p, i: function(p[0, i], p[1, i], p[2, i]),
        4: lambda p, i: function(p[0, i], p[1, i], p[2, i], p[3, i]),
        5: lambda p, i: function(p[0, i], p[1, i], p[2, i], p[3, i], p[4, i]),
        6: lambda p, i: function(p[0, i], p[1, i], p[2, i], p[3, i], p[4, i], p[5, i]),
    }[count]                                             # Numba inlines no call with *args

    def calls(out, points):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = at_point(points, i)

    return bound_kernel(calls)


def on_device(function, access):
    """What an access's index function gives on the GPU over its whole domain: int64, shaped as `access.offsets()`."""
    shape = access.offsets().shape
    points = np.stack([np.broadcast_to(p, shape).reshape(-1) for p in access.points()]).astype(np.uint32)
    out = cuda.device_array(points.shape[1], np.uint32)
    cuda.jit(over_points(function, len(points)))[-(-out.size // 128), 128](out, cuda.to_device(points))
    return out.copy_to_host().astype(np.int64).reshape(shape)
