"""Tiles that several CTAs compute together, each a part of K, where there are too few tiles to keep all SMs busy.

Work comes in units: first `whole` tiles, one unit each, then the tiles that are left, cut into `parts` units along K. Every
CTA writes its part of a cut tile as f32 to a workspace; the one that comes last adds all parts up, the first one first: the
same order, and so the same bits, in every run. Nobody waits for a CTA that may not have started.
"""

from cuda_kernels.gemm.hopper_parts import quotient
from cuda_kernels.ptx import (
    atom_add_acq_rel_gpu,
    bar_sync_some,
    ld_relaxed_gpu,
    ld_relaxed_v4_f32,
    s32,
    st_global_b32,
    st_global_v4_f32,
    u32,
    u64,
)

TICKET = 16
"""Bytes behind each piece of the workspace, for the number at which its CTA came."""


def piece_bytes(columns):
    """Bytes of the workspace for one consumer's products of one part: f32 [columns / 8, 128, 4], and its ticket."""
    return 2048 * (columns // 8) + TICKET


def unit_of(unit, whole, parts, steps):
    """(tile, part, first step, one past the last step) of unit number `unit`; steps: of a whole tile. parts <= steps.

    >>> [unit_of(u, 2, 3, 8) for u in (1, 2, 3, 4)]
    [(1, 0, 0, 8), (2, 0, 0, 2), (2, 1, 2, 5), (2, 2, 5, 8)]
    """
    if unit < whole:
        return s32(unit), s32(0), s32(0), s32(steps)
    cut = s32(unit - whole)
    tile = quotient(cut, parts)
    part = s32(cut - tile * parts)
    return s32(whole + tile), part, quotient(part * steps, parts), quotient((part + 1) * steps, parts)


def make_reduce(columns, consumers):
    """reduce(acc, workspace, counters, t, consumer, tile, part, parts, rows) -> whether this CTA came last; then `acc` holds
    the sum of all parts.

    workspace: a piece for each (cut tile, part, consumer); counters: u32 for each (cut tile, consumer), zero before and
    after. tile: number among the cut tiles. rows: how many of the consumer's 64 rows exist; the others are left alone.
    """
    groups, piece = columns // 8, piece_bytes(columns)

    def reduce(acc, workspace, counters, t, consumer, tile, part, parts, rows):
        first = workspace + u64(piece) * u64(tile * parts * consumers + consumer)
        mine = first + u64(piece * consumers) * u64(part)
        counter = counters + u64(4 * (consumers * tile + consumer))
        mask = t // 32 * 16 < rows
        if mask:
            for j in range(groups):
                st_global_v4_f32(mine + u64(2048 * j + 16 * t), acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3])
        bar_sync_some(u32(consumer + 1), u32(128))
        if t == 0:
            st_global_b32(mine + u64(2048 * groups), atom_add_acq_rel_gpu(counter, u32(1)))
        bar_sync_some(u32(consumer + 1), u32(128))
        came = ld_relaxed_gpu(mine + u64(2048 * groups))
        last = came == parts - 1
        if last:
            if t == 0:
                st_global_b32(counter, 0)
            if mask:
                for i in range(4 * groups):
                    acc[i] = 0
                for p in range(parts):
                    source = first + u64(piece * consumers) * u64(p) + u64(16 * t)
                    for j in range(groups):
                        s0, s1, s2, s3 = ld_relaxed_v4_f32(source + u64(2048 * j))
                        acc[4 * j], acc[4 * j + 1] = acc[4 * j] + s0, acc[4 * j + 1] + s1
                        acc[4 * j + 2], acc[4 * j + 3] = acc[4 * j + 2] + s2, acc[4 * j + 3] + s3
        return last

    return reduce
