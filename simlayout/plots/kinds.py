"""The row of a kind of figure that the command line draws. Each row stands in the module that draws the figure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from simlayout.wording import counted


class FigureRequest(Protocol):
    """What a kind of figure is to draw: the options of a command line, and the layout, access or kernel that they name.

    options: the options by name: layout (the text WHAT), dtype, op, index (a list), other, by, operand, M, N, K, steps.
    """

    options: Any

    def access(self, index=None, layout=None):
        """(Access, Analysis) of a layout (None: WHAT) under --op; SimlayoutError if the access has no instruction `index`
        (None: the first of --index)."""

    def tile(self):
        """The layout that WHAT names, with the sizes of --domain."""

    def kernel(self):
        """The kernel that WHAT names, with the stages of --stages."""


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    name: the value of --kind. what: a sentence for the help: what WHAT names, which options apply, what the figure shows.
    examples: arguments of `simlayout plot`, each with -o and a file.
    draw: takes a FigureRequest; returns (the Axes or a tuple of them, a few words on what they show).
    takes: the options that it draws by, as FigureRequest.options names them: what else is given is refused.
    several: whether --index may name several instructions.
    """

    name: str
    what: str
    examples: tuple
    draw: Callable
    takes: tuple = ()
    several: bool = False


OF_TILE = ("dtype", "domain")
OF_ACCESS = (*OF_TILE, "lanes", "arch", "op", "index")
"""Options that name a layout, and an instruction that accesses it."""


def counts(analysis, index):
    """What an instruction costs, in words.

    >>> from simlayout.hardware import analyze
    >>> counts(analyze("ld.shared.b32", [8 * lane for lane in range(32)]), 0)
    '2 wavefronts, ideal 1'
    """
    return f"{counted(int(analysis.wavefronts[index]), analysis.arch.vendor.wavefront)}, ideal {int(analysis.ideal[index])}"
