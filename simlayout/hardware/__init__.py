"""What the GPU does with shared memory: instructions, banks, fragments, and the choice of ldmatrix."""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
