// What CUTLASS says of Blackwell, a line for each question: `name|layout or number`. Compiled and run on the host by
// test_blackwell.py, with the headers of the wheel nvidia-cutlass.
#include <cstdio>
#include <cute/tensor.hpp>
#include <cute/atom/mma_traits_sm100.hpp>
#include <cute/atom/copy_traits_sm100.hpp>
#include <cutlass/detail/sm100_blockscaled_layout.hpp>

using namespace cute;

template <class Text> void row(char const* name, Text const& layout) {
  printf("%s|", name);
  print(layout);
  printf("\n");
}

// ---- shared memory descriptors: of a tile of Rows x 128 bytes of K, as TMA writes it; CUTLASS cannot know its start on the
// host. `name|first descriptor|steps along K in 16 bytes|where each element lies, without the swizzle` ---------------------

template <class Atom, UMMA::Major M, class T, int Rows> void descriptor(char const* name) {
  constexpr int each = 256 / sizeof_bits<T>::value;
  using Order = conditional_t<M == UMMA::Major::K, Step<_1, _2>, Step<_2, _1>>;
  auto shape = Shape<Shape<Int<Rows>, Int<each>>, _1, _4>{};
  auto tiled = UMMA::tile_to_mma_shape(Atom{}, shape, Order{});
  auto made = make_tensor<UMMA::smem_desc<M>>(make_tensor(make_smem_ptr<T>((T*)0), tiled));
  printf("desc %s %d|%016llx|", name, Rows, (unsigned long long)made.data().desc_.desc_);
  print(layout<2>(made.layout()));
  printf("|");
  print(tile_to_shape(Atom{}, Shape<Int<Rows>, Int<4 * each>>{}, Order{}).layout_b());
  printf("\n");
}

template <class T, int Rows> void descriptors(char const* type) {
  char name[64];
#define ONE(MAJOR, SWIZZLE, ATOM)                      \
  snprintf(name, sizeof name, "%s %s %s", type, #MAJOR, SWIZZLE); \
  descriptor<UMMA::Layout_##MAJOR##_##ATOM##_Atom<T>, UMMA::Major::MAJOR, T, Rows>(name);
  ONE(K, "0", INTER) ONE(K, "32", SW32) ONE(K, "64", SW64) ONE(K, "128", SW128)
  if constexpr (sizeof(T) == 4) {
    ONE(MN, "128B_ATOM_32B", SW128_32B)
  } else {
    ONE(MN, "0", INTER) ONE(MN, "32", SW32) ONE(MN, "64", SW64) ONE(MN, "128", SW128)
  }
#undef ONE
}

// ---- instruction descriptors --------------------------------------------------------------------------------------------

template <class A, class B, class C, int M, int N, UMMA::Major MA, UMMA::Major MB> void instruction(char const* name) {
  printf("idesc %s|%08x\n", name, uint32_t(UMMA::make_instr_desc<A, B, C, M, N, MA, MB>()));
}

template <class A, class B, class S, int M, int N> void scaled(char const* name) {
  constexpr auto K = UMMA::Major::K;
  printf("idesc %s|%08x\n", name, uint32_t(UMMA::make_instr_desc_block_scaled<A, B, float, S, M, N, K, K>()));
}

// ---- TMEM ---------------------------------------------------------------------------------------------------------------

template <int Ctas, int M, int N> void accumulator() {
  using Frg = UMMA::tmem_frg<float, uint32_t, Ctas, UMMA::TmemAllocMode::Interleaved>;
  printf("acc %d %d 0 %d|", M * Ctas, Ctas, N);
  print(Frg::make(Shape<Shape<Int<M>, Int<N>>, _1, _1>{}).layout());
  printf("\n");
}

template <int M, int N> void accumulator_ws() {
  printf("acc %d 1 1 %d|", M, N);
  print(UMMA::tmem_frg_ws<float, uint32_t, 1>::make(Shape<Shape<Int<M>, Int<N>>, _1, _1>{}).layout());
  printf("\n");
}

template <int N> void accumulators() {
  accumulator<1, 64, N>(); accumulator<1, 128, N>();
  if constexpr (N % 16 == 0) { accumulator<2, 64, N>(); accumulator<2, 128, N>(); }
}

template <class Traits> void load(char const* name) {
  printf("ld %s|", name); print(typename Traits::ValID{});
  printf("|"); print(typename Traits::DstLayout{}); printf("\n");
}

#define LOAD(SHAPE, N)                                               \
  load<Copy_Traits<SM100_TMEM_LOAD_##SHAPE##N##x>>(#SHAPE " " #N " 0"); \
  load<Copy_Traits<SM100_TMEM_LOAD_##SHAPE##N##x_16b>>(#SHAPE " " #N " 1");

template <class Traits> void copy_in(char const* name) {
  printf("cp %s|", name); print(typename Traits::ValID{});
  printf("|"); print(typename Traits::SrcLayout{}); printf("|"); print(typename Traits::DstLayout{}); printf("\n");
}

template <int Rows, int Factors, int Each, int Steps> void scales_a() {
  using Frg = UMMA::tmem_sf_frg<float_ue8m0_t, 32, 1, true>;
  printf("sfa %d %d %d|", Rows, Factors, Steps);
  print(Frg::make(Shape<Shape<Int<Rows>, Shape<Int<Each>, Int<Factors>>>, _1, Int<Steps>>{}).layout());
  printf("\n");
}

template <int Rows, int Factors, int Each, int Steps> void scales_b2() {
  using Frg = UMMA::tmem_sf_frg<float_ue8m0_t, 32, 2, false, UMMA::TmemAllocMode::ScaleFactorDuplicated2by2>;
  printf("sfb %d %d %d|", Rows, Factors, Steps);
  print(Frg::make(Shape<Shape<Int<Rows>, Shape<Int<Each>, Int<Factors>>>, _1, Int<Steps>>{}).layout());
  printf("\n");
}

// ---- sparse A: its descriptors, for sparse_elem<2, T>, and where tmem_e_frg puts its metadata ----------------------------

template <class Atom, UMMA::Major M, class T, int Rows> void sparse_descriptor(char const* name) {
  constexpr int each = 512 / sizeof_bits<T>::value;
  using Order = conditional_t<M == UMMA::Major::K, Step<_1, _2>, Step<_2, _1>>;
  auto tiled = UMMA::tile_to_mma_shape(Atom{}, Shape<Shape<Int<Rows>, Int<each>>, _1, _4>{}, Order{});
  auto pointer = recast_ptr<sparse_elem<2, T>>(make_smem_ptr<T>((T*)0));
  auto made = make_tensor<UMMA::sparse_smem_desc<M>>(make_tensor(pointer, tiled));
  printf("spdesc %s %d|%016llx|", name, Rows, (unsigned long long)made.data().desc_.desc_);
  print(layout<2>(made.layout()));
  printf("\n");
}

template <class T, int Rows> void sparse_descriptors(char const* type) {
  char name[64];
#define SPARSE(MAJOR, SWIZZLE, ATOM)                                  \
  snprintf(name, sizeof name, "%s %s %s", type, #MAJOR, SWIZZLE);     \
  sparse_descriptor<UMMA::Layout_##MAJOR##_##ATOM##_SpAtom<T, 2>, UMMA::Major::MAJOR, T, Rows>(name);
  SPARSE(K, "32", SW32) SPARSE(K, "64", SW64) SPARSE(K, "128", SW128)
  if constexpr (sizeof(T) == 4) {
    SPARSE(MN, "128B_ATOM_32B", SW128_32B)
  } else {
    SPARSE(MN, "32", SW32) SPARSE(MN, "64", SW64) SPARSE(MN, "128", SW128)
  }
#undef SPARSE
}

template <class Frg, int M, int K> void metadata(char const* name) {
  printf("meta %s|", name);
  print(Frg::make(Shape<Shape<Int<M>, Int<K>>, _1, _4>{}).layout());
  printf("\n");
}

// ---- 96 of K: descriptors as the collective mainloop of sm_103 steps through three buffers, with what mma_unpack of SM103
// makes of two; scale factors as it iterates them; and ids as make_runtime_instr_desc_block_scaled takes them from addresses

template <int Rows> void k96_descriptors() {
  using Smem = decltype(UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<uint8_t>{},
                                                Shape<Shape<Int<Rows>, _16>, _1, _8, _3>{}, Step<_1, _2, _3>{}));
  auto made = make_tensor<UMMA::smem_desc<UMMA::Major::K>>(make_tensor(make_smem_ptr<uint8_t>((uint8_t*)0), Smem{}));
  int const unit[] = {0, 3, 6, 1, 4, 7, 2, 5}, buffer[] = {0, 0, 0, 1, 1, 1, 2, 2}, next[] = {0, 0, 1, 1, 1, 2, 2, 2};
  for (int step = 0; step < 8; ++step) {
    auto desc = *made(_, _, unit[step], buffer[step]).data();
    auto other = *made(_, _, 0, next[step]).data();
    desc.lbo_mode_ = 1;
    desc.leading_byte_offset_ = other.start_address_;
    printf("k96 %d %d|%016llx\n", Rows, step, (unsigned long long)desc.desc_);
  }
}

template <class S, int M, int N, int Vector> void k96_instruction(char const* type) {
  auto desc = UMMA::make_instr_desc_block_scaled<float_e2m1_t, float_e2m1_t, float, S, M, N, UMMA::Major::K, UMMA::Major::K>();
  desc.k_size_ = 1;
  using Frg = UMMA::tmem_sf_frg<S, Vector, 1, true>;
  using Scales = decltype(Frg::make(Shape<Shape<Int<128>, Shape<Int<Vector>, _1>>, _1, Int<24>>{}).layout());
  constexpr int stride = Vector == 16 ? 6 : 3;
  for_each(make_int_sequence<24 / stride>{}, [&](auto step) {
    constexpr uint32_t address = raw_pointer_cast(make_tmem_ptr<S>(0u) + Scales{}(_0{}, _0{}, Int<step * stride>{}));
    uint64_t const bits = UMMA::make_runtime_instr_desc_block_scaled<>(desc, address, address);
    printf("k96idesc %s %d %d %d %d|%08x|%08x\n", type, M, N, Vector, int(step), uint32_t(bits >> 32), address);
  });
}

int main() {
  descriptors<half_t, 128>("f16"); descriptors<half_t, 64>("f16"); descriptors<half_t, 256>("f16");
  descriptors<bfloat16_t, 128>("bf16"); descriptors<tfloat32_t, 128>("tf32"); descriptors<tfloat32_t, 64>("tf32");
  descriptors<float_e4m3_t, 128>("e4m3"); descriptors<float_e5m2_t, 256>("e5m2"); descriptors<int8_t, 128>("s8");
  descriptors<uint8_t, 128>("u8");

  constexpr auto K = UMMA::Major::K, MN = UMMA::Major::MN;
  instruction<half_t, half_t, float, 128, 256, K, K>("f16 f16 f16 f32 128 256 K K -");
  instruction<half_t, half_t, half_t, 64, 8, MN, K>("f16 f16 f16 f16 64 8 MN K -");
  instruction<bfloat16_t, bfloat16_t, float, 256, 256, K, K>("f16 bf16 bf16 f32 256 256 K K -");
  instruction<bfloat16_t, bfloat16_t, float, 64, 256, K, MN>("f16 bf16 bf16 f32 64 256 K MN -");
  instruction<tfloat32_t, tfloat32_t, float, 128, 64, MN, MN>("tf32 tf32 tf32 f32 128 64 MN MN -");
  instruction<float_e4m3_t, float_e5m2_t, float, 128, 192, K, K>("f8f6f4 e4m3 e5m2 f32 128 192 K K -");
  instruction<float_e2m3_t, float_e3m2_t, float, 128, 192, K, K>("f8f6f4 e2m3 e3m2 f32 128 192 K K -");
  instruction<float_e5m2_t, cute::detail::float_e2m1_unpacksmem_t, half_t, 128, 24, K, K>("f8f6f4 e5m2 e2m1 f16 128 24 K K -");
  instruction<int8_t, uint8_t, int32_t, 128, 128, K, MN>("i8 s8 u8 s32 128 128 K MN -");
  scaled<float_e4m3_t, float_e4m3_t, float_ue8m0_t, 128, 192>("mxf8f6f4 e4m3 e4m3 f32 128 192 K K ue8m0");
  scaled<float_e2m1_t, float_e2m1_t, float_ue8m0_t, 128, 64>("mxf4 e2m1 e2m1 f32 128 64 K K ue8m0");
  scaled<float_e2m1_t, float_e2m1_t, float_ue4m3_t, 256, 256>("mxf4nvf4 e2m1 e2m1 f32 256 256 K K ue4m3");

  accumulators<8>(); accumulators<16>(); accumulators<64>(); accumulators<96>(); accumulators<128>(); accumulators<256>();
  accumulator_ws<32, 64>(); accumulator_ws<32, 128>(); accumulator_ws<32, 256>(); accumulator_ws<64, 64>();
  accumulator_ws<64, 128>(); accumulator_ws<64, 256>(); accumulator_ws<128, 64>(); accumulator_ws<128, 256>();

#define UP_TO_32(SHAPE) LOAD(SHAPE, 1) LOAD(SHAPE, 2) LOAD(SHAPE, 4) LOAD(SHAPE, 8) LOAD(SHAPE, 16) LOAD(SHAPE, 32)
#define UP_TO_64(SHAPE) UP_TO_32(SHAPE) LOAD(SHAPE, 64)
#define UP_TO_128(SHAPE) UP_TO_64(SHAPE) LOAD(SHAPE, 128)
  UP_TO_128(32dp32b) UP_TO_128(16dp64b) UP_TO_64(16dp128b) UP_TO_32(16dp256b) UP_TO_128(16dp32b)

  copy_in<Copy_Traits<SM100_UTCCP_128dp256bit_1cta>>("128x256b");
  copy_in<Copy_Traits<SM100_UTCCP_128dp128bit_1cta>>("128x128b");
  copy_in<Copy_Traits<SM100_UTCCP_4dp256bit_1cta>>("4x256b");
  copy_in<Copy_Traits<SM100_UTCCP_4x32dp128bit_1cta>>("32x128b.warpx4");
  copy_in<Copy_Traits<SM100_UTCCP_2x64dp128bitlw0213_1cta>>("64x128b.warpx2::02_13");
  copy_in<Copy_Traits<SM100_UTCCP_2x64dp128bitlw0123_1cta>>("64x128b.warpx2::01_23");

  scales_a<128, 1, 32, 4>(); scales_a<128, 1, 32, 8>(); scales_a<128, 2, 32, 4>(); scales_a<128, 4, 16, 1>();
  scales_a<128, 4, 16, 4>(); scales_a<64, 1, 32, 4>(); scales_a<256, 1, 32, 4>(); scales_a<256, 4, 16, 2>();
  scales_b2<128, 1, 32, 4>(); scales_b2<256, 4, 16, 2>(); scales_b2<64, 2, 32, 2>();

  sparse_descriptors<half_t, 128>("f16"); sparse_descriptors<bfloat16_t, 256>("bf16");
  sparse_descriptors<tfloat32_t, 128>("tf32"); sparse_descriptors<float_e4m3_t, 128>("e4m3");
  sparse_descriptors<int8_t, 256>("s8");
  metadata<UMMA::tmem_e_frg<half_t>, 128, 32>("f16 128 0"); metadata<UMMA::tmem_e_frg<tfloat32_t>, 128, 16>("tf32 128 0");
  metadata<UMMA::tmem_e_frg<uint8_t>, 128, 64>("f8f6f4 128 0");
  metadata<UMMA::tmem_e_frg<float_e2m1_t>, 128, 128>("mxf4 128 0");
  metadata<UMMA::tmem_e_frg_ws<half_t>, 128, 32>("f16 128 1"); metadata<UMMA::tmem_e_frg_ws<half_t>, 64, 32>("f16 64 1");
  metadata<UMMA::tmem_e_frg_ws<half_t>, 32, 32>("f16 32 1"); metadata<UMMA::tmem_e_frg_ws<tfloat32_t>, 64, 16>("tf32 64 1");
  metadata<UMMA::tmem_e_frg_ws<tfloat32_t>, 32, 16>("tf32 32 1");
  metadata<UMMA::tmem_e_frg_ws<uint8_t>, 64, 64>("i8 64 1"); metadata<UMMA::tmem_e_frg_ws<uint8_t>, 32, 64>("i8 32 1");

  k96_descriptors<128>(); k96_descriptors<64>(); k96_descriptors<256>();
  k96_instruction<float_ue8m0_t, 128, 64, 32>("ue8m0"); k96_instruction<float_ue8m0_t, 256, 256, 16>("ue8m0");
  k96_instruction<float_ue4m3_t, 128, 256, 16>("ue4m3");

  using Config = cutlass::detail::Sm1xxBlockScaledConfig<32>;
  row("sf 256 512", Config::tile_atom_to_shape_SFA(make_shape(256, 256, 512, 1)));
  row("sf 128 128", Config::tile_atom_to_shape_SFA(make_shape(128, 128, 128, 1)));
  using Nvfp4 = cutlass::detail::Sm1xxBlockScaledConfig<16>;
  row("nv 384 192", Nvfp4::tile_atom_to_shape_SFA(make_shape(384, 128, 192, 1)));
}
