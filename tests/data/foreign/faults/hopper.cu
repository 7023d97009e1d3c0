// TMA, bulk copies, mbarriers, wgmma and clusters of sm_90a.
#include <cuda.h>
#include <cuda_fp16.h>

#include "twins.h"

#define MAPPED(NAME, TYPE)                                                                                                          \
    extern "C" __global__ void NAME##_bad(const __grid_constant__ CUtensorMap map, TYPE *out) { NAME<false>(&map, out); }            \
    extern "C" __global__ void NAME##_good(const __grid_constant__ CUtensorMap map, TYPE *out) { NAME<true>(&map, out); }
#define INLINE __device__ __forceinline__ void

INLINE init(uint64_t *bar, unsigned count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(bar)), "r"(count) : "memory"); }
INLINE expect(uint64_t *bar, unsigned bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(bar)), "r"(bytes) : "memory"); }
INLINE arrive(uint64_t *bar) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(bar)) : "memory"); }
INLINE wait(uint64_t *bar, unsigned parity) {
    asm volatile("{\n\t.reg .pred done;\nAGAIN:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra AGAIN;\n\t}" ::"r"(shared(bar)), "r"(parity) : "memory");
}
INLINE fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
INLINE load_box(void *to, const CUtensorMap *map, int x, int y, uint64_t *bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared(to)), "l"(map), "r"(x), "r"(y), "r"(shared(bar)) : "memory");
}
INLINE store_box(const CUtensorMap *map, int x, int y, const void *from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y), "r"(shared(from)) : "memory");
}
INLINE load_line(void *to, const void *from, unsigned bytes, uint64_t *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(to)), "l"(from), "r"(bytes), "r"(shared(bar)) : "memory");
}
INLINE store_line(void *to, const void *from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared(from)), "r"(bytes) : "memory");
}
INLINE commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
INLINE wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
INLINE wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
INLINE started(uint64_t *bar, unsigned count) {               // an mbarrier that all threads and the async proxy see
    if (threadIdx.x == 0) {
        init(bar, count);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        fence_async();
    }
    __syncthreads();
}

// ---- fence.proxy.async
KERNEL store_unfenced(const CUtensorMap *map, int *out) {
    __shared__ __align__(128) int box[8][16];
    (&box[0][0])[threadIdx.x] = threadIdx.x;                   // @store_unfenced
    (&box[0][0])[threadIdx.x + 64] = 1;                        // @store_unfenced
    if (GOOD) fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_box(map, 0, 0, box);                             // @store_unfenced
        commit();
        wait_all();
    }
}
MAPPED(store_unfenced, int)

KERNEL line_unfenced(const int *in, int *out, int n) {
    __shared__ __align__(16) int s[64];
    s[threadIdx.x] = in[threadIdx.x];                          // @line_unfenced
    if (GOOD) fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_line(out, s, 256);                               // @line_unfenced
        commit();
        wait_all();
    }
}
TWINS(line_unfenced)

__device__ __forceinline__ uint64_t descriptor(const void *p) { return (uint64_t)((shared(p) & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62; }
INLINE multiply(float *d, const half *a, const half *b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(a)), "l"(descriptor(b)));
}
INLINE settle(float *d) {                                      // the compiler moves no use of the sums over this line
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
INLINE begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
INLINE end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
INLINE done() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
INLINE fill(half *a, half *b, const int *in) {                 // A: 64 rows of 64, B: 8 rows of 64, swizzled by 128 bytes
    for (int i = threadIdx.x; i < 4096; i += 128) a[i] = __int2half_rn(in[i % 255] % 3);
    for (int i = threadIdx.x; i < 512; i += 128) b[i] = __int2half_rn(in[i % 255] % 5);
}
INLINE put(int *out, const float *d) {
    for (int i = 0; i < 2; ++i) out[threadIdx.x * 2 + i] = (int)(d[i] + d[i + 2]);
}

KERNEL product_unfenced(const int *in, int *out, int n) {      // 128 threads
    __shared__ __align__(1024) half a[4096], b[512];
    float d[4] = {};
    fill(a, b, in);                                            // @product_unfenced
    if (GOOD) fence_async();
    __syncthreads();
    settle(d);
    begin();
    multiply(d, a, b);                                         // @product_unfenced
    end();
    done<0>();
    settle(d);
    put(out, d);
}
TWINS(product_unfenced)

// ---- wgmma
KERNEL no_wgmma_fence(const int *in, int *out, int n) {
    __shared__ __align__(1024) half a[4096], b[512];
    float d[4];
    for (int i = 0; i < 4; ++i) d[i] = in[threadIdx.x + i];
    fill(a, b, in);
    fence_async();
    __syncthreads();
    settle(d);
    if (GOOD) begin();
    multiply(d, a, b);                                         // @no_wgmma_fence
    end();
    done<0>();
    settle(d);
    put(out, d);
}
TWINS(no_wgmma_fence)

KERNEL sums_too_early(const int *in, int *out, int n) {
    __shared__ __align__(1024) half a[4096], b[512];
    float d[4] = {};
    fill(a, b, in);
    fence_async();
    __syncthreads();
    settle(d);
    begin();
    multiply(d, a, b);                                         // @sums_too_early
    end();
    if (GOOD) done<0>();
    else done<1>();
    if (GOOD) settle(d);
    put(out, d);                                               // @sums_too_early
    done<0>();
}
TWINS(sums_too_early)

KERNEL operand_overwritten(const int *in, int *out, int n) {
    __shared__ __align__(1024) half a[4096], b[512];
    float d[4] = {};
    fill(a, b, in);
    fence_async();
    __syncthreads();
    settle(d);
    begin();
    multiply(d, a, b);                                         // @operand_overwritten
    end();
    if (GOOD) done<0>();
    if (GOOD) __syncthreads();
    a[threadIdx.x] = __float2half(1);                          // @operand_overwritten
    done<0>();
    settle(d);
    put(out, d);
}
TWINS(operand_overwritten)

KERNEL others_operand(const int *in, int *out, int n) {        // two warpgroups, each of which waits for its own product only
    __shared__ __align__(1024) half a[4096], b[512];
    float d[4] = {};
    for (int i = 0; i < 2; ++i) {
        if (threadIdx.x < 128) fill(a, b, in + i);             // @others_operand
        fence_async();
        __syncthreads();
        settle(d);
        begin();
        multiply(d, a, b);                                     // @others_operand
        end();
        done<0>();
        if (GOOD) __syncthreads();
    }
    if (threadIdx.x < 128) put(out, d);
}
TWINS(others_operand)

// ---- mbarriers
KERNEL expects_more(const int *in, int *out, int n) {
    __shared__ __align__(16) int s[64];
    __shared__ uint64_t bar;
    started(&bar, 1);
    if (threadIdx.x == 0) {
        expect(&bar, GOOD ? 256 : 272);
        load_line(s, in, 256, &bar);
    }
    wait(&bar, 0);                                             // @expects_more
    out[threadIdx.x] = s[threadIdx.x];
}
TWINS(expects_more)

KERNEL expects_less(const int *in, int *out, int n) {
    __shared__ __align__(16) int s[128];
    __shared__ uint64_t bar;
    started(&bar, 1);
    if (threadIdx.x == 0) {
        expect(&bar, GOOD ? 512 : 256);
        load_line(s, in, 256, &bar);
        load_line(s + 64, in + 64, 256, &bar);                 // @expects_less
    }
    wait(&bar, 0);
    out[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 64];   // @expects_less
    if (!GOOD) __nanosleep(1000);
}
TWINS(expects_less)

KERNEL expects_nothing(const CUtensorMap *map, int *out) {
    __shared__ __align__(128) int box[8][16];
    __shared__ uint64_t bar;
    started(&bar, 1);
    if (threadIdx.x == 0) {
        if (GOOD) expect(&bar, sizeof(box));
        else arrive(&bar);
        load_box(box, map, 0, 0, &bar);                        // @expects_nothing
    }
    wait(&bar, 0);
    out[threadIdx.x] = box[threadIdx.x / 16][threadIdx.x % 16];   // @expects_nothing
}
MAPPED(expects_nothing, int)

KERNEL initialised_twice(const int *in, int *out, int n) {     // again while it still counts
    __shared__ uint64_t bar;
    started(&bar, 64);
    if (threadIdx.x >= 32) arrive(&bar);
    __syncthreads();
    if (!GOOD && threadIdx.x == 0) init(&bar, 64);             // @initialised_twice
    __syncthreads();
    if (threadIdx.x < 32) arrive(&bar);
    wait(&bar, 0);                                             // @initialised_twice
    out[threadIdx.x] = in[threadIdx.x];
}
TWINS(initialised_twice)

KERNEL initialised_late(const int *in, int *out, int n) {
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) init(&bar, 64);                      // @initialised_late
    if (GOOD) __syncthreads();
    arrive(&bar);                                              // @initialised_late
    wait(&bar, 0);
    out[threadIdx.x] = in[threadIdx.x];
}
TWINS(initialised_late)

KERNEL one_missing(const int *in, int *out, int n) {
    __shared__ uint64_t bar;
    started(&bar, 64);
    if (GOOD || threadIdx.x != 5) arrive(&bar);
    wait(&bar, 0);                                             // @one_missing
    out[threadIdx.x] = in[threadIdx.x];
}
TWINS(one_missing)

KERNEL too_many_arrivals(const int *in, int *out, int n) {     // the second phase begins before the first is over for all
    __shared__ int s[64];
    __shared__ uint64_t bar;
    started(&bar, GOOD ? 64 : 32);
    s[threadIdx.x] = in[threadIdx.x];                          // @too_many_arrivals
    arrive(&bar);
    if (GOOD || threadIdx.x < 32) wait(&bar, 0);               // @too_many_arrivals
    out[threadIdx.x] = s[(threadIdx.x + 32) % 64];             // @too_many_arrivals
}
TWINS(too_many_arrivals)

KERNEL other_parity(const int *in, int *out, int n) {          // the phase before the first counts as over
    __shared__ __align__(16) int s[64];
    __shared__ uint64_t bar;
    started(&bar, 1);
    if (threadIdx.x == 0) {
        expect(&bar, 256);
        load_line(s, in, 256, &bar);                           // @other_parity
    }
    wait(&bar, GOOD ? 0 : 1);
    out[threadIdx.x] = s[threadIdx.x];                         // @other_parity
    wait(&bar, 0);
}
TWINS(other_parity)

// ---- TMA and bulk copies in flight
KERNEL box_not_awaited(const CUtensorMap *map, int *out) {
    __shared__ __align__(128) int box[8][16];
    __shared__ uint64_t bar;
    started(&bar, 1);
    if (threadIdx.x == 0) {
        expect(&bar, sizeof(box));
        load_box(box, map, 0, 0, &bar);                        // @box_not_awaited
    }
    if (GOOD) wait(&bar, 0);
    out[threadIdx.x] = box[threadIdx.x / 16][threadIdx.x % 16];   // @box_not_awaited
    wait(&bar, 0);
}
MAPPED(box_not_awaited, int)

KERNEL store_still_reads(const CUtensorMap *map, int *out) {
    __shared__ __align__(128) int box[8][16];
    (&box[0][0])[threadIdx.x] = threadIdx.x, (&box[0][0])[threadIdx.x + 64] = 3;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_box(map, 0, 0, box);                             // @store_still_reads
        commit();
        if (GOOD) wait_read();
    }
    __syncthreads();
    (&box[0][0])[threadIdx.x] = 9;                             // @store_still_reads
    if (threadIdx.x == 0) wait_all();
}
MAPPED(store_still_reads, int)

KERNEL load_over_reader(const CUtensorMap *map, int *out) {    // the next box is fetched while others still read the last
    __shared__ __align__(128) int box[8][16];
    __shared__ uint64_t bar;
    int sum = 0;
    started(&bar, 1);
    for (int i = 0; i < 2; ++i) {
        if (threadIdx.x == 0) {
            expect(&bar, sizeof(box));
            load_box(box, map, 0, 0, &bar);                    // @load_over_reader
        }
        wait(&bar, i);
        sum += box[7 - threadIdx.x / 16][threadIdx.x % 16];    // @load_over_reader
        if (GOOD) __syncthreads();
    }
    out[threadIdx.x] = sum;
}
MAPPED(load_over_reader, int)

KERNEL leaves_before_store(const int *in, int *out, int n) {
    __shared__ __align__(16) int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_line(out, s, 256);                               // @leaves_before_store
        commit();
        if (GOOD) wait_read();
    }
}
TWINS(leaves_before_store)

// ---- clusters of two
__device__ __forceinline__ unsigned peer(const void *p, unsigned cta) { unsigned r; asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(shared(p)), "r"(cta)); return r; }
__device__ __forceinline__ unsigned rank() { unsigned r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ __forceinline__ int remote(unsigned at) { int x; asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(x) : "r"(at) : "memory"); return x; }
INLINE cluster_sync() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }
#define PAIRS(NAME)                                                                                                                  \
    extern "C" __global__ void __cluster_dims__(2, 1, 1) NAME##_bad(const int *in, int *out, int n) { NAME<false>(in, out, n); }    \
    extern "C" __global__ void __cluster_dims__(2, 1, 1) NAME##_good(const int *in, int *out, int n) { NAME<true>(in, out, n); }

KERNEL peer_not_ready(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x] + rank();                 // @peer_not_ready
    if (GOOD) cluster_sync();
    else __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = remote(peer(&s[threadIdx.x], rank() ^ 1));   // @peer_not_ready
    cluster_sync();
}
PAIRS(peer_not_ready)

KERNEL peer_gone(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x] + rank();
    cluster_sync();
    if (rank() == 0)
        for (int i = 0; i < 20; ++i) out[threadIdx.x] = remote(peer(&s[(threadIdx.x + i) % 64], 1));   // @peer_gone
    if (GOOD) cluster_sync();
}
PAIRS(peer_gone)

KERNEL peer_overwrites(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x] + rank();
    cluster_sync();
    int x = remote(peer(&s[threadIdx.x], rank() ^ 1));         // @peer_overwrites
    if (GOOD) cluster_sync();
    s[threadIdx.x] = x;                                        // @peer_overwrites
    cluster_sync();
    out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}
PAIRS(peer_overwrites)
