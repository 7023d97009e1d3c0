"""Pictures of shared-memory accesses. Matplotlib loads when the first one is drawn, not before."""

from simlayout.plots.banks import banks, comparison, picture
from simlayout.plots.files import rendered, save
from simlayout.plots.grid import Phase, Served, phases

__all__ = ["Phase", "Served", "banks", "comparison", "phases", "picture", "rendered", "save"]
