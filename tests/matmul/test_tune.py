"""Configurations are measured in turns on a driver with a clock of its own, and the best is used from then on."""

from dataclasses import replace

import numpy as np
import pytest
from fake_clock import TimedLibrary
from host_kit import aligned, host, install, numbers
from hypothesis import given
from hypothesis import strategies as st

from cuda_kernels import grouped_matmul, plan_grouped_matmul
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose import figures
from cuda_kernels.matmul.choose.candidates import candidates
from cuda_kernels.matmul.choose.choice import choose, likely, suited
from cuda_kernels.matmul.choose.wanted import Wanted
from cuda_kernels.matmul.tune import entrants, kept, measure
from cuda_kernels.matmul.tune.variants import variants, ways
from cuda_kernels.run import driver, turns
from simlayout.errors import DeviceError, SimlayoutError

MOST = 6
FIGURES = figures.FIGURES["NVIDIA H100 80GB HBM3"]
PRODUCT = Wanted(200, 136, 64)


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    """A TimedLibrary where matmul finds it, with a folder to keep results in."""
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(measure, "MOST", MOST)
    monkeypatch.setattr(turns, "ROTATED", 1e5)
    monkeypatch.setattr(entrants, "BLOCK", 1009)
    monkeypatch.setattr(measure, "compile_ahead", lambda programs, version: len(programs))
    library = TimedLibrary()
    library.torch = install(monkeypatch, library)[1]
    return library


def tensors(library, M, N, K, dtype=np.float16):
    a, b = aligned(numbers((M, K), dtype)), aligned(numbers((N, K), dtype, 1)).T
    out = aligned(np.zeros((M, N), dtype))
    return [library.torch.Tensor(x) for x in (a, b, out)]


def fastest(library, number, wanted=PRODUCT):
    """Makes a likely configuration the fastest, the others slower the earlier they are estimated; returns it."""
    configs = likely(wanted, FIGURES, MOST)
    seen = {as_launched(config, wanted): 30.0 - i for i, config in enumerate(configs)}
    seen[as_launched(configs[number], wanted)] = 5.0
    library.takes = lambda config: seen.get(config, 50.0)
    return configs[number]


def as_launched(config, wanted):
    """A configuration with the order of tiles that its launch is given."""
    rows, _ = config.tile_grid(*config.turned(wanted.M, wanted.N))
    return replace(config, group=config.order(*config.turned(wanted.M, wanted.N), 1, rows, 1)[0])


@pytest.mark.parametrize("number", [0, 2, MOST - 1])
def test_the_fastest_is_kept_and_said_beside_what_the_estimate_chose(gpu, number):
    best, said = fastest(gpu, number), []
    found = measure.tune(driver.cuda(), 0, PRODUCT, 0.001, said.append)
    assert (found.config, found.us) == (best, pytest.approx(5))
    assert found.chosen_us == pytest.approx(5 if number == 0 else 30)
    assert choose(PRODUCT, FIGURES) == likely(PRODUCT, FIGURES, 1)[0]
    assert kept.kept(driver.cuda(), 0, PRODUCT) == best
    assert len([line for line in said if " us  " in line]) >= found.tried > MOST and "kept in" in said[-1]
    assert f"{1 if number == 0 else 6}.000 times as fast as the estimate's choice" in said[-2]


@pytest.mark.parametrize("number", [0, 1, -1])
def test_variants_of_the_best_are_measured_and_then_all_ways_to_launch_the_best_of_these(gpu, number):
    likeliest, usual = fastest(gpu, 2), gpu.takes
    near = variants(likeliest, PRODUCT, FIGURES.sms)
    found = measure.tune(driver.cuda(), 0, PRODUCT, 0.001)
    again = {*likely(PRODUCT, FIGURES, MOST), *near, *ways(likeliest, PRODUCT)}
    assert found.config == likeliest and found.tried == len(again)
    faster = {as_launched(near[number], PRODUCT): 4.0}
    gpu.takes = lambda config: faster.get(config, usual(config))
    assert measure.tune(driver.cuda(), 0, PRODUCT, 0.001).config == near[number]
    launched = next(c for c in ways(near[number], PRODUCT) if c.early != likeliest.early)
    faster[as_launched(launched, PRODUCT)] = 3.0
    found = measure.tune(driver.cuda(), 0, PRODUCT, 0.001)
    assert (found.config, found.us, found.chosen_us) == (launched, pytest.approx(3), pytest.approx(30))


@given(st.sampled_from(candidates()), st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 3000))
def test_each_variant_differs_from_the_best_in_what_is_compiled_and_is_kept_as_it_is(candidate, M, N, K):
    wanted = Wanted(M, N, K)
    best = suited(candidate, wanted)
    found = variants(best, wanted, FIGURES.sms)
    assert len({c.program for c in found} | {best.program}) == len(found) + 1
    assert all(suited(c, wanted) == c and (c.group, c.early) == (best.group, best.early) for c in found)
    assert all(c.program == best.program for c in ways(best, wanted))


@pytest.mark.parametrize("wanted", [
    Wanted(65, 77, 130, 3, "K", "MN", ("bf16", "bf16"), "f32"), Wanted(64, 72, 64, store="direct"),
    Wanted(64, 72, 256, types=("e4m3", "e5m2"), out="bf16", scaled="lines"), Wanted(1, 200, 264, 2, "MN", "MN"),
    Wanted(33, 1, 8, out="bf16"), Wanted(64, 72, 256, types=("s8", "s8"), out="bf16", scaled="lines"),
    Wanted(64, 72, 1000, types=("u8", "s8"), out="f16", scaled="tensor"), Wanted(64, 72, 256, types=("u8", "u8"), out="s32"),
    Wanted(65, 72, 256, types=("s8", "s8"), out="f32", scaled="1x128"), Wanted(70, 72, 136, 7, grouped=True),
    Wanted(300, 72, 128, 1, "K", "MN", ("bf16", "bf16"), "f32", grouped=True), Wanted(3, 72, 64, 9, grouped=True),
    Wanted(64, 72, 384, 2, types=("e4m3", "e5m2"), out="bf16", scaled="1x128", grouped=True)], ids=str)
def test_every_kind_of_product_is_measured_and_nothing_stays_in_memory(gpu, wanted):
    found = measure.tune(driver.cuda(), 0, wanted, 0.001)
    assert found.tried > MOST and found.config.out == wanted.out and not gpu.alive and not gpu.contexts


def test_what_is_wrong_is_left_out_though_it_is_fast(gpu):
    best, said = fastest(gpu, 1), []
    gpu.wrong = {as_launched(best, PRODUCT)}
    found = measure.tune(driver.cuda(), 0, PRODUCT, 0.001, said.append)
    assert found.config != best
    assert any("left out" in line and "wrong by inf" in line for line in said)
    gpu.wrong = {as_launched(choose(PRODUCT, FIGURES), PRODUCT)}
    assert "the choice of the estimate is not right" in measure.tune(driver.cuda(), 0, PRODUCT, 0.001).result
    gpu.wrong = {as_launched(config, PRODUCT) for config in likely(PRODUCT, FIGURES, MOST)}
    assert measure.tune(driver.cuda(), 0, PRODUCT, 0.001, said.append) is None and "nothing is kept" in said[-1]


def test_one_wrong_element_of_those_compared_is_seen(gpu, monkeypatch):
    def off(dtype, elements):
        found = values(dtype, elements).copy()
        found.flat[3] += 1.0
        return found

    values = entrants.values
    from cuda_kernels.run.stopwatch import Stopwatch

    with Stopwatch(driver.cuda(), 0) as watch:
        operands = entrants.Operands(watch, PRODUCT)
        ready, faults = entrants.entrants(driver.cuda(), 0, watch, operands, likely(PRODUCT, FIGURES, 1))
        assert not faults and operands.fault(ready[0].calls[0]) is None
        monkeypatch.setattr(entrants, "values", off)
        assert "wrong by 1, where rounding explains" in operands.fault(ready[0].calls[0])


def test_a_noisy_turn_decides_nothing(gpu):
    best = fastest(gpu, 3)
    other, usual, replays = as_launched(likely(PRODUCT, FIGURES, MOST)[4], PRODUCT), gpu.takes, []

    def takes(config):
        if config == other:
            replays.append(config)
            return 1.0 if len(replays) % 200 < 20 else 29.0
        return usual(config)

    gpu.takes = takes
    assert measure.tune(driver.cuda(), 0, PRODUCT, 0.01).config == best


def interrupts_after(library, launches):
    """Ctrl-C once so many kernels have run in graphs."""
    left = [launches]

    def turn(config):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    library.turn = turn


@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.99])
def test_ctrl_c_keeps_the_best_so_far_and_says_so(gpu, part):
    best, ran, said = fastest(gpu, 2), [], []
    gpu.turn = ran.append
    measure.tune(driver.cuda(), 0, PRODUCT, 0.001)
    kept.forget()
    interrupts_after(gpu, 1 + int(part * len(ran)))
    with pytest.raises(KeyboardInterrupt):
        measure.tune(driver.cuda(), 0, PRODUCT, 0.001, said.append)
    assert not gpu.alive and not gpu.contexts
    if part:
        measured = [line for line in said if " us  " in line]
        assert measured and "interrupted: the best so far is kept" in "".join(said)
        assert (kept.kept(driver.cuda(), 0, PRODUCT) == best) == any("5.00 us" in line for line in measured)
    else:
        assert "nothing is kept" in said[-1] and kept.kept(driver.cuda(), 0, PRODUCT) is None


def test_an_interrupt_while_memory_is_freed_takes_no_result_along(gpu, monkeypatch):
    best = fastest(gpu, 2)

    def ends(watch, *_):
        leave(watch, None, None, None)
        raise KeyboardInterrupt

    leave = measure.Stopwatch.__exit__
    monkeypatch.setattr(measure.Stopwatch, "__exit__", ends)
    with pytest.raises(KeyboardInterrupt):
        measure.tune(driver.cuda(), 0, PRODUCT, 0.001)
    assert kept.kept(driver.cuda(), 0, PRODUCT) == best and not gpu.alive


def test_too_little_memory_is_an_error_that_says_how_much_and_leaves_nothing(gpu):
    gpu.free = 20_000
    with pytest.raises(DeviceError, match=r"has no \d+ bytes of memory left"):
        measure.tune(driver.cuda(), 0, PRODUCT, 0.001)
    assert not gpu.alive and not gpu.contexts and not kept.all_kept()


# ---- matmul ----------------------------------------------------------------------------------------------------------

def test_matmul_measures_nothing_unasked_and_uses_what_is_kept_unless_it_is_off(gpu):
    a, b, out = tensors(gpu, 200, 136, 64)
    best, usual = fastest(gpu, 4), choose(PRODUCT, FIGURES)
    assert host.plan_matmul(a, b, out).kernel.options == usual and not gpu.graphs
    assert host.plan_matmul(a, b, out, tune=0.001).kernel.options == best
    graphs = len(gpu.graphs)
    assert host.plan_matmul(a, b, out).kernel.options == best           # also where it was made before without
    assert host.plan_matmul(a, b, out, tune="off").kernel.options == usual
    assert host.plan_matmul(a, b, out, tune=7).kernel.options == best and len(gpu.graphs) == graphs
    host.matmul(a, b, out)
    assert gpu.launches[-1][0] == best.program
    np.testing.assert_array_equal(out.array, a.array @ b.array)


def test_matmul_measures_where_it_is_asked_to_and_out_is_right_afterwards(gpu):
    a, b, _ = tensors(gpu, 72, 264, 128)
    made = host.matmul(a, b, tune=0.001)
    np.testing.assert_array_equal(made.array, a.array.astype("f4") @ b.array.astype("f4"))
    assert [found.wanted for found in kept.all_kept()] == [Wanted(72, 264, 128)]


def test_a_product_with_an_epilogue_is_measured_with_it_and_kept_for_it_alone(gpu):
    a, b, out = tensors(gpu, 200, 136, 64)
    bias = gpu.torch.Tensor(aligned(np.ones(136, np.float16)))
    named = dict(bias=bias, residual=out, activation="gelu")
    made = host.plan_matmul(a, b, out, tune=0.001, **named).kernel.options
    (found,) = kept.all_kept()
    assert found.wanted == Wanted(200, 136, 64, epilogue="residual bias_n gelu") and found.tried > 1
    assert made == found.config and made.epilogue == f"residual bias_{'n' if made.c_major == 'N' else 'm'} gelu"
    assert host.plan_matmul(a, b, out).kernel.options == choose(PRODUCT, FIGURES)


def grouped_tensors(library, rows, N, K, sizes):
    a, b = aligned(numbers((rows, K), np.float16)), aligned(numbers((len(sizes), N, K), np.float16, 1)).swapaxes(1, 2)
    offsets, out = aligned(np.cumsum(sizes, dtype=np.int32)), aligned(np.zeros((rows, N), np.float16))
    return [library.torch.Tensor(x) for x in (a, b, offsets, out)]


def test_a_grouped_product_uses_what_was_measured_for_so_many_rows_in_so_many_groups(gpu):
    wanted, sizes = Wanted(200, 136, 64, 4, grouped=True), (70, 0, 100, 30)
    a, b, offsets, out = given = grouped_tensors(gpu, 200, 136, 64, sizes)
    best, usual = likely(wanted, FIGURES, MOST)[3], plan_grouped_matmul(*given).kernel.options
    gpu.takes = lambda config: 5.0 if config.program == best.program else 30.0
    assert not gpu.graphs and plan_grouped_matmul(*given, tune=0.001).kernel.options == best
    (found,) = kept.all_kept()
    assert found.wanted == wanted and (found.chosen_us, usual) == (pytest.approx(30), choose(wanted, FIGURES))
    assert plan_grouped_matmul(*given).kernel.options == best
    assert plan_grouped_matmul(*given, tune="off").kernel.options == usual
    grouped_matmul(*given)
    start = 0
    for group, end in enumerate(offsets.array):
        np.testing.assert_array_equal(out.array[start:end], a.array[start:end] @ b.array[group])
        start = end
    others = grouped_tensors(gpu, 200, 136, 64, (*sizes, 0))
    assert plan_grouped_matmul(*others).kernel.options == choose(replace(wanted, matrices=5), FIGURES)
    assert host.plan_matmul(*tensors(gpu, 200, 136, 64)).kernel.options == choose(PRODUCT, FIGURES)


def test_what_a_grouped_product_may_be_told_of_tuning_is_what_matmul_may_be(gpu):
    given = grouped_tensors(gpu, 20, 16, 64, (20,))
    for tune, fault in (("on", 'choose "kept", "off"'), (0, "choose"), ([], "tune a name or seconds")):
        with pytest.raises(SimlayoutError, match=fault):
            grouped_matmul(*given, tune=tune)
    with pytest.raises(SimlayoutError, match="leave out either"):
        grouped_matmul(*given, tune=1.0, kernel=Hopper())
    gpu.captured = True
    with pytest.raises(SimlayoutError, match="while a CUDA graph is captured"):
        plan_grouped_matmul(*given, tune=0.001)
    assert not gpu.launches and not gpu.graphs


def test_a_c_off_16_bytes_does_not_get_what_was_measured_for_tma(gpu):
    a, b, out = tensors(gpu, 200, 136, 64)
    best = fastest(gpu, 4)
    host.plan_matmul(a, b, out, tune=0.001)
    raw = aligned(np.zeros(200 * 136 + 8, np.float16))
    odd = gpu.torch.Tensor(raw[1: 1 + 200 * 136].reshape(200, 136))
    of_odd = host.plan_matmul(a, b, odd).kernel.options
    assert best.store == "tma" and of_odd.store == "direct"
    assert of_odd == choose(Wanted(200, 136, 64, store="direct"), FIGURES)


def test_while_a_graph_is_captured_nothing_is_measured(gpu):
    gpu.captured = True
    with pytest.raises(SimlayoutError, match="while a CUDA graph is captured"):
        host.plan_matmul(*tensors(gpu, 64, 64, 64), tune=0.001)
    assert not gpu.launches and not gpu.graphs


@pytest.mark.parametrize("tune, fault", [("on", 'choose "kept", "off"'), (0, "choose"), (-1.0, "choose"), (True, "choose"),
                                         (float("nan"), "choose"), (float("inf"), "choose"), (None, "choose")])
def test_a_tune_that_is_none_is_refused(gpu, tune, fault):
    with pytest.raises(SimlayoutError, match=fault):
        host.matmul(*tensors(gpu, 64, 64, 64), tune=tune)


def test_a_kernel_that_is_named_is_not_tuned_and_neither_is_one_of_an_older_gpu(gpu, monkeypatch):
    with pytest.raises(SimlayoutError, match="leave out either"):
        host.matmul(*tensors(gpu, 64, 64, 64), tune=1.0, kernel=Hopper())
    library = TimedLibrary(capability=(8, 0))
    library.torch = install(monkeypatch, library)[1]
    with pytest.raises(DeviceError, match="nothing to tune"):
        host.matmul(*tensors(library, 64, 64, 64), tune=1.0)


def test_where_nothing_can_be_written_the_process_keeps_it_and_warns(gpu, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path / "file"))
    a, b, out = tensors(gpu, 200, 136, 64)
    best = fastest(gpu, 4)
    with pytest.warns(RuntimeWarning, match="kept for this process alone: cannot make the folder"):
        assert host.plan_matmul(a, b, out, tune=0.001).kernel.options == best
    assert host.plan_matmul(a, b, out).kernel.options == best
