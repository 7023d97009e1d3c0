"""The wgmma kernels on the CPU machine: C has the bits of the arithmetic, and what was executed is what is predicted."""

from dataclasses import replace

import numpy as np
import pytest
from cut_tiles import cut_small_tiles
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16
from on_machine import on_machine
from tiers import sweep_but

from cuda_kernels.intrinsics import Instruction, mbarrier_arrive_expect_tx
from cuda_kernels.kernels.hopper import pipeline as hopper_pipeline
from cuda_kernels.kernels.hopper import producer, wgmma_persistent
from cuda_kernels.kernels.hopper import slices as hopper_slices
from cuda_kernels.kernels.hopper import split as hopper_split
from cuda_kernels.kernels.hopper.accesses import predict
from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.kernel import SIGNATURE, kernel_of
from cuda_kernels.kernels.hopper.order import order_of, tile_of
from cuda_kernels.kernels.hopper.plan import plan_of
from cuda_kernels.kernels.hopper.split import cutting_of, unit_of
from simlayout import machine, numerics
from simlayout.errors import HazardError, MachineError, SimlayoutError
from simlayout.kernel import AccessCount

NUMPY = {"f16": np.float16, "bf16": bfloat16, "f32": np.float32}


def stored(shape, dtype, major, generator):
    """A matrix, or several, whose lines along `major` start on 16 bytes, whatever its shape: a part of a larger one."""
    *matrices, rows, cols = shape
    lines = (rows, cols) if major == "last" else (cols, rows)
    whole = generator.standard_normal((*matrices, lines[0], -(-lines[1] // 8) * 8), np.float32).astype(NUMPY[dtype])
    whole = (whole.view(np.uint16) if dtype == "bf16" else whole)[..., :lines[1]]
    return whole if major == "last" else whole.swapaxes(-1, -2)


def operands(config, M, N, K, matrices=(1, 1), seed=0):
    """a (matrices, M, K) and b (matrices, K, N), random normal, in the configuration's orders of memory."""
    generator = np.random.default_rng(seed)
    a = stored((matrices[0], M, K), config.dtype, "last" if config.a_major == "K" else "first", generator)
    b = stored((matrices[1], K, N), config.dtype, "first" if config.b_major == "K" else "last", generator)
    return a, b


def by_the_book(config, a, b, sms):
    """C (matrices, M, N) in the type of C: of each tile one chain of wgmma, or the sum of its parts' in their order."""
    (_, M, K), N, matrices = a.shape, b.shape[2], max(len(a), len(b))
    whole, parts = config.cut(M, N, K, matrices, sms)
    c, cut = numerics.gemm(config.wgmma, a, b), None
    for part in range(parts if parts > 1 else 0):
        _, _, first, last = unit_of(part, -(-K // 64), cutting_of(1, 0, parts))
        made = numerics.gemm(config.wgmma, a[..., 64 * first:64 * last], b[..., 64 * first:64 * last, :])
        cut = made if cut is None else cut + made
    height, width = config.cluster_m * config.tile_m, config.cluster_n * config.tile_n
    rows, cols = -(-M // height), -(-N // width)
    for tile in range(whole, config.tiles(M, N, matrices)):
        row, col, matrix = tile_of(tile, rows, cols, order_of(rows, cols, config.group))
        where = matrix, slice(height * row, height * (row + 1)), slice(width * col, width * (col + 1))
        c[where] = cut[where]
    return c.astype(NUMPY[config.out])


def assert_right_and_as_predicted(config, M, N, K, matrices=(1, 1), sms=2):
    a, b = operands(config, M, N, K, matrices)
    done = on_machine(config, a, b, sms)
    c = done.c if done.c.ndim == 3 else done.c[None]
    bits = np.uint32 if config.out == "f32" else np.uint16
    wanted = by_the_book(config, a, b, sms)
    np.testing.assert_array_equal(np.ascontiguousarray(c).view(bits), wanted.view(bits))
    assert done.trace.hazards == done.trace.notes == ()
    whole, parts = config.cut(M, N, K, max(matrices), sms)
    sliced = config.tiles(M, N, max(matrices)) - whole if config.slices > 1 else 0
    said = predict(config, M, N, K, max(matrices), sliced=sliced)
    counts = {c.instruction: c for c in done.trace.by_instruction()}
    assert counts[config.wgmma].wavefronts == said.operand_wavefronts and done.trace.total().exact
    if parts == 1 or sliced:
        assert_moved(counts, said, c.nbytes if config.store == "sectors" else 512 * said.stores)
    if sliced:
        assert_exchanged(counts, plan_of(config).exchanged(config.sharing * sliced))


def assert_moved(counts, said, nbytes):
    """What TMA and stmatrix moved is what is predicted. nbytes: that are copied to C, what is staged, or C alone."""
    nothing = AccessCount("", "", 0, 0, 0)
    loaded, boxes, lines = (counts.get(name, nothing).bytes for name in (
        "cp.async.bulk.tensor", "cp.async.bulk.tensor.global", "cp.async.bulk.global"))
    assert loaded == 4 * said.bank_writes - 512 * said.stores and boxes + lines == nbytes
    (staged,) = [c for name, c in counts.items() if name.startswith("stmatrix")] or [nothing]
    assert (staged.instructions, staged.wavefronts, staged.ideal) == (said.stores, *[said.store_wavefronts] * 2)


def assert_exchanged(counts, said):
    """What slices send one another, and what they add up, is what is predicted."""
    for told in said:
        done = counts[told.instruction]
        assert (done.instructions, done.wavefronts, done.bytes) == (told.instructions, told.wavefronts, told.bytes)


TMA = dict(stages=3, buffers=1)
KINDS = {
    "wgmma_tma": (HOPPER["wgmma_tma"], (70, 72, 136)),
    "wgmma_specialized": (HOPPER["wgmma_specialized"], (130, 136, 72)),
    "wgmma_persistent": (HOPPER["wgmma_persistent"], (130, 264, 200)),
    "wgmma_tma, all orders turned": (Hopper(**{**vars(HOPPER["wgmma_tma"]), "a_major": "MN", "b_major": "MN"}),
                                     (70, 72, 136)),
    "64 x 64": (Hopper(64, 64, **TMA), (130, 136, 200)),
    "64 x 256": (Hopper(64, 256, **TMA), (64, 264, 72)),
    "three consumers": (Hopper(192, 96, producer=1, **TMA), (200, 104, 136)),
    "four consumers": (Hopper(256, 64, producer=1, **TMA), (264, 64, 136)),
    "two bands": (Hopper(256, 64, bands=2, **TMA), (264, 64, 136)),
    "two bands, A by columns": (Hopper(128, 64, bands=2, a_major="MN", c_major="M", **TMA), (136, 72, 136)),
    "16 columns": (Hopper(64, 16, 4, 1), (72, 40, 136)),
    "columns in boxes of 32": (Hopper(64, 96, **TMA), (72, 104, 136)),
    "boxes that overlap": (Hopper(64, 104, 3, 2, 64), (72, 208, 136)),
    "boxes that overlap, C by columns": (Hopper(128, 72, 3, 2, 32, c_major="M"), (136, 90, 136)),
    "boxes that overlap in clusters": (Hopper(64, 88, box=48, c_major="M", cluster_m=4, cluster_n=2, **TMA), (200, 170, 72)),
    "two CTAs per SM": (Hopper(128, 64, producer=1, resident=2, **TMA), (300, 72, 136)),
    "A by columns": (Hopper(128, 64, a_major="MN", **TMA), (130, 64, 136)),
    "B by rows": (Hopper(64, 80, b_major="MN", **TMA), (64, 104, 136)),
    "both, bf16": (Hopper(64, 128, a_major="MN", b_major="MN", dtype="bf16", out="bf16", **TMA), (72, 136, 137)),
    "C by columns": (Hopper(128, 80, c_major="M", **TMA), (136, 90, 136)),
    "C by columns in several buffers": (Hopper(64, 192, 3, 2, c_major="M"), (72, 200, 136)),
    "bf16 to f32": (Hopper(64, 64, dtype="bf16", out="f32", store="direct", **TMA), (65, 67, 75)),
    "f16 to bf16": (Hopper(64, 64, out="bf16", **TMA), (65, 72, 75)),
    "direct, one stored by columns": (Hopper(64, 64, out="f32", store="direct", c_major="M", **TMA), (65, 67, 75)),
    "everything ragged": (Hopper(128, 64, store="direct", **TMA), (133, 71, 203)),
    "a single element": (Hopper(64, 64, store="direct", **TMA), (1, 1, 1)),
    "cluster": (Hopper(64, 128, cluster_m=2, **TMA), (200, 136, 136)),
    "cluster, B by rows": (Hopper(64, 128, cluster_m=2, b_major="MN", **TMA), (130, 136, 72)),
    "cluster, side by side": (Hopper(64, 64, cluster_n=2, **TMA), (70, 264, 136)),
    "cluster, A by columns": (Hopper(128, 64, cluster_n=4, a_major="MN", producer=1, **TMA), (136, 264, 136)),
    "cluster of 2 x 2": (Hopper(64, 64, cluster_m=2, cluster_n=2, **TMA), (200, 136, 136)),
    "cluster of 4 x 2": (Hopper(64, 64, cluster_m=4, cluster_n=2, a_major="MN", **TMA), (200, 136, 136)),
    "cluster of 2 x 4": (Hopper(64, 32, cluster_m=2, cluster_n=4, b_major="MN", c_major="M", **TMA), (136, 136, 72)),
    "cluster, a column of tiles too many": (Hopper(64, 64, cluster_m=2, **TMA), (60, 64, 136)),
    "not persistent": (Hopper(64, 64, persistent=False, group=1, **TMA), (130, 72, 136)),
    "two consumers in turns": (Hopper(64, 64, pingpong=True, **TMA), (200, 136, 200)),
    "two consumers in turns, in clusters": (Hopper(64, 48, pingpong=True, cluster_m=2, cluster_n=2, **TMA), (400, 200, 136)),
    "two bands in turns": (Hopper(128, 72, bands=2, pingpong=True, **TMA), (400, 144, 200)),
    "two bands in turns, one tile": (Hopper(128, 72, bands=2, c_major="M", pingpong=True, **TMA), (128, 72, 136)),
    "by sectors": (Hopper(64, 72, store="sectors", **TMA), (70, 200, 72)),
    "by sectors, bf16, two buffers": (Hopper(128, 40, 3, 2, bands=2, store="sectors", dtype="bf16", out="bf16"),
                                      (130, 88, 72)),
    "by sectors, in turns, in clusters": (Hopper(128, 40, bands=2, pingpong=True, cluster_m=2, cluster_n=2, store="sectors",
                                                 **TMA), (300, 104, 72)),
    "split that cuts nothing": (Hopper(64, 64, split=True, **TMA), (128, 64, 72)),
}
"""Configuration, (M, N, K)."""


@pytest.mark.parametrize("kind", sweep_but(list(KINDS)[:4], KINDS))
def test_every_kind_gives_the_bits_of_the_arithmetic_and_executes_what_is_predicted(kind):
    assert_right_and_as_predicted(KINDS[kind][0], *KINDS[kind][1])


BATCHES = [(3, 3), (1, 3), (3, 1)]
BATCHED = {"wgmma_tma": HOPPER["wgmma_tma"], "persistent": Hopper(64, 64, **TMA),
           "cluster": Hopper(64, 64, cluster_m=2, **TMA)}


@pytest.mark.parametrize("matrices", BATCHES, ids=str)
@pytest.mark.parametrize("name", sweep_but(["persistent"], BATCHED))
def test_a_batch_of_matrices_may_share_an_operand(name, matrices):
    assert_right_and_as_predicted(BATCHED[name], 66, 72, 72, matrices)


def assert_as_the_plan_says(config, M, N, K, matrices, sms):
    """What a kernel executes is what its plan says of the problem, as far as that is exact; returns the Prediction."""
    work = kernel_of(config).work(*operands(config, M, N, K, (matrices, matrices)), sms=sms)
    trace, said = machine.execute(work), work.kernel.predict(work.problem)
    for count in trace.by_instruction():
        alike = [one for one in said.counts if one.instruction == count.instruction]
        if alike and all(one.exact for one in alike):
            assert (sum(one.wavefronts for one in alike), sum(one.bytes for one in alike)) == (count.wavefronts, count.bytes)
    assert said.ctas == work.kernel.launch_shape(work.problem).grid[0]
    return said


@pytest.mark.parametrize("name", sweep_but(["by sectors"], ["wgmma_persistent", "mma_tma", "by sectors", "cluster"]))
def test_a_plan_predicts_all_products_of_a_batch(name):
    config = {"by sectors": Hopper(64, 40, store="sectors", **TMA), "cluster": Hopper(64, 64, cluster_m=2, **TMA)} | HOPPER
    assert_as_the_plan_says(config[name], 9, 88, 72, 3, 2)


@cut_small_tiles()
@pytest.mark.parametrize("options, untold", [(dict(split=True), ["stage C", "store C"]), (dict(slices=2), [])], ids=str)
def test_a_plan_counts_what_slices_exchange_and_says_that_it_does_not_how_split_tiles_are_stored(options, untold):
    said = assert_as_the_plan_says(Hopper(64, 64, **options, **TMA), 130, 136, 264, 1, 4)
    assert [count.name for count in said.counts if not count.exact] == untold


@pytest.mark.parametrize("start", [0, 8])
def test_lines_are_stored_by_sectors_wherever_c_and_its_matrices_start(start):
    config, M, N = Hopper(64, 40, store="sectors", **TMA), 9, 88            # an odd number of rows, each of 5.5 sectors
    a, b = operands(config, M, N, 72, (3, 3))
    around = np.zeros(3 * M * N + 24, np.float16)
    c = around[start:start + 3 * M * N].reshape(3, M, N)
    work = kernel_of(config).work(a, b, sms=2)
    trace = machine.execute(replace(work, arrays=work.arrays | {"c": c}), None, "report")
    assert work.kernel.options.store == "sectors" and trace.hazards == ()
    np.testing.assert_array_equal(c, by_the_book(config, a, b, 2))
    assert not around[:start].any() and not around[start + c.size:].any()


CUT = {
    "three parts": (Hopper(64, 64, split=True, **TMA), (64, 64, 200), 3),
    "whole tiles before them": (Hopper(64, 64, split=True, **TMA), (130, 136, 264), 4),
    "ragged, stored directly": (Hopper(128, 64, split=True, store="direct", out="f32", **TMA), (133, 71, 203), 8),
    "C by columns": (Hopper(64, 96, split=True, c_major="M", **TMA), (72, 104, 136), 9),
    "in clusters": (Hopper(64, 64, split=True, cluster_m=2, **TMA), (130, 64, 136), 8),
    "two CTAs per SM": (Hopper(128, 64, split=True, producer=1, resident=2, **TMA), (136, 72, 136), 4),
    "two consumers in turns": (Hopper(64, 64, split=True, pingpong=True, **TMA), (130, 136, 264), 4),
    "two bands in turns": (Hopper(128, 64, split=True, bands=2, pingpong=True, **TMA), (264, 136, 264), 4),
    "slices": (Hopper(64, 64, slices=2, **TMA), (64, 64, 136), 4),
    "slices, ragged": (Hopper(128, 80, 5, 1, slices=3), (133, 88, 203), 16),
    "slices, C by columns": (Hopper(64, 64, 4, 1, slices=4, b_major="MN", c_major="M"), (72, 72, 264), 20),
    "slices behind whole tiles": (Hopper(64, 64, slices=2, **TMA), (300, 64, 136), 4),
    "slices that share loads": (Hopper(64, 32, slices=2, cluster_m=2, **TMA), (100, 24, 200), 4),
    "slices that share all loads": (Hopper(64, 24, slices=2, cluster_m=2, cluster_n=2, c_major="M", **TMA), (128, 56, 264),
                                    40),
    "more slices than groups of columns": (Hopper(64, 16, 3, 1, slices=5), (40, 16, 400), 22),
}
"""Configuration, (M, N, K), SMs: so that tiles are cut along K."""


@cut_small_tiles()
@pytest.mark.parametrize("kind", sweep_but(list(CUT)[::4], CUT))
def test_cut_tiles_are_the_sums_of_their_parts_in_order(kind):
    config, (M, N, K), sms = CUT[kind]
    assert config.cut(M, N, K, 1, sms)[1] > 1
    assert_right_and_as_predicted(config, M, N, K, sms=sms)


@cut_small_tiles()
def test_the_counters_of_cut_tiles_are_zero_again_afterwards(monkeypatch):
    """As the next launch needs them."""
    kept, run = [], machine.run

    def spied(*args, **options):
        kept.append(args[[argument.name for argument in SIGNATURE].index("counters") - len(SIGNATURE)])
        return run(*args, **options)

    monkeypatch.setattr("simlayout.machine.python.work.run", spied)
    config = Hopper(64, 64, split=True, **TMA)
    on_machine(config, *operands(config, 64, 64, 200), sms=3)
    assert len(kept) == 1 and kept[0].dtype == np.uint8 and not kept[0].any()


def test_matrices_that_do_not_fit_are_refused():
    a, b = operands(Hopper(), 64, 64, 64)
    for arguments, text in (((a.astype(np.float32), b), "a is float32"), ((a, b[0, :, 0]), "b must be a matrix"),
                            ((a, b[:, :32]), "they have no product")):
        with pytest.raises(SimlayoutError, match=text):
            on_machine(Hopper(), *arguments)


# ---- any configuration -----------------------------------------------------------------------------------------------


@st.composite
def configurations(draw):
    """A Hopper configuration with a small tile, and SMs for which it runs."""
    allowed = dict(
        tile_m=[64, 64, 128, 192], tile_n=range(16, 145, 16), stages=range(2, 6), buffers=range(1, 4), group=range(1, 4),
        a_major=["K", "MN"], b_major=["K", "MN"], c_major=["N", "M"], dtype=["f16", "bf16"], out=["f16", "bf16", "f32"],
        store=["tma", "direct"], split=[False, True], persistent=[True, False], producer=[4, 1],
        cluster_m=[1, 1, 2, 4], cluster_n=[1, 1, 2, 4], slices=[1, 1, 2, 3], resident=[1, 2],
        bands=[1, 1, 2], pingpong=[False, True])
    options = {name: draw(st.sampled_from(values)) for name, values in allowed.items()}
    try:
        config = Hopper(**options)
    except SimlayoutError:
        assume(False)
    return config, 22 if config.sharing * config.slices > 4 else 16 if config.slices > 2 else 6


@pytest.mark.slow
@cut_small_tiles()
@settings(max_examples=4, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(configurations(), st.integers(1, 150), st.integers(1, 150), st.integers(1, 280), st.sampled_from([(1, 1), (2, 1)]))
def test_any_configuration_gives_the_bits_of_the_arithmetic(configured, M, N, K, matrices):
    config, sms = configured
    if config.store == "tma":                                # whose lines of C start on 16 bytes
        M, N = (M, -(-N // 8) * 8) if config.c_major == "N" else (-(-M // 8) * 8, N)
    assert_right_and_as_predicted(config, M, N, K, matrices, sms)


@pytest.mark.sweep
def test_a_long_run_that_forgets_what_nothing_refers_to_keeps_what_was_just_written():
    config = Hopper(192, 16, 3, 2, group=2, c_major="M", dtype="bf16", out="bf16", producer=1, cluster_m=4)
    assert_right_and_as_predicted(config, 80, 118, 280, sms=6)         # its 4096th access is a store


# ---- what is planted is found ----------------------------------------------------------------------------------------


def no_barrier(warp, barrier, threads):
    """bar_sync_some, left out."""


def no_wait(warp, address, value):
    """wait_global_at_least, left out."""


def relaxed_add(warp, address, value):
    """atom.add.relaxed: counts, and orders nothing."""
    held = np.zeros(32, np.uint32)
    for lane in np.flatnonzero(warp.active).tolist():
        one = warp.lane == lane
        held[lane] = address.read(one, 4, strong=True).view(np.uint32)[lane, 0]
        address.write(one, (held + np.uint32(value)).reshape(32, 1).view(np.uint8), strong=True)
    return held.astype(np.int64)


@cut_small_tiles()
@pytest.mark.parametrize("name, twin", [("bar_sync_some", no_barrier), ("wait_global_at_least", no_wait),
                                        ("atom_add_acq_rel_gpu", relaxed_add)])
def test_parts_that_are_added_up_before_they_are_released_or_acquired_are_a_race(monkeypatch, name, twin):
    monkeypatch.setattr(hopper_split, name, Instruction(name, "", (), (), twin))
    config = Hopper(64, 64, split=True, **TMA)
    with pytest.raises(HazardError) as caught:
        on_machine(config, *operands(config, 64, 64, 200), sms=3)
    found = caught.value.hazard
    assert found.kind == "global race" and found.first.cta != found.second.cta
    assert found.first.file.endswith("split.py") and "uint8 array" in str(caught.value)


expect_half = Instruction("mbarrier_arrive_expect_tx", "", (), ("u32", "u32"), lambda warp, address, count:
                          mbarrier_arrive_expect_tx.twin(warp, address, count // 2))


@cut_small_tiles()
@pytest.mark.parametrize("fault, told", [("barrier", "no mbarrier at shared"), ("wait", "early read"),
                                         ("bytes", "unwritten read")])
def test_slices_that_send_before_the_others_are_there_or_read_before_all_has_come_are_found(monkeypatch, fault, told):
    if fault == "barrier":                               # the mbarrier of the consumer is not set up
        ring = wgmma_persistent.make_ring
        monkeypatch.setattr(wgmma_persistent, "make_ring", lambda *taken: ring(*taken[:4], 0))
    if fault == "wait":
        monkeypatch.setattr(hopper_slices, "mbarrier_wait", Instruction("mbarrier_wait", "", (), (), no_wait))
    if fault == "bytes":                                 # of its own sums alone
        monkeypatch.setattr(hopper_slices, "mbarrier_arrive_expect_tx", expect_half)
    config = Hopper(64, 64, slices=2, **TMA)
    with pytest.raises(MachineError, match=told):
        on_machine(config, *operands(config, 64, 64, 200), sms=3)


def told(wanted):
    """mbarrier_arrive_cluster_if that leaves out the CTAs for which wanted(rank, own rank) is false."""
    def arrive(warp, condition, address, cta):
        kept = wanted(np.asarray(cta), warp.cluster_rank())
        lanes = np.broadcast_to(kept & (np.asarray(condition) != 0), (32,))
        warp.mbarrier_arrive_remote(address, cta, lanes=lanes)
    return Instruction("mbarrier_arrive_cluster_if", "", (), ("s32", "u32", "u32"), arrive)


def test_a_cluster_whose_ctas_do_not_tell_those_beside_them_of_free_stages_hangs_and_it_is_said_who_waits(monkeypatch):
    monkeypatch.setattr(hopper_pipeline, "mbarrier_arrive_cluster_if", told(lambda cta, own: cta // 2 == own // 2))
    config = Hopper(64, 64, cluster_m=2, cluster_n=2, **TMA)
    with pytest.raises(MachineError, match="mbarrier .* which lacks 1 of 3 arrivals"):
        on_machine(config, *operands(config, 128, 128, 400), sms=4)


def test_a_cluster_whose_ctas_wait_for_their_own_consumers_alone_overwrites_what_others_still_read(monkeypatch):
    def init(warp, address, count):
        warp.mbarrier_init(address, 1)

    monkeypatch.setattr(hopper_pipeline, "mbarrier_arrive_cluster_if", told(lambda cta, own: cta == own))
    monkeypatch.setattr(hopper_pipeline, "mbarrier_init", Instruction("mbarrier_init", "", (), ("u32", "u32"), init))
    config = Hopper(64, 64, cluster_m=2, cluster_n=2, **TMA)
    with pytest.raises(HazardError) as caught:
        on_machine(config, *operands(config, 128, 128, 400), sms=4)
    assert caught.value.hazard.kind == "write in flight" and "of CTA (2, 0, 0)" in str(caught.value)


def test_a_producer_that_does_not_wait_for_the_last_stages_ends_before_its_peers_have_told_it(monkeypatch):
    """The end of a cluster has no barrier of its own: the producers' last waits keep the CTAs."""
    waits, wait = {}, producer.mbarrier_wait

    def impatient(warp, address, parity):
        waits[warp.number] = waits.get(warp.number, 0) + 1
        if waits[warp.number] <= 2:                      # two steps, then the last waits
            wait.twin(warp, address, parity)

    monkeypatch.setattr(producer, "mbarrier_wait", Instruction("mbarrier_wait", "", (), ("u32", "u32"), impatient))
    config = Hopper(64, 64, cluster_m=2, **TMA)
    with pytest.raises(HazardError, match="early exit"):
        on_machine(config, *operands(config, 128, 64, 128), sms=2)
