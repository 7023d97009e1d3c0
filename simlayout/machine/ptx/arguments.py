"""What a launch passes: the bytes of its parameters, made of arrays, numbers and structs, and checked against their
types."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlayout.errors import MachineError, brief
from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.ptx.cxx.types import misfit
from simlayout.machine.ptx.lowering.names import aligned
from simlayout.machine.ptx.memory.maps import is_map
from simlayout.wording import are, counted

POINTERS = ("u64", "b64", "s64")
"""Types of parameters that may be pointers: compilers write .u64, some .b64."""


_LETTERS = {"f32": "f", "f64": "d"} | {f"{kind}{8 << i}": "bhiq"[i] for kind in "bus" for i in range(4)}
_NUMBERS = {int, float, bool}


@dataclass(frozen=True, eq=False)
class Pointer:
    """A pointer as a field of a struct, where an array would be its bytes; or into an array. to: the array that it points
    to, or a list of fields, of which the launch makes a copy in global memory; at: as many elements of the array behind its
    first one, as C adds them (`data + 1`): all of the array may be accessed, of a view such as `data[1:]` only itself.

    Views of C++ and tensors of CuTe DSL are such structs; a list of pointers is what batched kernels take as `float**`:

    >>> import simlayout as sl
    >>> module = sl.ptx.load('''
    ... .version 9.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry scale(.param .align 8 .b8 view[16])      // struct { float *data; int size; float factor; }
    ... {
    ...     .reg .f32 %f<3>;
    ...     .reg .b32 %r<2>;
    ...     .reg .b64 %rd<3>;
    ...     ld.param.u64 %rd1, [view];
    ...     ld.param.f32 %f1, [view+12];
    ...     mov.u32 %r1, %tid.x;
    ...     mul.wide.u32 %rd2, %r1, 4;
    ...     add.s64 %rd1, %rd1, %rd2;
    ...     ld.global.f32 %f2, [%rd1];
    ...     mul.f32 %f2, %f2, %f1;
    ...     st.global.f32 [%rd1], %f2;
    ...     ret;
    ... }
    ... ''')
    >>> data = np.arange(4, dtype=np.float32)
    >>> trace = module["scale"].run(1, 4, [sl.ptx.Pointer(data), np.int32(4), np.float32(10)])
    >>> data.tolist()
    [0.0, 10.0, 20.0, 30.0]
    """

    to: np.ndarray | Sequence[Any]
    at: int = 0


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
        raise MachineError(f"{entry.called} takes {counted(len(parameters), 'argument')} "
                           f"({', '.join(map(entry.described, parameters))}), and {len(args)} {are(len(args))} given: pass "
                           "an array (or None) for a pointer, a number for a scalar, bytes for a struct")
    made = bytearray()
    for i, (parameter, value) in enumerate(zip(parameters, args), 1):
        made += bytes(aligned(len(made), parameter.align) - len(made))
        try:
            data = _bytes_of(parameter, value, space)
        except (MachineError, TypeError, ValueError, OverflowError) as error:
            what = f"argument {i} of {len(args)} ({entry.described(parameter)})"
            raise MachineError(f"{entry.called}: {what}: {error}") from None
        array = value.to if isinstance(value, Pointer) else value
        if isinstance(array, np.ndarray) and not parameter.shape:
            wrong = misfit(entry.types[i - 1], array.dtype) if entry.types else ""
            if wrong:
                raise MachineError(f"{entry.called}: argument {i} of {len(args)}: {wrong}")
            space.passed(array, i, entry.known_as(parameter))
        made += data
    return np.frombuffer(bytes(made), np.uint8)


def _bytes_of(parameter, value, space):
    if parameter.shape:
        return _struct(parameter, value, space)
    if parameter.type in POINTERS and (is_map(value) or isinstance(value, Pointer) or _is_list(value)):
        return (_pointed if isinstance(value, Pointer) else _at)(value, space).to_bytes(8, "little")
    if isinstance(value, np.ndarray):
        return _pointer(parameter, value, space)
    if value is None:
        if parameter.type not in POINTERS:
            raise MachineError("None is a null pointer: pass a number")
        return bytes(8)
    return _number(parameter.type, value)


def _is_list(value):
    """Whether it is a list of fields."""
    return isinstance(value, tuple | list)


def _pointer(parameter, value, space):
    if parameter.type not in POINTERS:
        raise MachineError(f"an array of shape {value.shape} is a pointer, and this is a number: pass one, array.item() of "
                           "a single element")
    return _at(value, space).to_bytes(8, "little")


def _pointed(pointer, space):
    """The address that a Pointer is."""
    to, at = pointer.to, pointer.at
    if at and not (isinstance(to, np.ndarray) and to.flags.c_contiguous and 0 <= at <= to.size):
        raise MachineError(f"a Pointer {at!r} elements behind the first: give a C-contiguous array of as many")
    return _at(to, space) + at * getattr(to, "itemsize", 0)


def _at(what, space):
    """The address of an array or a tensor map, or of a copy of a list of fields."""
    if is_map(what):
        return space.map_address(what)
    if _is_list(what):
        if all(isinstance(one, np.ndarray) for one in what):
            raise MachineError("an array in a list stands for its bytes: write [sl.ptx.Pointer(array), ...] for an array of "
                               "pointers, or pass one array that holds them all")
        return space.place(np.frombuffer(_fields(what, space)[0], np.uint8))
    if not isinstance(what, np.ndarray):
        raise MachineError(f"a Pointer is to an array, or to a list of fields, not to {type(what).__name__}")
    if what.dtype == object:
        raise MachineError("an array of object holds Python objects, and a GPU sees bytes: give it a dtype of fixed size; a "
                           "list of sl.ptx.Pointer is an array of pointers")
    return space.address(what)


def _number(type, value):
    """The bytes of a number as a parameter of a type. A NumPy scalar of as many bits fits a .b type as it is, and .bf16."""
    bits, kind = width_of(type), type[0]
    if isinstance(value, np.generic):
        if value.dtype.itemsize * 8 == bits and (kind == "b" or value.dtype.kind in "Mm"):
            return value.tobytes()
        value = value.item()
    if not isinstance(value, int | float):
        array = ", or a NumPy array for a pointer" if type in POINTERS else ""
        raise MachineError(f"{brief(value)} is no number: pass an int, a float or a NumPy scalar{array}")
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
    data, alignment = _fields(value, space) if _is_list(value) else _part(value, space)
    if _is_list(value):
        data += bytes(aligned(len(data), max(alignment, parameter.align)) - len(data))
    if len(data) != parameter.bytes:
        given = value if _is_list(value) else (value,)
        pointer = parameter.bytes >= 8 and any(isinstance(one, np.ndarray) for one in given)
        instead = ": an array is its bytes there, and [sl.ptx.Pointer(array)] a pointer (--arg '{array}')" * pointer
        raise MachineError(f"{counted(len(data), 'byte')} {are(len(data))} given, and the struct has {parameter.bytes}"
                           + instead)
    return data


def fields_of(value, space):
    """The bytes of a struct, or of the fields in a list. Raises MachineError."""
    return (_fields if _is_list(value) else _part)(value, space)[0]


def _fields(values, space):
    """(bytes, their alignment) of fields one after another, each where C places it, and padded as C does."""
    made, widest = bytearray(), 1
    for value in values:
        data, alignment = (bytes(8), 8) if value is None else _part(value, space)
        made += bytes(aligned(len(made), alignment) - len(made)) + data
        widest = max(widest, alignment)
    return bytes(made) + bytes(aligned(len(made), widest) - len(made)), widest


def _part(value, space):
    """(bytes, their alignment) of a struct or one of its fields."""
    if is_map(value):
        return space.maps.encoded(value), 64
    if isinstance(value, Pointer):
        return _pointed(value, space).to_bytes(8, "little"), 8
    if _is_list(value):
        return _fields(value, space)
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return value.tobytes(), value.dtype.alignment
    if not isinstance(value, bytes | bytearray | memoryview):
        number = f": give a number its type, as in np.int32({value})" if type(value) in (int, float) else ""
        raise MachineError(f"a struct takes bytes, a structured scalar or a TensorMap, not {type(value).__name__}; or a "
                           f"list of its fields as such, with sl.ptx.Pointer(array) for a pointer{number}")
    return bytes(value), 1
