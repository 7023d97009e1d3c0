"""What the choice knows of MN-major operands, whose tiles are loaded by boxes of 64."""

from itertools import product

import pytest

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose.candidates import candidates
from cuda_kernels.matmul.choose.model import Estimates

MAJORS = list(product(("K", "MN"), repeat=2))


@pytest.mark.parametrize("majors", MAJORS, ids="-".join)
def test_the_candidates_have_as_many_stages_as_their_own_operands_leave_room_for(majors):
    found, of_k = candidates(majors), candidates()
    assert {c.turned(c.a_major, c.b_major) for c in found} == {majors}
    assert len(found) == len(of_k) and len({c.stages for c in found}) > 5
    for ours, theirs in zip(found, of_k):
        assert (ours.tile_m, ours.tile_n, ours.slices, ours.c_major) == (
            theirs.tile_m, theirs.tile_n, theirs.slices, theirs.c_major)
        assert ours.stages == theirs.stages or ours.b_major == "MN" and ours.tile_n % 64 and ours.stages < theirs.stages
    deep = next(c for c in found if (c.tile_m, c.tile_n, c.c_major) == (256, 144, "M"))
    assert deep.stages == (3 if majors[0] == "MN" else 4)


def test_an_mn_major_b_loads_whole_boxes_of_64_columns():
    for majors, c_major in product(MAJORS, "NM"):
        narrow, whole = (Hopper(128, n, 4, c_major=c_major).taking(("f16", "f16"), "f16", majors) for n in (104, 128))
        requested = Estimates((narrow, whole)).work(4096, 4096, 4096).requested
        assert (requested[0] == requested[1]) == (narrow.b_major == "MN")
        assert requested.tolist() == [128 + (128 if narrow.b_major == "MN" else 104), 256]


def test_rows_are_aligned_as_the_contiguous_dimension_of_each_operand():
    for majors, worst in zip(MAJORS, (1, 3, 2, 3)):                      # K = 96, N = 136, M = 144
        config = Hopper().taking(("f16", "f16"), "f16", majors)
        assert Estimates((config,)).work(144, 136, 96).misalignment.tolist() == [worst]
