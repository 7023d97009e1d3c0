"""Index functions as kernels call them: 32 bits in and out, whatever their number of arguments."""

import numpy as np
import pytest

pytest.importorskip("numba.cuda")

from numba import cuda

from cuda_kernels.build.compile import _at_point, _Binder, _calls, _narrow
from simlayout.errors import SimlayoutError

COUNTS = range(1, 7)
POINTS = np.arange(60, dtype=np.int64).reshape(6, 10)


@pytest.mark.parametrize("count", COUNTS)
def test_every_argument_is_made_32_bits_and_stays_in_its_place(count):
    seen = []
    made = _narrow(lambda *arguments: seen.append(arguments) or 7, count, lambda value: ("result", value))
    assert made(*range(1, 1 + count)) == ("result", 7)
    assert seen == [tuple(range(1, 1 + count))] and all(type(a) is np.uint32 for a in seen[0])


@pytest.mark.parametrize("count", COUNTS)
def test_at_a_point_a_function_gets_the_points_column(count):
    at = _at_point(lambda *arguments: arguments, count)
    assert [at(POINTS, i) for i in range(10)] == [tuple(POINTS[:count, i]) for i in range(10)]


def test_the_kernel_over_all_points_compiles_without_a_gpu():
    def function(a, b, c, d, e, f):
        return a + 5 * b - 7 * c + (d ^ a) * e + f // 3

    function.access_name = "an access"
    at_point = cuda.jit(device=True, inline="always")(_at_point(_Binder()(function), 6))
    types = cuda.types
    text, _ = cuda.compile_ptx(_calls(at_point), types.void(types.uint32[::1], types.uint32[:, ::1]), cc=(9, 0))
    assert text.count("ld.global.u32") == 6 and text.count("st.global.u32") == 1


def test_an_index_function_with_more_arguments_than_any_access_has_is_refused():
    with pytest.raises(SimlayoutError, match="with 7 arguments: a kernel calls one with 1 to 6"):
        _narrow(None, 7, None)
