"""The compiled loop computes what NumPy does, step by step, and in whole programs."""

import numpy as np
import pytest

pytest.importorskip("numba")

from simlayout.errors import AddressError
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx import running
from simlayout.machine.ptx.compiled.encode import COMPUTE, JOIN, KIND, MOVE, RESULT, encoded
from simlayout.machine.ptx.compiled.instructions import NAMES
from simlayout.machine.ptx.loading import load
from simlayout.machine.ptx.lowering.program import Program, Step
from simlayout.machine.ptx.memory.held import EXECUTED, ONE_PART, Log, address_of, held_of
from simlayout.machine.ptx.opcodes.lanes import lane_op
from simlayout.machine.ptx.opcodes.rows import Lanewise, Place, in_numpy

EDGES = {8: (0, 1, 0x7F, 0x80, 0xFF), 16: (0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x7C00, 0xFC01, 0x3C00, 0x7F80),
         32: (0, 1, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00001, 0x00800000,
              0x4F000000, 0x80000001),
         64: (0, 1, 63, 64, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x3FF0000000000000, 0x7FF0000000000000,
              0xFFF8000000000001, 0x43E0000000000000, 0x0010000000000000)}


def registers(rng, width):
    """uint64 [32]: bits of a width, edges and random ones."""
    if width == 1:
        return rng.integers(0, 2, 32).astype(np.uint64)
    anything = rng.integers(0, 1 << 64, 32, np.uint64, endpoint=False) & np.uint64((1 << width) - 1)
    return np.where(rng.random(32) < 0.4, rng.choice(np.array(EDGES[width], np.uint64), 32), anything)


def one_step(name):
    """A Program of one instruction, rows 1.. its sources and row 0 its result."""
    opcode, *modifiers = name.split(".")
    op = lane_op(opcode, tuple(modifiers))
    sources = tuple(Place(1 + i, type, width_of(type)) for i, type in enumerate(op.sources))
    results = tuple(Place(0 if i == 0 else None, type, width_of(type)) for i, type in enumerate(op.results))
    lanewise = Lanewise(name, op.function, results, sources)
    step = Step(name, ("", 1), None, 1, name, lanewise=lanewise, compute=in_numpy(lanewise))
    return Program(name, [step], [0, 1], 0, 1, 6, {}, {}, 0, 0, 0, executed=np.zeros(1, np.int64))


@pytest.mark.parametrize("name", NAMES)
def test_every_compiled_name_has_a_code(name):
    program = one_step(name)
    assert encoded(program, False).kinds[0] in (COMPUTE, MOVE)


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_instruction_gives_the_bits_that_numpy_gives(name):
    from simlayout.machine.ptx.compiled.enter import address_of_loop, enter

    program, rng = one_step(name), np.random.default_rng(len(name))
    e = encoded(program, False)
    held, log = held_of(1, program.constant_rows), Log(1, address_of_loop())
    log.common[EXECUTED], rows = address_of(program.executed), held.rows[0]
    for _ in range(50):
        rows[:] = 0
        for place in program.steps[0].lanewise.sources:
            rows[place.row] = registers(rng, place.held)
        rows[0] = registers(rng, 64) & np.uint64((1 << program.steps[0].lanewise.results[0].held) - 1)
        active = rng.random(32) < rng.choice([0.5, 1])
        expected = rows.copy()
        with np.errstate(all="ignore"):
            program.steps[0].compute(expected, None if active.all() else active)
        held.masks[0, 0] = np.where(active, np.uint64((1 << 64) - 1), np.uint64(0))
        enter(ONE_PART, 0, np.array([0, 9, 1]), np.zeros(0, np.int64), held.numbers, e.numbers, log.common)
        different = np.flatnonzero(rows[0] != expected[0])
        assert not different.size, [(hex(rows[p.row, different[0]])) for p in program.steps[0].lanewise.sources]


PROGRAM = """
.version 9.0
.target sm_90a
.address_size 64
.visible .entry mixed(.param .u64 p, .param .u64 q, .param .u32 n)
{
    .reg .pred %p<4>;
    .reg .b16 %h<4>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<12>;
    .reg .f32 %f<8>;
    .shared .align 16 .b8 tile[2048];
    .local .align 8 .b8 depot[32];
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd2, [q];
    ld.param.u32 %r1, [n];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mad.lo.s32 %r5, %r3, %r4, %r2;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r5, 8;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.v2.f32 {%f1, %f2}, [%rd4];
    mov.b64 %rd5, {%r5, %r2};
    mov.b64 {%r6, %r7}, %rd5;
    st.local.b64 [depot+8], %rd5;
    ld.local.u16 %h1, [depot+12];
    ld.local.s8 %r8, [depot+8];
    shl.b32 %r9, %r2, 3;
    mov.u32 %r10, tile;
    add.u32 %r11, %r10, %r9;
    and.b32 %r12, %r5, 7;
LOOP:
    setp.eq.s32 %p2, %r12, 0;
    @%p2 bra NEXT;
    fma.rn.f32 %f1, %f1, %f2, 0f3F800000;
    add.s32 %r12, %r12, -1;
    bra.uni LOOP;
NEXT:
    cvt.u32.u16 %r13, %h1;
    cvt.rn.f32.s32 %f3, %r8;
    add.f32 %f1, %f1, %f3;
    st.shared.v2.f32 [%r11], {%f1, %f2};
    bar.warp.sync -1;
    xor.b32 %r14, %r11, 8;
    ld.shared.f32 %f4, [%r14];
    min.f32 %f5, %f4, %f1;
    add.u64 %rd6, %rd2, %rd3;
    st.v2.b32 [%rd6], {%f5, %r13};
DONE:
    ret;
}
"""


CALLING = """
.version 9.0
.target sm_90a
.address_size 64
.func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [x];
    shl.b32 %r2, %r1, 1;
    st.param.b32 [r], %r2;
    ret;
}
.func (.reg .b32 r) of_both(.param .align 4 .b8 pair[12], .reg .b16 less)
{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    ld.param.b32 %r1, [pair];
    ld.param.b32 %r2, [pair+8];
    cvt.u32.u16 %r5, less;
    setp.lt.u32 %p1, %r1, %r5;
    mov.u32 r, %r2;
    @%p1 ret;
    {
    .param .b32 given; .param .b32 taken;
    st.param.b32 [given], %r2;
    call (taken), twice, (given);
    ld.param.b32 %r3, [taken];
    }
    add.u32 r, %r3, %r1;
    ret;
}
.visible .entry mixed(.param .u64 p, .param .u64 q, .param .u32 n)
{
    .reg .pred %p<4>;
    .reg .b16 %h<4>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<12>;
    .param .align 4 .b8 pair[12];
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd2, [q];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mad.lo.s32 %r5, %r3, 64, %r2;
    mul.wide.u32 %rd3, %r5, 8;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4];
    and.b32 %r7, %r2, 5;
    and.b32 %r9, %r6, 3;
    mov.u16 %h1, 20;
AGAIN:
    setp.lt.u32 %p1, %r9, 2;
    st.param.b32 [pair], %r2;
    st.param.b32 [pair+8], %r9;
    @%p1 call (%r9), of_both, (pair, %h1);
    add.u32 %r9, %r9, 1;
    setp.eq.u32 %p2, %r7, 0;
    @%p2 bra DONE;
    sub.u32 %r7, %r7, 1;
    bra AGAIN;
DONE:
    setp.gt.u32 %p3, %r2, 40;
    @%p3 exit;
    st.global.v2.u32 [%rd5], {%r9, %r7};
    ret;
}
"""


def both_ways(monkeypatch, hazards, text=PROGRAM):
    """[(result, trace)] of a program, in NumPy and compiled."""
    made = []
    for warmth in (1 << 60, 0):
        monkeypatch.setattr(running, "WARMTH", warmth)
        monkeypatch.setattr(running, "LOOP", "nowhere" if warmth else "simlayout.machine.ptx.compiled.loop")
        values = np.random.default_rng(1).normal(size=(256, 2)).astype(np.float32)
        out = np.zeros((256, 2), np.float32)
        trace = load(text)["mixed"].run(4, 64, values, out, 256, hazards=hazards)
        seen = sorted((p.line, p.ptx_line, p.instruction, p.addresses.tolist(), p.active.tolist(), p.times.tolist())
                      for p in trace.patterns)
        made.append((out.tobytes(), trace.lines, trace.executed, [(h.kind, h.lines) for h in trace.hazards], trace.sectors,
                     seen))
    return made


@pytest.mark.parametrize("hazards", ["off", "report"])
def test_a_whole_program_does_the_same_compiled(monkeypatch, hazards):
    in_numpy_alone, compiled = both_ways(monkeypatch, hazards)
    assert in_numpy_alone == compiled and any(in_numpy_alone[0]) and all(in_numpy_alone[4:])


@pytest.mark.parametrize("hazards", ["off", "report"])
def test_lanes_that_part_in_calls_and_loops_do_the_same_compiled(monkeypatch, hazards):
    in_numpy_alone, compiled = both_ways(monkeypatch, hazards, CALLING)
    assert in_numpy_alone == compiled and any(in_numpy_alone[0]) and in_numpy_alone[4]


def test_a_result_that_nobody_wants_is_written_to_no_register(monkeypatch):
    text = PROGRAM.replace("NEXT:", "    add.u32 _, %r12, 1;\nNEXT:\n    mov.b64 _, {%r5, %r2};")
    program = load(text)["mixed"].program
    table = encoded(program, False).table
    assert (table[np.isin(table[:, KIND], (COMPUTE, MOVE, JOIN)), RESULT] >= 0).all()


@pytest.mark.parametrize("hazards", ["off", "report"])
def test_lanes_of_one_access_find_their_own_of_several_arrays(monkeypatch, hazards):
    text = PROGRAM.replace("    ld.global.v2.f32 {%f1, %f2}, [%rd4];", """
    and.b32 %r6, %r2, 3;
    setp.eq.u32 %p3, %r6, 1;
    add.u64 %rd7, %rd2, %rd3;
    @%p3 mov.b64 %rd4, %rd7;
    ld.global.v2.f32 {%f1, %f2}, [%rd4];""")
    in_numpy_alone, compiled = both_ways(monkeypatch, hazards, text)
    assert in_numpy_alone == compiled and any(in_numpy_alone[0])


@pytest.mark.parametrize("address", [(1 << 63) - 8, (1 << 64) - 8, 8])
def test_an_address_at_the_end_of_all_is_outside_of_every_array(monkeypatch, address):
    monkeypatch.setattr(running, "WARMTH", 0)
    text = PROGRAM.replace("    ld.global.v2.f32 {%f1, %f2}, [%rd4];",
                           f"    mov.u64 %rd4, {address};\n    ld.global.v2.f32 {{%f1, %f2}}, [%rd4];")
    with pytest.raises(AddressError):
        load(text)["mixed"].run(4, 64, np.zeros((256, 2), np.float32), np.zeros((256, 2), np.float32), 256, hazards="off")
