"""What `matmul` may choose, on the CPU machine: right to the bit at sizes that divide nothing, for operands of any order and
type, with scales, epilogues and several matrices. Operands are small integers, whose sums are exact in any order."""

import numpy as np
from epilogue_kit import finished
from hypothesis import assume
from hypothesis import strategies as st
from tiers import given_few

from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.kernels.hopper.finishing import Added
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.kernels.hopper.rules import fault_of
from cuda_kernels.matmul.choose.choice import likely
from cuda_kernels.matmul.choose.figures import H200
from cuda_kernels.matmul.choose.wanted import Wanted
from cuda_kernels.run.runner import run
from simlayout.algebra.dtypes import TYPES

LIKELIEST = 6


def stored(numbers, major, dtype):
    """The same numbers in a type; lines that lie along the last dimension ("last") or the one before begin on 16 bytes."""
    if major != "last":
        return stored(numbers.swapaxes(-1, -2), "last", dtype).swapaxes(-1, -2)
    cols, step = numbers.shape[-1], 16 // TYPES[dtype].bytes
    whole = np.zeros((*numbers.shape[:-1], -(-cols // step) * step), TYPES[dtype].numpy)
    whole[..., :cols] = numbers
    return whole[..., :cols]


GRAINS = {"tensor": (1 << 30, 1 << 30, 1 << 30), "lines": (1, 1, 1 << 30), "1x1": (1, 1, 128), "1x128": (1, 128, 128),
          "128x128": (128, 128, 128)}
"""How many rows of A, columns of B, and elements of K have a scale in common."""


def scales_of(scaled, M, N, K, generator):
    """Powers of two for A and B in the shapes that matmul takes, and the same for each element."""
    rows, cols, deep = GRAINS[scaled]
    for shape, grains in (((M, K), (rows, deep)), ((K, N), (deep, cols))):
        scales = (2.0 ** generator.integers(-1, 3, [-(-n // grain) for n, grain in zip(shape, grains)])).astype(np.float32)
        yield scales, scales[np.ix_(*(np.arange(n) // grain for n, grain in zip(shape, grains)))]


@st.composite
def problems(draw):
    """(Wanted, matrices or 0)."""
    dtype = draw(st.sampled_from(["f16", "bf16", "f16", "e4m3", "s8"]))
    eight = TYPES[dtype].bytes == 1
    out = draw(st.sampled_from(["f16", "bf16", "f32", *["s32"] * (dtype == "s8")]))
    scaled = draw(st.sampled_from(["", "tensor", "lines", *["1x128", "1x1", "128x128"] * eight]))
    epilogue = draw(st.sampled_from(list(EPILOGUES)))
    assume(not fault_of((dtype, dtype), out, scaled, epilogue))
    a_major, b_major = ("K", "K") if eight else (draw(st.sampled_from(["K", "MN"])), draw(st.sampled_from(["MN", "K"])))
    M, N, K = draw(st.integers(1, 140)), draw(st.integers(1, 140)), draw(st.integers(1, 300))
    N = -(-N // 8) * 8 if draw(st.booleans()) else N
    matrices = 0 if scaled else draw(st.sampled_from([0, 2, 3]))
    store = "tma" if N % 8 == 0 else "direct"
    return Wanted(M, N, K, matrices or 1, a_major, b_major, (dtype, dtype), out, scaled, store, epilogue), matrices


@given_few(4, 100, problems(), st.integers(0, LIKELIEST - 1), st.sampled_from([2, 132]), st.integers(0, 99))
def test_what_may_be_chosen_for_any_product_has_the_bits_of_exact_sums_and_one_rounding(problem, number, sms, seed):
    wanted, matrices = problem
    generator, batch = np.random.default_rng(seed), (matrices,) * (matrices > 0)
    configs = likely(wanted, H200, LIKELIEST)
    kernel = kernel_of(configs[number % len(configs)])
    M, N, K, of = wanted.M, wanted.N, wanted.K, wanted.types[0]
    a = stored(generator.integers(-2, 3, (*batch, M, K)), "last" if wanted.a_major == "K" else "first", of)
    b = stored(generator.integers(-2, 3, (*batch, K, N)), "first" if wanted.b_major == "K" else "last", of)
    given, each = zip(*scales_of(wanted.scaled, M, N, K, generator)) if wanted.scaled else ((), (1, 1))
    sums = ((a.astype(np.float64) * each[0]) @ (b.astype(np.float64) * each[1])).astype(np.float32)
    words = EPILOGUES[wanted.epilogue]
    read = {name: generator.integers(-4, 5, (N if words.bias == "n" else M,) if name == "bias" else (*batch, M, N))
            for name in words.reads}
    read = {name: x.astype(TYPES[wanted.out].numpy) for name, x in read.items()}
    if kernel.options.c_major == "M":                    # it makes the transpose
        a, b, sums, *given = (x.swapaxes(-1, -2) for x in (b, a, sums, *reversed(given)))
        read = {name: x if name == "bias" else x.swapaxes(-1, -2) for name, x in read.items()}
    added = Added(alpha=0.7 if words.alpha else 1.0, beta=-1.3 if words.residual else 1.0, **read)
    done = run(kernel, a, b, *given, *[added] * bool(wanted.epilogue), device="cpu", sms=sms)
    assert np.ascontiguousarray(done.c).tobytes() == np.ascontiguousarray(finished(kernel, [added], sums)).tobytes()
    assert done.trace.hazards == ()
