"""mbarriers: where threads and the copy engine tell each other that bytes have come, or that a place is free.

An mbarrier is 8 bytes of shared memory. A phase of it completes when as many arrivals as it was made for have come, and
all bytes that they announced; then the next begins. Addresses are bytes in the .shared window (u32), 8-byte aligned.
"""

from cuda_kernels.intrinsics.instruction import instruction
from simlayout.hardware.tables.arch import LANES


@instruction("mbarrier.init.shared::cta.b64 [$0], $1;", "<- u32 u32")
def mbarrier_init(warp, address, count):
    """Makes an mbarrier whose phases take `count` arrivals (PTX ISA: mbarrier.init)."""
    warp.mbarrier_init(address, count)


@instruction("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "<- u32 u32")
def mbarrier_arrive_expect_tx(warp, address, nbytes):
    """Announces `nbytes` bytes of copies that complete on the barrier, and arrives (PTX ISA: mbarrier.arrive)."""
    warp.mbarrier_arrive(address, expect=nbytes)


@instruction("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", "<- u32")
def cp_async_mbarrier_arrive(warp, address):
    """Every lane arrives, as one of the arrivals that the phase takes, when its cp.async so far have landed (PTX ISA:
    cp.async.mbarrier.arrive)."""
    warp.copies_arrive(address, adds=False)


@instruction("{ .reg .pred p; setp.ne.s32 p, $0, 0; @p mbarrier.arrive.shared::cta.b64 _, [$1]; }", "<- s32 u32")
def mbarrier_arrive_if(warp, condition, address):
    """Every thread whose condition is not 0 arrives. A predicate, no branch: the warp stays together."""
    warp.mbarrier_arrive(address, lanes=_true(warp, condition))


@instruction("{ .reg .pred p; .reg .b32 r; setp.ne.s32 p, $0, 0; mapa.shared::cluster.u32 r, $1, $2;"
             " @p mbarrier.arrive.shared::cluster.b64 _, [r]; }", "<- s32 u32 u32")
def mbarrier_arrive_cluster_if(warp, condition, address, cta):
    """Every thread whose condition is not 0 arrives on the mbarrier at this address in CTA `cta` of the cluster.

    Neither releases to the cluster, which would wait for all of global memory: the stage was only read.
    """
    warp.mbarrier_arrive_remote(address, cta, lanes=_true(warp, condition))


@instruction("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; @done bra over; bra again;"
             " over: }", "<- u32 u32")
def mbarrier_wait(warp, address, parity):
    """Waits until the phase of this parity (0 for the first one) is complete; passes at once for the parity before the
    first phase, 1 (PTX ISA: mbarrier.try_wait.parity, in a loop)."""
    warp.mbarrier_wait(address, parity)


@instruction("fence.mbarrier_init.release.cluster;", "<-")
def fence_mbarrier_init(warp):
    """Makes this thread's mbarrier.init visible to the cluster, behind a `cluster_arrive_relaxed` (PTX ISA:
    fence.mbarrier_init)."""
    warp.fence_mbarrier_init()


@instruction("fence.proxy.async.shared::cta;", "<-")
def fence_proxy_async(warp):
    """Makes this thread's stores to shared memory visible to TMA and wgmma (PTX ISA: membar, fence.proxy). Without
    .shared::cta it would also wait for global memory."""
    warp.fence_proxy_async("shared")


def _true(warp, condition):
    """bool [32]: where a uniform or lane-varying number is not 0."""
    import numpy as np

    return np.broadcast_to(np.asarray(condition) != 0, (LANES,))
