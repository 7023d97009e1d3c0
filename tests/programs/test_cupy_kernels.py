"""RawKernel and RawModule of CuPy on NumPy arrays, launched through simlayout.simulate."""

import numpy as np
import pytest

import simlayout as sl
from simlayout.errors import HazardError, MachineError

cupy = pytest.importorskip("cupy")

TURN = r'''extern "C" __global__ void turn(const float* x, float* y, int n, float scale) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    y[threadIdx.y * n + threadIdx.x] = scale * tile[threadIdx.x][threadIdx.y];
}'''

MODULE = r'''
#include <cupy/complex.cuh>
struct Pair { int a; double b; };
template <typename T> __global__ void add(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[i];
}
extern "C" __global__ void turned(complex<float>* p, complex<float> by) { p[threadIdx.x] *= by; }
extern "C" __global__ void paired(double* out, Pair pair, bool flag, unsigned char c, long long k) {
    out[0] = pair.a + pair.b + flag + c + k;
}'''


def test_a_raw_kernel_runs_and_its_lines_are_those_of_its_source():
    x, y = np.random.default_rng(0).random((32, 32), np.float32), np.zeros((32, 32), np.float32)
    trace = sl.simulate(cupy.RawKernel(TURN, "turn"))[1, (32, 32)](x, y, 32, np.float32(2))
    assert (y == 2 * x.T).all()
    rows = {s.line: s for s in trace.source_lines()}
    assert (rows[3].excess, rows[5].excess) == (0, 31 * 32)
    assert [row.source for row in rows.values()] == [TURN.splitlines()[line - 1] for line in rows]


def test_a_raw_module_has_its_kernels_by_name_and_by_name_expression():
    module = sl.simulate(cupy.RawModule(code=MODULE, name_expressions=("add<double>", "add<int>")))
    for name, kind in (("add<double>", np.float64), ("add<int>", np.int32)):
        a, b = np.arange(40, dtype=kind), np.ones(40, kind)
        module.get_function(name)[2, 32](a, b, 40)
        assert (b == a + 1).all()
    points = (np.arange(4) + 1j).astype(np.complex64)
    wanted = points * 1j
    module.get_function("turned")[1, 4](points, np.complex64(1j))
    assert (points == wanted).all()


def test_structs_and_small_numbers_are_arguments_of_their_own_size():
    pair = np.void((3, 0.5), np.dtype([("a", np.int32), ("b", np.float64)], align=True))
    out = np.zeros(1)
    sl.simulate(cupy.RawModule(code=MODULE)).get_function("paired")[1, 1](out, pair, True, np.uint8(7), 5)
    assert out[0] == 3 + 0.5 + 1 + 7 + 5


@pytest.mark.parametrize("scale, message", [
    (2.0, "float64, 8 bytes, and the parameter has 4"), (np.float64(2), "8 bytes, and the parameter has 4"),
    (2, "convert it"), (np.int32(2), "convert it")])
def test_a_number_of_another_size_or_kind_than_the_parameter_is_refused_because_a_gpu_would_misread_it(scale, message):
    x = np.zeros((32, 32), np.float32)
    with pytest.raises(MachineError, match=f"argument 4 of turn: CuPy passes .*{message}"):
        sl.simulate(cupy.RawKernel(TURN, "turn"))[1, (32, 32)](x, x.copy(), 32, scale)


def test_a_race_is_raised_with_its_line():
    source = TURN.replace("__syncthreads();", "")
    x = np.zeros((32, 32), np.float32)
    with pytest.raises(HazardError, match=r"turn(\.\w+)?\.cu:5"):
        sl.simulate(cupy.RawKernel(source, "turn"))[1, (32, 32)](x, x.copy(), 32, np.float32(1))


def test_kernels_of_one_name_keep_their_own_source_in_listings():
    x = np.zeros((32, 32), np.float32)
    for comment in ("// first", "// second"):
        kernel = cupy.RawKernel(TURN.replace("__syncthreads();", f"__syncthreads();  {comment}"), "turn")
        assert comment in sl.simulate(kernel)[1, (32, 32)](x, x.copy(), 32, np.float32(1)).listing()


def test_source_that_is_wrong_raises_what_cupy_raises():
    from cupy.cuda.compiler import CompileException

    with pytest.raises(CompileException, match='"x" is undefined'):
        sl.simulate(cupy.RawKernel('extern "C" __global__ void f() { x }', "f"))[1, 1]()


def test_what_is_not_there_is_refused_by_name():
    module = sl.simulate(cupy.RawModule(code=MODULE, name_expressions=("add<int>",)))
    with pytest.raises(MachineError, match=r"no kernel 'nope' .* it has add<int>, .*turned"):
        module.get_function("nope")[1, 1]()
    with pytest.raises(MachineError, match=r"get_function\(name\): add<int>, .*turned"):
        module[1, 1]()
    with pytest.raises(MachineError, match="takes no options: n"):
        module.get_function("turned")[1, 1](n=3)
    with pytest.raises(MachineError, match="backend='nvrtc'"):
        sl.simulate(cupy.RawKernel(TURN, "turn", backend="nvcc"))[1, 1]()
    with pytest.raises(MachineError, match="only a cupy.RawModule"):
        sl.simulate(cupy.RawKernel(TURN, "turn")).get_function("turn")
