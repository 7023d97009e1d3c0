"""Two consumers with a tile each by turns (pingpong): one multiplies while the other stores C and waits for its turn."""

from cuda_kernels.intrinsics import bar_arrive_some, bar_sync_some, u32
from simlayout.hardware.matrix.wgmma_fragments import THREADS

FIRST = 10
"""The named barrier of the first consumer's turn; that of the second one follows."""


def make_turns(pingpong):
    """(await_turn(consumer, waits), end_turn(consumer, goes_on)), which do nothing where consumers take no turns.

    waits: whether the other one ends a turn for it, which nobody does for the CTA's first turn; goes_on: whether the other
    one awaits what this one ends, which nobody does behind the CTA's last turn. The turns between go round without a break:
    a first consumer that began a tile without waiting might end two turns before the second one has awaited one, and a
    named barrier takes two arrivals of one consumer for those of both.
    """
    def await_turn(consumer, waits):
        if pingpong and waits:
            bar_sync_some(u32(FIRST + consumer), u32(2 * THREADS))

    def end_turn(consumer, goes_on):
        if pingpong and goes_on:
            bar_arrive_some(u32(FIRST + 1 - consumer), u32(2 * THREADS))

    return await_turn, end_turn
