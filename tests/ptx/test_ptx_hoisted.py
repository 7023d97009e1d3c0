"""Loads of shared memory that ptxas takes out of a loop, beside its SASS: how often each warp executes them."""

import re
import subprocess

import numpy as np
import pytest
from ptxas_says import PTXAS, needs_ptxas

import simlayout as sl
from cuda_kernels.build.assembler import find_tool

HEAD = (".version 8.6\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[1024];\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n) {\n"
        ".reg .b32 %r<20>; .reg .b64 %d<9>; .reg .pred %p<6>; .reg .f32 %f<9>;\n"
        "ld.param.u64 %d1, [a]; cvta.to.global.u64 %d1, %d1; ld.param.u64 %d2, [b]; cvta.to.global.u64 %d2, %d2;\n"
        "ld.param.u32 %r9, [n]; mov.u32 %r1, %tid.x; mov.u32 %r5, %ntid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, tile;\n"
        "add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %r1; bar.sync 0;\n")
FIRST = "setp.ge.u32 %p1, %r1, %r9; @%p1 bra DONE;\n"
AT = "mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d3, %d1; add.s64 %d5, %d3, %d2; "
NEXT = "add.u32 %r1, %r1, %r5; setp.lt.u32 %p2, %r1, %r9; @%p2 bra LOOP;\nDONE: ret; }\n"
LOAD, SCALED = "ld.global.f32 %f1, [%d4]; ", "mul.f32 %f1, %f1, %f2; st.global.f32 [%d5], %f1; "
ROUNDS = 5                                               # of 64 threads for 320 numbers
BRANCH = "setp.gt.f32 %p3, %f1, 0f40000000; @%p3 bra SKIP; "

LOOPS = {                                                # body of a loop: whether the load leaves it
    "a number for all": (FIRST + f"LOOP: {AT}{LOAD}ld.shared.f32 %f2, [tile+8]; {SCALED}{NEXT}", True),
    "one for each lane": (FIRST + f"LOOP: {AT}{LOAD}ld.shared.f32 %f2, [%r2+4]; {SCALED}{NEXT}", True),
    "bytes": (FIRST + f"LOOP: {AT}ld.global.u32 %r6, [%d4]; ld.shared.u8 %r7, [%r2+1]; add.u32 %r6, %r6, %r7; "
              f"st.global.u32 [%d5], %r6; {NEXT}", True),
    "a loop that is always entered": (f"LOOP: {AT}{LOAD}ld.shared.f32 %f2, [%r2+4]; {SCALED}{NEXT}", True),
    "a loop that tests at its top": (f"LOOP: {FIRST}{AT}ld.shared.f32 %f2, [tile+8]; {LOAD}{SCALED}"
                                     "add.u32 %r1, %r1, %r5; bra LOOP; DONE: ret; }\n", True),
    "a sum in global memory": (FIRST + f"LOOP: {AT}{LOAD}ld.shared.f32 %f2, [tile+8]; mul.f32 %f1, %f1, %f2; "
                               f"red.global.add.f32 [%d5], %f1; {NEXT}", True),
    "ahead of a branch": (FIRST + f"LOOP: {AT}ld.shared.f32 %f2, [tile+8]; {LOAD}{BRANCH}mul.f32 %f1, %f1, %f2; "
                          f"atom.global.add.f32 %f5, [%d5], %f1; SKIP: st.global.f32 [%d5+2048], %f2; {NEXT}", True),
    "in a branch": (FIRST + f"LOOP: {AT}{LOAD}{BRANCH}ld.shared.f32 %f2, [tile+8]; mul.f32 %f1, %f1, %f2; "
                    f"atom.global.add.f32 %f5, [%d5], %f1; SKIP: st.global.f32 [%d5+2048], %f1; {NEXT}", False),
    "another address each time": (FIRST + f"LOOP: {AT}{LOAD}ld.shared.f32 %f2, [%r2+4]; {SCALED}add.u32 %r2, %r2, 64; "
                                  + NEXT, False),
    "beside a store": (FIRST + f"LOOP: {AT}{LOAD}ld.shared.f32 %f2, [%r2+4]; st.shared.f32 [%r2+256], %f1; {SCALED}{NEXT}",
                       False),
    "beside a generic store": (FIRST + f"LOOP: {AT}{LOAD}ld.shared.f32 %f2, [%r2+4]; {SCALED.replace('.global', '')}{NEXT}",
                               False),
    "beside a fence": (FIRST + f"LOOP: {AT}{LOAD}ld.shared.f32 %f2, [%r2+4]; {SCALED}membar.cta; {NEXT}", False),
    "volatile": (FIRST + f"LOOP: {AT}{LOAD}ld.volatile.shared.f32 %f2, [%r2+4]; {SCALED}{NEXT}", False),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_load_that_a_loop_does_not_change_counts_once_in_a_warp(name):
    body, leaves = LOOPS[name]
    x, y = np.ones(320, np.float32), np.zeros(2000, np.float32)
    trace = sl.ptx.load(HEAD + body)["k"].run(1, 64, x, y, 320, hazards="off")
    assert trace.totals()["ld"] == 2 * (1 if leaves else ROUNDS)


@needs_ptxas
@pytest.mark.parametrize("name", LOOPS)
def test_ptxas_takes_the_same_loads_out_of_their_loops(name, tmp_path):
    body, leaves = LOOPS[name]
    source, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_text(HEAD + body)
    subprocess.run([PTXAS, "-arch=sm_90", "-o", cubin, source], check=True)
    listing = subprocess.run([find_tool("nvdisasm"), "-c", cubin], capture_output=True, text=True, check=True).stdout
    lines = listing.splitlines()
    load = next(i for i, line in enumerate(lines) if " LDS" in line)
    backs = [(lines.index(f"{target}:"), i) for i, line in enumerate(lines)
             if (target := (re.search(r"@!?P\d BRA `\((\S+)\)", line) or [""] * 2)[1]) and f"{target}:" in lines[:i]]
    assert not any(begin < load < end for begin, end in backs) == leaves
