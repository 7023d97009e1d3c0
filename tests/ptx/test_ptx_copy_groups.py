"""Groups of cp.async belong to each thread: lanes that have parted copy, commit and wait for themselves."""

import numpy as np
import pytest
from hypothesis import strategies as st
from ptx_texts import module
from tiers import given_few

from simlayout import ptx
from simlayout.errors import HazardError

HEAD = """.reg .b32 %lane, %at, %bit, %word; .reg .b64 %from, %to, %off;
.shared .align 1024 .b8 smem[4096];
mov.u32 %lane, %tid.x;
ld.param.u64 %from, [kernel_param_0];
ld.param.u64 %to, [kernel_param_1];
mul.wide.u32 %off, %lane, 16;
add.s64 %from, %from, %off;
mov.u32 %at, smem;
mad.lo.u32 %at, %lane, 16, %at;
mul.wide.u32 %off, %lane, 4;
add.s64 %to, %to, %off;
"""
"""%from: 16 bytes of the first argument for each lane; %at: its 16 bytes of shared memory, of which every copy has 512 more;
%to: its word of the second argument."""

SOURCE = np.arange(1, 129, dtype=np.uint32)
EVERY = 2**32 - 1
MOST_COPIES = 4


def run(body):
    out = np.zeros(32 * MOST_COPIES, np.uint32)
    return out, ptx.load(module(HEAD + body + "\nret;", ["u64", "u64"])).entry().run(1, 32, SOURCE, out, hazards="report")


def by_lanes(mask, text, number, branch):
    """An instruction that the lanes of a mask execute, behind a branch or a guard."""
    asked = f"shr.u32 %bit, {mask}, %lane; and.b32 %bit, %bit, 1; setp.ne.u32 %p1, %bit, 0;\n"
    return asked + (f"@!%p1 bra PAST{number};\n{text}\nPAST{number}:\n" if branch else f"@%p1 {text}\n")


masks = st.sampled_from([EVERY, EVERY, 0xFFFF, 0xFFFF0000, 0xF, 0x55555555, 1]) | st.integers(1, EVERY)
kinds = st.sampled_from(["copy", "commit", "wait 0", "wait 1"])
steps = st.lists(st.tuples(kinds, masks, st.booleans()), min_size=2, max_size=12)


def covered(program):
    """The copies of a program that all of their lanes have waited for, lane by lane: [bool]."""
    groups = [[[]] for _ in range(32)]                   # of a lane: its closed groups, and the open one
    left, masks = [], []
    for what, mask, _ in program:
        if what == "copy":
            if len(masks) == MOST_COPIES:
                continue
            left.append(mask)
            masks.append(mask)
        for lane in (lane for lane in range(32) if mask >> lane & 1):
            mine = groups[lane]
            if what == "copy":
                mine[-1].append(len(masks) - 1)
            elif what == "commit":
                mine.append([])
            else:
                closed = mine[:-1]
                for group in closed[:max(len(closed) - int(what[-1]), 0)]:
                    for copy in group:
                        left[copy] &= ~(1 << lane)
    return [not lanes for lanes in left], masks


@given_few(15, 500, steps)
def test_a_copy_is_there_when_each_of_its_lanes_has_waited_for_its_group(program):
    body, copies = "", 0
    texts = {"commit": "cp.async.commit_group;", "wait 0": "cp.async.wait_group 0;", "wait 1": "cp.async.wait_group 1;"}
    for number, (what, mask, branch) in enumerate(program):
        if what == "copy" and copies == MOST_COPIES:
            continue
        text = texts.get(what) or f"cp.async.cg.shared.global [%at+{512 * copies}], [%from], 16;"
        copies += what == "copy"
        body += by_lanes(mask, text, number, branch)
    there, took_part = covered(program)
    body += "bar.warp.sync -1;\n"
    for i, mask in enumerate(took_part):
        body += by_lanes(mask, f"ld.shared.b32 %word, [%at+{512 * i}]; st.global.b32 [%to+{128 * i}], %word;", f"L{i}", True)
    out, trace = run(body)
    early = {hazard.first.line for hazard in trace.hazards}
    assert {hazard.kind for hazard in trace.hazards} <= {"early read"}
    assert len(early) == there.count(False)
    for i, (whole, mask) in enumerate(zip(there, took_part)):
        if whole:
            wanted = [4 * lane + 1 if mask >> lane & 1 else 0 for lane in range(32)]
            assert out[32 * i:32 * i + 32].tolist() == wanted


COPY = "cp.async.cg.shared.global [%at], [%from], 16;"
FETCH = "bar.warp.sync -1; ld.shared.b32 %word, [%at]; st.global.b32 [%to], %word;"


def test_lanes_of_a_branch_copy_commit_and_wait_there():
    body = f"setp.gt.u32 %p1, %lane, 7; @%p1 bra PAST; {COPY} cp.async.commit_group; cp.async.wait_group 0;\n"
    out, trace = run(body + "PAST: bar.sync 0; @!%p1 ld.shared.b32 %word, [%at]; @!%p1 st.global.b32 [%to], %word;")
    assert out[:8].tolist() == SOURCE[:32:4].tolist() and not trace.hazards


def test_a_wait_by_some_of_its_lanes_does_not_bring_a_copy_and_says_whose_is_lacking():
    body = f"{COPY} cp.async.commit_group; setp.lt.u32 %p1, %lane, 8; @%p1 cp.async.wait_group 0; {FETCH}"
    with pytest.raises(HazardError, match=r"\(only cp.async.wait_group 0 of lanes 8-31 covers it\): wait for"):
        ptx.load(module(HEAD + body + "\nret;", ["u64", "u64"])).entry().run(1, 32, SOURCE, np.zeros(32, np.uint32))


def test_lanes_that_end_need_not_wait():
    body = f"{COPY} cp.async.commit_group; setp.lt.u32 %p1, %lane, 8; @%p1 exit; cp.async.wait_group 0; "
    out, trace = run(body + "ld.shared.b32 %word, [%at]; st.global.b32 [%to], %word;")
    assert out[8:32].tolist() == SOURCE[32::4].tolist() and not trace.hazards


@pytest.mark.parametrize("before", ["", "bar.sync 0;"])
def test_lanes_that_copy_different_values_to_one_place_collide_whatever_comes_before_their_wait(before):
    copy = COPY.replace("%at", "smem")
    out, trace = run(f"{copy} cp.async.commit_group; {before} cp.async.wait_group 0; bar.warp.sync -1;")
    assert [hazard.kind for hazard in trace.hazards] == ["collision"]
