"""Loads of what a thread has, and stores that another one replaces, count nothing, as ptxas leaves them out: pattern after
pattern, and at random."""

from random import Random

import numpy as np
import pytest
from machine_code import assembled_each, needs_tools, of_class
from ptx_texts import module

from simlayout import ptx
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.alike import Alike
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.redundant import redundant_accesses

HEAD = """.reg .b32 %x<20>, %y<12>, %z<12>; .reg .b16 %h<9>; .shared .align 16 .b8 s[8192];
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r8, [kernel_param_1]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;
shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
ld.global.u32 %r5, [%rd3]; ld.global.u32 %r6, [%rd3+128]; mov.u32 %r7, 1; setp.gt.u32 %p1, %r1, 15;
"""
TAIL = "\nst.global.u32 [%rd3], %r7; ret;"
ST, ST_AGAIN, LD = "st.shared.u32 [%r4], %r5; ", "st.shared.u32 [%r4], %x1; ", "ld.shared.u32 %x2, [%r4]; "
LD_AGAIN = "ld.shared.u32 %x3, [%r4]; mad.lo.u32 %r7, %x2, %x3, %x1; "
LD_STORED = "ld.shared.u32 %x3, [%r4]; mad.lo.u32 %r7, %x3, %x1, %x1; "
READ = "bar.sync 0; ld.shared.u32 %r7, [s]; "
HALVES = "cvt.u16.u32 %h1, %r5; cvt.u16.u32 %h2, %r6; "
ST_BYTES, ST_PAIR = "st.shared.v4.u8 [%r4], {%h1, %h2, %h2, %h1}; ", "st.shared.v2.u8 [%r4], {%h1, %h2}; "
X = "mov.u32 %x1, %r6; "
WORK = "div.u32 %x1, %r6, %r5; st.global.u32 [%rd3+256], %x1; "
TO_MEET = X + "@%p1 bra MEET; "
ROUND = '.pragma "nounroll"; '
ANEW = "shl.b32 %x7, %r1, 4; add.u32 %x8, %x7, %r2; "    # %r4 again, as a compiler makes it in another block
LOOP = "mov.u32 %x9, 0; AGAIN: " + ROUND
NEXT = "add.u32 %x9, %x9, 1; setp.lt.u32 %p2, %x9, %r8; @%p2 bra AGAIN; "
SHUFFLE = "shfl.sync.bfly.b32 %x1, %r5, 1, 31, -1; "
FREE = ("shfl.sync.up.b32 %x4, %r5, 1, 0, -1; st.global.u32 [%rd3+256], %x4;", "redux.sync.add.s32 %x4, %r5, -1; "
        "st.global.u32 [%rd3+256], %x4;", "st.global.u32 [%rd3+256], %r5;", "red.global.add.u32 [%rd3+256], 1;",
        "st.volatile.global.u32 [%rd3+256], %r5;", "ld.relaxed.gpu.global.u32 %x4, [%rd3]; st.global.u32 [%rd3+256], %x4;",
        "div.u32 %x4, %r6, %r5; st.global.u32 [%rd3+256], %x4;")
"""What lies between two accesses of one place, and changes nothing."""
FOR_LOADS = ("ld.acquire.gpu.global.u32 %x4, [%rd3+256]; st.global.u32 [%rd3+256], %x4;", "cp.async.commit_group;",
             "atom.acq_rel.gpu.global.add.u32 %x4, [%rd3+256], 1; st.global.u32 [%rd3+256], %x4;",
             "st.release.gpu.global.u32 [%rd3+256], %r5;", "setp.gt.u32 %p2, %r8, 70; @%p2 ret;",
             "setp.gt.u32 %p2, %r8, 70; @%p2 exit;", "setp.gt.u32 %p2, %r8, 70; @%p2 trap;",
             "div.s32 %x4, %r6, %r5; st.global.u32 [%rd3+256], %x4;", "@%p1 st.global.u32 [%rd3+256], %r5;",
             "@%p1 red.global.add.u32 [%rd3+256], 1;", "@%p1 prefetch.global.L2 [%rd3];")
"""What keeps stores alone apart."""
KEPT = ("st.shared.u32 [%r4+1024], %r6;", "st.shared.u32 [s+4096], %r6;", "@%p1 st.shared.u32 [s+4096], %r6;", "bar.sync 0;",
        "bar.warp.sync -1;", "membar.cta;", "fence.proxy.async;", "cp.async.wait_group 0;", "nanosleep.u32 20;",
        "red.shared.add.u32 [s+4096], %r5;", "div.rn.f32 %f1, %f2, %f3; st.global.f32 [%rd3+256], %f1;")
"""What keeps loads apart as well."""

ONCE = ("tid.x laneid ctaid.y clusterid.x nclusterid.x cluster_ctaid.x cluster_nctaid.x "
        "cluster_ctarank cluster_nctarank nsmid nwarpid").split()
ANEW_EACH_TIME = "ntid.x nctaid.x warpid smid clock clock_hi".split()
"""Special registers; whether two addresses made of what is read of them are one."""


def loads(between):
    return X + LD + between + LD_AGAIN


def stored(between):
    return X + ST + between + LD_STORED


def stores(between):
    return X + ST + between + ST_AGAIN + READ


def more(between):
    """The accesses of shared memory in what is between."""
    return sum("st.shared" in one for one in between.split(";"))


CASES = {
    **{loads(one): (1, 0) for one in FREE + FOR_LOADS}, **{stored(one): (0, 1) for one in FREE + FOR_LOADS},
    **{stores(one): (1, 1) for one in FREE}, **{stores(one): (1, 2) for one in FOR_LOADS},
    **{loads(one): (2, more(one)) for one in KEPT}, **{stored(one): (1, 1 + more(one)) for one in KEPT},
    **{stores(one): (1, 2 + more(one)) for one in KEPT},
    "bar.sync 0; " + X + LD + LOOP + "@%p1 bra ON; " + WORK + LD_AGAIN + "ON: " + NEXT: (2, 0),
    "bar.sync 0; " + X + LOOP + LD + "@%p1 bra ON; " + WORK + LD_AGAIN + "ON: " + NEXT: (2, 0),
    X + ST + LD + "add.u32 %x1, %x2, %x1; " + ST_AGAIN + READ: (1, 1),
    X + ST + "ld.shared.u32 %x2, [s+4096]; add.u32 %x1, %x2, %x1; " + ST_AGAIN + READ: (2, 2),
    X + ST + "ld.volatile.shared.u32 %x2, [s+4096]; add.u32 %x1, %x2, %x1; " + LD_STORED: (1, 1),
    X + "st.volatile.shared.u32 [%r4], %r5; " + LD_STORED: (1, 1),
    X + LD + "mul.lo.u32 %x2, %x2, 5; st.global.u32 [%rd3+256], %x2; " + LD_AGAIN: (1, 0),
    X + LD + "add.u32 %x7, %r4, 16; ld.shared.u32 %x3, [%x7+-16]; mad.lo.u32 %r7, %x2, %x3, 7; ": (1, 0),
    X + LD + "shl.b32 %x7, %r6, 9; add.u32 %r4, %r4, %x7; " + LD_AGAIN: (2, 0),
    X + "mov.u32 %x8, s; ld.shared.u32 %x2, [%x8]; shfl.sync.idx.b32 %x8|%p2, %r4, 1, 31, -1; "
        "ld.shared.u32 %x3, [%x8]; mad.lo.u32 %r7, %x2, %x3, %x1; ": (2, 0),
    X + LD + "ld.shared.u32 %x7, [s+4096]; st.global.u32 [%rd3+256], %x7; " + LD_AGAIN: (2, 0),
    X + "mov.u32 %x8, %r2; add.u32 %x8, %x8, %r3; " + LD + "ld.shared.u32 %x7, [%x8+64]; st.global.u32 [%rd3+256], %x7; "
        "add.u32 %x8, %x8, 1024; ld.shared.u32 %x6, [%x8]; st.global.u32 [%rd3+260], %x6; " + LD_AGAIN: (3, 0),
    X + ST + "@%p1 " + ST_AGAIN + READ: (1, 2),
    X + ST + "add.u32 %r4, %r4, 512; " + ST_AGAIN + READ: (1, 2),
    "setp.gt.u32 %p3, %r1, 40; " + TO_MEET.replace("%p1", "%p3") + WORK + ST + ST_AGAIN + "MEET: " + READ +
        ST.replace("%r4", "%r4+512") + SHUFFLE + ST_AGAIN.replace("%r4", "%r4+512"): (1, 2),
    X + "mov.b32 %f1, %r5; st.shared.f32 [%r4], %f1; " + LD_STORED: (0, 1),
    "st.shared.v4.u32 [%r4], {%r5, %r6, %r5, %r1}; ld.shared.v2.u32 {%x2, %x3}, [%r4+8]; add.u32 %r7, %x2, %x3; ": (0, 1),
    X + "ld.shared.v2.u32 {%x2, %x4}, [%r4]; st.global.u32 [%rd3+256], %x4; " + LD_AGAIN: (1, 0),
    X + "st.shared.u64 [%r4], %rd2; " + LD_STORED: (1, 1),
    X + "st.shared.u8 [%r4], %r5; ld.shared.u8 %r7, [%r4]; ": (0, 1),
    X + "st.shared.u8 [%r4], %r5; ld.shared.s8 %r7, [%r4]; ": (1, 1),
    X + "ld.shared.u16 %x2, [%r4]; " + LD_AGAIN: (2, 0),
    X + LD.replace("%x2", "%x7") + LD_STORED: (1, 0),
    X + ST + "ld.shared.v2.u16 {%h1, %h2}, [%r4]; add.u16 %h1, %h1, %h2; cvt.u32.u16 %r7, %h1; ": (0, 1),
    "st.shared.v2.u16 [%r4], {%h1, %h2}; ld.shared.v2.u16 {%h1, %h2}, [%r4]; add.u16 %h1, %h1, %h2; cvt.u32.u16 %r7, %h1; ":
        (1, 1),
    **{HALVES + first + again + READ: (1, stores) for first, again, stores in (
        (ST_BYTES, ST_BYTES.replace("{%h1", "{%h2"), 1), (ST_BYTES, ST, 1), (ST, ST_BYTES, 1),
        (ST_BYTES, ST_BYTES.replace("v4.u8", "v4.u16"), 2), (ST_PAIR, ST_PAIR.replace("{%h1", "{%h2"), 1),
        (ST_PAIR.replace("u8", "u16"), ST, 1), (ST_BYTES.replace("v4.u8", "v4.u16"), "st.shared.u64 [%r4], %rd2; ", 2))},
    X + "@%p1 st.shared.u32 [%r4], %r5; " + LD_STORED: (1, 1),
    X + "mov.u32 %x3, 9; " + ST + "@%p1 ld.shared.u32 %x3, [%r4]; add.u32 %r7, %x3, %x1; ": (0, 1),
    X + "st.shared.u32 [%r4], %r5; st.shared.u32 [%r4+512], %r6; " + ST_AGAIN + READ: (1, 3),
    **{X + ST + ST_AGAIN + between: made for between, made in {
        "bar.sync 0; " + ST: (0, 3), "bar.sync 0; st.shared.u64 [%r4], %rd2; ": (0, 2),
        "st.shared.u32 [s+4096], %r6; " + ST: (0, 4), "@%p1 bra MEET; " + WORK + "MEET: " + ST: (0, 2)}.items()},
    LD + TO_MEET + WORK + "MEET: " + LD_AGAIN: (1, 0),
    ST + TO_MEET + WORK + "MEET: " + LD_STORED: (0, 1),
    LD + TO_MEET + WORK + LD_AGAIN + "MEET: ": (1, 0),
    ST + TO_MEET + WORK + LD_STORED + "MEET: ": (0, 1),
    LD + TO_MEET + "bar.warp.sync 65535; " + WORK + "MEET: " + LD_AGAIN: (2, 0),
    TO_MEET + WORK + ST + "bra.uni BOTH; MEET: div.u32 %x1, %r6, 3; st.shared.u32 [%r4], %r6; BOTH: " + LD_STORED: (1, 2),
    LD + X + LOOP + "mad.lo.u32 %x1, %x1, %r6, %x9; st.global.u32 [%rd3+256], %x1; " + NEXT + LD_AGAIN: (1, 0),
    ST + X + LOOP + "mad.lo.u32 %x1, %x1, %r6, %x9; st.global.u32 [%rd3+256], %x1; " + NEXT + LD_STORED: (1, 1),
    **{"st.shared.u32 [s+4096], %r6; bar.sync 0; " + LD + X + LOOP + made: counts for made, counts in {
        "mad.lo.u32 %x1, %x1, %r6, %x9; " + NEXT + LD_AGAIN: (2, 1),
        "mad.lo.u32 %x1, %x1, %r6, %x9; st.global.u32 [%rd3+256], %x1; " + NEXT + LD_AGAIN: (2, 1),
        LD_AGAIN + "st.global.u32 [%rd3+256], %r7; " + NEXT: (1, 1)}.items()},
    LD + X + LOOP + LD_AGAIN + "div.u32 %x1, %r7, %r6; st.global.u32 [%rd3+256], %x1; " + NEXT: (1, 0),
    LD + X + LOOP + LD_AGAIN + "div.u32 %x1, %r7, %r6; bar.sync 0; " + NEXT: (2, 0),
    X + LOOP + ST + SHUFFLE + ST_AGAIN + READ + NEXT.replace("%r8", "%r5"): (1, 2),
    X + ST + SHUFFLE + ST_AGAIN + READ: (1, 1),
    TO_MEET + WORK + "MEET: " + ST + SHUFFLE + ST_AGAIN + READ: (1, 1),
    **{f"setp.gt.u32 %p3, {of}, 40; " + TO_MEET.replace("%p1", "%p3") + WORK + ST + SHUFFLE + ST_AGAIN +
       "ld.shared.u32 %r7, [s]; MEET: ": (1, many) for of, many in (("%r1", 2), ("%r8", 1))},
    **{f"{made}; setp.eq.u32 %p3, %x5, 40; " + TO_MEET.replace("%p1", "%p3") + WORK + ST + SHUFFLE + ST_AGAIN +
       "ld.shared.u32 %r7, [s]; MEET: ": (1, many) for made, many in (
        ("ld.global.u32 %x5, [%rd1+512]", 1), ("ld.global.u32 %x5, [%rd3]", 2), ("vote.sync.ballot.b32 %x5, %p1, -1", 1),
        ("atom.global.add.u32 %x5, [%rd1+512], 1", 2), ("shfl.sync.idx.b32 %x5, %r6, 3, 31, -1", 1),
        ("shfl.sync.bfly.b32 %x5, %r6, 1, 31, -1", 2))},
    **{"setp.gt.u32 %p3, %r1, 40; " + TO_MEET.replace("%p1", "%p3") + WORK + ST + f"{exchange}, 65535; " + ST_AGAIN +
       "ld.shared.u32 %r7, [s]; MEET: ": (1, 2) for exchange in (
        "redux.sync.add.s32 %x1, %r5", "vote.sync.ballot.b32 %x1, %p1", "match.any.sync.b32 %x1, %r5",
        "elect.sync %x1|%p2")},
    **{X + first + WORK + ANEW + again.replace("%r4", "%x8"): counts for first, again, counts in (
        (LD, LD_AGAIN, (1, 0)), (ST, LD_STORED, (0, 1)), (ST, ST_AGAIN + READ, (1, 1)),
        (LD, LD_AGAIN.replace("%r4", "%r4+4"), (1, 0)))},
    X + LD + "bar.sync 0; " + ANEW + LD_AGAIN.replace("%r4", "%x8"): (2, 0),
    LD + TO_MEET + WORK + "MEET: " + ANEW + LD_AGAIN.replace("%r4", "%x8"): (1, 0),
    X + LD + ANEW + "mov.u32 %x7, 64; add.u32 %x8, %x7, %r2; " + LD_AGAIN.replace("%r4", "%x8"): (2, 0),
    LD + X + LOOP + ANEW + LD_AGAIN.replace("%r4", "%x8") + "st.global.u32 [%rd3+256], %r7; " + NEXT: (1, 0),
    **{X + f"{one} %x5, {of}; shl.b32 %x6, %x5, 4; add.u32 %x12, %r2, %x6; " + LD.replace("%r4", "%x12")
       + f"{one} %x10, {of}; shl.b32 %x11, %x10, 4; add.u32 %x13, %r2, %x11; " + LD_AGAIN.replace("%r4", "%x13"): counts
       for one, of, counts in (
        ("ld.param.u32", "[kernel_param_1]", (1, 0)), *(("mov.u32", f"%{name}", (1, 0)) for name in ONCE),
        *(("mov.u32", f"%{name}", (2, 0)) for name in ANEW_EACH_TIME))},
    "setp.gt.u32 %p3, %r1, 40; @%p3 bra OUT; " + ST + SHUFFLE + ST_AGAIN + READ + TAIL + " OUT: ret; ": (1, 1),
}
"""Lines of PTX -> (loads, stores) of shared memory in the SASS; each is executed once."""


def body(lines):
    return HEAD + lines + TAIL


def counted(lines):
    x = np.ones(256, np.uint32)
    lines = ptx.load(module(body(lines), ["u64", "u32"])).entry().run(1, 32, x, 1, hazards="off").lines
    return tuple(sum(c.instructions for c in lines if c.instruction.startswith(f"{how}.shared")) for how in ("ld", "st"))


def made_of(texts, folder):
    """{lines: (loads, stores)} by ptxas."""
    made = assembled_each([body(lines) for lines in texts], folder)
    return {lines: (of_class(made[body(lines)], "LDS"), of_class(made[body(lines)], "STS")) for lines in texts}


@pytest.mark.parametrize("lines", CASES)
def test_what_a_thread_has_is_not_loaded_again_and_what_is_replaced_is_not_stored(lines):
    assert counted(lines) == CASES[lines]


@pytest.mark.parametrize("lines", ["ld.shared.u32 %r4, [%r4]; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd1], %r5;",
                                   "ld.global.u32 %r4, [%rd1]; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd1], %r5;"])
def test_a_load_that_changes_an_address_gives_nobody_a_value(lines):
    function, = parse(module(f"mov.u32 %r4, 0; {lines} ret;")).functions.values()
    assert redundant_accesses(function, Known(function), Alike(function), set()).gone == {}


@needs_tools
def test_ptxas_makes_so_many_loads_and_stores(tmp_path):
    assert made_of(CASES, tmp_path) == CASES


WAY = "setp.lt.u32 %p3, %r1, {0}; @%p3 bra ON{0}; " + WORK.replace("%x1", "%x4") + "ON{0}: "


def some(random):
    """A text of some accesses to a few places, in which lanes part and meet."""
    made = "mov.u32 %x1, %r6; mov.u32 %x2, %r5; mov.u32 %x3, %r8; "
    for part in range(random.randint(4, 12)):
        at, x = 512 * random.randrange(3), random.randint(1, 3)
        anew = ANEW.replace("%x7", f"%y{part}").replace("%x8", f"%z{part}")
        anew, base = random.choice(((anew, f"%z{part}"), ("", "%r4")))
        store = f"{anew}st.shared.u32 [{base}+{at}], %x{x}; "
        load = f"{anew}ld.shared.u32 %x{x}, [{base}+{at}]; mad.lo.u32 %r7, %r7, %x{x}, 7; "
        made += random.choice((store,) * 4 + (load,) * 5 + (f"shfl.sync.bfly.b32 %x{x}, %r7, 1, 31, -1; ", "bar.sync 0; ",
                                                            WAY.format(part)))
    return made + "mad.lo.u32 %r7, %x1, %x2, %r7; add.u32 %r7, %r7, %x3; "


@needs_tools
@pytest.mark.parametrize("many", [60, pytest.param(200, marks=pytest.mark.sweep)])
def test_ptxas_makes_as_many_of_random_accesses(many, tmp_path):
    random = Random(0)
    texts = [some(random) for _ in range(many)]
    made = made_of(texts, tmp_path)
    assert [lines for lines in texts if counted(lines) != made[lines]] == []
