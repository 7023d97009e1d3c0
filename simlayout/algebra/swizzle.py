"""Permutations of offsets that spread a column over the banks: the XOR swizzle and the rotation.

Both work on offsets in elements and keep chunks of neighbours together. Both are layers: `Swizzle(3, 3, 3) @ layout`.
"""

from dataclasses import dataclass

from simlayout.algebra.aliases import Index
from simlayout.algebra.composed import Layer
from simlayout.algebra.layout import INDEX_LIMIT, as_index
from simlayout.arguments import as_int
from simlayout.errors import LayoutError, brief

_BITS = 62  # bits of an offset that a swizzle may touch, because offsets are signed 64-bit integers


@dataclass(frozen=True)
class Swizzle(Layer):
    """Swizzle<B,M,S> in CUTLASS's order: x -> x ^ ((x & yyy_mask) >> S), where yyy_mask is B ones at bit M + max(S, 0).

    bits: how many bits change (B). base: how many low bits stay, so that chunks of 2**M elements stay together (M).
    shift: how far the bits that are read lie above the bits that change (S; negative: below). A swizzle is its own
    inverse, because these bits do not overlap. They would if |S| < B, which raises LayoutError. B = 0 is the identity.
    Source: CUTLASS include/cute/swizzle.hpp.

    >>> swizzle = Swizzle(3, 3, 3)
    >>> swizzle(72), swizzle(swizzle(72))
    (64, 72)
    >>> print(swizzle)
    Sw<3,3,3>
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self):
        _make_ints(self, "bits", "base", "shift")
        if self.bits < 0 or self.base < 0:
            raise LayoutError(f"{self}: bits and base must be at least 0")
        if abs(self.shift) < self.bits:
            raise LayoutError(f"{self}: source and target overlap, so it is not its own inverse, perhaps not bijective: "
                              f"|shift| must be at least bits, which is {self.bits}")
        if self.bits + self.base + abs(self.shift) > _BITS:
            raise LayoutError(f"{self} touches bits beyond {_BITS}: bits + base + |shift| must be at most {_BITS}")

    @property
    def block(self) -> int:
        """It permutes so many offsets among themselves: all that its bits number."""
        return 1 << self.bits + self.base + abs(self.shift)

    @property
    def source_mask(self) -> int:
        """The bits of the offset that are read (CUTLASS's yyy_mask)."""
        return ((1 << self.bits) - 1) << (self.base + max(self.shift, 0))

    @property
    def target_mask(self) -> int:
        """The bits of the offset that are changed (CUTLASS's zzz_mask)."""
        return ((1 << self.bits) - 1) << (self.base + max(-self.shift, 0))

    def __call__(self, offset: Index) -> Index:
        """The swizzled offset, in elements: an int, an array or a symbol, as `offset` is."""
        x = as_index(offset)
        if self.bits == 0:
            return x
        picked = x & self.source_mask
        return x ^ (picked >> self.shift if self.shift > 0 else picked << -self.shift)

    def __str__(self):
        return f"Sw<{self.bits},{self.base},{self.shift}>"

    def __repr__(self):
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"


@dataclass(frozen=True)
class Rotation(Layer):
    """Rotates the `count` chunks of each row by the row's line number: the permutation of the cuda_hgemm kernels.

    With c = x // chunk % count and r = x // line % period, chunk c of its row becomes chunk (c + r) % count:

        x -> x // (chunk*count) * (chunk*count) + (x // chunk + x // line % period) % count * chunk + x % chunk

    All sizes are in elements. chunk: elements that stay together; count: chunks that rotate; line: elements after which
    the rotation advances, a multiple of chunk * count; period: lines after which it starts again (None: count).

    Why it is bijective: write x = h * (chunk*count) + c * chunk + e. Because line is a multiple of chunk * count, r
    depends only on h. h and e stay, and for a fixed h the map c -> (c + r) % count is a cyclic shift. Raises LayoutError
    for sizes below 1, and for a line that is no multiple of chunk * count.

    >>> from simlayout.algebra import Layout
    >>> tile = Rotation(8, 4, 64) @ Layout((384, 32), (32, 1))      # 4 chunks of 8 halves, one step per 128 bytes
    >>> tile(0, 0), tile(2, 0), tile(2, 24)
    (0, 72, 64)
    >>> print(tile)
    Rot<8,4,64,4> o (384,32):(32,1)
    """

    chunk: int
    count: int
    line: int
    period: int | None = None

    def __post_init__(self):
        if self.period is None:
            object.__setattr__(self, "period", self.count)
        _make_ints(self, "chunk", "count", "line", "period")
        if min(self.chunk, self.count, self.line, self.period) < 1:
            raise LayoutError(f"{self}: chunk, count, line and period must be at least 1")
        if self.line % (self.chunk * self.count):
            raise LayoutError(f"{self} is not bijective: line must be a multiple of chunk * count, "
                              f"which is {self.chunk * self.count}")
        if max(self.line, self.period) >= INDEX_LIMIT:
            raise LayoutError(f"{self} does not fit 64-bit offsets: line and period must be below {INDEX_LIMIT}")

    @property
    def block(self) -> int:
        """It permutes so many offsets among themselves: the chunks of a row."""
        return self.chunk * self.count

    def __call__(self, offset: Index) -> Index:
        """The rotated offset, in elements: an int, an array or a symbol, as `offset` is. No intermediate is negative."""
        x = as_index(offset)
        row = self.chunk * self.count
        turned = (x // self.chunk + x // self.line % self.period) % self.count
        return x // row * row + turned * self.chunk + x % self.chunk

    def __str__(self):
        return f"Rot<{self.chunk},{self.count},{self.line},{self.period}>"

    def __repr__(self):
        return f"Rotation({self.chunk}, {self.count}, {self.line}, {self.period})"


def _make_ints(layer, *names):
    """Makes the parameters Python ints, so that NumPy integers neither overflow nor print differently."""
    for name in names:
        value = getattr(layer, name)
        try:
            object.__setattr__(layer, name, as_int(value))
        except TypeError:
            raise LayoutError(f"{type(layer).__name__}: {name} must be an int, not {brief(value)}") from None
