"""Configurations measured on a GPU of compute capability 9.0, with torch's tensors; skipped where there is none."""

import pytest
from torch_kit import ALONE, on_hopper, torch

from cuda_kernels import matmul, plan_grouped_matmul, plan_matmul
from cuda_kernels.matmul.choose.choice import choose
from cuda_kernels.matmul.choose.figures import FIGURES, figures_of
from cuda_kernels.matmul.choose.wanted import Wanted
from cuda_kernels.matmul.tune import kept, measure
from cuda_kernels.run import driver

pytestmark = on_hopper


def test_the_driver_says_the_figures_of_a_gpu_whose_records_there_are():
    cuda = driver.cuda()
    if cuda.name(0) not in FIGURES:
        pytest.skip(f"there are no records of a {cuda.name(0)}")
    said, known = figures_of(cuda, 0), FIGURES[cuda.name(0)]
    assert said == known


MOST, SQUARE = 6, Wanted(4096, 4096, 4096)
"""Configurations of each product; a product whose time is taken."""

WANTED = [Wanted(1000, 1336, 1112), Wanted(72, 240, 8392, types=("bf16", "bf16"), out="f32"),
          Wanted(520, 264, 1000, 3, "MN", "MN"), Wanted(320, 200, 1024, types=("e4m3", "e5m2"), out="bf16", scaled="lines"),
          Wanted(320, 200, 1024, types=("s8", "s8"), out="bf16", scaled="lines"),
          Wanted(320, 200, 1024, types=("u8", "s8"), out="f16", scaled="1x128"),
          Wanted(1, 4096, 520), Wanted(200, 131, 64, store="direct"),
          Wanted(520, 264, 1000, types=("bf16", "bf16"), out="bf16", epilogue="residual bias_n gelu multiply"),
          Wanted(1000, 520, 1024, 12, types=("bf16", "bf16"), out="bf16", grouped=True),
          Wanted(300, 264, 1024, 40, types=("e4m3", "e4m3"), out="bf16", scaled="lines", grouped=True)]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with the kernels of all products here, of which many are compiled at a time. Other processes that run tests
    beside this one compile those of their own."""
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMLAYOUT_CACHE", str(folder))
        patch.setattr(measure, "MOST", MOST)
        measure.compile_likely(driver.cuda(), 0, [*WANTED, SQUARE] if ALONE else [])
    return folder


@pytest.fixture
def most(monkeypatch, tmp_path, compiled):
    """Few configurations, and a folder of their own."""
    for file in compiled.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.setenv("SIMLAYOUT_CACHE", str(tmp_path))
    monkeypatch.setattr(kept, "_here", {})
    monkeypatch.setattr(measure, "MOST", MOST)


@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_every_likely_configuration_is_right_and_the_best_is_no_slower_than_the_choice(most, wanted):
    said = []
    before = torch.cuda.mem_get_info()[0]
    found = measure.tune(driver.cuda(), 0, wanted, 0.5, said.append)
    assert not any("left out" in line for line in said), said
    assert 0 < found.us <= found.chosen_us and kept.kept(driver.cuda(), 0, wanted) == found.config
    if ALONE:
        assert torch.cuda.mem_get_info()[0] > before - (64 << 20)


def test_matmul_multiplies_by_what_was_measured(most):
    a, b = (torch.randn(512, 512, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.empty(512, 512, device="cuda", dtype=torch.float16)
    plan_matmul(a, b, out, tune=0.3)()
    found, = kept.all_kept()
    assert plan_matmul(a, b, out).kernel.options == found.config
    assert plan_matmul(a, b, out, tune="off").kernel.options == choose(found.wanted, figures_of(driver.cuda(), 0))
    assert (out - torch.matmul(a, b)).abs().max() < 0.3 and (matmul(a, b) - out).abs().max() == 0


def test_grouped_matmul_multiplies_by_what_was_measured(most):
    a, b = (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in ((512, 256), (4, 384, 256)))
    offsets = torch.tensor([100, 100, 400, 512], device="cuda", dtype=torch.int32)
    out = torch.empty(512, 384, device="cuda", dtype=torch.bfloat16)
    plan_grouped_matmul(a, b.transpose(1, 2), offsets, out, tune=0.3)()
    found, = kept.all_kept()
    assert found.wanted.grouped and plan_grouped_matmul(a, b.transpose(1, 2), offsets, out).kernel.options == found.config
    for group, rows in ((0, slice(0, 100)), (2, slice(100, 400)), (3, slice(400, 512))):
        assert (out[rows] - a[rows] @ b[group].T).abs().max() < 0.5


def test_the_time_is_that_of_a_call_by_torchs_clock(most):
    found = measure.tune(driver.cuda(), 0, SQUARE, 1.0)
    a, b, out = (torch.randn(4096, 4096, device="cuda", dtype=torch.float16) for _ in range(3))
    product = plan_matmul(a, b.T, out)
    assert product.kernel.options == found.config
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(20):
        product()
    start.record()
    for _ in range(50):
        product()
    end.record()
    end.synchronize()
    assert 0.8 < 20 * start.elapsed_time(end) / found.us < 1.2
