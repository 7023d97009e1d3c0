"""What is measured of the host, as far as that needs no GPU."""

import json
import sys

import pytest

from cuda_kernels.bench import host
from cuda_kernels.run import device as launch
from simlayout.errors import DeviceError, SimlayoutError


def test_a_time_per_call_is_the_median_over_the_rounds_and_the_first_warms_up():
    now, costs = [0.0], {"fast": [9.0, 1.0, 2.0, 6.0], "slow": [0.0, 5.0, 5.0, 5.0]}

    def call(name):
        turns = iter([cost for cost in costs[name] for _ in range(host.CALLS)])
        return lambda: now.__setitem__(0, now[0] + next(turns) * 1e-6)

    waits = []
    found = host.per_call({name: call(name) for name in costs}, 3, lambda: waits.append(now[0]), lambda: now[0])
    assert found == {"fast": pytest.approx(2.0), "slow": pytest.approx(5.0)} and len(waits) == 8


def test_the_first_call_with_what_another_process_left_finds_the_same_folder(monkeypatch):
    monkeypatch.setattr(host, "FIRST", """
import os, pathlib
kept = pathlib.Path(os.environ["SIMLAYOUT_CACHE"]) / "kept"
print(0.25 if kept.exists() else 4.5)
kept.write_text("")
""")
    assert host.first_calls() == (4.5, 0.25)


def test_a_first_call_that_fails_is_told_in_its_own_words(monkeypatch):
    monkeypatch.setattr(host, "FIRST", "raise SystemExit('torch has no CUDA')")
    with pytest.raises(DeviceError, match="new process failed: torch has no CUDA"):
        host.first_calls()


def test_what_cannot_be_measured_is_refused(monkeypatch):
    with pytest.raises(SimlayoutError, match="--rounds 0: both are at least 1"):
        host.main(["--rounds", "0"])
    monkeypatch.setattr(launch, "gpu_problem", lambda: "no CUDA GPU (or no driver) on this machine")
    with pytest.raises(DeviceError, match="no CUDA GPU"):
        host.main([])
    monkeypatch.setattr(launch, "gpu_problem", lambda: None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DeviceError, match="pip install torch"):
        host.main([])


def test_the_times_are_printed_and_kept(monkeypatch, tmp_path, capsys):
    class Library:
        version = "torch 2.0"
        torch = type("torch", (), {"cuda": type("cuda", (), {"synchronize": staticmethod(lambda: None)})})

    monkeypatch.setattr(launch, "gpu_problem", lambda: None)
    monkeypatch.setattr("cuda_kernels.bench.libraries.Torch", Library)
    monkeypatch.setattr(host, "ways", lambda library, size: {"prepared": lambda: None})
    monkeypatch.setattr(host, "first_calls", lambda: (4.76, 0.13))
    monkeypatch.setattr(host, "where_and_when", lambda module, arguments: {"command": module})
    path = tmp_path / "host.json"
    assert host.main(["--json", str(path), "--rounds", "2"]) == 0
    kept = json.loads(path.read_text())
    assert kept["first call s"] == 4.76 and kept["cached s"] == 0.13 and kept["rows"][0]["call"] == "prepared"
    assert "4.76 s, 0.13 s with its kernels on disk" in capsys.readouterr().out
