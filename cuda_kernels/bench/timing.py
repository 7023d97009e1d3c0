"""How a kernel is timed beside cuBLAS: in turns, a few rounds of each, in one run.

A turn replays a CUDA graph of calls that rotate over operands of at least 150 MB (up to 8 sets of them), so that neither
the host nor a warm L2 influences the time; if a library cannot capture, the calls are launched one after the other.
Operands are random normal. A time is the median over the rounds; the share of cuBLAS is the median of the ratio of two
neighbouring turns, because a change of the GPU's clock affects both.
"""

import statistics
from types import MappingProxyType

from cuda_kernels.bench import grouped
from cuda_kernels.bench.libraries import array_library
from cuda_kernels.bench.record import Product, Row, config_dict
from cuda_kernels.bench.sets import TRITON, Case
from cuda_kernels.kernels import as_kernel
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.run.turns import sets_of, turn
from simlayout.errors import DeviceError

FOLLOWING = {
    "overlap": "each as matmul launches it, so that it may begin as the one before it ends",
    "wait": "each once the one before it has ended (overlap=False)",
    "apart": "each behind a kernel of the library that adds 1 to a million numbers, which is in both times",
}
"""How products follow one another."""

TOLERANCE = {"f16": 0.012, "bf16": 0.08, "e4m3": 0.25, "e5m2": 0.25, "s8": 0}
"""The largest difference from cuBLAS's result that counts as rounding, over the square root of K: operands are normal, so
results have that size, and the worst of millions is several times as wrong as the usual one; scales make those of 8-bit
floats up to 2.25 times as large. Integers are exact."""

LOOSER = 10
"""Times as much, where the kernel accumulates in f16, or the library rounds before it multiplies by another array."""


def compare(case, library, rounds=5, seconds=0.05, follow="overlap", tune="kept"):
    """The Row of a Case: its kernel, and cuBLAS where the library has it, in turns.

    rounds: timed rounds, after one that warms up; seconds: how long a turn lasts; follow: of FOLLOWING; tune: "kept" or
    "off", as of `matmul`. Raises DeviceError if the product is wrong or the memory too small.
    """
    try:
        right = library
        if case.problem.groups:
            right, library = (grouped.Beside(library, case.problem, label) for label in (grouped.LOOP, case.label))
        sets, ours = _prepared(case, library, follow != "wait", tune)
        if library.cublas:
            _check(right, case, ours[0], sets[0])
        return _timed(case, library, sets, ours, rounds, seconds, follow == "apart")
    except library.full:
        raise DeviceError(f"{case}: the GPU's memory is too small for {case.problem.nbytes} bytes of A, B and C: leave it "
                          "out with --only or --sizes") from None


def _prepared(case, library, overlap=True, tune="kept"):
    """(sets of operands to rotate over, the case's kernel prepared for each)."""
    sets = rotated(library, case.problem)
    if case.problem.groups:
        return sets, [grouped.prepared(case.kernel, *operands, overlap=overlap) for operands in sets]
    return sets, [prepared(case.kernel, *operands, overlap=overlap, tune=tune) for operands in sets]


def rotated(library, problem):
    """Sets of `operands` of a Product, together larger than L2."""
    return [library.operands(problem) for _ in range(sets_of(problem.nbytes))]


def by_cublas(library, sets):
    """What multiplies each of some sets of operands by cuBLAS."""
    return [lambda operands=operands: library.multiply(*operands) for operands in sets]


def _timed(case, library, sets, ours, rounds, seconds, apart=False):
    """The Row of a Case that is right. apart: with a kernel of the library between products."""
    calls = [ours, by_cublas(library, sets)] if library.cublas else [ours]
    takers = [turn(library, library.apart(each) if apart else each, seconds) for each in calls]
    times = alternate(takers, rounds)
    shares = [theirs / mine for mine, theirs in zip(*times)] if library.cublas else None
    microseconds = [1e6 * statistics.median(of_taker) for of_taker in times]
    return Row(case.set, case.label, case.problem, config_dict(ours[0].kernel), microseconds[0],
               microseconds[1] if shares else None, statistics.median(shares) if shares else None)


def prepared(kernel, a, b, out, named=MappingProxyType({}), overlap=True, tune="kept"):
    """out = a @ b, with further arguments of `matmul` by name, as something to call again and again, on the library's
    current stream; `kernel` says what computes it.

    kernel: as `matmul` takes it, or TRITON.
    """
    from cuda_kernels import plan_matmul

    if kernel == TRITON:
        from cuda_kernels.bench.triton_matmul import Matmul

        return Matmul(a, b, out)
    return plan_matmul(a, b, out, kernel=kernel, overlap=overlap, tune=tune, **named)


def alternate(takers, rounds):
    """[times of each taker] by round; a round goes through them in the order that the one before ended with.

    The first round is not kept: it warms up.

    >>> alternate([iter((9, 1, 2)).__next__, iter((9, 3, 4)).__next__], 2)
    [[1, 2], [3, 4]]
    """
    times = [[] for _ in takers]
    pairs = list(zip(takers, times))
    for number in range(rounds + 1):
        for take, times_of in pairs:
            seconds = take()
            if number:
                times_of.append(seconds)
        pairs.reverse()
    return times


def fault(library, problem, call, operands, looser=1):
    """How far a call's product is from cuBLAS's, if that is more than rounding (times `looser`) explains; else None."""
    out = operands[2]
    library.clear(out)
    call()
    ours = library.copy(out)
    library.multiply(*operands)
    wrong = library.distance(ours, out)
    return None if wrong <= TOLERANCE[problem.dtype] * looser * problem.K ** 0.5 else wrong


def _check(library, case, call, operands):
    """Raises DeviceError if the call's product is wrong."""
    narrow = getattr(getattr(case.kernel, "options", None), "accumulate", "") == "f16"
    looser = LOOSER if narrow or EPILOGUES[case.problem.epilogue].multiply else 1
    wrong = fault(library, case.problem, call, operands, looser)
    if wrong is not None:
        raise DeviceError(f"{case}: the product and cuBLAS's differ by {wrong}: the kernel is wrong, run pytest "
                          "tests/gpu/test_gpu_matmul.py")


def compare_with_cublas(kernels, M, N, K, rounds=7, seconds=0.15):
    """Times kernels beside cuBLAS on one problem, each in turns with it; whether they are right is the caller's to check.

    kernels: as `matmul` takes them. Returns one dict per kernel: {"tflops", "seconds", "library"},
    and with torch or CuPy {"cublas_tflops", "share"}: medians over the rounds.
    """
    library, results = array_library(), []
    for kernel in map(as_kernel, kernels):
        case = Case("gemm", "", Product(M, N, K, kernel.dtypes[0]), kernel)
        row = _timed(case, library, *_prepared(case, library), rounds, seconds)
        result = {"tflops": row.tflops, "seconds": row.us / 1e6, "library": library.version}
        results.append(result if row.share is None else
                       result | {"cublas_tflops": row.cublas_tflops, "share": row.share})
    library.free()
    return results
