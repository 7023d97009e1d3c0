"""The grammar against ptxas: what ptxas takes is read, and what it calls a fault of the text is refused."""

import subprocess

import pytest
from ptx_samples import TEXTS
from ptxas_says import PTXAS, needs_ptxas

from simlayout.errors import ParseError
from simlayout.machine.ptx.parser.grammar import parse

pytestmark = needs_ptxas
HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
DECLARED = (".reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .reg .f32 %f<4>; .reg .f64 %fd<4>;\n"
            ".shared .align 16 .b8 tile[64]; .shared .b32 words[8];\n")


def said(text, folder):
    """What ptxas has against a text, None for nothing."""
    source = folder / "text.ptx"
    source.write_text(text)
    command = [PTXAS, "-arch=sm_90a", "-O0", "-o", folder / "text.cubin", source]
    made = subprocess.run(command, capture_output=True, text=True)
    if "Unsupported .version" in made.stderr:
        pytest.skip(f"{PTXAS} is too old: {made.stderr.splitlines()[0]}")
    return made.stderr if made.returncode else None


def in_a_body(lines):
    """A module of a function for each line, so that no line sees what another declares."""
    return HEAD + ".global .u32 out;\n" + "".join(
        f".visible .entry f{i}(.param .u64 a) {{ {DECLARED}{line}\nret; }}\n" for i, line in enumerate(lines))


TAKEN = [
    "mov .u32 %r1 , 1 ;", "{ mov.u32 %r1, 1; { mov.u32 %r1, 2; } }", "{ .reg .b32 %r1; mov.u32 %r1, 1; }",
    "{ bra L; } L: mov.u32 %r1, 1;", "{ L: bra L; } { L: bra L; }", "L: { L: bra L; }", "L: M: bra L;", "out: bra out;",
    "mov.u32 %r1, words[1];", "ld.shared.u32 %r1, words[1];", "ld.shared.u32 %r1, [words+4*4-8];",
    "ld.global.u32 %r1, [%rd1+-16];", "mov.u32 %r1, 017; mov.u32 %r1, 0b11U; mov.u32 %r1, 0XfF;",
    "add.f32 %f1, %f2, .5; add.f32 %f1, %f2, 5.; add.f32 %f1, %f2, 5e1;",
    "mov.f32 %f1, 0f3F800000; mov.f64 %fd1, 0D3FF0000000000000; mov.f32 %f1, -5.5;", "mov.f64 %fd1, -(1.5 + 2.0) * 3.0;",
    "mov.u32 %r1, 1?2:3; mov.u32 %r2, (5+3)*2>>1; mov.u32 %r3, 1.5 < 2.0;",
    "mov.u32 %r1, WARP_SZ+1; mov.u32 %r1, (.s64) 5;", "setp.eq.and.u32 %p1|%p2, %r1, %r2, !1;",
    "setp.eq.and.u32 %p1, %r1, %r2, !%p2;", "selp.b32 %r1, 1, 2, 1;",
    ".reg .v4 .f32 v; mov.f32 %f1, v.x; mov.f32 %f1, v.r;", ".reg .v4 .u32 v; mov.v4.u32 v, %tid; mov.u32 %r1, %ctaid.g;",
    "vadd.s32.u32.s32.sat %r1, %r2.b0, %r3.h1;", "mov.b64 {_, %r2}, %rd1; mov.b64 %rd1, {%r1, %r2};",
    "elect.sync _|%p1, -1;", '.pragma "nounroll"; .pragma "a", "b"; mov.u32 %r1, 1;', ".loc 7 2 3\nmov.u32 %r1, 1;",
    "bra E; E:", "L0: L1: ts: .branchtargets L<2>; brx.idx %r1, ts;", "L0: L1: ts: .branchtargets L0, L1; brx.idx %r1, ts;",
    "p: .callprototype (.param .b32 _) _ (.param .b32 x); .param .b32 q; .param .b32 s; call (q), %rd1, (s), p;",
    "/* one */ // two\n/***/", ".shared .align 8 .v2 .f32 pairs[2][3];", "prefetch.global.L2 [%rd1 + 4];",
    "shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;", "shfl.bfly.sync.b32 %r1|%p1, %r2, 1, 31, -1;",
    "cp.async.shared.global.ca [%r1], [%rd1], 8;", "cp.async.shared::cta.cg.global [%r1], [%rd1], 16;",
    "@!%p1 bra.uni X; X:",
]
REFUSED = [
    "add.u32 %r1, %r2 %r3;", "mov.u32 %r1, 1;;", "mov.u32 %r1, 1", "@%p1 { mov.u32 %r1, 1; }", "mov.u32 %r1, 019;",
    "mov.u32 %r1, 0xFFu;", ".reg .b32 x; .reg .b32 x;", ".reg .b32 %r3;", ".reg .b32 %r<4>;", ".reg .b32 x; x: bra x;",
    "L: L: bra L;", "bra L; { L: }", "{ .reg .b32 q; } mov.u32 %r1, q;", "mov.u32 %r1, %r9;",
    "mov.u32 %r1, x; .shared .b32 x;", "ts: .branchtargets NO; brx.idx %r1, ts;", "ld.shared.u32 %r1, [words[1]];",
    "mov.f64 %fd1, 1.5 + 1;", "mov.f64 %fd1, 1.5 % 1.0;", "mov.u32 %r1, !1.5;", "mov.u32 %r1, 1/0;",
    "mov.f32 %f1, 1 ? 1.5 : 2.5;", "mov.f32 %f1, 0f3F8;", ".shared .align 3 .b8 x[4];", ".shared .u32 x = 1;",
    ".reg .b32 x<2+3>;", ".shared .b32 a;", "mov.b64 {{%r1}, %r2}, %rd1;", "ld.global.u32 %r1, [%rd1;", "mov.u32 1bad, 2;",
    "} {", '.pragma nounroll;',
]
OUTSIDE_TAKEN = [
    ".global .u32 s; .global .u8 x[2] = {0xff(s), 0xff00(s+4)};", ".global .u8 x[2] = {0xff(1000 + 546), 0xff00(0x1234)};",
    ".global .u32 s[8]; .global .u64 x[2] = {generic(s)+8, s};",
    ".global .u32 x[][2] = {{1}, {2, 3}}; .global .u8 y[4] = {};",
    ".global .f32 x = 0f3F800000; .global .f64 y = -2.5; .global .b32 z = 0f3F800000; .global .f32 w = 0d3FF0000000000000;",
    ".global .v2 .u32 x[2] = {{1, 2}, {3, 4}}; .global .b128 y = 1;", ".global .attribute(.managed) .s32 g;",
    ".func foo() { ret; } .visible .func bar(); .alias bar, foo;", ".func g { call g; ret; } .entry k { call g; ret; }",
    ".func (.reg .u32 r) foo(.reg .u32 a) { mov.u32 r, a; ret; }", ".func g; .entry k { call g; ret; } .func g { ret; }",
    ".entry k(.param .u64 .ptr.global.align 16 a, .param .u64 .ptr b, .param .u64 .ptr .shared c) { ret; }",
    ".entry k() .maxntid 16, 2 .minnctapersm 2 .maxnreg 64 { ret; }",
    '.pragma "nounroll"; .entry k .pragma "nounroll"; { ret; }', ".func g2 .noreturn { trap; }",
    ".func g() { ret; } .global .u64 t[1] = {g}; .entry k { .reg .b64 d; call d, (), t; ret; }", '# 1 "x.cu"\n.entry k { }',
    ".global .u64 p = (1 << 4) ? 5+3*2 : 0;", ".common .global .u32 c; .weak .global .u32 w;",
    ".extern .shared .align 16 .b8 dynamic[]; .extern .func (.param .b32 r) printed(.param .b64 x);",
]
OUTSIDE_REFUSED = [
    ".global .u32 x[2][2] = {1, 2, 3, 4};", ".global .u32 x[2][2] = {{1, 2, 3}};", ".global .u32 x[2] = {1, 2,};",
    ".global .u32 x = {1};", ".global .u32 x[1] = 1;", ".global .f16 x = 1.0;", ".global .f32 x = 1;",
    ".global .u32 x = 1.5;", ".global .u32 y; .global .u16 p = y;", ".global .u8 x; .global .u8 x;",
    ".entry k { ret; } .entry k { ret; }", ".global .u32 k; .entry k { ret; }", ".entry k { ret; };",
    ".func foo(.param .b32 a,) { ret; }", ".entry k() .maxntid 16 1 { ret; }", ".visible .weak .entry k { ret; }",
    ".version 8.6", ".address_size 64", ".target sm_90a", ".func .noreturn g { trap; }", '.entry k { .file 1 "x"\n ret; }',
    "#define A 1", ".entry k { ret;", ".reg .b32 g;", "#line 5", '.file 1 "x', ".entry k { /* ret; }",
]
def test_a_body_that_ptxas_takes_is_read(tmp_path):
    text = in_a_body(TAKEN)
    assert said(text, tmp_path) is None
    assert len(parse(text).functions) == len(TAKEN)


@pytest.mark.parametrize("line", REFUSED)
def test_a_body_that_ptxas_refuses_is_refused(line, tmp_path):
    text = in_a_body([line])
    assert said(text, tmp_path)
    with pytest.raises(ParseError):
        parse(text)


@pytest.mark.parametrize("line", OUTSIDE_TAKEN)
def test_what_ptxas_takes_outside_of_functions_is_read(line, tmp_path):
    assert said(HEAD + line + "\n", tmp_path) is None
    parse(HEAD + line + "\n")


@pytest.mark.parametrize("line", OUTSIDE_REFUSED)
def test_what_ptxas_refuses_outside_of_functions_is_refused(line, tmp_path):
    assert said(HEAD + line + "\n", tmp_path)
    with pytest.raises(ParseError):
        parse(HEAD + line + "\n")


@pytest.mark.parametrize("name", TEXTS)
def test_ptxas_finds_no_fault_of_syntax_in_the_texts_of_the_other_tests(name, tmp_path):
    complaint = said(TEXTS[name], tmp_path)
    assert not complaint or "Parsing error" not in complaint
