"""Hazards that are looked for in two steps are those that the shadows find, and clean launches take one step."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba")

from hypothesis import strategies as st
from steps_of_launches import in_one_step, recorded
from tiers import given_few

from simlayout.errors import HazardError, MachineError
from simlayout.machine.ptx import attempts, entry, running
from simlayout.machine.ptx.compiled.loop import Loop  # at hand from the first launch on
from simlayout.machine.ptx.looks import doubts, understood
from simlayout.ptx import load

NEEDED = "\n    nanosleep.u32 %r8;"
"""What needs the word that was loaded last."""

WORDS = 40
"""Of each memory, so that accesses of threads often meet."""

HEAD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b)
{
    .reg .u32 %r<9>;
    .reg .u64 %d<9>;
    .reg .pred %p<3>;
    .shared .align 16 .b8 s[160];
    .local .align 4 .b8 l[16];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r8, 7;
    ld.param.u64 %d1, [a];
    ld.param.u64 %d2, [b];
"""


FILL = ["    mul.lo.u32 %r3, %r1, 4;", "    rem.u32 %r3, %r3, 160;", "    mov.u32 %r4, s;", "    add.u32 %r4, %r4, %r3;",
        "    setp.lt.u32 %p1, %r1, 40;", "    @%p1 st.shared.u32 [%r4], %r1;", "    bar.sync 0;"]
"""What writes all of shared memory, or some, if there are few threads."""


def at(row, by, plus, more, size):
    """What makes a place for so many bytes of thread, CTA and numbers."""
    return [f"    mad.lo.u32 {row}, %r1, {by}, {plus};", f"    mad.lo.u32 {row}, %r2, {more}, {row};",
            f"    rem.u32 {row}, {row}, {4 * WORDS // size};", f"    mul.lo.u32 {row}, {row}, {size};"]


@st.composite
def programs(draw):
    """PTX of loads, stores, copies, barriers, shuffles, branches and traps, whose addresses depend on thread and CTA."""
    lines = [*draw(st.sampled_from([[], [], FILL]))]
    for number in range(draw(st.integers(1, 9))):
        kind = draw(st.sampled_from(["load", "store", "load", "store", "red", "bar", "sync", "shfl", "exit", "local",
                                     "trap", "copy", "wait", "matrix"]))
        by, plus, more = (draw(st.integers(0, 3)) for _ in range(3))
        width = "u32" if kind == "red" else draw(st.sampled_from(["u32", "u32", "u16", "u8", "v2.u32"]))
        step = 8 if width[0] == "v" else 4
        words = WORDS // 2 if step == 8 else WORDS
        guard = draw(st.sampled_from(["", "", "@%p1 ", "@!%p1 "]))
        space = draw(st.sampled_from(["shared", "a", "b"]))
        base = {"shared": "s", "a": "%d1", "b": "%d2"}[space]
        skip = draw(st.sampled_from([None, None, None, "%p1", "!%p1"]))
        lines += [f"    setp.lt.u32 %p1, %r1, {draw(st.sampled_from([1, 16, 32, 40, 64]))};"]
        if skip:
            lines.append(f"    @{skip} bra SKIP{number};")
        if kind == "bar":
            lines.append("    bar.sync 0;")
        elif kind == "sync":
            lines.append("    bar.warp.sync -1;")
        elif kind == "shfl":
            lines.append("    shfl.sync.bfly.b32 %r8, %r8, 1, 31, -1;")
        elif kind == "exit" and number > 4:
            lines.append("    @%p1 exit;")
        elif kind == "wait":
            lines += ["    cp.async.commit_group;"] * draw(st.integers(0, 2))
            lines.append(f"    {guard}cp.async.wait_group {by};" if plus else "    cp.async.wait_all;")
        elif kind == "copy":
            size = draw(st.sampled_from([4, 4, 8, 16]))
            lines += [*at("%r4", by, plus, 0, size), "    mov.u32 %r3, s;", "    add.u32 %r4, %r4, %r3;",
                      *at("%r3", plus, by, more, size), "    cvt.u64.u32 %d3, %r3;",
                      f"    add.u64 %d4, {'%d2' if more % 2 else '%d1'}, %d3;",
                      f"    {guard}cp.async.ca.shared.global [%r4], [%d4], {size};"]
        elif kind == "matrix":
            form, values = draw(st.sampled_from([("x1", "%r8"), ("x1.trans", "%r8"), ("x2", "%r8, %r5"),
                                                 ("x2.trans", "%r5, %r8")]))
            lines += [*at("%r4", by, plus, 0, 16), "    mov.u32 %r3, s;", "    add.u32 %r4, %r4, %r3;",
                      f"    ldmatrix.sync.aligned.m8n8.{form}.shared.b16 {{{values}}}, [%r4];"]
        elif kind == "trap":
            lines += ["    setp.gt.u32 %p2, %r8, 30;", "    @%p2 trap;"]
        elif kind == "local":
            generic = "    mov.u64 %d5, l;", "    cvta.local.u64 %d5, %d5;", f"    ld.u32 %r8, [%d5+{4 * plus}];"
            within = f"    ld.local.u32 %r7, [l+{4 * plus}];", f"    st.local.u32 [l+{4 * more}], %r7;"
            passed = *generic[:2], f"    ld.u32 %r6, [%d5+{4 * plus}];", f"    st.u32 [%d5+{4 * more}], %r6;"
            loads = draw(st.sampled_from([[f"    ld.local.u32 %r8, [l+{4 * plus}];"], generic, within, passed]))
            lines += [f"    st.local.u32 [l+{4 * by}], %r1;", *loads]
        else:
            lines += [f"    mad.lo.u32 %r3, %r1, {by}, {plus};", f"    mad.lo.u32 %r3, %r2, {more}, %r3;",
                      f"    rem.u32 %r3, %r3, {words};", f"    mul.lo.u32 %r3, %r3, {step};"]
            if space == "shared":
                lines += ["    mov.u32 %r4, s;", "    add.u32 %r4, %r4, %r3;"]
                place = "%r4"
            else:
                lines += ["    cvt.u64.u32 %d3, %r3;", f"    add.u64 %d4, {base}, %d3;"]
                place = "%d4"
            name = "shared" if space == "shared" else "global"
            how = "" if kind == "red" else draw(st.sampled_from(["", "", "volatile", "generic", "both"]))
            cached = draw(st.sampled_from(["", "", ".nc"])) if name == "global" and not how else ""
            if how in ("generic", "both"):
                lines += [f"    cvt.u64.u32 %d4, {place};", "    cvta.shared.u64 %d4, %d4;"] * (space == "shared")
                name, place = "", "%d4"
            name = ".volatile" * (how in ("volatile", "both")) + f".{name}" * bool(name)
            values = "{%r8, %r1}" if width[0] == "v" else "%r8"
            load = f"    {guard}ld{name}{cached}.{width} {values.replace('%r1', '%r5')}, [{place}];"
            changes = "red" if kind == "red" else "st"
            operation = draw(st.sampled_from([".add", ".max", ".xor"])) if kind == "red" else ""
            lines.append(load if kind == "load" else f"    {guard}{changes}{name}{operation}.{width} [{place}], {values};"
                         .replace("xor.u32", "xor.b32"))
        if skip:
            lines.append(f"SKIP{number}:")
    return HEAD + "\n".join(lines) + NEEDED + "\n    nanosleep.u32 %r5;\n    ret;\n}\n"


def outcome(text, block, ctas, hazards="report"):
    """What a launch leaves: its hazards as text, wavefronts, executions, notes, arrays."""
    arrays = [np.arange(WORDS, dtype=np.uint32), np.arange(WORDS, dtype=np.uint32)]
    try:
        trace = load(text).entry().run(ctas, block, *arrays, hazards=hazards)
    except (HazardError, MachineError) as error:
        return str(error)
    return ([str(h) for h in trace.hazards], [h.count for h in trace.hazards], trace.lines, trace.executed,
            sorted(trace.notes), *(a.tolist() for a in arrays))


@given_few(15, 2_000, programs(), st.sampled_from([32, 64, 96, 40]), st.integers(1, 3))
def test_what_is_told_in_two_steps_is_what_the_shadows_tell(text, block, ctas):
    two = outcome(text, block, ctas)
    with pytest.MonkeyPatch.context() as patch:
        in_one_step(patch)
        assert two == outcome(text, block, ctas)


@given_few(15, 2_000, programs(), st.sampled_from([32, 64]))
def test_what_is_raised_too(text, block):
    two = outcome(text, block, 2, "raise")
    with pytest.MonkeyPatch.context() as patch:
        in_one_step(patch)
        assert two == outcome(text, block, 2, "raise")


TILE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
    .reg .u32 %r<9>;
    .reg .u64 %d<9>;
    .shared .align 4 .b8 s[256];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, s;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    ld.param.u64 %d1, [a];
    cvt.u64.u32 %d2, %r3;
    add.u64 %d3, %d1, %d2;
    ld.global.u32 %r5, [%d3];
    st.shared.u32 [%r4], %r5;
    {between}
    xor.b32 %r6, %r3, 128;
    add.u32 %r6, %r2, %r6;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%d3], %r7;
    ret;
}}
"""


def steps_of(monkeypatch, text, ctas=1, more=()):
    """(its attempts, the array, the Trace) of a launch of 64 threads per CTA. more: arguments behind the array."""
    seen = recorded(monkeypatch)
    array = np.arange(64, dtype=np.uint32)
    trace = load(text).entry().run(ctas, 64, array, *more, hazards="report")
    return seen, array, trace


def test_a_clean_launch_takes_one_step(monkeypatch):
    seen, array, trace = steps_of(monkeypatch, TILE.format(between="bar.sync 0;"))
    assert seen == ["quick"] and not trace.hazards
    assert array.tolist() == [i ^ 32 for i in range(64)]


def test_what_is_only_moved_within_local_memory_needs_not_be_written_and_what_leaves_it_does(monkeypatch):
    moved = ".local .align 4 .b8 l[8]; ld.local.u32 %r8, [l]; st.local.u32 [l+4], %r8; bar.sync 0;"
    assert steps_of(monkeypatch, TILE.format(between=moved))[0] == ["quick"]
    seen, _, trace = steps_of(monkeypatch, TILE.format(between=moved + "st.shared.u32 [%r4], %r8; bar.sync 0;"))
    assert seen[0] == "quick" and len(seen) > 1 and [one.kind for one in trace.hazards] == ["unwritten read"]


GENERIC = "cvt.u64.u32 %d4, %r4; cvta.shared.u64 %d4, %d4; "


@pytest.mark.parametrize("access, name", [
    ("ld.volatile.shared.u32 %r8, [%r4]; st.volatile.shared.u32 [%r4], %r8;", "ld.shared.b32"),
    (GENERIC + "ld.u32 %r8, [%d4]; st.u32 [%d4], %r8;", "ld.b32"),
    (GENERIC + "ld.volatile.u32 %r8, [%d4]; st.volatile.u32 [%d4], %r8;", "ld.b32"),
])
def test_volatile_and_generic_accesses_of_a_threads_own_memory_take_one_step_too(monkeypatch, access, name):
    text = TILE.format(between=access + "bar.sync 0;")
    seen, array, trace = steps_of(monkeypatch, text)
    assert seen == ["quick"] and not trace.hazards and array.tolist() == [i ^ 32 for i in range(64)]
    assert {(c.instruction, c.instructions) for c in trace.accesses} >= {(name, 2), (name.replace("ld", "st"), 2)}
    assert len(trace.sectors) == 2
    in_one_step(monkeypatch)
    assert steps_of(monkeypatch, text)[2].lines == trace.lines


def test_an_assertion_that_holds_takes_one_step_too(monkeypatch):
    between = ".reg .pred %p<2>; bar.sync 0; setp.gt.u32 %p1, %r1, 63; @%p1 trap;"
    seen, _, trace = steps_of(monkeypatch, TILE.format(between=between))
    assert seen == ["quick"] and not trace.hazards


def test_a_race_takes_two_and_memory_is_as_before_in_between(monkeypatch):
    seen, array, trace = steps_of(monkeypatch, TILE.format(between=""))
    assert seen == ["quick", "shadowed"] and [h.kind for h in trace.hazards]
    assert set(array[32:].tolist()) <= set(range(64)) | {0xFFFFFFFF}


def test_an_error_of_a_launch_has_no_doubt_before_it_in_its_traceback():
    with pytest.raises(HazardError, match="nothing orders the two") as raised:
        load(TILE.format(between="")).entry().run(1, 64, np.arange(64, dtype=np.uint32))
    assert raised.value.__context__ is None


def test_a_program_of_atomics_that_order_something_or_have_two_sizes_is_left_to_the_shadows():
    for between, plain in (("atom.shared.add.u32 %r8, [%r4], 1;", True), ("red.cta.shared.add.u32 [%r4], 1;", True),
                           ("red.global.add.u32 [%d1], 1;", True), ("red.cta.global.add.u32 [%d1], 1;", False),
                           ("atom.acquire.gpu.global.add.u32 %r8, [%d1], 1;", False),
                           ("red.global.add.u32 [%d1], 1; red.global.add.u64 [%d1], %d1;", False)):
        assert understood.is_plain(load(TILE.format(between=between)).entry().program) == plain


COUNTED = """    .loc 1 1 1
    {first}
    {between}
    .loc 1 2 1
    {then}
    ret;
}}
"""


@pytest.mark.parametrize("first, between, then, told", [
    ("@%p1 st.shared.u32 [s], %r1;", "bar.sync 0;", "red.shared.add.u32 [s], 1;", False),
    ("@%p1 st.shared.u32 [s], %r1;", "", "red.shared.add.u32 [s], 1;", True),
    ("@%p1 st.shared.u32 [s], %r1;", "bar.warp.sync -1;", "red.shared.add.u32 [s], 1;", True),
    ("@%p1 st.global.u32 [%d1], %r1;", "bar.sync 0;", "red.global.add.u32 [%d1], 1;", True),   # of the next CTA's atomics
    ("red.global.add.u32 [%d1], 1;", "bar.sync 0;", "@%p1 ld.global.u32 %r8, [%d1];", True),
    ("red.global.add.u32 [%d1], 1;", "", "red.global.add.u32 [%d1], 1;", False),
    ("red.global.add.u32 [%d1], 1;", "bar.sync 0;", "@%p1 ld.global.u32 %r8, [%d1+4];", False),
])
def test_atomics_race_with_plain_accesses_that_no_barrier_orders(monkeypatch, first, between, then, told):
    text = HEAD + "    setp.eq.u32 %p1, %r1, 0;\n" + COUNTED.format(first=first, between=between, then=then + NEEDED)
    seen, _, trace = steps_of(monkeypatch, text, 2, (None,))
    assert bool(trace.hazards) == told and (told or seen == ["quick"])


FILLED = "@%p1 st.shared.u32 [s], %r1; bar.sync 0; "
ONE_WARP, OTHER_WARP, SECOND_CTA = ("setp.lt.u32 %p2, %r1, 32; ", "setp.ge.u32 %p2, %r1, 32; ", "setp.eq.u32 %p2, %r2, 1; ")
OWN = "mul.wide.u32 %d3, %r1, 4; add.u64 %d4, %d1, %d3; "
BARRIERS = "mov.u32 %r7, 0; MANY: bar.sync 0; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 33000; @%p2 bra MANY; "


@pytest.mark.parametrize("first, between, then, ctas, told", [
    ("@%p1 st.shared.u32 [s], %r1;", ONE_WARP, "@%p2 red.shared.add.u32 [s], 1;", 1, True),
    ("@%p1 st.shared.u32 [s], %r1;", ONE_WARP + "bar.warp.sync -1;", "@%p2 red.shared.add.u32 [s], 1;", 1, False),
    ("@%p1 st.shared.u32 [s], %r1;", "setp.lt.u32 %p2, %r1, 16; @%p2 bar.warp.sync 0xFFFF; setp.eq.u32 %p2, %r1, 16;",
     "@%p2 red.shared.add.u32 [s], 1;", 1, True),
    (FILLED + "@%p1 ld.shared.u32 %r8, [s];", "", "red.shared.add.u32 [s], 1;", 1, True),
    (FILLED + ONE_WARP + "@%p2 ld.shared.u32 %r8, [s];", "bar.warp.sync -1;", "@%p2 red.shared.add.u32 [s], 1;", 1, False),
    (FILLED + "red.shared.add.u32 [s], 1;", "bar.warp.sync -1;" + OTHER_WARP, "@%p2 ld.shared.u32 %r8, [s];", 1, True),
    (FILLED + OTHER_WARP + "@%p2 red.shared.add.u32 [s], 1;", "bar.warp.sync -1;", "@%p2 ld.shared.u32 %r8, [s];", 1, False),
    (FILLED + BARRIERS + "@%p1 ld.shared.u32 %r8, [s];", "bar.sync 0;", "red.shared.add.u32 [s], 1;", 1, False),
    ("@%p1 ld.global.u32 %r8, [%d1];", "", "red.global.add.u32 [%d1], 1;", 1, True),
    ("@%p1 ld.global.u32 %r8, [%d1];", "bar.sync 0;", "red.global.add.u32 [%d1], 1;", 1, False),
    (OWN + "st.global.u32 [%d4], %r1;", "", "red.global.add.u32 [%d4], 1;", 1, False),
    ("red.global.add.u32 [%d1], 1;", "bar.sync 0;" + SECOND_CTA, "@%p2 ld.global.u32 %r8, [%d1];", 2, True),
    ("@%p1 st.global.u8 [%d1+3], %r1;", "", "red.global.add.u32 [%d1], 1;", 1, True),
])
def test_the_quick_look_knows_which_atomics_are_ordered(monkeypatch, first, between, then, ctas, told):
    text = HEAD + "    setp.eq.u32 %p1, %r1, 0;\n" + COUNTED.format(first=first, between=between, then=then + NEEDED)
    asked, made = [], attempts.told_of
    monkeypatch.setattr(attempts, "told_of", lambda *args: asked.append(1) or made(*args))
    seen, _, trace = steps_of(monkeypatch, text, ctas, (None,))
    assert seen[0] == "quick" and bool(trace.hazards) == told == bool(asked or seen[1:])


def test_an_access_where_memory_has_come_up_that_was_not_known_at_the_start_is_a_doubt():
    space = SimpleNamespace(count=1, memory=lambda: [(0, 256, 0, True)])
    made = doubts.Doubts(load(TILE.format(between="red.global.add.u32 [%d1], 1;")).entry().program, space, True, True)
    space.count = 2                                      # as where a pointer in memory leads to another array of a device
    with pytest.raises(doubts.Doubt, match="not known at the start"):
        made.update_global(None, np.zeros(32, np.int64), np.full(32, True), 4)
    compiled = object.__new__(Loop)
    compiled._known, compiled._space, compiled._launch = 1, space, SimpleNamespace(doubts=made)
    with pytest.raises(doubts.Doubt, match="not known at the start"):
        compiled._find_arrays()


def test_arrays_that_overlap_are_left_to_the_shadows():
    x = np.arange(64, dtype=np.uint32)
    text = HEAD + f"    ld.global.u32 %r8, [%d1];{NEEDED}\n    ret;\n}}\n"
    assert load(text).entry().run(1, 32, x[:40], x[8:]).hazards == ()


def test_without_the_compiled_loop_short_launches_end_before_it_is_fetched(monkeypatch):
    monkeypatch.setattr(entry, "compiled", lambda: False)
    seen, array, _ = steps_of(monkeypatch, TILE.format(between="bar.sync 0;"))
    assert seen == ["briefly"] and array[0] == 32
    monkeypatch.setattr(running, "WARMTH", 10)
    monkeypatch.setattr(running, "compiled", lambda: False)
    seen, array, _ = steps_of(monkeypatch, TILE.format(between="bar.sync 0;"))
    assert seen[-2:] == ["briefly", "quick"] and array[0] == 32
