"""`x.plot()`: a method that finds its figure by name.

Layouts, fragments and accesses lie below the figures and import nothing from there: they know the name of their figure,
and `simlayout.plots` loads when the first one is drawn. This is the one place that names what lies above it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

FIGURES = "simlayout.plots"


def drawn_by(figure: str, says: str) -> Callable[..., Any]:
    """The method `plot` of a class: draws its object with a function of `simlayout.plots`, and returns what that returns.

    figure: the name of a function whose first argument is the object; what `plot` is given besides goes to it. says: the
    method's docstring.

    >>> from simlayout.algebra import Layout
    >>> Layout((16, 64), (64, 1)).plot("bank").get_title(loc="left")
    '(16,64):(64,1), f16'
    """
    def plot(self: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(import_module(FIGURES), figure)(self, *arguments, **options)

    plot.figure = figure                # type: ignore[attr-defined]
    plot.__doc__ = f"{says} Takes the arguments of `{FIGURES}.{figure}`."
    return plot
