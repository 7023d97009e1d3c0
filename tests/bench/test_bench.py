"""`simlayout bench` without a GPU: what it would measure, how turns become shares, what it keeps, and what it refuses."""

import json
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from fake_driver import DTYPES, launched_as
from host_kit import install
from own_clock import OwnClock
from places import DATA

import cuda_kernels
from cuda_kernels import KERNELS
from cuda_kernels.bench import command, compare_with_cublas, default_variants, host, libraries, record, run, timing
from cuda_kernels.bench.programs import programs
from cuda_kernels.bench.record import Product, Row
from cuda_kernels.bench.run import Choice
from cuda_kernels.bench.sets import MATMUL, SETS, TRITON, Case, cases_of
from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.matmul import steps
from cuda_kernels.matmul.repack import Copy
from cuda_kernels.run import device as launch
from cuda_kernels.run import driver, turns
from simlayout.cli import main
from simlayout.errors import DeviceError, SimlayoutError

MATMULS = record.read(DATA / "h200_matmul.json")
SMALL = Product(96, 64, 40)


class Library(OwnClock):
    """torch as the timing sees it, over NumPy: every product advances a clock, cuBLAS's by 2 us and ours by `slowness`
    times as much."""

    how, dtypes, cublas, version, full = "CUDA graphs", ("f16", "bf16"), True, "torch 0", MemoryError

    def __init__(self, torch, fake, slowness=2):
        super().__init__()
        self.torch, self.fake, self.slowness, self.wrong = torch, fake, slowness, 0.0

    def operands(self, problem):
        made = [self.torch.empty(shape, {"f16": self.torch.float16, "bf16": self.torch.bfloat16}[problem.dtype], 0)
                for shape in ((problem.M, problem.K), (problem.N, problem.K), (problem.M, problem.N))]
        for i, x in enumerate(made):
            x.array[...] = np.random.default_rng(i).standard_normal(x.array.shape).astype(x.array.dtype)
        assert problem.order == "NT"
        return made[0], self.torch.Tensor(made[1].array.T), made[2]

    def multiply(self, a, b, out):
        self.now += 2e-6
        out.array[...] = (a.array.astype(np.float32) @ b.array.astype(np.float32)).astype(out.array.dtype) + self.wrong

    def clear(self, x):
        x.array[...] = 0

    def copy(self, x):
        return x.array.copy()

    def distance(self, x, y):
        return float(abs(x.astype(np.float32) - y.array.astype(np.float32)).max())

    def elapsed(self, work):
        before, launched = self.now, len(self.fake.launches)
        work()
        self.now += self.slowness * 2e-6 * (len(self.fake.launches) - launched)
        return self.now - before


@pytest.fixture
def library(monkeypatch):
    """A machine with a GPU of compute capability 9.0 and torch, as far as a run asks."""
    fake, torch = install(monkeypatch)
    made = Library(torch, fake)
    monkeypatch.setattr(turns, "ROTATED", 1e5)
    monkeypatch.setattr(timing, "array_library", lambda: made)
    monkeypatch.setattr(run, "cublas_library", lambda: made)
    monkeypatch.setattr(command, "driver_version", lambda: "580.0")
    monkeypatch.setattr(launch, "device_name", lambda: "a GPU")
    monkeypatch.setattr(launch, "compute_capability", lambda: (9, 0))
    small = {name: replace(found, cases=lambda sizes, name=name: [("matmul", SMALL, "auto")] * 3) for name, found in
             SETS.items() if name in MATMUL}
    monkeypatch.setattr("cuda_kernels.bench.sets.SETS", {**SETS, **small})
    return made


# ---- turns -----------------------------------------------------------------------------------------------------------

def test_rounds_alternate_and_begin_with_who_ended_the_last_one():
    told = []
    timing.alternate([lambda: told.append("ours") or 1, lambda: told.append("theirs") or 2], 2)
    assert told == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]


@pytest.mark.parametrize("kernel", ["auto", Hopper(tile_m=64, tile_n=64, stages=4), KERNELS["mma_permuted"]],
                         ids=["auto", "a configuration", "a kernel"])
def test_a_share_is_the_ratio_of_the_times_of_one_product(library, kernel):
    row = timing.compare(Case("squares", "matmul", SMALL, kernel), library, rounds=3, seconds=1e-3)
    assert (row.us, row.cublas_us, row.share) == (pytest.approx(4), pytest.approx(2), pytest.approx(0.5))
    assert row.tflops == pytest.approx(2 * 96 * 64 * 40 / 4e-6 / 1e12) == row.cublas_tflops / 2
    assert "stages" in row.config and json.dumps(row.config)


def test_a_turn_lasts_as_long_as_asked_and_a_graph_holds_60_calls_at_most(library):
    counts = []
    library.repeated = lambda calls, count: counts.append(count) or (lambda: Library.repeated(library, calls, count)())
    before = library.now
    timing.compare(Case("squares", "matmul", SMALL, "auto"), library, rounds=4, seconds=0.002)
    assert counts == [60, 60]
    assert library.now - before == pytest.approx(2 * 5 * 0.002, rel=0.2)


def test_a_wrong_product_ends_the_run_in_words(library):
    library.wrong = 1.0
    with pytest.raises(DeviceError, match="squares 96 x 64 x 40 f16 NT matmul: the product and cuBLAS's differ by"):
        timing.compare(Case("squares", "matmul", SMALL, "auto"), library, 1, 1e-3)


def test_too_little_memory_is_told_with_the_bytes(library):
    def operands(problem):
        raise MemoryError

    library.operands = operands
    with pytest.raises(DeviceError, match="too small for 25088 bytes"):
        timing.compare(Case("squares", "matmul", SMALL, "auto"), library)


def test_a_kernel_that_accumulates_in_f16_is_measured_so(library):
    narrow = KERNELS["mma_base"].variant(accumulate="f16")
    assert timing.prepared(narrow, *library.operands(SMALL)).kernel.options.accumulate == "f16"


def test_the_kernel_on_cuda_cores_is_measured_on_the_operands_that_it_takes(library):
    ((label, problem, kernel),) = [(c.label, c.problem, c.kernel) for c in cases_of(["steps"]) if c.problem.order == "NN"]
    a, b, out = library.operands(replace(SMALL, dtype=problem.dtype))
    made = timing.prepared(kernel, a, library.torch.Tensor(np.ascontiguousarray(b.array)), out)
    assert (label, made.kernel.name) == ("warp tiling on CUDA cores", "warptile") and made.kernel.options.a_aligned


@pytest.mark.parametrize("kernel", ["auto", Hopper(tile_n=64, stages=4, c_major="M", group=2), HOPPER["wgmma_specialized"],
                                    KERNELS["mma_base"]], ids=["auto", "Hopper", "specialized", "mma"])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("shape", [(96, 64, 40), (90, 70, 40), (96, 64, 42)], ids=str)
def test_what_is_compiled_ahead_is_what_a_case_launches(library, kernel, dtype, shape):
    if kernel is KERNELS["mma_base"] and dtype == "bf16":
        pytest.skip("mma_base multiplies f16")
    case = Case("few", "", Product(*shape, dtype), kernel)
    made = programs([case], driver.cuda())
    assert not library.fake.programs                     # nothing has been compiled
    timing.prepared(kernel, *library.operands(case.problem))()
    assert {launched_as(p) for p in made} == {program for program, *_ in library.fake.launches}
    assert (Copy() in made) == (shape[2] == 42 and kernel is not KERNELS["mma_base"])
    assert programs([Case("few", "", case.problem, TRITON)], driver.cuda()) == []


def test_what_is_compiled_ahead_of_a_product_that_was_tuned_is_what_is_kept(library, monkeypatch):
    best = Hopper(tile_n=64, stages=3)
    monkeypatch.setattr(steps, "kept", lambda *_: best)
    case = Case("few", "", SMALL, "auto")
    (tuned,), (untuned,) = programs([case], driver.cuda()), programs([case], driver.cuda(), use_kept=False)
    assert tuned.kernel.options == best != untuned.kernel.options


@pytest.mark.parametrize("c_major", ["N", "M"])
def test_tiles_of_a_transpose_are_compiled_as_their_lines_of_c_start(library, c_major):
    case = Case("models", "", Product(1500, 4096, 1024), kernel_of(Hopper(c_major=c_major)))
    (program,) = programs([case], driver.cuda())
    assert program.kernel.options.store == "tma"         # lines of 4096, of which 1500 would not start on 16 bytes each


def test_the_ways_to_call_that_are_timed_launch_one_product_each(library):
    calls = host.ways(library, 16)
    for name in ("cuLaunchKernelEx", "prepared", "matmul with out", "matmul"):
        calls[name]()
    assert len(library.fake.launches) == 4 and list(calls)[4:] == ["torch.matmul with out", "torch.matmul"]


def test_the_main_jobs_times_have_a_share_where_there_is_a_cublas(library):
    (row,) = compare_with_cublas([KERNELS["mma_base"]], 96, 64, 40, rounds=2, seconds=1e-3)
    assert row["share"] == pytest.approx(0.5) and row["cublas_tflops"] == pytest.approx(2 * row["tflops"])
    library.cublas = False
    (row,) = compare_with_cublas(["wgmma_tma"], 96, 64, 40, rounds=2, seconds=1e-3)
    assert set(row) == {"tflops", "seconds", "library"} and row["seconds"] == pytest.approx(4e-6)


# ---- runs ------------------------------------------------------------------------------------------------------------

def test_a_run_prints_a_row_as_each_finishes_and_writes_what_it_printed(library, tmp_path):
    said, path = [], tmp_path / "a.json"
    made = run.bench(Choice(("squares", "few"), rounds=2, seconds=1e-3, follow="wait", json=path, plot=tmp_path / "a.svg"),
                     said.append)
    assert len(said) == 8 and said[6:] == [f"{name}: geometric mean 0.500, least 0.500 of cuBLAS in 3 rows"
                                           for name in ("squares", "few")]
    assert all(len(line) <= 100 for line in said)
    kept = record.read(path)
    assert kept.rows == tuple(replace(row, us=4.0, cublas_us=2.0, share=0.5) for row in made.rows)
    head = {**made.head, "seconds": 1e-3, "follow": "wait", "how": "CUDA graphs", "sms": 132, "cuda": "13.0"}
    assert kept.head == head and "ended early by" not in head
    assert {"device", "driver", "date", "versions", "library", "rounds"} <= set(head)
    assert head["command"].startswith("simlayout bench squares few --rounds 2 --seconds 0.001 --follow wait --json")
    assert b"squares (3): 0.50" in (tmp_path / "a.svg").read_bytes()


def test_a_run_uses_what_is_kept_of_matmul_unless_it_is_to_leave_it(library, monkeypatch):
    asked, plan = [], cuda_kernels.plan_matmul

    def plan_matmul(*given, tune, **named):
        asked.append(tune)
        return plan(*given, **named)

    monkeypatch.setattr("cuda_kernels.plan_matmul", plan_matmul)
    for untuned in (False, True):
        made = run.bench(Choice(("few",), rounds=1, seconds=1e-3, untuned=untuned), print)
        assert made.head["untuned"] is untuned and set(asked) == {"off" if untuned else "kept"}
        asked.clear()


@pytest.mark.parametrize("error, code", [(KeyboardInterrupt(), 130), (DeviceError("the driver refused"), 2)], ids=str)
def test_an_interrupted_run_keeps_what_it_has(library, error, code, tmp_path, monkeypatch, capsys):
    real, path = timing.compare, tmp_path / "a.json"

    def compare(case, *more):
        if case.set == "few":
            raise error
        return real(case, *more)

    monkeypatch.setattr(run, "compare", compare)
    assert main(["bench", "squares", "few", "--rounds", "1", "--seconds", "0.001", "--json", str(path)]) == code
    out, err = capsys.readouterr()
    assert out.count("\n") == 4 and "squares: geometric mean 0.500" in out and err.count("\n") == 1
    kept = record.read(path)
    assert len(kept.rows) == 3 and kept.head["ended early by"] == type(error).__name__


def test_files_are_written_even_if_nobody_reads_the_output_any_more(library, tmp_path):
    def say(line):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run.bench(Choice(("squares",), rounds=1, seconds=1e-3, json=tmp_path / "a.json"), say)
    assert len(record.read(tmp_path / "a.json").rows) == 1


def test_a_run_that_measured_nothing_writes_nothing(library, tmp_path, monkeypatch):
    def compare(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "compare", compare)
    with pytest.raises(KeyboardInterrupt):
        run.bench(Choice(("squares",), json=tmp_path / "a.json"), print)
    assert not list(tmp_path.iterdir())


def test_a_library_without_bf16_and_an_older_gpu_leave_rows_out_with_a_note(library, monkeypatch):
    said, library.dtypes = [], ("f16",)
    with pytest.raises(SimlayoutError, match="nothing is left"):
        run.bench(Choice(("steps",)), said.append)
    assert said == ["note: 13 products of bf16 are left out: torch 0 multiplies f16 only"]
    monkeypatch.setattr(launch, "compute_capability", lambda: (8, 0))
    said.clear()
    cases = run._possible(cases_of(["kernels"]), library, said.append)
    assert len(cases) == 2 * len(default_variants())
    assert said == ["note: 8 rows of kernels for Hopper are left out: they need compute capability 9.0"]


def test_triton_is_refused_where_it_is_not_installed_or_torch_is_not_used(library, monkeypatch):
    from cuda_kernels.bench import triton_matmul

    monkeypatch.setattr(triton_matmul, "triton", None)
    with pytest.raises(SimlayoutError, match="pip install triton"):
        run.bench(Choice(("squares",), triton=True), print)
    monkeypatch.setattr(triton_matmul, "triton", object())
    library.version = "CuPy 14"
    with pytest.raises(SimlayoutError, match="takes torch's arrays"):
        run.bench(Choice(("squares",), triton=True), print)


@pytest.mark.parametrize("label", [label for label, _ in default_variants()] + list(HOPPER))
def test_a_line_of_a_kernel_fits_100_columns(label):
    assert len(run.line(Row("kernels", label, Product(16384, 16384, 16384), None, 99999.9, 1.0, 0.123))) <= 100


def test_what_shares_come_to_is_their_geometric_mean_and_the_least():
    rows = [Row("few", "matmul", SMALL, None, 1, 1, share) for share in (0.5, 2.0, 1.0)]
    assert run.summary(rows) == (pytest.approx(1), 0.5)
    triton = [replace(row, label=TRITON, share=0.25) for row in rows]
    assert run.summaries(rows + triton) == ["few: geometric mean 1.000, least 0.500 of cuBLAS in 3 rows",
                                            "few, Triton: geometric mean 0.250, least 0.250 of cuBLAS in 3 rows"]


# ---- libraries -------------------------------------------------------------------------------------------------------

class Tensor(np.ndarray):
    clone, float, abs = np.ndarray.copy, lambda self: self.astype(np.float32), lambda self: np.abs(self)


class Clock:
    """Events of torch, CuPy and Numba: each is 5 ms later than the one before."""

    now = 0

    def __init__(self, **_):
        pass

    def record(self):
        Clock.now += 5
        self.at = Clock.now

    def elapsed_time(self, end):
        return end.at - self.at

    def synchronize(self):
        pass


def fake_torch():
    class Graph:
        calls = []

        def __enter__(self):
            Graph.calls.append("captured")

        def __exit__(self, *_):
            pass

        def replay(self):
            Graph.calls.append("replayed")

    torch = types.SimpleNamespace(__version__="2.11", float16=DTYPES["f16"], bfloat16=DTYPES["bf16"], graph=Graph)
    torch.randn = lambda *shape, device, dtype: np.random.standard_normal(shape).astype(dtype).view(Tensor)
    torch.empty = lambda *shape, device, dtype: np.zeros(shape, dtype).view(Tensor)
    torch.matmul = lambda a, b, out: out.__setitem__(..., a @ b)
    torch.cuda = types.SimpleNamespace(is_available=lambda: True, OutOfMemoryError=MemoryError, Event=Clock, CUDAGraph=Graph,
                                       graph=lambda g: g, synchronize=lambda: None, empty_cache=lambda: None)
    return torch


def fake_cupy():
    random = types.SimpleNamespace(standard_normal=lambda shape, dtype: np.random.standard_normal(shape).astype(dtype))
    cuda = types.SimpleNamespace(memory=types.SimpleNamespace(OutOfMemoryError=MemoryError), Event=Clock,
                                 get_elapsed_time=lambda start, end: end.at - start.at)
    pool = types.SimpleNamespace(free_all_blocks=lambda: None)
    return types.SimpleNamespace(__version__="14", random=random, cuda=cuda, empty=np.empty, matmul=np.matmul,
                                 get_default_memory_pool=lambda: pool)


@pytest.mark.parametrize("name", ["torch", "cupy"])
@pytest.mark.parametrize("order", ["NN", "NT", "TN", "TT"])
def test_operands_lie_in_the_order_that_is_named(name, order, monkeypatch):
    for module, make in (("torch", fake_torch), ("cupy", fake_cupy)):
        monkeypatch.setitem(sys.modules, module, make() if module == name else None)
    library = libraries.array_library()
    a, b, out = library.operands(Product(8, 16, 24, "f16", order))
    assert (a.shape, b.shape, out.shape) == ((8, 24), (24, 16), (8, 16))
    assert (a.flags.f_contiguous, b.flags.f_contiguous) == (order[0] == "T", order[1] == "T")
    library.multiply(a, b, out)
    copied = library.copy(out)
    out[0, 0] += 1
    assert library.distance(copied, out) == pytest.approx(1, abs=0.01) and library.elapsed(lambda: None) == 0.005
    library.free()


def test_torch_replays_a_graph_and_cupy_launches_in_rotation(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch())
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    told = []
    calls = [lambda: told.append(0), lambda: told.append(1)]
    library = libraries.Torch()
    replay = library.repeated(calls, 3)
    assert told == [0, 1, 0] and library.torch.graph.calls == ["captured"]
    replay()
    assert told == [0, 1, 0] and library.torch.graph.calls == ["captured", "replayed"]
    libraries.Cupy().repeated(calls, 3)()
    assert told == 2 * [0, 1, 0]


def test_a_torch_without_cuda_gives_way_to_cupy(monkeypatch):
    torch = fake_torch()
    torch.cuda.is_available = lambda: False
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    assert libraries.array_library().version == "CuPy 14"
