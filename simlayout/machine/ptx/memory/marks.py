"""Marks: who has touched a cell of memory last, and when, in one number. Only what stands here knows where its bits are.

A mark is a uint64, of these fields from the highest bits to the lowest:

    of shared memory   interval: 16 bits   syncs: 32       who: 16
    of global memory   CTA + 1: 32 bits    interval: 16    who: 16

interval: between two barriers of the whole CTA, from 1 on; syncs: at how many bar.warp.sync of all its lanes the warp has
been. The two fields in front of `who` are *when* something was done. who: 1 + the thread, or SOME_OF_WARP + the warp, or
SEVERAL of the CTA. Two marks have no fields: NOBODY and ALL.

The functions are part of what `compiled.doubts` compiles; whoever needs only the constants needs no Numba.
"""

import numpy as np

U64, I64 = np.uint64, np.int64

SOME_OF_WARP, SEVERAL = 0x8000, 0xFFFF
"""In the place of a thread: several of a warp, whose number is added, or of the CTA."""

NOBODY, ALL = U64(0), U64(0xFFFFFFFFFFFFFFFF)
"""The mark of nobody; and one that nothing orders with anything, of threads of several CTAs, or of a copy on its way."""

MIXED = 0
"""In the place of what cells were written by: stores of several places or values, of which nothing is known."""

MOST_INTERVALS = 1 << 16
"""Intervals that are told apart."""

_WHO = U64(SEVERAL)


def in_shared(interval, syncs):
    """When something is done that touches shared memory, uint64.

    >>> hex(by_thread(in_shared(interval=3, syncs=1), thread=64))
    '0x3000000010041'
    """
    return U64(interval) << U64(48) | U64(syncs) << U64(16)


def in_global(cta, interval):
    """When something is done that touches global memory, uint64. cta: its number + 1.

    >>> hex(by_thread(in_global(cta=3, interval=1), thread=64))
    '0x300010041'
    """
    return U64(cta) << U64(32) | U64(interval) << U64(16)


def by_thread(when, thread):
    """The mark of a thread."""
    return when | U64(thread + 1)


def by_warp(when, warp):
    """The mark of several threads of a warp."""
    return when | U64(SOME_OF_WARP + warp)


def by_several(when):
    """The mark of several threads of a CTA."""
    return when | U64(SEVERAL)


def who_of(mark):
    """The field `who`."""
    return mark & _WHO


def when_of(mark):
    """When that was: what `in_shared` or `in_global` has made."""
    return mark & ~_WHO


def interval_of(mark):
    """The interval, of a mark in shared memory."""
    return mark >> U64(48)


def cta_of(mark):
    """The CTA's number + 1, of a mark in global memory."""
    return mark >> U64(32)


def warp_of(mark):
    """The number of the warp; of NOBODY and of SEVERAL one that no warp has.

    >>> when = in_shared(interval=1, syncs=0)
    >>> int(warp_of(by_thread(when, thread=64))), int(warp_of(by_warp(when, warp=2)))
    (2, 2)
    """
    who = I64(mark & _WHO)
    return who - SOME_OF_WARP if who >= SOME_OF_WARP else who - 1 >> 5
