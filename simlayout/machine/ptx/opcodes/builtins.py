"""Functions of the CUDA runtime that PTX calls without their body: printf (ISO C, fprintf), assertions, malloc, the grid's
barrier."""

import re
import struct

import numpy as np

from simlayout.errors import TOGETHER, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.opcodes.warps import everyone

_FORMAT = re.compile(rb"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(hh|h|ll|l|j|z|t|L)?([diouxXeEfFgGaAcsp%])")
WIDE = (b"l", b"ll", b"j", b"z", b"t")
"""Lengths of integers of 64 bits."""

_CUT = {b"hh": 8, b"h": 16}


def _address_of(names, operand):
    """What gives an argument of 8 bytes, uint64 [32], of a warp."""
    at = names.local[operand.name]
    return lambda warp: np.ascontiguousarray(warp.local[:, at:at + 8]).view(np.uint64)[:, 0]


def text_at(warp, address, lane):
    """The bytes up to the first zero at a generic address."""
    made, addresses = bytearray(), np.zeros(32, np.uint64)
    outer = warp.active
    warp.narrow(np.arange(32) == lane)
    while not made or made[-1]:
        addresses[lane] = address + len(made)
        made += bytes(warp.load("", addresses, 1)[lane])
    warp.narrow(outer)
    return bytes(made[:-1])


def _number(names, operand):
    """What gives an unsigned argument of a warp, int [32]."""
    at, nbytes = names.local[operand.name], names.function.variables[operand.name].bytes
    return lambda warp: np.ascontiguousarray(warp.local[:, at:at + nbytes]).view(f"u{nbytes}")[:, 0]


def _giver(names, returns, nbytes):
    """What gives back a result, unsigned [32], in the active lanes."""
    if not returns:
        return lambda warp, values: None
    at = names.local[returns[0].name]

    def give(warp, values):
        lanes = np.flatnonzero(warp.active)
        warp.local[lanes, at:at + nbytes] = values.astype(f"u{nbytes}").view(np.uint8).reshape(32, nbytes)[lanes]
        warp.note_local(lanes, at, nbytes)

    return give


def vprintf(names, returns, arguments):
    """vprintf(format, arguments): prints a line per active lane, in the order of lanes."""
    form, packed = (_address_of(names, operand) for operand in arguments)
    give = _giver(names, returns, 4)

    def run(warp):
        forms, places = form(warp), packed(warp)
        lanes = np.flatnonzero(warp.active)
        for lane in lanes.tolist():
            print(_formatted(warp, int(forms[lane]), int(places[lane]), lane), end="")
        give(warp, np.zeros(32))

    return {"run": run}


def _formatted(warp, form, place, lane):
    """The text of a C format and its packed arguments, each aligned to its size."""
    def argument(size):
        nonlocal place
        place = -(-place // size) * size
        addresses = np.full(32, place & 2**64 - 1, np.uint64)
        place += size
        outer = warp.active
        warp.narrow(np.arange(32) == lane)
        data = bytes(warp.load("", addresses, size)[lane])
        warp.narrow(outer)
        return data

    def replaced(match):
        length, kind = match.group(1) or b"", match.group(2).decode()
        if kind == "%":
            return b"%"
        flags = match.group(0)[:-1 - len(length)]
        while b"*" in flags:
            flags = flags.replace(b"*", b"%d" % struct.unpack("<i", argument(4)), 1)
        if kind in "eEfFgGaA":
            return printed_real(flags, kind, struct.unpack("<d", argument(8))[0])
        if kind == "s":
            return printed_text(flags, text_at(warp, struct.unpack("<Q", argument(8))[0], lane))
        if kind == "p":
            return printed_text(flags, b"0x%x" % struct.unpack("<Q", argument(8)))
        bits = int.from_bytes(argument(8 if length in WIDE else 4), "little")
        return printed_number(flags, length, kind, bits)

    return _FORMAT.sub(replaced, text_at(warp, form, lane)).decode("utf-8", "replace")


def assertfail(names, returns, arguments):
    """__assertfail(message, file, line, function, size of a char): the kernel stops with an error."""
    message, file = (_address_of(names, operand) for operand in arguments[:2])
    line, function = names.local[arguments[2].name], _address_of(names, arguments[3])

    def run(warp):
        lane = int(np.flatnonzero(warp.active)[0])
        texts = [text_at(warp, int(what(warp)[lane]), lane).decode("utf-8", "replace") for what in (message, file, function)]
        number = int(np.ascontiguousarray(warp.local[lane, line:line + 4]).view(np.uint32)[0])
        raise MachineError(f"assertion `{texts[0]}` failed at {texts[1]}:{number} in {texts[2]}, lane {lane}")

    return {"run": run, "stops": True}


def malloc(names, returns, arguments):
    """malloc(bytes): memory of the heap, for each active lane; null where there is no room."""
    size, give = _number(names, arguments[0]), _giver(names, returns, 8)

    def run(warp):
        made, sizes = np.zeros(32, np.uint64), size(warp)
        for lane in np.flatnonzero(warp.active).tolist():
            made[lane] = warp.space.malloc(int(sizes[lane]))
        give(warp, made)

    return {"run": run}


def free(names, returns, arguments):
    """free(pointer): gives memory of the heap back; a null pointer is none."""
    pointer = _address_of(names, arguments[0])

    def run(warp):
        for address in pointer(warp)[warp.active].tolist():
            if address:
                warp.space.free(address)

    return {"run": run}


GRID = 1
"""The handle of the grid, and the only scope that has one (cuda_device_runtime_api.h: cudaCGScopeGrid)."""


def handle_of_scope(names, returns, arguments):
    """cudaCGGetIntrinsicHandle(scope): what stands for the grid."""
    scope, give = _number(names, arguments[0]), _giver(names, returns, 8)

    def run(warp):
        if (scope(warp)[warp.active] != GRID).any():
            raise MachineError("cudaCGGetIntrinsicHandle: the machine synchronizes grids, not several GPUs")
        give(warp, np.full(32, GRID))

    return {"run": run}


def synchronize(names, returns, arguments):
    """cudaCGSynchronize(handle, flags): waits for all threads of the grid, whose CTAs must run at the same time."""
    give = _giver(names, returns, 4)

    def run(warp):
        cta = warp.cta
        if cta.grid_barrier.warps * LANES != cta.threads_padded * int(np.prod(cta.grid)):
            raise MachineError("the grid synchronizes, and its CTAs do not run at the same time: launch it cooperatively "
                               f"({TOGETHER})")
        yield cta.grid_barrier.arrive(warp)
        cta.grid_barrier.leave(warp)
        give(warp, np.zeros(32))

    return {"run": run, "together": everyone}


BUILTINS = {"vprintf": vprintf, "__assertfail": assertfail, "malloc": malloc, "free": free,
            "cudaCGGetIntrinsicHandle": handle_of_scope, "cudaCGSynchronize": synchronize}
"""{function: what binds a call of it, called as (Names, operands of the results, operands of the arguments)}."""


def printed_number(flags: bytes, length: bytes, kind: str, bits: int) -> bytes:
    """An integer. flags: of the conversion, with width and precision, "%-5"; length: of `WIDE`, "hh", "h" or ""; bits: as
    passed.

    >>> printed_number(b"%+5", b"", "d", 0xFFFFFFFE), printed_number(b"%#", b"ll", "o", 8)
    (b'   -2', b'010')
    """
    width = 64 if length in WIDE else _CUT.get(length, 32)
    value = bits & (1 << width) - 1
    if kind == "c":
        return (flags + b"c") % (value & 255)
    if kind in "di" and value >> width - 1:
        value -= 1 << width
    if kind == "o" and b"#" in flags:
        return printed_text(flags.replace(b"#", b""), b"0%o" % value if value else b"0")
    return (flags + {"i": b"d", "u": b"d"}.get(kind, kind.encode())) % value


def printed_real(flags: bytes, kind: str, value: float) -> bytes:
    """A floating-point number.

    >>> printed_real(b"%.2", "f", 2.345), printed_real(b"%", "a", 1.5), printed_real(b"%", "A", 2.0)
    (b'2.35', b'0x1.8p+0', b'0X1P+1')
    """
    if kind not in "aA":
        return (flags + kind.encode()) % value
    plain = re.sub(r"\.?0*p", "p", value.hex()) if "p" in value.hex() else value.hex()
    return printed_text(flags, (plain.upper() if kind == "A" else plain).encode())


def printed_text(flags: bytes, value: bytes) -> bytes:
    """Bytes."""
    return (flags + b"s") % value
