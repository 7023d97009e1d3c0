"""What a quick look knows of cp.async, ldmatrix, stmatrix and mma: launches without a fault take one step, and those with
one are told of as the shadows tell."""

import numpy as np
import pytest
from steps_of_launches import in_one_step, recorded

pytest.importorskip("numba")

import simlayout.machine.ptx.compiled.loop  # noqa: F401  (at hand from the first launch on)
from simlayout.machine.ptx import entry, running
from simlayout.ptx import load

HEAD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
    .reg .u32 %r<19>;
    .reg .f32 %f<9>;
    .reg .u64 %d<9>;
    .reg .pred %p<3>;
    .shared .align 16 .b8 s[512];
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
    shl.b32 %r8, %r1, 4;
    and.b32 %r8, %r8, 112;
    add.u32 %r8, %r2, %r8;
"""
"""Of thread t: %r4 and %d3 are its word of shared and of global memory, %r6 and %r7 those of another warp and of the lane
next to it, %r8 one of eight rows of a matrix."""

COPY, COMMIT, WAIT, BARRIER = ("cp.async.ca.shared.global [%r4], [%d3], 4;", "cp.async.commit_group;",
                               "cp.async.wait_group 0;", "bar.sync 0;")
OWN, OTHER, NEXT = (f"ld.shared.u32 %r9, [{at}]; st.global.u32 [%d3+512], %r9;" for at in ("%r4", "%r6", "%r7"))
MATRIX = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [%r8]; st.global.u32 [%d3+512], %r9;"
TURNED = MATRIX.replace(".x1", ".x1.trans")
FIRST_WARP = "setp.lt.u32 %p1, %r1, 32; @!%p1 bra END;"
STORED = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r8], {%r3};"


def launched(monkeypatch, lines, block=64):
    """As `steps_of`, of lines of PTX."""
    monkeypatch.undo()
    text = HEAD + "\n".join("    " + line for line in " ".join(lines).replace("; ", ";\n").split("\n")) + "\n    ret;\n}\n"
    seen = recorded(monkeypatch)
    found = of(text, block)
    in_one_step(monkeypatch)
    assert found == of(text, block)                      # what the shadows tell
    return seen, found[0]


def of(text, block):
    """(kinds of hazards, hazards, what was counted, notes, array) of a launch."""
    array = np.arange(256, dtype=np.uint32)
    trace = load(text).entry().run(1, block, array, hazards="report")
    return ([one.kind for one in trace.hazards], [str(one) for one in trace.hazards], trace.lines, trace.executed,
            sorted(trace.notes), array.tolist())


@pytest.mark.parametrize("lines", [
    (COPY, COMMIT, WAIT, BARRIER, OTHER), (COPY, "cp.async.wait_all;", BARRIER, OTHER), (COPY, COMMIT, WAIT, OWN),
    (COPY, COMMIT, WAIT, "bar.warp.sync -1;", NEXT), (COPY, COMMIT, COMMIT, "cp.async.wait_group 1;", BARRIER, MATRIX),
    (COPY, COMMIT, WAIT, BARRIER, TURNED),
    (COPY, COMMIT, WAIT, BARRIER, OTHER, BARRIER, COPY, COMMIT, WAIT, BARRIER, MATRIX),
    ("st.shared.u32 [%r4], %r1;", BARRIER, MATRIX, BARRIER, "st.shared.u32 [%r4], %r1;"),
    (FIRST_WARP, STORED, "bar.warp.sync -1;", MATRIX, "END:"), (COPY,)])
def test_what_is_in_order_takes_one_step(monkeypatch, lines):
    seen, kinds = launched(monkeypatch, lines)
    assert seen == ["quick"] and kinds == []


@pytest.mark.parametrize("lines, kind", [
    ((COPY, COMMIT, WAIT, OTHER), "write"), ((COPY, COMMIT, WAIT, NEXT), "lane race"), ((COPY, COMMIT, OWN), "early read"),
    ((COPY, COMMIT, BARRIER, OTHER), "early read"), ((COPY, WAIT, BARRIER, OTHER), "early read"),
    ((COPY, COMMIT, "cp.async.wait_group 1;", BARRIER, OTHER), "early read"), ((COPY, COMMIT, BARRIER, WAIT, OTHER), "read"),
    ((COPY, COMMIT, BARRIER, MATRIX), "early read"), ((COPY, COMMIT, WAIT, MATRIX), "read after write"),
    ((COPY, "st.shared.u32 [%r4], %r1;"), "write in flight"), ((COPY, COMMIT, COPY), "write in flight"),
    ((COPY, COMMIT, BARRIER, "red.shared.add.u32 [%r6], 1;"), "early read"),
    (("st.shared.u32 [%r4], %r1;", BARRIER, OTHER, COPY), "read"), (("st.shared.u32 [%r6], %r1;", COPY), "write"),
    (("st.shared.u32 [%r4], %r1;", BARRIER, MATRIX, "st.shared.u32 [%r6], %r1;"), "read"),
    (("st.shared.u32 [%r4], %r1;", MATRIX), "read after write"), ((STORED,), "write"), ((STORED, BARRIER, MATRIX), "write"),
    ((COPY, "st.global.u32 [%d3], %r1;"), "global race"), (("st.global.u32 [%d3+128], %r1;", COPY), "global race"),
    ((COPY.replace("[%r4]", "[%r2]"),), "write in flight"), ((MATRIX,), "unwritten read"),
    (("mov.u32 %r8, %r2;", FIRST_WARP, STORED.replace(".x1", ".x1.trans"), "END:"), "collision"),
])
def test_a_fault_is_told_as_the_shadows_tell_it(monkeypatch, lines, kind):
    seen, kinds = launched(monkeypatch, lines)
    assert seen[0] == "quick" and any(one.startswith(kind) or kind in one for one in kinds), kinds


def test_what_a_copy_has_read_and_is_written_later_is_left_to_the_shadows(monkeypatch):
    seen, kinds = launched(monkeypatch, (COPY, COMMIT, WAIT, BARRIER, "st.global.u32 [%d3], %r1;"))
    assert seen[0] == "quick" and kinds == []


@pytest.mark.parametrize("nbytes, races", [(4, False), (5, True), (6, True), (7, True)])
def test_a_copy_reads_all_of_the_word_in_which_its_src_size_ends(monkeypatch, nbytes, races):
    lines = ("setp.eq.u32 %p1, %r1, 32; @%p1 st.global.u32 [%d1+4], %r1; setp.eq.u32 %p2, %r1, 0;",
             f"@%p2 cp.async.ca.shared.global [%r2], [%d1], 8, {nbytes}; cp.async.wait_all;")
    assert launched(monkeypatch, lines)[1] == ["global race"] * races


def test_ldmatrix_whose_results_nobody_reads_counts_nothing_in_the_compiled_loop_either(monkeypatch):
    lines = ("st.shared.u32 [%r4], %r1;", BARRIER, MATRIX.split(" st.global")[0])
    assert launched(monkeypatch, lines) == (["quick"], [])


PRODUCTS = {"m16n8k16.row.col.f32.f16.f16.f32": (4, 2, 4, 4), "m16n8k16.row.col.f16.f16.f16.f16": (4, 2, 2, 2),
            "m16n8k32.row.col.s32.s8.s8.s32": (4, 2, 4, 4), "m8n8k4.row.col.f64.f64.f64.f64": (1, 1, 2, 2)}
"""mma -> registers of A, B, C and D."""


@pytest.mark.parametrize("name", PRODUCTS)
def test_compiled_products_are_those_of_numpy(monkeypatch, name):
    kind, shift = ("b64", 3) if "f64" in name else ("b32", 2)
    *read, made = PRODUCTS[name]
    n = sum(read)
    groups = [", ".join(f"%v{i}" for i in range(sum(read[:k]), sum(read[:k + 1]))) for k in range(3)]
    results = [f"%w{i}" for i in range(made)]
    lines = [f".reg .{kind} %v<{n}>; .reg .{kind} %w<{made}>;", f"shl.b32 %r3, %r1, {shift};", "cvt.u64.u32 %d2, %r3;",
             "add.u64 %d3, %d1, %d2;", *(f"ld.global.{kind} %v{i}, [%d3+{(32 << shift) * i}];" for i in range(n)),
             f"mma.sync.aligned.{name} {{{', '.join(results)}}}, {', '.join(f'{{{group}}}' for group in groups)};",
             *(f"st.global.{kind} [%d3+{(32 << shift) * i}], {w};" for i, w in enumerate(results))]
    text = HEAD + "\n".join(" ".join(lines).replace("; ", ";\n").split("\n")) + "\nret;\n}\n"
    rng = np.random.default_rng(1)
    dtype = np.float64 if kind == "b64" else np.float16
    given = rng.standard_normal(32 * n << shift - 1 if kind == "b32" else 32 * n).astype(dtype)
    one, other = given.copy(), given.copy()
    load(text).entry().run(1, 32, one)
    monkeypatch.setattr(entry, "compiled", lambda: None)
    monkeypatch.setattr(running, "compiled", lambda: None)
    load(text).entry().run(1, 32, other)
    assert one.tobytes() == other.tobytes() != given.tobytes()
