"""Shuffles and votes of lanes that have parted, which PTX lets meet at different instructions: nvcc makes several of one."""

import numpy as np
import pytest

import simlayout as sl
from simlayout.errors import HazardError

HEAD = (".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 split) {\n"
        ".reg .b32 %r<20>; .reg .b64 %d<4>; .reg .pred %p<6>;\nld.param.u64 %d1, [out]; ld.param.u32 %r9, [split];\n"
        "mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2; mul.lo.u32 %r2, %r1, 3; mov.u32 %r7, -1;\n"
        "setp.lt.u32 %p1, %r1, %r9; @%p1 bra LOW;\n")
END = "st.global.u32 [%d1], %r3; ret; }\n"


def of(high, low, split, hazards="raise"):
    """What each of 32 lanes stores: those from `split` on execute `high`, the others `low`."""
    out = np.zeros(32, np.uint32)
    sl.ptx.load(f"{HEAD}{high}\nbra ON;\nLOW: {low}\nON: {END}")["k"].run(1, 32, out, split, hazards=hazards)
    return out


@pytest.mark.parametrize("split", [1, 13, 16, 31])
def test_lanes_shuffle_with_those_at_another_shuffle_of_the_same_qualifiers_and_membermask(split):
    found = of("shfl.sync.bfly.b32 %r3|%p2, %r2, 5, 31, -1;",
               "add.u32 %r4, %r2, 1000; mov.u32 %r5, 5; shfl.sync.bfly.b32 %r6, %r4, %r5, 31, %r7; mov.u32 %r3, %r6;", split)
    lane = np.arange(32)
    given = np.where(lane < split, 3 * lane + 1000, 3 * lane)
    assert found.tolist() == given[lane ^ 5].tolist()


def test_lanes_keep_the_other_registers_of_both_shuffles():
    found = of("shfl.sync.up.b32 %r3, %r2, 1, 0, -1; add.u32 %r3, %r3, %r2;",
               "mov.u32 %r3, 7; mov.u32 %r8, %r2; shfl.sync.up.b32 %r2, %r8, 1, 0, -1; mad.lo.u32 %r3, %r3, 1000, %r2;", 20)
    before = 3 * np.maximum(np.arange(32) - 1, 0)
    assert found.tolist() == np.where(np.arange(32) < 20, 7000 + before, before + 3 * np.arange(32)).tolist()


def test_lanes_vote_with_those_at_another_vote_whatever_is_negated():
    odd = "and.b32 %r4, %r1, 1; setp.eq.u32 %p2, %r4, 1;"
    found = of(f"{odd} vote.sync.ballot.b32 %r3, %p2, -1;", f"{odd} vote.sync.ballot.b32 %r3, !%p2, -1;", 9)
    wanted = sum(1 << lane for lane in range(32) if (lane % 2 == 1) == (lane >= 9))
    assert found.tolist() == [wanted] * 32


@pytest.mark.parametrize("low", ["shfl.sync.up.b32 %r3, %r2, 5, 0, -1;", "shfl.sync.bfly.b32 %r3, %r2, 5, 31, 0x7fff;"])
def test_shuffles_of_other_qualifiers_or_another_membermask_do_not_meet(low):
    with pytest.raises(HazardError, match="divergence"):
        of("shfl.sync.bfly.b32 %r3, %r2, 5, 31, -1;", low, 16)
