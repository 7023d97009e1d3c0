"""Names of what the functions that draw take and return."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    Axes = Figure = Any                  # Matplotlib loads when the first figure is drawn

SeveralAxes = Axes | Sequence[Axes]
"""Where to draw several panels: one Axes for all of them, or one for each."""

Drawing = Figure | Axes | Sequence[Axes]
"""What a function that draws returns."""
