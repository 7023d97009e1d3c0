// cp.async: no wait, no commit, the wrong count.
#include "twins.h"

__device__ __forceinline__ void copy(int *to, const int *from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

KERNEL no_wait(const int *in, int *out, int n) {
    __shared__ int s[64];
    copy(&s[threadIdx.x], in + threadIdx.x);                   // @no_wait
    commit();
    if (GOOD) wait<0>();
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];                    // @no_wait
}
TWINS(no_wait)

KERNEL own_wait_only(const int *in, int *out, int n) {         // what other threads copied needs a barrier too
    __shared__ int s[64];
    copy(&s[threadIdx.x], in + threadIdx.x);                   // @own_wait_only
    commit();
    wait<0>();
    if (GOOD) __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];                    // @own_wait_only
}
TWINS(own_wait_only)

KERNEL overwritten(const int *in, int *out, int n) {           // a store to where a copy still arrives
    __shared__ int s[64];
    copy(&s[threadIdx.x], in + threadIdx.x);                   // @overwritten
    commit();
    if (GOOD) wait<0>();
    s[threadIdx.x] = 7;                                        // @overwritten
    wait<0>();
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
TWINS(overwritten)

KERNEL never_committed(const int *in, int *out, int n) {
    __shared__ int s[64];
    copy(&s[threadIdx.x], in + threadIdx.x);                   // @never_committed
    if (GOOD) commit();
    wait<0>();
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x ^ 33];                    // @never_committed
}
TWINS(never_committed)

KERNEL committed_before(const int *in, int *out, int n) {
    __shared__ int s[64];
    if (!GOOD) commit();
    copy(&s[threadIdx.x], in + threadIdx.x);                   // @committed_before
    if (GOOD) commit();
    wait<0>();
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x ^ 33];                    // @committed_before
}
TWINS(committed_before)

KERNEL tail_of_pipeline(const int *in, int *out, int n) {      // as published GEMMs have it: no group once the loads have ended
    __shared__ int s[3][64];
    int sum = 0;
    for (int i = 0; i < 2; ++i) {
        copy(&s[i][threadIdx.x], in + i * 32 + threadIdx.x);
        commit();
    }
#pragma unroll 1
    for (int i = 0; i < 4; ++i) {
        wait<1>();
        __syncthreads();
        sum += s[i % 3][63 - threadIdx.x];                     // @tail_of_pipeline
        if (i + 2 < 4) {
            copy(&s[(i + 2) % 3][threadIdx.x], in + (i + 2) * 32 + threadIdx.x);   // @tail_of_pipeline
            if (!GOOD) commit();
        }
        if (GOOD) commit();
    }
    out[threadIdx.x] = sum;
}
TWINS(tail_of_pipeline)

KERNEL one_too_many(const int *in, int *out, int n) {
    __shared__ int s[2][64];
    copy(&s[0][threadIdx.x], in + threadIdx.x);
    commit();
    copy(&s[1][threadIdx.x], in + 64 + threadIdx.x);           // @one_too_many
    commit();
    if (GOOD) wait<0>();
    else wait<1>();
    __syncthreads();
    out[threadIdx.x] = s[0][63 - threadIdx.x] + s[1][63 - threadIdx.x];   // @one_too_many
}
TWINS(one_too_many)

KERNEL stages_not_less_one(const int *in, int *out, int n) {
    __shared__ int s[2][64];
    int sum = 0;
    copy(&s[0][threadIdx.x], in + threadIdx.x);                // @stages_not_less_one
    commit();
#pragma unroll 1
    for (int i = 0; i < 3; ++i) {
        copy(&s[(i + 1) % 2][threadIdx.x], in + 64 * (i + 1) + threadIdx.x);   // @stages_not_less_one
        commit();
        if (GOOD) wait<1>();
        else wait<2>();
        __syncthreads();
        sum += s[i % 2][63 - threadIdx.x];                     // @stages_not_less_one
        __syncthreads();
    }
    wait<0>();
    out[threadIdx.x] = sum;
}
TWINS(stages_not_less_one)

KERNEL buffer_in_use(const int *in, int *out, int n) {         // the next copy goes to the buffer that others still read
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        copy(&s[threadIdx.x], in + 64 * i + threadIdx.x);      // @buffer_in_use
        commit();
        wait<0>();
        __syncthreads();
        sum += s[63 - threadIdx.x];                            // @buffer_in_use
        if (GOOD) __syncthreads();
    }
    out[threadIdx.x] = sum;
}
TWINS(buffer_in_use)
