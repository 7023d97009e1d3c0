"""How fast `analyze` counts: what the benchmark measures, tells and records."""

import json

from places import DATA

from cuda_kernels.lab import counting
from simlayout.hardware.banks import analysis


def test_the_benchmark_measures_both_paths_and_tells_what_it_found(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(counting, "importing", lambda: {"numpy": 0.1})
    monkeypatch.setattr(counting, "gpu_problem", lambda: "not asked for")
    before = analysis.FAST_FROM, analysis.LOAD_FROM
    counting.main(["--accesses", "1000", "--json", str(tmp_path / "speed.json")])
    assert (analysis.FAST_FROM, analysis.LOAD_FROM) == before
    made = json.loads((tmp_path / "speed.json").read_text())
    assert set(made["bulk"]) == {"NumPy", "Numba"}
    assert all(rate > 0 for rates in made["bulk"].values() for rate in rates.values())
    assert capsys.readouterr().out == counting.table(made) + "\n"


def test_the_recorded_measurement_is_what_the_benchmark_writes():
    made = json.loads((DATA / "speed.json").read_text())
    text = counting.table(made)
    assert made["cpu"] in text and made["date"] in text and "tensor-layouts 0.3.2" in text
    for name, rate in made["tensor-layouts"].items():
        assert f"{made['bulk']['Numba'][name] / rate:,.0f} times as fast" in text
