"""Consumers that take turns to issue products, in a ring: each waits until the one before it has issued its own.

With pingpong a turn is a tile of the consumer's own, and the one that waits stores C meanwhile. Those that promote
(`promote`) take a band of a stage by turns.
"""

from cuda_kernels.intrinsics import bar_arrive_some, bar_sync_some, u32
from simlayout.hardware.matrix.wgmma_fragments import THREADS

FIRST = 10
"""The named barrier of the first consumer's turn; those of the others follow. `wgmma_persistent` says whose the rest are."""


def make_turns(consumers):
    """(await_turn(consumer, waits), end_turn(consumer, goes_on)) of a ring of so many consumers; one alone does nothing.

    waits: whether another one ends a turn for it, which nobody does for the CTA's first turn; goes_on: whether the next one
    awaits what this one ends, which nobody does behind the CTA's last turn. The turns between go round without a break: a
    first consumer that began a tile without waiting might end two turns before the second one has awaited one, and a named
    barrier takes two arrivals of one consumer for those of both.
    """
    last, both = consumers - 1, 2 * THREADS

    def await_turn(consumer, waits):
        if consumers > 1 and waits:
            bar_sync_some(u32(FIRST + consumer), u32(both))

    def end_turn(consumer, goes_on):
        if consumers > 1 and goes_on:
            bar_arrive_some(u32(FIRST + (consumer + 1 if consumer < last else 0)), u32(both))

    return await_turn, end_turn
