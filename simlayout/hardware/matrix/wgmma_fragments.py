"""Fragments of wgmma: which elements of D, and of A where it comes from registers, each thread of a warpgroup holds.

Warp w of the warpgroup has rows 16w to 16w + 15, in the order of a warp-level mma: D as C of m16n8 after C of m16n8, A as
one A of m16n8k*. B always comes from shared memory (PTX ISA, Register Fragments for wgmma.mma_async; equal to CuTe's
CLayout_64xN and ALayout_64x*).
"""

from functools import lru_cache

from simlayout.errors import InstructionError
from simlayout.hardware.matrix.fragments_base import Fragment, a_map, cd_map
from simlayout.hardware.tables.arch import LANES
from simlayout.hardware.tables.mma import per_register
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tensor_ops import tensor_op

THREADS = 128
"""Threads of a warpgroup: four warps, the first a multiple of four."""

SOURCE = Provenance("documented", "PTX ISA, Register Fragments for wgmma.mma_async; equal to CuTe's CLayout_64xN and "
                    "ALayout_64x*")


def _d_map(tid, value):
    row, col = cd_map(tid % LANES, value % 4)
    return row + tid // LANES * 16, col + value // 4 * 8


def _a_map(per):
    warp = a_map(16, per)

    def of_warpgroup(tid, value):
        row, col = warp(tid % LANES, value)
        return row + tid // LANES * 16, col

    return of_warpgroup


@lru_cache(None)
def wgmma_fragment(name, operand):
    """The Fragment of "D" or "A" of a wgmma; its lanes are the 128 threads of the warpgroup.

    Raises InstructionError: an unknown wgmma, or another operand.

    >>> d = wgmma_fragment("wgmma.m64n256k16.f32.f16.f16", "D")
    >>> d.registers, d(lane=37, value=6)
    (128, (25, 10))
    """
    op = tensor_op(name)
    if operand == "D":
        return Fragment(name, operand, (op.m, op.n), op.d, SOURCE, _d_map, lanes=THREADS)
    if operand == "A":
        return Fragment(name, operand, (op.m, op.stored), op.a, SOURCE, _a_map(per_register(op.a)), lanes=THREADS)
    raise InstructionError(f"{name} has no fragment {operand!r}; it has D, and A where A comes from registers: B always "
                           "lies in shared memory")
