"""What a product will take is said before it begins, and progress is drawn on terminals alone."""

import io
import re
import tracemalloc

import numpy as np
import pytest

from cuda_kernels import KERNELS, job
from cuda_kernels.run import check, estimates
from simlayout import machine
from simlayout.cli import main
from simlayout.errors import MachineError, SimlayoutError
from simlayout.progress import progress


@pytest.mark.parametrize("M, N, K, full", [(300, 500, 200, True), (600, 300, 500, False), (40, 20, 3000, True)])
def test_the_bytes_needed_are_those_that_operands_and_comparison_take(M, N, K, full, monkeypatch):
    monkeypatch.setattr(check, "FULL_CHECK", 2**31 if full else 0)
    monkeypatch.setattr(estimates, "ROWS", 256)
    generator = np.random.default_rng(0)
    tracemalloc.start()
    try:
        a, b = (check.rounded("f16", generator.standard_normal(shape, np.float32)) for shape in ((M, K), (N, K)))
        c = np.zeros((M, N), np.float16)
        check.compare(c, a, b, "f32", generator)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.6 * peak < estimates.bytes_needed(M, N, K, "gpu") < 1.4 * peak


def test_the_machine_keeps_four_bytes_for_each_byte_that_a_product_touches():
    arrays = 2 * (16 * 64 + 16 * 64 + 16 * 16)
    assert estimates.bytes_needed(16, 16, 64, "cpu") >= arrays * (1 + estimates.SHADOW)
    assert estimates.SHADOW == np.dtype(np.uint32).itemsize, "GlobalShadow numbers each byte in so many"


@pytest.mark.parametrize("command", [["gemm", "--cpu"], ["trace", "mma_base"]], ids=lambda words: words[0])
def test_matrices_that_do_not_fit_are_refused_with_their_bytes_before_anything_runs(command, capsys, monkeypatch):
    for module, name in ((job, "main_job"), (machine, "execute"), (estimates, "time_estimate")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("ran first"))
    assert main([*command, "-M", "2000000000", "-N", "8", "-K", "2000000000"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    needed, free = map(int, re.search(r"take about ([0-9]+) bytes of memory, and ([0-9]+) are free", err).groups())
    assert needed > 2 * 2e9 * 2e9 > free > 0


def test_where_nothing_says_how_much_memory_is_free_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(estimates, "bytes_free", lambda: None)
    estimates.require_memory(10**9, 10**9, 10**9, "cpu")
    monkeypatch.setattr(estimates, "bytes_free", lambda: 1000)
    with pytest.raises(SimlayoutError, match="use a smaller problem"):
        estimates.require_memory(64, 64, 64, "cpu")


@pytest.mark.parametrize("kernel", [KERNELS["mma_permuted"], KERNELS["wgmma_tma"]], ids=lambda kernel: kernel.name)
def test_the_time_of_a_large_product_is_estimated_from_one_cta(kernel, monkeypatch):
    asked = []
    monkeypatch.setattr(estimates, "_timed", lambda kernel, *problem: asked.append(problem) or 2.0)
    rows, columns, depth = kernel.plan.tile
    assert estimates.time_estimate(kernel, rows, columns, depth) is None and asked == []
    text = estimates.time_estimate(kernel, 10 * rows, 10 * columns, 8 * depth)
    assert asked == [(rows, columns, depth), (rows, columns, 4 * depth)]
    assert text == "about 7 minutes on the CPU machine: an estimate, from 2 seconds for 4 of 800 K steps"


def test_a_large_product_says_on_stderr_how_long_it_takes(capsys, monkeypatch):
    def stop(*_, **__):
        raise SimlayoutError("begun")

    monkeypatch.setattr(job, "main_job", stop)
    monkeypatch.setattr(estimates, "_timed", lambda *_: 1.0)
    assert main(["gemm", "--cpu", "-M", "2560", "-N", "1280", "-K", "256", "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and re.fullmatch("simlayout: about .* an estimate.*\nsimlayout: begun\n", err)


# ---- the grid ------------------------------------------------------------------------------------------------------------

class Enough(Exception):
    """Stops a run."""


def nothing():
    pass


@pytest.mark.parametrize("grid", [10**9, (2**31 - 1, 65535, 65535), (np.int64(40000), 40000)])
def test_a_huge_grid_is_worked_off_cta_by_cta(grid):
    seen = []

    def stop(done, total):
        seen.append((done, total))
        if done == 3:
            raise Enough

    tracemalloc.start()
    try:
        with pytest.raises(Enough):
            machine.run(nothing, grid, 32, progress=stop)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
    total = int(np.prod([int(n) for n in np.atleast_1d(grid)], dtype=object))
    assert seen == [(1, total), (2, total), (3, total)]


@pytest.mark.parametrize("grid, options, message", [
    (2**31, {}, "at most"), ((1, 65536), {}, "at most"), (10**9, {"together": True}, "together"),
    (10**9, {"together": True, "hazards": "off"}, "warps together"), (0, {}, "positive"), ("x", {}, "positive"),
    (None, {}, "positive"), (float("nan"), {}, "positive"), (float("inf"), {}, "positive"), ((), {}, "positive"),
    ((1, 2, 3, 4), {}, "positive"), (-1, {}, "positive"), (1.5, {}, "positive")])
def test_a_grid_that_cannot_run_is_refused(grid, options, message):
    with pytest.raises(MachineError, match=message):
        machine.run(nothing, grid, 32, **options)


# ---- progress ----------------------------------------------------------------------------------------------------------

class Terminal(io.StringIO):
    """Says that it is one."""

    def isatty(self):
        return True


@pytest.mark.parametrize("stays, left", [(False, ""), (True, "245 of 245 probes\n")])
def test_a_log_gets_no_progress_or_its_last_line(monkeypatch, stays, left):
    log = io.StringIO()
    monkeypatch.setattr("sys.stderr", log)
    with progress("probes", stays) as moved:
        for done in range(1, 246):
            moved(done, 245)
    assert log.getvalue() == left


def test_a_terminal_gets_one_line_drawn_over_itself_and_wiped(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("simlayout.progress.EVERY", 0)
    monkeypatch.setattr("simlayout.progress.SOON", 0)
    with progress("CTAs") as moved:
        for done in range(4):
            moved(done, 3)
    drawn = terminal.getvalue()
    assert "\n" not in drawn and drawn.startswith("\r0 of 3 CTAs") and "1 of 3 CTAs, 1 second left" in drawn
    assert drawn.endswith("\r\x1b[K")


def test_nobody_is_told_what_is_left_by_the_first_steps_alone(monkeypatch):
    terminal, now = Terminal(), iter((0.0, 0.5, 2.0))    # begun; the first step took half a second, the others less
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("simlayout.progress.time.monotonic", lambda: next(now))
    with progress("layouts") as moved:
        moved(1, 1000)
        moved(500, 1000)
    assert terminal.getvalue() == "\r1 of 1000 layouts\x1b[K\r500 of 1000 layouts, 2 seconds left\x1b[K\r\x1b[K"


@pytest.mark.parametrize("then", [(20, 50_000_000), (5, 1000)])
def test_what_is_left_of_other_work_is_not_told_by_the_time_of_the_work_before(monkeypatch, then):
    terminal, now = Terminal(), iter((0.0, 10.0, 10.5))
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("simlayout.progress.time.monotonic", lambda: next(now))
    with progress("layouts") as moved:
        moved(10, 1000)
        moved(*then)
    assert "17 minutes left" in terminal.getvalue() and f"\r{then[0]} of {then[1]} layouts\x1b[K\r" in terminal.getvalue()


def test_without_a_stderr_progress_is_silent(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with progress("CTAs", stays=True) as moved:
        moved(1, 1)
