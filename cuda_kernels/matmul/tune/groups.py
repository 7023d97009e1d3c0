"""Groups of rows to measure with: their sizes, from a seed."""

import random
from functools import lru_cache

SEED = 2026
"""What sizes of groups, and shapes that a benchmark draws, are drawn from where no other seed is named."""

EVENNESS = 4
"""Of the sizes: shares of the rows that are gamma-distributed with this shape, so that their standard deviation is half of
their mean."""


@lru_cache(64)
def sizes_of(rows, groups, seed=SEED):
    """The rows of each group, as a tuple of ints whose sum is `rows`.

    >>> sum(sizes_of(1000, 7)), len(sizes_of(1000, 7))
    (1000, 7)
    """
    source = random.Random(seed)
    shares = [source.gammavariate(EVENNESS, 1) for _ in range(groups)]
    ends = [round(rows * sum(shares[:i + 1]) / sum(shares)) for i in range(groups)]
    return tuple(end - start for start, end in zip([0, *ends], ends))
