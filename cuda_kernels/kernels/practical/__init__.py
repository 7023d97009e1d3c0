"""The problems of the practical-swizzle tutorial as kernels, in every layout that it names and some that it does not.

>>> [layout for problem, layout in PROBLEMS if problem == "1.1"]
['none', 'shift', 'xor', 'rearranged']
>>> {count.name: count.excess for count in PROBLEMS["1.1", "none"].predict(n=2) if count.excess}
{'load right (none)': 4, 'load left (none)': 4, 'store (none)': 4}
"""

from functools import lru_cache

from cuda_kernels.kernels.practical import halves, interleaved, patterns, power
from cuda_kernels.kernels.practical.problem import STORES, Practical, Use
from simlayout.errors import SimlayoutError

_MODULES = {"1.1": power, "1.2": halves, "2.1": patterns, "3.1": interleaved}


@lru_cache(None)
def practical(problem, layout, store="stmatrix"):
    """The Practical of a problem ("1.1", "1.2", "2.1", "3.1") in a layout, with its results stored by "stmatrix" or "pairs".

    Raises SimlayoutError for a problem, layout or store that there is not.
    """
    if problem not in _MODULES:
        raise SimlayoutError(f"no problem {problem!r}: choose one of {', '.join(_MODULES)}")
    module = _MODULES[problem]
    if layout not in module.LAYOUTS:
        raise SimlayoutError(f"problem {problem} has no layout {layout!r}: choose one of {', '.join(module.LAYOUTS)}")
    if store not in STORES:
        raise SimlayoutError(f"store {store!r}: choose one of {', '.join(STORES)}")
    return module.practical(layout, store)


PROBLEMS = {(problem, layout): practical(problem, layout)
            for problem, module in _MODULES.items() for layout in module.LAYOUTS}
"""Every problem in every layout, its results stored by stmatrix."""

__all__ = ["PROBLEMS", "STORES", "Practical", "Use", "practical"]
