"""Atomics of 16 bits in shared memory: what they leave, and that they count as the loop that ptxas makes of them."""

import numpy as np
import pytest
from hypothesis import strategies as st
from ptx_texts import module
from tiers import given_few

from simlayout import ptx
from simlayout.machine.ptx.memory.half_words import rounds
from simlayout.machine.ptx.opcodes.atoms import Update

PROGRAM = """
.shared .align 16 .b8 tile[32];
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u64 %rd2, [kernel_param_1];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 2;
add.u64 %rd1, %rd1, %rd3;
mov.u32 %r2, tile;
setp.lt.u32 %p1, %r1, 8;
mad.lo.u32 %r3, %r1, 4, %r2;
mov.b32 %r4, 0;
@%p1 st.shared.b32 [%r3], %r4;
bar.sync 0;
ld.global.u16 %r5, [%rd1];
mad.lo.u32 %r6, %r5, 2, %r2;
mov.b16 %rs1, {one};
mov.b16 %rs2, 7;
mov.b16 %rs3, 0;
{atomic}
bar.sync 0;
@%p1 ld.shared.b32 %r7, [%r3];
add.u64 %rd2, %rd2, %rd3;
add.u64 %rd2, %rd2, %rd3;
@%p1 st.global.b32 [%rd2], %r7;
"""
ONE = {"f16": "0x3c00", "bf16": "0x3f80"}


def run(atomic, places, one="0"):
    """(uint16 [16], what lies in shared memory, {instruction: its count}) of one warp's atomics at 2 * places."""
    text = module(PROGRAM.replace("{atomic}", atomic).replace("{one}", one), ["u64", "u64"])
    words = np.zeros(8, np.uint32)
    trace = ptx.load(text)["kernel"].run(1, 32, np.array(places, np.uint16), words)
    return words.view(np.uint16), {n.instruction: n for n in trace.by_instruction()}


@pytest.mark.parametrize("type", ["f16", "bf16"])
@pytest.mark.parametrize("opcode", ["atom", "red"])
def test_additions_of_one_to_places_that_lanes_share_count_the_lanes(type, opcode):
    places = [lane * lane % 16 for lane in range(32)]
    to = "%rs4, " if opcode == "atom" else ""
    made, counts = run(f"{opcode}.shared.add.noftz.{type} {to}[%r6], %rs1;", places, ONE[type])
    numbers = made.view(np.float16) if type == "f16" else (made.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(numbers, np.bincount(places, minlength=16))
    crowd = np.bincount(np.array(places) // 2).max()                       # lanes of one word change it one after another
    assert counts["atom.shared.cas.b32"].instructions == crowd


def test_lanes_with_words_of_their_own_exchange_once_and_additions_of_nothing_are_never_repeated():
    made, counts = run("red.shared.add.noftz.f16 [%r6], %rs1;", [0] * 32, "0")
    assert counts["atom.shared.cas.b32"].instructions == 1 and not made.any()
    made, counts = run("@%p1 red.shared.add.noftz.f16 [%r6], %rs1;", [2 * (lane % 8) for lane in range(32)], ONE["f16"])
    assert counts["atom.shared.cas.b32"].instructions == 1 and made.view(np.float16).tolist() == [1, 0] * 8


def test_a_compare_and_swap_of_16_bits_swaps_its_own_half():
    made, counts = run("atom.shared.cas.b16 %rs4, [%r6], %rs3, %rs2;", [3] * 32)
    assert made.tolist() == [0, 0, 0, 7] + [0] * 12 and counts["atom.shared.cas.b32"].instructions == 1
    made, counts = run("atom.shared.cas.b16 %rs4, [%r6], %rs3, %rs2;", [2 + lane % 2 for lane in range(32)])
    assert made.tolist() == [0, 0, 7, 7] + [0] * 12 and counts["atom.shared.cas.b32"].instructions == 2


@given_few(20, 60, st.lists(st.integers(0, 5), min_size=32, max_size=32),
           st.lists(st.integers(0, 2), min_size=32, max_size=32),
           st.lists(st.integers(0, 2), min_size=32, max_size=32), st.integers(1, 2**32 - 1), st.booleans())
def test_rounds_go_on_until_every_lane_is_done(places, compared, swapped, mask, adds):
    active = (mask >> np.arange(32) & 1).astype(bool)
    update = Update("add", "f16", 1) if adds else Update("cas", "b16", 1)
    values = [np.array(column, np.uint64)[:, None] for column in ((compared,) if adds else (compared, swapped))]
    found = list(rounds(2 * np.array(places), active, np.zeros(32, np.uint32), update, values))
    assert (found[0] == active).all() and all(not (after & ~before).any() for before, after in zip(found, found[1:]))
    crowd = np.bincount(np.array(places)[active] // 2).max()
    if adds:                                                    # in each round a lane of each word is done
        changing = np.bincount(np.array(places)[active & (np.array(compared) > 0)] // 2, minlength=1).max()
        assert max(changing, 1) <= len(found) <= crowd
    else:                   # a round may be for nothing, after a lane of the other half, but not two in turn
        assert all(before.sum() > after.sum() for before, after in zip(found, found[2:]))
        assert len(found) < 2 * crowd
