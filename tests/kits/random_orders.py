"""Random PTX programs of one warpgroup in which barriers, mbarriers and engines order what its threads do to shared memory:
blocks that are right, one after another, of which lines may be left out, repeated or exchanged."""

from hypothesis import strategies as st

THREADS = 128

HEAD = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .u32 %r<30>;
    .reg .f32 %f<9>;
    .reg .u64 %d<9>;
    .reg .pred %p<9>;
    .shared .align 128 .b8 s[512];
    .shared .align 128 .b8 t[2304];
    .shared .align 8 .b64 m[3];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, s;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    ld.param.u64 %d1, [a];
    cvt.u64.u32 %d2, %r3;
    add.u64 %d3, %d1, %d2;
    xor.b32 %r6, %r3, 128;
    add.u32 %r6, %r2, %r6;
    xor.b32 %r7, %r3, 4;
    add.u32 %r7, %r2, %r7;
    mov.u32 %r8, m;
    mov.u32 %r10, t;
    shl.b32 %r11, %r1, 4;
    add.u32 %r11, %r10, %r11;
    shr.u32 %r12, %r10, 4;
    cvt.u64.u32 %d4, %r12;
    or.b64 %d5, %d4, 0x1000080000;
    add.u64 %d6, %d5, 128;
    and.b32 %r13, %r1, 31;
    and.b32 %r14, %r1, 112;
    add.u32 %r14, %r2, %r14;
    mov.u32 %r20, 0;
    setp.eq.u32 %p1, %r1, 0;
    setp.eq.u32 %p2, %r13, 0;
    setp.lt.u32 %p3, %r1, 64;
    setp.lt.u32 %p4, %r1, 16;
    @%p1 mbarrier.init.shared.b64 [%r8], 128;
    @%p1 mbarrier.init.shared.b64 [%r8+8], 1;
    @%p1 mbarrier.init.shared.b64 [%r8+16], 4;
    bar.sync 0;
"""
"""Of thread t: %r4 is its word of s, %r6 and %r7 those of another warp and of the lane next to it, %r11 its 16 bytes of t,
%r14 16 bytes of s that it shares, %d3 its word of global memory; %p1 to %p4 are thread 0, lane 0, half of the warps and 16
threads; %r20 depends on all that it reads; m has an mbarrier of all threads, of one, and of one lane of each warp."""

TAIL = """
    st.global.u32 [%d3+512], %r20;
    ret;
}
"""

SUM = "mad.lo.u32 %r20, %r20, 3, %r9;"
STORE = "st.shared.u32 [%r4], %r1;"
OTHER, NEXT, OWN = (f"ld.shared.u32 %r9, [{at}]; {SUM}" for at in ("%r6", "%r7", "%r4"))
MATRIX = f"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r9}}, [%r14]; {SUM}"
BARRIER, WARP, FENCE = "bar.sync 0;", "bar.warp.sync -1;", "fence.proxy.async.shared::cta;"
FILL = ("st.shared.v4.u32 [%r11], {%r1, %r1, %r3, %r1};", "@%p4 st.shared.v4.u32 [%r11+2048], {%r1, %r3, %r1, %r1};")
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d5, %d6, 0, 1, 1, 0, 0;"
TAKEN = f"mov.b32 %r9, %f2; {SUM}"


def wait(which, phase):
    """A wait for a phase of one of the mbarriers."""
    return (f"{{ .reg .pred q; W: mbarrier.try_wait.parity.shared.b64 q, [%r8+{8 * which}], {phase % 2}; @!q bra W; }}")


def _of_all(n, phases):
    return STORE, "mbarrier.arrive.shared.b64 _, [%r8];", wait(0, phases[0]), OTHER, BARRIER


def _of_lanes(n, phases):
    return STORE, WARP, "@%p2 mbarrier.arrive.shared.b64 _, [%r8+16];", wait(2, phases[2]), OTHER, BARRIER


def _loads(n, phases):
    return (FENCE, BARRIER, "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r8+8], 512;",
            "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1], 512, [%r8+8];",
            wait(1, phases[1]), OTHER, BARRIER)


def _stores(n, phases):
    return (STORE, FENCE, BARRIER, f"@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d1+{1024 + 512 * n}], [%r2], 512;",
            "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group.read 0;", BARRIER)


def _stores_again(n, phases):
    return (STORE, FENCE, BARRIER, "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d1+7168], [%r2], 512;",
            "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;", BARRIER)


def _arrive(n, phases):
    return ("cp.async.ca.shared.global [%r4], [%d3], 4;", "cp.async.mbarrier.arrive.noinc.shared.b64 [%r8];",
            wait(0, phases[0]), OTHER, BARRIER)


def _copies(n, phases):
    return ("cp.async.ca.shared.global [%r4], [%d3], 4;", "cp.async.commit_group;", "cp.async.wait_group 0;", BARRIER, OTHER,
            BARRIER)


def _multiplies(n, phases):
    return (*FILL, FENCE, BARRIER, "wgmma.fence.sync.aligned;", PRODUCT, "wgmma.commit_group.sync.aligned;",
            "wgmma.wait_group.sync.aligned 0;", TAKEN, "st.global.f32 [%d3+512], %f1;", "st.shared.f32 [%r4], %f3;", BARRIER,
            OTHER, BARRIER)


BLOCKS = {
    "barrier": lambda n, phases: (STORE, BARRIER, OTHER, MATRIX, BARRIER),
    "half": lambda n, phases: (f"@%p3 {STORE}", "@%p3 bar.sync 1, 64;", f"@%p3 {OTHER.replace('; ', '; @%p3 ')}", BARRIER),
    "warp": lambda n, phases: (STORE, WARP, NEXT, WARP, OWN, BARRIER),
    "same": lambda n, phases: ("st.shared.u32 [%r14], %r2;", BARRIER, OTHER, BARRIER),
    "one": lambda n, phases: ("st.shared.u32 [%r2], %r2;", "bar.sync 2, 128;", OTHER, BARRIER),
    "mbarrier": _of_all, "lanes": _of_lanes, "load": _loads, "store": _stores,
    "store again": _stores_again, "arrive": _arrive, "copy": _copies, "product": _multiplies}
"""Name -> what gives the lines of a block. n: which it is; phases: how often each mbarrier has been waited for. The words
of s have been written before."""

USES = {"mbarrier": 0, "arrive": 0, "load": 1, "lanes": 2}
"""Name -> the mbarrier that it waits for."""


def lines_of(names):
    """The lines of blocks, right as they are."""
    phases, made = [0, 0, 0], [STORE, BARRIER]
    for n, name in enumerate(names):
        made += BLOCKS[name](n, phases)
        if name in USES:
            phases[USES[name]] += 1
    return made


def text_of(lines):
    """A program of lines."""
    return HEAD + "".join(f"    {line}\n" for line in lines) + TAIL


def _changed(lines):
    """The same lines, of which one is left out, repeated, or exchanged with another."""
    at = st.integers(0, len(lines) - 1)
    out = at.map(lambda i: lines[:i] + lines[i + 1:])
    again = at.map(lambda i: lines[:i] + lines[i:i + 1] + lines[i:])
    swap = st.integers(0, len(lines) - 2).map(lambda i: lines[:i] + [lines[i + 1], lines[i]] + lines[i + 2:])
    return st.one_of(out, out, again, swap)


right = st.lists(st.sampled_from([*BLOCKS]), min_size=1, max_size=5)
programs = right.map(lines_of).flatmap(
    lambda lines: st.one_of(st.just(lines), _changed(lines), _changed(lines).flatmap(_changed)))
