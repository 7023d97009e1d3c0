"""The grammar of PTX, rule by rule: what a text means as data, and what is said of a text that has a fault."""

import struct
from time import process_time

import pytest
from ptx_samples import CALLS, DATA, TENSOR_COPY

from simlayout.errors import ParseError
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.syntax import (
    SINK,
    Address,
    Arguments,
    Float,
    Instruction,
    Integer,
    Label,
    Negated,
    Pair,
    Part,
    Prototype,
    Register,
    Relocation,
    Site,
    Special,
    Symbol,
    TensorAddress,
    Variable,
    Vector,
)

HEAD = ".version 9.0 .target sm_90a .address_size 64\n"
REGISTERS = (".reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .pred %p<4>; .reg .b16 %rs<4>; .reg .f32 %f<4>; .reg .f64 %fd<4>;"
             ".shared .align 16 .b8 buf[1024]; .shared .b32 word[8];\n")
R = [Register(f"%r{i}", "b32") for i in range(10)]
RD = [Register(f"%rd{i}", "b64") for i in range(10)]
P = [Register(f"%p{i}", "pred") for i in range(4)]


def function(body, before="", registers=REGISTERS):
    return parse(f"{HEAD}{before}.entry f(.param .u64 a, .param .u32 n) {{ {registers}{body} }}").functions["f"]


def instructions(body, before="", registers=REGISTERS):
    return [item for item in function(body, before, registers).body if isinstance(item, Instruction)]


def operands(text, before=""):
    [instruction] = instructions(text + ";", before)
    return instruction.operands


@pytest.mark.parametrize("text, expected", [
    ("%r1", R[1]), ("%tid.x", Special("%tid.x")), ("%tid.g", Special("%tid.y")), ("%clock64", Special("%clock64")),
    ("17", Integer(17)), ("-17", Integer(-17)), ("0x1F", Integer(31)), ("0X1fU", Integer(31)), ("017", Integer(15)),
    ("0b101", Integer(5)), ("0", Integer(0)), ("00", Integer(0)), ("18446744073709551615", Integer(2**64 - 1)),
    ("WARP_SZ", Integer(32)),
    ("0f3F800000", Float(0x3F800000, 32)), ("0d3ff0000000000000", Float(0x3FF0000000000000, 64)),
    ("-0F3F800000", Float(0xBF800000, 32)),
    *((text, Float(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 64))
      for text in ("1.5", ".5", "5.", "1e3", "-2.5E-3")),
    ("buf", Symbol("buf")), ("buf+16", Symbol("buf", 16)), ("buf - 4", Symbol("buf", -4)), ("word[3]", Symbol("word", 12)),
    ("[%rd1]", Address(RD[1])), ("[%rd1+16]", Address(RD[1], 16)), ("[%rd1+-16]", Address(RD[1], -16)),
    ("[ %rd1 - 0x10 ]", Address(RD[1], -16)), ("[buf+4]", Address(Symbol("buf"), 4)), ("[a]", Address(Symbol("a"))),
    ("[16]", Address(Integer(16))), ("[%rd1+4*4-8]", Address(RD[1], 8)), ("[%rd1].unified", Address(RD[1])),
    ("[%rd1, {%r1, 2}]", TensorAddress(RD[1], (R[1], Integer(2)))),
    ("[a, {%r1}]", TensorAddress(Symbol("a"), (R[1],))),
    ("[%rd1, %rd2, {%r1}]", TensorAddress(RD[1], (R[1],), 0, RD[2])),
    ("{%r1, %r2}", Vector((R[1], R[2]))), ("{_, %r2}", Vector((SINK, R[2]))), ("_", SINK),
    ("%p1|%p2", Pair(P[1], P[2])), ("_|%p2", Pair(SINK, P[2])), ("%r1 | %p1", Pair(R[1], P[1])), ("%p1|_", Pair(P[1], SINK)),
    ("{%r1, %r2}|%p1", Pair(Vector((R[1], R[2])), P[1])),
    ("!%p1", Negated(P[1])), ("-%r1", Negated(R[1])), ("%r1.b0", Part(R[1], "b0")), ("%r1.h10", Part(R[1], "h10")),
])
def test_an_operand_means(text, expected):
    assert operands(f"mov.b32 {text}") == (expected,)


@pytest.mark.parametrize("text, value", [
    ("2+3*4", 14), ("(2+3)*4", 20), ("-7/2", -3), ("-7 % 2", -1), ("1<<4|1", 17), ("0xF0 & 0xCC ^ 1", 0xC1), ("~0", -1),
    ("!5", 0), ("!0", 1), ("1?2:3", 2), ("0?2:1?4:5", 4), ("3<4", 1), ("-1 < 0U", 0), ("-1 >> 1", -1),
    ("(.u64) -1 >> 63", 1),
    ("(.s64) 0xFFFFFFFFFFFFFFFF", -1), ("1 == 1 && 2 != 2 || 1", 1), ("WARP_SZ*4", 128), ("- - 5", 5), ("1 << 64", 0),
    ("0x8000000000000000 / 2", 2**62), ("1.5 < 2.5", 1), ("2.0 == 2.5", 0), ("(1.5 >= 2.5) ? 4 : 5", 5), ("5 - 3 - 1", 1),
])
def test_a_constant_expression_of_integers_has_the_value(text, value):
    assert operands(f"mov.b64 %rd1, {text}") == (RD[1], Integer(value))


@pytest.mark.parametrize("text, value", [("1.0+2.0*3.0", 7.0), ("-(1.5)", -1.5), ("(1.0 - 3.0)/4.0", -0.5), ("+.5", 0.5)])
def test_a_constant_expression_of_floats_has_the_value(text, value):
    [_, found] = operands(f"mov.f64 %fd1, {text}")
    assert struct.unpack("<d", struct.pack("<Q", found.bits))[0] == value


def test_an_instruction_has_its_guard_its_modifiers_and_its_place():
    body = "\n  @!%p1\tld.global.L2::128B\n    .v2.b32 {%r1, %r2}, [%rd1]; ret;"
    first, second = instructions(body, registers=".reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .pred %p<4>;")
    assert first.guard == Negated(P[1])
    assert (first.opcode, first.modifiers) == ("ld", ("global", "L2::128B", "v2", "b32"))
    assert (first.line, first.column) == (3, 3)
    assert first.text == "@!%p1\tld.global.L2::128B\n    .v2.b32 {%r1, %r2}, [%rd1];"
    assert (second.name, second.operands, second.guard, second.line) == ("ret", (), None, 4)


def test_comments_are_spaces():
    found = instructions("/* one\n * two **/ mov.b32 %r1, /**/ 1; // ret;\n/***/exit;")
    assert [each.name for each in found] == ["mov.b32", "exit"]


def test_a_scope_has_registers_variables_and_labels_of_its_own():
    body = """
        mov.b32 %r1, 1;
        { .reg .b32 %r1; .reg .pred P;
        AGAIN: mov.b32 %r1, 2; @P bra AGAIN; bra DONE; bra END;
        DONE: { .reg .b32 %r1; mov.b32 %r1, 3; @P bra DONE; } }
        { .reg .pred P; .param .b32 q; AGAIN: @!P bra AGAIN; DONE: st.param.b32 [q], %r1; }
        END: mov.b32 %r1, 4;"""
    found = function(body)
    written = [item for item in found.body if isinstance(item, Instruction)]
    assert [each.operands[0].name for each in written if each.opcode == "mov"] == ["%r1", "%r1$1", "%r1$2", "%r1"]
    assert [each.name for each in found.body if isinstance(each, Label)] == ["AGAIN$1", "DONE$1", "AGAIN$3", "DONE$3", "END"]
    branches = [(str(each.guard.register.name if isinstance(each.guard, Negated) else each.guard and each.guard.name),
                 each.operands[0].name) for each in written if each.opcode == "bra"]
    assert branches == [("P$1", "AGAIN$1"), ("None", "DONE$1"), ("None", "END"), ("P$1", "DONE$1"), ("P$3", "AGAIN$3")]
    assert [*found.variables] == ["buf", "word", "q$3"]
    assert written[-2].operands == (Address(Symbol("q$3")), R[1])


def test_renamed_things_take_no_name_that_is_there():
    body = (".reg .b32 x$1; mov.b32 x$1, 0; { .reg .b32 x; mov.b32 x, 1; } "
            "{ .reg .b32 y; mov.b32 y, 2; } .reg .b32 y$2; mov.b32 y$2, 3;")
    names = [each.operands[0].name for each in instructions(body)]
    assert len(set(names)) == 4 and names[0] == "x$1"


def test_a_function_s_variable_that_hides_one_of_the_module_is_renamed():
    before = ".global .u32 buffer; .global .u32 other;\n"
    body = "mov.u64 %rd1, other; .shared .b32 other; mov.u64 %rd1, other; mov.u64 %rd1, buffer;"
    names = [each.operands[1].name for each in instructions(body, before)]
    assert names[0] == "other" and names[2] == "buffer"
    assert names[1] in function(body, before).variables and names[1] not in ("other", "buffer")


def test_registers_are_declared_by_the_hundred_with_the_names_that_ptx_gives_them():
    assert operands("add %r0, %r9, %r1") == (R[0], R[9], R[1])
    for name in ("%r10", "%r01", "%r", "%r1x", "%q1"):
        with pytest.raises(ParseError, match=f"expected a register that is declared, found '{name}'"):
            operands(f"add {name}")
    [first] = instructions("add q10, q14;", registers=".reg .b32 q1<5>;")
    assert first.operands == (Register("q10", "b32"), Register("q14", "b32"))


def test_a_vector_register_is_the_vector_of_its_components():
    [first, second] = instructions("mov.v4.f32 v, {v.x, v.y, v.b, v.a}; mov.v2.u32 w1, %tid;",
                                   registers=".reg .v4 .f32 v; .reg .v2 .u32 w<2>;")
    parts = [Register(f"v.{part}", "f32") for part in "xyzw"]
    assert first.operands == (Vector(tuple(parts)), Vector(tuple(parts)))
    assert second.operands == (Vector((Register("w1.x", "u32"), Register("w1.y", "u32"))),
                               Vector(tuple(Special(f"%tid.{part}") for part in "xyzw")))


def test_a_call_has_returns_callee_parameters_and_a_table():
    module = parse(CALLS)
    calls = [item for item in module.functions["main"].body if isinstance(item, Instruction) and item.opcode == "call"]
    assert calls[0].operands == (Arguments((Symbol("retval0$1"),)), Symbol("vprintf"),
                                 Arguments((Symbol("param0$1"), Symbol("param1$1"))))
    assert calls[1].operands == (Arguments((Symbol("retval0$2"),)), Register("%rd4", "b64"),
                                 Arguments((Symbol("param0$2"),)), Symbol("prototype_1$2"))
    prototype = module.functions["main"].tables["prototype_1$2"]
    assert isinstance(prototype, Prototype) and prototype.parameters[0].type == "b32"
    for text in ("call g", "call g, ()", "call (), g, ()", "call.uni g"):
        assert operands(text, ".func g { ret; }\n") == (Arguments(()), Symbol("g"), Arguments(()))


def test_a_table_of_targets_names_labels_of_its_scope():
    found = function("{ ts: .branchtargets L1, OUT; brx.idx %r1, ts; L1: } OUT: us: .branchtargets X<2>; X0: X1:")
    assert found.tables == {"ts$1": ("L1$1", "OUT"), "us": ("X0", "X1")}
    assert found.body[0].operands == (R[1], Symbol("ts$1"))


def test_functions_have_parameters_directives_and_linkage():
    module = parse(TENSOR_COPY)
    [copy] = module.functions.values()
    assert (copy.name, copy.entry, copy.linkage, copy.extern, copy.returns) == ("copy", True, "visible", False, ())
    assert copy.directives == {"maxntid": (128, 1, 1), "minnctapersm": (2,), "explicitcluster": (),
                               "reqnctapercluster": (2, 1, 1)}
    assert [(each.name, each.type, each.bytes, each.align, each.pointer) for each in copy.parameters] == [
        ("map", "b8", 128, 64, None), ("out", "u64", 8, 8, ("global", 16)), ("n", "u32", 4, 4, None)]
    assert module.variables["buffer"] == Variable("buffer", "shared", "b8", 128, 0, (None,), None, (), "extern", None, 5)
    declared = parse(CALLS).functions
    assert declared["vprintf"].extern and declared["vprintf"].body is None
    assert declared["twice"].returns[0].name == "r" and declared["twice"].body is not None
    assert parse(CALLS).aliases == {"thrice": "twice"}


@pytest.mark.parametrize("written, path", [
    (r"/home/j\303\266rg/\345\270\203 1/k.py", "/home/j\xf6rg/\u5e03 1/k.py"),
    (r"/a\"b\"/k.cu", '/a"b"/k.cu'), (r"C:\\303\\k.cu", r"C:\303\k.cu"), ("/caf\xe9.cu", "/caf\xe9.cu"),
    (r"/\377.cu", "/\udcff.cu")])
def test_a_path_is_read_as_compilers_write_it(written, path):
    assert parse(HEAD + f'.file 1 "{written}"').files == {1: path}


def test_the_source_line_comes_with_the_calls_that_it_was_inlined_at():
    module = parse(TENSOR_COPY)
    sites = {item.opcode: item.site for item in module.functions["copy"].body if isinstance(item, Instruction)}
    user, header = "/home/me/copy.cu", "/usr/include/cuda/ptx.h"
    assert module.files == {1: user, 2: header}
    assert sites["mov"] == Site(user, 12)
    assert sites["mbarrier"] == Site(header, 50, ((header, 44), (user, 12)))
    assert parse(HEAD + ".entry f() { .loc 3 7 1\n ret; }").functions["f"].body[0].site == Site("<file 3>", 7)
    assert parse(HEAD + ".entry f() { ret; }").functions["f"].body[0].site is None


def test_a_place_that_is_inlined_into_itself_keeps_a_chain_of_bounded_length():
    loc = ".loc 1 5 3, function_name $L, inlined_at 1 5 3\n"
    [only] = instructions(f".loc 1 5 3\n{loc * 100} ret;")
    assert 0 < len(only.site.callers) < 100


def test_variables_have_sizes_and_initial_values():
    found = parse(DATA).variables
    blur = found["blur"]
    assert (blur.shape, blur.bytes, blur.linkage, blur.space) == ((2, 3), 24, "weak", "const")
    assert blur.initial == struct.pack("<6f", .05, .1, .05, .1, .4, .1)
    assert found["bar"].initial == struct.pack("<3I", 2, 3, 5)
    assert found["table"].relocations == (Relocation(0, 8, "bar"), Relocation(8, 8, "bar", 8),
                                          Relocation(16, 8, "bar", 4, generic=True))
    assert found["bytes"].relocations == (Relocation(0, 1, "bar", mask=0xff), Relocation(1, 1, "bar", 4, True, 0xff00))
    assert found["bytes"].initial == bytes([0, 0, 1546 & 255, 0o377])
    assert found["halves"].initial == struct.pack("<d", -0.5)
    assert found["bits"].initial == struct.pack("<Q", 1 << 40 | 5)
    assert (found["colour"].shape, found["colour"].align, found["colour"].bytes) == ((4,), 16, 16)
    assert (found["counter"].initial, found["edge"].type) == (None, "samplerref")
    uv = parse(DATA).functions["draw"].variables["uv"]
    assert (uv.shape, uv.bytes, uv.align, uv.space) == ((2, 8, 2), 64, 4, "shared")


def test_an_initial_value_stops_where_nothing_is_given():
    found = parse(HEAD + ".global .u16 x[2][2] = {{1}, {2}}; .global .b8 y[1000000000] = {7};").variables
    assert found["x"].initial == struct.pack("<3H", 1, 0, 2) and found["x"].bytes == 8
    assert found["y"].initial == b"\7" and found["y"].bytes == 10**9


def test_a_variable_that_is_declared_extern_may_be_defined_after_that():
    text = ".extern .global .u32 x; .visible .global .u32 x = 3; .extern .global .u32 x;"
    assert parse(HEAD + text).variables["x"].initial == struct.pack("<I", 3)


def test_a_module_says_its_version_target_options_and_address_size():
    module = parse(".version 8.4\n.target sm_80, debug, texmode_unified\n.entry f() { ret; }\0\0", "a.ptx")
    assert (module.version, module.target, module.options) == ((8, 4), "sm_80", ("debug", "texmode_unified"))
    assert (module.address_size, module.path) == (64, "a.ptx")


@pytest.mark.slow
def test_twenty_thousand_lines_are_read_in_two_seconds_of_the_processor():
    lines = "\n".join(f".loc 1 {i % 500} 3\n@%p{i % 4} mad.wide.s32 %rd{i % 10}, %r{i % 9}, {i}, %rd{i % 7};" if i % 3 else
                      f"ld.shared.v4.b32 {{%r1, %r2, %r3, %r{i % 10}}}, [%r{i % 10}+{i}];" for i in range(20_000))
    started = process_time()
    assert len(instructions(lines)) == 20_000
    assert process_time() - started < 2
