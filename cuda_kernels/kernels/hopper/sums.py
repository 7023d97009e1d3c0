"""The sums of products that a thread holds, f32 or s32: the register array's type, and how four of them travel between CTAs.

A kernel's Python is the same for both; what it closes over is of one type.
"""

from dataclasses import dataclass

from cuda_kernels.intrinsics import (
    f32,
    ld_relaxed_b128,
    ld_relaxed_v4_f32,
    ld_shared_v4_f32,
    ld_volatile_shared_b128,
    s32,
    st_async_b128,
    st_async_v4_f32,
    st_global_b128,
    st_global_v4_f32,
)


@dataclass(frozen=True)
class Sums:
    """Device functions for sums of one type. scalar: what `register_array` takes; offer(address, v0, v1, v2, v3) and
    taken(address) -> four: through global memory; send(shared address, mbarrier, rank, v0, v1, v2, v3): to
    the shared memory of a CTA of the cluster; held(shared address) -> four: from this CTA's."""

    scalar: object
    offer: object
    taken: object
    send: object
    held: object


def _taken_signed(address):
    p0, p1, p2, p3 = ld_relaxed_b128(address)
    return s32(p0), s32(p1), s32(p2), s32(p3)


def _held_signed(address):
    p0, p1, p2, p3 = ld_volatile_shared_b128(address)
    return s32(p0), s32(p1), s32(p2), s32(p3)


SUMS = {
    "f32": Sums(f32, st_global_v4_f32, ld_relaxed_v4_f32, st_async_v4_f32, ld_shared_v4_f32),
    "s32": Sums(s32, st_global_b128, _taken_signed, st_async_b128, _held_signed),
}
"""By the type of the sums."""
