"""What kernels of Numba programs use of numba-cuda, on a simulated device in the place of the driver."""

import math

import numpy as np
import pytest
from cuda.bindings import nvrtc
from numba import cuda, float32, float64, guvectorize, int64, types, vectorize

import simlayout as sl
from simlayout.errors import MachineError

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.filterwarnings(
    "ignore::numba.core.errors.NumbaWarning", "ignore::numba.cuda.core.errors.NumbaWarning")]

TABLE = np.arange(10, dtype=np.float64) ** 2


def test_cuda_cpp_that_is_linked_as_source_is_compiled_without_a_gpu():
    source = cuda.CUSource('extern "C" __device__ int twice(int* out, int x) { *out = 2 * x; return 0; }', name="twice.cu")
    twice = cuda.declare_device("twice", "int32(int32)", link=source)

    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        values[i] = twice(values[i])

    values = np.arange(40, dtype=np.int32)
    kernel[1, 40](values)
    assert (values == 2 * np.arange(40)).all()


def lto_ir(source):
    """What NVRTC makes of CUDA C++, as cuda.coop asks for it."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"code.cu", 0, [], [])
    nvrtc.nvrtcCompileProgram(program, 3, [b"-dlto", b"-rdc=true", b"--gpu-architecture=compute_90"])
    made = bytearray(nvrtc.nvrtcGetLTOIRSize(program)[1])
    nvrtc.nvrtcGetLTOIR(program, made)
    return bytes(made)


def test_lto_ir_is_optimized_with_the_kernel_and_its_lines_are_named():
    source = """extern "C" __device__ int behind(int *out, int x) {
        __shared__ int s[64]; s[threadIdx.x] = x; __syncthreads(); *out = s[(threadIdx.x + 1) % 64]; return 0; }"""
    behind = cuda.declare_device("behind", "int32(int32)", link=cuda.LTOIR(lto_ir(source), name="behind.ltoir"))

    @cuda.jit
    def kernel(values):
        values[cuda.threadIdx.x] = behind(values[cuda.threadIdx.x])

    values = np.arange(64, dtype=np.int32)
    trace = sl.simulate(kernel)[1, 64](values)
    assert (values == np.roll(np.arange(64), -1)).all()
    assert trace.totals()["ld"] == trace.totals()["st"] == 2
    assert {count.line for count in trace.lines} == {2}


def test_cuda_cpp_that_does_not_compile_is_an_error_with_the_compilers_words():
    wrong = cuda.declare_device("wrong", "int32(int32)", link=cuda.CUSource("__device__ int wrong( {", name="wrong.cu"))
    with pytest.raises(Exception, match=r"NVRTC_ERROR_COMPILATION[\s\S]*wrong.cu"):
        cuda.jit("void(int32[:])")(lambda x: wrong(x[0]))


def test_machine_code_cannot_be_linked_and_is_refused_by_its_name():
    f = cuda.declare_device("f", "int32(int32)", link=cuda.Cubin(b"\\x7fELF", name="f.cubin"))
    with pytest.raises(MachineError, match="f.cubin, a cubin of machine code, cannot be linked"):
        @cuda.jit("void(int32[:])")
        def kernel(x):
            x[0] = f(x[0])


def test_the_grid_synchronizes(device):
    @cuda.jit
    def rounds(values):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        for _ in range(3):
            left = values[(i + 1) % values.size]
            grid.sync()
            values[i] += left
            grid.sync()

    values = np.arange(256, dtype=np.int64)
    expected = values.copy()
    for _ in range(3):
        expected += np.roll(expected, -1)
    rounds[4, 64](values)
    assert (values == expected).all() and not device.launches[-1].trace.hazards


def test_arrays_that_kernels_make_live_in_the_heap(monkeypatch, device):
    from numba.cuda.core import config

    monkeypatch.setattr(config, "CUDA_ENABLE_NRT", True)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        own = np.empty(3, np.int64)
        for k in range(3):
            own[k] = i * k
        out[i] = own.sum()

    out = np.zeros(40, np.int64)
    kernel[1, 40](out)
    assert (out == 3 * np.arange(40)).all()
    assert device.heap.allocate(device.heap.bytes.size) == 0, "what kernels took they gave back"


def test_kernels_print(capsys):
    @cuda.jit
    def kernel(x):
        if cuda.threadIdx.x < 2:
            print("value", cuda.threadIdx.x, x)

    kernel[1, 32](1.5)
    assert capsys.readouterr().out == "value 0 1.500000\nvalue 1 1.500000\n"


def test_an_exception_of_a_kernel_in_debug_mode_is_raised_in_the_program():
    @cuda.jit(debug=True, opt=False)
    def kernel(x):
        if x[cuda.threadIdx.x] == 7:
            raise ValueError("seven")

    kernel[1, 32](np.zeros(32))
    with pytest.raises(ValueError, match="seven"):
        kernel[1, 32](np.arange(32.0))


def test_constants_local_arrays_libdevice_and_halves():
    @cuda.jit
    def kernel(out, half):
        i = cuda.grid(1)
        table, own = cuda.const.array_like(TABLE), cuda.local.array(2, float64)
        own[i % 2] = table[i]
        own[1 - i % 2] = 0
        out[i] = own[0] + own[1] + cuda.libdevice.fma(2.0, 3.0, math.erf(0.0))
        half[i] = cuda.fp16.hfma(half[i], half[i], half[i])

    out, half = np.zeros(10), np.arange(10).astype(np.float16)
    kernel[1, 10](out, half)
    assert (out == TABLE + 6).all() and (half == np.arange(10) ** 2 + np.arange(10)).all()


def test_random_numbers_are_those_of_xoroshiro():
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float64

    @cuda.jit
    def kernel(states, out):
        out[cuda.grid(1)] = xoroshiro128p_uniform_float64(states, cuda.grid(1))

    out = np.zeros(64)
    kernel[1, 64](create_xoroshiro128p_states(64, seed=1), out)
    assert len(set(out.tolist())) == 64 and (out >= 0).all() and (out < 1).all()


def test_ufuncs_and_generalized_ufuncs_run_with_the_target_cuda():
    @vectorize([float32(float32, float32)], target="cuda")
    def smaller(a, b):
        return min(a, b)

    @guvectorize([(float64[:], float64[:])], "(n)->()", target="cuda")
    def total(row, out):
        out[0] = 0
        for x in row:
            out[0] += x

    a = np.random.default_rng(0).random((2, 50), np.float32)
    assert (smaller(*a) == a.min(axis=0)).all()
    rows = np.arange(30.0).reshape(5, 6)
    assert (total(rows) == rows.sum(axis=1)).all()


def test_reduce_sums():
    assert cuda.reduce(lambda a, b: a + b)(np.arange(3000, dtype=np.int64)) == 3000 * 2999 // 2


def test_a_struct_of_a_record_array_and_a_tuple_of_arrays_are_arguments():
    record = np.dtype([("a", np.int32), ("b", np.float64)], align=True)

    @cuda.jit
    def kernel(rows, pair):
        i = cuda.grid(1)
        rows[i].b = rows[i].a + pair[0][i] * pair[1]

    rows = np.zeros(8, record)
    rows["a"] = np.arange(8)
    kernel[1, 8](rows, (np.ones(8), int64(3)))
    assert (rows["b"] == np.arange(8) + 3).all()


def test_a_shuffle_and_a_vote_of_a_warp():
    @cuda.jit(types.void(int64[:], int64[:]))
    def kernel(down, votes):
        i = cuda.threadIdx.x
        down[i] = cuda.shfl_down_sync(0xFFFFFFFF, i, 4)
        votes[i] = cuda.ballot_sync(0xFFFFFFFF, i % 2)

    down, votes = np.zeros(32, np.int64), np.zeros(32, np.int64)
    kernel[1, 32](down, votes)
    assert (down[:28] == np.arange(4, 32)).all() and (votes & 0xFFFFFFFF == 0xAAAAAAAA).all()
