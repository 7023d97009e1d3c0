"""What `matmul` chooses for 8-bit operands, at products that were measured on an H100."""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose.choice import choose, estimated
from cuda_kernels.matmul.choose.figures import FIGURES, H200
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.wanted import Wanted
from simlayout.errors import SimlayoutError

DATA = Path(__file__).parents[1] / "data"
SMALL, LARGE = "h100_eight_bits.json.xz", "h100_large_eight_bits.json"

SPILLED = 152
"""Columns of a tile of two bands from which on the kernel of SMALL spilled with scales of lines: it read these from global
memory."""


def measured(name, unlike=lambda config: False):
    """[(Wanted, {Hopper: microseconds})] of a record, without what is refused since. unlike: of which configurations the
    kernel was another one then."""
    data = (DATA / name).read_bytes()
    record, configs, found = json.loads(lzma.decompress(data) if name.endswith(".xz") else data), [], []
    for options in record["configs"]:
        try:
            configs.append(Hopper(**options))
        except SimlayoutError:
            configs.append(None)
    for (M, N, K, dtype, scaled), _, times in record["rows"]:
        wanted = Wanted(M, N, K, types=(dtype, dtype), out="bf16", scaled=scaled)
        found.append((wanted, {configs[i]: us for i, us in times if configs[i] is not None and not unlike(configs[i])}))
    return found


def spilled(config):
    """Whether the kernel of SMALL spilled."""
    return config.scaled == "lines" and config.bands == 2 and config.tile_n >= SPILLED


@pytest.mark.parametrize("name, scaled, gpu, most", [
    (SMALL, "lines", H200, 1.08), (SMALL, "1x128", H200, 1.08),
    (LARGE, "lines", FIGURES["NVIDIA H100 80GB HBM3"], 1.04), (LARGE, "1x128", FIGURES["NVIDIA H100 80GB HBM3"], 1.02)])
def test_among_what_was_measured_the_choice_takes_little_more_than_the_least_time(name, scaled, gpu, most):
    costs = []
    for wanted, times in measured(name, spilled):
        if wanted.scaled == scaled:
            estimates = Estimates(tuple(times))
            work = estimates.work(wanted.M, wanted.N, wanted.K // 2, 1, gpu, 0)
            chosen = list(times)[int(np.argmin(estimated(estimates, wanted, work, gpu)))]
            costs.append(times[chosen] / min(times.values()))
    assert len(costs) >= 7 and np.exp(np.log(costs).mean()) < most


@pytest.mark.parametrize("scaled", ["1x128", "128x1", "1x1", "128x128"])
@pytest.mark.parametrize("M, N, K", [(1, 8192, 8192), (128, 7168, 4096), (4096, 4096, 4096), (7, 9, 16)])
def test_products_with_scales_of_blocks_get_a_configuration_that_promotes_and_has_few_scales_of_columns(scaled, M, N, K):
    config = choose(Wanted(M, N, K, types=("e4m3", "e5m2"), out="bf16", scaled=scaled))
    rows, columns = map(int, scaled.split("x"))
    assert config.scaled == "{}x{}".format(*config.turned(rows, columns)) and not config.pingpong
    assert config.scaled.endswith("x128") or config.tile_n <= 64


def test_the_choice_for_16_bits_is_that_of_the_trees():
    wanted = Wanted(3000, 3000, 3000)
    estimates = Estimates((Hopper(), Hopper(tile_n=128, stages=6), Hopper(cluster_m=2)))
    work = estimates.work(3000, 3000, 3000, 1, H200, 0)
    np.testing.assert_array_equal(estimated(estimates, wanted, work, H200), estimates(3000, 3000, 3000))
