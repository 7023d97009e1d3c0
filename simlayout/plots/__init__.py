"""Pictures of shared-memory accesses and of measured speed. Matplotlib loads when the first one is drawn, not before."""

from simlayout.plots.banks import banks, comparison, picture
from simlayout.plots.files import rendered, save
from simlayout.plots.grid import Phase, Served, phases
from simlayout.plots.performance import Bar, Dot, ladder, share_by_size, share_by_waves

__all__ = ["Bar", "Dot", "Phase", "Served", "banks", "comparison", "ladder", "phases", "picture", "rendered", "save",
           "share_by_size", "share_by_waves"]
