// Kernels of CUB's blocks and warps, as users put them together: test_cub.py runs them on the CPU machine.
// -DHASTY leaves the barriers out between two uses of the same temporary storage.
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_scan.cuh>

constexpr int THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS;

#ifdef HASTY
#define BARRIER()
#else
#define BARRIER() __syncthreads()
#endif

struct Less {
    __device__ bool operator()(int a, int b) const { return a < b; }
};

template <cub::BlockReduceAlgorithm A>
__global__ void total(const float* x, float* y) {
    using Reduce = cub::BlockReduce<float, THREADS, A>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[blockIdx.x * THREADS + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
template __global__ void total<cub::BLOCK_REDUCE_RAKING>(const float*, float*);
template __global__ void total<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(const float*, float*);
template __global__ void total<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(const float*, float*);

template <cub::BlockScanAlgorithm A>
__global__ void sums(const int* x, int* y) {
    using Scan = cub::BlockScan<int, THREADS, A>;
    using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    int items[ITEMS];
    Load(storage.load).Load(x + blockIdx.x * TILE, items);
    BARRIER();
    Scan(storage.scan).InclusiveSum(items, items);
    BARRIER();
    Store(storage.store).Store(y + blockIdx.x * TILE, items);
}
template __global__ void sums<cub::BLOCK_SCAN_RAKING>(const int*, int*);
template __global__ void sums<cub::BLOCK_SCAN_RAKING_MEMOIZE>(const int*, int*);
template __global__ void sums<cub::BLOCK_SCAN_WARP_SCANS>(const int*, int*);

extern "C" __global__ void radix_sort(unsigned* keys, unsigned* values) {
    using Sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS, unsigned>;
    using Load = cub::BlockLoad<unsigned, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename Load::TempStorage load;
    } storage;
    unsigned k[ITEMS], v[ITEMS];
    Load(storage.load).Load(keys + blockIdx.x * TILE, k);
    BARRIER();
    Load(storage.load).Load(values + blockIdx.x * TILE, v);
    BARRIER();
    Sort(storage.sort).SortBlockedToStriped(k, v);
    cub::StoreDirectStriped<THREADS>(threadIdx.x, keys + blockIdx.x * TILE, k);
    cub::StoreDirectStriped<THREADS>(threadIdx.x, values + blockIdx.x * TILE, v);
}

extern "C" __global__ void merge_sort(int* keys) {
    using Sort = cub::BlockMergeSort<int, THREADS, ITEMS>;
    __shared__ typename Sort::TempStorage storage;
    int k[ITEMS];
    cub::LoadDirectBlocked(threadIdx.x, keys + blockIdx.x * TILE, k);
    Sort(storage).Sort(k, Less());
    cub::StoreDirectBlocked(threadIdx.x, keys + blockIdx.x * TILE, k);
}

template <cub::BlockHistogramAlgorithm A>
__global__ void histogram(const unsigned char* x, unsigned* y) {
    using Histogram = cub::BlockHistogram<unsigned char, THREADS, ITEMS, 256, A>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ unsigned bins[256];
    unsigned char items[ITEMS];
    cub::LoadDirectStriped<THREADS>(threadIdx.x, x + blockIdx.x * TILE, items);
    Histogram(storage).Histogram(items, bins);
    BARRIER();
    for (int i = threadIdx.x; i < 256; i += THREADS) y[blockIdx.x * 256 + i] = bins[i];
}
template __global__ void histogram<cub::BLOCK_HISTO_ATOMIC>(const unsigned char*, unsigned*);
template __global__ void histogram<cub::BLOCK_HISTO_SORT>(const unsigned char*, unsigned*);

extern "C" __global__ void heads(const int* x, int* y) {
    using Discontinuity = cub::BlockDiscontinuity<int, THREADS>;
    __shared__ typename Discontinuity::TempStorage storage;
    int items[ITEMS], flags[ITEMS];
    cub::LoadDirectBlocked(threadIdx.x, x + blockIdx.x * TILE, items);
    Discontinuity(storage).FlagHeads(flags, items, cuda::std::not_equal_to<int>());
    cub::StoreDirectBlocked(threadIdx.x, y + blockIdx.x * TILE, flags);
}

extern "C" __global__ void decode(const int* values, const int* lengths, int* y, int* total) {
    using Decode = cub::BlockRunLengthDecode<int, THREADS, 2, ITEMS>;
    __shared__ typename Decode::TempStorage storage;
    int v[2], n[2], sum = 0, items[ITEMS];
    cub::LoadDirectBlocked(threadIdx.x, values, v);
    cub::LoadDirectBlocked(threadIdx.x, lengths, n);
    Decode runs(storage, v, n, sum);
    for (int at = 0; at < sum; at += TILE) {
        runs.RunLengthDecode(items, at);
        cub::StoreDirectBlocked(threadIdx.x, y + at, items, sum - at);
    }
    if (threadIdx.x == 0) *total = sum;
}

extern "C" __global__ void by_warps(const float* x, float* sums, float* exchanged, int* keys) {
    using Scan = cub::WarpScan<float>;
    using Sort = cub::WarpMergeSort<int, ITEMS, 32>;
    using Exchange = cub::WarpExchange<float, ITEMS, 16>;
    __shared__ typename Scan::TempStorage scan[THREADS / 32];
    __shared__ typename Sort::TempStorage sort[THREADS / 32];
    __shared__ typename Exchange::TempStorage exchange[THREADS / 16];
    float sum, items[ITEMS];
    int k[ITEMS];
    Scan(scan[threadIdx.x / 32]).InclusiveSum(x[threadIdx.x], sum);
    sums[threadIdx.x] = sum;
    cub::LoadDirectBlocked(threadIdx.x, keys, k);
    Sort(sort[threadIdx.x / 32]).Sort(k, Less());
    cub::StoreDirectBlocked(threadIdx.x, keys, k);
    cub::LoadDirectBlocked(threadIdx.x, x, items);
    Exchange(exchange[threadIdx.x / 16]).BlockedToStriped(items, items);
    cub::StoreDirectBlocked(threadIdx.x, exchanged, items);
}
