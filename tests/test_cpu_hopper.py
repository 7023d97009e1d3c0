"""The wgmma kernels' own source on the CPU machine: the bits of the hardware, the counts of the plan, and no hazard."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simlayout.numerics as numerics
from cuda_kernels.gemm.hopper import HOPPER, Hopper
from cuda_kernels.gemm.hopper_parts import tile_of
from cuda_kernels.gemm.hopper_plan import EXCHANGE, predict
from cuda_kernels.gemm.hopper_split import unit_of
from cuda_kernels.run_hopper import run_hopper
from simlayout.errors import SimlayoutError

FAST = settings(max_examples=12, deadline=None)


def operands(config, M, N, K, matrices=(1, 1), seed=0):
    """(a, b): random normal, in the configuration's order of memory, bf16 as its bits."""
    generator = np.random.default_rng(seed)

    def matrix(count, rows, cols, transposed):
        made = generator.standard_normal((count, cols, rows) if transposed else (count, rows, cols), np.float32)
        made = made.astype(np.float16) if config.dtype == "f16" else (made.view(np.uint32) >> 16).astype(np.uint16)
        return made.transpose(0, 2, 1) if transposed else made

    return matrix(matrices[0], M, K, config.a_major == "MN"), matrix(matrices[1], K, N, config.b_major == "K")


def expected(config, a, b, parts=1):
    """C's bits: the products along K in the order of wgmma, parts of K added up in order, rounded once."""
    name = f"wgmma.m64n64k16.f32.{config.dtype}.{config.dtype}"
    steps = -(-a.shape[1] // 64)
    total = None
    for part in range(parts):
        _, _, first, last = unit_of(part, 0, parts, steps)
        made = numerics.gemm(name, a[:, 64 * first:64 * last], b[64 * first:64 * last])
        total = made if total is None else total + made
    if config.out == "f32":
        return total
    if config.out == "f16":
        return total.astype(np.float16)
    bits = total.view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)


def cut_tiles(config, M, N, matrices, whole, matrix):
    """(rows, columns) of one matrix of C that the tiles from number `whole` on cover."""
    high = config.tile_m * config.cluster
    for tile in range(whole, config.tiles(M, N, matrices)):
        row, col, of = tile_of(tile, -(-M // high), -(-N // config.tile_n), config.group)
        if of == matrix:
            yield slice(high * row, high * (row + 1)), slice(config.tile_n * col, config.tile_n * (col + 1))


def check(config, M, N, K, sms=4, matrices=(1, 1)):
    """Runs a product and compares C and the counts; returns how its tiles were cut."""
    a, b = operands(config, M, N, K, matrices)
    done = run_hopper(config, a, b, sms)
    count = max(matrices)
    whole, parts = config.cut(M, N, K, count, sms)
    found = done.c if count > 1 else done.c[None]
    assert done.trace.hazards == ()
    for i in range(count):
        one, other = a[i % len(a)], b[i % len(b)]
        wanted, cut = expected(config, one, other), expected(config, one, other, parts)
        for rows, cols in cut_tiles(config, M, N, count, whole, i):
            wanted[rows, cols] = cut[rows, cols]
        assert (found[i] == wanted).all()
    counts = {}
    for c in done.trace.accesses:
        counts[c.instruction] = counts.get(c.instruction, 0) + np.array([c.instructions, c.wavefronts, c.bytes])
    said = predict(config, M, N, K, count)
    assert counts[config.wgmma][1] == said.operand_wavefronts
    if parts == 1:
        stored = sum(n for name, n in counts.items() if name.startswith("stmatrix"))
        assert config.store == "direct" or tuple(stored[:2]) == (said.stores, said.store_wavefronts)
    elif config.slices > 1:
        tiles = config.tiles(M, N, count) - whole
        written = tiles * parts * config.consumers * 4 * config.tile_n // 8
        assert tuple(counts["st.shared.b128"][:2]) == (written, written * int(EXCHANGE.analyze().wavefronts[0]))
    return whole, parts


@pytest.mark.parametrize("name", HOPPER)
def test_every_named_kernel_gives_the_bits_of_the_hardware(name):
    assert check(HOPPER[name], 130, 136, 200, sms=3)[1] == 1


@pytest.mark.parametrize("options", [
    dict(c_major="M"), dict(a_major="MN"), dict(b_major="MN"), dict(a_major="MN", b_major="MN", c_major="M"),
    dict(dtype="bf16", out="bf16"), dict(dtype="bf16", out="f32", store="direct"),
    dict(out="f32", store="direct", c_major="M"), dict(store="direct"),
    dict(tile_n=96), dict(tile_n=80, b_major="MN"), dict(tile_n=48, c_major="M"), dict(tile_m=64),
    dict(tile_m=192, tile_n=64, producer=1), dict(tile_m=256, tile_n=32, producer=1), dict(producer=1, resident=2),
    dict(persistent=False, move_registers=False), dict(group=1), dict(buffers=2, tile_n=128)], ids=str)
def test_every_option_gives_the_bits_of_the_hardware(options):
    config = replace(Hopper(tile_n=64, stages=3, buffers=1), **options)
    check(config, 136, 72, 200)


@pytest.mark.parametrize("cluster", [1, 2])
def test_batches_and_clusters_give_the_bits_of_the_hardware(cluster):
    config = Hopper(64, 64, 3, 1, cluster=cluster)
    for matrices in ((2, 2), (1, 3), (3, 1)):
        check(config, 136, 72, 136, matrices=matrices)


@pytest.mark.parametrize("config, shape, sms, cut", [
    (Hopper(64, 64, 3, 1, split=True), (64, 64, 520), 4, (0, 3)),
    (Hopper(64, 64, 3, 1, split=True, cluster=2, c_major="M"), (128, 64, 320), 6, (0, 3)),
    (Hopper(128, 64, 3, 1, split=True, out="f32", store="direct"), (136, 64, 256), 5, (0, 2)),
    (Hopper(64, 64, 3, 1, split=True), (64, 320, 200), 4, (4, 4)),
    (Hopper(64, 64, 4, 1, slices=4), (64, 64, 520), 4, (0, 4)), (Hopper(64, 32, 8, 1, slices=8), (64, 32, 1040), 8, (0, 8)),
    (Hopper(128, 64, 3, 1, slices=3, c_major="M", b_major="MN"), (128, 64, 264), 6, (0, 3)),
    (Hopper(64, 64, 4, 1, slices=2), (64, 320, 200), 4, (4, 2))], ids=str)
def test_the_parts_of_cut_tiles_are_added_up_in_order(config, shape, sms, cut, monkeypatch):
    monkeypatch.setattr("cuda_kernels.gemm.hopper.REDUCE_STEPS", 0)     # cut even what is small
    assert check(config, *shape, sms=sms) == cut


@FAST
@given(st.sampled_from([64, 128]), st.sampled_from([16, 48, 64, 96]), st.integers(2, 4), st.integers(1, 2),
       st.sampled_from(["K", "MN"]), st.sampled_from(["K", "MN"]), st.sampled_from(["N", "M"]), *[st.integers(1, 18)] * 3)
def test_random_configurations_give_the_bits_of_the_hardware(tile_m, tile_n, stages, buffers, a, b, c, M, N, K):
    config = Hopper(tile_m, tile_n, stages, buffers, a_major=a, b_major=b, c_major=c)
    check(config, 8 * M, 8 * N, 8 * K, sms=2)


def test_matrices_that_do_not_fit_are_refused():
    a, b = operands(Hopper(), 64, 64, 64)
    for arguments, text in (((a.astype(np.float32), b), "a is float32"), ((a, b[0, :, 0]), "b is float16"),
                            ((a, b[:, :32]), "they have no product")):
        with pytest.raises(SimlayoutError, match=text):
            run_hopper(Hopper(), *arguments)
