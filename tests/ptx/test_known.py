"""What is known of registers before a program runs: in a time that grows with the program, whatever it is made of."""

import pytest
from ptx_texts import module

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.known import Known

ALL = (1 << 64) - 1


def known(body):
    return Known(parse(module(body + "ret;", before="")).functions["kernel"])


def register(name):
    return syntax.Register(name, "b32")


@pytest.mark.parametrize("body", ["or.b32 %r1, %r1, %r1;", "or.b32 %r1, %r2, %r2; or.b32 %r2, %r1, %r1;",
                                  "add.u32 %r1, %r1, 1;", "selp.b32 %r1, %r1, %r2, %p1; mov.u32 %r2, %r1;"])
def test_nothing_is_known_of_a_register_that_is_made_of_itself(body):
    assert known(body).bits(register("%r1")) == ALL and not known(body).uniform(register("%r1"))


def test_long_chains_and_doubled_sums_end_at_once():
    lines = "".join(f"or.b32 %x{i + 1}, %x{i}, %x{i}; " for i in range(3000))
    body = f".reg .b32 %x<3001>; mov.u32 %x0, 5; {lines}"
    found = known(body)
    assert (found.bits(register("%x90")), found.uniform(register("%x90"))) == (5, True)
    assert (found.bits(register("%x3000")), found.uniform(register("%x3000"))) == (ALL, False)


@pytest.mark.parametrize("by, bits", [(0, 3), (4, 48), (64, 0), (4294967295, 0), (2**63, 3)])
def test_a_shift_by_any_number_is_looked_at(by, bits):
    found = known(f"mov.u64 %rd1, 3; shl.b64 %rd2, %rd1, {by};")
    assert found.bits(syntax.Register("%rd2", "b64")) == bits


def test_what_only_computes_what_nothing_reads_is_unread():
    lines = "add.s32 %r1, %r0, 1; add.s32 %r2, %r1, 1; add.s32 %r3, %r0, 2; st.shared.b32 [%r3], %r3; ret;"
    function = parse(module(lines)).functions["kernel"]
    assert [Known(function).unread(one.operands[0]) for one in function.body[:3]] == [True, True, False]
