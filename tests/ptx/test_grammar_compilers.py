"""The grammar reads what compilers write: Numba, nvcc and Triton, each where it is installed, with their source lines."""

from importlib import import_module
from pathlib import Path

import pytest
from nvcc import needs_nvcc, ptx_of
from ptx_printed import printed, without_places
from tiers import sweep_but

from cuda_kernels.kernels import KERNELS
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.syntax import Instruction

HERE = Path(__file__).resolve()
CUDA = r"""
#include <cstdio>
#include <cuda_fp16.h>
extern __shared__ int dynamic[];
__constant__ float weights[3] = {1.5f, -2.f, 0.25f};
__device__ int twice(int x) { return x + x; }
__device__ __noinline__ int thrice(int x) { return 3 * x; }
__device__ int (*functions[2])(int) = {twice, thrice};
struct Pair { double a; int b; };
struct Table { const float *first; int (*second)(int); char third; };
__device__ Table table = {weights, thrice, 7};
__device__ __noinline__ Pair swapped(Pair p) { return {double(p.b), int(p.a)}; }
__device__ __forceinline__ unsigned vote(unsigned x) {
    unsigned answer;
    asm volatile("{ .reg .pred P; setp.ne.u32 P, %1, 0; AGAIN: @!P bra DONE; vote.sync.ballot.b32 %0, P, -1; DONE: }"
                 : "=r"(answer) : "r"(x));
    return answer;
}
__global__ void everything(int *out, int n, Pair pair, __grid_constant__ const Table given) {
    __shared__ __align__(16) half tile[64];
    int i = threadIdx.x + blockIdx.x * blockDim.x, local[8];
    for (int k = 0; k < 8; k++) local[(k + n) % 8] = vote(k) + vote(k + i);
    tile[i % 64] = __float2half(weights[i % 3]);
    dynamic[i] = local[i % 8];
    __syncthreads();
    switch (n) {
        case 0: out[i] = 7; break;
        case 1: out[i] = functions[i % 2](i); break;
        case 2: out[i] = swapped(pair).b; break;
        case 3: out[i] = __half2int_rn(tile[63 - i % 64]); break;
        case 4: out[i] = table.second(i) + given.third; break;
        case 5: atomicAdd(out, 1); break;
        default: printf("%d of %d\n", i, n); out[i] = thrice(dynamic[n]); asm("trap;");
    }
}
"""
TRITON = """
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, n, SIDE: tl.constexpr):
    i, k = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for step in range(n):
        total = tl.dot(tl.load(a + i * SIDE * n + k + step * SIDE), tl.load(b + (i + step * SIDE) * SIDE + k), total)
    tl.store(c + i * SIDE + k, total)
"""


def checked(text, path):
    """The Module of a compiler's text, which is also what its printed form means."""
    module = parse(text, path)
    assert without_places(parse(printed(module))) == without_places(module)
    return module


def instructions(module):
    return [item for function in module.functions.values() for item in function.body or () if isinstance(item, Instruction)]


@pytest.mark.parametrize("name", sweep_but(["warptile"], KERNELS))
def test_the_project_s_own_kernels_are_read(name):
    pytest.importorskip("numba.cuda")
    from cuda_kernels.build.compile import ptx

    module = checked(ptx(KERNELS[name]), name)
    assert sum(function.entry for function in module.functions.values()) == 1
    assert len(instructions(module)) > 50


def test_numba_s_lines_are_those_of_the_python_file():
    cuda = pytest.importorskip("numba.cuda")

    def scaled(out, factor):
        i = cuda.grid(1)
        if i < out.size:
            out[i] *= factor

    text, _ = cuda.compile_ptx(scaled, (cuda.types.float32[:], cuda.types.float32), cc=(9, 0), lineinfo=True)
    module = checked(text, "numba")
    first = scaled.__code__.co_firstlineno
    sites = {each.site for each in instructions(module) if each.site}
    assert {(site.file, site.line - first) for site in sites} >= {(str(HERE), 3)}


@needs_nvcc
@pytest.mark.parametrize("flags, arch", [(["-lineinfo"], "sm_90a"), pytest.param(["-G"], "sm_90a", marks=pytest.mark.sweep),
                                         pytest.param([], "sm_75", marks=pytest.mark.sweep)], ids=str)
def test_nvcc_s_modules_are_read(flags, arch, tmp_path):
    module = checked(ptx_of(CUDA, tmp_path, *flags, arch=arch).read_text(), "nvcc")
    [entry] = [function for function in module.functions.values() if function.entry]
    assert [each.bytes for each in entry.parameters] == [8, 4, 16, 24]
    opcodes = {each.opcode for each in instructions(module)}
    assert {"call", "vote", "bar", "st", "atom" if "atom" in opcodes else "red"} <= opcodes
    symbols = {relocation.symbol for variable in module.variables.values() for relocation in variable.relocations}
    assert any("thrice" in symbol for symbol in symbols) and any("weights" in symbol for symbol in symbols)
    if flags == ["-lineinfo"]:
        lines = CUDA.splitlines()
        [vote] = [index for index, line in enumerate(lines, 1) if "asm volatile" in line]
        inlined = [each.site for each in instructions(module) if each.opcode == "vote"]
        assert inlined and all(site.line == vote and site.callers[0][1] == vote + 7 for site in inlined)
        assert any(isinstance(table, tuple) for table in entry.tables.values()) or "brx" not in opcodes


def test_triton_s_modules_are_read(tmp_path, monkeypatch):
    triton = pytest.importorskip("triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "product_kernel.py").write_text(TRITON)          # Triton reads the source of a kernel
    monkeypatch.syspath_prepend(tmp_path)
    kernel = import_module("product_kernel").product
    source = ASTSource(kernel, {"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32", "SIDE": "constexpr"}, {(4,): 64})
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}).asm["ptx"]
    module = checked(text, "triton")
    assert module.functions["product"].directives["reqntid"][0] == 128
    assert {Path(each.site.file).name for each in instructions(module) if each.site} == {"product_kernel.py"}
