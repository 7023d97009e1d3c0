"""What reaches beyond the CTA: distributed shared memory, and the kernels before and after this one in the stream."""

from cuda_kernels.intrinsics.instruction import instruction
from cuda_kernels.intrinsics.plain import bytes_of, registers_of


@instruction("{ .reg .b32 r; mapa.shared::cluster.u32 r, $4, $5; ld.shared::cluster.v4.f32 {$0, $1, $2, $3}, [r]; }",
             "f32 f32 f32 f32 <- u32 u32")
def ld_shared_cluster_v4_f32(warp, address, rank):
    """Four f32 per lane from the shared memory of CTA `rank` of the cluster, at this CTA's address for the same place,
    16-byte aligned; what that CTA wrote before a `cluster_sync` is there (PTX ISA: mapa, ld.shared::cluster)."""
    return registers_of(warp.peer_load("ld.shared::cluster.b128", address, 16, rank), ("f32",) * 4)


def _send(type):
    """The template of st.async of four values of a type: $0 to $2 are the address, the mbarrier and the rank."""
    return ("{ .reg .b32 r, m; mapa.shared::cluster.u32 r, $0, $2; mapa.shared::cluster.u32 m, $1, $2;"
            f" st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.{type} [r], {{$3, $4, $5, $6}}, [m]; }}")


@instruction(_send("f32"), "<- u32 u32 u32 f32 f32 f32 f32")
def st_async_v4_f32(warp, address, mbarrier, rank, v0, v1, v2, v3):
    """Four f32 per lane to the shared memory of CTA `rank` of the cluster, at this CTA's address for the same place, 16-byte
    aligned. Nobody waits for them here: their 16 bytes per lane complete on the mbarrier there, at this CTA's address for it
    (PTX ISA: mapa, st.async)."""
    warp.peer_store_async("st.async.b128", address, bytes_of((v0, v1, v2, v3), ("f32",) * 4), rank, mbarrier)


@instruction(_send("b32"), "<- u32 u32 u32 b32 b32 b32 b32")
def st_async_b128(warp, address, mbarrier, rank, v0, v1, v2, v3):
    """Four words per lane to the shared memory of CTA `rank` of the cluster, as st_async_v4_f32."""
    warp.peer_store_async("st.async.b128", address, bytes_of((v0, v1, v2, v3), ("b32",) * 4), rank, mbarrier)


@instruction("griddepcontrol.wait;", "<-")
def griddepcontrol_wait(warp):
    """Waits until the kernel ahead in the stream has ended and its writes are visible, if this one was launched to overlap
    it (PTX ISA: griddepcontrol). The CPU machine runs one kernel at a time."""


@instruction("griddepcontrol.launch_dependents;", "<-")
def griddepcontrol_launch_dependents(warp):
    """Lets the kernel behind it in the stream start, if that was launched to overlap this one and all CTAs have said so."""
