"""The problems of the practical-swizzle tutorial as kernels, in every layout that it names and some that it does not.

>>> [layout for problem, layout in PROBLEMS if problem == "1.1"]
['none', 'shift', 'xor', 'rearranged']
>>> {count.name: count.excess for count in PROBLEMS["1.1", "none"].predict(n=2) if count.excess}
{'load right (none)': 4, 'load left (none)': 4, 'store (none)': 4}
"""

from functools import lru_cache

from cuda_kernels.kernels.practical.halves import Halves
from cuda_kernels.kernels.practical.interleaved import Interleaved
from cuda_kernels.kernels.practical.patterns import Patterns
from cuda_kernels.kernels.practical.power import Power
from cuda_kernels.kernels.practical.problem import STORES, Options, Practical, Use
from simlayout.errors import SimlayoutError

_KERNELS = {kernel.problem: kernel for kernel in (Power, Halves, Patterns, Interleaved)}


@lru_cache(None)
def practical(problem, layout, store="stmatrix"):
    """The Practical of a problem ("1.1", "1.2", "2.1", "3.1") in a layout, with its results stored by "stmatrix" or "pairs".

    Raises SimlayoutError for a problem, layout or store that there is not.
    """
    if problem not in _KERNELS:
        raise SimlayoutError(f"no problem {problem!r}: choose one of {', '.join(_KERNELS)}")
    return _KERNELS[problem](Options(layout, store))


PROBLEMS = {(problem, layout): practical(problem, layout)
            for problem, kernel in _KERNELS.items() for layout in kernel.layouts}
"""Every problem in every layout, its results stored by stmatrix."""

__all__ = ["PROBLEMS", "STORES", "Practical", "Use", "practical"]
