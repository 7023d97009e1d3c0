// Threads of a block that share memory and do not wait for one another, or wait in vain.
#include "twins.h"

KERNEL neighbour(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];                          // @neighbour
    if (GOOD) __syncthreads();
    out[threadIdx.x] = s[(threadIdx.x + 32) % 64];             // @neighbour
}
TWINS(neighbour)

KERNEL next_round(const int *in, int *out, int n) {
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        s[threadIdx.x] = in[threadIdx.x] + i;                  // @next_round
        __syncthreads();
        sum += s[63 - threadIdx.x];                            // @next_round
        if (GOOD) __syncthreads();
    }
    out[threadIdx.x] = sum;
}
TWINS(next_round)

KERNEL tree(const int *in, int *out, int n) {
    __shared__ int s[128];
    s[threadIdx.x] = in[threadIdx.x], s[threadIdx.x + 64] = in[threadIdx.x];
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];   // @tree
        if (GOOD) __syncthreads();
    }
    if (GOOD || threadIdx.x == 0) out[threadIdx.x] = s[0];
}
TWINS(tree)

KERNEL lane_exchange(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];                          // @lane_exchange
    if (GOOD) __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 1];                     // @lane_exchange
}
TWINS(lane_exchange)

KERNEL warp_tree(const int *in, int *out, int n) {
    __shared__ volatile int s[64];
    int t = threadIdx.x, lane = t % 32;
    s[t] = in[t];
    __syncwarp();
    for (int d = 16; d; d /= 2) {
        if (lane < d) s[t] = s[t] + s[t + d];                  // @warp_tree
        if (GOOD) __syncwarp();
    }
    out[t] = GOOD ? s[t - lane] : s[t];
}
TWINS(warp_tree)

KERNEL lane_shift(const int *in, int *out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncwarp();
    int x = s[t / 32 * 32 + (t + 1) % 32];                     // @lane_shift
    if (GOOD) __syncwarp();
    s[t] = x;                                                  // @lane_shift
    __syncwarp();
    out[t] = s[t];
}
TWINS(lane_shift)

KERNEL half_a_warp(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    if (GOOD) __syncthreads();
    else if (threadIdx.x % 32 < 16)
        __syncthreads();                                       // @half_a_warp
    out[threadIdx.x] = s[threadIdx.x];
}
TWINS(half_a_warp)

KERNEL either_branch(const int *in, int *out, int n) {
    if (GOOD) {
        asm volatile("bar.sync 0;" ::: "memory");
    } else if (in[threadIdx.x] & 1) {
        asm volatile("bar.sync 0;" ::: "memory");              // @either_branch
        out[threadIdx.x + n] = 1;
    } else {
        asm volatile("bar.sync 0;" ::: "memory");              // @either_branch
        out[threadIdx.x + n] = 2;
    }
    out[threadIdx.x] = in[threadIdx.x];
}
TWINS(either_branch)

KERNEL lanes_rounds(const int *in, int *out, int n) {
    int rounds = GOOD ? 3 : 1 + threadIdx.x % 3, sum = 0;
    for (int i = 0; i < rounds; ++i) {
        sum += in[(threadIdx.x + i) % 64];
        __syncthreads();                                       // @lanes_rounds
    }
    out[threadIdx.x] = sum;
}
TWINS(lanes_rounds)

KERNEL two_doors(const int *in, int *out, int n) {
    if (GOOD || threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");   // @two_doors
    else asm volatile("bar.sync 2, 64;" ::: "memory");         // @two_doors
    out[threadIdx.x] = in[threadIdx.x];
}
TWINS(two_doors)

KERNEL waits_for_more(const int *in, int *out, int n) {
    if (GOOD) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 1, 96;" ::: "memory");         // @waits_for_more
    out[threadIdx.x] = in[threadIdx.x];
}
TWINS(waits_for_more)

KERNEL never_told(const int *in, int *out, int n) {            // the other warp leaves without its bar.arrive
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 3, 64;" ::: "memory");          // @never_told
        out[threadIdx.x] = in[threadIdx.x];
    } else {
        if (GOOD) asm volatile("bar.arrive 3, 64;" ::: "memory");
        else asm volatile("bar.sync 4, 64;" ::: "memory");     // @never_told
        out[threadIdx.x] = 1;
    }
}
TWINS(never_told)

KERNEL other_count(const int *in, int *out, int n) {           // 128 threads; both warps of a pair must say the same number
    if (GOOD || threadIdx.x < 64) asm volatile("bar.sync 1, 128;" ::: "memory");   // @other_count
    else asm volatile("bar.sync 1, 64;" ::: "memory");         // @other_count
    out[threadIdx.x] = 5;
}
TWINS(other_count)

KERNEL arrive_count(const int *in, int *out, int n) {
    __shared__ int s[32];
    if (threadIdx.x < 32) {
        s[threadIdx.x] = in[threadIdx.x];
        if (GOOD) asm volatile("bar.arrive 5, 64;" ::: "memory");
        else asm volatile("bar.arrive 5, 96;" ::: "memory");   // @arrive_count
    } else {
        asm volatile("bar.sync 5, 64;" ::: "memory");          // @arrive_count
        out[threadIdx.x] = s[threadIdx.x - 32];
    }
}
TWINS(arrive_count)

KERNEL odd_count(const int *in, int *out, int n) {             // the count must be a multiple of a warp's threads
    if (GOOD) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 1, %0;" ::"r"(n - 24) : "memory");   // @odd_count (n is 64)
    out[threadIdx.x] = in[threadIdx.x];
}
TWINS(odd_count)

KERNEL from_inactive(const int *in, int *out, int n) {
    int x = in[threadIdx.x], y = 0;
    if (GOOD) y = __shfl_sync(~0u, x, 20);
    if (threadIdx.x % 32 < 16)
        if (!GOOD) y = __shfl_sync(0xffffu, x, 20);            // @from_inactive
    out[threadIdx.x] = y;
}
TWINS(from_inactive)

KERNEL wrong_mask(const int *in, int *out, int n) {
    int y = 0;
    if (threadIdx.x % 32 < 8) y = __shfl_xor_sync(GOOD ? 0xffu : 0xfeu, in[threadIdx.x], 1);   // @wrong_mask
    out[threadIdx.x] = y;
}
TWINS(wrong_mask)

KERNEL absent_voters(const int *in, int *out, int n) {
    unsigned seen = 0;
    if (threadIdx.x % 32 < 24) seen = __ballot_sync(GOOD ? 0xffffffu : ~0u, in[threadIdx.x] & 1);   // @absent_voters
    __syncwarp();
    out[threadIdx.x] = seen;
}
TWINS(absent_voters)

KERNEL same_word(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x / (GOOD ? 1 : 2)] = in[threadIdx.x];         // @same_word
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x / (GOOD ? 1 : 2)];
}
TWINS(same_word)

KERNEL same_place(const int *in, int *out, int n) {
    out[GOOD ? threadIdx.x : in[threadIdx.x] % 4] = in[threadIdx.x];   // @same_place
}
TWINS(same_place)

KERNEL overlapping(const int *in, int *out, int n) {
    __shared__ __align__(16) int s[256];
    int4 x = make_int4(in[threadIdx.x], 1, 2, 3);
    if (GOOD) reinterpret_cast<int4 *>(s)[threadIdx.x] = x;
    else *reinterpret_cast<int2 *>(&s[threadIdx.x / 2 * 2]) = make_int2(x.x, x.y);   // @overlapping
    __syncthreads();
    out[threadIdx.x] = s[GOOD ? threadIdx.x * 4 : threadIdx.x / 2 * 2];
}
TWINS(overlapping)
