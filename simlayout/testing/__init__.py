"""For the property tests of your own layouts: assertions that show the smallest counterexample, and Hypothesis strategies.

>>> import simlayout as sl
>>> from simlayout.testing import assert_bijective, assert_conflict_free
>>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
>>> assert_bijective(tile)
>>> assert_conflict_free(sl.Access("load A", "ldmatrix.x4", tile, lambda tid: (tid % 16, 8 * (tid // 16))))

The assertions need NumPy alone. The strategies (`layouts`, `swizzles`, `addresses`, ...) import Hypothesis when one of them
is first asked for; Hypothesis itself finds them by its entry point, so that `strategies.from_type(sl.Swizzle)` draws
swizzles. The folder `example` has a small kernel's layouts, `my_layouts.py`, and their tests, `test_my_layouts.py`, to copy.
"""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
