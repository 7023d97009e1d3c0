"""The GPU sweep equals the model, on the CPU machine: the kernel, and all around it but the driver."""

from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from accesses_kit import BANKED, LANE, counted, crowd, faulty_accesses, many_accesses
from tiers import given_few

from cuda_kernels.run.device import gpu_problem
from simlayout import machine
from simlayout.errors import DeviceError, InstructionError
from simlayout.hardware import INSTRUCTIONS, analyze
from simlayout.hardware.banks import sweep, sweep_kernel
from simlayout.hardware.banks.geometry import geometry
from simlayout.hardware.banks.sweep import wavefronts_on_gpu


class CpuMachine(sweep.Gpu):
    """In the place of a GPU; its device arrays are NumPy's."""

    def addresses(self, array):
        return array.there

    def copy(self, array):
        return np.array(array)

    def read(self, array):
        return np.array(getattr(array, "there", array))

    def empty(self, n):
        return np.full(n, -1)

    def launch(self, grid, block, arguments):
        addresses, *others = arguments
        machine.run(sweep_kernel.count, grid, block, addresses.astype(np.int64), *others)


def there(array):
    """An array on the machine's device."""
    return SimpleNamespace(__cuda_array_interface__={}, there=array)


@pytest.fixture(autouse=True)
def machine_for_gpu(monkeypatch):
    monkeypatch.setattr(sweep, "Gpu", CpuMachine)
    monkeypatch.setattr(sweep, "gpu_problem", lambda: None)
    monkeypatch.setattr(sweep, "_BLOCK", 64)


@given_few(20, 60, many_accesses(12))
def test_the_kernel_counts_what_the_model_counts(accesses):
    assert counted(wavefronts_on_gpu, *accesses) == counted(analyze, *accesses)


@given_few(20, 60, faulty_accesses(12))
def test_wrong_addresses_are_refused_in_the_words_of_analyze(accesses):
    with patch.object(sweep, "_CHUNK", 5):
        assert counted(wavefronts_on_gpu, *accesses) == counted(analyze, *accesses)


@pytest.mark.parametrize("name", BANKED)
def test_every_instruction_goes_through_the_kernel(name, monkeypatch):
    monkeypatch.setattr(sweep, "_MOST_CTAS", 3)              # each of the 6 warps counts several accesses
    addresses = crowd(np.random.default_rng(1), INSTRUCTIONS[name], 20)
    made = wavefronts_on_gpu(name, addresses)
    assert [x.tolist() for x in made] == counted(analyze, name, addresses)
    assert {x.dtype for x in made} == {np.dtype(np.int64)}


@pytest.mark.parametrize("dtype", (np.uint32, np.uint64))
def test_an_unsigned_address_is_refused_as_what_it_is(dtype):
    addresses = np.zeros((3, 32), dtype)
    addresses[2, 4] = np.iinfo(dtype).max - 15
    assert counted(wavefronts_on_gpu, "ld.shared.b128", addresses) == counted(analyze, "ld.shared.b128", addresses)


def test_chunks_of_host_arrays_and_whole_device_arrays_give_the_same(monkeypatch):
    monkeypatch.setattr(sweep, "_CHUNK", 7)
    addresses = crowd(np.random.default_rng(2), INSTRUCTIONS["ld.shared.b64"], 30)
    active = np.random.default_rng(3).random((30, 32)) < 0.5
    expected = counted(analyze, "ld.shared.b64", addresses, active)
    for a, mask in ((addresses, active), (there(addresses), there(active)), (there(addresses), active)):
        assert counted(wavefronts_on_gpu, "ld.shared.b64", a, mask) == expected


@pytest.mark.parametrize("name", ["cp.async.ca.4", "cp.async.cg.16", "atom.shared.add.f32", "red.shared.min.u64"])
def test_instructions_that_are_more_than_banks_are_refused(name):
    with pytest.raises(InstructionError, match="use analyze"):
        wavefronts_on_gpu(name, 16 * LANE)


@pytest.mark.parametrize("dtype", ("int32", "int64"))
def test_the_kernel_compiles_for_a_gpu_that_is_not_here(dtype):
    from numba import cuda
    from numba.cuda import types as t

    numbers = [t.boolean if isinstance(x, bool) else t.int64 for x in geometry(INSTRUCTIONS["ld.shared.b32"], 1024)]
    signature = t.void(getattr(t, dtype)[::1], t.boolean[::1], t.int64, t.int64, *numbers, *[t.int64[::1]] * 3)
    ptx = cuda.compile_ptx(sweep_kernel.bound(), signature, cc=(9, 0))[0]
    assert "match.any.sync.b32" in ptx and "shfl.sync.bfly.b32" in ptx and "vote.sync.ballot.b32" in ptx
    assert ".f64" not in ptx and ".local" not in ptx         # integers in registers alone


@pytest.mark.skipif(gpu_problem() is None, reason="there is a GPU here")
def test_without_a_gpu_one_line_says_what_to_do(monkeypatch):
    monkeypatch.undo()
    with pytest.raises(DeviceError, match="analyze") as caught:
        wavefronts_on_gpu("ld.shared.b32", 4 * LANE)
    assert "\n" not in str(caught.value)
