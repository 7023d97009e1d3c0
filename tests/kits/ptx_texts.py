"""PTX modules as text, small enough to read."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

REGISTERS = ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;"


def module(body, parameters=(), name="kernel", directives="", before=""):
    """A module with one entry. parameters: types such as "u64", or declarations; body: instructions, whose kernel_param_0 is
    the entry's first; before: what stands in front of it. Registers %p, %rs, %r, %rd, %f, %fd 0 to 8 are declared."""
    given = ", ".join(p if p.startswith(".param") else f".param .{p} {name}_param_{i}" for i, p in enumerate(parameters))
    return f""".version 9.0
.target sm_90a
.address_size 64
{before}
.visible .entry {name}({given})
{directives}
{{
{REGISTERS}
{body.replace('kernel_param', f'{name}_param')}
}}
"""


WRITE = """ld.param.u64 %rd1, [kernel_param_0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r1;
ret;"""
"""Each thread writes its number to its element of 4 bytes."""

TRANSPOSE = module("""
.shared .align 16 .b8 tile[4096];
.loc 1 3 5
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u64 %rd2, [kernel_param_1];
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
mov.u32 %r3, tile;
LOAD:
.loc 1 5 9
mad.lo.u32 %r4, %r2, 32, %r1;
mul.wide.u32 %rd3, %r4, 4;
add.s64 %rd3, %rd3, %rd1;
ld.global.f32 %f1, [%rd3];
mad.lo.u32 %r5, %r4, 4, %r3;
st.shared.f32 [%r5], %f1;
.loc 1 4 5
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, 32;
@%p1 bra LOAD;
.loc 1 6 5
bar.sync 0;
mov.u32 %r2, 0;
STORE: .pragma "nounroll";
.loc 1 8 9
mad.lo.u32 %r4, %r1, 32, %r2;
mad.lo.u32 %r5, %r4, 4, %r3;
ld.shared.f32 %f1, [%r5];
mad.lo.u32 %r4, %r2, 32, %r1;
mul.wide.u32 %rd3, %r4, 4;
add.s64 %rd3, %rd3, %rd2;
st.global.f32 [%rd3], %f1;
.loc 1 7 5
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, 32;
@%p1 bra STORE;
ret;
""", ("u64", "u64"), before='.file 1 "transpose.cu"')
"""32 x 32 floats by one warp: line 5 stores rows, line 8 loads columns, each of whose 32 words lies in one bank."""


@cache
def compile_loop():
    """Compiles the loop that executes PTX, where Numba is installed, and keeps it on the disk: an interrupt can get lost in
    the compiler."""
    if find_spec("numba"):
        from simlayout import ptx
        from simlayout.machine.ptx.running import LOOP

        import_module(LOOP)
        ptx.load(module("mov.u32 %r1, 0;\nret;")).entry().run(1, 32)
