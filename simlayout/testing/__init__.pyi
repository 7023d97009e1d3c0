# What the names of this package are, for type checkers: it brings them when they are first used (simlayout.lazy).

from simlayout.testing.access_assertions import assert_conflict_free, assert_wavefronts
from simlayout.testing.counterexample import Counterexample, CounterexampleError, Place
from simlayout.testing.function_assertions import assert_bijective, assert_equivalent
from simlayout.testing.strategies import (
    accesses,
    addresses,
    lane_masks,
    layouts,
    one_to_one_layouts,
    rotations,
    smallest,
    swizzles,
    tiles,
)
from simlayout.testing.trace_assertions import assert_no_conflicts, assert_no_hazards

__all__ = ["Counterexample", "CounterexampleError", "Place", "accesses", "addresses", "assert_bijective",
           "assert_conflict_free", "assert_equivalent", "assert_no_conflicts", "assert_no_hazards", "assert_wavefronts",
           "lane_masks", "layouts", "one_to_one_layouts", "rotations", "smallest", "swizzles", "tiles"]
