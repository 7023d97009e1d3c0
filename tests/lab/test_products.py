"""How fast tensor-core arithmetic is: what the benchmark measures, tells and records."""

import json

import pytest
from places import DATA

from cuda_kernels.lab import products
from simlayout.errors import SimlayoutError
from simlayout.numerics import arithmetic

RECORD = json.loads((DATA / "products.json").read_text())


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(products, "SECONDS", 1e-4)
    monkeypatch.setattr(products, "TILES", 2)
    monkeypatch.setattr(products, "STEPS", 1)


def test_the_benchmark_compares_both_ways_and_tells_what_it_found(quick, tmp_path, capsys):
    pytest.importorskip("numba", reason="needs Numba")
    before = arithmetic.PATIENCE
    products.main(["--json", str(tmp_path / "products.json")])
    assert arithmetic.PATIENCE == before
    report = json.loads((tmp_path / "products.json").read_text())
    assert list(report["products_per_s"]) == list(products.INSTRUCTIONS)
    assert all(seconds > 0 for kind in ("products_per_s", "one_mma_us") for ways in report[kind].values()
               for seconds in ways.values())
    assert capsys.readouterr().out == products.table(report) + "\n"


def test_ways_that_differ_in_a_bit_are_told(quick, monkeypatch):
    monkeypatch.setattr(products, "best", lambda action: 1.0)
    turns = iter(([1.0], [2.0]))
    with pytest.raises(SimlayoutError, match="x: NumPy and Numba compute different bits"):
        products.both("x", lambda: next(turns))


def test_the_record_is_what_the_benchmark_writes_and_no_type_is_below_200_million_a_second():
    assert list(RECORD["products_per_s"]) == list(products.INSTRUCTIONS)
    assert RECORD["cpu"] in products.table(RECORD)
    assert min(ways["Numba"] for ways in RECORD["products_per_s"].values()) > 200e6
