"""Corrections of the cost model's estimates: kept whole, and applied where they belong."""

import numpy as np
import pytest

from cuda_kernels.gemm import hopper_corrections
from cuda_kernels.gemm.hopper import Hopper
from cuda_kernels.gemm.hopper_corrections import Corrections, kind_of
from cuda_kernels.gemm.hopper_model import Estimates
from simlayout.errors import ParseError

FOUND = Corrections({kind_of(Hopper()): 1.25}, {(2, 1): (0.5, 1.0, 1.0, 2.0, 1.0)})


def test_a_file_gives_back_what_was_written(tmp_path):
    FOUND.write(tmp_path / "x.json", {"records": ["a record"]})
    assert hopper_corrections.read(tmp_path / "x.json") == FOUND


def test_a_file_of_something_else_is_refused(tmp_path):
    for text in ("", "{}", '{"programs": 3, "orders": []}', '{"programs": [[]], "orders": [3]}'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ParseError, match="holds no corrections"):
            hopper_corrections.read(tmp_path / "x.json")


def test_each_configuration_gets_the_factors_of_its_kind_and_of_its_order_and_others_none():
    configs = (Hopper(), Hopper(group=1), Hopper(dtype="bf16", out="bf16"), Hopper(tile_n=128), Hopper(cluster_m=2),
               Hopper(cluster_m=2, group=1), Hopper(cluster_m=2, group=16))
    rows = 128 * 2 * 9                                   # nine rows of clusters: the group of 16 is one of 9
    factors = Estimates(configs, FOUND)(rows, 4096, 512) / Estimates(configs, Corrections())(rows, 4096, 512)
    np.testing.assert_allclose(factors, [1.25, 1.25, 1.25, 1, 2, 0.5, 2])
