// Numbers: integers of 64 and 128 bits, bits, doubles, halves, bf16, conversions, and the approximate functions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

extern "C" __global__ void integers(const long long *a, const long long *b, long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long x = a[i], y = b[i];
    unsigned long long u = x, v = y;
    long long *o = out + 8 * i;
    o[0] = y ? x / y : 0, o[1] = y ? x % y : 0, o[2] = v ? u / v : 0, o[3] = v ? u % v : 0;
    unsigned __int128 p = (unsigned __int128)u * v + u;   // carries
    o[4] = (long long)(p >> 64), o[5] = (long long)(p - ((unsigned __int128)v << 3)), o[6] = __mul64hi(x, y), o[7] = (long long)((__int128)x * y >> 17);
}

extern "C" __global__ void bits(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = b[i], *o = out + 16 * i;
    unsigned long long w = (unsigned long long)x << 32 | y;
    o[0] = __popc(x), o[1] = __clz(x), o[2] = __brev(x), o[3] = __ffs(x), o[4] = __byte_perm(x, y, y & 0x7777);
    o[5] = __funnelshift_l(x, y, x & 31), o[6] = __funnelshift_rc(x, y, y & 63), o[7] = __popcll(w) * 100 + __clzll(w);
    o[8] = __dp4a((int)x, (int)y, 5), o[9] = __dp2a_lo((int)x, (int)y, 5), o[10] = __umulhi(x, y), o[11] = __mulhi((int)x, (int)y);
    o[12] = __vmaxs2(x, y), o[13] = __sad((int)x, (int)y, 3u), o[14] = (x & y) | (~x & 0xf0f0u) | (y ^ x), o[15] = __uhadd(x, y) ^ __urhadd(x, y);
}

extern "C" __global__ void doubles(const double *a, const double *b, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = a[i], y = b[i], *o = out + 8 * i;
    o[0] = x + y, o[1] = x * y, o[2] = x / y, o[3] = sqrt(fabs(x)), o[4] = fma(x, y, -x * y), o[5] = floor(x) + ceil(y) + rint(x) + trunc(y);
    o[6] = __dadd_rd(x, y) - __dadd_ru(x, y), o[7] = fmin(x, y) + fmax(x, y) * 2;
}

extern "C" __global__ void floats(const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i], *o = out + 12 * i;
    o[0] = x + y, o[1] = x / y, o[2] = sqrtf(fabsf(x)), o[3] = fmaf(x, y, -x), o[4] = __fadd_rz(x, y), o[5] = __fmul_ru(x, y);
    o[6] = __saturatef(x), o[7] = floorf(x) + rintf(y), o[8] = fmodf(x, y), o[9] = __frcp_rn(y), o[10] = copysignf(x, y), o[11] = ldexpf(x, (int)(y * 3));
}

extern "C" __global__ void halves(const half2 *a, const half2 *b, half2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    half2 x = a[i], y = b[i], *o = out + 8 * i;
    o[0] = __hadd2(x, y), o[1] = __hmul2(x, y), o[2] = __hfma2(x, y, x), o[3] = __hsub2_sat(x, y), o[4] = __hmax2(x, y), o[5] = __hmin2_nan(x, y);
    o[6] = __halves2half2(__low2half(x) / __high2half(y), __hneg(__high2half(x))), o[7] = __hfma2_relu(x, y, y);
}

extern "C" __global__ void brains(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat162 x = a[i], y = b[i], *o = out + 4 * i;
    o[0] = __hadd2(x, y), o[1] = __hfma2(x, y, y), o[2] = __hmax2(x, y), o[3] = __floats2bfloat162_rn(__low2float(x) * __high2float(y), __high2float(x));
}

extern "C" __global__ void conversions(const float *in, const double *wide, int *out, unsigned short *narrow, float *back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    double y = wide[i];
    int *o = out + 8 * i;
    o[0] = __float2int_rn(x), o[1] = __float2int_rz(x), o[2] = __float2int_ru(x), o[3] = (int)__float2uint_rd(x);
    o[4] = __double2int_rn(y), o[5] = (int)(__double2ll_rz(y) >> 3), o[6] = __float_as_int(__double2float_rz(y)), o[7] = __float_as_int(__int2float_rd(__float_as_int(x)));
    narrow[2 * i] = __half_as_ushort(__float2half_rn(x)), narrow[2 * i + 1] = __bfloat16_as_ushort(__float2bfloat16_rz(x));
    __nv_fp8x2_storage_t e = __nv_cvt_float2_to_fp8x2(make_float2(x, -x), __NV_SATFINITE, __NV_E4M3);
    __half2_raw h = __nv_cvt_fp8x2_to_halfraw2(e, __NV_E4M3);
    back[2 * i] = (float)e, back[2 * i + 1] = __half2float(__half(__half_raw{h.x})) + (float)(char)(int)x + (float)(short)o[1];
}

extern "C" __global__ void approximate(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i], a = fabsf(x), *o = out + 12 * i;
    o[0] = exp2f(x), o[1] = __expf(x), o[2] = __log2f(a), o[3] = __sinf(x), o[4] = __cosf(x), o[5] = rsqrtf(a);
    o[6] = __fdividef(1.0f, x), o[7] = __powf(a, 1.5f), o[9] = __tanf(x * 0.1f), o[10] = logf(a), o[11] = sinf(x);
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x));
    o[8] = t;
}
