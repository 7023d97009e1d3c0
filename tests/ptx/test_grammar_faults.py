"""What the grammar of PTX says of a text that has a fault."""

import pytest

from simlayout.errors import ParseError
from simlayout.machine.ptx.parser.grammar import parse

HEAD = ".version 9.0 .target sm_90a .address_size 64\n"


@pytest.mark.parametrize("text, said", [
    ("", "1:1: expected '.version', with which PTX begins (`nvcc -lineinfo -ptx` makes it of CUDA C++), found the end of "
     "the text"),
    (".version nine", "1:10: expected a version such as 9.0, found 'nine'"),
    (".version 9.0\n", "1:13: expected '.target', found the end of the text"),
])
def test_a_text_that_begins_like_no_module_is_refused(text, said):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == f"<text>:{said}"


@pytest.mark.parametrize("text, said", [
    ("entry f() {}", "1: expected a directive such as .entry, .func or .global, found 'entry'"),
    (".entry f() { ret }", "18: expected an operand, found '}'"),
    (".entry f() { ret;", "18: expected an instruction, a label, a declaration or '}', found the end of the text"),
    (".entry f() { ret; ret.; }", "22: expected an operand, found '.'"),
    (".entry f() .maxntid { }", "21: expected a number, found '{'"),
    (".entry f() .maxntid 99999999999 { }", "21: expected a number from 0 to 4294967295, found '99999999999'"),
    (".entry f(.param .u32) { }", "21: expected the name of a variable, found ')'"),
    (".entry f() { .reg .f33 x; }", "19: expected a type such as .b32, found '.f33'"),
    (".entry f() { .reg .b32 x, x; }", "27: expected a name that line 2 does not declare already, found 'x'"),
    (".entry f() { .reg .b32 x<5>, x3; }", "30: expected a name that no group of registers has already, found 'x3'"),
    (".entry f() { bra L; }", "18: expected a register, variable, label or function that is declared, found 'L'"),
    (".entry f() { { L: } bra L; }", "25: expected a register, variable, label or function that is declared, found 'L'"),
    (".entry f() { L: L: }", "17: expected a name that line 2 does not declare already, found 'L'"),
    (".entry f() { .reg .b32 r; @r ret; }", "28: expected a register of type .pred, found 'r'"),
    (".entry f() { mov.b32 %tid.x, %tad.x; }", "30: expected a register that is declared, found '%tad.x'"),
    (".entry f() { mov.b32 a, 0f3F8; }", "25: expected an integer of at most 64 bits, found '0f3F8'"),
    (".entry f() { mov.b32 a, 018; }", "25: expected an integer of at most 64 bits, found '018'"),
    (".entry f() { mov.b32 a, 1/0; }", "27: expected a divisor that is not 0, found '0'"),
    (".entry f() { mov.b32 a, 1+1.5; }", "26: expected an operator that takes these two numbers, found '+'"),
    (f".entry f() {{ mov.b32 a, {'(' * 99}; }}", "57: expected at most 32 levels of a constant expression, found '('"),
    (f".entry f() {{ {'{' * 99} }}", "78: expected at most 64 scopes within each other, found '{'"),
    (".entry f() { .reg .b32 r; .shared .b32 t[4]; ld.shared.b32 r, t[r]; }",
     "65: expected a number, because an index in a register has to be added to the address before, found 'r'"),
    (".entry f() { ld [1.5]; }", "18: expected an integer, found '1.5'"),
    (".entry f() { ld [%tid.x]; }", "18: expected a register, a variable or a number, found '%tid.x'"),
    (".entry f() { ld {{1}}; }", "18: expected a register or a constant, found '{'"),
    (".entry f() { /* ret; }", "14: expected an instruction, a label, a declaration or '}', found '/* ret; }'"),
    (".entry f() { \x07 }", "14: expected an instruction, a label, a declaration or '}', found '\\x07'"),
    ('.file 1 "a.cu\n.entry f() { }', "9: expected a string in double quotes, found '\"a.cu'"),
    (".global .u32 x = {1};", "18: expected a number, found '{'"),
    (".global .u32 x[1] = {1, 2};", "25: expected '}', because all elements are given, found '2'"),
    (".global .u8 x = 300;", "17: expected an integer of 8 bits, found '300'"),
    (".global .u32 x = 1.5;", "18: expected a constant of type .u32, found '1.5'"),
    (".global .f16 x = 1.5;",
     "16: expected ';', because no variable of such a type or space has an initial value, found '='"),
    (".global .u64 x = y;", "18: expected a register, variable, label or function that is declared, found 'y'"),
    (".global .b8 x[1099511627777];", "15: expected a length from 0 to 1099511627776, found '1099511627777'"),
    (".global .b8 x[2][1099511627776];", "13: expected a variable of at most 1099511627776 bytes, found 'x'"),
    (".global .b8 x[2][1000000000] = {{1}, {2}};",
     "39: expected at most 134217728 bytes of an initial value, found '2'"),
    (".shared .align 3 .b8 x;", "16: expected a power of two, found '3'"),
    (".entry f() { ret; } .entry f() { ret; }", "28: expected a name that is not declared already, found 'f'"),
    (".global .u32 x; .global .u32 x;", "30: expected a name that is not declared already, found 'x'"),
    (".section .debug_info { .b8 1", "29: expected '}', found the end of the text"),
    ("a" * 99, f"1: expected a directive such as .entry, .func or .global, found '{'a' * 40}...'"),
])
def test_a_fault_is_told_in_one_line(text, said):
    with pytest.raises(ParseError) as caught:
        parse(HEAD + text, "dir/kernel.ptx")
    assert str(caught.value) == f"dir/kernel.ptx:2:{said}"


def test_what_is_no_text_is_refused():
    with pytest.raises(ParseError, match=r"\Aparse takes the text of a PTX module, not bytes\Z"):
        parse(b".version 9.0")
