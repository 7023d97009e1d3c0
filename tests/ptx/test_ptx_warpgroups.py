"""wgmma and setmaxnreg in PTX: products, and accumulators that are touched too early."""

import numpy as np
import pytest
from ptx_texts import module
from tiers import sweep_but

import simlayout.machine.ptx.warps.turns as turns
from simlayout import ptx
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import HazardError, InstructionError, MachineError
from simlayout.hardware import fragment
from simlayout.hardware.matrix.descriptor import Descriptor
from simlayout.hardware.matrix.operand_tile import operand_addresses
from simlayout.machine.ptx.warps.warp import PtxWarp
from simlayout.numerics import tensor_op

AT_B, BYTES = 8192, 16384

NAMES = ["wgmma.m64n16k16.f32.f16.f16", "wgmma.m64n8k16.f16.f16.f16", "wgmma.m64n8k16.f32.bf16.bf16",
         "wgmma.m64n8k8.f32.tf32.tf32", "wgmma.m64n8k32.f32.e4m3.e5m2",
         "wgmma.m64n8k32.f16.e5m2.e5m2", "wgmma.m64n8k32.s32.s8.u8",
         "wgmma.m64n24k32.s32.u8.u8.satfinite"]

ONE = {"f16": 0x3C00, "bf16": 0x3F80, "tf32": 0x3F800000, "e4m3": 0x38, "e5m2": 0x3C, "s8": 1, "u8": 1}
TWO = {"f16": 0x4000, "bf16": 0x4000, "tf32": 0x40000000, "e4m3": 0x40, "e5m2": 0x40, "s8": 2, "u8": 2}


def raw(numbers, dtype):
    """0, 1 and 2 as bits of a type."""
    return np.select([numbers == 1, numbers == 2], [ONE[dtype], TWO[dtype]]).astype(TYPES[dtype].raw)


def image(op, a, b, majors=("K", "K")):
    """(uint8 [BYTES] of shared memory, the descriptors) of A [64, k] and B [n, k]."""
    memory, descriptors = np.zeros(BYTES, np.uint8), []
    for start, values, dtype, major in ((0, a, op.a, majors[0]), (AT_B, b, op.b, majors[1])):
        made = Descriptor(start, 128 if major == "K" else 2048, 256 if major == "K" else 128, 0)
        places = operand_addresses(made, len(values), op.k, dtype, major) // TYPES[dtype].bytes
        memory.view(TYPES[dtype].raw)[places] = raw(values, dtype)
        descriptors.append(made.encode())
    return memory, descriptors


def program(op, product, registers=0, between="", head="wgmma.fence.sync.aligned;",
            tail="wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"):
    """A kernel of one warpgroup: fills shared memory from its first argument, D from the second; what `product` does; D."""
    count = 64 * op.n * TYPES[op.d].bytes // 512
    kind = "f32" if op.d == "f32" else "b32"
    d = "{" + ", ".join(f"%d{i}" for i in range(count)) + "}"
    moves = [f"ld.global.{kind} %d{i}, [%at+{512 * i}];" for i in range(count)]
    parts = [f"ld.global.b32 %a{i}, [%more+{512 * i}];" for i in range(registers)]
    body = f""".reg .{kind} %d<{count}>; .reg .b32 %a<4>, %tid, %to; .reg .b64 %off, %at, %from, %more, %A, %B;
.shared .align 1024 .b8 smem[{BYTES}];
mov.u32 %tid, %tid.x; mul.wide.u32 %off, %tid, 4;
ld.param.u64 %from, [kernel_param_0]; ld.param.u64 %at, [kernel_param_1]; add.s64 %at, %at, %off;
ld.param.u64 %A, [kernel_param_2]; ld.param.u64 %B, [kernel_param_3]; ld.param.u64 %more, [kernel_param_4];
add.s64 %from, %from, %off; add.s64 %more, %more, %off;
mov.u32 %to, smem; mad.lo.u32 %to, %tid, 4, %to;
{" ".join(f"ld.global.b32 %r1, [%from+{512 * i}]; st.shared.b32 [%to+{512 * i}], %r1;" for i in range(BYTES // 512))}
fence.proxy.async.shared::cta; bar.sync 0;
setp.eq.u32 %p1, 0, 0; setp.eq.u32 %p2, 0, 1;
{" ".join(moves)} {" ".join(parts)}
{head}
{product.format(d=d)}
{between}
{tail}
{" ".join(line.replace("ld.global", "st.global").replace(f"%d{i}, [%at+{512 * i}]", f"[%at+{512 * i}], %d{i}")
          for i, line in enumerate(moves))}
ret;"""
    return ptx.load(module(body, ["u64"] * 5)).entry()


def held(op, c):
    """D's registers [n, 128] of a matrix, by the fragment."""
    f = fragment(op.name, "D")
    at = f.coordinates()
    values = c.astype(TYPES[op.d].plain)[at[..., 0], at[..., 1]]
    return np.ascontiguousarray(np.ascontiguousarray(values).view(np.float32 if op.d == "f32" else np.uint32).T)


def line(op, suffix, scale="%p1"):
    return f"wgmma.mma_async.sync.aligned.{op.name.removeprefix('wgmma.')} {{d}}, {suffix.format(scale=scale)};"


def suffix_of(op, scales="1, 1", trans=", 0, 0", a="%A"):
    return f"{a}, %B, {{scale}}" + (f", {scales}" if op.d != "s32" else "") + (trans if op.k == 16 else "")


def numbers(op, seed=0):
    generator = np.random.default_rng(seed)
    return generator.integers(0, 3, (64, op.k)), generator.integers(0, 3, (op.n, op.k)), generator.integers(0, 9, (64, op.n))


def multiplied(op, entry, a, b, c, majors=("K", "K"), more=None, **how):
    memory, descriptors = image(op, a, b, majors)
    d = held(op, c)
    trace = entry.run(1, 128, memory, d, *descriptors, np.zeros(1024, np.uint32) if more is None else more, **how)
    return d, trace


@pytest.mark.parametrize("name", sweep_but(NAMES[:2], NAMES))
def test_products_of_small_numbers_are_exact(name):
    op = tensor_op(name)
    a, b, c = numbers(op)
    d, trace = multiplied(op, program(op, line(op, suffix_of(op))), a, b, c)
    assert d.tobytes() == held(op, c + a @ b.T).tobytes()
    assert [(x.instruction, x.instructions) for x in trace.lines if "wgmma" in x.instruction] == [(name, 4)]
    d, _ = multiplied(op, program(op, line(op, suffix_of(op), "%p2")), a, b, c)
    assert d.tobytes() == held(op, a @ b.T).tobytes()


@pytest.mark.parametrize(("scales", "sign"), [("1, -1", -1), ("-1, 1", -1), ("-1, -1", 1)])
def test_scales_negate_the_product(scales, sign):
    op = tensor_op(NAMES[0])
    a, b, c = numbers(op)
    d, _ = multiplied(op, program(op, line(op, suffix_of(op, scales))), a, b, c)
    assert d.tobytes() == held(op, c + sign * (a @ b.T)).tobytes()


@pytest.mark.parametrize("majors", [("MN", "K"), ("K", "MN"), ("MN", "MN")])
def test_operands_of_16_bits_may_be_transposed(majors):
    op = tensor_op("wgmma.m64n16k16.f32.f16.f16")
    a, b, c = numbers(op)
    trans = "".join(f", {int(major == 'MN')}" for major in majors)
    d, _ = multiplied(op, program(op, line(op, suffix_of(op, trans=trans))), a, b, c, majors)
    assert d.tobytes() == held(op, c + a @ b.T).tobytes()


def test_a_comes_from_registers_as_well():
    op = tensor_op("wgmma.m64n16k16.f32.f16.f16")
    a, b, c = numbers(op)
    f = fragment(op.name, "A")
    at = f.coordinates()
    more = np.zeros((8, 128), np.uint32)
    more[:4] = np.ascontiguousarray(raw(a, "f16")[at[..., 0], at[..., 1]]).view(np.uint32).T
    product = line(op, suffix_of(op, trans=", 0", a="{{{{%a0, %a1, %a2, %a3}}}}"))
    d, _ = multiplied(op, program(op, product, registers=4), a, b, c, more=more)
    assert d.tobytes() == held(op, c + a @ b.T).tobytes()


FAULTS = {
    "missing wgmma fence": {"head": ""},
    "early accumulator": {"between": "wgmma.commit_group.sync.aligned; add.f32 %f1, %d3, %d3;",
                          "tail": "wgmma.wait_group.sync.aligned 0;"},
    "early accumulator of a move": {"between": "wgmma.commit_group.sync.aligned; mov.f32 %f1, %d3; neg.f32 %f1, %f1;",
                                    "tail": "wgmma.wait_group.sync.aligned 0;"},
    "early accumulator of a move that a wait leaves out": {
        "between": "wgmma.commit_group.sync.aligned; mov.f32 %f1, %d3; wgmma.wait_group.sync.aligned 1;",
        "tail": "wgmma.wait_group.sync.aligned 0;"},
    "early accumulator of a store": {"tail": "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;"},
    "early accumulator written": {"between": "mov.f32 %d0, 0f00000000;"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_accumulators_that_are_touched_too_early_are_told(fault):
    op = tensor_op(NAMES[0])
    kind = fault.split(" of ")[0].split(" written")[0]
    with pytest.raises(HazardError, match=f"{kind}: "):
        multiplied(op, program(op, line(op, suffix_of(op)), **FAULTS[fault]), *numbers(op))


def test_accumulators_that_are_taken_apart_before_the_wait_are_moved_behind_it_and_noted_because_ptxas_does_so():
    op = tensor_op("wgmma.m64n8k16.f16.f16.f16")
    a, b, c = numbers(op)
    split = "".join(f"mov.b32 {{%rs{2 * i}, %rs{2 * i + 1}}}, %d{i};" for i in range(2))
    whole = "".join(f"mov.b32 %d{i}, {{%rs{2 * i}, %rs{2 * i + 1}}};" for i in range(2))
    early = f"wgmma.commit_group.sync.aligned; {split} wgmma.wait_group.sync.aligned 0; {whole}"
    d, trace = multiplied(op, program(op, line(op, suffix_of(op)), between=early, tail=""), a, b, c, hazards="report")
    assert d.tobytes() == held(op, c + a @ b.T).tobytes()
    assert trace.hazards == () and ["before its wgmma.wait_group" in note for note in trace.notes] == [True]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("after, right", [("", True), ("mov.f32 %d7, 0f00000000; add.f32 %f1, %d7, %d7;", True),
                                          ("add.f32 %f1, %d7, %d7;", False)])
def test_accumulators_that_move_between_two_wgmma_of_a_chain_are_the_same_if_nothing_reads_them_where_they_were(
        times, after, right):
    op = tensor_op(NAMES[0])
    a, b, c = numbers(op)
    more = [f"%d{i}" if i < 2 else f"%e{i}" for i in range(8)]
    moves = "".join(f"mov.f32 %e{i}, %d{i};" for i in (3, 2, 7, 5, 4, 6))
    again = line(op, suffix_of(op)).format(d="{" + ", ".join(more) + "}") * times
    back = "".join(f"mov.f32 %d{i}, %e{i};" for i in range(2, 8))
    done = f"{moves} {again} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; {after} {back}"
    head = ".reg .f32 %e<8>; wgmma.fence.sync.aligned;"
    d, trace = multiplied(op, program(op, line(op, suffix_of(op)), head=head, between=done, tail=""), a, b, c,
                          hazards="report")
    assert (d.tobytes() == held(op, c + (1 + times) * (a @ b.T)).tobytes()) == right
    assert ("early accumulator" in {hazard.kind for hazard in trace.hazards}) != right


@pytest.mark.parametrize("copy", ["mov.f32 %f1, %d3; {moves}", "{moves} mov.f32 %f1, %e3;"])
@pytest.mark.parametrize("use, right", [("mov.f32 %d0, %f1;", False), ("mov.f32 %f1, %d0;", True)])
def test_what_else_keeps_accumulators_between_two_wgmma_of_a_chain_does_not_take_what_the_second_one_adds(copy, use, right):
    op = tensor_op(NAMES[0])
    a, b, c = numbers(op)
    moves = "".join(f"mov.f32 %e{i}, %d{i};" for i in range(8))
    again = line(op, suffix_of(op)).format(d="{" + ", ".join(f"%e{i}" for i in range(8)) + "}")
    back = "".join(f"mov.f32 %d{i}, %e{i};" for i in range(8))
    waited = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    done = f"{copy.format(moves=moves)} {again} {waited} {back} {use}"
    head = ".reg .f32 %e<8>; wgmma.fence.sync.aligned;"
    d, trace = multiplied(op, program(op, line(op, suffix_of(op)), head=head, between=done, tail=""), a, b, c,
                          hazards="report")
    assert (d.tobytes() == held(op, c + 2 * (a @ b.T)).tobytes()) == right
    assert ("early accumulator" in {hazard.kind for hazard in trace.hazards}) != right


AHEAD = "wgmma.commit_group.sync.aligned; mov.b32 %a0, %d0; mov.b32 %a1, %a0; setp.gt.u32 %p3, %tid, {bound};"
WAIT = "wgmma.wait_group.sync.aligned 0;"
MOVED = {"behind a branch": (f"{AHEAD} @%p3 bra ON; add.u32 %r2, %tid, 1; ON: {WAIT}", True),
         "behind two waits": (f"{AHEAD} @%p3 bra ON; {WAIT} bra.uni OUT; ON: {WAIT} OUT:", True),
         "behind a loop": (f"mov.u32 %r1, 0; {AHEAD} AGAIN: add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3; @%p3 bra AGAIN; "
                           f"{WAIT}", True),
         "needed in between": (f"{AHEAD} @%p3 bra ON; add.u32 %r2, %a1, 1; ON: {WAIT}", False),
         "ahead of a wait that others come to": (f"setp.gt.u32 %p3, %tid, 500; @%p3 bra ON; {AHEAD} ON: {WAIT}", False)}


@pytest.mark.parametrize("bound", [-1, 200], ids=["all go", "none goes"])
@pytest.mark.parametrize("where", MOVED)
def test_moves_of_accumulators_come_behind_the_next_wait_if_all_ways_lead_there_and_nothing_needs_them_before(where, bound):
    op, (text, right) = tensor_op(NAMES[0]), MOVED[where]
    a, b, c = numbers(op)
    done = f"{text.format(bound=bound & 0xFF)} mov.b32 %d0, %a1;"
    d, trace = multiplied(op, program(op, line(op, suffix_of(op)), between=done, tail=""), a, b, c, hazards="report")
    told = {hazard.kind for hazard in trace.hazards}
    assert (d.tobytes() == held(op, c + a @ b.T).tobytes()) == right
    assert told == (set() if right else {"early accumulator"})
    assert any("before its wgmma.wait_group" in note for note in trace.notes) == right


def test_a_register_written_between_a_fence_and_the_first_wgmma_is_noted_because_ptxas_moves_the_fence():
    op = tensor_op(NAMES[0])
    late = "wgmma.fence.sync.aligned; mov.f32 %d0, 0f00000000;"
    _, trace = multiplied(op, program(op, line(op, suffix_of(op)), head=late), *numbers(op))
    assert trace.hazards == () and "ptxas 13.0 moves the fence behind it" in trace.notes[0] and len(trace.notes) == 1
    other = "wgmma.fence.sync.aligned; mov.f32 %f1, 0f00000000;"
    assert multiplied(op, program(op, line(op, suffix_of(op)), head=other), *numbers(op))[1].notes == ()


TOUCHES = {"moved": "mov.f32 %d0, 0f00000000;", "added": "add.f32 %d0, %d0, %d0;", "read": "add.f32 %f1, %d0, %d0;"}


@pytest.mark.parametrize("touch", TOUCHES.values(), ids=TOUCHES)
def test_a_register_touched_behind_a_fence_and_the_wgmma_of_others_is_noted_because_ptxas_mends_it(touch):
    op = tensor_op(NAMES[0])
    others = [f"%e{i}" for i in range(64 * op.n // 128)]
    zeros = f".reg .f32 %e<{len(others)}>;" + "".join(f"mov.f32 {one}, 0f00000000;" for one in others)
    first = line(op, suffix_of(op)).format(d="{" + ", ".join(others) + "}")
    head = f"{zeros} wgmma.fence.sync.aligned; {first} {touch}"
    _, trace = multiplied(op, program(op, line(op, suffix_of(op)), head=head), *numbers(op))
    assert trace.hazards == () and ["behind their wgmma.fence and another wgmma" in note for note in trace.notes] == [True]
    unfenced = head.replace("wgmma.fence.sync.aligned;", "")
    with pytest.raises(HazardError, match="missing wgmma fence"):
        multiplied(op, program(op, line(op, suffix_of(op)), head=unfenced), *numbers(op))


def test_registers_of_a_later_wgmma_may_be_touched_ahead_of_its_own_fence():
    op = tensor_op(NAMES[0])
    others = [f"%e{i}" for i in range(64 * op.n // 128)]
    zeros = f".reg .f32 %e<{len(others)}>;" + "".join(f"mov.f32 {one}, 0f00000000;" for one in others)
    first = line(op, suffix_of(op)).format(d="{" + ", ".join(others) + "}")
    for fenced in ("", f"wgmma.fence.sync.aligned; {first}"):
        head = f"{zeros} {fenced} mul.f32 %d0, %d0, 0f40000000; wgmma.fence.sync.aligned;"
        assert multiplied(op, program(op, line(op, suffix_of(op)), head=head), *numbers(op))[1].notes == ()


@pytest.mark.parametrize("hazards", ["raise", "off"])
def test_arithmetic_on_accumulators_that_belong_to_no_wgmma_runs_in_the_compiled_loop(monkeypatch, hazards):
    pytest.importorskip("numba")
    op, executed = tensor_op(NAMES[0]), []
    run_step = PtxWarp._run_step
    monkeypatch.setattr(PtxWarp, "_run_step", lambda self, part: executed.append(part.at) or run_step(self, part))
    loop = "mov.u32 %r1, 0; AGAIN: mul.f32 %d0, %d0, 0f3F800000; add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 3000;"
    waited = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    entry = program(op, line(op, suffix_of(op)), tail=f"{waited} {loop} @%p3 bra AGAIN;")
    d, _ = multiplied(op, entry, *numbers(op), hazards=hazards)
    a, b, c = numbers(op)
    assert d.tobytes() == held(op, c + a @ b.T).tobytes() and len(executed) < 2000


def test_a_register_written_behind_a_wgmma_needs_another_fence():
    op = tensor_op(NAMES[0])
    one = line(op, suffix_of(op))
    done = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    again = f"{one} {done} mov.f32 %d0, 0f00000000; {{fence}} {one}"
    with pytest.raises(HazardError, match="missing wgmma fence"):
        multiplied(op, program(op, again.replace("{fence}", "")), *numbers(op))
    multiplied(op, program(op, again.replace("{fence}", "wgmma.fence.sync.aligned;")), *numbers(op))


@pytest.mark.parametrize("turn", [1, 3, 128, 1 << 20])
def test_sums_of_two_groups_are_kept_whichever_warp_is_ahead(turn, monkeypatch):
    monkeypatch.setattr(turns, "TURN", turn)
    op = tensor_op(NAMES[0])
    a, b, c = numbers(op)
    one = line(op, suffix_of(op))
    commit = "wgmma.commit_group.sync.aligned;"
    behind = ("setp.gt.u32 %p3, %tid, 31; @%p3 bra OVER; mov.u32 %r1, 0;"            # warp 0
              "SPIN: add.u32 %r1, %r1, 1; setp.lt.u32 %p4, %r1, 300; @%p4 bra SPIN; OVER:")
    body = f"{one} {commit} {behind} {one} {commit} wgmma.wait_group.sync.aligned 1; {one}"
    d, _ = multiplied(op, program(op, body), a, b, c)
    assert d.tobytes() == held(op, c + 3 * (a @ b.T)).tobytes()


@pytest.mark.parametrize(("text", "reason"), [
    ("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f1, %f2}, %rd1, %rd2, %p1, 1, 1, 0, 0;", "2 registers of D"),
    ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1;", "takes 4"),
    ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 2, 0, 0;", "1 or -1"),
    ("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1, 0, 0;", "m64n12k16"),
])
def test_a_wgmma_that_there_is_not_is_refused_when_the_module_is_loaded(text, reason):
    with pytest.raises(InstructionError, match=reason):
        ptx.load(module(text)).entry().run(1, 128)


def test_registers_move_between_warpgroups_and_no_more_than_there_are():
    body = """mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 128;
@%p1 bra FIRST;
setmaxnreg.inc.sync.aligned.u32 232; bra END;
FIRST: setmaxnreg.dec.sync.aligned.u32 24;
END: ret;"""
    ptx.load(module(body)).entry().run(1, 256)
    greedy = module(body.replace("setmaxnreg.dec.sync.aligned.u32 24;", ""), directives=".maxnreg 128")
    with pytest.raises(HazardError, match=r"setmaxnreg.inc 232, which lacks \d+ registers"):
        ptx.load(greedy).entry().run(1, 256)
    with pytest.raises(MachineError, match="give 24 to 256 registers, a multiple of 8"):
        ptx.load(module("setmaxnreg.dec.sync.aligned.u32 25; ret;")).entry().run(1, 128)
