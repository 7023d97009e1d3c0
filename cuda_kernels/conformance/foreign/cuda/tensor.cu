// Tensor cores: nvcuda::wmma and mma.sync of six types. A is (M, K), B is (N, K), both row-major, C is (M, N) row-major.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>

using namespace nvcuda;

template <typename T>
__device__ void wmma_product(const T *a, const T *b, float *c, int n, int k) {
    __shared__ T as[2][32][24], bs[2][32][24];            // padded by 8 elements
    int t = threadIdx.x, warp = t / 32, row = warp / 2 * 16, col = warp % 2 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int at = 0, buffer = 0; at < k; at += 16, buffer ^= 1) {
        int r = t / 4, s = t % 4 * 4;
        *reinterpret_cast<uint2 *>(&as[buffer][r][s]) = *reinterpret_cast<const uint2 *>(&a[(blockIdx.y * 32 + r) * k + at + s]);
        *reinterpret_cast<uint2 *>(&bs[buffer][r][s]) = *reinterpret_cast<const uint2 *>(&b[(blockIdx.x * 32 + r) * k + at + s]);
        __syncthreads();
        wmma::load_matrix_sync(x, &as[buffer][row][0], 24);
        wmma::load_matrix_sync(y, &bs[buffer][col][0], 24);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(c + (blockIdx.y * 32 + row) * n + blockIdx.x * 32 + col, sum, n, wmma::mem_row_major);
}

extern "C" __global__ void wmma_f16(const half *a, const half *b, float *c, int n, int k) { wmma_product(a, b, c, n, k); }
extern "C" __global__ void wmma_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n, int k) { wmma_product(a, b, c, n, k); }

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// 64x32 of C by 4 warps of 16x32, chunks of K of 32, rows of 64 bytes whose 16-byte chunks are exchanged; ldmatrix.
extern "C" __global__ void mma_f16(const half *a, const half *b, half *c, int n, int k) {
    __shared__ __align__(128) half as[64][32], bs[32][32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    float sum[4][4] = {};
    for (int at = 0; at < k; at += 32) {
        __syncthreads();
        for (int i = t; i < 96 * 4; i += 128) {
            int r = i / 4, s = i % 4, place = (s ^ (r / 2 % 4)) * 8;
            uint4 x = *reinterpret_cast<const uint4 *>(r < 64 ? &a[(blockIdx.y * 64 + r) * k + at + s * 8] : &b[(blockIdx.x * 32 + r - 64) * k + at + s * 8]);
            *reinterpret_cast<uint4 *>(r < 64 ? &as[r][place] : &bs[r - 64][place]) = x;
        }
        __syncthreads();
        for (int kk = 0; kk < 2; ++kk) {
            unsigned x[4], y[4][2];
            int r = warp * 16 + lane % 16, s = kk * 2 + lane / 16;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(shared(&as[r][(s ^ (r / 2 % 4)) * 8])));
            for (int j = 0; j < 4; ++j) {
                int q = j * 8 + lane % 8, u = kk * 2 + lane / 8 % 2;
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                             : "=r"(y[j][0]), "=r"(y[j][1]) : "r"(shared(&bs[q][(u ^ (q / 2 % 4)) * 8])));
            }
            for (int j = 0; j < 4; ++j)
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[j][0]), "r"(y[j][1]));
        }
    }
    for (int j = 0; j < 4; ++j)
        for (int h = 0; h < 2; ++h)
            *reinterpret_cast<half2 *>(&c[(blockIdx.y * 64 + warp * 16 + lane / 4 + 8 * h) * n + blockIdx.x * 32 + j * 8 + lane % 4 * 2]) =
                __floats2half2_rn(sum[j][2 * h], sum[j][2 * h + 1]);
}

// One warp, 16x8 of C, operands straight from global memory in 32-bit registers; WIDTH elements of a register.
#define DIRECT(NAME, TYPE, OUT, KSTEP, SHAPE, TYPES, OPERANDS, ZERO)                                                           \
    extern "C" __global__ void NAME(const TYPE *a, const TYPE *b, OUT *c, int n, int k) {                                       \
        const int width = 4 / sizeof(TYPE), lane = threadIdx.x, row = blockIdx.y * 16 + lane / 4, col = blockIdx.x * 8 + lane / 4; \
        OUT d0 = ZERO, d1 = ZERO, d2 = ZERO, d3 = ZERO;                                                                         \
        for (int at = 0; at < k; at += KSTEP) {                                                                                 \
            int low = at + lane % 4 * width, high = low + KSTEP / 2;                                                            \
            unsigned x0 = *reinterpret_cast<const unsigned *>(&a[row * k + low]), x1 = *reinterpret_cast<const unsigned *>(&a[(row + 8) * k + low]); \
            unsigned x2 = *reinterpret_cast<const unsigned *>(&a[row * k + high]), x3 = *reinterpret_cast<const unsigned *>(&a[(row + 8) * k + high]); \
            unsigned y0 = *reinterpret_cast<const unsigned *>(&b[col * k + low]), y1 = *reinterpret_cast<const unsigned *>(&b[col * k + high]); \
            asm volatile("mma.sync.aligned." SHAPE ".row.col." TYPES " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                         : OPERANDS(d0), OPERANDS(d1), OPERANDS(d2), OPERANDS(d3) : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(y0), "r"(y1)); \
        }                                                                                                                       \
        OUT *to = c + row * n + blockIdx.x * 8 + lane % 4 * 2;                                                                  \
        to[0] = d0, to[1] = d1, to[8 * n] = d2, to[8 * n + 1] = d3;                                                             \
    }
#define FLOATS(x) "+f"(x)
#define INTS(x) "+r"(x)
DIRECT(mma_bf16, __nv_bfloat16, float, 16, "m16n8k16", "f32.bf16.bf16.f32", FLOATS, 0.0f)
DIRECT(mma_tf32, float, float, 8, "m16n8k8", "f32.tf32.tf32.f32", FLOATS, 0.0f)
DIRECT(mma_s8, signed char, int, 32, "m16n8k32", "s32.s8.s8.s32", INTS, 0)
DIRECT(mma_u8, unsigned char, int, 32, "m16n8k32", "s32.u8.u8.s32", INTS, 0)
DIRECT(mma_e4m3, unsigned char, float, 32, "m16n8k32", "f32.e4m3.e4m3.f32", FLOATS, 0.0f)

extern "C" __global__ void mma_f64(const double *a, const double *b, double *c, int n, int k) {
    int lane = threadIdx.x, row = blockIdx.y * 8 + lane / 4, col = blockIdx.x * 8 + lane / 4;
    double d0 = 0, d1 = 0;
    for (int at = 0; at < k; at += 4)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(d0), "+d"(d1) : "d"(a[row * k + at + lane % 4]), "d"(b[col * k + at + lane % 4]));
    double *to = c + row * n + blockIdx.x * 8 + lane % 4 * 2;
    to[0] = d0, to[1] = d1;
}
