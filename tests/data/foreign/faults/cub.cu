// Temporary storage of CUB that is used again while threads still use it.
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include "twins.h"

using Load = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;

template <cub::BlockScanAlgorithm A, bool GOOD>
__device__ __forceinline__ void sums(const int *in, int *out) {
    using Scan = cub::BlockScan<int, 64, A>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
    } storage;
    int items[4];
    Load(storage.load).Load(in, items);                        // @raking_storage @scan_storage
    if (GOOD) __syncthreads();
    Scan(storage.scan).InclusiveSum(items, items);             // @raking_storage @scan_storage
    cub::StoreDirectBlocked(threadIdx.x, out, items);
}
KERNEL raking_storage(const int *in, int *out, int n) { sums<cub::BLOCK_SCAN_RAKING, GOOD>(in, out); }
TWINS(raking_storage)
KERNEL scan_storage(const int *in, int *out, int n) { sums<cub::BLOCK_SCAN_WARP_SCANS, GOOD>(in, out); }
TWINS(scan_storage)

KERNEL sort_storage(const int *in, int *out, int n) {
    using Sort = cub::BlockRadixSort<int, 64, 4>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Sort::TempStorage sort;
    } storage;
    int items[4];
    Load(storage.load).Load(in, items);                        // @sort_storage
    if (GOOD) __syncthreads();
    Sort(storage.sort).Sort(items);                            // @sort_storage
    cub::StoreDirectBlocked(threadIdx.x, out, items);
}
TWINS(sort_storage)

KERNEL bins_too_early(const int *in, int *out, int n) {
    using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 64, cub::BLOCK_HISTO_ATOMIC>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ int bins[64];
    unsigned char items[4];
    for (int i = 0; i < 4; i++) items[i] = in[64 * i + threadIdx.x] % 64;
    Histogram(storage).Histogram(items, bins);                 // @bins_too_early
    if (GOOD) __syncthreads();
    out[threadIdx.x] = bins[63 - threadIdx.x];                 // @bins_too_early
}
TWINS(bins_too_early)
