"""Epilogues by NumPy: operands of all types, and what becomes of sums, one step after the other, bit for bit."""

from dataclasses import replace

import numpy as np

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.kernels.hopper.finishing import Added
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.run.runner import run
from simlayout.algebra.dtypes import TYPES
from simlayout.machine.arithmetic.approximate import approximate
from simlayout.numerics.fma import fma_f32

EVERY = "alpha residual bias_n gelu multiply"
CASES = [
    (dict(tile_n=64, stages=4), EVERY), (dict(tile_n=128, c_major="M"), "residual bias_m silu"),
    (dict(tile_n=64, stages=4, store="direct"), "alpha residual bias_n gelu_tanh multiply"),
    (dict(tile_n=72, stages=4, store="direct", c_major="M", dtype="bf16", out="f32"), "residual bias_n silu"),
    (dict(tile_n=128, dtype="bf16", out="bf16", buffers=1), "bias_n relu"),
    (dict(tile_n=256, dtype="bf16", out="bf16", cluster_m=2), EVERY),
    (dict(tile_n=64, stages=4, split=True), "residual bias_n"), (dict(tile_n=64, split=True, c_major="M"), "bias_m gelu"),
    (dict(tile_m=64, tile_n=64, slices=2, stages=8), "alpha bias_n silu multiply"),
    (dict(tile_m=64, tile_n=128, pingpong=True), "residual bias_n gelu"),
    (dict(tile_m=256, tile_n=64, bands=2), "residual bias_m relu multiply"),
    (dict(tile_n=128, dtype="e4m3", out="bf16", scaled="lines"), "bias_n gelu_tanh"),
    (dict(tile_n=128, dtype="e4m3", b_dtype="e5m2", scaled="tensor"), "alpha residual"),
    (dict(tile_n=128, stages=5, dtype="e4m3", out="bf16", scaled="1x128"), "residual bias_n"),
    (dict(tile_n=64, dtype="s8"), "bias_n silu"),
    (dict(tile_n=64, dtype="s8", out="f32", store="direct", scaled="lines"), "alpha bias_m relu"),
]
"""(options of a configuration, its epilogue)."""


def random(rng, shape, dtype):
    if TYPES[dtype].exponent:
        return rng.standard_normal(shape).astype(TYPES[dtype].numpy)
    return rng.integers(-20, 21, shape).astype(TYPES[dtype].numpy)


def asked(rng, options, epilogue, shape, matrices=0):
    """(kernel, operands of `run`) of a configuration at M, N, K, and so many matrices."""
    kernel, words, (M, N, K) = kernel_of(Hopper(**options, epilogue=epilogue)), EPILOGUES[epilogue], shape
    batch, config = (matrices,) * bool(matrices), kernel.options
    a = random(rng, (*batch, M, K), config.types[0])
    b = random(rng, (*batch, N, K), config.types[1]).swapaxes(-1, -2)
    deep = -(-K // 128)
    kinds = {"": (), "tensor": ((1, 1), (1, 1)), "lines": ((M, 1), (1, N)), "1x128": ((M, deep), (deep, -(-N // 128)))}
    scales = [rng.random(x, dtype=np.float32) + np.float32(0.5) for x in kinds[config.scaled]]
    arrays = {name: random(rng, (N if words.bias == "n" else M,) if name == "bias" else (*batch, M, N), config.out)
              for name in words.reads}
    added = Added(alpha=0.7 if words.alpha else 1.0, beta=-1.3 if words.residual else 1.0, **arrays)
    return kernel, [a, b, *scales, added]


def sums(kernel, operands, device="cpu", sms=2):
    """What the same configuration makes without its epilogue, in f32; sms: for which the grid is made."""
    plain = replace(kernel.options, epilogue="", out="f32", store="direct")
    return run(kernel_of(plain), *operands[:-1], device=device, sms=sms).c


def finished(kernel, operands, made):
    """What an epilogue makes of f32 sums: each step by itself, in f32, and one rounding."""
    words, added, f4 = EPILOGUES[kernel.options.epilogue], operands[-1], np.float32
    with np.errstate(all="ignore"):
        made = f4(added.alpha) * made if words.alpha else made
        made = fma_f32(f4(added.beta), added.residual.astype(f4), made) if words.residual else made
        if words.bias:
            bias = added.bias.astype(f4)
            made = made + (bias if words.bias == "n" else bias[:, None])
        made = activated(words.activation, made) if words.activation else made
        made = made * added.multiply.astype(f4) if words.multiply else made
        return made.astype(TYPES[kernel.options.out].numpy)


def activated(name, x):
    """An activation of f32, as its text says it, written out."""
    f4, power, inverse = np.float32, approximate("ex2", True), approximate("rcp", True)
    log2_e, slope = np.log2(np.e), -2 * np.log2(np.e) * np.sqrt(2 / np.pi)
    if name == "relu":
        return np.maximum(x, f4(0)) + f4(0)
    if name == "silu":
        return x * inverse(f4(1) + power(x * f4(-log2_e)))
    if name == "gelu_tanh":
        return x * inverse(f4(1) + power(x * fma_f32(x * x, f4(0.044715 * slope), f4(slope))))
    size = np.minimum(np.abs(x), f4(13.5))
    t = inverse(fma_f32(size, f4(0.2635), f4(1)))
    tail = f4(-0.06991657614707947)
    for of in (0.20717892050743103, -0.08084363490343094, 0.1515214592218399, 0.07929760217666626, 0.10780069977045059,
               0.1049613431096077):
        tail = fma_f32(tail, t, f4(of))
    return fma_f32(tail * t * power(size * size * f4(-log2_e / 2)), -size, np.maximum(x, f4(0)))
