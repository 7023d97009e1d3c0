// GEMMs of CUTLASS for Hopper, and what its host code makes of arguments: test_cutlass_kernels.py runs them without a GPU.
//
// The program prints the tensor maps that it is asked to encode, and the parameters of each kernel, in which such a map is
// 128 times a byte, 0xc0 for the first one of the program. Pointers are 0x1111111111111110 (A), and so on for B, C and D.
#include <cstdio>
#include <cstring>
#include <cute/tensor.hpp>
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>

using namespace cute;
using namespace cutlass::gemm;
using namespace cutlass::epilogue;
using Half = cutlass::half_t;
using Rows = cutlass::layout::RowMajor;
using Columns = cutlass::layout::ColumnMajor;

static int maps = 0;

extern "C" CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank, void* address,
                                           const cuuint64_t*, const cuuint64_t*, const cuuint32_t* box, const cuuint32_t*,
                                           CUtensorMapInterleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                           CUtensorMapFloatOOBfill) {
    printf("map %x %llx %d", 0xc0 + maps, (unsigned long long)address, (int)swizzle);
    for (unsigned i = 0; i < rank; i++) printf(" %u", box[i]);
    printf("\n");
    memset(map, 0xc0 + maps++, sizeof *map);
    return CUDA_SUCCESS;
}

template <class Schedule, class EpilogueSchedule, class Tile, class Cluster>
struct Of {
    using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto,
        float, float, Half, Rows, 8, Half, Rows, 8, EpilogueSchedule>::CollectiveOp;
    using Main = typename cutlass::gemm::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Half, Rows, 8, Half, Columns, 8, float, Tile, Cluster,
        cutlass::gemm::collective::StageCountAutoCarveout<(int)sizeof(typename Epilogue::SharedStorage)>,
        Schedule>::CollectiveOp;
    using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Main, Epilogue>;
};

template <class Kernel>
void tell(const char* name, int M, int N, int K) {
    printf("kernel %s\n", name);
    auto a = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {M, K, 1});
    auto b = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {N, K, 1});
    auto c = cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {M, N, 1});
    auto d = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {M, N, 1});
    typename Kernel::Arguments given{GemmUniversalMode::kGemm, {M, N, K, 1},
                                     {(Half*)0x1111111111111110, a, (Half*)0x2222222222222220, b},
                                     {{1.0f, 0.5f}, (Half*)0x3333333333333330, c, (Half*)0x4444444444444440, d}, {0, 4, 1}};
    auto params = Kernel::to_underlying_arguments(given, nullptr);
    auto cluster = typename Kernel::ClusterShape{};
    printf("launch %d %d %d %d ", (int)size<0>(cluster), (int)size<1>(cluster), (int)Kernel::MaxThreadsPerBlock,
           (int)Kernel::SharedStorageSize);
    for (size_t i = 0; i < sizeof params; i++) printf("%02x", ((unsigned char*)&params)[i]);
    printf("\n");
}

using Plain = Of<KernelTmaWarpSpecialized, TmaWarpSpecialized, Shape<_64, _64, _64>, Shape<_1, _1, _1>>::Kernel;
using Pingpong = Of<KernelTmaWarpSpecializedPingpong, TmaWarpSpecialized, Shape<_64, _128, _64>, Shape<_2, _1, _1>>::Kernel;
using Cooperative = Of<KernelTmaWarpSpecializedCooperative, TmaWarpSpecializedCooperative, Shape<_128, _128, _64>,
                       Shape<_1, _2, _1>>::Kernel;

int main(int, char** sizes) {
    int M = atoi(sizes[1]), N = atoi(sizes[2]), K = atoi(sizes[3]);
    tell<Plain>("Plain", M, N, K);
    tell<Pingpong>("Pingpong", M, N, K);
    tell<Cooperative>("Cooperative", M, N, K);
    void* kept[] = {(void*)&cutlass::device_kernel<Plain>, (void*)&cutlass::device_kernel<Pingpong>,
                    (void*)&cutlass::device_kernel<Cooperative>};
    return kept[0] == kept[1] || kept[1] == kept[2];
}
