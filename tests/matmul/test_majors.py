"""What the choice knows of MN-major operands, whose tiles are loaded by boxes of 64."""

from dataclasses import replace

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose.candidates import candidates
from cuda_kernels.matmul.choose.choice import suited
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.wanted import Wanted


def test_a_tile_whose_mn_major_columns_need_more_room_is_taken_with_a_stage_fewer():
    wanted = Wanted(288, 16264, 9552, a_major="MN", b_major="MN")
    candidate = next(c for c in candidates() if (c.tile_m, c.tile_n, c.stages, c.c_major) == (256, 144, 4, "M"))
    taken = suited(candidate, wanted)
    assert (taken.tile_m, taken.tile_n, taken.stages) == (256, 144, 3)
    assert suited(candidate, replace(wanted, a_major="K", b_major="K")).stages == 4


def test_an_mn_major_b_loads_whole_boxes_of_64_columns():
    narrow, whole = Hopper(128, 104, 4), Hopper(128, 128, 4)
    for majors, alike in ((("K", "K"), False), (("MN", "K"), False), (("K", "MN"), True), (("MN", "MN"), True)):
        requested = Estimates((narrow, whole)).work(4096, 4096, 4096, majors=majors).requested
        assert (requested[0] == requested[1]) == alike
    turned = Estimates((replace(narrow, c_major="M"),))                  # whose B is the product's A
    assert turned.work(4096, 4096, 4096, majors=("MN", "K")).requested[0] == 256
    assert turned.work(4096, 4096, 4096, majors=("K", "MN")).requested[0] == 232
