// GEMMs of CUTLASS for Hopper, as its collective builders make them: D = A B + C / 2.
//
// As a program it needs no GPU: it prints a line of JSON for each kernel, with the parameters that CUTLASS's host code makes
// of its arguments, and the tensor maps that it asks the driver to encode. In the parameters a pointer is fifteen times a
// digit and 0 (1: A, 2: B, 3: C, 4: D), and a map is 128 times a byte, its "mark".
#include <cstdio>
#include <cstring>
#include <string>
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

static int mark = 0xc0;
static std::string maps;

extern "C" CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType, cuuint32_t rank, void *address,
                                           const cuuint64_t *, const cuuint64_t *, const cuuint32_t *box, const cuuint32_t *,
                                           CUtensorMapInterleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                           CUtensorMapFloatOOBfill) {
    static const int bytes[] = {0, 32, 64, 128};
    char text[99];
    sprintf(text, "%s{\"mark\": \"%x\", \"of\": %d, \"swizzle\": %d, \"box\": [%u, %u, %u]}", maps.empty() ? "" : ", ", mark,
            (int)((unsigned long long)address >> 60), bytes[swizzle], box[0], box[1], box[2]);
    maps += text;
    memset(map, mark++, sizeof *map);
    return CUDA_SUCCESS;
}

template <class In, class OfA, class OfB, class Schedule, class EpilogueSchedule, class Tile, class Cluster>
struct Of {
    static constexpr int ALIGNED = 16 / sizeof(In);
    using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster, cutlass::epilogue::collective::EpilogueTileAuto,
        float, float, Half, Rows, 8, Half, Rows, 8, EpilogueSchedule>::CollectiveOp;
    using Main = typename cutlass::gemm::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, OfA, ALIGNED, In, OfB, ALIGNED, float, Tile, Cluster,
        cutlass::gemm::collective::StageCountAutoCarveout<(int)sizeof(typename Epilogue::SharedStorage)>,
        Schedule>::CollectiveOp;
    using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Main, Epilogue>;
};

template <class Kernel>
void tell(const char *name, int M, int N, int K) {
    auto a = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {M, K, 1});
    auto b = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {N, K, 1});
    auto c = cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {M, N, 1});
    auto d = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {M, N, 1});
    using In = typename Kernel::ElementA;
    typename Kernel::Arguments given{GemmUniversalMode::kGemm, {M, N, K, 1},
                                     {(In *)0x1111111111111110, a, (In *)0x2222222222222220, b},
                                     {{1.0f, 0.5f}, (Half *)0x3333333333333330, c, (Half *)0x4444444444444440, d}, {0, 4, 1}};
    maps.clear();
    auto params = Kernel::to_underlying_arguments(given, nullptr);
    auto cluster = typename Kernel::ClusterShape{};
    printf("{\"name\": \"%s\", \"cluster\": [%d, %d], \"threads\": %d, \"shared_bytes\": %d, \"maps\": [%s], \"params\": \"",
           name, (int)size<0>(cluster), (int)size<1>(cluster), (int)Kernel::MaxThreadsPerBlock,
           (int)Kernel::SharedStorageSize, maps.c_str());
    for (size_t i = 0; i < sizeof params; i++) printf("%02x", ((unsigned char *)&params)[i]);
    printf("\"}\n");
}

#define KERNEL(NAME, ...)                                                                                              \
    using Of_##NAME = Of<__VA_ARGS__>::Kernel;                                                                         \
    extern "C" __global__ void __launch_bounds__(Of_##NAME::MaxThreadsPerBlock, 1)                                     \
        NAME(CUTLASS_GRID_CONSTANT typename Of_##NAME::Params const params) {                                          \
        extern __shared__ char smem[];                                                                                 \
        Of_##NAME()(params, smem);                                                                                     \
    }
#define TILE(M, N, K) Shape<_##M, _##N, _##K>
#define CLUSTER(M, N) Shape<_##M, _##N, _1>
KERNEL(cutlass_plain, Half, Rows, Columns, KernelTmaWarpSpecialized, TmaWarpSpecialized, TILE(64, 64, 64), CLUSTER(1, 1))
KERNEL(cutlass_columns, Half, Columns, Rows, KernelTmaWarpSpecialized, TmaWarpSpecialized, TILE(64, 128, 64), CLUSTER(1, 1))
KERNEL(cutlass_pingpong, Half, Rows, Columns, KernelTmaWarpSpecializedPingpong, TmaWarpSpecialized, TILE(64, 128, 64),
       CLUSTER(2, 1))
KERNEL(cutlass_cooperative, Half, Rows, Columns, KernelTmaWarpSpecializedCooperative, TmaWarpSpecializedCooperative,
       TILE(128, 128, 64), CLUSTER(1, 2))
KERNEL(cutlass_e4m3, cutlass::float_e4m3_t, Rows, Columns, KernelTmaWarpSpecializedCooperativeFP8FastAccum,
       TmaWarpSpecializedCooperative, TILE(128, 128, 128), CLUSTER(1, 1))

int main(int, char **sizes) {
    int M = atoi(sizes[1]), N = atoi(sizes[2]), K = atoi(sizes[3]);
    tell<Of_cutlass_plain>("cutlass_plain", M, N, K);
    tell<Of_cutlass_columns>("cutlass_columns", M, N, K);
    tell<Of_cutlass_pingpong>("cutlass_pingpong", M, N, K);
    tell<Of_cutlass_cooperative>("cutlass_cooperative", M, N, K);
    tell<Of_cutlass_e4m3>("cutlass_e4m3", M, N, K);
}
