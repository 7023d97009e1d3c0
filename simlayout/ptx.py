"""Kernels of any compiler run without a GPU: nvcc, Triton, Numba and CUTLASS all make PTX, and this executes it.

PTX is text. A module of it holds entries, which are kernels; each runs on NumPy arrays, warp by warp, counts its wavefronts
of shared memory by source line, and finds races, reads of what nothing wrote, and accesses outside the arrays.

>>> import numpy as np
>>> module = load('''
... .version 9.0
... .target sm_90
... .address_size 64
... .visible .entry reverse(.param .u64 reverse_param_0)
... {
...     .reg .b32 %r<5>;
...     .reg .b64 %rd<4>;
...     .shared .align 4 .b8 tile[4096];
...     ld.param.u64 %rd1, [reverse_param_0];
...     mov.u32 %r1, %tid.x;
...     mul.wide.u32 %rd2, %r1, 4;
...     add.s64 %rd3, %rd1, %rd2;           // the thread's element
...     ld.global.u32 %r2, [%rd3];
...     mov.u32 %r3, tile;
...     mad.lo.u32 %r4, %r1, 128, %r3;      // rows of 128 bytes: all lanes in bank 0
...     st.shared.u32 [%r4], %r2;
...     bar.sync 0;
...     sub.u32 %r1, 31, %r1;
...     mad.lo.u32 %r4, %r1, 128, %r3;
...     ld.shared.u32 %r2, [%r4];
...     st.global.u32 [%rd3], %r2;
...     ret;
... }
... ''')
>>> module.entry()
<entry reverse(param_0: .u64), shared memory: 4096 bytes>
>>> numbers = np.arange(32, dtype=np.int32)
>>> trace = module["reverse"].run(1, 32, numbers)
>>> numbers[:4].tolist()
[31, 30, 29, 28]
>>> [(count.instruction, count.wavefronts, count.ideal) for count in trace.lines]
[('st.shared.b32', 32, 1), ('ld.shared.b32', 32, 1)]

What the machine does not have is told when the module is loaded, all of it at once:

>>> load('''
... .version 9.0
... .target sm_90
... .visible .entry sample() { .reg .b32 %r<3>;
...     suld.b.1d.b32.trap %r1, [0, {%r2}];
...     ret;
... }
... ''')                                                                               # doctest: +ELLIPSIS
Traceback (most recent call last):
...
simlayout.errors.InstructionError: <text>: 1 instruction that the machine cannot execute: suld.b.1d.b32.trap (line 5): ...

The grammar and the meanings are those of the PTX ISA (NVIDIA, version 9.0). `simlayout guide ptx` tells how to get PTX, what
is exact, and what is not.
"""

from simlayout.machine.ptx.arguments import Pointer
from simlayout.machine.ptx.entry import LIMIT, Entry
from simlayout.machine.ptx.faults import Unsupported
from simlayout.machine.ptx.loading import load, read
from simlayout.machine.ptx.module import Module

__all__ = ["LIMIT", "Entry", "Module", "Pointer", "Unsupported", "load", "read"]
