"""Arguments of a kernel as text: arrays with what fills them, numbers, files. Read by a grammar, never evaluated.

    A=f16[256,64]:normal     an array, by name, type, shape and fill; without a fill zeros
    A=data.npy               an array as a file has it
    n=256  alpha=0.5  null   a number, a null pointer
    s=hex:00000000ff000000   the bytes of a struct
    v={x=f32[64], s32:64, f32:0.5}   the fields of a struct: an array is a pointer to it, and numbers have their types
    A=map(f16[256,64], box=64x128)   a tensor map (see `map_text`)
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from simlayout.algebra.dtypes import DTYPES, did_you_mean, dtype_of
from simlayout.cli.map_text import FORM, MapText, map_text
from simlayout.errors import LayoutError, SimlayoutError

MOST_BYTES = 1 << 34
"""Of one array."""

FILLS = ("normal", "uniform", "zeros", "ones", "arange", "integers:LOW:HIGH", "FILE.npy")
"""normal: mean 0, variance 1; uniform: from 0 to 1; arange: 0, 1, 2, ...; integers: from LOW to HIGH - 1."""

_NUMPY = re.compile("bool|(?:u?int|float|complex)[0-9]{1,3}")
_NAME = "[A-Za-z_][A-Za-z_0-9]{0,60}"
_ARGUMENT = re.compile(f"(?:({_NAME})=)?(.*)", re.S)
_ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([0-9]{1,12}(?:,[0-9]{1,12}){0,7})\](?::(.+))?", re.S)
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]{1,16}|[0-9]{1,20})")
_TYPED = re.compile("([a-z][a-z0-9]*):(.+)", re.S)
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,4})?|[-+]?inf|nan")


@dataclass
class Given:
    """One argument. name: what it was called, or None; value: what `Entry.run` takes, or (until `related`) the MapText of an
    array that another argument has; array: that of a pointer, or of a tensor map of its own; before: a copy of it; fields:
    those of a struct, each an argument of its own."""

    name: str | None
    value: Any
    array: np.ndarray | None = None
    before: np.ndarray | None = None
    fields: list["Given"] = field(default_factory=list)

    def all(self) -> Iterator["Given"]:
        """It and its fields."""
        yield self
        for one in self.fields:
            yield from one.all()

    @property
    def passed(self) -> Any:
        """What `Entry.run` takes."""
        return [one.in_struct for one in self.fields] if self.fields else self.value

    @property
    def in_struct(self) -> Any:
        """What it is as a field: an array is a pointer."""
        from simlayout.machine.ptx.arguments import Pointer  # the machine, which other commands do without

        return Pointer(self.value) if isinstance(self.value, np.ndarray) else self.passed


def given(text: str, generator: np.random.Generator, option: str = "--arg") -> Given:
    """An argument from its text. Raises SimlayoutError that says what is possible. option: that gave the text.

    >>> made = given("A=f16[2,3]:arange", np.random.default_rng(0))
    >>> made.name, made.value.dtype, made.value.tolist()
    ('A', dtype('float16'), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    >>> given("{x=f32[3], s32:3, f32:0.5}", np.random.default_rng(0)).passed
    [Pointer(to=array([0., 0., 0.], dtype=float32), at=0), np.int32(3), np.float32(0.5)]
    >>> [given(text, np.random.default_rng(0)).value for text in ("256", "n=-0x10", "0.5", "null", "hex:00ff")]
    [256, -16, 0.5, None, b'\\x00\\xff']
    """
    name, what = _ARGUMENT.fullmatch(text).groups()      # type: ignore[union-attr]  # which anything matches
    try:
        if what.startswith("{"):
            return Given(name, None, fields=[_field(one, generator) for one in _split(what)])
        mapped = map_text(what)
        if mapped is not None and re.fullmatch(_NAME, mapped.of):
            return Given(name, mapped)
        value = _value(what if mapped is None else mapped.of, generator)
        if not isinstance(value, np.ndarray):
            if mapped is not None:
                raise SimlayoutError(f"a tensor map of {mapped.of}: give an array, or the name of one")
            return Given(name, value)
        return Given(name, value if mapped is None else mapped.map(value), value, value.copy())
    except MemoryError:
        raise SimlayoutError(f"{option} {text}: not enough memory for that array") from None
    except SimlayoutError as error:
        raise SimlayoutError(f"{option} {text}: {error}") from None


def related(arguments: list[Given]) -> list[Given]:
    """The arguments, in which tensor maps of the arrays of others are maps of these. Raises SimlayoutError where no argument
    of such a name has an array.

    >>> texts = "A=f16[64,64]:ones", "map(A, box=64x8)"
    >>> related([given(text, np.random.default_rng(0)) for text in texts])[1].value.box
    (64, 8)
    """
    everything = [one for argument in arguments for one in argument.all()]
    arrays = {argument.name: argument.array for argument in everything if argument.array is not None}
    for argument in everything:
        if isinstance(argument.value, MapText):
            of = argument.value.of
            try:
                if of not in arrays:
                    raise SimlayoutError(f"no array is called {of}; there are {', '.join(map(str, arrays)) or 'none'}")
                argument.value = argument.value.map(arrays[of])
            except SimlayoutError as error:
                raise SimlayoutError(f"--arg map({of}, ...): {error}") from None
    return arguments


def _split(what):
    """The texts of the fields of a struct, "{a, b}"."""
    if not what.endswith("}"):
        raise SimlayoutError("a struct ends with '}'")
    made, depth = [""], 0
    for letter in what[1:-1]:
        depth += (letter in "{[(") - (letter in ")]}")
        if letter == "," and not depth:
            made.append("")
        else:
            made[-1] += letter
    return [one.strip() for one in made]


def _field(text, generator):
    """A field of a struct as a Given. Raises SimlayoutError."""
    if _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text):
        raise SimlayoutError(f"{text} is of no size: write its type, as in s32:{text}, f32:{text} or u64:{text}")
    typed = _TYPED.fullmatch(text)
    number = typed and (_INTEGER.fullmatch(typed[2]) or _FLOAT.fullmatch(typed[2]))
    if not number:
        return given(text, generator)
    value, type = _value(typed[2], generator), element_type(typed[1])
    try:
        return Given(None, np.array(value).astype(type)[()] if isinstance(value, float) else type.type(value))
    except OverflowError:
        raise SimlayoutError(f"{typed[1]} does not hold {typed[2]}") from None


def _value(what, generator):
    if what == "null":
        return None
    if _INTEGER.fullmatch(what):
        return int(what, 16 if "x" in what else 10)
    if _FLOAT.fullmatch(what):
        return float(what)
    if what.startswith("hex:"):
        return _hexadecimal(what[4:])
    found = _ARRAY.fullmatch(what)
    if not found and what.endswith(".npy"):
        return array_of(what)
    if not found:
        raise SimlayoutError("write NAME=TYPE[SHAPE]:FILL, as in A=f16[256,64]:normal, NAME=FILE.npy, a number, null, "
                             f"hex: and the bytes of a struct, {{FIELD, ...}} of its fields, or {FORM}; a NAME is of "
                             "English letters, digits and underscores")
    dtype, shape = element_type(found[1]), tuple(map(int, found[2].split(",")))
    if prod(shape) * dtype.itemsize > MOST_BYTES:
        raise SimlayoutError(f"{prod(shape) * dtype.itemsize} bytes; an array has at most {MOST_BYTES}")
    return filled(found[3] or "zeros", shape, dtype, generator)


def _hexadecimal(digits):
    if len(digits) % 2 or not re.fullmatch("[0-9a-fA-F]+", digits):
        raise SimlayoutError("hex: takes pairs of hexadecimal digits, a pair for each byte")
    return bytes.fromhex(digits)


def element_type(name: str) -> np.dtype:
    """The NumPy dtype of a type by PTX's name or NumPy's.

    >>> [element_type(name).name for name in ("f16", "u64", "int64", "bool", "complex64")]
    ['float16', 'uint64', 'int64', 'bool', 'complex64']
    """
    try:
        if _NUMPY.fullmatch(name):
            return np.dtype(name)
        return dtype_of(name).numpy
    except ModuleNotFoundError:
        raise SimlayoutError(f"{name} needs the package ml_dtypes: pip install ml_dtypes") from None
    except TypeError as error:
        raise SimlayoutError(str(error)) from None
    except LayoutError:
        raise SimlayoutError(f"unknown type {name!r}{did_you_mean(name)}; known: {' '.join(DTYPES)}, bool, and "
                             "NumPy's names such as int64 or complex64") from None


def filled(fill: str, shape: tuple[int, ...], dtype: np.dtype, generator: np.random.Generator) -> np.ndarray:
    """An array of a fill, one of FILLS."""
    if fill == "zeros":
        return np.zeros(shape, dtype)
    if fill == "ones":
        return np.ones(shape, dtype)
    if fill == "arange":
        return np.arange(prod(shape)).astype(dtype).reshape(shape)
    if fill in ("normal", "uniform"):
        if dtype.kind in "iub":
            raise SimlayoutError(f"{fill} makes fractions, and {dtype} has none: write integers:LOW:HIGH")
        made = generator.standard_normal(shape) if fill == "normal" else generator.random(shape)
        return made.astype(dtype)
    if fill.startswith("integers"):
        return _integers(fill, shape, dtype, generator)
    if fill.endswith(".npy"):
        return array_of(fill, dtype, shape)
    raise SimlayoutError(f"no fill {fill!r}: choose {', '.join(FILLS)}")


def _integers(fill, shape, dtype, generator):
    found = re.fullmatch(r"integers:(-?[0-9]{1,18}):(-?[0-9]{1,18})", fill)
    if not found or int(found[1]) >= int(found[2]):
        raise SimlayoutError("write integers:LOW:HIGH with LOW below HIGH, as in integers:-8:8")
    low, high = int(found[1]), int(found[2])
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= low < high <= np.iinfo(dtype).max + 1:
        raise SimlayoutError(f"{dtype} holds {np.iinfo(dtype).min} to {np.iinfo(dtype).max}")
    return generator.integers(low, high, shape).astype(dtype)


def array_of(path: str, dtype: np.dtype | None = None, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """The array of a .npy file, nothing of which is evaluated; of the dtype and shape that are told, or refused. What NumPy
    has no name for lies in such files as bytes (V2 of bf16): it is taken as the dtype that is told."""
    try:
        with open(path, "rb") as file:
            made = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, EOFError, SyntaxError, TypeError, MemoryError) as error:
        why = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise SimlayoutError(f"cannot read {path}: {why or 'not enough memory'}") from None
    if dtype is not None and made.dtype.kind == "V" and made.dtype.itemsize == dtype.itemsize:
        made = made.view(dtype)
    if dtype is not None and made.dtype != dtype or shape is not None and made.shape != shape:
        wanted = f"{dtype or made.dtype} of shape {shape or made.shape}"
        raise SimlayoutError(f"{path} has {made.dtype} of shape {made.shape}, and {wanted} is wanted")
    return made
