"""What reaches beyond the CTA: distributed shared memory, and the kernels before and after this one in the stream."""

import numpy as np

from cuda_kernels.intrinsics.instruction import instruction
from simlayout.hardware.tables.arch import LANES


@instruction("{ .reg .b32 r; mapa.shared::cluster.u32 r, $4, $5; ld.shared::cluster.v4.f32 {$0, $1, $2, $3}, [r]; }",
             "f32 f32 f32 f32 <- u32 u32")
def ld_shared_cluster_v4_f32(warp, address, rank):
    """Four f32 per lane from the shared memory of CTA `rank` of the cluster, at this CTA's address for the same place,
    16-byte aligned; what that CTA wrote before a `cluster_sync` is there (PTX ISA: mapa, ld.shared::cluster)."""
    data = np.ascontiguousarray(warp.peer_load("ld.shared::cluster.b128", address, 16, rank))
    return tuple(data.view(np.float32).reshape(LANES, 4).T)


@instruction("{ .reg .b32 r; mapa.shared::cluster.u32 r, $4, $5; ld.shared::cluster.v4.b32 {$0, $1, $2, $3}, [r]; }",
             "b32 b32 b32 b32 <- u32 u32")
def ld_shared_cluster_b128(warp, address, rank):
    """Four words per lane from the shared memory of CTA `rank` of the cluster, as ld_shared_cluster_v4_f32."""
    data = np.ascontiguousarray(warp.peer_load("ld.shared::cluster.b128", address, 16, rank))
    return tuple(data.view(np.uint32).reshape(LANES, 4).T.astype(np.int64))


@instruction("griddepcontrol.wait;", "<-")
def griddepcontrol_wait(warp):
    """Waits until the kernel ahead in the stream has ended and its writes are visible, if this one was launched to overlap
    it (PTX ISA: griddepcontrol). The CPU machine runs one kernel at a time."""


@instruction("griddepcontrol.launch_dependents;", "<-")
def griddepcontrol_launch_dependents(warp):
    """Lets the kernel behind it in the stream start, if that was launched to overlap this one and all CTAs have said so."""
