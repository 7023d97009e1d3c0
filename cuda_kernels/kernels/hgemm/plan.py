"""Who touches what in shared memory of cuda_hgemm's kernel: 256x128x32 tiles (or x64), 8 warps of 64x64."""

from dataclasses import dataclass, field

from cuda_kernels.kernels.kernel import choice
from simlayout.hardware.tables.arch import LANES
from simlayout.plan import Plan
from simlayout.proofs import Access, Source

BLOCK_ROWS, BLOCK_COLS, WARPS = 256, 128, 8
THREADS = LANES * WARPS


@dataclass(frozen=True)
class Options:
    """stages: 1 (copies through registers) to 4 (cp.async). accumulate: "f16" or "f32". stripes: of 16 tiles along N, walked
    from the first row of tiles to the last, "forward", or every other one back, "serpentine": the rows of A that a stripe
    ends with are those that the next one begins with. The rest is set by `Kernel.fitted`: ab_aligned, c_aligned: rows of A
    and B, of C, start on 16 bytes (without it cp.async cannot be used: one stage); whole: M, N and K are multiples of the
    tile, so no copy needs a guard."""

    stages: int = 4
    accumulate: str = "f32"
    stripes: str = "forward"
    ab_aligned: bool = True
    c_aligned: bool = True
    whole: bool = False

    def __post_init__(self):
        choice("stages", self.stages, (1, 2, 3, 4))
        choice("accumulate", self.accumulate, ("f16", "f32"))
        choice("stripes", self.stripes, ("forward", "serpentine"))

    @property
    def depth(self):
        """The stages that are really used."""
        return self.stages if self.ab_aligned else 1


# ---- who touches what: (tid, loop variables) -> (row, column[, stage]) -------------------------------------------

def beside(chunk_k):
    """Lanes that copy 16 bytes each of one row of a chunk."""
    return chunk_k // 8


def make_copy_maps(chunk_k):
    """(copy_a_row, copy_b_row, copy_col): rows of A's and of B's tile (a column of the product) that a thread copies, 32 and
    16 rows per warp, and the first of the 8 columns (of K)."""
    across = beside(chunk_k)
    below = LANES // across                              # rows that a warp copies at once

    def copy_a_row(tid, i):
        return 32 * (tid // 32) + tid % 32 // across + below * i

    def copy_b_row(tid, i):
        return 16 * (tid // 32) + tid % 32 // across + below * i

    def copy_col(tid):
        return 8 * (tid % across)

    return copy_a_row, copy_b_row, copy_col


@dataclass(frozen=True)
class Read:
    """The 16 bytes that a thread copies, in its operand: (tid, i, stage) -> (row, column)."""

    chunk_k: int = field(repr=False)
    operand: str

    def __call__(self, tid, i, stage):
        copy_a_row, copy_b_row, copy_col = make_copy_maps(self.chunk_k)
        return copy_a_row(tid, i) if self.operand == "A" else copy_b_row(tid, i), copy_col(tid)


class Written(Read):
    """The same in shared memory, where the rows of B stand below those of A: (tid, i, stage) -> (row, column, stage)."""

    def __call__(self, tid, i, stage):
        row, col = super().__call__(tid, i, stage)
        return row + BLOCK_ROWS * (self.operand == "B"), col, stage


def read_c_row(tid, i):
    """Row of C that a thread takes back: 2 rows per warp and step, 16 lanes per row."""
    return 32 * (tid // 32) + 2 * i + tid % 32 // 16


def read_c_col(tid):
    """First of its 8 columns."""
    return 8 * (tid % 16)


def _read_c(tid, i):
    return read_c_row(tid, i), read_c_col(tid)


def _load_a(tid, i, ks, stage):
    return 64 * (tid // 64) + 16 * i + tid % 16, 16 * ks + 8 * (tid % 32 // 16), stage


def _load_b(tid, j, ks, stage):
    return BLOCK_ROWS + 64 * (tid // 32 % 2) + 8 * j + tid % 8, 16 * ks + 8 * (tid % 16 // 8), stage


def _load_b_wide(tid, j, ks, stage):
    row = BLOCK_ROWS + 64 * (tid // 32 % 2) + 16 * j + 8 * (tid % 32 // 16) + tid % 8
    return row, 16 * ks + 8 * (tid % 16 // 8), stage


def _store_c(tid, i, j, r):
    return 64 * (tid // 64) + 16 * i + 8 * r + tid % 32 // 4, 64 * (tid // 32 % 2) + 8 * j + 2 * (tid % 4)


def make_plan(kernel):
    """The plan of a variant of Hgemm."""
    options, ab_tile, c_tile, chunk_k = kernel.options, kernel.ab_tile, kernel.c_tile, kernel.chunk_k
    asynchronous = options.depth > 1
    copy = "cp.async.cg.16" if asynchronous else "st.shared.b128"
    stages, steps = {"stage": options.depth}, chunk_k // 16
    b_rows = 8 * kernel.b_matrices // 2                  # of B that an ldmatrix brings

    def access(label, instruction, tile, lanes, source=None, **loops):
        return Access(label, instruction, tile, lanes, {"tid": THREADS, **loops}, "f16", kernel.excess.get(label, 0), source)

    def copied(operand, trips):
        """The copies of an operand."""
        source = Source(operand, Read(chunk_k, operand), sized=None) if asynchronous else None
        return access(f"copy {operand}", copy, ab_tile, Written(chunk_k, operand), source, i=trips, **stages)

    each_step = (
        copied("A", beside(chunk_k)),
        copied("B", beside(chunk_k) // 2),
        access("load A", "ldmatrix.x4", ab_tile, _load_a, i=4, ks=steps, **stages),
        access("load B", f"ldmatrix.x{kernel.b_matrices}", ab_tile, _load_b if kernel.b_matrices == 2 else _load_b_wide,
               j=64 // b_rows, ks=steps, **stages),
    )
    each_tile = (
        access("store C", "st.shared.b32", c_tile, _store_c, i=4, j=8, r=2),
        access("read C", "ld.shared.b128", c_tile, _read_c, i=16),
    )
    agreements = ((("copy A", "copy B"), "load A"), (("copy A", "copy B"), "load B"), (("store C",), "read C"))
    stage_bytes = 2 * ab_tile.layout.stride[2] if hasattr(ab_tile, "layout") else 2 * ab_tile.stride[2]
    return Plan(kernel.name, (BLOCK_ROWS, BLOCK_COLS, chunk_k), WARPS, options.depth,
                f"m16n8k16.{options.accumulate}.f16.f16.{options.accumulate}", each_step, each_tile, agreements,
                max(options.depth * stage_bytes, 2 * c_tile.cosize))
