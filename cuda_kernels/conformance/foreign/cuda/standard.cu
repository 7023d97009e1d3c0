// The CUDA C++ standard library (libcu++) and cooperative groups: pipelines, barriers, bulk copies, atomics, groups that copy.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/mdspan>
#include <cuda/std/span>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int THREADS = 128, STAGES = 2;

// Sums of columns, batch by batch: all threads copy and all add up.
extern "C" __global__ void pipeline_all(const int *x, int *y, int batches) {
    __shared__ int tile[STAGES][THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int batch = 0, ahead = 0; batch < batches; batch++) {
        for (; ahead < batches && ahead < batch + STAGES; ahead++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, tile[ahead % STAGES], x + ahead * THREADS, cuda::aligned_size_t<16>(4 * THREADS),
                               pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += tile[batch % STAGES][threadIdx.x] * (batch + 1) + tile[batch % STAGES][THREADS - 1 - threadIdx.x];
        pipeline.consumer_release();
    }
    y[threadIdx.x] = sum;
}

// The same where the first warp copies and three others add up.
extern "C" __global__ void pipeline_roles(const int *x, int *y, int batches) {
    __shared__ int tile[STAGES][96];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    bool produces = threadIdx.x < 32;
    auto pipeline = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    int sum = 0;
    for (int batch = 0; batch < batches; batch++) {
        if (produces) {
            pipeline.producer_acquire();
            for (int i = threadIdx.x; i < 96; i += 32)
                cuda::memcpy_async(&tile[batch % STAGES][i], x + batch * 96 + i, sizeof(int), pipeline);
            pipeline.producer_commit();
        } else {
            pipeline.consumer_wait();
            sum += tile[batch % STAGES][(threadIdx.x * 5) % 96];
            pipeline.consumer_release();
        }
    }
    if (!produces) y[threadIdx.x - 32] = sum;
}

// Each thread arrives, does something else, and waits for its neighbours.
extern "C" __global__ void barrier_split(const int *x, int *y, int rounds) {
    __shared__ int s[2][THREADS];
    __shared__ Barrier barrier;
    int t = threadIdx.x, mine = x[t], other = 0;
    if (t == 0) init(&barrier, THREADS);
    __syncthreads();
    for (int i = 0; i < rounds; i++) {
        s[i % 2][t] = mine;
        auto token = barrier.arrive();
        other += mine ^ i;
        barrier.wait(std::move(token));
        mine += s[i % 2][(t + 33) % THREADS];
    }
    y[t] = mine + other;
}

// A bulk copy there, on an mbarrier, and one back.
extern "C" __global__ void bulk_there_and_back(const int *x, int *y) {
    __shared__ alignas(16) int s[4 * THREADS];
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) init(&barrier, THREADS);
    __syncthreads();
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(s, x + blockIdx.x * 4 * THREADS, cuda::aligned_size_t<16>(sizeof(s)), barrier);
        token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof(s));
    } else {
        token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    for (int i = 0; i < 4; i++) s[4 * threadIdx.x + i] += i;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + blockIdx.x * 4 * THREADS, s, sizeof(s));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// A box of a matrix that TMA brings, turns over in shared memory, and takes elsewhere: what the programming guide shows.
extern "C" __global__ void tensor_tile(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ alignas(128) float s[16][32];
    __shared__ Barrier barrier;
    int t = threadIdx.x, where[2] = {32 * (int)blockIdx.x, 16 * (int)blockIdx.y};
    if (t == 0) {
        init(&barrier, THREADS);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    Barrier::arrival_token token;
    if (t == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s, &from, where,
                                  cuda::device::barrier_native_handle(barrier));
        token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof(s));
    } else {
        token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    float mine[4];
    for (int i = 0; i < 4; i++) mine[i] = s[15 - (t / 32 * 4 + i)][31 - t % 32];
    __syncthreads();
    for (int i = 0; i < 4; i++) s[t / 32 * 4 + i][t % 32] = mine[i];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, where, s);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// Largest, smallest, sum and a product by atomics of one block, and a product that compare_exchange makes.
extern "C" __global__ void atomic_refs(const int *x, int *y, float *z) {
    __shared__ int s[4];
    if (threadIdx.x < 4) s[threadIdx.x] = threadIdx.x == 3;
    __syncthreads();
    using Ref = cuda::atomic_ref<int, cuda::thread_scope_block>;
    int mine = x[threadIdx.x];
    Ref(s[0]).fetch_max(mine, cuda::memory_order_relaxed);
    Ref(s[1]).fetch_min(mine, cuda::memory_order_relaxed);
    Ref(s[2]).fetch_add(mine, cuda::memory_order_relaxed);
    Ref product(s[3]);
    int seen = product.load(cuda::memory_order_relaxed);
    while (!product.compare_exchange_weak(seen, seen * (2 * mine + 1), cuda::memory_order_relaxed)) {}
    __syncthreads();
    if (threadIdx.x < 4) y[threadIdx.x] = s[threadIdx.x];
    cuda::atomic_ref<float, cuda::thread_scope_device>(*z).fetch_add(mine, cuda::memory_order_relaxed);
}

// Groups of 8 copy their rows and wait for their own copies alone; then those with the same remainder add up.
extern "C" __global__ void groups_copy(const int *x, int *y, int *sums) {
    __shared__ alignas(16) int s[2][THREADS / 8][32];
    auto row = cg::tiled_partition<8>(cg::this_thread_block());
    int r = row.meta_group_rank(), sum = 0;
    cg::memcpy_async(row, s[0][r], x + 32 * r, sizeof(s[0][r]));
    cg::memcpy_async(row, s[1][r], x + 32 * (THREADS / 8 + r), sizeof(s[1][r]));
    cg::wait_prior<1>(row);
    for (int i = 0; i < 4; i++) sum += s[0][r][row.thread_rank() + 8 * i];
    cg::wait(row);
    for (int i = 0; i < 4; i++) sum -= s[1][r][4 * row.thread_rank() + i];
    y[threadIdx.x] = sum;
    auto alike = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), threadIdx.x % 3);
    int added = sum;
    for (unsigned i = 1; i < alike.size(); i++) {
        int other = alike.shfl(sum, (alike.thread_rank() + i) % alike.size());
        added += other;
    }
    if (alike.thread_rank() == 0) sums[threadIdx.x / 32 * 3 + threadIdx.x % 3] = added;
}

// A latch that the last of four warps opens, and a semaphore that lets two warps count at a time.
extern "C" __global__ void latch_and_semaphore(const int *x, int *y) {
    __shared__ int s[4], counted;
    __shared__ cuda::latch<cuda::thread_scope_block> *all;
    __shared__ alignas(cuda::latch<cuda::thread_scope_block>) char room[sizeof(cuda::latch<cuda::thread_scope_block>)];
    __shared__ cuda::counting_semaphore<cuda::thread_scope_block, 2> two;
    int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        all = new (room) cuda::latch<cuda::thread_scope_block>(4);
        new (&two) cuda::counting_semaphore<cuda::thread_scope_block, 2>(2);
        counted = 0;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        two.acquire();
        cuda::atomic_ref<int, cuda::thread_scope_block>(counted).fetch_add(x[threadIdx.x]);
        two.release();
        s[warp] = x[threadIdx.x] * (warp + 1);
        all->arrive_and_wait();
        y[warp] = s[3 - warp];
    }
    __syncthreads();
    if (threadIdx.x == 0) y[4] = counted;
}

// A product of complex matrices through views of shared memory.
extern "C" __global__ void complex_product(const cuda::std::complex<float> *a, const cuda::std::complex<float> *b,
                                           cuda::std::complex<float> *c) {
    using Complex = cuda::std::complex<float>;
    __shared__ Complex room[2][16 * 16];
    cuda::std::mdspan<Complex, cuda::std::extents<int, 16, 16>> x(room[0]);
    cuda::std::mdspan<Complex, cuda::std::extents<int, 16, 16>, cuda::std::layout_left> y(room[1]);
    int i = threadIdx.x / 16, j = threadIdx.x % 16;
    x(i, j) = a[threadIdx.x], y(i, j) = b[threadIdx.x];
    __syncthreads();
    Complex sum = 0;
    for (int k = 0; k < 16; k++) sum += x(i, k) * y(k, j);
    c[threadIdx.x] = sum;
}
