"""What long sums of 8-bit products lose: the computed errors beside a slow twin, and how they are drawn."""

import numpy as np
import pytest

import simlayout as sl
from simlayout.numerics.formats import exact, nearest
from simlayout.plots import accumulated, lost_by_depth
from simlayout.plots.accumulation import DEPTHS, STYLES


@pytest.mark.parametrize("kind", STYLES)
def test_errors_are_those_of_one_instruction_after_the_other_beside_exact_sums(kind):
    source, found = np.random.default_rng(0), {}
    a, b = source.standard_normal((64, 384)), source.standard_normal((384, 16))
    if kind == "positive numbers":
        a, b = abs(a), abs(b)
    a, b = nearest("e4m3", a), nearest("e4m3", b)
    long, short, promoted = (np.zeros((64, 16), np.float32) for _ in range(3))
    values = [exact("e4m3", m) * 512 for m in (a, b)]    # whole numbers: no bit of an e4m3 is worth less than 2**-9
    assert all((m == m.astype(np.int64)).all() for m in values)
    left, right = (m.astype(np.int64) for m in values)
    for k in range(0, 384, 32):
        long, short = (sl.mma("wgmma.m64n16k32.f32.e4m3.e4m3", a[:, k:k + 32], b[k:k + 32], x) for x in (long, short))
        if k % 128 == 96:
            promoted, short = promoted + short, np.zeros_like(short)
            sums = left[:, :k + 32] @ right[:k + 32] / 2**18                  # below 2**53, so these are exact, too
            for taken, how in ((long, False), (promoted, True)):
                off = taken.astype(np.float64) - sums
                found[k + 32, how] = ((off**2).sum() / (sums**2).sum()) ** 0.5
    for curve in accumulated((128, 256, 384)):
        if curve.of == kind:
            np.testing.assert_allclose(curve.errors, [found[K, curve.promoted] for K in curve.depths], rtol=6e-3)


def test_one_long_sum_loses_more_with_every_depth_and_a_promoted_one_no_more_than_at_128():
    for curve in accumulated():
        steps = np.diff(curve.errors)
        fine = abs(steps) < 0.1 * curve.errors[0] if curve.promoted else steps > 0
        assert curve.depths == DEPTHS and fine.all()


def test_every_error_is_a_point_of_a_line_that_says_its_last_one():
    curves = accumulated((128, 256))
    ax = lost_by_depth(curves)
    drawn = [list(map(tuple, zip(*line.get_data()))) for line in ax.lines]
    assert all(list(zip(c.depths, c.errors)) in drawn for c in curves)
    assert all(any(f"{c.of}: {100 * c.errors[-1]:.2g} %" in t.get_text() for t in ax.texts) for c in curves)
    with pytest.raises(sl.SimlayoutError, match="no curves to draw"):
        lost_by_depth([])
