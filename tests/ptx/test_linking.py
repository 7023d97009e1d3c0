"""Linking of several PTX modules, and what kernels take from the runtime: a heap, and a barrier of the grid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlayout.errors import AddressError, MachineError
from simlayout.machine.ptx.linking import link
from simlayout.machine.ptx.loading import load
from simlayout.machine.ptx.memory.heap import ALIGNMENT, Heap
from simlayout.machine.ptx.module import Module
from simlayout.machine.ptx.parser.grammar import parse

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"

CALLER = HEAD + """
.extern .func (.param .b32 out) next(.param .b32 in);
.global .align 4 .u32 own = 5;
.visible .entry kernel(.param .u64 data) {
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    ld.global.u32 %r1, [own];
    { .param .b32 given; .param .b32 back; st.param.b32 [given], %r1; call (back), next, (given); ld.param.b32 %r2, [back]; }
    st.global.u32 [%rd1], %r2;
    ret;
}"""

CALLEE = HEAD + """
.global .align 4 .u32 own = 70;
.weak .global .align 4 .u32 nobody;
.visible .func (.param .b32 out) next(.param .b32 in) {
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [in]; ld.global.u32 %r2, [own]; add.u32 %r1, %r1, %r2; st.param.b32 [out], %r1; ret;
}"""


def test_a_function_of_another_module_is_called_and_each_has_variables_of_its_own():
    module, out = link([parse(CALLER), parse(CALLEE)]), np.zeros(1, np.uint32)
    Module(module)["kernel"].run(1, 1, out)
    assert out[0] == 75
    assert set(module.variables) == {"own", "own$1"}


def test_lines_of_a_second_module_follow_those_of_the_first():
    module = link([parse(CALLER), parse(CALLEE)])
    assert min(each.line for each in module.functions["next"].body) > max(
        each.line for each in module.functions["kernel"].body)


def test_of_weak_definitions_the_first_holds_and_a_strong_one_before_all():
    def one(linkage, value):
        return parse(HEAD + f".{linkage} .global .align 4 .u32 x = {value}; .visible .global .u64 of{value} = x;")

    assert link([one("weak", 1), one("weak", 2)]).variables["x"].initial[0] == 1
    assert link([one("weak", 1), one("visible", 2)]).variables["x"].initial[0] == 2
    assert link([one("visible", 1), one("weak", 2)]).variables["x"].initial[0] == 1


def test_two_strong_definitions_are_refused_by_name():
    with pytest.raises(MachineError, match="kernel is defined twice"):
        link([parse(CALLER), parse(CALLER)])


TAKES = HEAD + """
.extern .func (.param .b64 back) malloc(.param .b64 nbytes);
.extern .func free(.param .b64 pointer);
.visible .entry takes(.param .u64 out, .param .u64 nbytes) {
    .reg .b32 %r<3>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [nbytes];
    { .param .b64 n; .param .b64 back; st.param.b64 [n], %rd2; call (back), malloc, (n); ld.param.b64 %rd3, [back]; }
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 8; add.u64 %rd4, %rd4, %rd1;
    st.global.u64 [%rd4], %rd3;
    setp.eq.u64 %p, %rd3, 0;
    @!%p st.u32 [%rd3], %r1;
    ret;
}
.visible .entry gives(.param .u64 pointers) {
    .reg .b32 %r<3>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [pointers]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 8; add.u64 %rd4, %rd4, %rd1;
    ld.global.u64 %rd2, [%rd4]; ld.u32 %r2, [%rd2]; st.global.u64 [%rd4], %rd2;
    { .param .b64 p; st.param.b64 [p], %rd2; call free, (p); }
    cvt.u64.u32 %rd3, %r2; st.global.u64 [%rd4], %rd3;
    ret;
}""".replace("nbytes) {\n    .reg .b32", "nbytes) {\n    .reg .pred %p; .reg .b32")


def test_memory_that_a_kernel_takes_lives_until_another_one_gives_it_back():
    module, pointers = load(TAKES), np.zeros(64, np.uint64)
    module["takes"].run(1, 64, pointers, 24)
    assert len(set(pointers.tolist())) == 64 and not (pointers % ALIGNMENT).any()
    module["gives"].run(1, 64, pointers)
    assert pointers.tolist() == list(range(64))
    assert module.heap.allocate(module.heap.bytes.size) == 0                     # all of it is free again


def test_malloc_gives_a_null_pointer_where_there_is_no_room():
    module, pointers = load(TAKES), np.ones(32, np.uint64)
    module["takes"].run(1, 32, pointers, 1 << 20)
    assert (pointers == 0).sum() == 32 - 8


def test_what_is_given_back_twice_is_an_error():
    heap = Heap(lambda nbytes: np.zeros(nbytes, np.uint8))
    at = heap.allocate(1)
    heap.free(at)
    with pytest.raises(AddressError, match="free already"):
        heap.free(at)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 30)), max_size=60))
def test_a_heap_gives_out_bytes_that_nobody_has(steps):
    heap, held = Heap(lambda nbytes: np.zeros(nbytes, np.uint8), 4096), {}
    for nbytes, which in steps:
        if which < len(held) and which % 2:
            heap.free(at := list(held)[which])
            del held[at]
            continue
        at = heap.allocate(nbytes)
        if at is not None:
            assert at % ALIGNMENT == 0 and at + nbytes <= 4096
            assert all(at + nbytes <= other or other + size <= at for other, size in held.items() if size and nbytes)
            held[at] = nbytes
    for at in held:
        heap.free(at)
    assert heap.allocate(4096) == 0


MEETS = HEAD + """
.extern .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry meets(.param .u64 data) {
    .reg .b32 %r<6>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %ntid.x;
    mad.lo.u32 %r5, %r1, %r4, %r3; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd2, %rd2, %rd1;
    st.global.u32 [%rd2], %r5;
    { .param .b32 s; .param .b64 h; st.param.b32 [s], 1; call (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %rd3, [h]; }
    BARRIER
    mul.lo.u32 %r4, %r2, %r4; sub.u32 %r4, %r4, 1; sub.u32 %r4, %r4, %r5;
    mul.wide.u32 %rd4, %r4, 4; add.u64 %rd4, %rd4, %rd1;
    ld.global.u32 %r1, [%rd4];
    mul.lo.u32 %r2, %r2, 1024; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd2, %rd2, %rd5;
    st.global.u32 [%rd2], %r1;
    ret;
}"""
BARRIER = ("{ .param .b64 h; .param .b32 f; .param .b32 e; st.param.b64 [h], %rd3; st.param.b32 [f], 0; "
           "call (e), cudaCGSynchronize, (h, f); }")


def test_the_grid_meets_at_its_barrier_and_knows_what_all_have_done():
    data = np.zeros(4 * 1024 + 4 * 64, np.uint32)
    trace = load(MEETS.replace("BARRIER", BARRIER))["meets"].run(4, 64, data, together=True)
    assert data[4096:].tolist() == list(range(255, -1, -1)) and not trace.hazards


def test_without_the_grids_barrier_there_is_a_race():
    data = np.zeros(4 * 1024 + 4 * 64, np.uint32)
    trace = load(MEETS.replace("BARRIER", ""))["meets"].run(4, 64, data, together=True, hazards="report")
    assert {hazard.kind for hazard in trace.hazards} == {"global race"}


def test_a_grid_that_does_not_run_together_cannot_meet():
    with pytest.raises(MachineError, match="launch it cooperatively"):
        load(MEETS.replace("BARRIER", BARRIER))["meets"].run(4, 64, np.zeros(5000, np.uint32))


def test_memory_that_another_thread_had_before_is_no_race():
    text = TAKES.replace("ret;\n}\n.visible", "{ .param .b64 p; st.param.b64 [p], %rd3; call free, (p); } ret;\n}\n.visible")
    module, pointers = load(text), np.zeros(4, np.uint64)
    for _ in range(2):
        trace = module["takes"].run((64, 1), 2, pointers[:2].repeat(2), 4 << 20, together=True, hazards="report")
        assert {hazard.kind for hazard in trace.hazards} <= {"global race"}
        assert not any("uint8 array" in hazard.text for hazard in trace.hazards)
