"""Epilogues on the CPU machine: their bits against NumPy's, step by step; how near activations are; what kernels claim."""

from dataclasses import replace

import numpy as np
import pytest
from cut_tiles import SMS, assert_cut, cut_small_tiles
from epilogue_kit import CASES, EVERY, asked, finished, sums
from hypothesis import strategies as st
from tiers import given_few, sweep_but

from cuda_kernels.kernels.hopper import proofs
from cuda_kernels.kernels.hopper.activations import ACTIVATIONS
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.kernels.hopper.finishing import Added
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.kernels.hopper.proofs import prove_reads
from cuda_kernels.run.runner import run
from simlayout import machine
from simlayout.errors import SimlayoutError, VerificationError


def check(options, epilogue, shape, matrices=0, seed=1):
    kernel, operands = asked(np.random.default_rng(seed), options, epilogue, shape, matrices)
    sms = SMS if kernel.options.split or kernel.options.slices > 1 else 2
    done = run(kernel, *operands, device="cpu", sms=sms)
    wanted = finished(kernel, operands, sums(kernel, operands, sms=sms))
    assert np.ascontiguousarray(done.c).tobytes() == np.ascontiguousarray(wanted).tobytes()
    assert done.trace.hazards == ()
    return kernel, done


@pytest.mark.parametrize("case", sweep_but([CASES[0], CASES[8]], CASES), ids=str)
@cut_small_tiles()
def test_what_is_stored_has_the_bits_of_each_step_by_itself_and_one_rounding(case):
    assert_cut(check(*case, (130, 72, 144))[0].options, 130, 72, 144)


SMALL = dict(tile_m=64, tile_n=32, stages=2)
SIZES = [(0, (65, 40, 64)), (0, (1, 8, 8)), (2, (70, 33, 72)), (3, (8, 16, 64))]


@given_few(3, 40, st.sampled_from([name for name in EPILOGUES if name]), st.sampled_from(["N", "M"]),
           st.sampled_from(["tma", "direct"]), st.sampled_from(SIZES),
           st.sampled_from([("f16", "f16"), ("bf16", "bf16"), ("bf16", "f32")]))
def test_every_epilogue_is_right_at_odd_sizes_and_of_several_matrices(epilogue, c_major, store, problem, types):
    options = SMALL | dict(dtype=types[0], out=types[1], c_major=c_major, store="direct" if types[1] == "f32" else store)
    check(options, epilogue, problem[1], problem[0])


OWN = [dict(tile_n=32, c_major="M"), dict(tile_n=48, box=16, buffers=3), dict(tile_n=32, split=True),
       dict(tile_n=24, store="direct")]


@pytest.mark.parametrize("options", sweep_but([OWN[0], OWN[3]], OWN), ids=str)
@cut_small_tiles()
def test_c_may_be_its_own_residual_and_what_it_is_multiplied_by_without_a_race(options):
    options = dict(tile_m=64, stages=3) | options
    kernel, operands = asked(np.random.default_rng(3), options, "residual multiply", (136, 104, 192))
    a, b, added = operands
    operands[-1] = added = replace(added, multiply=added.residual)
    sms = SMS if kernel.options.split else 2
    assert_cut(kernel.options, 136, 104, 192, sms)
    wanted = finished(kernel, operands, sums(kernel, operands, sms=sms))
    work = kernel.work(a, b, added, sms=sms)
    held = dict.fromkeys(("c", "residual", "multiply"), work.arrays["residual"])
    trace = machine.execute(replace(work, arrays=work.arrays | held), None, "report")
    made = held["c"][0] if kernel.options.c_major == "N" else held["c"][0].T
    assert trace.hazards == () and np.array_equal(made, wanted, equal_nan=True)


def test_an_epilogue_touches_no_more_shared_memory_than_the_plan_says_and_its_certificates_stand():
    options = dict(tile_m=64, tile_n=64, stages=4)
    kernel, done = check(options, EVERY, (64, 64, 64))
    counts = {c.instruction: c for c in done.trace.by_instruction()}
    for said in kernel.predict(kernel.work(np.ones((64, 64), np.float16), np.ones((64, 64), np.float16),
                                           Added(bias=np.ones(64, np.float16), residual=np.ones((64, 64), np.float16),
                                                 multiply=np.ones((64, 64), np.float16))).problem).counts:
        assert counts[said.instruction].agrees(said) or said.instruction.startswith("wgmma"), said
    assert kernel.prove().keys() == kernel_of(Hopper(**options)).prove().keys() | {"epilogue"}


def test_lines_that_are_stored_by_sectors_have_the_scales_of_their_columns():
    options = dict(tile_m=64, tile_n=40, stages=3, buffers=1, dtype="e4m3", scaled="lines", store="sectors")
    kernel, operands = asked(np.random.default_rng(4), options, "", (9, 88, 72))
    made = run(kernel, *operands[:-1], device="cpu").c
    assert np.array_equal(made, sums(kernel, operands).astype(np.float16))


@pytest.mark.parametrize("name, most", [("relu", 0), ("gelu", 8e-6), ("gelu_tanh", 1.2e-5), ("silu", 4e-6)])
def test_an_activation_is_near_what_it_means_also_where_little_of_x_is_left(name, most):
    half = np.r_[np.linspace(0, 11, 20001), np.geomspace(1e-30, 1e4, 4001)]
    x = np.r_[half, -half].astype(np.float32)
    made, wanted = ACTIVATIONS[name].apply.twin(None, x), ACTIVATIONS[name].exact(x.astype(np.float64))
    error = np.abs(made - wanted)
    assert (error <= most * np.abs(wanted) + 2.0**-118).all()        # 1 / (1 + 2**m) is 0 below 2**-126
    assert (error <= 2e-7 * np.maximum(1, np.abs(wanted))).all()
    assert np.isnan(ACTIVATIONS[name].apply.twin(None, np.float32("nan")))
    assert ACTIVATIONS[name].apply.twin(None, np.float32("inf")) == np.inf


def test_the_words_of_an_epilogue_stand_in_the_order_in_which_they_are_done():
    assert len(EPILOGUES) == 2 * 2 * 3 * 5 * 2 and "" in EPILOGUES and EVERY in EPILOGUES
    assert str(EPILOGUES[EVERY].transposed) == EVERY.replace("bias_n", "bias_m")
    assert all(made.transposed.transposed == made for made in EPILOGUES.values())
    order = ["alpha", "residual", "bias_n", "bias_m", *ACTIVATIONS, "multiply"]
    assert all(sorted(text.split(), key=order.index) == text.split() for text in EPILOGUES)


@pytest.mark.parametrize("options, fault", [
    (dict(epilogue="gelu bias_n"), "any of these words in this order: alpha, residual, bias_n or bias_m, relu or gelu or"),
    (dict(epilogue="relu", dtype="s8", out="s32", store="direct", tile_n=64), "out is s32, of s8 with relu"),
    (dict(epilogue="relu", tile_n=72), "boxes of 16 columns overlap, and would read a residual that has been stored"),
    (dict(epilogue="relu", grouped=True), "needs grouped=False"),
    (dict(epilogue="relu", store="sectors", tile_n=72, buffers=1), "tiles of \"sectors\" overlap"),
    (dict(epilogue="bias_n", body="wgmma_tma", tile_m=64, tile_n=64, stages=1, store="direct", persistent=False),
     "wgmma_tma is a simpler kernel: set epilogue=''"),
    (dict(epilogue="bias_n relu", tile_m=256, tile_n=192, bands=2, stages=3), "192 of them accumulators, and needs 56"),
    (dict(epilogue=EVERY, tile_m=192, tile_n=192, producer=1, box=32), "96 of them accumulators, and needs 40"),
])
def test_what_an_epilogue_does_not_go_with_is_refused_by_name(options, fault):
    with pytest.raises(SimlayoutError, match=fault):
        Hopper(**options)


F16 = np.float16


@pytest.mark.parametrize("epilogue, added, fault", [
    ("bias_n", (), "bias: the epilogue 'bias_n' reads one, and none is given"),
    ("relu", (Added(bias=np.zeros(16, F16)),), "bias: the epilogue 'relu' has none, and one is given"),
    ("bias_m", (Added(bias=np.zeros(16, F16)),), r"bias has shape \(16,\): pass \(8,\)"),
    ("residual", (Added(residual=np.zeros((8, 16))),), "residual is float64: it is of C's type, float16"),
    ("alpha", (Added(alpha="2"),), "alpha is str: pass a number"), ("", (Added(),), "this kernel has no epilogue"),
    ("relu", (Added(alpha=0.5),), "alpha = 0.5: the epilogue 'relu' has none"),
    ("alpha", (Added(beta=2),), "beta = 2.0: the epilogue 'alpha' has none"),
    ("alpha", (Added(alpha=2), Added(alpha=3)), "2 Addeds: this kernel takes one"),
])
def test_operands_that_an_epilogue_does_not_take_are_refused_by_name(epilogue, added, fault):
    kernel = kernel_of(Hopper(tile_m=64, tile_n=16, stages=2, box=16, epilogue=epilogue))
    with pytest.raises(SimlayoutError, match=fault):
        kernel.work(np.zeros((8, 8), F16), np.zeros((8, 16), F16), *added)


@pytest.mark.parametrize("options", [dict(tile_n=64), dict(tile_n=72, store="direct"), dict(tile_n=64, c_major="M"),
                                     dict(tile_n=24, store="direct", out="f32", c_major="M")], ids=str)
@pytest.mark.parametrize("epilogue", ["residual bias_n multiply", "bias_m"])
def test_each_element_is_proved_to_be_read_where_c_has_it_and_a_wrong_place_is_found(options, epilogue, monkeypatch):
    config = Hopper(**options, epilogue=epilogue)
    assert prove_reads(config).claims[1] == "nothing of a row or column that C lacks"
    name = "make_read_like" if "residual" in epilogue else "make_add_bias"
    right = getattr(proofs, name)

    def moved(config, one, pair, *rest):
        return right(config, lambda at, there: one(at + 2, there), lambda at, there: pair(at + 4, there), *rest)

    def always(config, one, pair, *rest):
        return right(config, lambda at, there: one(at, 1), lambda at, there: pair(at, 1), *rest)

    for wrong in (moved, always):
        monkeypatch.setattr(proofs, name, wrong)
        with pytest.raises(VerificationError, match="thread .* reads byte"):
            prove_reads(config)
