"""The estimate takes a GPU as the driver describes it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cuda_kernels.matmul.choose.candidates import candidates
from cuda_kernels.matmul.choose.choice import choose, likely
from cuda_kernels.matmul.choose.figures import FIGURES, H200, Figures, figures_of
from cuda_kernels.matmul.choose.model import Estimates
from cuda_kernels.matmul.choose.rates import RATES
from cuda_kernels.matmul.choose.wanted import Wanted
from simlayout.programs.attributes import attributes_of

H100 = FIGURES["NVIDIA H100 80GB HBM3"]
SOME = Estimates(candidates()[::40])


def test_the_figures_are_the_drivers_and_an_h200s_where_it_says_none(machine, cuda):
    library, _ = machine
    assert figures_of(cuda, 0) == H100
    ask = library.cuDeviceGetAttribute
    library.attributes |= {38: 0, 16: 114}
    library.cuDeviceGetAttribute = lambda at, number, device: 1 if number == 36 else ask(at, number, device)
    library.cuDeviceGetAttribute.__name__ = "cuDeviceGetAttribute"
    cuda._attributes.clear()
    assert figures_of(cuda, 0) == replace(H100, sms=114, memory_khz=H200.memory_khz, l2_bytes=H200.l2_bytes)


def test_an_h100_is_what_programs_see_of_one_on_the_cpu_machine():
    told = attributes_of("sm_90")
    assert H100 == Figures(*(told[name] for name in ("MULTIPROCESSOR_COUNT", "CLOCK_RATE", "MEMORY_CLOCK_RATE",
                                                     "GLOBAL_MEMORY_BUS_WIDTH", "L2_CACHE_SIZE")))


def test_on_the_gpu_that_they_were_fitted_to_the_rates_are_as_they_are():
    assert RATES.on(H200) == RATES


@pytest.mark.parametrize("gpu", [H100, Figures(114, 1755000, 2619000, 5120, 50 << 20), Figures(78, 1980000, 3201000, 6016)])
def test_less_of_anything_is_no_faster(gpu):
    for M, N, K in ((4096, 4096, 4096), (16, 8192, 8192), (300, 500, 4000)):
        slower, faster = (SOME.times(SOME.work(M, N, K, 1, g), g) for g in (replace(gpu, sms=H200.sms), H200))
        assert (slower >= faster * (1 - 1e-9))[np.isfinite(faster)].all()


def test_a_product_that_waits_for_dram_takes_as_much_longer_as_dram_is_slower():
    half = replace(H200, memory_khz=H200.memory_khz // 2)
    took = [np.min(SOME.times(SOME.work(16, 65536, 8192, 1, gpu), gpu)) for gpu in (half, H200)]
    assert math.isclose(took[0], 2 * took[1], rel_tol=0.1)


def test_a_product_that_waits_for_tensor_cores_takes_as_much_longer_as_clocks_and_sms_are_fewer():
    slow = replace(H200, clock_khz=H200.clock_khz // 2)
    took = [np.min(SOME.times(SOME.work(8192, 8192, 8192, 1, gpu), gpu)) for gpu in (slow, H200)]
    assert math.isclose(took[0], 2 * took[1], rel_tol=0.1)


def test_the_choice_depends_on_the_gpu_and_is_the_likeliest_there():
    wanted = [Wanted(M, 4096, K) for M in (64, 300, 1000) for K in (512, 4096, 8192)]
    assert [choose(w, H100) for w in wanted] == [likely(w, H100, 1)[0] for w in wanted]
    assert [choose(w, H100) for w in wanted] != [choose(w, H200) for w in wanted]
