"""What the measurement of overlapping launches runs, beside a clock of its own."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from own_clock import OwnClock

from cuda_kernels.bench.record import Product
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.lab import overlap
from cuda_kernels.lab.tuning_record import as_f16, read
from cuda_kernels.matmul.choose.figures import H200
from cuda_kernels.run import driver
from simlayout.errors import ParseError

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
    """A FakeTorch, on a made-up H200, for which each configuration's product takes as long as TAKES says."""
    made = FakeTorch()

    def prepared(config, *operands, overlap=True):
        way = {(False, False): "wait", (True, False): "late", (True, True): "early"}[overlap, config.early]
        return SimpleNamespace(launches=(SimpleNamespace(bare=lambda stream: lambda: made.runs(way)),))

    monkeypatch.setattr(overlap, "prepared", prepared)
    monkeypatch.setattr(overlap, "torch_library", lambda why: made)
    monkeypatch.setattr(overlap, "compile_ahead", lambda programs, version: None)
    monkeypatch.setattr(overlap, "figures_of", lambda cuda, device: H200)
    monkeypatch.setattr(driver, "cuda", lambda: SimpleNamespace(version=(13, 0)))
    monkeypatch.setattr(overlap, "where_and_when", lambda module, arguments: {"device": "made up"})
    return made


@pytest.mark.parametrize("situations", [overlap.SITUATIONS, ("row",), ("stream", "graph")])
def test_each_way_is_timed_in_each_situation(library, situations):
    of_each = [TAKES[way] for way in (*overlap.WAYS, "cublas")]
    expected = {"row": of_each, "graph": [us + 1 for us in of_each], "stream": [us + 1 for us in of_each]}
    times = overlap.measure(library, Product(64, 72, 128), Hopper(), 1e-3, situations)
    assert times == [expected[situation] for situation in situations]


def test_configurations_of_each_size_are_the_likeliest_that_keep_so_many_sms_busy():
    p = Product(184, 2240, 1816)
    found = overlap.by_size(p, H200)
    sizes = [config.grid(*config.turned(p.M, p.N), p.K) for config in found]
    assert [size > 99 for size in sorted(sizes)] == [False, False, True]
    assert [size > 66 for size in sorted(sizes)] == [False, True, True]
    assert replace(found[0], early=False) == replace(overlap.chosen(p, H200)[0], early=False)


def test_a_record_says_what_its_times_are_and_an_interruption_keeps_it(library, tmp_path, monkeypatch, capsys):
    freed = iter((None, None, KeyboardInterrupt()))

    def interrupted():
        if (stop := next(freed)) is not None:
            raise stop

    compiled = []
    monkeypatch.setattr(library, "free", interrupted)
    monkeypatch.setattr(overlap, "compile_ahead", lambda programs, version: compiled.extend(programs))
    path = tmp_path / "overlap.json"
    with pytest.raises(KeyboardInterrupt):
        overlap.main(["--json", str(path), "--sets", "unseen", "fp8", "--seed", "5", "--seconds", "0.001"])
    found = json.loads(path.read_text())
    assert found["times"] == ["row", "graph", "stream"] and found["of each"] == ["wait", "late", "early", "cublas"]
    assert len(found["rows"]) == 3 and found["rows"][0][2] == [4.0, 3.0, 2.0, 5.0]
    assert capsys.readouterr().out.count("\n") == 3
    assert 50 < len(compiled) <= 100 and {program.kernel.options.dtype for program in compiled} == {"f16", "bf16"}


def test_products_in_groups_or_with_epilogues_and_repeated_ones_are_left_out_of_sets(library, monkeypatch):
    measured = []
    monkeypatch.setattr(overlap, "measure", lambda library, p, *more: measured.append(p) or [[4.0, 3.0, 2.0, 5.0]] * 3)
    monkeypatch.setattr(library, "free", lambda: None)
    overlap.main(["--sets", "models", "groups", "grouped", "epilogues", "ladder", "--seed", "5"])
    assert len(set(measured)) == len(measured) > 20 and {p.dtype for p in measured} == {"f16", "bf16"}
    assert not any(p.groups or p.epilogue for p in measured)


def test_a_record_is_read_as_one_of_each_configuration_late_and_early_unless_an_sm_has_two_ctas(tmp_path):
    one, two = Hopper(64, 64, 8), Hopper(64, 64, 2, resident=2)
    shape = [64, 72, 128, "bf16"]
    rows = [[shape, as_f16(config).changes | more, [4.0, 3.0, us, 5.0], [6.0, 6.0, 6.0, 6.0]]
            for config, more, us in ((one, {"early": True}, 2.0), (two, {}, 1.0))]
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"device": "NVIDIA H200", "of each": [*overlap.WAYS, "cublas"], "rows": rows}))
    found = read(path)
    assert found.configs == (one, replace(one, early=True)) and not found.settled
    tried, = found.products
    assert (tried.problem, tried.beside, tried.times) == (Product(64, 72, 128, "bf16"), (5.0,), ((0, 3.0), (1, 2.0)))
    path.write_text(json.dumps({"device": "NVIDIA H200", "of each": ["late"], "rows": rows}))
    with pytest.raises(ParseError, match="is no record of cuda_kernels.lab.tuning"):
        read(path)
