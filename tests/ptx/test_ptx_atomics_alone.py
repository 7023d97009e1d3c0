"""Histograms: where there are atomics alone nothing is compared, so that many take no longer each than few; what else
touches the same memory is told all the same."""

from itertools import product

import numpy as np
import pytest
from ptx_texts import module
from tiers import sweep_but

from simlayout import ptx
from simlayout.machine.hazards import global_shadow
from simlayout.machine.hazards.global_shadow import GlobalShadow
from simlayout.machine.hazards.shadow import SharedShadow

COUNT = """
.shared .align 4 .b8 bins[1024];
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u64 %rd2, [kernel_param_1];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r7, bins;
mad.lo.u32 %r8, %r1, 4, %r7; st.shared.u32 [%r8], 0; bar.sync 0;
mad.lo.u32 %r3, %r2, 256, %r1; mov.u32 %r5, 0;
AGAIN:
add.u32 %r5, %r5, 1;
mul.wide.u32 %rd3, %r3, 1; add.s64 %rd3, %rd1, %rd3;
ld.global.u8 %r4, [%rd3];
mul.wide.u32 %rd4, %r4, 4; add.s64 %rd4, %rd2, %rd4; mad.lo.u32 %r6, %r4, 4, %r7;
{count}
add.u32 %r3, %r3, 1024; setp.lt.u32 %p1, %r5, 4; @%p1 bra AGAIN;
{behind}
ret;
"""
IN_GLOBAL, IN_SHARED = "atom.global.add.u32 %r0, [%rd4], 1;", "atom.shared.add.u32 %r0, [%r6], 1;"
COLLECT = "bar.sync 0; ld.shared.u32 %r0, [%r8]; mad.wide.u32 %rd4, %r1, 4, %rd2; red.global.add.u32 [%rd4], %r0;"


def counted(count, behind=""):
    """(the bytes, how often each was counted, the Trace) of four CTAs of 256 threads, which take four bytes each."""
    data, bins = np.random.default_rng(0).integers(0, 256, 4096).astype(np.uint8), np.zeros(256, np.uint32)
    text = module(COUNT.format(count=count, behind=behind), ["u64", "u64"])
    return data, bins, ptx.load(text).entry().run(4, 256, data, bins, hazards="report")


def never(*args, **named):
    raise AssertionError("compared")


def test_atomics_of_global_memory_that_nothing_else_touches_are_compared_with_nothing(monkeypatch):
    monkeypatch.setattr(GlobalShadow, "_after", never)
    data, bins, trace = counted(IN_GLOBAL)
    assert (bins == np.bincount(data, minlength=256)).all() and not trace.hazards


def test_atomics_of_shared_memory_are_not_compared_with_one_another(monkeypatch):
    monkeypatch.setattr(SharedShadow, "_check_earlier", never)
    data, bins, trace = counted(IN_SHARED, COLLECT)
    assert (bins == np.bincount(data, minlength=256)).all() and not trace.hazards


LOAD = "ld.global.u32 %r0, [%rd4]; nanosleep.u32 %r0;"
STORE, WIDER = "st.global.u32 [%rd4], 5;", "atom.global.add.u64 %rd5, [%rd2], 1;"


@pytest.mark.parametrize("case", sweep_but([(LOAD, 10), (STORE, 2**19), (WIDER, 10)],
                                           product((LOAD, STORE, WIDER), (10, 2**19))), ids=str)
def test_what_else_touches_counters_in_global_memory_races_with_their_atomics(monkeypatch, case):
    behind, listed = case
    monkeypatch.setattr(global_shadow, "LISTED", listed)
    assert {hazard.kind for hazard in counted(IN_GLOBAL, behind)[2].hazards} == {"global race"}


@pytest.mark.parametrize("behind", ["ld.shared.u32 %r0, [%r8]; nanosleep.u32 %r0;", "st.shared.u32 [%r8], 5;",
                                    "atom.shared.add.u64 %rd5, [bins], 1;"])
def test_what_else_touches_counters_in_shared_memory_without_a_barrier_races_too(behind):
    assert counted(IN_SHARED, behind)[2].hazards
