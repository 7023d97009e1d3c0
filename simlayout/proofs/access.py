"""An access: one shared-memory instruction, its tile, and the coordinate that each thread passes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.algebra.aliases import Index, IndexFunction, check_order
from simlayout.algebra.checked import GREATEST
from simlayout.algebra.exact import box_arguments, box_point, exactly, pieces
from simlayout.algebra.layout import check_points
from simlayout.algebra.notation import as_layout
from simlayout.arguments import as_int, typed
from simlayout.drawn import drawn_by
from simlayout.errors import AddressError, LayoutError, UndefinedError, brief
from simlayout.hardware import analyze, arch_of, instruction
from simlayout.hardware.banks.analysis import Analysis
from simlayout.hardware.tables.arch import DEFAULT_ARCH, LANES
from simlayout.hardware.tables.instructions import Instruction
from simlayout.proofs.source import NO_LEADING, Source, analyze_copies
from simlayout.shown import Shown
from simlayout.wording import counted, plural, tile_name

ONE_WARP = {"tid": LANES}
"""The domain of who names none; of a chip whose waves have 64 lanes it becomes one of these."""


@dataclass(frozen=True)
class Access(Shown):
    """One line of a kernel that accesses shared memory, for every thread and every trip of its loops.

    name: the kernel author's name for it ("load A"); instruction: a PTX name ("ldmatrix.x4").
    tile: coordinate -> offset in elements: a layout, its text ("Sw<3,3,3> o (16,64):(64,1)", which is parsed), or any
    function of integers.
    lanes: (tid, *loop variables) -> the coordinate that the thread passes, with the names of `domain`; for ldmatrix and
    stmatrix lane 8m + r passes row r of matrix m. None: the tile takes the domain itself.
    domain: {"tid": threads, loop variable: trips, ...}; threads a multiple of the lanes of a warp; without it one warp.
    dtype: of the elements, as `dtype_of` takes it; the instruction moves a whole number of them per lane.
    excess: how many wavefronts more than the ideal each instruction has, 0 by default. `verify` proves the number; if it is
    None, `verify` only reports it. For a copy: the excess of its destinations alone.
    source: for a copy (cp.async), the Source that it reads; None if unknown. With it a plan counts its wavefronts exactly.
    arch: the chip that executes it; it says what the instruction is, and how many lanes a warp has: on "gfx942", where it is
    called a wave, 64.

    Raises LayoutError, ParseError or InstructionError for parts that do not fit together. `offsets`, and everything that
    needs them, raise UndefinedError if a value of the index function does not fit 64-bit integers (see
    `simlayout.algebra.exact`).

    >>> import simlayout as sl
    >>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
    >>> a = sl.Access("load A", "ldmatrix.x4", tile, lanes=lambda tid, k: (tid % 16, 16*k + 8*(tid % 32 // 16)),
    ...               domain={"tid": 32, "k": 4}, dtype="f16")
    >>> a.analyze().wavefronts.tolist()
    [4, 4, 4, 4]
    """

    name: str
    instruction: str
    tile: Any
    lanes: Callable[..., Any] | None = None
    domain: dict[str, int] = field(default_factory=lambda: ONE_WARP)
    dtype: str = "f16"
    excess: int | None = 0
    source: Source | None = None
    arch: str = DEFAULT_ARCH

    def __post_init__(self):
        if not isinstance(self.name, str):
            raise LayoutError(f"an access has a name, text such as 'load A', not {brief(self.name)}")
        object.__setattr__(self, "tile", as_layout(self.tile))
        for part in ("tile", "lanes"):                   # Numba's functions by their Python ones, which take symbols
            object.__setattr__(self, part, getattr(getattr(self, part), "py_func", getattr(self, part)))
        if not callable(self.tile):
            raise LayoutError(f"access {self.name!r}: its tile is a layout, its text, or a function of the coordinates, "
                              f"as in lambda row, col: 64*row + col, not {brief(self.tile)}")
        if not (self.lanes is None or callable(self.lanes)):
            raise LayoutError(f"access {self.name!r}: its lanes are a function (thread, loops) -> coordinate, "
                              f"as in lambda tid, k: (tid % 16, 16*k), not {brief(self.lanes)}")
        object.__setattr__(self, "arch", self.arch if isinstance(self.arch, str) else arch_of(self.arch).name)
        if self.domain is ONE_WARP:
            object.__setattr__(self, "domain", {"tid": self.warp})
        object.__setattr__(self, "domain", self._sizes())
        check_order(self.tile if self.lanes is None else self.lanes, self.domain, f"access {self.name!r}: the function")
        threads = self.domain["tid"]
        if threads < self.warp or threads % self.warp:
            called = plural(arch_of(self.arch).vendor.warp)
            raise LayoutError(f"access {self.name!r}: tid has {threads} values; {called} need a multiple of {self.warp}")
        if self.excess is not None:
            object.__setattr__(self, "excess", self._as_int(self.excess, "excess", " or None"))
            if self.excess < 0:
                raise LayoutError(f"access {self.name!r}: excess is at least 0, not {self.excess}")
        object.__setattr__(self, "dtype", dtype_of(self.dtype).name)
        if self.bytes % dtype_of(self.dtype).bytes:
            raise LayoutError(f"access {self.name!r}: {self.instruction} moves {counted(self.bytes, 'byte')} per lane, not "
                              f"a whole number of {self.dtype} elements ({dtype_of(self.dtype).bytes} bytes each)")
        if not isinstance(self.source, Source | None):
            raise LayoutError(f"access {self.name!r}: source is a Source, not {self.source!r:.60}")
        if self.source is not None and self.row.kind != "copy":
            raise LayoutError(f"access {self.name!r}: {self.instruction} reads no global memory, only cp.async does: leave "
                              "out source")

    def _sizes(self):
        """The domain as {name: int}."""
        if not isinstance(self.domain, dict) or next(iter(self.domain), None) != "tid":
            raise LayoutError(f'access {self.name!r}: the domain starts with the threads, as {{"tid": 32, ...}}, '
                              f"not {brief(self.domain)}; in a block of 32 x 8, x is tid % 32 and y is tid // 32")
        sizes = {}
        for variable, size in self.domain.items():
            if not isinstance(variable, str):
                raise LayoutError(f"access {self.name!r}: a loop variable has a name, text, not {variable!r}")
            sizes[variable] = self._as_int(size, variable, ", how many values it has")
            if sizes[variable] < 1:
                raise LayoutError(f"access {self.name!r}: {variable} has {size} values; it needs at least one")
        return sizes

    def _as_int(self, value, of, what):
        try:
            return as_int(value)
        except TypeError:
            raise LayoutError(f"access {self.name!r}: {of} is {brief(value)}; give an int{what}") from None

    def __str__(self):
        """One line: what accesses which tile, and for which values.

        >>> print(Access("load A", "ldmatrix.x4", "Sw<3,3,3> o (16,64):(64,1)", domain={"tid": 32, "k": 4}))
        load A: ldmatrix.x4 of Sw<3,3,3> o (16,64):(64,1), f16, on sm_90, for tid < 32, k < 4
        """
        loops = ", ".join(f"{name} < {size}" for name, size in self.domain.items())
        return f"{self.name}: {self.instruction} of {tile_name(self.tile)}, {self.dtype}, on {self.arch}, for {loops}"

    def __hash__(self):
        return hash((self.name, self.instruction, self.dtype))

    @property
    def row(self) -> Instruction:
        """What the tables say of the instruction on its chip."""
        return instruction(self.instruction, self.arch)

    @property
    def warp(self) -> int:
        """Lanes of a warp of its chip."""
        return arch_of(self.arch).lanes

    @property
    def bytes(self) -> int:
        """Bytes that the instruction moves per address (16 for every ldmatrix row)."""
        return self.row.bytes

    @property
    def elements(self) -> int:
        """Elements that the instruction moves per address."""
        return self.bytes // dtype_of(self.dtype).bytes

    @property
    def is_store(self) -> bool:
        """Whether the instruction writes shared memory."""
        return self.row.kind in ("store", "stmatrix", "copy")

    def coordinate(self, *point: Index) -> tuple:
        """The coordinate, as a tuple, that the thread passes at a domain point (tid, *loop variables)."""
        coordinate = point if self.lanes is None else self.lanes(*point)
        return coordinate if isinstance(coordinate, tuple) else (coordinate,)

    def offset(self, *point: Index) -> Index:
        """Offset in elements at a domain point; ints, arrays and symbols alike."""
        return self.tile(*self.coordinate(*point))

    def points(self) -> list[np.ndarray]:
        """The whole domain as int arrays, one per variable, that broadcast to [loop variables..., tid]."""
        *loops, threads = box_arguments([(0, n) for n in self.table_order()[1]])
        return [threads, *loops]

    def table_order(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """(variables, sizes) of the axes of `offsets()`: [loop variables..., tid]."""
        (tid, threads), *loops = self.domain.items()
        names, sizes = zip(*loops, (tid, threads))
        return names, sizes

    def boxes(self) -> Sequence[tuple]:
        """The domain cut into boxes of whole warp instructions, in order. They are processed one by one."""
        check_points(prod(self.domain.values()), f"the domain of access {self.name!r}")
        return pieces(self.table_order()[1])

    def over(self, function: Callable[..., Any], box: tuple) -> Any:
        """The exact results of a function of (tid, *loop variables) on a box of the domain: int64, or tuples of such."""
        *loops, threads = box_arguments(box)
        names = self.table_order()[0]
        return exactly(function, [threads, *loops], f"access {self.name!r}", lambda number: box_point(names, box, number))

    def everywhere(self, function: Callable[..., Any]) -> Any:
        """The exact results of a function of (tid, *loop variables) on the whole domain: int64 [loop variables..., tid], or
        tuples of such."""
        return _joined([self.over(function, box) for box in self.boxes()], self.table_order()[1])

    def coordinates(self) -> tuple:
        """The coordinates over the whole domain: a tuple of int64 [loop variables..., tid], nested as in `coordinate`."""
        return self.everywhere(self.coordinate)

    def offsets(self) -> np.ndarray:
        """Offsets in elements over the whole domain, int64 [loop variables..., tid]."""
        offsets = self.everywhere(self.offset)
        if isinstance(offsets, tuple):
            raise LayoutError(f"access {self.name!r}: the tile gives a tuple of {len(offsets)}, an offset is one int")
        return offsets

    def addresses(self) -> np.ndarray:
        """Byte addresses from the start of the tile, int64 [instructions, lanes]: one row per warp instruction."""
        return self.in_bytes(self.offsets().reshape(-1, self.warp))

    def in_bytes(self, offsets: np.ndarray, first: int = 0) -> np.ndarray:
        """The byte addresses of offsets, int64 [instructions, lanes] both. first: the number of their first instruction.

        Raises UndefinedError, with the point, for an address that does not fit 64 bits.
        """
        size = dtype_of(self.dtype).bytes
        wrong = (offsets > GREATEST // size) | (offsets < -GREATEST // size)
        if wrong.any():
            row, lane = divmod(int(np.argmax(wrong)), self.warp)
            point = self.point(first + row, lane)
            at = ", ".join(f"{k} = {v}" for k, v in point.items())
            raise UndefinedError(f"access {self.name!r} at {at}: offset {offsets[row, lane]} of {size}-byte elements is a "
                                 "byte address beyond 64 bits: use a smaller tile", {"point": point})
        return offsets * size

    def used_lanes(self) -> np.ndarray:
        """bool [lanes]: those whose address the instruction reads (ldmatrix.x2 ignores lanes 16-31)."""
        used = np.zeros(self.warp, bool)
        for group in self.row.groups:
            used[list(group)] = True
        return used

    @typed(LayoutError)
    def point(self, row: int, lane: int) -> dict[str, int]:
        """The domain point {variable: value} of a lane of row `row` of `addresses()`."""
        if not (0 <= row < self.instructions() and 0 <= lane < self.warp):
            raise LayoutError(f"access {self.name!r} has no lane {lane} of instruction {row}: {self.instructions()} "
                              f"instructions of {self.warp} lanes are counted from 0")
        names, sizes = self.table_order()
        at = box_point(names, [(0, n) for n in sizes], row * self.warp + lane)
        return {variable: at[variable] for variable in self.domain}

    def analyze(self, arch: str | None = None, leading: int | None = None) -> Analysis:
        """Wavefronts of every warp instruction of the domain: `simlayout.analyze` of `addresses()`. arch: None: its own.

        leading: of a copy with a Source, elements from row to row of the matrix that it reads, of a tile that begins on a
        line of 128 bytes. Without it they are the wavefronts of the destinations alone, and `caveat` says so.

        >>> Access("column", "ld.shared.b32", "(32,32):(32,1)", lambda tid, k: (tid, k), {"tid": 32, "k": 2},
        ...        "f32").analyze().wavefronts.tolist()
        [32, 32]
        """
        on = self.on(arch)
        if leading is not None:
            return analyze_copies(on, leading)
        try:
            analysis = analyze(on.instruction, on.addresses(), arch=on.arch)
        except AddressError as error:
            if self.lanes is not None:
                raise
            raise AddressError(f"{error}; access {self.name!r} has no lanes, so its tile takes tid itself: give them, "
                               "as in lanes=lambda tid: (tid % 16, 8*(tid // 16))") from None
        return analysis if analysis.exact or self.source is None else replace(analysis, caveat=NO_LEADING)

    def on(self, arch: str | None) -> "Access":
        """The same access on another chip; itself for its own, and for None."""
        return self if arch is None or isinstance(arch, str) and arch == self.arch else replace(self, arch=arch)

    def with_tile(self, tile: IndexFunction | str) -> "Access":
        """The same access to another tile.

        >>> column = Access("column", "ld.shared.b32", "(32,32):(32,1)", lambda tid: (tid, 0), dtype="f32")
        >>> column.with_tile("(32,32):(33,1)").analyze().wavefronts.tolist()
        [1]
        """
        return replace(self, tile=tile)

    def restricted(self, **sizes: int) -> "Access":
        """The same access over fewer values of some loop variables, or as many. Raises LayoutError for more, and for a name
        that its domain does not have.

        >>> loops = {"tid": 32, "k": 32}
        >>> column = Access("column", "ld.shared.b32", "(32,32):(33,1)", lambda tid, k: (tid, k), loops, "f32")
        >>> column.restricted(k=2).domain
        {'tid': 32, 'k': 2}
        >>> column.restricted(k=64)
        Traceback (most recent call last):
        ...
        simlayout.errors.LayoutError: access 'column': k has 32 values, and is not restricted to 64
        """
        for name in sizes:
            if name not in self.domain:
                raise LayoutError(f"access {self.name!r} has no {name} in its domain, which has {', '.join(self.domain)}")
        made = replace(self, domain={**self.domain, **sizes})
        for name, size in sizes.items():
            if size > self.domain[name]:
                raise LayoutError(f"access {self.name!r}: {name} has {self.domain[name]} values, and is not restricted to "
                                  f"{size}")
        return made

    def instructions(self) -> int:
        """How many warp instructions the domain holds."""
        return prod(self.domain.values()) // self.warp

    plot = drawn_by("access", "Draws the bank x wavefront grid of instruction `index`.")


def _joined(tables, shape):
    """The tables of all boxes of a domain as one, of its shape; tuples of such alike."""
    if len(tables) == 1:
        return tables[0]
    if isinstance(tables[0], tuple):
        return tuple(_joined(list(parts), shape) for parts in zip(*tables, strict=True))
    return np.concatenate([table.reshape(-1) for table in tables]).reshape(shape)


def at_loops(access: Access, row: int) -> str:
    """Behind the number of an instruction, the values of the loops around it: " (k = 1)"; "" where there are none.

    >>> at_loops(Access("column", "ld.shared.b32", "(32,32):(32,1)", lambda tid, k: (tid, k), {"tid": 32, "k": 2}, "f32"), 1)
    ' (k = 1)'
    """
    loops = [f"{name} = {value}" for name, value in access.point(row, 0).items() if name != "tid"]
    return f" ({', '.join(loops)})" if loops else ""
