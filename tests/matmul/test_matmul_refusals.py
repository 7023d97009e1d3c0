"""What matmul refuses, before any launch: shapes, operands, GPUs and streams."""

import os

import ml_dtypes
import numpy as np
import pytest
from host_kit import Device, aligned, host, install, numbers

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.repack import Copy
from cuda_kernels.run import driver
from simlayout.errors import DeviceError, SimlayoutError

BF16 = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("a, b, out, message", [
    ((3, 4), (5, 6), None, "size 5 is different from 4"),
    ((2, 3, 4), (3, 4, 5), None, "could not be broadcast"),
    ((3, 4), (4, 5), (3, 6), r"out has shape \(3, 6\), the product \(3, 5\)"),
    ((), (4, 5), None, "does not have enough dimensions"),
])
def test_shapes_that_do_not_match_are_refused(machine, a, b, out, message):
    library, torch = machine
    made = [None if s is None else torch.Tensor(numbers(s)) for s in (a, b, out)]
    with pytest.raises(SimlayoutError, match=message):
        host.matmul(*made)
    assert not library.launches


def test_bad_operands_are_refused_before_any_launch(machine):
    library, torch = machine
    good = torch.Tensor(aligned(numbers((16, 16))))
    other = torch.Tensor(numbers((16, 16)), device=1)
    wants = torch.Tensor(aligned(numbers((16, 16))))
    wants.requires_grad = True
    rows = np.lib.stride_tricks.as_strided(numbers((64,)), (16, 16), (4, 2))
    repeated = np.broadcast_to(numbers((16,)), (16, 16))
    square = aligned(numbers((16, 16)))
    cases = [
        (numbers((16, 16)), good, None, "a is a NumPy array"),
        ([[1.0]], good, None, "a is list: not an array"),
        (torch.Tensor(numbers((16, 16)), device=-1), good, None, "a is a torch tensor in the CPU's memory"),
        (torch.Tensor(numbers((16, 16), np.float64)), good, None, "a is torch.float64; matmul takes"),
        (torch.Tensor(numbers((16, 16), np.float32)), torch.Tensor(numbers((16, 16), np.float32)), None, "a is float32"),
        (good, torch.Tensor(numbers((16, 16), BF16)), None, "a is f16 and b is bf16"),
        (good, other, None, "on GPUs 0, 1"),
        (good, Device(numbers((16, 16))[::-1]), None, "b has a negative stride"),
        (torch.Tensor(rows), good, None, "a overlaps itself"),
        (torch.Tensor(repeated), good, None, "a overlaps itself"),
        (good, good, good, "out overlaps a in memory"),
        (good, torch.Tensor(square), torch.Tensor(square.T), "out overlaps b in memory"),
        (good, good, Device(numbers((16, 16)), read_only=True), "out is read-only"),
        (good, good, torch.Tensor(np.broadcast_to(numbers((16,)), (16, 16))), "out overlaps itself"),
        (wants, good, None, "records no gradient"),
    ]
    for a, b, out, message in cases:
        with pytest.raises(SimlayoutError, match=message) as raised:
            host.matmul(a, b, out)
        assert "\n" not in str(raised.value)
    for kernel, message in (("nonsense", "choose 'auto'"), (3, "kernel is int"),
                            (Hopper(grouped=True), "grouped = True: this product has no groups; use grouped_matmul")):
        with pytest.raises(SimlayoutError, match=message):
            host.matmul(good, good, kernel=kernel)
    with pytest.raises(SimlayoutError, match="grouped = True: this product has no groups"):
        host.matmul(torch.Tensor(aligned(numbers((16, 16))).T), good, kernel=Hopper(grouped=True))
    with pytest.raises(SimlayoutError, match="overlap = 'no': pass True or False"):
        host.matmul(good, good, overlap="no")
    with pytest.raises(SimlayoutError, match="stream is str"):
        host.matmul(good, good, stream="fast")
    assert not library.launches
    torch.grad = False
    host.matmul(wants, good)
    assert len(library.launches) == 1


def test_gpus_without_a_kernel_are_refused_by_name(monkeypatch):
    library, torch = install(monkeypatch, capability=(7, 5))
    x = torch.Tensor(aligned(numbers((16, 16))))
    with pytest.raises(DeviceError, match="compute capability 7.5; matmul needs 8.0"):
        host.matmul(x, x)
    library, torch = install(monkeypatch, capability=(8, 0))
    x = torch.Tensor(aligned(numbers((16, 16))))
    with pytest.raises(DeviceError, match="kernels for Hopper need compute capability 9.0; GPU 0 has 8.0"):
        host.matmul(x, x, kernel=Hopper())
    y = torch.Tensor(aligned(numbers((16, 16), BF16)))
    with pytest.raises(SimlayoutError, match="multiplies f16 to f16, not bf16 to bf16"):
        host.matmul(y, y)


def test_without_a_driver_the_error_says_so():
    if os.path.exists("/dev/nvidia0"):
        pytest.skip("there is a GPU")
    x = Device(numbers((16, 16)))
    driver.cuda.cache_clear()
    with pytest.raises(DeviceError, match="CUDA"):
        host.matmul(x, x)


def test_streams_that_disagree_must_be_named(machine):
    library, torch = machine
    a, b = Device(aligned(numbers((16, 16))), stream=7), Device(aligned(numbers((16, 16))), stream=9)
    out = Device(aligned(numbers((16, 16))))
    with pytest.raises(SimlayoutError, match="different streams \\(0x7, 0x9\\): pass stream="):
        host.matmul(a, b, out)
    host.matmul(a, b, out, stream=5)
    host.matmul(a, Device(aligned(numbers((16, 16)))), out)
    assert [x[4] for x in library.launches] == [5, 7]


@pytest.mark.parametrize("size", (3, 8))
def test_elements_of_a_size_that_no_copy_moves_are_refused_not_moved_as_another(size):
    with pytest.raises(SimlayoutError, match=f"elements of {size} bytes are not copied"):
        Copy(size)
