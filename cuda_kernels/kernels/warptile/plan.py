"""Who touches what in shared memory of warptile.

A CTA of 4 warps makes a 128x128 tile of C in steps of 16 along K; a warp makes 64x64 of it, a thread 8 rows by 4 groups of
4 columns. Both operands lie in shared memory with K outermost, so A is transposed on its way: by 2-byte stores, of which 4
lanes at a time meet in a bank.
"""

from dataclasses import dataclass
from math import prod

from simlayout.algebra import Layout
from simlayout.hardware.tables.arch import LANES
from simlayout.plan import Plan
from simlayout.proofs import Access

BLOCK, CHUNK_K, WARPS = 128, 16, 4
THREADS = LANES * WARPS
WARP_TILE, GROUP = 64, 16
"""Rows, and columns, of a warp's tile (WM, WN); columns that a warp's lanes cover at once (WSUBN)."""
ROWS, COLS, GROUPS = 8, 4, 4
"""A thread's rows (TM), its neighbouring columns (TN), and how often it has those (WNITER)."""
ACROSS = COLS * GROUPS
"""A thread's columns."""

TILE = Layout((BLOCK, CHUNK_K, 2), (1, BLOCK, BLOCK * CHUNK_K))
"""(row of A or column of B, k, 0 for A or 1 for B) -> elements: As, then Bs, both with K outermost."""

FMA_PER_CLOCK = 4
"""Warp instructions of f32 fma that an SM begins per clock: 128 lanes (CUDA C++ Programming Guide, Arithmetic Instructions,
compute capability 9.0)."""


@dataclass(frozen=True)
class Options:
    """All set by `WarpTile.fitted`. a_aligned, b_aligned, c_aligned: rows of A, B, C start on 8 bytes and are a multiple of
    4 elements long, so 4 elements move at once; whole: M, N and K are multiples of the tile, so no load needs a guard."""

    a_aligned: bool = True
    b_aligned: bool = True
    c_aligned: bool = True
    whole: bool = False


# ---- who touches what: (tid, loop variables) -> coordinates ---------------------------------------------------------

def copy_a_row(tid, i):
    """Row of A's tile that a thread copies 4 elements of: innerRowA + rowStrideA * i."""
    return tid // 4 + 32 * i


def copy_a_k(tid):
    """The first of these 4 elements along K: 4 * innerColA."""
    return 4 * (tid % 4)


def copy_b_k(tid, i):
    """Row of B's tile that a thread copies 4 elements of: innerRowB + rowStrideB * i."""
    return tid // 32 + 4 * i


def copy_b_col(tid):
    """The first of these 4 columns: 4 * innerColB."""
    return 4 * (tid % 32)


def result_row(tid):
    """First of the 8 rows of C's tile that a thread computes."""
    return WARP_TILE * (tid // 64) + ROWS * (tid % 32 // 4)


def result_col(tid, j):
    """First of the 4 columns of group j that a thread computes."""
    return WARP_TILE * (tid // 32 % 2) + GROUP * j + COLS * (tid % 4)


def _store_a(tid, i, e):
    return copy_a_row(tid, i), copy_a_k(tid) + e, 0


def _store_b(tid, i):
    return copy_b_col(tid), copy_b_k(tid, i), 1


def _load_a(tid, k):
    return result_row(tid), k, 0


def _load_b(tid, j, k):
    return result_col(tid, j), k, 1


def _access(name, instruction, lanes, excess=0, **loops):
    return Access(name, instruction, TILE, lanes, {"tid": THREADS, **loops}, "bf16", excess)


ACCESSES = (
    _access("store A", "st.shared.b16", _store_a, excess=3, i=4, e=4),
    _access("store B", "st.shared.b64", _store_b, i=4),
    _access("load A", "ld.shared.b128", _load_a, k=CHUNK_K),
    _access("load B", "ld.shared.b64", _load_b, j=GROUPS, k=CHUNK_K),
)


# ---- the plan -------------------------------------------------------------------------------------------------------

class FmaPlan(Plan):
    """A Plan whose `mma` is the fma of CUDA cores, a warp instruction of 32 multiply-adds."""

    multiplied_by = "fma"

    def mma_instructions(self):
        """fma instructions of one CTA in one K step."""
        return prod(self.tile) // 32

    def multiply_clocks(self):
        """Clocks of an SM that these take."""
        return self.mma_instructions() / FMA_PER_CLOCK


PLAN = FmaPlan("warptile", (BLOCK, BLOCK, CHUNK_K), WARPS, 1, "fma.rn.f32", ACCESSES, (),
               ((("store A",), "load A"), (("store B",), "load B")), 2 * TILE.cosize)
"""The same for all options. shared_bytes: 8192 of both tiles."""
