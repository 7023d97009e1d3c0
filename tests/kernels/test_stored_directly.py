"""C that threads store themselves, without TMA, on the CPU machine."""

from dataclasses import replace

import numpy as np
import pytest
from machine_code import assembled, assert_in_registers, needs_tools
from tiers import sweep_but

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from simlayout import machine
from simlayout.machine.engine.global_memory import GlobalPointer

NUMPY = {"f16": np.float16, "f32": np.float32, "s32": np.int32}
M, K = 9, 72


def small_integers(shape, dtype, seed):
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.int8 if dtype == "s8" else np.float16)


@pytest.mark.parametrize("dtype, out, start, N, nbytes", [
    ("f16", "f32", 0, 90, {8}), ("f16", "f32", 2, 71, {4, 8}), ("s8", "s32", 2, 90, {8}),
    ("f16", "f16", 2, 90, {4}), ("f16", "f16", 1, 90, {2}), ("f16", "f16", 0, 71, {2, 4}), ("f16", "f32", 1, 90, {4})])
def test_two_neighbours_of_a_line_of_c_are_stored_at_once_where_they_begin_on_their_size(dtype, out, start, N, nbytes,
                                                                                         monkeypatch):
    a, b = small_integers((M, 80), dtype, 1)[:, :K], small_integers((N, 80), dtype, 2)[:, :K].T
    around = np.zeros(M * N + 24, NUMPY[out])
    c, written, write = around[start:start + M * N].reshape(M, N), set(), GlobalPointer.write

    def noted(pointer, lanes, data, width):
        written.update({data.shape[1]} if lanes.any() else ())
        write(pointer, lanes, data, width=width)

    monkeypatch.setattr(GlobalPointer, "write", noted)
    work = kernel_of(Hopper(64, 48, 2, dtype=dtype, out=out, store="direct")).work(a, b, sms=2)
    trace = machine.execute(replace(work, arrays=work.arrays | {"c": c.reshape(work.arrays["c"].shape)}), None, "report")
    assert trace.hazards == () and written == nbytes
    np.testing.assert_array_equal(c, a.astype(int) @ b.astype(int))
    assert not around[:start].any() and not around[start + c.size:].any()


FULL = "alpha residual bias_n gelu multiply"
WIDE = {
    "scaled, in turns": dict(tile_m=64, stages=5, pingpong=True, dtype="e4m3", scaled="lines", out="bf16"),
    "scaled": dict(tile_m=128, dtype="e4m3", scaled="lines", out="f32"),
    "three consumers": dict(tile_m=192, tile_n=176, dtype="e4m3", scaled="lines", out="f32", epilogue=FULL, split=True,
                            producer=1, cluster_m=2),
    "four consumers": dict(tile_m=256, tile_n=112, dtype="e4m3", scaled="lines", out="f32", epilogue=FULL, split=True,
                           producer=1)}


@needs_tools
@pytest.mark.parametrize("name", sweep_but([], WIDE))
def test_nothing_of_wide_tiles_spills_and_no_wgmma_waits_for_another(name, tmp_path):
    from cuda_kernels.build.compile import ptx

    said, _ = assembled(ptx(kernel_of(Hopper(**WIDE[name], store="direct"))), tmp_path)
    assert_in_registers(said)
