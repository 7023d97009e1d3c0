// One warp multiplies C (16, 8) = A (16, K) times B (8, K) transposed, in f16, K a multiple of 32. Tiles of A and B lie in
// shared memory in rows of 32 halves, 64 bytes: as they come, or with their four chunks of 16 bytes exchanged.
#include <cuda_fp16.h>

template <bool permuted>
__device__ int at(int row, int chunk) {
    return row * 32 + (permuted ? chunk ^ (row / 2 % 4) : chunk) * 8;
}

__device__ unsigned address(const half* p) { return __cvta_generic_to_shared(p); }

__device__ void load(int4& r, const half* p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "r"(address(p)));
}

__device__ void load(int2& r, const half* p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r.x), "=r"(r.y) : "r"(address(p)));
}

__device__ void mma(int2& d, int4 a, int2 b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(d.x), "+r"(d.y) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

template <bool permuted>
__device__ void multiply(const half* a, const half* b, half* c, int k) {
    __shared__ __align__(16) half tile_a[16 * 32], tile_b[8 * 32];
    int lane = threadIdx.x, chunk = lane % 4;
    int2 d = {0, 0};
    #pragma unroll 1
    for (int k0 = 0; k0 < k; k0 += 32) {
        for (int row = lane / 4; row < 16; row += 8)
            *(int4*)&tile_a[at<permuted>(row, chunk)] = *(const int4*)&a[row * k + k0 + chunk * 8];
        *(int4*)&tile_b[at<permuted>(lane / 4, chunk)] = *(const int4*)&b[lane / 4 * k + k0 + chunk * 8];
        __syncwarp();
        for (int step = 0; step < 2; step++) {
            int4 ra;
            int2 rb;
            load(ra, &tile_a[at<permuted>(lane % 16, 2 * step + lane / 16)]);
            load(rb, &tile_b[at<permuted>(lane % 8, 2 * step + lane / 8 % 2)]);
            mma(d, ra, rb);
        }
        __syncwarp();
    }
    *(int*)&c[lane / 4 * 8 + chunk * 2] = d.x;
    *(int*)&c[(lane / 4 + 8) * 8 + chunk * 2] = d.y;
}

extern "C" __global__ void base(const half* a, const half* b, half* c, int k) { multiply<false>(a, b, c, k); }
extern "C" __global__ void permuted(const half* a, const half* b, half* c, int k) { multiply<true>(a, b, c, k); }
