"""What the lanes of a warp tell one another: shuffles, votes and sums."""

import numpy as np

from cuda_kernels.intrinsics.instruction import instruction
from simlayout.hardware.tables.arch import LANES


def _lanes(value):
    return np.broadcast_to(np.asarray(value), (LANES,))


@instruction("shfl.sync.idx.b32 $0, $1, $2, 31, -1;", "s32 <- s32 s32", ordered=False, converged=True)
def shfl_sync_idx(warp, value, lane):
    """The value of lane number `lane`, 0..31, of which each lane may ask for another one (PTX ISA: shfl.sync)."""
    asked = _lanes(value)[np.asarray(lane) & 31]
    return asked if asked.ndim else int(asked)


@instruction("{ .reg .pred p; .reg .b32 v; shfl.sync.up.b32 v|p, $1, $2, 0, -1; selp.b32 $0, v, 0, p; }", "s32 <- s32 s32",
             ordered=False, converged=True)
def shfl_sync_up_or_zero(warp, value, distance):
    """The value of the lane `distance` below, the same for all lanes; 0 where there is none (PTX ISA: shfl.sync)."""
    values, distance = _lanes(value), int(distance)
    return np.concatenate([np.zeros(distance, values.dtype), values[:LANES - distance]])


@instruction("{ .reg .pred p; .reg .b32 v; setp.ne.s32 p, $1, 0; vote.sync.ballot.b32 v, p, -1; popc.b32 $0, v; }",
             "s32 <- s32", ordered=False, converged=True)
def vote_sync_count(warp, condition):
    """In how many lanes the condition is not 0 (PTX ISA: vote.sync)."""
    return int(np.count_nonzero(_lanes(condition)))


@instruction("redux.sync.add.s32 $0, $1, -1;", "s32 <- s32", ordered=False, converged=True)
def redux_sync_add(warp, value):
    """The sum of all lanes' values (PTX ISA: redux.sync)."""
    return int(_lanes(value).sum())
