"""What is fetched to L2 ahead of `griddepcontrol.wait`, on the CPU machine and in PTX."""

from collections import Counter

import numpy as np
import pytest
from cut_tiles import assert_cut, cut_small_tiles
from test_grouped_kernels import compiled_config
from tiers import sweep_but

from cuda_kernels.build.compile import ptx
from cuda_kernels.intrinsics.instruction import Instruction
from cuda_kernels.kernels.hopper import prefetch
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.run.runner import run
from simlayout.machine.engine.warp import Warp

M, N, K = 72, 136, 384
"""Six tiles of 64 x 64, of which the last ones are not full."""
CUT, MANY = 12, 64
"""SMs: as many as six tiles have halves, and enough for all tiles of a batch."""


def moved(monkeypatch, config, M=M, N=N, K=K, matrices=(), sms=MANY):
    """(boxes fetched, boxes loaded) by a product for which there are SMs enough: how often each (map, coordinates) is."""
    fetched, loaded, load = Counter(), Counter(), Warp.tma_load

    def fetching(warp, tensor_map, *where):
        fetched[(id(tensor_map), *(int(np.max(c)) for c in where))] += 1

    def loading(warp, tensor_map, where, *more, **named):
        loaded[(id(tensor_map), *(int(np.max(c)) for c in where))] += 1
        return load(warp, tensor_map, where, *more, **named)

    monkeypatch.setattr(prefetch, "tma_prefetch_3d", Instruction("tma_prefetch_3d", "", (), (), fetching))
    monkeypatch.setattr(Warp, "tma_load", loading)
    source = np.random.default_rng(1)
    a, b = (source.integers(-4, 5, shape).astype(np.float16) for shape in ((*matrices, M, K), (N, K)))
    a = a if config.a_major == "K" else np.asfortranarray(a)
    b = b.T if config.b_major == "K" else np.asfortranarray(b).T
    c = run(kernel_of(config), a, b, device="cpu", sms=sms).c
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    return fetched, loaded


OPTIONS = [{}, {"cluster_m": 2}, {"cluster_m": 2, "cluster_n": 2}, {"major": "MN"}, {"major": "MN", "cluster_n": 2},
           {"producer": 1}, {"slices": 2}, {"split": True}, {"c_major": "M"}]


@pytest.mark.parametrize("options", sweep_but([OPTIONS[i] for i in (2, 3, 6, 7)], OPTIONS), ids=str)
@cut_small_tiles()
def test_ctas_fetch_the_first_steps_of_what_they_load_each_box_once(monkeypatch, options):
    major = options.get("major", "K")
    others = {name: value for name, value in options.items() if name != "major"}
    config = Hopper(tile_m=64, tile_n=64, stages=3, a_major=major, b_major=major, **others)
    fetched, loaded = moved(monkeypatch, config, sms=CUT)
    steps, along_k = K // config.depth // assert_cut(config, M, N, K, CUT), 1 if major == "K" else 2
    first = [box for box in loaded if box[along_k] // config.depth % steps < prefetch.AHEAD]
    assert 0 < len(first) < len(loaded)
    assert fetched == Counter(first)


EDGES = [({}, dict(N=64)), ({}, dict(M=64)), ({}, dict(K=40)), ({"slices": 2}, dict(K=128)), ({}, dict(matrices=(3,))),
         ({"cluster_m": 2}, dict(K=64, matrices=(2,)))]


@pytest.mark.parametrize("edge", sweep_but([*EDGES[:3], EDGES[5]], EDGES), ids=str)
def test_one_row_or_column_of_tiles_one_step_and_batches_with_a_b_in_common_are_fetched_as_they_are_loaded(
        monkeypatch, edge):
    options, sizes = edge
    config = Hopper(tile_m=64, tile_n=64, stages=3, **options)
    fetched, loaded = moved(monkeypatch, config, **sizes)
    steps = -(-sizes.get("K", K) // config.depth) // config.slices
    assert fetched and set(fetched) == {box for box in loaded if box[1] // config.depth % steps < prefetch.AHEAD}


COMPILED = {"K": (Hopper(64, 64, 4, cluster_m=2), 2), "MN": (Hopper(a_major="MN"), 3),
            "grouped": (compiled_config("few"), 0)}


@pytest.mark.parametrize("case", sweep_but(["K"], COMPILED))
def test_all_is_fetched_before_the_kernel_ahead_is_waited_for(case):
    config, boxes = COMPILED[case]
    of_boxes = ptx(kernel_of(config)).split("cp.async.bulk.prefetch.tensor")
    assert len(of_boxes) - 1 == boxes
    assert "griddepcontrol.wait" in of_boxes[-1] and not any("griddepcontrol.wait" in before for before in of_boxes[:-1])
