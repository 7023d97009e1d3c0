"""Who touches what in shared memory of `mma_tma`: tiles of 192 x 256 x 64, eight warps of 96 x 64, operands from TMA."""

from simlayout.algebra import Layout, Swizzle
from simlayout.hardware.tables.arch import LANES
from simlayout.plan import Plan
from simlayout.proofs import Access

ROWS, COLS, DEPTH, STAGES = 192, 256, 64, 4
WARP_ROWS, WARP_COLS, BESIDE = 96, 64, 4
"""Of a warp, and warps that lie beside one another."""

WARPS = ROWS // WARP_ROWS * BESIDE

BANDS, COLUMNS, STEPS, READS = WARP_ROWS // 16, WARP_COLS // 8, DEPTH // 16, ROWS // WARPS
"""Rows, columns and depths of mma.m16n8k16 in a warp's part of a stage; rows of C that a warp takes back."""

AB_TILE = Swizzle(3, 3, 3) @ Layout((ROWS + COLS, DEPTH, STAGES), (DEPTH, 1, (ROWS + COLS) * DEPTH))
"""(row, column, stage), the rows of B below those of A: as TMA puts them with a swizzle of 128 bytes."""

C_TILE = Swizzle(3, 3, 5) @ Layout((ROWS, COLS), (COLS, 1))


def _load_a(tid, i, ks, stage):
    return WARP_ROWS * (tid // (32 * BESIDE)) + 16 * i + tid % 16, 16 * ks + 8 * (tid % 32 // 16), stage


def _load_b(tid, j, ks, stage):
    row = ROWS + WARP_COLS * (tid // 32 % BESIDE) + 16 * j + 8 * (tid % 32 // 16) + tid % 8
    return row, 16 * ks + 8 * (tid % 16 // 8), stage


def _store_c(tid, i, j, r):
    return (WARP_ROWS * (tid // (32 * BESIDE)) + 16 * i + 8 * r + tid % 32 // 4,
            WARP_COLS * (tid // 32 % BESIDE) + 8 * j + 2 * (tid % 4))


def read_c_row(tid, i):
    """Row of C that a thread takes back: a warp takes a row at a time."""
    return READS * (tid // 32) + i


def read_c_col(tid):
    """First of its 8 columns."""
    return 8 * (tid % 32)


def _access(label, instruction, tile, lanes, **loops):
    return Access(label, instruction, tile, lanes, {"tid": LANES * WARPS, **loops}, "f16")


def make_plan(stages, shared_bytes):
    """The Plan of what its threads access, with so many stages."""
    loops = {"ks": STEPS, "stage": stages}
    each_step = (_access("load A", "ldmatrix.x4", AB_TILE, _load_a, i=BANDS, **loops),
                 _access("load B", "ldmatrix.x4", AB_TILE, _load_b, j=WARP_COLS // 16, **loops))
    each_tile = (_access("store C", "st.shared.b32", C_TILE, _store_c, i=BANDS, j=COLUMNS, r=2),
                 _access("read C", "ld.shared.b128", C_TILE, lambda tid, i: (read_c_row(tid, i), read_c_col(tid)),
                         i=READS))
    return Plan("mma_tma", (ROWS, COLS, DEPTH), WARPS, stages, "m16n8k16.f32.f16.f16.f32", each_step, each_tile,
                ((("store C",), "read C"),), shared_bytes)


EMITTED = {"mma_tma": make_plan(STAGES, 0).accesses}
