"""Figures: banks, layouts, accesses, fragments, TMA, plans, pipelines, and measured speed.

Each is a function that takes `ax=` or makes one and returns the Axes; what it draws comes from a function of its own, which
returns plain data (a `Panel` of boxes, mostly). Matplotlib loads when the first figure is drawn.
"""

from simlayout.plots.banks import banks, comparison, picture
from simlayout.plots.copies import copies, copy_map, in_memory, touched
from simlayout.plots.files import close, rendered, save
from simlayout.plots.fragments import choice, fragment, table
from simlayout.plots.grid import Phase, Served, phases
from simlayout.plots.lanes import matrix_phases, phase_rows
from simlayout.plots.layouts import layout, layout_map, logical, memory
from simlayout.plots.matrix import bit_matrix, matrix
from simlayout.plots.panel import Box, Panel, draw, together
from simlayout.plots.performance import Bar, Dot, ladder, share_by_size, share_by_waves
from simlayout.plots.pipeline import Timeline, of_kernel, pipeline, timeline
from simlayout.plots.sheet import Sheet, plan_sheet, sheet, sheet_of
from simlayout.plots.tma import atom, landing, tma, tma_modes

__all__ = ["Bar", "Box", "Dot", "Panel", "Phase", "Served", "Sheet", "Timeline", "atom", "banks", "bit_matrix", "choice",
           "close", "comparison", "copies", "copy_map", "draw", "fragment", "in_memory", "ladder", "landing", "layout",
           "layout_map", "logical", "matrix", "matrix_phases", "memory", "of_kernel", "phase_rows", "phases", "picture",
           "pipeline", "plan_sheet", "rendered", "save", "share_by_size", "share_by_waves", "sheet", "sheet_of", "table",
           "timeline", "tma", "tma_modes", "together", "touched"]
