"""What the comparisons with other libraries share: their answers and ours, side by side."""

from contextlib import suppress

from simlayout.errors import LayoutError


def values(layout, count):
    """The offsets of the first `count` linear indices, one by one."""
    return [int(layout(i)) for i in range(count)]


def text(layout):
    """Anyone's layout in our notation: without spaces, and a mode in parentheses as (4), not (4,)."""
    return str(layout).replace(" ", "").replace(",)", ")")


def ours(function, *arguments):
    """Our answer, None if we refuse."""
    with suppress(LayoutError):
        return function(*arguments)
    return None


def theirs(function, *arguments):
    """Their answer, None if they raise anything."""
    with suppress(Exception):
        return function(*arguments)
    return None


def one_to_one(offsets):
    """Whether no offset occurs twice."""
    return len(set(offsets)) == len(offsets)
