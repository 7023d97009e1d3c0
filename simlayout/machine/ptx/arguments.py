"""What a launch passes: the bytes of its parameters, made of arrays, numbers and structs, and checked against their
types."""

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx.lower import aligned


def packed(entry, args, space):
    """uint8 [bytes] of an Entry's parameters. Raises MachineError that names the parameter."""
    parameters = entry.parameters
    if len(args) != len(parameters):
        raise MachineError(f"{entry.name} takes {len(parameters)} arguments ({_described(parameters)}), not {len(args)}")
    made = bytearray()
    for i, (parameter, value) in enumerate(zip(parameters, args)):
        made += bytes(aligned(len(made), parameter.align) - len(made))
        try:
            data = _bytes_of(parameter, value, space)
        except (MachineError, TypeError, ValueError, OverflowError) as error:
            what = f"argument {i} ({parameter.name}, {_described([parameter])})"
            raise MachineError(f"{entry.name}: {what}: {error}") from None
        made += data
    return np.frombuffer(bytes(made), np.uint8)


def _described(parameters):
    return ", ".join(f".{p.type}" if not p.shape else f"{p.bytes} bytes" for p in parameters)


def _bytes_of(parameter, value, space):
    if parameter.shape:
        return _struct(parameter, value, space)
    if isinstance(value, np.ndarray) and value.ndim + value.size > 1:
        return _pointer(parameter, value, space)
    return _number(parameter, value)


def _pointer(parameter, value, space):
    if parameter.bytes != 8:
        raise MachineError(f"an array needs a parameter of 8 bytes, and this is .{parameter.type}")
    return space.address(value).to_bytes(8, "little")


def _number(parameter, value):
    bits, kind = width_of(parameter.type), parameter.type[0]
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.itemsize * 8 == bits and kind == "b":
            return value.tobytes()
        if parameter.type == "bf16" and value.dtype.itemsize == 2:
            return value.tobytes()
        value = value.item()
    if kind == "f":
        return np.array(value, f"f{bits // 8}").tobytes()
    if isinstance(value, float):
        if kind != "b" or bits not in (16, 32, 64):
            raise MachineError(f"{value!r} is no integer")
        return np.array(value, f"f{bits // 8}").tobytes()
    if value is None:
        value = 0
    value = int(value)
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise MachineError(f"{value} does not fit in {bits} bits")
    return (value & (1 << bits) - 1).to_bytes(bits // 8, "little")


def _struct(parameter, value, space):
    if hasattr(value, "box_bytes") and hasattr(value, "array"):
        return space.tensor_map(value, parameter.bytes)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tobytes()
    if not isinstance(value, bytes | bytearray | memoryview):
        raise MachineError(f"a struct takes bytes, a structured scalar or a TensorMap, not {type(value).__name__}")
    if len(value) != parameter.bytes:
        raise MachineError(f"{len(value)} bytes are given, and it has {parameter.bytes}")
    return bytes(value)
