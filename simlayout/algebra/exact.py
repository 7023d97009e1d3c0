"""Index functions evaluated exactly on many points at once, or refused with the first point at which they cannot be.

NumPy's integers wrap beyond 64 bits, give 0 for a division by 0 and truncate what is stored as an index; Python's do none of
this. `exactly` calls a function with `Checked` arrays, which compute as Python's integers do and refuse what has no value in
64 bits: each knows the range that its values may have, so an operator costs a few comparisons of Python ints, and looks at
the values only where the range does not decide.

>>> exactly(lambda x: 12 // x, [np.array([1, 2, 3])], "f").tolist()
[12, 6, 4]
>>> exactly(lambda x: 12 // (x - 2), [np.array([1, 2, 3])], "f", lambda i: {"x": i + 1})
Traceback (most recent call last):
...
simlayout.errors.UndefinedError: f at x = 2: 12 // 0 divides by zero: keep the divisor away from 0 on the whole domain

`Checked` does not see what NumPy does besides the operators, such as looking up a table. Such a function is also called
with one point after the other, as Python's integers, and both answers must be the same.
"""

from dis import get_instructions
from functools import partial
from math import prod
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType

import numpy as np

from simlayout.algebra.checked import GREATEST, KEEP, LEAST, Fault, Misuse, Unseen, checked, operand
from simlayout.errors import LayoutError, SimlayoutError, UndefinedError

MOST_ONE_BY_ONE = 1 << 20
"""Points at which a function is called one by one at most."""

PACKAGE = str(Path(__file__).parents[1])

PIECE = 1 << 16
"""Points that are computed at a time: what is computed on the way takes some MiB."""


def exactly(function, arguments, what, point=lambda number: {}):
    """What a function of integers gives, exactly: int64, as large as all arguments broadcast together; of a function that
    gives (nested) tuples, such tuples of arrays.

    arguments: int64 arrays of the same number of dimensions, not empty. what: names the function in errors; point: from the
    number of a point, in C order, to {variable: value}.

    Raises UndefinedError with the first point at which an operation has no value in 64 bits (it divides by zero, shifts by
    less than 0 or more than 63, gives a fraction, meets a float, leaves 64 bits), where the function raises, or where it
    gives another value for a lone int than for arrays; LayoutError where it branches on its arguments; what it raises itself
    as SimlayoutError.
    """
    shape = np.broadcast_shapes(*(np.shape(a) for a in arguments))
    function = getattr(function, "py_func", function)     # of a function compiled by Numba its Python, which is the same
    try:
        result = _called(function, arguments, shape)
        _compare_some(function, arguments, shape, result)
        return result
    except Fault as fault:
        fault, number = _earliest(function, arguments, shape, fault)
        raise UndefinedError(f"{what}{_at(point(number))}: {fault.text}", {"point": point(number)}) from None
    except Misuse as error:
        raise LayoutError(f"{what}: {error}") from None
    except SimlayoutError:
        raise
    except Exception as error:                           # the user's own function: it may raise anything
        return _point_by_point(function, arguments, shape, what, point, error)


def exact_offsets(function, arguments, what, point=lambda number: {}):
    """The same for a function that gives one offset, no tuple; LayoutError otherwise."""
    offsets = exactly(function, arguments, what, point)
    if isinstance(offsets, tuple):
        raise LayoutError(f"{what} gives a tuple of {len(offsets)}: an offset is one int")
    return offsets


def _at(point):
    return " at " + ", ".join(f"{k} = {v}" for k, v in point.items()) if point else ""


def _called(function, arguments, shape):
    """What the function gives for Checked arguments, as int64 arrays of that shape."""
    return _finished(function(*map(checked, arguments)), shape)


def _compare_some(function, arguments, shape, results):
    """Calls the function with lone ints at four points: Unseen where they give something else."""
    total = prod(shape)
    for number in {0, total // 3, 2 * total // 3, total - 1}:
        index = np.unravel_index(number, shape)
        with np.errstate(all="raise"):
            alone = _plain(function(*(int(np.broadcast_to(a, shape)[index]) for a in arguments)))
        if alone != _picked(results, index):
            raise Unseen("other values for a lone int")


def _picked(results, index):
    """The values at one point."""
    return tuple(_picked(part, index) for part in results) if isinstance(results, tuple) else int(results[index])


def _finished(results, shape):
    if isinstance(results, tuple):
        return tuple(_finished(part, shape) for part in results)
    values, least, greatest = operand(results)
    if least < LEAST or greatest > GREATEST:
        raise Fault(f"{results} leaves 64 bits: {KEEP}")
    return np.broadcast_to(np.asarray(values, np.int64), shape)


def _earliest(function, arguments, shape, fault):
    """(the fault of the first point, its number): another operation may fail at an earlier point than the one computed
    first."""
    flat = [np.broadcast_to(a, shape).reshape(-1) for a in arguments]
    number = int(np.ravel_multi_index(fault.index, shape)) if fault.index else 0
    while number:
        before = [a[:number] for a in flat]
        try:
            _called(function, before, before[0].shape)
            break
        except Fault as earlier:
            fault, number = earlier, int(earlier.index[0]) if earlier.index else 0
        except Exception:                                # not a matter of points
            break
    return fault, number


def _point_by_point(function, arguments, shape, what, point, error):
    """The same for a function that does more with its arguments than Checked sees (`error` says what): its values at one
    point after the other, which NumPy must give as well."""
    flat = [np.broadcast_to(a, shape).reshape(-1).tolist() for a in arguments]
    unseen = isinstance(error, Unseen)
    if len(flat[0]) > MOST_ONE_BY_ONE:
        raise LayoutError(f"{what} is more than integer operators ({_message(error)}), so it is called for one point "
                          f"after the other, and {len(flat[0])} points are more than {MOST_ONE_BY_ONE}: write "
                          "arithmetic") from None
    results = []
    with np.errstate(all="raise"):
        for number, values in enumerate(zip(*flat)):
            try:
                result = _plain(function(*values))
            except (SimlayoutError, KeyboardInterrupt):
                raise
            except Fault as fault:
                raise UndefinedError(f"{what}{_at(point(number))}: {fault.text}", {"point": point(number)}) from None
            except Exception as wrong:
                at = point(number)
                raise UndefinedError(f"{what}{_at(at)} raises {_message(wrong)}", {"point": at}) from wrong
            results.append(result)
        if not unseen:
            raise LayoutError(f"{what} takes one int at a time alone; with arrays of them it raises {_message(error)}: an "
                              "index function is arithmetic on its arguments, without branches on them") from error
        if _shifts_left(function):
            raise LayoutError(f"{what} is more than integer operators ({_message(error)}), and shifts left: NumPy's lone "
                              "ints lose bits there; multiply by a power of two instead")
        try:
            again = _as_tables(function(*(np.broadcast_to(a, shape) for a in arguments)), shape)
        except Exception as wrong:
            raise LayoutError(f"{what} raises {_message(wrong)} for arrays") from wrong
    return _agreed(_stacked(results, shape), again, shape, what, point)


def _shifts_left(function):
    """Whether a function, or one that it may call, has the operator << outside this package, which looks at its
    operands."""
    todo, seen = [function], set()
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, CodeType):
            steps = () if one.co_filename.startswith(PACKAGE) else get_instructions(one)
            if any(step.argrepr in ("<<", "<<=") or step.opname.endswith("_LSHIFT") for step in steps):
                return True
            todo += one.co_consts
        elif isinstance(one, FunctionType):
            names = one.__code__.co_names
            todo += [one.__code__, *(cell.cell_contents for cell in one.__closure__ or () if cell != CellType()),
                     *(one.__globals__[name] for name in names if name in one.__globals__), *(one.__defaults__ or ())]
        elif isinstance(one, (MethodType, partial)):
            todo += [getattr(one, "__func__", None), getattr(one, "__self__", None), getattr(one, "func", None)]
        elif hasattr(one, "__dict__") and not isinstance(one, (type, ModuleType)):
            todo += [*vars(one).values(), vars(type(one)).get("__call__")]
    return False


def _message(error):
    text = str(error)
    if isinstance(error, TypeError) and "positional argument" in text:
        text = f"{text[:200]} (its arguments are the names of the domain, in their order)"
    return f"{text} on them" if isinstance(error, Unseen) else f"{type(error).__name__}: {text[:280]}"


def _plain(result):
    """A lone value, or tuples of such, as Python's ints that 64 bits hold."""
    if isinstance(result, tuple):
        return tuple(map(_plain, result))
    value, *_ = operand(result)
    if not LEAST <= value <= GREATEST:
        raise Fault(f"{value} leaves 64 bits: {KEEP}")
    return value


def _stacked(results, shape):
    """Equal nestings of ints as one nesting of int64 arrays."""
    if isinstance(results[0], tuple):
        return tuple(_stacked(list(part), shape) for part in zip(*results, strict=True))
    return np.array(results, np.int64).reshape(shape)


def _as_tables(results, shape):
    if isinstance(results, tuple):
        return tuple(_as_tables(part, shape) for part in results)
    return np.broadcast_to(np.asarray(results), shape)


def _agreed(one_by_one, together, shape, what, point):
    """The values, if lone ints and arrays gave the same."""
    if isinstance(one_by_one, tuple):
        return tuple(_agreed(a, b, shape, what, point) for a, b in zip(one_by_one, together, strict=True))
    wrong = one_by_one != together
    if wrong.any():
        at = int(np.argmax(wrong))
        raise UndefinedError(f"{what}{_at(point(at))} is {one_by_one.flat[at]} for ints, and {together.flat[at]} for arrays "
                             "of them: an index function gives a point its value whatever the other points are",
                             {"point": point(at)})
    return one_by_one


# ---- domains -----------------------------------------------------------------------------------------------------------

def pieces(sizes, most=PIECE):
    """The domain of these sizes, cut into boxes of at most `most` points, in C order: ((start, stop) for each size).

    >>> list(pieces((2, 4), 4))
    [((0, 1), (0, 4)), ((1, 2), (0, 4))]
    """
    inner = 1
    for n in sizes[1:]:
        inner *= n
    if len(sizes) == 1 or inner <= most:
        step = max(most // inner, 1)
        rest = tuple((0, n) for n in sizes[1:])
        for start in range(0, sizes[0], step):
            yield ((start, min(start + step, sizes[0])), *rest)
    else:
        for i in range(sizes[0]):
            for box in pieces(sizes[1:], most):
                yield ((i, i + 1), *box)


def box_arguments(box):
    """int64 arrays, one per axis, that broadcast to all points of a box."""
    return list(np.meshgrid(*(np.arange(*ends) for ends in box), indexing="ij", sparse=True))


def box_point(names, box, number):
    """{name: value} of a point of a box by its number in C order."""
    index = np.unravel_index(number, [stop - start for start, stop in box])
    return {name: int(i) + start for name, i, (start, _) in zip(names, index, box, strict=True)}
