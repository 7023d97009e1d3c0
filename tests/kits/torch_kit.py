"""Tests with torch on a GPU of compute capability 9.0: where they run, and tensors of random numbers in several orders of
memory."""

import os

import pytest

from cuda_kernels.run.device import gpu_problem
from simlayout.hardware.tables.arch import FEATURES

MISSING = gpu_problem(FEATURES["wgmma"])
on_hopper = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
torch = None if MISSING else pytest.importorskip("torch")

ALONE = "PYTEST_XDIST_WORKER" not in os.environ
"""Whether no other worker takes the GPU's time and memory."""


def normal(*shape, dtype=None, device="cuda"):
    return torch.randn(*shape, device=device).to(dtype or torch.float16)


def view(source, tensor):
    """The same values in another order of memory: as they are, transposed, a slice, or with a stride of two."""
    how = source.randrange(4)
    if how == 1:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if how == 2:
        return torch.cat([tensor, tensor[..., :source.choice([3, 8])]], -1)[..., :tensor.shape[-1]]
    if how == 3 and tensor.numel():
        return torch.stack([tensor, tensor], -1)[..., 0]
    return tensor
