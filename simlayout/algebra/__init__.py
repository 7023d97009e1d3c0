"""What layouts are: shape:stride layouts, swizzles, rotations, their composition, and their notation."""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
