"""What the choice knows of MN-major operands, whose tiles are loaded by boxes of 64."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from places import DATA

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.lab.tuning_fit import read
from cuda_kernels.matmul.choose.candidates import candidates
from cuda_kernels.matmul.choose.model import Estimates, misalignment_of
from cuda_kernels.matmul.choose.rates import RATES

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


def test_rows_are_aligned_as_the_contiguous_dimension_of_each_operand_and_a_tile_of_b_where_it_begins():
    for majors, of_a, of_b in (("K", "K"), 1, 1), (("MN", "K"), 2, 1), (("K", "MN"), 1, 3), (("MN", "MN"), 2, 3):
        config = Hopper(128, 128, 4).taking(("f16", "f16"), "f16", majors)
        aligned = Estimates((config,)).work(144, 136, 96).aligned[:, 0]           # K = 96, N = 136, M = 144
        assert aligned.tolist() == [0.5 * (of_a == which) + 0.5 * (of_b == which) for which in range(4)]
    for tile_n, which in ((64, 0), (96, 1), (80, 2), (72, 3)):
        of_b = Hopper(128, tile_n, 4, b_major="MN"), Hopper(128, tile_n, 4)
        offset, whole = (Estimates((config,)).work(4096, 4096, 4096).aligned[:, 0] for config in of_b)
        assert whole.tolist() == [1, 0, 0, 0] and (offset > 0).tolist() == [i in (0, which) for i in range(4)]


@pytest.mark.parametrize("gpu", ["h200", "h100"])
def test_tiles_of_an_mn_major_b_that_begin_off_a_sector_took_longer_than_an_estimate_says_that_does_not_know_it(gpu):
    measured = read(DATA / f"{gpu}_majors.json.xz")
    aware, work = measured.of_each
    K = np.array(measured.problems)[measured.product, 2]
    mn_major = aware.mn_major_a, aware.mn_major_b
    of_a, of_b = (misalignment_of(np.where(np.where(aware.turned, *majors), line, K))
                  for majors, line in ((mn_major[::-1], work.rows), (mn_major, work.cols)))
    part = np.minimum(work.rows, aware.tile_m) / aware.cluster_n / work.requested
    unaware = replace(work, aligned=np.array([part * (of_a == i) + (1 - part) * (of_b == i) for i in range(4)]))
    off = [np.log(measured.times / aware.times(each, measured.gpu, RATES)) for each in (work, unaware)]
    worse = work.aligned[3] > unaware.aligned[3] + 1e-9
    behind = []
    for each in off:
        usual = {i: np.median(each[(measured.product == i) & ~worse]) for i in set(measured.product[worse])}
        behind.append(np.mean([each[j] - usual[measured.product[j]] for j in np.flatnonzero(worse)]))
    assert worse.sum() > 200 and 0.085 < behind[1] < 0.1 and 0 < behind[0] < 0.75 * behind[1]
