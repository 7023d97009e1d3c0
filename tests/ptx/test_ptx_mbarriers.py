"""What an mbarrier hands on: by what its arrivals release and its waits acquire, and only to who looks at the result."""

import pytest
from ptx_texts import module

import simlayout as sl
from simlayout.errors import HazardError

TEXT = """mov.u32 %r1, %tid.x; mov.u32 %r5, buffer; add.u32 %r6, %r5, 1024;
mad.lo.u32 %r2, %r1, 4, %r5; xor.b32 %r3, %r1, 32; mad.lo.u32 %r3, %r3, 4, %r5;
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r6], 64;
bar.sync 0;
st.shared.u32 [%r2], %r1;
{give}
{take}
ld.shared.u32 %r4, [%r3]; nanosleep.u32 %r4;
ret;"""
ARRIVE = "mbarrier.arrive{}.shared.b64 _, [%r6];"
WAIT = "W: mbarrier.try_wait.parity{}.shared.b64 %p2, [%r6], 0; @!%p2 bra W;"
RELAXED = ".relaxed.cta"


def launched(give, take):
    text = module(TEXT.format(give=give, take=take), before=".shared .align 16 .b8 buffer[1032];")
    return sl.ptx.load(text).entry().run(1, 64, hazards="report")


@pytest.mark.parametrize("fence, ordered", [("", False), ("fence.acq_rel.cta;", True), ("fence.proxy.async;", False)])
def test_a_relaxed_arrival_and_a_relaxed_wait_hand_on_what_fences_beside_them_do(fence, ordered):
    assert bool(launched(fence + ARRIVE.format(RELAXED), WAIT.format("")).hazards) != ordered
    assert bool(launched(ARRIVE.format(""), WAIT.format(RELAXED) + fence).hazards) != ordered
    assert bool(launched(fence + ARRIVE.format(RELAXED), WAIT.format(RELAXED) + fence).hazards) != ordered


def test_a_fence_behind_a_relaxed_arrival_or_before_a_relaxed_wait_is_too_late_or_too_early():
    fence = "fence.acq_rel.cta;"
    assert launched(ARRIVE.format(RELAXED) + fence, WAIT.format("")).hazards
    assert launched(ARRIVE.format(""), fence + WAIT.format(RELAXED)).hazards


@pytest.mark.parametrize("kind", ["try_wait", "test_wait"])
def test_a_wait_whose_result_nothing_reads_orders_nothing(kind):
    wait = f"W: mbarrier.{kind}.parity.shared.b64 %p2, [%r6], 0;"
    assert not launched(ARRIVE.format(""), f"{wait} @!%p2 bra W;").hazards
    trace = launched(ARRIVE.format(""), wait)
    assert {hazard.kind for hazard in trace.hazards} <= {"read after write", "write after read"} and trace.hazards
    assert any("whose result nothing reads: it may be false" in note for note in trace.notes)


AHEAD = """shr.u32 %r4, %r1, 5; setp.eq.u32 %p3, %r4, 0; setp.ne.u32 %p2, %r1, %r1;
@%p3 mbarrier.try_wait.parity.shared.b64 %p2, [%r6], 0;
mbarrier.arrive.shared.b64 _, [%r6];
@%p2 bra DONE;"""


def test_a_wait_that_looks_ahead_once_gives_up_where_the_rest_of_its_warp_has_to_arrive_first():
    wait = "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], 0; @!%p2 bra W; DONE:"
    assert launched(AHEAD, wait).hazards == ()
    with pytest.raises(HazardError, match="deadlock.* lacks 32 of 64 arrivals"):
        launched(f"{AHEAD.replace('mbarrier.arrive', '@%p3 mbarrier.arrive')}", wait)


TIMED = """W: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], 0;
@%p2 bra DONE;
mov.u64 %rd2, %globaltimer;
sub.u64 %rd3, %rd2, %rd1;
setp.gt.u64 %p3, %rd3, {most};
@!%p3 bra W;
DONE:"""


@pytest.mark.parametrize("most, ends", [(1_000_000_000, True), (2**63, False)])
def test_a_wait_that_looks_at_a_clock_ends_when_its_time_has_passed_and_is_a_deadlock_if_it_never_ends(most, ends):
    give = "mov.u64 %rd1, %globaltimer; setp.ne.u32 %p4, %r1, 5; @%p4 mbarrier.arrive.shared.b64 _, [%r6];"
    wait = TIMED.format(most=most).replace("\n", " ")
    if ends:
        assert launched(give, wait).hazards              # without the phase nothing orders what it reads
    else:
        with pytest.raises(sl.HazardError, match="deadlock.* lacks 1 of 64 arrivals"):
            launched(give, wait)
    everyone = give.replace("@%p4 ", "")
    assert not launched(everyone, wait).hazards


EXPECT = "@%p1 mbarrier.expect_tx.relaxed.cta.shared.b64 [%r6], 16;"
FETCH = "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5+512], [given], 16, [%r6];"
COPY = "cp.async.ca.shared.global [%r2+512], [given], 4;"
COPIED = "cp.async.mbarrier.arrive{}.shared.b64 [%r6];"


def asked(*lines):
    """The hazards where all threads of two warps do this, to whose mbarrier 64 arrive."""
    text = module(TEXT.format(give="", take="\n".join(lines)), before=".shared .align 16 .b8 buffer[1032];"
                  ".global .align 16 .b32 given[8] = {1, 2, 3};").replace("ld.shared.u32 %r4, [%r3];", "")
    return sl.ptx.load(text).entry().run(1, 64, hazards="report").hazards


@pytest.mark.parametrize("more", [(EXPECT, FETCH), (COPY, COPIED.format(""))])
def test_a_phase_is_asked_for_more_before_the_thread_arrives_since_it_may_be_complete_behind(more):
    assert not asked(*more, ARRIVE.format(""), WAIT.format(""))
    assert not asked(*more, "bar.sync 0;", "@!%p1", ARRIVE.format(""), "@%p1", ARRIVE.format(""), WAIT.format(""))
    assert {hazard.kind for hazard in asked(ARRIVE.format(""), *more, WAIT.format(""))} & {"bad mbarrier", "early exit"}


def test_whoever_arrives_after_that_for_sure_keeps_the_phase_open():
    others = "setp.lt.u32 %p4, %r1, 32; setp.eq.u32 %p1, %r1, 32;"       # the other warp, which goes on first
    first = [others, "@!%p4", ARRIVE.format(""), EXPECT, FETCH]
    assert not asked(*first, "bar.sync 0;", "@%p4", ARRIVE.format(""), WAIT.format(""))
    found, = asked(*first, "bar.arrive 1, 64;", "@%p4", ARRIVE.format(""), WAIT.format(""))
    assert found.kind == "bad mbarrier" and "phase 0 of mbarrier at byte 1024 of buffer, which may be complete" in found.text


def test_bytes_that_are_still_to_come_keep_the_phase_open():
    announced = "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 16; @!%p1 mbarrier.arrive.shared.b64 _, [%r6];"
    assert not asked(announced, EXPECT, FETCH, FETCH.replace("512", "528"), WAIT.format(""))


def test_an_arrival_of_copies_that_is_counted_in_asks_for_nothing_more():
    assert not asked(COPY, COPIED.format(".noinc"), WAIT.format(""))


def test_bytes_that_nobody_has_announced_are_told_where_all_wait():
    with pytest.raises(sl.HazardError, match="phase 0 .*, to which 16 bytes have come that nobody has announced"):
        asked(EXPECT, FETCH.replace("16", "32"), ARRIVE.format(""), WAIT.format(""))


def test_who_reads_too_early_what_completes_on_an_mbarrier_is_told_to_wait_for_its_phase():
    read = "bar.sync 0; ld.shared.u32 %r4, [%r5+512]; st.shared.u32 [%r2], %r4;"
    found = asked(EXPECT, FETCH, read, ARRIVE.format(""), WAIT.format(""))
    assert {hazard.kind for hazard in found} == {"early read"} and found[0].text.endswith("wait for that phase before it")


MUCH = "mov.u32 %r4, 0; I: add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, {}; @%p3 bra I;"


@pytest.mark.parametrize("wait", [
    f"W: mbarrier.test_wait.parity.shared.b64 %p2, [%r6], 0; @%p2 bra DONE; {MUCH.format(1000)} bra W; DONE:",
    "mov.u64 %rd1, %globaltimer; " + TIMED.format(most=2**63).replace("DONE;", f"DONE; {MUCH.format(100)}", 1)],
    ids=["counts", "looks at a clock"])
def test_a_loop_that_does_much_between_two_looks_at_a_phase_that_never_ends_is_a_deadlock_before_long(wait):
    text = module(TEXT.format(give="", take=wait), before=".shared .align 16 .b8 buffer[1032];")
    with pytest.raises(sl.HazardError, match="deadlock.*lacks 64 of 64 arrivals"):
        sl.ptx.load(text).entry().run(1, 64, limit=500_000)
