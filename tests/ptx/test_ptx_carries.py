"""The carry flag is a register to all that changes a program: chains of .cc compute what single lanes do."""

import numpy as np
from hypothesis import strategies as st
from ptx_texts import module
from random_carries import KEPT, SHARED, WORDS, Carried
from tiers import given_few

import simlayout as sl
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.alike import Alike

HEAD = ".reg .b32 %x<12>; .reg .b32 %c<5>; .shared .align 16 .b32 s[128]; ld.param.u64 %rd1, [kernel_param_0];\n" + (
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 48; add.u64 %rd1, %rd1, %rd2; mov.u32 %c0, s; shl.b32 %c1, %r1, 4; "
    "add.u32 %c1, %c0, %c1;\n") + "".join(f"ld.global.u32 %x{i}, [%rd1+{4 * i}];\n" for i in range(WORDS)) + "".join(
    f"st.shared.u32 [%c1+{4 * i}], %x{i};\n" for i in range(SHARED)) + "bar.sync 0;\n"
TAIL = "".join(f"st.global.u32 [%rd1+{4 * i}], %x{i};\n" for i in range(KEPT)) + "ret;"


def left_by(text, words):
    out = words.copy()
    sl.ptx.load(module(HEAD + text + TAIL, ["u64"])).entry().run(1, len(words), out, hazards="off")
    return out[:, :KEPT]


@given_few(25, 1000, st.integers(0, 1 << 32))
def test_chains_of_carries_in_loops_and_branches_compute_what_single_lanes_do(seed):
    made, random = Carried(seed), np.random.default_rng(seed)
    words = np.where(random.random((32, WORDS)) < 0.5, random.integers(0, 1 << 32, (32, WORDS)),
                     random.choice([0, 1, 0x80000000, 0xFFFFFFFF], (32, WORDS))).astype(np.uint32)
    assert np.array_equal(left_by(made.text, words), made.run(words)), made.text


def test_a_sum_that_is_the_same_in_each_round_sets_the_carry_in_each_round():
    chain = "mov.u32 %c2, 0;\nL:\nadd.cc.u32 %x4, %x0, %x1;\naddc.cc.u32 %x5, %x5, %x6;\naddc.u32 %x7, 0, 0;\n" + (
        "ld.shared.u32 %x3, [%c1];\nadd.u32 %c2, %c2, 1;\nsetp.lt.u32 %p1, %c2, 4;\n@%p1 bra L;\n")
    words = np.zeros((32, WORDS), np.uint32)
    words[:, :2] = 0xFFFFFFFF
    assert left_by(chain, words)[:, 5].tolist() == [4] * 32


def test_a_carry_in_which_lanes_differ_makes_what_takes_it_differ():
    lines = "mov.u32 %r1, %tid.x; add.cc.u32 %r2, %r1, -1; addc.u32 %r3, 0, 0; add.cc.u32 %r4, 1, -1; addc.u32 %r5, 0, 0; "
    function = parse(module(lines + "st.shared.v2.u32 [0], {%r3, %r5}; ret;")).functions["kernel"]
    store = function.body[-2]
    assert [Alike(function)(store, one) for one in store.operands[1].operands] == [False, True]
