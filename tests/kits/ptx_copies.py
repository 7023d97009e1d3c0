"""Texts of PTX that copy and wait, and their runs."""

import numpy as np
from ptx_texts import module

from simlayout import ptx

HEAD = """.reg .b32 %lane, %at, %mb, %word, %out; .reg .b64 %from, %to, %off, %token, %next;
.shared .align 1024 .b8 smem[4096];
mov.u32 %lane, %tid.x;
ld.param.u64 %from, [kernel_param_0];
ld.param.u64 %to, [kernel_param_1];
mov.u32 %at, smem;
add.u32 %mb, %at, 2048;
mul.wide.u32 %off, %lane, 4;
add.s64 %to, %to, %off;
setp.eq.u32 %p1, %lane, 0;
"""
"""%from, %to: arguments, %to at the thread's word; %at, %mb: shared memory, and 2048 bytes behind it; %p1: thread 0."""

FETCH = "mad.lo.u32 %out, %lane, 4, %at; ld.shared.b32 %word, [%out]; st.global.b32 [%to], %word;"
"""The thread's word of shared memory goes to its word of the second argument."""

INIT = "@%p1 mbarrier.init.shared::cta.b64 [%mb], 1; @%p1 fence.mbarrier_init.release.cluster; bar.sync 0;"
WAIT = "AGAIN{n}: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%mb], {parity}; @!%p2 bra AGAIN{n};"


def entry(body, parameters=("u64", "u64"), directives=""):
    return ptx.load(module(HEAD + body + "\nret;", parameters, directives=directives)).entry()


def run(body, source, words=32, grid=1, block=32, **how):
    out = np.zeros(words, np.uint32)
    trace = entry(body).run(grid, block, source, out, **how)
    return out, trace


def numbers(n):
    return np.arange(1, n + 1, dtype=np.uint32)
