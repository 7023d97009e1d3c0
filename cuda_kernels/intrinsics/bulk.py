"""TMA: one thread moves a whole box between global and shared memory (PTX ISA: cp.async.bulk.tensor), or a run of bytes
(cp.async.bulk, cp.reduce.async.bulk).

A tensor map says where the tensor lies and how the box is swizzled in shared memory: on the GPU the address of 128 bytes
that the driver encoded, on the CPU machine a `simlayout.TensorMap`. Coordinates count elements, innermost first; what lies
outside of the tensor reads as zeros and is not written. Addresses and sizes of runs of bytes are multiples of 16.
"""

from functools import lru_cache

from cuda_kernels.intrinsics.instruction import Instruction, instruction
from cuda_kernels.intrinsics.mbarrier import _true


@instruction("prefetch.tensormap [$0];", "<- u64")
def prefetch_tensormap(warp, tensor_map):
    """Fetches a tensor map into the descriptor cache."""


@instruction("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [$0, {$1, $2, $3}];", "<- u64 s32 s32 s32")
def tma_prefetch_3d(warp, tensor_map, c0, c1, c2):
    """Fetches the box at (c0, c1, c2) to L2."""


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


# ---- runs of bytes --------------------------------------------------------------------------------------------------

@instruction("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];", "<- u32 u64 u32 u32")
def bulk_load(warp, destination, source, nbytes, mbarrier):
    """Every thread copies nbytes from global memory to shared memory at `destination`; they complete on `mbarrier`."""
    warp.bulk_load(source, destination, nbytes, mbarrier)


@instruction("{ .reg .b16 m; cvt.u16.u32 m, $4; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
             ".multicast::cluster [$0], [$1], $2, [$3], m; }", "<- u32 u64 u32 u32 u32")
def bulk_load_multicast(warp, destination, source, nbytes, mbarrier, ctas):
    """bulk_load into every CTA of the cluster whose bit is set in `ctas`: to the same address in each, completing on the
    mbarrier at the same address in each."""
    warp.bulk_load(source, destination, nbytes, mbarrier, multicast=int(ctas))


_MAPPED = "{ .reg .b32 d, m; mapa.shared::cluster.u32 d, $0, $4; mapa.shared::cluster.u32 m, $3, $4;"


@instruction(f"{_MAPPED} cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [d], [$1], $2, [m]; }}",
             "<- u32 u32 u32 u32 u32")
def bulk_send(warp, destination, source, nbytes, mbarrier, cta):
    """Every thread copies nbytes of this CTA's shared memory to `destination` in CTA `cta` of the cluster, where they
    complete on the mbarrier at this address."""
    warp.bulk_send(source, nbytes, destination, mbarrier, cta)


@lru_cache(None)
def bulk_send_reduce(op, dtype):
    """The instruction with which every thread combines nbytes of this CTA's shared memory with what is at `destination` in
    CTA `cta` of the cluster, element by element; they complete on the mbarrier at this address there:
    `add = bulk_send_reduce("add", "u32")` outside the kernel, `add(destination, source, nbytes, mbarrier, cta)` in it.

    op: add, min, max, inc, dec, and, or, xor; dtype: of those that the PTX ISA has for it in shared memory: u32, s32, u64
    for add, u32, s32 for min and max, u32 for inc and dec, b32 for the others (cp.reduce.async.bulk). Raises MachineError
    for others.

    >>> bulk_send_reduce("min", "s32").name
    'bulk_send_reduce_min_s32'
    """
    from simlayout.machine.engine.bulk_places import reduction

    reduction("cp.reduce.async.bulk", op, dtype, shared=True)

    def twin(warp, destination, source, nbytes, mbarrier, cta):
        warp.bulk_send_reduce(source, nbytes, destination, mbarrier, cta, op, dtype)

    text = (f"{_MAPPED} cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{dtype}"
            " [d], [$1], $2, [m]; }")
    return Instruction(f"bulk_send_reduce_{op}_{dtype}", text, (), ("u32",) * 5, twin=twin)


@instruction("cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;", "<- u64 u32 u32")
def bulk_store(warp, destination, source, nbytes):
    """Every thread copies nbytes from shared memory to global memory, in its open group."""
    warp.bulk_store(destination, source, nbytes)


@lru_cache(None)
def bulk_reduce(op, dtype):
    """The instruction with which every thread combines nbytes of shared memory with what is in global memory, element by
    element: `add = bulk_reduce("add", "f32")` outside the kernel, `add(destination, source, nbytes)` in it.

    op: add, min, max, inc, dec, and, or, xor; dtype: of those that the PTX ISA has for it, add of u32, s32, u64, f16, bf16,
    f32, f64, for example (cp.reduce.async.bulk). Raises MachineError for others.

    >>> bulk_reduce("add", "bf16").text
    'cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [$0], [$1], $2;'
    """
    from simlayout.machine.engine.bulk_places import reduction

    reduction("cp.reduce.async.bulk", op, dtype)
    kind = f"{op}.noftz.{dtype}" if op == "add" and dtype in ("f16", "bf16") else f"{op}.{dtype}"

    def twin(warp, destination, source, nbytes):
        warp.bulk_reduce(destination, source, nbytes, op, dtype)

    text = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{kind} [$0], [$1], $2;"
    return Instruction(f"bulk_reduce_{op}_{dtype}", text, (), ("u64", "u32", "u32"), twin=twin)


@instruction("cp.async.bulk.commit_group;", "<-")
def bulk_commit_group(warp):
    """Closes the group of all bulk stores and reductions of each thread since its last one."""
    warp.bulk_commit()


@lru_cache(None)
def bulk_wait_group(pending, read=False):
    """The instruction with which each thread waits until all its groups but the newest `pending` are over, or (read) have
    read their source: `wait = bulk_wait_group(0)` outside the kernel."""
    text = f"cp.async.bulk.wait_group{'.read' * read} {pending};"
    return Instruction(f"bulk_wait_group_{'read_' * read}{pending}", text, (), (),
                       twin=lambda warp: warp.bulk_wait(pending, read=read))
