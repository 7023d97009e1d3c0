"""Arguments of public functions, checked by what their annotations say before anything runs.

The signature is the table: `typed` reads each annotation once and refuses, by the name of the parameter, what is of another
kind. What a value must be beyond its kind (a range, a name in a table) the function says itself. NumPy's integers and bools
arrive as Python's, so that an int8 does not overflow, an iterator as a tuple, and arrays of other libraries as NumPy's.

>>> from simlayout.errors import LayoutError
>>> @typed(LayoutError)
... def tile(rows: int, swizzle: int | str = 0, box: tuple[int, int] = (1, 1)): return rows, swizzle, box
>>> tile(4, "128B", [8, 8])
(4, '128B', (8, 8))
>>> tile(4.5)
Traceback (most recent call last):
...
simlayout.errors.LayoutError: tile: rows is an integer, not 4.5
>>> tile(4, box=(1, 2, 3))
Traceback (most recent call last):
...
simlayout.errors.LayoutError: tile: box is a tuple (an integer, an integer), not (1, 2, 3)
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import isclass, signature
from itertools import zip_longest
from operator import index
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike

from simlayout.errors import HOW, SimlayoutError, brief

Decorated = TypeVar("Decorated", bound=Callable)

ARRAYS = frozenset(get_args(ArrayLike) or [ArrayLike])
"""The parts of NumPy's ArrayLike, into which a union with it falls apart; where it has a name of its own, as in NumPy for
Python 3.12 and later, that."""


class Other(Exception):
    """A value is not of the kind; perhaps what would make it one."""


class Kind(NamedTuple):
    """What an annotation takes: in words, how to make one ("" where the words say it), and value -> value, or Other."""

    words: str
    how: str
    taken: Callable


def typed(error: type[SimlayoutError] = SimlayoutError, own: Collection[str] = ()) -> Callable[[Decorated], Decorated]:
    """Decorates a function, or a dataclass, whose parameters (fields) are to be checked. own: parameters that the
    function itself looks at, because it can say more. Parameters without an annotation, and those of kinds that are not
    looked at (`kind_of`), pass. Raises TypeError for an own that the function has not."""
    def decorate(function: Decorated) -> Decorated:
        if isclass(function):
            function.__init__ = typed(error, own)(function.__init__)  # type: ignore[method-assign]
            return function
        if own and (wrong := set(own) - signature(function).parameters.keys()):
            raise TypeError(f"{function.__qualname__} has no parameter {', '.join(sorted(wrong))}")
        name = function.__qualname__.removesuffix(".__init__")

        @cache
        def known() -> tuple[list[str], str, dict[str, Kind]]:
            """The parameters that positions fill, the one that takes further positions ("": none), and parameter -> Kind."""
            parameters = signature(function).parameters.values()
            places = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
            rest = "".join(each.name for each in parameters if each.kind is each.VAR_POSITIONAL)
            said = {each.name: kind_of(each.annotation) for each in parameters
                    if each.annotation is not each.empty and each.kind is not each.VAR_KEYWORD and each.name not in own}
            return places, rest, {parameter: kind for parameter, kind in said.items() if kind}

        def take(kinds, parameter, value):
            kind = kinds.get(parameter)
            if kind is None:
                return value
            try:
                return kind.taken(value)
            except Other as other:
                how = str(other) or kind.how
                raise error(f"{name}: {parameter} is {kind.words}, not {brief(value)}{f': {how}' if how else ''}") from None

        @wraps(function)
        def wrapped(*given, **named):
            __tracebackhide__ = True                     # pytest ends at the user's line where `function` hides itself, too
            places, rest, kinds = known()                # at the first call: what annotations name may not be there before
            given = [take(kinds, place, value) for place, value in zip_longest(places[:len(given)], given, fillvalue=rest)]
            return function(*given, **{key: take(kinds, key, value) for key, value in named.items()})

        return wrapped  # type: ignore[return-value]
    return decorate


# ---- annotations --------------------------------------------------------------------------------------------------------

def kind_of(annotation: Any) -> Kind | None:
    """The Kind of an annotation: int, bool, str, None, a class, a function, a sequence or tuple of such, a dict, arrays
    of numbers, or one of several. None: another, which takes anything.

    >>> kind_of(int | None).words, kind_of(Sequence[int]).words, kind_of(object)
    ('an integer or None', 'a list, each an integer', None)
    """
    if isinstance(annotation, str):
        return _named(annotation)
    if annotation in PLAIN:
        return PLAIN[annotation]
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _one_of(inside)
    if annotation in (ArrayLike, np.ndarray) or origin is np.ndarray:
        return NUMBERS
    if origin is tuple and inside[1:] != (...,):
        return _tuple(inside)
    if origin in (tuple, Sequence, Collection, Iterable):
        return _several(inside[0])
    if origin is Callable or annotation is Callable:
        return Kind("a function", "", _when(callable))
    if origin in (dict, Mapping):
        return PLAIN[dict]
    if isclass(annotation) and (annotation.__module__.partition(".")[0] in ("simlayout", "cuda_kernels")):
        return _named(annotation.__name__)
    return None


def _when(holds):
    def taken(value):
        if not holds(value):
            raise Other
        return value
    return taken


def as_int(value: object) -> int:
    """The int that a value is: also NumPy's, and an array of no dimensions. Raises TypeError for others, and for truths.

    >>> as_int(np.int8(3)), as_int(np.array(3))
    (3, 3)
    """
    try:
        if not isinstance(value, bool):
            return int(index(value))  # type: ignore[arg-type]
    except Exception:                                    # whatever an object does that says it is an integer
        pass
    raise TypeError(f"an integer, not {brief(value)}")


def _integer(value):
    try:
        return as_int(value)
    except TypeError:
        raise Other from None


def _truth(value):
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise Other


def _array(value):
    try:
        array = np.asanyarray(value)
    except Exception:                                    # whatever an object does that says it is an array
        on_gpu = hasattr(type(value), "__cuda_array_interface__")
        raise Other("copy it to the CPU, as x.cpu() or cupy.asnumpy(x) do" if on_gpu else "") from None
    if array.dtype.kind in "OUSMm":
        raise Other
    if isinstance(array, np.ma.MaskedArray):
        raise Other("its mask would not count: fill it, as x.filled(0) does")
    return array if hasattr(value, "__array__") else value   # what lies on a GPU is copied once


PLAIN: dict[Any, Kind] = {
    int: Kind("an integer", "", _integer),
    bool: Kind("True or False", "", _truth),
    str: Kind("a text", "", _when(lambda value: isinstance(value, str))),
    None: Kind("None", "", _when(lambda value: value is None)),
    NoneType: Kind("None", "", _when(lambda value: value is None)),
    tuple: Kind("a tuple", "", lambda value: _parts(value, None)),
    dict: Kind("a dict", "", _when(lambda value: isinstance(value, Mapping))),
    **dict.fromkeys((Path, PathLike), Kind("a path", "", _when(lambda value: isinstance(value, PathLike)))),
}

NUMBERS = Kind("an array of numbers", "", _array)


def _named(name: str) -> Kind | None:
    """Of a class of ours, by its name: an annotation may name what its module does not import."""
    if not name.isidentifier():
        return None
    article = "an" if name[0] in "AEIO" else "a"
    return Kind(f"{article} {name}", HOW.get(name, ""),
                _when(lambda value: any(cls.__name__ == name for cls in type(value).__mro__)))


def _one_of(inside):
    rest = [each for each in inside if each not in ARRAYS] if set(inside) >= ARRAYS else list(inside)
    kinds = [kind_of(each) for each in rest] + [NUMBERS] * (len(rest) < len(inside))
    if None in kinds:
        return None

    def taken(value):
        why = ""
        for kind in kinds:
            try:
                return kind.taken(value)
            except Other as other:
                why = why or str(other)
        raise Other(why)

    return Kind(" or ".join(kind.words for kind in kinds), next((kind.how for kind in kinds if kind.how), ""), taken)


def _parts(value, of):
    """The parts of a list of anything, each as its kind takes it."""
    if isinstance(value, str | bytes) or isclass(value):
        raise Other
    try:
        found = tuple(value)
    except Exception:                                    # no list, or one that breaks: the user's own iterator may
        raise Other from None
    return found if of is None else tuple(map(of.taken, found))


def _several(inside):
    of = kind_of(inside)

    def taken(value):
        return value if inside is str and isinstance(value, str) else _parts(value, of)

    return Kind(f"a list, each {of.words}" if of else "a list", of.how if of else "", taken)


def _tuple(inside):
    kinds = [kind_of(each) for each in inside]
    words = ", ".join(kind.words if kind else "anything" for kind in kinds)

    def taken(value):
        parts = _parts(value, None)
        if len(parts) != len(kinds):
            raise Other
        return tuple(kind.taken(part) if kind else part for kind, part in zip(kinds, parts))

    return Kind(f"a tuple ({words})", next((kind.how for kind in kinds if kind and kind.how), ""), taken)
