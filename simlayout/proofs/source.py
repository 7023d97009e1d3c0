"""Where the copies of a GEMM read, and what that costs: cp.async counts the sectors it reads as well as the banks it writes.

Every CTA reads a tile of A and one of B in each K step. Because only an address's place in its 128-byte line matters,
there are few kinds of tiles: they begin at different places in a line, lie at an edge or not, and fill different stages.
Each kind is counted once.
"""

from collections import Counter
from dataclasses import dataclass
from math import gcd, lcm

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import LayoutError, SimlayoutError, brief
from simlayout.hardware import analyze
from simlayout.hardware.banks.copies import LINE_BYTES
from simlayout.hardware.tables.arch import LANES

MOST_LEADING = 2**40
"""Elements from row to row, so that addresses fit int64."""

NO_LEADING = ("the copy's source counts too, and where its rows begin was not given (pass leading=, elements from row to "
              "row): this is what the destinations cost")


@typed(LayoutError, own=("element",))
@dataclass(frozen=True)
class Source:
    """What a copy of a GEMM reads.

    operand: "A" (M, K) or "B" (N, K), matrices with neighbours along K. element: (tid, *loop variables), as of the access ->
    (row, column), of the operand's tile of one K step: where the thread's copy begins. sized: whether the instruction has a
    src-size, so that it reads nothing past the end of the matrix; None: only where M, N and K are not all multiples of the
    tile, as the kernels of `cuda_kernels` choose it for their problem.

    >>> import simlayout as sl
    >>> rows = Source("A", lambda tid, i: (32 * i + tid // 4, 8 * (tid % 4)))          # 16 bytes each, four threads a row
    >>> copy = sl.Access("copy A", "cp.async.cg.16", sl.Layout((64, 32), (32, 1)), rows.element, {"tid": 128, "i": 2},
    ...                  source=rows)
    >>> copy.source.operand
    'A'
    """

    operand: str
    element: object
    sized: bool | None = True

    def __post_init__(self):
        if self.operand not in ("A", "B"):
            raise LayoutError(f'a copy reads operand "A" or "B", not {brief(self.operand)}')
        if not callable(self.element):
            raise LayoutError(f"a source is a function (tid, *loop variables) -> (row, column), not {brief(self.element)}")


@dataclass(frozen=True)
class Operand:
    """A or B of one problem, as the copies of a K step meet it.

    rows: of the matrix, M or N; columns: K; leading: elements from row to row; address: byte address of the first element
    (only its place in a 128-byte line matters); tile: (rows, columns) of the tile that a CTA reads in one K step.
    """

    name: str
    rows: int
    columns: int
    leading: int
    address: int
    tile: tuple

    def __post_init__(self):
        name = self.name.lower()
        if not _is_integer(self.leading) or not self.columns <= self.leading <= MOST_LEADING:
            raise SimlayoutError(f"ld{name} = {self.leading!r}: {self.name} needs an integer of elements from row to row, "
                                 f"at least K = {self.columns}, at most {MOST_LEADING}")
        if not _is_integer(self.address) or self.address < 0:
            raise SimlayoutError(f"{name} = {self.address!r}: the address of {self.name} must be an integer, at least 0")
        object.__setattr__(self, "leading", int(self.leading))
        object.__setattr__(self, "address", int(self.address))


def _is_integer(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


@dataclass(frozen=True)
class Cost:
    """Sums over copies: wavefronts, ideal, and whether the model knows them exactly."""

    wavefronts: int = 0
    ideal: int = 0
    exact: bool = True


@dataclass(frozen=True, eq=False)
class Table:
    """Every copy of an access: byte addresses that it writes, (row, column) in the operand's tile where it begins to read,
    int64 [instructions, 32] each, and the stage that it fills, int64 [instructions]."""

    access: object
    addresses: np.ndarray
    row: np.ndarray
    column: np.ndarray
    stage: np.ndarray

    @classmethod
    def of(cls, access):
        """The Table of an Access with a Source; LayoutError where that gives no rows and columns."""
        elements = access.everywhere(access.source.element)
        if not isinstance(elements, tuple) or len(elements) != 2 or any(isinstance(part, tuple) for part in elements):
            raise LayoutError(f"access {access.name!r}: its source must give two integers, (row, column)")
        variables = list(access.domain)
        stages = access.everywhere(lambda *point: point[variables.index("stage")] if "stage" in variables else 0)
        row, column, stage = (part.reshape(-1, LANES) for part in (*elements, stages))
        return cls(access, access.addresses(), row, column, stage[:, 0])

    def filling(self, stage):
        """The copies that K steps of this stage execute."""
        if "stage" not in self.access.domain:
            return self
        mine = self.stage == stage
        return Table(self.access, self.addresses[mine], self.row[mine], self.column[mine], self.stage[mine])

    def analyze(self, leading, address=0, exist=None):
        """The Analysis of the copies. leading: elements from row to row of the matrix; address: bytes, where the tile
        begins; exist: (rows, columns) of it that the matrix still has, as the src-size says, None for copies without one."""
        size = self.access.bytes // self.access.elements
        valid = None
        if exist is not None:
            valid = np.where(self.row < exist[0], np.clip(size * (exist[1] - self.column), 0, self.access.bytes), 0)
        sources = address + size * (self.row * leading + self.column)
        return analyze(self.access.instruction, self.addresses, arch=self.access.arch, sources=sources, valid=valid)


def analyze_copies(access, leading):
    """The Analysis of the copies of one tile that begins on a line, of all stages.

    access: an Access with a Source; leading: elements from row to row of the matrix. AddressError where the instruction
    cannot read from there.
    """
    if access.source is None:
        raise LayoutError(f"access {access.name!r}: leading is of what a copy reads: give the access a Source")
    if not _is_integer(leading) or not 1 <= leading <= MOST_LEADING:
        raise LayoutError(f"leading = {brief(leading)}: give an integer of elements from row to row, 1 to {MOST_LEADING}")
    return Table.of(access).analyze(leading)


def cost(access, operand, stages, sized):
    """The Cost of all copies that read an Operand once; None where its rows begin where the instruction cannot read.

    stages: the kernel's; the copies of K step s fill stage s % stages. sized: whether copies have a src-size.
    """
    size, table = access.bytes // access.elements, Table.of(access)
    _check_tile(table, operand)
    if operand.address % access.bytes or (size * operand.leading) % access.bytes:
        return None
    total = Cost()
    for (place, rows, columns, stage), count in _kinds(operand, size, stages).items():
        one = table.filling(stage).analyze(operand.leading, place, (rows, columns) if sized else None)
        total = Cost(total.wavefronts + count * int(one.wavefronts.sum()), total.ideal + count * int(one.ideal.sum()),
                     total.exact and bool(one.exact))
    return total


def _check_tile(table, operand):
    """LayoutError where a copy reads elements outside the operand's tile."""
    access, (low, high) = table.access, zip(*((int(part.min()), int(part.max())) for part in (table.row, table.column)))
    high = high[0], high[1] + access.elements - 1
    if min(low) < 0 or high[0] >= operand.tile[0] or high[1] >= operand.tile[1]:
        raise LayoutError(f"access {access.name!r} reads rows {low[0]} to {high[0]} and columns {low[1]} to {high[1]} of a "
                          f"tile of {operand.tile}: its source leaves the tile of {operand.name}")


def _kinds(operand, size, stages):
    """{(place in a line, rows, columns that exist, stage): how many tiles of the operand are of this kind}."""
    kinds = Counter()
    down, along = operand.tile
    for y, below, rows in _blocks(operand.rows, down, size * operand.leading * down, 1):
        for x, beside, columns in _blocks(operand.columns, along, size * along, stages):
            place = (operand.address + size * (y * down * operand.leading + x * along)) % LINE_BYTES
            kinds[place, rows, columns, x % stages] += below * beside
    return kinds


def _blocks(length, block, step, cycle):
    """The blocks of a side of a matrix as (number of the first, how many are like it, elements of them that exist).

    Blocks begin `step` bytes apart; alike are those at one place in a line whose numbers are equal modulo `cycle`.
    """
    full, rest = divmod(length, block)
    period = lcm(LINE_BYTES // gcd(LINE_BYTES, step), cycle)
    for first in range(min(full, period)):
        yield first, -(-(full - first) // period), block
    if rest:
        yield full, 1, rest
