"""What variables and names of a PTX module become."""

import numpy as np

from simlayout.machine.ptx.loading import load

MODULE = """
.version 8.0
.target sm_90
.address_size 64
.shared .align 16 .b8 big[200000];
.shared .align 4 .b8 small[64];
.func (.reg .u32 r) twice(.reg .u32 a)
{
    .shared .align 4 .b8 tile[16];
    .reg .b32 %r<4>;
    st.shared.u32 [tile+4], a;
    ld.shared.u32 %r1, [tile+4];
    add.u32 r, %r1, a;
    ret;
}
.visible .entry other()
{
    .reg .b32 %r<2>;
    mov.u32 %r1, 7;
    st.shared.u32 [big], %r1;
    ret;
}
.visible .entry main(.param .u64 out)
{
    .shared .align 4 .b8 tile[16];
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, 5;
    st.shared.u32 [tile+4], %r1;
    st.shared.u32 [small], %r1;
    call (%r2), twice, (11);
    ld.shared.u32 %r3, [tile+4];
    st.global.v2.u32 [%rd1], {%r2, %r3};
    ret;
}
"""


def test_shared_variables_of_the_same_name_in_two_functions_are_two():
    out = np.zeros(2, np.uint32)
    load(MODULE)["main"].run(1, 1, out)
    assert out.tolist() == [22, 5]


def test_shared_variables_that_an_entry_does_not_use_take_no_room():
    module = load(MODULE)
    assert module["main"].program.static_shared == 64 + 16 + 16
    assert module["other"].program.static_shared == 200000


NEGATIVE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry main(.param .u64 out)
{
    .shared .align 4 .b8 tile[256];
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, tile;
    add.u32 %r2, %r1, -128;
    mov.u32 %r3, 9;
    st.shared.u32 [%r2+132], %r3;
    ld.shared.u32 %r4, [%r1+4];
    st.global.u32 [%rd1], %r4;
    ret;
}
"""


def test_sums_of_shared_addresses_wrap_at_32_bits():
    out = np.zeros(1, np.uint32)
    load(NEGATIVE)["main"].run(1, 1, out)
    assert out.tolist() == [9]
