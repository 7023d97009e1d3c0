// What lanes of a warp tell one another: votes, match, shuffles, redux, cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void votes(const int *in, unsigned *out) {
    int x = in[threadIdx.x], lane = threadIdx.x % 32;
    unsigned r = __ballot_sync(~0u, x > 0);
    if (__all_sync(~0u, x > -1000)) r += 1;
    if (__any_sync(~0u, x == 7)) r += 2;
    r += (__uni_sync(~0u, x & 1024) != 0) * 4;
    int same;
    unsigned equal = __match_any_sync(~0u, x % 5), every = __match_all_sync(~0u, x & 2048, &same);
    if (lane & 1) r ^= __ballot_sync(0xaaaaaaaau, x & 4);  // half of the lanes
    else r += __activemask() == 0x55555555u ? 0 : 0;
    out[threadIdx.x] = r ^ (equal << 1) ^ every ^ (same << 3);
}

extern "C" __global__ void shuffles(const int *in, int *out, double *wide) {
    int x = in[threadIdx.x], lane = threadIdx.x % 32, r = 0;
    r += __shfl_sync(~0u, x, 5);
    r += 3 * __shfl_sync(~0u, x, lane * 7, 16);
    r ^= __shfl_up_sync(~0u, x, 3, 8);
    r += __shfl_down_sync(~0u, x, 9);
    r ^= __shfl_xor_sync(~0u, x, 21);
    if (lane < 11) r += __shfl_sync(0x7ffu, x, lane / 2);
    out[threadIdx.x] = r;
    wide[threadIdx.x] = __shfl_xor_sync(~0u, (double)x * 1.5, 1) + __shfl_down_sync(~0u, x * 0.25, 4);
}

extern "C" __global__ void reductions(const int *in, int *out) {
    int x = in[threadIdx.x], lane = threadIdx.x % 32;
    unsigned u = (unsigned)x;
    int r[8] = {__reduce_add_sync(~0u, x), __reduce_min_sync(~0u, x), __reduce_max_sync(~0u, x), (int)__reduce_min_sync(~0u, u),
                (int)__reduce_max_sync(~0u, u), (int)__reduce_and_sync(~0u, u | 15u), (int)__reduce_or_sync(~0u, u), (int)__reduce_xor_sync(~0u, u)};
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum = sum * 31 + r[i];
    if (lane % 3 == 0) sum += __reduce_add_sync(0x49249249u, lane);
    out[threadIdx.x] = sum;
}

extern "C" __global__ void groups(const int *in, int *out, int *count) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(warp);
    int x = in[block.thread_rank()];
    int a = cg::reduce(eight, x, cg::plus<int>()), b = cg::reduce(warp, x, cg::greater<int>()), c = cg::inclusive_scan(eight, x);
    auto parity = cg::labeled_partition(warp, x & 3);
    int d = cg::reduce(parity, 1, cg::plus<int>()), e = parity.thread_rank();
    if (x & 4) {
        auto some = cg::coalesced_threads();
        if (some.thread_rank() == 0) atomicAdd(count, some.size());
        d += some.shfl(x, 0);
    }
    block.sync();
    out[block.thread_rank()] = a + 3 * b + 5 * c + 7 * d + 11 * e + eight.meta_group_rank();
}

extern "C" __global__ void lane_numbers(unsigned *out) {
    unsigned lane, below, above, equal, warp, sleeping;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(above));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(equal));
    asm("mov.u32 %0, %%nctaid.y;" : "=r"(warp));
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(sleeping));
    unsigned at = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned leaders = __popc(__ballot_sync(~0u, sleeping));
    out[at * blockDim.x * blockDim.y * blockDim.z + t] = lane + (below ^ above) * 2 + equal + warp * 1000 + leaders + threadIdx.y * 7 + threadIdx.z * 13;
}
