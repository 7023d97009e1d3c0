"""What one lane of a warp has acquired, behind an exchange of values: known to the others, which a note tells."""

import numpy as np
import pytest
from ptx_texts import module

import simlayout as sl
from simlayout.errors import HazardError

# Warp 1 writes 32 words and a flag; lane 0 of warp 0 waits for the flag, and its lanes read the words.
TEXT = """.reg .b32 %tid, %lane, %at, %flag, %word, %seen, %other; .reg .b64 %out, %off, %where; .reg .pred %second, %leads;
{declared}
ld.param.u64 %out, [kernel_param_0]; ld.param.u64 %where, [kernel_param_1];
mov.u32 %tid, %tid.x; and.b32 %lane, %tid, 31;
mul.wide.u32 %off, %lane, 4; add.u64 %out, %out, %off;
setp.ge.u32 %second, %tid, 32; setp.eq.u32 %leads, %lane, 0;
{zero}
bar.sync 0;
@%second bra WRITES;
@!%leads bra WAITED;
AGAIN: ld.acquire.cta.{space}.u32 %seen, [{flag}];
setp.eq.u32 %p1, %seen, 0; @%p1 bra AGAIN;
WAITED:
{between}
ld.{space}.u32 %word, [{at}];
st.global.u32 [%out], %word;
ret;
WRITES:
add.u32 %word, %tid, 100;
st.{space}.u32 [{at}], %word;
bar.warp.sync -1;
@%leads st.release.cta.{space}.u32 [{flag}], 1;
ret;"""
SPACES = {
    "shared": dict(space="shared", at="%at", flag="%flag", declared=".shared .align 4 .b8 smem[132];",
                   zero="mov.u32 %flag, smem; mad.lo.u32 %at, %lane, 4, %flag; add.u32 %flag, %flag, 128; "
                        "setp.eq.u32 %p1, %tid, 0; @%p1 st.shared.u32 [%flag], 0;"),
    "global": dict(space="global", at="%where+4", flag="%base", declared=".reg .b64 %base;",
                   zero="mov.u64 %base, %where; add.u64 %where, %where, %off;")}
EXCHANGES = {
    "shfl": "shfl.sync.idx.b32 %other, %seen, 0, 31, -1;", "vote": "vote.sync.any.pred %p2, %leads, -1;",
    "match": "match.any.sync.b32 %other, %lane, -1;", "redux": "redux.sync.add.u32 %other, %lane, -1;"}


def run(space, between, **how):
    out = np.zeros(32, np.uint32)
    text = module(TEXT.format(between=between, **SPACES[space]), ["u64", "u64"])
    return sl.ptx.load(text).entry().run(1, 64, out, np.zeros(33, np.uint32), **how), out


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("exchange", EXCHANGES.values(), ids=EXCHANGES)
def test_what_a_lane_has_acquired_the_others_know_behind_an_exchange_which_a_note_tells(space, exchange):
    trace, out = run(space, exchange)
    assert out.tolist() == [*range(132, 164)] and trace.hazards == ()
    assert len(trace.notes) == 1 and "PTX promises no order there, and a bar.warp.sync does" in trace.notes[0]


@pytest.mark.parametrize("space", SPACES)
def test_a_barrier_of_the_warp_needs_no_note(space):
    for between in ("bar.warp.sync -1;", "bar.warp.sync -1;" + EXCHANGES["shfl"]):
        trace, _ = run(space, between)
        assert trace.hazards == () and trace.notes == ()


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("between", ["", "activemask.b32 %other;", "elect.sync %other|%p2, -1;",
                                     "shfl.sync.idx.b32 %other, %seen, 0, 31, 0xFFFF;"])
def test_without_an_exchange_of_those_lanes_it_is_a_race(space, between):
    if "0xFFFF" in between:                              # of half of the lanes
        between = "setp.lt.u32 %p2, %lane, 16; @%p2 " + between
    with pytest.raises(HazardError, match="read after write|global race"):
        run(space, between)


def test_lanes_of_one_warp_are_ordered_by_no_exchange():
    body = """.reg .b32 %lane, %at, %word; .reg .b64 %out, %off; .shared .align 4 .b8 smem[256];
    ld.param.u64 %out, [kernel_param_0]; mov.u32 %lane, %tid.x; mov.u32 %at, smem; mad.lo.u32 %at, %lane, 4, %at;
    st.shared.u32 [%at], %lane; {} ld.shared.u32 %word, [%at+4]; nanosleep.u32 %word; ret;"""
    for between, races in ((EXCHANGES["shfl"].replace("%other, %seen", "%word, %lane"), True), ("bar.warp.sync -1;", False)):
        trace = sl.ptx.load(module(body.format("st.shared.u32 [%at+128], %lane;" + between), ["u64"])).entry().run(
            1, 32, np.zeros(32, np.uint32), hazards="report")
        assert ("lane race" in [one.kind for one in trace.hazards]) == races


SUM = "shfl.sync.bfly.b32 %other, %word, 1, 31, -1; add.u32 %sum, %word, %other; "


@pytest.mark.parametrize("between, stored, races", [
    (SUM, "%sum", False), (SUM, "%other", False),
    ("", "%word", True), (SUM, "%lane", True),           # no shuffle; of which nothing is stored
    (SUM + "mov.u32 %sum, 7; ", "%sum", True),
    (SUM.replace("%word, 1", "%lane, 1"), "%sum", True),                              # one of something else
    ("setp.lt.u32 %p1, %lane, 16; @%p1 " + SUM.replace("-1;", "0xFFFF;"), "%sum", True),    # of half of the lanes
])
def test_what_a_shuffle_made_of_what_a_lane_has_read_may_be_stored_in_its_place(between, stored, races):
    body = f""".reg .b32 %lane, %word, %other, %sum; .reg .pred %first, %second; .shared .align 4 .b8 smem[4];
    mov.u32 %lane, %tid.x; setp.eq.u32 %first, %lane, 0; setp.eq.u32 %second, %lane, 1; @%first st.shared.u32 [smem], 7;
    bar.sync 0; mov.u32 %word, 1; @%first ld.shared.u32 %word, [smem]; {between}
    @%second st.shared.u32 [smem], {stored}; nanosleep.u32 %word; ret;"""
    trace = sl.ptx.load(module(body, ["u64"])).entry().run(1, 32, np.zeros(1, np.uint32), hazards="report")
    assert [one.kind for one in trace.hazards] == ["lane race"] * races
    assert any("what a shuffle has made of" in note for note in trace.notes) != races


def test_what_is_read_behind_a_shuffle_in_place_of_what_was_stored_ahead_of_it_stays_a_race():
    body = """.reg .b32 %lane, %word; .shared .align 4 .b8 smem[4]; mov.u32 %lane, %tid.x; setp.eq.u32 %p2, %lane, 0;
    @%p2 st.shared.u32 [smem], 7; shfl.sync.bfly.b32 %word, %lane, 1, 31, -1; ld.shared.u32 %word, [smem];
    nanosleep.u32 %word; ret;"""
    trace = sl.ptx.load(module(body, ["u64"])).entry().run(1, 32, np.zeros(1, np.uint32), hazards="report")
    assert [one.kind for one in trace.hazards] == ["lane race"]
