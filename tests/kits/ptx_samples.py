"""Small PTX modules, written after what compilers emit: all that the grammar knows stands in one of them."""

_HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"

TENSOR_COPY = _HEAD + r"""
.extern .shared .align 128 .b8 buffer[];
.visible .entry copy(.param .align 64 .b8 map[128], .param .u64 .ptr .global .align 16 out, .param .u32 n)
.maxntid 128, 1, 1 .minnctapersm 2
.explicitcluster
.reqnctapercluster 2, 1, 1
{
    .reg .pred %p<3>;  .reg .b32 %r<9>;  .reg .b64 %rd<4>;
    .loc 1 12 5
    mov.u32 %r1, buffer;
    mov.b64 %rd1, map;
    cvta.param.u64 %rd2, %rd1;
    .loc 2 44 9, function_name $L__info_string0, inlined_at 1 12 5
    // begin inline asm
    mbarrier.init.shared::cta.b64 [%r1], 1;
    // end inline asm
    .loc 2 50 9, function_name $L__info_string1, inlined_at 2 44 9
    {
        .reg .pred P1;
        elect.sync _|P1, 0xffffffff;
        @P1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint
            [%r1+1024], [%rd2, {%r2, 0}], [%r1], %rd3;
    }
    {
        .reg .pred P1;
    LAB_WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], %r3;
        @P1 bra DONE;
        bra LAB_WAIT;
    DONE:
    }
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r4, %r5, %r6, %r7}, %rd1, %rd2, %p1, 1, 1, 0, 0;
    @!%p2 bra.uni $L__BB0_2;
    shfl.sync.bfly.b32 %r4|%p1, %r5, 16, 31, -1;
    st.shared.v4.b32 [%r1+-16], {%r4, %r5, %r6, %r7};
$L__BB0_2:
    ret;
}
.file 1 "/home/me/copy.cu"
.file 2 "/usr/include/cuda/ptx.h", 1700000000, 1234
.section .debug_str
{
$L__info_string0: .b8 99,111,112,121,0
$L__info_string1: .b8 119,97,105,116,0
.b32 $L__info_string1-$L__info_string0
}
"""

CALLS = _HEAD + r"""
.extern .func (.param .b32 func_retval0) vprintf(.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.func (.param .b32 r) twice(.param .b32 x) .noreturn;
.visible .func (.param .b32 r) thrice(.param .b32 x);
.alias thrice, twice;
.global .align 1 .b8 $str[4] = {37, 100, 10, 0};
.global .align 8 .u64 functions[3] = {twice, generic(twice), 0};
.func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<2>;
    ld.param.b32 %r0, [x];
    add.s32 %r1, %r0, %r0;
    st.param.b32 [r+0], %r1;
    ret;
}
.visible .entry main(.param .u64 main_param_0)
{
    .local .align 8 .b8 __local_depot0[16];
    .reg .b64 %SP, %SPL;  .reg .b32 %r<5>;  .reg .b64 %rd<5>;
    mov.u64 %SPL, __local_depot0;
    cvta.local.u64 %SP, %SPL;
    mov.u64 %rd1, $str;
    cvta.global.u64 %rd2, %rd1;
    add.u64 %rd3, %SP, 0;
    { // callseq 0, 0
        .param .b64 param0;
        st.param.b64 [param0], %rd2;
        .param .b64 param1;
        st.param.b64 [param1], %rd3;
        .param .b32 retval0;
        call.uni (retval0), vprintf, (param0, param1);
        ld.param.b32 %r1, [retval0];
    }
    { // callseq 1, 0
        .param .b32 param0;
        st.param.b32 [param0], %r1;
        .param .b32 retval0;
        ld.global.u64 %rd4, [functions+8];
        prototype_1 : .callprototype (.param .b32 _) _ (.param .b32 _);
        call (retval0), %rd4, (param0), prototype_1;
        ld.param.b32 %r2, [retval0+0];
    }
    ts: .branchtargets $L1, $L2;
    brx.idx %r2, ts;
$L1:
    trap;
$L2:
    exit;
}
"""

DATA = _HEAD + r"""
/* every kind of
   declaration */
.weak .const .align 4 .f32 blur[][3] = {{.05, .1, .05}, {.1, 4e-1, .1}};
.global .u32 bar[3] = {2, 3, 5};
.visible .global .align 8 .u64 table[4] = {bar, bar+8, generic(bar)+4};
.global .u8 bytes[4] = {0xff(bar), 0xFF00(generic(bar)+4), 0xff(1000 + 546), 0377};
.global .f64 halves = -0.5;
.const .b64 bits = (1 << 40) | 0b101U;
.common .global .v4 .f32 colour;
.global .attribute(.managed) .s32 counter;
.global .texref picture;
.global .samplerref edge = { addr_mode_0 = clamp_to_border, filter_mode = nearest };
.pragma "nounroll";
.entry draw(.param .u32 .ptr.const.align 8 a, .param .b64 .ptr b)
{
    .shared .v2 .u16 uv[2][8];
    .reg .v4 .f32 pixel;  .reg .pred p, q;  .reg .f32 f<4>;  .reg .u32 r<8>;  .reg .b128 wide;
    tex.2d.v4.f32.f32 {f0, f1, f2, _}|p, [picture, edge, {f1, f2}];
    mov.f32 f3, pixel.x;
    mov.v4.f32 pixel, {f0, f1, f2, 0f3F800000};
    setp.lt.and.s32 p|q, r1, -5, !p;
    mov.u32 r2, bar[2];
    ld.global.u32 r3, bar[1];
    ld.const.f64 f3, [bits + 4*2];
    vadd.u32.u32.u32 r4, r1.b0, r2.h1;
    vmad.s32.s32.u32 r5, r1, r2, -r3;
    mov .u32 r6, WARP_SZ - 1;
    mov.f64 f2, 0d3FF0000000000000;
    mov.u32 r7, %tid.r;
    mov.v4.u32 {r1, r2, r3, r4}, %ctaid;
    ld.shared.u16 r5, [uv+2].unified;
    ld.local.u32 r6, [16];
}
"""

TEXTS = {"TENSOR_COPY": TENSOR_COPY, "CALLS": CALLS, "DATA": DATA}
