"""Consumers that promote follow no order: whichever warp runs ahead or behind, each waits for its own stages, and the
machine tells where one does not."""

import random
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from any_order import reordered, watched
from cut_tiles import SMS, assert_cut, cut_small_tiles
from tiers import sweep_but

from cuda_kernels.kernels.hopper import consumer, promote, wgmma_persistent
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.run.runner import run
from simlayout.errors import HazardError

E4M3 = ml_dtypes.float8_e4m3fn
GROUPED = dict(grouped=True, stages=2)
PRODUCTS = {
    "one consumer": dict(tile_m=64, stages=3), "two": dict(tile_m=128, stages=2), "three": dict(tile_m=192, stages=3),
    "two bands": dict(tile_m=256, bands=2, stages=2), "below": dict(cluster_m=2, stages=2),
    "beside": dict(tile_m=192, cluster_n=2, stages=3), "cut": dict(tile_m=128, split=True, stages=3),
    "slices": dict(tile_m=64, slices=2, stages=4), "groups": dict(tile_m=192, **GROUPED),
    "groups of two bands": dict(tile_m=256, bands=2, **GROUPED),
}
"""Options of a configuration. A cut tile has three units of one step, one in slices two of one and two."""

ROWS = 192, 0, 1, 65, 0, 193
"""Of the groups: so that consumers leave units out between others that they multiply."""

ORDERS = {
    "the first consumer ahead": lambda warp, consumers: warp.warp_index >= 4,
    "the last consumer ahead": lambda warp, consumers: warp.warp_index // 4 != consumers - 1,
    "a warp of each ahead": lambda warp, consumers: warp.warp_index % 4 != 2,
    "a warp of each behind": lambda warp, consumers: warp.warp_index % 4 == 1,
    "the producer behind": lambda warp, consumers: warp.warp_index == 4 * consumers,
    "scales behind": lambda warp, consumers: warp.warp_index == 4 * consumers + 1,
    "the first CTA behind": lambda warp, consumers: warp.index == (0, 0, 0),
}
"""By what a warp is chosen of those that can go on: the least comes first, then the first one."""


def config_of(case):
    """The configuration of one of PRODUCTS."""
    return Hopper(**dict(tile_n=8, dtype="e4m3", out="f32", store="direct", scaled="1x128"), **PRODUCTS[case])


def product_of(case):
    """(kernel, operands of `run`, C) of one of PRODUCTS: integers and powers of two, so that all sums are exact."""
    config, rng = config_of(case), np.random.default_rng(1)
    M, N, K = (sum(ROWS), 16, 272) if config.grouped else (200, 24, 384 if config.split or config.slices > 1 else 656)
    groups, deep = len(ROWS) if config.grouped else 1, -(-K // 128)
    a, b = (rng.integers(-2, 3, shape).astype(E4M3) for shape in ((M, K), (groups, N, K)))
    of_rows, of_columns = (2.0 ** rng.integers(-1, 2, shape).astype(np.float32) for shape in ((M, deep), (groups, deep, 1)))
    ends = np.cumsum(ROWS if config.grouped else [M], dtype=np.int32)
    left = a.astype(np.float32) * of_rows.repeat(128, 1)[:, :K]
    right = b.astype(np.float32).swapaxes(1, 2) * of_columns.repeat(128, 1)[:, :K]
    wanted = np.concatenate([part @ of_group for part, of_group in zip(np.split(left, ends[:-1]), right)])
    if config.grouped:
        return kernel_of(config), (a, b.swapaxes(1, 2), ends, of_rows, of_columns), wanted
    assert_cut(config, M, N, K)
    return kernel_of(config), (a, b[0].T, of_rows, of_columns[0]), wanted


def assert_made(case):
    """Runs one of PRODUCTS; C must be right."""
    kernel, operands, wanted = product_of(case)
    sms = SMS if kernel.options.split or kernel.options.slices > 1 else 2
    np.testing.assert_array_equal(run(kernel, *operands, device="cpu", sms=sms).c, wanted)


PAIRS = [(case, order) for case in PRODUCTS for order in (*ORDERS, "any", "another")]
FEW = [("two", "any"), ("slices", "any"), ("groups", "a warp of each ahead"), ("groups", "scales behind")]


@pytest.mark.parametrize("pair", sweep_but(FEW, PAIRS), ids=str)
@cut_small_tiles()
def test_every_wait_is_for_its_own_stage_whichever_warp_runs_ahead(pair, monkeypatch):
    (case, order), source = pair, random.Random(str(pair))
    config = config_of(case)
    first_of = ORDERS.get(order, lambda warp, consumers: source.random())
    wrong = watched(monkeypatch, config.stages)
    reordered(monkeypatch, lambda warp: first_of(warp, config.consumers), lambda: source.random() < 0.5)
    assert_made(case)
    assert not wrong


def planted(monkeypatch, tmp_path, module, old, new):
    """Puts a text in the place of another one of `promote` or `consumer`, in the kernels that are made from now on."""
    text, path = Path(module.__file__).read_text(), tmp_path / "planted.py"
    assert text.count(old) == 1, f"{module.__name__} no longer has, once:\n{old}"
    path.write_text(text.replace(old, new))
    spec = spec_from_file_location("planted", path)
    changed = module_from_spec(spec)
    spec.loader.exec_module(changed)
    if module is promote:
        monkeypatch.setattr(consumer, "make_promoted_unit", changed.make_promoted_unit)
    else:
        monkeypatch.setattr(wgmma_persistent, "make_consume", changed.make_consume)


WAIT = "mbarrier_wait(u32(smem + at_full + 8 * stage), u32(parity))\n"
STEP = "            parity = next_parity(parity, stage)\n            stage = next_stage(stage)\n"
FREE = "            wait(products)\n            free(t, tells, empty)\n"
RELEASE = "            release(teller_of(t), tells, 1, u32(smem + at_empty + 8 * stage))\n"
FAULTS = {
    "no wait for a unit's first stage": ("two", promote, f"        {WAIT}        while", "        while", "early read"),
    "no wait for the next stage": ("two", promote, f"                {WAIT}", "                pass\n", "early read"),
    "a parity that turns a stage late": ("two", promote, STEP, "".join(STEP.splitlines(True)[::-1]), "early read"),
    "a parity that never turns": ("two", promote, STEP, STEP.splitlines(True)[1], "early write"),
    "a wait for what is behind the last step": ("two", promote, "            if step < end:", "            if step <= end:",
                                                "deadlock"),
    "a stage that is free before its products are made": ("two", promote, FREE, "".join(FREE.splitlines(True)[::-1]),
                                                          "early write"),
    "a stage that nobody frees": ("three", promote, FREE, FREE.splitlines(True)[0], "deadlock"),
    "a stage left that nobody frees": ("groups", consumer, RELEASE, "", "deadlock"),
    "a parity of left stages that never turns": ("groups", consumer, STEP, STEP.splitlines(True)[1], "early read"),
    "a stage left that is not waited for": ("groups", consumer, f"            {WAIT}", "", "early read"),
}
"""Fault -> (one of PRODUCTS, the module, its text and what takes its place, what the machine tells)."""


@pytest.mark.parametrize("fault", FAULTS)
def test_the_machine_tells_of_consumers_that_wait_for_another_stage_than_theirs(fault, monkeypatch, tmp_path):
    case, module, old, new, told = FAULTS[fault]
    planted(monkeypatch, tmp_path, module, old, new)
    with pytest.raises(HazardError, match=told):
        assert_made(case)


def test_a_wait_that_another_stage_ended_is_noted(monkeypatch, tmp_path):
    case, module, old, new, _ = FAULTS["a parity that never turns"]
    planted(monkeypatch, tmp_path, module, old, new)
    wrong, (kernel, operands, _) = watched(monkeypatch, config_of(case).stages), product_of(case)
    run(kernel, *operands, device="cpu", hazards="off")
    assert wrong
