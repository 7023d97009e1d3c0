"""What a kind of figure is that the command line draws: its row stands in the module that draws it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Asked(Protocol):
    """What a command line asks a kind of figure to draw.

    options: its options by name: layout (the text WHAT), dtype, op, index (a list), other, by, operand, M, N, K, steps.
    """

    options: Any

    def access(self, index=None, layout=None):
        """(Access, Analysis) of a layout (None: of the one given) and --op, whose instruction `index` (None: the first of
        --index) there is."""

    def tile(self):
        """The layout that WHAT is, with the sizes of --domain."""

    def kernel(self):
        """The kernel that WHAT names, with --stages."""


@dataclass(frozen=True)
class Kind:
    """A kind of figure. name: what --kind takes; what: of what it is, with which options, and what it shows, for the help;
    examples: what may follow `simlayout plot`, with -o and a file.
    draw(asked): (Axes, or several; a few words on what they show), of an Asked.
    several: whether --index may name several instructions.
    """

    name: str
    what: str
    examples: tuple
    draw: Callable
    several: bool = False


def counts(analysis, index):
    """What an instruction costs, in words.

    >>> from simlayout.hardware import analyze
    >>> counts(analyze("ld.shared.b32", [8 * lane for lane in range(32)]), 0)
    '2 wavefronts, ideal 1'
    """
    return f"{int(analysis.wavefronts[index])} wavefronts, ideal {int(analysis.ideal[index])}"
