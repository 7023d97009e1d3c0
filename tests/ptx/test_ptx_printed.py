"""printf of kernels against that of the C library."""

import ctypes
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ptx_texts import module

import simlayout as sl
from simlayout.machine.ptx.opcodes.builtins import WIDE
from simlayout.machine.ptx.opcodes.builtins import printed_number as number
from simlayout.machine.ptx.opcodes.builtins import printed_real as real
from simlayout.machine.ptx.opcodes.builtins import printed_text as text

snprintf = ctypes.CDLL(None).snprintf
WIDTHS = st.sampled_from([b"", b"1", b"7", b"23"])
PRECISIONS = st.sampled_from([b"", b".0", b".3", b".12"])


def by_c(form, value):
    room = ctypes.create_string_buffer(600)
    snprintf(room, 600, form, value)
    return room.value


def flags(some):
    return st.sets(st.sampled_from(some)).map(lambda found: bytes(sorted(found)))


@given(flags(b"-+ 0"), WIDTHS, st.sampled_from([b"", b".3", b".12"]),
       st.sampled_from([b"", b"h", b"hh", b"l", b"ll", b"z", b"j", b"t"]), st.integers(0, 2**64 - 1))
def test_a_signed_integer_is_printed_as_c_prints_it(some, width, precision, length, bits):
    bits &= 2**64 - 1 if length in WIDE else 2**32 - 1
    if precision:
        some = some.replace(b"0", b"")                   # ignored there by C, not by Python
    form = b"%" + some + width + precision
    assert number(form, length, "d", bits) == by_c(form + length + b"d", ctypes.c_uint64(bits))


@given(flags(b"-0"), WIDTHS, st.sampled_from("uxX"), st.sampled_from([b"", b"h", b"hh", b"ll"]), st.integers(0, 2**64 - 1))
def test_an_unsigned_integer_is_printed_as_c_prints_it(some, width, kind, length, bits):
    bits &= 2**64 - 1 if length in WIDE else 2**32 - 1
    form = b"%" + some + width
    assert number(form, length, kind, bits) == by_c(form + length + kind.encode(), ctypes.c_uint64(bits))


@given(flags(b"-#"), WIDTHS, st.integers(0, 2**32 - 1))
def test_octal_digits_begin_with_0_if_asked(some, width, bits):
    form = b"%" + some + width
    assert number(form, b"", "o", bits) == by_c(form + b"o", ctypes.c_uint32(bits))


@given(flags(b"-+ 0"), WIDTHS, PRECISIONS, st.sampled_from("eEfFgG"), st.floats(allow_nan=False, allow_infinity=False))
def test_a_real_number_is_printed_as_c_prints_it(some, width, precision, kind, value):
    form = b"%" + some + width + precision
    assert real(form, kind, value) == by_c(form + kind.encode(), ctypes.c_double(value))


@given(WIDTHS, st.sampled_from("aA"), st.floats(allow_nan=False, allow_subnormal=False))
def test_a_real_number_in_hexadecimal_is_printed_as_c_prints_it(width, kind, value):
    form = b"%" + width
    assert real(form, kind, value) == by_c(form + kind.encode(), ctypes.c_double(value)) or math.isinf(value)


@given(flags(b"-"), WIDTHS, PRECISIONS, st.binary(max_size=9).map(lambda value: value.replace(b"\0", b"")))
def test_text_is_printed_as_c_prints_it(some, width, precision, value):
    form = b"%" + some + width + precision
    assert text(form, value) == by_c(form + b"s", value)


FORMAT = b"%3c|%-4d|%*d|%5.1f%%|%s\n\0"

PRINTS = """
.local .align 8 .b8 packed[32];
mov.u32 %r1, 98; st.local.u32 [packed], %r1;
mov.u32 %r1, -7; st.local.u32 [packed+4], %r1;
mov.u32 %r1, 6; st.local.u32 [packed+8], %r1;
mov.u32 %r1, 42; st.local.u32 [packed+12], %r1;
mov.f64 %fd1, 0d4058D00000000000; st.local.f64 [packed+16], %fd1;
mov.u64 %rd1, word; cvta.global.u64 %rd1, %rd1; st.local.u64 [packed+24], %rd1;
mov.u64 %rd2, form; cvta.global.u64 %rd2, %rd2;
mov.u64 %rd3, packed; cvta.local.u64 %rd3, %rd3;
{
.param .b64 a; .param .b64 b; .param .b32 r;
st.param.b64 [a], %rd2; st.param.b64 [b], %rd3;
call (r), vprintf, (a, b);
}
ret;
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_each_thread_prints(threads, capsys):
    before = f""".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .b8 form[{len(FORMAT)}] = {{{", ".join(map(str, FORMAT))}}};
.global .b8 word[5] = {{116, 105, 108, 101, 0}};"""
    sl.ptx.load(module(PRINTS, before=before)).entry().run(1, threads)
    assert capsys.readouterr().out == "  b|-7  |    42| 99.2%|tile\n" * threads
