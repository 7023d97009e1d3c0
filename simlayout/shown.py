"""What a notebook shows of a result that ends a cell: its text, where repr() gives Python back, or too much of it."""

from typing import Any


class Shown:
    """A result of which IPython shows str(); repr() stays what it is.

    >>> class Answer(Shown):
    ...     def __str__(self): return "42 wavefronts"
    >>> class Printer:
    ...     def text(self, text): print(text)
    >>> Answer()._repr_pretty_(Printer(), cycle=False)
    42 wavefronts
    """

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        cls._repr_pretty_ = Shown._repr_pretty_          # type: ignore[method-assign]   # IPython takes a class's own alone

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("..." if cycle else str(self))
