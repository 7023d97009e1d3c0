"""Endless programs end: by a limit, by Ctrl-C; too large launches are refused; each by one line that says where."""

import _thread
import re
import threading
import time
from itertools import product

import numpy as np
import pytest
from ptx_texts import WRITE, compile_loop, module
from tiers import sweep_but

import simlayout as sl
from simlayout.errors import HazardError, MachineError

ENDLESS = """.local .align 4 .b32 own;
.loc 1 7 3
mov.u32 %r1, %tid.x;
AGAIN:
.loc 1 9 3
{step}
bra AGAIN;"""

STEPS = {"counter": "add.u32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 0; @%p1 ret;",
         "memory": "add.u32 %r1, %r1, 1; st.shared.u32 [tile], %r1;",
         "divergent": "add.u32 %r1, %r1, 1; and.b32 %r2, %r1, 4; setp.eq.u32 %p1, %r2, 0; @%p1 bra AGAIN;"}
"""What goes on for ever and never comes back to the same registers and memory."""

IDLE = {"nothing": "", "two steps": "xor.b32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra AGAIN;",
        "reads": "ld.shared.u32 %r2, [tile]; st.local.u32 [own], %r2;", "writes what is its own": "st.local.u32 [own], %r3;",
        "meets": "bar.sync 0;", "meets and counts": "add.u32 %r1, %r1, 1; bar.sync 0;",
        "meets and reads": "st.shared.u32 [tile], %r3; bar.sync 0; ld.shared.u32 %r2, [tile]; bar.sync 0;",
        "counts": "add.u32 %r1, %r1, 1;", "counts what it reads": "ld.shared.u32 %r2, [tile]; st.local.u32 [own], %r2; "
                                                                  "add.u32 %r1, %r1, %r2; "
                                                                  "mad.lo.u32 %r4, %r1, 3, %r4; add.u32 %r5, %r5, 1;"}
"""What comes back to the same, but for what nothing depends on, so that nothing but another warp could end it."""


def endless(step, **options):
    body = ENDLESS.format(step={**STEPS, **IDLE}[step])
    text = module(body, before='.file 1 "loop.cu"\n.shared .align 4 .b32 tile;')
    return sl.ptx.load(text).entry().run(1, 64, hazards="off", **options)


@pytest.mark.parametrize("step", STEPS)
def test_an_endless_loop_ends_by_the_limit_with_one_line_that_names_the_source_line(step):
    with pytest.raises(MachineError) as ended:
        endless(step, limit=5000)
    assert re.fullmatch(r"loop\.cu:9: CTA \(0, 0, 0\), warp [01]: the warp has executed 5000 instructions and does not end: "
                        r"if it should, pass a larger limit=; if it waits for another CTA, together=.*", str(ended.value))


@pytest.mark.parametrize("step", STEPS)
def test_an_endless_loop_ends_by_ctrl_c_and_the_entry_can_run_again(step):
    compile_loop()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless(step)
    timer.join()
    with pytest.raises(MachineError):
        endless(step, limit=100)


@pytest.mark.parametrize("step", IDLE)
def test_a_loop_in_which_nothing_changes_ends_by_itself_with_one_line_that_names_it(step):
    with pytest.raises(HazardError, match="deadlock") as ended:
        endless(step)
    places = 1, 1 + ("meets" in step)                    # a warp may stand at the barrier, and another behind it
    assert str(ended.value).count("(loop.cu:9)") in places and "\n" not in str(ended.value)
    reads = "%r2, [tile]" in IDLE[step] or "[own]" in IDLE[step]
    assert ("what it reads again and again" if reads else "the end of a loop that has none") in str(ended.value)
    with pytest.raises(MachineError, match="has executed 5000 instructions"):
        endless(step, limit=5000)


def test_a_thread_that_waits_while_the_others_stand_at_a_barrier_ends_as_a_deadlock():
    body = ("mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET; "
            "AGAIN: ld.volatile.shared.u32 %r2, [tile]; setp.eq.u32 %p2, %r2, 1; @!%p2 bra AGAIN; MEET: bar.sync 0;")
    entry = sl.ptx.load(module(body.replace("; ", ";\n"), before=".shared .align 4 .b32 tile;")).entry()
    for block in (32, 64):
        with pytest.raises(HazardError, match="deadlock.* warp 0 waiting at a change of what it reads again and again"):
            entry.run(1, block, hazards="report", limit=200_000)


APART = """mov.u32 %r1, %tid.x;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra OTHERS;
AGAIN: ld.volatile.shared.u32 %r2, [tile];
setp.eq.u32 %p2, %r2, 7;
@!%p2 bra AGAIN;
bra.uni MEET;
OTHERS: {others}
@!%p2 bra OTHERS;
st.volatile.shared.u32 [tile], 7;
MEET: bar.sync 0;"""


WAITED_FOR = {"compute": "add.u32 %r4, %r4, 1; setp.eq.u32 %p2, %r4, 60000;",
              "wait too": "ld.volatile.shared.u32 %r3, [tile]; setp.eq.u32 %p2, %r3, 9;"}


@pytest.mark.parametrize("block", sweep_but([32], [32, 64]))
@pytest.mark.parametrize("others", sweep_but(["wait too"], WAITED_FOR))
def test_lanes_that_wait_for_others_of_their_warp_wait_as_long_as_these_compute(others, block):
    text = module(APART.replace("{others}", WAITED_FOR[others].replace("; ", ";\n")), before=".shared .align 4 .b32 tile;")
    entry = sl.ptx.load(text).entry()
    if others == "compute":
        entry.run(1, block, hazards="report", limit=1_000_000)
    else:
        with pytest.raises(HazardError, match="deadlock"):
            entry.run(1, block, hazards="report", limit=1_000_000)


WATCHED = """st.shared.u32 [tile], 0;
bar.sync 0;
mov.u64 %rd1, %globaltimer;
mov.u32 %r1, %clock;
AGAIN: ld.volatile.shared.u32 %r2, [tile];
setp.eq.u32 %p2, %r2, 7;
@%p2 bra OUT;
mov.u64 %rd2, %globaltimer;
sub.s64 %rd3, %rd2, %rd1;
mov.u32 %r3, %clock;
sub.u32 %r4, %r3, %r1;
add.u32 %r5, %r5, 1;
setp.gt.s64 %p3, %rd3, 40000;
@%p3 nanosleep.u32 40;
{until}
bra AGAIN;
OUT: ret;"""
"""A flag that nobody sets is looked at, by way of a clock."""


UNTIL = {"a time": "setp.gt.s64 %p1, %rd3, 10000000000; @%p1 bra OUT;",
         "clocks": "setp.gt.u32 %p1, %r4, 1500000000; @%p1 bra OUT;",
         "so often": "setp.gt.u32 %p1, %r5, 1000; @%p1 bra OUT;"}


@pytest.mark.parametrize("case", sweep_but([("a time", "off"), ("clocks", "report"), ("so often", "off")],
                                           product(UNTIL, ["off", "report"])), ids="-".join)
def test_who_waits_for_a_time_or_counts_comes_to_an_end_soon(case):
    until, hazards = UNTIL[case[0]], case[1]
    text = module(WATCHED.format(until=until.replace("; ", ";\n")), before=".shared .align 4 .b32 tile;")
    sl.ptx.load(text).entry().run(2, 64, hazards=hazards, limit=1_000_000)


@pytest.mark.parametrize("until", ["", "shr.u64 %rd4, %rd3, 2; cvt.u32.u64 %r6, %rd4; nanosleep.u32 %r6;"])
def test_who_looks_at_a_clock_while_it_waits_for_what_nobody_does_is_a_deadlock_all_the_same(until):
    text = module(WATCHED.format(until=until.replace("; ", ";\n")), before=".shared .align 4 .b32 tile;")
    with pytest.raises(HazardError, match="deadlock.* a change of what it reads again and again"):
        sl.ptx.load(text).entry().run(2, 64, hazards="report", limit=1_000_000)


def test_a_clock_may_stand_wherever_a_register_does():
    code = """mov.u32 %r1, %tid.x;
st.shared.v2.u32 [tile], {%r1, %clock};
add.u32 %r2, %clock, 0;
mov.b64 %rd2, {%clock, %clock_hi};
add.u64 %rd3, %globaltimer, 0;
ld.shared.u32 %r3, [tile+4];
ld.param.u64 %rd1, [kernel_param_0];
st.global.u32 [%rd1], %r3;
st.global.u32 [%rd1+4], %r2;
st.global.u64 [%rd1+8], %rd2;
st.global.u64 [%rd1+16], %rd3;
ret;"""
    out = np.zeros(6, np.uint32)
    sl.ptx.load(module(code, ["u64"], before=".shared .align 8 .b32 tile[2];")).entry().run(1, 1, out)
    assert out[0] < out[1] < out[2] < out[4] and not out[3] and not out[5]


def test_a_limit_that_the_program_does_not_reach_changes_nothing():
    out = np.zeros(64, np.int32)
    entry = sl.ptx.load(module(WRITE, ["u64"])).entry()
    entry.run(1, 64, out, limit=6)
    assert out.tolist() == list(range(64))
    with pytest.raises(MachineError, match="has executed 5 instructions"):
        entry.run(1, 64, out, limit=5)


def test_a_billion_ctas_begin_at_once_tell_how_far_they_are_and_end_by_ctrl_c():
    told, started = [], time.monotonic()

    def progress(done, total):
        told.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sl.ptx.load(module(WRITE, ["u64"])).entry().run(10**9, 32, np.zeros(32, np.int32), hazards="off", progress=progress)
    assert told == [(1, 10**9), (2, 10**9), (3, 10**9)] and time.monotonic() - started < 60


@pytest.mark.parametrize("grid, block, options, told", [
    (2**31, 32, {}, "a GPU launches at most"), ((1, 2**16), 32, {}, "a GPU launches at most"), (0, 32, {}, "positive"),
    (1, 2048, {}, "a CTA has at most 1024"), ("1", 32, {}, "positive integers"), (1, (1, 2, 3, 4), {}, "one to three"),
    (10**9, 32, {"together": True}, "threads together"), (1, 32, {"shared_bytes": 10**6}, "bytes of shared memory"),
    (1, 32, {"shared_bytes": -4}, "shared_bytes = -4: give an integer of at least 0"),
    (1, 32, {"shared_bytes": 1.5}, "shared_bytes = 1.5"), (1, 32, {"shared_bytes": "4"}, "shared_bytes = '4'"),
    (1, 32, {"limit": 0}, "limit = 0: give an integer of at least 1"), (1, 32, {"limit": None}, "limit = None"),
    (3, 32, {"cluster": 2}, "divide the grid"), (1, 32, {"cluster": "a"}, "cluster"), (1, 32, {"hazards": "maybe"}, "maybe"),
    (1, 32, {"arch": "sm_1"}, "sm_1"), (1, (1, 1, 65), {}, "at most 64 threads along z"),
    (1, 32, {"progress": 3}, "progress = 3: give a function, called as progress(finished CTAs, all CTAs)")])
def test_a_launch_that_no_gpu_takes_is_refused_in_one_line(grid, block, options, told):
    out = np.zeros(32, np.int32)
    with pytest.raises(sl.SimlayoutError) as refused:
        sl.ptx.load(module(WRITE, ["u64"])).entry().run(grid, block, out, **options)
    assert told in str(refused.value) and "\n" not in str(refused.value) and not out.any()


def test_an_error_in_a_kernel_says_file_line_cta_and_warp():
    text = module('.loc 1 4 1\ntrap;', before='.file 1 "k.cu"')
    with pytest.raises(MachineError, match=re.escape("k.cu:4: CTA (0, 0, 0), warp 0: trap: the kernel aborts itself")):
        sl.ptx.load(text).entry().run(1, 32)
