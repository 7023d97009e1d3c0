"""Global memory: loads of what may not be there, cp.async into shared memory, and counters.

Global addresses are bytes (u64); `valid` counts the bytes that exist, the rest of the destination becomes zero.
"""

from functools import lru_cache

import numpy as np

from cuda_kernels.intrinsics.instruction import Instruction, instruction
from cuda_kernels.intrinsics.plain import registers_of
from simlayout.hardware.tables.arch import LANES


def _read_valid(warp, source, valid, nbytes, copy=None):
    """uint8 [32, nbytes]: the first `valid` bytes of each lane's source, zeros behind them.

    valid: 0..nbytes, uniform or [32]. copy: as of `GlobalPointer.read`.
    """
    varying = isinstance(valid, np.ndarray) and valid.ndim > 0
    counts = set(valid[warp.active].tolist()) if varying else {int(valid)}
    if counts == {nbytes}:
        return source.read(warp.active, nbytes, copy=copy)
    data = np.zeros((LANES, nbytes), np.uint8)
    for count in counts - {0}:
        lanes = warp.active & (valid == count)
        data[lanes, :count] = source.read(lanes, count, alignment=nbytes, copy=copy)[lanes]
    return data


def _bytes_if(exists, nbytes):
    """nbytes where `exists` is not 0, else 0; uniform or [32]."""
    return np.asarray(exists != 0) * nbytes


@instruction("cp.async.cg.shared.global.L2::128B [$0], [$1], 16;", "<- u32 u64")
def cp_async_cg_16(warp, destination, source):
    """16 bytes from global to shared memory, past L1, asynchronously (PTX ISA: cp.async).

    destination: shared byte address, source: global byte address, both 16-byte aligned.
    """
    warp.commit_copy("cp.async.cg.16", destination, source.read(warp.active, 16, copy=warp), source)


@instruction("cp.async.cg.shared.global.L2::128B [$0], [$1], 16, $2;", "<- u32 u64 u32")
def cp_async_cg_16_zfill(warp, destination, source, valid):
    """cp_async_cg_16 of the first `valid` bytes; the rest of the 16 becomes zero (PTX ISA: cp.async, with src-size).

    destination: shared byte address, 16-byte aligned; source: global byte address, 16-byte aligned (not read where
    valid is 0); valid: 0..16 bytes that are read, the rest is written as zeros.
    """
    warp.commit_copy("cp.async.cg.16", destination, _read_valid(warp, source, valid, 16, warp), source, valid)


@instruction("cp.async.ca.shared.global [$0], [$1], 4;", "<- u32 u64")
def cp_async_ca_4(warp, destination, source):
    """4 bytes from global to shared memory, asynchronously; both addresses 4-byte aligned (PTX ISA: cp.async)."""
    warp.commit_copy("cp.async.ca.4", destination, source.read(warp.active, 4, copy=warp), source)


@instruction("cp.async.commit_group;", "<-")
def cp_async_commit_group(warp):
    """Closes the group of all cp.async of this thread since the last commit (an empty group counts too)."""
    warp.commit_group()


@lru_cache(None)
def cp_async_wait_group(pending):
    """The instruction `cp.async.wait_group pending`: waits until at most `pending` of this thread's groups are open.

    The count is part of the instruction, so this makes one: `wait = cp_async_wait_group(2)` outside the kernel.
    """
    return Instruction(f"cp_async_wait_group_{pending}", f"cp.async.wait_group {pending};", (), (),
                       twin=lambda warp: warp.wait_group(pending))


_GUARDED_B128 = (
    "{ .reg .pred p; setp.ne.u32 p, $5, 0; mov.b32 $0, 0; mov.b32 $1, 0; mov.b32 $2, 0; mov.b32 $3, 0;"
    " @p ld.global.v4.b32 {$0, $1, $2, $3}, [$4]; }")


@instruction(_GUARDED_B128, "b32 b32 b32 b32 <- u64 u32")
def ld_global_b128(warp, source, valid):
    """16 bytes per lane, 16-byte aligned; zeros (and no access) where `valid` is 0."""
    return registers_of(_read_valid(warp, source, _bytes_if(valid, 16), 16), ("b32",) * 4)


@instruction("{ .reg .pred p; setp.ne.u32 p, $3, 0; mov.b32 $0, 0; mov.b32 $1, 0; @p ld.global.v2.b32 {$0, $1}, [$2]; }",
             "b32 b32 <- u64 u32")
def ld_global_v2_b32(warp, source, valid):
    """8 bytes per lane, 8-byte aligned; zeros (and no access) where `valid` is 0."""
    return registers_of(_read_valid(warp, source, _bytes_if(valid, 8), 8), ("b32",) * 2)


@instruction("{ .reg .pred p; .reg .b16 h; setp.ne.u32 p, $2, 0; mov.b16 h, 0; @p ld.global.b16 h, [$1];"
             " cvt.u32.u16 $0, h; }", "b32 <- u64 u32")
def ld_global_b16(warp, source, valid):
    """2 bytes per lane, zero-extended; zero (and no access) where `valid` is 0."""
    return registers_of(_read_valid(warp, source, _bytes_if(valid, 2), 2))


_ONE_IF = "{{ .reg .pred p; .reg .b16 h; setp.ne.u32 p, $2, 0; mov.b16 h, 0; @p ld.global.b16 h, [$1]; {} }}"
_TWO_IF = ("{{ .reg .pred p; .reg .b32 w; .reg .b16 l, h; setp.ne.u32 p, $3, 0; mov.b32 w, 0; @p ld.global.b32 w, [$2];"
           " mov.b32 {{l, h}}, w; {} }}")
_WIDENED = "{ .reg .b16 z; mov.b16 z, 0; mov.b32 $0, {z, h}; }"


@instruction("{ .reg .pred p; setp.ne.u32 p, $2, 0; mov.b32 $0, 0; @p ld.global.f32 $0, [$1]; }", "f32 <- u64 u32")
def ld_global_f32_if(warp, source, exists):
    """One f32 per lane, 4-byte aligned; zero (and no access) where `exists` is 0."""
    return _read_valid(warp, source, _bytes_if(exists, 4), 4).view(np.float32)[:, 0]


@instruction(_ONE_IF.format("cvt.f32.f16 $0, h;"), "f32 <- u64 u32")
def ld_global_f16_if(warp, source, exists):
    """One f16 per lane as f32, 2-byte aligned; zero (and no access) where `exists` is 0."""
    return _read_valid(warp, source, _bytes_if(exists, 2), 2).view(np.float16)[:, 0].astype(np.float32)


@instruction(_ONE_IF.format(_WIDENED), "f32 <- u64 u32")
def ld_global_bf16_if(warp, source, exists):
    """One bf16 per lane as f32, 2-byte aligned; zero (and no access) where `exists` is 0."""
    return _of_bf16(_read_valid(warp, source, _bytes_if(exists, 2), 2))[:, 0]


@instruction(_TWO_IF.format("cvt.f32.f16 $0, l; cvt.f32.f16 $1, h;"), "f32 f32 <- u64 u32")
def ld_global_f16x2_if(warp, source, exists):
    """Two neighbouring f16 per lane as f32, 4-byte aligned; zeros (and no access) where `exists` is 0."""
    both = _read_valid(warp, source, _bytes_if(exists, 4), 4).view(np.float16).astype(np.float32)
    return both[:, 0], both[:, 1]


@instruction(_TWO_IF.format("{ .reg .b16 z; mov.b16 z, 0; mov.b32 $0, {z, l}; mov.b32 $1, {z, h}; }"),
             "f32 f32 <- u64 u32")
def ld_global_bf16x2_if(warp, source, exists):
    """Two neighbouring bf16 per lane as f32, 4-byte aligned; zeros (and no access) where `exists` is 0."""
    both = _of_bf16(_read_valid(warp, source, _bytes_if(exists, 4), 4))
    return both[:, 0], both[:, 1]


def _of_bf16(data):
    """f32 of bytes [32, 2 n] of bf16: their bits with zeros below."""
    return (np.ascontiguousarray(data).view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


@instruction("atom.add.acq_rel.gpu.global.u32 $0, [$1], $2;", "s32 <- u64 u32")
def atom_add_acq_rel_gpu(warp, address, value):
    """Adds to a counter in global memory and returns what it held; orders this thread's accesses around it for the GPU."""
    return warp.atomic_add(address, value)


@instruction("{ .reg .pred p; .reg .b32 v; again: ld.acquire.gpu.global.u32 v, [$0]; setp.lt.u32 p, v, $1; @p bra again; }",
             "<- u64 u32")
def wait_global_at_least(warp, address, value):
    """Waits until a counter in global memory is at least `value`; what was written before its releases is visible then."""
    warp.wait_at_least(address, value)
