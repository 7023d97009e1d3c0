"""Truncated and mutated modules, through load and run: what is not executed is refused in one line, nothing else happens."""

import random
import re
import warnings

import numpy as np
import pytest
from ptx_texts import TRANSPOSE, module

import simlayout as sl
from simlayout.errors import SimlayoutError
from simlayout.machine.ptx.compiled.instructions import NAMES
from simlayout.machine.ptx.opcodes.bind import TABLES

EVERYTHING = module("""
.local .align 8 .b8 depot[64];
.loc 1 3 5
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u32 %r1, [kernel_param_1];
cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r2, %tid.x;
mov.u32 %r3, tile;
mad.lo.s32 %r4, %r2, 4, %r3;
mul.wide.u32 %rd3, %r2, 4;
add.s64 %rd4, %rd2, %rd3;
ld.global.nc.f32 %f1, [%rd4];
st.shared.f32 [%r4], %f1;
bar.sync 0;
setp.lt.and.s32 %p1|%p2, %r2, %r1, %p3;
@%p1 bra SECOND;
@!%p1 ld.shared.v2.f32 {%f2, %f3}, [tile+8];
fma.rn.f32 %f1, %f2, %f3, 0f3F800000;
atom.shared.add.u32 %r5, [%r3], 1;
SECOND:
shfl.sync.bfly.b32 %r6|%p3, %r2, 1, 0x1f, 0xffffffff;
vote.sync.ballot.b32 %r7, %p1, -1;
cvt.rn.f16.f32 %rs1, %f1;
mov.b32 %r5, {%rs1, %rs1};
mov.u64 %rd5, depot;
st.local.v4.b32 [depot+16], {%r5, %r6, %r7, %r2};
ld.local.u64 %rd6, [depot+24];
{
.param .b32 given;
.param .b32 taken;
st.param.b32 [given], %r5;
call.uni (taken), twice, (given);
ld.param.b32 %r8, [taken];
}
brx.idx %r1, TABLE;
TABLE: .branchtargets FIRST, FIRST, LAST;
FIRST:
red.global.add.u32 [counter], %r8;
div.s32 %r8, %r8, %r1;
LAST:
ld.const.b32 %r5, [table+4];
membar.gl;
st.global.b32 [%rd4], %r5;
ret;
""", ("u64", "u32"), before=""".file 1 "k.cu"
.global .align 4 .b32 counter = 5;
.const .align 4 .b32 table[2] = {1, 2};
.shared .align 16 .b8 tile[256];
.func (.param .b32 out) twice(.param .b32 in)
{
.reg .b32 %a;
ld.param.b32 %a, [in];
add.u32 %a, %a, %a;
st.param.b32 [out], %a;
ret;
}""")

WORDS = ("%r1", "%rd2", "%f3", "%p1", "%tid.x", "0", "-1", "1", "64", "4294967295", "99999999999999999999", "0f7F800000",
         "tile", "depot", "twice", "kernel", "SECOND", "ld", "st.shared.u32", "bar.sync", "wgmma.fence", "[", "]", "{", "}",
         ";", ",", ".b8", ".v4", ".shared", ".reg .b64 %x<5>", "@", "!", "_", "|", "(", "", "\n", "\0", "é", "//", "/*")


def mutated(text, chance):
    """A text with one to three faults: a line that is lost, doubled or moved, a word or a character exchanged, a register, a
    number, an opcode or a modifier put in the place of another of its kind, or the rest cut off."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        lines = text.split("\n")
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        kind = chance.randrange(20)
        if kind == 0:
            lines = text[:chance.randrange(len(text) + 1)].split("\n")
        elif kind == 1:
            del lines[at]
        elif kind == 2:
            lines.insert(at, lines[other])
        elif kind == 3:
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 4:
            words = lines[at].split(" ")
            words[chance.randrange(len(words))] = chance.choice(WORDS)
            lines[at] = " ".join(words)
        elif kind == 5:
            place = chance.randrange(len(lines[at]) + 1)
            made = chance.choice("0123456789abfrsuvx%.,;[]{}@!-+ ")
            lines[at] = lines[at][:place] + made + lines[at][place + chance.randrange(2):]
        else:
            lines = exchanged(text, chance.choice(KINDS), chance).split("\n")
        text = "\n".join(lines)
    return text


NUMBER = r"(?<![\w.])\d+"
KINDS = (r"%r\d", r"%rd\d", r"%f\d", r"%p\d", r"%\w+", NUMBER, r"\b(?!reg)[a-z]+\d*(?=\.)", r"(?<=\.)[a-z]\d+\b",
         r"(?<=\.)[a-z]\w+")
"""Registers of each type and of any, numbers, opcodes, types, modifiers."""


def exchanged(text, pattern, chance):
    """A text in which one match of a pattern is another match of it, or a number any other."""
    found = list(re.finditer(pattern, text[text.find("{"):]))
    if not found:
        return text
    at, other = chance.choice(found), chance.choice(found)
    made = str(chance.choice(NUMBERS)) if pattern is NUMBER and chance.random() < 0.5 else other[0]
    start = text.find("{")
    return text[:start + at.start()] + made + text[start + at.end():]


NUMBERS = 0, 1, 3, 4, 31, 64, 255, 4096, 2**31, 2**32 - 1, 2**63, 2**64 - 1


def outcome(text, chance):
    """"ran", or the kind of error; anything that is no SimlayoutError of one line fails."""
    arrays = [np.zeros(64, np.float32), np.zeros((32, 32), np.float32)]
    try:
        for entry in sl.ptx.load(text + "\n").entries.values():
            rest = iter(arrays)
            args = [next(rest, None) if p.type == "u64" and not p.shape else bytes(p.bytes) if p.shape else 2
                    for p in entry.parameters]
            entry.run(chance.choice((1, 2)), chance.choice((32, 48)), *args, limit=2000,
                      hazards=chance.choice(("raise", "report", "off")))
    except SimlayoutError as error:
        assert str(error) and "\n" not in str(error), repr(str(error))
        return type(error).__name__
    return "ran"


@pytest.mark.parametrize("count, seed", [(150, 1), pytest.param(10_000, 3, marks=pytest.mark.sweep)])
def test_a_mutated_module_runs_or_is_refused_in_one_line(count, seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    chance, found = random.Random(seed), {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(count):
            text = mutated((EVERYTHING, TRANSPOSE)[i % 3 == 0], chance)
            try:
                kind = outcome(text, chance)
            except Exception as error:
                raise AssertionError(f"mutation {i}: {type(error).__name__}: {error}\n{text}") from error
            found[kind] = found.get(kind, 0) + 1
    assert found["ran"] > count // 20 and found["ParseError"] > count // 10 and len(found) >= 5, found
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""                 # stderr may announce the first compilation of the machine


@pytest.mark.parametrize("operands", ["", "%r1", "%r1, %r2, %r3, %r4, %r5, %r6, %r7"])
def test_every_opcode_without_modifiers_between_accesses_of_shared_memory_is_refused_in_one_line(operands):
    for opcode in sorted({*TABLES, *(name.split(".")[0] for name in NAMES), "rsqrt", "bfind", "tex"}):
        text = module(f"st.shared.u32 [tile], %r1;\n{opcode} {operands};\nst.shared.u32 [tile+4], %r1;\nld.shared.u32 %r2, "
                      f"[tile];\n{opcode} {operands};\nld.shared.u32 %r3, [tile+4];", before=".shared .b32 tile[2];")
        try:
            sl.ptx.load(text)
        except SimlayoutError as error:
            assert "\n" not in str(error) and (opcode in str(error) or str(error).startswith("<text>:")), opcode


@pytest.mark.parametrize("text", [EVERYTHING, TRANSPOSE], ids=["everything", "transpose"])
def test_a_module_cut_off_anywhere_is_refused_with_a_place(text):
    for end in range(0, len(text.rstrip()) - 1, 7):
        try:
            sl.ptx.load(text[:end] + "\n")
        except SimlayoutError as error:
            assert "\n" not in str(error) and str(error).startswith("<text>:")
        else:
            assert text[:end].count("{") == text[:end].count("}")


@pytest.mark.parametrize("declared", [
    ".global .b8 huge[9999999999999];", ".const .b8 huge[9999999999999];", ".shared .b8 huge[9999999999999];",
    ".local .b8 huge[9999999999999];", ".global .b64 huge[4294967296][4294967296];", ".reg .b32 %x<999999999>;"])
def test_variables_of_any_size_cost_no_memory_before_they_are_refused(declared):
    inside = declared.startswith((".local", ".reg"))
    text = module(("" if not inside else declared) + "ret;", before="" if inside else declared)
    try:
        sl.ptx.load(text).entry().run(1, 32)
    except SimlayoutError as error:
        assert "\n" not in str(error)
    else:
        assert declared.startswith(".reg")
