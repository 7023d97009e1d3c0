"""Plain loads and stores of shared and of global memory: a row each, and what they all do is said once.

Addresses are bytes, one per lane: of shared memory in the .shared window (u32), of global memory as pointers (u64). Several
values lie one behind the other, the first one lowest (PTX ISA, Data Movement: ld, st).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cuda_kernels.intrinsics.instruction import Instruction, listed, taking
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware.tables.arch import LANES


class Width(NamedTuple):
    """What each lane loads or stores: in words, its type in PTX, the types of its registers, and its bytes."""

    said: str
    type: str
    registers: tuple[str, ...]
    bytes: int


WIDTHS = {
    "b8": Width("One byte, zero-extended by loads,", "u8", ("b32",), 1),
    "b16": Width("2 bytes, zero-extended by loads,", "u16", ("b32",), 2),
    "b32": Width("One 4-byte word", "b32", ("b32",), 4),
    "b64": Width("Two words", "v2.b32", ("b32",) * 2, 8),
    "b128": Width("Four words", "v4.b32", ("b32",) * 4, 16),
    "u64": Width("8 bytes", "b64", ("u64",), 8),
    "f32": Width("One f32", "f32", ("f32",), 4),
    "f64": Width("One f64", "f64", ("f64",), 8),
    "v2_f32": Width("Two f32", "v2.f32", ("f32",) * 2, 8),
    "v4_f32": Width("Four f32", "v4.f32", ("f32",) * 4, 16),
}


_DTYPE = {kind: TYPES[kind].plain for kind in ("b32", "u64", "f32", "f64")}


def registers_of(data: np.ndarray, kinds: Sequence[str] = ("b32",)) -> Any:
    """What bytes, uint8 [32, n], are in registers: an array [32], or a tuple of them. kinds: their types, all the same; a
    register that is larger than the bytes has zeros above them."""
    dtype = _DTYPE[kinds[0]]
    if data.shape[1] < dtype.itemsize:
        data = np.pad(data, ((0, 0), (0, dtype.itemsize - data.shape[1])))
    columns = np.ascontiguousarray(data).view(dtype)
    return tuple(columns.T) if len(kinds) > 1 else columns[:, 0]


def bytes_of(values: Sequence[Any], kinds: Sequence[str] = ("b32",)) -> np.ndarray:
    """The bytes of registers, uint8 [32, n]: the other way round. values: [32] each, or one of all lanes."""
    made = np.empty((LANES, len(values)), _DTYPE[kinds[0]])
    for i, value in enumerate(map(np.asarray, values)):
        made[:, i] = value.view(np.uint32) if kinds[0] == "b32" and value.dtype == np.float32 else value
    return made.view(np.uint8)


ALSO = {
    "ld.volatile.shared": " Volatile: executed by every lane, whether its values are used or not (ptxas moves a plain load "
                          "under the condition of the only store that uses it).",
    "ld.relaxed.gpu.global": " From L2: what another CTA wrote (PTX ISA: ld.relaxed).",
}
"""What the documentation of an operation says besides."""


def load(operation: str, width: str, name: str = "") -> Instruction:
    """A load. operation: in PTX, before its type, "ld.shared"; width: of WIDTHS; name: by default made of both."""
    row, strong = WIDTHS[width], "relaxed" in operation
    count, counted = len(row.registers), f"ld.shared.b{8 * row.bytes}"

    def shared(warp, address):
        return registers_of(warp.shared_load(counted, address, row.bytes), row.registers)

    def of_global(warp, source):
        return registers_of(source.read(warp.active, row.bytes, strong=strong), row.registers)

    return _made(operation, width, name, f"{operation}.{row.type} {_operands(0, count)}, [${count}];", row.registers, (),
                 shared if "shared" in operation else of_global)


def store(operation: str, width: str, name: str = "") -> Instruction:
    """A store, as of `load`."""
    row, is_shared = WIDTHS[width], "shared" in operation
    count, counted = len(row.registers), f"st.shared.b{8 * row.bytes}"
    text = f"{operation}.{row.type} [$0], {_operands(1, count)};"
    if row.bytes == 2:
        text = f"{{ .reg .b16 h; cvt.u16.u32 h, $1; {operation}.b16 [$0], h; }}"

    def put(warp, address, *values):
        data = bytes_of(values, row.registers)[:, :row.bytes]
        if is_shared:
            warp.shared_store(counted, address, data, width=row.bytes // count)
        else:
            address.write(warp.active, data, width=row.bytes // count)

    names = ["value"] if count == 1 else [f"v{i}" for i in range(count)]
    return _made(operation, width, name, text, (), row.registers, taking(["address", *names], put))


def _made(operation, width, name, text, results, values, twin):
    row = WIDTHS[width]
    address = "u32" if "shared" in operation else "u64"
    aligned = f" per lane; address {row.bytes}-byte aligned." if row.bytes > 1 else " per lane."
    return Instruction(name or f"{operation.replace('.', '_')}_{width}", text, results, (address, *values), twin,
                       doc=row.said + aligned + ALSO.get(operation, ""))


def _operands(first, count):
    return listed(first, count) if count > 1 else f"${first}"


ld_shared_b8, ld_shared_b16 = load("ld.shared", "b8"), load("ld.shared", "b16")
ld_shared_b32, ld_shared_b64, ld_shared_b128 = (load("ld.shared", width) for width in ("b32", "b64", "b128"))
ld_shared_f32, ld_shared_f64 = load("ld.shared", "f32"), load("ld.shared", "f64")
ld_shared_v2_f32, ld_shared_v4_f32 = load("ld.shared", "v2_f32"), load("ld.shared", "v4_f32")
ld_volatile_shared_f32, ld_volatile_shared_v2_f32 = (load("ld.volatile.shared", width) for width in ("f32", "v2_f32"))
ld_volatile_shared_b128 = load("ld.volatile.shared", "b128")
st_shared_b8, st_shared_b16 = store("st.shared", "b8"), store("st.shared", "b16")
st_shared_b32, st_shared_b64, st_shared_b128 = (store("st.shared", width) for width in ("b32", "b64", "b128"))
st_shared_f32, st_shared_f64 = store("st.shared", "f32"), store("st.shared", "f64")
st_shared_v2_f32, st_shared_v4_f32 = store("st.shared", "v2_f32"), store("st.shared", "v4_f32")

ld_global_b8, ld_global_b32 = load("ld.global", "b8"), load("ld.global", "b32")
ld_global_f32, ld_global_f64 = load("ld.global", "f32"), load("ld.global", "f64")
ld_global_b64 = load("ld.global", "u64", "ld_global_b64")
ld_relaxed_v4_f32 = load("ld.relaxed.gpu.global", "v4_f32", "ld_relaxed_v4_f32")
ld_relaxed_b128 = load("ld.relaxed.gpu.global", "b128", "ld_relaxed_b128")
st_global_b8, st_global_b16 = store("st.global", "b8"), store("st.global", "b16")
st_global_b32, st_global_b128 = store("st.global", "b32"), store("st.global", "b128")
st_global_v2_b32 = store("st.global", "b64", "st_global_v2_b32")
st_global_f32, st_global_f64 = store("st.global", "f32"), store("st.global", "f64")
st_global_v2_f32, st_global_v4_f32 = store("st.global", "v2_f32"), store("st.global", "v4_f32")
