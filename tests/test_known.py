"""Products whose best configuration is known: found in the records of tuning, kept in a file, and taken by `choose`."""

import json
from pathlib import Path

import numpy as np
import pytest

from cuda_kernels.gemm import hopper_known
from cuda_kernels.gemm.hopper import Hopper
from cuda_kernels.gemm.hopper_choice import choose
from cuda_kernels.gemm.hopper_known import known
from cuda_kernels.tuning_fit import read
from cuda_kernels.tuning_known import better, main
from simlayout.errors import ParseError

DATA = Path(__file__).parent / "data"
RECORDS = [DATA / name for name in json.loads(hopper_known.PATH.read_text())["records"]]
KNOWN = hopper_known.read(hopper_known.PATH)
A, B = Hopper(64, 64, 8, 1), Hopper(64, 96, 8, 2, c_major="M")


def test_the_file_holds_what_its_records_say():
    assert [(shape, config) for shape, config, _ in better(read(*RECORDS))] == list(KNOWN.items()) and KNOWN


def test_matmul_chooses_what_is_known_for_all_types_and_for_nothing_else():
    for (M, N, K), config in KNOWN.items():
        for dtype, out in (("f16", "f16"), ("bf16", "bf16"), ("bf16", "f32")):
            found = choose(M, N, K, 1, 132, "K", "K", dtype, out)
            assert (found.dtype, found.out, found.store == "direct") == (dtype, out, out == "f32")
            assert {**found.changes, "dtype": "f16"}.get("tile_n", 256) == config.tile_n and found.group == config.group
        assert known(M, N, K, 1, 132, "MN", "K") is known(M, N, K, 2, 132, "K", "K") is None
        assert known(M, N, K, 1, 114, "K", "K") is None and known(M + 8, N, K, 1, 132, "K", "K") is None


def record(tmp_path, *runs, shape=(64, 4096, 4096)):
    """Records of one product: (microseconds of cuBLAS, those of A, of B) in each run."""
    paths = []
    for i, (cublas, *times) in enumerate(runs):
        paths.append(tmp_path / f"{i}.json")
        rows = [[[*shape, "f16"], cublas, [[j, t] for j, t in enumerate(times)]]]
        paths[-1].write_text(json.dumps({"configs": [A.changes, B.changes], "rows": rows}))
    return paths


def usual_and_other(shape=(64, 4096, 4096)):
    """(number of the configuration with the least estimate, of the other one)."""
    from cuda_kernels.gemm.hopper_model import Estimates

    usual = int(np.argmin(Estimates((A, B))(*shape)))
    return usual, 1 - usual


def times(usual, slow, fast):
    return (slow, fast) if usual == 0 else (fast, slow)


def test_what_was_faster_in_every_run_is_known_whatever_the_clock_was(tmp_path):
    usual, other = usual_and_other()
    paths = record(tmp_path, *((c * 10.0, *times(usual, c * 11.0, c * 10.0)) for c in (1.0, 1.3, 1.1)))
    ((shape, config, ratio),) = better(read(*paths))
    assert shape == (64, 4096, 4096) and config == (A, B)[other] and ratio == pytest.approx(10 / 11)


@pytest.mark.parametrize("runs", [
    [(10.0, 11.0, 10.0)] * 2,                                           # too few runs
    [(10.0, 10.1, 10.0)] * 3,                                           # hardly better
    [(10.0, 10.0, 11.0)] * 3])                                          # what is chosen is the best
def test_what_is_not_surely_better_is_not_known(tmp_path, runs):
    usual, _ = usual_and_other()
    assert better(read(*record(tmp_path, *((c, *times(usual, slow, fast)) for c, slow, fast in runs)))) == []


def test_products_at_the_power_limit_are_left_to_the_estimates(tmp_path):
    shape = (4096, 4096, 4096)
    usual, _ = usual_and_other(shape)
    assert better(read(*record(tmp_path, *[(200.0, *times(usual, 220.0, 200.0))] * 3, shape=shape))) == []


def test_the_command_prints_and_writes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(hopper_known, "PATH", tmp_path / "known.json")
    usual, other = usual_and_other()
    paths = record(tmp_path, *[(10.0, *times(usual, 12.0, 10.0))] * 3)
    assert main([*map(str, paths), "--write"]) == 0
    assert "64 x 4096 x 4096" in capsys.readouterr().out
    assert hopper_known.read(tmp_path / "known.json") == {(64, 4096, 4096): (A, B)[other]}


@pytest.mark.parametrize("text", ["", "{}", '{"rows": [[[1, 2, 3], {"tile_m": 7}]]}', '{"rows": [[[1, 2, 3], {"x": 7}]]}'])
def test_a_file_without_products_is_refused(tmp_path, text):
    (tmp_path / "known.json").write_text(text)
    with pytest.raises(ParseError, match="holds no products"):
        hopper_known.read(tmp_path / "known.json")
