"""Two consumers that take turns: whichever runs ahead, no named barrier gets two arrivals of one of them."""

from itertools import permutations

import numpy as np
import pytest

from cuda_kernels.kernels.hopper import turns
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.run.runner import run
from simlayout.machine.engine.warp import Warp


def turns_of(monkeypatch, kernel, shape):
    """{consumer: [(whether it waits there, named barrier)]} of the turns of a kernel's one CTA."""
    told = {}

    def noting(method, waits):
        def noted(warp, id=0, threads=None):
            if id >= turns.FIRST and warp.warp_index % 4 == 0:
                told.setdefault(warp.warp_index // 4, []).append((waits, id))
            return method(warp, id, threads)
        return noted

    for name, waits in (("barrier", True), ("barrier_arrive", False)):
        monkeypatch.setattr(Warp, name, noting(getattr(Warp, name), waits))
    M, N, K = shape
    a, b = np.ones((M, K), np.float16), np.ones((N, K), np.float16).T
    assert (run(kernel, a, b, device="cpu", sms=1).c == K).all()
    return told


@pytest.mark.parametrize("shape", [(128, 40, 200), (64, 16, 200), (192, 16, 64)], ids=str)
def test_no_consumer_tells_its_turn_twice_before_it_is_taken_whichever_runs_ahead(monkeypatch, shape):
    told = turns_of(monkeypatch, kernel_of(Hopper(tile_m=64, tile_n=16, stages=4, pingpong=True, store="direct")), shape)
    assert set(told) == {0, 1} or shape == (64, 16, 200)
    for order in permutations(told):                     # whoever comes first in it runs as far as it can
        left, come = {consumer: list(told[consumer]) for consumer in order}, {}
        while any(left.values()):
            able = [c for c in order if left[c] and (not left[c][0][0] or come.get(left[c][0][1]))]
            assert able, f"{order} wait for one another"
            waits, barrier = left[able[0]].pop(0)
            assert waits or not come.get(barrier), f"{order}: consumer {able[0]} tells twice at barrier {barrier}"
            come[barrier] = not waits
        assert not any(come.values()), f"{order}: a turn is told that nobody takes"
