"""Random programs with loops, branches, breaks, barriers, votes and shuffles: an interpreter of one lane at a time, the
machine in NumPy and the compiled loop agree, in results and in counts."""

import numpy as np
import pytest
from random_ptx import Made

import simlayout as sl
from simlayout.machine.ptx import running

WAYS = {"in NumPy": (1 << 60, "nowhere"), "compiled": (0, running.LOOP)}


def result(made, way, hazards, monkeypatch):
    """(what each thread leaves, the Trace)."""
    warmth, loop = WAYS[way]
    monkeypatch.setattr(running, "WARMTH", warmth)
    monkeypatch.setattr(running, "LOOP", loop)
    out = np.zeros((made.threads, 32), np.uint64)
    return out, sl.ptx.load(made.text).entry().run(1, made.threads, made.seeds(), out, hazards=hazards, limit=1 << 20)


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 1000), marks=pytest.mark.sweep)], ids=len)
def test_a_random_program_computes_what_an_interpreter_of_single_lanes_does(seeds, monkeypatch):
    pytest.importorskip("numba")
    for seed in seeds:
        made = Made(seed)
        traces = []
        for way, hazards in (("in NumPy", "off"), ("compiled", "off"), ("compiled", "report")):
            out, trace = result(made, way, hazards, monkeypatch)
            wrong = np.argwhere(out != made.run())
            assert not wrong.size, (seed, way, hazards, wrong[:5].tolist())
            traces.append((trace.executed, trace.lines))
        assert not trace.hazards, (seed, str(trace.hazards[0]))
        assert traces[0] == traces[1] == traces[2], seed


def test_random_programs_part_their_lanes_and_bring_them_together_again(monkeypatch):
    parted = 0
    for seed in range(12):
        made = Made(seed)
        _, trace = result(made, "in NumPy", "off", monkeypatch)
        by_line = {line.line: line.executions for line in trace.ptx}
        parted += len(set(by_line.values())) > 2
    assert parted >= 5
