"""Where the copies of a GEMM read, and what that costs: cp.async counts the sectors it reads as well as the banks it writes.

Every CTA reads a tile of A and one of B in each K step. Of an address only its place in a 128-byte line matters, so that
few tiles differ: those that begin elsewhere in a line, those at the edges, and those of different stages. Each kind is
counted once.
"""

from collections import Counter
from dataclasses import dataclass
from math import gcd, lcm

import numpy as np

from simlayout.errors import LayoutError, SimlayoutError
from simlayout.hardware import analyze
from simlayout.hardware.copies import LINE_BYTES

MOST_LEADING = 2**40
"""Elements from row to row, so that addresses fit int64."""


@dataclass(frozen=True)
class Source:
    """What a copy of a GEMM reads.

    operand: "A" (M, K) or "B" (N, K), matrices with neighbours along K. element: (tid, *loop variables), as of the access ->
    (row, column), of the operand's tile of one K step: where the thread's copy begins. sized: whether the instruction has a
    src-size, so that it reads nothing past the end of the matrix; None: only where M, N and K are not all multiples of the
    tile, as the kernels of `cuda_kernels` choose it for their problem.
    """

    operand: str
    element: object
    sized: bool | None = True

    def __post_init__(self):
        if self.operand not in ("A", "B"):
            raise LayoutError(f'a copy reads operand "A" or "B", not {self.operand!r}')
        if not callable(self.element):
            raise LayoutError(f"a source is a function (tid, *loop variables) -> (row, column), not {self.element!r}")


@dataclass(frozen=True)
class Operand:
    """A or B of one problem, as the copies of a K step meet it.

    rows: of the matrix, M or N; columns: K; leading: elements from row to row; address: byte address of the first element,
    of which its place in a 128-byte line matters; tile: (rows, columns) of the tile that a CTA reads in one K step.
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


def analyze_copies(access, leading, address=0, exist=None, stage=None, arch="sm_90"):
    """The Analysis of the copies of one tile.

    access: an Access with a Source; leading: elements from row to row of the matrix; address: bytes, where the tile begins;
    exist: (rows, columns) of it that the matrix still has, as the src-size says, None for copies without one; stage: of the
    copies that fill this one alone. AddressError where the instruction cannot read from there.
    """
    size = access.bytes // access.elements
    row, column = _elements(access)
    made = access.addresses()
    if stage is not None and "stage" in access.domain:
        chosen = access.table(access.points()[list(access.domain).index("stage")])[:, 0] == stage
        row, column, made = row[chosen], column[chosen], made[chosen]
    valid = None
    if exist is not None:
        valid = np.where(row < exist[0], np.clip(size * (exist[1] - column), 0, access.bytes), 0)
    sources = address + size * (row * leading + column)
    return analyze(access.instruction, made, arch=arch, sources=sources, valid=valid)


def _elements(access):
    """(row, column) in the operand's tile where each lane's copy begins, int64 [instructions, 32] each."""
    made = access.source.element(*access.points())
    if not isinstance(made, tuple | list) or len(made) != 2 or any(np.asarray(part).dtype.kind not in "iu" for part in made):
        raise LayoutError(f"access {access.name!r}: its source must give integers (row, column), not {made!r:.60}")
    return [access.table(part) for part in made]


def cost(access, operand, stages, sized, arch="sm_90"):
    """The Cost of all copies that read an Operand once; None where its rows begin where the instruction cannot read.

    stages: the kernel's; the copies of K step s fill stage s % stages. sized: whether copies have a src-size.
    """
    size = access.bytes // access.elements
    _check_tile(access, operand)
    if operand.address % access.bytes or (size * operand.leading) % access.bytes:
        return None
    total = Cost()
    for (place, rows, columns, stage), count in _kinds(operand, size, stages).items():
        one = analyze_copies(access, operand.leading, place, (rows, columns) if sized else None, stage, arch)
        total = Cost(total.wavefronts + count * int(one.wavefronts.sum()), total.ideal + count * int(one.ideal.sum()),
                     total.exact and bool(one.exact))
    return total


def _check_tile(access, operand):
    """LayoutError where a copy reads elements outside the operand's tile."""
    low, high = zip(*((int(part.min()), int(part.max())) for part in _elements(access)))
    high = high[0], high[1] + access.elements - 1
    if min(low) < 0 or high[0] >= operand.tile[0] or high[1] >= operand.tile[1]:
        raise LayoutError(f"access {access.name!r} reads rows {low[0]} to {high[0]} and columns {low[1]} to {high[1]} of a "
                          f"tile of {operand.tile}: its source leaves the tile of {operand.name}")


def _kinds(operand, size, stages):
    """{(place in a line, rows, columns that exist, stage): how many tiles of the operand are so}."""
    found = Counter()
    down, along = operand.tile
    for y, below, rows in _blocks(operand.rows, down, size * operand.leading * down, 1):
        for x, beside, columns in _blocks(operand.columns, along, size * along, stages):
            place = (operand.address + size * (y * down * operand.leading + x * along)) % LINE_BYTES
            found[place, rows, columns, x % stages] += below * beside
    return found


def _blocks(length, block, step, cycle):
    """The blocks of a side of a matrix as (number of the first, how many are like it, elements of them that exist).

    Blocks begin `step` bytes apart; alike are those at one place in a line whose numbers are equal modulo `cycle`.
    """
    whole, rest = divmod(length, block)
    period = lcm(LINE_BYTES // gcd(LINE_BYTES, step), cycle)
    for first in range(min(whole, period)):
        yield first, -(-(whole - first) // period), block
    if rest:
        yield whole, 1, rest
