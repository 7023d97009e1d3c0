"""What is said of the tables of candidates is what the records hold."""

import pytest
from places import DATA, ROOT

from cuda_kernels.lab import tuning_record
from cuda_kernels.matmul.choose import candidates
from simlayout.errors import ParseError

WIDER = "h200_wider_row.json.xz"
TEXT = " ".join((ROOT / "cuda_kernels/matmul/choose/candidates.py").read_text().split())


def beside(name, belongs):
    """Of each plain product of a record at which configurations that belong were measured beside others: how many times as
    long the best of them took as the best others."""
    try:
        record = tuning_record.read(DATA / name)
    except ParseError:
        return []                                        # not a record of configurations
    found = []
    for tried in record.products:
        of = {True: [], False: []}
        for config, us in record.times_of(tried).items():
            of[belongs(config)].append(us)
        if all(of.values()) and not tried.problem.groups:
            found.append(min(of[True]) / min(of[False]))
    return found


def saved(ratios):
    """(how many are below 1, of how many, percent that the least of them saves)."""
    return sum(ratio < 1 for ratio in ratios), len(ratios), 100 - 100 * min(ratios)


@pytest.mark.parametrize("belongs, words", [
    (lambda c: (c.tile_m, c.tile_n) == (192, 200),
     "192 x 200 was faster than all others at {} of {} products, by up to {:.0f} percent"),
    (lambda c: c.tile_m == 128 and c.tile_n >= 160 and c.cluster_m == 4, "clusters of 4x1 at {} of {} "),
    (lambda c: (c.tile_m, c.slices, c.cluster_m, c.cluster_n) == (64, 2, 2, 2),
     "at {} of the {} products where they were measured, by up to {:.0f} percent")], ids=["192x200", "4x1", "slices in 2x2"])
def test_how_often_tiles_that_became_candidates_later_were_the_fastest(belongs, words):
    assert words.format(*saved(beside(WIDER, belongs))) in TEXT


def test_two_ctas_of_an_sm_were_hardly_ever_faster_than_one():
    ratios = [ratio for path in sorted(DATA.glob("*.json*")) for ratio in beside(path.name, lambda c: c.resident == 2)]
    assert "at {} of the {} products of all records, by at most {:.1f} percent".format(*saved(ratios)) in TEXT
    assert all(config.resident == 1 for config in candidates.candidates())
