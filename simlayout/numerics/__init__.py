"""Tensor-core arithmetic, bit for bit: what an mma, wgmma or tcgen05.mma instruction returns."""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
