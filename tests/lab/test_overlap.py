"""What the measurement of overlapping launches runs, beside a clock of its own."""

import json
from types import SimpleNamespace

import pytest
from own_clock import OwnClock

from cuda_kernels.bench.record import Product
from cuda_kernels.bench.sets import Case
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.lab import overlap

TAKES = {"wait": 4.0, "late": 3.0, "early": 2.0, "cublas": 5.0, "other": 1.0}
"""Microseconds on the clock."""


class FakeTorch(OwnClock):
    """Arrays that are numbers, and a clock that each launch advances."""

    def __init__(self):
        super().__init__()
        stream = SimpleNamespace(cuda_stream=7)
        self.torch = SimpleNamespace(cuda=SimpleNamespace(
            current_stream=lambda: stream, synchronize=lambda: None, _sleep=lambda clocks: None))
        self.version = "torch, made up"

    def runs(self, what):
        self.now += TAKES[what] * 1e-6

    def operands(self, problem):
        return 1, 2, 3

    def multiply(self, a, b, out):
        self.runs("cublas")

    def apart(self, calls):
        return [lambda call=call: (self.runs("other"), call()) for call in calls]

    def event(self):
        event = SimpleNamespace(at=0.0, synchronize=lambda: None)
        event.record = lambda: setattr(event, "at", self.now)
        return event

    def milliseconds(self, start, end):
        return (end.at - start.at) * 1e3


@pytest.fixture
def library(monkeypatch):
    """A FakeTorch, for which matmul chooses a configuration whose product takes as long as TAKES says."""
    made = FakeTorch()

    def prepared(kernel, *operands, overlap=True, tune="kept"):
        kernel = kernel_of(Hopper()) if kernel == "auto" else kernel
        way = {(False, False): "wait", (True, False): "late", (True, True): "early"}[overlap, kernel.options.early]
        launch = SimpleNamespace(bare=lambda stream: lambda: made.runs(way))
        return SimpleNamespace(kernel=kernel, launches=(launch,))

    monkeypatch.setattr(overlap, "prepared", prepared)
    monkeypatch.setattr(overlap, "torch_library", lambda why: made)
    monkeypatch.setattr(overlap, "compile_cases", lambda cases, use_kept: None)
    monkeypatch.setattr(overlap, "where_and_when", lambda module, arguments: {"device": "made up"})
    return made


def test_each_way_is_timed_in_each_situation(library):
    times, config = overlap.measure(library, Case("unseen", "matmul", Product(64, 72, 128), "auto"), 1e-3)
    of_each = [TAKES[way] for way in (*overlap.WAYS, "cublas")]
    assert config == Hopper()
    assert times == [of_each, [us + 1 for us in of_each], [us + 1 for us in of_each]]


def test_a_record_says_what_its_times_are_and_an_interruption_keeps_it(library, tmp_path, monkeypatch, capsys):
    freed = iter((None, None, KeyboardInterrupt()))

    def interrupted():
        if (stop := next(freed)) is not None:
            raise stop

    compiled = []
    monkeypatch.setattr(library, "free", interrupted)
    monkeypatch.setattr(overlap, "compile_cases", lambda cases, use_kept: compiled.extend(cases))
    path = tmp_path / "overlap.json"
    with pytest.raises(KeyboardInterrupt):
        overlap.main(["--json", str(path), "--sets", "unseen", "fp8", "--seed", "5", "--seconds", "0.001"])
    found = json.loads(path.read_text())
    assert found["times"] == ["row", "graph", "stream"] and found["of each"] == ["wait", "late", "early", "cublas"]
    assert len(found["rows"]) == 3 and found["rows"][0][2] == [4.0, 3.0, 2.0, 5.0]
    assert capsys.readouterr().out.count("\n") == 3 and len(compiled) == 100        # fp8 is left out
