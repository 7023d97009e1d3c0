"""What `matmul` chooses for 8-bit operands."""

import pytest

from cuda_kernels.matmul.choose.choice import choose, ranked
from cuda_kernels.matmul.choose.figures import H200
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.wanted import Wanted


@pytest.mark.parametrize("scaled", ["1x128", "128x1", "1x1", "128x128"])
@pytest.mark.parametrize("M, N, K", [(1, 8192, 8192), (128, 7168, 4096), (4096, 4096, 4096), (7, 9, 16)])
def test_products_with_scales_of_blocks_get_a_configuration_that_promotes_and_has_few_scales_of_columns(scaled, M, N, K):
    config = choose(Wanted(M, N, K, types=("e4m3", "e5m2"), out="bf16", scaled=scaled))
    rows, columns = map(int, scaled.split("x"))
    assert config.scaled == "{}x{}".format(*config.turned(rows, columns)) and not config.pingpong
    assert config.scaled.endswith("x128") or config.tile_n <= 64


@pytest.mark.parametrize("dtype, scaled, K, deep", [
    ("f16", "", 3000, 3000), ("s8", "", 3000, 1500), ("e4m3", "1x128", 3072, 1536)])
def test_a_product_of_8_bits_is_estimated_as_one_of_half_the_depth_and_the_trees_know_it_and_the_bytes_of_c(
        dtype, scaled, K, deep):
    out = "f16" if dtype == "f16" else "bf16" if scaled else "s32"
    estimate, config = next(ranked(Wanted(3000, 3000, K, types=(dtype, dtype), out=out, scaled=scaled), H200))
    alone = Estimates((config,))
    known = dict(narrow=dtype != "f16", c_bytes=4 if out == "s32" else 2)
    assert estimate == pytest.approx(alone(3000, 3000, deep, **known)[0])
    assert alone(3000, 3000, deep) != alone(3000, 3000, deep, narrow=True)
