// Asynchronous copies (cp.async) and matrices moved through shared memory (ldmatrix, stmatrix, movmatrix).
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <stdint.h>

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Three buffers: two copies in flight while one tile is added up.
extern "C" __global__ void copy_pipeline(const float4 *in, float *out, int tiles) {
    __shared__ float4 buffer[3][64];
    in += blockIdx.x * tiles * 64;
    float sum = 0;
    for (int i = 0; i < 2; ++i) {
        if (i < tiles) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(&buffer[i][threadIdx.x])), "l"(in + i * 64 + threadIdx.x));
        asm volatile("cp.async.commit_group;");
    }
    for (int i = 0; i < tiles; ++i) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        if (i + 2 < tiles)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(&buffer[(i + 2) % 3][threadIdx.x])), "l"(in + (i + 2) * 64 + threadIdx.x));
        asm volatile("cp.async.commit_group;");
        const float *x = reinterpret_cast<const float *>(buffer[i % 3]);
        for (int j = 0; j < 4; ++j) sum += x[(threadIdx.x + 17 * j) % 64 * 4 + j];
    }
    out[blockIdx.x * 64 + threadIdx.x] = sum;
}

// 4 and 8 bytes, with fewer source bytes than destination bytes: the rest becomes zero.
extern "C" __global__ void copy_partial(const int *in, int *out, int n) {
    __shared__ int words[128];
    __shared__ int2 pairs[128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&words[t], &in[t < n ? t : 0], 4, t < n ? 0 : 4);
    __pipeline_memcpy_async(&pairs[t], &in[2 * t], 8, t % 3 == 2 ? 4 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    int o = t ^ 5;
    out[t] = words[o] + pairs[o].x * 3 + pairs[o].y * 5;
}

// ignore-src: the lanes of the mask read, the others write zeros. Nsight Compute counts an LDGSTS whose predicate is P0 as if every
// lane read. So that ptxas gives P0 to another copy, there is one more, in which every lane does read.
extern "C" __global__ void copy_ignored(const uint4 *in, uint4 *out, unsigned mask, int turn, unsigned every) {
    __shared__ uint4 held[32], more[32];
    int t = threadIdx.x;
    asm volatile("{ .reg .pred p, q; setp.eq.u32 p, %3, 0; setp.eq.u32 q, %4, 0;"
                 "cp.async.cg.shared.global [%0], [%2], 16, p; cp.async.cg.shared.global [%1], [%2], 16, q; }"
                 ::"r"(shared(&more[t])), "r"(shared(&held[t ^ turn])), "l"(in + t), "r"(every >> t & 1), "r"(mask >> t & 1) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    out[t] = held[t];
}

// The same from any place to any other: lane t copies in[from[t]] to held[to[t]].
extern "C" __global__ void copy_scattered(const uint4 *in, uint4 *out, const int *to, const int *from, unsigned mask, unsigned every) {
    __shared__ uint4 held[256], more[32];
    int t = threadIdx.x;
    for (int i = t; i < 256; i += 32) held[i] = make_uint4(i, i, i, i);
    __syncwarp();
    asm volatile("{ .reg .pred p, q; setp.eq.u32 p, %4, 0; setp.eq.u32 q, %5, 0;"
                 "cp.async.cg.shared.global [%0], [%2], 16, p; cp.async.cg.shared.global [%1], [%3], 16, q; }"
                 ::"r"(shared(&more[t])), "r"(shared(&held[to[t]])), "l"(in + t), "l"(in + from[t]), "r"(every >> t & 1), "r"(mask >> t & 1) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    for (int i = t; i < 256; i += 32) out[i] = held[i];
}

// A copy that only the lanes of the mask execute. As a guard, P0 makes Nsight Compute count nothing: it guards another copy, which
// no lane executes.
extern "C" __global__ void copy_guarded(const uint4 *in, uint4 *out, unsigned mask, unsigned none) {
    __shared__ uint4 held[32], more[32];
    int t = threadIdx.x;
    held[t] = make_uint4(t, t, t, t);
    __syncwarp();
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; setp.ne.u32 q, %4, 0;"
                 "@p cp.async.cg.shared.global [%0], [%2], 16; @q cp.async.cg.shared.global [%1], [%2], 16; }"
                 ::"r"(shared(&more[t])), "r"(shared(&held[t])), "l"(in + t), "r"(none >> t & 1), "r"(mask >> t & 1) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    out[t] = held[t];
}

// Four 8x8 blocks of f16 transposed by ldmatrix.trans and put back by stmatrix; movmatrix on the way.
extern "C" __global__ void matrices_moved(const uint4 *in, uint4 *out) {
    __shared__ uint4 from[32], to[32];
    int t = threadIdx.x;
    unsigned x[4];
    from[t ^ (t / 8)] = in[t];                              // row t % 8 of block t / 8, within the blocks of its number
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(shared(&from[t ^ (t / 8)])) : "memory");
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x[1]));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(shared(&to[t % 16])), "r"(x[0]), "r"(x[1]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared(&to[16 + t % 16])), "r"(x[2]), "r"(x[3]) : "memory");
    __syncwarp();
    out[t] = to[t];
}
