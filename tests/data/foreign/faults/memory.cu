// Memory that is not there, not aligned, not written, or written by others at the same time.
#include "twins.h"

KERNEL one_beyond(const int *in, int *out, int n) {            // `in` has 256 items, `out` too, n is 256
    int i = threadIdx.x;
    out[i] = in[(GOOD ? 192 : 193) + i];                       // @one_beyond
}
TWINS(one_beyond)

KERNEL before_first(const int *in, int *out, int n) {
    int i = threadIdx.x;
    out[i] = GOOD && i == 0 ? 0 : in[i - 1];                   // @before_first
}
TWINS(before_first)

KERNEL last_vector(const int *in, int *out, int n) {
    int i = threadIdx.x;                                       // 4 items of each of 64 threads, or of 65
    int4 x = reinterpret_cast<const int4 *>(in)[GOOD ? i : i + 1];   // @last_vector
    out[i] = x.x + x.w;
}
TWINS(last_vector)

KERNEL no_limit(const int *in, int *out, int n) {              // 5 blocks of 64: more threads than items
    int i = blockIdx.x * 64 + threadIdx.x;
    if (!GOOD || i < n) out[i] = 2 * i;                        // @no_limit
}
TWINS(no_limit)

KERNEL wrong_stride(const int *in, int *out, int n) {
    int row = threadIdx.x / 8, column = threadIdx.x % 8;
    out[row * (GOOD ? 32 : 40) + column] = in[threadIdx.x];    // @wrong_stride
}
TWINS(wrong_stride)

KERNEL atomic_beyond(const int *in, int *out, int n) {
    atomicAdd(&out[in[threadIdx.x] * (GOOD ? 1 : 5)], 1);      // @atomic_beyond
}
TWINS(atomic_beyond)

KERNEL unaligned_vector(const int *in, int *out, int n) {
    const int *p = in + threadIdx.x * 2 + (GOOD ? 0 : 1);
    int2 x = *reinterpret_cast<const int2 *>(p);               // @unaligned_vector
    out[threadIdx.x] = x.x - x.y;
}
TWINS(unaligned_vector)

KERNEL unaligned_shared(const int *in, int *out, int n) {
    __shared__ __align__(16) char s[64 * 8 + 16];
    *reinterpret_cast<long long *>(&s[threadIdx.x * 8 + (GOOD ? 0 : 4)]) = in[threadIdx.x];   // @unaligned_shared
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * 8 + (GOOD ? 0 : 4)];
}
TWINS(unaligned_shared)

KERNEL unaligned_copy(const int *in, int *out, int n) {
    __shared__ __align__(16) int s[64 * 4 + 4];
    unsigned to = shared(&s[threadIdx.x * 4 + (GOOD ? 0 : 2)]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + threadIdx.x % 32 * 4) : "memory");   // @unaligned_copy
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * 4 + 2];
}
TWINS(unaligned_copy)

KERNEL beyond_dynamic(const int *in, int *out, int n) {        // launched with 256 bytes
    extern __shared__ int s[];
    s[threadIdx.x + (GOOD ? 0 : 1)] = in[threadIdx.x];         // @beyond_dynamic
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x + (GOOD ? 0 : 1)];   // @beyond_dynamic
}
TWINS(beyond_dynamic)

KERNEL beyond_static(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + (GOOD ? 0 : in[5])];    // @beyond_static
}
TWINS(beyond_static)

KERNEL below_shared(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = 0;
    __syncthreads();
    int i = (int)threadIdx.x - (GOOD ? 0 : in[3]);             // in[3] is 3
    asm volatile("st.shared.s32 [%0], %1;" ::"r"(shared(s) + 4 * i), "r"(in[threadIdx.x]) : "memory");   // @below_shared
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x / 2];
}
TWINS(below_shared)

KERNEL empty_halo(const int *in, int *out, int n) {
    __shared__ int s[66];
    s[threadIdx.x + 1] = in[threadIdx.x];
    if (GOOD && threadIdx.x < 2) s[threadIdx.x * 65] = 0;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 2];    // @empty_halo
}
TWINS(empty_halo)

KERNEL bins_not_cleared(const int *in, int *out, int n) {
    __shared__ int bins[16];
    if (GOOD && threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[in[threadIdx.x] % 16], 1);                 // @bins_not_cleared
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
TWINS(bins_not_cleared)

KERNEL short_tile(const int *in, int *out, int n) {
    __shared__ int s[64];
    if (GOOD || threadIdx.x < 60) s[threadIdx.x] = threadIdx.x < 60 ? in[threadIdx.x] : 0;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum += s[i];                  // @short_tile
    out[threadIdx.x] = sum;
}
TWINS(short_tile)

KERNEL local_holes(const int *in, int *out, int n) {
    int held[16];
#pragma unroll 1
    for (int i = 0; i < 16; i += GOOD ? 1 : 2) held[i] = in[threadIdx.x + i];
    out[threadIdx.x] = held[in[threadIdx.x] % 16];             // @local_holes
}
TWINS(local_holes)

KERNEL local_end(const int *in, int *out, int n) {
    short held[20];
    int m = GOOD ? 20 : 10 + in[threadIdx.x] % 8, sum = 0;
#pragma unroll 1
    for (int i = 0; i < m; ++i) held[i] = (short)in[i];
#pragma unroll 1
    for (int i = 0; i < 20; ++i) sum = sum * 3 + held[i];      // @local_end
    out[threadIdx.x] = sum;
}
TWINS(local_end)

KERNEL local_member(const int *in, int *out, int n) {
    struct { int a, b; } held[8];
#pragma unroll 1
    for (int i = 0; i < 8; ++i) {
        held[i].a = in[i + threadIdx.x];
        if (GOOD) held[i].b = i;
    }
    int k = in[threadIdx.x] % 8;
    out[threadIdx.x] = held[k].a + *((volatile int *)&held[k].b);   // @local_member
}
TWINS(local_member)

KERNEL blocks_collide(const int *in, int *out, int n) {        // 2 blocks
    out[GOOD ? blockIdx.x * 64 + threadIdx.x : threadIdx.x] = in[threadIdx.x] + blockIdx.x;   // @blocks_collide
}
TWINS(blocks_collide)

KERNEL block_reads_block(const int *in, int *out, int n) {     // 2 blocks
    if (blockIdx.x == 0) out[threadIdx.x] = in[threadIdx.x];   // @block_reads_block
    else out[threadIdx.x + 64] = GOOD ? in[threadIdx.x] : out[threadIdx.x];   // @block_reads_block
}
TWINS(block_reads_block)

KERNEL counter(const int *in, int *out, int n) {               // 4 blocks count without atomics
    if (threadIdx.x == 0) {
        if (GOOD) atomicAdd(out, in[blockIdx.x]);
        else out[0] += in[blockIdx.x];                         // @counter
    }
}
TWINS(counter)

KERNEL global_neighbour(const int *in, int *out, int n) {      // in one block
    out[threadIdx.x] = in[threadIdx.x];                        // @global_neighbour
    if (GOOD) __syncthreads();
    out[threadIdx.x + 64] = out[63 - threadIdx.x];             // @global_neighbour
}
TWINS(global_neighbour)
