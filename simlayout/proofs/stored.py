"""The elements that stores leave in a tile, and whether a load finds the elements that it expects."""

import numpy as np

from simlayout.errors import SimlayoutError, VerificationError


class Stored:
    """The elements that stores have put into a tile, by offset. The key of an element is a row of ints: its coordinate along
    each mode of the tile."""

    def __init__(self):
        self.names, self.keys, self.there = [], None, np.zeros(0, bool)

    def _room(self, name, offsets, keys):
        """Makes space for offsets; SimlayoutError for keys of another length than those before."""
        if self.keys is None:
            self.keys = np.zeros((0, keys.shape[1]), np.int64)
        if self.keys.shape[1] != keys.shape[1]:
            raise SimlayoutError(f"{name!r} has {keys.shape[1]} coordinates and {self.names[0]!r} {self.keys.shape[1]}: "
                                 "their elements cannot be compared; give both the same tile")
        more = int(offsets.max()) + 1 - len(self.there)
        if more > 0:
            self.there = np.concatenate([self.there, np.zeros(more, bool)])
            self.keys = np.concatenate([self.keys, np.zeros((more, keys.shape[1]), np.int64)])

    def add(self, name, offsets, keys):
        """Stores elements, keys int64 [n, modes], at offsets, int64 [n]; VerificationError if one holds another element."""
        self._room(name, offsets, keys)
        if name not in self.names:
            self.names.append(name)
        places, first = np.unique(offsets, return_index=True)
        fresh = ~self.there[places]
        self.keys[places[fresh]], self.there[places] = keys[first[fresh]], True
        wrong = (self.keys[offsets] != keys).any(axis=1)
        if wrong.any():
            i = int(np.argmax(wrong))
            element, offset = tuple(keys[i].tolist()), int(offsets[i])
            raise VerificationError(f"{name!r} stores element {element} at offset {offset}, where element "
                                    f"{tuple(self.keys[offset].tolist())} is stored as well",
                                    {"element": element, "offset": offset})

    def check(self, name, offsets, keys):
        """VerificationError at the first element that a load does not find at its offset."""
        self._room(name, offsets, keys)
        wrong = ~self.there[offsets] | (self.keys[offsets] != keys).any(axis=1)
        if not wrong.any():
            return
        i = int(np.argmax(wrong))
        element, offset = tuple(keys[i].tolist()), int(offsets[i])
        stored = tuple(self.keys[offset].tolist()) if self.there[offset] else None
        what = "was never stored" if stored is None else f"holds element {stored}"
        raise VerificationError(f"access {name!r} reads element {element} at offset {offset}, which {what} (stored by "
                                f"{', '.join(map(repr, self.names))})",
                                {"element": element, "offset": offset, "stored": stored})
