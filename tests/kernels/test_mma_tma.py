"""mma_tma on the CPU machine and as machine code: mma_swizzled's bits, TMA's loads, what goes wrong without its waits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from machine_code import assembled, assert_in_registers, needs_tools, of_class
from ml_dtypes import bfloat16
from on_machine import on_machine
from tiers import sweep_but

from cuda_kernels import KERNELS
from cuda_kernels.build.compile import ptx
from cuda_kernels.intrinsics import Instruction
from cuda_kernels.job import main_job
from cuda_kernels.kernels import named
from cuda_kernels.kernels.hopper import mma_tma
from cuda_kernels.kernels.hopper import plan as tma_plan
from cuda_kernels.kernels.hopper.config import HOPPER
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.run.runner import run
from simlayout.errors import HazardError, MachineError, SimlayoutError, VerificationError

CONFIG = HOPPER["mma_tma"]
ALONE = replace(CONFIG, cluster_m=1)
CLUSTERS = [(1, 1), (1, 2), (2, 1), (2, 2)]


def matrices(M, N, K, seed=0):
    """a (M, K) and b (N, K), random normal f16, in lines that start on 16 bytes."""
    generator = np.random.default_rng(seed)
    made = (generator.standard_normal((rows, -(-K // 8) * 8), np.float32).astype(np.float16) for rows in (M, N))
    return [x[:, :K] for x in made]


SMALL = (2, 1), (200, 40, 72)
PRODUCTS = [SMALL, *((cluster, (300, 136, 200)) for cluster in CLUSTERS)]


@pytest.mark.parametrize("product", sweep_but([SMALL], PRODUCTS), ids=str)
def test_c_has_the_bits_of_mma_swizzled_and_what_was_executed_is_what_is_predicted(product):
    (below, beside), (M, N, K) = product
    kernel = named("mma_tma").variant(cluster_m=below, cluster_n=beside)
    report = main_job(kernel, M, N, K, device="cpu")
    assert report.ok and all(done is not None for *_, done in report.rows)
    a, b = matrices(M, N, K)
    same = run(KERNELS["mma_swizzled"], a, b.T, device="cpu").c
    assert (on_machine(kernel.options, a, b.T).c == same).all()


@pytest.mark.sweep
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(1, 300), st.integers(1, 150), st.integers(1, 300), st.sampled_from([2, 3, 4]), st.sampled_from(CLUSTERS))
def test_any_product_is_right_without_a_hazard(M, N, K, stages, cluster):
    a, b = matrices(M, N, K, M + N + K)
    done = on_machine(replace(CONFIG, stages=stages, cluster_m=cluster[0], cluster_n=cluster[1]), a, b.T)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.allclose(done.c, exact, rtol=2e-3, atol=2e-3 * np.sqrt(K))


def test_bf16_and_batches_are_multiplied_too():
    generator = np.random.default_rng(3)
    a, b = (generator.standard_normal((2, *shape), np.float32).astype(bfloat16) for shape in ((40, 72), (24, 72)))
    config = replace(ALONE, dtype="bf16", out="bf16")
    done = on_machine(config, a.view(np.uint16), b.view(np.uint16).swapaxes(1, 2)).c.view(bfloat16)
    exact = a.astype(np.float64) @ b.astype(np.float64).swapaxes(1, 2)
    assert np.allclose(done.astype(np.float64), exact, rtol=0.01, atol=0.05)


def test_a_warp_that_releases_a_stage_before_it_has_read_it_is_found(monkeypatch):
    monkeypatch.setattr(mma_tma, "bar_warp_sync", Instruction("nothing", "", (), (), lambda warp: None))
    with pytest.raises(HazardError, match="put a bar.warp.sync"):
        on_machine(ALONE, *_operands(400))


def test_a_loader_that_does_not_wait_overwrites_what_others_still_read(monkeypatch):
    wait = mma_tma.mbarrier_wait

    def impatient(warp, address, parity):
        if np.asarray(address).max() % 1024 < 32:        # full[s]; empty[s] lies behind four of them
            wait.twin(warp, address, parity)

    monkeypatch.setattr(mma_tma, "mbarrier_wait", Instruction("mbarrier_wait", "", (), ("u32", "u32"), impatient))
    with pytest.raises(HazardError):
        on_machine(ALONE, *_operands(600))


def test_warps_that_do_not_wait_for_the_bytes_are_found(monkeypatch):
    monkeypatch.setattr(mma_tma, "mbarrier_wait", Instruction("mbarrier_wait", "", (), ("u32", "u32"), lambda *_: None))
    with pytest.raises((HazardError, MachineError)):
        on_machine(ALONE, *_operands(72))


def _operands(K):
    a, b = matrices(64, 64, K)
    return a, b.T


def test_boxes_that_the_layout_does_not_expect_where_they_land_are_not_verified(monkeypatch):
    loads = tma_plan.loads_of
    monkeypatch.setattr(tma_plan, "loads_of", lambda *arguments: [(c, at + 1024) for c, at in loads(*arguments)])
    with pytest.raises(VerificationError, match=r"element \(row 0, k 0\) lies at byte 1024 and the layout has it at 0"):
        named("mma_tma").prove()


@pytest.mark.parametrize("options, fault", [
    ({"tile_n": 128}, "mma_tma is a simpler kernel: set tile_n=256"), ({"a_major": "MN"}, "set a_major='K'"),
    ({"persistent": True}, "set persistent=False"), ({"out": "f32"}, "set out='f16' or 'bf16'"),
    ({"stages": 5}, "set stages=2 or 3 or 4")])
def test_options_for_which_nothing_was_proved_are_refused(options, fault):
    with pytest.raises(SimlayoutError, match=fault):
        replace(CONFIG, **options)


@needs_tools
@pytest.mark.parametrize("config", [pytest.param(CONFIG, marks=pytest.mark.slow), *sweep_but([], [
    ALONE, replace(CONFIG, dtype="bf16", out="bf16", cluster_n=2)])], ids=str)
def test_nothing_spills_and_threads_copy_nothing(config, tmp_path):
    said, opcodes = assembled(ptx(kernel_of(config)), tmp_path)
    assert_in_registers(said)
    assert of_class(opcodes, "HMMA") == 4 * 48 + 8 and of_class(opcodes, "LDSM") == 4 * 10 + 5
    assert of_class(opcodes, "LDGSTS") == of_class(opcodes, "LDL") == of_class(opcodes, "STL") == 0
