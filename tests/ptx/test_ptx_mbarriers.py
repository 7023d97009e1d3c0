"""What an mbarrier hands on: by what its arrivals release and its waits acquire, and only to who looks at the result."""

import pytest
from ptx_texts import module

import simlayout as sl

TEXT = """mov.u32 %r1, %tid.x; mov.u32 %r5, buffer; add.u32 %r6, %r5, 1024;
mad.lo.u32 %r2, %r1, 4, %r5; xor.b32 %r3, %r1, 32; mad.lo.u32 %r3, %r3, 4, %r5;
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [%r6], 64;
bar.sync 0;
st.shared.u32 [%r2], %r1;
{give}
{take}
ld.shared.u32 %r4, [%r3];
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
