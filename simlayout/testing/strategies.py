"""Hypothesis strategies: layouts, swizzles, tiles, addresses, lane masks and whole accesses.

Everything that they draw is valid: swizzles are bijective, addresses aligned and in range, tiles fit shared memory. Each
shrinks towards the simple: no swizzle, one row, lanes side by side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

import numpy as np

try:
    from hypothesis import Phase, find, settings
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ModuleNotFoundError:
    raise ModuleNotFoundError("the strategies of simlayout.testing need Hypothesis: pip install hypothesis",
                              name="hypothesis") from None

from simlayout.algebra import Layout, Rotation, Swizzle, dtype_of
from simlayout.algebra.aliases import AnyDType, IndexFunction
from simlayout.algebra.checked import MOST_SHIFT
from simlayout.arguments import typed
from simlayout.errors import LayoutError, SimlayoutError, brief
from simlayout.hardware import INSTRUCTIONS, Instruction
from simlayout.hardware import instruction as instruction_of
from simlayout.hardware.tables.arch import DEFAULT_ARCH, LANES, arch_of
from simlayout.proofs import Access
from simlayout.proofs.natural import CHUNK_BYTES, natural_access
from simlayout.testing.patterns import PATTERNS

Drawn = TypeVar("Drawn")

SHARED_BYTES = 48 * 1024
"""Bytes of shared memory that a kernel has without asking for more."""

KINDS = ("plain", "padded", "rotated", "swizzled")
"""What `tiles` may be."""

LANE_MAPS = ("natural", "permuted", "columns")
"""How the lanes of `accesses` walk over a tile."""

MOST = 2**31 - 1
"""What a limit may be."""

_ROWS, _ROW_BYTES = 16, 32      # every instruction covers tiles of multiples of these in whole pieces


def _known(names, known, what):
    """The names as a tuple; raises LayoutError for those that are not known, or for none."""
    names = tuple(known) if names is None else _several(names)
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise LayoutError(f"{what} {', '.join(map(repr, wrong)) or 'missing'}: give some of {', '.join(map(repr, known))}")
    return names


def _several(names):
    """Some names as a tuple; a lone one, which is text, is one of them."""
    return (names,) if isinstance(names, str) else tuple(names)


def _at_least(**limits):
    """Raises LayoutError for limits, name=(value, least), that leave nothing to draw, or more than anything has."""
    for name, (value, least) in limits.items():
        if not least <= value <= MOST:
            raise LayoutError(f"{name} = {value}: it must be at least {least}, and at most 2**31 - 1")


@typed()
def smallest(strategy: SearchStrategy[Drawn], condition: Callable[[Drawn], bool] = lambda value: True) -> Drawn:
    """The simplest value of a strategy for which a condition holds, the same one every time.

    It is `hypothesis.find` without chance and without a database of what failed before. Raises NoSuchExample (of
    hypothesis.errors) if there is none.

    >>> smallest(swizzles(), lambda swizzle: swizzle.bits == 2)
    Swizzle(2, 0, 2)
    """
    if not isinstance(strategy, SearchStrategy):
        raise SimlayoutError(f"smallest: strategy is one of Hypothesis, not {brief(strategy)}: layouts(), say")
    return find(strategy, condition, settings=settings(max_examples=2000, database=None, derandomize=True, deadline=None,
                                                       phases=(Phase.generate, Phase.shrink)))


# ---- layouts ---------------------------------------------------------------------------------------------------------

def _shapes(max_size, max_rank):
    sizes = st.sampled_from([n for n in (1, 2, 3, 4, 5, 6, 8, 16) if n <= max_size])
    nested = st.recursive(sizes, lambda inner: st.lists(inner, min_size=1, max_size=max_rank).map(tuple), max_leaves=6)
    return nested.filter(lambda shape: Layout(shape).size <= max_size)


def _nest(shape, supply):
    """The numbers of an iterator, nested as a shape."""
    return next(supply) if isinstance(shape, int) else tuple(_nest(inner, supply) for inner in shape)


@typed(LayoutError)
def layouts(*, max_size: int = 1024, max_rank: int = 3, max_stride: int = 64) -> SearchStrategy[Layout]:
    """Any Layout, flat or nested, half of the time a compact one.

    max_size: coordinates; max_rank: modes at each level; max_stride: elements, of those that are not compact. Raises
    LayoutError for limits that leave nothing.

    >>> print(smallest(layouts(), lambda layout: layout.cosize > layout.size))
    2:2
    """
    _at_least(max_size=(max_size, 1), max_rank=(max_rank, 1), max_stride=(max_stride, 0))
    shapes = _shapes(max_size, max_rank)

    def strided(shape):
        count = len(Layout(shape).modes())
        strides = st.lists(st.integers(0, max_stride), min_size=count, max_size=count)
        return strides.map(lambda drawn: Layout(shape, _nest(shape, iter(drawn))))

    return shapes.map(Layout) | shapes.flatmap(strided)


@typed(LayoutError)
def one_to_one_layouts(*, max_size: int = 1024, max_rank: int = 3, max_gap: int = 3) -> SearchStrategy[Layout]:
    """A Layout that gives every coordinate an offset of its own: its modes in any order, with gaps between them.

    max_gap: how much further than compact a stride may be, as a factor. The rest as of `layouts`.

    >>> print(smallest(one_to_one_layouts(), lambda layout: layout.cosize > layout.size))
    2:2
    """
    _at_least(max_size=(max_size, 1), max_rank=(max_rank, 1), max_gap=(max_gap, 1))

    def strided(shape):
        sizes = [size for size, _ in Layout(shape).modes()]
        gaps = st.lists(st.integers(1, max_gap), min_size=len(sizes), max_size=len(sizes))
        return st.tuples(st.permutations(range(len(sizes))), gaps).map(lambda drawn: _spread(shape, sizes, *drawn))

    return _shapes(max_size, max_rank).flatmap(strided)


def _spread(shape, sizes, order, gaps):
    """The Layout whose strides grow in an order of its modes, each by a gap more than it must."""
    strides, step = [0] * len(sizes), 1
    for mode, gap in zip(order, gaps, strict=True):
        strides[mode] = step * gap
        step *= gap * sizes[mode]
    return Layout(shape, _nest(shape, iter(strides)))


# ---- permutations of offsets -----------------------------------------------------------------------------------------

@typed(LayoutError)
def swizzles(*, min_bits: int = 0, max_bits: int = 3, min_base: int = 0, max_base: int = 4, min_shift: int = -5,
             max_shift: int = 5) -> SearchStrategy[Swizzle]:
    """A Swizzle, always bijective: |shift| is at least bits. It shrinks towards fewer bits, then a smaller base and shift.

    min_base = log2 of the elements of a chunk keeps chunks whole; min_shift = 1 leaves out those that read lower bits than
    they change. Raises LayoutError for limits that leave nothing.

    >>> smallest(swizzles(min_base=3), lambda swizzle: swizzle(192) != 192)
    Swizzle(1, 3, 3)
    """
    if max(map(abs, (min_bits, max_bits, min_base, max_base, min_shift, max_shift))) > MOST_SHIFT:
        raise LayoutError(f"limits of a swizzle are at most {MOST_SHIFT}: offsets have 64 bits")
    shifts = sorted(range(min_shift, max_shift + 1), key=lambda shift: (abs(shift), shift < 0))
    choices = [Swizzle(bits, base, shift) for bits in range(min_bits, max_bits + 1) for base in range(min_base, max_base + 1)
               for shift in shifts if abs(shift) >= bits]
    if not choices:
        raise LayoutError(f"no swizzle has {min_bits} to {max_bits} bits, a base from {min_base} to {max_base} and a shift "
                          f"from {min_shift} to {max_shift}")
    return st.sampled_from(choices[:1] + [swizzle for swizzle in choices[1:] if swizzle.bits])     # one identity is enough


@typed(LayoutError)
def rotations(*, max_chunk: int = 8, max_count: int = 8, max_rows: int = 4, max_period: int = 8) -> SearchStrategy[Rotation]:
    """A Rotation of 1 to max_count chunks of 1 to max_chunk elements, which advances every 1 to max_rows of its rows, and
    starts again after its count, or after 1 to max_period lines.

    Raises LayoutError for limits that leave nothing.

    >>> smallest(rotations(), lambda rotation: rotation(2) == 3)
    Rotation(1, 2, 2, 2)
    """
    _at_least(max_chunk=(max_chunk, 1), max_count=(max_count, 1), max_rows=(max_rows, 1), max_period=(max_period, 1))
    return st.builds(lambda chunk, count, rows, period: Rotation(chunk, count, chunk * count * rows, period),
                     st.integers(1, max_chunk), st.integers(1, max_count), st.integers(1, max_rows),
                     st.none() | st.integers(1, max_period))


@typed(LayoutError)
def tiles(dtype: AnyDType = "f16", *, kinds: Sequence[str] = KINDS, max_rows: int = 64, max_row_bytes: int = 256,
          max_bytes: int = SHARED_BYTES) -> SearchStrategy[IndexFunction]:
    """A row-major tile of two modes, (rows, columns), that fits shared memory: a Layout, or a composition with one.

    kinds: some of "plain", "padded" (rows further apart), "rotated" and "swizzled". Rows are a multiple of 16, their bytes
    of 32, and chunks of 16 bytes stay whole: `natural_access` has a warp read it with any instruction. max_rows: rows;
    max_row_bytes: of a row without padding; max_bytes: of the whole tile. Raises LayoutError for limits that leave nothing.

    >>> print(smallest(tiles("f16"), lambda tile: tile.size > 256))
    (16,32):(32,1)
    """
    kinds = _known(kinds, KINDS, "kinds")
    _at_least(max_rows=(max_rows, _ROWS), max_row_bytes=(max_row_bytes, _ROW_BYTES), max_bytes=(max_bytes, 1024))
    size = dtype_of(dtype).bytes
    return _tile(kinds, size, max_rows, max_row_bytes, max_bytes).filter(lambda tile: tile.cosize * size <= max_bytes)


@st.composite
def _tile(draw, kinds, size, max_rows, max_row_bytes, max_bytes):
    """A tile of elements of `size` bytes, which with its padding or its swizzle may be too large."""
    fit = max_bytes // (_ROWS * _ROW_BYTES)
    rows = draw(st.integers(1, min(max_rows // _ROWS, fit)))
    width = draw(st.integers(1, min(max_row_bytes // _ROW_BYTES, fit // rows)))
    kind = draw(st.sampled_from(kinds))
    return draw(_MAKERS[kind](_ROWS * rows, _ROW_BYTES // size * width, CHUNK_BYTES // size))


def _padded(rows, columns, chunk):
    return st.integers(1, 8).map(lambda pad: Layout((rows, columns), (columns + pad * chunk, 1)))


def _rotated(rows, columns, chunk):
    lines = st.integers(1, 4).map(lambda n: n * columns)
    return lines.map(lambda line: Rotation(chunk, columns // chunk, line) @ Layout.row_major(rows, columns))


def _swizzled(rows, columns, chunk):
    base = chunk.bit_length() - 1
    layers = swizzles(min_bits=1, min_base=base, max_base=base + 1, min_shift=1, max_shift=6)
    return layers.map(lambda layer: layer @ Layout.row_major(rows, columns))


_MAKERS = {"plain": lambda rows, columns, chunk: st.just(Layout.row_major(rows, columns)), "padded": _padded,
           "rotated": _rotated, "swizzled": _swizzled}
"""Kind of tile -> function of (rows, columns, elements of a chunk) that gives a strategy."""


# ---- warps -----------------------------------------------------------------------------------------------------------

@typed(LayoutError)
def addresses(instruction: str | Instruction, *, max_accesses: int = 4, patterns: Sequence[str] | None = None,
              max_bytes: int = SHARED_BYTES) -> SearchStrategy[np.ndarray]:
    """Byte addresses, int64 [n, 32], that an instruction takes: aligned, below max_bytes; n is 1 to max_accesses.

    patterns: some of "strided", "xored", "blocks", "rows", "permuted", "paired" and "random"; None: all of them. Raises
    InstructionError for an unknown instruction, LayoutError for limits that leave nothing.

    >>> from simlayout import analyze
    >>> found = smallest(addresses("ld.shared.b32"), lambda given: analyze("ld.shared.b32", given).excess.any())
    >>> found.shape, found[0, :4].tolist()                    # every other word: the smallest stride that has conflicts
    ((1, 32), [0, 8, 16, 24])
    """
    row = instruction_of(instruction)
    names = _known(patterns, PATTERNS, "patterns")
    _at_least(max_accesses=(max_accesses, 1), max_bytes=(max_bytes, row.bytes))
    one = st.one_of([PATTERNS[name](max_bytes // row.bytes) for name in names])
    return st.lists(one, min_size=1, max_size=max_accesses).map(lambda units: row.bytes * np.stack(units).astype(np.int64))


@typed(LayoutError)
def lane_masks(instruction: str | Instruction | None = None, *, min_active: int = 0) -> SearchStrategy[np.ndarray]:
    """Which lanes of a warp are active, bool [32]: all of them, the first few, every so many, or any.

    instruction: where it needs the whole warp (ldmatrix, stmatrix) all lanes are active; None: any mask. min_active: lanes,
    0 to 32. Raises InstructionError for an unknown instruction, LayoutError for limits that leave nothing.

    >>> int(smallest(lane_masks(), lambda mask: not mask[31]).sum())
    0
    """
    if not 0 <= min_active <= LANES:
        raise LayoutError(f"min_active = {min_active}: a warp has {LANES} lanes")
    every = st.builds(lambda: range(LANES))
    if instruction is not None and instruction_of(instruction).needs_whole_warp:
        return _masks(every)
    steps = st.integers(1, max(1, LANES // max(min_active, 1))).map(lambda step: range(0, LANES, step))
    any_lanes = st.sets(st.integers(0, LANES - 1), min_size=min_active)
    return _masks(every | st.integers(min_active, LANES).map(range) | steps | any_lanes)


@st.composite                                            # not a map, of which a failing test would show the call
def _masks(draw, lanes):
    mask = np.zeros(LANES, bool)
    mask[list(draw(lanes))] = True
    return mask


# ---- accesses --------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Permuted:
    """A map of lanes in which thread tid takes the place of (step * tid + start) % count, within its `count` lanes."""

    lanes: object
    count: int
    step: int
    start: int

    def __call__(self, tid, *trips):
        place = (self.step * tid + self.start) % self.count
        return self.lanes(tid // self.count * self.count + place, *trips)


@dataclass(frozen=True)
class Columns:
    """A map of lanes in which neighbours take pieces of `size` elements below each other, column after column."""

    rows: int
    size: int

    def __call__(self, tid, k=0):
        piece = LANES * k + tid
        return piece % self.rows, self.size * (piece // self.rows)


@typed(LayoutError)
def accesses(*, instructions: Sequence[str] | None = None, dtypes: Sequence[str] = ("f16", "f32", "s8", "f64"),
             kinds: Sequence[str] = KINDS, lane_maps: Sequence[str] = LANE_MAPS, excess: int | None = None,
             max_rows: int = 64, max_row_bytes: int = 256) -> SearchStrategy[Access]:
    """A whole Access: one warp that moves all of a tile, piece by piece.

    instructions: PTX names, None: all that `analyze` takes where nobody names an architecture. dtypes: those are drawn that
    are no wider than the instruction. lane_maps: "natural" (see `natural_access`), "permuted" (the same with other lanes),
    "columns" (lanes below each other, for instructions that move no matrices). excess: what the Access declares: with None
    `verify` takes all of them, with 0 it refuses those that have conflicts, and only those. The rest as of `tiles`. Raises
    InstructionError for an unknown instruction, LayoutError for limits that leave nothing.

    >>> found = smallest(accesses(instructions=["ldmatrix.x4"]), lambda access: access.analyze().excess.any())
    >>> print(found.name, "|", found.tile, "|", found.domain)
    natural ldmatrix.x4 | (16,16):(16,1) | {'tid': 32}
    """
    if instructions is None:
        rows = [row for row in INSTRUCTIONS.values() if row.since <= arch_of(DEFAULT_ARCH).capability]
    else:
        rows = [instruction_of(name) for name in _several(instructions)]
    dtypes, lane_maps = _several(dtypes), _known(lane_maps, LANE_MAPS, "lane_maps")
    if lane_maps == ("columns",):
        rows = [row for row in rows if not row.is_matrix]
    choices = [(row, dtype) for row in rows for dtype in dtypes if dtype_of(dtype).bytes <= row.bytes]
    if not choices:
        raise LayoutError(f"none of the dtypes {', '.join(map(str, dtypes))} and lane maps {', '.join(lane_maps)} is one of "
                          "the instructions: give narrower dtypes, or other maps")
    by_dtype = {dtype: tiles(dtype, kinds=kinds, max_rows=max_rows, max_row_bytes=max_row_bytes) for _, dtype in choices}
    return st.sampled_from(choices).flatmap(lambda chosen: by_dtype[chosen[1]].flatmap(
        lambda tile: _walks(chosen[0], chosen[1], tile, lane_maps, excess)))


def _walks(row, dtype, tile, lane_maps, excess):
    """A strategy of the Accesses of one tile."""
    natural = replace(natural_access(tile, row, dtype, f"natural {row}"), excess=excess)
    walks = {"natural": st.just(natural)}
    count = sum(map(len, row.groups))
    steps, starts = st.sampled_from(range(1, count, 2)), st.integers(0, count - 1)
    walks["permuted"] = st.builds(lambda step, start: replace(
        natural, name=f"permuted {row}", lanes=Permuted(natural.lanes, count, step, start)), steps, starts)
    if not row.is_matrix:
        size = natural.elements
        trips = prod(tile.shape) // size // LANES
        domain = {"tid": LANES, "k": trips} if trips > 1 else {"tid": LANES}
        walks["columns"] = st.just(replace(natural, name=f"columns {row}", lanes=Columns(tile.shape[0], size),
                                           domain=domain))
    return st.one_of([walks[name] for name in lane_maps if name in walks])
