"""Loads and stores of shared memory: ld.shared, st.shared, stmatrix; ldmatrix is in ldmatrix.py.

Addresses are bytes in the .shared window (u32), one per lane. Registers are b32; wider accesses return or take
several, lowest address first.
"""

import numpy as np

from cuda_kernels.intrinsics.instruction import instruction
from simlayout.hardware.tables.arch import LANES


def _registers(data):
    """uint8 [32, 4n] -> n arrays uint32 [32]."""
    words = np.ascontiguousarray(data).view(np.uint32)
    return tuple(words[:, i] for i in range(words.shape[1]))


def _bytes(*registers):
    """n registers (any broadcastable to [32], low 32 bits or f32) -> uint8 [32, 4n]."""
    columns = []
    for r in registers:
        lanes = np.broadcast_to(np.asarray(r), (LANES,))
        columns.append(lanes.view(np.uint32) if lanes.dtype == np.float32 else lanes.astype(np.uint32))
    return np.stack(columns, axis=1).view(np.uint8)


def _doubles(value):
    """f64 per lane, or one of all -> uint8 [32, 8]."""
    lanes = np.broadcast_to(np.asarray(value, np.float64), (LANES,))
    return np.ascontiguousarray(lanes).view(np.uint8).reshape(LANES, 8)


@instruction("ld.shared.u8 $0, [$1];", "b32 <- u32")
def ld_shared_b8(warp, address):
    """One byte per lane, zero-extended."""
    return warp.shared_load("ld.shared.b8", address, 1)[:, 0].astype(np.uint32)


@instruction("ld.shared.u16 $0, [$1];", "b32 <- u32")
def ld_shared_b16(warp, address):
    """2 bytes per lane, zero-extended; address 2-byte aligned."""
    return np.ascontiguousarray(warp.shared_load("ld.shared.b16", address, 2)).view(np.uint16)[:, 0].astype(np.uint32)


@instruction("ld.shared.b32 $0, [$1];", "b32 <- u32")
def ld_shared_b32(warp, address):
    """One 4-byte word per lane (PTX ISA, Data Movement: ld); address 4-byte aligned."""
    return _registers(warp.shared_load("ld.shared.b32", address, 4))[0]


@instruction("ld.shared.v2.b32 {$0, $1}, [$2];", "b32 b32 <- u32")
def ld_shared_b64(warp, address):
    """Two words per lane; address 8-byte aligned."""
    return _registers(warp.shared_load("ld.shared.b64", address, 8))


@instruction("ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];", "b32 b32 b32 b32 <- u32")
def ld_shared_b128(warp, address):
    """Four words per lane; address 16-byte aligned."""
    return _registers(warp.shared_load("ld.shared.b128", address, 16))


@instruction("ld.shared.f32 $0, [$1];", "f32 <- u32")
def ld_shared_f32(warp, address):
    """One f32 per lane; address 4-byte aligned."""
    return np.ascontiguousarray(warp.shared_load("ld.shared.b32", address, 4)).view(np.float32)[:, 0]


@instruction("ld.shared.f64 $0, [$1];", "f64 <- u32")
def ld_shared_f64(warp, address):
    """One f64 per lane; address 8-byte aligned."""
    return np.ascontiguousarray(warp.shared_load("ld.shared.b64", address, 8)).view(np.float64)[:, 0]


@instruction("ld.volatile.shared.f32 $0, [$1];", "f32 <- u32")
def ld_volatile_shared_f32(warp, address):
    """One f32 per lane; address 4-byte aligned. Volatile: executed by every lane, whether its value is used or not."""
    return np.ascontiguousarray(warp.shared_load("ld.shared.b32", address, 4)).view(np.float32)[:, 0]


@instruction("ld.volatile.shared.v2.f32 {$0, $1}, [$2];", "f32 f32 <- u32")
def ld_volatile_shared_v2_f32(warp, address):
    """Two f32 per lane; address 8-byte aligned. Volatile: executed by every lane, whether its values are used or not."""
    loaded = np.ascontiguousarray(warp.shared_load("ld.shared.b64", address, 8)).view(np.float32)
    return loaded[:, 0], loaded[:, 1]


@instruction("ld.volatile.shared.v4.b32 {$0, $1, $2, $3}, [$4];", "b32 b32 b32 b32 <- u32")
def ld_volatile_shared_b128(warp, address):
    """Four words per lane; address 16-byte aligned. Volatile: executed by every lane, whether its value is used or not
    (ptxas moves a plain load under the condition of the only store that uses it)."""
    return _registers(warp.shared_load("ld.shared.b128", address, 16))


@instruction("ld.shared.v2.f32 {$0, $1}, [$2];", "f32 f32 <- u32")
def ld_shared_v2_f32(warp, address):
    """Two f32 per lane; address 8-byte aligned."""
    loaded = np.ascontiguousarray(warp.shared_load("ld.shared.b64", address, 8)).view(np.float32)
    return loaded[:, 0], loaded[:, 1]


@instruction("ld.shared.v4.f32 {$0, $1, $2, $3}, [$4];", "f32 f32 f32 f32 <- u32")
def ld_shared_v4_f32(warp, address):
    """Four f32 per lane; address 16-byte aligned."""
    loaded = np.ascontiguousarray(warp.shared_load("ld.shared.b128", address, 16)).view(np.float32)
    return tuple(loaded.T)


@instruction("st.shared.u8 [$0], $1;", "<- u32 b32")
def st_shared_b8(warp, address, value):
    """The low byte of a register per lane."""
    warp.shared_store("st.shared.b8", address, _bytes(value)[:, :1])


@instruction("{ .reg .b16 h; cvt.u16.u32 h, $1; st.shared.b16 [$0], h; }", "<- u32 b32")
def st_shared_b16(warp, address, value):
    """The low 2 bytes of a register per lane; address 2-byte aligned."""
    warp.shared_store("st.shared.b16", address, _bytes(value)[:, :2])


@instruction("st.shared.b32 [$0], $1;", "<- u32 b32")
def st_shared_b32(warp, address, value):
    """One 4-byte word per lane (PTX ISA, Data Movement: st); address 4-byte aligned."""
    warp.shared_store("st.shared.b32", address, _bytes(value))


@instruction("st.shared.v2.b32 [$0], {$1, $2};", "<- u32 b32 b32")
def st_shared_b64(warp, address, v0, v1):
    """Two words per lane; address 8-byte aligned."""
    warp.shared_store("st.shared.b64", address, _bytes(v0, v1), width=4)


@instruction("st.shared.f64 [$0], $1;", "<- u32 f64")
def st_shared_f64(warp, address, value):
    """One f64 per lane; address 8-byte aligned."""
    warp.shared_store("st.shared.b64", address, _doubles(value))


@instruction("st.shared.f32 [$0], $1;", "<- u32 f32")
def st_shared_f32(warp, address, value):
    """One f32 per lane; address 4-byte aligned."""
    warp.shared_store("st.shared.b32", address, _bytes(np.asarray(value, np.float32)))


@instruction("st.shared.v2.f32 [$0], {$1, $2};", "<- u32 f32 f32")
def st_shared_v2_f32(warp, address, low, high):
    """Two f32 per lane; address 8-byte aligned."""
    warp.shared_store("st.shared.b64", address, _bytes(np.asarray(low, np.float32), np.asarray(high, np.float32)), width=4)


@instruction("st.shared.v4.f32 [$0], {$1, $2, $3, $4};", "<- u32 f32 f32 f32 f32")
def st_shared_v4_f32(warp, address, v0, v1, v2, v3):
    """Four f32 per lane; address 16-byte aligned."""
    warp.shared_store("st.shared.b128", address, _bytes(*(np.asarray(v, np.float32) for v in (v0, v1, v2, v3))), width=4)


@instruction("st.shared.v4.b32 [$0], {$1, $2, $3, $4};", "<- u32 b32 b32 b32 b32")
def st_shared_b128(warp, address, v0, v1, v2, v3):
    """Four words per lane; address 16-byte aligned."""
    warp.shared_store("st.shared.b128", address, _bytes(v0, v1, v2, v3), width=4)


def _store_matrices(warp, name, address, registers):
    from simlayout.machine.engine.matrices import store_matrices

    store_matrices(warp, name, address, registers)


@instruction("stmatrix.sync.aligned.m8n8.x2.shared.b16 [$0], {$1, $2};", "<- u32 b32 b32", converged=True)
def stmatrix_x2(warp, address, v0, v1):
    """Stores two 8x8 matrices of b16, register m holding matrix m as ldmatrix gives it: lane 8m + r (m < 2) gives the
    address of row r of matrix m, 16-byte aligned (PTX ISA: stmatrix; sm_90)."""
    _store_matrices(warp, "stmatrix.x2", address, (v0, v1))


@instruction("stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "<- u32 b32 b32 b32 b32", converged=True)
def stmatrix_x4(warp, address, v0, v1, v2, v3):
    """Stores four 8x8 matrices of b16: as stmatrix_x2, m < 4."""
    _store_matrices(warp, "stmatrix.x4", address, (v0, v1, v2, v3))


@instruction("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [$0], {$1, $2};", "<- u32 b32 b32", converged=True)
def stmatrix_x2_trans(warp, address, v0, v1):
    """Stores the transposes of two 8x8 matrices of b16: lane 8m + r (m < 2) gives the address of column r of matrix m,
    16-byte aligned."""
    _store_matrices(warp, "stmatrix.x2.trans", address, (v0, v1))


@instruction("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0], {$1, $2, $3, $4};", "<- u32 b32 b32 b32 b32",
             converged=True)
def stmatrix_x4_trans(warp, address, v0, v1, v2, v3):
    """Stores the transposes of four 8x8 matrices of b16: as stmatrix_x2_trans, m < 4."""
    _store_matrices(warp, "stmatrix.x4.trans", address, (v0, v1, v2, v3))
