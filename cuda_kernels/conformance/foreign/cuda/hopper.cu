// sm_90a: TMA loads and stores, bulk copies, mbarriers, wgmma, clusters with distributed shared memory.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(uint64_t *bar, unsigned count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(bar)), "r"(count) : "memory"); }
__device__ void expect(uint64_t *bar, unsigned bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(bar)), "r"(bytes) : "memory"); }
__device__ void arrive(uint64_t *bar) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(bar)) : "memory"); }
__device__ void wait(uint64_t *bar, unsigned parity) {
    asm volatile("{\n\t.reg .pred done;\nAGAIN:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@done bra OVER;\n\tbra AGAIN;\nOVER:\n\t}"
                 ::"r"(shared(bar)), "r"(parity) : "memory");
}
__device__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void load_2d(void *to, const CUtensorMap *map, int x, int y, uint64_t *bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared(to)), "l"(map), "r"(x), "r"(y), "r"(shared(bar)) : "memory");
}
__device__ void store_2d(const CUtensorMap *map, int x, int y, const void *from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y), "r"(shared(from)) : "memory");
}
__device__ void commit_bulk() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ void wait_bulk() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// A tile of 32x32 floats by TMA, transposed by the threads, stored by TMA.
extern "C" __global__ void tma_transpose(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out) {
    __shared__ __align__(1024) float from[32][32], to[32][32];   // 128 bytes wide, swizzled: chunk c of row r lies at c ^ r % 8
    __shared__ uint64_t bar;
    int t = threadIdx.x, x = blockIdx.x * 32, y = blockIdx.y * 32;
    if (t == 0) {
        init(&bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(&bar, sizeof(from));
        load_2d(from, &in, x, y, &bar);
    }
    __syncthreads();
    wait(&bar, 0);
    for (int i = t; i < 1024; i += 128) {
        int r = i / 32, c = i % 32;
        to[c][((r / 4) ^ (c % 8)) * 4 + r % 4] = from[r][((c / 4) ^ (r % 8)) * 4 + c % 4];
    }
    fence_async();
    __syncthreads();
    if (t == 0) {
        store_2d(&out, y, x, to);
        commit_bulk();
        wait_bulk();
    }
}

// A box that lies partly outside of the tensor: zeros come in, nothing goes out. Unswizzled, 16-bit elements.
__device__ __forceinline__ void edges(const CUtensorMap *in, const CUtensorMap *out, short *seen, int right, int down) {
    __shared__ __align__(128) short tile[16][24];
    __shared__ uint64_t bar;
    int t = threadIdx.x, x = blockIdx.x * 24 - 8, y = blockIdx.y * 16 - 4;
    if (t == 0) init(&bar, 1);
    fence_async();
    __syncthreads();
    if (t == 0) {
        expect(&bar, sizeof(tile));
        load_2d(tile, in, x, y, &bar);
    }
    wait(&bar, 0);
    seen += (blockIdx.y * gridDim.x + blockIdx.x) * 384;
    for (int i = t; i < 384; i += 64) {
        seen[i] = (&tile[0][0])[i];
        (&tile[0][0])[i] += 1;
    }
    fence_async();
    __syncthreads();
    if (t == 0) {
        store_2d(out, x + right, y + down, tile);
        commit_bulk();
        wait_bulk();
    }
}
extern "C" __global__ void tma_edges(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, short *seen) {
    edges(&in, &out, seen, 8, 4);
}
// What a GPU refuses: a box is written at negative coordinates. It may only be read there.
extern "C" __global__ void tma_negative(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, short *seen) {
    edges(&in, &out, seen, 0, 0);
}

// A reduction of a tile into global memory by TMA, and one by a bulk copy without a tensor map.
extern "C" __global__ void bulk_reduce(const __grid_constant__ CUtensorMap sums, int *line) {
    __shared__ __align__(128) int tile[8][32];
    __shared__ __align__(16) int row[64];
    int t = threadIdx.x;
    for (int i = t; i < 256; i += 64) (&tile[0][0])[i] = i * (blockIdx.x + 1);
    row[t] = t + blockIdx.x;
    fence_async();
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&sums), "r"(0), "r"(0), "r"(shared(tile)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(line), "r"(shared(row)), "r"((int)sizeof(row)) : "memory");
        commit_bulk();
        wait_bulk();
    }
}

// Bulk copies in and out, four buffers, one warp that copies and three that double; full and empty mbarriers.
extern "C" __global__ void bulk_pipeline(const int *in, int *out, int pieces) {
    __shared__ __align__(128) int buffer[4][192];
    __shared__ uint64_t full[4], empty[4];
    int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < 4; ++i) init(&full[i], 1), init(&empty[i], 96);
        fence_async();
    }
    __syncthreads();
    if (t < 32) {
        for (int i = 0; i < pieces; ++i) {
            if (i >= 4) wait(&empty[i % 4], (i / 4 - 1) & 1);
            if (t == 0) {
                expect(&full[i % 4], sizeof(buffer[0]));
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                             ::"r"(shared(buffer[i % 4])), "l"(in + i * 192), "r"((int)sizeof(buffer[0])), "r"(shared(&full[i % 4])) : "memory");
            }
            __syncwarp();
        }
    } else {
        int u = t - 32;
        for (int i = 0; i < pieces; ++i) {
            wait(&full[i % 4], i / 4 & 1);
            int a = buffer[i % 4][u], b = buffer[i % 4][191 - u];
            arrive(&empty[i % 4]);
            out[i * 192 + u] = 2 * a + b, out[i * 192 + 191 - u] = 2 * b + a;
        }
    }
}

// mbarriers without copies: tokens, arrivals that count for several, test_wait.
extern "C" __global__ void mbarrier_phases(int *out) {
    __shared__ uint64_t bar;
    __shared__ int s[64];
    int t = threadIdx.x, sum = 0;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    for (int i = 0; i < 5; ++i) {
        s[t] = t * (i + 1);
        uint64_t token;
        unsigned done = 0;
        asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token) : "r"(shared(&bar)) : "memory");
        while (!done) asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared(&bar)), "l"(token) : "memory");
        sum += s[(t + 13 * i) % 64];
        __syncthreads();
    }
    out[t] = sum;
}

__device__ uint64_t descriptor(const void *p) {           // K-major, 128-byte swizzle: 8 rows of 128 bytes are 1024 apart
    return (uint64_t)((shared(p) & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62;
}
#define SUMS32                                                                                                                     \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
        "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define NAMES32 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
__device__ void multiply(float *d, uint64_t a, uint64_t b, int keep) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " NAMES32 ", %32, %33, p, 1, 1, 0, 0; }"
                 : SUMS32 : "l"(a), "l"(b), "r"(keep));
}
__device__ void multiply(float *d, const unsigned *a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NAMES32 ", {%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
                 : SUMS32 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
template <typename F>
__device__ void each_sum(const float *d, F f) {           // row, column, value of what a thread holds of 64x64
    int t = threadIdx.x % 128;
    for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 4; ++i) f(t / 32 * 16 + t % 32 / 4 + i / 2 * 8, j * 8 + t % 4 * 2 + i % 2, d[j * 4 + i]);
}

// One warpgroup, operands stored by the threads: 64x64 of C, chunks of K of 64. B is (N, K).
extern "C" __global__ void __launch_bounds__(128) wgmma_plain(const half *a, const half *b, float *c, int n, int k) {
    __shared__ __align__(1024) half as[64][64], bs[64][64];
    float d[32];
    for (int at = 0; at < k; at += 64) {
        for (int i = threadIdx.x; i < 512; i += 128) {
            int r = i / 8, s = i % 8, place = (s ^ (r % 8)) * 8;
            *reinterpret_cast<uint4 *>(&as[r][place]) = *reinterpret_cast<const uint4 *>(&a[(blockIdx.y * 64 + r) * k + at + s * 8]);
            *reinterpret_cast<uint4 *>(&bs[r][place]) = *reinterpret_cast<const uint4 *>(&b[(blockIdx.x * 64 + r) * k + at + s * 8]);
        }
        fence_async();
        __syncthreads();
        wgmma_fence();
        for (int i = 0; i < 4; ++i) multiply(d, descriptor(&as[0][i * 16]), descriptor(&bs[0][i * 16]), at || i);
        wgmma_commit();
        wgmma_wait();
        __syncthreads();
    }
    each_sum(d, [&](int row, int col, float x) { c[(blockIdx.y * 64 + row) * n + blockIdx.x * 64 + col] = x; });
}

// A in registers (ldmatrix), bf16; B by threads.
extern "C" __global__ void __launch_bounds__(128) wgmma_registers(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c) {
    __shared__ __align__(1024) __nv_bfloat16 as[64][64], bs[64][64];
    float d[32] = {};
    unsigned x[4][4];
    for (int i = threadIdx.x; i < 512; i += 128) {
        int r = i / 8, s = i % 8, place = (s ^ (r % 8)) * 8;
        *reinterpret_cast<uint4 *>(&as[r][place]) = *reinterpret_cast<const uint4 *>(&a[r * 64 + s * 8]);
        *reinterpret_cast<uint4 *>(&bs[r][place]) = *reinterpret_cast<const uint4 *>(&b[r * 64 + s * 8]);
    }
    fence_async();
    __syncthreads();
    int lane = threadIdx.x % 32, r = threadIdx.x / 32 * 16 + lane % 16;
    for (int i = 0; i < 4; ++i)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[i][0]), "=r"(x[i][1]), "=r"(x[i][2]), "=r"(x[i][3])
                     : "r"(shared(&as[r][((2 * i + lane / 16) ^ (r % 8)) * 8])) : "memory");
    wgmma_fence();
    for (int i = 0; i < 4; ++i) multiply(d, x[i], descriptor(&bs[0][i * 16]));
    wgmma_commit();
    wgmma_wait();
    each_sum(d, [&](int row, int col, float y) { c[row * 64 + col] = y; });
}

// Warp-specialised: a producer warpgroup loads by TMA through three stages, a consumer multiplies; C by stmatrix and TMA.
extern "C" __global__ void __launch_bounds__(256) wgmma_tma(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, const __grid_constant__ CUtensorMap c, int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    half(*as)[4096] = reinterpret_cast<half(*)[4096]>(memory), (*bs)[4096] = as + 3, *cs = bs[3];
    uint64_t *full = reinterpret_cast<uint64_t *>(cs + 4096), *empty = full + 3;
    int row = blockIdx.y * 64, col = blockIdx.x * 64;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; ++i) init(&full[i], 1), init(&empty[i], 4);
        fence_async();
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 128)
            for (int i = 0; i < k / 64; ++i) {
                int s = i % 3;
                if (i >= 3) wait(&empty[s], (i / 3 - 1) & 1);
                expect(&full[s], 16384);
                load_2d(as[s], &a, i * 64, row, &full[s]);
                load_2d(bs[s], &b, i * 64, col, &full[s]);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
        float d[32] = {};
        for (int i = 0; i < k / 64; ++i) {
            int s = i % 3;
            wait(&full[s], i / 3 & 1);
            wgmma_fence();
            for (int j = 0; j < 4; ++j) multiply(d, descriptor(&as[s][j * 16]), descriptor(&bs[s][j * 16]), 1);
            wgmma_commit();
            wgmma_wait();
            if (threadIdx.x % 32 == 0) arrive(&empty[s]);
        }
        int lane = threadIdx.x % 32, r = threadIdx.x / 32 * 16 + lane % 16;
        for (int j = 0; j < 4; ++j) {
            unsigned x[4];
            for (int i = 0; i < 4; ++i) {
                half2 h = __floats2half2_rn(d[(2 * j + i / 2) * 4 + i % 2 * 2], d[(2 * j + i / 2) * 4 + i % 2 * 2 + 1]);
                x[i] = *reinterpret_cast<unsigned *>(&h);
            }
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared(&cs[r * 64 + ((2 * j + lane / 16) ^ (r % 8)) * 8])),
                         "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
        }
        fence_async();
        asm volatile("bar.sync 1, 128;" ::: "memory");
        if (threadIdx.x == 0) {
            store_2d(&c, col, row, cs);
            commit_bulk();
            wait_bulk();
        }
    }
}

__device__ unsigned rank() { unsigned r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ void cluster_sync() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }
__device__ unsigned peer(const void *p, unsigned cta) { unsigned r; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(shared(p)), "r"(cta)); return r; }

// Every CTA of a cluster of four reads what the others hold; sums by atomics in the memory of CTA 0.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(const int *in, int *out, int *sums) {
    __shared__ int s[64], total;
    int t = threadIdx.x, sum = 0, x;
    s[t] = in[blockIdx.x * 64 + t];
    if (t == 0) total = 0;
    cluster_sync();
    for (unsigned i = 0; i < 4; ++i) {
        asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(x) : "r"(peer(&s[(t + i) % 64], i)) : "memory");
        sum = sum * 3 + x;
    }
    asm volatile("red.shared::cluster.add.s32 [%0], %1;" ::"r"(peer(&total, 0)), "r"(s[t]) : "memory");
    out[blockIdx.x * 64 + t] = sum;
    cluster_sync();
    if (t == 0 && rank() == 0) sums[blockIdx.x / 4] = total;
}

// A histogram whose bins are spread over a cluster of two.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_histogram(const unsigned char *in, unsigned *out, int n) {
    __shared__ unsigned bins[128];
    bins[threadIdx.x] = 0;
    cluster_sync();
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
        asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(peer(&bins[in[i] % 128], in[i] / 128)) : "memory");
    cluster_sync();
    atomicAdd(&out[rank() * 128 + threadIdx.x], bins[threadIdx.x]);
}

// Reductions of bulk copies into the shared memory of CTA 1, from every CTA of a cluster of four: one row of 32 words for each
// operation that shared memory has. in: for each operation what is there, and then what comes from CTA 0, 1, 2, 3.
template <int OPERATION> __device__ void reduce_to(unsigned to, unsigned from, unsigned bar) {
#define SEND(operation) asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." operation " [%0], [%1], 128, [%2];" ::"r"(to), "r"(from), "r"(bar) : "memory")
    if (OPERATION == 0) SEND("add.u32");
    if (OPERATION == 1) SEND("add.s32");
    if (OPERATION == 2) SEND("add.u64");
    if (OPERATION == 3) SEND("min.u32");
    if (OPERATION == 4) SEND("min.s32");
    if (OPERATION == 5) SEND("max.u32");
    if (OPERATION == 6) SEND("max.s32");
    if (OPERATION == 7) SEND("inc.u32");
    if (OPERATION == 8) SEND("dec.u32");
    if (OPERATION == 9) SEND("and.b32");
    if (OPERATION == 10) SEND("or.b32");
    if (OPERATION == 11) SEND("xor.b32");
}
template <int LEFT> __device__ void reduce_all(unsigned to, unsigned from, unsigned bar) {
    reduce_to<LEFT - 1>(to + 128 * (LEFT - 1), from + 128 * (LEFT - 1), bar);
    if constexpr (LEFT > 1) reduce_all<LEFT - 1>(to, from, bar);
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_reduce(const unsigned *in, unsigned *out) {
    __shared__ __align__(128) unsigned total[12][32], from[12][32];
    __shared__ uint64_t bar;
    int t = threadIdx.x;
    for (int i = 0; i < 12; ++i) total[i][t] = in[i * 160 + t], from[i][t] = in[i * 160 + 32 * (rank() + 1) + t];
    fence_async();
    if (t == 0) {
        init(&bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        if (rank() == 1) expect(&bar, 4 * sizeof(from));
    }
    cluster_sync();
    if (t == 0) reduce_all<12>(peer(total, 1), shared(from), peer(&bar, 1));
    if (rank() == 1) {
        wait(&bar, 0);
        for (int i = 0; i < 12; ++i) out[i * 32 + t] = total[i][t];
    }
    cluster_sync();
}

// CTA 0 loads a box into both CTAs of the cluster (multicast), each tells the other when it has read it.
extern "C" __global__ void __cluster_dims__(2, 1, 1) tma_multicast(const __grid_constant__ CUtensorMap in, int *out, int boxes) {
    __shared__ __align__(128) int box[16][16];
    __shared__ uint64_t full, empty;
    int t = threadIdx.x, sum = 0;
    unsigned me = rank();
    if (t == 0) {
        init(&full, 1), init(&empty, 2);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    for (int i = 0; i < boxes; ++i) {
        if (t == 0) {
            expect(&full, sizeof(box));
            if (me == 0) {
                if (i) wait(&empty, (i - 1) & 1);
                asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                             ::"r"(shared(box)), "l"(&in), "r"(i * 16), "r"((int)(blockIdx.x / 2) * 16), "r"(shared(&full)), "h"((uint16_t)3) : "memory");
            }
        }
        wait(&full, i & 1);
        for (int j = t; j < 256; j += 64) sum += (&box[0][0])[j] * (j % 5 + (int)me);
        __syncthreads();
        if (t == 0) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(peer(&empty, 0)) : "memory");
    }
    out[blockIdx.x * 64 + t] = sum;
    cluster_sync();
}
