"""The kernels by name, once one of these names is used: whoever needs one kernel loads no other."""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
