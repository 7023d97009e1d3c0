"""What a launch passes: the bytes of its parameters, made of arrays, numbers and structs, and checked against their
types."""

import reprlib
import struct

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx.lower import aligned
from simlayout.machine.ptx.maps import is_map
from simlayout.wording import counted

POINTERS = ("u64", "b64", "s64")
"""Types of parameters that may be pointers: compilers write .u64, some .b64."""


_LETTERS = {"f32": "f", "f64": "d"} | {f"{kind}{8 << i}": "bhiq"[i] for kind in "bus" for i in range(4)}
_NUMBERS = {int, float, bool}


def form_of(parameters):
    """The Struct of parameters that are all numbers of 8 to 64 bits, or None: most numbers fit it as they are."""
    form, at = "=", 0
    for parameter in parameters:
        if parameter.shape != () or parameter.type not in _LETTERS:
            return None
        start = aligned(at, parameter.align)
        form, at = f"{form}{start - at}x{_LETTERS[parameter.type]}", start + width_of(parameter.type) // 8
    return struct.Struct(form)


def packed(entry, args, space):
    """uint8 [bytes] of an Entry's parameters. Raises MachineError that names the parameter and its position."""
    if entry.form is not None and _NUMBERS.issuperset(map(type, args)):
        try:
            return np.frombuffer(entry.form.pack(*args), np.uint8)
        except (struct.error, OverflowError):
            pass                                         # one that needs a closer look
    parameters = entry.parameters
    if len(args) != len(parameters):
        raise MachineError(f"{entry.name} takes {counted(len(parameters), 'argument')} "
                           f"({', '.join(map(entry.described, parameters))}), and {len(args)} {_are(len(args))} given: pass "
                           "an array (or None) for a pointer, a number for a scalar, bytes for a struct")
    made = bytearray()
    for i, (parameter, value) in enumerate(zip(parameters, args), 1):
        made += bytes(aligned(len(made), parameter.align) - len(made))
        try:
            data = _bytes_of(parameter, value, space)
        except (MachineError, TypeError, ValueError, OverflowError) as error:
            what = f"argument {i} of {len(args)} ({entry.described(parameter)})"
            raise MachineError(f"{entry.name}: {what}: {error}") from None
        if isinstance(value, np.ndarray) and not parameter.shape:
            space.passed(value, i, entry.known_as(parameter))
        made += data
    return np.frombuffer(bytes(made), np.uint8)


def _are(count):
    return "is" if count == 1 else "are"


def _bytes_of(parameter, value, space):
    if parameter.shape:
        return _struct(parameter, value, space)
    if isinstance(value, np.ndarray):
        return _pointer(parameter, value, space)
    if is_map(value) and parameter.type in POINTERS:
        return space.map_address(value).to_bytes(8, "little")
    if value is None:
        if parameter.type not in POINTERS:
            raise MachineError("None is a null pointer: pass a number")
        return bytes(8)
    return _number(parameter.type, value)


def _pointer(parameter, value, space):
    if parameter.type not in POINTERS:
        raise MachineError(f"an array of shape {value.shape} is a pointer, and this is a number: pass one, array.item() of "
                           "a single element")
    if value.dtype.hasobject:
        raise MachineError(f"an array of {value.dtype} holds Python objects, and a GPU sees bytes: give it a dtype of fixed "
                           "size")
    return space.address(value).to_bytes(8, "little")


def _number(type, value):
    """The bytes of a number as a parameter of a type. A NumPy scalar of as many bits fits a .b type as it is, and .bf16."""
    bits, kind = width_of(type), type[0]
    if isinstance(value, np.generic):
        if value.dtype.itemsize * 8 == bits and (kind == "b" or value.dtype.kind in "Mm"):
            return value.tobytes()
        value = value.item()
    if not isinstance(value, int | float):
        array = ", or a NumPy array for a pointer" if type in POINTERS else ""
        raise MachineError(f"{reprlib.repr(value)} is no number: pass an int, a float or a NumPy scalar{array}")
    if kind == "f" or isinstance(value, float) and type in ("b16", "b32", "b64"):
        return _float(bits, value)
    if isinstance(value, float):
        raise MachineError(f"{value!r} is no integer" + (": pass an ml_dtypes.bfloat16" if type == "bf16" else
                                                          f": pass {int(value)}" if value.is_integer() else ""))
    low, high = -(1 << bits - 1), (1 << bits) - 1
    if not low <= value <= high:
        raise MachineError(f"{value} does not fit in {bits} bits: {low} to {high}")
    return (int(value) & high).to_bytes(bits // 8, "little")


def _float(bits, value):
    """IEEE bits, rounded to nearest; what is too large becomes infinity, as in C."""
    with np.errstate(over="ignore"):
        return np.array(value, f"f{bits // 8}").tobytes()


def _struct(parameter, value, space):
    made = bytearray()
    for part in value if isinstance(value, tuple | list) else (value,):
        data, alignment = _part(part, space)
        made += bytes(aligned(len(made), alignment) - len(made)) + data
    if len(made) != parameter.bytes:
        raise MachineError(f"{counted(len(made), 'byte')} {_are(len(made))} given, and the struct has {parameter.bytes}")
    return bytes(made)


def _part(value, space):
    """(bytes, their alignment) of a struct or one of its fields."""
    if is_map(value):
        return space.maps.encoded(value), 64
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return value.tobytes(), value.dtype.alignment
    if not isinstance(value, bytes | bytearray | memoryview):
        raise MachineError(f"a struct takes bytes, a structured scalar or a TensorMap, not {type(value).__name__}; or a "
                           "list of its fields as such")
    return bytes(value), 1
