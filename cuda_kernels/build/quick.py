"""Numba, in a hurry: the same code in two thirds of the time.

The first product of a shape waits for Numba. It puts plain functions into the kernel that calls them, and for that copies
them block by block; each block knows the scope of its function, with all its variables, and that is copied anew with each
block (5.9 s to the PTX of a wgmma_persistent, 4.7 s with one scope per function; measured on a CPU, Numba 0.68, numba-cuda
0.30). Meanwhile Python's collector looks through millions of young objects for cycles, in vain (3.9 s without it).
"""

import copy
import gc
from contextlib import contextmanager


class ScopeOnce:
    """In the place of the module `copy`: deepcopy(block) for one block after another of the same function gives copies with
    one scope in common."""

    def __init__(self):
        self.scope, self.copied, self.blocks = None, None, {}

    def deepcopy(self, block):
        """A deep copy of a block of Numba's IR, or of anything else."""
        scope = getattr(block, "scope", None)
        if scope is None:
            return copy.deepcopy(block)
        if scope is not self.scope or id(block) in self.blocks:      # another function, or the same once more
            self.scope, self.copied, self.blocks = scope, copy.deepcopy(scope), {}
        self.blocks[id(block)] = block
        return copy.deepcopy(block, {id(scope): self.copied})

    def __getattr__(self, name):
        return getattr(copy, name)


@contextmanager
def quick_numba():
    """Within it, Numba compiles faster. Where numba-cuda has no such module any more, only the collector rests."""
    try:
        from numba.cuda.core import inline_closurecall as inliner
    except ImportError:
        inliner = None
    patched = getattr(inliner, "copy", None) is copy
    collected = gc.isenabled()
    gc.disable()
    if patched:
        inliner.copy = ScopeOnce()
    try:
        yield
    finally:
        if patched:
            inliner.copy = copy
        if collected:
            gc.enable()
