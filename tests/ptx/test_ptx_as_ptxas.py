"""Shared memory of PTX is counted as what ptxas makes of it: atomics done together, copies that read all or nothing."""

import numpy as np
import pytest
from machine_code import assembled_each, needs_tools
from ptx_texts import module

from simlayout import ptx
from simlayout.hardware import analyze
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.known import Known

HEAD = """.shared .align 16 .b8 s[4096];
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r8, [kernel_param_1];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd1, %rd1, %rd2;
mov.u32 %r2, s; mov.u32 %r3, 0; mad.lo.u32 %r4, %r1, 16, %r2;
ld.global.u32 %r5, [%rd1]; and.b32 %r6, %r5, 12; add.u32 %r6, %r6, %r2; add.u32 %r7, %r2, %r8; setp.lt.u32 %p1, %r5, 16;
"""
TAIL = "\nst.global.u32 [%rd1], %r3; ret;"

ATOMICS = {
    "red.shared.add.u32 [%r6], 1;": ("ATOMS.POPC", 1),                  # 4 addresses, in 4 banks
    "red.shared::cta.add.u32 [%r6], 1;": ("ATOMS.POPC", 1),
    "atom.shared.add.u32 %r0, [%r6], 1;": ("ATOMS.POPC", 1),
    "mov.u32 %r0, 1; red.shared.add.u32 [%r6], %r0;": ("ATOMS.POPC", 1),
    "red.shared.inc.u32 [%r6], -1;": ("ATOMS.POPC", 1),
    "red.shared.inc.u32 [%r6], 0xffffffff;": ("ATOMS.POPC", 1),
    "atom.shared.add.u32 %r3, [%r6], 1;": ("ATOMS.ADD", 8),
    "red.shared.add.u32 [%r6], 2;": ("ATOMS.ADD", 8),
    "red.shared.add.s32 [%r6], 1;": ("ATOMS.ADD", 8),
    "red.shared.add.u32 [%r6], %r5;": ("ATOMS.ADD", 8),
    "red.shared.add.u32 [%r2], %r5;": ("REDUX", 1),
    "red.shared.add.u32 [s+8], %r5;": ("REDUX", 1),
    "red.shared.add.u32 [%r7], %r5;": ("REDUX", 1),                      # the address is a parameter
    "red.shared.min.s32 [%r2], %r5;": ("REDUX", 1),
    "red.shared.xor.b32 [%r2], %r5;": ("REDUX", 1),
    "red.shared.add.u32 [%r2], 3;": ("POPC", 1),
    "atom.shared.add.u32 %r3, [%r2], 1;": ("POPC", 1),
    "atom.shared.add.u32 %r3, [%r2], %r5;": ("SHFL.UP", 1),
    "atom.shared.add.u64 %rd3, [%r2], 5;": ("POPC", 2),
    "ld.shared.u32 %r0, [s]; and.b32 %r0, %r0, 12; add.u32 %r0, %r0, %r2; atom.shared.add.u32 %r3, [%r0], 2;": ("POPC", 1),
    "shfl.sync.idx.b32 %r0, %r6, 0, 31, -1; red.shared.add.u32 [%r0], %r5;": ("REDUX", 1),
    "shfl.sync.idx.b32 %r0, %r6, 0, 0x181f, -1; red.shared.add.u32 [%r0], %r5;": ("ATOMS.ADD", 32),
    "match.any.sync.b32 %r0, %r6, -1; and.b32 %r0, %r0, 12; red.shared.add.u32 [%r0], %r5;": ("ATOMS.ADD", 16),
    "match.any.sync.b32 %r0, %r2, -1; and.b32 %r0, %r0, 12; red.shared.add.u32 [%r0], %r5;": ("REDUX", 1),
    "mov.u32 %r0, %r2; setp.lt.u32 %p2, %r8, 9; @%p2 bra M; add.u32 %r0, %r0, 4; bar.sync 0; M: "
    "red.shared.add.u32 [%r0], 3;": ("POPC", 1),                         # a branch that all lanes take, or none
    "mov.u32 %r0, %r2; setp.lt.u32 %p2, %r1, 32; @%p2 bra M; add.u32 %r0, %r0, 4; bar.sync 0; M: "
    "red.shared.add.u32 [%r0], 3;": ("ATOMS.ADD", 32),
    "mov.u32 %r0, 0; L: add.u32 %r0, %r0, 4; setp.lt.u32 %p2, %r0, %r8; @%p2 bra L; "
    "red.shared.add.u32 [%r0], 3;": ("POPC", 1),
    "mov.u32 %r0, 0; L: add.u32 %r0, %r0, 4; setp.lt.u32 %p2, %r0, %r1; @%p2 bra L; "    # 4, 8, ..., 32: four lanes each
    "red.shared.add.u32 [%r0], 3;": ("ATOMS.ADD", 5),
    "setp.lt.u32 %p2, %r1, 9; @%p2 bra N; mov.u32 %r0, %r2; setp.lt.u32 %p3, %r8, 9; @%p3 bra M; add.u32 %r0, %r0, 4; "
    "fence.acq_rel.gpu; red.global.max.u32 [%rd1], 1; M: red.shared.add.u32 [%r0], 3; N: ": ("POPC", 1),
    "mov.u32 %r3, 0; L: ld.volatile.shared.u32 %r0, [s]; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r1; @%p2 bra L; "
    "and.b32 %r0, %r0, 12; add.u32 %r0, %r0, %r2; red.shared.add.u32 [%r0], 3;": ("ATOMS.ADD", 32),
    "red.shared.inc.u32 [%r2], 40;": ("ATOMS.INC", 32),
    "atom.shared.exch.b32 %r0, [%r2], %r5;": ("ATOMS.EXCH", 32),
}
"""Atomic -> (a SASS instruction that ptxas makes of it, and not of others; wavefronts of a warp)."""


def body(line):
    return HEAD + line + TAIL


def program(line):
    return module(body(line), ["u64", "u32"])


def numbers():
    x = np.zeros((32, 4), np.uint32)
    x[:, 0] = np.arange(32) * 4 % 32
    return x


@pytest.mark.parametrize("line", ATOMICS)
def test_atomics_that_lanes_do_together_cost_as_much_as_one_of_them(line):
    assert ptx.load(program(line)).entry().run(1, 32, numbers(), 8, hazards="off").totals()["atom"] == ATOMICS[line][1]


def test_a_warp_that_is_not_whole_adds_different_numbers_one_by_one():
    entry = ptx.load(program("atom.shared.add.u32 %r3, [%r2], %r5;")).entry()
    assert [entry.run(1, threads, numbers(), 8, hazards="off").totals()["atom"] for threads in (32, 31)] == [1, 31]


@needs_tools
def test_ptxas_makes_of_each_atomic_what_its_count_is_for(tmp_path):
    made, names = assembled_each([body(line) for line in ATOMICS], tmp_path), {name for name, _ in ATOMICS.values()}
    for line, (wanted, _) in ATOMICS.items():
        found = {name for name in names if any(opcode.startswith(name) for opcode in made[body(line)])}
        assert wanted in found and found <= {wanted, "ATOMS.ADD"}, (line, made[body(line)])


def test_a_generic_addition_of_one_is_no_popc():
    line = "cvta.shared.u64 %rd3, %rd0; red.add.u32 [%rd3], 1;"
    text = program("cvt.u64.u32 %rd0, %r6; " + line)
    assert ptx.load(text).entry().run(1, 32, numbers(), 8, hazards="off").totals()["atom"] == 8


def test_the_loads_of_an_atomic_that_is_a_loop_count_as_loads():
    entry = ptx.load(program("mov.b32 %f1, %r5; red.shared.add.f32 [%r6], %f1;")).entry()
    trace = entry.run(1, 32, numbers(), 8, hazards="off")
    single = analyze("red.shared.add.f32", numbers()[:, 0] & 12)
    assert (trace.totals()["ld"], trace.totals()["atom"]) == (single.loads[0], single.wavefronts[0]) == (8, 16)


COPIES = {
    "cp.async.cg.shared.global [%r4], [%rd1], 16;": ("none", 4),
    "cp.async.cg.shared.global [%r4], [%rd1], 16, 16;": ("none", 4),
    "cp.async.cg.shared.global [%r4], [%rd1], 16, 0;": ("none", 4),
    "cp.async.cg.shared.global [%r4], [%rd1], 16, 8;": ("ZFILL", 8),
    "cp.async.cg.shared.global [%r4], [%rd1], 16, %p1;": ("none", 4),
    "selp.b32 %r0, 16, 0, %p1; cp.async.cg.shared.global [%r4], [%rd1], 16, %r0;": ("none", 4),
    "selp.b32 %r3, 1, 0, %p1; shl.b32 %r0, %r3, 4; cp.async.cg.shared.global [%r4], [%rd1], 16, %r0;": ("none", 4),
    "shl.b32 %r3, %r8, 4; and.b32 %r0, %r3, 16; cp.async.cg.shared.global [%r4], [%rd1], 16, %r0;": ("none", 4),
    "mov.u32 %r0, %r8; cp.async.cg.shared.global [%r4], [%rd1], 16, %r0;": ("ZFILL", 8),
    "selp.b32 %r0, 16, 8, %p1; cp.async.cg.shared.global [%r4], [%rd1], 16, %r0;": ("ZFILL", 8),
}
"""cp.async -> (whether ptxas makes LDGSTS.ZFILL of it, wavefronts of a warp that copies 4 lines in order)."""


@pytest.mark.parametrize("line", COPIES)
def test_copies_that_read_all_or_nothing_have_no_zeros_on_top(line):
    x = np.zeros((32, 4), np.uint32)
    x[:, 0] = 99                                                          # %p1 is false in all lanes
    trace = ptx.load(program(line)).entry().run(1, 32, x, 8, hazards="off")
    assert trace.totals()["copy"] == COPIES[line][1]
    assert trace.total().exact


@needs_tools
def test_ptxas_fills_with_zeros_where_the_count_says_so(tmp_path):
    made = assembled_each([body(line) for line in COPIES], tmp_path)
    for line, (filled, _) in COPIES.items():
        copies = [opcode for opcode in made[body(line)] if opcode.startswith("LDGSTS")]
        assert len(copies) == 1 and copies[0].endswith("ZFILL") == (filled == "ZFILL"), line


def test_zeros_of_ignore_src_cost_something_only_where_some_lane_does_not_read():
    line = 16 * np.arange(32)
    for lanes, wavefronts in ((np.arange(32) < 8, 1 + 4), (np.arange(32) < 16, 2 + 4), (line >= 0, 4), (line < 0, 4)):
        found = analyze("cp.async.cg.16", line, sources=line, valid=lanes)
        assert found.exact and found.wavefronts[0] == wavefronts
        assert ("zeros" in found.explain()) == (not lanes.all())
    assert analyze("cp.async.ca.4", line // 4, sources=line // 4, valid=np.arange(32) < 7).wavefronts[0] == 1


def test_a_register_with_two_definitions_is_not_known():
    function = parse(program("mov.u32 %r0, 16; mov.u32 %r0, 0; add.u32 %r3, %r0, %r0;")).functions["kernel"]
    known, register = Known(function), [s for s in function.body if s.opcode == "add"][-1].operands[1]
    assert known.bits(register) == (1 << 64) - 1 and known.constant(register) is None and not known.uniform(register)


@pytest.mark.parametrize("block, exact", [(32, True), (64, False)])
def test_atomics_that_try_again_are_counted_exactly_where_no_other_warp_may_be_faster(block, exact):
    line = "cvt.rn.f32.u32 %f1, %r5; red.shared.add.f32 [%r6], %f1;"
    x = np.resize(numbers(), (block, 4))
    [one] = [a for a in ptx.load(program(line)).entry().run(1, block, x, 8, hazards="off").accesses if a.loads]
    assert one.exact == exact


@pytest.mark.parametrize("block, exact", [(1, True), (2, False), (64, False)])
def test_how_often_a_lock_is_tried_is_known_exactly_where_one_thread_wants_it(block, exact):
    line = ("mov.u32 %r0, 0; st.shared.u32 [%r2], %r3; bar.sync 0; TRY: atom.shared.cas.b32 %r0, [%r2], 0, 1; "
            "setp.ne.u32 %p2, %r0, 0; @%p2 bra TRY;\natom.shared.exch.b32 %r0, [%r2], 0;")
    trace = ptx.load(program(line)).entry().run(1, block, np.resize(numbers(), (block, 4)), 8, hazards="off")
    found = {access.instruction: access.exact for access in trace.accesses if access.instruction.startswith("atom")}
    assert found == {"atom.shared.cas.b32": exact, "atom.shared.exch.b32": True}
