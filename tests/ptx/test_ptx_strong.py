"""Loads and stores of shared memory: flags, latches and other things by which threads wait for one another; what is read."""

import numpy as np
import pytest
from ptx_texts import module
from steps_of_launches import in_one_step

import simlayout as sl
from simlayout.machine.hazards.global_shadow import GlobalShadow

PASSED_ON = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
and.b32 %r6, %r1, 31;
setp.eq.u32 %p3, %r6, 0;
setp.ne.u32 %p1, %r1, 0;
mov.u32 %r3, 0;
@!%p1 st.{store}.u32 [flag], %r3;
bar.sync 0;
WAIT:                                       // until it is this warp's turn
ld.{load}.u32 %r4, [flag];
setp.ne.u32 %p2, %r4, %r2;
@%p2 bra WAIT;
{fence}
mov.u32 %r5, data;
mad.lo.u32 %r5, %r6, 4, %r5;
setp.eq.u32 %p2, %r2, 0;
mov.u32 %r7, 0;
@!%p2 ld.shared.u32 %r7, [%r5];
add.u32 %r7, %r7, %r1;
st.shared.u32 [%r5], %r7;
st.global.u32 [%rd1], %r7;
bar.warp.sync -1;
{fence}
add.u32 %r4, %r2, 1;
@%p3 st.{store}.u32 [flag], %r4;
ret;
"""
"""Each warp waits until a flag has its number, adds to data of the warp before, and sets the flag for the next one."""

ORDERS = {"volatile with fences": ("volatile.shared", "volatile.shared", "membar.cta;"),
          "acquire and release": ("acquire.cta.shared", "release.cta.shared", ""),
          "relaxed with fences": ("relaxed.cta.shared", "relaxed.cta.shared", "fence.acq_rel.cta;")}

WRONG = {"plain": ("shared", "shared", "membar.cta;"), "volatile without fences": ("volatile.shared", "volatile.shared", ""),
         "relaxed without fences": ("relaxed.cta.shared", "relaxed.cta.shared", "")}


def passed_on(load, store, fence):
    text = module(PASSED_ON.format(load=load, store=store, fence=fence), ("u64",),
                  before=".shared .align 4 .b32 flag; .shared .align 4 .b8 data[128];")
    out = np.zeros(96, np.uint32)
    trace = sl.ptx.load(text).entry().run(1, 96, out, hazards="report")
    assert out.tolist() == [sum(range(t % 32, t + 1, 32)) for t in range(96)]
    return trace.hazards


@pytest.mark.parametrize("name", ORDERS)
def test_warps_may_wait_for_a_flag_that_strong_accesses_set_and_read(name):
    assert not passed_on(*ORDERS[name])


@pytest.mark.parametrize("name", WRONG)
def test_a_flag_that_is_plain_or_orders_nothing_is_a_race(name):
    assert {hazard.kind.partition(" after ")[1] for hazard in passed_on(*WRONG[name])} == {" after "}


WARP_TREE = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mov.u32 %r2, data;
mad.lo.u32 %r2, %r1, 4, %r2;
setp.ne.u32 %p1, %r1, 0;
st.{order}.u32 [%r2], %r1;
{sync}
ld.{order}.u32 %r3, [%r2+64];
ld.{order}.u32 %r4, [%r2];
{sync}
add.u32 %r4, %r4, %r3;
st.{order}.u32 [%r2], %r4;
{sync}
@!%p1 ld.{order}.u32 %r5, [data];
@!%p1 st.global.u32 [%rd1], %r5;
ret;
"""


@pytest.mark.parametrize("sync, kinds", [("", {"lane race"}), ("bar.warp.sync -1;", set())])
def test_volatile_accesses_of_lanes_that_go_in_step_need_a_warp_barrier(sync, kinds):
    text = module(WARP_TREE.format(order="volatile.shared", sync=sync), ("u64",), before=".shared .align 4 .b8 data[256];")
    trace = sl.ptx.load(text).entry().run(1, 32, np.zeros(1, np.uint32), hazards="report")
    assert {hazard.kind for hazard in trace.hazards} - {"unwritten read"} == kinds


LATCH = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
mov.u32 %r2, data;
mad.lo.u32 %r3, %r1, 4, %r2;
setp.ne.u32 %p1, %r1, 0;
mov.u32 %r4, 64;
@!%p1 st.shared.u32 [latch], %r4;
bar.sync 0;
st.shared.u32 [%r3], %r1;
{before}
atom{order}.shared.add.u32 %r4, [latch], -1;
WAIT:
ld.acquire.cta.shared.u32 %r4, [latch];
setp.ne.u32 %p2, %r4, 0;
@%p2 bra WAIT;
sub.u32 %r3, 63, %r1;
mad.lo.u32 %r3, %r3, 4, %r2;
ld.shared.u32 %r5, [%r3];
st.global.u32 [%rd1], %r5;
ret;
"""
"""std::latch: every thread counts down and waits for 0."""


@pytest.mark.parametrize("order, before, clean", [(".release.cta", "", True), (".relaxed.cta", "membar.cta;", True),
                                                  (".relaxed.cta", "", False)])
def test_who_reads_what_the_last_of_several_atomics_left_knows_what_each_of_them_released(order, before, clean):
    text = module(LATCH.format(order=order, before=before), ("u64",),
                  before=".shared .align 4 .b32 latch; .shared .align 4 .b8 data[256];")
    out = np.zeros(64, np.uint32)
    trace = sl.ptx.load(text).entry().run(1, 64, out, hazards="report")
    assert out.tolist() == [*range(63, -1, -1)] and bool(trace.hazards) != clean


VECTOR = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
setp.lt.u32 %p1, %r1, 3;
mov.u32 %r2, words;
mad.lo.u32 %r3, %r1, 4, %r2;
@%p1 st.shared.u32 [%r3], %r1;
bar.sync 0;
setp.eq.u32 %p2, %r1, 40;
@%p2 st.shared.u32 [words+12], %r1;
ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [words];
add.u32 %r8, %r4, %r5;
add.u32 %r8, %r8, USED;
st.global.u32 [%rd1], %r8;
ret;
"""
"""A load of three words that nvcc makes one of four."""


@pytest.mark.parametrize("used, kinds", [("%r6", set()), ("%r7", {"write after read", "read after write"})])
def test_an_element_of_a_vector_that_nothing_reads_is_not_read(used, kinds):
    text = module(VECTOR.replace("USED", used), ("u64",), before=".shared .align 16 .b8 words[16];")
    trace = sl.ptx.load(text).entry().run(1, 64, np.zeros(64, np.uint32), hazards="report")
    found = {hazard.kind for hazard in trace.hazards}
    assert found & kinds if kinds else not found


IN_GLOBAL = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
setp.eq.u32 %p2, %r1, 40;
@%p2 st.global.u32 [%rd1+12], %r1;
ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd1];
add.u32 %r8, %r4, %r5;
add.u32 %r8, %r8, USED;
setp.eq.u32 %p1, %r1, 0;
@%p1 st.global.u32 [%rd1+16], %r8;
ret;
"""


@pytest.mark.parametrize("used, bytes", [("%r6", ()), ("%r7", (12, 13, 14, 15))])
def test_nor_is_it_in_global_memory(used, bytes):
    text = module(IN_GLOBAL.replace("USED", used), ("u64",))
    trace = sl.ptx.load(text).entry().run(1, 64, np.zeros(64, np.uint32), hazards="report")
    assert {byte for hazard in trace.hazards for byte in hazard.bytes} == set(bytes)


COUNTED = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
atom.global.add.u32 %r2, [%rd1], %r1;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd2, %rd1, %rd2;
WRITE st.global.u32 [%rd2+4], %r2;
ret;
"""
"""All threads add their numbers to one element, and store what they found behind it."""


def test_an_atomic_of_a_warp_on_one_address_is_one_access_to_whoever_looks_for_races(monkeypatch):
    entered, enter = [], GlobalShadow.enter
    monkeypatch.setattr(GlobalShadow, "enter", lambda *args, **more: entered.append(args[3]) or enter(*args, **more))
    in_one_step(monkeypatch)
    out = np.zeros(97, np.uint32)
    trace = sl.ptx.load(module(COUNTED.replace("WRITE", "//"), ("u64",))).entry().run(3, 96, out, hazards="report")
    assert out[0] == 3 * sum(range(96)) and trace.hazards == ()
    assert [len(lanes) for lanes in entered] == [32] * 9


def test_a_plain_store_races_with_an_atomic_of_any_lane_of_a_warp():
    text = module(COUNTED.replace("WRITE", "").replace("+4", ""), ("u64",))
    hazards = sl.ptx.load(text).entry().run(1, 64, np.zeros(96, np.uint32), hazards="report").hazards
    assert ("global race", tuple(range(32))) in {(found.kind, found.second.lanes) for found in hazards}


def test_an_atomic_outside_of_an_array_names_the_lane():
    text = module(COUNTED.replace("WRITE", "//").replace("[%rd1], %r1", "[%rd1+400], %r1"), ("u64",))
    with pytest.raises(sl.HazardError, match="out of bounds: .* lanes? 0"):
        sl.ptx.load(text).entry().run(1, 32, np.zeros(96, np.uint32))


LAST = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %ctaid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd2, %rd1, %rd2;
st.global.u32 [%rd2+4], %r1;
{release}
atom.global.add.u32 %r2, [%rd1], 1;
{acquire}
setp.ne.u32 %p1, %r2, 2;
@%p1 ret;
ld.global.u32 %r3, [%rd1+4];
ld.global.u32 %r4, [%rd1+8];
add.u32 %r3, %r3, %r4;
st.global.u32 [%rd1+16], %r3;
ret;
"""
"""The last of three CTAs, as a counter says, adds what the others have stored."""


@pytest.mark.parametrize("release, acquire, says", [
    ("membar.gl;", "membar.gl;", None),
    ("membar.gl;", "", "and has released (a fence is missing behind the atomic or load by which the other one knows), and "
                       "nothing orders the two: put a membar.gl there"),
    ("", "membar.gl;", "writes, and nothing orders the two"),
    ("", "", "writes, and nothing orders the two")])
def test_a_race_with_what_was_released_says_that_the_fence_behind_the_atomic_is_missing(release, acquire, says):
    text, out = module(LAST.format(release=release, acquire=acquire), ("u64",)), np.zeros(5, np.uint32)
    hazards = sl.ptx.load(text).entry().run(3, 1, out, hazards="report").hazards
    assert out.tolist() == [3, 0, 1, 2, 1]
    assert bool(hazards) == (says is not None) and all(says in str(found) for found in hazards)


RESET = LAST.replace("st.global.u32 [%rd1+16], %r3;", "st.global.u32 [%rd1+16], %r3; st.global.u32 [%rd1], 0;")
"""And sets the counter back."""


def test_what_a_fence_released_is_handed_on_though_other_warps_know_of_more_counters_by_then():
    text = module("""ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mov.u32 %r3, 0;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd2, %rd1;
L: atom.global.add.u32 %r4, [%rd2], 1; fence.acq_rel.gpu; bar.sync 0;
add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 3; @%p1 bra L; ret;""", ["u64"])
    out = np.zeros(64, np.uint32)
    assert not sl.ptx.load(text).entry().run(4, 64, out, hazards="report").hazards and (out == 12).all()


FENCE = "membar.gl;"


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("release, acquire, lines", [(FENCE, FENCE, 0), (FENCE, "", 2), ("", FENCE, 2)])
@pytest.mark.parametrize("last", ["setp.ne.u32 %p1, %r2, 2;", "setp.lt.u32 %p1, %r2, 2;",
                                  "add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, 2;"])
def test_the_last_block_may_set_the_counter_back_by_a_plain_store(last, release, acquire, lines, together):
    body = RESET.replace("setp.ne.u32 %p1, %r2, 2;", last).format(release=release, acquire=acquire)
    out = np.zeros(5, np.uint32)
    hazards = sl.ptx.load(module(body, ("u64",))).entry().run(3, 1, out, hazards="report", together=together).hazards
    assert out.tolist() == [0, 0, 1, 2, 1] and len(hazards) == lines
    assert {found.second.instruction for found in hazards} <= {"ld.global.u32"}


COUNT = """mov.u32 %r1, %tid.x; mov.u32 %r4, 0; and.b32 %r2, %r1, 31; setp.ne.u32 %p2, %r2, 0; setp.eq.u32 %p1, %r1, 0;
@%p1 st.shared.u32 [count], %r4; bar.sync 0; @%p2 bra END;
{count} {reset} {after} END: ret;"""
RESETS = "setp.eq.u32 %p1, %r3, 3; @%p1 st.shared.u32 [count], %r4;"


@pytest.mark.parametrize("count, reset, after, raced", [
    ("atom.shared.add.u32 %r3, [count], 1;", RESETS, "", False),
    ("atom.shared.inc.u32 %r3, [count], 9;", RESETS.replace("eq", "ge"), "", False),
    ("atom.shared.add.u32 %r3, [count], 1;", RESETS.replace(", 3", ", 1"), "", True),
    ("atom.shared.add.u32 %r3, [count], 1;", "st.shared.u32 [count], %r4;", "", True),
    ("red.shared.add.u32 [count], 1; ld.volatile.shared.u32 %r3, [count];", RESETS.replace(", 3", ", 4"), "", True),
], ids=["== 3", ">= 3", "counted too early", "whoever counts", "who reads"])
def test_so_may_the_last_warp_in_shared_memory(count, reset, after, raced):
    text = COUNT.format(count=count, reset=reset, after=after).replace("; ", ";\n")
    entry = sl.ptx.load(module(text, before=".shared .align 4 .b32 count;")).entry()
    assert bool(entry.run(1, 128, hazards="report").hazards) == raced


TURNS = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r5, %tid.x; and.b32 %r6, %r5, 31; shr.u32 %r5, %r5, 5; setp.ne.u32 %p1, %r6, 0; @%p1 ret;
mov.u32 %r6, %ctaid.x; add.u32 %r1, %r6, %r5;
WAIT: ld.{load} %r2, [{lock}]; setp.ne.u32 %p1, %r2, %r1; @%p1 bra WAIT;
{fence}
ld{data} %r3, [{sum}]; add.u32 %r3, %r3, 5; st{data} [{sum}], %r3;
setp.eq.u32 %p2, %r1, 2; @%p2 bra LAST;
{fence}
add.u32 %r2, %r1, 1;
{hand_on}
ret;
LAST: st{data} [{lock}], 0; ret;
"""
"""Three CTAs, or warps, take turns, as a lock says; the last one sets it back by a plain store."""


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("hand_on", ["red.relaxed.{scope}.add.u32 [{lock}], 1;", "st.relaxed.{scope}.u32 [{lock}], %r2;",
                                     "atom.relaxed.{scope}.add.u32 %r4, [{lock}], 1;"])
@pytest.mark.parametrize("load, fenced", [("acquire.{scope}", True), ("volatile.{space}", True), ("relaxed.{scope}", True),
                                          ("relaxed.{scope}", False)])
def test_who_has_waited_for_a_lock_may_set_it_back_by_a_plain_store(load, fenced, hand_on, together):
    for scope, space, lock, shape in (("gpu", "global", "%rd1", (3, 1)), ("cta", "shared", "lock", (1, 96))):
        words = {"scope": f"{scope}.{space}", "space": space, "lock": lock}
        body = TURNS.format(load=load.format(**words) + ".u32", hand_on=hand_on.format(**words), data=f".{space}.u32",
                            sum=f"{lock}+4", lock=lock, fence=f"fence.acq_rel.{scope};" if fenced else "")
        if space == "shared":
            body = "mov.u32 %r7, %tid.x; setp.eq.u32 %p3, %r7, 0; @%p3 st.shared.v2.u32 [lock], {0, 0}; bar.sync 0;" + body
        entry = sl.ptx.load(module(body, ("u64",), before=".shared .align 8 .b8 lock[8];")).entry()
        assert bool(entry.run(*shape, np.zeros(2, np.uint32), hazards="report", together=together).hazards) != fenced


def test_who_has_not_waited_for_it_may_not():
    body = TURNS.format(load="acquire.gpu.global.u32", fence="fence.acq_rel.gpu;", data=".global.u32", lock="%rd1",
                        sum="%rd1+4", hand_on="red.relaxed.gpu.global.add.u32 [%rd1], 1;")
    body = body.replace("WAIT:", "setp.eq.u32 %p2, %r1, 2; @%p2 bra LAST; WAIT:")
    hazards = sl.ptx.load(module(body, ("u64",))).entry().run(3, 1, np.zeros(2, np.uint32), hazards="report").hazards
    assert "global race" in {found.kind for found in hazards}


def test_what_is_stored_between_the_fence_and_the_atomic_is_not_released():
    late = RESET.replace("{release}", "").replace("st.global.u32 [%rd2+4]", f"{FENCE} st.global.u32 [%rd2+4]")
    text = module(late.format(acquire=FENCE), ("u64",))
    hazards = sl.ptx.load(text).entry().run(3, 1, np.zeros(5, np.uint32), hazards="report").hazards
    assert {found.second.instruction for found in hazards} == {"ld.global.u32"}


def test_a_block_that_has_not_read_the_counter_may_not_set_it_back():
    but_the_last = "setp.eq.u32 %p2, %r1, 2; @!%p2 atom.global.add.u32"
    body = RESET.format(release=FENCE, acquire=FENCE).replace("@%p1 ret;", "").replace("atom.global.add.u32", but_the_last)
    text = module(body, ("u64",))
    hazards = sl.ptx.load(text).entry().run(3, 1, np.zeros(5, np.uint32), hazards="report").hazards
    assert "st.global.u32" in {found.second.instruction for found in hazards}


def test_a_volatile_store_of_one_value_by_all_lanes_is_no_race_and_a_second_one_of_theirs_is():
    first, second = "st.volatile.shared.u32 [tile], 1;", "@!%p1 st.volatile.shared.u32 [tile], 1;"
    for code, kinds in ((first, []), (first + "bar.sync 0;" + first, []), (first + second, ["lane race"])):
        text = ("mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;" + code).replace(";", ";\n")
        entry = sl.ptx.load(module(text, before=".shared .align 4 .b32 tile;")).entry()
        assert [hazard.kind for hazard in entry.run(1, 32, hazards="report").hazards] == kinds


PAIR = """
ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 32;
and.b32 %r4, %r1, 31;
mov.u32 %r2, data;
mad.lo.u32 %r2, %r4, 4, %r2;
@%p1 bra FIRST;
{second}
bra DONE;
FIRST:
{first}
DONE:
ret;
"""
"""Two warps, of which each does something with the same 32 words, and nothing orders them."""

STRONG, PLAIN, ADDS = (f"{opcode}.u32 [%r2], %r1;" for opcode in ("st.volatile.shared", "st.shared", "red.shared.add"))
LOOKS, READS = (f"ld{how}.shared.u32 %r3, [%r2]; red.global.add.u32 [%rd1], %r3;" for how in (".volatile", ""))
PAIRS = {(STRONG, LOOKS): "read after write", (STRONG, READS): "read after write", (ADDS, READS): "read after write",
         (STRONG, PLAIN): "write after write", (PLAIN, STRONG): "write after write", (LOOKS, STRONG): "write after read"}


@pytest.mark.parametrize("first, second", PAIRS)
def test_a_strong_access_that_races_is_counted_once_and_a_strong_store_is_no_read(first, second):
    text = module(PAIR.format(first=first, second=second), ("u64",), before=".shared .align 4 .b8 data[128];")
    hazards = sl.ptx.load(text).entry().run(1, 64, np.zeros(64, np.uint32), hazards="report").hazards
    assert [(one.kind, one.count) for one in hazards if one.kind != "unwritten read"] == [(PAIRS[first, second], 1)]
