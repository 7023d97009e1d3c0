"""An access: one shared-memory instruction, the tile it touches, and which coordinate each thread gives it."""

from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.errors import LayoutError
from simlayout.hardware import analyze, instruction
from simlayout.proofs.source import Source

WARP = 32


@dataclass(frozen=True)
class Access:
    """What one line of a kernel does to shared memory, for every thread and every trip of its loops.

    name: as the kernel's author calls it ("load A"); instruction: a PTX name ("ldmatrix.x4").
    tile: coordinate -> offset in elements; a layout, or any function of integers.
    lanes: (tid, *loop variables) -> the coordinate that the thread gives, named as in `domain`; for ldmatrix and
    stmatrix the row that lane 8m + r gives is row r of matrix m. None: the tile takes the domain itself.
    domain: {"tid": threads, loop variable: trips, ...}; threads a multiple of 32.
    dtype: of the elements; the instruction moves a whole number of them per lane.
    excess: wavefronts beyond the ideal that each instruction is meant to have, 0 by default; `verify` proves it, or
    with None only reports it. Of a copy: what its destinations alone cost beyond the ideal.
    source: of a copy (cp.async), the Source that it reads, None if unknown; a plan then knows its wavefronts exactly.

    >>> import simlayout as sl
    >>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
    >>> a = sl.Access("load A", "ldmatrix.x4", tile, lanes=lambda tid, k: (tid % 16, 16*k + 8*(tid % 32 // 16)),
    ...               domain={"tid": 32, "k": 4}, dtype="f16")
    >>> a.analyze().wavefronts.tolist()
    [4, 4, 4, 4]
    """

    name: str
    instruction: str
    tile: object
    lanes: object = None
    domain: dict = field(default_factory=lambda: {"tid": WARP})
    dtype: str = "f16"
    excess: int | None = 0
    source: Source | None = None

    def __post_init__(self):
        threads = self.domain.get("tid")
        if threads is None or next(iter(self.domain)) != "tid":
            raise LayoutError(f'access {self.name!r}: the domain starts with the threads, as {{"tid": 32, ...}}, '
                              f"not {self.domain}")
        if threads < WARP or threads % WARP:
            raise LayoutError(f"access {self.name!r}: tid has {threads} values; warps need a multiple of {WARP}")
        for variable, size in self.domain.items():
            if size < 1 or size != int(size):
                raise LayoutError(f"access {self.name!r}: {variable} has {size} values; it needs at least one")
        if self.bytes % dtype_of(self.dtype).bytes:
            raise LayoutError(f"access {self.name!r}: {self.instruction} moves {self.bytes} bytes per lane, not a "
                              f"whole number of {self.dtype} elements ({dtype_of(self.dtype).bytes} bytes each)")
        if self.source is not None and instruction(self.instruction).kind != "copy":
            raise LayoutError(f"access {self.name!r}: {self.instruction} reads no global memory, only cp.async does: leave "
                              "out source")

    def __hash__(self):
        return hash((self.name, self.instruction, self.dtype))

    @property
    def bytes(self):
        """Bytes that the instruction moves per address (16 for every ldmatrix row)."""
        return instruction(self.instruction).bytes

    @property
    def elements(self):
        """Elements that the instruction moves per address."""
        return self.bytes // dtype_of(self.dtype).bytes

    @property
    def is_store(self):
        """Whether the instruction writes shared memory."""
        return instruction(self.instruction).kind in ("store", "stmatrix", "copy")

    def coordinate(self, *point):
        """The coordinate that the domain point (tid, *loop variables) gives, as a tuple."""
        made = point if self.lanes is None else self.lanes(*point)
        return made if isinstance(made, tuple) else (made,)

    def offset(self, *point):
        """Offset in elements at a domain point; ints, arrays and symbols alike."""
        return self.tile(*self.coordinate(*point))

    def points(self):
        """The whole domain as int arrays, one per variable, that broadcast to [loop variables..., tid]."""
        sizes = list(self.domain.values())
        order = sizes[1:] + sizes[:1]
        grid = np.meshgrid(*(np.arange(n) for n in order), indexing="ij", sparse=True)
        return [grid[-1], *grid[:-1]]

    def offsets(self):
        """Offsets in elements over the whole domain, int64 [loop variables..., tid]."""
        return self._spread(self.offset(*self.points()))

    def table(self, values):
        """Values over `points()`, as a function of them gives them: int64 [instructions, 32], rows as of `addresses()`."""
        return self._spread(values).reshape(-1, WARP)

    def _spread(self, values):
        sizes = list(self.domain.values())
        return np.broadcast_to(np.asarray(values, np.int64), tuple(sizes[1:] + sizes[:1]))

    def addresses(self):
        """Byte addresses from the start of the tile, int64 [instructions, 32]: one row per warp instruction."""
        return (self.offsets() * dtype_of(self.dtype).bytes).reshape(-1, WARP)

    def used_lanes(self):
        """bool [32]: the lanes whose address the instruction reads (ldmatrix.x2 ignores lanes 16-31)."""
        used = np.zeros(WARP, bool)
        for group in instruction(self.instruction).groups:
            used[list(group)] = True
        return used

    def point(self, row, lane):
        """The domain point {variable: value} of a lane of row `row` of `addresses()`."""
        sizes = list(self.domain.values())
        index = np.unravel_index(row * WARP + lane, tuple(sizes[1:] + sizes[:1]))
        values = [int(index[-1]), *(int(i) for i in index[:-1])]
        return dict(zip(self.domain, values, strict=True))

    def analyze(self, arch="sm_90"):
        """Wavefronts of every warp instruction of the domain: `simlayout.analyze` of `addresses()`."""
        return analyze(self.instruction, self.addresses(), arch=arch)

    def with_tile(self, tile):
        """The same access to another tile."""
        return replace(self, tile=tile)

    def restricted(self, **sizes):
        """The same access over fewer values of some loop variables."""
        return replace(self, domain={**self.domain, **sizes})

    def instructions(self):
        """How many warp instructions the domain holds."""
        return prod(self.domain.values()) // WARP

    def plot(self, index=0, **options):
        """Draws the bank x wavefront grid of instruction `index`; see `simlayout.plots.banks`."""
        from simlayout.plots import banks

        return banks(self.analyze(), index, title=f"{self.name}: {self.tile}", **options)
