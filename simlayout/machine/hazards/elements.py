"""What every byte of shared memory is meant to be: the tile coordinates that named accesses declare.

Stores through an index function whose access is declared mark the bytes with the coordinate of their element; loads
through one say which coordinate they mean. A load that meets another one uses another layout than the store.
"""

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.nested import flatten
from simlayout.errors import MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.proofs.tables import nested

UNKNOWN = -1
"""The mark of bytes of which nothing was declared."""


class Elements:
    """Marks for the accesses of a plan, by name.

    A mark is one int64: the numbers of a coordinate, side by side in equal bits. accesses: `simlayout.Access` objects;
    an index function with `access_name = access.name` takes the variables of `access.domain` in their order.

    >>> import simlayout as sl
    >>> tile = sl.Layout((16, 64), (64, 1))
    >>> elements = Elements([sl.Access("load A", "ldmatrix.x4", tile, lambda tid: (tid % 16, tid // 16 * 8))])
    >>> marks = elements.marks("load A", (np.arange(32),))
    >>> [elements.coordinate("load A", m) for m in marks.expand(np.arange(17, 18), 16)[0, :4]]
    [(1, 8), (1, 8), (1, 9), (1, 9)]
    """

    def __init__(self, accesses):
        self._declared = {a.name: _Declared(a) for a in accesses}

    def marks(self, name, arguments):
        """The Marks of a call of the index function of access `name`; None if it was not declared."""
        declared = self._declared.get(name)
        return None if declared is None else declared.marks(arguments)

    def coordinate(self, name, mark):
        """The coordinate, as a tuple of ints, that a mark stands for."""
        declared = self._declared[name]
        return tuple(int(mark) >> declared.bits * i & (1 << declared.bits) - 1 for i in range(declared.leaves))


class Marks:
    """The marks of 32 lanes: first, int64 [32], of each lane's first element; step, to the next; bytes of one element."""

    __slots__ = ("name", "first", "step", "bytes")

    def __init__(self, name, first, step, bytes):
        self.name, self.first, self.step, self.bytes = name, first, step, bytes

    def expand(self, lanes, nbytes):
        """int64 [n, nbytes]: the mark of every byte that `lanes` (int [n]) move."""
        return self.first[lanes][:, None] + self.step * (np.arange(nbytes) // self.bytes)

    def merged(self, lanes, other):
        """These marks in the lanes of a mask, `other` in the rest."""
        return Marks(self.name, np.where(lanes, self.first, other.first), self.step, self.bytes)


class _Declared:
    """One access: how many numbers its coordinates have, and along which of them its elements are neighbours."""

    def __init__(self, access):
        self.access = access
        form = access.coordinate(*access.points())
        self.leaves = len(flatten(form))
        self.bits = 62 // self.leaves
        self.step = 1 << self.bits * self._neighbours(form)

    def _neighbours(self, form):
        if self.access.elements == 1:
            return 0
        offsets = self.access.offsets()
        for number in range(self.leaves):
            moved = [leaf + (i == number) for i, leaf in enumerate(flatten(form))]
            if (self.access.tile(*nested(form, iter(moved))) == offsets + 1).all():
                return number
        raise MachineError(f"access {self.access.name!r}: the elements of one {self.access.instruction} are not neighbours "
                           "in its tile: see simlayout.verify")

    def marks(self, arguments):
        access = self.access
        if len(arguments) != len(access.domain):
            raise MachineError(f"the index function of {access.name!r} was called with {len(arguments)} arguments; its "
                               f"access has {', '.join(access.domain)}")
        first = np.zeros(LANES, np.int64)
        for i, leaf in enumerate(flatten(access.coordinate(*arguments))):
            first += np.asarray(leaf, np.int64) << self.bits * i
        return Marks(access.name, first, self.step, dtype_of(access.dtype).bytes)
