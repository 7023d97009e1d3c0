"""Programs for a GPU, run without one: kernels of Numba, CuPy and Triton as they are written, and whole programs.

A SimulatedDevice holds memory, modules of PTX and what was launched; an adapter per library puts it in the driver's place.
"""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
