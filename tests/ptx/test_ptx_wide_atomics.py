"""Atomics of 128 bits, which change both halves or none, and the order of an atomic's modifiers."""

import numpy as np
import pytest
from hypothesis import strategies as st
from ptx_texts import module
from tiers import given_few

import simlayout as sl
from simlayout.errors import InstructionError

START = """.reg .b32 %lane, %at, %slot; .reg .b64 %places, %with, %other, %found, %off, %a, %b; .reg .b128 %x, %y, %old;
.shared .align 16 .b8 smem[512];
ld.param.u64 %places, [kernel_param_0]; ld.param.u64 %with, [kernel_param_1];
ld.param.u64 %other, [kernel_param_2]; ld.param.u64 %found, [kernel_param_3];
mov.u32 %lane, %tid.x; mul.wide.u32 %off, %lane, 16;
add.u64 %with, %with, %off; add.u64 %other, %other, %off; add.u64 %found, %found, %off;
ld.global.v2.u64 {%a, %b}, [%with]; mov.b128 %x, {%a, %b};
ld.global.v2.u64 {%a, %b}, [%other]; mov.b128 %y, {%a, %b};
and.b32 %slot, %lane, 3;
"""
GLOBAL = """mul.wide.u32 %off, %slot, 16; add.u64 %places, %places, %off;
{atomic}
st.global.b128 [%found], %old; ret;"""
SHARED = """mov.u32 %at, smem; mad.lo.u32 %at, %slot, 16, %at; mul.wide.u32 %off, %slot, 16; add.u64 %places, %places, %off;
setp.lt.u32 %p1, %lane, 4;
@%p1 ld.global.v2.u64 {{%a, %b}}, [%places]; @%p1 st.shared.v2.u64 [%at], {{%a, %b}};
bar.sync 0;
{atomic}
bar.sync 0;
@%p1 ld.shared.v2.u64 {{%a, %b}}, [%at]; @%p1 st.global.v2.u64 [%places], {{%a, %b}};
st.global.b128 [%found], %old; ret;"""
FORMS = {"exch": "atom.{space}.relaxed.gpu.exch.b128 %old, [{at}], %x;",
         "cas": "atom.{space}.relaxed.gpu.cas.b128 %old, [{at}], %x, %y;"}


def program(space, form):
    text = FORMS[form].format(space=space, at="%at" if space == "shared" else "%places")
    return sl.ptx.load(module(START + (SHARED if space == "shared" else GLOBAL).format(atomic=text), ["u64"] * 4)).entry()


def one_after_another(form, places, compared, given):
    """What the lanes find, and what is left, in plain Python."""
    held, found = [tuple(row) for row in places.tolist()], []
    for lane, (x, y) in enumerate(zip(compared.tolist(), given.tolist())):
        before = held[lane % 4]
        found.append(before)
        held[lane % 4] = tuple(x) if form == "exch" else tuple(y) if before == tuple(x) else before
    return held, found


few = st.integers(0, 1).map(lambda bit: bit << 63 | bit)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("space", ["global", "shared"])
@given_few(6, 15, data=st.data())
def test_both_halves_are_changed_or_none(space, form, data):
    drawn = [np.array(data.draw(st.lists(few, min_size=n, max_size=n)), np.uint64).reshape(-1, 2) for n in (8, 64, 64)]
    held, found = one_after_another(form, *drawn)
    out = np.zeros((32, 2), np.uint64)
    program(space, form).run(1, 32, *drawn, out)
    assert [tuple(row) for row in out.tolist()] == found and [tuple(row) for row in drawn[0].tolist()] == held


@pytest.mark.parametrize("form", FORMS)
def test_they_count_in_shared_memory_as_the_table_has_them(form):
    trace = program("shared", form).run(1, 32, *(np.zeros((n, 2), np.uint64) for n in (4, 32, 32, 32)))
    count, = (one for one in trace.by_instruction() if one.instruction.startswith("atom"))
    wanted = sl.analyze(f"atom.shared.{form}.b128", 16 * (np.arange(32) % 4))
    assert (count.wavefronts, count.ideal) == (wanted.wavefronts[0], wanted.ideal[0])


def test_others_than_exch_and_cas_are_refused():
    with pytest.raises(InstructionError, match=r"atomics of \.b128 are \.exch and \.cas, not \.add"):
        sl.ptx.load(module(START + "atom.global.add.b128 %old, [%places], %x; ret;", ["u64"] * 4))


@pytest.mark.parametrize("name", ["red.global.add.v2.f32", "red.global.v2.f32.add", "red.v2.f32.add.global"])
def test_modifiers_of_an_atomic_stand_in_any_order(name):
    body = f""".reg .f32 %x, %y; ld.param.u64 %rd1, [kernel_param_0]; mov.f32 %x, 0f3F800000; mov.f32 %y, 0f40000000;
    {name} [%rd1], {{%x, %y}}; ret;"""
    out = np.zeros(2, np.float32)
    sl.ptx.load(module(body, ["u64"])).entry().run(1, 32, out)
    assert out.tolist() == [32, 64]
