"""ld.global.nc, as of __ldg and const __restrict__, reads a cache of what no thread writes: where one has, it is told."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl

BODY = """
.reg .b64 %at<3>;
ld.param.u64 %at1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mad.wide.u32 %at1, %r1, 4, %at1;
xor.b32 %r2, %r1, 32;
sub.s32 %r2, %r2, %r1;
mad.wide.s32 %at2, %r2, 4, %at1;
"""
"""%at1: the thread's own word of the first argument; %at2: that of a thread of the other warp."""

STORE, MEET = "st.global.u32 [%at1], %r1;\n", "bar.sync 0;\n"
OWN, OTHERS = "ld.global.nc.u32 %r3, [%at1];\n", "ld.global.nc.u32 %r3, [%at2];\n"


def kinds(body):
    entry = sl.ptx.load(module(BODY + body + "st.global.u32 [%at1+1024], %r3;\nret;", ["u64"])).entry()
    return [one.kind for one in entry.run(1, 64, np.zeros(512, np.uint32), hazards="report").hazards]


@pytest.mark.parametrize("body", [STORE + OWN, STORE + MEET + OTHERS, STORE + MEET + OWN], ids=["own", "others", "behind"])
def test_what_has_been_written_and_is_read_by_a_cached_load_is_told_although_it_is_in_order(body):
    assert kinds(body) == ["stale read"] and not kinds(body.replace(".nc", ""))


def test_what_is_written_after_a_cached_load_is_not():
    assert not kinds(OWN + STORE) and not kinds(OTHERS + MEET + STORE)


def test_a_cached_load_that_races_is_a_race():
    assert set(kinds(STORE + OTHERS)) == {"global race"}
