"""TMA: one thread moves a whole box between global and shared memory (PTX ISA: cp.async.bulk.tensor).

A tensor map says where the tensor lies and how the box is swizzled in shared memory: on the GPU the address of 128 bytes
that the driver encoded, on the CPU machine a `simlayout.TensorMap`. Coordinates count elements, innermost first; what lies
outside of the tensor reads as zeros and is not written.
"""

from functools import lru_cache

from cuda_kernels.intrinsics.instruction import Instruction, instruction
from cuda_kernels.intrinsics.mbarrier import _true


@instruction("prefetch.tensormap [$0];", "<- u64")
def prefetch_tensormap(warp, tensor_map):
    """Fetches a tensor map into the descriptor cache."""


@instruction("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
             " [$0], [$1, {$3, $4, $5}], [$2];", "<- u32 u64 u32 s32 s32 s32")
def tma_load_3d(warp, destination, tensor_map, mbarrier, c0, c1, c2):
    """Copies the box at (c0, c1, c2) to shared memory at `destination`; its bytes complete on `mbarrier`.

    By one thread. destination: 128-byte aligned, to the swizzle's period if descriptors are to see the pattern from its
    start (1024 bytes for 128-byte swizzle).
    """
    warp.tma_load(tensor_map, (c0, c1, c2), destination, mbarrier)


@instruction("{ .reg .b16 m; cvt.u16.u32 m, $3;"
             " cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
             " [$0], [$1, {$4, $5, $6}], [$2], m; }", "<- u32 u64 u32 u32 s32 s32 s32")
def tma_load_3d_multicast(warp, destination, tensor_map, mbarrier, ctas, c0, c1, c2):
    """tma_load_3d into every CTA of the cluster whose bit is set in `ctas`: to the same address in each, completing on the
    mbarrier at the same address in each."""
    warp.tma_load(tensor_map, (c0, c1, c2), destination, mbarrier, multicast=int(ctas))


@instruction("{ .reg .pred p; setp.ne.s32 p, $0, 0;"
             " @p cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [$1, {$3, $4, $5}], [$2]; }",
             "<- s32 u64 u32 s32 s32 s32")
def tma_store_3d_if(warp, condition, tensor_map, source, c0, c1, c2):
    """The thread whose condition is not 0 copies a box from shared memory to the tensor at (c0, c1, c2)."""
    warp.tma_store(tensor_map, (c0, c1, c2), source, lanes=_true(warp, condition))


@instruction("{ .reg .pred p; setp.ne.s32 p, $0, 0; @p cp.async.bulk.commit_group; }", "<- s32")
def bulk_commit_group_if(warp, condition):
    """The threads whose condition is not 0 close a group of the stores that they issued."""
    warp.bulk_commit(lanes=_true(warp, condition))


@lru_cache(None)
def bulk_wait_group_read_if(pending):
    """The instruction with which a thread whose condition is not 0 waits until all its groups but the newest `pending`
    have read their source, which may then be written again: `wait = bulk_wait_group_read_if(0)` outside the kernel."""
    def twin(warp, condition):
        warp.bulk_wait(pending, read=True, lanes=_true(warp, condition))

    text = f"{{ .reg .pred p; setp.ne.s32 p, $0, 0; @p cp.async.bulk.wait_group.read {pending}; }}"
    return Instruction(f"bulk_wait_group_read_{pending}_if", text, (), ("s32",), twin=twin)
