"""Kernels behind one that ends as late as it can: `griddepcontrol.wait` returns once no thread can go on without it.

Until then nobody may read or write global memory, in no variant of a kernel; and because every CTA has a thread that waits,
a kernel that has ended says that those ahead of it have, too.
"""

import numpy as np
import pytest
from cut_tiles import SMS, cut_small_tiles
from epilogue_kit import CASES, asked
from tiers import sweep_but

from cuda_kernels.intrinsics import Instruction
from cuda_kernels.kernels.hopper import mma_tma, wgmma_persistent, wgmma_tma
from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from simlayout import machine
from simlayout.algebra.dtypes import TYPES
from simlayout.machine.engine import scheduler
from simlayout.machine.hazards.global_shadow import GlobalShadow


class Ahead:
    """A kernel ahead. waited: indices of CTAs in which a thread has waited for its end; early: (file, line) of what touched
    global memory in a CTA before that. waits: whether the threads of a warp wait where they ought to."""

    def __init__(self, monkeypatch, waits=lambda warp: True):
        self.waited, self.early, self._over, self._waits = set(), set(), set(), waits
        land, enter = scheduler._land, GlobalShadow.enter

        def entered(shadow, *what, **named):
            warp = shadow._launch.running
            if warp.cta not in self._over:
                self.early.add(warp.site)
            return enter(shadow, *what, **named)

        monkeypatch.setattr(GlobalShadow, "enter", entered)
        monkeypatch.setattr(scheduler, "_land", lambda warps: land(warps) or self.ends(warps))
        twin = Instruction("griddepcontrol_wait", "", (), (), lambda warp: self.wait(warp))
        for body in (mma_tma, wgmma_persistent, wgmma_tma):
            monkeypatch.setattr(body, "griddepcontrol_wait", twin)

    def wait(self, warp):
        if self._waits(warp):
            self.waited.add(warp.index)
            warp.block_until(lambda: warp.cta in self._over, "griddepcontrol.wait")

    def ends(self, warps):
        """It ends while none of these warps can go on; returns whether that helps one."""
        before = len(self._over)
        self._over.update(warp.cta for warp in warps)
        return len(self._over) > before


SMALL = dict(stages=3, buffers=1)
GROUPED = dict(grouped=True, **SMALL)
E4M3 = dict(dtype="e4m3", out="bf16")
SHAPE = 130, 72, 144
KINDS = {
    "wgmma_tma": HOPPER["wgmma_tma"], "mma_tma": HOPPER["mma_tma"], "direct": HOPPER["wgmma_specialized"],
    "one warp loads": Hopper(192, 96, producer=1, **SMALL), "clusters": Hopper(64, 64, cluster_m=2, cluster_n=2, **SMALL),
    "in turns": Hopper(64, 64, pingpong=True, **SMALL), "cut": Hopper(64, 64, split=True, **SMALL),
    "cut, two bands": Hopper(128, 64, bands=2, split=True, **SMALL), "slices": Hopper(64, 64, slices=2, **SMALL),
    "by sectors": Hopper(64, 72, store="sectors", **SMALL), "lines": Hopper(64, 64, scaled="lines", **E4M3, **SMALL),
    "blocks": Hopper(64, 32, scaled="1x128", **E4M3, **SMALL), "groups": Hopper(64, 32, **GROUPED),
    "groups, lines": Hopper(64, 32, c_major="M", scaled="lines", **E4M3, **GROUPED),
    "groups, blocks": Hopper(64, 32, scaled="1x128", **E4M3, **GROUPED),
}
"""Configurations without an epilogue; those of CASES have one."""


def operands_of(config):
    """What `run` takes of a product of SHAPE; the rows of a grouped one, of which the first group has none."""
    M, N, K = SHAPE
    dtype, f4, deep, groups = TYPES[config.dtype].numpy, np.float32, -(-K // 128), (3,) * config.grouped
    ends, down = [np.array([0, 70, 130], np.int32)] * config.grouped, config.grouped and config.c_major == "M"
    (rows, cols), (of_rows, of_cols) = ((N, M), (groups, ())) if down else ((M, N), ((), groups))
    kinds = {"": (), "lines": ((rows, 1), (1, cols)), "1x128": ((rows, deep), (deep, cols // 128 + 1))}[config.scaled]
    if config.grouped and config.scaled == "lines":
        kinds = ((*groups, N), (1, M)) if down else ((rows, 1), (*groups, N))
    if config.grouped and config.scaled == "1x128":
        kinds = (rows, deep), (*groups, *kinds[1])
    a, b = np.ones((*of_rows, rows, K), dtype), np.ones((*of_cols, cols, K), dtype).swapaxes(-1, -2)
    return [a, b, *ends, *(np.ones(kind, f4) for kind in kinds)]


def behind(ahead, kernel, operands):
    """Runs a kernel behind another; returns its CTAs."""
    work = kernel.work(*operands, sms=SMS if kernel.options.split or kernel.options.slices > 1 else 2)
    machine.execute(work)
    return kernel.launch_shape(work.problem).grid[0]


def product(case):
    """(kernel, operands) of a case: one of KINDS or, by its number, of CASES."""
    if isinstance(case, int):
        return asked(np.random.default_rng(1), *CASES[case], SHAPE)
    return kernel_of(KINDS[case]), operands_of(KINDS[case])


@pytest.mark.parametrize("case", sweep_but(["wgmma_tma", "clusters", "groups, blocks"],
                                           [*KINDS, *range(len(CASES))]))
@cut_small_tiles()
def test_nothing_is_read_or_written_before_a_kernel_ahead_has_ended_and_every_cta_waits_for_that(case, monkeypatch):
    ahead = Ahead(monkeypatch)
    assert behind(ahead, *product(case)) == len(ahead.waited) and not ahead.early


@pytest.mark.parametrize("case", ["lines", "groups"])
def test_consumers_that_read_what_no_producer_loads_are_found_where_they_do_not_wait(case, monkeypatch):
    kernel, operands = product(case)
    ahead = Ahead(monkeypatch, lambda warp: warp.warp_index >= 4 * kernel.options.consumers)
    behind(ahead, kernel, operands)
    assert {file.rpartition("/")[2] for file, _ in ahead.early} == {{"lines": "bring.py", "groups": "walk.py"}[case]}


@pytest.mark.parametrize("case", sweep_but(["wgmma_tma", "cut"], ["wgmma_tma", "mma_tma", "cut", "groups, blocks"]))
def test_a_kernel_that_does_not_wait_is_found(case, monkeypatch):
    ahead = Ahead(monkeypatch, lambda warp: False)
    behind(ahead, *product(case))
    assert ahead.early and not ahead.waited
