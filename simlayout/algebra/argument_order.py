"""Arguments of index functions are given by their place; that their names are in the order of the domain is checked here."""

from collections.abc import Iterable

from simlayout.algebra.aliases import IndexFunction
from simlayout.errors import LayoutError


def check_order(function: IndexFunction | None, names: Iterable[str], whose: str) -> None:
    """Raises LayoutError for a function whose arguments have the names of a domain in another order: it would be called with
    each in the place of another. Other names may be in any order. whose: what the function is called.

    >>> check_order(lambda row, col: 64 * row + col, ["row", "col"], "the tile")
    >>> check_order(lambda col, row: 64 * row + col, ["row", "col"], "the tile")
    Traceback (most recent call last):
    ...
    simlayout.errors.LayoutError: the tile takes (col, row), and the domain is (row, col): they are given by their place, \
so write both in one order
    """
    code = getattr(function, "__code__", None)           # Python's functions alone tell their arguments
    if code is None:
        return
    taken, given = code.co_varnames[:code.co_argcount], tuple(names)
    if taken != given and sorted(taken) == sorted(given):
        raise LayoutError(f"{whose} takes ({', '.join(taken)}), and the domain is ({', '.join(given)}): they are given by "
                          "their place, so write both in one order")
