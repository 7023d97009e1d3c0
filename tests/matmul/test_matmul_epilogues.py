"""matmul with bias, alpha, beta, residual, activation and multiply: what it launches, on a driver that is not there, and
what it refuses."""

from math import copysign

import ml_dtypes
import numpy as np
import pytest
from host_kit import aligned, host, install, numbers
from hypothesis import given
from hypothesis import strategies as st

from cuda_kernels.kernels.hopper.activations import ACTIVATIONS
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.finish import finish_of
from simlayout.errors import SimlayoutError

F16, F32, BF16, E4M3 = (np.dtype(x) for x in (np.float16, np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn))


def expected(a, b, out, alpha=1.0, beta=1.0, residual=None, bias=None, activation=None, multiply=None):
    """The same in float64 but for the factors, rounded once."""
    made = np.float32(alpha) * (a.astype(F32) @ b.astype(F32)).astype(np.float64)
    made = made + (0 if residual is None else np.float32(beta) * residual.astype(np.float64))
    made = made + (0 if bias is None else bias.astype(np.float64))
    made = ACTIVATIONS[activation].exact(made) if activation else made
    return made if multiply is None else made * multiply.astype(np.float64)


def close(made, wanted, dtype):
    half = {2: 2.0**-8 if dtype == BF16 else 2.0**-11, 4: 2.0**-20}[dtype.itemsize]
    np.testing.assert_allclose(made.astype(np.float64), wanted, rtol=2 * half, atol=half)


def laid(shape, dtype, how, seed):
    """Random numbers "N" with contiguous rows, "T" columns, or "gap", rows on 16 bytes with room between them."""
    rows, cols = shape[-2:]
    if how == "T":
        return aligned(numbers((*shape[:-2], cols, rows), dtype, seed)).swapaxes(-1, -2)
    wide = cols + (24 if how == "gap" else 0)
    return aligned(numbers((*shape[:-2], rows, wide), dtype, seed))[..., :cols]


def tensors(torch, named):
    return {name: torch.Tensor(x) if isinstance(x, np.ndarray) else x for name, x in named.items()}


@given(st.data())
def test_elements_are_finished_in_the_order_that_is_said_whatever_the_shapes_and_strides(data):
    draw = data.draw
    with pytest.MonkeyPatch.context() as patch:
        _, torch = install(patch)
        M, N, K = (draw(st.sampled_from(sizes)) for sizes in ((1, 9, 64, 130), (1, 7, 64, 72, 257), (8, 33)))
        batch = draw(st.sampled_from([(), (3,), (2, 2)]))
        dtype, how = draw(st.sampled_from([F16, BF16])), draw(st.sampled_from(["N", "T", "gap"]))
        out = draw(st.sampled_from([dtype, F32]))
        a = laid((*draw(st.sampled_from([batch, ()])), M, K), dtype, draw(st.sampled_from("NT")), 1)
        b = laid((*batch, K, N), dtype, draw(st.sampled_from("NT")), 2)
        named = {"activation": draw(st.sampled_from([None, *ACTIVATIONS])), "alpha": draw(st.sampled_from([1, 0.3]))}
        shape = (*batch, M, N)
        if draw(st.booleans()):
            named |= {"residual": laid(shape, out, how, 3), "beta": draw(st.sampled_from([1.0, -2.5]))}
        if draw(st.booleans()):
            named["bias"] = aligned(numbers((N,), out, 4))
        if draw(st.booleans()):
            named["multiply"] = laid(shape, out, how, 5)
        c = laid(shape, out, how, 6)
        wanted = expected(a, b, out, **named)
        host.matmul(torch.Tensor(a), torch.Tensor(b), torch.Tensor(c), **tensors(torch, named))
        close(c, wanted, out)


@pytest.mark.parametrize("beta", [0, 0.0, -0.0, 1e-60], ids=repr)
@pytest.mark.parametrize("more", [{}, {"alpha": 0.5, "activation": "silu"}], ids=str)
def test_a_residual_times_zero_is_not_read(machine, beta, more):
    _, torch = machine
    a, b = aligned(numbers((130, 64), F16)), aligned(numbers((64, 72), F16, 1))
    plain, c = aligned(np.zeros((130, 72), F16)), aligned(np.full((130, 72), np.nan, F16))
    host.matmul(torch.Tensor(a), torch.Tensor(b), torch.Tensor(plain), **more)
    out = torch.Tensor(c)
    host.plan_matmul(torch.Tensor(a), torch.Tensor(b), out, residual=out, beta=beta, **more)()
    assert c.tobytes() == plain.tobytes() and np.isfinite(c).all()
    with pytest.raises(SimlayoutError, match="residual has shape"):
        host.matmul(torch.Tensor(a), torch.Tensor(b), out, residual=torch.Tensor(c[1:]), beta=beta, **more)


@pytest.mark.parametrize("role", ["residual", "multiply"])
@pytest.mark.parametrize("turned", [False, True])
def test_out_may_be_its_own_residual_and_is_read_again_at_each_call(machine, role, turned):
    _, torch = machine
    a, b = aligned(numbers((130, 64), F16)), aligned(numbers((64, 72), F16, 1))
    c = laid((130, 72), F16, "T" if turned else "N", 2)
    first = expected(a, b, F16, **{role: c.copy()}).astype(F16)
    out = torch.Tensor(c)
    prepared = host.plan_matmul(torch.Tensor(a), torch.Tensor(b), out, **{role: out})
    prepared()
    close(c, first, F16)
    second = expected(a, b, F16, **{role: c.copy()})
    prepared()
    close(c, second, F16)


@pytest.mark.parametrize("start", [0, 1, 2, 8])
@pytest.mark.parametrize("apart", [1, 2])
def test_a_bias_may_start_at_any_element_also_where_out_is_a_copy_of_what_the_kernel_makes(machine, start, apart):
    _, torch = machine
    a, b = aligned(numbers((130, 64), F16)), aligned(numbers((64, 72), F16, 1))
    bias, c = aligned(numbers((80,), F16, 2))[start:start + 72], aligned(np.zeros((130, 72 * apart), F16))[:, ::apart]
    for kernel in ("auto", Hopper(tile_m=64, tile_n=64, stages=3)):
        host.matmul(torch.Tensor(a), torch.Tensor(b), torch.Tensor(c), bias=torch.Tensor(bias), kernel=kernel)
        close(c, expected(a, b, F16, bias=bias), F16)


def test_a_factor_of_minus_zero_is_zero_because_a_dictionary_of_calls_takes_them_for_one():
    assert copysign(1, finish_of((None, -0.0, None), {}, (3, 4), (2, 4), (8, 2), "f16").alpha) == 1


def test_integers_and_8_bit_floats_are_finished_too_also_behind_their_scales(machine):
    _, torch = machine
    a, b = aligned(numbers((64, 128), E4M3)), aligned(numbers((72, 128), E4M3, 1)).T
    scales = [aligned(np.full(shape, 0.5, np.float32)) for shape in ((64, 1), (1, 72))]
    bias = aligned(numbers((72,), BF16, 2))
    made = host.matmul(torch.Tensor(a), torch.Tensor(b), scale_a=torch.Tensor(scales[0]), scale_b=torch.Tensor(scales[1]),
                       bias=torch.Tensor(bias), activation="relu")
    close(made.array, np.maximum((a.astype(F32) @ b.astype(F32)) / 4 + bias.astype(F32), 0), BF16)
    a, b = aligned(np.ones((64, 128), np.int8)), aligned(np.ones((72, 128), np.int8)).T
    made = host.matmul(torch.Tensor(a), torch.Tensor(b), bias=torch.Tensor(bias))
    assert made.array.dtype == BF16
    close(made.array, 128 + bias.astype(F32) + np.zeros((64, 1)), BF16)


A, B, C = (64, 64), (64, 72), (64, 72)
ZEROS = {"a": A, "b": B, "out": C}


@pytest.mark.parametrize("given_, fault", [
    (dict(activation="swish"), "activation = 'swish': choose 'relu', 'gelu', 'gelu_tanh', 'silu', or None"),
    (dict(beta=0.5), "beta = 0.5 multiplies the residual, and there is none"),
    (dict(alpha="2"), "alpha is str: pass a number"), (dict(alpha=float("nan")), "alpha = nan: pass a finite number"),
    (dict(alpha=np.ones(1)), "alpha is Tensor: pass a number"), (dict(activation=["relu"]), "activation are names"),
    (dict(overlap=[True]), "overlap is True or False"),
    (dict(alpha=1e300), "alpha lies beyond 3.4e38: it is taken as float32"),
    (dict(alpha=10**5000), "alpha lies beyond 3.4e38"), (dict(alpha=np.complex64(1)), "alpha is complex64: pass a number"),
    (dict(bias=np.zeros(71, F16)), r"bias has shape \(71,\): pass one for each column of the product, \(72,\)"),
    (dict(bias=np.zeros(144, F16)[::2]), "bias has a stride of 4 bytes"),
    (dict(bias=np.zeros(72, F32)), "bias is float32 and out float16: they have one type"),
    (dict(bias=np.zeros(72)), "bias is torch.float64; its type is out's"),
    (dict(residual=np.zeros((64, 71), F16)), r"residual has shape \(64, 71\), the product \(64, 72\)"),
    (dict(multiply=np.zeros((72, 64), F16).T), "multiply has strides of"),
    (dict(a=np.zeros((64, 0), F16), b=np.zeros((0, 72), F16), activation="relu"), "no kernel finishes sums of nothing"),
    (dict(b=np.zeros(64, F16), out=np.zeros(64, F16), bias=np.zeros(64, F16)), "b is a vector"),
    (dict(out=np.zeros((64, 144), F16)[:, ::2], residual=np.zeros((64, 144), F16)[:, ::2]), "out has neither rows nor"),
    (dict(a=np.zeros(A, np.int8), b=np.zeros((72, 64), np.int8).T, out=np.zeros(C, np.int32), activation="relu"),
     "out is s32, of s8 with relu"),
    (dict(kernel="mma_permuted", activation="relu"), "mma_permuted has no relu"),
])
def test_what_does_not_fit_is_refused_by_name_before_anything_runs(machine, given_, fault):
    library, torch = machine
    named = {name: aligned(np.zeros(shape, F16)) for name, shape in ZEROS.items()} | given_
    with pytest.raises(SimlayoutError, match=fault):
        host.matmul(**tensors(torch, named))
    assert not library.launches


@pytest.mark.parametrize("name", ["bias", "residual", "multiply"])
def test_an_out_that_overlaps_what_is_read_elsewhere_is_refused(machine, name):
    _, torch = machine
    memory = aligned(np.zeros(72 * 130, F16))
    out = memory[72:72 * 65].reshape(64, 72)
    other = memory[72:144] if name == "bias" else memory[:72 * 64].reshape(64, 72)
    a, b = (torch.Tensor(aligned(np.zeros(shape, F16))) for shape in (A, B))
    with pytest.raises(SimlayoutError, match=f"out overlaps {name}"):
        host.matmul(a, b, torch.Tensor(out), **{name: torch.Tensor(other)})


def test_an_older_gpu_has_no_epilogue(monkeypatch):
    _, torch = install(monkeypatch, capability=(8, 0))
    with pytest.raises(SimlayoutError, match="has no relu: use kernel="):
        host.matmul(*(torch.Tensor(aligned(np.zeros(s, F16))) for s in (A, B)), activation="relu")
