"""What a quick look knows of mbarriers, barriers of some warps, copies by engines and wgmma: right programs take one step,
and of those that it is sure of the shadows tell nothing else."""

import numpy as np
import pytest
from test_doubts import in_one_step
from tiers import given_few

pytest.importorskip("numba")

from random_orders import BLOCKS, THREADS, lines_of, programs, text_of

import simlayout.machine.ptx.compiled.loop  # noqa: F401  (at hand from the first launch on)
from simlayout.errors import SimlayoutError
from simlayout.machine.ptx import entry
from simlayout.machine.ptx.doubts import Doubt
from simlayout.ptx import load


def outcome(program):
    """What a launch tells, counts and leaves."""
    array = np.arange(2048, dtype=np.uint32)
    try:
        trace = program.run(1, THREADS, array, hazards="report")
    except SimlayoutError as error:
        return type(error), str(error)
    return ([str(one) for one in trace.hazards], sorted(trace.notes), trace.lines, trace.executed, array.tolist())


def quick(patch, program):
    """The same of a quick look, None where that is in doubt."""
    def once(attempt, *_):
        return attempt(quick=True)

    patch.setattr(entry, "in_two_steps", once)
    try:
        return outcome(program)
    except Doubt:
        return None


@pytest.mark.parametrize("names", [[name] * many for name in BLOCKS for many in (1, 2) if (name, many) != ("one", 2)]
                         + [[name for name in BLOCKS if name != "one"], [*BLOCKS][::-1][:-1]])
def test_what_is_in_order_takes_one_step(monkeypatch, names):
    program = load(text_of(lines_of(names))).entry()
    found = quick(monkeypatch, program)
    assert found is not None and not found[0] and any("stores there too" in note for note in found[1]) == ("one" in names)
    monkeypatch.setattr(entry, "in_two_steps", in_one_step)
    assert found == outcome(program)


@given_few(40, 2000, programs)
def test_of_what_it_is_sure_the_shadows_tell_the_same(lines):
    program = load(text_of(lines)).entry()
    with pytest.MonkeyPatch.context() as patch:
        found = quick(patch, program)
        if found is not None:
            patch.setattr(entry, "in_two_steps", in_one_step)
            assert found == outcome(program) and not found[0]


@pytest.mark.parametrize(("names", "left_out"), [
    (["mbarrier"], "try_wait"), (["lanes"], "bar.warp.sync"), (["load"], "try_wait"), (["load"], "fence.proxy"),
    (["store"], "fence.proxy"), (["store", "mbarrier"], "wait_group.read"), (["product"], "fence.proxy"),
    (["product", "product"], "wgmma.wait_group"), (["half"], "bar.sync 1"), (["arrive"], "try_wait"),
    (["store again", "store again"], "wait_group 0")])
def test_what_is_missed_is_a_doubt_and_told(monkeypatch, names, left_out):
    lines = lines_of(names)
    at = next(i for i, line in enumerate(lines) if left_out in line)
    program = load(text_of(lines[:at] + lines[at + 1:])).entry()
    assert quick(monkeypatch, program) is None
    monkeypatch.undo()
    assert outcome(program)[0]
