"""The GPU sweep on a GPU; skipped where there is none. What needs none is in test_sweep.py."""

import numpy as np
import pytest
from accesses_kit import BANKED, LANE, counted, crowd, faulty_accesses, many_accesses
from hypothesis import given, settings

from simlayout.errors import AddressError
from simlayout.hardware import INSTRUCTIONS, analyze
from simlayout.hardware.banks.sweep import gpu_problem, wavefronts_on_gpu

pytestmark = pytest.mark.skipif(gpu_problem() is not None, reason=str(gpu_problem()))


@settings(max_examples=200, deadline=None)
@given(many_accesses(500))
def test_the_gpu_counts_what_the_model_counts(accesses):
    assert counted(wavefronts_on_gpu, *accesses) == counted(analyze, *accesses)


@settings(max_examples=100, deadline=None)
@given(faulty_accesses(100))
def test_wrong_addresses_are_refused_in_the_words_of_analyze(accesses):
    assert counted(wavefronts_on_gpu, *accesses) == counted(analyze, *accesses)


@pytest.mark.parametrize("dtype", (np.int32, np.int64))
@pytest.mark.parametrize("name", BANKED)
def test_arrays_on_the_gpu_stay_there(name, dtype):
    from numba import cuda

    addresses = crowd(np.random.default_rng(1), INSTRUCTIONS[name], 5000).astype(dtype)
    made = wavefronts_on_gpu(name, cuda.to_device(addresses))
    assert all(hasattr(x, "__cuda_array_interface__") for x in made)
    assert [x.copy_to_host().tolist() for x in made] == counted(analyze, name, addresses)


def test_a_mask_may_lie_on_the_gpu_or_not():
    from numba import cuda

    addresses = cuda.to_device(crowd(np.random.default_rng(1), INSTRUCTIONS["ld.shared.b64"], 100))
    active = np.random.default_rng(2).random((100, 32)) < 0.5
    first, second = (wavefronts_on_gpu("ld.shared.b64", addresses, mask)[0].copy_to_host() for mask in
                     (active, cuda.to_device(active)))
    assert first.tolist() == second.tolist()


def test_host_arrays_larger_than_a_chunk_stream():
    addresses = np.random.default_rng(0).integers(0, 14528, (2_500_000, 32), dtype=np.int32) * 16
    made, model = wavefronts_on_gpu("ld.shared.b128", addresses), analyze("ld.shared.b128", addresses)
    assert np.array_equal(made, [model.wavefronts, model.ideal])


@pytest.mark.parametrize("wrong", [np.zeros((4, 32), np.float32), np.zeros((4, 31), np.int32), np.zeros((4, 32), np.int16),
                                   np.asfortranarray(np.zeros((4, 32), np.int32))], ids=str)
def test_device_arrays_that_cannot_be_taken_as_they_are_say_so(wrong):
    from numba import cuda

    with pytest.raises(AddressError, match="C-contiguous"):
        wavefronts_on_gpu("ld.shared.b32", cuda.to_device(wrong))


def test_one_access_on_the_gpu_is_one_access():
    from numba import cuda

    assert [x.copy_to_host().tolist() for x in wavefronts_on_gpu("ld.shared.b32", cuda.to_device(8 * LANE))] == [[2], [1]]
