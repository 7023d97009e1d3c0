"""Barriers among the warps of a CTA."""

from cuda_kernels.intrinsics.instruction import instruction


def _syncthreads():
    from numba import cuda

    return cuda.syncthreads


@instruction("bar.sync 0;", "<-", converged=True, lowering=_syncthreads)
def bar_sync(warp):
    """Waits for every thread of the CTA; orders their shared-memory accesses (PTX ISA: bar.sync 0)."""
    warp.barrier()


@instruction("{ .reg .pred p; setp.ne.u32 p, 0, 0; barrier.cta.red.popc.aligned.u32 $0, 0, p; }", "b32 <-", converged=True)
def bar_sync_zero(warp):
    """bar_sync that returns 0: the count of threads whose predicate holds, with a predicate that never does.

    The compiler cannot know the count, so what is computed with it stays behind the barrier (PTX ISA: barrier.red).
    """
    warp.barrier()
    return 0


@instruction("bar.warp.sync 0xffffffff;", "<-", converged=True)
def bar_warp_sync(warp):
    """Waits for all lanes of the warp; orders their shared-memory accesses (PTX ISA: bar.warp.sync)."""
    warp.sync()


@instruction("bar.sync $0, $1;", "<- u32 u32", converged=True)
def bar_sync_some(warp, barrier, threads):
    """Waits at barrier 0..15 for `threads` threads, a multiple of 32 (PTX ISA: bar.sync a, b)."""
    warp.barrier(int(barrier), int(threads))


@instruction("bar.arrive $0, $1;", "<- u32 u32", converged=True)
def bar_arrive_some(warp, barrier, threads):
    """Arrives at barrier 0..15, where others wait for `threads` threads with `bar_sync_some`, and goes on (PTX ISA:
    bar.arrive)."""
    warp.barrier_arrive(int(barrier), int(threads))


@instruction("barrier.cluster.arrive.relaxed.aligned;", "<-", converged=True)
def cluster_arrive_relaxed(warp):
    """Arrives where `cluster_wait` waits for all threads of the cluster. It orders what a `fence_mbarrier_init` before it
    covers, not other memory accesses (PTX ISA: barrier.cluster.arrive.relaxed)."""
    warp.cluster_arrive(relaxed=True)


@instruction("barrier.cluster.wait.acquire.aligned;", "<-", converged=True)
def cluster_wait(warp):
    """Waits until all threads of the cluster have arrived (PTX ISA: barrier.cluster.wait)."""
    warp.cluster_wait()


@instruction("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;", "<-", converged=True)
def cluster_sync(warp):
    """Waits for all threads of the cluster; orders their memory accesses (PTX ISA: barrier.cluster)."""
    warp.cluster_sync()
