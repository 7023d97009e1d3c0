"""F2: index functions whose bits XOR, as matrices over the field of two elements.

Bit i of the argument, where it is set, XORs `columns[i]` onto the result. Power-of-two layouts whose strides do not carry
and swizzles of them are such functions; padding, rotations and other shapes are not, and `F2Map.of` refuses them with the
coordinate that shows it.
"""

from dataclasses import dataclass
from typing import overload

import numpy as np

from simlayout.algebra.aliases import Index
from simlayout.algebra.composed import Composed, Layer
from simlayout.algebra.layout import Layout, as_index
from simlayout.algebra.nested import flatten
from simlayout.arguments import as_int
from simlayout.drawn import drawn_by
from simlayout.errors import LayoutError, brief

_BITS = 62          # of an argument or a result: both are signed 64-bit integers


@dataclass(frozen=True)
class F2Map(Layer):
    """x -> constant ^ columns[i] ^ columns[j] ^ ... for the bits i, j, ... that are set in x.

    columns: ints, the image of each bit of x, from bit 0 on; constant: the image of 0. Bits of x beyond the columns stay as
    they are, so a map of n columns into n bits is a layer like a swizzle: `F2Map((1, 2, 4, 9)) @ layout`. Raises LayoutError
    for columns that are no integers from 0 on, or too many.

    >>> swizzle = F2Map((1, 2, 4, 8, 16, 32, 64 ^ 8, 128 ^ 16, 256 ^ 32))
    >>> swizzle(72), swizzle.inverse() == swizzle
    (64, True)
    >>> from simlayout.algebra import Layout, Swizzle
    >>> F2Map.of(Swizzle(3, 3, 3) @ Layout((8, 64), (64, 1))).columns[:4]
    (72, 144, 288, 1)
    """

    columns: tuple
    constant: int = 0

    def __post_init__(self):
        try:
            given = tuple(self.columns)
        except TypeError:
            raise LayoutError(f"an F2 map has a tuple of columns, not {brief(self.columns)}") from None
        try:
            columns, constant = tuple(map(as_int, given)), as_int(self.constant)
        except TypeError:
            columns, constant = (), -1
        if not all(0 <= v < 1 << _BITS for v in (*columns, constant)) or len(columns) > _BITS:
            raise LayoutError(f"an F2 map has at most {_BITS} columns and a constant, integers from 0 to 2**{_BITS} - 1, "
                              f"not {brief((*given, self.constant))}")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "constant", constant)

    @classmethod
    def of(cls, layout: Layout | Composed) -> "F2Map":
        """The map from a layout's linear index (its coordinates colexicographic, the first mode fastest) to its offset.

        layout: a Layout or a composition with one. Raises LayoutError with the first coordinate at which its bits do not
        XOR, or for sizes that are no powers of two.

        >>> from simlayout.algebra import Layout
        >>> F2Map.of(Layout((4, 4), (5, 1)))
        Traceback (most recent call last):
        ...
        simlayout.errors.LayoutError: (4,4):(5,1) is no F2 map: at (1, 1) it is 6, and its bits give 5 ^ 1
        """
        if not isinstance(layout, (Layout, Composed)):
            raise LayoutError(f"F2Map.of takes a layout, not {type(layout).__name__}: parse(...) reads the text of one")
        size, modes = layout.size, flatten(layout.shape)
        if any(n & (n - 1) for n in modes):
            raise LayoutError(f"{layout} is no F2 map: its sizes must be powers of two")
        offsets = layout.offsets()
        f2 = cls(tuple(int(offsets[1 << i] ^ offsets[0]) for i in range(size.bit_length() - 1)), int(offsets[0]))
        wrong = offsets != f2(np.arange(size))
        if wrong.any():
            at = int(np.argmax(wrong))
            rest = at & (at - 1)                         # the index without its lowest bit: the first one for which it fails
            where = tuple(map(int, np.unravel_index(at, modes, order="F")))
            raise LayoutError(f"{layout} is no F2 map: at {where} it is {offsets[at]}, and its bits give "
                              f"{offsets[at ^ rest]} ^ {offsets[rest] ^ offsets[0]}")
        return f2

    @property
    def inputs(self) -> int:
        """Bits that the columns read."""
        return len(self.columns)

    @property
    def outputs(self) -> int:
        """Bits that they may set."""
        return max([self.constant, *self.columns]).bit_length()

    @property
    def rank(self) -> int:
        """Of the matrix: the columns reach 2**rank results."""
        return rank(self.columns)

    @property
    def injective(self) -> bool:
        """Whether different arguments, of `inputs` bits, have different results."""
        return self.rank == self.inputs

    def kernel(self) -> int | None:
        """The least argument above 0 that has the result of 0; None where the map is injective."""
        reduced = {}                                     # highest bit -> (column, which columns made it)
        for i, column in enumerate(self.columns):
            combination = 1 << i
            while column and column.bit_length() in reduced:
                other, of = reduced[column.bit_length()]
                column, combination = column ^ other, combination ^ of
            if not column:
                return combination
            reduced[column.bit_length()] = column, combination
        return None

    def inverse(self) -> "F2Map":
        """The map back. Raises LayoutError where two arguments meet, or where results of as many bits are never reached."""
        if not self.injective:
            raise LayoutError(f"{self} has no inverse: 0 and {self.kernel()} both give {self.constant}")
        if self.outputs > self.inputs:
            raise LayoutError(f"{self} has no inverse: {self.inputs} bits do not reach all of {self.outputs}")
        rows = [(column, 1 << i) for i, column in enumerate(self.columns)]
        for bit in range(self.inputs):                   # Gauss and Jordan: until column `bit` is 1 << bit
            pivot = next(k for k in range(bit, self.inputs) if rows[k][0] >> bit & 1)
            rows[bit], rows[pivot] = rows[pivot], rows[bit]
            for k, (column, image) in enumerate(rows):
                if k != bit and column >> bit & 1:
                    rows[k] = column ^ rows[bit][0], image ^ rows[bit][1]
        linear = F2Map(tuple(image for _, image in rows))
        return F2Map(linear.columns, linear(self.constant))

    def __call__(self, index: Index) -> Index:
        """The result for an int, an array of ints or a symbol. Columns that move their bit equally far do it together."""
        x = as_index(index)
        diagonals, every = self.diagonals(), (1 << self.inputs) - 1
        if (0, every) in diagonals:                      # each bit is part of its own image: x is, whole
            diagonals.remove((0, every))
            total = x ^ self.constant
        else:
            total = ((x >> self.inputs) << self.inputs) ^ self.constant
        for shift, mask in diagonals:
            moved = x & mask
            total = total ^ (moved << shift if shift > 0 else moved >> -shift if shift < 0 else moved)
        return total

    def diagonals(self) -> list[tuple[int, int]]:
        """[(shift, mask)]: the map XORs x & mask, shifted left by that many bits (right where negative), for each of them.

        >>> F2Map((1, 2, 4 ^ 1)).diagonals()
        [(0, 7), (-2, 4)]
        """
        masks = {}
        for i, column in enumerate(self.columns):
            for j in range(column.bit_length()):
                if column >> j & 1:
                    masks[j - i] = masks.get(j - i, 0) | 1 << i
        return sorted(masks.items(), key=lambda item: (item[0] != 0, item[0]))

    @overload                                            # type: ignore[override]   # one more case, which agrees with the others
    def __matmul__(self, inner: Layout | Composed) -> Composed: ...

    @overload
    def __matmul__(self, inner: "F2Map") -> "F2Map": ...

    @overload
    def __matmul__(self, inner: Layer) -> Layer: ...

    def __matmul__(self, inner):
        """self after `inner`: an F2Map if `inner` is one, else what `compose` gives."""
        return super().__matmul__(inner)

    def _absorbed(self, inner):
        """The product with an F2Map; None for other layers."""
        return product(self, inner) if isinstance(inner, F2Map) else None

    def text(self) -> str:
        """The matrix: a row per bit of the result, the highest first, a column per bit of x, the highest first.

        >>> print(F2Map((1, 2, 4 ^ 1)).text())
        1 . .
        . 1 .
        1 . 1
        """
        rows = [[column >> j & 1 for column in self.columns[::-1]] for j in reversed(range(self.outputs))]
        return "\n".join(" ".join("1" if bit else "." for bit in row) for row in rows)

    plot = drawn_by("matrix", "Draws the matrix.")

    def __str__(self):
        constant = f";{self.constant}" if self.constant else ""
        return f"F2<{','.join(map(str, self.columns))}{constant}>"

    def __repr__(self):
        return f"F2Map({self.columns}{f', {self.constant}' if self.constant else ''})"


def product(outer, inner):
    """outer o inner as one F2Map: as many columns as the longer of them has.

    >>> product(F2Map((2, 1)), F2Map((3, 2))) == F2Map((3, 1))
    True
    """
    bits = max(outer.inputs, inner.inputs)
    columns = tuple(outer(inner(1 << i) ^ inner.constant) ^ outer.constant for i in range(bits))
    return F2Map(columns, outer(inner.constant))


def rank(columns):
    """Of the matrix with these columns over F2.

    >>> rank((1, 2, 3)), rank(())
    (2, 0)
    """
    basis = []
    for column in columns:
        for b in basis:
            column = min(column, column ^ b)
        if column:
            basis.append(column)
    return len(basis)


