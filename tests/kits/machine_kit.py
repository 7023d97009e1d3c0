"""Instruction objects for the tests of the machine, and helpers that launch a kernel and look at what it did."""

import linecache
import sys

import numpy as np
import pytest

from simlayout.machine import RegisterArray, run
from simlayout.machine.hazards.kinds import HazardLog, hazard


class Instruction:
    """The least that the machine asks for: a name, a twin, and whether the warp must be together."""

    def __init__(self, twin, converged=False):
        self.name, self.twin, self.converged = twin.__name__, twin, converged


def words(values, dtype=np.int32):
    return np.broadcast_to(np.asarray(values), (32,)).astype(dtype).reshape(32, 1).view(np.uint8)


@Instruction
def tid_x(warp):
    return warp.tid


@Instruction
def ctaid_x(warp):
    return warp.index[0]


@Instruction
def st_global(warp, pointer, value):
    pointer.write(warp.active, words(value))


@Instruction
def st_global_f32(warp, pointer, value):
    pointer.write(warp.active, words(value, np.float32))


@Instruction
def ld_global(warp, pointer):
    return pointer.read(warp.active, 4).view(np.int32)[:, 0].astype(np.int64)


@Instruction
def ld_shared(warp, address):
    return warp.shared_load("ld.shared.b32", address, 4).view(np.int32)[:, 0].astype(np.int64)


@Instruction
def st_shared(warp, address, value):
    warp.shared_store("st.shared.b32", address, words(value))


@Instruction
def ldmatrix_x2(warp, address):
    rows = warp.shared_rows("ldmatrix.x2", address)
    return tuple(r.astype(np.int64) for r in rows.view(np.uint32).reshape(2, 32))


@Instruction
def stmatrix_x1(warp, address, value):
    warp.shared_store_rows("stmatrix.x1", address, words(value).reshape(8, 16))


@Instruction
def st_shared_b128(warp, address, value):
    warp.shared_store("st.shared.b128", address, np.tile(words(value), 4))


@Instruction
def ldmatrix_x4(warp, address):
    rows = warp.shared_rows("ldmatrix.x4", address)
    return tuple(r.astype(np.int64) for r in rows.view(np.uint32).reshape(4, 32))


@Instruction
def cp_async(warp, address, pointer):
    warp.commit_copy("cp.async.ca.4", address, pointer.read(warp.active, 4, copy=warp))


commit = Instruction(lambda warp: warp.commit_group())
wait_0 = Instruction(lambda warp: warp.wait_group(0))
wait_1 = Instruction(lambda warp: warp.wait_group(1))
wait_2 = Instruction(lambda warp: warp.wait_group(2))
bar_warp_sync = Instruction(lambda warp: warp.sync())
bar_sync = Instruction(lambda warp: warp.barrier())
bar_1_of_64 = Instruction(lambda warp: warp.barrier(1, 64))
bar_1_of_32 = Instruction(lambda warp: warp.barrier(1, 32))
vote = Instruction(lambda warp: int(warp.active.sum()))
together = Instruction(lambda warp: 0, converged=True)
registers = Instruction(lambda warp, shape, dtype: RegisterArray(warp, shape, dtype))


def values(kernel, *args, block=32, grid=1, count=None, **options):
    """int32 [count]: what the kernel stored through its first argument."""
    out = np.full(count or block * grid, -1, np.int32)
    run(kernel, grid, block, out, *args, **options)
    return out


def fails(error, kernel, *args, block=32, grid=1, **options):
    """The one-line message of the error that the kernel raises."""
    with pytest.raises(error) as caught:
        run(kernel, grid, block, *args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def line_of(text):
    """The line number in the calling file of the only line with a comment that begins with `# text`."""
    lines = linecache.getlines(sys._getframe(1).f_code.co_filename)
    found = [i for i, line in enumerate(lines, 1) if f"# {text}\n" in line or f"# {text}  #" in line]
    assert len(found) == 1, (text, found)
    return found[0]


# ---- Hopper ---------------------------------------------------------------------------------------------------------

mbarrier_init = Instruction(lambda warp, address, count: warp.mbarrier_init(address, count))
mbarrier_arrive = Instruction(lambda warp, address: warp.mbarrier_arrive(address))
mbarrier_expect = Instruction(lambda warp, address, nbytes: warp.mbarrier_arrive(address, expect=nbytes))
mbarrier_arrive_remote = Instruction(lambda warp, address, cta: warp.mbarrier_arrive_remote(address, cta))
mbarrier_wait = Instruction(lambda warp, address, parity: warp.mbarrier_wait(address, parity))
copies_arrive = Instruction(lambda warp, address: warp.copies_arrive(address, adds=False))
fence_mbarrier_init = Instruction(lambda warp: warp.fence_mbarrier_init())
fence_proxy_async = Instruction(lambda warp: warp.fence_proxy_async())
tma_load = Instruction(lambda warp, tensor, coords, at, mbarrier: warp.tma_load(tensor, coords, at, mbarrier))
tma_multicast = Instruction(lambda warp, tensor, coords, at, bar, to: warp.tma_load(tensor, coords, at, bar, multicast=to))
tma_store = Instruction(lambda warp, tensor, coords, at: warp.tma_store(tensor, coords, at))
bulk_commit = Instruction(lambda warp: warp.bulk_commit())
bulk_wait = Instruction(lambda warp, pending: warp.bulk_wait(pending))
wgmma_fence = Instruction(lambda warp: warp.wgmma_fence(), converged=True)
wgmma = Instruction(lambda warp, *operands: warp.wgmma(*operands), converged=True)
wgmma_commit = Instruction(lambda warp: warp.wgmma_commit(), converged=True)
wgmma_wait = Instruction(lambda warp, pending: warp.wgmma_wait(pending), converged=True)
bar_some = Instruction(lambda warp, id, threads: warp.barrier(id, threads), converged=True)
setmaxnreg = Instruction(lambda warp, count, increase: warp.setmaxnreg(count, increase), converged=True)
cluster_rank = Instruction(lambda warp: warp.cluster_rank())
cluster_sync = Instruction(lambda warp: warp.cluster_sync(), converged=True)
cluster_arrive = Instruction(lambda warp, relaxed: warp.cluster_arrive(bool(relaxed)), converged=True)
cluster_wait = Instruction(lambda warp: warp.cluster_wait(), converged=True)
bar_arrive = Instruction(lambda warp, id, threads: warp.barrier_arrive(id, threads), converged=True)
sync_of = Instruction(lambda warp, mask: warp.sync(mask))
uniform = Instruction(lambda warp, value: int(np.broadcast_to(value, 32)[0]))


@Instruction
def ld_peer(warp, address, rank):
    return warp.peer_load("ld.shared::cluster.b32", address, 4, rank).view(np.int32)[:, 0].astype(np.int64)


@Instruction
def st_shared_b8(warp, address, value):
    warp.shared_store("st.shared.b8", address, np.ascontiguousarray(words(value)[:, :1]))


bulk_load = Instruction(lambda warp, pointer, at, nbytes, bar: warp.bulk_load(pointer, at, nbytes, bar))
bulk_store = Instruction(lambda warp, pointer, at, nbytes: warp.bulk_store(pointer, at, nbytes))
bulk_reduce = Instruction(lambda warp, pointer, at, nbytes: warp.bulk_reduce(pointer, at, nbytes))

# ---- global memory, by all kinds of access ---------------------------------------------------------------------------


@Instruction
def ld_relaxed(warp, pointer):
    return pointer.read(warp.active, 4, strong=True).view(np.int32)[:, 0].astype(np.int64)


@Instruction
def st_relaxed(warp, pointer, value):
    pointer.write(warp.active, words(value), strong=True)


@Instruction
def red_relaxed(warp, pointer, value):
    """red.relaxed.add of one word per lane, all different."""
    held = pointer.peek(warp.active, 4).view(np.int32)[:, 0]
    pointer.write(warp.active, words(held + value), strong=True)


@Instruction
def atom_relaxed(warp, pointer, value):
    """atom.relaxed.add of one lane: what it found."""
    held = pointer.peek(warp.active, 4).view(np.int32)[:, 0].astype(np.int64)
    pointer.write(warp.active, words(held + value), strong=True)
    return held


@Instruction
def st_global_b16(warp, pointer, value):
    pointer.write(warp.active, np.ascontiguousarray(words(value)[:, :2]))


atomic_add = Instruction(lambda warp, pointer, value: warp.atomic_add(pointer, value))
wait_at_least = Instruction(lambda warp, pointer, value: warp.wait_at_least(pointer, value))
tma_reduce = Instruction(lambda warp, tensor, coords, at: warp.tma_reduce(tensor, coords, at))
bulk_wait_all = Instruction(lambda warp, pending: warp.bulk_wait(pending, read=False))


def every_hazard(launch):
    """All hazards that launch() finds, not one per pair of lines."""
    found, add = [], HazardLog.add

    def spy(log, *what, **words):
        found.append(hazard(*what, **words))
        add(log, *what, **words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HazardLog, "add", spy)
        patch.setattr(HazardLog, "again", lambda log, *what: False)
        launch()
    return found
