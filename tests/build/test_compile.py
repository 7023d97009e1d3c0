"""Index functions as kernels call them: 32 bits in and out, whatever their number of arguments."""

import numpy as np
import pytest

pytest.importorskip("numba.cuda")

from on_device import over_points

import simlayout as sl
from cuda_kernels.build.compile import _narrow
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
def test_a_kernel_calls_an_index_function_of_any_number_of_arguments(count):
    function = (lambda a: 3 * a, lambda a, b: 3 * a ^ b, lambda a, b, c: (3 * a ^ b) - c,
                lambda a, b, c, d: (3 * a ^ b) - c + 7 * d, lambda a, b, c, d, e: (3 * a ^ b) - c + (d << 2) * e,
                lambda a, b, c, d, e, f: (3 * a ^ b) - c + (d << 2) * e + f // 3)[count - 1]
    function.access_name = "an access"
    out = np.zeros(POINTS.shape[1], np.uint32)
    sl.simulate(over_points(function, count))[1, 32](out, POINTS[:count].astype(np.uint32))
    assert (out == function(*POINTS[:count]).astype(np.uint32)).all()


def test_an_index_function_with_more_arguments_than_any_access_has_is_refused():
    with pytest.raises(SimlayoutError, match="with 7 arguments: a kernel calls one with 1 to 6"):
        _narrow(None, 7, None)
