// What blocks and warps do by CUB, whose headers come with nvcc, as users put it together.
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
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
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

constexpr int THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS;

struct Less {
    __device__ bool operator()(int a, int b) const { return a < b; }
};

struct Minus {
    __device__ int operator()(int a, int b) const { return a - b; }
};

template <cub::BlockReduceAlgorithm A>
__device__ void total(const float *x, float *y) {
    using Reduce = cub::BlockReduce<float, THREADS, A>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[blockIdx.x * THREADS + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
#define TOTAL(NAME, A) extern "C" __global__ void NAME(const float *x, float *y) { total<A>(x, y); }
TOTAL(cub_total_raking, cub::BLOCK_REDUCE_RAKING)
TOTAL(cub_total_commutative, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY)
TOTAL(cub_total_warps, cub::BLOCK_REDUCE_WARP_REDUCTIONS)

template <cub::BlockScanAlgorithm A, cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
__device__ void sums(const int *x, int *y) {
    using Scan = cub::BlockScan<int, THREADS, A>;
    using Load = cub::BlockLoad<int, THREADS, ITEMS, L>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, S>;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    int items[ITEMS];
    Load(storage.load).Load(x + blockIdx.x * TILE, items);
    __syncthreads();
    Scan(storage.scan).InclusiveSum(items, items);
    __syncthreads();
    Store(storage.store).Store(y + blockIdx.x * TILE, items);
}
#define SUMS(NAME, A, L) \
    extern "C" __global__ void NAME(const int *x, int *y) { sums<A, cub::BLOCK_LOAD_##L, cub::BLOCK_STORE_##L>(x, y); }
SUMS(cub_sums_raking, cub::BLOCK_SCAN_RAKING, TRANSPOSE)
SUMS(cub_sums_memoize, cub::BLOCK_SCAN_RAKING_MEMOIZE, WARP_TRANSPOSE)
SUMS(cub_sums_warps, cub::BLOCK_SCAN_WARP_SCANS, WARP_TRANSPOSE_TIMESLICED)

extern "C" __global__ void cub_radix_sort(unsigned *keys, unsigned *values) {
    using Sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS, unsigned>;
    using Load = cub::BlockLoad<unsigned, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename Load::TempStorage load;
    } storage;
    unsigned k[ITEMS], v[ITEMS];
    Load(storage.load).Load(keys + blockIdx.x * TILE, k);
    __syncthreads();
    Load(storage.load).Load(values + blockIdx.x * TILE, v);
    __syncthreads();
    Sort(storage.sort).SortBlockedToStriped(k, v);
    cub::StoreDirectStriped<THREADS>(threadIdx.x, keys + blockIdx.x * TILE, k);
    cub::StoreDirectStriped<THREADS>(threadIdx.x, values + blockIdx.x * TILE, v);
}

extern "C" __global__ void cub_merge_sort(int *keys) {
    using Sort = cub::BlockMergeSort<int, THREADS, ITEMS>;
    __shared__ typename Sort::TempStorage storage;
    int k[ITEMS];
    cub::LoadDirectBlocked(threadIdx.x, keys + blockIdx.x * TILE, k);
    Sort(storage).Sort(k, Less());
    cub::StoreDirectBlocked(threadIdx.x, keys + blockIdx.x * TILE, k);
}

template <cub::BlockHistogramAlgorithm A>
__device__ void histogram(const unsigned char *x, unsigned *y) {
    using Histogram = cub::BlockHistogram<unsigned char, THREADS, ITEMS, 256, A>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ unsigned bins[256];
    unsigned char items[ITEMS];
    cub::LoadDirectStriped<THREADS>(threadIdx.x, x + blockIdx.x * TILE, items);
    Histogram(storage).Histogram(items, bins);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += THREADS) y[blockIdx.x * 256 + i] = bins[i];
}
#define HISTOGRAM(NAME, A) extern "C" __global__ void NAME(const unsigned char *x, unsigned *y) { histogram<A>(x, y); }
HISTOGRAM(cub_histogram_atomic, cub::BLOCK_HISTO_ATOMIC)
HISTOGRAM(cub_histogram_sort, cub::BLOCK_HISTO_SORT)

template <class T, int N>
__device__ void exchange(const T *x, T *y) {
    using Exchange = cub::BlockExchange<T, THREADS, N>;
    __shared__ typename Exchange::TempStorage storage;
    T items[N];
    cub::LoadDirectStriped<THREADS>(threadIdx.x, x, items);
    Exchange(storage).StripedToBlocked(items, items);
    T first = items[0];
    for (int i = 0; i < N; i++) items[i] += first;
    __syncthreads();
    Exchange(storage).BlockedToStriped(items, items);
    cub::StoreDirectStriped<THREADS>(threadIdx.x, y, items);
}
#define EXCHANGE(NAME, T, N) extern "C" __global__ void NAME(const T *x, T *y) { exchange<T, N>(x, y); }
EXCHANGE(cub_exchange_8, int, 8)
EXCHANGE(cub_exchange_9, int, 9)
EXCHANGE(cub_exchange_doubles, double, 4)
EXCHANGE(cub_exchange_shorts, short, 6)

extern "C" __global__ void cub_heads(const int *x, int *flags, int *differences) {
    using Discontinuity = cub::BlockDiscontinuity<int, THREADS>;
    using Difference = cub::BlockAdjacentDifference<int, THREADS>;
    __shared__ typename Discontinuity::TempStorage neighbours;
    __shared__ typename Difference::TempStorage storage;
    int items[ITEMS], found[ITEMS];
    cub::LoadDirectBlocked(threadIdx.x, x + blockIdx.x * TILE, items);
    Discontinuity(neighbours).FlagHeads(found, items, cuda::std::not_equal_to<int>());
    cub::StoreDirectBlocked(threadIdx.x, flags + blockIdx.x * TILE, found);
    Difference(storage).SubtractLeft(items, found, Minus());
    cub::StoreDirectBlocked(threadIdx.x, differences + blockIdx.x * TILE, found);
}

extern "C" __global__ void cub_decode(const int *values, const int *lengths, int *y, int *total) {
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

extern "C" __global__ void cub_by_warps(const float *x, float *sums, float *largest, float *exchanged, int *keys) {
    using Scan = cub::WarpScan<float>;
    using Reduce = cub::WarpReduce<float, 16>;
    using Sort = cub::WarpMergeSort<int, ITEMS, 32>;
    using Exchange = cub::WarpExchange<float, ITEMS, 16>;
    __shared__ typename Scan::TempStorage scan[THREADS / 32];
    __shared__ typename Reduce::TempStorage reduce[THREADS / 16];
    __shared__ typename Sort::TempStorage sort[THREADS / 32];
    __shared__ typename Exchange::TempStorage exchange[THREADS / 16];
    float sum, items[ITEMS];
    int k[ITEMS];
    Scan(scan[threadIdx.x / 32]).InclusiveSum(x[threadIdx.x], sum);
    sums[threadIdx.x] = sum;
    sum = Reduce(reduce[threadIdx.x / 16]).Reduce(x[threadIdx.x], cuda::maximum<>());
    if (threadIdx.x % 16 == 0) largest[threadIdx.x / 16] = sum;
    cub::LoadDirectBlocked(threadIdx.x, keys, k);
    Sort(sort[threadIdx.x / 32]).Sort(k, Less());
    cub::StoreDirectBlocked(threadIdx.x, keys, k);
    cub::LoadDirectBlocked(threadIdx.x, x, items);
    Exchange(exchange[threadIdx.x / 16]).BlockedToStriped(items, items);
    cub::StoreDirectBlocked(threadIdx.x, exchanged, items);
}
