// Kernels as users bring them, each right for left_out = 0; another number leaves out one thing that it needs.
// test_users_kernels.py runs them on the CPU machine.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

__device__ unsigned shared_at(const void* p) { return __cvta_generic_to_shared(p); }

// Sums of pairs that move apart: stride 2, 4, 8, ... words, as many ways of bank conflicts.
extern "C" __global__ void tree(const int* x, int* y, int left_out) {
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int i = 2 * d * t;
        if (i < 256) s[i] += s[i + d];
        if (!left_out || d != 64) __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

// A warp adds up a row in shared memory of its own.
extern "C" __global__ void rows(const float* x, float* y, int n, int left_out) {
    __shared__ float s[8][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 8 + warp;
    float sum = 0;
    for (int i = lane; i < n; i += 32) sum += x[row * n + i];
    s[warp][lane] = sum;
    __syncwarp();
    for (int d = 16; d; d /= 2) {
        if (lane < d) s[warp][lane] += s[warp][lane + d];
        if (!left_out) __syncwarp();
    }
    if (lane == 0) y[row] = s[warp][0];
}

extern "C" __global__ void bitonic(int* x, int left_out) {
    __shared__ int s[512];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int k = 2; k <= 512; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            int other = t ^ j;
            if (other > t && (s[t] > s[other]) == ((t & k) == 0)) {
                int kept = s[t];
                s[t] = s[other];
                s[other] = kept;
            }
            if (!left_out || k != 512 || j != 32) __syncthreads();
        }
    x[t] = s[t];
}

// 1: the last element of a halo is off by one. 2: it is in the next array. 3: no barrier.
extern "C" __global__ void stencil(const float* x, float* y, int n, int left_out) {
    __shared__ float s[130], next[2];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    next[t % 2] = 0;
    s[t + 1] = i < n ? x[i] : 0;
    if (t == 0) s[0] = i ? x[i - 1] : 0;
    if (t == 127) s[129] = i + 1 < n + (left_out == 1) ? x[i + 1] : 0;
    if (left_out != 3) __syncthreads();
    if (i < n) y[i] = s[t] + s[t + 1] + s[t + 2 + (left_out == 2)];
}

// Each step reads what the others have written in the last one. 1: by a load that may see what was there before.
extern "C" __global__ void steps(float* x, int left_out) {
    int t = threadIdx.x;
    for (int k = 0; k < 3; k++) {
        float next;
        if (left_out) asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(next) : "l"(x + (t + 1) % 64));
        else next = x[(t + 1) % 64];
        __syncthreads();
        x[t] += next;
        __syncthreads();
    }
}

// Every CTA averages neighbours in place, its own and the next one's.
extern "C" __global__ void in_place(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) x[i] = (x[i] + x[i + 1]) / 2;
}

// The last block adds up what all have left (CUDA C++ Programming Guide, Memory Fence Functions).
__device__ unsigned arrived;
extern "C" __global__ void last_block(const int* x, volatile int* parts, int* y, int left_out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = x[blockIdx.x] * 3;
        if (!left_out) __threadfence();
        last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += parts[i];
        *y = sum;
        arrived = 0;
    }
}

__device__ int lock;
extern "C" __global__ void locked(int* y, int left_out) {
    if (threadIdx.x) return;
    while (atomicCAS(&lock, 0, 1));
    if (!left_out) __threadfence();
    *y += 1;
    if (!left_out) __threadfence();
    atomicExch(&lock, 0);
}

// 1: a CTA ends while others still read its shared memory.
extern "C" __global__ void __cluster_dims__(4) total_of_cluster(const int* x, int* y, int left_out) {
    __shared__ int s[64];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, sum = 0;
    s[t] = x[blockIdx.x * 64 + t];
    cluster.sync();
    for (int rank = 0; rank < 4; rank++) sum += *cluster.map_shared_rank(&s[t], rank);
    y[blockIdx.x * 64 + t] = sum;
    if (!left_out) cluster.sync();
}

extern "C" __global__ void flow(const int* x, int* y) {
    int t = threadIdx.x, v = x[t], s = 0;
    switch (v % 7) {
        case 0: s = 1;
        case 1: s += 2; break;
        case 2: s = v; break;
        case 3: goto out;
        case 5:
            while (v > 1) {
                v = v & 1 ? 3 * v + 1 : v / 2;
                if (++s > 50) break;
            }
            break;
        default: s = -v;
    }
    for (int k = 0; k < v % 11; k++) {
        if (k == 5) continue;
        if (k == 8) return;
        s += k;
    }
out:
    y[t] = s;
}

// 64 x 64 of C, f16, in two stages. 1: waits for too few copies. 2, 3: no barrier before, behind the products.
extern "C" __global__ void product(const half* a, const half* b, float* c, int depth, int left_out) {
    __shared__ __align__(16) half A[2][64][40], B[2][64][40];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    float sums[8][4] = {};
    auto copy = [&](int stage, int k) {
        for (int i = t; i < 256; i += 128) {
            int row = i / 4, column = i % 4 * 8;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_at(&A[stage][row][column])),
                         "l"(a + row * depth + k + column));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_at(&B[stage][row][column])),
                         "l"(b + row * depth + k + column));
        }
        asm volatile("cp.async.commit_group;");
    };
    copy(0, 0);
    for (int k = 0, stage = 0; k < depth; k += 32, stage ^= 1) {
        if (k + 32 < depth) {
            copy(stage ^ 1, k + 32);
            if (left_out == 1) asm volatile("cp.async.wait_group 2;");
            else asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        if (left_out != 2) __syncthreads();
        for (int kk = 0; kk < 32; kk += 16) {
            unsigned x[4], y[2];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"(shared_at(&A[stage][warp * 16 + lane % 16][kk + lane / 16 * 8])));
            for (int n = 0; n < 8; n++) {
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(y[0]), "=r"(y[1])
                             : "r"(shared_at(&B[stage][n * 8 + lane % 8][kk + lane / 8 % 2 * 8])));
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                             "{%0,%1,%2,%3};" : "+f"(sums[n][0]), "+f"(sums[n][1]), "+f"(sums[n][2]), "+f"(sums[n][3])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
            }
        }
        if (left_out != 3) __syncthreads();
    }
    for (int n = 0; n < 8; n++)
        for (int i = 0; i < 4; i++) c[(warp * 16 + lane / 4 + i / 2 * 8) * 64 + n * 8 + lane % 4 * 2 + i % 2] = sums[n][i];
}

// st.async to the other CTA of a pair. 1: no mbarrier yet. 2: no wait. 3: ends early.
extern "C" __global__ void __cluster_dims__(2) exchanged(const int* x, int* y, int left_out) {
    __shared__ __align__(16) int s[64];
    __shared__ unsigned long long full;
    auto cluster = cg::this_cluster();
    int rank = cluster.block_rank(), t = threadIdx.x;
    if (t == 0 && left_out != 1) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_at(&full)));
    asm volatile("fence.mbarrier_init.release.cluster;");
    cluster.sync();
    if (t == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(shared_at(&full)));
    unsigned to, there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(shared_at(s + t)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_at(&full)), "r"(rank ^ 1));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
                 "r"(x[rank * 64 + t]), "r"(there) : "memory");
    if (left_out != 2)
        asm volatile("{ .reg .pred p; L%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra L%=; }"
                     ::"r"(shared_at(&full)) : "memory");
    y[rank * 64 + t] = s[63 - t];
    if (left_out != 3) cluster.sync();
}
