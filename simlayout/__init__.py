"""simlayout: shared-memory layouts, predicted, proved, and emitted into running GPU kernels.

>>> import simlayout as sl
>>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
>>> a = sl.Access("load A", "ldmatrix.x4", tile, lanes=lambda tid, k: (tid % 16, 16*k + 8*(tid % 32 // 16)),
...               domain={"tid": 32, "k": 4}, dtype="f16")
>>> sl.verify(a).excess
0

Importing it loads nothing; every name brings its module when it is first used. All of them need NumPy alone, but `plots`,
which needs Matplotlib, and the strategies of `testing`, which need Hypothesis.
"""

from simlayout.lazy import when_used

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = when_used(__name__)
