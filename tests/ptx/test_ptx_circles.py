"""CTAs whose warps meet again and again and wait for what never comes are told; those that get on are not."""

from itertools import product

import numpy as np
import pytest
from ptx_texts import compile_loop, module
from tiers import sweep_but

import simlayout as sl
from simlayout.errors import HazardError

WAITS = """mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
setp.eq.u32 %p1, %r1, 0;
setp.eq.u32 %p2, %r2, {last};
ld.param.u64 %rd1, [kernel_param_0];
@!%p2 bra AGAIN;
@%p1 atom.global.exch.b32 %r3, [%rd1], 1;
bra OUT;
AGAIN:
{poll}
st.shared.u32 [tile], %r4;
WRITTEN: bar.sync 0;
ld.shared.u32 %r5, [tile];
setp.eq.u32 %p3, %r5, {enough};
@%p3 bra OUT;
bar.sync 0;
bra AGAIN;
OUT: ret;"""
"""A thread looks at a flag for its whole CTA, which goes round by two barriers until it is set."""

POLLS = {"atom.cas": "@!%p1 bra WRITTEN;\natom.global.cas.b32 %r4, [%rd1], 1, 1;",
         "ld.volatile": "@!%p1 bra WRITTEN;\nld.volatile.global.u32 %r4, [%rd1];",
         "counting": "add.u32 %r6, %r6, 1;\n@!%p1 bra WRITTEN;\nld.volatile.global.u32 %r4, [%rd1];"}


def waiting(poll, last=1, enough=1):
    text = WAITS.format(poll=poll, last=last, enough=enough)
    return sl.ptx.load(module(text, ["u64"], before=".shared .align 4 .b32 tile;")).entry()


@pytest.mark.parametrize("poll", POLLS)
@pytest.mark.parametrize("hazards", ["off", "raise"])
def test_a_cta_that_meets_while_it_waits_for_a_later_one_is_a_deadlock_that_says_how_to_launch_it(poll, hazards):
    compile_loop()
    with pytest.raises(HazardError, match="deadlock in CTA .0, 0, 0.: .*one CTA of the grid is not resident.*together=True"):
        waiting(POLLS[poll]).run(2, 96, np.zeros(1, np.int32), hazards=hazards)


@pytest.mark.parametrize("poll", POLLS)
def test_it_ends_where_both_run_at_the_same_time_or_the_other_has_run_before(poll):
    compile_loop()
    for how in ({"last": 1, "together": True}, {"last": 0}):
        flag = np.zeros(1, np.int32)
        waiting(POLLS[poll], how.pop("last")).run(2, 96, flag, hazards="off", **how)
        assert flag.tolist() == [1]


@pytest.mark.parametrize("times", [3, 200, 700])
def test_a_cta_whose_registers_come_back_goes_on_as_long_as_memory_changes(times):
    compile_loop()
    count = np.zeros(1, np.int32)
    poll = "@!%p1 bra WRITTEN;\natom.global.add.u32 %r4, [%rd1], 1;"
    waiting(poll, last=7, enough=times).run(1, 96, count, hazards="off")
    assert count.tolist() == [times + 1]


@pytest.mark.parametrize("times", [3, 200, 700])
def test_a_cta_that_meets_so_often_as_a_register_counts_comes_to_its_end(times):
    compile_loop()
    trace = waiting("add.u32 %r6, %r6, 1;\n@!%p1 bra WRITTEN;\nmov.u32 %r4, %r6;", last=7, enough=times).run(
        1, 96, np.zeros(1, np.int32), hazards="off")
    assert trace.totals()["ld"] == 3 * times


COUNTS = """mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [kernel_param_0];
setp.ge.u32 %p1, %r1, 32;
@%p1 bra COUNT;
SPIN: mov.u32 %r2, 0;
WORK: add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, 30;
@%p2 bra WORK;
bar.sync 1, 64;
bar.sync 2, 64;
ld.volatile.global.u32 %r3, [%rd1];
setp.eq.u32 %p3, %r3, 1;
@%p3 bra OUT;
bra SPIN;
COUNT: bar.sync 1, 64;
add.u32 %r4, %r4, 1;
setp.eq.u32 %p4, %r4, 1000;
@%p4 st.volatile.global.u32 [%rd1], 1;
bar.sync 2, 64;
@!%p4 bra COUNT;
OUT: ret;"""
"""A warp comes back to where it was, again and again, while another one that waits for it at a barrier counts."""

STANDING = """mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [kernel_param_0];
sub.u32 %r2, %r1, 16;
setp.lt.u32 %p1, %r2, 16;
@%p1 bra SET;
SPIN: ld.volatile.global.u32 %r4, [%rd1];
ld.volatile.global.u32 %r5, [%rd1+4];
and.b32 %r4, %r4, %r5;
setp.ne.u32 %p2, %r4, 1;
@%p2 bra SPIN;
bra OUT;
SET: st.volatile.global.u32 [%rd1], 1;
st.volatile.global.u32 [%rd1+4], 1;
OUT: ret;"""
"""Half of a warp looks again and again at what its other half stores, which stands meanwhile."""


@pytest.mark.parametrize("case", sweep_but([(COUNTS, "off"), (STANDING, "raise")],
                                           product((COUNTS, STANDING), ("off", "raise"))), ids=lambda case: case[1])
def test_warps_that_come_back_to_where_they_were_wait_for_a_warp_or_lanes_that_get_on_meanwhile(case):
    text, hazards = case
    compile_loop()
    flags = np.zeros(2, np.int32)
    sl.ptx.load(module(text, ["u64"])).entry().run(1, 64, flags, hazards=hazards)
    assert flags[0] == 1


TRIES = """ld.param.u64 %rd1, [kernel_param_0];
TRY: mov.u64 %rd3, %globaltimer;
AGAIN: mov.u64 %rd2, %globaltimer;
ld.volatile.global.u32 %r4, [%rd1+4];
bar.sync 0;
setp.ne.u32 %p3, %r4, 0;
@%p3 bra OUT;
sub.u64 %rd2, %rd2, %rd3;
setp.gt.u64 %p1, %rd2, 100000;
{count}
st.volatile.global.u32 [%rd1], 1;
OUT: ret;"""
"""Warps look at a flag that nobody sets, with a barrier each time, and give up at last."""

COUNTED = {"tries": "@!%p1 bra AGAIN;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 12;\n@%p2 bra TRY;",
           "late": "selp.u32 %r5, 1, 0, %p1;\nadd.u32 %r6, %r6, %r5;\nsetp.lt.u32 %p2, %r6, 2000;\n@%p2 bra AGAIN;"}


@pytest.mark.parametrize("count", COUNTED)
def test_warps_that_try_something_for_a_while_so_many_times_or_count_how_often_it_is_late_come_to_their_end(count):
    compile_loop()
    flags = np.zeros(2, np.int32)
    sl.ptx.load(module(TRIES.format(count=COUNTED[count]), ["u64"])).entry().run(1, 64, flags, hazards="off")
    assert flags.tolist() == [1, 0]
