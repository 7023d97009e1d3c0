"""What a kernel stores as the passes make it, and as its text has it."""

import numpy as np
import pytest

from simlayout import ptx


def stored(text, threads, array, number, *left_out):
    """(an array, the same) after a launch of the kernel with it and a number: as it is made, and with a pass left out.
    left_out: the module that calls the pass, its name there, and what takes its place."""
    made, unmade = np.tile(array, (2, 1))
    ptx.load(text).entry().run(1, threads, made, number, hazards="off")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*left_out)
        ptx.load(text).entry().run(1, threads, unmade, number, hazards="off")
    return made, unmade
