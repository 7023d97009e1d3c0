# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from simlayout.testing.access_assertions import (
    assert_conflict_free as assert_conflict_free, assert_wavefronts as assert_wavefronts
)
from simlayout.testing.counterexample import (
    Counterexample as Counterexample, CounterexampleError as CounterexampleError, Place as Place
)
from simlayout.testing.function_assertions import (
    assert_bijective as assert_bijective, assert_equivalent as assert_equivalent
)
from simlayout.testing.strategies import (
    accesses as accesses, addresses as addresses, lane_masks as lane_masks, layouts as layouts,
    one_to_one_layouts as one_to_one_layouts, rotations as rotations, smallest as smallest, swizzles as swizzles,
    tiles as tiles
)
from simlayout.testing.trace_assertions import (
    assert_no_conflicts as assert_no_conflicts, assert_no_hazards as assert_no_hazards
)
