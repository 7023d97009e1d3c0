"""Nested tuples of ints, as the shapes and the strides of layouts are: checked, compared, flattened, written as text."""

from math import prod

from simlayout.arguments import as_int
from simlayout.errors import LayoutError, brief

MAX_NESTING = 64        # tuples in tuples, of shapes and tilers; of open parentheses in texts too


def check_nesting(nested):
    """Raises LayoutError for tuples and lists that are nested too deep, or that contain themselves."""
    inside, depth = [nested], 0
    while inside:
        inside = [item for part in inside if isinstance(part, (tuple, list)) for item in part]
        depth += 1
        if depth > MAX_NESTING + 1:
            raise LayoutError(f"more than {MAX_NESTING} levels of nesting: write a flatter tuple")


def flatten(nested):
    """The ints of a nested tuple, left to right."""
    return tuple(x for item in nested for x in flatten(item)) if isinstance(nested, tuple) else (nested,)


def mode_sizes(function):
    """The sizes of a layout's modes at the top level; None for a function that has no shape.

    >>> from simlayout.algebra import Layout, Swizzle
    >>> mode_sizes(Layout((4, (2, 3)))), mode_sizes(Layout(7)), mode_sizes(Swizzle(3, 3, 3))
    ((4, 6), (7,), None)
    """
    shape = getattr(function, "shape", None)
    if shape is None:
        return None
    return tuple(prod(flatten(mode)) for mode in shape) if isinstance(shape, tuple) else (shape,)


def compact(shape, step=1):
    """The strides that make a shape compact with the leftmost mode fastest, starting at `step`."""
    if not isinstance(shape, tuple):
        return step
    strides = []
    for mode in shape:
        strides.append(compact(mode, step))
        step *= prod(flatten(mode))
    return tuple(strides)


def tuple_text(nested):
    """A nested tuple in CuTe's notation: (4,(2,3))."""
    return f"({','.join(map(tuple_text, nested))})" if isinstance(nested, tuple) else str(nested)


def ints_of(nested, least, what):
    """Nested tuples (or lists) of ints as nested tuples of Python ints, each at least `least`."""
    if isinstance(nested, (tuple, list)):
        if not nested:
            raise LayoutError(f"a layout has no empty modes: give at least one {what}")
        return tuple(ints_of(item, least, what) for item in nested)
    try:
        value = as_int(nested)
    except TypeError:
        text = ": parse(...) reads the text of a layout" if isinstance(nested, str) else ""
        raise LayoutError(f"a {what} must be an int or a nested tuple of ints, not {brief(nested)}{text}") from None
    if value < least:
        raise LayoutError(f"a {what} must be at least {least}, not {value}")
    return value


def congruent(a, b):
    """Whether two nested tuples are nested alike.

    >>> congruent((4, (2, 3)), (1, (4, 8))), congruent((4, 2), 1)
    (True, False)
    """
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def depth_of(shape):
    """How deep a tuple is nested; 0 for an int."""
    return 1 + max(map(depth_of, shape)) if isinstance(shape, tuple) else 0
