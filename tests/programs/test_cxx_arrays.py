"""Arrays in shared memory of CUDA C++: how their declarations are read, and that an edit does what is said of it."""

from contextlib import nullcontext, suppress
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nvcc import needs_nvcc, ptx_of

import simlayout as sl
from simlayout.machine.ptx.declared.cxx_declarations import declarations, symbol_name
from simlayout.machine.ptx.declared.declarations import NoEdit, replaced
from simlayout.programs.mend import mends
from simlayout.programs.report import mend_lines
from simlayout.programs.uses import Uses

ROWS = """
template <typename T, int ROWS, int COLS>
__global__ void sums(const T *x, T *y)
{
    __shared__ T t[ROWS][COLS];  // walked along
    for (int i = threadIdx.x; i < ROWS * COLS; i += 32) t[i / COLS][i % COLS] = x[i];
    __syncthreads();
    T sum = 0;
    for (int c = 0; c < COLS; ++c) sum += t[threadIdx.x][c];
    y[threadIdx.x] = sum;
}
template __global__ void sums<float, 32, 64>(const float *, float *);
"""
PAIRS = """
extern __shared__ int keys[];
__global__ void pairs(int *x, int n)
{
    int t = threadIdx.x;
    keys[t] = x[t];
    keys[t + n] = x[t + n];
    __syncthreads();
    x[t] = keys[2 * t] - keys[2 * t + 1 - 1 + (n > 0)];
}
"""
MATRIX = """
#include <mma.h>
using namespace nvcuda;
#define K 64
__global__ void product(const half *a, float *c)
{
    __shared__ __align__(32) half s[16][K];
    for (int i = threadIdx.x; i < 16 * K; i += 32) s[i / K][i % K] = a[i];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> d;
    wmma::fill_fragment(d, 0.0f);
    wmma::load_matrix_sync(x, &s[0][16], K);
    wmma::load_matrix_sync(y, &s[0][32], K);
    wmma::mma_sync(d, x, y, d);
    wmma::store_matrix_sync(c, d, 16, wmma::mem_row_major);
}
"""
JOINED = """
__global__ void halves(int *x)
{
    __shared__ int s[1024];
    int t = threadIdx.x;
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    __syncthreads();
    for (int k = 0; k < 5; ++k) s[32 * (t % 32) + t / 32 + 16 * (k & 1)] += k;
    __syncthreads();
    x[2 * t] = s[2 * t] + s[2 * t + 1];
}
"""
PIECES = """
__global__ void turned(const float *x, float *y)
{
    __shared__ float s[32 * 32];
    int t = threadIdx.x;
    for (int i = 4 * t; i < 1024; i += 128)
        *reinterpret_cast<float4 *>(&s[i]) = *reinterpret_cast<const float4 *>(x + i);
    __syncthreads();
    for (int c = 0; c < 32; c += 4) *(float4 *)(y + 32 * t + c) = *(float4 *)&s[32 * t + c];
}
"""

def launched(text, folder, grid, block, *args, shared_bytes=0):
    """(its Mend, the excess of all) of a launch of the kernel of a source."""
    entry = sl.ptx.load(ptx_of(text, folder, "-lineinfo")).entry()
    trace = entry.run(grid, block, *args, shared_bytes=shared_bytes)
    uses = Uses()
    uses.add(trace, entry.called)
    found = mends(uses, "sm_90")
    return (found[0] if found else None), trace.total().excess


# ---- the edit, compiled and run ----------------------------------------------------------------------------------------

@needs_nvcc
def test_a_row_for_each_thread_is_mended_by_one_more_column_whose_run_has_what_was_said(tmp_path):
    x, y, again = np.arange(2048, dtype=np.float32), np.zeros(32, np.float32), np.zeros(32, np.float32)
    mend, before = launched(ROWS, tmp_path, 1, 32, x, y)
    assert (mend.name, mend.line, mend.excess, mend.left, mend.bytes) == ("t", 5, before, 0, 128)
    assert [e.after for e in mend.edits] == ["__shared__ T t[ROWS][COLS + 1];  // walked along"]
    none, after = launched(replaced(ROWS, mend.replacements), tmp_path, 1, 32, x, again)
    assert none is None and after == 0 and (again == y).all() and (y == x.reshape(32, 64).sum(1)).all()


@needs_nvcc
def test_dynamic_shared_memory_is_skewed_at_all_its_indices_and_the_launch_gives_more(tmp_path):
    x = np.random.default_rng(0).integers(0, 99, 256).astype(np.int32)
    y, again = x.copy(), x.copy()
    mend, before = launched(PAIRS, tmp_path, 1, 128, y, 128, shared_bytes=1024)
    assert (mend.excess, mend.name, mend.bytes) == (before, "keys", 28) and mend.left < before
    assert mend.why == "which the launch gives as dynamic shared memory"
    _, after = launched(replaced(PAIRS, mend.replacements), tmp_path, 1, 128, again, 128, shared_bytes=1024 + mend.bytes)
    assert after == mend.left and (again == y).all()


@needs_nvcc
def test_rows_that_wmma_loads_stay_aligned_and_its_pitch_is_named(tmp_path):
    a, c, again = np.arange(1024).astype(np.float16) / 64, np.zeros(256, np.float32), np.zeros(256, np.float32)
    mend, before = launched(MATRIX, tmp_path, 1, 32, a, c)
    assert (mend.excess, mend.left, mend.bytes) == (before, 0, 256)
    assert mend.why == "wmma's ldm on line 14 grows by 8 too; wmma's ldm on line 15 grows by 8 too"
    text = replaced(MATRIX, mend.replacements).replace("], K);", "], K + 8);")
    assert launched(text, tmp_path, 1, 32, a, again) == (None, 0) and (again == c).all()


@needs_nvcc
def test_a_hazard_names_the_elements_of_the_array(tmp_path):
    entry = sl.ptx.load(ptx_of(ROWS.replace("    __syncthreads();\n", ""), tmp_path, "-lineinfo")).entry()
    trace = entry.run(1, 32, np.zeros(2048, np.float32), np.zeros(32, np.float32), hazards="report")
    assert trace.hazards and all("t[" in str(hazard) and "][" in str(hazard) for hazard in trace.hazards)


@needs_nvcc
def test_of_two_arrays_on_a_line_each_has_its_edit(tmp_path):
    text = ROWS.replace("T t[ROWS][COLS];", "T u[8], t[ROWS][COLS];").replace("__sync", "u[threadIdx.x % 8] = 1; __sync")
    mend, _ = launched(text.replace("= sum;", "= sum + u[threadIdx.x / 4];"), tmp_path, 1, 32, np.zeros(2048, np.float32),
                       np.zeros(32, np.float32))
    assert (mend.name, mend.left) == ("t", 0)
    assert mend.edits[0].after == "__shared__ T u[8], t[ROWS][COLS + 1];  // walked along"


@needs_nvcc
def test_pieces_that_the_compiler_makes_of_elements_bind_no_edit_and_those_that_are_made_apart_save_nothing(tmp_path):
    x = np.random.default_rng(0).integers(0, 99, 1024).astype(np.int32)
    y, again = x.copy(), x.copy()
    mend, before = launched(JOINED, tmp_path, 1, 512, y)
    assert (mend.excess, mend.edits[1].after) == (before, "s[(2 * t) + (2 * t) / 32] = x[2 * t];")
    _, after = launched(replaced(JOINED, mend.replacements), tmp_path, 1, 512, again)
    assert after == mend.left < before / 4 and (again == y).all()


@needs_nvcc
def test_an_array_of_one_dimension_whose_pieces_are_taken_at_once_is_skewed_by_whole_pieces(tmp_path):
    x = np.random.default_rng(0).random(1024, np.float32)
    y, again = np.zeros(1024, np.float32), np.zeros(1024, np.float32)
    mend, before = launched(PIECES, tmp_path, 1, 32, x, y)
    assert (mend.excess, mend.left, mend.bytes) == (before, 0, 16 * 31)
    assert mend.edits[0].after == "__shared__ float s[32 * 32 + 124];" and "&s[i + i / 32 * 4]" in mend.edits[1].after
    assert launched(replaced(PIECES, mend.replacements), tmp_path, 1, 32, x, again) == (None, 0) and (again == y).all()


@needs_nvcc
def test_where_an_edit_would_help_and_cannot_be_written_both_are_told(tmp_path):
    text = PIECES.replace("int t =", "const float *rows = s; int t =").replace("&s[32 *", "&rows[32 *")
    mend, before = launched(text, tmp_path, 1, 32, np.zeros(1024, np.float32), np.zeros(1024, np.float32))
    assert not mend.edits and mend.excess == before > 0
    assert mend.why == "4 elements more after every 32 would leave 0, but s is used as a whole on line 5"


@needs_nvcc
@pytest.mark.parametrize("cleared, told", [
    ("(&h[0][0])[i] = 0", "right if what uses the address on line 5 stays in its row"), ("h[i / 8][i % 8] = 0", "")])
def test_an_address_that_may_reach_over_the_rows_is_named_behind_an_edit_that_makes_them_longer(tmp_path, cleared, told):
    text = f"""
__global__ void counts(const int *x, int *y)
{{
    __shared__ int h[64][8];
    for (int i = threadIdx.x; i < 512; i += 32) {cleared};
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) atomicAdd(&h[x[i]][i & 7], 1);
    __syncwarp();
    for (int w = 0; w < 8; ++w) y[threadIdx.x] += h[2 * threadIdx.x][w];
}}
"""
    mend, _ = launched(text, tmp_path, 1, 32, np.arange(256, dtype=np.int32) % 32, np.zeros(32, np.int32))
    assert mend.why == told and (bool(told) == any("[8 + " in e.after for e in mend.edits))


@needs_nvcc
@pytest.mark.parametrize("declared, told", [
    ("TILE(float, t)", "no line of the source declares it"),
    ("__shared__ Pair t[sizeof(int) * 8][sizeof(int) * 8]",
     "its size on line 6 is not plain: [sizeof(int) * 8][sizeof(int) * 8]")])
def test_an_array_whose_shape_is_not_read_is_named_with_the_reason(tmp_path, declared, told):
    text = f"""
#define TILE(type, name) __shared__ type name[32][32]
typedef float Pair;
__global__ void turned(const float *x, float *y)
{{
    {declared};
    for (int i = 0; i < 32; ++i) t[i][threadIdx.x] = x[32 * i + threadIdx.x];
    __syncwarp();
    for (int i = 0; i < 32; ++i) y[32 * i + threadIdx.x] = t[threadIdx.x][i];
}}
"""
    mend, before = launched(text, tmp_path, 1, 32, np.zeros(1024, np.float32), np.zeros(1024, np.float32))
    assert (mend.name, mend.excess, mend.why, mend.edits) == ("t", before, told, ())
    (line,) = mend_lines(mend)
    assert line == f"excess {before} of t; no edit is proposed: {told}"


# ---- what is read ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("declared, nbytes, shape", [
    ("__shared__ float t[8][4];", 128, (8, 4)),
    ("#define N 8\n#define M (N / 2)\n__shared__ float t[N][M + 1];", 160, (8, 5)),
    ("constexpr int N = 1 << 4;\n__shared__ double a[2], t[N];", 128, (16,)),
    ("constexpr int M = 4, N = M * 2;\n__shared__ Pair t[N][M];", 256, (8, 4)),
    ("enum Sizes : int { N = 8, ROWS = N / 2, REST };\n__shared__ Pair t[ROWS][N];", 256, (4, 8)),
    ("void f(const int N = 4, int M = 3);\n__shared__ Pair t[N];", 64, ()),
    ("static const unsigned N = 8u;\nstatic __shared__ __align__(16) half t[N][2 * N];", 256, (8, 16)),
    ("extern __shared__ unsigned long long t[];", 64, (8,)),
    ("__shared__ Pair t[4][2];", 96, (4, 2)),                    # of a type that is not known: 12 bytes each
    ("__shared__ float t[UNKNOWN][4];", 128, (8, 4)),
    ("__shared__ Pair t[UNKNOWN];", 96, ()),                     # two unknown numbers
    ("__shared__ float t[8][4];", 130, ()),                      # something else than it seems
    ("__shared__ float t[f(8)][4];", 128, (8, 4)),
])
def test_shapes_follow_from_the_declaration_and_its_bytes(declared, nbytes, shape):
    (one,) = [one for one in declarations(declared) if one.name == "t"]
    assert one.shape(nbytes) == shape


def test_arguments_of_the_template_give_types_and_lengths():
    (one,) = declarations("template <typename T, int N = 3> __global__ void k() { __shared__ T t[N][N]; }")
    assert one.shape(32, ("double", "2")) == (2, 2) and one.shape(32) == ()


@pytest.mark.parametrize("text", ["// __shared__ float t[8];", "/* __shared__ float t[8]; */",
                                  'char *s = "__shared__ float t[8];";', "__shared__ float t;"])
def test_what_is_no_declaration_of_an_array_is_not_taken_for_one(text):
    assert declarations(text) == []


def test_every_index_is_swizzled_or_none():
    text = "__global__ void k() { __shared__ int t[8][8]; t[y + 1][x] = s.t[0][0] + t [y] [x ^ 1]; }\nint t[2][2];"
    (one,) = declarations(text)
    assert replaced(text, one.swizzled((8, 8), 0)) == text.replace("[y + 1][x]", "[y + 1][x ^ (y + 1)]").replace(
        "[y] [x ^ 1]", "[y] [(x ^ 1) ^ y]")
    (whole,) = declarations("__global__ void k() { __shared__ int t[8][8]; f(t); }")
    with pytest.raises(NoEdit, match="t is used as a whole on line 1"):
        whole.swizzled((8, 8), 0)
    assert whole.stands_for((8, 8), 1, 1) == "t is used as a whole on line 1: a pitch that is computed there grows too"


TOKENS = ("__shared__ ", "float ", "t", "u", "[", "]", "8", "N", "(", ")", "{", "}", ";", ",", "=", "\n", "#define N ", "/*",
          "*/", "//", '"', "'", "template <int N> ", "const ", " + ", " << ", " / ", "0", "-", "1" * 5000, "é", "extern ")


@given(st.lists(st.sampled_from(TOKENS), max_size=40).map("".join), st.integers(1, 4096))
def test_whatever_the_source_holds_nothing_is_raised_but_that_there_is_no_edit(text, nbytes):
    for one in declarations(f"__shared__ float t[8];{text}"):
        shape = one.shape(nbytes, ("8",))
        assert not shape or nbytes % prod(shape) == 0
        with suppress(NoEdit):
            one.padded((8,) * len(one.dimensions), 0, 1)
            one.stands_for((8,) * len(one.dimensions), 0, 1)
            one.skewed((8,), 4) if len(one.dimensions) == 1 else one.swizzled((8,) * len(one.dimensions), 0)


@pytest.mark.parametrize("size, padded", [("32", "32 + 1"), ("N + 1", "N + 1 + 1"), ("1 << 5", "(1 << 5) + 1")])
def test_padding_adds_to_the_length_as_it_is_written(size, padded):
    (one,) = declarations(text := f"__shared__ float t[8][{size}];")
    assert replaced(text, one.padded((8, 32), 1, 1)) == f"__shared__ float t[8][{padded}];"


@pytest.mark.parametrize("symbol, name", [("_ZZ9attentionPK6__halfS1_S1_PfiE2qs", "qs"), ("tile", "tile"),
                                          ("_ZZ4sumsIfLi32ELi64EEvPKT_PS0_E1t", "t"), ("_ZN3abc4tileE", "tile"),
                                          ("_ZZ1kvE4tile_0", "tile"), ("_ZZ1kvE5a1234", "a1234")])
def test_the_name_of_a_symbol_is_its_last_one(symbol, name):
    assert symbol_name(symbol) == name


@pytest.mark.parametrize("uses, why", [
    ("s += a[at++];", "an index of a on line 2 does more than to give a number"),
    ("a[atomicAdd(&n, 1)] = 1;", "an index of a on line 2 does more than to give a number"),
    ("s = a[a[i]];", "an index of a on line 2 is one of its own elements"),
    ("{ int a[4]; s = a[i]; }", "a is declared again on line 2"),
    ("int *p = &a[12 * i]; s = p[1];", "the address of an element of a is taken on line 2"),
    ("s = *(int *)&a[i];", "the address of an element of a is taken on line 2"),
    ("f(i, &a[i]);", "the address of an element of a is taken on line 2")])
def test_indices_that_an_edit_would_change_otherwise_than_meant_are_left_alone(uses, why):
    (a,) = declarations(f"__global__ void k() {{ __shared__ int a[256];\n{uses} }}")
    with pytest.raises(NoEdit, match=why):
        a.skewed((256,), 32)


@pytest.mark.parametrize("uses", ["s = mask & a[i];", "s = f(mask) & a[i];", "atomicAdd(&a[i], 1);",
                                  "if (s && a[i]) return;", "if (i == 3) s = 1; else a[i <= 2] = 1;", "return a[i];"])
def test_indices_of_all_else_are_edited(uses):
    (a,) = declarations(f"__global__ void k() {{ __shared__ int a[256];\n{uses} }}")
    assert len(a.skewed((256,), 32)) == 2


@pytest.mark.parametrize("macro, ahead", [("AT(i) a[i]", True), ("AT(i) \\\n  a[i]", True), ("TWICE(a) (2 * a)", False)])
def test_a_macro_that_uses_the_array_keeps_its_indices_as_they_are(macro, ahead):
    (a,) = declarations(f"#define {macro}\n__global__ void k() {{ __shared__ int a[256]; a[i] = 2; }}")
    with pytest.raises(NoEdit, match="the macro on line 1 uses a") if ahead else nullcontext():
        assert len(a.skewed((256,), 32)) == 2


@pytest.mark.parametrize("use, told", [
    ("t[0][i] = 1;", "right if the index on line 2 stays in its row"), ("t[i][0] = t[0][1] + (x == &t[i][1]);", ""),
    ("float *p = &t[0][0];", "a pitch that is computed from the address on line 2 grows too"),
    ("p = (float *)&t[i][0];", "a pitch that is computed from the address on line 2 grows too"),
    ("v = *(float4 *)&t[i][0]; f(&t[i][0]);", "")])
def test_what_the_padding_of_an_array_assumes_of_its_uses_is_said(use, told):
    (one,) = declarations(f"__shared__ float t[8][8];\n{use}")
    assert one.stands_for((8, 8), 1, 1) == told


def test_an_index_that_is_a_number_which_an_edit_does_not_change_is_left_as_it_is():
    source = "__global__ void k() { __shared__ int a[256], b[8][8]; a[0] = a[31] + a[32]; b[0][i] = b[1][i] + b[i][0]; }"
    a, b = declarations(source)
    made = replaced(source, (*a.skewed((256,), 32), *b.swizzled((8, 8), 1)))
    assert made.endswith("a[0] = a[31] + a[32 + 32 / 32]; b[0][i] = b[1][i] + b[i][0 ^ (i >> 1)]; }")


def test_comments_in_an_index_are_not_in_its_edit():
    source = "__global__ void k() { __shared__ int a[256]; a[1 + i // ]\n] = a[i /* [ */ + 'b']; }"
    (a,) = declarations(source)
    assert replaced(source, a.skewed((256,), 4)).endswith("a[(1 + i) + (1 + i) / 4] = a[(i   + 'b') + (i   + 'b') / 4]; }")


PIPE = r"""#include <cstdint>
__global__ void pipe(float *out) {
    __shared__ uint64_t full[2];
    __shared__ float tile[64];
    uint32_t at = (uint32_t)__cvta_generic_to_shared(&full[1]);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 65;" ::"r"(at) : "memory");
    __syncthreads();
    tile[threadIdx.x] = threadIdx.x;
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" ::"r"(at) : "memory");
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
"""


@needs_nvcc
def test_a_deadlock_names_the_element_that_the_mbarrier_is_and_a_path_below_the_current_folder(tmp_path, monkeypatch):
    entry = sl.ptx.load(ptx_of(PIPE, tmp_path, "-lineinfo")).entry()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sl.HazardError) as raised:
        entry.run(1, 64, np.zeros(64, np.float32))
    assert "waiting at mbarrier full[1] for phase 0 (parity 0), which lacks 1 of 65 arrivals (" in str(raised.value)
    assert str(tmp_path) not in str(raised.value) and raised.value.hazard.text == str(raised.value)
